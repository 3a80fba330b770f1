"""Several goals at once: NSGA-II over the operators of the single search.

Goals are minimised. Parents are picked by rank and crowding, a trial is made as in the single
search (differential evolution for weights, half-uniform crossover and a rare flip for bits), and
the best of parents and trials survive.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from .genome import Genome, Population
from .operators import differential, half_uniform, pick_three
from .search import EvolutionSearch, Settings

__all__ = ["ParetoSearch", "crowding", "hypervolume", "knee", "non_dominated_ranks"]


def non_dominated_ranks(goals: FloatArray) -> IndexArray:
    """Front of each point, 0 for those that nobody dominates; all goals are minimised.

    Examples
    --------
    >>> non_dominated_ranks(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    array([0, 0, 1])
    """
    a, b = goals[:, None, :], goals[None, :, :]
    dominates: BoolArray = np.asarray((a <= b).all(axis=2) & (a < b).any(axis=2))
    ranks = np.full(len(goals), -1, dtype=np.int64)
    above, front = dominates.sum(axis=0), 0
    while (ranks < 0).any():
        here = (ranks < 0) & (above == 0)
        ranks[here] = front
        above = above - dominates[here].sum(axis=0)
        front += 1
    return ranks


def crowding(goals: FloatArray) -> FloatArray:
    """Crowding distance of the points of one front; infinite at the ends of every goal.

    Examples
    --------
    >>> crowding(np.array([[0.0, 3.0], [1.0, 1.0], [3.0, 0.0]]))
    array([inf,  2., inf])
    """
    count = len(goals)
    distance = np.zeros(count)
    for column in goals.T:
        order = np.argsort(column, kind="stable")
        span = column[order[-1]] - column[order[0]]
        distance[order[[0, -1]]] = np.inf
        if count > 2 and span > 0:
            distance[order[1:-1]] += (column[order[2:]] - column[order[:-2]]) / span
    return distance


def knee(goals: FloatArray) -> int:
    """The point nearest to the ideal one, every goal scaled to [0, 1] over the front.

    The ideal point has the smallest value of each goal. Equally near points: the one with the smaller
    first goal, then the first.

    Examples
    --------
    >>> knee(np.array([[0.0, 1.0], [0.1, 0.2], [1.0, 0.0]]))
    1
    """
    low, span = goals.min(axis=0), np.ptp(goals, axis=0)
    scaled = (goals - low) / np.where(span > 0, span, 1.0)
    return int(np.lexsort((np.arange(len(goals)), goals[:, 0], (scaled**2).sum(axis=1)))[0])


def hypervolume(goals: FloatArray, reference: FloatArray) -> float:
    """Volume between the points and a reference that is worse than all of them, for any number of goals.

    Examples
    --------
    >>> hypervolume(np.array([[0.0, 0.5], [0.5, 0.0]]), np.array([1.0, 1.0]))
    0.75
    """
    reference = np.asarray(reference, dtype=float)
    points = np.asarray(goals, dtype=float)
    points = points[(points < reference).all(axis=1)]
    if len(points) == 0:
        return 0.0
    if points.shape[1] == 1:
        return float(reference[0] - points.min())
    # slices along the last goal: each is a hypervolume of one goal less
    levels = np.append(np.unique(points[:, -1]), reference[-1])
    total = 0.0
    for low, high in pairwise(levels):
        front = points[points[:, -1] <= low][:, :-1]
        total += (high - low) * hypervolume(front[non_dominated_ranks(front) == 0], reference[:-1])
    return float(total)


class ParetoSearch(EvolutionSearch):
    """Minimise several goals; the same ask and tell, with one row of goals per individual.

    Parameters
    ----------
    genome, settings, rng
        As in `EvolutionSearch`. The first bits are 1 with a probability that runs from near 0 to 1
        over the individuals, so that the front starts wide.

    Attributes
    ----------
    goals : ndarray of shape (P, n_goals)
    stagnant : int
        Generations since the front last moved.
    """

    kind = "pareto"

    def __init__(self, genome: Genome, settings: Settings, rng: np.random.Generator) -> None:
        super().__init__(genome, settings, rng)
        density = (np.arange(settings.size) + 0.5) / settings.size
        self.population = genome.random(settings.size, rng, density=density)
        self.goals: FloatArray = np.empty((0, 0))

    @property
    def exhausted(self) -> bool:
        """Never: bits are flipped at random."""
        return False

    def tell(self, goals: FloatArray) -> None:
        """Goals of the individuals asked last; the best of them and their parents survive."""
        if self._asked is None:
            raise InvalidDataError("tell was called before ask")
        individuals, places = self._asked
        goals = np.asarray(goals, dtype=np.float64)
        if goals.ndim != 2 or len(goals) != len(places) or np.isnan(goals).any():
            raise InvalidDataError(
                f"tell needs a row of goals, none of them NaN, for {len(places)} individuals; got shape {goals.shape}"
            )
        self._asked = None
        self.evaluations += len(places)
        self.generation += 1
        if not len(self.fitness):
            self.goals, self.accepted = goals.copy(), len(places)
        else:
            pool = Population(
                np.concatenate([self.population.weights, individuals.weights]),
                np.concatenate([self.population.bits, individuals.bits]),
            )
            values = np.concatenate([self.goals, goals])
            kept = survivors(values, self.settings.size)
            before = self.goals[self.front()]
            self.population, self.goals = pool.take(kept), values[kept]
            self.accepted = int((kept >= self.settings.size).sum())
            moved = not _same_points(before, self.goals[non_dominated_ranks(self.goals) == 0])
            self.stagnant = 0 if moved else self.stagnant + 1
        # minus the front: what is largest is best, as in the single search
        self.fitness = -non_dominated_ranks(self.goals).astype(np.float64)

    def front(self) -> IndexArray:
        """Rows of the population that nobody dominates; of equal goals only the first."""
        rows = np.flatnonzero(self.fitness == 0)
        _, first = np.unique(self.goals[rows], axis=0, return_index=True)
        return rows[np.sort(first)]

    def best(self) -> int:
        """Row of the knee of the front."""
        front = self.front()
        return int(front[knee(self.goals[front])])

    def _must_restart(self) -> bool:
        return False

    def _trials(self) -> tuple[Population, IndexArray]:
        now, s = self.population, self.settings
        target, partner = self._tournament(), self._tournament()
        r1, r2, r3 = pick_three(s.size, self.rng)
        weights = differential(
            now.weights[target],
            now.weights[r1],
            now.weights[r2],
            now.weights[r3],
            self.rng,
            factor=s.factor,
            rate=s.rate,
        )
        bits = now.bits[target]
        if self.genome.n_bits:
            bits = half_uniform(bits, now.bits[partner], self.rng)
            bits = bits ^ (self.rng.random(bits.shape) < 1 / self.genome.n_bits)
        trials = Population(weights, bits)
        places = np.flatnonzero(~trials.same_as(now.take(target)))
        return trials.take(places), places

    def _tournament(self) -> IndexArray:
        """The better of two random individuals, by front and then by crowding, for each target."""
        crowd = np.empty(self.settings.size)
        for rank in np.unique(self.fitness):
            crowd[self.fitness == rank] = crowding(self.goals[self.fitness == rank])
        a, b = self.rng.integers(0, self.settings.size, size=(2, self.settings.size))
        first = (self.fitness[a] > self.fitness[b]) | ((self.fitness[a] == self.fitness[b]) & (crowd[a] >= crowd[b]))
        return np.where(first, a, b)

    def state(self) -> dict[str, AnyArray]:
        """Everything the search is, as arrays."""
        return {**super().state(), "goals": self.goals}

    def _read(self, state: dict[str, Any]) -> None:
        super()._read(state)
        self.goals = np.array(state["goals"])


def _same_points(a: FloatArray, b: FloatArray) -> bool:
    return np.array_equal(np.unique(a, axis=0), np.unique(b, axis=0))


def survivors(goals: FloatArray, size: int) -> IndexArray:
    """Rows of the best ``size`` points: front after front, the last one by crowding; copies come last."""
    _, first = np.unique(goals, axis=0, return_index=True)
    copies = np.ones(len(goals), dtype=bool)
    copies[first] = False
    ranks = non_dominated_ranks(goals)
    ranks = np.where(copies, ranks.max() + 1 + ranks, ranks)
    kept: list[int] = []
    for rank in np.unique(ranks):
        rows = np.flatnonzero(ranks == rank)
        room = size - len(kept)
        if len(rows) > room:
            rows = rows[np.argsort(-crowding(goals[rows]), kind="stable")[:room]]
        kept += rows.tolist()
        if len(kept) == size:
            break
    return np.array(sorted(kept), dtype=np.int64)
