"""Checks for fuzzing: each draws one random case from a generator and compares it with a slow oracle of `tests/naive`.

Values are small integers and weights are powers of two where rows must be the same ones: then distances are exact, and
equal distances are equal in the oracle, too.
"""

import json
import warnings
import zlib
from contextlib import suppress

import numpy as np
from naive import evolution, lazy, neighbors, relief, simba
from scipy import sparse
from support.lazy_tables import generated

import weighbors as wb
from weighbors.engine import NeighborEngine, build_references
from weighbors.engine.margins import Margins, simba_steps
from weighbors.engine.plan import RoundedPairs
from weighbors.engine.population import PopulationNeighbors, Selections
from weighbors.evaluation.study.cell_file import read_arrays, read_header, write_cell
from weighbors.exceptions import BackendError, WeighborsError


def table(rng, *, missing=True):
    """Rows of small integers with duplicates, constant columns, and perhaps categories and missing values."""
    n, m = int(rng.integers(3, 40)), int(rng.integers(1, 8))
    X = rng.integers(0, int(rng.integers(2, 9)), size=(n, m)).astype(np.float64)
    X[:, rng.random(m) < 0.2] = 3.0
    nominal = rng.random(m) < 0.25
    if missing and rng.random() < 0.5:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, nominal


def labels(rng, n, classes=3):
    """Classes that all have two rows, as long as there are rows."""
    count = max(2, min(classes, n // 2))
    return rng.permutation(np.r_[np.arange(count), np.arange(count), rng.integers(0, count, max(0, n - 2 * count))][:n])


def dyadic(rng, shape):
    """Weights that are powers of two, so that products are exact."""
    return 2.0 ** rng.integers(-3, 3, size=shape)


def check_search(rng):
    """The nearest rows under any weights, from every backend that serves them."""
    X, nominal = table(rng)
    n, m = X.shape
    parts, given = {}, {}
    if rng.random() < 0.5:
        parts["feature_weights"] = given["a"] = dyadic(rng, m)
    if rng.random() < 0.3:
        parts["instance_scales"] = given["v"] = dyadic(rng, n)
    if rng.random() < 0.3:
        mask = rng.random(m) < 0.6
        mask[rng.integers(m)] = True
        parts["feature_mask"] = given["s"] = mask
    if rng.random() < 0.5:
        kept = rng.random(n) < 0.6
        kept[rng.integers(n)] = True
        parts["instance_mask"] = given["t"] = kept
    p, k = int(rng.integers(1, 3)), int(rng.integers(1, n + 3))
    own = np.arange(n) if rng.random() < 0.5 else None
    expected = neighbors.nearest(X, X, k, nominal=nominal, p=p, own=own, **given)
    for backend in ("scan", "tree", "bytes", "auto"):
        dtype = np.float32 if rng.random() < 0.5 else np.float64
        with suppress(BackendError):
            engine = NeighborEngine(X.astype(dtype), weights=wb.Weights(**parts), nominal=nominal, p=p, backend=backend)
            ranked, row = (part[:, 0] for part in engine.ranked(X.astype(dtype), k, own_row=own))
            for q, wanted in enumerate(expected):
                found = [(float(d), int(i)) for d, i in zip(ranked[q], row[q], strict=True) if i >= 0]
                assert [i for _, i in found] == [i for _, i in wanted], backend
                np.testing.assert_allclose([d for d, _ in found], [d**p for d, _ in wanted], rtol=1e-5, atol=1e-9)


def check_sparse_search(rng):
    """The nearest sparse rows, of each group, with whole numbers (many ties) or reals; and the bits of the scan."""
    n, m, p, n_groups = (int(rng.integers(*bounds)) for bounds in ((2, 30), (20, 120), (1, 3), (1, 4)))
    whole, dtype = rng.random() < 0.5, np.float32 if rng.random() < 0.5 else np.float64
    X = np.where(rng.random((n + 5, m)) < rng.uniform(0, 0.08), rng.normal(size=(n + 5, m)), 0.0)
    X = (np.sign(X) if whole else X).astype(dtype)
    a = dyadic(rng, m) if rng.random() < 0.5 else np.ones(m)
    groups, k, own = rng.integers(0, n_groups, n), int(rng.integers(1, n + 3)), np.append(np.arange(n), [-1] * 5)
    options = {"weights": wb.Weights(feature_weights=a), "p": p, "groups": groups, "n_groups": n_groups}
    rows, queries = sparse.csr_matrix(X[:n]), sparse.csr_matrix(X)
    found, scanned = (NeighborEngine(rows, backend=backend, **options) for backend in ("auto", "scan"))
    ranked, row = found.ranked(queries, k, own_row=own, n_jobs=int(rng.integers(1, 4)))
    wanted = scanned.ranked(queries, k, own_row=own)
    assert ranked.tobytes() == wanted[0].tobytes()
    assert row.tobytes() == wanted[1].tobytes()
    if whole:  # then no sum is rounded, and the order of ties is known
        for q in rng.integers(0, n + 5, 3):
            for g in range(n_groups):
                members = [i for i in np.flatnonzero(groups == g) if i != own[q]]
                told = sorted((float((a * np.abs(X[q].astype(float) - X[i]) ** p).sum()), int(i)) for i in members)[:k]
                assert row[q, g, : len(told)].tolist() == [i for _, i in told]
                assert ranked[q, g, : len(told)].tolist() == [d for d, _ in told]


def check_wide_pairs(rng):
    """Leave-one-out among wide rows, where each pair is compared once, exactly or rounded first."""
    n, m = int(rng.integers(2, 150)), int(rng.choice([rng.integers(64, 200), rng.integers(1024, 1500)]))
    dtype, p, k = rng.choice(["float32", "float64"]), int(rng.integers(1, 3)), int(rng.integers(1, 12))
    # All sums are whole numbers below 2²⁴, which are exact in float32. Few values make ties.
    X = rng.integers(0, int(rng.integers(2, 9)), size=(n, m)).astype(dtype)
    X[rng.random(n) < 0.2] = X[0]
    rows = np.arange(n)
    distance = np.abs(X[:, None].astype(np.int32) - X.astype(np.int32))
    distance = (distance**p).sum(axis=2).astype(float) ** (1 / p)
    distance[rows, rows] = np.inf
    wanted = np.argsort(distance, axis=1, kind="stable")[:, :k]
    backend, jobs = str(rng.choice(["pairs", "scan"])), int(rng.integers(1, 4))
    if RoundedPairs.obstacle(build_references(X, p=p), asked=True) is not None:
        backend = "auto"
    engine = NeighborEngine(X, p=p, backend=backend, n_jobs=jobs)
    found = engine.search(X, k, own_row=rows)[1][:, : min(k, n - 1)]
    np.testing.assert_array_equal(found, wanted[:, : min(k, n - 1)])


def check_population(rng):
    """Leave-one-out predictions of individuals, by whichever way the tasks allow, and for every thread count."""
    X, nominal = table(rng)
    (n, m), P = X.shape, int(rng.integers(1, 6))
    y = labels(rng, n)
    w, v = dyadic(rng, (P, m)), dyadic(rng, (P, n))
    s, t = rng.random((P, m)) < 0.7, rng.random((P, n)) < rng.random()
    features, scales = rng.random() < 0.5, rng.random() < 0.5
    w, s, v = (w, s, v) if features else (np.ones_like(w), np.ones_like(s), v)
    v = v if scales else np.ones_like(v)
    k = int(rng.integers(1, 4))
    selections = Selections(P, (w**2 * s)[:, None, :] if features else None, v if scales else None, t)
    for jobs in (1, 3):
        search = PopulationNeighbors(X, y, n_classes=int(y.max()) + 1, n_neighbors=k, nominal=nominal,
                                     features_change=features, scales_change=scales, n_jobs=jobs)  # fmt: skip
        found = search.predict(selections)
        for i in range(P):
            if s[i].any():  # a search does not evaluate an individual without features
                wanted = evolution.answers(X, y, w[i], v[i], s[i], t[i], k, nominal)
                assert found[i].tolist() == [-1 if one is None else one for one in wanted]


def check_relief(rng):
    """The RELIEF family with categories and sample weights."""
    X, nominal = table(rng, missing=False)
    y, k = labels(rng, len(X)), int(rng.integers(1, 4))
    weight = rng.integers(1, 4, size=len(y)).astype(float) if rng.random() < 0.5 else None
    for model, oracle in ((wb.Relief, relief.relief), (wb.ReliefF, relief.relieff)):
        found = model(k, categorical_features=nominal).fit(X, y, sample_weight=weight).feature_weights_
        np.testing.assert_allclose(found, oracle(X, y, k, nominal=nominal, weight=weight), atol=1e-9)
    for multi, star, model in ((False, False, wb.SURF()), (True, True, wb.MultiSURFStar())):
        found = model.fit(X, y).feature_weights_
        np.testing.assert_allclose(found, relief.surf(X, y, multi=multi, star=star), atol=1e-9)


def check_irelief_and_turf(rng):
    """I-RELIEF after a few rounds, and TuRF around ReliefF."""
    X = rng.normal(size=(int(rng.integers(8, 30)), int(rng.integers(3, 9))))
    y = labels(rng, len(X))
    found = wb.IRelief(sigma=0.5, max_iter=3, tol=0).fit(X, y).feature_weights_
    np.testing.assert_allclose(found, relief.irelief(X, y, 0.5, 3), atol=1e-9)
    goal = int(rng.integers(1, 3))
    turf = wb.TuRF(wb.ReliefF(2), n_features_to_select=goal, share=0.3).fit(X, y)
    last, rounds = relief.turf(X, y, 2, max(1, int(0.3 * X.shape[1])), goal)
    np.testing.assert_array_equal(turf.round_, [rounds[j] for j in range(X.shape[1])])
    final = [j for j in rounds if rounds[j] == max(rounds.values())]
    np.testing.assert_allclose(turf.feature_weights_[final], [float(last[j]) for j in final], atol=1e-9)


def check_simba(rng):
    """SIMBA's steps and MBIW's instance weights, at any scale of the numbers."""
    n, m = int(rng.integers(6, 40)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, m)) * 10.0 ** rng.integers(-3, 4)
    y = labels(rng, n)
    step = np.full(n, 1 / n if rng.random() < 0.5 else 0.3)
    order = rng.permutation(n)
    margins = Margins(X, y, int(y.max()) + 1, np.zeros(m, dtype=bool), None)
    np.testing.assert_allclose(
        simba_steps(margins, np.ones(m), order, step), simba.simba(X, y, order, step), rtol=1e-6, atol=1e-9
    )
    k = int(rng.integers(1, 3))
    np.testing.assert_allclose(wb.MBIW(k).fit(X, y).instance_weights_, simba.mbiw(X, y, k), atol=1e-9)


def check_lazy(rng):
    """IBk, LWL and K* on mixed tables with missing values."""
    made = generated(int(rng.integers(2**31)), n=20, n_queries=4, missing=0.1 if rng.random() < 0.5 else 0.0)
    classes, options = sorted(set(made.y)), {"nominal": made.nominal}
    given = (made.queries, made.rows, list(made.y), classes)
    k = int(rng.integers(1, 6))
    found = wb.IBk(k).fit(made.X, made.y).predict_proba(made.Q)
    np.testing.assert_allclose(found, lazy.ibk(*given, k, **options), atol=1e-9)
    np.testing.assert_allclose(
        wb.LWL().fit(made.X, made.y).predict_proba(made.Q), lazy.lwl(*given, **options), atol=1e-9
    )
    found = wb.KStar(20).fit(made.X, made.y).predict_proba(made.Q)
    np.testing.assert_allclose(found, lazy.kstar(*given, 0.2, **options), atol=1e-6)


def check_partial_fit(rng):
    """Rows given in parts vote as rows given at once."""
    X, _ = table(rng)
    y = labels(rng, len(X))
    whole = wb.WeightedKNeighborsClassifier(1).fit(X, y)
    grown, cuts = wb.WeightedKNeighborsClassifier(1), np.sort(rng.integers(1, len(X) + 1, size=2))
    for part in np.split(np.arange(len(X)), cuts):
        if len(part):
            grown.partial_fit(X[part], y[part], classes=np.unique(y))
    np.testing.assert_array_equal(grown.kneighbors(X)[1], whole.kneighbors(X)[1])
    np.testing.assert_array_equal(grown.predict_proba(X), whole.predict_proba(X))


def check_hnsw(rng):
    """An approximate search may miss a neighbour, but what it returns is true: other rows, sorted, right distances."""
    n, m, k = int(rng.integers(20, 120)), int(rng.integers(1, 9)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, m)).astype(np.float32)
    distance, row = NeighborEngine(X, backend="hnsw").search(X, k, own_row=np.arange(n))
    for q in range(n):
        there = row[q][row[q] >= 0]
        assert len(set(there.tolist())) == len(there)
        assert q not in there
        true = np.sqrt(((X[there].astype(np.float64) - X[q]) ** 2).sum(axis=1))
        np.testing.assert_allclose(distance[q][row[q] >= 0], true, rtol=1e-4, atol=1e-6)
        assert (np.diff(distance[q][row[q] >= 0]) >= 0).all()


def mutate(rng, content):
    """Bytes with a few of them changed, cut out, doubled or cut off."""
    raw = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        at, kind = int(rng.integers(len(raw) or 1)), rng.integers(4)
        if kind == 0 and raw:
            raw[at] = int(rng.integers(256))
        elif kind == 1:
            del raw[at : at + int(rng.integers(1, 20))]
        elif kind == 2:
            raw[at:at] = raw[at : at + int(rng.integers(1, 20))]
        else:
            del raw[at:]
    return bytes(raw)


def check_damaged_files(rng, place):
    """A file that was changed is read as it was, or refused with an error of the library."""
    path = place / "x"
    weights = wb.Weights(feature_weights=rng.random(4), feature_mask=[True, True, False, True])
    weights.save(path)
    path.write_bytes(mutate(rng, path.read_bytes()))
    with suppress(WeighborsError):
        assert wb.Weights.load(path) == weights
    X, y = rng.normal(size=(12, 3)), np.arange(12) % 2
    search = {"population_size": 4, "max_evaluations": 12, "random_state": 0, "checkpoint": path}
    path.unlink()
    wb.EvolutionaryWeigher("IS+FW", **search).fit(X, y)
    path.write_bytes(mutate(rng, path.read_bytes()))
    with suppress(WeighborsError):
        wb.EvolutionaryWeigher("IS+FW", **{**search, "max_evaluations": 20}).fit(X, y)
    header = {"status": "done", "dataset": "a", "method": "b", "versions": {}, "scores": {"accuracy": 0.5}}
    write_cell(path, header, {"rows": np.arange(5)})
    damaged = mutate(rng, path.read_bytes())
    if rng.random() < 0.5:  # a forged header with the right checksum
        text = mutate(rng, json.dumps({**header, "arrays": [], "checksum": 0}).encode()).replace(b"\n", b" ")
        damaged = b"weighbors.cell 1 %08x\n%s\n" % (zlib.crc32(text), text)
    path.write_bytes(damaged)
    with suppress(WeighborsError):
        assert read_header(path)["status"] in ("done", "failed")
        read_arrays(path)


CHECKS = [check_search, check_sparse_search, check_wide_pairs, check_population, check_relief, check_irelief_and_turf,
          check_simba, check_lazy, check_partial_fit, check_hnsw]  # fmt: skip


def run_case(check, seed, *more):
    """Run one case. The message of a failure has the check and the seed, which make the case again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check(np.random.default_rng([seed, zlib.crc32(check.__name__.encode())]), *more)
        except Exception as error:
            error.add_note(f"case: {check.__name__}, seed {seed}")
            raise
