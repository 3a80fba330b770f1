"""Turn neighbours into votes, and votes into class probabilities, predicted classes and means of numeric targets."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from .._typing import BoolArray, FloatArray, IndexArray
from .._warnings import warn
from ..exceptions import InvalidDataError, NoVoteWarning

_ROUNDING = 1e-12  # relative to k: what is left of k after sums of fractions is no vote


def distance_votes(
    distance: FloatArray,
    how: str | Callable[[FloatArray], Any] | None,
    *,
    span: float,
    shares: FloatArray | None = None,
) -> FloatArray | None:
    """Return the factor that the distance of each neighbour gives to its vote, or None for equal votes.

    Parameters
    ----------
    distance : ndarray of shape (n_queries, k)
    how : {"uniform", "distance", "complement"}, callable or None
        "uniform" or None: equal votes. "distance": 1/d, and if neighbours are at distance 0, only these vote.
        "complement": 1 − d/span, at least 0. A function takes the distances and returns the votes.
    span : float
        Distance at which the vote of "complement" is 0.
    shares : ndarray of shape (n_queries, k), optional
        Votes from `mass_votes`. A neighbour whose share is 0 does not vote in a function, even if its vote is
        infinite.

    Returns
    -------
    ndarray of shape (n_queries, k), or None

    Examples
    --------
    >>> distance_votes(np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]]), "distance", span=8.0)
    array([[1.  , 0.5 , 0.25],
           [1.  , 0.  , 0.  ]])
    """
    if callable(how):
        votes = np.asarray(how(distance), dtype=np.float64)
        if votes.shape != distance.shape or not (votes >= 0).all():
            raise InvalidDataError(
                "the function given as weights must return votes >= 0, none of them NaN, of the shape it was given, "
                f"{distance.shape}; got shape {votes.shape}, {int((~(votes >= 0)).sum())} of them negative or NaN"
            )
        return _only_infinite(votes if shares is None else np.where(shares > 0, votes, 0.0))
    if how is None or how == "uniform":
        return None
    d = distance.astype(np.float64)
    if how == "complement":
        complement: FloatArray = np.maximum(0.0, 1.0 - d / span)
        return complement
    with np.errstate(divide="ignore"):
        # A distance of 0 gives an infinite vote, which is meant: only such neighbours then vote.
        inverse = 1.0 / d
    return _only_infinite(inverse)


def _only_infinite(votes: FloatArray) -> FloatArray:
    """Return the votes. If a query has infinite votes, these become 1 and its other votes become 0."""
    infinite = np.isinf(votes)
    return np.where(infinite.any(axis=1, keepdims=True), infinite.astype(np.float64), votes)


def mass_votes(mass: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Return votes of neighbours with repetition weights, such that the votes of a query add up to at most ``k``.

    Neighbours are taken, nearest first, until their weights add up to ``k``. The last one counts only for the rest.

    Parameters
    ----------
    mass : ndarray of shape (n_queries, n_neighbors)
        Repetition weights of the neighbours, nearest first.
    k : int
        Largest sum of the votes of a query.

    Returns
    -------
    votes : ndarray of shape (n_queries, n_neighbors)
    reached : ndarray of shape (n_queries,)
        Sum of the repetition weights of all neighbours of each query.

    Examples
    --------
    >>> mass_votes(np.array([[2.0, 2.0, 2.0]]), 3)
    (array([[2., 1., 0.]]), array([6.]))
    """
    before = np.cumsum(mass, axis=1) - mass
    left = k - before
    # a sum of fractions may miss k by its last bits: the neighbour after it must not get a vote from that
    left[left < k * _ROUNDING] = 0.0
    votes: FloatArray = np.minimum(left, mass)
    return votes, before[:, -1] + mass[:, -1]


def combine_votes(
    by_distance: FloatArray | None, shares: FloatArray | None, omega: FloatArray | None
) -> FloatArray | None:
    """Return the vote of each neighbour: the product of its factors. Return None for equal votes.

    If all products of a query are zero, its neighbours vote by their shares alone, with a warning. Repetition
    weights do not depend on the distance, so they still count.

    Parameters
    ----------
    by_distance : ndarray of shape (n_queries, k), or None
        From `distance_votes`.
    shares : ndarray of the same shape, or None
        Votes from `mass_votes`. None: 1 for each neighbour.
    omega : ndarray of the same shape, or None
        Votes ω of the instances, from the weights.

    Returns
    -------
    ndarray of the same shape, or None

    Examples
    --------
    >>> combine_votes(np.array([[1.0, 0.5]]), np.array([[2.0, 1.0]]), None)
    array([[2. , 0.5]])
    """
    factors = [factor for factor in (shares, by_distance, omega) if factor is not None]
    if not factors:
        return None
    return _replace_silent(reduce(np.multiply, factors), shares)


def _replace_silent(votes: FloatArray, shares: FloatArray | None) -> FloatArray:
    """Return the votes. If all votes of a query are zero, use its shares instead (None: 1 each), with a warning."""
    silent: BoolArray = ~np.any(votes > 0, axis=1)
    if not silent.any():
        return votes
    how = "equally" if shares is None else "by their sample weights alone"
    warn(f"all neighbours of {int(silent.sum())} queries have a vote of zero; they were counted {how}", NoVoteWarning)
    return np.where(silent[:, None], 1.0 if shares is None else shares, votes)


def tally(codes: IndexArray, votes: FloatArray | None, n_classes: int) -> FloatArray:
    """Return the share of the votes of each class.

    Parameters
    ----------
    codes : ndarray of shape (n_queries, k)
        Class of each neighbour.
    votes : ndarray of the same shape, or None for equal votes
    n_classes : int

    Returns
    -------
    ndarray of shape (n_queries, n_classes)
        Rows sum to 1. If all votes of a query are zero, its neighbours count equally, with a warning.

    Examples
    --------
    >>> tally(np.array([[0, 1, 1, 2]]), None, n_classes=3)
    array([[0.25, 0.5 , 0.25]])
    """
    n = len(codes)
    votes = np.ones(codes.shape) if votes is None else _replace_silent(votes, None)
    # One call of bincount counts all queries: each pair of query and class has a number of its own.
    cell = codes + np.arange(n)[:, None] * n_classes
    total = np.bincount(cell.ravel(), weights=votes.ravel(), minlength=n * n_classes).reshape(n, n_classes)
    shares: FloatArray = total / total.sum(axis=1, keepdims=True)
    return shares


def decide(shares: FloatArray, codes: IndexArray, votes: FloatArray | None, ties: str = "first") -> IndexArray:
    """Return the class with the largest share for each query.

    Parameters
    ----------
    shares : ndarray of shape (n_queries, n_classes)
    codes : ndarray of shape (n_queries, k)
        Class of each neighbour, nearest first.
    votes : ndarray of the same shape, or None for equal votes
    ties : {"first", "nearest"}, default="first"
        If several classes have the largest share: the first of them, or the class of the nearest neighbour that
        voted for one of them.

    Returns
    -------
    ndarray of shape (n_queries,)

    Examples
    --------
    >>> shares, codes = np.array([[0.5, 0.5]]), np.array([[1, 0, 0, 1]])
    >>> decide(shares, codes, None), decide(shares, codes, None, "nearest")
    (array([0]), array([1]))
    """
    best: IndexArray = np.argmax(shares, axis=1)
    if ties == "first":
        return best
    tied = shares == np.take_along_axis(shares, best[:, None], axis=1)
    voted = np.take_along_axis(tied, codes, axis=1)
    if votes is not None:
        # If no neighbour of a query has a vote above 0, all of them were counted, so all of them may decide.
        voted &= (votes > 0) | ~np.any(votes > 0, axis=1, keepdims=True)
    nearest: IndexArray = np.take_along_axis(codes, np.argmax(voted, axis=1)[:, None], axis=1)[:, 0]
    return nearest


def mean_targets(targets: FloatArray, row: IndexArray, votes: FloatArray | None) -> FloatArray:
    """Return the mean target of the neighbours of each query, weighted by their votes.

    Each output is summed by itself and nearest first, so that its means do not depend on other outputs or queries.

    Parameters
    ----------
    targets : ndarray of shape (n,) or (n, n_outputs)
        Numeric targets of all stored rows.
    row : ndarray of shape (n_queries, k)
        Stored rows that are the neighbours of each query.
    votes : ndarray of the same shape, or None for equal votes
        The votes of a query must not all be zero.

    Returns
    -------
    ndarray of shape (n_queries,) or (n_queries, n_outputs)

    Examples
    --------
    >>> targets, row = np.array([1.0, 2.0, 6.0]), np.array([[0, 1, 2]])
    >>> mean_targets(targets, row, None), mean_targets(targets, row, np.array([[2.0, 1.0, 1.0]]))
    (array([3.]), array([2.5]))
    """
    if targets.ndim == 2:
        return np.stack([mean_targets(column, row, votes) for column in targets.T], axis=1)
    votes = np.ones(row.shape) if votes is None else np.ascontiguousarray(votes)
    values = np.ascontiguousarray(targets[row])
    with np.errstate(over="ignore", invalid="ignore"):
        mean: FloatArray = (values * votes).sum(axis=1) / votes.sum(axis=1)
    large = ~np.isfinite(mean)
    if large.any():  # A sum overflowed, but a mean cannot: shares of at most 1 keep the sums small.
        shares = votes[large] / votes[large].max(axis=1, keepdims=True)
        mean[large] = (values[large] * (shares / shares.sum(axis=1, keepdims=True))).sum(axis=1)
    return mean
