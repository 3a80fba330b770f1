"""Feature weights from the solution: how strongly the scores change with each feature.

For a number j, G_j is the mean over rows of the squared derivative of the scores f, summed over outputs (the diagonal
of the mean gradient product of recursive feature machines, Radhakrishnan et al. 2024). For a category it is the mean
squared change of f when the row's category is replaced by each of the others. The weights are (G / max G)^γ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold, StratifiedKFold

from .._parallel.threads import fixed_ranges, run_ranges
from .._typing import BoolArray, FloatArray, IndexArray
from ..engine import NeighborEngine, SearchEngine, build_references
from ..engine.pairs import PackedRows
from ..weights import Weights
from .choice import RIDGES, WIDTHS, choose_parameters, median_distance
from .metric import Metric
from .ridge import Solution, kernel_of, solve_system, weighted_mean

GAMMAS = (0.25, 0.5, 1.0)
ROUNDS = (1, 2)
#: Rows on which γ and the number of rounds are chosen; of more rows, so many are drawn.
CHOICE_ROWS = 1000
_ROWS = 96  # rows per task of a thread
_N_FOLDS = 5


@dataclass(frozen=True)
class Table:
    """Coded training rows and what is to be predicted from them."""

    rows: Any  # (n, M) array or CSR
    nominal: BoolArray  # (M,)
    Y: Any  # (n, n_outputs) numbers, or one column per class that is 1 for rows of this class
    codes: IndexArray | None  # (n,) classes, for stratified folds; None for numbers
    repetition: FloatArray | None  # (n,)

    def take(self, rows: IndexArray) -> Table:
        """Return the table of the rows with the numbers ``rows``."""
        codes = None if self.codes is None else self.codes[rows]
        repetition = None if self.repetition is None else self.repetition[rows]
        return Table(self.rows[rows], self.nominal, self.Y[rows], codes, repetition)

    def metric(self, p: int, weights: FloatArray | None, n_jobs: int) -> Metric:
        """Return the distance of these rows under feature weights (None: all 1)."""
        given = None if weights is None else Weights(feature_weights=weights)
        return Metric(build_references(self.rows, weights=given, p=p, nominal=self.nominal), n_jobs)

    def draw(self, most: int, rng: np.random.Generator) -> Table:
        """Return the table, or ``most`` drawn rows of it if it has more. The rows of the result are in memory."""
        n = self.rows.shape[0]
        if n <= most:
            return self if self.in_memory else self.take(np.arange(n))
        return self.take(np.sort(rng.choice(n, most, replace=False)))

    @property
    def in_memory(self) -> bool:
        """Whether ``rows`` is an array or CSR. If not, rows are read when they are indexed."""
        return True

    def engine(self, weights: Weights, p: int, n_jobs: int) -> SearchEngine:
        """Return an engine that finds the nearest rows. The parameters are those of `NeighborEngine`."""
        nominal = self.nominal if self.nominal.any() else None
        return NeighborEngine(self.rows, weights=weights, p=p, nominal=nominal, n_jobs=n_jobs)

    def mean(self) -> FloatArray:
        """Return the mean of the targets, where a row counts as often as its repetition weight says."""
        if self.codes is None:
            return weighted_mean(self.Y, self.repetition)
        sums = np.bincount(self.codes, weights=self.repetition, minlength=self.Y.shape[1])
        mean: FloatArray = sums / sums.sum()
        return mean


@dataclass(frozen=True)
class FeatureChoice:
    """The exponent γ and the number of rounds that were chosen. γ = 0: all features have weight 1."""

    gamma: float
    n_rounds: int
    tried: list[dict[str, float]] = field(default_factory=list)


def gradient_weights(
    metric: Metric, distance: FloatArray, solution: Solution, repetition: FloatArray | None = None
) -> FloatArray:
    """Return G, the mean squared change of the scores with each feature.

    Parameters
    ----------
    metric : Metric
        The stored rows.
    distance : ndarray of shape (n, n)
        Distances of all pairs of these rows under ``metric``.
    solution : Solution
        Votes of these rows.
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
    outputs = range(solution.alpha.shape[1])
    # Votes for classes sum to 0 in every row, so the gradient of the last class is minus the sum of the others.
    redundant = len(outputs) > 1 and np.abs(solution.alpha.sum(axis=1)).max() <= 1e-9 * np.abs(solution.alpha).max()
    numbers = _CityBlock(metric, rows, solution) if metric.p == 1 else _Euclidean(metric, rows, solution)
    categories = _Categories(metric, rows, solution)

    def task(begin: int, end: int) -> FloatArray:
        """Sum over rows [begin, end). Sums of ranges are added in order, so threads change no bit."""
        part = distance[begin:end]
        kernel = kernel_of(part, solution.width)
        total = np.zeros(metric.m)
        last: Any = 0.0
        for c in outputs:
            if redundant and c == outputs[-1]:
                gradient = -last
            else:
                gradient = numbers(begin, end, part, kernel * solution.alpha[:, c])
                last = last + gradient
            total[: metric.n_numeric] += share[begin:end] @ gradient**2
            total[metric.n_numeric :] += share[begin:end] @ categories(begin, end, part, kernel, c)
        return total

    found = np.zeros(metric.references.n_columns)
    found[metric.references.columns] = np.sum(run_ranges(task, fixed_ranges(n, _ROWS), metric.n_jobs), axis=0)
    return found


class _CityBlock:
    """Derivatives of the scores with respect to numbers, for p = 1: −(w_j / L) Σ_i α_i K_i sgn(x_j − x_ij)."""

    def __init__(self, metric: Metric, rows: FloatArray, solution: Solution) -> None:
        self.n = metric.n
        self.packed = PackedRows(rows, n_numeric=metric.n_numeric)
        self.factor = metric.weights[: metric.n_numeric] / solution.width

    def __call__(self, begin: int, end: int, distance: FloatArray, votes: FloatArray) -> FloatArray:
        padded = np.zeros((end - begin, self.packed.width))
        padded[:, : self.n] = votes
        return self.packed.sum_signs(padded, begin, end) * self.factor


class _Euclidean:
    """The same for p = 2: −(1 / L) Σ_i α_i K_i w_j (x_j − x_ij) / d_i. A missing value changes nothing."""

    def __init__(self, metric: Metric, rows: FloatArray, solution: Solution) -> None:
        numbers = rows[:, : metric.n_numeric]
        self.known = (~np.isnan(numbers)).astype(np.float64)
        self.filled = np.where(self.known > 0, numbers, 0.0)
        # Rows are folded, so they hold √w_j x_j: one more √w_j makes w_j (x_j − x_ij).
        self.factor = metric.factor[: metric.n_numeric] / solution.width

    def __call__(self, begin: int, end: int, distance: FloatArray, votes: FloatArray) -> FloatArray:
        slopes = np.divide(votes, distance, out=np.zeros_like(votes), where=distance > 0)
        own, known = self.filled[begin:end], self.known[begin:end]
        return known * (own * (slopes @ self.known) - slopes @ self.filled) * self.factor


class _Categories:
    """Mean squared change of the scores when a category is replaced by each of the others."""

    def __init__(self, metric: Metric, rows: FloatArray, solution: Solution) -> None:
        self.p, self.solution = metric.p, solution
        self.codes = rows[:, metric.n_numeric :]
        self.term = metric.missing_distance[metric.n_numeric :]  # what a different category adds to d (or its square)
        self.members = []  # of each column, a matrix that tells which rows have which category
        self.position = []  # of each column, the category of each row among those in the column, -1: missing
        for column in self.codes.T:
            known = np.unique(column[~np.isnan(column)])
            self.members.append((column[:, None] == known[None, :]).astype(np.float64))
            self.position.append(np.where(np.isnan(column), -1, np.searchsorted(known, column)))

    def __call__(self, begin: int, end: int, distance: FloatArray, kernel: FloatArray, c: int) -> FloatArray:
        changes = np.zeros((end - begin, len(self.members)))
        alpha = self.solution.alpha[:, c]
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
        width = self.solution.width
        if self.p == 1:
            # Not kernel * expm1(term / width): that is 0 times infinity where the kernel is narrow.
            return kernel_of(np.maximum(distance - term, 0.0), width) - kernel, kernel * np.expm1(-term / width)
        square = distance**2
        nearer = np.exp(-np.sqrt(np.maximum(square - term**2, 0.0)) / width) - kernel
        return nearer, np.exp(-np.sqrt(square + term**2) / width) - kernel


def _powered(gradient: FloatArray, gamma: float) -> FloatArray:
    """Return (G / max G)^γ, or ones where nothing changes the scores."""
    top = float(gradient.max(initial=0.0))
    return np.ones_like(gradient) if not top > 0 else (gradient / top) ** gamma


class _Candidate:
    """One way to weigh features, (γ, rounds), with the width and ridge that suit it."""

    def __init__(self, gamma: float, n_rounds: int) -> None:
        self.gamma, self.n_rounds = gamma, n_rounds
        self.points: list[tuple[float, float]] = []  # width over the median distance, and ridge, before each round
        self.errors: FloatArray | None = None  # squared error of every row, predicted by the other folds


def learn_feature_weights(
    table: Table,
    p: int,
    gamma: float,
    n_rounds: int,
    rng: np.random.Generator,
    n_jobs: int,
) -> FloatArray:
    """Solve for the votes under equal weights, weigh the features by the solution, and so on for some rounds.

    Parameters
    ----------
    table : Table
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
        median = median_distance(distance, table.repetition)
        widths = [ratio * median for ratio in WIDTHS]
        solution, _ = choose_parameters(distance, table.Y, table.repetition, widths, RIDGES, rng)
        weights = _powered(gradient_weights(metric, distance, solution, table.repetition), gamma)
    return weights


def choose_feature_weights(table: Table, p: int, rng: np.random.Generator, n_jobs: int) -> FeatureChoice:
    """Choose γ and the number of rounds by 5-fold cross-validation with the one-standard-error rule towards γ = 0.

    Weights are learned inside the training part of each fold: weights that had seen the row they predict would look too
    good. The simplest candidate is taken whose squared error is at most one standard error above the least one, where
    the standard error is that of the mean difference of the two, row by row.

    Parameters
    ----------
    table : Table
        Of more than `CHOICE_ROWS` rows, so many are drawn.
    p : {1, 2}
    rng : Generator
    n_jobs : int
    """
    table = table.draw(CHOICE_ROWS, rng)
    n = table.rows.shape[0]
    candidates = [_Candidate(0.0, 0)] + [_Candidate(gamma, rounds) for rounds in ROUNDS for gamma in GAMMAS]
    if n < 2 * _N_FOLDS or table.rows.shape[1] == 1:
        return FeatureChoice(0.0, 0)
    plain = table.metric(p, None, n_jobs)
    distance = plain.all_pairs()
    _set_points(table, p, candidates, plain, distance, rng, n_jobs)
    for train, test in _folds(table, rng):
        _add_fold_errors(table, p, candidates, distance, train, test, n_jobs)
    weight = np.ones(n) if table.repetition is None else table.repetition
    means = [float(np.average(_errors(each), weights=weight)) for each in candidates]
    best = candidates[int(np.argmin(means))]
    tried = []
    chosen: _Candidate | None = None
    for candidate, mean in zip(candidates, means, strict=True):
        difference = _errors(candidate) - _errors(best)
        worse = float(np.average(difference, weights=weight))
        spread = float(np.sqrt(np.average((difference - worse) ** 2, weights=weight) / n))
        if chosen is None and worse <= spread:
            chosen = candidate
        tried.append(
            {"gamma": candidate.gamma, "n_rounds": candidate.n_rounds, "squared_error": mean, "spread": spread}
        )
    assert chosen is not None  # at the latest the best one itself
    return FeatureChoice(chosen.gamma, chosen.n_rounds, tried)


def _errors(candidate: _Candidate) -> FloatArray:
    assert candidate.errors is not None
    return candidate.errors


def _folds(table: Table, rng: np.random.Generator) -> list[tuple[IndexArray, IndexArray]]:
    """Return five folds, by class where each class has enough rows."""
    seed = int(rng.integers(2**31))
    n = table.rows.shape[0]
    if table.codes is None or np.bincount(table.codes).max() < _N_FOLDS:
        return list(KFold(_N_FOLDS, shuffle=True, random_state=seed).split(np.empty(n)))
    # Rare classes: scikit-learn would warn that they are not in every fold, which is no fault here.
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        splitter = StratifiedKFold(_N_FOLDS, shuffle=True, random_state=seed)
        return list(splitter.split(np.empty(n), table.codes))


def _set_points(
    table: Table,
    p: int,
    candidates: list[_Candidate],
    plain: Metric,
    distance: FloatArray,
    rng: np.random.Generator,
    n_jobs: int,
) -> None:
    """Choose width and ridge before each round, on all rows: folds then use the same ones.

    The parameters are those of `choose_feature_weights`; ``plain`` and ``distance`` are the metric with equal weights,
    and its distances.
    """
    known: dict[tuple[float, int], tuple[list[tuple[float, float]], FloatArray]] = {}

    def solve(metric: Metric, distance: FloatArray) -> tuple[tuple[float, float], FloatArray]:
        median = median_distance(distance, table.repetition)
        widths = [ratio * median for ratio in WIDTHS]
        solution, choice = choose_parameters(distance, table.Y, table.repetition, widths, RIDGES, rng)
        return (choice.width / median, choice.ridge), gradient_weights(metric, distance, solution, table.repetition)

    first, gradient = solve(plain, distance)
    for candidate in candidates:
        points, change = [first], gradient
        for done in range(candidate.n_rounds):
            key = (candidate.gamma, done)
            if key not in known:
                metric = table.metric(p, _powered(change, candidate.gamma), n_jobs)
                point, next_change = solve(metric, metric.all_pairs())
                known[key] = ([*points, point], next_change)
            points, change = known[key]
        candidate.points = points


def _add_fold_errors(
    table: Table,
    p: int,
    candidates: list[_Candidate],
    distance: FloatArray,
    train: IndexArray,
    test: IndexArray,
    n_jobs: int,
) -> None:
    """Learn weights from the rows ``train``, and set the squared errors of the rows ``test``, for every candidate.

    ``distance`` are the distances of all rows under equal weights. The other parameters are those of
    `choose_feature_weights`.
    """
    part = table.take(train)
    mean = weighted_mean(part.Y, part.repetition)
    changes: dict[tuple[float, int], FloatArray] = {}

    def solve(distances: FloatArray, point: tuple[float, float]) -> Solution:
        inside = distances[np.ix_(train, train)]
        width = point[0] * median_distance(inside, part.repetition)
        alpha, ridge = solve_system(inside, width, point[1], part.Y - mean, part.repetition)
        return Solution(alpha, mean, width, ridge, alpha, np.nan)

    for candidate in candidates:
        weights: FloatArray | None = None
        distances = distance
        solution = solve(distances, candidate.points[0])
        for done in range(candidate.n_rounds):
            key = (candidate.gamma if done else 0.0, done)  # the first round starts from equal weights for every γ
            if key not in changes:
                metric = part.metric(p, weights, n_jobs)
                changes[key] = gradient_weights(metric, distances[np.ix_(train, train)], solution, part.repetition)
            weights = _powered(changes[key], candidate.gamma)
            distances = table.metric(p, weights, n_jobs).all_pairs()
            solution = solve(distances, candidate.points[done + 1])
        scores = mean + kernel_of(distances[np.ix_(test, train)], solution.width) @ solution.alpha
        if candidate.errors is None:
            candidate.errors = np.empty(table.rows.shape[0])
        candidate.errors[test] = ((table.Y[test] - scores) ** 2).sum(axis=1)
