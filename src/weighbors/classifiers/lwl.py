"""Locally weighted learning: for each query, a small model is fitted to rows weighted by their nearness."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._frame_arrays import frame_from_arrays, frame_to_arrays
from .._frames import as_pandas
from .._typing import BoolArray, FloatArray, IndexArray
from ..engine import NeighborEngine
from ..exceptions import InvalidDataError
from ..neighbors.checks import check_enough
from .ib import count_until_weight
from .lazy import BaseLazy, LazyClassifier
from .local_models import LocalNaiveBayes, LocalStump
from .ranges import range_weights
from .training import scale_repetitions

__all__ = ["KERNELS", "LWL", "BaseLWL", "LocalModel", "kernel_weights"]

_BATCH_CELLS = 2_000_000  # about how many numbers are in memory at the same time
_MARGIN = 1.0001  # as in Weka: the farthest row has a small weight instead of 0

#: Weight of a row as a function of t, its distance divided by the bandwidth.
KERNELS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "linear": lambda t: _MARGIN - t,
    "epanechnikov": lambda t: 0.75 * (_MARGIN - t**2),
    "tricube": lambda t: (_MARGIN - t**3) ** 3,
    "inverse": lambda t: 1.0 / (1.0 + t),
    "gauss": lambda t: np.exp(-(t**2)),
    "constant": lambda t: np.ones_like(t),
}


class LocalModel(Protocol):
    """A model that is fitted for all queries of a batch together."""

    cells: int  # how many numbers are in memory for one query

    def predict(self, W: FloatArray, queries: FloatArray) -> FloatArray:
        """Return the answers to the queries. ``W`` holds the row weights, of shape (n, n_queries)."""


def kernel_weights(distance: FloatArray, repetition: FloatArray, kernel: str, k: int | None) -> FloatArray:
    """Return the weights of rows by nearness. Their sum is the total repetition weight of the rows that count.

    Parameters
    ----------
    distance : ndarray of shape (n_queries, n)
        Distances of the rows from each query, in ascending order.
    repetition : ndarray of the same shape
        Repetition weight of each row.
    kernel : str
        A key of `KERNELS`.
    k : int or None
        How many rows count. Rows that are tied with the k-th row count too. None: all rows count. The bandwidth is the
        distance of the farthest row that counts.
    """
    n_queries, n = distance.shape
    count = np.full(n_queries, n) if k is None else count_until_weight(distance, repetition, k)[1]
    bandwidth = distance[np.arange(n_queries), count - 1][:, None]
    # If all rows that count are at distance 0, all have the same nearness.
    scaled = np.divide(distance, bandwidth, out=np.ones_like(distance), where=bandwidth > 0)
    counts = np.arange(n) < count[:, None]
    weights = np.where(counts, repetition * KERNELS[kernel](np.minimum(scaled, 1.0)), 0.0)
    total = np.where(counts, repetition, 0.0).sum(axis=1, keepdims=True)
    # Weka's LWL scales the weights to the number of rows that count, which local models with counts depend on.
    scaled_weights: FloatArray = weights * (total / weights.sum(axis=1, keepdims=True))
    return scaled_weights


class BaseLWL(BaseLazy):
    """Base class of `LWL` and `LWLRegressor`: row weights by nearness, and a local model for each query.

    A subclass names its local models and defines `_build_model` and `_ask_clone`.
    """

    #: Names of the models that are computed for many queries together.
    _models: ClassVar[tuple[str, ...]]
    #: An estimator of scikit-learn that takes ``sample_weight``, for a message.
    _example: ClassVar[str]

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
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

    @abstractmethod
    def _build_model(self, nominal: BoolArray) -> LocalModel:
        """Return the local model that ``estimator`` names, for the stored rows."""

    @abstractmethod
    def _ask_clone(self, w: FloatArray, stored: Any, query: Any) -> Any:
        """Return the answer to one query, from a clone of the estimator fitted to the weighted training rows.

        ``w`` are the weights of the rows, ``stored`` is the training table, and ``query`` is a table with one row.
        """

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        name = type(self).__name__
        if not isinstance(self.estimator, str) and not has_fit_parameter(self.estimator, "sample_weight"):
            raise InvalidDataError(
                f"the estimator of {name} must take sample_weight in fit; {type(self.estimator).__name__} does not. "
                f"Use {', '.join(map(repr, self._models))} or, for example, {self._example}"
            )
        self._store(X, y, sample_weight)
        self._refuse_missing(self._rows)
        nominal = self._coder.nominal_of(self._rows)
        self.weights_ = range_weights(self._rows, nominal)
        self._engine = NeighborEngine(
            self._rows, weights=self.weights_, nominal=nominal if nominal.any() else None, backend="scan"
        )
        self._model, self._table = None, None
        if isinstance(self.estimator, str):
            self._model = self._build_model(nominal)
        else:
            table = as_pandas(X)
            table = table if hasattr(table, "shape") else np.asarray(table)
            self._table = _safe_indexing(table, self._kept)
            if hasattr(table, "iloc"):  # a DataFrame is stored as arrays, so that the model can be saved
                self._table = frame_to_arrays(self._table)
        return self

    def _refuse_missing(self, rows: FloatArray) -> None:
        """Raise `InvalidDataError` if ``rows`` has missing values and the estimator does not accept them."""
        if not self.__sklearn_tags__().input_tags.allow_nan and np.isnan(rows).any():
            raise InvalidDataError(
                f"Input X contains NaN: {type(self.estimator).__name__}, the estimator of {type(self).__name__}, takes "
                f"no missing values. Use {' or '.join(map(repr, self._models))}, or fill them in"
            )

    def _weighted(self, queries: FloatArray, cells: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield batches of queries, with the weights of all rows for these queries, of shape (n, n_queries).

        ``cells`` is how many numbers the model needs in memory for one query.
        """
        n = self._engine.n_references
        size = max(1, _BATCH_CELLS // max(n, cells))
        k, repetition = None if self.n_neighbors is None else int(self.n_neighbors), self._repetition
        if k is not None:
            repetition = scale_repetitions(repetition, self._engine.stored_rows, k)
            check_enough(k, self._engine, repetition)
        for begin in range(0, len(queries), size):
            batch = slice(begin, begin + size)
            distance, row = self._engine.search(queries[batch], n, n_jobs=self.n_jobs)
            W = np.zeros((n, len(distance)))
            W[row, np.arange(len(distance))[:, None]] = kernel_weights(distance, repetition[row], self.kernel, k)
            yield batch, W

    def _answers(self, X: Any, shape: tuple[int, ...] = ()) -> FloatArray:
        """Return the answers of the local models to the queries ``X``. ``shape`` is the shape of one answer."""
        queries = self._queries(X)
        self._refuse_missing(queries)
        answers = np.empty((len(queries), *shape))
        table = as_pandas(X)
        table = table if hasattr(table, "shape") else np.asarray(table)
        stored = frame_from_arrays(self._table) if isinstance(self._table, dict) else self._table
        for batch, W in self._weighted(queries, self._model.cells if self._model else 0):
            if self._model is not None:
                answers[batch] = self._model.predict(W, queries[batch])
                continue
            # Any other estimator is fitted once per query, which is slow but general.
            numbers = np.arange(batch.start, batch.start + W.shape[1])
            for number, w in zip(numbers, W.T, strict=True):
                answers[number] = self._ask_clone(w, stored, _safe_indexing(table, [number]))
        return answers

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if not isinstance(self.estimator, str):
            given = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan, tags.input_tags.categorical = given.allow_nan, given.categorical
        return tags


class LWL(BaseLWL, LazyClassifier):
    """Locally weighted learning, as Weka's LWL.

    For each query, a small classifier is fitted to the training rows and predicts only this query. The weight of each
    row is a kernel function of its distance from the query, on min-max scaled features.

    Parameters
    ----------
    estimator : {"stump", "naive_bayes"} or classifier, default="stump"
        "stump": the one test of one feature that leaves the smallest entropy. Missing values form a third branch.
        "naive_bayes": normal densities for numbers, counts for categories. Both are computed for many queries
        together. Any other scikit-learn classifier whose ``fit`` takes ``sample_weight`` is cloned and fitted for
        each query.
    n_neighbors : int or None, default=None
        How many rows count. Rows that are tied with the k-th row count too. None: all rows count.
    kernel : {"linear", "epanechnikov", "tricube", "inverse", "gauss", "constant"}, default="linear"
        Weight of a row whose distance is t times the bandwidth: 1.0001 − t, ¾(1.0001 − t²), (1.0001 − t³)³,
        1/(1 + t), exp(−t²), or 1. The bandwidth is the distance of the farthest row that counts.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns whose values differ by 0 or 1.
    handle_unknown : {"different", "error"}, default="different"
    n_jobs : int or None, default=None
        Threads of the neighbour search. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    weights_ : Weights
        1 divided by the squared range of each numeric feature, and 0 for a numeric feature with only one value.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if ``X`` had column names.
    n_samples_fit_ : int

    Notes
    -----
    ``sample_weight`` counts as repetition and multiplies the kernel. The weights of a query are scaled so that their
    sum is the number of rows that count, repetitions included, because the Laplace correction in naive Bayes depends
    on this sum. As in `IBk`, ranges are computed from the training rows alone, and the missing distance of a number is
    the full column range.

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

    _models = ("stump", "naive_bayes")
    _example = "DecisionTreeClassifier"

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        **BaseLWL._parameter_constraints,
        "estimator": [StrOptions(set(_models)), HasMethods(["fit", "predict", "get_params"])],
    }

    def _build_model(self, nominal: BoolArray) -> LocalModel:
        """Return the local model that ``estimator`` names, for the stored rows."""
        model = LocalStump if self.estimator == "stump" else LocalNaiveBayes
        return model(self._rows, nominal, self._codes, len(self.classes_))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, from the model that is fitted for each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns as in ``classes_``.
        """
        check_is_fitted(self, "classes_")
        return self._answers(X, (len(self.classes_),))

    def _ask_clone(self, w: FloatArray, stored: Any, query: Any) -> FloatArray:
        """Return the class shares of one query, from a clone of the estimator. The parameters are as in `BaseLWL`."""
        rows: IndexArray = np.flatnonzero(w)
        present = np.unique(self._codes[rows])
        shares = np.zeros(len(self.classes_))
        # Many classifiers raise an error for a single class.
        if len(present) == 1:
            shares[present] = 1.0
            return shares
        model = clone(self.estimator).fit(_safe_indexing(stored, rows), self._codes[rows], sample_weight=w[rows])
        if hasattr(model, "predict_proba"):
            # The clone knows only the classes of its rows. The others keep a share of 0.
            shares[model.classes_] = model.predict_proba(query)[0]
        else:
            shares[int(model.predict(query)[0])] = 1.0
        return shares
