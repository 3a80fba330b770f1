"""From neighbours to class probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._typing import BoolArray, FloatArray, IndexArray
from .._warnings import warn
from ..exceptions import InvalidDataError, NoVoteWarning

__all__ = ["decide", "distance_votes", "mass_votes", "tally"]


def distance_votes(
    distance: FloatArray, how: str | Callable[[FloatArray], Any] | None, *, span: float
) -> FloatArray | None:
    """What a neighbour's distance makes of its vote; None for equal votes.

    Parameters
    ----------
    distance : ndarray of shape (n_queries, k)
    how : {"uniform", "distance", "complement"}, callable or None
        1/d for "distance" (exact matches, if any, vote alone), 1 − d/span, at least 0, for "complement",
        or a function of the distances.
    span : float
        Distance at which the vote of "complement" is 0.

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
        return _only_infinite(votes)
    if how is None or how == "uniform":
        return None
    d = distance.astype(np.float64)
    if how == "complement":
        complement: FloatArray = np.maximum(0.0, 1.0 - d / span)
        return complement
    with np.errstate(divide="ignore"):
        inverse = 1.0 / d
    return _only_infinite(inverse)


def _only_infinite(votes: FloatArray) -> FloatArray:
    """Where votes are infinite, they alone count, equally."""
    infinite = np.isinf(votes)
    return np.where(infinite.any(axis=1, keepdims=True), infinite.astype(np.float64), votes)


def mass_votes(mass: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Votes of neighbours that count as ``mass`` repetitions each, nearest first.

    Neighbours are taken until their mass reaches ``k``; the last one counts only for what is left.

    Parameters
    ----------
    mass : ndarray of shape (n_queries, n_neighbors)
    k : int

    Returns
    -------
    votes : ndarray of shape (n_queries, n_neighbors)
    reached : ndarray of shape (n_queries,)
        The mass of all neighbours of a query.

    Examples
    --------
    >>> mass_votes(np.array([[2.0, 2.0, 2.0]]), 3)
    (array([[2., 1., 0.]]), array([6.]))
    """
    before = np.cumsum(mass, axis=1) - mass
    votes: FloatArray = np.clip(k - before, 0.0, mass)
    return votes, before[:, -1] + mass[:, -1]


def tally(codes: IndexArray, votes: FloatArray | None, n_classes: int) -> FloatArray:
    """Share of the votes per class.

    Parameters
    ----------
    codes : ndarray of shape (n_queries, k)
        Class of each neighbour.
    votes : ndarray of the same shape, or None for equal votes
    n_classes : int

    Returns
    -------
    ndarray of shape (n_queries, n_classes)
        Rows sum to 1. Where all votes are zero the neighbours count equally, with a warning.

    Examples
    --------
    >>> tally(np.array([[0, 1, 1, 2]]), None, n_classes=3)
    array([[0.25, 0.5 , 0.25]])
    """
    n = len(codes)
    votes = np.ones(codes.shape) if votes is None else votes
    silent: BoolArray = ~np.any(votes > 0, axis=1)
    if silent.any():
        warn(
            f"all neighbours of {int(silent.sum())} queries have a vote of zero; they were counted equally",
            NoVoteWarning,
        )
        votes = np.where(silent[:, None], 1.0, votes)
    cell = codes + np.arange(n)[:, None] * n_classes
    total = np.bincount(cell.ravel(), weights=votes.ravel(), minlength=n * n_classes).reshape(n, n_classes)
    shares: FloatArray = total / total.sum(axis=1, keepdims=True)
    return shares


def decide(shares: FloatArray, codes: IndexArray, votes: FloatArray | None, ties: str = "first") -> IndexArray:
    """The class with the largest share, per query.

    Parameters
    ----------
    shares : ndarray of shape (n_queries, n_classes)
    codes : ndarray of shape (n_queries, k)
        Class of each neighbour, nearest first.
    votes : ndarray of the same shape, or None for equal votes
    ties : {"first", "nearest"}, default="first"
        Of equal shares the first class, or the class of the nearest neighbour that voted for one of them.

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
        voted &= (votes > 0) | ~np.any(votes > 0, axis=1, keepdims=True)
    nearest: IndexArray = np.take_along_axis(codes, np.argmax(voted, axis=1)[:, None], axis=1)[:, 0]
    return nearest
