"""The evolutionary search with the methods ``ask`` and ``tell`` (paper 004, section 3).

``ask`` gives individuals, the caller evaluates them, and ``tell`` takes the results. `EvolutionSearch`
maximises one fitness with differential evolution and half-uniform crossover. `pareto.ParetoSearch` has the
same methods for several goals. The state of both can be written to arrays and read back without any change.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from .genome import Genome, Population
from .operators import ClassGuard, cataclysm, count_differing, differential, half_uniform, pick_three

__all__ = ["EvolutionSearch", "Settings", "read_generator", "write_generator"]


@dataclass(frozen=True)
class Settings:
    """Settings of a search. The defaults are those of paper 004.

    Parameters
    ----------
    size : int
        Number of individuals of the population, at least 4 (paper 004, under eq. 4).
    factor, rate : float
        F and CR of differential evolution.
    incest_prevention : bool
        Cross the bits of two individuals only if half their Hamming distance is larger than a threshold.
        The threshold starts at L/4, L being the number of bits, and falls by 1 in each generation in which
        no trial is accepted. The paper does not describe this rule.
    restart : bool
        When the threshold of ``incest_prevention`` is below 0, keep the best individual and make all
        others again from it. Needs ``incest_prevention``.
    start : {"half", "spread"}
        Probability that a bit is 1 in the first population. "half": ½, as in the paper. "spread": it increases from
        near 0 to near 1 over the individuals, so that small and large selections are both there.
    """

    size: int = 100
    factor: float = 0.8
    rate: float = 0.9
    incest_prevention: bool = False
    restart: bool = False
    start: str = "half"

    def __post_init__(self) -> None:
        if self.size < 4:
            raise InvalidDataError(
                f"population_size must be at least 4: a trial needs its target and three others; got {self.size}"
            )
        if self.restart and not self.incest_prevention:
            raise InvalidDataError(
                "restart=True needs incest_prevention=True: a restart waits until the threshold of the incest "
                "prevention has fallen below 0"
            )


def write_generator(rng: np.random.Generator) -> str:
    """Write the state of a PCG64 generator as JSON."""
    return json.dumps(rng.bit_generator.state)


def read_generator(state: str) -> np.random.Generator:
    """Return a generator with the state that `write_generator` wrote."""
    return _generator_of(json.loads(state))


def _generator_of(state: Any) -> np.random.Generator:
    """Return a PCG64 generator with a state as ``bit_generator.state`` gives it."""
    bits = np.random.PCG64(0)  # A seed spares the entropy of the operating system, which would not be used.
    bits.state = state
    return np.random.Generator(bits)


class EvolutionSearch:
    """Maximise a fitness over weights and bits.

    Parameters
    ----------
    genome : Genome
    settings : Settings
    rng : numpy Generator over PCG64
    guard : ClassGuard or None
        Keeps at least one row of every class in every individual. With None, an individual may lose a class.

    Attributes
    ----------
    population : Population
    fitness : ndarray of shape (P,)
        Empty until `tell` was called for the first population.
    evaluations, generation, restarts, accepted, stagnant : int
        Counters. ``accepted`` is the number of trials of the last generation that replaced their targets.
        ``stagnant`` is the number of generations since the best fitness last increased.
    threshold : float
        Threshold of the incest prevention (see `Settings`).

    Examples
    --------
    The caller evaluates the individuals. In this example the fitness is the share of bits that are 1:

    >>> genome = Genome(("FS",), n_instances=1, n_features=40)
    >>> search = EvolutionSearch(genome, Settings(size=20), np.random.default_rng(0))
    >>> while search.evaluations < 1500 and not search.exhausted:
    ...     asked = search.ask(1500 - search.evaluations)
    ...     search.tell(asked.bits.mean(axis=1))
    >>> float(search.fitness[search.best()])
    1.0
    """

    kind = "evolution"

    def __init__(
        self, genome: Genome, settings: Settings, rng: np.random.Generator, guard: ClassGuard | None = None
    ) -> None:
        self.genome, self.settings, self.rng, self.guard = genome, settings, rng, guard
        self.population = self._first_population()
        self.fitness: FloatArray = np.empty(0)
        self.evaluations = self.generation = self.restarts = self.accepted = self.stagnant = 0
        # CHC (Eshelman 1991): at first, parents cross only if half the number of their differing bits is above L / 4.
        self.threshold = genome.n_bits / 4
        self._asked: tuple[Population, IndexArray] | None = None

    @property
    def exhausted(self) -> bool:
        """Whether the population cannot change any more, so that every further `ask` would give no individuals."""
        s = self.settings
        if not len(self.fitness) or (s.restart and self.genome.n_bits):
            return False
        # Below a threshold of 0 no bits cross any more, and without weights nothing else can change.
        if s.incest_prevention and self.threshold < 0 and not self.genome.n_weights:
            return True
        return bool(self.population.same_as(self.population.take([0])).all())

    def ask(self, at_most: int | None = None) -> Population:
        """Return the individuals to evaluate, at most ``at_most``. There are none if all trials equal their targets."""
        if self._asked is not None:
            raise InvalidDataError("ask was called twice: tell the fitness of the last individuals first")
        if not len(self.fitness):
            if at_most is not None and at_most < self.settings.size:
                raise InvalidDataError(
                    f"the first population has {self.settings.size} individuals; only {at_most} evaluations are left"
                )
            self._asked = self.population, np.arange(self.settings.size)
        elif self._must_restart():
            self._asked = self._restart_others()
        else:
            self._asked = self._make_trials()
        individuals, places = self._asked
        # The last generation may be cut short by the limit of evaluations.
        if at_most is not None and len(places) > at_most:
            self._asked = individuals.take(slice(at_most)), places[:at_most]
        return self._asked[0]

    def tell(self, fitness: FloatArray) -> None:
        """Take the fitness of the individuals that `ask` gave last. A trial replaces its target if it is fitter."""
        if self._asked is None:
            raise InvalidDataError("tell was called before ask")
        individuals, places = self._asked
        fitness = np.asarray(fitness, dtype=np.float64)
        if fitness.shape != (len(places),) or np.isnan(fitness).any():
            raise InvalidDataError(f"tell needs {len(places)} numbers, none of them NaN; got shape {fitness.shape}")
        self._asked = None
        self.evaluations += len(places)
        self.generation += 1
        if not len(self.fitness):
            self.fitness, self.accepted = fitness.copy(), len(places)
            return
        best = self.fitness.max()
        # A generation that only equals the best counts as stagnant.
        self.stagnant = 0 if fitness.max(initial=-np.inf) > best else self.stagnant + 1
        if self._must_restart():
            self._settle(individuals, places, fitness)
            self.threshold, self.restarts, self.accepted = self.genome.n_bits / 4, self.restarts + 1, len(places)
            return
        better = fitness > self.fitness[places]  # paper 004: the trial must be strictly fitter
        self._settle(individuals.take(better), places[better], fitness[better])
        self.accepted = int(better.sum())
        # No trial was accepted: the population has converged, so more similar parents may cross (CHC).
        if self.accepted == 0 and self.genome.n_bits:
            self.threshold -= 1

    def best(self) -> int:
        """Return the row of the fittest individual. If several are equally fit, return the first."""
        return int(np.argmax(self.fitness))

    def front(self) -> IndexArray:
        """Return the rows of the population that are results: here the best one, in `ParetoSearch` the whole front."""
        return np.array([self.best()])

    def goal_values(self) -> FloatArray:
        """Return the values that are minimised, here minus the fitness: shape (P, 1)."""
        return -self.fitness[:, None]

    def summary(self) -> dict[str, float]:
        """Return the best and the mean fitness, for a row of the search history."""
        known = self.fitness[np.isfinite(self.fitness)]
        return {"best": float(self.fitness[self.best()]), "mean": float(known.mean()) if len(known) else 0.0}

    def snapshot(self) -> Self:
        """Return an independent copy of the search, in which no individuals wait for `tell`.

        The copy can share its arrays with this search, since a search replaces arrays and never changes them.
        """
        other = copy.copy(self)
        # The generator is copied by its state, so that both searches go on with the same random numbers.
        other.rng, other._asked = _generator_of(self.rng.bit_generator.state), None
        return other

    def _first_population(self) -> Population:
        """Draw the first population, with bits as `Settings` describes ``start``."""
        size = self.settings.size
        density = (np.arange(size) + 0.5) / size if self.settings.start == "spread" else 0.5
        return self._repair(self.genome.random(size, self.rng, density=density), None)

    def _repair(self, population: Population, before: BoolArray | None) -> Population:
        """Return the population, in which every individual has rows of every class again if there is a guard.

        ``before`` holds the bits of the individual that each one was made from (see `ClassGuard.repair`).
        """
        if self.guard is None:
            return population
        return Population(population.weights, self.guard.repair(population.bits, before, self.rng))

    def _must_restart(self) -> bool:
        """Return whether the search restarts: restarts are on and the threshold has fallen below 0."""
        return self.settings.restart and self.genome.n_bits > 0 and self.threshold < 0

    def _restart_others(self) -> tuple[Population, IndexArray]:
        """Make new individuals from the best one. Return them and the positions of all individuals but the best."""
        best = self.best()
        # The best individual survives a restart unchanged.
        others = np.delete(np.arange(self.settings.size), best)
        flipped = cataclysm(self.population.take([best]), len(others), self.rng)
        return self._repair(flipped, np.repeat(self.population.bits[[best]], len(others), axis=0)), others

    def _make_trials(self) -> tuple[Population, IndexArray]:
        """Make one trial per target. Return the trials that differ from their targets, and their positions."""
        now, s = self.population, self.settings
        r1, r2, r3 = pick_three(s.size, self.rng)
        weights = differential(
            now.weights, now.weights[r1], now.weights[r2], now.weights[r3], self.rng, factor=s.factor, rate=s.rate
        )
        bits = now.bits
        if self.genome.n_bits:
            distant = np.ones(s.size, dtype=bool)
            if s.incest_prevention:
                # CHC counts half of the differing bits, since crossover exchanges only half of them.
                distant = count_differing(now.bits, now.bits[r1]) / 2 > self.threshold
            crossing = np.flatnonzero(distant)
            bits = now.bits.copy()
            bits[crossing] = half_uniform(now.bits[crossing], now.bits[r1[crossing]], self.rng)
        trials = self._repair(Population(weights, bits), now.bits)
        # A trial that equals its target needs no evaluation.
        places = np.flatnonzero(~trials.same_as(now))
        return trials.take(places), places

    def _settle(self, individuals: Population, places: IndexArray, fitness: FloatArray) -> None:
        """Put ``individuals`` and their fitness at the positions ``places`` of the population."""
        weights, bits = self.population.weights.copy(), self.population.bits.copy()
        weights[places], bits[places] = individuals.weights, individuals.bits
        values = self.fitness.copy()  # copied, since a snapshot may still use the old array
        values[places] = fitness
        self.population, self.fitness = Population(weights, bits), values

    def state(self) -> dict[str, AnyArray]:
        """Return the complete state of the search, as arrays. Raise an error between ``ask`` and ``tell``."""
        if self._asked is not None:
            raise InvalidDataError("the state is whole only between tell and ask")
        return {
            "kind": np.array(self.kind),
            "weights": self.population.weights,
            # Eight bits per byte make the checkpoint small.
            "bits": np.packbits(self.population.bits, axis=1),
            "fitness": self.fitness,
            "counters": np.array([self.evaluations, self.generation, self.restarts, self.accepted, self.stagnant]),
            "threshold": np.array(self.threshold),
            "generator": np.array(write_generator(self.rng)),
        }

    @classmethod
    def restore(
        cls, genome: Genome, settings: Settings, state: dict[str, AnyArray], guard: ClassGuard | None = None
    ) -> Self:
        """Return a search with the state that `state` returned.

        Parameters
        ----------
        genome, settings, guard
            As in the constructor.
        state : dict of arrays
            As `state` returns it.
        """
        search = cls.__new__(cls)
        search.genome, search.settings, search.guard = genome, settings, guard
        search._read(state)
        return search

    def _read(self, state: dict[str, AnyArray]) -> None:
        """Set the attributes of the search from the arrays of `state`."""
        bits = np.unpackbits(state["bits"], axis=1, count=self.genome.n_bits).astype(bool)
        self.population = Population(np.array(state["weights"]), bits)
        self.fitness = np.array(state["fitness"])
        counters = (int(count) for count in state["counters"])
        self.evaluations, self.generation, self.restarts, self.accepted, self.stagnant = counters
        self.threshold = float(state["threshold"])
        self.rng = read_generator(str(state["generator"]))
        self._asked = None
