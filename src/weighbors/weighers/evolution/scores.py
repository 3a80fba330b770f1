"""Scores of predicted labels, by scikit-learn's names, for a whole population at once.

All scores are computed from the confusion counts of an individual. This is faster than scikit-learn's scorers,
which validate their input in every evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._typing import AnyArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from ...metrics import geometric_mean

__all__ = ["SCORES", "call_score", "check_score", "confusion_counts", "score_counts"]

_RATIOS = ("f1", "jaccard", "precision", "recall")
_AVERAGES = ("micro", "macro", "weighted")
#: Names that ``fitness`` takes: G-mean, and scikit-learn's scorers of predicted labels.
SCORES = (
    "accuracy",
    "g_mean",
    "balanced_accuracy",
    "matthews_corrcoef",
    *(name if average is None else f"{name}_{average}" for name in _RATIOS for average in (None, *_AVERAGES)),
)


def check_score(name: Any, classes: AnyArray) -> None:
    """Raise an error if the score ``name`` is not defined for these classes.

    As in scikit-learn, "f1", "jaccard", "precision" and "recall" without an average need two classes, and are
    the scores of the class with the label 1. Names that are no score of classes are scores of numeric targets.
    """
    if not callable(name) and name not in SCORES:
        raise InvalidDataError(
            f"fitness={name!r} is a score of numeric targets, and y holds classes. Use 'accuracy' or another score of "
            "classes, or target_type='numeric' if y is a number to predict"
        )
    if name in _RATIOS and (len(classes) != 2 or 1 not in classes.tolist()):
        raise InvalidDataError(
            f"fitness={name!r} is the score of the class 1 of two classes; these are {classes[:5].tolist()}"
            f"{' and more' if len(classes) > 5 else ''}. Use '{name}_macro', or rename the class that counts to 1"
        )


def call_score(function: Callable[[AnyArray, AnyArray], float], y_true: AnyArray, y_pred: AnyArray) -> float:
    """Return the user's ``function`` of true and predicted targets. Raise an error if it is not one finite number."""
    value = function(y_true, y_pred)
    try:
        figure = float(value)
    except (TypeError, ValueError):
        figure = np.nan
    if not np.isfinite(figure):
        raise InvalidDataError(
            f"the function given as fitness must return one finite number for (y_true, y_pred); got {value!r}"
        )
    return figure


def confusion_counts(codes: IndexArray, predicted: IndexArray, n_classes: int) -> FloatArray:
    """Count how often each class is predicted as each class.

    Parameters
    ----------
    codes : ndarray of shape (N,)
        True classes.
    predicted : ndarray of shape (P, N)
        Predicted classes of P individuals.
    n_classes : int

    Returns
    -------
    ndarray of shape (P, n_classes, n_classes)
        True classes in rows, predicted ones in columns.

    Examples
    --------
    >>> confusion_counts(np.array([0, 0, 1]), np.array([[0, 1, 1]]), 2)
    array([[[1., 1.],
            [0., 1.]]])
    """
    count = len(predicted)
    # One call of bincount counts all individuals: each triple of individual, true and predicted class has a number.
    cell = (np.arange(count)[:, None] * n_classes + codes) * n_classes + predicted
    counted = np.bincount(cell.ravel(), minlength=count * n_classes**2)
    return counted.reshape(count, n_classes, n_classes).astype(np.float64)


def _divide(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return ``part / whole``, and 0 if ``whole`` is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def score_counts(name: str, counts: FloatArray, classes: AnyArray) -> FloatArray:
    """Score individuals by their confusion counts.

    Parameters
    ----------
    name : str
        One of `SCORES`.
    counts : ndarray of shape (P, K, K)
        As `confusion_counts` gives them. Every true class has at least one row.
    classes : ndarray of shape (K,)

    Returns
    -------
    ndarray of shape (P,)
        The score of each individual, equal to that of scikit-learn's scorer of this name with
        ``zero_division=0``. G-mean does not count singleton classes.
    """
    right = np.diagonal(counts, axis1=1, axis2=2)
    true, predicted = counts.sum(axis=2), counts.sum(axis=1)
    if name == "accuracy":
        return right.sum(axis=1) / true.sum(axis=1)
    if name == "balanced_accuracy":
        return _divide(right, true).mean(axis=1)
    if name == "g_mean":
        # The row of a singleton class is always predicted wrong when it is left out, and would make every G-mean 0.
        counted = true[0] > 1 if (true[0] > 1).any() else true[0] > 0
        return np.array([geometric_mean(row) for row in _divide(right, true)[:, counted]])
    if name == "matthews_corrcoef":
        return _matthews(right.sum(axis=1), true, predicted)
    ratio, _, average = name.partition("_")
    # All four ratios have the right answers above the line, and differ in what is below it.
    whole = {
        "f1": (true + predicted) / 2,
        "jaccard": true + predicted - right,
        "precision": predicted,
        "recall": true,
    }[ratio]
    if average == "micro":
        return _divide(right.sum(axis=1), whole.sum(axis=1))
    each = _divide(right, whole)
    if average == "macro":
        return each.mean(axis=1)
    if average == "weighted":
        return (each * true).sum(axis=1) / true.sum(axis=1)
    return each[:, classes.tolist().index(1)]


def _matthews(right: FloatArray, true: FloatArray, predicted: FloatArray) -> FloatArray:
    """Return the Matthews correlation of true and predicted classes, for any number of classes (Gorodkin).

    It is 0 if all true or all predicted classes are the same. ``right`` is the number of right predictions,
    ``true`` and ``predicted`` are the counts of true and predicted classes.
    """
    total = true.sum(axis=1)
    covariance = right * total - (true * predicted).sum(axis=1)
    variances = (total**2 - (true**2).sum(axis=1)) * (total**2 - (predicted**2).sum(axis=1))
    return _divide(covariance, np.sqrt(variances))
