"""What the lazy learners share: features scaled by their ranges, and a base class that stores the training rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..engine.references import column_ranges
from ..exceptions import InvalidDataError
from ..tables.coded import read_queries, read_training
from ..tables.ranges import invert_ranges
from ..weights import Weights
from .training import require_classes


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


class LazyClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base class of classifiers that store their training rows, coded as a dense float64 array.

    A subclass has the parameter ``categorical_features``, calls `_store` in ``fit``, and defines ``predict_proba``.
    ``predict`` returns the most probable class.
    """

    categorical_features: Any

    def _store(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Validate the rows and their labels, and store those whose sample weight is above 0."""
        self._refuse_sparse(X)
        table = read_training(self, X, y, sample_weight)
        kept = np.flatnonzero(table.sample_weight > 0)
        require_classes(table.codes[kept])
        self.n_samples_fit_: int = len(table)
        self._coder = table.coder
        self._rows: FloatArray = np.ascontiguousarray(table.rows[kept], dtype=np.float64)
        self._repetition: FloatArray = table.sample_weight[kept]
        self.classes_: AnyArray = table.classes
        self._codes: IndexArray = table.codes[kept]

    def _refuse_sparse(self, X: Any) -> None:
        """Raise `InvalidDataError` if ``X`` is a sparse matrix."""
        if sparse.issparse(X):
            raise InvalidDataError(
                f"Sparse data was passed to {type(self).__name__}, but dense data is required. Use X.toarray()"
            )

    def _queries(self, X: Any) -> FloatArray:
        """Return the queries ``X``, coded as the training rows are, as a dense float64 array."""
        check_is_fitted(self, "n_samples_fit_")
        self._refuse_sparse(X)
        return np.ascontiguousarray(read_queries(self, self._coder, X), dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, for each query."""

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each query.

        If several classes are equally probable, the one that comes first in ``classes_`` is returned.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        shares = self.predict_proba(X)
        labels: AnyArray = self.classes_[np.argmax(shares, axis=1)]
        return labels
