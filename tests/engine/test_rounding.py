"""Rows rounded to 16 bits, against the definition cell by cell."""

import numpy as np
import pytest

from weighbors import _native


def naive_levels(rows, center, factor, most):
    """Levels as integers, their squared norms, and how far rounding moved each row."""
    n, m = rows.shape
    levels, norm, residual = np.zeros((n, m), dtype=int), [0] * n, [0.0] * n
    for i in range(n):
        for j in range(m):
            exact = (float(rows[i, j]) - center[j]) * factor[j]
            level = int(min(max(round(min(max(exact, -1e9), 1e9)), -most[j]), most[j]))  # halves to even, as `round`
            levels[i, j] = level
            norm[i] += level**2
            residual[i] += (exact - level) ** 2
    return levels, np.array(norm), np.sqrt(residual)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 2), (16, 5), (37, 128), (20, 131), (33, 300)])
@pytest.mark.parametrize("packed", [False, True])
def test_levels_norms_and_residuals(dtype, shape, packed):
    rng = np.random.default_rng(shape[1])
    n, m = shape
    rows = rng.normal(size=shape).astype(dtype)
    rows[0, 0], rows[-1, -1] = 1e6, 0.5  # far outside of the range; and one half of a level
    center, factor, most = np.zeros(m), np.ones(m), np.full(m, 900.0)
    center[: m // 2], factor[: m // 2], most[m // 3] = rng.normal(size=m // 2), 200.0, 3.0
    lanes, pairs = _native.BLOCK_LANES_FLOAT32, -(-m // 2)
    levels = np.full((-(-n // lanes), pairs, lanes) if packed else (n, pairs, 1), -1, dtype=np.int32)
    norm, residual = np.full(n, -1, dtype=np.int32), np.full(n, -1.0)
    for begin, end in ((0, n // 2), (n // 2, n)):
        _native.round_to_levels(
            rows=rows, center=center, factor=factor, most=most, times=-2, levels=levels,
            norm=norm, residual=residual, begin=begin, end=end,
        )  # fmt: skip
    expected, squares, moved = naive_levels(rows, center, factor, most)
    by_row = levels.transpose(0, 2, 1).reshape(-1, pairs)
    found = np.ascontiguousarray(by_row[:n]).view(np.int16)
    np.testing.assert_array_equal(found[:, :m], -2 * expected)
    assert (found[:, m:] == 0).all()
    assert (by_row[n:] == -1).all()  # lanes without a row are left as they were
    np.testing.assert_array_equal(norm, squares)
    np.testing.assert_allclose(residual, moved, rtol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"most": np.full(3, 2.0**15)}, "16 bits"),
        ({"most": np.full(3, np.nan)}, "16 bits"),
        ({"center": np.zeros(2)}, "one per feature"),
        ({"levels": np.zeros((4, 1, 1), dtype=np.int32)}, "n_blocks, pairs, lanes"),
        ({"levels": np.zeros((4, 2, 3), dtype=np.int32)}, "n_blocks, pairs, lanes"),
        ({"norm": np.zeros(3, dtype=np.int32)}, "one per row"),
        ({"end": 5}, "."),
    ],
)
def test_wrong_shapes_are_refused(wrong, message):
    given = {
        "rows": np.zeros((4, 3)), "center": np.zeros(3), "factor": np.ones(3), "most": np.ones(3), "times": 1,
        "levels": np.zeros((4, 2, 1), dtype=np.int32), "norm": np.zeros(4, dtype=np.int32),
        "residual": np.zeros(4), "begin": 0, "end": 4,
    }  # fmt: skip
    with pytest.raises((ValueError, IndexError), match=message):
        _native.round_to_levels(**{**given, **wrong})
