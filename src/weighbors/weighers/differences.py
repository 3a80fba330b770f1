"""The difference of one feature, also where a value is missing.

It is |x − z| for numbers (divided by the feature's range where the method says so) and 0 or 1 for
categories. Where a value is missing it is the expected difference, given the class of the instance
that lacks it (Kononenko's conditional probability; for numbers the mean absolute difference to the
known values of that class).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._ranges import invert_ranges
from .._typing import FloatArray, IndexArray
from ..engine.references import ColumnRanges
from ..exceptions import InvalidDataError

__all__ = ["Expectation", "RangeScale", "absolute_sums"]


class Expectation:
    """Differences of one feature that has missing values."""

    def __init__(self, values: FloatArray, codes: IndexArray, n_classes: int, nominal: bool) -> None:
        self.values, self.codes, self.nominal = values, codes, nominal
        known = ~np.isnan(values)
        everyone = values[known] if known.any() else np.zeros(1)
        self.known = [values[known & (codes == c)] for c in range(n_classes)]
        self.known = [part if len(part) else everyone for part in self.known]
        # Where one of two values is missing, the mean difference of the other to the class of the row that lacks it
        # counts; where both are, that of class to class. Both are made once, so that a pair is only looked up.
        self.to_class = np.stack([self._expected(values, part) for part in self.known])
        self.between = np.array([[self._expected(a, b).mean() for b in self.known] for a in self.known])

    def _expected(self, values: FloatArray, others: FloatArray) -> FloatArray:
        """Return the mean difference of each value to some others."""
        if self.nominal:
            kinds, counts = np.unique(others, return_counts=True)
            position = np.clip(np.searchsorted(kinds, values), 0, len(kinds) - 1)
            return 1.0 - np.where(kinds[position] == values, counts[position] / len(others), 0.0)
        return absolute_sums(values, others) / len(others)

    def differences(self, x: IndexArray, z: IndexArray) -> FloatArray:
        """Return the differences of rows ``x`` and ``z``, elementwise."""
        a, b = self.values[x], self.values[z]
        no_a, no_b = np.isnan(a), np.isnan(b)
        plain = (a != b).astype(np.float64) if self.nominal else np.abs(a - b)
        plain = np.where(no_a & ~no_b, self.to_class[self.codes[x], z], plain)
        plain = np.where(no_b & ~no_a, self.to_class[self.codes[z], x], plain)
        return np.where(no_a & no_b, self.between[self.codes[x], self.codes[z]], plain)


def absolute_sums(values: FloatArray, others: FloatArray) -> FloatArray:
    """Return Σ over ``others`` of |value − other| for every value, by sorting."""
    # Sorted, the others below a value sum to a prefix, so that no pair is visited.
    others = np.sort(others)
    below = np.searchsorted(others, values, side="right")
    prefix = np.concatenate([[0.0], np.cumsum(others)])
    return values * (2 * below - len(others)) + prefix[-1] - 2 * prefix[below]


@dataclass(frozen=True)
class RangeScale:
    """Numbers divided by their range; constant columns become 0."""

    low: FloatArray  # 0 for nominal columns, which stay as they are
    factor: FloatArray

    @classmethod
    def of(cls, measured: ColumnRanges, n_numeric: int) -> RangeScale:
        """Make the scale of columns of these ranges, of which the first ``n_numeric`` are numbers."""
        with np.errstate(over="ignore"):
            span = measured.high - measured.low
        factor = invert_ranges(span)
        factor[n_numeric:] = 1.0
        extreme = np.flatnonzero(~(np.isfinite(factor) & np.isfinite(span)))
        if len(extreme):
            raise InvalidDataError(
                f"a feature spans {span[extreme[0]]:.3g}, which cannot be scaled to 1 in {measured.high.dtype}: "
                "rescale the features (for example with sklearn.preprocessing.StandardScaler), or drop it"
            )
        low = measured.low.copy()
        low[n_numeric:] = 0.0
        return cls(low, factor)

    def __call__(self, rows: Any) -> Any:
        """Scale the rows of an array or CSR."""
        if sparse.issparse(rows):
            return (rows @ sparse.diags(self.factor)).tocsr().astype(rows.dtype)
        scaled: FloatArray = rows - self.low.astype(rows.dtype)
        scaled *= self.factor.astype(rows.dtype)
        return scaled
