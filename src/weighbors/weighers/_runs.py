"""Runs of consecutive integers per class and feature, their confidence and their weight (paper 002).

Features are taken in blocks. In a block every class and feature has its own stretch of one number
line, with a gap to the next, so that one pass over that line finds the runs of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray

__all__ = ["LEVELS", "Runs", "confidence_levels", "find_runs"]

LEVELS = ("null", "low", "medium", "high")
_BLOCK_CELLS = 2**20
_WIDE = 2**32  # columns that reach further are closed up where nobody has a value


@dataclass(frozen=True)
class Runs:
    """All runs, by feature, class and value; both ends belong to a run."""

    code: IndexArray  # class
    feature: IndexArray
    low: IndexArray
    high: IndexArray
    magnitude: AnyArray  # instances
    amplitude: IndexArray  # distinct values
    level: IndexArray  # position in LEVELS
    weight: FloatArray  # share of the run in no kept run of another class; NaN for dropped ones

    @property
    def kept(self) -> BoolArray:
        """Runs that are not noise: the representative intervals."""
        return self.level > 0


def confidence_levels(psi: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Least magnitude of the levels high, medium and low, for a largest magnitude ψ (paper 002, table 2).

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
    """The runs of whole-numbered rows; NaN is missing, and a nominal value is a run of its own.

    ``overlap``: whether overlap counts integers ("values") or measures lengths ("length").
    """
    n, M = X.shape
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
    """Where the values of a block lie on its number line."""

    base: IndexArray  # (n_features * n_classes,) where the stretch of a feature and class begins
    width: IndexArray  # (n_features,) length of a stretch, gap included
    low: IndexArray  # (n_features,) value at the beginning of a stretch
    closed: dict[int, tuple[IndexArray, IndexArray]]  # positions and values of closed-up columns


def _placed(V: IndexArray, known: BoolArray, n_classes: int, nominal: BoolArray) -> tuple[IndexArray, _Line]:
    """Positions of the values within their stretch, and the line."""
    V[nominal] *= 2  # no two categories are neighbours
    some = known.any(axis=1)
    info = np.iinfo(np.int64)
    low = np.where(some, np.min(V, axis=1, initial=info.max, where=known), 0)
    high = np.where(some, np.max(V, axis=1, initial=info.min, where=known), 0)
    V -= low[:, None]
    width = high - low + 2
    closed = {}
    for j in np.flatnonzero(width > _WIDE).tolist():
        values, at = np.unique(V[j, known[j]], return_inverse=True)
        position = np.concatenate([[0], np.cumsum(np.minimum(np.diff(values), 2))])
        V[j, known[j]] = position[at]
        width[j] = position[-1] + 2
        closed[j] = position, values
    base = np.concatenate([[0], np.cumsum(np.repeat(width, n_classes))])
    return V, _Line(base, width, low, closed)


def _counted(place: IndexArray, end: int, weight: FloatArray | None) -> tuple[IndexArray, AnyArray]:
    """The distinct places, ascending, and how many instances are at each."""
    if end <= 4 * len(place) + 1024:
        count = np.bincount(place, weights=weight, minlength=end)
        taken = np.flatnonzero(count)
        return taken, count[taken]
    if weight is None:
        place = np.sort(place)
    else:
        order = np.argsort(place, kind="stable")
        place, weight = place[order], weight[order]
    first = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
    number = np.diff(np.concatenate([first, [len(place)]]))
    return place[first], number if weight is None else np.add.reduceat(weight, first)


def _block_runs(
    block: FloatArray,
    codes: IndexArray,
    n_classes: int,
    nominal: BoolArray,
    first_feature: int,
    overlap: str,
    sample_weight: FloatArray | None,
) -> Runs:
    block = np.ascontiguousarray(block.T)
    known = ~np.isnan(block)
    V, line = _placed(np.where(known, block, 0).astype(np.int64), known, n_classes, nominal)
    V += line.base[:-1].reshape(-1, n_classes)[:, codes]
    weight = None if sample_weight is None else np.broadcast_to(sample_weight, V.shape)[known]
    taken, frequency = _counted(V.ravel() if known.all() else V[known], int(line.base[-1]), weight)
    begins = np.flatnonzero(np.concatenate([[True], np.diff(taken) != 1])[: len(taken)])
    low, high = taken[begins], taken[np.concatenate([begins[1:], [len(taken)]])[: len(begins)] - 1]
    magnitude = np.add.reduceat(frequency, begins) if len(begins) else frequency
    amplitude = high - low + 1
    stretch = np.searchsorted(line.base, low, side="right") - 1
    level = _levels(stretch, magnitude, amplitude)
    feature, code = np.divmod(stretch, n_classes)
    kept = level > 0
    share = np.full(len(low), np.nan)
    # the same for all classes of a feature, features apart
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
    """Level of each run among those of its class, feature and amplitude."""
    group = stretch * (int(amplitude.max(initial=0)) + 1) + amplitude
    if group.max(initial=0) > 2**22:
        group = np.unique(group, return_inverse=True)[1]
    psi = np.zeros(int(group.max(initial=0)) + 1, dtype=magnitude.dtype)
    np.maximum.at(psi, group, magnitude)
    high, medium, low = confidence_levels(psi[group])
    level: IndexArray = (magnitude >= low).astype(np.int64) + (magnitude >= medium) + (magnitude >= high)
    return level


def _share(low: IndexArray, amplitude: IndexArray, overlap: str) -> FloatArray:
    """Share of each kept run that lies in no kept run of another class (paper 002, section 3.2).

    Runs of one class never overlap, so a place that two runs cover belongs to two classes.
    """
    alone = (amplitude - _doubly_covered(low, low + amplitude)) / amplitude
    if overlap == "values":
        return alone
    # paper 002, figure 1 measures from the least to the largest value; a single value has no length
    length = amplitude - 1
    measured = (length - _doubly_covered(low, low + length)) / np.maximum(length, 1)
    return np.where(length > 0, measured, alone)


def _doubly_covered(begin: IndexArray, end: IndexArray) -> IndexArray:
    """How much of each stretch [begin, end) is covered by another one too."""
    points = np.concatenate([begin, end])
    order = np.argsort(points, kind="stable")  # sorted stretch by stretch already, so that it merges
    cover = np.cumsum(np.where(order < len(begin), 1, -1))
    before = np.empty(len(points), dtype=np.int64)
    before[order] = np.concatenate([[0], np.cumsum(np.diff(points[order]) * (cover[:-1] > 1))])[: len(points)]
    covered: IndexArray = before[len(begin) :] - before[: len(begin)]
    return covered


def _values(place: IndexArray, stretch: IndexArray, feature: IndexArray, line: _Line, nominal: BoolArray) -> IndexArray:
    """Values of the places of a line."""
    value = place - line.base[stretch]
    for j, (position, values) in line.closed.items():
        mine = feature == j
        value[mine] = values[np.searchsorted(position, value[mine])]
    value += line.low[feature]
    return np.where(nominal[feature], value // 2, value)
