"""Scaling of the numbers of a table by what was learned from its training rows: standard, range or rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray

#: The ways to scale numbers. None: numbers stay as they are.
SCALES = ("standard", "range", "rank", None)


@dataclass(frozen=True)
class ColumnScales:
    """Learned scaling of numeric columns. Missing values stay missing.

    Parameters
    ----------
    center, spread : ndarray of shape (n_columns,)
        What is subtracted from each column, and what it is then divided by.
    values, ranks : tuple of ndarrays
        For ranks: the different values of each column in ascending order, and the rank of each, from 0 to 1. Empty for
        the other ways to scale.
    """

    center: FloatArray
    spread: FloatArray
    values: tuple[FloatArray, ...] = ()
    ranks: tuple[FloatArray, ...] = ()

    def transform(self, rows: FloatArray) -> FloatArray:
        """Return the scaled rows. A number between two training values gets a rank between theirs."""
        if not self.values:
            return (rows - self.center) / self.spread
        out = np.empty(rows.shape)
        for j, (values, ranks) in enumerate(zip(self.values, self.ranks, strict=True)):
            out[:, j] = np.interp(rows[:, j], values, ranks)  # NaN stays NaN
        return out

    def invert(self, rows: FloatArray) -> FloatArray:
        """Return numbers in their own units for scaled rows. Ranks outside 0 to 1 get the smallest or largest value."""
        if not self.values:
            return rows * self.spread + self.center
        out = np.empty(rows.shape)
        for j, (values, ranks) in enumerate(zip(self.values, self.ranks, strict=True)):
            out[:, j] = np.interp(rows[:, j], ranks, values)
        return out


def learn_scales(rows: FloatArray, scale: str | None, weight: FloatArray | None = None) -> ColumnScales:
    """Learn how to scale the columns of ``rows``.

    Parameters
    ----------
    rows : ndarray of shape (n, m)
        Numbers, NaN if missing. Every column has at least two different values.
    scale : {"standard", "range", "rank"} or None
        "standard": mean 0 and standard deviation 1. "range": the smallest value is 0 and the largest 1. "rank": the
        share of rows with a smaller value, plus half the share of rows with the same value. None: as they are.
    weight : ndarray of shape (n,), optional
        A row of weight 2 counts as two rows. Ranges do not depend on it.

    Returns
    -------
    ColumnScales

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [2.0], [5.0]])
    >>> learn_scales(rows, "range").transform(rows).ravel().tolist()
    [0.0, 0.25, 0.25, 1.0]
    >>> learn_scales(rows, "rank").transform(np.array([[1.0], [2.0], [3.5], [9.0]])).ravel().tolist()
    [0.125, 0.5, 0.6875, 0.875]
    """
    m = rows.shape[1]
    if scale is None:
        return ColumnScales(np.zeros(m), np.ones(m))
    if scale == "range":
        low, high = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
        return ColumnScales(low, high - low)
    weight = np.ones(len(rows)) if weight is None else weight
    if scale == "standard":
        return _learn_standard(rows, weight)
    found = [_learn_ranks(rows[:, j], weight) for j in range(m)]
    return ColumnScales(
        np.zeros(m), np.ones(m), tuple(values for values, _ in found), tuple(ranks for _, ranks in found)
    )


def _learn_standard(rows: FloatArray, weight: FloatArray) -> ColumnScales:
    """Return the weighted mean and standard deviation of each column, over the cells that are there."""
    # Numbers are first divided by the largest of their column, because squares of very large ones would be infinite.
    size = np.fmax.reduce(np.abs(rows), axis=0)
    size = np.where(size > 0, size, 1.0)
    small = rows / size
    there = np.where(np.isnan(rows), 0.0, weight[:, None])
    total = there.sum(axis=0)
    center = (np.nan_to_num(small) * there).sum(axis=0) / total
    spread = np.sqrt((np.nan_to_num(small - center) ** 2 * there).sum(axis=0) / total)
    # Values that differ only in their last digits can have a computed deviation of 0.
    return ColumnScales(center * size, np.where(spread > 0, spread, 1.0) * size)


def _learn_ranks(column: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the different values of a column, and the rank of each from 0 to 1."""
    there = ~np.isnan(column)
    values, code = np.unique(column[there], return_inverse=True)
    mass = np.bincount(code, weights=weight[there])
    return values, (np.cumsum(mass) - mass / 2) / mass.sum()
