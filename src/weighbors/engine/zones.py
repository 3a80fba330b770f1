"""Zones of near and far neighbours, as the SURF family has them, and sums of differences over these zones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import _native
from .._parallel.threads import run_ranges
from .._typing import FloatArray, IndexArray
from .backends.scan import align_rows
from .pairs import PackedRows, fixed_ranges


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

    @cached_property
    def native(self) -> _native.Zones:
        """The attributes as the compiled core takes them."""
        # A negative threshold stands for "each row has limits of its own".
        return _native.make_zones(
            class_start=self.class_start,
            hit_range=self.hit_range,
            factor=self.factor,
            weight=self.weight,
            threshold=-1.0 if self.threshold is None else self.threshold,
            far=self.far,
            tolerance=self.tolerance,
        )


def zone_coefficients(pairs: PackedRows, zones: Zones, begin: int, end: int) -> FloatArray:
    """Return the coefficients of rows [begin, end) with all rows, for `PackedRows.sum_differences`."""
    out = np.empty((end - begin, pairs.width), dtype=pairs.rows.dtype)
    _native.compute_zone_coefficients(rows=pairs.native, zones=zones.native, coefficient=out, begin=begin, end=end)
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

        def task(begin: int, end: int) -> None:
            """Compute the distances of rows [begin, end)."""
            _native.compute_zone_distances(rows=self._native, distance=distance, begin=begin, end=end)

        run_ranges(task, fixed_ranges(n, 48), n_jobs)
        return np.ascontiguousarray(distance[:, :n])

    def sum_differences(self, zones: Zones, n_jobs: int) -> FloatArray:
        """Return the sum over all pairs of coefficient · |difference| for each feature."""
        n = len(self.rows)
        native_zones = zones.native  # made once, before threads share it

        def task(begin: int, end: int) -> FloatArray:
            """Return the sums of rows [begin, end)."""
            total = np.zeros(self.rows.shape[1])
            _native.add_zone_differences(rows=self._native, zones=native_zones, total=total, begin=begin, end=end)
            return total

        size = min(240, max(48, n // 16 // 48 * 48))  # many rows share what is read, and threads share the rows
        parts = run_ranges(task, fixed_ranges(n, size), n_jobs)
        total: FloatArray = np.sum(parts, axis=0, dtype=np.float64)
        return total[: self.m]
