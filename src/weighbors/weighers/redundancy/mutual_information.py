"""Mutual information of columns of categories, corrected for chance, for all pairs of two blocks of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln, xlogy

from ..._typing import AnyArray, FloatArray, IndexArray

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
