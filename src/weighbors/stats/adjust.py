"""p-values of many comparisons, adjusted so that the chance of any false finding stays below alpha.

`bonferroni`, `holm` and `hochberg` take any p-values. `shaffer` and `bergmann_hommel` are for all
pairs of k methods, where hypotheses depend on each other: if A = B and B = C are true, so is A = C.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from math import comb, isqrt
from typing import Any

import numpy as np
import pandas as pd

from .._typing import AnyArray, FloatArray
from ..exceptions import InvalidDataError
from ._scores import as_numbers

_MOST_METHODS = 12  # 12 methods have 4.2 million partitions; those of 13 take 360 MB


def _check(p_values: Any) -> FloatArray:
    """Return p-values as an array. Raise InvalidDataError if one lies outside 0 to 1."""
    p = as_numbers(p_values, "p-values")
    if p.ndim != 1 or not len(p):
        raise InvalidDataError(f"p-values must be a vector that is not empty; got shape {p.shape}")
    if not ((p >= 0) & (p <= 1)).all():  # also NaN
        raise InvalidDataError(f"p-values must lie between 0 and 1; got {p[~((p >= 0) & (p <= 1))][:3].tolist()}")
    return p


def _as_given_type(p_values: Any, adjusted: FloatArray) -> Any:
    """Return adjusted values as a Series if a Series was given, and otherwise as an array."""
    adjusted = np.minimum(adjusted, 1.0)
    return pd.Series(adjusted, index=p_values.index) if isinstance(p_values, pd.Series) else adjusted


def _step_down(p: FloatArray, factors: FloatArray) -> FloatArray:
    """Multiply the sorted p-values by ``factors``, and raise each result at least to the result before it."""
    order = np.argsort(p, kind="stable")
    out = np.empty_like(p)
    out[order] = np.maximum.accumulate(p[order] * factors)
    return out


def bonferroni(p_values: Any) -> Any:
    """Adjust p-values by Bonferroni's procedure: multiply each by their number. The result is at most 1.

    Parameters
    ----------
    p_values : array-like or Series of shape (m,)

    Returns
    -------
    ndarray or Series of shape (m,)

    Examples
    --------
    >>> bonferroni([0.01, 0.04, 0.03])
    array([0.03, 0.12, 0.09])
    """
    p = _check(p_values)
    return _as_given_type(p_values, p * len(p))


def holm(p_values: Any) -> Any:
    """Adjust p-values by Holm's procedure, which steps from the smallest p-value to the largest.

    The i-th smallest of m p-values is multiplied by m − i + 1, and then raised to the adjusted value before it, if that
    is larger.

    Parameters
    ----------
    p_values : array-like or Series of shape (m,)

    Returns
    -------
    ndarray or Series of shape (m,)
        In the order given.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = _check(p_values)
    return _as_given_type(p_values, _step_down(p, np.arange(len(p), 0, -1.0)))


def hochberg(p_values: Any) -> Any:
    """Adjust p-values by Hochberg's procedure, which steps from the largest p-value to the smallest.

    The factors are those of Holm. It is more powerful than Holm's adjustment, but needs independent or positively
    dependent tests.

    Parameters
    ----------
    p_values : array-like or Series of shape (m,)

    Returns
    -------
    ndarray or Series of shape (m,)
        In the order given.

    Examples
    --------
    >>> hochberg([0.01, 0.04, 0.03])
    array([0.03, 0.04, 0.04])
    """
    p = _check(p_values)
    # The largest p-value has the factor 1. Each adjusted value is at most that of the next larger p-value.
    order = np.argsort(p, kind="stable")[::-1]
    out = np.empty_like(p)
    out[order] = np.minimum.accumulate(p[order] * np.arange(1.0, len(p) + 1))
    return _as_given_type(p_values, out)


def _n_methods(m: int, name: str) -> int:
    """Return the number of methods among which there are ``m`` pairs. ``name`` is the procedure in the message."""
    # k (k − 1) / 2 = m is solved for k. Integer arithmetic gives an exact answer, which is checked below.
    k = (1 + isqrt(1 + 8 * m)) // 2
    if comb(k, 2) != m:
        raise InvalidDataError(
            f"{name} needs the p-values of all k(k − 1)/2 pairs of k methods (1, 3, 6, 10, ...); got {m}. "
            "For comparisons with a control take holm or hochberg"
        )
    return k


@lru_cache(maxsize=64)
def _true_counts(k: int) -> frozenset[int]:
    """Return all possible numbers of true hypotheses among the pairwise hypotheses of k methods (Shaffer 1986)."""
    if k < 2:
        return frozenset({0})
    # The first group has j equal methods, which makes j (j − 1) / 2 hypotheses true; the other k − j methods form
    # groups of their own.
    return frozenset(comb(j, 2) + rest for j in range(1, k + 1) for rest in _true_counts(k - j))


def shaffer(p_values: Any) -> Any:
    """Adjust the p-values of all pairs by Shaffer's static procedure.

    It is Holm's procedure with smaller factors: the largest number of hypotheses that can still be true together.

    Parameters
    ----------
    p_values : array-like or Series of shape (k(k − 1)/2,)
        The p-values of all pairs of k methods, in any order.

    Returns
    -------
    ndarray or Series of the same shape

    References
    ----------
    .. [1] J. P. Shaffer, "Modified sequentially rejective multiple test procedures", JASA 81, 1986.

    Examples
    --------
    Once a pair of three methods differs, at most one hypothesis can still be true:

    >>> shaffer([0.01, 0.04, 0.03])
    array([0.03, 0.04, 0.03])
    """
    p = _check(p_values)
    # With m hypotheses left, not every number up to m can be true together: take the largest possible one.
    possible = np.array(sorted(_true_counts(_n_methods(len(p), "shaffer"))))
    remaining = np.arange(len(p), 0, -1)
    factors = possible[np.searchsorted(possible, remaining, side="right") - 1].astype(np.float64)
    return _as_given_type(p_values, _step_down(p, factors))


def _partitions(k: int) -> AnyArray:
    """Return all partitions of k methods into groups: one row of group numbers for each partition."""
    rows = np.zeros((1, 1), dtype=np.int8)
    for _ in range(1, k):
        groups = rows.max(axis=1).astype(np.int64) + 2  # the method joins one of these, or starts its own
        # Every partition is repeated once for each group that the next method can join; the number of the copy is
        # the number of that group.
        parent = np.repeat(np.arange(len(rows)), groups)
        first = np.repeat(np.cumsum(groups) - groups, groups)
        joined = (np.arange(len(parent)) - first).astype(np.int8)
        rows = np.column_stack([rows[parent], joined])
    return rows


def bergmann_hommel(p_values: Any) -> Any:
    """Adjust the p-values of all pairs by Bergmann and Hommel's procedure, the most powerful one in this module.

    A set of pairwise hypotheses is exhaustive if exactly these hypotheses can be true together: the pairs within the
    groups of some partition of the methods. The adjusted p-value of a hypothesis is the largest value of (size ·
    smallest p-value) over the exhaustive sets that contain it. It is never less than that of a hypothesis with a
    smaller p-value.

    Parameters
    ----------
    p_values : array-like or Series of shape (k(k − 1)/2,)
        The p-values of all pairs of k ≤ 12 methods, in the order (0, 1), (0, 2), ..., (1, 2), ...

    Returns
    -------
    ndarray or Series of the same shape

    References
    ----------
    .. [1] S. García, F. Herrera, "An extension on 'Statistical comparisons of classifiers over
       multiple data sets' for all pairwise comparisons", JMLR 9, 2008.

    Examples
    --------
    >>> bergmann_hommel([0.001, 0.02, 0.03, 0.01, 0.2, 0.04])  # of four methods
    array([0.006, 0.06 , 0.06 , 0.03 , 0.2  , 0.06 ])
    """
    p = _check(p_values)
    k = _n_methods(len(p), "bergmann_hommel")
    if k > _MOST_METHODS:
        raise InvalidDataError(
            f"bergmann_hommel goes through every partition of the methods, which ends at {_MOST_METHODS} of them; "
            f"got {k}. Take shaffer"
        )
    # One column per partition: the loops below go over the pairs, and NumPy over millions of partitions.
    group = np.ascontiguousarray(_partitions(k).T)
    pairs = list(combinations(range(k), 2))
    # Size and smallest p-value of the exhaustive set that belongs to each partition.
    size = np.zeros(group.shape[1], dtype=np.int16)
    least = np.ones(group.shape[1])
    for (i, j), value in zip(pairs, p, strict=True):
        together = group[i] == group[j]
        size += together
        np.minimum(least, value, out=least, where=together)
    # The value of an exhaustive set: its size times its smallest p-value.
    score = size * least
    adjusted = np.array([score[group[i] == group[j]].max() for i, j in pairs])
    order = np.argsort(p, kind="stable")
    adjusted[order] = np.maximum.accumulate(adjusted[order])  # monotone in p, as in the published tables
    return _as_given_type(p_values, adjusted)


def adjust(p_values: Any, method: str) -> Any:
    """Adjust p-values by the procedure called ``method``.

    Parameters
    ----------
    p_values : array-like or Series of shape (m,)
    method : {"bonferroni", "holm", "hochberg", "shaffer", "bergmann"}

    Returns
    -------
    ndarray or Series of shape (m,)

    Examples
    --------
    >>> adjust([0.01, 0.04, 0.03], "holm")
    array([0.03, 0.06, 0.06])
    """
    if method not in ADJUSTMENTS:
        raise InvalidDataError(f"adjust must be one of {sorted(ADJUSTMENTS)}; got {method!r}")
    return ADJUSTMENTS[method](p_values)


#: Procedures by name.
ADJUSTMENTS: dict[str, Callable[[Any], Any]] = {
    "bonferroni": bonferroni,
    "holm": holm,
    "hochberg": hochberg,
    "shaffer": shaffer,
    "bergmann": bergmann_hommel,
}
