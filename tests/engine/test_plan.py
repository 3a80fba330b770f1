"""The plan is a pure function that says what will run and why."""

import numpy as np
import pytest
from scipy import sparse

from weighbors import Weights, _native
from weighbors.engine import build_references, make_plan
from weighbors.engine.backends.scan import Scan


def plan(n=100, m=3, weights=None, backend="auto", **options):
    X = np.random.default_rng(0).normal(size=(n, m))
    return make_plan(build_references(X, weights=weights, **options), backend=backend)


def test_few_features_and_many_rows_go_to_a_tree():
    assert plan(n=30_000, m=3).backend == "tree"
    assert plan(n=29_999, m=3).backend == "scan"
    assert plan(n=30_000, m=8).backend == "scan"


def test_what_a_tree_cannot_serve_goes_to_the_scan():
    many = 200_000
    assert plan(n=many, m=2, weights=Weights(instance_scales=np.linspace(1, 2, many))).backend == "scan"
    assert plan(n=many, m=2, nominal=np.array([True, False])).backend == "scan"
    assert plan(n=many, m=2, groups=np.arange(many) % 2, n_groups=2).backend == "scan"
    X = sparse.random(many, 2, density=0.1, format="csr", random_state=0)
    assert make_plan(build_references(X)).backend == "scan"


def test_city_block_over_many_numbers_goes_to_bytes():
    chosen = "scan" if _native.cpu_level() == "baseline" else "bytes"
    assert plan(n=512, m=8, p=1).backend == chosen
    assert plan(n=511, m=8, p=1).backend == plan(n=512, m=7, p=1).backend == "scan"
    assert plan(n=512, m=8, p=1, groups=np.arange(512) % 2, n_groups=2).backend == "scan"
    assert plan(n=512, m=8, p=1, nominal=np.arange(8) == 2).backend == "scan"
    assert plan(n=512, m=8, p=1, weights=Weights(feature_weights=np.arange(1.0, 9.0))).backend == "scan"


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
    assert (whole.n_parts, whole.part_bytes) == (1, 80_000)
    assert make_plan(build_references(X), part_bytes=20_000).n_parts == 5  # whole blocks of 8 rows


@pytest.mark.parametrize("n", [16, 17, 100, 1001])
@pytest.mark.parametrize("n_groups", [1, 3])
def test_the_plan_counts_the_parts_that_run_and_they_are_kept(n, n_groups):
    X = np.random.default_rng(0).normal(size=(n, 4))
    for part_bytes in (700, 5_000, 2**20):
        references = build_references(X, groups=np.arange(n) % n_groups, n_groups=n_groups)
        scan = Scan(references, part_bytes=part_bytes)
        first = list(scan.parts(1))
        assert len(first) == make_plan(references, part_bytes=part_bytes).n_parts
        assert all(a is b for a, b in zip(first, scan.parts(1), strict=True))
