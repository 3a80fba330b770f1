"""The search, as ask and tell: who drives it evaluates (paper 004, section 3).

``ask`` gives individuals, ``tell`` takes their figures, and nothing else happens. `EvolutionSearch`
maximises one fitness with differential evolution and CHC's crossover; `pareto.ParetoSearch` has the
same face for several goals. Both can be written to arrays and read back, to the bit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import AnyArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from .genome import Genome, Population
from .operators import cataclysm, differential, half_uniform, pick_three

__all__ = ["EvolutionSearch", "Settings", "read_generator", "write_generator"]


@dataclass(frozen=True)
class Settings:
    """What steers a search; the defaults are the paper's.

    Parameters
    ----------
    size : int
        Individuals, at least 4 (paper 004, under eq. 4).
    factor, rate : float
        F and CR of differential evolution.
    incest_prevention : bool
        Cross bits only where half their Hamming distance exceeds a threshold that starts at L/4 and
        falls by 1 in a generation without an accepted trial.
    restart : bool
        Once the threshold is below 0: keep the best, make all others from it anew.
    """

    size: int = 100
    factor: float = 0.8
    rate: float = 0.9
    incest_prevention: bool = True
    restart: bool = True

    def __post_init__(self) -> None:
        if self.size < 4:
            raise InvalidDataError(
                f"population_size must be at least 4: a trial needs its target and three others; got {self.size}"
            )


def write_generator(rng: np.random.Generator) -> str:
    """State of a PCG64 generator as JSON."""
    return json.dumps(rng.bit_generator.state)


def read_generator(state: str) -> np.random.Generator:
    """The generator that `write_generator` wrote."""
    bits = np.random.PCG64()
    bits.state = json.loads(state)
    return np.random.Generator(bits)


class EvolutionSearch:
    """Maximise a fitness over weights and bits.

    Parameters
    ----------
    genome : Genome
    settings : Settings
    rng : numpy Generator over PCG64

    Attributes
    ----------
    population : Population
    fitness : ndarray of shape (P,)
        Empty until the first population was told.
    evaluations, generation, restarts, accepted, stagnant : int
        ``accepted`` counts the trials of the last generation that replaced their targets, ``stagnant``
        the generations since the best one last got better.
    threshold : float
        T of the incest prevention.

    Examples
    --------
    Whoever drives the search evaluates. Here the fitness is the share of bits that are 1:

    >>> genome = Genome(("FS",), n_instances=1, n_features=40)
    >>> search = EvolutionSearch(genome, Settings(size=20), np.random.default_rng(0))
    >>> while search.evaluations < 1500:
    ...     asked = search.ask(1500 - search.evaluations)
    ...     search.tell(asked.bits.mean(axis=1))
    >>> float(search.fitness[search.best()])
    1.0
    """

    kind = "evolution"

    def __init__(self, genome: Genome, settings: Settings, rng: np.random.Generator) -> None:
        self.genome, self.settings, self.rng = genome, settings, rng
        self.population = genome.random(settings.size, rng)
        self.fitness: FloatArray = np.empty(0)
        self.evaluations = self.generation = self.restarts = self.accepted = self.stagnant = 0
        self.threshold = genome.n_bits / 4
        self._asked: tuple[Population, IndexArray] | None = None

    @property
    def exhausted(self) -> bool:
        """Whether nothing can change any more: no restart, and individuals that are all alike or too near."""
        s = self.settings
        if not len(self.fitness) or (s.restart and s.incest_prevention and self.genome.n_bits):
            return False
        if s.incest_prevention and self.threshold < 0 and not self.genome.n_weights:
            return True
        return bool(self.population.same_as(self.population.take([0])).all())

    def ask(self, at_most: int | None = None) -> Population:
        """Individuals to evaluate, at most so many; none in a generation where nothing differs."""
        if self._asked is not None:
            raise InvalidDataError("ask was called twice: tell the fitness of the last individuals first")
        if not len(self.fitness):
            if at_most is not None and at_most < self.settings.size:
                raise InvalidDataError(
                    f"the first population has {self.settings.size} individuals; only {at_most} evaluations are left"
                )
            self._asked = self.population, np.arange(self.settings.size)
        elif self._must_restart():
            self._asked = self._restarted()
        else:
            self._asked = self._trials()
        individuals, places = self._asked
        if at_most is not None and len(places) > at_most:
            self._asked = individuals.take(slice(at_most)), places[:at_most]
        return self._asked[0]

    def tell(self, fitness: FloatArray) -> None:
        """Fitness of the individuals asked last; the fitter of target and trial survives."""
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
        self.stagnant = 0 if fitness.max(initial=-np.inf) > best else self.stagnant + 1
        if self._must_restart():
            self._settle(individuals, places, fitness)
            self.threshold, self.restarts, self.accepted = self.genome.n_bits / 4, self.restarts + 1, len(places)
            return
        better = fitness > self.fitness[places]  # paper 004: strictly fitter
        self._settle(individuals.take(better), places[better], fitness[better])
        self.accepted = int(better.sum())
        if self.accepted == 0 and self.genome.n_bits:
            self.threshold -= 1

    def best(self) -> int:
        """Row of the fittest individual, the first of equal ones."""
        return int(np.argmax(self.fitness))

    def _must_restart(self) -> bool:
        on = self.settings.restart and self.settings.incest_prevention
        return on and self.genome.n_bits > 0 and self.threshold < 0

    def _restarted(self) -> tuple[Population, IndexArray]:
        best = self.best()
        others = np.delete(np.arange(self.settings.size), best)
        return cataclysm(self.population.take([best]), len(others), self.rng), others

    def _trials(self) -> tuple[Population, IndexArray]:
        """One trial per target; those equal to their target are left out."""
        now, s = self.population, self.settings
        r1, r2, r3 = pick_three(s.size, self.rng)
        weights = differential(
            now.weights, now.weights[r1], now.weights[r2], now.weights[r3], self.rng, factor=s.factor, rate=s.rate
        )
        bits = now.bits
        if self.genome.n_bits:
            distant = np.ones(s.size, dtype=bool)
            if s.incest_prevention:
                distant = (now.bits != now.bits[r1]).sum(axis=1) / 2 > self.threshold
            crossing = np.flatnonzero(distant)
            bits = now.bits.copy()
            bits[crossing] = half_uniform(now.bits[crossing], now.bits[r1[crossing]], self.rng)
        trials = Population(weights, bits)
        places = np.flatnonzero(~trials.same_as(now))
        return trials.take(places), places

    def _settle(self, individuals: Population, places: IndexArray, fitness: FloatArray) -> None:
        weights, bits = self.population.weights.copy(), self.population.bits.copy()
        weights[places], bits[places] = individuals.weights, individuals.bits
        values = self.fitness.copy()  # arrays are replaced, never changed: who holds the old ones has a whole search
        values[places] = fitness
        self.population, self.fitness = Population(weights, bits), values

    def state(self) -> dict[str, AnyArray]:
        """Everything the search is, as arrays. Between ``tell`` and ``ask`` only."""
        if self._asked is not None:
            raise InvalidDataError("the state is whole only between tell and ask")
        return {
            "kind": np.array(self.kind),
            "weights": self.population.weights,
            "bits": np.packbits(self.population.bits, axis=1),
            "fitness": self.fitness,
            "counters": np.array([self.evaluations, self.generation, self.restarts, self.accepted, self.stagnant]),
            "threshold": np.array(self.threshold),
            "generator": np.array(write_generator(self.rng)),
        }

    @classmethod
    def restore(cls, genome: Genome, settings: Settings, state: dict[str, AnyArray]) -> Any:
        """The search that `state` described."""
        search = cls.__new__(cls)
        search.genome, search.settings = genome, settings
        search._read(state)
        return search

    def _read(self, state: dict[str, AnyArray]) -> None:
        bits = np.unpackbits(state["bits"], axis=1, count=self.genome.n_bits).astype(bool)
        self.population = Population(np.array(state["weights"]), bits)
        self.fitness = np.array(state["fitness"])
        counters = (int(count) for count in state["counters"])
        self.evaluations, self.generation, self.restarts, self.accepted, self.stagnant = counters
        self.threshold = float(state["threshold"])
        self.rng = read_generator(str(state["generator"]))
        self._asked = None
