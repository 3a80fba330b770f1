"""Sums of differences between rows and their listed neighbours, against plain loops."""

import numpy as np
import pytest

from weighbors.weighers.rows import LISTS, ListedPairs, sum_listed


def sum_by_loops(rows, n_numeric, lists):
    """The sums of `sum_listed`, pair by pair."""
    total = np.zeros((lists.n_output_rows, rows.shape[1]))
    for i, x in enumerate(lists.query):
        for z, c, at in zip(lists.neighbor[i], lists.coefficient[i], lists.output_row[i], strict=True):
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
        lists = ListedPairs(query, neighbor, coefficient, output_row, 3)
        wanted = sum_by_loops(rows, n_numeric, lists)
        for jobs in (1, 2, 3):
            np.testing.assert_array_equal(sum_listed(rows, n_numeric, [lists], jobs)[0], wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_listed_differences_do_not_depend_on_threads(dtype):
    rng = np.random.default_rng(0)
    n, m = 40, 2600
    rows = rng.normal(size=(n, m)).astype(dtype)
    neighbor, zeros = rng.integers(-1, n, size=(n, 11)), np.zeros((n, 11), dtype=int)
    lists = ListedPairs(np.arange(n), neighbor, rng.normal(size=(n, 11)), zeros, 1)
    one, *others = (sum_listed(rows, m - 30, [lists], jobs)[0] for jobs in (1, 2, 4, 9))
    for other in others:
        assert other.tobytes() == one.tobytes()
    np.testing.assert_allclose(one, sum_by_loops(rows, m - 30, lists), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "m", "n_nominal", "n_lists", "widths"),
    [
        (40, 700, 0, 40, [11, 11, 14, 3, 11, 11, 11, 11, 11, 11]),  # lists of different lengths
        (40, 700, 30, 40, [15] * 9),
        (40, 700, 0, LISTS + 30, [4, 9, 4]),  # more than one chunk each
        (40, 10, 0, 40, [15] * 9),
        (800, 300, 0, 800, [40, 40, 40]),  # too many rows for a packed panel
        (5, 3, 1, 0, [2, 2]),
    ],
)
def test_sums_of_several_fits_together_have_the_bits_of_separate_sums(n, m, n_nominal, n_lists, widths, dtype):
    rng = np.random.default_rng(m)
    rows = rng.normal(size=(n, m)).astype(dtype)
    rows[:, m - n_nominal :] = rng.integers(0, 3, size=(n, n_nominal))
    several = [
        ListedPairs(
            rng.integers(0, n, size=n_lists),
            rng.integers(-1, n, size=(n_lists, width)),
            np.where(rng.random((n_lists, width)) < 0.1, 0.0, rng.normal(size=(n_lists, width))),
            np.sort(rng.integers(0, 2, size=(n_lists, width)), axis=1),
            2,
        )
        for width in widths
    ]
    separate = [sum_listed(rows, m - n_nominal, [one], 1)[0] for one in several]
    np.testing.assert_allclose(separate[0], sum_by_loops(rows, m - n_nominal, several[0]), rtol=1e-9, atol=1e-9)
    for jobs in (1, 2, 3):
        for one, other in zip(sum_listed(rows, m - n_nominal, several, jobs), separate, strict=True):
            assert one.tobytes() == other.tobytes()
