"""Small models fitted anew for every query, under that query's weights, all queries at once.

Rows are weighted by a matrix of shape (n_rows, n_queries) whose columns sum to the number of rows
that count. Both models take missing values and categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy import sparse, special

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray

__all__ = ["LocalNaiveBayes", "LocalStump"]

_NOTHING = 1e-6  # weights below count as none in an entropy: what subtraction leaves of a zero
_EQUAL = 1e-10  # entropies (nats) this close are equal: rounding must not choose between tests
_PRECISION = 0.01  # of a numeric feature with one value (naive Bayes)


def _one_hot(position: IndexArray, codes: IndexArray, n_positions: int, n_classes: int) -> sparse.csr_matrix:
    """(n_classes * n_positions, n_rows): which cell of a table each row falls into."""
    n = len(codes)
    cell = codes * n_positions + position
    return sparse.csr_matrix((np.ones(n), (cell, np.arange(n))), shape=(n_positions * n_classes, n))


def _xlogx(values: FloatArray) -> FloatArray:
    log: FloatArray = np.maximum(values, _NOTHING)
    np.log(log, out=log)
    log *= values
    log[values < _NOTHING] = 0.0
    return log


def _sum_classes(table: FloatArray) -> FloatArray:
    """Sum over the first axis, in order, so that its bits do not depend on the number of queries."""
    total: FloatArray = reduce(np.add, table)
    return total


def _entropy(table: FloatArray) -> FloatArray:
    """Total times the entropy (in nats) of counts per class, which are the first axis."""
    return _xlogx(_sum_classes(table)) - _sum_classes(_xlogx(table))


@dataclass(frozen=True)
class Column:
    """A feature as the stump sees it: positions of the sorted distinct values, the last is missing."""

    values: FloatArray
    nominal: bool
    cells: sparse.csr_matrix


class LocalStump:
    """A decision stump: one test of one feature, by the entropy it leaves; missing is a third branch.

    A number is tested against the middle of two neighbouring values, a category for being one
    value. Equal entropies go to the earlier feature, and there to the lower value.

    Parameters
    ----------
    rows : ndarray of shape (n, M)
    nominal : bool ndarray of shape (M,)
    codes : int ndarray of shape (n,)
    """

    def __init__(self, rows: FloatArray, nominal: BoolArray, codes: IndexArray, n_classes: int) -> None:
        self.n_classes = n_classes
        self.columns = [self._column(rows[:, j], bool(nominal[j]), codes) for j in range(rows.shape[1])]
        #: numbers per query while one feature is tested
        self.cells = max(8 * (len(column.values) + 1) * n_classes for column in self.columns)

    def _column(self, values: FloatArray, nominal: bool, codes: IndexArray) -> Column:
        known = ~np.isnan(values)
        distinct = np.unique(values[known])
        position = np.where(known, np.searchsorted(distinct, values), len(distinct))
        return Column(distinct, nominal, _one_hot(position, codes, len(distinct) + 1, self.n_classes))

    def predict(self, W: FloatArray, queries: FloatArray) -> FloatArray:
        """Class shares of the branch each query falls into, (n_queries, n_classes).

        ``W`` is (n, n_queries). A branch that holds nothing answers with the shares of all rows.
        """
        n_queries = len(queries)
        best, total = np.full(n_queries, np.inf), W.sum(axis=0)
        share = np.zeros((n_queries, self.n_classes))
        for j, column in enumerate(self.columns):
            counts = (column.cells @ W).reshape(self.n_classes, -1, n_queries)
            entropy, branch = self._test(column, counts, queries[:, j])
            better = entropy < best - _EQUAL * total  # infinite where there is nothing to test
            best[better] = entropy[better]
            share[better] = branch[:, better].T
        everything = np.cumsum(counts, axis=1)[:, -1].T
        share = np.where(share.sum(axis=1, keepdims=True) > _NOTHING, share, everything)
        share = np.maximum(share, 0.0)
        shares: FloatArray = share / share.sum(axis=1, keepdims=True)
        return shares

    def _test(self, column: Column, counts: FloatArray, query: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Entropy that the best test of a feature leaves, and the counts per class of the query's branch."""
        known, missing = counts[:, :-1], counts[:, -1]
        n_queries = counts.shape[2]
        if known.shape[1] < 2 - column.nominal:
            return np.full(n_queries, np.inf), missing
        upto = np.cumsum(known, axis=1)
        total = upto[:, -1]
        inside = known if column.nominal else upto[:, :-1]
        outside = total[:, None] - inside
        present = _sum_classes(known) > 0
        left = _entropy(inside) + _entropy(outside)
        if not column.nominal:  # a test lies after a value that occurs, before another that does
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
    def _inside(column: Column, at: IndexArray, present: BoolArray, query: FloatArray) -> BoolArray:
        """Whether each query passes the test number ``at``."""
        if column.nominal:
            same: BoolArray = query == column.values[at]
            return same
        after = present & (np.arange(len(column.values))[:, None] > at)
        cut = (column.values[at] + column.values[np.argmax(after, axis=0)]) / 2
        below: BoolArray = query <= cut
        return below


class LocalNaiveBayes:
    """Naive Bayes: a normal density per class and number, Laplace's counts per class and category.

    A number stands for an interval as wide as the mean gap between neighbouring distinct values
    of its feature among the rows that count; that width over 6 is the least standard deviation.
    Missing cells are left out. A class none of whose rows count has probability 0.

    Parameters
    ----------
    rows : ndarray of shape (n, M)
    nominal : bool ndarray of shape (M,)
    codes : int ndarray of shape (n,)
    """

    def __init__(self, rows: FloatArray, nominal: BoolArray, codes: IndexArray, n_classes: int) -> None:
        self.n_classes = n_classes
        self.nominal = nominal
        self.rows = rows
        self.classes = _one_hot(np.zeros(len(codes), dtype=np.int64), codes, 1, n_classes)
        self.n_values = np.array([len(np.unique(column[~np.isnan(column)])) for column in rows.T])
        self.cells = 8 * len(rows)

    def predict(self, W: FloatArray, queries: FloatArray) -> FloatArray:
        """Class probabilities, (n_queries, n_classes); ``W`` is (n, n_queries)."""
        prior = self.classes @ W
        log = np.where(prior > 0, np.log(prior + 1.0), -np.inf)
        for j in range(self.rows.shape[1]):
            term = self._category(j, W, queries[:, j]) if self.nominal[j] else self._number(j, W, queries[:, j])
            log += np.where(np.isnan(queries[:, j]), 0.0, term)
        shares: FloatArray = special.softmax(log.T, axis=1)
        return shares

    def _sums(self, values: AnyArray, W: FloatArray, known: BoolArray) -> FloatArray:
        """Σ of weight times value over the known rows, per class and query."""
        total: FloatArray = self.classes[:, known] @ (values * W[known])
        return total

    def _category(self, j: int, W: FloatArray, query: FloatArray) -> FloatArray:
        column = self.rows[:, j]
        known = ~np.isnan(column)
        same = self._sums(column[known][:, None] == query, W, known)
        all_ = self._sums(np.ones((int(known.sum()), 1)), W, known)
        return np.where(_sum_classes(all_) > 0, np.log((same + 1.0) / (all_ + self.n_values[j])), 0.0)

    def _number(self, j: int, W: FloatArray, query: FloatArray) -> FloatArray:
        known = ~np.isnan(self.rows[:, j])
        center = np.median(self.rows[known, j]) if known.any() else 0.0
        width = _mean_gap(self.rows[known, j], W[known] > 0)
        column = np.rint(self.rows[known, j][:, None] / width) * width - center
        mass, mean, square = (self._sums(column**power, W, known) for power in range(3))
        everything = [_sum_classes(part) for part in (mass, mean, square)]
        # a class without a known value here is taken to be like all rows together
        mass, mean, square = (np.where(mass > 0, *pair) for pair in zip((mass, mean, square), everything, strict=True))
        mass = np.where(mass > 0, mass, 1.0)
        mean = mean / mass
        deviation = np.maximum(np.sqrt(np.maximum(square / mass - mean**2, 0.0)), width / 6)
        value = np.rint(query / width) * width - center
        log = _log_interval((value - mean) / deviation, width / deviation)
        return np.where(everything[0] > 0, log, 0.0)


def _mean_gap(column: FloatArray, present: BoolArray) -> FloatArray:
    """Mean distance of neighbouring distinct values among the rows present, per query."""
    distinct, position = np.unique(column, return_inverse=True)
    cells = sparse.csr_matrix((np.ones(len(column)), (position, np.arange(len(column)))))
    there = (cells @ present.astype(np.float64)) > 0 if len(column) else np.zeros((1, present.shape[1]), dtype=bool)
    gaps = there.sum(axis=0) - 1
    low = np.argmax(there, axis=0)
    high = len(there) - 1 - np.argmax(there[::-1], axis=0)
    span = distinct[high] - distinct[low] if len(column) else np.zeros(present.shape[1])
    return np.divide(span, gaps, out=np.full(len(gaps), _PRECISION), where=gaps > 0)


def _log_interval(z: FloatArray, width: FloatArray) -> FloatArray:
    """Log of the standard normal probability of an interval around z."""
    high, low = -np.abs(z) + width / 2, -np.abs(z) - width / 2
    top = special.log_ndtr(high)
    log: FloatArray = top + np.log1p(-np.exp(np.minimum(special.log_ndtr(low) - top, -1e-300)))
    return log
