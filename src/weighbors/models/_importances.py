"""Feature importances, computed from the weights in use, for scikit-learn's feature selectors."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray
from ..weights import Weights


def feature_importances(weights: Weights, n_features: int) -> FloatArray:
    """Return one number per feature: its mean weight in the distance, or 0 if the feature is masked out.

    Parameters
    ----------
    weights : Weights
        Weights per class are averaged over the classes. Weights per instance are averaged over the instances that
        the mask keeps. Weights per interval are averaged over the intervals of each class and then over the classes.
    n_features : int

    Returns
    -------
    ndarray of shape (n_features,)
        If there are no feature weights, every feature that is not masked out has 1.

    Examples
    --------
    >>> feature_importances(Weights(feature_weights=[[4.0, 1.0], [2.0, 0.0]], classes=["a", "b"]), 2)
    array([3. , 0.5])
    """
    if weights.intervals is not None:
        n_classes = weights.intervals.n_classes
        # a missing value takes the mean weight of its class and feature
        rows = weights.intervals.lookup(np.full((n_classes, n_features), np.nan), np.arange(n_classes))
    elif weights.feature_weights is None:
        rows = np.ones((1, n_features))
    else:
        rows = np.atleast_2d(weights.feature_weights)
        if weights.kind == "instance" and weights.instance_mask is not None:
            rows = rows[weights.instance_mask]
    importances: FloatArray = rows.mean(axis=0)
    return importances if weights.feature_mask is None else np.where(weights.feature_mask, importances, 0.0)
