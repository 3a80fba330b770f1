"""Fitness of individuals: F = α_a · acc + α_i (1 − f_i) + α_f (1 − f_f) (paper 004, eq. 3).

acc is the accuracy or another score (of numeric targets R²), f_i the share of instances kept, and f_f the share of
features kept. Scores have scikit-learn's names, and are computed for a whole population at once: scikit-learn's scorers
validate their input in every evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._typing import AnyArray, FloatArray, IndexArray
from ...engine.population import PopulationNeighbors
from ...exceptions import InvalidDataError
from ...metrics import geometric_mean
from ...tables.targets import Target
from .estimators import EstimatorPredictor
from .genome import Genome, Population

_CELLS = 4_000_000  # largest number of predictions that are in memory at once
# Largest number of residuals that are in memory at once. Large arrays come from the system anew for every population,
# which takes two thirds of the time of R² (2000 rows, 100 individuals, half of the rows selected).
_CACHED = 16_384
_RATIOS = ("f1", "jaccard", "precision", "recall")
_AVERAGES = ("micro", "macro", "weighted")
#: Names that ``fitness`` takes for classes: G-mean, and scikit-learn's scorers of predicted labels.
SCORES = (
    "accuracy",
    "g_mean",
    "balanced_accuracy",
    "matthews_corrcoef",
    *(name if average is None else f"{name}_{average}" for name in _RATIOS for average in (None, *_AVERAGES)),
)


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


def call_score(function: Callable[[AnyArray, AnyArray], float], y_true: AnyArray, y_pred: AnyArray) -> float:
    """Return the user's ``function`` of true and predicted targets. Raise an error if it is not one finite number."""
    value = function(y_true, y_pred)
    try:
        figure = float(value)
    except (TypeError, ValueError):
        figure = np.nan
    if not np.isfinite(figure):
        raise InvalidDataError(
            f"the function given as fitness must return one finite number for (y_true, y_pred); got {value!r}"
        )
    return figure


def confusion_counts(codes: IndexArray, predicted: IndexArray, n_classes: int) -> FloatArray:
    """Count how often each class is predicted as each class.

    Parameters
    ----------
    codes : ndarray of shape (N,)
        True classes.
    predicted : ndarray of shape (P, N)
        Predicted classes of P individuals.
    n_classes : int

    Returns
    -------
    ndarray of shape (P, n_classes, n_classes)
        True classes in rows, predicted ones in columns.

    Examples
    --------
    >>> confusion_counts(np.array([0, 0, 1]), np.array([[0, 1, 1]]), 2)
    array([[[1., 1.],
            [0., 1.]]])
    """
    count = len(predicted)
    # One call of bincount counts all individuals: each triple of individual, true and predicted class has a number.
    cell = (np.arange(count)[:, None] * n_classes + codes) * n_classes + predicted
    counted = np.bincount(cell.ravel(), minlength=count * n_classes**2)
    return counted.reshape(count, n_classes, n_classes).astype(np.float64)


def _divide(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return ``part / whole``, and 0 if ``whole`` is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def score_counts(name: str, counts: FloatArray, classes: AnyArray) -> FloatArray:
    """Score individuals by their confusion counts.

    Parameters
    ----------
    name : str
        One of `SCORES` except "accuracy".
    counts : ndarray of shape (P, K, K)
        As `confusion_counts` gives them. Every true class has at least one row.
    classes : ndarray of shape (K,)

    Returns
    -------
    ndarray of shape (P,)
        The score of each individual, equal to that of scikit-learn's scorer of this name with
        ``zero_division=0``. G-mean does not count singleton classes.
    """
    right = np.diagonal(counts, axis1=1, axis2=2)
    true, predicted = counts.sum(axis=2), counts.sum(axis=1)
    if name == "balanced_accuracy":
        return _divide(right, true).mean(axis=1)
    if name == "g_mean":
        # The row of a singleton class is always predicted wrong when it is left out, and would make every G-mean 0.
        counted = true[0] > 1 if (true[0] > 1).any() else true[0] > 0
        return np.array([geometric_mean(row) for row in _divide(right, true)[:, counted]])
    if name == "matthews_corrcoef":
        return _matthews(right.sum(axis=1), true, predicted)
    ratio, _, average = name.partition("_")
    # All four ratios have the right answers above the line, and differ in what is below it.
    whole = {
        "f1": (true + predicted) / 2,
        "jaccard": true + predicted - right,
        "precision": predicted,
        "recall": true,
    }[ratio]
    if average == "micro":
        return _divide(right.sum(axis=1), whole.sum(axis=1))
    each = _divide(right, whole)
    if average == "macro":
        return each.mean(axis=1)
    if average == "weighted":
        return (each * true).sum(axis=1) / true.sum(axis=1)
    return each[:, classes.tolist().index(1)]


def _matthews(right: FloatArray, true: FloatArray, predicted: FloatArray) -> FloatArray:
    """Return the Matthews correlation of true and predicted classes, for any number of classes (Gorodkin).

    It is 0 if all true or all predicted classes are the same. ``right`` is the number of right predictions,
    ``true`` and ``predicted`` are the counts of true and predicted classes.
    """
    total = true.sum(axis=1)
    covariance = right * total - (true * predicted).sum(axis=1)
    variances = (total**2 - (true**2).sum(axis=1)) * (total**2 - (predicted**2).sum(axis=1))
    return _divide(covariance, np.sqrt(variances))


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

    Raises
    ------
    InvalidDataError
        If the score is not defined for these classes. As in scikit-learn, "f1", "jaccard", "precision" and "recall"
        without an average need two classes, and are the scores of the class with the label 1. Names that are no score
        of classes are scores of numeric targets.
    """

    how: str | Callable[[AnyArray, AnyArray], float]
    codes: IndexArray
    classes: AnyArray

    def __post_init__(self) -> None:
        name, classes = self.how, self.classes
        if not callable(name) and name not in SCORES:
            raise InvalidDataError(
                f"fitness={name!r} is a score of numeric targets, and y holds classes. Use 'accuracy' or another score "
                "of classes, or target_type='numeric' if y is a number to predict"
            )
        if name in _RATIOS and (len(classes) != 2 or 1 not in classes.tolist()):
            raise InvalidDataError(
                f"fitness={name!r} is the score of the class 1 of two classes; these are {classes[:5].tolist()}"
                f"{' and more' if len(classes) > 5 else ''}. Use '{name}_macro', or rename the class that counts to 1"
            )

    def __call__(self, predicted: AnyArray) -> FloatArray:
        """Return the score of each individual. ``predicted`` are the predicted classes, shape (P, N)."""
        if self.how == "accuracy":
            return (predicted == self.codes).sum(axis=1) / len(self.codes)
        # A row without a prediction counts as wrong: it gets the class after its true class.
        answers = np.where(predicted < 0, (self.codes + 1) % len(self.classes), predicted)
        if callable(self.how):
            labels = self.classes[self.codes]
            return np.array([call_score(self.how, labels, self.classes[row]) for row in answers])
        return score_counts(self.how, confusion_counts(self.codes, answers, len(self.classes)), self.classes)


def _squared(residuals: FloatArray) -> FloatArray:
    """Return the sums of squared residuals."""
    sums: FloatArray = np.einsum("ij,ij->i", residuals, residuals)  # in one pass, without an array of squares
    return sums


def _absolute(residuals: FloatArray) -> FloatArray:
    """Return the sums of absolute residuals."""
    return np.abs(residuals).sum(axis=1)


#: Names that ``fitness`` takes for numeric targets, with the error of residuals of shape (P, N) and the best constant.
_ERRORS: dict[str, tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], Any]]] = {
    "r2": (_squared, np.mean),
    "neg_mean_squared_error": (_squared, np.mean),  # relative to that of the mean, it is R²
    "neg_root_mean_squared_error": (lambda residuals: np.sqrt(_squared(residuals)), np.mean),
    "explained_variance": (lambda residuals: residuals.var(axis=1), np.mean),
    "neg_mean_absolute_error": (_absolute, np.median),
    "d2_absolute_error_score": (_absolute, np.median),  # scikit-learn's name of the same
    "neg_median_absolute_error": (lambda residuals: np.median(np.abs(residuals), axis=1), np.median),
}
NUMBER_SCORES = tuple(_ERRORS)


class NumericPerformance:
    """Score of predicted numbers: R², another name of `NUMBER_SCORES`, or a function.

    Parameters
    ----------
    how : str or callable
        Name of the score, "accuracy" for R², or a function of true and predicted numbers.
    numbers : float64 ndarray of shape (N,)
        True numbers.

    Raises
    ------
    InvalidDataError
        If the score is one of classes or is not defined for these numbers, or if their squares leave the range of
        float64.

    Examples
    --------
    >>> score = NumericPerformance("r2", np.array([1.0, 2.0, 3.0]))
    >>> score(np.array([[1.0, 2.0, 2.0], [2.0, 2.0, 2.0], [3.0, 2.0, 1.0]]))
    array([0.5, 0. , 0. ])
    """

    def __init__(self, how: str | Callable[[AnyArray, AnyArray], float], numbers: FloatArray) -> None:
        self.how, self.numbers = how, numbers
        if not callable(how) and how != "accuracy" and how in SCORES:
            raise InvalidDataError(
                f"fitness={how!r} is a score of classes, and y is a numeric target. Use {', '.join(NUMBER_SCORES)} or "
                "a function of (y_true, y_pred), or write target_type='classes' if y holds names of classes"
            )
        with np.errstate(over="ignore", under="ignore"):
            squares = float(np.square(numbers - numbers.mean()).sum())
        if not np.finfo(np.float64).tiny < squares < np.inf:
            raise InvalidDataError(
                f"the squares of y ({numbers.min():.3g} to {numbers.max():.3g}) leave the range of float64: rescale y, "
                "for example divide it by its standard deviation"
            )
        # The error of the best constant prediction, with which errors are compared. A function is not compared.
        self._error, constant = _ERRORS["r2" if callable(how) or how == "accuracy" else how]
        self._baseline = float(self._error(numbers[None, :] - constant(numbers))[0])
        if self._baseline == 0:
            raise InvalidDataError(
                f"fitness={how!r} compares errors with those of one constant, and that has the error 0: most values "
                "of y are equal. Use 'r2'"
            )

    def __call__(self, predicted: AnyArray) -> FloatArray:
        """Return the score of each individual. ``predicted`` are the predicted numbers, shape (P, N)."""
        if callable(self.how):
            return np.array([call_score(self.how, self.numbers, row) for row in predicted])
        # A few individuals at a time, so that residuals stay in the cache.
        together = max(1, _CACHED // len(self.numbers))
        parts = [predicted[begin : begin + together] for begin in range(0, len(predicted), together)]
        # A regressor may extrapolate so far that its errors overflow; they are infinite then, and the score is 0.
        with np.errstate(over="ignore"):
            errors = np.concatenate([self._error(part - self.numbers) for part in parts])
            score: FloatArray = np.maximum(0.0, 1 - errors / self._baseline)
        return score


def build_score(how: Any, target: Target) -> Performance | NumericPerformance:
    """Return the score ``how`` of predictions of ``target``. Raise an error if it is not defined for this target."""
    if target.numbers is None:
        return Performance(how, target.codes, target.classes)
    return NumericPerformance(how, target.numbers)


class NeighborPredictor:
    """Predicts each row by its k nearest selected instances, without the row itself (paper 004: k = 1).

    ``options`` are further parameters of `PopulationNeighbors`.
    """

    def __init__(self, genome: Genome, X: FloatArray, target: Target, **options: Any) -> None:
        tasks = genome.tasks
        self.genome = genome
        self.neighbors = PopulationNeighbors(
            X,
            target.codes,
            n_classes=max(1, len(target.classes)),
            numbers=target.numbers,
            features_change="FS" in tasks or "FW" in tasks,
            scales_change="IW" in tasks,
            **options,
        )
        self.method = self.neighbors.method  # how predictions are computed, and why

    def predict(self, population: Population) -> AnyArray:
        """Return the predicted class or number of each row for each individual, shape (P, N).

        It is class -1, or the mean of a numeric target, if the individual selects no other instance.
        """
        return self.neighbors.predict(self.genome.selections(population))


class Judgement(NamedTuple):
    """Results of an evaluation: arrays of shape (P,), with one value per individual."""

    fitness: FloatArray
    performance: FloatArray  # the score acc


@dataclass(frozen=True)
class Fitness:
    """Fitness function: call it with a population to evaluate all its individuals.

    Parameters
    ----------
    genome : Genome
    predictor : NeighborPredictor or EstimatorPredictor
    performance : Performance or NumericPerformance
    alphas : (α_a, α_i, α_f)
        Weights of the score, of the share of removed instances, and of the share of removed features.
    """

    genome: Genome
    predictor: NeighborPredictor | EstimatorPredictor
    performance: Performance | NumericPerformance
    alphas: tuple[float, ...]

    @property
    def nothing(self) -> float:
        """Fitness of an individual that selects no instance or no feature: 0, or −∞ if the score can be negative."""
        how = self.performance.how
        return -np.inf if callable(how) or how == "matthews_corrcoef" else 0.0

    def __call__(self, population: Population) -> Judgement:
        """Evaluate all individuals.

        An individual that selects no instance or no feature gets the fitness `nothing` without a prediction.
        """
        rows, columns = self.genome.kept(population)
        performance, fitness = np.zeros(len(population)), np.full(len(population), self.nothing)
        able = self.genome.find_able(population)
        # Predictions of a whole population may not fit in memory.
        together = max(8, _CELLS // self.genome.n_instances)
        for begin in range(0, len(able), together):
            part = able[begin : begin + together]
            performance[part] = self.performance(self.predictor.predict(population.take(part)))
        a, i, f = self.alphas
        # paper 004, eq. 3.
        value = a * performance + i * (1 - rows / self.genome.n_instances) + f * (1 - columns / self.genome.n_features)
        fitness[able] = value[able]
        return Judgement(fitness, performance)
