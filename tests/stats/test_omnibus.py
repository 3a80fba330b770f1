"""Friedman and Iman-Davenport against published figures and scipy."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare
from support.published import DEMSAR, GARCIA_RANKS, table_of_ranks

from weighbors.exceptions import InvalidDataError
from weighbors.stats import friedman, iman_davenport


def test_demsar():
    # Demšar 2006, section 3.2.2: ranks, chi-square and F (more digits from his table of ranks)
    plain = friedman(DEMSAR, ties="ignored")
    assert plain.mean_ranks.round(3).tolist() == [3.143, 2.000, 2.893, 1.964]
    assert plain.statistic == pytest.approx(9.2786, abs=5e-5)
    f = iman_davenport(DEMSAR, ties="ignored")
    assert f.statistic == pytest.approx(3.6863, abs=5e-5)
    assert f.p_value == pytest.approx(0.01982, abs=5e-6)
    assert f.df == (3, 39)


def test_demsar_with_the_ties_corrected():
    # computed by hand from the ranks: 4 of the 14 rows hold ties
    assert friedman(DEMSAR).statistic == pytest.approx(10.2283, abs=5e-5)
    assert iman_davenport(DEMSAR).statistic == pytest.approx(4.1851, abs=5e-5)
    assert friedman(DEMSAR).n_tied == 4
    assert friedman(DEMSAR).ties == "corrected"


def test_garcia_and_herrera():
    # García & Herrera 2008, the case study of 30 data sets
    table = table_of_ranks(GARCIA_RANKS, 30)
    result = friedman(table, ties="ignored")
    np.testing.assert_allclose(result.mean_ranks, [2.1, 3.25, 2.2, 4.3333, 3.1167], atol=5e-5)
    assert result.statistic == pytest.approx(39.6467, abs=5e-5)
    assert iman_davenport(table, ties="ignored").statistic == pytest.approx(14.3087, abs=5e-5)


@pytest.mark.parametrize("seed", range(5))
def test_corrected_ties_are_scipys(seed):
    table = np.random.default_rng(seed).integers(0, 4, (12, 5))
    ours, theirs = friedman(table), friedmanchisquare(*table.T)
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)


TABLES = st.tuples(st.integers(2, 8), st.integers(2, 6), st.integers(0, 10_000)).map(
    lambda case: np.random.default_rng(case[2]).integers(0, 7, case[:2]) / 8
)


@given(TABLES, st.integers(0, 1000))
def test_only_the_order_within_data_sets_counts(table, seed):
    assume(any(np.ptp(row) for row in table))
    random = np.random.default_rng(seed)
    stretched = np.exp(3 * table) + random.normal(size=(len(table), 1))  # another scale on every data set
    shuffled = table[random.permutation(len(table))][:, random.permutation(table.shape[1])]
    for test in (friedman, iman_davenport):
        wanted = test(table)
        for other in (stretched, shuffled):
            assert test(other).p_value == pytest.approx(wanted.p_value, rel=1e-9, abs=1e-12)
        assert 0 <= wanted.p_value <= 1
        assert wanted.mean_ranks.sum() == pytest.approx(table.shape[1] * (table.shape[1] + 1) / 2)


def test_errors_turn_the_ranks_around():
    assert friedman(-DEMSAR, higher_is_better=False).frame().equals(friedman(DEMSAR).frame())


def test_scores_that_differ_by_rounding_are_tied():
    table = pd.DataFrame({"a": [0.1 + 0.2, 0.5], "b": [0.3, 0.4], "c": [0.1, 0.1]})
    assert friedman(table).n_tied == 1
    assert friedman(1e-9 * table).n_tied == 1


def test_the_same_order_everywhere():
    result = iman_davenport([[3, 2, 1]] * 5)
    assert result.statistic == np.inf
    assert result.p_value == 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1.0, 1.0], [2.0, 2.0]], "all 2 columns are identical"),
        ([[1.0, np.nan], [2.0, 2.0]], r"1 missing or infinite cell\(s\): \(0, 'method 1'\).*table.dropna"),
        ([[1.0, np.inf], [2.0, 2.0]], "missing or infinite"),
        ([[1.0, 2.0]], "at least 2 data sets"),
        ([[1.0], [2.0]], "2 methods"),
        ([1.0, 2.0], "1 dimension"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "different names; got twice: \\['a'\\]"),
        (pd.DataFrame([["x", 2], ["y", 4]]), "numbers only"),
    ],
)
def test_bad_tables(table, message):
    with pytest.raises(InvalidDataError, match=message):
        friedman(table)


def test_a_wrong_option():
    with pytest.raises(InvalidDataError, match="ties must be"):
        friedman(DEMSAR, ties="some")


def test_results_print_and_are_frozen():
    result = friedman(DEMSAR)
    assert "ties on 4 of them, corrected" in repr(result)
    assert result.frame().loc[0, "n_datasets"] == 14
    with pytest.raises(AttributeError):
        result.statistic = 0
