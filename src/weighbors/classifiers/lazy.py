"""Base classes of the lazy learners: ``fit`` stores the validated rows, and each query is answered from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._typing import AnyArray, FloatArray, IndexArray
from .._validation import TableCoder, check_labels, check_sample_weight, require_labels
from ..exceptions import InvalidDataError

__all__ = ["BaseLazy", "LazyClassifier", "weigh_rows"]


def weigh_rows(rows: FloatArray, targets: AnyArray, sample_weight: Any) -> tuple[FloatArray, IndexArray]:
    """Return the repetition weight of each row, and the numbers of the rows whose weight is above 0.

    ``targets`` is the checked target. It must have as many entries as there are rows.
    """
    check_consistent_length(rows, targets)
    weight = check_sample_weight(sample_weight, rows)
    repetition = np.ones(len(rows)) if weight is None else weight
    return repetition, np.flatnonzero(repetition > 0)


class BaseLazy(BaseEstimator, ABC):
    """Base class of estimators that store their training rows, coded as a dense float64 array.

    A subclass must have the parameters ``categorical_features`` and ``handle_unknown``, and define `_store`.
    """

    categorical_features: Any
    handle_unknown: str

    @abstractmethod
    def _store(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Validate the rows and their targets, and store those whose sample weight is above 0."""

    def _code_rows(self, X: Any, y: Any) -> tuple[TableCoder, FloatArray]:
        """Return a coder that was fitted to ``X``, and the coded rows. Raise `InvalidDataError` if ``y`` is None."""
        require_labels(self, y)
        self._refuse_sparse(X)
        coder = TableCoder(self.categorical_features, self.handle_unknown)
        return coder, coder.fit_transform(self, X).astype(np.float64, copy=False)

    def _store_rows(self, coder: TableCoder, rows: FloatArray, repetition: FloatArray, kept: IndexArray) -> None:
        """Store rows and their repetition weights.

        Parameters
        ----------
        coder : TableCoder
        rows : ndarray of shape (n, M)
            All coded rows.
        repetition : ndarray of shape (n,)
        kept : ndarray of int
            Numbers of the rows that are stored.
        """
        self.n_samples_fit_: int = len(rows)
        self._coder = coder
        self._kept = kept
        self._rows: FloatArray = np.ascontiguousarray(rows[kept])
        self._repetition: FloatArray = repetition[kept]

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


class LazyClassifier(ClassifierMixin, BaseLazy):
    """Base class of lazy classifiers: ``predict`` returns the most probable class.

    A subclass calls `_store` in ``fit``, and defines ``predict_proba``.
    """

    def _store(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Validate the rows and their labels, and store those whose sample weight is above 0."""
        coder, rows = self._code_rows(X, y)
        classes, codes = check_labels(y, who=type(self).__name__)
        repetition, kept = weigh_rows(rows, codes, sample_weight)
        if len(np.unique(codes[kept])) < 2:
            raise InvalidDataError("at least 2 classes are needed; rows of weight 0 left out, there is 1 class")
        self._store_rows(coder, rows, repetition, kept)
        self.classes_: AnyArray = classes
        self._codes: IndexArray = codes[kept]

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
