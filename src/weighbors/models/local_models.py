"""Small models that LWL fits to each query, with row weights that depend on the query.

The models of all queries are computed together. The weights of the rows are a matrix of shape (n_rows, n_queries).
The weights of one query add up to the number of rows that count for it. The models accept missing values and
categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy import sparse, special

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray

NOTHING = 1e-6  # a stump treats smaller weights as 0: they are rounding errors of a subtraction
_EQUAL = 1e-10  # tests whose entropies (nats) differ by less are equal, so that rounding does not choose the test
_PRECISION = 0.01  # interval width of a numeric feature that has only one value (naive Bayes)


def _one_hot(position: IndexArray, codes: IndexArray, n_positions: int, n_classes: int) -> sparse.csr_matrix:
    """Return a matrix that sums rows into a table of classes and values, of shape (n_classes * n_positions, n_rows).

    Each column of the matrix has a single 1, in the cell of that row's class and value.

    Parameters
    ----------
    position, codes : ndarrays of shape (n_rows,)
        ``position`` is the number of each row's value among the distinct values of the feature. ``codes`` is the
        class number of each row.
    n_positions, n_classes : int
        How many values and how many classes the table has.
    """
    n = len(codes)
    cell = codes * n_positions + position
    return sparse.csr_matrix((np.ones(n), (cell, np.arange(n))), shape=(n_positions * n_classes, n))


def _xlogx(values: FloatArray) -> FloatArray:
    """Return x log x, and 0 for each x below ``NOTHING``."""
    log: FloatArray = np.maximum(values, NOTHING)
    np.log(log, out=log)
    log *= values
    log[values < NOTHING] = 0.0
    return log


def _sum_classes(table: FloatArray) -> FloatArray:
    """Sum over the first axis, in a fixed order, so that the rounding does not depend on the number of queries."""
    total: FloatArray = reduce(np.add, table)
    return total


def _entropy(table: FloatArray) -> FloatArray:
    """Return the entropy (in nats) of the counts per class, multiplied by their sum.

    The first axis of ``table`` is the classes.
    """
    return _xlogx(_sum_classes(table)) - _sum_classes(_xlogx(table))


@dataclass(frozen=True)
class StumpColumn:
    """One feature, prepared for the stump.

    ``values`` are the sorted distinct values. ``nominal`` tells whether they are categories. ``cells`` is the matrix
    of `_one_hot`, in which the last position stands for a missing value.
    """

    values: FloatArray
    nominal: bool
    cells: sparse.csr_matrix


class LocalStump:
    """A decision stump: the one test of one feature that leaves the smallest entropy.

    A numeric feature is compared with the middle between two neighbouring values. A categorical feature is compared
    with one category. Missing values form a third branch. If several tests leave the same entropy, the earliest
    feature is used, and in this feature the lowest value, or the category whose first row comes first.

    The rows of a branch add up to a table of counts, whose first axis is the classes.

    Parameters
    ----------
    rows : ndarray of shape (n, M)
        The training rows.
    nominal : bool ndarray of shape (M,)
        Which features are categorical.
    codes : int ndarray of shape (n,)
        Class number of each row.
    n_classes : int
    """

    def __init__(self, rows: FloatArray, nominal: BoolArray, codes: IndexArray, n_classes: int) -> None:
        self.codes, self.n_classes = codes, n_classes
        self.columns = [self._column(rows[:, j], bool(nominal[j])) for j in range(rows.shape[1])]
        #: how many numbers per query are in memory while one feature is tested
        self.cells = max(8 * (len(column.values) + 1) * n_classes for column in self.columns)

    def _column(self, values: FloatArray, nominal: bool) -> StumpColumn:
        """Return the prepared feature: its distinct values, and which of them each row has."""
        known = ~np.isnan(values)
        distinct = np.unique(values[known])
        position = np.where(known, np.searchsorted(distinct, values), len(distinct))
        return StumpColumn(distinct, nominal, _one_hot(position, self.codes, len(distinct) + 1, self.n_classes))

    def predict(self, W: FloatArray, queries: FloatArray) -> FloatArray:
        """Return the class shares in the branch that each query belongs to, of shape (n_queries, n_classes).

        ``W`` holds the row weights, of shape (n, n_queries). If no row is in the branch, the shares of all rows are
        returned.
        """
        share, everything = self._branches(W, queries)
        # A branch without weight, up to rounding, has no information.
        share = np.where(share.sum(axis=1, keepdims=True) > NOTHING, share, everything)
        share = np.maximum(share, 0.0)
        shares: FloatArray = share / share.sum(axis=1, keepdims=True)
        return shares

    def _branches(self, W: FloatArray, queries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the tables of the branch that each query belongs to, and of all rows, both (n_queries, n_classes).

        Parameters
        ----------
        W : ndarray of shape (n, n_queries)
            The row weights.
        queries : ndarray of shape (n_queries, M)
        """
        n_queries, weight = len(queries), W.sum(axis=0)
        best = np.full(n_queries, np.inf)
        share = np.zeros((n_queries, self.n_classes))
        for j, column in enumerate(self.columns):
            # A sparse product sums the rows of each value, for all queries at once.
            sums = (column.cells @ W).reshape(self.n_classes, -1, n_queries)
            entropy, branch = self._test(column, sums, queries[:, j])
            better = entropy < best - _EQUAL * weight  # infinite if the feature has no test
            best[better] = entropy[better]
            share[better] = branch[:, better].T
        return share, np.cumsum(sums, axis=1)[:, -1].T

    def _test(self, column: StumpColumn, sums: FloatArray, query: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the entropy after the best test of a feature, and the table of the query's branch.

        ``sums`` has shape (n_classes, n_values + 1, n_queries). Its last position sums rows with a missing value.
        ``query`` holds the value of the feature in each query.
        """
        known, missing = sums[:, :-1], sums[:, -1]
        n_queries = sums.shape[2]
        if known.shape[1] < 2 - column.nominal:
            return np.full(n_queries, np.inf), missing
        upto = np.cumsum(known, axis=1)
        total = upto[:, -1]
        inside = known if column.nominal else upto[:, :-1]
        outside = total[:, None] - inside
        # Values without weight are not there for this query.
        present = _sum_classes(known) > 0
        left = _entropy(inside) + _entropy(outside)
        if not column.nominal:  # a test separates two values that occur with weight
            later = np.logical_or.accumulate(present[::-1], axis=0)[::-1]
            left = np.where(present[:-1] & later[1:], left, np.inf)
        at = np.argmax(left <= left.min(axis=0) + _EQUAL * _sum_classes(total), axis=0)
        every = np.arange(n_queries)
        entropy = left[at, every] + _entropy(missing)
        taken = self._inside(column, at, present, query)
        branch = np.where(taken, inside[:, at, every], outside[:, at, every])
        third = np.where(_sum_classes(missing) > 0, missing, total)
        return entropy, np.where(np.isnan(query), third, branch)

    @staticmethod
    def _inside(column: StumpColumn, at: IndexArray, present: BoolArray, query: FloatArray) -> BoolArray:
        """Return whether each query passes its test: it has the tested category, or is not above the tested number.

        Parameters
        ----------
        column : StumpColumn
        at : ndarray of shape (n_queries,)
            Position of the value that is tested, for each query.
        present : bool ndarray of shape (n_values, n_queries)
            Whether each value occurs among the rows that count for the query.
        query : ndarray of shape (n_queries,)
            Value of the feature in each query.
        """
        if column.nominal:
            same: BoolArray = query == column.values[at]
            return same
        after = present & (np.arange(len(column.values))[:, None] > at)
        cut = (column.values[at] + column.values[np.argmax(after, axis=0)]) / 2
        below: BoolArray = query <= cut
        return below


class LocalNaiveBayes:
    """Naive Bayes: normal densities for numeric features, Laplace-corrected counts for categorical features.

    A number stands for an interval. Its width is the mean gap between neighbouring distinct values of the feature,
    among the rows that count. The standard deviation is at least this width divided by 6. Missing values are left
    out. A class has probability 0 if none of its rows counts.

    Parameters
    ----------
    rows : ndarray of shape (n, M)
        The training rows.
    nominal : bool ndarray of shape (M,)
        Which features are categorical.
    codes : int ndarray of shape (n,)
        Class number of each row.
    """

    def __init__(self, rows: FloatArray, nominal: BoolArray, codes: IndexArray, n_classes: int) -> None:
        self.n_classes = n_classes
        self.nominal = nominal
        self.rows = rows
        self.classes = _one_hot(np.zeros(len(codes), dtype=np.int64), codes, 1, n_classes)
        self.n_values = np.array([len(np.unique(column[~np.isnan(column)])) for column in rows.T])
        self.cells = 8 * len(rows)

    def predict(self, W: FloatArray, queries: FloatArray) -> FloatArray:
        """Return the class probabilities, of shape (n_queries, n_classes).

        ``W`` holds the row weights, of shape (n, n_queries).
        """
        prior = self.classes @ W
        # Laplace's correction; a class without weight is excluded.
        log = np.where(prior > 0, np.log(prior + 1.0), -np.inf)
        for j in range(self.rows.shape[1]):
            term = self._category(j, W, queries[:, j]) if self.nominal[j] else self._number(j, W, queries[:, j])
            log += np.where(np.isnan(queries[:, j]), 0.0, term)
        shares: FloatArray = special.softmax(log.T, axis=1)
        return shares

    def _sums(self, values: AnyArray, W: FloatArray, known: BoolArray) -> FloatArray:
        """Return the sum of weight times value over the rows of each class, for each query.

        ``known`` marks the rows whose value is not missing. ``values`` has one row for each of them.
        """
        total: FloatArray = self.classes[:, known] @ (values * W[known])
        return total

    def _category(self, j: int, W: FloatArray, query: FloatArray) -> FloatArray:
        """Return the log probability of each query's category in categorical feature ``j``, for each class."""
        column = self.rows[:, j]
        known = ~np.isnan(column)
        same = self._sums(column[known][:, None] == query, W, known)
        all_ = self._sums(np.ones((int(known.sum()), 1)), W, known)
        return np.where(_sum_classes(all_) > 0, np.log((same + 1.0) / (all_ + self.n_values[j])), 0.0)

    def _number(self, j: int, W: FloatArray, query: FloatArray) -> FloatArray:
        """Return the log probability of each query's number in numeric feature ``j``, for each class."""
        known = ~np.isnan(self.rows[:, j])
        # Values far from 0 would lose digits in the squares below.
        center = np.median(self.rows[known, j]) if known.any() else 0.0
        width = _mean_gap(self.rows[known, j], W[known] > 0)
        column = np.rint(self.rows[known, j][:, None] / width) * width - center
        weight_sum, mean, square = (self._sums(column**power, W, known) for power in range(3))
        everything = [_sum_classes(part) for part in (weight_sum, mean, square)]
        # If all values of this feature are missing in a class, the class gets the mean and deviation of all rows.
        weight_sum, mean, square = (
            np.where(weight_sum > 0, *pair) for pair in zip((weight_sum, mean, square), everything, strict=True)
        )
        weight_sum = np.where(weight_sum > 0, weight_sum, 1.0)
        mean = mean / weight_sum
        deviation = np.maximum(np.sqrt(np.maximum(square / weight_sum - mean**2, 0.0)), width / 6)
        value = np.rint(query / width) * width - center
        log = _log_interval((value - mean) / deviation, width / deviation)
        return np.where(everything[0] > 0, log, 0.0)


def _mean_gap(column: FloatArray, present: BoolArray) -> FloatArray:
    """Return the mean gap between neighbouring distinct values, for each query.

    ``column`` holds the values of a feature. ``present``, of shape (n_rows, n_queries), marks the rows that count.
    If only one value is present, ``_PRECISION`` is returned.
    """
    distinct, position = np.unique(column, return_inverse=True)
    cells = sparse.csr_matrix((np.ones(len(column)), (position, np.arange(len(column)))))
    there = (cells @ present.astype(np.float64)) > 0 if len(column) else np.zeros((1, present.shape[1]), dtype=bool)
    gaps = there.sum(axis=0) - 1
    low = np.argmax(there, axis=0)
    high = len(there) - 1 - np.argmax(there[::-1], axis=0)
    span = distinct[high] - distinct[low] if len(column) else np.zeros(present.shape[1])
    return np.divide(span, gaps, out=np.full(len(gaps), _PRECISION), where=gaps > 0)


def _log_interval(z: FloatArray, width: FloatArray) -> FloatArray:
    """Return the log of the standard normal probability of an interval with centre ``z`` and width ``width``."""
    # The lower tail is used, where the logarithm of the normal distribution is accurate.
    high, low = -np.abs(z) + width / 2, -np.abs(z) - width / 2
    top = special.log_ndtr(high)
    log: FloatArray = top + np.log1p(-np.exp(np.minimum(special.log_ndtr(low) - top, -1e-300)))
    return log
