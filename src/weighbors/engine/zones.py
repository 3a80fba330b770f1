"""Zones of near and far neighbours, as the SURF family has them, and sums of differences over these zones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _native
from .._parallel.threads import run_ranges
from .._typing import FloatArray, IndexArray
from .backends.scan import align_rows
from .pairs import PackedRows, fixed_ranges

__all__ = ["ZoneRows", "Zones", "zone_coefficients"]


@dataclass(frozen=True)
class Zones:
    """Which neighbours are near, which are far, and how much each of them counts.

    Rows must be ordered by class, or by a numeric target. A neighbour is near if its city-block distance is below
    ``threshold`` and far if it is above. A near neighbour of class c has the coefficient ``weight[row] *
    factor[own, c]``, divided by the number of near neighbours of its class. A far neighbour has the opposite sign. With
    a numeric target, the hits and the misses of a row take the place of classes.

    Attributes
    ----------
    class_start : int ndarray of shape (n_classes + 1,)
        The first row of each class, and the number of rows. With a numeric target all rows are of one class.
    hit_range : int ndarray of shape (n, 2), or (0, 2) for classes
        For each row, the number of its first hit and that of the row after its last hit. All others are misses.
    factor : ndarray of shape (n_classes, n_classes), or (1, 2)
        How much a neighbour of each class counts for a row of each class; or how much hits and misses count.
    weight : ndarray of shape (n,)
        How much each row counts.
    threshold : float or None
        The limit between near and far. None gives each row limits of its own: the mean of its distances less (plus)
        half their standard deviation.
    far : bool
        Whether far neighbours count at all.
    tolerance : float
        Relative difference up to which a distance counts as equal to a limit.
    """

    class_start: IndexArray
    hit_range: IndexArray
    factor: FloatArray
    weight: FloatArray
    threshold: float | None
    far: bool
    tolerance: float

    def arguments(self) -> dict[str, Any]:
        """Return the attributes as the compiled core takes them."""
        # A negative threshold stands for "each row has limits of its own".
        return {**vars(self), "threshold": -1.0 if self.threshold is None else self.threshold}


def zone_coefficients(pairs: PackedRows, zones: Zones, begin: int, end: int) -> FloatArray:
    """Return the coefficients of rows [begin, end) with all rows, for `PackedRows.sum_differences`."""
    out = np.empty((end - begin, pairs.width), dtype=pairs.rows.dtype)
    _native.compute_zone_coefficients(
        rows=pairs.rows,
        packed=pairs.packed,
        missing_distance=pairs.missing_distance,
        n_numeric=pairs.n_numeric,
        missing=pairs.missing,
        coefficient=out,
        begin=begin,
        end=end,
        **zones.arguments(),
    )
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

    def sum_differences(self, zones: Zones, n_jobs: int) -> FloatArray:
        """Return the sum over all pairs of coefficient · |difference| for each feature."""
        n = len(self.rows)
        given = {"distance": self.distance, "order": self.order, **self._given(), **zones.arguments()}

        def task(begin: int, end: int) -> FloatArray:
            """Return the sums of rows [begin, end)."""
            total = np.zeros(self.rows.shape[1])
            _native.add_zone_differences(rows=self.rows, total=total, begin=begin, end=end, **given)
            return total

        size = min(240, max(48, n // 16 // 48 * 48))  # many rows share what is read, and threads share the rows
        parts = run_ranges(task, fixed_ranges(n, size), n_jobs)
        total: FloatArray = np.sum(parts, axis=0, dtype=np.float64)
        return total[: self.m]

    def _given(self) -> dict[str, Any]:
        """Return what the kernel computes distances from."""
        return {"packed": self.packed, "row_sums": self.row_sums}
