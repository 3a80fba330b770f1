"""Feature weights from the solution: how strongly the scores change with each feature.

For a number j, G_j is the mean over rows of the squared derivative of the scores f, summed over outputs (the diagonal
of the mean gradient product of recursive feature machines, Radhakrishnan et al. 2024). For a category it is the mean
squared change of f when the row's category is replaced by each of the others. The weights are (G / max G)^γ.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold, StratifiedKFold

from .._parallel.threads import fixed_ranges, run_ranges
from .._typing import FloatArray, IndexArray
from ..engine.pairs import PackedRows
from .choose import choose_parameters, median_distance
from .metric import Metric, VotesTable
from .solve import factor_system, kernel_of, weighted_mean

Candidate = tuple[float, int]  # the exponent γ and the number of rounds

GAMMAS = (0.25, 0.5, 1.0)
ROUNDS = (1, 2)
EQUAL: Candidate = (0.0, 0)  # all features have weight 1
#: Ways to weigh features, the simplest first.
CANDIDATES: tuple[Candidate, ...] = (EQUAL, *((gamma, rounds) for rounds in ROUNDS for gamma in GAMMAS))
#: Rows on which γ and the number of rounds are chosen; of more rows, so many are drawn.
CHOICE_ROWS = 1000
_ROWS = 96  # rows per task of a thread
_N_FOLDS = 5


@dataclass(frozen=True)
class FeatureChoice:
    """The exponent γ and the number of rounds that were chosen. γ = 0: all features have weight 1."""

    gamma: float
    n_rounds: int
    tried: list[dict[str, float]] = field(default_factory=list)


def gradient_weights(
    metric: Metric, distance: FloatArray, alpha: FloatArray, width: float, repetition: FloatArray | None = None
) -> FloatArray:
    """Return G, the mean squared change of the scores with each feature.

    Parameters
    ----------
    metric : Metric
        The stored rows.
    distance : ndarray of shape (n, n)
        Distances of all pairs of these rows under ``metric``.
    alpha : ndarray of shape (n, n_outputs)
        Votes of these rows.
    width : float
        Width L of their kernel.
    repetition : ndarray of shape (n,), optional

    Returns
    -------
    ndarray of shape (n_columns,)
        Of all columns of the table, 0 for columns that the metric leaves out.
    """
    n = metric.n
    folded = metric.fold(metric.references.rows)
    rows = folded.toarray() if sparse.issparse(folded) else folded
    share = np.full(n, 1.0 / n) if repetition is None else repetition / repetition.sum()
    outputs = range(alpha.shape[1])
    # Votes for classes sum to 0 in every row, so the gradient of the last class is minus the sum of the others.
    redundant = len(outputs) > 1 and np.abs(alpha.sum(axis=1)).max() <= 1e-9 * np.abs(alpha).max()
    slopes_of_numbers = _make_slopes(metric, rows, width)
    categories = _Categories(metric, rows, alpha, width) if metric.m > metric.n_numeric else None

    def task(begin: int, end: int) -> FloatArray:
        """Sum over rows [begin, end). Sums of ranges are added in order, so threads change no bit."""
        part = distance[begin:end]
        kernel = kernel_of(part, width)
        total = np.zeros(metric.m)
        last: Any = 0.0
        for c in outputs:
            if redundant and c == outputs[-1]:
                gradient = -last
            else:
                gradient = slopes_of_numbers(begin, end, part, kernel * alpha[:, c])
                last = last + gradient
            total[: metric.n_numeric] += share[begin:end] @ gradient**2
            if categories is not None:
                total[metric.n_numeric :] += share[begin:end] @ categories.changes(begin, end, part, kernel, c)
        return total

    found = np.zeros(metric.references.n_columns)
    found[metric.references.columns] = np.sum(run_ranges(task, fixed_ranges(n, _ROWS), metric.n_jobs), axis=0)
    return found


Slopes = Callable[[int, int, FloatArray, FloatArray], FloatArray]


def _make_slopes(metric: Metric, rows: FloatArray, width: float) -> Slopes:
    """Return the derivatives of the scores with respect to numbers, as a function of some rows and their votes.

    The function takes the range of rows, their distances to all rows, and the votes α_i K_i for them.
    """
    if metric.p == 1:  # −(w_j / L) Σ_i α_i K_i sgn(x_j − x_ij)
        packed = PackedRows(rows, n_numeric=metric.n_numeric)
        scaled = metric.weights[: metric.n_numeric] / width

        def city_block(begin: int, end: int, distance: FloatArray, votes: FloatArray) -> FloatArray:
            padded = np.zeros((end - begin, packed.width))
            padded[:, : metric.n] = votes
            return packed.sum_signs(padded, begin, end) * scaled

        return city_block
    # p = 2: −(1 / L) Σ_i α_i K_i w_j (x_j − x_ij) / d_i. A missing value changes nothing.
    numbers = rows[:, : metric.n_numeric]
    known = (~np.isnan(numbers)).astype(np.float64)
    filled = np.where(known > 0, numbers, 0.0)
    # Rows are folded, so they hold √w_j x_j: one more √w_j makes w_j (x_j − x_ij).
    factor = metric.factor[: metric.n_numeric] / width

    def euclidean(begin: int, end: int, distance: FloatArray, votes: FloatArray) -> FloatArray:
        slopes = np.divide(votes, distance, out=np.zeros_like(votes), where=distance > 0)
        towards = filled[begin:end] * (slopes @ known) - slopes @ filled
        return known[begin:end] * towards * factor

    return euclidean


class _Categories:
    """Mean squared change of the scores when a category is replaced by each of the others."""

    def __init__(self, metric: Metric, rows: FloatArray, alpha: FloatArray, width: float) -> None:
        self.p, self.alpha, self.width = metric.p, alpha, width
        self.term = metric.missing_distance[metric.n_numeric :]  # what a different category adds to d (or its square)
        self.members = []  # of each column, a matrix that tells which rows have which category
        self.position = []  # of each column, the category of each row among those in the column, -1: missing
        for column in rows[:, metric.n_numeric :].T:
            known = np.unique(column[~np.isnan(column)])
            self.members.append((column[:, None] == known[None, :]).astype(np.float64))
            self.position.append(np.where(np.isnan(column), -1, np.searchsorted(known, column)))

    def changes(self, begin: int, end: int, distance: FloatArray, kernel: FloatArray, c: int) -> FloatArray:
        """Return the mean squared change of the score ``c`` for rows [begin, end) and each column of categories."""
        changes = np.zeros((end - begin, len(self.members)))
        alpha = self.alpha[:, c]
        for j, member in enumerate(self.members):
            n_categories = member.shape[1]
            if n_categories < 2:
                continue
            nearer, farther = self._gains(distance, kernel, self.term[j])
            towards = (nearer * alpha) @ member  # stored rows of the new category come nearer
            away = (farther * alpha) @ member  # those of the old one go farther
            own = self.position[j][begin:end]
            here = own >= 0
            change = towards.copy()
            change[here] += away[here, own[here]][:, None]
            change[here, own[here]] = 0.0
            changes[:, j] = (change**2).sum(axis=1) / (n_categories - here)
        return changes

    def _gains(self, distance: FloatArray, kernel: FloatArray, term: float) -> tuple[FloatArray, FloatArray]:
        """Return how much the kernel grows if one mismatch goes away, and how much if one more is added."""
        width = self.width
        if self.p == 1:
            # Not kernel * expm1(term / width): that is 0 times infinity where the kernel is narrow.
            return kernel_of(np.maximum(distance - term, 0.0), width) - kernel, kernel * np.expm1(-term / width)
        square = distance**2
        nearer = np.exp(-np.sqrt(np.maximum(square - term**2, 0.0)) / width) - kernel
        return nearer, np.exp(-np.sqrt(square + term**2) / width) - kernel


def learn_feature_weights(
    table: VotesTable, p: int, gamma: float, n_rounds: int, rng: np.random.Generator, n_jobs: int
) -> FloatArray:
    """Solve for the votes under equal weights, weigh the features by the solution, and so on for some rounds.

    Parameters
    ----------
    table : VotesTable
    p : {1, 2}
    gamma : float
        Exponent of the weights. 0: all weights are 1.
    n_rounds : int
    rng : Generator
    n_jobs : int

    Returns
    -------
    ndarray of shape (n_columns,)
        Weights from 0 to 1.
    """
    weights = np.ones(table.rows.shape[1])
    for _ in range(n_rounds if gamma > 0 else 0):
        metric = table.metric(p, weights, n_jobs)
        distance = metric.all_pairs()
        solution, _ = choose_parameters(distance, table.Y, table.repetition, rng)
        weights = _powered(gradient_weights(metric, distance, solution.alpha, solution.width, table.repetition), gamma)
    return weights


def _powered(gradient: FloatArray, gamma: float) -> FloatArray:
    """Return (G / max G)^γ, or ones where nothing changes the scores."""
    top = float(gradient.max(initial=0.0))
    return np.ones_like(gradient) if not top > 0 else (gradient / top) ** gamma


def choose_feature_weights(table: VotesTable, p: int, rng: np.random.Generator, n_jobs: int) -> FeatureChoice:
    """Choose γ and the number of rounds by 5-fold cross-validation with the one-standard-error rule towards γ = 0.

    Weights are learned inside the training part of each fold: weights that had seen the row they predict would look too
    good. The simplest candidate is taken whose squared error is at most one standard error above the least one, where
    the standard error is that of the mean difference of the two, row by row.

    Parameters
    ----------
    table : VotesTable
        Of more than `CHOICE_ROWS` rows, so many are drawn.
    p : {1, 2}
    rng : Generator
    n_jobs : int
    """
    table = table.draw(CHOICE_ROWS, rng)
    n = table.rows.shape[0]
    if n < 2 * _N_FOLDS or table.rows.shape[1] == 1:
        return FeatureChoice(0.0, 0)
    equal = table.metric(p, None, n_jobs).all_pairs()
    points = _choose_points(table, p, equal, rng, n_jobs)
    errors = np.empty((len(CANDIDATES), n))
    for train, test in _folds(table, rng):
        errors[:, test] = predict_fold(table, p, points, equal, train, test, n_jobs)
    weight = np.ones(n) if table.repetition is None else table.repetition
    means = [float(np.average(each, weights=weight)) for each in errors]
    best = errors[int(np.argmin(means))]
    tried, chosen = [], None
    for (gamma, n_rounds), error, mean in zip(CANDIDATES, errors, means, strict=True):
        difference = error - best
        worse = float(np.average(difference, weights=weight))
        spread = float(np.sqrt(np.average((difference - worse) ** 2, weights=weight) / n))
        if chosen is None and worse <= spread:
            chosen = gamma, n_rounds
        tried.append({"gamma": gamma, "n_rounds": n_rounds, "squared_error": mean, "spread": spread})
    assert chosen is not None  # at the latest the best one itself
    return FeatureChoice(*chosen, tried)


def _folds(table: VotesTable, rng: np.random.Generator) -> list[tuple[IndexArray, IndexArray]]:
    """Return five folds, by class where each class has enough rows."""
    seed = int(rng.integers(2**31))
    n = table.rows.shape[0]
    if not table.n_classes or np.bincount(table.targets).max() < _N_FOLDS:
        return list(KFold(_N_FOLDS, shuffle=True, random_state=seed).split(np.empty(n)))
    # Rare classes: scikit-learn would warn that they are not in every fold, which is no fault here.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        splitter = StratifiedKFold(_N_FOLDS, shuffle=True, random_state=seed)
        return list(splitter.split(np.empty(n), table.targets))


def _weigh(candidate: Candidate, gradients: dict[Candidate, FloatArray]) -> FloatArray | None:
    """Return the feature weights of a candidate, which follow from G after one round less. None: all are 1.

    ``gradients`` has G of the candidates before this one. The first round starts from equal weights for every γ.
    """
    gamma, n_rounds = candidate
    if candidate == EQUAL:
        return None
    return _powered(gradients[(gamma, n_rounds - 1) if n_rounds > 1 else EQUAL], gamma)


def _choose_points(
    table: VotesTable, p: int, equal: FloatArray, rng: np.random.Generator, n_jobs: int
) -> dict[Candidate, tuple[float, float]]:
    """Return the ridge of every candidate, and its width over the median distance, chosen on all rows for all folds.

    ``equal`` are the distances under equal weights. The other parameters are those of `choose_feature_weights`.
    """
    points: dict[Candidate, tuple[float, float]] = {}
    gradients: dict[Candidate, FloatArray] = {}
    for candidate in CANDIDATES:
        weights = _weigh(candidate, gradients)
        metric = table.metric(p, weights, n_jobs)
        distance = equal if weights is None else metric.all_pairs()
        found, choice = choose_parameters(distance, table.Y, table.repetition, rng)
        points[candidate] = choice.width / choice.scale, choice.ridge
        if candidate[1] < ROUNDS[-1]:
            gradients[candidate] = gradient_weights(metric, distance, found.alpha, found.width, table.repetition)
    return points


def predict_fold(
    table: VotesTable,
    p: int,
    points: dict[Candidate, tuple[float, float]],
    equal: FloatArray,
    train: IndexArray,
    test: IndexArray,
    n_jobs: int,
) -> FloatArray:
    """Learn weights from the rows ``train`` for every candidate, and return the squared errors of the rows ``test``.

    ``points`` are those of `_choose_points`, and ``equal`` the distances of all rows under equal weights. The other
    parameters are those of `choose_feature_weights`.

    Returns
    -------
    ndarray of shape (n_candidates, n_test)
    """
    part, errors = table.take(train), np.empty((len(CANDIDATES), len(test)))
    mean = weighted_mean(part.Y, part.repetition)
    gradients: dict[Candidate, FloatArray] = {}
    for number, candidate in enumerate(CANDIDATES):
        weights = _weigh(candidate, gradients)
        distance = equal if weights is None else table.metric(p, weights, n_jobs).all_pairs()
        inside = distance[np.ix_(train, train)]
        ratio, ridge = points[candidate]
        width = ratio * median_distance(inside, part.repetition)
        alpha = factor_system(inside, width, ridge, part.repetition).solve(part.Y - mean)
        scores = mean + kernel_of(distance[np.ix_(test, train)], width) @ alpha
        errors[number] = ((table.Y[test] - scores) ** 2).sum(axis=1)
        if candidate[1] < ROUNDS[-1]:
            metric = part.metric(p, weights, n_jobs)
            gradients[candidate] = gradient_weights(metric, inside, alpha, width, part.repetition)
    return errors
