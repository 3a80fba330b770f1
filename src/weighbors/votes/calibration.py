"""Turn scores into probabilities by one number, fitted to leave-one-out scores.

The probabilities are softmax(t · score): they are positive, sum to 1, and their order is that of the scores, so that
the predicted class stays the same. The slope t minimises the log-loss of scores that were made without the row's own
label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax

from .._typing import FloatArray, IndexArray

_SLOPES = (1e-3, 1e3)  # the search goes over their logarithms


@dataclass(frozen=True)
class Calibration:
    """The slope ``t`` of the softmax, and the log-loss that it has on the rows it was fitted to."""

    slope: float
    log_loss: float

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities of the classes, of the shape of ``scores``.

        Examples
        --------
        >>> Calibration(2.0, 0.5)(np.array([[1.0, 0.0]])).round(3)
        array([[0.881, 0.119]])
        """
        probability: FloatArray = softmax(self.slope * scores, axis=1)
        return probability


def fit_calibration(scores: FloatArray, codes: IndexArray, weight: FloatArray | None = None) -> Calibration:
    """Return the calibration with the least log-loss.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes)
        Scores of rows, each made without the label of the row.
    codes : ndarray of shape (n,)
        Classes of the rows, as columns of ``scores``.
    weight : ndarray of shape (n,), optional
    """
    n, n_classes = scores.shape
    weight = np.ones(n) if weight is None else weight
    # Where all rows are on the right side, the best slope would be infinite. So labels are smoothed as Platt (1999)
    # does: a class of N rows is taken to be right N + 1 times of N + n_classes.
    count = np.bincount(codes, weights=weight, minlength=n_classes)[codes]
    other = 1.0 / (count + n_classes)
    own = (count + 1.0) * other
    of_row = scores[np.arange(n), codes]
    sum_of_others = scores.sum(axis=1) - of_row

    def smoothed_loss(log_slope: float) -> float:
        t = np.exp(log_slope)
        expected = own * of_row + other * sum_of_others
        return float(np.average(logsumexp(t * scores, axis=1) - t * expected, weights=weight))

    found = minimize_scalar(smoothed_loss, bounds=tuple(np.log(_SLOPES)), method="bounded", options={"xatol": 1e-6})
    slope = float(np.exp(found.x))
    plain = logsumexp(slope * scores, axis=1) - slope * of_row
    return Calibration(slope, float(np.average(plain, weights=weight)))
