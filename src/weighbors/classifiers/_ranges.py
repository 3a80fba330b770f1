"""Min-max scaling as feature weights: a = 1 / range^p, so that distances are those of scaled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import BoolArray
from .._validation import TableCoder
from ..engine.references import extent
from ..exceptions import InvalidDataError
from ..weights import Weights

__all__ = ["UnitRanges", "range_weights"]


def range_weights(X: Any, nominal: BoolArray, *, p: int = 2) -> Weights:
    """Weights under which every numeric feature of ``X`` spans 1.

    Categories keep their weight of 1. A feature with one value counts nothing, unless there is
    no other.
    """
    low, high, _ = extent(X)
    span = high.astype(np.float64) - low.astype(np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        a = np.where(nominal, 1.0, np.where(span > 0, 1.0 / span, 0.0) ** p)
    if not np.isfinite(a).all():
        j = int(np.flatnonzero(~np.isfinite(a))[0])
        raise InvalidDataError(
            f"column {j} spans only {span[j]:.3g}, too little to be scaled to 1: multiply it by a constant, or drop it"
        )
    return Weights(feature_weights=a if (a > 0).any() else np.ones(len(a)))


class UnitRanges(BaseEstimator):
    """The weigher of `range_weights`, for a k-NN that scales inside.

    Parameters
    ----------
    categorical_features : "from_dtype", None, or list, default="from_dtype"
    """

    def __init__(self, categorical_features: Any = "from_dtype") -> None:
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any = None) -> UnitRanges:
        """Measure the ranges of the features."""
        coder = TableCoder(self.categorical_features)
        rows = coder.fit_transform(self, X)
        self.weights_ = range_weights(rows, coder.nominal_of(rows))
        return self
