"""Feature weights as a table per class, feature and interval of values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

import numpy as np

from ._checks import frozen
from ._typing import FloatArray, IndexArray
from .exceptions import InvalidWeightsError

__all__ = ["IntervalTable"]


@dataclass(frozen=True, eq=False)
class IntervalTable:
    """Weights per class, feature and interval of values (WIB-K's way of weighing).

    The intervals of class ``c`` and feature ``j`` are entries ``start[c * M + j]`` up to
    ``start[c * M + j + 1]`` of ``low``, ``high`` and ``weight``, ascending.

    Parameters
    ----------
    start : ndarray of shape (n_classes * n_features + 1,)
    low, high, weight : ndarray of shape (n_intervals,)
        Both ends belong to the interval.
    n_features : int
    normalize : {"none", "instance"}
        "instance": the weights of one stored instance are divided by their sum.
    smoothing : float
        Added to every weight before normalising.
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
            values = frozen(getattr(self, name), np.float64)
            if values.ndim != 1 or not np.isfinite(values).all():
                raise InvalidWeightsError(f"intervals: '{name}' must be a vector of finite numbers")
            object.__setattr__(self, name, values)
        object.__setattr__(self, "start", frozen(self.start, np.int64))
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

    def __reduce__(self) -> tuple[Any, ...]:  # through the constructor: copies stay read-only
        return _restore, ({f.name: getattr(self, f.name) for f in fields(self)},)

    @property
    def n_classes(self) -> int:
        """Number of classes the table covers."""
        return (len(self.start) - 1) // self.n_features

    def lookup(self, X: FloatArray, codes: IndexArray) -> FloatArray:
        """Weights of the cells of ``X``, whose rows belong to the classes ``codes``.

        A value outside all intervals takes the closest one (of two equally close ones the
        lower); a missing value takes the mean weight of its class and feature; a class and
        feature without intervals weighs 0 before smoothing.
        """
        out = np.zeros(X.shape)
        for c in np.unique(codes):
            rows = np.flatnonzero(codes == c)
            for j in range(self.n_features):
                a, b = self.start[c * self.n_features + j], self.start[c * self.n_features + j + 1]
                if a < b:
                    out[rows, j] = self._of_column(X[rows, j], int(a), int(b))
        out += self.smoothing
        if self.normalize == "instance":
            total = out.sum(axis=1, keepdims=True)
            np.divide(out, total, out=out, where=total > 0)
        return out

    def _of_column(self, values: FloatArray, a: int, b: int) -> FloatArray:
        low, high, weight = self.low[a:b], self.high[a:b], self.weight[a:b]
        values = values.astype(np.float64)
        below = np.clip(np.searchsorted(low, values, side="right") - 1, 0, b - a - 1)
        above = np.minimum(below + 1, b - a - 1)
        to_below = np.maximum(low[below] - values, np.maximum(values - high[below], 0))
        to_above = np.where(above == below, np.inf, low[above] - values)
        out: FloatArray = weight[np.where(to_above < to_below, above, below)]
        return np.where(np.isnan(values), weight.mean(), out)


def _restore(parts: dict[str, Any]) -> IntervalTable:
    return IntervalTable(**parts)
