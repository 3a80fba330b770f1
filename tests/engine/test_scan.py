"""The compiled scan against the naive oracle, and its independence of chunk sizes and threads."""

import gc
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.neighbors import nearest
from scipy import sparse

from weighbors import Weights, _native
from weighbors.engine import NeighborEngine
from weighbors.engine.backends.backend import Batch
from weighbors.exceptions import InvalidDataError, InvalidWeightsError

RNG = np.random.default_rng


def integers(seed, n=60, m=5, high=3):
    """Small integers: all arithmetic is exact, ties and duplicates abound."""
    return RNG(seed).integers(0, high, size=(n, m)).astype(float)


def assert_same(engine_answer, naive_answer, *, exact=True):
    distance, row = engine_answer
    for d, r, expected in zip(distance, row, naive_answer, strict=True):
        np.testing.assert_allclose(
            d[: len(expected)], [e[0] for e in expected], rtol=1e-6 if d.dtype == "f4" else 1e-12
        )
        if exact:
            assert r[: len(expected)].tolist() == [e[1] for e in expected]
        assert (r[len(expected) :] == -1).all()
        assert np.isinf(d[len(expected) :]).all()


KINDS = ["plain", "feature", "class", "instance", "scales", "masks", "all"]


def make_weights(kind, n, m, y, seed):
    """Weights of a kind, and what the oracle needs. Powers of two keep ties exact."""
    rng = RNG(seed)
    power = lambda size: 2.0 ** rng.integers(-2, 3, size=size)  # noqa: E731
    if kind == "plain":
        return None, {}
    if kind == "feature":
        a = power(m)
        a[rng.integers(m)] = 0
        return Weights(feature_weights=a), {"a": a}
    if kind == "class":
        a = power((3, m))
        return Weights(feature_weights=a, classes=[0, 1, 2]), {"a": a[y]}
    if kind == "instance":
        a = power((n, m))
        return Weights(feature_weights=a), {"a": a}
    if kind == "scales":
        v = power(n)
        return Weights(instance_scales=v), {"v": v}
    s, t = rng.random(m) < 0.6, rng.random(n) < 0.6
    s[0] = t[0] = True
    if kind == "masks":
        return Weights(feature_mask=s, instance_mask=t), {"s": s, "t": t}
    a, v = power((n, m)), power(n)
    return (
        Weights(feature_weights=a, instance_scales=v, feature_mask=s, instance_mask=t),
        {"a": a, "v": v, "s": s, "t": t},
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("nominal", [False, True])
def test_equals_the_oracle(dtype, p, kind, missing, nominal):
    seed = KINDS.index(kind)
    X, Q = integers(seed), integers(seed + 100, n=23)
    if missing:
        X[RNG(1).random(X.shape) < 0.1] = np.nan
        Q[RNG(2).random(Q.shape) < 0.1] = np.nan
    mask = np.array([False, True, False, True, False]) if nominal else None
    y = RNG(3).integers(0, 3, size=len(X))
    weights, parts = make_weights(kind, *X.shape, y, seed)
    engine = NeighborEngine(X.astype(dtype), weights=weights, p=p, nominal=mask, class_of_row=y, backend="scan")
    answer = engine.search(Q.astype(dtype), 7)
    assert answer[0].dtype == dtype
    assert_same(answer, nearest(Q, X, 7, p=p, nominal=mask, **parts))


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kind", ["plain", "feature", "all"])
def test_nearest_of_each_group_without_oneself(p, kind):
    X, y = integers(5), RNG(6).integers(0, 4, size=60)
    y[:4] = range(4)
    weights, parts = make_weights(kind, *X.shape, y % 3, 7)
    engine = NeighborEngine(X, weights=weights, p=p, groups=y, n_groups=4)
    distance, row = engine.search(X, 3, own_row=np.arange(60), grouped=True)
    expected = nearest(X, X, 3, p=p, own=range(60), groups=y.tolist(), **parts)
    for g in range(4):
        assert_same((distance[:, g], row[:, g]), [answer[g] for answer in expected])


def test_a_group_smaller_than_k_is_padded():
    engine = NeighborEngine(np.arange(5.0)[:, None], groups=np.array([0, 0, 0, 0, 1]), n_groups=3)
    distance, row = engine.search(np.zeros((1, 1)), 2, grouped=True)
    assert row.tolist() == [[[0, 1], [4, -1], [-1, -1]]]
    assert np.isinf(distance[0, 1, 1])


@pytest.mark.parametrize("k", [1, 2, 17, 64, 300])
def test_any_k(k):
    X = integers(8, n=300, m=3)
    assert_same(NeighborEngine(X).search(X[:10], k), nearest(X[:10], X, k))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 70),
    m=st.integers(1, 9),
    n_queries=st.integers(1, 20),
    k=st.integers(1, 12),
    p=st.sampled_from([1, 2]),
    seed=st.integers(0, 10_000),
)
def test_equals_the_oracle_on_any_shape(n, m, n_queries, k, p, seed):
    X, Q = integers(seed, n, m), integers(seed + 1, n_queries, m)
    assert_same(NeighborEngine(X, p=p).search(Q, k), nearest(Q, X, k, p=p))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_threads_parts_chunks_or_layout(dtype, kind, monkeypatch):
    rng = RNG(0)
    X, Q = rng.normal(size=(400, 7)).astype(dtype), rng.normal(size=(131, 7)).astype(dtype)
    y = rng.integers(0, 3, size=400)
    weights, _ = make_weights(kind, 400, 7, y, 1)

    def search(X=X, Q=Q, **options):
        return NeighborEngine(X, weights=weights, class_of_row=y, **options).search(Q, 6)

    reference = search(n_jobs=1)
    others = [search(n_jobs=2), search(n_jobs=4), search(np.asfortranarray(X), np.asfortranarray(Q))]
    others += [search(part_bytes=size) for size in (1, 1_000, 5_000)]
    others.append(search(np.repeat(X, 2, axis=1)[:, ::2], Q[::-1][::-1]))
    for size in (1, 5, 6, 50):
        monkeypatch.setattr(
            "weighbors.engine.backends.backend.row_ranges",
            lambda n, n_jobs, size=size, **_: [(b, min(b + size, n)) for b in range(0, n, size)],
        )
        others.append(search(n_jobs=2))
    for distance, row in others:
        assert distance.tobytes() == reference[0].tobytes()
        assert row.tobytes() == reference[1].tobytes()


def test_one_query_at_a_time_gives_the_same_bits():
    X = RNG(0).normal(size=(100, 11))
    engine = NeighborEngine(X, weights=Weights(feature_weights=RNG(1).random(11)))
    whole = engine.search(X, 4)
    single = [engine.search(X[i : i + 1], 4) for i in range(100)]
    assert np.concatenate([s[0] for s in single]).tobytes() == whole[0].tobytes()


def test_float32_finds_the_neighbours_of_its_float64_copy_where_the_gap_allows():
    X = RNG(0).normal(size=(500, 20)).astype(np.float32)
    row32 = NeighborEngine(X).search(X, 6, own_row=np.arange(500))[1]
    distance64, row64 = NeighborEngine(X.astype(np.float64)).search(X, 6, own_row=np.arange(500))
    gap = np.diff(distance64[:, :6], axis=1).min(axis=1) > 1e-5 * distance64[:, 5]
    assert gap.mean() > 0.9
    assert (row32[gap, :5] == row64[gap, :5]).all()


def test_weights_of_one_are_no_weights_and_equal_class_rows_are_feature_weights():
    X, y = RNG(0).normal(size=(200, 6)), RNG(1).integers(0, 3, size=200)
    plain = NeighborEngine(X).search(X[:50], 5)
    ones = [
        Weights(feature_weights=np.ones(6)),
        Weights(feature_weights=np.ones((200, 6))),
        Weights(instance_scales=np.ones(200), feature_mask=np.ones(6, bool), instance_mask=np.ones(200, bool)),
    ]
    for weights in ones:
        answer = NeighborEngine(X, weights=weights).search(X[:50], 5)
        assert answer[0].tobytes() == plain[0].tobytes()
    a = RNG(2).random(6)
    folded = NeighborEngine(X, weights=Weights(feature_weights=a)).search(X[:50], 5)
    rows = Weights(feature_weights=np.tile(a, (3, 1)), classes=[0, 1, 2])
    per_class = NeighborEngine(X, weights=rows, class_of_row=y).search(X[:50], 5)
    assert folded[0].tobytes() == per_class[0].tobytes()
    assert folded[1].tobytes() == per_class[1].tobytes()


def test_folding_breaks_no_tie_and_loses_no_digit():
    # q - 1 and q + 1 are equally far, whatever the weight; the folded values would differ
    X = np.array([[2.0, 7.0], [4.0, 7.0], [2.0, 9.0], [4.0, 9.0]] * 8)
    for a in (0.1, 0.3, 0.7, 1 / 3):
        weights = Weights(feature_weights=[a, a / 7])
        distance, row = NeighborEngine(X, weights=weights).search(np.array([[3.0, 8.0]]), 32)
        assert row[0].tolist() == list(range(32))
        assert len(set(distance[0].tolist())) == 1
    offset = np.array([[1e8], [1e8 + 1], [1e8 + 3]])
    distance, row = NeighborEngine(offset, weights=Weights(feature_weights=[0.3])).search(offset[:1], 3)
    np.testing.assert_allclose(distance[0], np.sqrt(0.3) * np.array([0, 1, 3]), rtol=1e-15)


@pytest.mark.parametrize("p", [1, 2])
def test_folded_search_equals_the_weighted_kernel_on_hard_data(p):
    rng = RNG(4)
    X = (rng.normal(size=(800, 5)) * 10.0 ** rng.integers(-4, 5, size=5) + 1e4).astype(np.float32)
    a = (10.0 ** rng.integers(-6, 7, size=5)).astype(np.float64)
    folded = NeighborEngine(X, weights=Weights(feature_weights=a), p=p).search(X[:300], 9)
    direct = NeighborEngine(X, weights=Weights(feature_weights=np.tile(a, (800, 1))), p=p).search(X[:300], 9)
    assert folded[1].tobytes() == direct[1].tobytes()
    assert folded[0].tobytes() == direct[0].tobytes()


def test_large_offsets_are_told_apart():
    X = np.array([[1e8], [1e8 + 1], [1e8 + 2]])
    distance, row = NeighborEngine(X).search(np.array([[1e8 + 2.0]]), 3)
    assert row.tolist() == [[2, 1, 0]]
    assert distance.tolist() == [[0, 1, 2]]


def test_values_whose_squares_overflow_or_vanish_are_refused():
    for X in (np.array([[1e200], [0.0]]), np.array([[1e30], [0.0]], dtype=np.float32)):
        with pytest.raises(InvalidDataError, match="overflow.*rescale"):
            NeighborEngine(X)
    with pytest.raises(InvalidDataError, match="convert them to float64"):
        NeighborEngine(np.array([[1e30], [0.0]], dtype=np.float32))
    with pytest.raises(InvalidDataError, match="underflow.*rescale"):
        NeighborEngine(np.array([[1e-200], [0.0]]))
    engine = NeighborEngine(np.array([[1.0], [0.0]]))
    with pytest.raises(InvalidDataError, match="overflow"):
        engine.search(np.array([[1e200]]), 1)
    assert NeighborEngine(np.array([[1e200], [0.0]]), p=1).search(np.array([[2e200]]), 1)[0].tolist() == [[1e200]]


@pytest.mark.parametrize(
    ("X", "options"),
    [
        (np.eye(3, dtype=np.float32), {"weights": Weights(feature_weights=[1e-50, 2e-50, 1e-50])}),
        (np.eye(3, dtype=np.float32), {"weights": Weights(instance_scales=[1e-30] * 3)}),
        (np.eye(3), {"weights": Weights(instance_scales=[1e-170] * 3)}),
        (np.eye(3, dtype=np.float32), {"weights": Weights(feature_weights=[1e39, 1, 1]), "nominal": np.ones(3, bool)}),
        (0.1 * np.eye(3, dtype=np.float32), {"weights": Weights(feature_weights=[1e-38] * 3)}),
    ],
)
def test_weights_that_leave_the_dtype_are_refused(X, options):
    with pytest.raises(ValueError, match="do not fit|underflow|overflow"):
        NeighborEngine(X, **options)


def test_large_values_under_small_weights_are_fine():
    X = np.array([[1e10, 1e-10], [2e10, 3e-10], [5e10, 1e-10]], dtype=np.float32)
    a = 1 / X.astype(float).var(axis=0)
    distance, _ = NeighborEngine(X, weights=Weights(feature_weights=a)).search(X, 3)
    expected = np.sqrt((a * (X[:, None].astype(float) - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(distance, np.sort(expected, axis=1), rtol=1e-5)


@pytest.mark.parametrize("kind", ["plain", "feature", "class", "scales"])
def test_sparse_equals_dense_in_parts(kind):
    X = RNG(0).normal(size=(120, 30)) * (RNG(1).random((120, 30)) < 0.2)
    y = RNG(2).integers(0, 3, size=120)
    weights, _ = make_weights(kind, 120, 30, y, 3)
    dense = NeighborEngine(X, weights=weights, class_of_row=y).search(X, 4, own_row=np.arange(120))
    for part_bytes in (2_000, 2**20):
        engine = NeighborEngine(sparse.csr_matrix(X), weights=weights, class_of_row=y, part_bytes=part_bytes)
        answer = engine.search(sparse.csr_matrix(X), 4, own_row=np.arange(120))
        assert answer[0].tobytes() == dense[0].tobytes()
        assert answer[1].tobytes() == dense[1].tobytes()


def test_duplicates_do_not_hide_oneself():
    X = np.zeros((5, 2))
    _, row = NeighborEngine(X).search(X, 4, own_row=np.arange(5))
    for i in range(5):
        assert row[i].tolist() == [j for j in range(5) if j != i]


def test_an_engine_survives_pickling():
    X = RNG(0).normal(size=(50, 3))
    engine = NeighborEngine(X)
    before = engine.search(X, 3)
    after = pickle.loads(pickle.dumps(engine)).search(X, 3)
    assert before[0].tobytes() == after[0].tobytes()


def test_weights_that_leave_nothing_are_refused():
    X = integers(0)
    with pytest.raises(InvalidWeightsError, match="only features of weight 0"):
        NeighborEngine(
            X, weights=Weights(feature_weights=[1, 0, 0, 0, 0], feature_mask=[False, True, True, True, True])
        )
    with pytest.raises(InvalidWeightsError, match="for 2 features"):
        NeighborEngine(X, weights=Weights(feature_weights=[1, 2]))
    with pytest.raises(InvalidWeightsError, match="for 3 training rows"):
        NeighborEngine(X, weights=Weights(votes=[1, 2, 3]))
    with pytest.raises(InvalidWeightsError, match="class of every stored instance"):
        NeighborEngine(X, weights=Weights(feature_weights=np.ones((2, 5)), classes=[0, 1]))


def test_the_core_refuses_arrays_that_do_not_fit():
    engine = NeighborEngine(integers(0))
    with pytest.raises(TypeError):
        _native.pack(
            source=np.zeros((2, 2), dtype=int),
            order=np.zeros(8, dtype=int),
            packed=np.zeros((1, 2, 8)),
            fill=0.0,
            center=None,
            factor=None,
            n_numeric=2,
            p=2,
            begin=0,
            end=1,
        )
    scan = engine._backend
    part = next(scan.parts(1))
    shape = (3, 1, 2)
    arguments = {
        "references": part.references,
        "queries": np.zeros((3, 5)),
        "own": None,
        "missing": False,
        "exact_queries": None,
        "slack": None,
        "distance": np.full(shape, np.inf),
        "id": np.full(shape, -1),
        "begin": 0,
        "end": 3,
    }
    _native.find_k_nearest(**arguments)
    with pytest.raises(ValueError, match="row range"):
        _native.find_k_nearest(**arguments | {"end": 4})
    with pytest.raises(ValueError, match="packed: wrong shape"):
        _native.find_k_nearest(**arguments | {"queries": np.zeros((3, 4))})
    with pytest.raises(ValueError, match="recheck"):
        _native.find_k_nearest(**arguments | {"exact_queries": np.zeros((3, 5))})
    with pytest.raises(TypeError):
        _native.find_k_nearest(**arguments | {"references": None})
    with pytest.raises(TypeError):
        _native.find_k_nearest(**arguments | {"queries": np.zeros((3, 5), dtype=np.float32)})
    with pytest.raises(TypeError):
        _native.find_k_nearest(*arguments.values())
    made = {"packed": np.zeros((1, 5, 8)), "weights": None, "scales": None, "ids": np.arange(8)}
    made |= {"group_start": np.array([0, 1]), "missing_distance": np.zeros(5), "n_numeric": 5, "p": 2}
    made |= dict.fromkeys(("source", "order", "exact_weights", "exact_missing_distance"))
    _native.make_references(**made)
    for wrong in ({"ids": np.arange(7)}, {"group_start": np.array([0, 2])}, {"p": 3}, {"source": np.zeros((8, 5))}):
        with pytest.raises(ValueError, match="need|wrong last block"):
            _native.make_references(**made | wrong)


def test_checked_objects_keep_their_arrays():
    arrays = {"start": np.array([0, 2]), "feature": np.array([0, 1], dtype=np.int32), "value": np.ones(2)}
    seen = [weakref.ref(array) for array in arrays.values()]
    rows = _native.make_sparse_rows(**arrays, width=2)
    del arrays
    gc.collect()
    assert all(array() is not None for array in seen)
    del rows
    gc.collect()
    assert all(array() is None for array in seen)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kind", ["none", "feature", "instance"])
@pytest.mark.parametrize(("dtype", "wide"), [(np.float64, 33_000), (np.float32, 66_000)])
def test_wide_rows_have_the_sums_of_narrow_ones(dtype, wide, kind, p, missing):
    # columns that are equal everywhere add 0 to every sum, so the bits must be those without them
    rng, n, m = RNG(0), 30, 40
    place = np.sort(rng.choice(wide, m, replace=False))
    narrow = rng.normal(size=(n, m)).astype(dtype)
    if missing:
        narrow[rng.random(narrow.shape) < 0.1] = np.nan
    nominal = np.arange(wide) >= place[30]
    narrow[:, 30:] = rng.integers(0, 3, size=(n, 10))
    X = np.zeros((n, wide), dtype=dtype)
    X[:, place] = narrow
    shape = {"none": None, "feature": (wide,), "instance": (n, wide)}[kind]
    a = None if shape is None else rng.random(shape) + 0.1
    groups = rng.integers(0, 2, size=n)

    def search(X, a, nominal, **options):
        weights = None if a is None else Weights(feature_weights=a)
        engine = NeighborEngine(X, weights=weights, p=p, nominal=nominal, groups=groups, n_groups=2, **options)
        return engine.search(X, 4, own_row=np.arange(n), grouped=True)

    expected = search(narrow, None if a is None else np.ascontiguousarray(a[..., place]), nominal[place])
    for options in ({}, {"n_jobs": 2}, {"part_bytes": 1}):
        distance, row = search(X, a, nominal, **options)
        assert distance.tobytes() == expected[0].tobytes()
        assert row.tobytes() == expected[1].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(
    ("n", "m", "kind"),
    [(37, 70, "ties"), (61, 900, "reals"), (50, 64, "missing"), (30, 400, "nominal"), (2, 64, "ties"),
     (420, 150, "reals")],
)  # fmt: skip
def test_each_pair_once_has_the_bits_of_the_scan(n, m, kind, p, dtype):
    rng = RNG(n)
    X = rng.integers(0, 2, size=(n, m)).astype(dtype) if kind == "ties" else rng.normal(size=(n, m)).astype(dtype)
    nominal = None
    if kind == "ties":
        X[n // 2 :] = X[: n - n // 2]  # equal rows
    if kind == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
    if kind == "nominal":
        nominal = np.arange(m) % 3 == 0
        X[:, nominal] = rng.integers(0, 3, size=(n, int(nominal.sum())))
    rows, groups = np.arange(n), rng.integers(0, 3, size=n)
    groups[:2] = 2, 0
    for options in ({}, {"groups": groups, "n_groups": 3}):
        engine = NeighborEngine(X, p=p, nominal=nominal, backend="scan", **options)
        stored = engine.references.rows
        if kind != "nominal":  # nominal columns are stored last, so that queries are a copy
            assert engine._backend.computes_pairs(X, rows)
        assert not engine._backend.computes_pairs(X.copy(), rows)
        once = engine._backend.computes_pairs(stored, rows)
        wanted = engine._backend.search(Batch(stored.copy(), rows, engine.references.missing), 5)
        for jobs in (1, 2, 5):
            found = engine._backend.search(Batch(stored, rows, n_jobs=jobs), 5)
            assert once
            np.testing.assert_array_equal(found[0], wanted[0])
            np.testing.assert_array_equal(found[1], wanted[1])
        # In several parts of the packed references.
        parts = NeighborEngine(X, p=p, nominal=nominal, backend="scan", **options)
        parts._backend.part_bytes = max(2 * 16 * m * X.itemsize, 2 * 8 * (n + 3 * 16) ** 2)
        again = parts._backend.search(Batch(parts.references.rows, rows), 5)
        np.testing.assert_array_equal(again[0], wanted[0])
        np.testing.assert_array_equal(again[1], wanted[1])
    # Long sums in float32 differ from the oracle's, and the oracle is slow.
    if n < 100 and kind != "nominal" and (kind == "ties" or dtype == np.float64):
        answer = NeighborEngine(X, p=p, backend="scan").search(X, 3, own_row=rows)
        assert_same(answer, nearest(X, X, 3, p=p, own=rows), exact=kind == "ties")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kind", ["plain", "feature", "instance", "scales"])
@pytest.mark.parametrize("case", ["ties", "missing", "descending", "equal"])
def test_lists_that_are_filled_from_group_minima_are_those_of_the_oracle(case, kind, p, dtype):
    # Enough rows for `FirstBlocks` (scan-inl.hpp), also in each of two groups; in tiny parts there are too few.
    n, m, rng = 700, 3, RNG(1)
    X = integers(3, n=n, m=m, high=30)
    if case == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
    if case == "descending":  # every row is nearer to the first queries than all rows before it
        X = np.sort(X, axis=0)[::-1].copy()
    if case == "equal":
        X[:] = X[0]
    X = X.astype(dtype)
    weights, _ = make_weights(kind, n, m, None, 5)
    groups = np.arange(n) % 2
    own = np.append(np.arange(0, n, 30), [-1, n - 1])
    queries = np.ascontiguousarray(X[own])
    for options in ({}, {"groups": groups, "n_groups": 2}):
        engine = NeighborEngine(X, weights=weights, p=p, backend="scan", **options)
        parts = NeighborEngine(X, weights=weights, p=p, backend="scan", part_bytes=1, **options)
        for k in (1, 2, 5, 14, 31, 60, 400):
            found = engine.search(queries, k, own_row=own, grouped=True)
            wanted = parts.search(queries, k, own_row=own, grouped=True)
            assert found[0].tobytes() == wanted[0].tobytes()
            assert found[1].tobytes() == wanted[1].tobytes()
            if kind == "plain" and case != "missing" and not options:  # integers: all sums are exact
                difference = np.abs(queries[:, None].astype(float) - X)
                total = (difference**p).sum(axis=2)
                total[own >= 0, own[own >= 0]] = np.inf
                np.testing.assert_array_equal(found[1][:, 0], np.argsort(total, axis=1, kind="stable")[:, :k])
