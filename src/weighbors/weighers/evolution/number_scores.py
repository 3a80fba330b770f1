"""Scores of predicted numbers, by scikit-learn's names, for a whole population at once.

In the fitness a score is added to shares of removed instances and features, so it must lie between 0 and 1, whatever
the unit of the target. R² does: it compares the squared errors with those of the mean. Every error is turned into a
score in the same way, 1 − error / error of the best constant prediction, and at least 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._typing import AnyArray, FloatArray
from ...exceptions import InvalidDataError
from .scores import SCORES, call_score

__all__ = ["NUMBER_SCORES", "NumericPerformance", "check_number_score"]


_CACHED = 16_384  # largest number of residuals that are in memory at once


def _squared(residuals: FloatArray) -> FloatArray:
    """Return the sums of squared residuals."""
    sums: FloatArray = np.einsum("ij,ij->i", residuals, residuals)  # in one pass, without an array of squares
    return sums


def _absolute(residuals: FloatArray) -> FloatArray:
    """Return the sums of absolute residuals."""
    return np.abs(residuals).sum(axis=1)


#: Names that ``fitness`` takes for numeric targets, with the error of residuals of shape (P, N) and the best constant.
_ERRORS: dict[str, tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], Any]]] = {
    "r2": (_squared, np.mean),
    "neg_mean_squared_error": (_squared, np.mean),  # relative to that of the mean, it is R²
    "neg_root_mean_squared_error": (lambda residuals: np.sqrt(_squared(residuals)), np.mean),
    "explained_variance": (lambda residuals: residuals.var(axis=1), np.mean),
    "neg_mean_absolute_error": (_absolute, np.median),
    "d2_absolute_error_score": (_absolute, np.median),  # scikit-learn's name of the same
    "neg_median_absolute_error": (lambda residuals: np.median(np.abs(residuals), axis=1), np.median),
}
NUMBER_SCORES = tuple(_ERRORS)


def check_number_score(name: Any, numbers: FloatArray) -> None:
    """Raise an error if the score ``name`` is not defined for the numeric target ``numbers``.

    "accuracy", the default of ``fitness``, stands for R² here. Other scores of classes are refused, and so are targets
    whose squares leave the range of float64.
    """
    if not callable(name) and name != "accuracy" and name in SCORES:
        raise InvalidDataError(
            f"fitness={name!r} is a score of classes, and y is a numeric target. Use {', '.join(NUMBER_SCORES)} or a "
            "function of (y_true, y_pred), or write target_type='classes' if y holds names of classes"
        )
    with np.errstate(over="ignore", under="ignore"):
        squares = float(np.square(numbers - numbers.mean()).sum())
    if not np.finfo(np.float64).tiny < squares < np.inf:
        raise InvalidDataError(
            f"the squares of y ({numbers.min():.3g} to {numbers.max():.3g}) leave the range of float64: rescale y, "
            "for example divide it by its standard deviation"
        )
    if not callable(name) and NumericPerformance(name, numbers).baseline == 0:
        raise InvalidDataError(
            f"fitness={name!r} compares errors with those of one constant, and that has the error 0: most values of y "
            "are equal. Use 'r2'"
        )


@dataclass(frozen=True)
class NumericPerformance:
    """Score of predicted numbers: R², another name of `NUMBER_SCORES`, or a function.

    Parameters
    ----------
    how : str or callable
        Name of the score, "accuracy" for R², or a function of true and predicted numbers.
    numbers : float64 ndarray of shape (N,)
        True numbers.

    Examples
    --------
    >>> score = NumericPerformance("r2", np.array([1.0, 2.0, 3.0]))
    >>> score(np.array([[1.0, 2.0, 2.0], [2.0, 2.0, 2.0], [3.0, 2.0, 1.0]]))
    array([0.5, 0. , 0. ])
    """

    how: str | Callable[[AnyArray, AnyArray], float]
    numbers: FloatArray

    def __call__(self, predicted: AnyArray) -> FloatArray:
        """Return the score of each individual. ``predicted`` are the predicted numbers, shape (P, N)."""
        if callable(self.how):
            return np.array([call_score(self.how, self.numbers, row) for row in predicted])
        # A regressor may extrapolate so far that its errors overflow; they are infinite then, and the score is 0.
        with np.errstate(over="ignore"):
            score: FloatArray = np.maximum(0.0, 1 - self._errors(predicted) / self.baseline)
        return score

    def _errors(self, predicted: FloatArray) -> FloatArray:
        """Return the error of each individual. A few individuals at a time, so that residuals stay in the cache."""
        measure, together = self._measure[0], max(1, _CACHED // len(self.numbers))
        parts = range(0, len(predicted), together)
        return np.concatenate([measure(predicted[at : at + together] - self.numbers) for at in parts])

    @property
    def _measure(self) -> tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], Any]]:
        """The error and the best constant prediction of the named score."""
        return _ERRORS["r2" if self.how == "accuracy" else str(self.how)]

    @cached_property
    def baseline(self) -> float:
        """Error of the best constant prediction."""
        error, constant = self._measure
        return float(error(self.numbers[None, :] - constant(self.numbers))[0])

    @property
    def may_be_negative(self) -> bool:
        """Whether the score can be below 0, the usual fitness of an individual that selects nothing."""
        return callable(self.how)
