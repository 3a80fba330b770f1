"""Sums of differences over the zones of the SURF family, for sparse rows of numbers of which none is missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from .._parallel.threads import run_ranges
from .._typing import FloatArray
from .compressed import compress_rows
from .pairs import fixed_ranges
from .zones import Zones


class SparseZoneRows:
    """Sparse rows by row and by feature, as the kernel of sparse zones reads them.

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

    def sum_differences(self, zones: Zones, n_jobs: int) -> FloatArray:
        """Return the sum over all pairs of coefficient · |difference| for each feature."""
        rows, columns = compress_rows(self.columns.tocsr()), compress_rows(self.columns.T)
        native_zones = zones.native  # made once, before threads share it

        def task(begin: int, end: int) -> FloatArray:
            """Return the sums of rows [begin, end): one for each feature, and one for each row."""
            sums = np.zeros(self.m + self.n)
            _native.add_sparse_zone_differences(
                rows=rows, columns=columns, norm=self.norm, zones=native_zones,
                total=sums[: self.m], coefficient_sums=sums[self.m :], begin=begin, end=end,
            )  # fmt: skip
            return sums

        parts = run_ranges(task, fixed_ranges(self.n, max(48, -(-self.n // 16))), n_jobs)
        sums: FloatArray = np.sum(parts, axis=0, dtype=np.float64)
        # What the sizes of single entries add is a product with the coefficients of all pairs that a row is in.
        total: FloatArray = sums[: self.m] + self.sizes.T @ sums[self.m :]
        return total
