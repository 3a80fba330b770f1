"""The evolutionary search with the methods ``ask`` and ``tell`` (paper 004, section 3).

``ask`` gives individuals, the caller evaluates them, and ``tell`` takes the results. `EvolutionSearch`
maximises one fitness with differential evolution and half-uniform crossover. `pareto.ParetoSearch` has the
same methods for several goals. The state of both can be written to arrays and read back without any change.
"""

from __future__ import annotations

import json
from typing import ClassVar

import numpy as np

from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from .genome import Genome, Population
from .operators import differential, half_uniform, pick_three, restore_classes


class EvolutionSearch:
    """Maximise a fitness over weights and bits.

    Parameters
    ----------
    genome : Genome
    size : int
        Number of individuals of the population, at least 4 (paper 004, under eq. 4).
    rng : numpy Generator over PCG64
    start : {"half", "spread"}, default="half"
        Probability that a bit is 1 in the first population. "half": ½, as in the paper. "spread": it increases from
        near 0 to near 1 over the individuals, so that small and large selections are both there.
    classes : int ndarray of shape (N,) or None
        Class of each row. Every individual keeps at least one row of every class. None: it may lose a class.

    Attributes
    ----------
    population : Population
    fitness : ndarray of shape (P,)
        Empty until `tell` was called for the first population.
    evaluations, generation : int
        Counters.
    accepted : int
        Number of trials of the last generation that replaced their targets.

    Examples
    --------
    The caller evaluates the individuals. In this example the fitness is the share of bits that are 1:

    >>> genome = Genome(("FS",), n_instances=1, n_features=40)
    >>> search = EvolutionSearch(genome, 20, np.random.default_rng(0))
    >>> while search.evaluations < 1500 and not search.exhausted:
    ...     asked = search.ask(1500 - search.evaluations)
    ...     search.tell(asked.bits.mean(axis=1))
    >>> float(search.fitness[search.best()])
    1.0
    """

    _told: ClassVar[tuple[int, str]] = 1, "a number"  # what `tell` takes for each individual, and its dimensions

    def __init__(
        self,
        genome: Genome,
        size: int,
        rng: np.random.Generator,
        *,
        start: str = "half",
        classes: IndexArray | None = None,
    ) -> None:
        if size < 4:
            raise InvalidDataError(
                f"population_size must be at least 4: a trial needs its target and three others; got {size}"
            )
        self.genome, self.size, self.rng = genome, size, rng
        self._members = [] if classes is None else [np.flatnonzero(classes == c) for c in np.unique(classes)]
        density = (np.arange(size) + 0.5) / size if start == "spread" else 0.5
        self.population = self._repair(genome.random(size, rng, density=density), None)
        self.fitness: FloatArray = np.empty(0)
        self.evaluations = self.generation = self.accepted = 0
        self._asked: tuple[Population, IndexArray] | None = None

    @property
    def exhausted(self) -> bool:
        """Whether the population cannot change any more, so that every further `ask` would give no individuals."""
        return bool(len(self.fitness)) and bool(self.population.same_as(self.population.take([0])).all())

    def ask(self, at_most: int | None = None) -> Population:
        """Return the individuals to evaluate, at most ``at_most``. There are none if all trials equal their targets."""
        if self._asked is not None:
            raise InvalidDataError("ask was called twice: tell the fitness of the last individuals first")
        if not len(self.fitness):
            if at_most is not None and at_most < self.size:
                raise InvalidDataError(
                    f"the first population has {self.size} individuals; only {at_most} evaluations are left"
                )
            self._asked = self.population, np.arange(self.size)
        else:
            trials, places = self._make_trials()
            # The last generation may be cut short by the limit of evaluations.
            self._asked = trials.take(slice(at_most)), places[:at_most]
        return self._asked[0]

    def tell(self, values: FloatArray) -> None:
        """Take the fitness of the individuals that `ask` gave last. A trial replaces its target if it is fitter."""
        if self._asked is None:
            raise InvalidDataError("tell was called before ask")
        individuals, places = self._asked
        values = np.asarray(values, dtype=np.float64)
        n_dimensions, wanted = self._told
        if values.ndim != n_dimensions or len(values) != len(places) or np.isnan(values).any():
            raise InvalidDataError(
                f"tell needs {wanted} for each of {len(places)} individuals, none of them NaN; got shape {values.shape}"
            )
        self._asked = None
        self.evaluations += len(places)
        self.generation += 1
        self._choose_next(individuals, places, values)

    def _choose_next(self, individuals: Population, places: IndexArray, fitness: FloatArray) -> None:
        """Put the evaluated ``individuals`` that survive at their positions ``places`` of the population."""
        if not len(self.fitness):
            self.fitness, self.accepted = fitness.copy(), len(places)
            return
        better = fitness > self.fitness[places]  # paper 004: the trial must be strictly fitter
        places, self.accepted = places[better], int(better.sum())
        # Arrays are copied, since `state` has given the old ones away.
        weights, bits = self.population.weights.copy(), self.population.bits.copy()
        weights[places], bits[places] = individuals.weights[better], individuals.bits[better]
        values = self.fitness.copy()
        values[places] = fitness[better]
        self.population, self.fitness = Population(weights, bits), values

    def best(self) -> int:
        """Return the row of the fittest individual. If several are equally fit, return the first."""
        return int(np.argmax(self.fitness))

    def summary(self) -> dict[str, float]:
        """Return the best and the mean fitness, for a row of the search history."""
        known = self.fitness[np.isfinite(self.fitness)]
        return {"best": float(self.fitness[self.best()]), "mean": float(known.mean()) if len(known) else 0.0}

    def _make_trials(self) -> tuple[Population, IndexArray]:
        """Make one trial per target. Return the trials that differ from their targets, and their positions."""
        now = self.population
        r1, r2, r3 = pick_three(self.size, self.rng)
        weights = differential(now.weights, now.weights[r1], now.weights[r2], now.weights[r3], self.rng)
        bits = half_uniform(now.bits, now.bits[r1], self.rng) if self.genome.n_bits else now.bits
        return self._keep_changed(Population(weights, bits), now)

    def _keep_changed(self, trials: Population, targets: Population) -> tuple[Population, IndexArray]:
        """Return the trials that differ from their targets, and their positions, with no class lost.

        A trial that equals its target needs no evaluation.
        """
        trials = self._repair(trials, targets.bits)
        places = np.flatnonzero(~trials.same_as(targets))
        return trials.take(places), places

    def _repair(self, population: Population, before: BoolArray | None) -> Population:
        """Return the population, in which every individual has rows again of every class that must be kept.

        ``before`` holds the bits of the individual that each one was made from (see `restore_classes`).
        """
        return Population(population.weights, restore_classes(population.bits, before, self._members, self.rng))

    def state(self) -> dict[str, AnyArray]:
        """Return the complete state of the search, as arrays. Raise an error between ``ask`` and ``tell``."""
        if self._asked is not None:
            raise InvalidDataError("the state is whole only between tell and ask")
        return {
            "weights": self.population.weights,
            # Eight bits per byte make the checkpoint small.
            "bits": np.packbits(self.population.bits, axis=1),
            "fitness": self.fitness,
            "counters": np.array([self.evaluations, self.generation]),
            "generator": np.array(json.dumps(self.rng.bit_generator.state)),
        }

    def load(self, state: dict[str, AnyArray]) -> None:
        """Continue from a ``state`` of a search with the same genome, size and classes."""
        bits = np.unpackbits(state["bits"], axis=1, count=self.genome.n_bits).astype(bool)
        self.population, self.fitness = Population(state["weights"], bits), state["fitness"]
        self.evaluations, self.generation = (int(count) for count in state["counters"])
        self.rng.bit_generator.state = json.loads(str(state["generator"]))
        self._asked = None
