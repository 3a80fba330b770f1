"""Base class of the lazy classifiers: ``fit`` stores the validated rows, and each query is answered from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._typing import AnyArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..tables.labels import check_labels, require_labels
from ..tables.validation import TableCoder, check_sample_weight


class LazyClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base class of classifiers that store their training rows, coded as a dense float64 array.

    A subclass has the parameter ``categorical_features``, calls `_store` in ``fit``, and defines ``predict_proba``.
    ``predict`` returns the most probable class.
    """

    categorical_features: Any

    def _store(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Validate the rows and their labels, and store those whose sample weight is above 0."""
        require_labels(self, y)
        self._refuse_sparse(X)
        coder = TableCoder(self.categorical_features, "different")
        rows = coder.fit_transform(self, X).astype(np.float64, copy=False)
        classes, codes = check_labels(y, who=type(self).__name__)
        check_consistent_length(rows, codes)
        weight = check_sample_weight(sample_weight, rows)
        repetition = np.ones(len(rows)) if weight is None else weight
        kept = np.flatnonzero(repetition > 0)
        if len(np.unique(codes[kept])) < 2:
            raise InvalidDataError("at least 2 classes are needed; rows of weight 0 left out, there is 1 class")
        self.n_samples_fit_: int = len(rows)
        self._coder = coder
        self._rows: FloatArray = np.ascontiguousarray(rows[kept])
        self._repetition: FloatArray = repetition[kept]
        self.classes_: AnyArray = classes
        self._codes: IndexArray = codes[kept]

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
        queries: FloatArray = self._coder.transform(self, X)
        return np.ascontiguousarray(queries, dtype=np.float64)

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
