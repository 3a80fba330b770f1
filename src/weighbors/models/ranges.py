"""Min-max scaling by feature weights a = 1 / range^p, which give the distances between min-max scaled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import BoolArray
from ..engine.references import column_ranges
from ..exceptions import InvalidDataError
from ..tables.ranges import invert_ranges
from ..tables.validation import TableCoder
from ..weights import Weights


def range_weights(X: Any, nominal: BoolArray, *, p: int = 2) -> Weights:
    """Return feature weights that divide the differences in each numeric feature by its column range.

    Categorical features get weight 1. A numeric feature with only one value gets weight 0. If that would make all
    weights 0, all of them are 1. ``nominal`` tells which features are categorical, ``p`` is the power of the distance.
    """
    low, high, _ = column_ranges(X)
    with np.errstate(over="ignore"):  # an overflow raises an error below, or in the engine
        span = high.astype(np.float64) - low.astype(np.float64)
        a = np.where(nominal, 1.0, invert_ranges(span) ** p)
    if not np.isfinite(a).all():
        j = int(np.flatnonzero(~np.isfinite(a))[0])
        raise InvalidDataError(
            f"column {j} spans only {span[j]:.3g}, too little to be scaled to 1: multiply it by a constant, or drop it"
        )
    # If all features are constant, all rows are equally near. Weights of 0 would be refused.
    return Weights(feature_weights=a if (a > 0).any() else np.ones(len(a)))


class UnitRanges(BaseEstimator):
    """Weigher whose weights are those of `range_weights`, for a k-NN that scales the features itself.

    Parameters
    ----------
    categorical_features : "from_dtype", None, or list, default="from_dtype"
    """

    def __init__(self, categorical_features: Any = "from_dtype") -> None:
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any = None) -> UnitRanges:
        """Compute the weights from the column ranges of ``X``."""
        coder = TableCoder(self.categorical_features)
        rows = coder.fit_transform(self, X)
        self.weights_ = range_weights(rows, coder.nominal)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True  # it does not look at the target
        return tags
