"""Estimators leave the arrays of the caller as they are, and read arrays of any layout."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import weighbors as wb
from weighbors.engine import NeighborEngine
from weighbors.engine.margins import Margins
from weighbors.engine.references import build_references

RNG = np.random.default_rng
Y = np.arange(60) % 2
MODELS = [wb.Relief(), wb.ReliefF(), wb.RelievedF(), wb.ClassRelief(), wb.SURF(), wb.IRelief(), wb.MBIW(),
          wb.Simba(random_state=0), wb.WeightedKNeighborsClassifier(3), wb.LearnedVotesClassifier(random_state=0),
          wb.WeightedNearestNeighbors(n_neighbors=3), wb.FCNN()]  # fmt: skip


def untidy(dtype=np.float64, index=np.int32, missing=True):
    """Sparse rows with indices that are not sorted, duplicates, a stored zero, and a missing value."""
    rows = sparse.csr_matrix(RNG(0).poisson(0.8, size=(60, 6)).astype(dtype))
    for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        for part in (rows.indices, rows.data):
            part[begin:end] = part[begin:end][::-1].copy()
    rows.indices[1] = rows.indices[0]
    rows.data[7] = 0
    if missing:
        rows.data[5] = np.nan
    return sparse.csr_matrix((rows.data, rows.indices.astype(index), rows.indptr.astype(index)), shape=rows.shape)


def parts_of(rows):
    return [part.copy() for part in (rows.data, rows.indices, rows.indptr)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("missing", [False, True])
def test_sparse_rows_are_left_as_they_are(model, missing):
    for dtype, index in ((np.float64, np.int32), (np.float32, np.int64)):
        rows = untidy(dtype, index, missing)
        before = parts_of(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows, Y)
            tidy = rows.copy()
            tidy.sum_duplicates()
            if hasattr(model, "kneighbors"):
                np.testing.assert_array_equal(model.kneighbors(rows)[1], model.kneighbors(tidy)[1])
        for one, other in zip(parts_of(rows), before, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype


def misaligned(array):
    """The same numbers, one byte off: they begin at no multiple of their size."""
    raw = np.zeros(array.nbytes + 1, dtype=np.uint8)
    out = raw[1:].view(array.dtype).reshape(array.shape)
    out[...] = array
    assert not out.flags.aligned
    return out


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("backend", ["scan", "tree", "bytes"])
def test_misaligned_rows_are_copied(dtype, backend):
    rows = RNG(0).integers(0, 200, size=(300, 5)).astype(dtype)
    odd, queries = misaligned(rows), misaligned(rows[:9])
    assert build_references(odd).rows.flags.aligned
    assert build_references(rows).select(queries).flags.aligned
    assert Margins(odd, np.arange(300) % 2, 2, np.zeros(5, dtype=bool), None).rows.flags.aligned
    options = {"backend": backend, "p": 1}  # bytes need city-block distances
    found = NeighborEngine(odd, **options).search(queries, 4)
    for one, other in zip(found, NeighborEngine(rows, **options).search(rows[:9], 4), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(odd, rows)
