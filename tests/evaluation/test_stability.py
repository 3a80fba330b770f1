"""Stability of selections and weights against published figures, loops and simulation."""

import naive.stability as naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom, kendalltau, pearsonr, spearmanr
from statsmodels.stats.inter_rater import fleiss_kappa

from weighbors.evaluation import (
    kuncheva_index,
    nogueira_stability,
    nogueira_test,
    selection_stability,
    weight_stability,
)
from weighbors.exceptions import FewRunsWarning, InvalidDataError, UndefinedStabilityWarning

MEASURES = ("nogueira", "kuncheva", "jaccard")


def zero_based(*sets):
    return [{feature - 1 for feature in chosen} for chosen in sets]


#: Sets whose figures were worked out apart from this code, as fractions, from the definitions of Nogueira et al. 2018
#: (JMLR 18) and Bommert & Lang 2021 (stabm, JOSS 6)
FIVE = zero_based({1, 2, 3, 4}, {2, 3, 4}, {2, 3, 4, 5})
TEN = zero_based({1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 4, 5})


@pytest.mark.parametrize(
    ("sets", "n_features", "jaccard", "nogueira"), [(FIVE, 5, 7 / 10, 7 / 22), (TEN, 10, 43 / 60, 13 / 18)]
)
def test_sets_of_different_sizes(sets, n_features, jaccard, nogueira):
    assert selection_stability(sets, "jaccard", n_features=n_features) == pytest.approx(jaccard, abs=1e-10)
    assert selection_stability(sets, n_features=n_features) == pytest.approx(nogueira, abs=1e-10)


def test_variances():
    # Nogueira et al. 2018, theorem 7, by hand
    assert nogueira_stability(FIVE, 5).variance == pytest.approx(0.0328878093, abs=1e-10)
    assert nogueira_stability(TEN, 10).variance == pytest.approx(0.0015479729, abs=1e-10)


def test_identical_and_rotating_sets():
    # by hand: 1, and the least that three sets of two among three features can have
    assert nogueira_stability([{0, 1}] * 3, 3).stability == pytest.approx(1)
    assert nogueira_stability(zero_based({1, 2}, {2, 3}, {1, 3}), 3).stability == pytest.approx(-0.5)


@pytest.mark.parametrize("measure", ["kuncheva", "nogueira"])
def test_equal_sizes_make_both_measures_one(measure):
    # 23/63 by hand (Nogueira et al. 2018: these coincide where all sizes are equal)
    sets = zero_based({1, 2, 3}, {1, 2, 4}, {2, 3, 5})
    assert selection_stability(sets, measure, n_features=10) == pytest.approx(23 / 63)
    assert kuncheva_index(sets, 10) == pytest.approx(23 / 63)


SETS = st.integers(3, 8).flatmap(
    lambda d: st.tuples(
        st.just(d), st.lists(st.sets(st.integers(0, d - 1), min_size=1, max_size=d - 1), min_size=2, max_size=6)
    )
)


@given(SETS)
def test_the_loops_agree(case):
    d, sets = case
    assert selection_stability(sets, "jaccard", n_features=d) == pytest.approx(naive.of_pairs("jaccard", sets, d))
    found = nogueira_stability(sets, d)
    np.testing.assert_allclose((found.stability, found.variance), naive.nogueira(sets, d), atol=1e-12)


@given(SETS)
def test_nogueira_is_fleiss_kappa_of_the_features(case):
    d, sets = case
    times = np.array([sum(f in s for s in sets) for f in range(d)])
    assert nogueira_stability(sets, d).stability == pytest.approx(
        fleiss_kappa(np.column_stack([times, len(sets) - times]))
    )


@given(SETS)
def test_order_of_runs_and_features_does_not_matter(case):
    d, sets = case
    matrix = np.array([[f in s for f in range(d)] for s in sets])
    mixed = matrix[::-1][:, np.random.default_rng(0).permutation(d)]
    for measure in MEASURES:
        if measure != "kuncheva":
            assert selection_stability(matrix, measure) == pytest.approx(selection_stability(mixed, measure))


@given(st.integers(2, 6), st.integers(3, 8), st.integers(1, 7))
def test_equal_selections_have_stability_one(runs, d, k):
    assume(k < d)
    for measure in MEASURES:
        assert selection_stability([set(range(k))] * runs, measure, n_features=d) == pytest.approx(1)


def coverage(runs, repeats, seed):
    """Share of intervals that hold the true stability; every run draws its features independently."""
    random = np.random.default_rng(seed)
    p = np.r_[np.full(6, 0.9), np.full(6, 0.5), np.full(18, 0.1)]
    true = 1 - (p * (1 - p)).mean() / (p.mean() * (1 - p.mean()))
    hit = 0
    for _ in range(repeats):
        low, high = nogueira_stability(random.random((runs, len(p))) < p).confidence_interval()
        hit += low <= true <= high
    return hit / repeats


@pytest.mark.parametrize("runs", [50, 100])
def test_the_interval_covers(runs):
    assert 0.92 <= coverage(runs, 3000, seed=runs) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("runs", [50, 100, 300])  # with 30 runs it is 91.8 %
def test_the_interval_covers_in_the_long_run(runs):
    assert 0.92 <= coverage(runs, 50_000, seed=runs) <= 0.97


@pytest.mark.parametrize(("repeats", "runs"), [(1500, 100), pytest.param(10_000, 300, marks=pytest.mark.slow)])
def test_type_one_error_of_the_two_sample_test(repeats, runs):
    # the test is asymptotic: with 100 runs each it finds 5.8 % in the long run
    random = np.random.default_rng(7)
    p = np.r_[np.full(6, 0.9), np.full(6, 0.5), np.full(18, 0.1)]
    draw = lambda: random.random((runs, len(p))) < p  # noqa: E731
    found = sum(nogueira_test(draw(), draw()).p_value < 0.05 for _ in range(repeats))
    low, high = binom.interval(0.999, repeats, 0.05)
    assert low <= found <= high


def test_the_two_sample_test():
    one, two = nogueira_stability(FIVE, 5), nogueira_stability(TEN, 10)
    with pytest.warns(FewRunsWarning, match="a test of 3 runs is rough"):
        result = nogueira_test(one, two)
    assert result.z == pytest.approx((7 / 22 - 13 / 18) / np.sqrt(0.0328878093 + 0.0015479729))
    assert result.frame().loc[0, "p_value"] == result.p_value
    assert "against" in repr(result)


def test_few_runs_are_warned_of_only_when_the_interval_is_asked_for():
    found = nogueira_stability(FIVE, 5)
    assert "3 runs" in repr(found)
    assert float(found) == found.stability
    with pytest.warns(FewRunsWarning, match="3 runs is rough; it leans on at least 30"):
        low, high = found.confidence_interval(0.9)
    assert (
        high - found.stability
        == pytest.approx(found.stability - low)
        == pytest.approx(1.6448536 * found.standard_error)
    )
    with pytest.raises(InvalidDataError, match="level must lie"):
        found.confidence_interval(95)


@pytest.mark.parametrize("full", [False, True], ids=["empty", "full"])
def test_nothing_or_everything_selected(full):
    matrix = np.full((4, 3), full)
    what = "all 3 features" if full else "no feature"
    found = nogueira_stability(matrix)
    assert np.isnan(found.stability)
    assert what in found.reason
    assert what in repr(found)
    for measure in ("nogueira", "kuncheva"):
        with pytest.warns(UndefinedStabilityWarning, match=f"{measure} is not defined"):
            assert np.isnan(selection_stability(matrix, measure))
    with pytest.raises(InvalidDataError, match="not defined cannot be compared"):
        nogueira_test(matrix, matrix)


def test_a_pair_without_a_value_is_named():
    with pytest.warns(UndefinedStabilityWarning, match="jaccard is not defined: runs 0 and 2 select no feature"):
        assert np.isnan(selection_stability([set(), {1}, set()], "jaccard", n_features=4))


def test_forms_of_selections():
    matrix = np.array([[1, 1, 0, 0], [0, 1, 1, 0]])
    wanted = kuncheva_index([{0, 1}, {1, 2}], 4)
    for form in (matrix, matrix.astype(bool), matrix.astype(float), pd.DataFrame(matrix.astype(bool)),
                 list(matrix.astype(bool))):  # fmt: skip
        assert kuncheva_index(form) == wanted
    assert kuncheva_index([[0, 1], np.array([1, 2])], n_features=4) == wanted


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kuncheva_index([{0}, {0, 1}], 4), "equal size; got 1 to 2 features. Use nogueira_stability"),
        (lambda: kuncheva_index([{0}], 4), "at least 2 are needed; got 1"),
        (lambda: kuncheva_index([{0}, {1}]), "need n_features="),
        (lambda: kuncheva_index([{0}, {4}], 4), "run 1 selects feature 4; with n_features=4"),
        (lambda: kuncheva_index([{0}, {-1}], 4), "run 1 selects feature -1"),
        (lambda: kuncheva_index([[0, 0], [1, 2]], 4), "run 0 names a feature twice"),
        (lambda: kuncheva_index([{"a"}, {"b"}], 4), "feature numbers"),
        (lambda: kuncheva_index(np.array([[0.2, 0.8], [1, 0]])), "bool or 0 and 1"),
        (lambda: kuncheva_index(np.eye(3, dtype=bool), n_features=4), "3 columns, but n_features is 4"),
        (lambda: kuncheva_index([{0}, {1}], "4"), "n_features must be a whole number of at least 1; got '4'"),
        (lambda: kuncheva_index([{0}, {1}], 4.5), "n_features must be a whole number of at least 1; got 4.5"),
        (lambda: kuncheva_index(np.zeros((2, 0), dtype=bool)), "no features"),
        (lambda: kuncheva_index([[True, False], [True]]), "their lengths differ"),
        (lambda: kuncheva_index(3), "bool matrix or a list of sets"),
        (lambda: selection_stability(FIVE, "stable", n_features=5), "measure must be one of"),
        (lambda: weight_stability([[1.0, 2.0]]), "at least 2 are needed"),
        (lambda: weight_stability([1.0, 2.0]), "matrix of numbers"),
        (lambda: weight_stability([[1.0, np.nan], [1, 2]]), "got nan in run 0, feature 1"),
        (lambda: weight_stability([[1.0, 2], [1, 2]], "mean"), "measure must be one of"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidDataError, match=message):
        call()


WEIGHTS = [[0.9, 0.5, 0.1, 0], [0.8, 0.6, 0.2, 0.1], [0.7, 0.9, 0, 0.3]]


def test_stability_of_weights():
    # worked out apart from this code: mean of the three correlations
    assert weight_stability(WEIGHTS) == pytest.approx(0.8444148259, abs=1e-10)
    assert weight_stability(WEIGHTS, "spearman") == pytest.approx(0.7333333, abs=5e-8)


@pytest.mark.parametrize("seed", range(3))
def test_weights_pair_by_pair(seed):
    weights = np.random.default_rng(seed).integers(-3, 4, (4, 9)).astype(float)
    pairs = [(weights[i], weights[j]) for i in range(4) for j in range(i)]
    for measure, of in (
        ("pearson", lambda a, b: pearsonr(a, b).statistic),
        ("spearman", lambda a, b: spearmanr(a, b).statistic),
        ("kendall", lambda a, b: kendalltau(a, b).statistic),
    ):
        assert weight_stability(weights, measure) == pytest.approx(np.mean([of(a, b) for a, b in pairs]))


def test_constant_weights():
    with pytest.warns(UndefinedStabilityWarning, match="run 1 gives all 2 features the same weight"):
        assert np.isnan(weight_stability([[1.0, 2.0], [3.0, 3.0]]))
