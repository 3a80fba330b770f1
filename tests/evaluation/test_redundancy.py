"""Features that stand in for each other: similarities, groups, representatives, and the stability with similarity."""

import numpy as np
import pandas as pd
import pytest
from naive import redundancy as naive
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_mutual_info_score

from weighbors.evaluation import nogueira_stability, redundancy_groups, similarity_stability
from weighbors.exceptions import InvalidDataError, RaisedThresholdWarning
from weighbors.weighers.redundancy import FeatureSimilarity, find_groups, groups, similarity
from weighbors.weighers.redundancy.groups import link_pairs

RNG = np.random.default_rng
SEEDS = np.random.SeedSequence


def random_similarity(rng, d):
    """Absolute correlations of d columns, some of them related."""
    rows = rng.normal(size=(8, d))
    rows[:, 1] = rows[:, 0] + 0.2 * rng.normal(size=8)
    return np.abs(np.corrcoef(rows.T))


def mixed_table(rng, n=80):
    """Numbers with ties, missing values and copies, and categories: renamed, merged, unrelated, and an identifier."""
    X = rng.normal(size=(n, 11))
    X[:, 1] = np.exp(X[:, 0])
    X[:, 2] = -X[:, 0] + 0.3 * rng.normal(size=n)
    X[:, 3] = np.round(X[:, 3])
    X[:, 4] = 7.0
    X[rng.random(n) < 0.2, 5] = np.nan
    X[:, 6] = rng.integers(0, 4, n)
    X[:, 7] = (X[:, 6] + 3) % 4
    X[:, 8] = X[:, 0] > 0
    X[:, 9] = np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), X[:, 6] // 2)
    X[:, 10] = np.arange(n)
    return X, np.arange(11) >= 6


# --- stability with similarity


@pytest.mark.parametrize("seed", range(12))
def test_stability_with_similarity_equals_its_formula_by_hand(seed):
    rng = RNG(seed)
    runs, d = int(rng.integers(2, 9)), int(rng.integers(3, 12))
    z = rng.random((runs, d)) < rng.uniform(0.2, 0.8)
    z[0, :2] = True, False  # never all or nothing in every run
    C = random_similarity(rng, d)
    found = similarity_stability(z, C)
    assert found.stability == pytest.approx(naive.sechidis(z, C), abs=1e-12)
    assert similarity_stability(z, sparse.csr_array(C)).stability == pytest.approx(found.stability, abs=1e-12)
    if runs > 2:
        each = np.array([naive.sechidis(np.delete(z, i, axis=0), C) for i in range(runs)])
        if np.isfinite(each).all():
            assert found.variance == pytest.approx((runs - 1) / runs * ((each - each.mean()) ** 2).sum(), abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_without_similarity_it_is_nogueiras_stability(seed):
    z = RNG(seed).random((6, 9)) < 0.4
    expected = nogueira_stability(z).stability
    assert similarity_stability(z, np.eye(9)).stability == pytest.approx(expected, abs=1e-12)
    assert similarity_stability(z, np.arange(9)).stability == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_group_numbers_are_a_matrix_of_ones(seed):
    rng = RNG(seed)
    z, group = rng.random((7, 10)) < 0.4, rng.integers(0, 5, 10)
    same = (group[:, None] == group[None, :]).astype(float)
    found = similarity_stability(z, group)
    assert found.stability == pytest.approx(naive.sechidis(z, same), abs=1e-12)
    assert found.variance == pytest.approx(similarity_stability(z, same).variance, abs=1e-12)


def test_random_selections_have_no_stability_on_average():
    rng = RNG(0)
    group = np.repeat(np.arange(20), 2)
    found = [
        similarity_stability([set(rng.choice(40, 8, replace=False).tolist()) for _ in range(10)], group, 40).stability
        for _ in range(200)
    ]
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(200)


def test_a_stability_that_is_not_defined_says_why():
    for z, group in (([[1, 1], [1, 1]], [0, 1]), ([[1, 0], [0, 1]], [0, 0]), ([[1], [1]], [0])):
        found = similarity_stability(np.array(z, dtype=bool), group)
        assert np.isnan(found.stability)
        assert "not defined" in repr(found)


@pytest.mark.parametrize(
    ("similarity", "message"),
    [
        (np.eye(4), "3 × 3"),
        ([0, 1], "one number per feature"),
        (np.eye(3) - 0.1, "between 0 and 1"),
        (np.full((3, 3), np.nan), "between 0 and 1"),
        (np.full((3, 3), 0.5), "diagonal"),
        (np.eye(3) + np.eye(3, k=1) / 2, "symmetric"),
        (np.full((3, 3), "a"), "numbers"),
    ],
)
def test_bad_similarities(similarity, message):
    with pytest.raises(InvalidDataError, match=message):
        similarity_stability(np.eye(3, dtype=bool), similarity)


# --- similarities


@pytest.mark.parametrize("seed", range(4))
def test_similarities_of_numbers_and_categories(seed):
    X, nominal = mixed_table(RNG(seed))
    features = np.arange(X.shape[1])
    found = FeatureSimilarity(X, nominal).block(features, features)
    assert np.allclose(found, found.T)
    assert (np.diag(found) == 1).all()
    columns = X.T.tolist()
    for a in (0, 1, 2, 3, 5):
        for b in (0, 1, 2, 3, 5):
            if a != b:
                expected = abs(naive.rank_correlation(columns[a], columns[b]))
                assert found[a, b] == pytest.approx(expected, abs=1e-9), (a, b)
    for a in (6, 7, 8, 9):
        for b in (6, 7, 8, 9):
            information = adjusted_mutual_info_score(X[:, a], X[:, b], average_method="max")
            assert found[a, b] == pytest.approx(np.sqrt(max(0, information)), abs=1e-9), (a, b)
        for b in (0, 1, 2, 3):
            assert found[a, b] == pytest.approx(naive.correlation_ratio(columns[a], naive.ranks(columns[b])), abs=1e-9)
        known = ~np.isnan(X[:, 5])
        values = naive.ranks(X[known, 5].tolist())
        assert found[a, 5] == pytest.approx(naive.correlation_ratio(X[known, a].tolist(), values), abs=1e-9)
    # A constant column and an identifier are similar to nothing but themselves.
    assert (found[4] == (features == 4)).all()
    assert (found[10] == (features == 10)).all()
    assert found[0, 1] == pytest.approx(1)
    assert found[6, 7] == pytest.approx(1)


def test_expected_information_of_many_rows_is_cut_off_without_loss():
    rng = RNG(0)
    a, b = rng.integers(0, 3, 6000), rng.integers(0, 40, 6000)
    found = FeatureSimilarity(np.column_stack([a, b]), np.ones(2, bool)).block(np.array([0]), np.array([1]))[0, 0]
    assert found == pytest.approx(np.sqrt(max(0, adjusted_mutual_info_score(a, b, average_method="max"))), abs=1e-6)


def test_pearson_equals_numpy_and_extreme_values_do_not_overflow():
    X = RNG(0).normal(size=(30, 4)) * [1, 1e200, 1e-200, 1]
    found = FeatureSimilarity(X, np.zeros(4, bool), correlation="pearson").block(np.arange(4), np.arange(4))
    scaled = X / np.abs(X).max(axis=0)
    assert np.allclose(found, np.abs(np.corrcoef(scaled.T)), atol=1e-12)


# --- groups


@pytest.mark.parametrize("seed", range(10))
def test_groups_are_those_of_complete_linkage(seed):
    rng = RNG(seed)
    d = 14
    base = rng.normal(size=(40, 4))
    X = base[:, rng.integers(0, 4, d)] + rng.uniform(0.1, 1.2) * rng.normal(size=(40, d))
    values = FeatureSimilarity(X, np.zeros(d, bool)).block(np.arange(d), np.arange(d))
    for threshold in (0.3, 0.5, 0.8):
        found = find_groups(FeatureSimilarity(X, np.zeros(d, bool)), threshold, seeds=SEEDS(0)).groups
        ours = {frozenset(np.flatnonzero(found == one).tolist()) for one in np.unique(found)}
        assert ours == {frozenset(group) for group in naive.complete_linkage(values, threshold)}
        distance = squareform(1 - values, checks=False)
        theirs = fcluster(linkage(distance, "complete"), 1 - threshold, criterion="distance")
        assert ours == {frozenset(np.flatnonzero(theirs == one).tolist()) for one in np.unique(theirs)}


def test_equal_similarities_are_linked_by_feature_number():
    # Four features in a chain of equal links: the first two are linked first, and then the last two.
    found = link_pairs(4, np.array([2, 1, 0]), np.array([3, 2, 1]), np.array([0.9, 0.9, 0.9]))
    assert found.tolist() == [0, 0, 1, 1]


def test_groups_do_not_depend_on_blocks(monkeypatch):
    X, nominal = mixed_table(RNG(1))
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(11)]).astype({f"f{j}": "category" for j in range(6, 11)})
    expected = redundancy_groups(frame)
    monkeypatch.setattr(similarity, "BLOCK", 2)
    monkeypatch.setattr(similarity, "_CATEGORY_BLOCK", 5)
    for other in (redundancy_groups(frame, n_jobs=2), redundancy_groups(X, categorical_features=nominal)):
        assert (other.groups == expected.groups).all()
        assert (other.representatives == expected.representatives).all()
        assert np.allclose(other.similarity, expected.similarity, atol=1e-12)


def test_the_limit_by_chance_is_seldom_exceeded():
    # 60 tables of noise with 20 rows: at most 1 in 20 may have a group, up to the binomial spread (9 of 60: p < .001).
    found = [
        redundancy_groups(RNG(seed).normal(size=(20, 25)), threshold="null", random_state=seed).n_groups < 25
        for seed in range(60)
    ]
    assert sum(found) < 9


def test_auto_computes_the_limit_only_if_it_matters():
    rng = RNG(0)
    assert redundancy_groups(rng.normal(size=(300, 10))).by_chance is None
    few = redundancy_groups(rng.normal(size=(12, 60)))
    assert few.by_chance > 0.7
    assert few.threshold > few.by_chance
    # Rare values coincide by chance more often than the t distribution says.
    rare = np.zeros((100, 10))
    rare[rng.random((100, 10)) < 0.1] = 1
    assert redundancy_groups(rare).by_chance is not None


def test_a_representative_has_the_best_score_or_is_in_the_middle():
    rng = RNG(0)
    middle = rng.normal(size=200)
    X = np.column_stack([middle + s * rng.normal(size=200) for s in (0.4, 0.05, 0.4)] + [rng.normal(size=200)])
    assert redundancy_groups(X).representatives.tolist() == [1, 3]
    assert redundancy_groups(X, [0.1, 0.2, 0.5, 0.0]).representatives.tolist() == [2, 3]
    assert redundancy_groups(X, [np.nan, np.nan, 0.5, np.nan]).representatives.tolist() == [2, 3]
    frame = redundancy_groups(X).frame()
    assert frame.index.tolist()[0] == "x1"
    assert frame["representative"].tolist() == ["x1", "x1", "x1", "x3"]
    assert "x1: x0, x2" in repr(redundancy_groups(X))


def test_one_feature_constant_features_and_missing_columns():
    assert redundancy_groups(np.arange(20.0)[:, None]).n_groups == 1
    X = RNG(0).normal(size=(30, 6))
    X[:, 0] = X[:, 1] = 3.0
    X[:, 2] = np.nan
    X[:28, 3] = X[:28, 4] = 0.0  # nearly constant, and equal
    X[:28, 3] = X[28:, 4] = 0.0
    assert redundancy_groups(X).n_groups == 6
    assert redundancy_groups(X[:3]).n_groups == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, "threshold must be"),
        ({"threshold": 1.5}, "threshold must be"),
        ({"threshold": "chance"}, "threshold must be"),
        ({"correlation": "kendall"}, "correlation must be"),
        ({"n_permutations": 0}, "n_permutations"),
        ({"scores": [1.0]}, "one number per feature"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(InvalidDataError, match=message):
        redundancy_groups(RNG(0).normal(size=(20, 3)), **options)


def test_unknown_features_and_too_many_pairs(monkeypatch):
    found = redundancy_groups(RNG(0).normal(size=(20, 3)))
    for feature in ("y", 3, -1):
        with pytest.raises(InvalidDataError):
            found.stand_ins(feature)
    monkeypatch.setattr(groups, "MOST_PAIRS", 2)
    X = RNG(0).normal(size=(200, 1)) + RNG(1).normal(size=(200, 4)) * [0.01, 0.01, 0.3, 0.3]
    with pytest.raises(InvalidDataError, match="6 pairs of features.*larger threshold"):
        redundancy_groups(X, threshold=0.7)
    # A threshold that was not given is raised: the first two features are the most similar ones.
    with pytest.warns(RaisedThresholdWarning, match="6 pairs of features"):
        raised = redundancy_groups(X)
    assert raised.threshold > 0.9
    assert raised.groups.tolist() == [0, 0, 1, 2]
    with pytest.raises(InvalidDataError, match="drop copies"):
        redundancy_groups(X[:, [0, 0, 0]])


@pytest.mark.slow
def test_many_features_need_no_full_matrix():
    import tracemalloc

    X = RNG(0).normal(size=(40, 25_000)).astype(np.float32)
    X[:, 20_000:] = X[:, :5000] + 0.1 * X[:, 20_000:]
    tracemalloc.start()
    found = redundancy_groups(X, threshold=0.9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.groups[20_000:] == found.groups[:5000]).all()
    assert peak < 600e6  # all pairs would take 5 GB
