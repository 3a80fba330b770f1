"""Search with several goals at once: NSGA-II with the operators of the search for one goal.

All goals are minimised. Parents are chosen by front and crowding distance. A trial is made by differential
evolution of the weights, and by half-uniform crossover and rare random flips of the bits. The best of the
parents and trials survive.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..._ranges import scale_columns
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from .genome import Genome, Population
from .operators import ClassGuard, differential, half_uniform, pick_three
from .search import EvolutionSearch, Settings

__all__ = ["ParetoSearch", "crowding", "hypervolume", "knee", "non_dominated_ranks"]


def non_dominated_ranks(goals: FloatArray) -> IndexArray:
    """Return the number of the front of each point. Points that no other point dominates are in front 0.

    All goals are minimised. A point dominates another if no goal is worse and at least one goal is better.

    Examples
    --------
    >>> non_dominated_ranks(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    array([0, 0, 1])
    """
    # Compare all pairs of points at once.
    a, b = goals[:, None, :], goals[None, :, :]
    dominates: BoolArray = np.asarray((a <= b).all(axis=2) & (a < b).any(axis=2))
    ranks = np.full(len(goals), -1, dtype=np.int64)
    above, front = dominates.sum(axis=0), 0
    while (ranks < 0).any():  # the points that no remaining point dominates are the next front
        here = (ranks < 0) & (above == 0)
        ranks[here] = front
        above = above - dominates[here].sum(axis=0)
        front += 1
    return ranks


def crowding(goals: FloatArray) -> FloatArray:
    """Return the crowding distance of each point of one front. It is infinite for the two end points of each goal.

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
        # The end points of the front always survive.
        distance[order[[0, -1]]] = np.inf
        if count > 2 and span > 0:
            distance[order[1:-1]] += (column[order[2:]] - column[order[:-2]]) / span
    return distance


def knee(goals: FloatArray) -> int:
    """Return the position of the point that is nearest to the ideal point.

    The ideal point has the smallest value of each goal. Goals are scaled to [0, 1] over the front before
    distances are measured. If several points are equally near, the point with the smallest first goal is
    chosen, then the first point.

    Examples
    --------
    >>> knee(np.array([[0.0, 1.0], [0.1, 0.2], [1.0, 0.0]]))
    1
    """
    # Goals have different units, so distances are measured on scaled goals.
    scaled = scale_columns(goals, goals.min(axis=0), np.ptp(goals, axis=0))
    return int(np.lexsort((np.arange(len(goals)), goals[:, 0], (scaled**2).sum(axis=1)))[0])


def hypervolume(goals: FloatArray, reference: FloatArray) -> float:
    """Return the volume that the points dominate, up to the point ``reference``, for any number of goals.

    A point that is not better than ``reference`` in every goal adds no volume.

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
    # Cut the volume into slices at the values of the last goal. The volume of a slice is its height times the
    # hypervolume of the other goals.
    levels = np.append(np.unique(points[:, -1]), reference[-1])
    total = 0.0
    for low, high in pairwise(levels):
        front = points[points[:, -1] <= low][:, :-1]
        total += (high - low) * hypervolume(front[non_dominated_ranks(front) == 0], reference[:-1])
    return float(total)


class ParetoSearch(EvolutionSearch):
    """Minimise several goals. `tell` takes one row of goals per individual.

    The first population is always spread (see `Settings`), so that the first front has individuals that keep little
    and individuals that keep much.

    Parameters
    ----------
    genome, settings, rng, guard
        As in `EvolutionSearch`.

    Attributes
    ----------
    goals : ndarray of shape (P, n_goals)
        Goals of each individual of the population.
    stagnant : int
        Number of generations since the front last changed.
    """

    kind = "pareto"

    def __init__(
        self, genome: Genome, settings: Settings, rng: np.random.Generator, guard: ClassGuard | None = None
    ) -> None:
        super().__init__(genome, replace(settings, start="spread"), rng, guard)
        self.goals: FloatArray = np.empty((0, 0))

    @property
    def exhausted(self) -> bool:
        """Always False: bits are flipped at random, so the population can always change."""
        return False

    def tell(self, goals: FloatArray) -> None:
        """Take the goals of the individuals that `ask` gave last. The best of these and the population survive."""
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
            kept = choose_survivors(values, self.settings.size)
            before = self.goals[self.front()]
            self.population, self.goals = pool.take(kept), values[kept]
            # Positions from ``size`` on belong to the trials.
            self.accepted = int((kept >= self.settings.size).sum())
            moved = not _same_points(before, self.goals[non_dominated_ranks(self.goals) == 0])
            self.stagnant = 0 if moved else self.stagnant + 1
        # The fitness is minus the number of the front, so that the largest fitness is the best.
        self.fitness = -non_dominated_ranks(self.goals).astype(np.float64)

    def front(self) -> IndexArray:
        """Return the rows of the population that no individual dominates. Of equal goals, only the first row."""
        rows = np.flatnonzero(self.fitness == 0)
        _, first = np.unique(self.goals[rows], axis=0, return_index=True)
        return rows[np.sort(first)]

    def goal_values(self) -> FloatArray:
        """Return the goals of each individual, which are minimised: shape (P, n_goals)."""
        return self.goals

    def summary(self) -> dict[str, float]:
        """Return minus the smallest first goal and the size of the front, for a row of the search history."""
        front = self.front()
        return {"best": -float(self.goals[front, 0].min()), "front": len(front)}

    def best(self) -> int:
        """Return the row of the population that is the knee of the front (see `knee`)."""
        front = self.front()
        return int(front[knee(self.goals[front])])

    def _must_restart(self) -> bool:
        """Return False: this search never restarts, since flipped bits keep the population diverse."""
        return False

    def _make_trials(self) -> tuple[Population, IndexArray]:
        """Make one trial per target. Return the trials that differ from their targets, and their positions.

        Targets and partners are chosen by `_tournament`.
        """
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
            # One flipped bit per trial on average keeps the population diverse.
            bits = bits ^ (self.rng.random(bits.shape) < 1 / self.genome.n_bits)
        trials = self._repair(Population(weights, bits), now.bits[target])
        places = np.flatnonzero(~trials.same_as(now.take(target)))
        return trials.take(places), places

    def _tournament(self) -> IndexArray:
        """Choose one individual per target: the better of two random individuals, by front and then by crowding."""
        crowd = np.empty(self.settings.size)
        for rank in np.unique(self.fitness):
            crowd[self.fitness == rank] = crowding(self.goals[self.fitness == rank])
        a, b = self.rng.integers(0, self.settings.size, size=(2, self.settings.size))
        first = (self.fitness[a] > self.fitness[b]) | ((self.fitness[a] == self.fitness[b]) & (crowd[a] >= crowd[b]))
        return np.where(first, a, b)

    def state(self) -> dict[str, AnyArray]:
        """Return the complete state of the search, as arrays."""
        return {**super().state(), "goals": self.goals}

    def _read(self, state: dict[str, Any]) -> None:
        """Set the attributes of the search from the arrays of `state`."""
        super()._read(state)
        self.goals = np.array(state["goals"])


def _same_points(a: FloatArray, b: FloatArray) -> bool:
    """Return whether two arrays hold the same set of points. Order and repetitions do not matter."""
    return np.array_equal(np.unique(a, axis=0), np.unique(b, axis=0))


def choose_survivors(goals: FloatArray, size: int) -> IndexArray:
    """Return the positions of the best ``size`` points.

    Points are taken front by front. From the last front that is taken, the points with the largest crowding
    distance are taken. Copies of a point are taken only after all different points.
    """
    _, first = np.unique(goals, axis=0, return_index=True)
    copies = np.ones(len(goals), dtype=bool)
    copies[first] = False
    ranks = non_dominated_ranks(goals)
    # Copies would fill the front with a single trade-off.
    ranks = np.where(copies, ranks.max() + 1 + ranks, ranks)
    kept: list[int] = []
    for rank in np.unique(ranks):
        rows = np.flatnonzero(ranks == rank)
        left = size - len(kept)
        if len(rows) > left:
            rows = rows[np.argsort(-crowding(goals[rows]), kind="stable")[:left]]
        kept += rows.tolist()
        if len(kept) == size:
            break
    return np.array(sorted(kept), dtype=np.int64)
