"""Check the content of a checkpoint before a search continues from it.

The digest of a file finds damage, but everybody can write a file with a correct digest. So every part is checked here:
its type, its shape, and the values that a search can have. The functions raise ValueError with the reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import AnyArray, FloatArray
from .genome import Genome
from .goals import WORST_GOAL
from .pareto import non_dominated_ranks
from .search import EvolutionSearch, read_generator

__all__ = ["StateChecker", "check_header", "read_history"]

_COUNTERS = ("evaluations", "generation", "restarts", "accepted", "stagnant")
_ROUNDING = 1e-6  # a sum of shares can exceed its bound by rounding


def check_header(header: Mapping[str, Any]) -> None:
    """Raise ValueError if the fingerprint of the data, the settings or the seed have the wrong type."""
    if not isinstance(header.get("data"), str):
        raise ValueError("its fingerprint of the data is no text")
    if not isinstance(header.get("settings"), dict):
        raise ValueError("its settings are no table of names and values")
    entropy = header.get("entropy")
    words = entropy if isinstance(entropy, list) and entropy else [entropy]
    if not all(isinstance(word, int) and not isinstance(word, bool) and word >= 0 for word in words):
        raise ValueError("its seed is no integer >= 0, and no list of such integers")


def read_history(state: dict[str, AnyArray]) -> list[dict[str, Any]]:
    """Take the history out of ``state``, and return its rows. Raise ValueError if it is no history of a search."""
    text = state.pop("history", None)
    if text is None or text.shape != () or text.dtype.kind != "U":
        raise ValueError("its history is missing or no text")
    try:
        rows = json.loads(str(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its history is no JSON: {error}") from error
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError("its history is no list of rows")
    for number, row in enumerate(rows, start=1):
        values = [row.get(key) for key in ("generation", "evaluations", "best", "reduction", "seconds")]
        if not all(_is_number(value) for value in [*values, *row.values()]):
            raise ValueError(f"row {number} of its history lacks a number")
        if row["generation"] != number or not 0 <= row["seconds"] < math.inf or not 0 <= row["reduction"] <= 1:
            raise ValueError(f"row {number} of its history has values that no search can have")
    return rows


def _is_number(value: Any) -> bool:
    """Return whether a value of JSON is a number, which NaN is not. Infinities are numbers."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


@dataclass(frozen=True)
class StateChecker:
    """Checks the state of a search against the genome and settings of the search that continues it.

    Parameters
    ----------
    kind : type
        `EvolutionSearch` or `ParetoSearch`.
    genome : Genome
    size : int
        Number of individuals of the population.
    largest : float
        Largest absolute value that a fitness can have, or infinity if the score is a function of the user.
    nothing : float
        Fitness of an individual that selects nothing: 0 or −∞.
    goals : sequence of str or None
        Names of the columns of goals of a `ParetoSearch`.
    """

    kind: type[EvolutionSearch]
    genome: Genome
    size: int
    largest: float
    nothing: float
    goals: Sequence[str] | None = None

    def check(self, state: Mapping[str, AnyArray], history: Sequence[Mapping[str, Any]]) -> None:
        """Raise ValueError if a search of this kind cannot have the state ``state`` after the rows of ``history``."""
        names = {"kind", "weights", "bits", "fitness", "counters", "threshold", "generator"}
        names |= {"goals"} if self.goals is not None else set()
        if set(state) != names:
            raise ValueError(f"its parts are {sorted(state)}, where {sorted(names)} are wanted")
        if _text(state, "kind") != self.kind.kind:
            raise ValueError(f"it is no state of the search '{self.kind.kind}'")
        self._check_population(state)
        self._check_counters(state, history)
        if self.goals is None:
            self._check_fitness(_array(state, "fitness", "f", (self.size,)), history)
        else:
            self._check_goals(state, self.goals)
        try:
            read_generator(_text(state, "generator"))
        except (TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise ValueError(f"its random generator cannot be read: {error}") from error

    def _check_population(self, state: Mapping[str, AnyArray]) -> None:
        """Check the chromosomes: weights between 0 and 1, and as many bits as the genome has."""
        weights = _array(state, "weights", "f", (self.size, self.genome.n_weights))
        if not ((weights >= 0) & (weights <= 1)).all():
            raise ValueError("its weights are not all between 0 and 1")
        bits = _array(state, "bits", "u", (self.size, -(-self.genome.n_bits // 8)))
        if bits.dtype != np.uint8:
            raise ValueError("its bits are not packed in bytes")

    def _check_counters(self, state: Mapping[str, AnyArray], history: Sequence[Mapping[str, Any]]) -> None:
        """Check that counters and threshold are possible, and agree with the history."""
        numbers = dict(zip(_COUNTERS, _array(state, "counters", "i", (len(_COUNTERS),)).tolist(), strict=True))
        generation, evaluations = numbers["generation"], numbers["evaluations"]
        possible = (
            min(numbers.values()) >= 0
            and generation == len(history)
            and evaluations == history[-1]["evaluations"]
            and self.size <= evaluations <= self.size * generation
            and numbers["accepted"] <= self.size
            and max(numbers["restarts"], numbers["stagnant"]) <= generation
        )
        threshold, most = float(_array(state, "threshold", "f", ())), self.genome.n_bits / 4
        # The threshold falls by at most 1 per generation.
        if not possible or not most - generation <= threshold <= most:
            raise ValueError(f"its counters {numbers} and threshold {threshold} do not belong to its history")

    def _check_fitness(self, fitness: FloatArray, history: Sequence[Mapping[str, Any]]) -> None:
        """Check that every fitness is possible, and that the best one is the best of the history."""
        possible = (fitness == self.nothing) | (np.isfinite(fitness) & (np.abs(fitness) <= self.largest + _ROUNDING))
        if not possible.all():
            raise ValueError(f"its fitness has values that this score cannot have, such as {fitness[~possible][0]}")
        if fitness.max() != history[-1]["best"]:
            raise ValueError("its best fitness is not that of its history")

    def _check_goals(self, state: Mapping[str, AnyArray], names: Sequence[str]) -> None:
        """Check that the goals are possible, and that the fitness has the fronts of these goals."""
        goals = _array(state, "goals", "f", (self.size, len(names)))
        if not np.isfinite(goals).all():
            raise ValueError("its goals are not all finite")
        shares = np.array([name in ("instances", "features") for name in names])
        possible = (goals == WORST_GOAL) | ~shares | ((goals >= 0) & (goals <= 1))
        if not possible.all():
            raise ValueError("the shares of instances and features in its goals are not all between 0 and 1")
        if not np.array_equal(_array(state, "fitness", "f", (self.size,)), -non_dominated_ranks(goals)):
            raise ValueError("its fitness does not belong to its goals")


def _array(state: Mapping[str, AnyArray], name: str, kind: str, shape: tuple[int, ...]) -> AnyArray:
    """Return an array of the state. Raise ValueError if its kind of dtype or its shape is another one."""
    array = state[name]
    if array.dtype.kind != kind or array.shape != shape:
        raise ValueError(f"its part '{name}' has {array.dtype} of shape {array.shape}, where {shape} is wanted")
    return array


def _text(state: Mapping[str, AnyArray], name: str) -> str:
    """Return a text of the state."""
    return str(_array(state, name, "U", ()))
