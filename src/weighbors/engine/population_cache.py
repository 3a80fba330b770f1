"""What a search among many individuals keeps: sorted neighbour lists, and distances of all pairs of rows.

They depend on the rows alone, not on the individuals, so they are computed once (see `weighbors.engine.population`).
"""

from __future__ import annotations

import numpy as np

from .._parallel.threads import row_ranges, run_ranges
from .._typing import AnyArray, FloatArray
from .backends.backend import Batch
from .backends.scan import Scan, aligned_empty
from .pairs import PackedRows
from .references import References

_SORTED_SHARE = 8  # lists of at least the n-th part of all rows are sorted, shorter ones are kept in heaps


def squared_distances(references: References, n_jobs: int) -> FloatArray:
    """Return the squared distances of all pairs of rows, padded to whole vectors.

    The distance of a row to itself and to padding is infinite.
    """
    n, packed = references.n, _pack(references)
    square = aligned_empty((n, packed.width), references.dtype)

    def task(begin: int, end: int) -> None:
        """Write the distances of the rows [begin, end)."""
        square[begin:end] = packed.distances(begin, end)

    run_ranges(task, row_ranges(n, n_jobs, most=96), n_jobs)
    square[:, n:] = np.inf
    np.fill_diagonal(square, np.inf)
    return square


def nearest_lists(references: References, width: int, n_jobs: int) -> AnyArray:
    """Return the ``width`` nearest other rows of each row, ordered by distance and then row number, as int32."""
    n = references.n
    lists = np.empty((n, width), dtype=np.int32)
    if width * _SORTED_SHARE < n:
        # Neighbour lists of a batch take at most about 16 MB, since a scan gives distance and slot, 16 bytes together.
        size = max(6, 2**24 // (16 * max(1, width)) // 6 * 6)
        scan, rows = Scan(references), np.arange(n)
        for begin in range(0, n, size):
            own = rows[begin : begin + size]
            queries = references.rows[begin : begin + size]
            _, slot = scan.search(Batch(queries, own, references.missing, n_jobs), width)
            lists[begin : begin + size] = slot[:, 0]
        return lists
    packed = _pack(references)

    def task(begin: int, end: int) -> None:
        """Write the lists of the rows [begin, end). To sort all distances is faster than a heap of many."""
        square = packed.distances(begin, end)[:, :n]
        square[np.arange(end - begin), np.arange(begin, end)] = np.inf
        lists[begin:end] = sort_neighbors(square, width)

    # Ranges whose distances take about 1 MB stay in the cache.
    run_ranges(task, row_ranges(n, n_jobs, least=6, most=max(6, 2**17 // n)), n_jobs)
    return lists


def _pack(references: References) -> PackedRows:
    """Return the rows, packed for squared Euclidean distances."""
    return PackedRows(
        references.rows,
        n_numeric=references.n_numeric,
        missing_distance=references.missing_distance,
        missing=references.missing,
        p=2,
    )


def sort_neighbors(square: FloatArray, width: int) -> AnyArray:
    """Return the numbers of the ``width`` smallest distances of each row, by distance and then number.

    ``square`` has shape (rows, n) and no negative numbers.

    Examples
    --------
    >>> sort_neighbors(np.array([[np.inf, 4.0, 1.0, 4.0]], dtype=np.float32), 3)
    array([[2, 1, 3]], dtype=int32)
    """
    if square.dtype == np.float32:
        # The bits of floats that are not negative are ordered as the floats are. With the number in the lower half,
        # one fast sort of integers also puts equal distances in order.
        both = (np.ascontiguousarray(square).view(np.uint32).astype(np.uint64) << np.uint64(32)) | np.arange(
            square.shape[1], dtype=np.uint64
        )
        both.sort(axis=1)
        return (both[:, :width] & np.uint64(0xFFFFFFFF)).astype(np.int32)
    return np.argsort(square, axis=1, kind="stable")[:, :width].astype(np.int32)
