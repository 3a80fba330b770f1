"""Fits that share their rows have the same bits as separate fits."""

import tracemalloc
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification

import weighbors.evaluation.permutation as permutation_module
from weighbors import (
    NPDR,
    SURF,
    ClassRelief,
    IRelief,
    MultiSURF,
    MultiSURFStar,
    Relief,
    ReliefF,
    RelievedF,
    RReliefF,
    Simba,
    SURFStar,
    TuRF,
)
from weighbors.evaluation import permutation_test
from weighbors.weighers import neighbors, relief
from weighbors.weighers.base import fit_targets
from weighbors.weighers.surf import ZoneRows

LISTS = [
    Relief(1),
    Relief(3, ties="index"),
    RelievedF(2),
    ReliefF(4),
    ReliefF(3, ties="index"),
    ReliefF(5, sigma=2.0),
    ReliefF(200),
    ReliefF(3, n_samples=10, random_state=3),
    ReliefF(3, n_jobs=2),
    ClassRelief(2),
    ClassRelief(1, skip_zero=True),
]
NUMERIC = [RReliefF(4), RReliefF(3, sigma=2.0), RReliefF(2, ties="index"), MultiSURF(), SURF()]
FAMILY = [SURF(), SURFStar(), MultiSURF(), MultiSURFStar(n_jobs=2)]


def a_table(kind, seed):
    """Rows of one kind, with their target of classes."""
    random = np.random.default_rng(seed)
    n, m = int(random.integers(12, 70)), int(random.integers(2, 24))
    X = random.normal(size=(n, m))
    y = np.concatenate([np.arange(3), np.arange(3), random.integers(0, 3, n - 6)])
    random.shuffle(y)
    if kind in ("ties", "sparse"):
        X = random.integers(0, 3, (n, m)).astype(float)
    if kind == "duplicates":
        X = X[random.integers(0, n // 2, n)]
    if kind in ("missing", "everything"):
        X[random.random((n, m)) < 0.1] = np.nan
    if kind == "float32":
        X = X.astype(np.float32)
    if kind == "columns first":
        X = np.asfortranarray(X)
    if kind == "singleton":
        y = np.where(np.arange(n) == 5, 7, y % 2)
    if kind == "sparse":
        return sparse.csr_matrix(X), y
    if kind in ("categories", "everything"):
        frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(m)])
        for j in range(0, m, 2):
            frame[f"c{j}"] = pd.Categorical(random.choice(["a", "b", "c"], n))
            if kind == "everything":
                frame.loc[random.random(n) < 0.1, f"c{j}"] = None
        return frame, y
    return X, y


def fit_together(weigher, X, targets):
    """Weights of several fits that share their rows."""
    return fit_targets([clone(weigher) for _ in targets], X, targets)


def assert_same_bits(weigher, X, y, seed):
    """Compare fits to permuted targets that share their rows with separate ones."""
    random = np.random.default_rng(seed)
    targets = [random.permutation(y) for _ in range(5)]
    separate = [clone(weigher).fit(X, target).feature_weights_ for target in targets]
    for some in (slice(0, 1), slice(1, 5)):  # one fit, and several together
        np.testing.assert_array_equal(fit_together(weigher, X, targets[some]), separate[some])


@pytest.fixture(params=["long lists", "short lists"])
def lists(request, monkeypatch):
    """Lists of all other rows, or lists that are too short."""
    if request.param == "short lists":
        monkeypatch.setattr(neighbors, "LIST_BYTES", 12 * 500)
    return request.param


KINDS = [
    "plain",
    "ties",
    "duplicates",
    "missing",
    "categories",
    "everything",
    "float32",
    "sparse",
    "singleton",
    "columns first",
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_lists_of_classes(kind, lists):
    X, y = a_table(kind, KINDS.index(kind))
    for seed, weigher in enumerate(LISTS):
        assert_same_bits(weigher, X, y, seed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["plain", "ties", "duplicates", "everything", "float32"])
def test_numeric_targets(kind, lists):
    X, y = a_table(kind, KINDS.index(kind))
    target = y + np.random.default_rng(0).normal(size=len(y)).round(1)
    for seed, weigher in enumerate(NUMERIC):
        assert_same_bits(weigher, X, target, seed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_distances_of_the_surf_family(kind, monkeypatch):
    monkeypatch.setattr("weighbors.weighers.surf._LEAST_FEATURES", 1)
    measured = []
    distances = ZoneRows.distances
    monkeypatch.setattr(ZoneRows, "distances", lambda *given: measured.append(1) or distances(*given))
    X, y = a_table(kind, KINDS.index(kind))
    target = y + np.random.default_rng(0).normal(size=len(y)).round(1)
    for seed, weigher in enumerate(FAMILY):
        assert_same_bits(weigher, X, y, seed)
        assert_same_bits(weigher, X, target, seed)
    # Only complete numbers of float64 have a kernel for known distances.
    known = kind not in ("missing", "categories", "everything", "float32")
    assert len(measured) == 2 * len(FAMILY) * known
    monkeypatch.setattr("weighbors.weighers.surf._DISTANCE_BYTES", 8 * X.shape[0] ** 2 - 1)
    assert_same_bits(SURF(), X, y, 0)
    assert len(measured) == 2 * len(FAMILY) * known


@pytest.mark.filterwarnings("ignore")
def test_lists_of_a_few_hundred_of_many_rows(monkeypatch):
    """Lists hold only some rows here, and a rare class is mostly beyond them."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(900, 30)), np.r_[np.zeros(600, int), np.ones(290, int), np.full(10, 2)]
    monkeypatch.setattr(neighbors, "LIST_BYTES", 12 * 900 * 80)
    for weigher in (ReliefF(3), Relief(1), RelievedF(2)):
        assert_same_bits(weigher, X, y, 0)


def test_weighers_that_fit_in_their_own_way_share_nothing():
    X, y = a_table("plain", 0)

    class Own(ReliefF):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X * 2, y, sample_weight)

    class Doubled(ReliefF):
        def score_targets(self, rows, targets):
            return [2 * weights for weights in super().score_targets(rows, targets)]

    np.testing.assert_array_equal(fit_together(Doubled(3), X, [y, y]), [2 * ReliefF(3).fit(X, y).feature_weights_] * 2)
    for weigher in (Own(), TuRF(ReliefF(3)), NPDR(), IRelief(), Simba()):
        assert fit_together(weigher, X, [y, y]) is None


@pytest.mark.filterwarnings("ignore")
def test_clones_do_not_share_what_draws_change():
    X, y = a_table("plain", 0)
    one, two = (
        permutation_test(
            ReliefF(n_samples=9, random_state=np.random.RandomState(0)), X, y, n_permutations=4, n_jobs=jobs
        )
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.null_mean, two.null_mean)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize(
    "weigher", [ReliefF(5), ReliefF(3, n_samples=20), RReliefF(4), MultiSURF(), TuRF(ReliefF(3))], ids=str
)
def test_permutation_test_is_that_of_separate_fits(weigher, n_jobs, monkeypatch):
    X, y = make_classification(60, 1100, n_informative=5, random_state=0)
    target = y + X[:, 0] if isinstance(weigher, RReliefF) else y
    options = {"n_permutations": 5, "random_state": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shared = permutation_test(weigher, X, target, n_jobs=n_jobs, **options)
        monkeypatch.setattr(permutation_module, "fit_targets", lambda weighers, X, targets: None)
        separate = permutation_test(weigher, X, target, **options)
    pd.testing.assert_frame_equal(shared.frame(), separate.frame(), check_exact=True)


def test_ties_take_no_more_memory_in_several_fits_than_is_allowed(monkeypatch):
    """Many equal rows make lists long, which several fits must not all keep at once."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(500, 20)), random.integers(0, 2, 500)
    X[:250] = 0.0
    monkeypatch.setattr(relief, "_TOGETHER_BYTES", 64 * 50_000)
    targets = [random.permutation(y) for _ in range(12)]
    separate = [ReliefF(10).fit(X, target).feature_weights_ for target in targets]
    peaks = []
    for size in (2, 12):
        tracemalloc.start()
        found = fit_together(ReliefF(10), X, targets[:size])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        np.testing.assert_array_equal(found, separate[:size])
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.parametrize(("n_jobs", "sizes"), [(1, [20]), (2, [10, 10]), (8, [3] * 6 + [2])])
def test_all_jobs_get_permutations(n_jobs, sizes, monkeypatch):
    X, y = a_table("plain", 0)
    found = []

    def record(weigher, X, permuter, children, fit_params):
        found.append(len(children))
        return [np.zeros(X.shape[1]) for _ in children]

    monkeypatch.setattr(permutation_module, "_fit_to_permuted_labels", record)
    with joblib.parallel_config(backend="threading"):
        permutation_test(ReliefF(3), X, y, n_permutations=20, n_jobs=n_jobs)
    assert sorted(found, reverse=True) == sizes


@pytest.mark.parametrize("weigher", [ReliefF(3), MultiSURF()], ids=str)
def test_targets_of_another_length_are_refused(weigher):
    X, y = a_table("plain", 0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit_together(weigher, X, [y, y[:-1]])
