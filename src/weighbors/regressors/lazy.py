"""Base class of the lazy learners for numeric targets, and the scale on which they compute."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import RegressorMixin

from .._labels import label_vector
from .._targets import check_outputs
from .._typing import FloatArray
from ..classifiers.lazy import BaseLazy, weigh_rows
from ..exceptions import InvalidDataError

__all__ = ["LazyRegressor", "ScaledTargets", "check_one_output"]


class ScaledTargets(NamedTuple):
    """Numeric targets, shifted and scaled to −1 to 1.

    On this scale, squares and sums of targets neither overflow nor lose digits to a large mean. A constant target is 0,
    so that it is predicted without any rounding.
    """

    scaled: FloatArray
    center: float
    half_range: float

    @classmethod
    def from_targets(cls, targets: FloatArray) -> Self:
        """Scale finite targets.

        Examples
        --------
        >>> ScaledTargets.from_targets(np.array([1.0, 2.0, 5.0])).scaled
        array([-1. , -0.5,  1. ])
        """
        low, high = float(targets.min()), float(targets.max())
        # Halves are added, because the sum or the difference of two large numbers could overflow.
        center, half_range = low / 2 + high / 2, high / 2 - low / 2
        scaled = (targets - center) / half_range if half_range > 0 else np.zeros(len(targets))
        return cls(scaled, center, half_range)

    def restore(self, values: FloatArray) -> FloatArray:
        """Return scaled values in the unit of the targets."""
        return values * self.half_range + self.center


def check_one_output(y: Any) -> FloatArray:
    """Check a numeric target with one output, and return it as a float64 vector.

    Raises
    ------
    InvalidDataError
        If ``y`` has several outputs, text, missing or infinite values.

    Examples
    --------
    >>> check_one_output([1, 2, 4])
    array([1., 2., 4.])
    """
    targets = check_outputs(y)
    if targets.ndim == 2 and targets.shape[1] > 1:
        raise InvalidDataError(
            f"y must have one output, the shape (n_samples,); got the shape {targets.shape}. Fit one model per output, "
            "for example with sklearn.multioutput.MultiOutputRegressor"
        )
    return label_vector(targets, warn_column=True)


class LazyRegressor(RegressorMixin, BaseLazy):
    """Base class of lazy learners for one numeric target. A subclass calls `_store` in ``fit``."""

    def _store(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Validate the rows and their targets, and store those whose sample weight is above 0."""
        coder, rows = self._code_rows(X, y)
        targets = check_one_output(y)
        repetition, kept = weigh_rows(rows, targets, sample_weight)
        if not len(kept):
            raise InvalidDataError("sample_weight is 0 for all rows: at least one row must count")
        self._store_rows(coder, rows, repetition, kept)
        self._numbers = targets[kept]
        self._targets = ScaledTargets.from_targets(self._numbers)
