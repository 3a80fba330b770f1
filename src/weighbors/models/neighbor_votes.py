"""Votes of nearest neighbours: which rows vote for a query, and what their votes become."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..engine import SearchEngine, combine_votes, decide, distance_votes, mass_votes, mean_targets, tally
from ..tables.targets import standardize_outputs

_BATCH_CELLS = 2_000_000  # how many neighbours are in memory at the same time
FULL = 1 - 1e-12  # a sum of repetition weights can miss k by its last bits
#: Relative difference up to which a distance is tied with the k-th distance, so that rounding does not break ties.
_TIED = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}


class Neighbors(NamedTuple):
    """A batch of queries with their neighbours, nearest first."""

    query: IndexArray  # (n,) numbers of the queries
    distance: FloatArray  # (n, width)
    row: IndexArray  # (n, width)


class Voters(NamedTuple):
    """A batch of queries with their neighbours, and the votes of the neighbours.

    If ``votes`` is None, each neighbour has one vote. The votes of a query are never all zero.
    """

    query: IndexArray
    distance: FloatArray
    row: IndexArray
    votes: FloatArray | None

    @property
    def shares(self) -> FloatArray:
        """Each neighbour's share of all votes of its query, of shape (n_queries, width)."""
        votes = np.ones(self.row.shape) if self.votes is None else self.votes
        shares: FloatArray = votes / votes.sum(axis=1, keepdims=True)
        return shares


def search_until(
    engine: SearchEngine,
    queries: Any,
    width: int,
    enough: Callable[[FloatArray, IndexArray], BoolArray] | None,
    *,
    own: IndexArray | None = None,
    n_jobs: int | None = None,
) -> Iterator[Neighbors]:
    """Yield batches of queries with enough neighbours. Where there are not enough, the number is doubled.

    Parameters
    ----------
    engine : SearchEngine
    queries : coded rows
    width : int
        How many neighbours are searched first.
    enough : callable or None
        Returns which queries have enough neighbours, given the distances and rows of these. It is not asked if all
        rows have been found. None: ``width`` neighbours are enough.
    own : ndarray of shape (n_queries,), or None
        The row that each query must not find.
    n_jobs : int or None
    """
    most, limit = engine.n_references - (own is not None), engine.query_limit(width)
    size = max(64, _BATCH_CELLS // width)
    size = size if limit is None else min(size, max(64, limit))
    for begin in range(0, queries.shape[0], size):
        pending, now = np.arange(begin, min(begin + size, queries.shape[0])), min(width, most)
        while len(pending) and now:
            not_this = None if own is None else own[pending]
            distance, row = engine.search(queries[pending], now, own_row=not_this, n_jobs=n_jobs)
            if enough is None or now == most:
                yield Neighbors(pending, distance, row)
                break
            done = enough(distance, row)
            if done.any():
                yield Neighbors(pending[done], distance[done], row[done])
            pending, now = pending[~done], min(2 * now, most)


def reaches_weight(repetition: FloatArray, k: int) -> BoolArray:
    """Return for which queries the repetition weights of the neighbours, shape (n_queries, width), add up to ``k``."""
    full: BoolArray = repetition.sum(axis=1) >= k * FULL
    return full


def count_until_weight(distance: FloatArray, repetition: FloatArray | None, k: int) -> tuple[IndexArray, IndexArray]:
    """Return how many neighbours reach the weight k, and how many there are if all ties with the last are included.

    Parameters
    ----------
    distance : ndarray of shape (n_queries, width)
        Distances of the neighbours of each query, in ascending order.
    repetition : ndarray of the same shape, or None
        Repetition weight of each neighbour. None: every neighbour counts once.
    k : int

    Returns
    -------
    needed, tied : ndarrays of shape (n_queries,)
        ``needed`` is width + 1 if the weights of all neighbours add up to less than k.
    """
    n, width = distance.shape
    if repetition is None:
        needed = np.full(n, min(k, width + 1), dtype=np.int64)
    else:
        needed = 1 + (np.cumsum(repetition, axis=1) < k * FULL).sum(axis=1)
    last = distance[np.arange(n), np.minimum(needed, width) - 1]
    limit = last * (1 + _TIED[distance.dtype])
    return needed, (distance <= limit[:, None]).sum(axis=1)


def search_ties(
    engine: SearchEngine,
    queries: Any,
    k: int,
    repetition: FloatArray | None,
    *,
    own: IndexArray | None = None,
    n_jobs: int | None = None,
) -> Iterator[Neighbors]:
    """Yield batches of queries with all neighbours that are as far as the k-th, or nearer.

    ``repetition`` has the repetition weights of all stored rows, or is None if every row counts once. The other
    parameters are those of `search_until`.
    """

    def goes_beyond_ties(distance: FloatArray, row: IndexArray) -> BoolArray:
        needed, tied = count_until_weight(distance, None if repetition is None else repetition[row], k)
        complete: BoolArray = (needed <= row.shape[1]) & (tied < row.shape[1])
        return complete

    # A few more than k, because the ties with the k-th neighbour must be in the list, too.
    for query, distance, row in search_until(engine, queries, k + 4, goes_beyond_ties, own=own, n_jobs=n_jobs):
        _, tied = count_until_weight(distance, None if repetition is None else repetition[row], k)
        for count in np.unique(tied):  # a batch has arrays of one width
            at = np.flatnonzero(tied == count)
            yield Neighbors(query[at], distance[at, :count], row[at, :count])


@dataclass(frozen=True)
class VoteKind:
    """Which neighbours vote for a query, and how much."""

    k: int  # number of neighbours
    by_distance: Any  # as `distance_votes` takes it
    span: float  # the largest distance of two min-max scaled rows
    all_ties: bool = False  # whether all rows vote that are as far as the k-th neighbour

    def votes(self, distance: FloatArray, repetition: FloatArray | None, omega: FloatArray | None) -> FloatArray | None:
        """Return the votes of neighbours, or None if all are equal.

        Parameters
        ----------
        distance : ndarray of shape (n_queries, width)
        repetition, omega : ndarrays of the same shape, or None
            Repetition weights of the neighbours and votes ω of their weights (paper 000, algorithm 2).
        """
        shares = repetition if repetition is None or self.all_ties else mass_votes(repetition, self.k)[0]
        return combine_votes(distance_votes(distance, self.by_distance, span=self.span, shares=shares), shares, omega)


@dataclass(frozen=True)
class ClassVotes:
    """The rule of a classifier: votes become shares of the classes, and a class."""

    codes: AnyArray  # (n,) classes of the stored rows
    classes: AnyArray
    ties: str = "first"
    target_spread: ClassVar[None] = None  # of numeric targets

    def scores(self, n: int, batches: Iterable[Voters]) -> FloatArray:
        """Return the shares of the classes, of shape (n, n_classes), for batches of ``n`` queries."""
        shares = np.empty((n, len(self.classes)))
        for found in batches:
            shares[found.query] = tally(self.codes[found.row], found.votes, len(self.classes))
        return shares

    def answers(self, n: int, batches: Iterable[Voters]) -> AnyArray:
        """Return the class with the most votes for each of ``n`` queries."""
        winner = np.empty(n, dtype=np.int64)
        for found in batches:
            codes = self.codes[found.row]
            winner[found.query] = decide(tally(codes, found.votes, len(self.classes)), codes, found.votes, self.ties)
        labels: AnyArray = self.classes[winner]
        return labels

    def labels(self, row: IndexArray) -> AnyArray:
        """Return what stored rows vote for."""
        labels: AnyArray = self.classes[self.codes[row]]
        return labels

    def columns(self, row: IndexArray) -> dict[str, AnyArray]:
        """Return what stored rows vote for, as columns of a table."""
        return {"label": self.labels(row)}

    def unit_votes(self, row: IndexArray) -> FloatArray:
        """Return the scores that a whole vote of each stored row adds, of shape (n, n_classes)."""
        votes: FloatArray = np.eye(len(self.classes))[self.codes[row]]
        return votes

    def strata(self, row: IndexArray) -> AnyArray:
        """Return the classes of stored rows as codes."""
        codes: AnyArray = self.codes[row]
        return codes

    @property
    def outputs(self) -> tuple[str, ...]:
        """The classes as text."""
        return tuple(str(label) for label in self.classes.tolist())


@dataclass(frozen=True)
class MeanVotes:
    """The rule of a regressor: votes weigh the mean of targets."""

    targets: FloatArray  # (n,) or (n, n_outputs) of the stored rows
    classes: ClassVar[None] = None

    def answers(self, n: int, batches: Iterable[Voters]) -> FloatArray:
        """Return the mean targets of the neighbours of ``n`` queries."""
        predicted = np.empty((n, *self.targets.shape[1:]))
        for found in batches:
            predicted[found.query] = mean_targets(self.targets, found.row, found.votes)
        return predicted

    def scores(self, n: int, batches: Iterable[Voters]) -> FloatArray:
        """Return the mean targets, of shape (n, n_outputs)."""
        return self.answers(n, batches).reshape(n, -1)

    def labels(self, row: IndexArray) -> FloatArray:
        """Return what stored rows vote for."""
        targets: FloatArray = self.targets[row]
        return targets

    def columns(self, row: IndexArray) -> dict[str, AnyArray]:
        """Return what stored rows vote for, as columns of a table, one per output."""
        targets = self.targets[row]
        if targets.ndim == 1:
            return {"target": targets}
        return {f"target of output {t}": targets[:, t] for t in range(targets.shape[1])}

    def unit_votes(self, row: IndexArray) -> FloatArray:
        """Return the scores that a whole vote of each stored row adds, of shape (n, n_outputs)."""
        return self.targets[row].reshape(len(row), -1)

    def strata(self, row: IndexArray) -> AnyArray:
        """Return the targets of stored rows, the first ones if there are several."""
        targets = self.targets[row]
        return targets if targets.ndim == 1 else targets[:, 0]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        targets = self.targets
        return ("the prediction",) if targets.ndim == 1 else tuple(f"output {t}" for t in range(targets.shape[1]))

    @property
    def target_spread(self) -> FloatArray:
        """The standard deviations of the outputs."""
        return standardize_outputs(self.targets.reshape(len(self.targets), -1))[2]
