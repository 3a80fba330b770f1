"""Sums of differences between rows and their listed neighbours, against plain loops."""

import numpy as np
import pytest

from weighbors.engine.pairs import LISTS, sum_listed


def sum_by_loops(rows, n_numeric, query, neighbor, coefficient, output_row, n_output_rows):
    """The sums of `sum_listed`, pair by pair."""
    total = np.zeros((n_output_rows, rows.shape[1]))
    for i, x in enumerate(query):
        for z, c, at in zip(neighbor[i], coefficient[i], output_row[i], strict=True):
            if z < 0:
                continue
            difference = np.abs(rows[x] - rows[z]).astype(float)
            difference[n_numeric:] = rows[x, n_numeric:] != rows[z, n_numeric:]
            total[at] += c * difference
    return total


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "m", "n_lists", "width"),
    [(5, 1, 3, 1), (30, 7, 40, 9), (20, 1300, 25, 6), (20, 520, LISTS + 70, 5), (9, 3, 0, 4), (9, 0, 5, 4)],
)
def test_sums_of_listed_differences_are_those_of_loops(n, m, n_lists, width, dtype):
    rng = np.random.default_rng(m)
    rows = rng.integers(-3, 4, size=(n, m)).astype(dtype)  # All sums of multiples of 1/8 are exact, in any order.
    query = rng.integers(0, n, size=n_lists)
    neighbor = rng.integers(-1, n, size=(n_lists, width))
    coefficient = rng.integers(-4, 5, size=(n_lists, width)) / 8.0
    output_row = np.sort(rng.integers(0, 3, size=(n_lists, width)), axis=1)
    for n_numeric in {m, m // 2, 0}:
        lists = (query, neighbor, coefficient, output_row, 3)
        wanted = sum_by_loops(rows, n_numeric, *lists)
        for jobs in (1, 2, 3):
            np.testing.assert_array_equal(sum_listed(rows, n_numeric, *lists, jobs), wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_listed_differences_do_not_depend_on_threads(dtype):
    rng = np.random.default_rng(0)
    n, m = 40, 2600
    rows = rng.normal(size=(n, m)).astype(dtype)
    lists = (np.arange(n), rng.integers(-1, n, size=(n, 11)), rng.normal(size=(n, 11)), np.zeros((n, 11), dtype=int), 1)
    one, *others = (sum_listed(rows, m - 30, *lists, jobs) for jobs in (1, 2, 4, 9))
    for other in others:
        assert other.tobytes() == one.tobytes()
    np.testing.assert_allclose(one, sum_by_loops(rows, m - 30, *lists), rtol=1e-9, atol=1e-9)
