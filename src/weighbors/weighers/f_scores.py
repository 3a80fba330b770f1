"""F-statistics of all columns of a table with missing values at once."""

from __future__ import annotations

import numpy as np

from .._typing import AnyArray, FloatArray

__all__ = ["f_of_classes", "f_of_numbers"]


def f_of_classes(X: FloatArray, y: AnyArray) -> FloatArray:
    """Return the F-statistic of each column for classes, from the rows in which the column is known.

    The scores are those of scikit-learn's `f_classif` on these rows. They are NaN or infinite if a column is constant,
    or constant within each class, and NaN if it is known in one class only.

    Examples
    --------
    >>> f_of_classes(np.array([[0.0, 0.0], [1.0, np.nan], [2.0, 2.0], [4.0, 4.0]]), np.array([0, 0, 1, 1]))
    array([5., 3.])
    """
    known = ~np.isnan(X)
    indicators = (np.unique(y)[:, None] == y).astype(np.float64)
    counts = indicators @ known
    n, present = counts.sum(axis=0), (counts > 0).sum(axis=0)
    with np.errstate(all="ignore"):
        # Without its mean, a column with large values does not lose digits in the squares.
        centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / n, 0.0)
        means = np.where(counts > 0, (indicators @ centred) / counts, 0.0)
        between = (counts * means**2).sum(axis=0)
        within = np.square(centred - np.where(known, indicators.T @ means, 0.0)).sum(axis=0)
        rounding = _rounding(X, n)
        between, within = (np.where(part > rounding, part, 0.0) for part in (between, within))
        return np.asarray((between / (present - 1)) / (within / (n - present)))


def f_of_numbers(X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the F-statistic of the regression of a numeric target on each column, from the rows where it is known.

    The scores are those of scikit-learn's `f_regression` on these rows, but NaN if a column or the target is constant.

    Examples
    --------
    >>> f_of_numbers(np.array([[0.0], [1.0], [np.nan], [2.0]]), np.array([0.0, 1.0, 5.0, 1.0])).round(6)
    array([3.])
    """
    known = ~np.isnan(X)
    n = known.sum(axis=0)
    with np.errstate(all="ignore"):
        centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / n, 0.0)
        target = np.where(known, y[:, None] - (y @ known) / n, 0.0)
        own, others = np.square(centred).sum(axis=0), np.square(target).sum(axis=0)
        own = np.where(own > _rounding(X, n), own, 0.0)
        explained = np.square((centred * target).sum(axis=0)) / (own * others)
        return np.asarray(explained / (1 - explained) * (n - 2))


def _rounding(X: FloatArray, n: AnyArray) -> FloatArray:
    """Return for each column how large a sum of ``n`` squares can become by rounding alone, if all of them are 0."""
    largest = np.abs(np.nan_to_num(X)).max(axis=0)
    return np.asarray(n * np.square(4 * np.finfo(np.float64).eps * largest))
