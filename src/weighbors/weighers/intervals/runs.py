"""Runs of consecutive integers per class and feature, their confidence and their weight (paper 002).

Features are processed in blocks. In a block, every class and feature has its own stretch of one number
line, with a gap before the next stretch. So one pass over the line finds the runs of all classes and features.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import sparse

from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray

LEVELS = ("null", "low", "medium", "high")
_BLOCK_CELLS = 2**20
_WIDE = 2**32  # in columns of a larger range, gaps between values are shortened, so that positions fit 64 bits


@dataclass(frozen=True)
class Runs:
    """All runs, ordered by feature, class and value. Both ends ``low`` and ``high`` belong to a run."""

    code: IndexArray  # class
    feature: IndexArray
    low: IndexArray
    high: IndexArray
    magnitude: AnyArray  # number of instances
    amplitude: IndexArray  # number of distinct values
    level: IndexArray  # position in LEVELS
    weight: FloatArray  # share of the run that is in no kept run of another class, NaN for dropped runs

    @property
    def kept(self) -> BoolArray:
        """Runs that are not noise: the representative intervals."""
        return self.level > 0


def confidence_levels(psi: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return the smallest magnitude of the levels high, medium and low, from the largest magnitude ψ.

    See paper 002, table 2.

    Examples
    --------
    >>> confidence_levels(np.array([20]))
    (array([11]), array([6]), array([3]))
    """
    high = psi // 2 + 1
    medium = (high - 1) // 2 + 1
    return high, medium, (medium - 1) // 2 + 1


def find_runs(
    X: Any,
    codes: IndexArray,
    n_classes: int,
    nominal: BoolArray,
    *,
    overlap: str = "values",
    sample_weight: FloatArray | None = None,
) -> Runs:
    """Find the runs of consecutive integers in each class and feature. Each category is a run by itself.

    Parameters
    ----------
    X : array or CSR of shape (n, M)
        Rows of integers, NaN for missing values.
    codes : ndarray of shape (n,)
        Class of each row.
    n_classes : int
    nominal : bool ndarray of shape (M,)
        Columns that hold categories.
    overlap : {"values", "length"}
        Whether the overlap of runs counts integers or measures lengths.
    sample_weight : ndarray of shape (n,), optional
        Repetition weight of each row.

    Returns
    -------
    Runs
    """
    n, M = X.shape
    # Blocks of about a million cells keep the temporary arrays of a block within the cache and bound the memory.
    width = max(8, _BLOCK_CELLS // max(n, 1) // 8 * 8)
    X = X.tocsc() if sparse.issparse(X) else X
    parts = []
    for begin in range(0, M, width):
        block = X[:, begin : begin + width]
        block = block.toarray() if sparse.issparse(block) else block
        parts.append(
            _block_runs(block, codes, n_classes, nominal[begin : begin + width], begin, overlap, sample_weight)
        )
    return Runs(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Runs)))


@dataclass(frozen=True)
class _Line:
    """Positions of the values of a block on its number line."""

    base: IndexArray  # (n_features * n_classes + 1,) begin of the stretch of each feature and class, and the end
    width: IndexArray  # (n_features,) length of a stretch, gap included
    low: IndexArray  # (n_features,) value at the beginning of a stretch
    closed: dict[int, tuple[IndexArray, IndexArray]]  # positions and values of columns with shortened gaps


def _place_values(V: IndexArray, known: BoolArray, n_classes: int, nominal: BoolArray) -> tuple[IndexArray, _Line]:
    """Place the values of a block on one number line.

    Parameters
    ----------
    V : int ndarray of shape (n_features, n)
        Values; changed in place.
    known : bool ndarray of the same shape
        Values that are not missing.
    n_classes : int
    nominal : bool ndarray of shape (n_features,)

    Returns
    -------
    V : ndarray of shape (n_features, n)
        Positions of the values within the stretch of their feature and class.
    line : _Line
    """
    V[nominal] *= 2  # Codes become even, so that no two categories are neighbours and none makes a run with another.
    some = known.any(axis=1)
    info = np.iinfo(np.int64)
    # Columns without a known value get an empty stretch at 0 instead of the extremes of int64.
    low = np.where(some, np.min(V, axis=1, initial=info.max, where=known), 0)
    high = np.where(some, np.max(V, axis=1, initial=info.min, where=known), 0)
    V -= low[:, None]
    width = high - low + 2  # One free place after the largest value separates a stretch from the next.
    closed = {}
    for j in np.flatnonzero(width > _WIDE).tolist():
        # Only whether two values are neighbours matters for runs: distances of 2 and more become 2.
        values, at = np.unique(V[j, known[j]], return_inverse=True)
        position = np.concatenate([[0], np.cumsum(np.minimum(np.diff(values), 2))])
        V[j, known[j]] = position[at]
        width[j] = position[-1] + 2
        closed[j] = position, values
    # Every class of a feature gets a stretch of the same width, so that one pass finds the runs of all classes.
    base = np.concatenate([[0], np.cumsum(np.repeat(width, n_classes))])
    return V, _Line(base, width, low, closed)


def _count_places(place: IndexArray, end: int, weight: FloatArray | None) -> tuple[IndexArray, AnyArray]:
    """Return the distinct places, ascending, and how many instances are at each.

    ``place`` is the place of each value on a number line of length ``end``. ``weight`` are repetition weights.
    """
    # A short line is counted place by place; a long and sparse one would need too much memory and is sorted.
    if end <= 4 * len(place) + 1024:
        count = np.bincount(place, weights=weight, minlength=end)
        taken = np.flatnonzero(count)
        return taken, count[taken]
    if weight is None:
        return np.unique(place, return_counts=True)
    taken, at = np.unique(place, return_inverse=True)
    return taken, np.bincount(at, weights=weight)


def _block_runs(
    block: FloatArray,
    codes: IndexArray,
    n_classes: int,
    nominal: BoolArray,
    first_feature: int,
    overlap: str,
    sample_weight: FloatArray | None,
) -> Runs:
    """Find the runs of some features.

    Parameters
    ----------
    block : ndarray of shape (n, n_features)
        Some columns of the table.
    codes, n_classes, overlap, sample_weight
        As in `find_runs`.
    nominal : bool ndarray of shape (n_features,)
    first_feature : int
        Number, in the whole table, of the first column of the block.
    """
    block = np.ascontiguousarray(block.T)  # Values of a feature then lie side by side.
    known = ~np.isnan(block)
    V, line = _place_values(np.where(known, block, 0).astype(np.int64), known, n_classes, nominal)
    # From here on, a position says class, feature and value at once.
    V += line.base[:-1].reshape(-1, n_classes)[:, codes]
    weight = None if sample_weight is None else np.broadcast_to(sample_weight, V.shape)[known]
    taken, frequency = _count_places(V.ravel() if known.all() else V[known], int(line.base[-1]), weight)
    # A run begins where the place before is not taken; the free place between stretches ends runs there too.
    begins = np.flatnonzero(np.concatenate([[True], np.diff(taken) != 1])[: len(taken)])
    low, high = taken[begins], taken[np.concatenate([begins[1:], [len(taken)]])[: len(begins)] - 1]
    magnitude = np.add.reduceat(frequency, begins) if len(begins) else frequency
    amplitude = high - low + 1
    # The stretch in which a run begins says its class and feature.
    stretch = np.searchsorted(line.base, low, side="right") - 1
    level = _levels(stretch, magnitude, amplitude)
    feature, code = np.divmod(stretch, n_classes)
    kept = level > 0
    share = np.full(len(low), np.nan)
    # Overlap is between classes: here all classes of a feature share one stretch, and features stay apart.
    place = low - line.base[stretch] + np.concatenate([[0], np.cumsum(line.width)])[feature]
    share[kept] = _share(place[kept], amplitude[kept], overlap)
    return Runs(
        code=code,
        feature=feature + first_feature,
        low=_values(low, stretch, feature, line, nominal),
        high=_values(high, stretch, feature, line, nominal),
        magnitude=magnitude,
        amplitude=amplitude,
        level=level,
        weight=share,
    )


def _levels(stretch: IndexArray, magnitude: AnyArray, amplitude: IndexArray) -> IndexArray:
    """Return the level of each run, compared with the runs of the same class, feature and amplitude.

    ``stretch`` is the number of the class and feature of each run.
    """
    # One number per class, feature and amplitude. If these numbers are large, they are replaced by small ones, so
    # that the table of largest magnitudes ψ stays small.
    group = stretch * (int(amplitude.max(initial=0)) + 1) + amplitude
    # The unique numbers are at most as many as there are runs.
    if group.max(initial=0) > 2**22:
        group = np.unique(group, return_inverse=True)[1]
    psi = np.zeros(int(group.max(initial=0)) + 1, dtype=magnitude.dtype)
    np.maximum.at(psi, group, magnitude)
    high, medium, low = confidence_levels(psi[group])
    level: IndexArray = (magnitude >= low).astype(np.int64) + (magnitude >= medium) + (magnitude >= high)
    return level


def _share(low: IndexArray, amplitude: IndexArray, overlap: str) -> FloatArray:
    """Return the share of each kept run that is in no kept run of another class (paper 002, section 3.2).

    Runs of one class never overlap. So a place that two runs cover belongs to two classes.
    """
    alone = (amplitude - _doubly_covered(low, low + amplitude)) / amplitude
    if overlap == "values":
        return alone
    # Figure 1 of paper 002 measures from the least to the largest value. A single value has no length, so that its
    # share is counted in values.
    length = amplitude - 1
    measured = (length - _doubly_covered(low, low + length)) / np.maximum(length, 1)
    return np.where(length > 0, measured, alone)


def _doubly_covered(begin: IndexArray, end: IndexArray) -> IndexArray:
    """Return the length of each interval [begin, end) that at least one other interval covers too."""
    # Go through all ends in order. `cover` is the number of intervals that cover the place after each end. `before` is
    # the length, up to each end, of all places that at least two intervals cover. The result is the difference of
    # `before` at the end and at the beginning of an interval.
    points = np.concatenate([begin, end])
    order = np.argsort(points, kind="stable")  # The two halves are nearly sorted, which a stable sort merges fast.
    cover = np.cumsum(np.where(order < len(begin), 1, -1))
    before = np.empty(len(points), dtype=np.int64)
    before[order] = np.concatenate([[0], np.cumsum(np.diff(points[order]) * (cover[:-1] > 1))])[: len(points)]
    covered: IndexArray = before[len(begin) :] - before[: len(begin)]
    return covered


def _values(place: IndexArray, stretch: IndexArray, feature: IndexArray, line: _Line, nominal: BoolArray) -> IndexArray:
    """Return the values at the positions ``place`` of a line. ``stretch`` and ``feature`` are those of each place."""
    # A position is turned back into a value: the start of its stretch is subtracted and the smallest value is added.
    value = place - line.base[stretch]
    for j, (position, values) in line.closed.items():
        mine = feature == j
        value[mine] = values[np.searchsorted(position, value[mine])]
    value += line.low[feature]
    return np.where(nominal[feature], value // 2, value)
