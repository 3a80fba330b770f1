"""The SURF family on sparse rows that are not made dense, against the loops of the oracle."""

import numpy as np
import pytest
from naive import relief, relief_numeric
from scipy import sparse
from sklearn.base import clone

from weighbors import SURF, MultiSURF, MultiSURFStar, SURFStar
from weighbors.evaluation import permutation_test
from weighbors.weighers import rows, surf
from weighbors.weighers.base import fit_targets

FAMILY = {
    SURF: {"multi": False, "star": False},
    SURFStar: {"multi": False, "star": True},
    MultiSURF: {"multi": True, "star": False},
    MultiSURFStar: {"multi": True, "star": True},
}
every_method = pytest.mark.parametrize("cls", FAMILY, ids=lambda cls: cls.__name__)


@pytest.fixture(autouse=True)
def no_dense_rows(monkeypatch):
    """Refuse to make these small tables dense."""
    monkeypatch.setattr(rows, "DENSE_BYTES", 1)
    monkeypatch.setattr(surf, "DENSE_BYTES", 1)


def rows_with_entries(n, m, *, seed=0, share=0.15, dtype=np.float64):
    """Sparse rows of halves, with equal rows, an empty row, and a full column far from 0."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, m)) < share, rng.integers(-6, 7, size=(n, m)) / 2, 0.0)
    X[1], X[2] = X[0], 0.0
    X[:, -1] = 1000.0 + rng.integers(0, 5, size=n)
    return sparse.csr_matrix(X.astype(dtype))


@every_method
@pytest.mark.parametrize("seed", range(3))
def test_classes(cls, seed):
    X, y = rows_with_entries(24, 11, seed=seed), np.random.default_rng(seed).integers(0, 3, size=24)
    wanted = relief.surf(X.toarray().tolist(), y.tolist(), **FAMILY[cls])
    np.testing.assert_allclose(cls().fit(X, y).feature_weights_, wanted, rtol=0, atol=1e-12)


@every_method
def test_numeric_targets_and_sample_weights(cls):
    X, rng = rows_with_entries(22, 9), np.random.default_rng(1)
    y, weight = rng.normal(size=22).round(2), rng.integers(1, 4, size=22).astype(float)
    wanted = relief_numeric.surf(X.toarray(), y, weight=weight, **FAMILY[cls])
    found = cls().fit(X, y, sample_weight=weight).feature_weights_
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


@every_method
def test_float32(cls):
    X, y = rows_with_entries(24, 11, dtype=np.float32), np.arange(24) % 2
    wanted = relief.surf(X.toarray().tolist(), y.tolist(), **FAMILY[cls])
    np.testing.assert_allclose(cls().fit(X, y).feature_weights_, wanted, rtol=0, atol=1e-5)


@every_method
def test_results_do_not_depend_on_threads_or_on_how_entries_are_stored(cls):
    X, y = rows_with_entries(200, 60), np.arange(200) % 2
    one = cls().fit(X, y).feature_weights_
    unsorted = X.copy()
    for i in range(200):
        entries = slice(unsorted.indptr[i], unsorted.indptr[i + 1])
        unsorted.indices[entries] = unsorted.indices[entries][::-1]
        unsorted.data[entries] = unsorted.data[entries][::-1]
    unsorted.has_sorted_indices = False
    before = unsorted.indices.copy(), unsorted.data.copy()
    for same in (X, X.tocsc(), sparse.csr_array(X), unsorted):
        for n_jobs in (1, 2, 3):
            np.testing.assert_array_equal(cls(n_jobs=n_jobs).fit(same, y).feature_weights_, one)
    np.testing.assert_array_equal(unsorted.indices, before[0])
    np.testing.assert_array_equal(unsorted.data, before[1])


@pytest.mark.parametrize("cls", [SURF, MultiSURF])
def test_many_entries_are_made_dense_if_they_may(cls, monkeypatch):
    X, y = rows_with_entries(40, 30, share=0.7), np.arange(40) % 2
    without = cls().fit(X, y).feature_weights_
    monkeypatch.setattr(rows, "DENSE_BYTES", 2**20)
    monkeypatch.setattr(surf, "DENSE_BYTES", 2**20)
    monkeypatch.setattr(surf, "SparseZoneRows", None)
    np.testing.assert_allclose(cls().fit(X, y).feature_weights_, without, rtol=0, atol=1e-12)


def test_a_permutation_test_has_the_bits_of_separate_fits():
    X, y = rows_with_entries(40, 50), np.arange(40) % 2
    weigher = MultiSURF()
    targets = [np.random.default_rng(seed).permutation(y) for seed in range(3)]
    separate = [clone(weigher).fit(X, target).feature_weights_ for target in targets]
    np.testing.assert_array_equal(fit_targets([clone(weigher) for _ in targets], X, targets), separate)
    assert permutation_test(weigher, X, y, n_permutations=20).p_values.shape == (50,)
