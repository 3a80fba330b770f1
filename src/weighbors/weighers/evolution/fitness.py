"""Fitness of individuals: F = α_a · acc + α_i (1 − f_i) + α_f (1 − f_f) (paper 004, eq. 3).

acc is the accuracy or another score (of numeric targets R²), f_i the share of instances kept, and f_f the share of
features kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...engine.population import PopulationMethod, PopulationNeighbors, count_true
from .genome import Genome, Population
from .scores import call_score, confusion_counts, score_counts

__all__ = ["Fitness", "Judgement", "NeighborPredictor", "Performance", "Predictor", "Score", "default_alphas"]

_CELLS = 4_000_000  # largest number of predictions that are in memory at once


def default_alphas(tasks: Sequence[str]) -> tuple[float, float, float]:
    """Return the default α_a, α_i and α_f of paper 004: weights of accuracy, removed instances and removed features.

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
    """Predicts the class or number of each training row without the row itself, for each individual."""

    def predict(self, population: Population) -> AnyArray:
        """Return the prediction of each row for each individual, shape (P, N).

        Without a neighbour or a training row, it is class -1, or the mean of a numeric target.
        """
        ...


class Score(Protocol):
    """Scores the predictions of individuals: `Performance` of classes, `NumericPerformance` of numeric targets."""

    @property
    def may_be_negative(self) -> bool:
        """Whether the score can be below 0. If so, the fitness 0 of an empty individual is not the worst."""
        ...

    def __call__(self, predicted: AnyArray) -> FloatArray:
        """Return the score of each individual. ``predicted`` are its predictions, shape (P, N)."""
        ...


class NeighborPredictor:
    """Predicts each row by its k nearest selected instances, without the row itself (paper 004: k = 1).

    ``options`` are further parameters of `PopulationNeighbors`.
    """

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
    def method(self) -> PopulationMethod:
        """How predictions are computed, and why."""
        return self.neighbors.method

    def predict(self, population: Population) -> AnyArray:
        """Return the predicted class or number of each row for each individual, shape (P, N).

        It is class -1, or the mean of a numeric target, if the individual selects no other instance.
        """
        return self.neighbors.predict(self.genome.selections(population))


@dataclass(frozen=True)
class Performance:
    """Score of predicted classes.

    A singleton class is always predicted wrong, since its only instance is left out. So G-mean does not
    count singleton classes.

    Parameters
    ----------
    how : str or callable
        Name of the score, or a function of true and predicted labels.
    codes : ndarray of shape (N,)
        True class of each row, as a position in ``classes``.
    classes : ndarray of shape (n_classes,)
    """

    how: str | Callable[[AnyArray, AnyArray], float]
    codes: IndexArray
    classes: AnyArray

    def __call__(self, predicted: AnyArray) -> FloatArray:
        """Return the score of each individual. ``predicted`` are the predicted classes, shape (P, N)."""
        if self.how == "accuracy":
            return count_true(predicted == self.codes) / len(self.codes)
        # A row without a prediction counts as wrong: it gets the class after its true class.
        answers = np.where(predicted < 0, (self.codes + 1) % len(self.classes), predicted)
        if callable(self.how):
            labels = self.classes[self.codes]
            return np.array([call_score(self.how, labels, self.classes[row]) for row in answers])
        return score_counts(self.how, confusion_counts(self.codes, answers, len(self.classes)), self.classes)

    @property
    def may_be_negative(self) -> bool:
        """Whether the score can be below 0. If so, the fitness 0 of an empty individual is not the worst."""
        return callable(self.how) or self.how == "matthews_corrcoef"

    def recalls(self, predicted: AnyArray) -> FloatArray:
        """Return the recall of each class for one individual. ``predicted`` has shape (N,)."""
        right = np.bincount(self.codes[predicted == self.codes], minlength=len(self.classes))
        return right / np.bincount(self.codes, minlength=len(self.classes))


@dataclass(frozen=True)
class Judgement:
    """Results of an evaluation: arrays of shape (P,), with one value per individual."""

    fitness: FloatArray
    performance: FloatArray
    instances: FloatArray  # share of instances kept
    features: FloatArray  # share of features kept

    @property
    def empty(self) -> BoolArray:
        """Individuals that select no instance or no feature."""
        nothing: BoolArray = (self.instances == 0) | (self.features == 0)
        return nothing


class Fitness:
    """Fitness function: call it with a population to evaluate all its individuals.

    Parameters
    ----------
    genome : Genome
    predictor : Predictor
    performance : Score
    alphas : (α_a, α_i, α_f)
        Weights of the score, of the share of removed instances, and of the share of removed features.
    """

    def __init__(
        self, genome: Genome, predictor: Predictor, performance: Score, alphas: tuple[float, float, float]
    ) -> None:
        self.genome, self.predictor, self.performance, self.alphas = genome, predictor, performance, alphas

    @property
    def nothing(self) -> float:
        """Fitness of an individual that selects no instance or no feature: 0, or −∞ if the score can be negative."""
        return -np.inf if self.performance.may_be_negative else 0.0

    def __call__(self, population: Population) -> Judgement:
        """Evaluate all individuals.

        An individual that selects no instance or no feature gets the fitness `nothing` without a prediction.
        """
        kept_rows, kept_columns = self.genome.kept(population)
        instances, features = kept_rows / self.genome.n_instances, kept_columns / self.genome.n_features
        performance, fitness = np.zeros(len(population)), np.full(len(population), self.nothing)
        able = np.flatnonzero((kept_rows > 0) & (kept_columns > 0))
        # Predictions of a whole population may not fit in memory.
        together = max(8, _CELLS // self.genome.n_instances)
        for begin in range(0, len(able), together):
            part = able[begin : begin + together]
            performance[part] = self.performance(self.predictor.predict(population.take(part)))
        a, i, f = self.alphas
        # paper 004, eq. 3.
        value = a * performance + i * (1 - instances) + f * (1 - features)
        fitness[able] = value[able]
        return Judgement(fitness, performance, instances, features)
