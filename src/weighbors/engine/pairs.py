"""Compute distances and sums of differences for all pairs of rows.

Rows are summed in fixed chunks, and the totals of chunks are added in order. So sums do not depend on the
number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .. import _native
from .._parallel.threads import fixed_ranges, run_kernel, run_ranges
from .._typing import FloatArray
from .backends.scan import aligned_empty
from .references import BLOCK_LANES

_CHUNK_BYTES = 2**20  # of distances in memory per thread
_CLOSE_PAIRS = 512  # pairs of sparse rows whose differences are computed at once


class PackedRows:
    """Rows that are packed once for computations on all pairs. Numeric columns come first, categories last."""

    def __init__(
        self,
        rows: FloatArray,
        *,
        n_numeric: int,
        missing_distance: FloatArray | None = None,
        missing: bool = False,
        p: int = 1,
    ) -> None:
        self.rows = np.ascontiguousarray(rows)
        self.n, self.m = self.rows.shape
        self.n_numeric = n_numeric
        self.missing = missing
        self.p = p
        given = np.ones(self.m) if missing_distance is None else missing_distance
        self.missing_distance = given.astype(self.rows.dtype)
        # The kernel reads a block of rows at once, one per vector lane. The last block is padded.
        lanes = BLOCK_LANES[self.rows.dtype]
        n_blocks = -(-self.n // lanes)
        order = np.full(n_blocks * lanes, -1, dtype=np.int64)
        order[: self.n] = np.arange(self.n)
        self.packed = aligned_empty((n_blocks, self.m, lanes), self.rows.dtype)
        _native.pack(
            source=self.rows,
            order=order,
            packed=self.packed,
            fill=0.0,
            center=None,
            factor=None,
            n_numeric=n_numeric,
            p=2,
            begin=0,
            end=n_blocks,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "native"}

    @cached_property
    def native(self) -> _native.PackedRows:
        """The rows as the compiled core takes them. It is not pickled, but made again."""
        return _native.make_packed_rows(
            rows=self.rows,
            packed=self.packed,
            missing_distance=self.missing_distance,
            n_numeric=self.n_numeric,
            missing=self.missing,
        )

    @property
    def width(self) -> int:
        """Number of columns of an array of distances. Columns from ``n`` on are padding."""
        return int(self.packed.shape[0] * self.packed.shape[2])

    def ranges(self) -> list[tuple[int, int]]:
        """Return chunks of rows whose distances fit in the memory of one thread."""
        # The kernel takes six queries at a time, so chunks are multiples of six.
        size = max(6, _CHUNK_BYTES // (self.width * self.rows.dtype.itemsize) // 6 * 6)
        return fixed_ranges(self.n, size)

    def distances(
        self, begin: int, end: int, queries: FloatArray | None = None, *, missing: bool = False
    ) -> FloatArray:
        """Return the distances of rows [begin, end) to all rows, with padding columns. For p = 2 they are squared.

        ``queries`` are rows to take in place of the packed ones, of the same dtype. ``missing`` tells whether these
        queries have missing numbers.
        """
        out = np.empty((end - begin, self.width), dtype=self.rows.dtype)
        _native.compute_distances(
            rows=self.native, queries=queries, missing=missing, p=self.p, distance=out, begin=begin, end=end
        )
        return out

    def sum_signs(self, coefficient: FloatArray, begin: int, end: int) -> FloatArray:
        """Return Σ over all rows i of coefficient · sign(x_j − x_ij), for rows x in [begin, end) and numbers j.

        ``coefficient`` has the shape (end - begin, width), with 0 for padding. A missing value has the sign 0.
        """
        sums = np.empty((end - begin, self.n_numeric))
        _native.sum_signs(rows=self.native, coefficient=coefficient, sums=sums, begin=begin, end=end)
        return sums

    def sum_differences(self, coefficients: Callable[[int, int], FloatArray], n_jobs: int) -> FloatArray:
        """Return the sum over all pairs of coefficient · |difference|, for each feature.

        ``coefficients(begin, end)`` returns the coefficients of rows [begin, end) with all rows, 0 for padding.
        Categories differ by 0 or 1. A missing number is at ``missing_distance`` from all, as in `distances`.
        """

        def task(begin: int, end: int) -> FloatArray:
            """Return the sums of rows [begin, end)."""
            total = np.zeros(self.m)
            weights = np.ascontiguousarray(coefficients(begin, end), dtype=self.rows.dtype)
            _native.add_differences(rows=self.native, coefficient=weights, total=total, begin=begin, end=end)
            return total

        parts = run_ranges(task, self.ranges(), n_jobs)
        return np.sum(parts, axis=0, dtype=np.float64)


def distance_sums(rows: Any, n_jobs: int, begin: int = 0, end: int | None = None) -> FloatArray:
    """Return the sum of the Euclidean distances of each row to all others.

    Parameters
    ----------
    rows : array or CSR
    n_jobs : int
    begin, end : int, optional
        Return only the sums of rows [begin, end). Only for arrays.
    """
    if sparse.issparse(rows):
        return _sparse_distance_sums(rows.tocsr(), n_jobs)
    packed = PackedRows(rows, n_numeric=rows.shape[1])
    sums = np.zeros(packed.n)
    end = packed.n if end is None else end
    ranges = [(begin + first, begin + last) for first, last in fixed_ranges(end - begin, 252)]
    run_kernel(_native.sum_distances, ranges, n_jobs, rows=packed.native, sums=sums)
    return sums[begin:end]


def _sparse_distance_sums(rows: Any, n_jobs: int) -> FloatArray:
    """Return the sums of distances of sparse rows, by products: |a|² + |b|² − 2 ab.

    If the result is small beside |a|² + |b|², few of its digits are right, and the difference is computed directly.
    """
    n = rows.shape[0]
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    columns = rows.T.tocsr()

    def task(begin: int, end: int) -> FloatArray:
        """Return the sums of rows [begin, end)."""
        scale = squares[begin:end, None] + squares[None, :]
        squared = scale - 2.0 * (rows[begin:end] @ columns).toarray()
        # The product leaves rounding errors where the distance of a row to itself is 0.
        own = np.arange(begin, end)
        squared[own - begin, own] = 0.0
        scale[own - begin, own] = 0.0
        close = np.argwhere(squared < 1e-3 * scale)
        for first in range(0, len(close), _CLOSE_PAIRS):
            x, z = close[first : first + _CLOSE_PAIRS].T
            difference = rows[begin + x] - rows[z]
            squared[x, z] = np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
        return np.asarray(np.sqrt(squared).sum(axis=1))

    size = max(1, min(252, _CHUNK_BYTES // (8 * n)))
    return np.concatenate(run_ranges(task, fixed_ranges(n, size), n_jobs))
