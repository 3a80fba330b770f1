"""Shapley values of training rows for a k-NN: which rows help, and which harm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length

from .._checks import whole_number
from .._display.results import Result, number, table_lines
from .._parallel.threads import effective_n_jobs
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..engine import build_references
from ..exceptions import InvalidDataError
from ..neighbors.checks import check_fits
from ..tables.frames import as_pandas
from ..tables.labels import check_labels, known_codes
from ..tables.validation import TableCoder
from ..votes.metric import Metric
from ..weights import Weights

_CELLS = 4_000_000  # distances in memory at the same time


@dataclass(frozen=True, eq=False, repr=False)
class DataValues(Result):
    """The value of every training row for a k-NN.

    Attributes
    ----------
    row_values : ndarray of shape (n_samples,)
        Shapley value of each row. A positive row helps, a negative one harms.
    labels : ndarray of shape (n_samples,)
        Classes of the rows.
    row_names : ndarray of shape (n_samples,)
        The index of a DataFrame, or numbers from 0.
    score : float
        The sum of all values: the share of the neighbours that have the class of the query, averaged over the queries.
    n_neighbors, n_queries : int
    """

    row_values: FloatArray
    labels: AnyArray
    row_names: AnyArray
    score: float
    n_neighbors: int
    n_queries: int

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per training row, the most harmful first: row, label, value, helps."""
        order = np.argsort(self.row_values, kind="stable")
        return pd.DataFrame(
            {
                "row": self.row_names[order],
                "label": self.labels[order],
                "value": self.row_values[order],
                "helps": self.row_values[order] > 0,
            },
            index=pd.Index(order, name="position"),
        )

    def _shown(self) -> pd.DataFrame:
        """Return the three worst and the three best rows."""
        shown = self.frame()[["row", "label", "value"]]
        shown = shown if len(shown) <= 6 else pd.concat([shown[:3], shown[-3:]])
        return shown.set_index("row")

    def _notes(self) -> list[str]:
        return [self._lines()[1].strip()]

    def _lines(self) -> list[str]:
        harmful, n = int((self.row_values < 0).sum()), len(self.row_values)
        head = f"Values of {n} rows for the {self.n_neighbors} nearest neighbours of {self.n_queries} queries"
        return [
            f"{head}; sum {number(self.score)}",
            f"  {harmful} of {n} rows harm (value below 0)" + ("" if n <= 6 else "; the three worst, the three best:"),
            *table_lines(self._shown().reset_index(), index=False),
        ]


def shapley_of_ranks(same: BoolArray, k: int) -> FloatArray:
    """Return Shapley values of rows that are sorted by their distance to a query, for an unweighted k-NN.

    A set of rows is worth the share of its k nearest rows that have the class of the query (a set of fewer than k rows
    counts as if others of a wrong class were added). The recursion is theorem 1 of [1]_; it goes from the farthest row
    to the nearest one.

    Parameters
    ----------
    same : ndarray of bool, shape (n_queries, n)
        Whether each row has the class of the query; the nearest row is first.
    k : int

    Returns
    -------
    ndarray of shape (n_queries, n)

    References
    ----------
    .. [1] R. Jia et al., "Efficient task-specific data valuation for nearest neighbor algorithms", PVLDB 12, 2019.

    Examples
    --------
    >>> shapley_of_ranks(np.array([[True, False, True]]), 1).round(3)
    array([[ 0.833, -0.167,  0.333]])
    """
    n = same.shape[1]
    right = same.astype(np.float64)
    place = np.arange(1, n)
    # Two rows that follow each other differ by how often the nearer one takes the place of the other one.
    steps = (right[:, :-1] - right[:, 1:]) / k * (np.minimum(k, place) / place)
    last = right[:, -1:] * min(k, n) / (k * n)
    return np.concatenate([np.cumsum(steps[:, ::-1], axis=1)[:, ::-1] + last, last], axis=1)


def data_values(
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    n_neighbors: int = 5,
    weights: Weights | None = None,
    p: int = 2,
    categorical_features: Any = "from_dtype",
    n_jobs: int | None = None,
) -> DataValues:
    """Compute the exact Shapley value of every training row for a k-NN classifier.

    The value of a row is what it adds to the score of a set of rows, averaged over all sets and all orders in which
    rows can be added. For the k-NN it needs no sampling: all rows are sorted by their distance to each query
    [1]_. Rows with wrong labels, and rows among rows of other classes, have low values, often below 0.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Training rows. Numbers should be on comparable scales.
    y : array-like of shape (n_samples,)
        Classes.
    X_test, y_test : table and labels, optional
        The queries for which the rows are valued. By default the training rows themselves: each is a query for the
        others, and has no value for itself.
    n_neighbors : int, default=5
    weights : Weights, optional
        Feature weights, for example ``weights_`` of a fitted weigher.
    p : {1, 2}, default=2
        1 for the city-block distance, 2 for the Euclidean distance.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Returns
    -------
    DataValues

    Notes
    -----
    The values add up to ``score``, the share of neighbours with the class of the query. They are those of an unweighted
    vote: weights of distance and ``sample_weight`` are not covered. With n rows and q queries, it takes q·n·(M + log n)
    steps.

    References
    ----------
    .. [1] R. Jia et al., "Efficient task-specific data valuation for nearest neighbor algorithms", PVLDB 12, 2019.

    Examples
    --------
    Three labels of the iris data are made wrong. They get the three lowest values:

    >>> from sklearn.datasets import load_iris
    >>> from weighbors.evaluation import data_values
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> y[[10, 30, 110]] = [1, 2, 0]
    >>> found = data_values(X, y)
    >>> found
    Values of 150 rows for the 5 nearest neighbours of 150 queries; sum 0.9
      4 of 150 rows harm (value below 0); the three worst, the three best:
       row  label    value
        30      2 -0.01634
        10      1 -0.01498
       110      0 -0.01136
        74      1 0.008544
        97      1 0.008902
       111      2 0.008923
    """
    k = whole_number(n_neighbors, "n_neighbors")
    if p not in (1, 2):
        raise InvalidDataError(f"p must be 1 or 2; got {p!r}")
    if (X_test is None) != (y_test is None):
        raise InvalidDataError("X_test and y_test go together: give both, or none of them")
    X = as_pandas(X)
    estimator, coder = BaseEstimator(), TableCoder(categorical_features)
    rows = coder.fit_transform(estimator, X)
    classes, codes = check_labels(y, who="data_values")
    check_consistent_length(rows, codes)
    weights = weights or Weights()
    check_fits(weights, rows, coder.names)
    if weights.instance_bound or weights.kind not in ("none", "feature"):
        raise InvalidDataError(
            "data_values takes one weight per feature and a feature mask only, since all rows are valued with equal "
            "votes; got weights per class, interval or instance, or a selection of instances. Use for example "
            "Weights(feature_weights=model.feature_importances_)"
        )
    references = build_references(rows, weights=weights, p=p, nominal=coder.nominal)
    metric = Metric(references, effective_n_jobs(n_jobs))
    own = X_test is None
    queries = rows if own else coder.transform(estimator, X_test)
    asked = codes if own else known_codes(y_test, classes)
    check_consistent_length(queries, asked)
    if own and len(codes) < 2:
        raise InvalidDataError("at least 2 rows are needed if the rows are their own queries; got 1")
    values = _mean_values(metric, queries, asked, codes, k, own=own)
    names = X.index.to_numpy() if hasattr(X, "iloc") else np.arange(len(codes))
    return DataValues(values, classes[codes], names, float(values.sum()), k, len(asked))


def _mean_values(
    metric: Metric, queries: Any, asked: IndexArray, codes: IndexArray, k: int, *, own: bool
) -> FloatArray:
    """Return the values of the stored rows, averaged over queries.

    Parameters
    ----------
    metric : Metric
        The training rows.
    queries : coded rows
    asked, codes : ndarrays of int
        Classes of the queries and of the training rows.
    k : int
    own : bool
        Whether query i is training row i, which has no value for itself.
    """
    n, total = len(codes), np.zeros(len(codes))
    size = max(1, _CELLS // n)
    for begin in range(0, len(asked), size):
        here = np.arange(begin, min(begin + size, len(asked)))
        distance = metric.between(metric.select(queries[here]))
        if own:  # The row itself is sorted behind all others, and then left out by its place.
            distance[np.arange(len(here)), here] = np.inf
        # Of equal distances the lower row number is nearer, as in the k-NN.
        order = np.argsort(distance, axis=1, kind="stable")[:, : n - own]
        found = shapley_of_ranks(codes[order] == asked[here][:, None], k)
        # Queries are added one by one, so that sums do not depend on the size of a batch.
        for each, place in zip(found, order, strict=True):
            total[place] += each
    return total / len(asked)
