"""Measures that searches and evaluations share: G-mean and reduction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._typing import AnyArray
from .exceptions import InvalidDataError

__all__ = ["g_mean", "g_mean_score", "reduction"]


def g_mean(recalls: Any) -> float:
    """Geometric mean of the recalls of the classes (paper 004, eq. 7, for any number of classes).

    Examples
    --------
    >>> g_mean([0.5, 0.125])
    0.25
    """
    values = [float(value) for value in recalls]
    if not values:
        raise InvalidDataError("g_mean needs the recall of at least one class; got none")
    product = math.prod(values)
    return math.sqrt(product) if len(values) == 2 else product ** (1 / len(values))


def g_mean_score(y_true: Any, y_pred: Any) -> float:
    """Geometric mean of the recalls over the classes that occur in ``y_true``.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)

    Examples
    --------
    >>> g_mean_score([0, 0, 0, 1], [0, 0, 1, 1])  # doctest: +ELLIPSIS
    0.816...
    """
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
    if true.shape != predicted.shape or true.ndim != 1 or len(true) == 0:
        raise InvalidDataError(
            f"g_mean_score needs two vectors of labels of one length; got shapes {true.shape} and {predicted.shape}"
        )
    classes, codes = np.unique(true, return_inverse=True)
    right = np.bincount(codes, weights=true == predicted, minlength=len(classes))
    recalls: AnyArray = right / np.bincount(codes, minlength=len(classes))
    return g_mean(recalls)


def reduction(n_instances: int, n_features: int, *, of: tuple[int, int]) -> float:
    """R = 1 − (n_i / N)(n_f / M): the share of the table that is gone (paper 004, eq. 6).

    Parameters
    ----------
    n_instances, n_features : int
        What is kept.
    of : (N, M)
        What there was.

    Examples
    --------
    >>> reduction(20, 5, of=(100, 10))
    0.9
    """
    return 1.0 - (n_instances / of[0]) * (n_features / of[1])
