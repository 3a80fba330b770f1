"""Leave-one-out answers of many individuals against loops, in every way there is to find them."""

import numpy as np
import pytest
from naive import evolution as naive

from weighbors import _native
from weighbors.engine import population
from weighbors.engine.population import (
    PopulationNeighbors,
    Selections,
    bit_words,
    choose_population_method,
    sort_neighbors,
)

RNG = np.random.default_rng


def table(seed):
    """Integers full of ties or reals; duplicates, missing values, nominal columns, rare classes."""
    rng = RNG(seed)
    n, m, classes = int(rng.integers(5, 36)), int(rng.integers(1, 20)), 2 + seed % 3
    X = rng.integers(0, 4, size=(n, m)).astype(float) if seed % 2 else rng.normal(size=(n, m)) + 100 * (seed % 4)
    nominal = np.zeros(m, dtype=bool)
    if seed % 5 == 0:
        nominal[rng.random(m) < 0.4] = True
        X[:, nominal] = rng.integers(0, 3, size=(n, int(nominal.sum())))
    if seed % 3 == 0:
        X[rng.random(X.shape) < 0.1] = np.nan
    X[: n // 4] = X[n // 4 : 2 * (n // 4)]
    y = np.minimum(rng.geometric(0.5, size=n) - 1, classes - 1)
    y[:classes] = np.arange(classes)
    return X, y, nominal


def individuals(seed, n, m, sets):
    """Weights on a grid of quarters (many exact ties) or uniform; selections dense and thin."""
    rng, P = RNG(1000 + seed), 4
    w, v = rng.random((P, sets, m)), rng.random((P, n))
    if seed % 2:
        w, v = np.round(4 * w) / 4, np.round(4 * v) / 4
    return w, v, rng.random((P, m)) < 0.7, rng.random((P, n)) < np.linspace(0.02, 1, P)[:, None]


def expected(X, y, w, v, s, t, k, nominal):
    told = []
    for i in range(len(t)):
        weights = w[i, 0] if w.shape[1] == 1 else {c: w[i, c] for c in range(w.shape[1])}
        told.append([-1 if a is None else a for a in naive.answers(X, y, weights, v[i], s[i], t[i], k, nominal)])
    return np.array(told)


def one_of(selections, i):
    """The i-th individual alone."""
    parts = (selections.feature_weights, selections.instance_scales, selections.instance_mask)
    return Selections(1, *(None if part is None else part[[i]] for part in parts))


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("k", [1, 3])
def test_scan_equals_the_oracle(seed, k):
    X, y, nominal = table(seed)
    classes = int(y.max()) + 1
    sets = classes if seed % 4 == 2 else 1
    w, v, s, t = individuals(seed, *X.shape, sets)
    s[:, 0] = True
    options = {"n_classes": classes, "n_neighbors": k, "nominal": nominal}
    found = [PopulationNeighbors(X, y, **options)]
    if seed % 2:  # whole numbers and quarters are exact in single precision as well
        found.append(PopulationNeighbors(X.astype(np.float32), y, **options))
    every = np.ones_like(t), np.ones_like(v), np.ones_like(s), np.ones((len(t), 1, X.shape[1]))
    pairs = list(zip((t, v, s, w), every, strict=True))
    for use in range(16):  # every combination of parts
        t_, v_, s_, w_ = (part if use >> bit & 1 else one for bit, (part, one) in enumerate(pairs))
        a = w_**2 * s_[:, None, :]
        wanted = expected(X, y, w_, v_, s_, t_, k, nominal)
        parts = (a if use & 12 else None, v_ if use & 2 else None, t_ if use & 1 else None)
        for neighbors in found:
            np.testing.assert_array_equal(neighbors.predict(Selections(len(t), *parts)), wanted, err_msg=str(use))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("k", [1, 3])
def test_lists_and_matrix_give_the_answers_of_the_scan(seed, k):
    X, y, nominal = table(seed)
    n, classes = len(X), int(y.max()) + 1
    _, v, _, t = individuals(seed, n, X.shape[1], 1)
    t = np.concatenate([t, RNG(seed).random((130, n)) < 0.3])  # more than two words of individuals
    v = np.concatenate([v, RNG(seed).random((130, n))])
    options = {"n_classes": classes, "n_neighbors": k, "nominal": nominal}
    scan = PopulationNeighbors(X, y, **options)
    matrix = PopulationNeighbors(X, y, features_change=False, **options)
    assert (scan.method.way, matrix.method.way) == ("scan", "matrix")
    for scales, mask in ((v, t), (v, None), (None, t)):
        selections = Selections(len(t), None, scales, mask)
        np.testing.assert_array_equal(matrix.predict(selections), scan.predict(selections))
    selections = Selections(len(t), None, None, t)
    for width in (n - 1, 20, 17):
        walk = PopulationNeighbors(
            X, y, features_change=False, scales_change=False, cache_bytes=4 * n * max(width, 16), **options
        )
        assert walk.method.way == "walk"
        assert walk.method.width == min(n - 1, max(width, 16))
        np.testing.assert_array_equal(walk.predict(selections), scan.predict(selections))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("k", [1, 3])
def test_numeric_targets_equal_the_oracle_in_every_way(seed, k):
    X, codes, nominal = table(seed)
    n = len(X)
    # In few values and in reals; a mean of k reals depends on the order in which they are added.
    y = codes.astype(float) if seed % 2 else RNG(seed).normal(size=n) + 1e3
    w, v, s, t = individuals(seed, n, X.shape[1], 1)
    s[:, 0] = True
    t[0] = np.arange(n) == seed % n  # a row whose only selected instance is itself
    options = {"n_classes": 1, "n_neighbors": k, "nominal": nominal, "numbers": y}
    scan = PopulationNeighbors(X, np.zeros(n, dtype=int), **options)
    a, ones, everywhere = w**2 * s[:, None, :], np.ones_like(w), np.ones_like(s)

    def expected_numbers(w, v, s):
        return [naive.numbers(X, y.tolist(), w[i, 0], v[i], s[i], t[i], k, nominal) for i in range(len(t))]

    found = scan.predict(Selections(len(t), a, v, t))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected_numbers(w, v, s))  # to the bit
    assert found[0, seed % n] == y.mean()
    ways = {
        "matrix": ({"features_change": False}, v),
        "walk": ({"features_change": False, "scales_change": False}, None),
        "cut walk": ({"features_change": False, "scales_change": False, "cache_bytes": 4 * n * 16}, None),
    }
    for name, (changes, scales) in ways.items():
        way = PopulationNeighbors(X, np.zeros(n, dtype=int), **changes, **options)
        assert way.method.way in name
        found = way.predict(Selections(len(t), None, scales, t))
        expected_ones = expected_numbers(ones, np.ones_like(v) if scales is None else v, everywhere)
        np.testing.assert_array_equal(found, expected_ones, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_in_parts_threads_and_levels(dtype):
    rng = RNG(0)
    X = rng.normal(size=(1500, 40)).astype(dtype)
    X[700:720] = X[:20]
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    w, v = rng.random((9, 1, 40)), rng.random((9, 1500))
    t = rng.random((9, 1500)) < 0.5
    every = [
        Selections(9, w**2),
        Selections(9, w**2, v, t),
        Selections(9, None, v),
        Selections(9, (w > 0.5) * 1.0, None, t),
    ]
    level = _native.cpu_level()
    answers = []
    for selections in every:
        results = []
        for name in {level, "baseline"}:
            _native.set_cpu_level(name)
            try:
                for jobs in (1, 2, 5):
                    neighbors = PopulationNeighbors(X, y, n_classes=2, n_jobs=jobs)
                    results.append(neighbors.predict(selections))
                    results.append(np.concatenate([neighbors.predict(one_of(selections, i)) for i in range(9)]))
            finally:
                _native.set_cpu_level(level)
        for result in results[1:]:
            np.testing.assert_array_equal(result, results[0])
        answers.append(results[0])
    # the neighbour engine, which is proved apart, has the same nearest neighbours
    from weighbors import Weights
    from weighbors.engine import NeighborEngine

    for i in range(3):
        parts = [
            {"feature_weights": w[i, 0] ** 2},
            {"feature_weights": w[i, 0] ** 2, "instance_scales": v[i], "instance_mask": t[i]},
            {"instance_scales": v[i]},
            {"feature_mask": w[i, 0] > 0.5, "instance_mask": t[i]},
        ]
        for part, answer in zip(parts, answers, strict=True):
            _, row = NeighborEngine(X, weights=Weights(**part)).search(X, 1, own_row=np.arange(1500))
            np.testing.assert_array_equal(y[row[:, 0]], answer[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["reals", "ties", "duplicates", "tiny", "huge", "one large column", "constant"])
def test_pairs_of_rounded_rows_give_the_nearest_row(kind, dtype, monkeypatch):
    rng, n, m = RNG(3), 203, 7
    X = rng.normal(size=(n, m))
    if kind == "ties":
        X = np.round(X)
    if kind == "duplicates":
        X = X[rng.integers(0, 40, size=n)]
    # With weights, some squares of tiny numbers vanish in single precision, and all numbers but one column round to 0.
    X *= {"tiny": 1e-11, "huge": 1e17, "constant": 0}.get(kind, 1.0)
    X[:, 2] *= 1e7 if kind == "one large column" else 1.0
    X = np.ascontiguousarray(X + 3.0 * (kind in ("reals", "constant")), dtype=dtype)
    w, v, t = rng.random((6, 1, m)), rng.random((6, n)), rng.random((6, n)) < np.linspace(0, 1, 6)[:, None]
    v[1, :30], v[2] = 0, np.round(2 * v[2]) / 2
    w[:, :, 4] = 0
    every = [Selections(6, w**2, a, b) for a in (None, v) for b in (None, t)]
    every += [Selections(6, (w > 0.6) * 1.0, None, t), Selections(6, 1e-9 * w, 1e3 * v)]
    # Numbers are row numbers, so that predictions show which row was the nearest one.
    options = {"n_classes": 1, "numbers": np.arange(float(n))}
    paired = PopulationNeighbors(X, np.zeros(n, dtype=int), **options)
    monkeypatch.setattr(population, "_PAIRED_ROWS", 0)
    scanned = PopulationNeighbors(X, np.zeros(n, dtype=int), **options)
    for selections in every:
        found = paired.predict(selections)
        np.testing.assert_array_equal(found, scanned.predict(selections))
        paired.n_jobs = 3
        np.testing.assert_array_equal(found, paired.predict(selections))
        paired.n_jobs = 1


@pytest.mark.parametrize("kind", ["classes", "many classes", "numbers"])
@pytest.mark.parametrize("n", [2, 63, 64, 200])
def test_walks_give_the_answers_of_the_scan(n, kind):
    rng = RNG(n)
    X = rng.integers(0, 5, size=(n, 3)).astype(np.float32)  # many ties
    codes = np.arange(n) % (2 if kind == "classes" else n)
    classes = {"classes": 2, "many classes": 2**15, "numbers": 1}[kind]
    numbers = rng.normal(size=n) if kind == "numbers" else None
    options = {"n_classes": classes, "numbers": numbers}
    codes = codes * 0 if kind == "numbers" else codes
    mask = rng.random((70, n)) < np.linspace(0, 1, 70)[:, None]
    mask[0], mask[1] = False, np.arange(n) == n - 1
    selections = Selections(70, None, None, mask)
    wanted = PopulationNeighbors(X, codes, **options).predict(selections)
    for jobs in (1, 3):
        walk = PopulationNeighbors(X, codes, features_change=False, scales_change=False, n_jobs=jobs, **options)
        assert walk.method.way == "walk"
        np.testing.assert_array_equal(walk.predict(selections), wanted)


@pytest.mark.parametrize("n_classes", [2, 3, 7, 20, 300])
@pytest.mark.parametrize("k", [1, 3])
def test_rows_whose_list_was_cut_too_short_are_scanned(n_classes, k):
    rng, n, m = RNG(n_classes), 620, 3
    X = rng.integers(0, 9, size=(n, m)).astype(np.float32)  # many equal distances
    codes = np.append(np.arange(n_classes), rng.integers(0, n_classes, size=n - n_classes))
    options = {"n_classes": n_classes, "n_neighbors": k, "scales_change": False}
    scan = PopulationNeighbors(X, codes, features_change=True, **options)
    walk = PopulationNeighbors(X, codes, features_change=False, n_jobs=2, **options)
    cut = PopulationNeighbors(X, codes, features_change=False, cache_bytes=4 * n * 40, **options)
    assert (walk.method.width, cut.method.width) == (n - 1, 40)
    for count in (1, 64, 70):
        for share in (0.6, 0.3, 0.02, 0.0):  # the last individuals select the row that they predict, or nothing
            mask = rng.random((count, n)) < share
            mask[0] = np.arange(n) == 5
            selections = Selections(count, instance_mask=mask)
            wanted = scan.predict(selections)
            np.testing.assert_array_equal(walk.predict(selections), wanted)
            np.testing.assert_array_equal(cut.predict(selections), wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_are_sorted_by_distance_and_row(dtype):
    square = RNG(0).integers(0, 6, size=(20, 50)).astype(dtype)
    square[:, 7] = np.inf  # the row itself
    rows = np.broadcast_to(np.arange(50), square.shape)
    wanted = np.lexsort((rows, square), axis=1)
    np.testing.assert_array_equal(sort_neighbors(square, 49), wanted[:, :49])
    for width in (1, 9, 25, 26):
        np.testing.assert_array_equal(sort_neighbors(square, width), wanted[:, :width])


def test_plans():
    def way(n, **options):
        return choose_population_method(n, 8, **options).way

    assert way(2, features_change=False, scales_change=False) == "walk"
    assert way(10**6, features_change=False, scales_change=False) == "walk"
    assert way(10**8, features_change=False, scales_change=False) == "scan"
    assert way(5000, features_change=False, scales_change=True) == "matrix"
    assert way(50_000, features_change=False, scales_change=True) == "scan"
    assert way(50, features_change=True, scales_change=False) == "scan"
    cut = choose_population_method(10**6, 4, features_change=False, scales_change=False)
    assert "cut to the 67 nearest" in str(cut)
    assert cut.cache_bytes <= 256 * 2**20


def test_words_hold_one_bit_per_individual():
    mask = RNG(0).random((70, 5)) < 0.5
    words = bit_words(mask)
    assert words.shape == (5, 2)
    for i in range(70):
        np.testing.assert_array_equal((words[:, i // 64] >> np.uint64(i % 64)) & np.uint64(1), mask[i])


def test_two_rows():
    neighbors = PopulationNeighbors(np.array([[0.0], [1.0]]), np.array([0, 1]), n_classes=2)
    masks = np.array([[True, True], [True, False], [False, False]])
    found = neighbors.predict(Selections(3, None, None, masks))
    np.testing.assert_array_equal(found, [[1, 0], [-1, 0], [-1, -1]])
