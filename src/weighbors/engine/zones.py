"""Sums of differences over the zones of the SURF family, for rows of float64 numbers of which none is missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from .._parallel.threads import run_ranges
from .._typing import FloatArray, IndexArray
from .backends.scan import align_rows
from .pairs import PackedRows, fixed_ranges

__all__ = ["ZoneRows"]


class ZoneRows:
    """Rows in whole cache lines, with their distances or with what distances are computed from.

    Parameters
    ----------
    rows : ndarray of shape (n, stride)
        Result of `align_rows`.
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
        self.rows, self.m, self.packed, self.distance, self.order = rows, m, packed, distance, order
        self.row_sums = None
        if packed is not None:
            # |x − z| = 2 max(x, z) − x − z: with sums of rows at hand, the kernel adds only maxima.
            self.row_sums = np.zeros(packed.shape[0] * packed.shape[2])
            self.row_sums[: len(rows)] = rows[:, :m].sum(axis=1)

    @classmethod
    def of(cls, pairs: PackedRows) -> ZoneRows:
        """Return the packed rows as the kernel of zones reads them."""
        return cls(align_rows(pairs.rows), pairs.m, packed=pairs.packed)

    def distances(self, n_jobs: int) -> FloatArray:
        """Return the city-block distances of all pairs, of shape (n, n). No bit depends on the order of rows."""
        n, given = len(self.rows), self._given()
        distance = np.empty((n, len(given["row_sums"])))

        def task(begin: int, end: int) -> None:
            """Compute the distances of rows [begin, end)."""
            _native.compute_zone_distances(rows=self.rows, distance=distance, begin=begin, end=end, **given)

        run_ranges(task, fixed_ranges(n, 48), n_jobs)
        return np.ascontiguousarray(distance[:, :n])

    def sum_differences(
        self,
        n_jobs: int,
        *,
        class_start: IndexArray,
        hit_range: IndexArray,
        factor: FloatArray,
        weight: FloatArray,
        threshold: float | None,
        far: bool,
        tolerance: float,
    ) -> FloatArray:
        """Return the sum over all pairs of coefficient · |difference| for each feature.

        The coefficients and parameters are those of `PackedRows.zone_coefficients`.
        """
        n, given = len(self.rows), {"distance": self.distance, "order": self.order, **self._given()}

        def task(begin: int, end: int) -> FloatArray:
            """Return the sums of rows [begin, end)."""
            total = np.zeros(self.rows.shape[1])
            _native.add_zone_differences(
                rows=self.rows,
                class_start=class_start,
                hit_range=hit_range,
                factor=factor,
                weight=weight,
                # The compiled core takes a negative threshold for "each row has limits of its own".
                threshold=-1.0 if threshold is None else threshold,
                far=far,
                tolerance=tolerance,
                total=total,
                begin=begin,
                end=end,
                **given,
            )
            return total

        size = min(240, max(48, n // 16 // 48 * 48))  # many rows share what is read, and threads share the rows
        parts = run_ranges(task, fixed_ranges(n, size), n_jobs)
        total: FloatArray = np.sum(parts, axis=0, dtype=np.float64)
        return total[: self.m]

    def _given(self) -> dict[str, Any]:
        """Return what the kernel computes distances from."""
        return {"packed": self.packed, "row_sums": self.row_sums}
