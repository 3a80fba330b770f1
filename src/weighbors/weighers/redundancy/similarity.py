"""Similarity of features: correlation of numbers, mutual information of categories, and the correlation ratio of both.

The similarities of p features are p × p numbers. They are computed in blocks, so that they never need to be in memory
at once.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

from ..._parallel.executors import ThreadExecutor
from ..._typing import BoolArray, FloatArray, IndexArray
from .mutual_information import CategoryCounts, adjusted_information, expected_terms

#: Number of features of a block. It is fixed, so that results depend neither on memory nor on threads.
BLOCK = 1024
#: Fewer rows than this that differ from the most frequent value say nothing about a feature: they coincide by chance.
LEAST_VARIED = 5
#: A column of more categories than this, or than half of the rows, has no similarity: it is an identifier or a text.
MOST_CATEGORIES = 1000
#: Categories that are compared with all others at once.
_CATEGORY_BLOCK = 2048


class FeatureSimilarity:
    """Similarities of the features of a table, from 0 (unrelated) to 1 (the same up to scale, sign or names).

    Two numbers have the absolute value of their rank correlation (or of Pearson's correlation). Two columns of
    categories have the square root of their mutual information, corrected for chance and divided by the larger entropy.
    A number and a category have the correlation ratio, corrected for chance: the root of the share of the variance of
    the number that the categories explain.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, p)
        A coded table: numbers, codes of categories, and NaN for missing values. Pairs of numbers are compared in
        the rows in which both are known; these must be at least half of all rows. A missing category is a
        category of its own.
    nominal : bool ndarray of shape (p,)
        Mask of the columns that hold categories.
    correlation : {"spearman", "pearson"}
        Whether numbers are replaced by their ranks.

    Attributes
    ----------
    usable : bool ndarray of shape (p,)
        Features that vary enough to be compared. All others have similarity 0 with every other feature.
    has_rare_values : bool
        Whether most rows of a usable number have the same value.
    """

    def __init__(self, X: Any, nominal: BoolArray, *, correlation: str = "spearman") -> None:
        self.n, self.n_features = X.shape
        self.nominal = np.asarray(nominal, dtype=bool)
        numbers, codes = _columns(X, ~self.nominal), _columns(X, self.nominal)
        known = ~np.isnan(numbers)
        varied = self.n - _longest_run(numbers) - (~known).sum(axis=0)
        enough = varied >= LEAST_VARIED
        # A number of which most rows are equal, such as a rare event, coincides with others by chance more easily.
        self.has_rare_values = bool((enough & (2 * varied < self.n)).any())
        enough &= 2 * known.sum(axis=0) >= self.n
        if correlation == "spearman":
            # Missing values come last, so that they do not change the ranks of the others.
            numbers = rankdata(np.where(known, numbers, np.inf), axis=0)
        self._standardize(numbers, known, enough)
        codes = np.where(np.isnan(codes), -1, codes).astype(np.int64)
        self._code_categories(codes - codes.min(axis=0, initial=0))
        self.usable = np.zeros(self.n_features, dtype=bool)
        self.usable[~self.nominal], self.usable[self.nominal] = enough, self._category_enough
        # The position of each feature among the numbers, or among the categories.
        self._place = np.where(self.nominal, np.cumsum(self.nominal), np.cumsum(~self.nominal)) - 1

    def _standardize(self, numbers: FloatArray, known: BoolArray, enough: BoolArray) -> None:
        """Store the numbers with mean 0 and length 1 in each column. Missing and unusable values become 0."""
        values = np.where(known & enough, numbers, 0.0)
        # Values like 1e200 would overflow in the squares below.
        values /= np.maximum(np.abs(values).max(axis=0, initial=0.0), 1e-300)
        mean = values.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        values = np.where(known & enough, values - mean, 0.0)
        length = np.sqrt(np.square(values).sum(axis=0))
        self.numbers = values / np.where(length > 0, length, 1.0)
        self.known = known.astype(np.float64)
        self.incomplete: BoolArray = np.asarray((~known).any(axis=0))

    def _code_categories(self, codes: IndexArray) -> None:
        """Store the counts of the columns of categories, and the terms of expected mutual information."""
        number = np.array([len(np.unique(codes[:, j])) for j in range(codes.shape[1])], dtype=np.int64)
        enough = self.n - _longest_run(codes.astype(np.float64)) >= LEAST_VARIED
        enough &= (2 * number <= self.n) & (number <= MOST_CATEGORIES)
        # Columns that are not usable become constant, so that identifiers cost no memory.
        self.codes = np.where(enough, codes, 0)
        self._category_enough = enough
        self.counts = CategoryCounts.from_codes(self.codes)
        self._sizes = np.unique(self.counts.size)
        self._terms = expected_terms(self._sizes, self.n)

    def permute(self, random: np.random.Generator) -> FeatureSimilarity:
        """Return the similarities of a table in which the values of each column are exchanged between rows."""
        other = object.__new__(FeatureSimilarity)
        other.__dict__.update(self.__dict__)
        order = random.random(self.numbers.shape).argsort(axis=0)
        # Single precision is enough for the largest similarity by chance, and takes half of the time.
        other.numbers = np.take_along_axis(self.numbers, order, axis=0).astype(np.float32)
        if self.incomplete.any():
            other.known = np.take_along_axis(self.known, order, axis=0).astype(np.float32)
        if self.codes.shape[1]:
            order = random.random(self.codes.shape).argsort(axis=0)
            other.counts = CategoryCounts.from_codes(np.take_along_axis(self.codes, order, axis=0))
        return other

    def block(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        """Return the similarities of the features ``rows`` with the features ``columns``. Equal features have 1."""
        # Most tables hold numbers only: their correlations need not be copied into a larger block.
        out = self._mixed(rows, columns) if self.nominal.any() else self._correlations(rows, columns)
        _, i, j = np.intersect1d(rows, columns, assume_unique=True, return_indices=True)
        out[i, j] = 1.0
        return np.minimum(out, 1.0, out=out)

    def _mixed(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        """Return the similarities of features of both kinds, by their numbers."""
        out = np.zeros((len(rows), len(columns)))
        row_kinds, column_kinds = self.nominal[rows], self.nominal[columns]
        for first, second, measure in (
            (~row_kinds, ~column_kinds, self._correlations),
            (row_kinds, column_kinds, self._mutual_information),
            (~row_kinds, column_kinds, self._ratios),
            (row_kinds, ~column_kinds, lambda a, b: self._ratios(b, a).T),
        ):
            if first.any() and second.any():
                out[np.ix_(first, second)] = measure(self._place[rows[first]], self._place[columns[second]])
        # Columns that are not usable hold zeros or one category. Their similarities are 0 up to rounding errors.
        return np.where(np.outer(self.usable[rows], self.usable[columns]), out, 0.0)

    def _correlations(self, a: IndexArray, b: IndexArray) -> FloatArray:
        """Return the absolute correlations of numbers, by their positions among the numbers."""
        x, y = self.numbers[:, a], self.numbers[:, b]
        product: FloatArray = x.T @ y
        if self.incomplete[a].any() or self.incomplete[b].any():
            product = self._pairwise(product, x, y, self.known[:, a], self.known[:, b])
        return np.abs(product, out=product)

    def _pairwise(self, product: FloatArray, x: FloatArray, y: FloatArray, m: FloatArray, k: FloatArray) -> FloatArray:
        """Return the correlations of columns in the rows in which both are known.

        ``x`` and ``y`` are standardised columns with 0 for missing values, ``product`` is their product, and ``m`` and
        ``k`` are 1 where they are known.
        """
        shared = m.T @ k
        divisor = np.maximum(shared, 1)
        # Means and variances of each column depend on the other column, which decides which rows are shared.
        sum_x, sum_y = x.T @ k, m.T @ y
        covariance = product - sum_x * sum_y / divisor
        variance_x = np.square(x).T @ k - np.square(sum_x) / divisor
        variance_y = m.T @ np.square(y) - np.square(sum_y) / divisor
        varied = (variance_x > 1e-6) & (variance_y > 1e-6) & (2 * shared >= self.n)
        root = np.sqrt(np.where(varied, variance_x * variance_y, 1.0))
        return np.where(varied, covariance / root, 0.0)

    def _mutual_information(self, a: IndexArray, b: IndexArray) -> FloatArray:
        """Return the roots of the adjusted mutual information of columns of categories."""
        first, second = self.counts.take(a), self.counts.take(b)
        out = np.zeros((len(a), len(b)))
        for rows in _width_blocks(first.number):
            for columns in _width_blocks(second.number):
                found = adjusted_information(first.take(rows), second.take(columns), self._terms, self._sizes)
                out[np.ix_(rows, columns)] = np.sqrt(np.maximum(found, 0.0))
        return out

    def _ratios(self, a: IndexArray, b: IndexArray) -> FloatArray:
        """Return the corrected correlation ratios of numbers ``a`` and columns of categories ``b``."""
        counts = self.counts.take(b)
        sums, known = counts.member.T @ self.numbers[:, a], counts.member.T @ self.known[:, a]
        # Columns have mean 0 and length 1, so the share of the variance is the sum of squares between categories.
        between = np.add.reduceat(np.square(sums) / np.maximum(known, 1), counts.begin, axis=0).T
        there = np.add.reduceat(known > 0, counts.begin, axis=0, dtype=np.int64).T
        rows = self.known[:, a].sum(axis=0)[:, None]
        free = rows - there
        corrected = 1 - (1 - between) * (rows - 1) / np.maximum(free, 1)
        return np.sqrt(np.where(free > 0, np.maximum(corrected, 0.0), 0.0))

    def map_blocks(self, function: Callable[..., Any], n_jobs: int | None = None) -> list[Any]:
        """Return ``function(similarity, rows, columns)`` for all blocks of pairs of usable features, in order.

        ``similarity`` has one entry per pair of ``rows`` and ``columns``, two arrays of feature numbers. Every pair
        occurs once: entries that would repeat a pair, or compare a feature with itself, are 0.
        """

        def run_block(rows: IndexArray, columns: IndexArray) -> Any:
            """Compute the similarities of one block, and call ``function`` with them."""
            values = self.block(rows, columns)
            return function(np.triu(values, 1) if rows[0] == columns[0] else values, rows, columns)

        usable = np.flatnonzero(self.usable)
        parts = [usable[begin : begin + BLOCK] for begin in range(0, len(usable), BLOCK)]
        return ThreadExecutor(n_jobs).map(run_block, combinations_with_replacement(parts, 2))


def _width_blocks(number: IndexArray) -> list[IndexArray]:
    """Return blocks of columns that have at most about `_CATEGORY_BLOCK` categories together."""
    part = (np.cumsum(number) - 1) // _CATEGORY_BLOCK
    return [np.flatnonzero(part == one) for one in np.unique(part)]


def _columns(X: Any, mask: BoolArray) -> FloatArray:
    """Return some columns of a table as a dense float64 array."""
    if sparse.issparse(X):
        return np.asarray(X.tocsc()[:, np.flatnonzero(mask)].toarray(), dtype=np.float64)
    return np.asarray(X, dtype=np.float64)[:, mask]


def _longest_run(values: FloatArray) -> IndexArray:
    """Return how many rows have the most frequent value of each column. Missing values are not counted."""
    if not values.size:
        return np.zeros(values.shape[1], dtype=np.int64)
    ordered = np.sort(values, axis=0)
    place = np.arange(len(values))[:, None]
    # The first row of the run of equal values that each row belongs to. NaN is unlike NaN, so it makes no run.
    starts = np.ones(ordered.shape, dtype=bool)
    starts[1:] = ordered[1:] != ordered[:-1]
    begin = np.maximum.accumulate(np.where(starts, place, 0), axis=0)
    longest: IndexArray = (place - begin + 1).max(axis=0)
    return longest
