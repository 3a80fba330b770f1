"""The difference of two rows in one feature, also if a value is missing.

It is |x − z| for numbers (divided by the column range if the method says so) and 0 or 1 for categories. If a value
is missing, it is the expected difference, given the class of the instance that lacks the value: Kononenko's
conditional probability, and for numbers the mean absolute difference to the known values of that class.
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
    """The differences of one feature that has missing values."""

    def __init__(self, values: FloatArray, codes: IndexArray, n_classes: int, nominal: bool) -> None:
        self.values, self.codes, self.nominal = values, codes, nominal
        known = ~np.isnan(values)
        # A class without any known value takes the known values of all classes, and a column without any the value 0.
        everyone = values[known] if known.any() else np.zeros(1)
        self.known = [values[known & (codes == c)] for c in range(n_classes)]
        self.known = [part if len(part) else everyone for part in self.known]
        # If one of two values is missing, the difference is the mean difference of the known value to the class of
        # the row that lacks its value. If both are missing, it is the mean difference of the two classes. Both tables
        # are computed once, so that a pair is only looked up.
        self.to_class = np.stack([self._expected(values, part) for part in self.known])
        self.between = np.array([[self._expected(a, b).mean() for b in self.known] for a in self.known])

    def _expected(self, values: FloatArray, others: FloatArray) -> FloatArray:
        """Return the mean difference of each of ``values`` to all of ``others``."""
        if self.nominal:
            # The expected difference to a random other category is 1 minus the share of the own category.
            kinds, counts = np.unique(others, return_counts=True)
            position = np.clip(np.searchsorted(kinds, values), 0, len(kinds) - 1)
            return 1.0 - np.where(kinds[position] == values, counts[position] / len(others), 0.0)
        return absolute_sums(values, others) / len(others)

    def differences(self, x: IndexArray, z: IndexArray) -> FloatArray:
        """Return the difference of each row of ``x`` to the row of ``z`` at the same position."""
        a, b = self.values[x], self.values[z]
        no_a, no_b = np.isnan(a), np.isnan(b)
        plain = (a != b).astype(np.float64) if self.nominal else np.abs(a - b)
        plain = np.where(no_a & ~no_b, self.to_class[self.codes[x], z], plain)
        plain = np.where(no_b & ~no_a, self.to_class[self.codes[z], x], plain)
        return np.where(no_a & no_b, self.between[self.codes[x], self.codes[z]], plain)


def absolute_sums(values: FloatArray, others: FloatArray) -> FloatArray:
    """Return the sum of |value − other| over all ``others``, for each value."""
    # Sorted, the others below a value sum to a prefix, so that no pair is visited.
    others = np.sort(others)
    below = np.searchsorted(others, values, side="right")
    prefix = np.concatenate([[0.0], np.cumsum(others)])
    # The ``below`` others that are not above the value add value − other, and the rest add other − value.
    return values * (2 * below - len(others)) + prefix[-1] - 2 * prefix[below]


@dataclass(frozen=True)
class RangeScale:
    """Scale that divides numeric columns by their range. Constant columns become 0."""

    low: FloatArray  # 0 for nominal columns, which stay as they are
    factor: FloatArray

    @classmethod
    def of(cls, measured: ColumnRanges, n_numeric: int) -> RangeScale:
        """Build the scale for columns with these ranges. The first ``n_numeric`` columns are numeric."""
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
        """Return the scaled rows of an array or CSR matrix."""
        if sparse.issparse(rows):
            # Sparse rows are not shifted, since zeros would become something else. Differences do not depend on the
            # shift.
            return (rows @ sparse.diags(self.factor)).tocsr().astype(rows.dtype)
        scaled: FloatArray = rows - self.low.astype(rows.dtype)
        scaled *= self.factor.astype(rows.dtype)
        return scaled
