"""Locally weighted learning: a small model for every query, from rows weighted by their nearness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import has_fit_parameter

from .._typing import FloatArray, IndexArray
from ..engine import NeighborEngine
from ..exceptions import InvalidDataError
from ._checks import check_enough
from ._lazy import LazyClassifier
from ._local_models import LocalNaiveBayes, LocalStump
from ._ranges import range_weights
from .ib import reach

__all__ = ["LWL"]

_BATCH_CELLS = 2_000_000  # numbers in memory at once, about
_MARGIN = 1.0001  # Weka's: the farthest row keeps a little weight

#: Weight at distance t, in units of the bandwidth.
KERNELS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "linear": lambda t: _MARGIN - t,
    "epanechnikov": lambda t: 0.75 * (_MARGIN - t**2),
    "tricube": lambda t: (_MARGIN - t**3) ** 3,
    "inverse": lambda t: 1.0 / (1.0 + t),
    "gauss": lambda t: np.exp(-(t**2)),
    "constant": lambda t: np.ones_like(t),
}


class LocalModel(Protocol):
    """What is fitted for all queries at once."""

    cells: int

    def predict(self, W: FloatArray, queries: FloatArray) -> FloatArray: ...


MODELS: dict[str, Callable[..., LocalModel]] = {"stump": LocalStump, "naive_bayes": LocalNaiveBayes}


def kernel_weights(distance: FloatArray, mass: FloatArray, kernel: str, k: int | None) -> FloatArray:
    """Weights of rows by nearness, scaled to sum to the mass of the rows that count.

    Parameters
    ----------
    distance : ndarray of shape (n_queries, n)
        Ascending.
    mass : ndarray of the same shape
        Repetitions each row stands for.
    kernel : str
        A key of `KERNELS`.
    k : int or None
        Rows that count, with all those tied at the k-th; None: all. The farthest of them is at the
        bandwidth.
    """
    n_queries, n = distance.shape
    count = np.full(n_queries, n) if k is None else reach(distance, mass, k)[1]
    bandwidth = distance[np.arange(n_queries), count - 1][:, None]
    scaled = np.divide(distance, bandwidth, out=np.ones_like(distance), where=bandwidth > 0)
    counts = np.arange(n) < count[:, None]
    weights = np.where(counts, mass * KERNELS[kernel](np.minimum(scaled, 1.0)), 0.0)
    total = np.where(counts, mass, 0.0).sum(axis=1, keepdims=True)
    scaled_weights: FloatArray = weights * (total / weights.sum(axis=1, keepdims=True))
    return scaled_weights


class LWL(LazyClassifier):
    """Locally weighted learning, as Weka's LWL.

    For every query a small classifier is fitted to the training rows, each weighted by a kernel of
    its distance on min-max scaled features, and asked for that query alone.

    Parameters
    ----------
    estimator : {"stump", "naive_bayes"} or classifier, default="stump"
        "stump": one test of one feature, by entropy, missing values a third branch. "naive_bayes":
        normal densities and counts. Both are fitted to all queries at once. Any scikit-learn
        classifier whose ``fit`` takes ``sample_weight`` is cloned and fitted per query.
    n_neighbors : int or None, default=None
        Rows that count, with all those tied at the k-th distance; None: all.
    kernel : {"linear", "epanechnikov", "tricube", "inverse", "gauss", "constant"}, default="linear"
        Weight of a row at t times the bandwidth, which is the distance of the farthest row that
        counts: 1.0001 − t, ¾(1.0001 − t²), (1.0001 − t³)³, 1/(1 + t), exp(−t²), 1.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns whose values differ by 0 or 1.
    handle_unknown : {"different", "error"}, default="different"
    n_jobs : int or None, default=None
        Threads of the neighbour search. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    weights_ : Weights
        One over the squared range of each numeric feature; 0 for a feature with one value.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where ``X`` had column names.
    n_samples_fit_ : int

    Notes
    -----
    ``sample_weight`` multiplies the kernel and counts as repetition. Weights are scaled to sum to
    the number of rows that count, so that Laplace's counts in naive Bayes keep their meaning. As in
    `IBk`, ranges come from the training rows alone and a missing number is at full range.

    References
    ----------
    .. [1] C. G. Atkeson, A. W. Moore, S. Schaal, "Locally weighted learning", Artificial
       Intelligence Review 11 (1997) 11-73.
    .. [2] E. Frank, M. Hall, B. Pfahringer, "Locally weighted naive Bayes", UAI (2003) 249-256.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from weighbors import LWL
    >>> X, y = load_wine(return_X_y=True)
    >>> round(LWL().fit(X[::2], y[::2]).score(X[1::2], y[1::2]), 3)
    0.899
    >>> local = LWL("naive_bayes", n_neighbors=50).fit(X[::2], y[::2])
    >>> round(local.score(X[1::2], y[1::2]), 3)
    0.989
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        "estimator": [StrOptions(set(MODELS)), HasMethods(["fit", "predict", "get_params"])],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions(set(KERNELS))],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "handle_unknown": [StrOptions({"different", "error"})],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        estimator: Any = "stump",
        n_neighbors: int | None = None,
        *,
        kernel: str = "linear",
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LWL:
        """Store the training rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        if not isinstance(self.estimator, str) and not has_fit_parameter(self.estimator, "sample_weight"):
            raise InvalidDataError(
                f"the estimator of LWL must take sample_weight in fit; {type(self.estimator).__name__} does not. "
                "Use 'stump', 'naive_bayes' or, for example, DecisionTreeClassifier"
            )
        self._store(X, y, sample_weight)
        self._refuse_missing(self._rows)
        nominal = self._coder.nominal_of(self._rows)
        self.weights_ = range_weights(self._rows, nominal)
        self._engine = NeighborEngine(
            self._rows, weights=self.weights_, nominal=nominal if nominal.any() else None, backend="scan"
        )
        if self.n_neighbors is not None:
            check_enough(int(self.n_neighbors), self._engine, None if (self._mass == 1).all() else self._mass)
        self._model, self._table = None, None
        if isinstance(self.estimator, str):
            self._model = MODELS[self.estimator](self._rows, nominal, self._codes, len(self.classes_))
        else:
            table = X if hasattr(X, "shape") else np.asarray(X)
            self._table = _safe_indexing(table, self._kept)
        return self

    def _refuse_missing(self, rows: FloatArray) -> None:
        """Refuse missing values where the estimator would, before any of its fits."""
        if not self.__sklearn_tags__().input_tags.allow_nan and np.isnan(rows).any():
            raise InvalidDataError(
                f"Input X contains NaN: {type(self.estimator).__name__}, the estimator of LWL, takes no missing "
                "values. Use 'stump' or 'naive_bayes', or fill them in"
            )

    def _weighted(self, queries: FloatArray, cells: int) -> Iterator[tuple[slice, FloatArray]]:
        """Batches of queries with the weight of every row, (n, n_queries)."""
        n = self._engine.n_references
        size = max(1, _BATCH_CELLS // max(n, cells))
        k = None if self.n_neighbors is None else int(self.n_neighbors)
        for begin in range(0, len(queries), size):
            batch = slice(begin, begin + size)
            distance, row = self._engine.search(queries[batch], n, n_jobs=self.n_jobs)
            W = np.zeros((n, len(distance)))
            W[row, np.arange(len(distance))[:, None]] = kernel_weights(distance, self._mass[row], self.kernel, k)
            yield batch, W

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class, by the model made for each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns as in ``classes_``.
        """
        queries = self._queries(X)
        self._refuse_missing(queries)
        shares = np.empty((len(queries), len(self.classes_)))
        table = X if hasattr(X, "shape") else np.asarray(X)
        for batch, W in self._weighted(queries, self._model.cells if self._model else 0):
            if self._model is not None:
                shares[batch] = self._model.predict(W, queries[batch])
                continue
            numbers = np.arange(batch.start, batch.start + W.shape[1])
            for number, w in zip(numbers, W.T, strict=True):
                shares[number] = self._cloned(w, _safe_indexing(table, [number]))
        return shares

    def _cloned(self, w: FloatArray, query: Any) -> FloatArray:
        """Class shares of one query by a clone of the estimator."""
        rows: IndexArray = np.flatnonzero(w)
        present = np.unique(self._codes[rows])
        shares = np.zeros(len(self.classes_))
        if len(present) == 1:
            shares[present] = 1.0
            return shares
        model = clone(self.estimator).fit(_safe_indexing(self._table, rows), self._codes[rows], sample_weight=w[rows])
        if hasattr(model, "predict_proba"):
            shares[model.classes_] = model.predict_proba(query)[0]
        else:
            shares[int(model.predict(query)[0])] = 1.0
        return shares

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if not isinstance(self.estimator, str):
            given = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan, tags.input_tags.categorical = given.allow_nan, given.categorical
        return tags
