"""RReliefF against an oracle by loops; weights of neighbours; drawn rows."""

import numpy as np
import pytest
from naive import relief as naive_classes
from naive import relief_numeric as naive
from support.numeric_tables import numeric_table

from weighbors import ReliefF, RReliefF
from weighbors.evaluation import permutation_test
from weighbors.exceptions import FewNeighborsWarning, InvalidDataError, NoPositiveWeightWarning
from weighbors.weighers.neighbors import share_slots, weigh_by_rank

RNG = np.random.default_rng
CLOSE = {"rtol": 0, "atol": 1e-9}
pytestmark = pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoPositiveWeightWarning")


@pytest.mark.filterwarnings("ignore::weighbors.exceptions.FewNeighborsWarning")
@pytest.mark.parametrize("ties", ["share", "index"])
@pytest.mark.parametrize("seed", range(40))
def test_rrelieff_equals_the_oracle(seed, ties):
    X, y, nominal, weight = numeric_table(seed, exact=ties == "index")
    k = 50 if seed % 8 == 7 else 1 + seed % 5
    sigma = [None, 2.0, 0.7][seed % 3]
    found = RReliefF(k, ties=ties, categorical_features=nominal, sigma=sigma).fit(X, y, sample_weight=weight)
    expected = naive.rrelieff(X, y, k, ties=ties, nominal=nominal, weight=weight, sigma=sigma)
    np.testing.assert_allclose(found.feature_weights_, expected, **CLOSE)


@pytest.mark.parametrize("by", [{}, {"sigma": 3.0}], ids=str)
def test_order_of_rows_shift_and_scale_do_not_matter(by):
    X, y, *_ = numeric_table(3)
    X = np.nan_to_num(X)
    expected = RReliefF(4, **by).fit(X, y).feature_weights_
    order = RNG(0).permutation(len(y))
    np.testing.assert_allclose(RReliefF(4, **by).fit(X[order], y[order]).feature_weights_, expected, **CLOSE)
    np.testing.assert_allclose(RReliefF(4, **by).fit(8 * X - 16, 4 - 2 * y).feature_weights_, expected, **CLOSE)


def test_pairs_of_equal_targets_and_of_opposite_ones():
    X = np.repeat([[0.0, 1.0], [0.5, 0.0], [1.0, 0.4]], 2, axis=0)
    y = np.repeat([0.0, 1.0, 2.0], 2)
    # The nearest row of each is its copy: no target differs, and no feature does.
    assert RReliefF(1).fit(X, y).feature_weights_.tolist() == [0.0, 0.0]
    # Two rows that differ in all: the mean over pairs that are alike has no pair and counts 0.
    assert RReliefF(1).fit([[0.0, 3.0], [2.0, 3.0]], [5.0, 7.0]).feature_weights_.tolist() == [1.0, 0.0]


def test_scores_lie_between_minus_one_and_one_and_whole_numbers_are_numbers():
    X, y, *_ = numeric_table(5)
    found = RReliefF(3).fit(X, np.round(y).astype(int))
    assert np.abs(found.feature_weights_).max() <= 1
    assert found.target_type_ == "numeric"
    assert not hasattr(found, "classes_")


@pytest.mark.parametrize(
    ("y", "told"),
    [
        (["a", "b"] * 10, "must hold numbers.*use ReliefF if these are names of classes"),
        (["1.5", "2.5"] * 10, "must hold numbers.*pandas.to_numeric"),
    ],
)
def test_bad_targets(y, told):
    with pytest.raises(ValueError, match=told):
        RReliefF().fit(RNG(0).normal(size=(20, 2)), y)


def test_one_row_few_rows_and_weights_of_zero():
    with pytest.raises(ValueError, match="n_samples = 1"):
        RReliefF().fit([[1.0]], [1.0])
    with pytest.warns(FewNeighborsWarning, match="more than the 4 other rows.*n_neighbors=4"):
        RReliefF(10).fit(np.arange(5.0)[:, None], np.arange(5.0))
    weight = np.zeros(5)
    with pytest.raises(ValueError, match="non-zero"):
        RReliefF(1).fit(np.arange(5.0)[:, None], np.arange(5.0), sample_weight=weight)
    drawn = RReliefF(1, n_samples=2, random_state=0).fit(np.arange(5.0)[:, None], np.arange(5.0)).sample_indices_
    weight[np.setdiff1d(np.arange(5), drawn)] = 1
    with pytest.raises(InvalidDataError, match="positive sample weight"):
        RReliefF(1, n_samples=2, random_state=0).fit(np.arange(5.0)[:, None], np.arange(5.0), sample_weight=weight)


@pytest.mark.parametrize(("sigma", "same"), [(1e-200, {"n_neighbors": 1}), (1e200, {"n_neighbors": 4})])
def test_an_extreme_sigma_leaves_the_nearest_neighbor_or_equal_weights(sigma, same):
    X = np.random.default_rng(0).normal(size=(30, 4))
    found = RReliefF(4, sigma=sigma).fit(X, X[:, 0]).feature_weights_
    np.testing.assert_allclose(found, RReliefF(**same).fit(X, X[:, 0]).feature_weights_, rtol=1e-12)


def test_weights_of_neighbours_by_hand():
    distance = np.array([1.0, 2.0, 2.0, 4.0, np.inf])
    place = np.exp(1 - np.arange(1, 4) ** 2.0)  # relative to the first
    found = weigh_by_rank(distance, 3, "share", 1.0)
    np.testing.assert_allclose(found, [1, (place[1] + place[2]) / 2, (place[1] + place[2]) / 2, 0, 0])
    np.testing.assert_allclose(weigh_by_rank(distance, 3, "index", 1.0), [*place, 0, 0])
    # Of two places, the second is shared by the tied ones.
    np.testing.assert_allclose(weigh_by_rank(distance, 2, "share", 1.0), [1, place[1] / 2, place[1] / 2, 0, 0])


@pytest.mark.parametrize("seed", range(5))
def test_a_wide_sigma_is_uniform_and_a_narrow_one_takes_the_nearest(seed):
    X, y, *_ = numeric_table(2 * seed)  # numbers without ties
    X = np.nan_to_num(X, nan=0.37)
    np.testing.assert_allclose(
        RReliefF(5, sigma=1e7).fit(X, y).feature_weights_, RReliefF(5).fit(X, y).feature_weights_, **CLOSE
    )
    np.testing.assert_allclose(
        RReliefF(5, sigma=1e-200).fit(X, y).feature_weights_,
        RReliefF(5, sigma=0.05).fit(X, y).feature_weights_,
        **CLOSE,
    )
    distance = np.sort(RNG(seed).integers(0, 4, size=(6, 2, 9)).astype(float), axis=-1)
    wide = weigh_by_rank(distance, 4, "share", 1e9)
    np.testing.assert_allclose(wide, share_slots(distance, 4, "share"), **CLOSE)


@pytest.mark.parametrize("ties", ["share", "index"])
@pytest.mark.parametrize("sigma", [1.5, 0.4])
@pytest.mark.parametrize("seed", range(6))
def test_relieff_with_weights_of_neighbours_equals_the_oracle(seed, sigma, ties):
    rng = RNG(seed)
    X, y = rng.integers(0, 5, size=(18, 3)).astype(float), np.arange(18) % 3
    X[0], X[1] = 0.0, 4.0  # divided by a range of 4, distances have no rounding, which would break ties
    found = ReliefF(3, ties=ties, sigma=sigma).fit(X, y).feature_weights_
    rows, total = naive.scaled_table(X, [False] * 3), np.zeros(3)
    for i in range(18):
        for c in range(3):
            distances = {z: naive.distance(rows, i, z, [False] * 3) for z in range(18) if y[z] == c and z != i}
            share = naive.neighbor_weights(distances, 3, ties, sigma)
            factor = -1 if c == y[i] else 0.5  # the prior of each class is a third
            for z, u in share.items():
                d = naive_classes.difference(rows[i], rows[z], None)
                total += factor * u * np.array([float(v) for v in d]) / 18
    np.testing.assert_allclose(found, total, **CLOSE)


@pytest.mark.parametrize("cls", [ReliefF, RReliefF])
def test_drawn_rows_are_those_of_a_weight_of_one(cls):
    rng = RNG(1)
    X, y = rng.normal(size=(120, 4)), np.arange(120) % 3
    found = cls(4, n_samples=30, random_state=5).fit(X, y)
    assert len(found.sample_indices_) == 30
    assert (np.diff(found.sample_indices_) > 0).all()
    drawn = np.zeros(120)
    drawn[found.sample_indices_] = 1
    expected = cls(4).fit(X, y, sample_weight=drawn)
    np.testing.assert_allclose(found.feature_weights_, expected.feature_weights_, rtol=0, atol=1e-10)
    assert expected.sample_indices_.tolist() == list(range(120))
    again = cls(4, n_samples=30, random_state=5, n_jobs=2).fit(X, y)
    assert again.feature_weights_.tobytes() == found.feature_weights_.tobytes()
    with pytest.raises(InvalidDataError, match="n_samples=121 rows cannot be drawn from 120"):
        cls(4, n_samples=121).fit(X, y)


def test_all_rows_drawn_are_all_rows():
    X, y, *_ = numeric_table(4)
    found = RReliefF(3, n_samples=len(y), random_state=0).fit(X, y).feature_weights_
    assert found.tobytes() == RReliefF(3).fit(X, y).feature_weights_.tobytes()


def test_nothing_positive_is_said():
    with pytest.warns(NoPositiveWeightWarning):
        RReliefF(1).fit(np.zeros((6, 2)), np.arange(6.0))


def test_permutation_p_values_of_noise_are_uniform():
    # Ten draws of noise with five features each: 50 p-values, each feature compared with its own permutations.
    from scipy.stats import kstest

    p_values = []
    for seed in range(10):
        rng = RNG(seed)
        found = permutation_test(
            RReliefF(5),
            rng.normal(size=(50, 5)),
            rng.normal(size=50),
            n_permutations=99,
            null="feature",
            random_state=seed,
        )
        p_values.extend(found.p_values)
    assert len(p_values) == 50
    assert kstest(p_values, "uniform").pvalue > 0.05
    # A relevant feature is found.
    X = RNG(0).normal(size=(80, 5))
    assert permutation_test(RReliefF(5), X, X[:, 2], n_permutations=99, random_state=0).p_values.argmin() == 2
