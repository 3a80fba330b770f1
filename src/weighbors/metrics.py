"""Scores that searches and evaluations share: the G-mean of the recalls, the reduction, and their direction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.metrics import recall_score
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from .exceptions import InvalidDataError

__all__ = ["g_mean", "geometric_mean", "lower_is_better", "reduction", "reduction_of"]

#: Scores of which a lower value is better. Scorers of scikit-learn are always higher for better models.
_ERRORS = frozenset({"error_rate", "rmse", "mae", "fit_seconds", "predict_seconds"})


def lower_is_better(score: str) -> bool:
    """Return whether lower values of a score, given by its name, are better.

    Parameters
    ----------
    score : str
        Name of a score of a study. Names of scorers of scikit-learn, such as "neg_mean_squared_error", are higher for
        better models, and so is every name that is not known.

    Returns
    -------
    bool

    Examples
    --------
    >>> lower_is_better("rmse"), lower_is_better("r2"), lower_is_better("neg_root_mean_squared_error")
    (True, False, False)
    """
    return score in _ERRORS


def geometric_mean(recalls: Any) -> float:
    """Compute the geometric mean of the recalls of all classes (paper 004, eq. 7, for any number of classes).

    Parameters
    ----------
    recalls : iterable of float

    Returns
    -------
    float

    Examples
    --------
    >>> geometric_mean([0.5, 0.125])
    0.25
    """
    values = [float(value) for value in recalls]
    if not values:
        raise InvalidDataError("the G-mean needs the recall of at least one class; got none")
    product = math.prod(values)
    # Two classes are the usual case. sqrt is correctly rounded; a power of 1/2 is not on every machine.
    return math.sqrt(product) if len(values) == 2 else product ** (1 / len(values))


def g_mean(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Compute the geometric mean of the recalls of all classes in ``y_true``. For two classes it is sqrt(TPR · TNR).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float
        The mean is 0 if the recall of one class is 0.

    Examples
    --------
    >>> round(g_mean([0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]), 4)  # sqrt(3/4 · 1/2)
    0.6124
    """
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(y_true, y_pred)
    if not len(y_true):
        raise InvalidDataError("the G-mean of no labels is not defined; give at least one")
    labels = np.unique(y_true)
    recalls = recall_score(y_true, y_pred, labels=labels, average=None, sample_weight=sample_weight, zero_division=0.0)
    return geometric_mean(recalls)


def reduction(instance_mask: Any = None, feature_mask: Any = None) -> float:
    """Compute the share of a table that a selection removes: 1 − (share of rows kept) · (share of columns kept).

    Parameters
    ----------
    instance_mask, feature_mask : array-like of bool, optional
        Masks of the rows and columns that are kept. None means that all are kept.

    Returns
    -------
    float

    Examples
    --------
    >>> reduction([True, False, False, True], [True, True, False, False])
    0.75
    """
    share = 1.0
    for name, mask in (("instance_mask", instance_mask), ("feature_mask", feature_mask)):
        if mask is None:
            continue
        kept = np.asarray(mask)
        if kept.ndim != 1 or kept.dtype != bool or not len(kept):
            raise InvalidDataError(f"{name} must be a vector of bool that is not empty; got {kept.dtype} {kept.shape}")
        share *= float(kept.mean())
    return 1.0 - share


def reduction_of(n_instances: int, n_features: int, *, of: tuple[int, int]) -> float:
    """Compute the share of a table that is removed from counts: R = 1 − (n_i / N)(n_f / M) (paper 004, eq. 6).

    Parameters
    ----------
    n_instances, n_features : int
        Numbers of rows and columns that are kept.
    of : (N, M)
        Numbers of rows and columns of the whole table.

    Examples
    --------
    >>> reduction_of(20, 5, of=(100, 10))
    0.9
    """
    return 1.0 - (n_instances / of[0]) * (n_features / of[1])
