"""What a search among many individuals keeps: sorted neighbour lists, the places of rows in them, and distances.

They depend on the rows alone, not on the individuals, so they are computed once (see `weighbors.engine.population`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from .._parallel.threads import run_ranges
from .._typing import AnyArray, FloatArray
from .backends.scan import Scan, aligned_empty
from .plan import lanes_of
from .references import References

__all__ = ["NO_RANK", "RANK_BLOCK", "RowDistances", "rank_rows", "run_by_rows", "sort_neighbors"]

NO_RANK = 32767  # place of a row in its own list
RANK_BLOCK = 64  # lists whose ranks stand side by side
_SORTED_SHARE = 8  # lists of at least the n-th part of all rows are sorted, shorter ones are kept in heaps


def run_by_rows(task: Any, n: int, n_jobs: int) -> None:
    """Run ``task(begin, end)`` on ranges of ``n`` rows, in threads. A range begins with a block of ranks."""
    size = max(RANK_BLOCK, -(-n // (4 * n_jobs) // RANK_BLOCK) * RANK_BLOCK)
    run_ranges(task, [(begin, min(begin + size, n)) for begin in range(0, n, size)], n_jobs)


class RowDistances:
    """Distances of all pairs of rows without weights, and neighbour lists in their order.

    Parameters
    ----------
    references : References
    n_jobs : int
        Number of threads. Results do not depend on it.
    """

    def __init__(self, references: References, n_jobs: int) -> None:
        self.references, self.n_jobs = references, n_jobs
        self.rows = np.arange(references.n, dtype=np.int64)

    def sorted_lists(self, width: int) -> AnyArray:
        """Return the ``width`` nearest other rows of each row, ordered by distance and then row number."""
        n = self.references.n
        lists = np.empty((n, width), dtype=np.int32)
        if width * _SORTED_SHARE >= n:
            run_by_rows(lambda begin, end: self._sort_rows(lists, begin, end), n, self.n_jobs)
            return lists
        # Neighbour lists of a batch take at most about 16 MB, since a scan gives distance and slot, 16 bytes together.
        size = max(6, 2**24 // (16 * max(1, width)) // 6 * 6)
        scan = Scan(self.references)
        for begin in range(0, n, size):
            own = self.rows[begin : begin + size]
            rows = self.references.rows[begin : begin + size]
            _, slot = scan.search(rows, width, own_slot=own, missing=self.references.missing, n_jobs=self.n_jobs)
            lists[begin : begin + size] = slot[:, 0]
        return lists

    def _sort_rows(self, lists: AnyArray, begin: int, end: int) -> None:
        """Write the lists of rows [begin, end) to ``lists``. To sort all distances is faster than a heap of many."""
        n, width = lists.shape
        # Blocks of about 1 MB stay in the cache.
        size = max(1, 2**17 // n)
        for first in range(begin, end, size):
            last = min(first + size, end)
            lists[first:last] = sort_neighbors(self._distances(first, last)[:, :n], width)

    def all_distances(self) -> FloatArray:
        """Return the squared distances of all pairs of rows."""
        n = self.references.n
        square = self._empty_distances(n)
        run_by_rows(lambda begin, end: self._write_distances(square[begin:end], begin, end), n, self.n_jobs)
        return square

    def _distances(self, begin: int, end: int) -> FloatArray:
        """Return the squared distances of the rows [begin, end) to all rows, infinite to itself."""
        square = self._empty_distances(end - begin)
        self._write_distances(square, begin, end)
        return square

    def _empty_distances(self, count: int) -> FloatArray:
        """Return an array for the distances of ``count`` rows. It is padded to whole vectors."""
        r = self.references
        lanes = lanes_of(r.dtype)
        return aligned_empty((count, -(-r.n // lanes) * lanes), r.dtype)

    def _write_distances(self, square: FloatArray, begin: int, end: int) -> None:
        """Write the squared distances of the rows [begin, end) to ``square``."""
        r = self.references
        _native.compute_squared_distances(
            rows=r.rows,
            missing_distance=r.missing_distance,
            n_numeric=r.n_numeric,
            missing=r.missing,
            query=self.rows,
            square=square,
            begin=begin,
            end=end,
        )


def rank_rows(lists: AnyArray, values: AnyArray, code_bits: int) -> AnyArray:
    """Return the place of each row in blocks of 64 lists, of shape (n_blocks, n, 64).

    Parameters
    ----------
    lists : int32 ndarray of shape (n, n - 1)
        All other rows of each row, in the order of their distances.
    values : ndarray of shape (n,)
        Classes of the rows.
    code_bits : int
        Number of lowest bits of a place that hold the class of the row. 0: the places stand alone.
    """
    n = len(lists)
    ranks = np.full((-(-n // RANK_BLOCK), n, RANK_BLOCK), NO_RANK, dtype=np.int16)
    places = np.arange(n - 1, dtype=np.int16)[None, :] << code_bits
    for block in range(len(ranks)):  # The inverse of each list is a row here, and a column of the result.
        part = lists[block * RANK_BLOCK : (block + 1) * RANK_BLOCK]
        inverse = np.full((len(part), n), NO_RANK, dtype=np.int16)
        classes = values[part].astype(np.int16) if code_bits else np.int16(0)
        np.put_along_axis(inverse, part, places | classes, axis=1)
        ranks[block, :, : len(part)] = inverse.T
    return ranks


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
        # To part off the nearest rows takes less time than to sort the others, too.
        if 2 * width <= both.shape[1]:
            both = np.partition(both, width - 1, axis=1)[:, :width]
        both.sort(axis=1)
        return (both[:, :width] & np.uint64(0xFFFFFFFF)).astype(np.int32)
    return np.argsort(square, axis=1, kind="stable")[:, :width].astype(np.int32)
