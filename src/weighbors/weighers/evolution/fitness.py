"""How good an individual is: F = α_a · acc + α_i (1 − f_i) + α_f (1 − f_f) (paper 004, eq. 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...engine.population import PopulationNeighbors, PopulationPlan
from ...exceptions import InvalidDataError
from ...metrics import geometric_mean
from .genome import Genome, Population

__all__ = ["Fitness", "Judgement", "NeighborPredictor", "Performance", "Predictor", "default_alphas"]

_CELLS = 4_000_000  # answers in memory at once


def default_alphas(tasks: Sequence[str]) -> tuple[float, float, float]:
    """The paper's α of accuracy, instances removed and features removed.

    Examples
    --------
    >>> default_alphas(("IS", "FS", "FW"))
    (0.5, 0.25, 0.25)
    """
    rows, columns = "IS" in tasks, "FS" in tasks
    if rows and columns:
        return 0.5, 0.25, 0.25
    return 0.5 if rows or columns else 1.0, 0.5 if rows else 0.0, 0.5 if columns else 0.0


class Predictor(Protocol):
    """Answers of individuals for the rows they were not trained on."""

    def predict(self, population: Population) -> AnyArray:
        """Codes (P, N), -1 where there is no answer."""
        ...


class NeighborPredictor:
    """The k nearest selected instances answer, each row left out (paper 004: k = 1)."""

    def __init__(self, genome: Genome, X: FloatArray, codes: IndexArray, n_classes: int, **options: Any) -> None:
        tasks = genome.tasks
        self.genome = genome
        self.neighbors = PopulationNeighbors(
            X,
            codes,
            n_classes=n_classes,
            features_change="FS" in tasks or "FW" in tasks,
            scales_change="IW" in tasks,
            **options,
        )

    @property
    def plan(self) -> PopulationPlan:
        """How evaluations run, and why."""
        return self.neighbors.plan

    def predict(self, population: Population) -> AnyArray:
        """Codes (P, N), -1 where nobody else is selected."""
        return self.neighbors.predict(self.genome.selections(population))


@dataclass(frozen=True)
class Performance:
    """Accuracy, G-mean or a user's function of true and predicted labels.

    A class of one instance can never be right when that instance is left out, so G-mean leaves
    such classes out.
    """

    how: str | Callable[[AnyArray, AnyArray], float]
    codes: IndexArray
    classes: AnyArray

    def __call__(self, predicted: AnyArray) -> FloatArray:
        """One figure per individual, from codes of shape (P, N)."""
        if callable(self.how):
            return np.array([self._asked(row) for row in predicted])
        right = predicted == self.codes
        if self.how == "accuracy":
            return right.sum(axis=1) / len(self.codes)
        of_class = np.arange(len(self.classes))[:, None] == self.codes
        sizes = of_class.sum(axis=1)
        counted = sizes > 1 if (sizes > 1).any() else sizes > 0
        hits = right.astype(np.float64) @ of_class[counted].T.astype(np.float64)
        return np.array([geometric_mean(row) for row in hits / sizes[counted]])

    def _asked(self, predicted: AnyArray) -> float:
        # a row without an answer counts as wrong: it gets the class after its own
        codes = np.where(predicted < 0, (self.codes + 1) % len(self.classes), predicted)
        assert callable(self.how)
        value = self.how(self.classes[self.codes], self.classes[codes])
        try:
            figure = float(value)
        except (TypeError, ValueError):
            figure = np.nan
        if not np.isfinite(figure):
            raise InvalidDataError(
                f"the function given as fitness must return one finite number for (y_true, y_pred); got {value!r}"
            )
        return figure


@dataclass(frozen=True)
class Judgement:
    """What an evaluation found: per individual, arrays of shape (P,)."""

    fitness: FloatArray
    performance: FloatArray
    instances: FloatArray  # share kept
    features: FloatArray  # share kept

    @property
    def empty(self) -> BoolArray:
        """Individuals that select no instance or no feature."""
        nothing: BoolArray = (self.instances == 0) | (self.features == 0)
        return nothing


class Fitness:
    """Judges populations.

    Parameters
    ----------
    genome : Genome
    predictor : Predictor
    performance : Performance
    alphas : (α_a, α_i, α_f)
    """

    def __init__(
        self, genome: Genome, predictor: Predictor, performance: Performance, alphas: tuple[float, float, float]
    ) -> None:
        self.genome, self.predictor, self.performance, self.alphas = genome, predictor, performance, alphas

    @property
    def nothing(self) -> float:
        """Fitness where no instance or no feature is selected: 0; below all figures of a user's function."""
        return -np.inf if callable(self.performance.how) else 0.0

    def __call__(self, population: Population) -> Judgement:
        """Evaluate all individuals; those that select nothing get `nothing` without being asked."""
        kept_rows, kept_columns = self.genome.kept(population)
        instances, features = kept_rows / self.genome.n_instances, kept_columns / self.genome.n_features
        performance, fitness = np.zeros(len(population)), np.full(len(population), self.nothing)
        able = np.flatnonzero((kept_rows > 0) & (kept_columns > 0))
        together = max(8, _CELLS // self.genome.n_instances)
        for begin in range(0, len(able), together):
            part = able[begin : begin + together]
            performance[part] = self.performance(self.predictor.predict(population.take(part)))
        a, i, f = self.alphas
        value = a * performance + i * (1 - instances) + f * (1 - features)
        fitness[able] = value[able]
        return Judgement(fitness, performance, instances, features)
