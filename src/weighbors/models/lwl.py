"""Locally weighted learning: for each query, a small model is fitted to rows weighted by their nearness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ..engine import NeighborEngine
from ..neighbors.checks import check_enough
from ..tables.coded import takes_coded_tables
from .lazy import LazyClassifier, range_weights
from .local_models import LocalNaiveBayes, LocalStump
from .neighbor_votes import count_until_weight
from .training import scale_repetitions

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


@dataclass(eq=False, repr=False)
class LWL(LazyClassifier):
    """Locally weighted learning, as Weka's LWL.

    For each query, a small classifier is fitted to the training rows and predicts only this query. The weight of each
    row is a kernel function of its distance from the query, on min-max scaled features.

    Parameters
    ----------
    model : {"stump", "naive_bayes"}, default="stump"
        "stump": the one test of one feature that leaves the smallest entropy. Missing values form a third branch.
        "naive_bayes": normal densities for numbers, counts for categories.
    n_neighbors : int or None, default=None
        How many rows count. Rows that are tied with the k-th row count too. None: all rows count.
    kernel : {"linear", "epanechnikov", "tricube", "inverse", "gauss", "constant"}, default="linear"
        Weight of a row whose distance is t times the bandwidth: 1.0001 − t, ¾(1.0001 − t²), (1.0001 − t³)³,
        1/(1 + t), exp(−t²), or 1. The bandwidth is the distance of the farthest row that counts.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns whose values differ by 0 or 1.
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

    model: str = "stump"
    n_neighbors: int | None = None
    _: KW_ONLY
    kernel: str = "linear"
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "model": [StrOptions({"stump", "naive_bayes"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions(set(KERNELS))],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "n_jobs": [None, Integral],
    }

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @takes_coded_tables
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
        self._store(X, y, sample_weight)
        nominal = self._coder.nominal
        self.weights_ = range_weights(self._rows, nominal)
        self._engine = NeighborEngine(
            self._rows, weights=self.weights_, nominal=nominal if nominal.any() else None, backend="scan"
        )
        kind = LocalStump if self.model == "stump" else LocalNaiveBayes
        self._model = kind(self._rows, nominal, self._codes, len(self.classes_))
        return self

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
        queries = self._queries(X)
        shares = np.empty((len(queries), len(self.classes_)))
        for batch, W in self._weighted(queries):
            shares[batch] = self._model.predict(W, queries[batch])
        return shares

    def _weighted(self, queries: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield batches of queries, with the weights of all rows for these queries, of shape (n, n_queries)."""
        n = self._engine.n_references
        size = max(1, _BATCH_CELLS // max(n, self._model.cells))
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
