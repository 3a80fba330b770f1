"""Feature weights that depend on the class, the feature and the interval of the value."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

import numpy as np

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidWeightsError


def freeze(values: Any, dtype: Any) -> AnyArray:
    """Return a read-only copy of the values, in C order."""
    out = np.array(values, dtype=dtype, order="C")
    out.setflags(write=False)
    return out


@dataclass(frozen=True, eq=False)
class IntervalTable:
    """Weights per class, feature and interval of values, as WIB-K uses them.

    The intervals of class ``c`` and feature ``j``, in ascending order, are the entries from ``start[c * M + j]`` up to,
    but not including, ``start[c * M + j + 1]`` of ``low``, ``high`` and ``weight``. ``M`` is the number of features.

    Parameters
    ----------
    start : ndarray of shape (n_classes * n_features + 1,)
        Position of the first interval of each class and feature, and the number of intervals at the end.
    low, high, weight : ndarray of shape (n_intervals,)
        Ends and weight of each interval. Both ends belong to the interval.
    n_features : int
    normalize : {"none", "instance"}
        "instance": the weights of a stored instance are divided by their sum. "none": they are not.
    smoothing : float
        A number that is added to every weight before normalising.
    """

    start: IndexArray
    low: FloatArray
    high: FloatArray
    weight: FloatArray
    n_features: int
    normalize: str = "none"
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        for name in ("low", "high", "weight"):
            values = freeze(getattr(self, name), np.float64)
            if values.ndim != 1 or not np.isfinite(values).all():
                raise InvalidWeightsError(f"intervals: '{name}' must be a vector of finite numbers")
            object.__setattr__(self, name, values)
        object.__setattr__(self, "start", freeze(self.start, np.int64))
        start, n = self.start, len(self.weight)
        if self.n_features < 1 or start.ndim != 1 or len(start) < 2 or (len(start) - 1) % self.n_features:
            raise InvalidWeightsError(
                f"intervals: 'start' must have n_classes * n_features + 1 entries for {self.n_features} "
                f"features; got shape {start.shape}"
            )
        if len(self.low) != n or len(self.high) != n or start[0] != 0 or start[-1] != n:
            raise InvalidWeightsError(
                f"intervals: 'low', 'high' and 'weight' must be as long as 'start' says ({start[-1]}); "
                f"got {len(self.low)}, {len(self.high)} and {n}"
            )
        # Two neighbouring intervals are compared only if they belong to the same class and feature.
        inside = np.ones(max(n - 1, 0), dtype=bool)
        inside[start[(start > 0) & (start < n)] - 1] = False
        if (np.diff(start) < 0).any() or (self.high < self.low).any():
            raise InvalidWeightsError("intervals: 'start' must not descend, and low <= high must hold")
        if (self.low[1:][inside] <= self.high[:-1][inside]).any():
            raise InvalidWeightsError("intervals of one class and feature must ascend and not overlap")
        smoothing = self.smoothing
        if self.normalize not in ("none", "instance") or not isinstance(smoothing, Real) or not 0 <= smoothing < np.inf:
            raise InvalidWeightsError(
                f"intervals: normalize must be 'none' or 'instance' and smoothing a finite number >= 0; "
                f"got {self.normalize!r} and {self.smoothing!r}"
            )
        if (self.weight < 0).any() or not (self.weight + self.smoothing > 0).any():
            raise InvalidWeightsError("intervals: weights must not be negative and not all zero")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IntervalTable):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    def __hash__(self) -> int:
        return hash((self.n_features, len(self.weight), self.normalize, self.smoothing))

    def __reduce__(self) -> tuple[Any, ...]:  # through the constructor: copies are checked and stay read-only
        return type(self), tuple(getattr(self, f.name) for f in fields(self))

    @property
    def n_classes(self) -> int:
        """Number of classes of the table."""
        return (len(self.start) - 1) // self.n_features

    def lookup(self, X: FloatArray, codes: IndexArray) -> FloatArray:
        """Return the weights of the cells of ``X``. ``codes`` holds the class number of each row.

        A value outside all intervals gets the weight of the closest interval, or of the lower one if two are equally
        close. A missing value gets the mean weight of its class and feature. If a class and feature have no
        intervals, the weight is 0 before smoothing.
        """
        found = self.find(X, codes, np.arange(self.n_features))
        return self.smoothed(self.entries().take(found))

    def find(self, X: FloatArray, codes: IndexArray, columns: IndexArray) -> AnyArray:
        """Return, for each cell of some columns, the position of its weight in `entries`.

        ``codes`` holds the class number of each row of ``X``, and ``columns`` the numbers of the columns. The result
        has shape (n, len(columns)).
        """
        missing = len(self.weight) + codes[:, None] * self.n_features + columns
        out = missing.astype(np.uint32)
        # All rows of a class are looked up together, so that each class and feature needs one binary search.
        order = np.argsort(codes, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=self.n_classes))])
        for c in np.flatnonzero(np.diff(ends)):
            rows = order[ends[c] : ends[c + 1]]
            for at, j in enumerate(columns):
                group = c * self.n_features + j
                if self.start[group] < self.start[group + 1]:
                    values = X[rows, j].astype(np.float64)
                    closest = self._closest(values, group, np.searchsorted(self._low_of(group), values, side="right"))
                    out[rows, at] = np.where(np.isnan(values), out[rows, at], closest)
        return out

    def entries(self) -> FloatArray:
        """Return the weights of all intervals, followed by the weights of missing values per class and feature."""
        return np.concatenate([self.weight, self._means()])

    def _low_of(self, group: int) -> FloatArray:
        """Return the lower ends of the intervals of a class and feature. ``group`` is class * n_features + feature."""
        return self.low[self.start[group] : self.start[group + 1]]

    def _closest(self, values: FloatArray, group: Any, at_or_below: IndexArray) -> IndexArray:
        """Return the number of the interval that holds each value, or of the closest interval of its class and feature.

        ``group`` is class * n_features + feature. ``at_or_below`` is the number of intervals of the group that start
        at or below the value.
        """
        first, last = self.start[group], self.start[group + 1] - 1
        below = np.clip(first + at_or_below - 1, first, last)
        above = np.minimum(below + 1, last)
        # The distance to an interval is 0 for a value inside it.
        to_below = np.maximum(self.low[below] - values, np.maximum(values - self.high[below], 0))
        to_above = np.where(above == below, np.inf, self.low[above] - values)
        closest: IndexArray = np.where(to_above < to_below, above, below)
        return closest

    def _means(self) -> FloatArray:
        """Return the mean weight per class and feature, or 0 if they have no interval."""
        count = np.diff(self.start)
        some = np.flatnonzero(count)
        mean = np.zeros(len(count))
        mean[some] = np.add.reduceat(self.weight, self.start[some]) / count[some]
        return mean

    def smoothed(self, weights: FloatArray) -> FloatArray:
        """Smooth and normalise the weights of rows in place, and return them."""
        weights += self.smoothing
        if self.normalize == "instance":
            total = weights.sum(axis=1, keepdims=True)
            np.divide(weights, total, out=weights, where=total > 0)
        return weights


@dataclass(frozen=True)
class IntervalLookup:
    """A faster `IntervalTable.lookup` for many calls: columns of integers with a small range are tabulated.

    The weight of integer ``v`` in class ``c`` and listed column ``i`` is ``weight[base[c, i] + v]``, and the weight of
    a missing value is ``weight[missing[c, i]]``.
    """

    table: IntervalTable
    listed: IndexArray  # numbers of the columns that are tabulated
    searched: IndexArray  # numbers of the other columns
    entries: FloatArray  # `entries` of the table
    weight: FloatArray  # the tabulated weights
    base: IndexArray  # (n_classes, len(listed)), position of the first integer minus that integer
    missing: IndexArray  # (n_classes, len(listed)), position of the weight of a missing value

    @classmethod
    def of(cls, table: IntervalTable, low: FloatArray, high: FloatArray, integral: BoolArray, n: int) -> IntervalLookup:
        """Prepare the lookup for ``n`` rows.

        Parameters
        ----------
        table : IntervalTable
        low, high : ndarrays of shape (n_features,)
            Column ranges of the rows.
        integral : bool ndarray of shape (n_features,)
            Mask of the columns that hold only whole numbers.
        n : int
            Number of rows.

        Notes
        -----
        The tabulated weights of a feature take at most 1 kB, or half of the memory of one weight per row if that is
        more.
        """
        # A table takes one entry per integer of the range, so only small ranges are worth it.
        span = high.astype(np.float64) - low.astype(np.float64) + 2
        small = integral & (table.n_classes * span <= max(n // 2, 128))
        listed = np.flatnonzero(small)
        width = span[listed].astype(np.int64)  # all integers of the range, and one entry for missing values
        first = np.concatenate([[0], np.cumsum(np.tile(width, table.n_classes))]).astype(np.int64)
        base = first[:-1].reshape(table.n_classes, len(listed))
        start = low[listed].astype(np.int64)
        weight = _tabulate(table, listed, start, first)
        searched = np.flatnonzero(~small)
        return cls(table, listed, searched, table.entries(), weight, base - start, base + width - 1)

    def find(self, X: FloatArray, codes: IndexArray) -> AnyArray:
        """Return what `IntervalTable.find` returns for the columns that are not tabulated."""
        return self.table.find(X, codes, self.searched)

    def __call__(self, X: FloatArray, codes: IndexArray, found: AnyArray | None = None) -> FloatArray:
        """Return the weights of the cells of ``X``, as `IntervalTable.lookup` does.

        ``codes`` holds the class number of each row. ``found`` is the result of `find` for the same rows, or None if it
        must be computed.
        """
        values = X if not len(self.searched) else X[:, self.listed]
        # ``base`` already has the smallest integer subtracted, so that the value itself is the offset.
        entry = self.base[codes]
        unknown = np.isnan(values)
        if unknown.any():
            entry += np.where(unknown, 0, values).astype(np.int64)
            entry[unknown] = self.missing[codes][unknown]
        else:
            entry += values.astype(np.int64)
        out = self.weight.take(entry)
        if len(self.searched):
            whole = np.empty(X.shape)
            whole[:, self.listed] = out
            whole[:, self.searched] = self.entries.take(self.find(X, codes) if found is None else found)
            out = whole
        return self.table.smoothed(out)


def _tabulate(table: IntervalTable, listed: IndexArray, low: IndexArray, first: IndexArray) -> FloatArray:
    """Return the weight of every integer of the listed columns, per class, before smoothing.

    Parameters
    ----------
    table : IntervalTable
    listed : ndarray of int
        Numbers of the columns.
    low : ndarray of int
        The smallest integer of each listed column.
    first : ndarray of int
        Position of the first weight of each class and column, and the number of weights at the end.
    """
    group = (np.arange(table.n_classes)[:, None] * table.n_features + listed).ravel()
    width = np.diff(first)
    of_entry = np.repeat(np.arange(len(group)), width)
    values = (np.arange(first[-1]) - first[:-1][of_entry] + np.tile(low, table.n_classes)[of_entry]).astype(np.float64)
    # For each integer, count the intervals of its group (class and column) that start at or below it. A running sum
    # over all groups gives the counts, minus the sum of the groups before. This avoids a search for each integer.
    count = np.diff(table.start)[group]
    interval = np.arange(int(count.sum())) + np.repeat(table.start[group] - np.cumsum(count) + count, count)
    owner = np.repeat(np.arange(len(group)), count)
    offset = np.maximum(np.ceil(table.low[interval]) - np.tile(low, table.n_classes)[owner], 0)
    reached = offset < width[owner]
    starts = np.bincount((first[owner] + offset.astype(np.int64))[reached], minlength=int(first[-1]))
    running = np.cumsum(starts)
    at_or_below = running - np.concatenate([[0], running])[first[:-1]][of_entry]
    weight: FloatArray = np.zeros(int(first[-1]))
    filled = (count > 0)[of_entry]
    weight[filled] = table.weight[table._closest(values[filled], group[of_entry[filled]], at_or_below[filled])]
    weight[first[1:] - 1] = table._means()[group]
    return weight
