"""The permutation test: against a slow oracle, by simulation, and on microarrays."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, false_discovery_control
from sklearn.datasets import make_classification
from sklearn.feature_selection import f_classif

from weighbors import ReliefF
from weighbors.datasets import load_dataset
from weighbors.evaluation import permutation_test
from weighbors.exceptions import FewNeighborsWarning, FewPermutationsWarning, InvalidDataError
from weighbors.weighers.null_weights import count_reaching

X, Y = make_classification(90, 7, n_informative=3, n_redundant=0, n_clusters_per_class=1, shuffle=False, random_state=1)
few = pytest.mark.filterwarnings("ignore::weighbors.exceptions.FewPermutationsWarning")


def f_values(X, y):
    return f_classif(X, y)[0]


def mean_shift(X, y):
    return X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)


def all_weights(seed, n):
    """F values of the labels as they are, and of the permutations that the seed draws."""
    children = np.random.SeedSequence(seed).spawn(n + 1)[1:]
    permuted = [f_values(X, np.random.default_rng(child).permutation(Y)) for child in children]
    return np.array([f_values(X, Y), *permuted])


def left_out(weights):
    """Each weight, less the mean of the feature's other permuted weights, over their deviation, one by one."""
    out = np.empty_like(weights)
    for b in range(len(weights)):
        others = np.delete(weights, [0, b], axis=0)  # the observed one is in no null
        out[b] = (weights[b] - others.mean(axis=0)) / others.std(axis=0)
    return out


@pytest.mark.parametrize("fdr", ["bh", "by"])
def test_pooled_p_values_are_shares_of_all_null_weights_left_out_of_their_own_null(fdr):
    found = permutation_test(f_values, X, Y, n_permutations=60, random_state=2, fdr=fdr, level=0.2)
    t = left_out(all_weights(2, 60))
    wanted = [(1 + sum(value >= t[0, j] for value in t[1:].ravel())) / (60 * 7 + 1) for j in range(7)]
    np.testing.assert_allclose(found.p_values, wanted)
    np.testing.assert_allclose(found.adjusted, false_discovery_control(wanted, method=fdr))
    np.testing.assert_allclose(
        found.familywise, [(1 + sum(row.max() >= t[0, j] for row in t[1:])) / 61 for j in range(7)]
    )
    np.testing.assert_allclose(found.standardized, t[0])


@pytest.mark.parametrize(("n_limits", "n_values"), [(1, 1), (2, 7), (3, 8), (64, 1001), (1000, 17), (5, 0), (0, 9)])
def test_values_that_reach_limits_are_counted(n_limits, n_values):
    rng = np.random.default_rng(n_limits)
    # Small integers, so that many values are equal to a limit, and infinite ones.
    limits, values = rng.integers(-4, 5, n_limits).astype(float), rng.integers(-5, 6, n_values).astype(float)
    limits[limits == 4], values[values == -5], values[values == 5] = np.inf, -np.inf, np.inf
    wanted = [int((values >= limit).sum()) for limit in limits]
    np.testing.assert_array_equal(count_reaching(limits, values), wanted)


def test_unpooled_p_values_are_shares_of_the_features_own_null():
    found = permutation_test(f_values, X, Y, n_permutations=199, random_state=2, null="feature")
    weights = all_weights(2, 199)
    own, null = weights[0], weights[1:]
    np.testing.assert_allclose(found.p_values, [(1 + (null[:, j] >= own[j]).sum()) / 200 for j in range(7)])
    np.testing.assert_allclose(found.null_mean, null.mean(axis=0))
    np.testing.assert_allclose(found.null_deviation, null.std(axis=0))


def test_informative_features_are_found():
    found = permutation_test(ReliefF(), pd.DataFrame(X).add_prefix("f"), Y, n_permutations=99)
    assert set(found.discoveries()) <= {"f0", "f1", "f2"}
    assert len(found.discoveries()) >= 2
    assert set(found.familywise_discoveries()) <= set(found.discoveries())
    assert found.frame().index[0] == found.discoveries()[0]
    assert found.discoveries(1.0) == found.frame().index.tolist()
    again = permutation_test(ReliefF(), X, Y, n_permutations=99, n_jobs=2)
    assert again.p_values.tobytes() == found.p_values.tobytes()


def test_what_is_printed():
    text = repr(permutation_test(ReliefF(), X, Y, n_permutations=30, level=0.1))
    assert "at a false discovery rate of 10 % (Benjamini-Hochberg)" in text
    assert "at a family-wise error of 10 %" in text
    assert "labels exchanged between rows; null: pooled; smallest possible p 0.0047" in text


def test_a_feature_of_a_larger_scale_does_not_hide_the_others():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    rows = rng.normal(size=(60, 5))
    rows[:, 1] += 3 * y
    rows[:, 0] *= 1000  # noise, but no shift of feature 1 is as large as what this gives by chance
    found = permutation_test(mean_shift, rows, y, n_permutations=99)
    assert found.discoveries() == found.familywise_discoveries() == ["x1"]


@pytest.mark.parametrize("null", ["pooled", "feature"])
def test_constant_features_are_never_found(null):
    rows = np.column_stack([X, np.ones(90), np.zeros(90)])
    for weigher in (ReliefF(), mean_shift):
        found = permutation_test(weigher, rows, Y, n_permutations=199, null=null)
        assert found.p_values[-2:].tolist() == found.familywise[-2:].tolist() == [1.0, 1.0]
        assert np.isfinite(found.frame().to_numpy()).all()
        alone = permutation_test(mean_shift, X, Y, n_permutations=199, null=null)
    np.testing.assert_array_equal(found.p_values[:-2], alone.p_values)  # they have no part in the pool


@pytest.mark.filterwarnings("ignore:Features|invalid value")
@pytest.mark.parametrize("null", ["pooled", "feature"])
def test_weights_that_are_nan_are_not_found(null):
    found = permutation_test(f_values, np.column_stack([X, np.ones(90)]), Y, n_permutations=199, null=null)
    assert np.isnan(found.scores[-1])
    assert found.p_values[-1] == found.adjusted[-1] == found.familywise[-1] == 1
    assert 0 < len(found.discoveries()) < 7


def test_no_feature_that_can_be_tested():
    found = permutation_test(lambda X, y: np.ones(X.shape[1]), X, Y)
    assert found.p_values.tolist() == found.familywise.tolist() == [1.0] * 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: permutation_test(ReliefF(), X, Y, n_permutations=0), "at least 1"),
        (lambda: permutation_test(ReliefF(), X, Y, fdr="none"), "fdr must be"),
        (lambda: permutation_test(ReliefF(), X, Y, null="none"), "null must be"),
        (lambda: permutation_test(ReliefF(), X, Y, level=5), "level must be a number between 0 and 1; got 5"),
        (lambda: permutation_test(ReliefF(), X, Y, level="5 %"), "level must be a number between 0 and 1"),
        (lambda: permutation_test(lambda X, y: np.full(7, np.inf), X, Y), "infinite weights"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidDataError, match=message):
        call()


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ({"n_permutations": 19}, "20"),
        ({"n_permutations": 20}, None),
        ({"n_permutations": 99, "level": 0.01}, "100"),
        ({"n_permutations": 100, "level": 0.01}, None),
        ({"n_permutations": 51, "fdr": "by"}, "52"),  # 1 + 1/2 + ... + 1/7 is 2.59
        ({"n_permutations": 138, "null": "feature"}, "139 or null='pooled'"),
        ({"n_permutations": 139, "null": "feature"}, None),
    ],
)
def test_too_few_permutations_are_said_with_how_many_it_takes(options, needed):
    def best(rows, y):  # the first call is for the labels as they are: no permutation reaches it
        calls.append(0)
        return np.r_[1000.0 * (len(calls) == 1), rng.normal(size=6)]

    calls, rng = [], np.random.default_rng(0)
    if needed is None:
        found = permutation_test(best, X, Y, **options)
        assert found.discoveries() == ["x0"] == found.familywise_discoveries()
        return
    with pytest.warns(FewPermutationsWarning, match=f"at least {needed}$"):
        found = permutation_test(best, X, Y, **options)
    assert found.discoveries() == []


def test_what_the_weigher_warns_of_is_said_once():
    with pytest.warns(FewNeighborsWarning) as caught:
        permutation_test(ReliefF(60), X, Y, n_permutations=20)
    assert len(caught) == 1


@few
def test_groups_exchange_labels_as_they_must():
    patients = np.repeat(np.arange(30), 3)
    seen = []

    def spy(X, y):
        seen.append(y)
        return X.mean(axis=0)

    whole = np.repeat(np.arange(30) % 2, 3)
    assert "between whole groups" in permutation_test(spy, X, whole, groups=patients, n_permutations=5).scheme
    for y in seen:
        assert (y.reshape(30, 3) == y.reshape(30, 3)[:, :1]).all()
        assert y.reshape(30, 3)[:, 0].sum() == 15
    seen.clear()
    mixed = np.tile([0, 1, 1], 30)
    assert "within groups" in permutation_test(spy, X, mixed, groups=patients, n_permutations=5).scheme
    for y in seen:
        assert (y.reshape(30, 3).sum(axis=1) == 2).all()


@pytest.mark.parametrize("repeats", [400, pytest.param(4000, marks=pytest.mark.slow)])
def test_type_one_error_of_one_feature(repeats):
    # one feature's p on noise is at most 5 % in 5 % of the data sets (19 permutations: p is a multiple of 1/20)
    random = np.random.default_rng(11)
    found = 0
    for seed in range(repeats):
        noise, labels = random.normal(size=(30, 1)), np.repeat([0, 1], 15)
        score = lambda X, y: np.abs(mean_shift(X, y))  # noqa: E731
        found += permutation_test(score, noise, labels, n_permutations=19, random_state=seed).p_values[0] <= 0.05
    low, high = binom.interval(0.999, repeats, 0.05)
    assert low <= found <= high


def noise_of_many_scales(random, n, m):
    """Columns of normal, skewed and heavy-tailed noise on scales from 0.001 to 1000."""
    kinds = [random.normal(size=(n, m)), random.exponential(size=(n, m)), random.standard_t(3, size=(n, m))]
    rows = np.where(np.arange(m) % 3 == 0, kinds[0], np.where(np.arange(m) % 3 == 1, kinds[1], kinds[2]))
    return rows * np.geomspace(1e-3, 1e3, m)


@few
@pytest.mark.parametrize("repeats", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_p_values_of_noise_are_uniform(repeats):
    """Pooled p-values at several limits; any finding, family-wise and by false discoveries, in 5 % of the tables."""
    random = np.random.default_rng(5)
    labels, m = np.arange(30) % 2, 40
    p_values, familywise, discovered = [], 0, 0
    for seed in range(repeats):
        noise = noise_of_many_scales(random, 30, m)
        found = permutation_test(mean_shift, noise, labels, n_permutations=19, random_state=seed)
        p_values.append(found.p_values)
        familywise += bool(found.familywise_discoveries())
        discovered += bool(found.discoveries())
    for limit in np.array([4, 8, 38, 152, 380]) / 761:  # p-values are multiples of 1 / (19 · 40 + 1)
        low, high = binom.interval(0.999, repeats * m, limit)
        assert low <= np.sum(np.array(p_values) <= limit * (1 + 1e-9)) <= high
    low, high = binom.interval(0.999, repeats, 0.05)
    assert low <= familywise <= high
    assert discovered <= high


def test_p_values_of_noise_are_uniform_beside_strong_features():
    """An observed weight that is far out has no part in any null, so it makes no other p-value smaller."""
    random = np.random.default_rng(7)
    labels, small = np.arange(40) % 2, 0
    for seed in range(100):
        rows = random.normal(size=(40, 20))
        rows[:, :15] += 20 * labels[:, None]
        p = permutation_test(mean_shift, rows, labels, n_permutations=30, random_state=seed).p_values
        small += np.sum(p[15:] <= 0.05)
    low, high = binom.interval(0.999, 500, 0.05)
    assert low <= small <= high


def test_a_null_of_zeros_is_passed_by_what_is_not_zero():
    """Sparse weights: what is 0 in all permutations, and what is not 0 in one of them."""

    def sparse_weights(rows, y):
        calls.append(0)
        weights = np.zeros(6)
        weights[0] = weights[1] = 0.5 * (len(calls) == 1)
        weights[1] += 0.1 * (len(calls) == 7)
        weights[2] = 0.5 * (len(calls) == 9)
        return weights

    calls = []
    found = permutation_test(sparse_weights, X[:, :6], Y, n_permutations=40)
    assert np.isposinf(found.standardized[0])
    assert found.standardized[3:].tolist() == [0.0, 0.0, 0.0]
    # two permuted weights, of features 1 and 2, stand out from a null of zeros as feature 0 does
    assert found.p_values[0] == pytest.approx(3 / (40 * 3 + 1))
    assert found.p_values[2] > 0.3
    assert found.p_values[3:].tolist() == [1.0, 1.0, 1.0]


def test_false_discoveries_are_held_and_no_power_is_lost():
    """Of 120 features 24 are shifted: the mean share of false findings is at most 5 %."""
    random = np.random.default_rng(6)
    labels, m, real = np.arange(40) % 2, 120, 24
    false, power, before, family = [], [], [], 0
    for seed in range(30):
        rows = random.normal(size=(40, m)) * np.geomspace(0.01, 100, m)[random.permutation(m)]
        rows[:, :real] += rows[:, :real].std(axis=0) * 1.2 * labels[:, None]
        few_ones = permutation_test(mean_shift, rows, labels, n_permutations=50, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewPermutationsWarning)
            own = permutation_test(mean_shift, rows, labels, n_permutations=300, null="feature", random_state=seed)
        names = [int(name[1:]) for name in few_ones.discoveries()]
        false.append(np.mean([j >= real for j in names]) if names else 0.0)
        power.append(sum(j < real for j in names) / real)
        before.append(sum(int(name[1:]) < real for name in own.discoveries()) / real)
        family += any(int(name[1:]) >= real for name in few_ones.familywise_discoveries())
    assert np.mean(false) <= 0.05 + 3 * np.std(false) / np.sqrt(len(false))
    assert np.mean(power) > np.mean(before) - 0.02  # with a sixth of the permutations
    assert np.mean(power) > 0.5
    assert family <= binom.ppf(0.999, 30, 0.05)


def test_a_microarray_needs_no_more_permutations_than_a_narrow_table(papers_data):
    colon = load_dataset("colon")
    counts = {}
    for n in (50, 100):
        found = permutation_test(ReliefF(), colon.X, colon.y, n_permutations=n)
        counts[n] = len(found.discoveries()), len(found.familywise_discoveries())
    assert min(counts[50][0], counts[100][0]) > 100
    assert min(counts[50][1], counts[100][1]) > 15
