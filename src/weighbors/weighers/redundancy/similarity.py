"""Similarity of features: correlation of numbers, mutual information of categories, and the correlation ratio of both.

The similarities of p features are p × p numbers. They are computed in blocks, so that they never need to be in memory
at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln, xlogy
from scipy.stats import rankdata

from ..._parallel.executors import ThreadExecutor
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray

#: Number of features of a block. It is fixed, so that results depend neither on memory nor on threads.
BLOCK = 1024
#: Fewer rows than this that differ from the most frequent value say nothing about a feature: they coincide by chance.
LEAST_VARIED = 5
#: A column of more categories than this, or than half of the rows, has no similarity: it is an identifier or a text.
MOST_CATEGORIES = 1000
#: Categories that are compared with all others at once.
_CATEGORY_BLOCK = 2048
#: The hypergeometric distribution is summed this many standard deviations to both sides of its mean.
_DEVIATIONS = 12.0


@dataclass(frozen=True, eq=False)
class CategoryCounts:
    """Columns of categories, each coded as one 0-1 column per category.

    Attributes
    ----------
    member : sparse array of shape (n_rows, n_categories)
        Whether a row has a category. The categories of one column stand side by side.
    begin : ndarray of shape (n_columns,)
        Position of the first category of each column.
    size : ndarray of shape (n_categories,)
        Number of rows of each category. It is at least 1.
    entropy : ndarray of shape (n_columns,)
        Entropy of each column, in nats.
    """

    member: Any
    begin: IndexArray
    size: IndexArray
    entropy: FloatArray

    @classmethod
    def from_codes(cls, codes: IndexArray) -> CategoryCounts:
        """Return the counts of columns of codes. ``codes`` has shape (n_rows, n_columns) and no negative number."""
        n, width = codes.shape
        parts = [np.unique(codes[:, j], return_inverse=True, return_counts=True)[1:] for j in range(width)]
        sizes = [count for _, count in parts]
        begin = np.r_[0, np.cumsum([len(count) for count in sizes], dtype=np.int64)]
        columns = np.concatenate([part + at for (part, _), at in zip(parts, begin, strict=False)] or [[]])
        rows = np.tile(np.arange(n), width)
        member = sparse.csc_array((np.ones(len(rows)), (rows, columns.astype(np.int64))), shape=(n, int(begin[-1])))
        entropy = np.array([np.log(n) - xlogy(count, count).sum() / n for count in sizes])
        return cls(member, begin[:-1], np.concatenate([*sizes, []]).astype(np.int64), entropy)

    @property
    def number(self) -> IndexArray:
        """Number of categories of each column."""
        return np.diff(np.r_[self.begin, len(self.size)])

    def take(self, columns: IndexArray) -> CategoryCounts:
        """Return the counts of some columns."""
        number = self.number[columns]
        begin = np.r_[0, np.cumsum(number)]
        # The positions of the categories of each column, one column after the other.
        places = np.repeat(self.begin[columns] - begin[:-1], number) + np.arange(begin[-1])
        return CategoryCounts(self.member[:, places], begin[:-1], self.size[places], self.entropy[columns])


def expected_terms(sizes: IndexArray, n: int) -> FloatArray:
    """Return the expected term of mutual information of two categories, if rows are assigned at random.

    Parameters
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of rows that a category may have.
    n : int
        Number of all rows.

    Returns
    -------
    ndarray of shape (n_sizes, n_sizes)
        The sum over k of P(k) · k/n · log(n k / (a b)), where a and b are the sizes of both categories, and k is the
        number of rows that have both, which is hypergeometric (Vinh, Epps & Bailey 2010).
    """
    out = np.zeros((len(sizes), len(sizes)))
    logs = gammaln(np.arange(n + 2))  # logs[i + 1] is the logarithm of i factorial
    for i, a in enumerate(sizes.tolist()):
        b = sizes[i:].astype(np.int64)
        mean = a * b / n
        spread = np.sqrt(mean * (1 - a / n) * (n - b) / max(n - 1, 1))
        low = np.maximum(np.maximum(1, a + b - n), np.floor(mean - _DEVIATIONS * spread - 2)).astype(np.int64)
        high = np.minimum(np.minimum(a, b), np.ceil(mean + _DEVIATIONS * spread + 20)).astype(np.int64)
        k = low[:, None] + np.arange(max(int((high - low).max()) + 1, 1))[None, :]
        valid = k <= high[:, None]
        k = np.where(valid, k, low[:, None])
        rest = b[:, None]
        chance = np.exp(
            logs[a + 1] + logs[rest + 1] + logs[n - a + 1] + logs[n - rest + 1] - logs[n + 1]
            - logs[k + 1] - logs[a - k + 1] - logs[rest - k + 1] - logs[np.maximum(n - a - rest + k, 0) + 1]
        )  # fmt: skip
        term = np.where(valid, chance * k / n * np.log(n * k / (a * rest)), 0.0).sum(axis=1)
        out[i, i:] = out[i:, i] = term
    return out


def adjusted_information(first: CategoryCounts, second: CategoryCounts, terms: FloatArray, sizes: AnyArray) -> Any:
    """Return the adjusted mutual information of all pairs of a column of ``first`` and a column of ``second``.

    It is (I − E) / (max(H, H') − E), where I is the mutual information, E is its mean if rows are assigned at random,
    and H and H' are the entropies. It is 1 if the columns are the same up to the names of the categories, and about 0
    for unrelated columns.

    Parameters
    ----------
    first, second : CategoryCounts
    terms : ndarray
        From `expected_terms`.
    sizes : ndarray
        The sizes of ``terms``, in ascending order. They contain all sizes of both.

    Returns
    -------
    ndarray of shape (n_columns of first, n_columns of second)
    """
    n = first.member.shape[0]
    both = np.asarray((first.member.T @ second.member).toarray())
    joint = np.log(n) - _sum_categories(xlogy(both, both), first, second) / n
    information = first.entropy[:, None] + second.entropy[None, :] - joint
    place, other = np.searchsorted(sizes, first.size), np.searchsorted(sizes, second.size)
    expected = _sum_categories(terms[np.ix_(place, other)], first, second)
    room = np.maximum(first.entropy[:, None], second.entropy[None, :]) - expected
    # Without room, for example if all rows have different categories, mutual information says nothing.
    usable = room > 1e-9
    return np.where(usable, (information - expected) / np.where(usable, room, 1.0), 0.0)


def _sum_categories(values: FloatArray, first: CategoryCounts, second: CategoryCounts) -> FloatArray:
    """Return the sums of ``values`` (categories × categories) over the categories of each pair of columns."""
    return np.asarray(np.add.reduceat(np.add.reduceat(values, first.begin, axis=0), second.begin, axis=1))


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
