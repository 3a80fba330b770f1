"""Regressions over neighbour pairs, one per feature: the pairs, their differences, and both kinds of regression.

The outcome of a pair is 1 for a miss and 0 for a hit (logistic regression), or |Δy| (linear regression). It is
regressed on a constant, the differences of the covariates and the difference of one feature. The regressions of many
features are computed together, in batches of features; every array of a batch has one row per feature and one column
per pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._parallel.threads import effective_n_jobs, fixed_ranges, run_ranges
from .._typing import BoolArray, FloatArray, IndexArray
from ..tables.coded import CodedTable
from .logistic_batches import expit, fit_batch, fit_design
from .neighbors import find_neighbors
from .rows import Expectation, Instances

_BATCH_CELLS = 2**16  # cells of a batch: about ten arrays of this size stay in the cache
_SCORE_CELLS = 2**20  # cells of a batch for many outcomes, whose arrays are then read less often
_PERMUTED_CELLS = 2**24  # cells of the outcomes of permutations that are in memory at the same time
_FLAT = 1e-12  # a feature whose differences keep less than this share of their squares has nothing to add


@dataclass(frozen=True)
class NeighborPairs:
    """Different pairs of rows (i, j), i < j, in which one row is a near neighbour of the other."""

    instances: Instances
    first: IndexArray  # (n_pairs,)
    second: IndexArray  # (n_pairs,)
    weight: FloatArray  # (n_pairs,) how often a pair counts: 2 for neighbours of each other, less for shared slots
    expected: dict[int, Expectation]  # expected differences of the columns that have missing values

    @cached_property
    def _columns(self) -> Any:
        """The rows, stored by column. Numbers come first, as in ``instances``."""
        rows = self.instances.rows
        return rows.tocsc() if sparse.issparse(rows) else np.ascontiguousarray(rows.T)

    def differences(self, begin: int, end: int) -> FloatArray:
        """Return the differences of features [begin, end), in the order of ``instances``, of shape (n, n_pairs).

        A missing value differs by its expected difference, given nothing but the column.
        """
        stored = self._columns
        part = stored[:, begin:end].toarray().T if sparse.issparse(stored) else stored[begin:end]
        part = part.astype(np.float64, copy=False)
        out: FloatArray = part[:, self.first]
        out -= part[:, self.second]
        np.abs(out, out=out)
        nominal = max(self.instances.n_numeric, begin) - begin
        out[nominal:] = out[nominal:] != 0
        for j in self.expected.keys() & range(begin, end):
            out[j - begin] = self.expected[j].differences(self.first, self.second)
        return out

    def map_features(self, task: Callable[[FloatArray], FloatArray], cells: int = _BATCH_CELLS) -> FloatArray:
        """Return ``task(differences)`` of all features, whose results have one row per feature, in original order.

        ``cells`` is the number of cells of a batch of differences.
        """

        def run(begin: int, end: int) -> FloatArray:
            """Return the results of some features."""
            return task(self.differences(begin, end))

        # The batches do not depend on the number of threads, so that the results do not either.
        batches = fixed_ranges(self.instances.n_features, max(1, cells // len(self.first)))
        parts = run_ranges(run, batches, effective_n_jobs(self.instances.n_jobs))
        joined = np.concatenate(parts)
        out = np.empty_like(joined)
        out[self.instances.columns] = joined
        return out


def find_pairs(instances: Instances, target: CodedTable, k: int, *, ties: str, unique: bool) -> NeighborPairs:
    """Return the pairs of all rows with their k nearest rows.

    Parameters
    ----------
    instances : Instances
    target : CodedTable
        All rows are of one group, so that neighbours are sought whatever their class is.
    k : int
    ties : {"share", "index"}
        Whether neighbours tied at the k-th distance share its slots, or the rows with lower numbers are taken.
    unique : bool
        Whether a pair of rows that are neighbours of each other counts once, by its larger weight, or twice.
    """
    lists = []
    for found in find_neighbors(instances, target, k, ties=ties):
        listed = found.share[:, 0] > 0
        query = np.repeat(found.query, listed.sum(axis=1))
        lists.append((query, found.row[:, 0][listed], found.share[:, 0][listed]))
    query, neighbor, weight = (np.concatenate(part) for part in zip(*lists, strict=True))
    # (i, j) and (j, i) have the same differences and outcome. As one pair of a larger weight they need half the time.
    first, second = np.minimum(query, neighbor), np.maximum(query, neighbor)
    order = np.lexsort((query, second, first))
    first, second, weight = first[order], second[order], weight[order]
    begins = np.flatnonzero(np.append(True, (np.diff(first) != 0) | (np.diff(second) != 0)))
    combined = (np.maximum if unique else np.add).reduceat(weight, begins)
    expected = dict(instances.expectations(target))
    return NeighborPairs(instances, first[begins], second[begins], combined, expected)


@dataclass(frozen=True)
class PairModel:
    """The outcome of each pair, and the columns that are in the regression of every feature."""

    outcome: FloatArray  # (n_pairs,)
    design: FloatArray  # (n_pairs, 1 + n_covariates): ones, and differences of covariates; of full rank
    weight: FloatArray  # (n_pairs,)
    logistic: bool

    @property
    def residual_degrees(self) -> float:
        """Number of pairs less the number of coefficients of one regression."""
        return float(self.weight.sum()) - self.design.shape[1] - 1

    @property
    def has_one_outcome(self) -> bool:
        """Whether all pairs have the same outcome, up to rounding, so that there is nothing to explain."""
        return bool(np.ptp(self.outcome) <= 1e-12 * self.outcome.max())


def regress_pairs(pairs: NeighborPairs, model: PairModel) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Regress the outcome on each feature: by logistic or by linear regressions.

    Returns
    -------
    coefficients : ndarray of shape (n_features,)
        0 for a feature that never differs.
    statistics : ndarray of shape (n_features,)
        Coefficient / standard error, or the score statistic where hits and misses are separated.
    separated : bool ndarray of shape (n_features,)
        Whether the likelihood has no finite maximum, so that Firth's estimate is given.
    """
    fit = _logistic_task(model) if model.logistic else _linear_task(model)
    coefficients, statistics, separated = pairs.map_features(fit).T
    return coefficients.copy(), statistics.copy(), separated > 0


def _linear_task(model: PairModel) -> Callable[[FloatArray], FloatArray]:
    """Return the function that regresses the outcome on each feature of a batch, by least squares."""
    root = np.sqrt(model.weight)
    # What is left of outcome and feature after a regression on the other columns gives the coefficient of the feature
    # and its standard error (Frisch, Waugh and Lovell), so that no system is solved per feature.
    basis = np.linalg.qr(model.design * root[:, None])[0]
    rest = model.outcome * root
    rest = rest - basis @ (basis.T @ rest)
    total = 0.0 if model.has_one_outcome else float(rest @ rest)

    def fit(differences: FloatArray) -> FloatArray:
        """Return coefficient, t-statistic and 0 for each feature."""
        differences *= root
        size = np.einsum("ij,ij->i", differences, differences)
        differences -= (differences @ basis) @ basis.T
        own = np.einsum("ij,ij->i", differences, differences)
        usable = own > _FLAT * size
        own = np.where(usable, own, 1.0)
        coefficient = np.where(usable & (total > 0), differences @ rest / own, 0.0)
        # A feature that predicts the outcome without error has a large but finite statistic.
        left = np.maximum(total - coefficient**2 * own, 1e-14 * total) if total else np.ones(len(own))
        deviation = np.sqrt(left / model.residual_degrees / own)
        return np.column_stack([coefficient, coefficient / deviation, np.zeros(len(own))])

    return fit


def _logistic_task(model: PairModel) -> Callable[[FloatArray], FloatArray]:
    """Return the function that regresses the outcome on each feature of a batch, by logistic regressions."""
    start, information_root = fit_design(model.design, model.outcome, model.weight)
    score = _score_task(model, start, information_root)

    def fit(differences: FloatArray) -> FloatArray:
        """Return coefficient, statistic and whether the feature is separated, for each feature."""
        out = np.zeros((len(differences), 3))
        statistic, scale, usable = score(differences)
        if not usable.any():
            return out
        # At a standard deviation of 1, steps of all features are judged alike.
        scaled = differences[usable] / scale[usable, None]
        found = fit_batch(scaled, model.design, model.outcome, model.weight, start)
        coefficients = found.coefficients[:, -1]
        # Under separation the standard error grows faster than the coefficient, so that their quotient, Wald's
        # statistic, would be 0 for the best features. The score statistic has no such flaw.
        value = np.where(found.separated, statistic[usable], coefficients / found.errors)
        out[usable] = np.column_stack([coefficients / scale[usable], value, found.separated])
        return out

    return fit


def _score_task(
    model: PairModel, coefficients: FloatArray, information_root: FloatArray
) -> Callable[[FloatArray], tuple[FloatArray, FloatArray, BoolArray]]:
    """Return the function that gives Rao's score statistic of each feature of a batch.

    Parameters
    ----------
    model : PairModel
    coefficients : ndarray of shape (n_columns,)
        The regression on the columns of ``model.design`` alone.
    information_root : ndarray of shape (n_pairs,)
        Square root of the weight that each pair has in the information matrix of that regression.
    """
    rest = model.weight * (model.outcome - expit(model.design @ coefficients))
    basis = np.linalg.qr(model.design * information_root[:, None])[0]
    total = max(float(np.square(information_root).sum()), 1e-300)

    def score(differences: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return the statistics, the standard deviation of the differences, and which features can be used."""
        weighed = differences * information_root
        size = np.einsum("ij,ij->i", weighed, weighed)
        own = size - np.square(weighed @ basis).sum(axis=1)
        usable = own > _FLAT * np.maximum(size, 1e-300)
        own = np.where(usable, own, 1.0)
        return np.where(usable, (differences @ rest) / np.sqrt(own), 0.0), np.sqrt(own / total), usable

    return score


def score_statistics(
    pairs: NeighborPairs, model: PairModel, outcome_of: Callable[[int], FloatArray], count: int
) -> FloatArray:
    """Return the score statistic of each outcome and feature, of shape (count, n_features).

    Many outcomes are tested at once with few products of matrices, so that permutations cost little. The statistic is
    the slope of the likelihood at a coefficient of 0, divided by its standard error. For linear regressions it is the
    partial correlation times the root of the number of pairs.

    Parameters
    ----------
    pairs : NeighborPairs
    model : PairModel
        Its ``outcome`` is not used.
    outcome_of : callable
        Returns the outcome of each pair for a number from 0 to ``count`` − 1.
    count : int
    """
    width = model.design.shape[1] + 5  # arrays of this size that are needed per outcome
    size = max(1, _PERMUTED_CELLS // (width * len(model.weight)))
    score = _logistic_scores if model.logistic else _linear_scores
    parts = []
    for begin, end in fixed_ranges(count, size):
        outcomes = np.array([outcome_of(number) for number in range(begin, end)])
        parts.append(pairs.map_features(score(model, outcomes), _SCORE_CELLS).T)
    return np.ascontiguousarray(np.concatenate(parts))


def _linear_scores(model: PairModel, outcomes: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the function that gives the score statistics of a batch, of shape (n_features, n_outcomes)."""
    root = np.sqrt(model.weight)
    basis = np.linalg.qr(model.design * root[:, None])[0]
    rest = outcomes * root
    rest -= (rest @ basis) @ basis.T
    deviation = np.sqrt(np.square(rest).sum(axis=1) / model.weight.sum())
    rest /= np.where(deviation > 0, deviation, 1.0)[:, None]

    def score(differences: FloatArray) -> FloatArray:
        """Return the statistics of a batch."""
        differences *= root
        size = np.einsum("ij,ij->i", differences, differences)
        own = size - np.square(differences @ basis).sum(axis=1)
        usable = own > _FLAT * size
        statistic = differences @ rest.T / np.sqrt(np.where(usable, own, 1.0))[:, None]
        return np.where(usable[:, None], statistic, 0.0)

    return score


def _logistic_scores(model: PairModel, outcomes: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the function that gives the score statistics of a batch, of shape (n_features, n_outcomes)."""
    if model.design.shape[1] == 1:
        # Without covariates all pairs have the same probability, and the statistic is that of a linear regression.
        return _linear_scores(model, outcomes)
    fits = [fit_design(model.design, outcome, model.weight) for outcome in outcomes]
    predicted = np.array([expit(model.design @ coefficients) for coefficients, _ in fits])
    rest = (model.weight * (outcomes - predicted)).T
    roots = np.array([root for _, root in fits])
    information = np.ascontiguousarray(np.square(roots).T)
    # One basis of the other columns per outcome, multiplied by the roots once more, since the differences are not.
    bases = np.hstack([np.linalg.qr(model.design * root[:, None])[0] * root[:, None] for root in roots])

    def score(differences: FloatArray) -> FloatArray:
        """Return the statistics of a batch."""
        projected = (differences @ bases).reshape(len(differences), len(outcomes), -1)
        slope = differences @ rest
        size = np.square(differences) @ information
        own = size - np.square(projected).sum(axis=2)
        usable = own > _FLAT * np.maximum(size, 1e-300)
        return np.where(usable, slope / np.sqrt(np.where(usable, own, 1.0)), 0.0)

    return score
