"""Margin-based instance weights (MBIW): instances with unusual margins count less (paper 000)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from .._parallel.executors import Executor
from .._parallel.threads import effective_n_jobs
from .._random import draw_rows
from .._typing import FloatArray, IndexArray
from ..blocks import BlockTable, LazyRows
from ..engine.pairs import distance_sums
from ..tables.coded import CodedTable, takes_coded_tables
from ..tables.validation import TakesTables
from ..weights import Weights, fingerprint
from .base import code_table, warn_of_few_neighbors
from .neighbors import find_neighbors
from .rows import Instances, absolute_sums, count_equal, open_rows, refuse_dense

_EACH = 2_000_000_000  # numbers that a task over margin vectors processes, which takes more than 50 ms


def margin_vectors(rows: Instances, target: CodedTable, n_neighbors: int | None = 1) -> Any:
    """Return the margin vector x′ = |x − m(x)| − |x − h(x)| of each row that contributes.

    The result has shape (n, n_features) and is float64. m(x) is the nearest miss and h(x) the nearest hit.

    With several neighbours it is the mean over the ``n_neighbors`` nearest hits, and over the nearest misses of all
    other classes together; None means all hits and misses. An instance without hits has no hit term. The result is
    CSR if the rows are sparse and complete and ``n_neighbors`` is a number.
    """
    asked = np.arange(rows.n) if target.drawn is None else target.drawn
    shape = (len(asked), rows.n_features)
    as_sparse = rows.sparse and rows.plain and n_neighbors is not None
    if not as_sparse and rows.sparse:
        refuse_dense(rows.rows, "MBIW over all hits and misses, or with missing values,")
    if n_neighbors is None:
        return _margins_to_all(rows, target, asked)
    out = sparse.csr_matrix(shape) if as_sparse else np.zeros(shape)
    for found in find_neighbors(rows, target, n_neighbors, ties="index"):
        own, at = target.codes[found.query], np.searchsorted(asked, found.query)
        hit = np.arange(target.n_groups) == own[:, None]
        # paper 000: the differences to the misses are added, those to the hits subtracted.
        for sign, mask in ((-1.0, hit), (1.0, ~hit)):
            distance = np.where(mask[:, :, None], found.distance, np.inf).reshape(len(own), -1)
            row = found.row.reshape(len(own), -1)
            # Misses come from several classes, so they are merged by distance, with ties by row number.
            order = np.lexsort((row, distance), axis=-1)[:, :n_neighbors]
            known = np.isfinite(np.take_along_axis(distance, order, axis=-1))
            row = np.take_along_axis(row, order, axis=-1)
            # The mean is over the neighbours that exist: a small class may have fewer than were asked for.
            share = known / np.maximum(known.sum(axis=1, keepdims=True), 1)
            for slot in range(row.shape[1]):
                part = sign * share[:, slot]
                # A selection matrix adds rows at their places and keeps the result sparse.
                if as_sparse:
                    place = (part, (at, np.arange(len(part))))
                    pairs = rows.differences(found.query, row[:, slot])
                    out = out + sparse.csr_matrix(place, shape=(shape[0], len(part))) @ pairs
                    continue
                # In parts whose differences stay in the cache.
                for some in np.array_split(np.arange(len(part)), max(1, len(part) * shape[1] // rows.cells)):
                    pairs = rows.differences(found.query[some], row[some, slot])
                    out[at[some]] += part[some, None] * pairs
    return out


def _margins_to_all(rows: Instances, target: CodedTable, asked: IndexArray) -> FloatArray:
    """Return, for each row of ``asked``, the mean difference to all misses less that to all hits."""
    out = np.empty((len(asked), rows.n_features))
    counts = np.bincount(target.codes, minlength=target.n_groups)
    own = target.codes[asked]
    hits, misses = (counts - 1)[own], (rows.n - counts)[own]
    for at, j in enumerate(rows.columns):
        # The shape is (n_classes, n). A row is among the hits, but its difference to itself is 0.
        sums = _class_difference_sums(rows, target, at)[:, asked]
        to_hits = sums[own, np.arange(len(asked))]
        out[:, j] = (sums.sum(axis=0) - to_hits) / np.maximum(misses, 1) - to_hits / np.maximum(hits, 1)
    return out


def _class_difference_sums(rows: Instances, target: CodedTable, at: int) -> FloatArray:
    """Return, for column ``at`` of the rows, the sum of the differences of every row to all rows of each class.

    The result has shape (n_classes, n). A missing value is at the missing distance of its column. The difference of a
    row to itself is 0.
    """
    column, missing_distance = rows.column(at), float(rows.missing_distance[at])
    known = ~np.isnan(column)
    out = np.empty((target.n_groups, rows.n))
    for c in range(target.n_groups):
        members = target.codes == c
        values = column[members & known]
        lacking = float((members & ~known).sum())
        # A value differs by 1 from all members of the class but those that have the same category.
        nominal = at >= rows.n_numeric
        sums = len(values) - count_equal(column, values) if nominal else absolute_sums(column, values)
        # A row that lacks the value is at the missing distance from all known values, and all rows are at that
        # distance from members that lack theirs. Only the difference of a row to itself is 0.
        sums = np.where(known, sums, missing_distance * len(values))
        out[c] = sums + missing_distance * lacking - np.where(members & ~known, missing_distance, 0.0)
    return out


def instance_weights(margins: Any, n_jobs: int = 1) -> FloatArray:
    """Return the instance weights ω from the margin vectors (paper 000, eq. 2). They sum to 1.

    ω is proportional to 1 / (mean distance to the other margin vectors).

    If all margin vectors are equal, all distances are 0 and the weights are equal.
    """
    rows = margins if sparse.issparse(margins) else np.ascontiguousarray(margins, dtype=np.float64)
    return inverse_weights(distance_sums(rows, n_jobs))


def inverse_weights(sums: FloatArray) -> FloatArray:
    """Return the instance weights ω from the sum of the distances of each margin vector to the others."""
    n = len(sums)
    mean = sums / max(n - 1, 1)
    if not (mean > 0).all():
        return np.full(n, 1.0 / n)
    inverse = 1.0 / mean
    weights: FloatArray = inverse / inverse.sum()
    return weights


def mbiw(table: CodedTable, n_neighbors: int | str = 1, n_jobs: int | None = None) -> FloatArray:
    """Return the margin-based instance weights of a table, which sum to 1.

    ``n_neighbors`` is the number of hits and of misses per instance, or "all".
    """
    rows = open_rows(table, scaled=False, p=2, n_jobs=n_jobs)
    k = None if n_neighbors == "all" else int(n_neighbors)
    margins = margin_vectors(rows, table, k)
    if isinstance(table.rows, BlockTable):
        return inverse_weights(_sum_distances(np.ascontiguousarray(margins), table.rows.executor, n_jobs))
    return instance_weights(margins, effective_n_jobs(n_jobs))


def _sum_distances(margins: FloatArray, executor: Executor, n_jobs: int | None) -> FloatArray:
    """Return the `distance_sums` of many margin vectors: tasks compute them range by range.

    Every task gets all margin vectors.
    """
    n, m = margins.shape
    size = max(252, _EACH // (n * m))
    if n <= size:
        return distance_sums(margins, effective_n_jobs(n_jobs))
    ranges = [(begin, min(begin + size, n)) for begin in range(0, n, size)]
    return np.concatenate(executor.map(_sum_range, ranges, margins))


def _sum_range(begin: int, end: int, margins: FloatArray) -> FloatArray:
    """Return the sums of the distances of rows [begin, end) to all margin vectors."""
    return distance_sums(margins, 1, begin, end)


@dataclass(eq=False, repr=False)
class MBIW(TakesTables, BaseEstimator):
    """Weigh instances by how usual their margins are.

    Each instance becomes the vector of its differences to its nearest miss less those to its
    nearest hit. Instances whose vectors lie far from the others are outlying and get little
    weight. The weights multiply votes in a k-NN.

    Parameters
    ----------
    n_neighbors : int or "all", default=1
        Hits and misses per instance.
    n_samples : int or None, default=None
        Number of rows that are drawn. Their hits and misses are sought among all rows, and their margin vectors are
        compared with each other. None: all rows, which takes time that grows with the square of their number, and 8
        bytes of memory for each number of the table.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns that differ by 0 or 1.
    random_state : int, RandomState or None, default=None
        Seed for drawing the rows, if ``n_samples`` is given.
    n_jobs : int, optional
        Threads. Results do not depend on it.

    Attributes
    ----------
    instance_weights_ : ndarray of shape (n_samples,)
        Weights of the drawn instances, which sum to 1.
    sample_indices_ : ndarray of int
        The rows that were drawn, in ascending order; all rows if ``n_samples`` is None.
    weights_ : Weights
        The same weights as ``votes``, multiplied by their number, so that their mean is 1. They are for a k-NN of the
        drawn rows.
    classes_ : ndarray of shape (n_classes,)

    References
    ----------
    .. [1] Y. Han, L. Yu, "A variance reduction framework for stable feature selection", ICDM 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import MBIW
    >>> X, y = load_iris(return_X_y=True)
    >>> MBIW().fit(X, y).instance_weights_.argmin()  # the most outlying flower
    np.int64(15)
    """

    n_neighbors: int | str = 1
    _: KW_ONLY
    n_samples: int | None = None
    categorical_features: Any = "from_dtype"
    random_state: Any = None
    n_jobs: int | None = None

    _takes_blocks: ClassVar[bool] = True
    _needs_scaled_columns: ClassVar[bool] = True  # wide columns would decide the distances
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
        "n_samples": [None, Interval(Integral, 1, None, closed="left")],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any) -> MBIW:
        """Weigh the instances.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Or a table that is read in blocks: a Dask collection, the path of a parquet folder or an npy file, or a
            mapped array. The weights are the same to the bit.
        y : array-like of shape (n_samples,)
            Or the name of a column of a table in blocks.

        Returns
        -------
        self
        """
        table = code_table(self, X, y)
        warn_of_few_neighbors(table.classes, table.codes, self.n_neighbors, misses="together")
        n = len(table.codes)
        self.sample_indices_ = draw_rows(n, self.n_samples, self.random_state)
        if self.n_samples is not None:
            table = replace(table, drawn=self.sample_indices_)
        self.instance_weights_ = mbiw(table, self.n_neighbors, self.n_jobs)
        votes = self.instance_weights_ * len(self.instance_weights_)
        rows = LazyRows(table.rows) if isinstance(table.rows, BlockTable) else table.rows
        rows = rows if self.n_samples is None else rows[self.sample_indices_]
        self.weights_ = Weights(votes=votes, n_samples=len(votes), fingerprint=fingerprint(rows))
        return self
