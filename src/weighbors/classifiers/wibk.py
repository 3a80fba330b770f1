"""WIB-K: the k-NN on integers under the weights of representative intervals (paper 002)."""

from __future__ import annotations

from copy import copy, deepcopy
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._typing import AnyArray, FloatArray, IndexArray
from .._validation import TakesTables, check_labels, checked_sample_weight, require_labels
from ..engine import Plan
from ..engine.plan import BACKENDS
from ..weighers.discretize import IntegerCoder
from ..weighers.intervals import INTERVAL_CONSTRAINTS, RepresentativeIntervals, interval_frame
from ..weights import Weights
from ._training import Training, codes_among, declared_classes
from .knn import WeightedKNeighborsClassifier

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WIBK"]


class WIBK(TakesTables, ClassifierMixin, BaseEstimator):
    """k nearest neighbours on unscaled integers, weighed by representative intervals.

    :class:`~weighbors.RepresentativeIntervals` weighs, :class:`~weighbors.WeightedKNeighborsClassifier`
    votes. Tables that are not integers become integers first, in ``fit`` and in ``predict``: ordered
    categories their rank, other categories a code each (they differ by 0 or 1), and numbers that
    are not whole, or are many, the number of their bin, where ``discretize`` says how.

    Parameters
    ----------
    n_neighbors : int, default=5
    weight : {"nonoverlap", "overlap"}, default="nonoverlap"
        The share of an interval that no other class has, as printed, or its complement.
    normalize : {"instance", "none", "class", "max"}, default="instance"
    smoothing : float, default=0.02
    overlap : {"values", "length"}, default="values"
        These three as in `RepresentativeIntervals`.
    vote_ties : {"first", "nearest"}, default="first"
        Of classes with equal votes, the first in ``classes_`` or the one of the nearest neighbour.
    discretize : {"mdlp", "frequency"} or None, default=None
        Bins for columns whose numbers are not whole, or are more than ``n_bins`` different integers.
        None takes integers as they are, as the paper does, and refuses other numbers.
    n_bins : int, default=10
        Bins per column for "frequency".
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns of unordered categories. "from_dtype": those of a DataFrame that hold categories or
        text, unless the categories are ordered.
    handle_unknown : {"different", "error"}, default="different"
        A category that was not there in fit differs from all known ones (an ordered one counts as
        missing), or is an error.
    backend : {"auto", "scan", "tree", "faiss", "hnsw"}, default="auto"
    n_jobs : int or None, default=None

    Attributes
    ----------
    intervals_ : DataFrame
        All runs, in the terms of the table; see `RepresentativeIntervals`.
    knn_ : WeightedKNeighborsClassifier
        The k-NN on the integers.
    classes_ : ndarray of shape (n_classes,)
    weights_ : Weights
    plan_ : Plan
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] O. Gómez, E. F. Morales, J. A. González, "Weighted instance-based learning using
       representative intervals", MICAI 2007.

    Examples
    --------
    >>> from weighbors import WIBK
    >>> X = [[1, 3], [2, 9], [3, 5], [8, 4], [9, 9], [10, 2]]
    >>> WIBK(1).fit(X, ["low"] * 3 + ["high"] * 3).predict([[4, 9], [7, 5]])
    array(['low', 'high'], dtype='<U4')
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        **INTERVAL_CONSTRAINTS,
        "vote_ties": [StrOptions({"first", "nearest"})],
        "handle_unknown": [StrOptions({"different", "error"})],
        "backend": [StrOptions(set(BACKENDS))],
        "n_jobs": [None, Integral],
    }

    knn_: WeightedKNeighborsClassifier
    classes_: AnyArray
    _coder: IntegerCoder
    _training: Training  # as the table had them, before bins

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weight: str = "nonoverlap",
        normalize: str = "instance",
        smoothing: float = 0.02,
        overlap: str = "values",
        vote_ties: str = "first",
        discretize: str | None = None,
        n_bins: int = 10,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        backend: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.normalize = normalize
        self.smoothing = smoothing
        self.overlap = overlap
        self.vote_ties = vote_ties
        self.discretize = discretize
        self.n_bins = n_bins
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.backend = backend
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> WIBK:
        """Find the intervals and store the rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Counts as repetition.

        Returns
        -------
        self
        """
        coder, rows = self._opened(X, y)
        classes, codes = check_labels(y)
        check_consistent_length(rows, codes)
        weight = checked_sample_weight(sample_weight, rows)
        return self._learn(coder, Training(rows, codes, np.arange(len(codes)), weight), classes)

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, refresh: bool = False
    ) -> WIBK:
        """Store further rows: the paper's update of the concept description.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), optional
            All labels that will ever come; needed where nothing was fitted before.
        sample_weight : array-like of shape (n_samples,), optional
        refresh : bool, default=False
            Find bins and intervals anew from all rows, which gives the model of ``fit`` on all of
            them; otherwise the old ones serve the new rows too.

        Returns
        -------
        self
        """
        if not hasattr(self, "knn_"):
            declared = declared_classes(classes)
            coder, rows = self._opened(X, y)
            codes = codes_among(y, declared)
            check_consistent_length(rows, codes)
            weight = checked_sample_weight(sample_weight, rows)
            return self._learn(coder, Training(rows, codes, np.arange(len(codes)), weight), declared, partial=True)
        require_labels(self, y)
        codes = codes_among(y, self.classes_, classes)
        check_consistent_length(X, codes)
        coder = deepcopy(self._coder)
        rows = coder.extend(self, X)
        number = np.arange(len(codes)) + len(self._training.codes)
        training = self._training.joined(Training(rows, codes, number, checked_sample_weight(sample_weight, X)))
        if refresh:
            return self._learn(coder, training, self.classes_, partial=True)
        coder.check_whole(rows)
        knn = copy(self.knn_)  # what it has learned is replaced, never changed
        knn.partial_fit(self._table(coder.integers(rows)), y, sample_weight=sample_weight, refresh=False)
        self.knn_, self._coder, self._training = knn, coder, training
        return self

    def _opened(self, X: Any, y: Any) -> tuple[IntegerCoder, Any]:
        require_labels(self, y)
        coder = IntegerCoder(self.discretize, self.n_bins, self.categorical_features, self.handle_unknown)
        return coder, coder.open(self, X)

    def _learn(self, coder: IntegerCoder, training: Training, classes: AnyArray, *, partial: bool = False) -> WIBK:
        """Find bins, then hand integers to the k-NN."""
        weight = training.sample_weight
        some = slice(None) if weight is None else weight > 0
        coder.learn(training.X[some], training.codes[some], len(classes), None if weight is None else weight[some])
        nominal = coder.table.nominal
        weigher = RepresentativeIntervals(self.normalize, self.smoothing, weight=self.weight, overlap=self.overlap)
        if _routing_enabled():
            weigher.set_fit_request(sample_weight=True)
        knn = WeightedKNeighborsClassifier(
            self.n_neighbors,
            weigher,
            categorical_features=nominal if nominal.any() else None,
            vote_ties=self.vote_ties,
            backend=self.backend,
            n_jobs=self.n_jobs,
        )
        table, labels = self._table(coder.integers(training.X)), classes[training.codes]
        if partial:
            knn.partial_fit(table, labels, classes, weight)
        else:
            knn.fit(table, labels, weight)
        self.knn_, self.classes_, self._coder, self._training = knn, classes, coder, training
        return self

    def _table(self, rows: Any) -> Any:
        """Rows under the names of the columns, where these have any."""
        names = getattr(self, "feature_names_in_", None)
        if names is None or hasattr(rows, "tocsr"):
            return rows
        import pandas as pd

        return pd.DataFrame(rows, columns=names)

    def _asked(self, X: Any) -> tuple[WeightedKNeighborsClassifier, Any]:
        """The k-NN, and integers to ask it about; None stays None."""
        check_is_fitted(self, "knn_")
        return self.knn_, None if X is None else self._table(self._coder.transform(self, X))

    def predict(self, X: Any) -> AnyArray:
        """The class with the most votes; of equal ones as ``vote_ties`` says.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the training rows, each left out of its own neighbours.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        knn, integers = self._asked(X)
        return knn.predict(integers)

    def predict_proba(self, X: Any) -> FloatArray:
        """Share of the votes per class.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the training rows, each left out of its own neighbours.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns as in ``classes_``.
        """
        knn, integers = self._asked(X)
        return knn.predict_proba(integers)

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> IndexArray | tuple[FloatArray, IndexArray]:
        """The nearest training rows, as `WeightedKNeighborsClassifier.kneighbors` gives them."""
        knn, integers = self._asked(X)
        return knn.kneighbors(integers, n_neighbors, return_distance)

    def explain(self, X: Any) -> pd.DataFrame:
        """Neighbours, votes and shares of distances, as `WeightedKNeighborsClassifier.explain` gives them."""
        knn, integers = self._asked(X)
        return knn.explain(integers)

    @property
    def intervals_(self) -> pd.DataFrame:
        """All runs, kept or dropped, in the terms of the table."""
        knn, _ = self._asked(None)
        return interval_frame(knn.weigher_, self._coder)

    @property
    def weights_(self) -> Weights:
        """The weights in use."""
        return self._asked(None)[0].weights_

    @property
    def plan_(self) -> Plan:
        """What runs in ``predict``, and why."""
        return self._asked(None)[0].plan_
