"""What every weigher of features shares: the door, the selection, and the way to a `Weights`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .._validation import TableCoder, TakesTables, check_labels, require_labels
from .._warnings import warn
from ..exceptions import ForeignWeightsError, InvalidDataError, LonelyClassWarning, NoPositiveWeightWarning
from ..weights import Weights, fingerprint

__all__ = [
    "ContributionWeigher",
    "FeatureWeigher",
    "kept_part",
    "metric_weights",
    "open_table",
    "require_fitted_rows",
    "tell_lonely",
]

TIES = StrOptions({"share", "index"})


class FeatureWeigher(TakesTables, SelectorMixin, BaseEstimator):
    """Base of the estimators that weigh features. See the subclasses."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        "n_features_to_select": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "threshold": [None, Interval(Real, None, None, closed="neither")],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "n_jobs": [None, Integral],
    }

    def _open(self, X: Any, y: Any) -> tuple[Any, IndexArray]:
        """Check and code table and labels; leaves ``classes_`` and the coder."""
        X, codes, self.classes_, self._coder = open_table(self, X, y)
        return X, codes

    def _sample_weight(self, sample_weight: Any, X: Any) -> FloatArray:
        """How much each instance contributes; positive in sum."""
        weight: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return weight

    def _close(self, X: Any, published: FloatArray, *, square: bool = False, **parts: Any) -> None:
        """Publish the weights, select features, and make the `Weights` for a k-NN."""
        self.feature_weights_ = published
        self.support_ = self._select(published)
        selecting = self.n_features_to_select is not None or self.threshold is not None
        names = getattr(self, "feature_names_in_", None)
        parts.setdefault("feature_weights", metric_weights(published, self.support_, square=square))
        bound = parts.get("votes") is not None
        self.weights_ = Weights(
            feature_mask=self.support_ if selecting else None,
            feature_names=None if names is None else tuple(names),
            n_samples=X.shape[0] if bound else None,
            fingerprint=fingerprint(X) if bound else None,
            **parts,
        )

    def _select(self, weights: FloatArray) -> BoolArray:
        wanted, M = self.n_features_to_select, len(weights)
        keep = np.ones(M, dtype=bool)
        if wanted is not None:
            number = max(1, round(wanted * M)) if wanted < 1 else int(wanted)
            if number > M:
                raise InvalidDataError(f"n_features_to_select={number} is more than the {M} features there are")
            keep = np.zeros(M, dtype=bool)
            keep[np.argsort(-weights, kind="stable")[:number]] = True
        if self.threshold is not None:
            keep &= weights > self.threshold
            if not keep.any():
                raise InvalidDataError(
                    f"no feature has a weight above threshold={self.threshold} (the largest is {weights.max():.4g})"
                )
        return keep

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        support: BoolArray = self.support_
        return support

    @property
    def feature_importances_(self) -> FloatArray:
        """The feature weights, under the name scikit-learn's tools look for."""
        check_is_fitted(self)
        importances: FloatArray = self.feature_weights_
        return importances


class ContributionWeigher(FeatureWeigher, ABC):
    """Base of the weighers that sum what instances contribute, each by its ``sample_weight``."""

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Weigh the features.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies what an instance contributes.

        Returns
        -------
        self
        """
        X, codes = self._open(X, y)
        self._weigh(X, codes, self._sample_weight(sample_weight, X))
        return self

    @abstractmethod
    def _weigh(self, X: Any, codes: IndexArray, sample_weight: FloatArray) -> None:
        """Weigh coded rows and call `_close`."""


def open_table(weigher: Any, X: Any, y: Any) -> tuple[Any, IndexArray, AnyArray, TableCoder]:
    """Check and code what a weigher is fitted to: rows, class codes, classes, and the coder."""
    require_labels(weigher, y)
    coder = TableCoder(weigher.categorical_features)
    X = coder.fit_transform(weigher, X)
    classes, codes = check_labels(y)
    check_consistent_length(X, codes)
    tell_lonely(classes, np.bincount(codes, minlength=len(classes)))
    return X, codes, classes, coder


def tell_lonely(classes: AnyArray, count: IndexArray) -> None:
    """Warn of classes that have one instance."""
    lonely = classes[count == 1]
    if len(lonely):
        warn(
            f"{len(lonely)} class(es) have one instance and so no nearest hit ({lonely[:5].tolist()}); "
            "that term counts 0",
            LonelyClassWarning,
        )


def metric_weights(weights: FloatArray, support: BoolArray, *, square: bool = False) -> FloatArray:
    """``a`` for the metric: negative weights count 0; uniform where none is positive."""
    clipped = np.maximum(weights, 0.0)
    a = clipped**2 if square else clipped
    if not (a[support] > 0).any():
        warn(
            "no feature got a positive weight; a k-NN with these weights treats all features alike",
            NoPositiveWeightWarning,
        )
        return np.ones_like(a)
    return a


def require_fitted_rows(coded: Any, known: str | None) -> None:
    """Refuse other rows than those of the fit, for what selects rows by their numbers."""
    if fingerprint(coded) != known:
        raise ForeignWeightsError(
            "reduce takes the rows that were fitted, in their order; these are others. "
            "Use transform to select the features of other rows"
        )


def kept_part(X: Any, y: Any, rows: IndexArray, support: BoolArray) -> Any:
    """Rows and columns of a table in the container it came in; with their labels where ``y`` is given."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    if y is not None:
        check_consistent_length(X, y)
    small = _safe_indexing(_safe_indexing(X, rows), np.flatnonzero(support), axis=1)
    return small if y is None else (small, _safe_indexing(y, rows))
