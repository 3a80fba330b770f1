"""The plan is a pure function that says what will run and why."""

import numpy as np
import pytest
from scipy import sparse

from weighbors import Weights, _native
from weighbors.engine import NeighborEngine, build_references, make_plan
from weighbors.engine.backends.scan import Scan
from weighbors.engine.plan import ORDER


def plan(n=100, m=3, weights=None, backend="auto", **options):
    X = np.random.default_rng(0).normal(size=(n, m))
    return make_plan(build_references(X, weights=weights, **options), backend=backend)


def test_few_features_and_many_rows_go_to_a_tree():
    assert plan(n=30_000, m=3).backend == "tree"
    assert plan(n=29_999, m=3).backend == "single"
    assert plan(n=30_000, m=8).backend != "tree"


def test_what_a_tree_cannot_serve_goes_elsewhere():
    many = 200_000
    assert plan(n=many, m=2, weights=Weights(instance_scales=np.linspace(1, 2, many))).backend != "tree"
    assert plan(n=many, m=2, nominal=np.array([True, False])).backend != "tree"
    assert plan(n=many, m=2, groups=np.arange(many) % 2, n_groups=2).backend != "tree"
    X = sparse.random(many, 2, density=0.1, format="csr", random_state=0)
    assert make_plan(build_references(X)).backend != "tree"


def test_city_block_over_many_numbers_goes_to_bytes():
    chosen = "scan" if _native.cpu_level() == "baseline" else "bytes"
    assert plan(n=512, m=8, p=1).backend == chosen
    assert plan(n=511, m=8, p=1).backend == plan(n=512, m=7, p=1).backend == "scan"
    assert plan(n=512, m=8, p=1, groups=np.arange(512) % 2, n_groups=2).backend == "scan"
    assert plan(n=512, m=8, p=1, nominal=np.arange(8) == 2).backend == "scan"
    assert plan(n=512, m=8, p=1, weights=Weights(feature_weights=np.arange(1.0, 9.0))).backend == "scan"


def expected_backend(n, m, p, dtype, kind):
    """The backend that is the fastest by benchmarks/backends.py, written as a list of cases."""
    fast = _native.multiplies_pairs()
    if m <= 5 and n >= {1: 5_000, 2: 20_000, 3: 30_000, 4: 50_000, 5: 100_000}[m] and kind not in ("groups", "scales"):
        return "tree"
    rows = n // 2 if kind == "groups" else n  # per group
    if p == 1 and kind in ("plain", "groups") and m >= 8 and rows >= 512 and _native.cpu_level() != "baseline":
        return "bytes"
    one_group = kind in ("plain", "weights")
    if p == 2 and one_group and fast and 4 <= m <= 1024:
        least = 16_000 if m < 16 else 6_000 if m < 48 else 5_000 if m < 257 else 8_000
        if n >= least:
            return "rounded"
    if p == 2 and kind == "plain" and fast and m >= 1024 and n >= (400 if dtype == np.float32 else 128):
        return "pairs"
    return "single" if one_group and dtype == np.float64 and n >= 2000 else "scan"


@pytest.mark.parametrize("kind", ["plain", "weights", "groups", "scales"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("m", [1, 3, 7, 8, 48, 257, 1023, 1024, 1025])
def test_what_the_plan_names_is_built(m, p, dtype, kind):
    # Two rows again and again: the plan reads sizes and ranges only.
    rows = np.random.default_rng(m).normal(size=(1, m)).astype(dtype)
    rows = np.concatenate([rows, -rows])
    for n in (100, 127, 128, 399, 400, 511, 512, 1999, 2000, 4999, 5000, 7999, 8000, 30_000):
        if n * m > 9_000_000:
            continue
        X = np.resize(rows, (n, m))
        weights = {"weights": Weights(feature_weights=np.linspace(1, 2, m) + (m == 1))}.get(kind)
        if kind == "scales":
            weights = Weights(instance_scales=np.linspace(1, 2, n))
        options = {"groups": np.arange(n) % 2, "n_groups": 2} if kind == "groups" else {}
        engine = NeighborEngine(X, weights=weights, p=p, **options)
        wanted = expected_backend(n, m, p, dtype, kind)
        assert engine.plan.backend == type(engine._backend).name == wanted
        assert str(engine.plan).startswith(wanted)
        built = [engine._backend]
        while built[-1] is not engine._backend.scan:
            built.append(built[-1].other)
        assert tuple(one.name for one in built) == engine.plan.kinds  # also those to which it leaves other queries
        assert all(reason for _, reason in engine.plan.tried)
        names = [kind.name for kind in ORDER]
        assert [name for name, _ in engine.plan.tried] == names[: names.index(wanted)]


def test_a_plan_prints_its_reasons():
    told = str(plan(weights=Weights(feature_weights=[1, 2, 3]), groups=np.arange(100) % 2, n_groups=2, p=1))
    assert "scan: the compiled scan serves every kind of distance" in told
    assert "100 x 3, float64" in told
    assert "city-block, feature weights folded" in told
    assert "each of 2 groups" in told
    assert "a weight per instance and feature, scaled per instance" in str(
        plan(weights=Weights(feature_weights=np.ones((100, 3)) * 2, instance_scales=np.full(100, 2.0)))
    )


def test_memory_is_cut_into_parts():
    X = np.zeros((1000, 10))
    whole = make_plan(build_references(X))
    assert whole.facts[-1] == f"memory      1 packed part(s) of at most {80_000 / 2**20:.3g} MiB"
    assert "memory      5 packed part(s)" in str(make_plan(build_references(X), part_bytes=20_000))  # blocks of 8 rows


@pytest.mark.parametrize("n", [16, 17, 100, 1001])
@pytest.mark.parametrize("n_groups", [1, 3])
def test_the_plan_counts_the_parts_that_run_and_they_are_kept(n, n_groups):
    X = np.random.default_rng(0).normal(size=(n, 4))
    for part_bytes in (700, 5_000, 2**20):
        references = build_references(X, groups=np.arange(n) % n_groups, n_groups=n_groups)
        scan = Scan(references, part_bytes=part_bytes)
        first = list(scan.parts(1))
        assert f"memory      {len(first)} packed part(s)" in str(make_plan(references, part_bytes=part_bytes))
        assert all(a is b for a, b in zip(first, scan.parts(1), strict=True))
