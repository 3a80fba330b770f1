"""Sums of differences over the zones of near and far neighbours, as the SURF family has them.

`_native.Zones` says which neighbours are near, which are far, and how much each of them counts. Rows must be ordered by
class, or by a numeric target. A neighbour is near if its city-block distance is below the threshold and far if it is
above. A near neighbour of class c has the coefficient ``weight[row] * factor[own, c]``, divided by the number of near
neighbours of its class. A far neighbour has the opposite sign. With a numeric target, the hits and the misses of a row
take the place of classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from .._parallel.threads import fixed_ranges, run_kernel, run_ranges
from .._typing import FloatArray, IndexArray
from .backends.scan import align_rows
from .pairs import PackedRows
from .references import compress_rows


def zone_coefficients(pairs: PackedRows, zones: _native.Zones, begin: int, end: int) -> FloatArray:
    """Return the coefficients of rows [begin, end) with all rows, for `PackedRows.sum_differences`."""
    out = np.empty((end - begin, pairs.width), dtype=pairs.rows.dtype)
    _native.compute_zone_coefficients(rows=pairs.native, zones=zones, coefficient=out, begin=begin, end=end)
    return out


class ZoneRows:
    """Rows of float64 numbers, none missing, with their distances or with what distances are computed from.

    Parameters
    ----------
    rows : ndarray of shape (n, stride)
        Result of `align_rows`, in whole cache lines.
    m : int
        Number of features. The columns of ``rows`` from here on are 0.
    packed : ndarray, optional
        The packed rows, if distances are to be computed.
    distance : ndarray of shape (n, n), optional
        City-block distances of all pairs of the rows in another order, as `distances` returns them.
    order : int ndarray of shape (n,), optional
        The place of each row in that order.
    """

    def __init__(
        self,
        rows: FloatArray,
        m: int,
        *,
        packed: FloatArray | None = None,
        distance: FloatArray | None = None,
        order: IndexArray | None = None,
    ) -> None:
        self.rows, self.m = rows, m
        row_sums = None
        if packed is not None:
            # |x − z| = 2 max(x, z) − x − z: with sums of rows at hand, the kernel adds only maxima.
            row_sums = np.zeros(packed.shape[0] * packed.shape[2])
            row_sums[: len(rows)] = rows[:, :m].sum(axis=1)
        self._width = len(rows) if row_sums is None else len(row_sums)
        self._native = _native.make_zone_rows(
            rows=rows, packed=packed, row_sums=row_sums, distance=distance, order=order
        )

    @classmethod
    def of(cls, pairs: PackedRows) -> ZoneRows:
        """Return the packed rows as the kernel of zones reads them."""
        return cls(align_rows(pairs.rows), pairs.m, packed=pairs.packed)

    def distances(self, n_jobs: int) -> FloatArray:
        """Return the city-block distances of all pairs, of shape (n, n). No bit depends on the order of rows."""
        n = len(self.rows)
        distance = np.empty((n, self._width))
        run_kernel(_native.compute_zone_distances, fixed_ranges(n, 48), n_jobs, rows=self._native, distance=distance)
        return np.ascontiguousarray(distance[:, :n])

    def sum_differences(self, zones: _native.Zones, n_jobs: int) -> FloatArray:
        """Return the sum over all pairs of coefficient · |difference| for each feature."""
        n = len(self.rows)

        def task(begin: int, end: int) -> FloatArray:
            """Return the sums of rows [begin, end)."""
            total = np.zeros(self.rows.shape[1])
            _native.add_zone_differences(rows=self._native, zones=zones, total=total, begin=begin, end=end)
            return total

        size = min(240, max(48, n // 16 // 48 * 48))  # many rows share what is read, and threads share the rows
        parts = run_ranges(task, fixed_ranges(n, size), n_jobs)
        total: FloatArray = np.sum(parts, axis=0, dtype=np.float64)
        return total[: self.m]


class SparseZoneRows:
    """Sparse rows of numbers of which none is missing, by row and by feature, as the kernel of sparse zones reads them.

    Parameters
    ----------
    rows : CSR of shape (n, m)
        Numbers that are divided by the range of their column, so that a column with zeros has none beyond 1.
    """

    def __init__(self, rows: Any) -> None:
        self.n, self.m = rows.shape
        columns = rows.astype(np.float64).tocsc()
        columns.sum_duplicates()
        # The kernel adds |x| and |z| and takes off what is too much. This costs no digits if no number is beyond 1.
        # Larger ones are only in columns without zeros, and keep their differences if the smallest is subtracted.
        for j in np.flatnonzero(np.diff(columns.indptr) == self.n):
            entries = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
            entries -= entries.min()
        self.columns = columns
        self.sizes = abs(columns)
        self.norm = np.asarray(self.sizes.sum(axis=1), dtype=np.float64).ravel()

    def mean_distance(self) -> float:
        """Return the mean city-block distance of all pairs of rows."""
        # Σ over pairs of |x − z| = Σ_r (2 r − n + 1) x_(r), from the sorted values of a feature. Zeros add nothing, but
        # positive values stand behind them.
        count = np.diff(self.columns.indptr)
        column = np.repeat(np.arange(self.m), count)
        order = np.lexsort((self.columns.data, column))
        value = self.columns.data[order]
        rank = np.arange(len(value)) - np.repeat(self.columns.indptr[:-1], count)
        rank = np.where(value > 0, rank + np.repeat(self.n - count, count), rank)
        return float(np.sum((2.0 * rank - (self.n - 1)) * value)) / (self.n * (self.n - 1) / 2)

    def sum_differences(self, zones: _native.Zones, n_jobs: int) -> FloatArray:
        """Return the sum over all pairs of coefficient · |difference| for each feature."""
        rows, columns = compress_rows(self.columns.tocsr()), compress_rows(self.columns.T)

        def task(begin: int, end: int) -> FloatArray:
            """Return the sums of rows [begin, end): one for each feature, and one for each row."""
            sums = np.zeros(self.m + self.n)
            _native.add_sparse_zone_differences(
                rows=rows, columns=columns, norm=self.norm, zones=zones,
                total=sums[: self.m], coefficient_sums=sums[self.m :], begin=begin, end=end,
            )  # fmt: skip
            return sums

        parts = run_ranges(task, fixed_ranges(self.n, max(48, -(-self.n // 16))), n_jobs)
        sums: FloatArray = np.sum(parts, axis=0, dtype=np.float64)
        # What the sizes of single entries add is a product with the coefficients of all pairs that a row is in.
        total: FloatArray = sums[: self.m] + self.sizes.T @ sums[self.m :]
        return total
