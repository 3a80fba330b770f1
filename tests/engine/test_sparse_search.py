"""Searches among sparse rows that are never made dense: against a double loop, and against the scan, bit by bit."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from weighbors import ReliefF, Weights, _native
from weighbors.engine import NeighborEngine
from weighbors.weighers.rows import ListedPairs, sum_listed


def sparse_rows(seed, n, m, dtype=np.float64, *, density=0.04, whole=False):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, m)) < density, rng.normal(size=(n, m)), 0.0)
    return sparse.csr_matrix((np.sign(X) if whole else X).astype(dtype))


def naive_lists(queries, rows, k, *, p, weights, own, groups, n_groups):
    """For each query and group, (distance, row) of the k nearest: dense rows, one pair and one feature at a time."""
    told = []
    for i, q in enumerate(queries.tolist()):
        by_group = [[] for _ in range(n_groups)]
        for r, x in enumerate(rows.tolist()):
            if own is None or own[i] != r:
                total = sum(w * abs(a - b) ** p for w, a, b in zip(weights, q, x, strict=True))
                by_group[groups[r]].append((total, r))
        told.append([sorted(one)[:k] for one in by_group])
    return told


@pytest.mark.parametrize("seed", range(16))
def test_lists_are_those_of_a_double_loop(seed):
    rng = np.random.default_rng(seed)
    n, m, p, n_groups, k = 12 + seed, 90, 1 + seed % 2, 1 + seed % 3, 4
    whole = seed % 4 < 2  # whole numbers have many equal distances, which are ordered by row
    X, Q = sparse_rows(seed, n, m, whole=whole), sparse_rows(100 + seed, 5, m, whole=whole)
    groups = np.arange(n) % n_groups
    weights = np.ones(m) if whole else rng.random(m) * (rng.random(m) < 0.8)
    kept = weights > 0  # the library leaves out columns of weight 0
    options = {"p": p, "groups": groups, "n_groups": n_groups}
    if not whole:
        options["weights"] = Weights(feature_weights=weights)
    engine = NeighborEngine(X, **options)
    assert engine.plan.backend == "sparse"
    for queries, own in ((Q, None), (X, np.arange(n))):
        distance, row = engine.search(queries, k, own_row=own, grouped=True)
        dense = queries.toarray()[:, kept], X.toarray()[:, kept]
        told = naive_lists(*dense, k, p=p, weights=weights[kept], own=own, groups=groups, n_groups=n_groups)
        for i, lists in enumerate(told):
            for g, wanted in enumerate(lists):
                assert row[i, g, : len(wanted)].tolist() == [r for _, r in wanted]
                assert (row[i, g, len(wanted) :] == -1).all()
                np.testing.assert_allclose(
                    distance[i, g, : len(wanted)], [d ** (1 / p) for d, _ in wanted], rtol=1e-12, atol=1e-12
                )


@pytest.mark.parametrize("level", ["baseline", None])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_bits_are_those_of_the_scan(dtype, p, weighted, level):
    before = _native.cpu_level()
    _native.set_cpu_level(level or before)
    try:
        for seed in range(12):
            rng = np.random.default_rng(seed)
            n, m = int(rng.integers(2, 90)), int(rng.integers(60, 600))
            X, Q = sparse_rows(seed, n, m, dtype), sparse_rows(50 + seed, 11, m, dtype)
            weights = Weights(feature_weights=rng.random(m)) if weighted else None
            found, scanned = (NeighborEngine(X, weights=weights, p=p, backend=b) for b in ("auto", "scan"))
            assert found.plan.backend == "sparse"
            for queries, own in ((X, np.arange(n)), (Q, None), (Q.toarray(), None)):
                for k in (1, 5, 100):
                    wanted = scanned.search(queries, k, own_row=own)
                    for jobs in (1, 2, 3):
                        answer = found.search(queries, k, own_row=own, n_jobs=jobs)
                        assert answer[0].tobytes() == wanted[0].tobytes()
                        assert answer[1].tobytes() == wanted[1].tobytes()
    finally:
        _native.set_cpu_level(before)


def test_rows_of_any_form_and_order_of_entries():
    X, Q = sparse_rows(3, 40, 200), sparse_rows(4, 6, 200)
    wanted = NeighborEngine(X).search(Q, 3)
    turned = sparse.csr_matrix((X.data[::-1].copy(), X.indices[::-1].copy(), X.nnz - X.indptr[::-1]), shape=X.shape)
    turned = turned[::-1]  # the same rows, with descending columns
    turned.has_sorted_indices = False
    twice = sparse.csr_matrix(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )  # every entry in two halves
    zeros = X.copy()
    zeros.data[::5] = 0.0  # stored zeros
    for rows in (turned, twice, X.tocsc(), X.tocoo()):
        kept = [part.copy() for part in (rows.data,)]
        np.testing.assert_array_equal(NeighborEngine(rows).search(Q, 3)[1], wanted[1])
        np.testing.assert_array_equal(rows.data, kept[0])
    np.testing.assert_array_equal(NeighborEngine(X).search(Q.tocsc(), 3)[0], wanted[0])
    found, scanned = NeighborEngine(zeros).search(Q, 3), NeighborEngine(zeros, backend="scan").search(Q, 3)
    np.testing.assert_array_equal(found[0], scanned[0])
    copy = pickle.loads(pickle.dumps(NeighborEngine(X)))
    np.testing.assert_array_equal(copy.search(Q, 3)[0], wanted[0])


def test_missing_values_and_dense_tables_are_left_to_the_scan():
    X = sparse_rows(5, 60, 150)
    engine, scanned = NeighborEngine(X), NeighborEngine(X, backend="scan")
    queries = sparse_rows(6, 4, 150)
    queries.data[0] = np.nan
    np.testing.assert_array_equal(engine.search(queries, 3)[0], scanned.search(queries, 3)[0])
    X.data[7] = np.nan
    assert NeighborEngine(X).plan.backend == "scan"
    assert NeighborEngine(sparse_rows(5, 60, 150, density=0.6)).plan.backend == "scan"
    assert "common features" in str(engine.plan)


def test_queries_that_overflow_are_refused():
    engine, queries = NeighborEngine(sparse_rows(5, 60, 150)), sparse_rows(6, 4, 150)
    queries.data[0] = 1e200
    with pytest.raises(ValueError, match="overflow"):
        engine.search(queries, 3)


def test_empty_rows():
    X = sparse_rows(2, 30, 400, density=0.01)
    X.data[: X.indptr[5]] = 0.0
    X.eliminate_zeros()
    X.resize(33, 400)  # the last rows have no entry, as the first ones
    found, scanned = NeighborEngine(X), NeighborEngine(X, backend="scan")
    own = np.arange(33)
    for one, other in zip(found.search(X, 4, own_row=own), scanned.search(X, 4, own_row=own), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_listed_differences_are_those_of_dense_rows(dtype):
    rng = np.random.default_rng(0)
    X = sparse_rows(1, 700, 50, dtype)
    neighbor = rng.integers(-1, 700, size=(700, 6))
    coefficient, output_row = rng.normal(size=(700, 6)), rng.integers(0, 3, size=(700, 6))
    lists = ListedPairs(np.arange(700), neighbor, coefficient, output_row, 3)
    wanted = sum_listed(X.toarray(), 50, [lists], 1)[0]
    found = [sum_listed(X, 50, [lists], jobs)[0] for jobs in (1, 2)]
    np.testing.assert_allclose(found[0], wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found[0], found[1])


def test_relieff_of_sparse_rows_is_that_of_dense_rows():
    X = sparse_rows(8, 120, 300)
    y = (np.asarray(X[:, :20].sum(axis=1)).ravel() > 0).astype(int)
    np.testing.assert_allclose(
        ReliefF().fit(X, y).feature_weights_, ReliefF().fit(X.toarray(), y).feature_weights_, rtol=1e-9, atol=1e-12
    )


def compressed(start, feature, width):
    """Sparse rows of ones, as the compiled core takes them."""
    return _native.make_sparse_rows(
        start=np.array(start), feature=np.array(feature, dtype=np.int32), value=np.ones(len(feature)), width=width
    )


@pytest.mark.parametrize(
    ("start", "feature", "message"),
    [([0, 1, 2], [0, 9], "entry outside"), ([0, 3, 2], [0, 1], "ascend|fit together"), ([0, 1, 1], [0, 1], "together")],
)
def test_forged_sparse_rows_are_refused(start, feature, message):
    with pytest.raises(ValueError, match=message):
        compressed(start, feature, width=3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"queries": compressed([0, 1], [1], width=2)}, "same features"),
        ({"columns": compressed([0, 1, 2], [0, 1], width=2)}, "same features"),
        ({"order": np.array([0, 2])}, "order"),
        ({"group_start": np.array([0, 1])}, "group_start"),
        ({"weights": np.ones(2)}, "weights"),
        ({"p": 3}, "p: 1 or 2"),
        ({"own": np.array([0, 1])}, "own"),
        ({"end": 2}, "row range"),
    ],
)
def test_forged_arrays_are_refused(wrong, message):
    given = {
        "queries": compressed([0, 1], [1], width=3), "references": compressed([0, 1, 2], [0, 1], width=3),
        "columns": compressed([0, 1, 2, 2], [0, 1], width=2), "weights": None, "query_norm": np.ones(1),
        "norm": np.ones(2),
        "order": np.arange(2), "group_start": np.array([0, 2]), "own": None, "p": 2,
        "distance": np.empty((1, 1, 1)), "id": np.empty((1, 1, 1), dtype=np.int64), "begin": 0, "end": 1,
    }  # fmt: skip
    _native.find_k_nearest_sparse(**given)
    assert given["id"].item() == 1
    assert given["distance"].item() == 0.0
    with pytest.raises(ValueError, match=message):
        _native.find_k_nearest_sparse(**{**given, **wrong})
