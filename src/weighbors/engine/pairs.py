"""Compute distances and sums of differences for all pairs of rows, or for listed pairs.

Rows are summed in fixed chunks, and the totals of chunks are added in order. So sums do not depend on the
number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .. import _native
from .._parallel.threads import run_ranges
from .._typing import FloatArray, IndexArray
from .backends.scan import aligned_empty
from .plan import lanes_of

__all__ = ["LISTS", "PackedRows", "distance_sums", "fixed_ranges", "sum_listed"]

LISTS = 512  # lists per chunk
_CHUNK_BYTES = 2**20  # of distances in memory per thread


def fixed_ranges(n: int, size: int) -> list[tuple[int, int]]:
    """Return ranges of ``size`` numbers from 0 to ``n``. They do not depend on the number of threads."""
    return [(begin, min(begin + size, n)) for begin in range(0, n, size)]


class PackedRows:
    """Rows, packed once for computations on all pairs. Numeric columns come first, categories last."""

    def __init__(
        self, rows: FloatArray, *, n_numeric: int, gap: FloatArray | None = None, missing: bool = False
    ) -> None:
        self.rows = np.ascontiguousarray(rows)
        self.n, self.m = self.rows.shape
        self.n_numeric = n_numeric
        self.missing = missing
        self.gap = np.ones(self.m, dtype=self.rows.dtype) if gap is None else gap.astype(self.rows.dtype)
        lanes = lanes_of(self.rows.dtype)
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

    @property
    def width(self) -> int:
        """Number of columns of an array of distances. Columns from ``n`` on are padding."""
        return int(self.packed.shape[0] * self.packed.shape[2])

    def ranges(self) -> list[tuple[int, int]]:
        """Return chunks of rows whose distances fit in the memory of one thread."""
        size = max(6, _CHUNK_BYTES // (self.width * self.rows.dtype.itemsize) // 6 * 6)
        return fixed_ranges(self.n, size)

    def distances(self, begin: int, end: int) -> FloatArray:
        """Return the city-block distances of rows [begin, end) to all rows, with padding columns."""
        out = np.empty((end - begin, self.width), dtype=self.rows.dtype)
        _native.compute_distances(
            queries=self.rows,
            packed=self.packed,
            missing_distance=self.gap,
            n_numeric=self.n_numeric,
            missing=self.missing,
            distance=out,
            begin=begin,
            end=end,
        )
        return out

    def zone_coefficients(
        self,
        begin: int,
        end: int,
        *,
        class_start: IndexArray,
        factor: FloatArray,
        weight: FloatArray,
        threshold: float | None,
        far: bool,
        tolerance: float,
    ) -> FloatArray:
        """Coefficients of rows [begin, end) for `sum_differences`, by city-block distance zones.

        Rows are ordered by class. Near is below ``threshold`` and far above it; without one, below a
        row's mean distance less half its standard deviation, and above the mean plus half of it. A
        neighbour of class c counts ``weight[row] * factor[own, c]`` over the number of its class in
        the zone; far ones, where wanted, the other way round.
        """
        out = np.empty((end - begin, self.width), dtype=self.rows.dtype)
        limit = -1.0 if threshold is None else threshold
        _native.compute_zone_coefficients(
            rows=self.rows,
            packed=self.packed,
            missing_distance=self.gap,
            n_numeric=self.n_numeric,
            missing=self.missing,
            class_start=class_start,
            factor=factor,
            weight=weight,
            threshold=limit,
            far=far,
            tolerance=tolerance,
            coefficient=out,
            begin=begin,
            end=end,
        )
        return out

    def zone_sums(
        self,
        n_jobs: int,
        *,
        class_start: IndexArray,
        factor: FloatArray,
        weight: FloatArray,
        threshold: float | None,
        far: bool,
        tolerance: float,
    ) -> FloatArray:
        """Σ over pairs of coefficient · |difference|, coefficients as `zone_coefficients` has them.

        For float64 rows of numbers, none missing.
        """
        rows = aligned_empty((self.n, -(-self.m // 8) * 8), self.rows.dtype)  # whole cache lines
        row_sums = np.zeros(self.width)

        def prepare(begin: int, end: int) -> None:
            """Copy rows to whole cache lines, and sum them."""
            rows[begin:end, : self.m], rows[begin:end, self.m :] = self.rows[begin:end], 0.0
            row_sums[begin:end] = self.rows[begin:end].sum(axis=1)

        def task(begin: int, end: int) -> FloatArray:
            total = np.zeros(rows.shape[1])
            limit = -1.0 if threshold is None else threshold
            _native.add_zone_differences(
                rows=rows,
                packed=self.packed,
                row_sums=row_sums,
                class_start=class_start,
                factor=factor,
                weight=weight,
                threshold=limit,
                far=far,
                tolerance=tolerance,
                total=total,
                begin=begin,
                end=end,
            )
            return total

        run_ranges(prepare, fixed_ranges(self.n, 252), n_jobs)
        size = min(240, max(48, self.n // 16 // 48 * 48))  # many rows share what is read, and threads share the rows
        parts = run_ranges(task, fixed_ranges(self.n, size), n_jobs)
        total: FloatArray = np.sum(parts, axis=0, dtype=np.float64)
        return total[: self.m]

    def sum_differences(self, coefficients: Callable[[int, int], FloatArray], n_jobs: int) -> FloatArray:
        """Return the sum over all pairs of coefficient · |difference|, for each feature.

        ``coefficients(begin, end)`` returns the coefficients of rows [begin, end) with all rows, 0 for padding.
        Categories differ by 0 or 1. A missing number differs from every other by ``gap``, as in `distances`.
        """

        def task(begin: int, end: int) -> FloatArray:
            total = np.zeros(self.m)
            weights = np.ascontiguousarray(coefficients(begin, end), dtype=self.rows.dtype)
            _native.add_differences(
                queries=self.rows,
                packed=self.packed,
                missing_distance=self.gap,
                n_numeric=self.n_numeric,
                missing=self.missing,
                coefficient=weights,
                total=total,
                begin=begin,
                end=end,
            )
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

    def task(first: int, last: int) -> None:
        _native.sum_distances(
            queries=packed.rows, packed=packed.packed, n=packed.n, sums=sums, begin=begin + first, end=begin + last
        )

    run_ranges(task, fixed_ranges(end - begin, 252), n_jobs)
    return sums[begin:end]


def _sparse_distance_sums(rows: Any, n_jobs: int) -> FloatArray:
    """Sum distances by products, |a|² + |b|² − 2 ab; by differences where those would leave few digits."""
    n = rows.shape[0]
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    columns = rows.T.tocsr()

    def task(begin: int, end: int) -> FloatArray:
        scale = squares[begin:end, None] + squares[None, :]
        squared = scale - 2.0 * (rows[begin:end] @ columns).toarray()
        own = np.arange(begin, end)
        squared[own - begin, own] = 0.0
        scale[own - begin, own] = 0.0
        close = np.argwhere(squared < 1e-3 * scale)
        for first in range(0, len(close), LISTS):
            x, z = close[first : first + LISTS].T
            difference = rows[begin + x] - rows[z]
            squared[x, z] = np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
        return np.asarray(np.sqrt(squared).sum(axis=1))

    size = max(1, min(252, _CHUNK_BYTES // (8 * n)))
    return np.concatenate(run_ranges(task, fixed_ranges(n, size), n_jobs))


def sum_listed(
    rows: Any,
    n_numeric: int,
    query: IndexArray,
    neighbor: IndexArray,
    coefficient: FloatArray,
    credit: IndexArray,
    n_credits: int,
    n_jobs: int,
    total: FloatArray | None = None,
) -> FloatArray:
    """Return sums of coefficient · |difference| between rows and listed neighbours, for each credit and feature.

    The credit of a pair is the row of the result to which the pair is added.

    Parameters
    ----------
    rows : (n, m) array or CSR
        CSR holds numbers only.
    query : (n_lists,) rows
    neighbor, coefficient, credit : (n_lists, width)
        -1 for no neighbour.
    total : (n_credits, m), optional
        A sum over earlier lists, in whole chunks of `LISTS`, to go on with: added to, to the same bits
        as one call with all lists.

    Returns
    -------
    ndarray of shape (n_credits, m)
    """
    neighbor = np.ascontiguousarray(neighbor, dtype=np.int64)
    coefficient = np.ascontiguousarray(coefficient, dtype=np.float64)
    credit = np.ascontiguousarray(credit, dtype=np.int64)
    query = np.ascontiguousarray(query, dtype=np.int64)

    def dense(begin: int, end: int) -> FloatArray:
        """Sum over some lists of dense rows."""
        total = np.zeros((n_credits, rows.shape[1]))
        _native.add_listed_differences(
            rows=rows,
            n_numeric=n_numeric,
            query=query,
            neighbor=neighbor,
            coefficient=coefficient,
            output_row=credit,
            total=total,
            begin=begin,
            end=end,
        )
        return total

    def scattered(begin: int, end: int) -> FloatArray:
        """Sum over some lists of sparse rows, as a product of sparse matrices."""
        real = neighbor[begin:end] >= 0
        pair_query = np.repeat(query[begin:end], real.sum(axis=1))
        difference = abs(rows[pair_query] - rows[neighbor[begin:end][real]])
        pairs = np.arange(len(pair_query))
        weights = (coefficient[begin:end][real], (credit[begin:end][real], pairs))
        return np.asarray((sparse.csr_matrix(weights, shape=(n_credits, len(pairs))) @ difference).toarray())

    task = scattered if sparse.issparse(rows) else dense
    size = 32 if sparse.issparse(rows) else LISTS
    total = np.zeros((n_credits, rows.shape[1])) if total is None else total
    for part in run_ranges(task, fixed_ranges(len(query), size), n_jobs):
        total += part
    return total
