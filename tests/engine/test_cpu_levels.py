"""Every CPU level of the compiled core finds the same neighbours, with its own kernels for every shape."""

import numpy as np
import pytest

from weighbors import _native
from weighbors.engine import NeighborEngine


@pytest.fixture(params=["baseline", "avx2", "avx512", "avx512_vnni"])
def cpu_level(request):
    """Sets a CPU level for a test, and skips it where the CPU or the build has no such level."""
    before = _native.cpu_level()
    try:
        _native.set_cpu_level(request.param)
    except ValueError as error:
        pytest.skip(str(error))
    yield request.param
    _native.set_cpu_level(before)


@pytest.mark.parametrize("p", [1, 2])
def test_every_cpu_level_finds_the_neighbours_of_whole_numbers(cpu_level, p):
    X = np.random.default_rng(9).integers(0, 3, size=(200, 6)).astype(float)
    exact = (np.abs(X[:, None].astype(float) - X) ** p).sum(axis=2)  # whole numbers, in which nothing is rounded
    order = np.argsort(exact, axis=1, kind="stable")[:, :5]
    for backend in ("auto", "scan", *(["bytes"] if p == 1 else [])):
        distance, row = NeighborEngine(X, p=p, backend=backend).search(X, 5)
        np.testing.assert_array_equal(row, order)
        np.testing.assert_array_equal(distance, np.take_along_axis(exact, order, axis=1) ** (1 / p))


#: Rows, columns and queries of tables that different kernels search: rounded rows, float64 in float32, pairs of
#: rounded rows of float64 and pairs of exact rows.
SEARCHED = {"rounded": (2000, 21, 150), "single": (2000, 4, 150), "bytes": (3000, 40, 150), "wide": (130, 1500, None),
            "pairs": (100, 1500, None)}  # fmt: skip


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", SEARCHED)
def test_every_cpu_level_has_one_distance(cpu_level, kind, dtype, p):
    n, m, n_queries = SEARCHED[kind]
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, m)).astype(dtype)
    queries = X if n_queries is None else rng.normal(size=(n_queries, m)).astype(dtype)
    own = np.arange(n) if n_queries is None else None
    found = NeighborEngine(X, p=p, n_jobs=2).search(queries, 7, own_row=own)
    scanned = NeighborEngine(X, p=p, backend="scan").search(queries.copy(), 7, own_row=own)
    assert found[0].tobytes() == scanned[0].tobytes()
    assert found[1].tobytes() == scanned[1].tobytes()
    exact = (np.abs(queries[:20, None].astype(float) - X) ** p).sum(axis=2) ** (1 / p)
    if own is not None:
        exact[np.arange(20), np.arange(20)] = np.inf
    np.testing.assert_allclose(
        scanned[0][:20], np.sort(exact, axis=1)[:, :7], rtol=1e-4 if dtype == np.float32 else 1e-12
    )


def test_an_unknown_cpu_level_is_refused():
    with pytest.raises(ValueError, match="cpu level 'z80'"):
        _native.set_cpu_level("z80")
