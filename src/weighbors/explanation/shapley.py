"""Shapley values of features: how much each feature adds to a score, compared with the scores of other rows.

Take a background row b and exchange its values, one feature after the other, for those of the query q. At the end the
score has gone from f(b) to f(q). The contribution of a feature is the change of the score when its value is exchanged,
averaged over all orders of the features and over the background rows. So contributions add up to f(q) minus the mean
score of the background rows. These are Shapley values [1]_ with an interventional background, as SHAP has them [2]_.

Three ways compute them. Kernels that are a product of one factor per feature have an exact integral [3]_. Up to ten
features, all subsets are counted. Else orders are drawn [4]_: the sum is still exact, and the split has a standard
error.

References
----------
.. [1] L. Shapley, "A value for n-person games", 1953.
.. [2] S. Lundberg, S.-I. Lee, "A unified approach to interpreting model predictions", NeurIPS 2017.
.. [3] G. Owen, "Multilinear extensions of games", Management Science 18, 1972.
.. [4] E. Štrumbelj, I. Kononenko, "An efficient explanation of individual classifications using game theory", JMLR 11,
   2010.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import factorial
from typing import NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray, IndexArray

#: Up to so many features all subsets are counted.
MOST_SUBSET_FEATURES = 10
_CELLS = 4_000_000  # cells of candidate rows in memory at the same time
_PRECISION = 1e-11  # relative error of the integral, judged by its sum over features
_FIRST_NODES = 8

Scores = Callable[[FloatArray], FloatArray]  # rows of shape (n, M) → scores of shape (n, n_outputs)


class Contributions(NamedTuple):
    """What each feature adds to the scores of one query. ``base`` and the sum of ``by_feature`` are the scores."""

    by_feature: FloatArray  # (n_features, n_outputs)
    base: FloatArray  # (n_outputs,) mean score of the background rows
    standard_error: FloatArray | None  # (n_features, n_outputs) of the split, or None if it is exact
    n_background: int


def _change(query: FloatArray, background: FloatArray, known: BoolArray, player: IndexArray) -> FloatArray:
    """Return the background row with the values of the query in the features that are known, for many sets of these.

    Parameters
    ----------
    query, background : ndarrays of shape (M,)
    known : ndarray of bool, shape (n_sets, n_features)
    player : ndarray of int, shape (M,)
        The feature to which each column belongs, or -1 if the column has no influence.
    """
    # Columns without influence always have the value of the query.
    column_known = np.where(player >= 0, known[:, np.maximum(player, 0)], True)
    return np.where(column_known, query, background)


def _scores_of_sets(
    scores: Scores, query: FloatArray, background: FloatArray, known: BoolArray, player: IndexArray
) -> FloatArray:
    """Return the scores of a row for many sets of known features. The parameters are those of `_change`."""
    size = max(1, _CELLS // len(query))
    parts = [
        scores(_change(query, background, known[begin : begin + size], player)) for begin in range(0, len(known), size)
    ]
    return np.concatenate(parts)


def shapley_by_subsets(
    scores: Scores, query: FloatArray, backgrounds: FloatArray, player: IndexArray, n_features: int
) -> Contributions:
    """Return exact contributions, from the scores of all subsets of the features.

    Parameters
    ----------
    scores : callable
        Returns the scores of rows, of shape (n, n_outputs).
    query : ndarray of shape (M,)
    backgrounds : ndarray of shape (n_background, M)
    player : ndarray of int, shape (M,)
        The feature to which each column belongs, or -1 if the column has no influence.
    n_features : int
        At most `MOST_SUBSET_FEATURES`, since there are 2 to this power subsets.

    Examples
    --------
    >>> product = lambda rows: rows.prod(axis=1, keepdims=True)
    >>> found = shapley_by_subsets(product, np.array([2.0, 3.0]), np.zeros((1, 2)), np.array([0, 1]), 2)
    >>> found.by_feature.ravel(), found.base
    (array([3., 3.]), array([0.]))
    """
    known, after, before, weight = _all_subsets(n_features)
    values, base = 0.0, 0.0
    for background in backgrounds:
        worth = _scores_of_sets(scores, query, background, known, player)
        gain = (worth[after] - worth[before]) * weight[:, :, None]  # (n_features, n_subsets / 2, n_outputs)
        values = values + gain.sum(axis=1)
        base = base + worth[0]
    n = len(backgrounds)
    return Contributions(np.asarray(values) / n, np.asarray(base) / n, None, n)


@cache
def _all_subsets(n: int) -> tuple[BoolArray, IndexArray, IndexArray, FloatArray]:
    """Return all subsets of n features, and for each feature the subsets with and without it, and their weights."""
    number = np.arange(2**n)
    known = (number[:, None] >> np.arange(n)) & 1 == 1
    size = known.sum(axis=1)
    by_size = np.array([factorial(s) * factorial(n - s - 1) / factorial(n) for s in range(n)])
    before = np.array([number[~known[:, j]] for j in range(n)]).reshape(n, -1)
    after = before + 2 ** np.arange(n)[:, None]
    return known, after, before, by_size[size[before]]


def shapley_by_orders(
    scores: Scores,
    query: FloatArray,
    backgrounds: FloatArray,
    player: IndexArray,
    n_features: int,
    rng: np.random.Generator,
) -> Contributions:
    """Return contributions along drawn orders of the features: one order and its reverse for each background row.

    The sum is exact. The split has a standard error, which is estimated from the background rows.
    The parameters are those of `shapley_by_subsets`; ``rng`` draws the orders.
    """
    each, base = [], 0.0
    for background in backgrounds:
        order = rng.permutation(n_features)
        found = []
        for line in (order, order[::-1]):
            place = np.empty(n_features, dtype=np.int64)
            place[line] = np.arange(n_features)
            # In step k the first k features of the order are known.
            known = place[None, :] < np.arange(n_features + 1)[:, None]
            worth = _scores_of_sets(scores, query, background, known, player)
            found.append(np.diff(worth, axis=0)[place])
        base = base + worth[0]
        each.append((found[0] + found[1]) / 2)
    n = len(each)
    error = np.std(each, axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(each[0].shape, np.nan)
    return Contributions(np.mean(each, axis=0), np.asarray(base) / n, error, n)


def shapley_of_products(near: FloatArray, far: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the exact contributions to f = Σ_i α_i Π_j k_ij, where a feature's factor goes from ``far`` to ``near``.

    The Shapley value is the integral, over t from 0 to 1, of the derivative of the multilinear extension: every factor
    is t · near + (1 − t) · far. The integrand is a polynomial of degree n_features − 1, so Gauss's rule with half as
    many nodes has no error. As few nodes are used as the sum over features, which is known, shows to be enough.

    Parameters
    ----------
    near, far : ndarrays of shape (n, n_features)
        Factors of the kernel of n stored rows for the query, and for a background row. They are not negative.
    alpha : ndarray of shape (n, n_outputs)

    Returns
    -------
    ndarray of shape (n_features, n_outputs)

    Examples
    --------
    >>> shapley_of_products(np.array([[0.5, 0.2]]), np.array([[1.0, 1.0]]), np.array([[1.0]])).ravel()
    array([-0.3, -0.6])
    """
    exact = -(-near.shape[1] // 2)
    total = (near.prod(axis=1) - far.prod(axis=1)) @ alpha
    scale = np.abs(alpha * (near.prod(axis=1) + far.prod(axis=1))[:, None]).sum(axis=0) + 1e-300
    n_nodes = min(exact, _FIRST_NODES)
    while True:
        values = _integrate_products(near, far, alpha, n_nodes)
        if n_nodes >= exact or (np.abs(values.sum(axis=0) - total) <= _PRECISION * scale).all():
            return values
        n_nodes = min(exact, 2 * n_nodes)


def _integrate_products(near: FloatArray, far: FloatArray, alpha: FloatArray, n_nodes: int) -> FloatArray:
    """Return the integral of `shapley_of_products` by Gauss's rule with ``n_nodes`` nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    step, out = near - far, np.zeros((near.shape[1], alpha.shape[1]))
    for t, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        between = far + t * step
        product = between.prod(axis=1)
        # The product of the other factors is the whole product divided by the own factor. It is 0 only if both ends
        # are 0: then the feature changes nothing.
        ratio = np.divide(step, between, out=np.zeros_like(step), where=between > 0)
        out += weight * (ratio.T @ (product[:, None] * alpha))
    return out
