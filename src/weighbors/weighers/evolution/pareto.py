"""Search with several goals at once: NSGA-II with the operators of the search for one goal.

The goals are the error, the shares of instances and features kept, and the class margins of paper 001. All goals are
minimised. Parents are chosen by front and crowding distance. A trial is made by differential evolution of the weights,
and by half-uniform crossover and rare random flips of the bits. The best of the parents and trials survive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..._random import draw_from_groups
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from ...metrics import reduction_of
from ...tables.ranges import scale_columns
from ...tables.targets import Target
from ..class_relief import class_margins
from .fitness import Fitness
from .genome import Genome, Population
from .operators import differential, half_uniform, pick_three
from .search import EvolutionSearch

if TYPE_CHECKING:
    import pandas as pd

GOALS = ("error", "instances", "features", "margins")
_WORST = 1e300  # goals of an individual that selects nothing
# Rows whose margins are measured. Margins need the nearest row of every class, several times what the error costs.
_MARGIN_ROWS = 2000


def check_goals(objective: Any, tasks: Sequence[str], *, numeric: bool = False) -> tuple[str, ...] | None:
    """Return the names of the goals, or None for the objective "single", which is the fitness.

    Raise an error if a name is unknown or a goal does not fit tasks or target. "pareto" stands for the error, and the
    shares of instances and features kept if the tasks select them.

    Examples
    --------
    >>> check_goals("pareto", ("IS", "FW"))
    ('error', 'instances')
    """
    shares = {"instances": "IS", "features": "FS"}  # goals that need a task
    if isinstance(objective, str):
        if objective == "single":
            return None
        all_that_fit = ("error", *(name for name, task in shares.items() if task in tasks))
        named: tuple[str, ...] = all_that_fit if objective == "pareto" else (objective,)
    else:
        named = tuple(objective)
    if not named or len(set(named)) < len(named) or not set(named) <= set(GOALS):
        raise InvalidDataError(
            f"objective must be 'single', 'pareto', or different names out of {', '.join(GOALS)}; got {objective!r}"
        )
    for name, task in shares.items():
        if name in named and task not in tasks:
            raise InvalidDataError(f"the goal '{name}' needs {task} among the tasks: without it nothing is left out")
    if "margins" in named and numeric:
        raise InvalidDataError(
            "the goal 'margins' needs classes, and y is a numeric target. Use 'error', 'instances' and 'features', or "
            "target_type='classes'"
        )
    if "margins" in named and not set(tasks) <= {"FS", "FW"}:
        raise InvalidDataError("the goal 'margins' is one of feature weights: use it with the tasks FS and FW only")
    if named != ("margins",) and len(named) < 2:
        raise InvalidDataError(
            f"a front needs at least two goals; {'+'.join(tasks)} has only {named}. Add IS, FS or 'margins'"
        )
    return named


def draw_margin_rows(codes: IndexArray, rng: np.random.Generator) -> IndexArray | None:
    """Draw about 2000 rows, equally many of each class, or all rows of a class that has fewer.

    Return None if the table has no more rows: then all are used.
    """
    if len(codes) <= _MARGIN_ROWS:
        return None
    # Equally many of each class, because each class has a margin of its own.
    return draw_from_groups(codes, -(-_MARGIN_ROWS // int(codes.max() + 1)), rng)


class Goals:
    """Goals of individuals: call it with a population to compute goals of shape (P, n_goals), all to be minimised.

    Parameters
    ----------
    names : sequence of str
        Names of the goals, as `check_goals` gives them.
    fitness : Fitness
    X : ndarray of shape (N, M)
    target : Target
        Classes or numbers of the rows.
    **search
        Further arguments of `class_margins`: ``nominal``, ``n_jobs``, and ``rows``, whose margins are measured.
    """

    def __init__(self, names: Sequence[str], fitness: Fitness, X: FloatArray, target: Target, **search: Any) -> None:
        self.names, self.fitness, self.X, self.target, self.search = tuple(names), fitness, X, target, search

    @property
    def columns(self) -> list[str]:
        """One name per column of goals. The goal "margins" has one column per class."""
        names: list[str] = []
        for name in self.names:
            names += [f"margin of {label}" for label in self.target.classes] if name == "margins" else [name]
        return names

    def __call__(self, population: Population) -> FloatArray:
        """Return the goals of every individual. An individual that selects nothing gets the worst values."""
        genome = self.fitness.genome
        rows, columns = genome.kept(population)
        able = genome.find_able(population)
        parts: dict[str, FloatArray] = {"instances": rows / genome.n_instances, "features": columns / genome.n_features}
        if "error" in self.names:
            parts["error"] = 1 - self.fitness(population).performance
        if "margins" in self.names:
            parts["margins"] = self._margins(population, able)
        goals = np.full((len(population), len(self.columns)), _WORST)
        goals[able] = np.column_stack([parts[name] for name in self.names])[able]
        return goals

    def _margins(self, population: Population, able: IndexArray) -> FloatArray:
        """Return minus the class margins θ_c under the feature weights of each individual, shape (P, n_classes).

        The weights are scaled to length 1, as in RELIEF (paper 001). Only the individuals ``able`` are measured, which
        select something.
        """
        genome, n_classes = self.fitness.genome, len(self.target.classes)
        a = genome.feature_weights(population) ** 2 * genome.feature_mask(population)[:, None, :]
        margins = np.full((len(population), n_classes), _WORST)
        for i in able:
            # Larger weights would make larger margins. Only their direction is a goal.
            length = np.sqrt((a[i] ** 2).sum(axis=1, keepdims=True))
            if (length > 0).all():
                margins[i] = -class_margins(self.X, self.target.codes, n_classes, a[i] / length, 1, **self.search)
        return margins


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


class ParetoSearch(EvolutionSearch):
    """Minimise several goals. `tell` takes one row of goals per individual.

    The first population is always spread (see `EvolutionSearch`), so that the first front has individuals that keep
    little and individuals that keep much.

    Parameters
    ----------
    genome, size, rng, classes
        As in `EvolutionSearch`.

    Attributes
    ----------
    goals : ndarray of shape (P, n_goals)
        Goals of each individual of the population.
    """

    _told: ClassVar[tuple[int, str]] = 2, "a row of goals"

    def __init__(
        self, genome: Genome, size: int, rng: np.random.Generator, *, classes: IndexArray | None = None
    ) -> None:
        super().__init__(genome, size, rng, start="spread", classes=classes)
        self.goals: FloatArray = np.empty((0, 0))

    @property
    def exhausted(self) -> bool:
        """Always False: bits are flipped at random, so the population can always change."""
        return False

    def _choose_next(self, individuals: Population, places: IndexArray, goals: FloatArray) -> None:
        """Keep the best of the evaluated ``individuals`` and the population."""
        if not len(self.fitness):
            self.goals, self.accepted = goals.copy(), len(places)
        else:
            pool = Population(
                np.concatenate([self.population.weights, individuals.weights]),
                np.concatenate([self.population.bits, individuals.bits]),
            )
            values = np.concatenate([self.goals, goals])
            kept = choose_survivors(values, self.size)
            self.population, self.goals = pool.take(kept), values[kept]
            # Positions from ``size`` on belong to the trials.
            self.accepted = int((kept >= self.size).sum())
        # The fitness is minus the number of the front, so that the largest fitness is the best.
        self.fitness = -non_dominated_ranks(self.goals).astype(np.float64)

    def front(self) -> IndexArray:
        """Return the rows of the population that no individual dominates. Of equal goals, only the first row."""
        rows = np.flatnonzero(self.fitness == 0)
        _, first = np.unique(self.goals[rows], axis=0, return_index=True)
        return rows[np.sort(first)]

    def best(self) -> int:
        """Return the row of the population that is the knee of the front (see `knee`)."""
        front = self.front()
        return int(front[knee(self.goals[front])])

    def summary(self) -> dict[str, float]:
        """Return minus the smallest first goal and the size of the front, for a row of the search history."""
        front = self.front()
        return {"best": -float(self.goals[front, 0].min()), "front": len(front)}

    def _make_trials(self) -> tuple[Population, IndexArray]:
        """Make one trial per target. Return the trials that differ from their targets, and their positions.

        Targets and partners are chosen by `_tournament`.
        """
        now = self.population
        target, partner = self._tournament(), self._tournament()
        r1, r2, r3 = pick_three(self.size, self.rng)
        targets = now.take(target)
        weights = differential(targets.weights, now.weights[r1], now.weights[r2], now.weights[r3], self.rng)
        bits = targets.bits
        if self.genome.n_bits:
            bits = half_uniform(bits, now.bits[partner], self.rng)
            # One flipped bit per trial on average keeps the population diverse.
            bits = bits ^ (self.rng.random(bits.shape) < 1 / self.genome.n_bits)
        return self._keep_changed(Population(weights, bits), targets)

    def _tournament(self) -> IndexArray:
        """Choose one individual per target: the better of two random individuals, by front and then by crowding."""
        crowd = np.empty(self.size)
        for rank in np.unique(self.fitness):
            crowd[self.fitness == rank] = crowding(self.goals[self.fitness == rank])
        a, b = self.rng.integers(0, self.size, size=(2, self.size))
        first = (self.fitness[a] > self.fitness[b]) | ((self.fitness[a] == self.fitness[b]) & (crowd[a] >= crowd[b]))
        return np.where(first, a, b)

    def state(self) -> dict[str, AnyArray]:
        """Return the complete state of the search, as arrays."""
        return {**super().state(), "goals": self.goals}

    def load(self, state: dict[str, AnyArray]) -> None:
        """Continue from a ``state`` of a search with the same genome, size and classes."""
        super().load(state)
        self.goals = state["goals"]


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


def front_frame(search: ParetoSearch, goals: Goals, shape: tuple[int, int]) -> tuple[pd.DataFrame, Population, int]:
    """Return the front as a table with one row per individual, the individuals, and the row of the knee.

    Parameters
    ----------
    search : ParetoSearch
        A finished search.
    goals : Goals
        Gives the names of the columns. The search minimises minus the margins; the table has the margins.
    shape : (int, int)
        Rows and columns of the table of the fit, to compute the reduction.
    """
    import pandas as pd

    front = search.front()
    # Sorted by the first goal, then by the second: the table reads as a trade-off.
    order = front[np.lexsort(search.goals[front].T[::-1])]
    people = search.population.take(order)
    judged, (rows, columns) = goals.fitness(people), goals.fitness.genome.kept(people)
    frame = pd.DataFrame(search.goals[order], columns=goals.columns)
    for name in goals.columns:
        # The search minimises all goals. Readers expect margins with their own sign.
        frame[name] *= -1 if name.startswith("margin of ") else 1
    frame["n_instances"], frame["n_features"] = rows, columns
    frame["performance"], frame["fitness"] = judged.performance, judged.fitness
    frame["reduction"] = [reduction_of(int(i), int(j), of=shape) for i, j in zip(rows, columns, strict=True)]
    return frame, people, int(np.flatnonzero(order == search.best())[0])
