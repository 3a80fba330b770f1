"""Wilcoxon and the corrected t against published figures, scipy and loops."""

import naive.stats as naive
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from support.published import DEMSAR

from weighbors.exceptions import InvalidDataError
from weighbors.stats import (
    corrected_resampled_ttest,
    wilcoxon,
)

FOLDS = [0.02, -0.01, 0.03, 0.04, 0, 0.05, 0.01, 0.02, -0.03, 0.06]


def test_demsars_wilcoxon():
    # Demšar 2006, section 3.1.3: T = 12 with zeros split; p by the normal approximation
    split = wilcoxon(DEMSAR["C4.5"], DEMSAR["C4.5+m"])
    assert split.statistic == 12
    assert split.p_value == pytest.approx(0.010968, abs=5e-7)
    assert split.method == "approx"
    dropped = wilcoxon(DEMSAR["C4.5"], DEMSAR["C4.5+m"], zero_method="wilcox", method="approx")
    assert dropped.statistic == 6.5
    assert dropped.p_value == pytest.approx(0.010757, abs=5e-7)


@pytest.mark.parametrize("zero_method", ["zsplit", "wilcox", "pratt"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("seed", range(3))
def test_scipy_agrees_with_ties_and_zeros(zero_method, alternative, seed):
    d = np.random.default_rng(seed).integers(-3, 6, 25).astype(float)
    theirs = scipy.stats.wilcoxon(
        d, zero_method=zero_method, method="asymptotic", correction=False, alternative=alternative
    )
    ours = wilcoxon(d, zero_method=zero_method, alternative=alternative)
    assert ours.p_value == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("zero_method", ["zsplit", "wilcox", "pratt"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("n", [3, 6, 8])
def test_few_pairs_with_ties_and_zeros_have_the_p_of_all_signs(zero_method, alternative, n):
    for seed in range(4):
        d = np.random.default_rng(seed).integers(-3, 5, n).astype(float)
        if not d.any():
            continue
        every = scipy.stats.PermutationMethod(n_resamples=np.inf)
        theirs = scipy.stats.wilcoxon(d, zero_method=zero_method, method=every, alternative=alternative)
        ours = wilcoxon(d, zero_method=zero_method, alternative=alternative)
        assert ours.method == "exact"
        assert ours.p_value == pytest.approx(theirs.pvalue)
        if alternative == "two-sided":
            assert ours.p_value == pytest.approx(naive.signed_rank_p_with_ties(d, zero_method))


def test_ties_take_the_normal_distribution_from_14_pairs_on():
    d = np.array([1.0, 1, -1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    assert wilcoxon(d).method == "exact"
    assert wilcoxon(np.append(d, 12)).method == "approx"
    exact = wilcoxon(np.append(d, 12), method="exact").p_value
    assert exact == pytest.approx(naive.signed_rank_p_with_ties(np.append(d, 12), "zsplit"))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("n", [2, 5, 17, 50])
def test_scipy_agrees_exactly(alternative, n):
    d = np.random.default_rng(n).normal(0.2, 1, n)
    theirs = scipy.stats.wilcoxon(d, method="exact", alternative=alternative)
    ours = wilcoxon(d, alternative=alternative)
    assert ours.method == "exact"
    assert ours.p_value == pytest.approx(theirs.pvalue)


def test_the_exact_p_is_that_of_all_signs():
    d = np.random.default_rng(1).normal(0.4, 1, 9)
    assert wilcoxon(d).p_value == pytest.approx(naive.signed_rank_p(d))


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=25), st.sampled_from(["zsplit", "wilcox", "pratt"]))
def test_the_two_sides_of_wilcoxon(d, zero_method):
    one, other = (wilcoxon(sign * np.array(d), zero_method=zero_method) for sign in (1, -1))
    assert one.p_value == pytest.approx(other.p_value)
    assert one.rank_sums == other.rank_sums[::-1]
    assert 0 < one.p_value <= 1
    scaled = wilcoxon(np.array(d) * 1e-7, zero_method=zero_method)
    assert scaled.p_value == pytest.approx(one.p_value)


def test_equal_scores_are_zeros_in_spite_of_rounding():
    assert wilcoxon([0.1 + 0.2, 0.5, 0.9], [0.3, 0.4, 0.7]).n_zero == 1


def test_identical_columns():
    result = wilcoxon([0.5, 0.6, 0.7], [0.5, 0.6, 0.7])
    assert result.p_value == 1
    assert "all differences are 0" in repr(result)


def test_corrected_resampled_t():
    # oracle computed by hand from Nadeau & Bengio 2003: (1/10 + 1/9) · var; the naive t gives .05797
    result = corrected_resampled_ttest(FOLDS, n_folds=10)
    assert result.statistic == pytest.approx(1.494547, abs=5e-7)
    assert result.p_value == pytest.approx(0.169242, abs=5e-7)
    assert scipy.stats.ttest_1samp(FOLDS, 0).pvalue == pytest.approx(0.05797, abs=5e-6)
    assert corrected_resampled_ttest(FOLDS, n_train=90, n_test=10) == result
    assert corrected_resampled_ttest(FOLDS, np.zeros(10), n_folds=10) == result


def test_equal_differences():
    assert corrected_resampled_ttest([0.1] * 5, n_folds=5).p_value == 0
    assert corrected_resampled_ttest([0.0] * 5, n_folds=5).p_value == 1
    assert "all differences are equal" in repr(corrected_resampled_ttest([0.0] * 5, n_folds=5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wilcoxon([1, 2], [1, 2, 3]), "same length; got 2 and 3"),
        (lambda: wilcoxon([1]), "at least 2 paired scores"),
        (lambda: wilcoxon([[1, 2]]), "vector of scores"),
        (lambda: wilcoxon([1, np.nan]), "missing or infinite"),
        (lambda: wilcoxon([1, 2], method="table"), "method must be"),
        (lambda: wilcoxon([1, 2], zero_method="no"), "zero_method must be"),
        (lambda: wilcoxon([1, 2], alternative="better"), "alternative must be"),
        (lambda: corrected_resampled_ttest(FOLDS, n_folds=10, alternative="better"), "alternative must be"),
        (lambda: corrected_resampled_ttest(FOLDS), "say how rows were split"),
        (lambda: corrected_resampled_ttest(FOLDS, n_folds=10, n_test=3), "say how rows were split"),
        (lambda: corrected_resampled_ttest(FOLDS, n_folds=1), "at least 2"),
        (lambda: corrected_resampled_ttest(FOLDS, n_train=0, n_test=3), "at least 1"),
        (lambda: wilcoxon(["a", "b"]), "x must be numbers"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidDataError, match=message):
        call()


def test_results_give_frames():
    assert wilcoxon(FOLDS).frame().shape[0] == 1
    assert corrected_resampled_ttest(FOLDS, n_folds=10).frame().loc[0, "df"] == 9
