"""Every backend against the scan: equal to the bit, or, for the approximate one, by recall."""

import pickle
import sys

import numpy as np
import pytest

from weighbors import Weights, _native
from weighbors.engine import NeighborEngine
from weighbors.exceptions import BackendError, MissingDependencyError

RNG = np.random.default_rng


def weights_of(kind, n, m):
    rng = RNG(9)
    return {
        "none": None,
        "feature": Weights(feature_weights=rng.random(m)),
        "masked": Weights(feature_mask=np.arange(m) % 2 == 0, instance_mask=rng.random(n) < 0.7),
        "class": Weights(feature_weights=0.2 + rng.random((3, m)), classes=[0, 1, 2]),
        "instance": Weights(feature_weights=0.2 + rng.random((n, m))),
        "scales": Weights(instance_scales=0.5 + rng.random(n)),
    }[kind]


def data(name, dtype, n=700, m=4):
    rng = RNG(3)
    X = {
        "normal": rng.normal(size=(n, m)),
        "ties": rng.integers(0, 4, size=(n, m)),
        "offset": 1e4 + rng.normal(size=(n, m)),
        "duplicates": np.repeat(rng.normal(size=(n // 7, m)), 7, axis=0),
    }[name]
    return X.astype(dtype)


FOLDING = ["none", "feature", "masked"]
SERVED = [("tree", p, kind) for p in (1, 2) for kind in FOLDING]
SERVED += [("bytes", 1, kind) for kind in ("none", "masked")]


@pytest.mark.parametrize(("backend", "p", "kind"), SERVED)
@pytest.mark.parametrize("name", ["normal", "ties", "offset", "duplicates"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_backends_equal_the_scan(backend, p, kind, name, dtype):
    X = data(name, dtype)
    y = RNG(5).integers(0, 3, size=len(X))
    options = {"weights": weights_of(kind, *X.shape), "class_of_row": y, "p": p}
    scan = NeighborEngine(X, backend="scan", **options)
    other = NeighborEngine(X, backend=backend, n_jobs=2, **options)
    for own in (None, np.arange(len(X))):
        for k in (1, 6):
            expected, answer = scan.search(X, k, own_row=own), other.search(X, k, own_row=own)
            assert answer[0].tobytes() == expected[0].tobytes()
            assert answer[1].tobytes() == expected[1].tobytes()


@pytest.mark.parametrize("backend", ["tree", "bytes"])
def test_queries_with_missing_values_go_to_the_scan(backend):
    X = data("normal", np.float64)
    Q = X[:20].copy()
    Q[3, 1] = np.nan
    p = 1 if backend == "bytes" else 2
    answer = NeighborEngine(X, backend=backend, p=p).search(Q, 3)
    assert answer[0].tobytes() == NeighborEngine(X, backend="scan", p=p).search(Q, 3)[0].tobytes()


@pytest.mark.parametrize("n_groups", [1, 2, 40])
@pytest.mark.parametrize("name", ["normal", "ties", "duplicates", "skewed", "constant"])
@pytest.mark.parametrize(("n", "m"), [(300, 9), (1200, 100), (9000, 70)])
def test_bytes_give_the_lists_of_the_scan(n, m, name, n_groups):
    rng = RNG(n + m)
    X = data(name, np.float64, n, m) if name not in ("skewed", "constant") else np.exp(3 * rng.normal(size=(n, m)))
    if name == "constant":
        X[:] = 3.5
    n = len(X)  # whole sevens of duplicates
    options = {"p": 1, "groups": rng.integers(0, n_groups, size=n), "n_groups": n_groups}
    rows = rng.permutation(n)[:150]
    strange = X[rows] + 5 * rng.normal(size=(150, m))  # beyond the range of the references
    for queries, own in ((X[rows], rows), (X[rows], None), (strange, None)):
        for k in (1, 11, 33):
            expected = NeighborEngine(X, backend="scan", **options).search(queries, k, own_row=own, grouped=True)
            answer = NeighborEngine(X, backend="bytes", n_jobs=2, **options).search(
                queries, k, own_row=own, grouped=True
            )
            assert answer[0].tobytes() == expected[0].tobytes()
            assert answer[1].tobytes() == expected[1].tobytes()


def test_bytes_measure_few_rows_and_leave_hopeless_data_to_the_scan(monkeypatch):
    from weighbors.engine.backends.scan import Scan

    searched = []
    search = Scan.search
    monkeypatch.setattr(Scan, "search", lambda *args: searched.append(1) or search(*args))
    X = RNG(0).random((2000, 50))
    NeighborEngine(X, p=1, backend="bytes").search(X, 5)
    assert not searched
    X[0] = 1e6  # one row spans everything: bytes cannot tell the others apart
    NeighborEngine(X, p=1, backend="bytes").search(X, 5)
    assert searched


def test_most_queries_need_no_second_search(monkeypatch):
    X = data("normal", np.float32, n=5_000)
    engine = NeighborEngine(X, backend="tree")
    searched = []
    scan = engine._backend.scan
    inner = scan.search
    monkeypatch.setattr(scan, "search", lambda batch, k: (searched.append(len(batch.rows)), inner(batch, k))[1])
    engine.search(X, 5)
    assert sum(searched) < 0.05 * len(X)


@pytest.mark.parametrize("kind", ["none", "feature", "class", "scales"])
def test_hnsw_by_recall(kind):
    pytest.importorskip("faiss")
    X = RNG(0).normal(size=(3_000, 16)).astype(np.float32)
    y = RNG(1).integers(0, 3, size=len(X))
    options = {"weights": weights_of(kind, *X.shape), "class_of_row": y}
    _, expected = NeighborEngine(X, backend="scan", **options).search(X[:300], 10)
    distance, found = NeighborEngine(X, backend="hnsw", **options).search(X[:300], 10)
    recall = np.mean([len(set(f) & set(e)) / 10 for f, e in zip(found, expected, strict=True)])
    assert recall > 0.95
    assert (np.diff(distance, axis=1) >= 0).all()


def test_more_neighbours_than_a_graph_gives_are_still_found():
    pytest.importorskip("faiss")
    X = data("normal", np.float32, n=30)
    _, row = NeighborEngine(X, backend="hnsw").search(X, 30)
    assert (np.sort(row, axis=1) == np.arange(30)).all()


def test_a_backend_refuses_what_it_cannot_serve():
    X = data("normal", np.float64)
    with pytest.raises(BackendError, match="per instance do not fold.*backend='auto'"):
        NeighborEngine(X, backend="tree", weights=weights_of("scales", *X.shape))
    with pytest.raises(BackendError, match="not Euclidean"):
        NeighborEngine(X, backend="rounded", p=1)
    with pytest.raises(BackendError, match="nominal"):
        NeighborEngine(X, backend="tree", nominal=np.array([True, False, False, False]))
    gaps = X.copy()
    gaps[0, 0] = np.nan
    with pytest.raises(BackendError, match="missing"):
        NeighborEngine(gaps, backend="tree")
    with pytest.raises(BackendError, match="each group"):
        NeighborEngine(X, backend="tree", groups=np.arange(len(X)) % 2, n_groups=2)
    with pytest.raises(BackendError, match="not city-block"):
        NeighborEngine(X, backend="bytes")
    with pytest.raises(BackendError, match="there are weights"):
        NeighborEngine(X, backend="bytes", p=1, weights=weights_of("feature", *X.shape))
    with pytest.raises(BackendError, match="missing values"):
        NeighborEngine(gaps, backend="bytes", p=1)
    with pytest.raises(BackendError, match="one of auto, scan"):
        NeighborEngine(X, backend="ball")


def test_a_missing_faiss_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'weighbors\[faiss\]'"):
        NeighborEngine(data("normal", np.float32), backend="hnsw")


@pytest.mark.parametrize("backend", ["tree", "bytes", "hnsw"])
def test_pickling_drops_what_can_be_rebuilt(backend):
    if backend == "hnsw":
        pytest.importorskip("faiss")
    X = data("normal", np.float32)
    engine = NeighborEngine(X, backend=backend, p=1 if backend == "bytes" else 2)
    before = engine.search(X[:20], 3)
    copy = pickle.loads(pickle.dumps(engine))
    assert copy.search(X[:20], 3)[0].tobytes() == before[0].tobytes()


def hard_data(name, n=3000, m=6):
    """Tables in which rounding to float32 changes the order of neighbours, or could."""
    rng = RNG(4)
    X = {
        "normal": rng.normal(size=(n, m)),
        "ties": rng.integers(0, 4, size=(n, m)).astype(float),
        "offset": 1e9 + rng.normal(size=(n, m)),
        "duplicates": np.repeat(rng.normal(size=(n // 4, m)), 4, axis=0),
        "close to each other": 1.0 + 1e-9 * rng.integers(0, 50, size=(n, m)) + rng.integers(0, 2, (n, m)),
        "one outlier": np.vstack([rng.normal(size=(n - 1, m)), np.full((1, m), 1e12)]),
        "tiny": 1e-30 * rng.normal(size=(n, m)),
        "huge": 1e30 * rng.normal(size=(n, m)),
        "missing": np.where(rng.random((n, m)) < 0.1, np.nan, rng.normal(size=(n, m))),
        "constant": np.ones((n, m)),
    }[name]
    return X


NAMES = ["normal", "ties", "offset", "duplicates", "close to each other", "one outlier", "tiny", "huge", "missing"]


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kind", ["none", "feature", "masked"])
@pytest.mark.parametrize("nominal", [False, True])
@pytest.mark.parametrize("name", [*NAMES, "constant"])
def test_proposals_in_float32_give_the_lists_of_the_scan(name, nominal, kind, p):
    X = hard_data(name)
    options = {"weights": weights_of(kind, *X.shape), "p": p}
    if nominal:
        X[:, 2] = np.round(np.nan_to_num(RNG(0).normal(size=len(X))))
        options["nominal"] = np.arange(X.shape[1]) == 2
    scan, auto = NeighborEngine(X, backend="scan", **options), NeighborEngine(X, n_jobs=2, **options)
    assert auto.plan.backend == "single"
    queries, own = np.concatenate([X[:300], 1.5 * X[:40]]), np.append(np.arange(300), np.full(40, -1))
    for k in (1, 7, 100):
        expected, answer = scan.search(queries, k, own_row=own), auto.search(queries, k, own_row=own)
        assert answer[0].tobytes() == expected[0].tobytes()
        assert answer[1].tobytes() == expected[1].tobytes()


def test_proposals_in_float32_are_given_up_where_they_decide_nothing():
    # Equal rows are measured like others, but beside a number of 1e12 all other rows are the same in float32.
    plain, tied, far = (NeighborEngine(hard_data(name)) for name in ("normal", "duplicates", "one outlier"))
    for engine in (plain, tied, far):
        engine.search(engine.references.rows[:500], 3)
    assert not plain._backend._doubtful
    assert not tied._backend._doubtful
    assert far._backend._doubtful
    again = pickle.loads(pickle.dumps(plain))
    expected, answer = plain.search(np.zeros((3, 6)), 5), again.search(np.zeros((3, 6)), 5)
    assert answer[0].tobytes() == expected[0].tobytes()


def test_proposals_in_float32_settle_queries_far_away_and_with_holes():
    X = hard_data("normal")
    queries = np.vstack([np.full((1, 6), 1e60), np.full((1, 6), np.nan), X[:5] * 1e20, X[5:10]])
    expected = NeighborEngine(X, backend="scan").search(queries, 4)
    answer = NeighborEngine(X).search(queries, 4)
    assert answer[0].tobytes() == expected[0].tobytes()
    assert answer[1].tobytes() == expected[1].tobytes()


@pytest.mark.parametrize("size", [1e-19, 1e-20, 1e-21, 10**-21.5, 1e-23, 1e-38, 1e-44])
@pytest.mark.parametrize("p", [1, 2])
def test_numbers_that_a_category_makes_too_small_for_float32_are_measured_exactly(p, size):
    rng = RNG(3)
    X = np.column_stack([size * rng.uniform(size=(3000, 3)), rng.integers(0, 2, 3000)])
    options = {"p": p, "nominal": np.arange(4) == 3}
    queries = np.column_stack([size * rng.uniform(size=(400, 3)), rng.integers(0, 2, 400)])
    auto = NeighborEngine(X, **options)
    assert auto.plan.backend == "single"
    expected, answer = NeighborEngine(X, backend="scan", **options).search(queries, 5), auto.search(queries, 5)
    assert answer[0].tobytes() == expected[0].tobytes()
    assert answer[1].tobytes() == expected[1].tobytes()


@pytest.mark.filterwarnings("error")
def test_a_query_too_far_from_tiny_rows_for_float64_gives_no_warning():
    X = 1e-200 * hard_data("normal")
    queries = np.vstack([np.full((1, 6), 1e150), X[:3]])
    expected = NeighborEngine(X, p=1, backend="scan").search(queries, 4)
    engine = NeighborEngine(X, p=1)
    assert engine.plan.backend == "single"
    answer = engine.search(queries, 4)
    assert answer[0].tobytes() == expected[0].tobytes()
    assert answer[1].tobytes() == expected[1].tobytes()


@pytest.mark.filterwarnings("error")
def test_a_constant_column_that_far_outweighs_a_category_gives_no_warning():
    X = np.column_stack([np.full(2500, 3.7), RNG(0).integers(0, 3, 2500)])
    options = {"weights": Weights(feature_weights=[1e160, 1e-150]), "p": 1, "nominal": np.array([False, True])}
    queries = np.vstack([X[:5], [[4.0, 1.0]]])
    engine = NeighborEngine(X, **options)
    assert engine.plan.backend == "single"
    expected, answer = NeighborEngine(X, backend="scan", **options).search(queries, 4), engine.search(queries, 4)
    assert answer[0].tobytes() == expected[0].tobytes()
    assert answer[1].tobytes() == expected[1].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["reals", "ties", "offset", "weights", "one large column", "close"])
def test_rounded_rows_propose_the_lists_of_the_scan(kind, dtype):
    if not _native.multiplies_pairs():
        pytest.skip("this CPU level has no instruction for rounded rows")
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4003, 7))
    if kind == "ties":
        X = np.round(2 * X)
    if kind == "close":  # distances differ by less than the rounding
        X = 1 + 1e-5 * X
        X[0] = 1e3
    X[:, 3] *= 1e6 if kind == "one large column" else 1.0
    X = np.ascontiguousarray(X + (1e4 if kind == "offset" else 0.0), dtype=dtype)
    weights = Weights(feature_weights=np.array([1.0, 0.5, 0.0, 2.0, 3.0, 1e-3, 0.1])) if kind == "weights" else None
    engine, scan = (NeighborEngine(X, weights=weights, backend=backend) for backend in ("rounded", "scan"))
    outside = np.concatenate([X[:300], 3 * X[300:330], -X[:5] - 1e4]).astype(dtype)  # some queries leave the range
    for queries, own in ((X, np.arange(len(X))), (outside, None)):
        for k in (1, 10, 200):
            wanted = scan.search(queries, k, own_row=own)
            for jobs in (1, 3):
                found = engine.search(queries, k, own_row=own, n_jobs=jobs)
                np.testing.assert_array_equal(found[0], wanted[0])
                np.testing.assert_array_equal(found[1], wanted[1])
    missing = X[:20].copy()
    missing[::3, 1] = np.nan
    np.testing.assert_array_equal(engine.search(missing, 3)[1], scan.search(missing, 3)[1])
    copy = pickle.loads(pickle.dumps(engine))
    np.testing.assert_array_equal(copy.search(X[:50], 3)[1], engine.search(X[:50], 3)[1])


def wide_data(kind, dtype, n=90, m=1500):
    """Tables with many columns, in which rounding to 16 bits changes the order of neighbours, or could."""
    rng = RNG(6)
    X = rng.normal(size=(n, m))
    X = {
        "reals": X,
        "odd": X[:, :-37],
        "ties": np.round(X),
        "equal rows": np.repeat(X[: n // 3], 3, axis=0),
        "offset": X + (1e8 if dtype == np.float64 else 1e3),
        "large offsets": np.where(np.arange(m) % 2, 1e8, 1e8 + 1) * np.ones((n, 1)) + np.round(X),
        "one large column": X * np.where(np.arange(m) == 3, 1e6, 1.0),
        "one far row": np.vstack([X[1:], np.full((1, m), 1e4)]),
        "close": 1 + 1e-6 * X,
        "constant": np.ones((n, m)),
        "tiny": X * (1e-120 if dtype == np.float64 else 1e-10),
        "huge": X * (1e120 if dtype == np.float64 else 1e12),
        "one panel": np.where(np.arange(m) < 64, 100 * np.sign(X), X),  # Its norm is that of few features.
        "rare": np.where(rng.random((n, m)) < 0.001, 50.0, 0.0),
    }[kind]
    return np.ascontiguousarray(X, dtype=dtype)


WIDE = ["reals", "odd", "ties", "equal rows", "offset", "large offsets", "one large column", "one far row", "close",
        "constant", "tiny", "huge", "one panel", "rare"]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "m", "rounded"), [(5000, 48, True), (4999, 48, False), (8000, 300, True), (8000, 1025, False)]
)
def test_wide_rows_are_rounded_too(n, m, rounded, dtype):
    rng = np.random.default_rng(m)
    X, queries = rng.normal(size=(n, m)).astype(dtype), rng.normal(size=(30, m)).astype(dtype)
    engine, scan = NeighborEngine(X, n_jobs=2), NeighborEngine(X, backend="scan", n_jobs=2)
    assert (engine.plan.backend == "rounded") == (rounded and _native.multiplies_pairs())
    found, wanted = engine.search(queries, 5), scan.search(queries, 5)
    assert found[0].tobytes() == wanted[0].tobytes()
    assert found[1].tobytes() == wanted[1].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", WIDE)
def test_pairs_of_rounded_rows_propose_the_lists_of_the_scan(kind, dtype):
    if not _native.multiplies_pairs():
        pytest.skip("this CPU level has no instruction for rounded rows")
    X = wide_data(kind, dtype)
    own = np.arange(len(X))
    engine, scan = NeighborEngine(X, backend="pairs"), NeighborEngine(X, backend="scan")
    for k in (1, 5, 30, 95):
        wanted = scan.search(X.copy(), k, own_row=own)  # of a copy each distance is computed by itself
        for jobs in (1, 2, 3):
            found = engine.search(X, k, own_row=own, n_jobs=jobs)
            assert found[0].tobytes() == wanted[0].tobytes()
            assert found[1].tobytes() == wanted[1].tobytes()
    if kind in ("ties", "rare"):  # Their squares are exact in both dtypes, so that the oracle's ties are ours.
        square = ((X[:, None].astype(np.float64) - X) ** 2).sum(axis=2)
        square[own, own] = np.inf
        np.testing.assert_array_equal(engine.search(X, 5, own_row=own)[1], np.argsort(square, kind="stable")[:, :5])
    copy = pickle.loads(pickle.dumps(engine))
    np.testing.assert_array_equal(copy.search(X, 3, own_row=own)[1], engine.search(X, 3, own_row=own)[1])
    # Other queries are not pairs of stored rows.
    np.testing.assert_array_equal(engine.search(X[:9] + 1, 3)[0], scan.search(X[:9] + 1, 3)[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [64, 65, 79, 80, 100, 113, 200])
def test_pairs_of_rounded_rows_of_any_number(n, dtype):
    if not _native.multiplies_pairs():
        pytest.skip("this CPU level has no instruction for rounded rows")
    X, own = wide_data("reals", dtype, n=n, m=1024 + n), np.arange(n)
    engine = NeighborEngine(X, backend="pairs", n_jobs=2)
    wanted = NeighborEngine(X, backend="scan").search(X.copy(), 2, own_row=own)
    found = engine.search(X, 2, own_row=own)
    assert not engine._backend._doubtful
    assert found[0].tobytes() == wanted[0].tobytes()
    assert found[1].tobytes() == wanted[1].tobytes()


def test_pairs_of_rounded_rows_are_given_up_where_they_decide_nothing():
    if not _native.multiplies_pairs():
        pytest.skip("this CPU level has no instruction for rounded rows")
    own = np.arange(90)
    for kind, doubtful in (("reals", False), ("one far row", True), ("constant", False)):
        engine = NeighborEngine(wide_data(kind, np.float64), backend="pairs")
        engine.search(engine.references.rows, 3, own_row=own)
        assert engine._backend._doubtful == doubtful


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_measured_pairs_have_the_bits_of_the_scan(dtype):
    rng = RNG(2)
    for m in (1, 3, 8, 9, 64, 1000, 1025):
        X = rng.normal(size=(20, m)).astype(dtype)
        pairs = np.stack(np.meshgrid(np.arange(20), np.arange(20)), axis=-1).reshape(-1, 2)
        distance = np.empty(len(pairs), dtype=dtype)
        for begin, end in ((0, 7), (7, 100), (100, 100), (100, 400)):
            _native.measure_pairs(rows=X, pairs=pairs, distance=distance, begin=begin, end=end)
        found, row = NeighborEngine(X, backend="scan").search(X.copy(), 20)
        expected = np.empty((20, 20), dtype=dtype)
        np.put_along_axis(expected, row, found, axis=1)
        np.testing.assert_array_equal(np.sqrt(distance.reshape(20, 20)), expected.T)
    with pytest.raises(ValueError, match="row outside"):
        _native.measure_pairs(rows=X, pairs=pairs + 1, distance=distance, begin=0, end=400)
