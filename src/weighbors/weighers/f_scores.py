"""F-statistics of all columns of a table at once, also with missing values, and with an offset to the deviation."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import AnyArray, BoolArray, FloatArray

_TAIL = 0.05  # deviations beyond this quantile, and beyond 1 minus it, count as at the quantile
_LEAST_COLUMNS = 100  # of fewer columns, quantiles of their deviations say little
_MOST_RATIO = 100.0  # by which the deviations of columns on one scale differ (90th to 10th percentile)


def f_of_classes(X: FloatArray, y: AnyArray) -> FloatArray:
    """Return the F-statistic of each column for classes, from the rows in which the column is known.

    The scores are those of scikit-learn's `f_classif` on these rows. They are NaN or infinite if a column is constant,
    or constant within each class, and NaN if it is known in one class only.

    Examples
    --------
    >>> f_of_classes(np.array([[0.0, 0.0], [1.0, np.nan], [2.0, 2.0], [4.0, 4.0]]), np.array([0, 0, 1, 1]))
    array([5., 3.])
    """
    between, within = _variances_of_classes(X, y)
    with np.errstate(all="ignore"):
        return np.asarray(between / within)


def f_of_numbers(X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the F-statistic of the regression of a numeric target on each column, from the rows where it is known.

    The scores are those of scikit-learn's `f_regression` on these rows, but NaN if a column or the target is constant.

    Examples
    --------
    >>> f_of_numbers(np.array([[0.0], [1.0], [np.nan], [2.0]]), np.array([0.0, 1.0, 5.0, 1.0])).round(6)
    array([3.])
    """
    explained, residual = _variances_of_numbers(X, y)
    with np.errstate(all="ignore"):
        return np.asarray(explained / residual)


def moderated_f(X: FloatArray, y: AnyArray, *, numeric: bool, quantile: float = 0.75) -> FloatArray:
    """Return the F-statistic of each column with an offset that is added to the deviation of the column.

    The score is B / s² · (c / (c + s₀))², where B is the variance between classes (or that which the numeric target
    explains), s² the variance within them (or what is left), s₀ the ``quantile`` of all s, and c is s, but at least
    the 5th and at most the 95th percentile. Without these limits it is B / (s + s₀)², for two classes the square of the
    statistic d of SAM (Tusher, Tibshirani and Chu 2001), which takes another quantile. The limits bound what the unit
    of a single column can do to its score.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Numbers on one scale. Missing values are allowed.
    y : ndarray of shape (n_samples,)
        Classes, or numbers if ``numeric``.
    numeric : bool
    quantile : float, default=0.75

    Examples
    --------
    The second column is the first one in a smaller unit. Its F-statistic is the same, and its score is smaller.

    >>> X = np.array([[0.0, 0.0], [1.0, 0.1], [2.0, 0.2], [4.0, 0.4]])
    >>> y = np.array([0, 0, 1, 1])
    >>> f_of_classes(X, y).round(3), moderated_f(X, y, numeric=False).round(3)
    (array([5., 5.]), array([1.524, 0.124]))
    """
    between, within = (_variances_of_numbers if numeric else _variances_of_classes)(X, y)
    with np.errstate(all="ignore"):
        f = between / within
        deviation = np.sqrt(within)
        varied = deviation[np.isfinite(deviation) & (deviation > 0)]
        if not len(varied):
            return np.asarray(f)
        low, offset, high = np.quantile(varied, [_TAIL, quantile, 1 - _TAIL])
        bounded = np.clip(deviation, low, high)
        return np.asarray(f * np.square(bounded / (bounded + offset)))


def on_one_scale(X: Any, nominal: BoolArray) -> bool:
    """Return whether the columns may be taken as measurements of one kind, such as the expression of many genes.

    This is so for at least 100 columns of numbers whose standard deviations differ by at most a hundredfold (90th to
    10th percentile). Constant columns do not count. Sparse tables are counts whose deviation follows their frequency,
    and are not on one scale in this sense.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 200))
    >>> numbers = np.zeros(200, dtype=bool)
    >>> on_one_scale(X, numbers), on_one_scale(X * 10.0 ** np.arange(-100, 100), numbers)
    (True, False)
    """
    if sparse.issparse(X) or nominal.any() or X.shape[1] < _LEAST_COLUMNS:
        return False
    known = ~np.isnan(X)
    n = known.sum(axis=0)
    with np.errstate(all="ignore"):
        centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / n, 0.0)
        variance = np.square(centred, dtype=np.float64).sum(axis=0)
        deviation = np.sqrt(np.where(variance > _rounding(X, n), variance, 0.0) / n)
    varied = deviation[np.isfinite(deviation) & (deviation > 0)]
    if len(varied) < _LEAST_COLUMNS:
        return False
    low, high = np.quantile(varied, [0.1, 0.9])
    return bool(high <= _MOST_RATIO * low)


def _variances_of_classes(X: FloatArray, y: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean squares between and within classes of each column, from the rows in which it is known."""
    indicators = (np.unique(y)[:, None] == y).astype(np.float64)
    known = ~np.isnan(X)
    with np.errstate(all="ignore"):  # squares of numbers near 1e300 overflow, and the score is not defined
        if known.all():  # the same with less work
            counts = indicators.sum(axis=1)
            n, present = len(X), len(counts)
            centred = X - X.mean(axis=0, dtype=np.float64)
            means = (indicators @ centred) / counts[:, None]
            between = counts @ means**2
            own = means[indicators.argmax(axis=0)]
        else:
            counts = indicators @ known
            n, present = counts.sum(axis=0), (counts > 0).sum(axis=0)
            # Without its mean, a column with large values does not lose digits in the squares.
            centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / n, 0.0)
            means = np.where(counts > 0, (indicators @ centred) / counts, 0.0)
            between = (counts * means**2).sum(axis=0)
            own = np.where(known, indicators.T @ means, 0.0)
        # Summed from differences, not as total minus between, which would lose digits.
        within = np.square(centred - own).sum(axis=0)
        rounding = _rounding(X, n)
        between, within = (np.where(part > rounding, part, 0.0) for part in (between, within))
        return between / (present - 1), within / (n - present)


def _variances_of_numbers(X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean squares of each column that a linear function of the target explains, and that it leaves."""
    known = ~np.isnan(X)
    n = known.sum(axis=0)
    with np.errstate(all="ignore"):
        centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / n, 0.0)
        target = np.where(known, y[:, None] - (y @ known) / n, 0.0)
        own, others = np.square(centred).sum(axis=0), np.square(target).sum(axis=0)
        own = np.where(own > _rounding(X, n), own, 0.0)
        explained = np.square((centred * target).sum(axis=0)) / (own * others)
        return explained * own, (1 - explained) * own / (n - 2)


def _rounding(X: FloatArray, n: AnyArray | int) -> FloatArray:
    """Return for each column how large a sum of ``n`` squares can become by rounding alone, if all of them are 0."""
    largest = np.fmax(np.fmax.reduce(X, axis=0), -np.fmin.reduce(X, axis=0))
    return np.asarray(n * np.square(4 * np.finfo(np.float64).eps * largest))
