"""One penalised regression over neighbour pairs with all features together, whose coefficients are not negative.

With coefficients β ≥ 0 of the features, the elastic net is a smooth function: its absolute values are the coefficients
themselves. So L-BFGS-B, which keeps bounds, minimises it. Most coefficients are 0: only features whose slope says that
their coefficient would become positive are taken into the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .._typing import BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from .logistic_batches import expit
from .neighborhoods import DENSE_BYTES
from .pair_regression import NeighborPairs, PairModel

__all__ = ["PenalizedFit", "fit_penalized", "largest_penalty", "tune_penalty"]

_ENTER = 1e-6  # a slope beyond its limit by less than this share is a rounding error of the search
_PATH = 20  # penalties that are tried
_SMALLEST = 0.01  # the smallest of them, as a share of the largest


@dataclass(frozen=True)
class PenalizedFit:
    """A penalised regression over all features."""

    coefficients: FloatArray  # (n_features,) per unit of difference, not negative
    standardized: FloatArray  # (n_features,) per standard deviation of the differences
    common: FloatArray  # (n_columns,) of the constant and the covariates, which are not penalised


class _Problem:
    """The regression without its penalty. Differences are divided by their standard deviations over all pairs."""

    def __init__(self, pairs: NeighborPairs, model: PairModel) -> None:
        self.pairs, self.model = pairs, model
        self.share = model.weight / model.weight.sum()
        mean, square = pairs.map_features(self._moments).T
        variance = square - mean**2
        usable = variance > 1e-12 * np.maximum(square, 1e-300)
        # A feature whose differences never change keeps the coefficient 0: its slope is made 0.
        self.scale = np.where(usable, np.sqrt(np.where(usable, variance, 1.0)), np.inf)
        # Which feature of the table each stored column is.
        self.stored_at = np.argsort(pairs.instances.columns)

    def _moments(self, differences: FloatArray) -> FloatArray:
        """Return mean and mean square of the differences of each feature."""
        return np.column_stack([differences @ self.share, np.square(differences) @ self.share])

    def columns(self, features: IndexArray) -> FloatArray:
        """Return the scaled differences of some features, of shape (n, n_pairs)."""
        size = len(features) * len(self.share) * 8
        if size > DENSE_BYTES:
            raise InvalidDataError(
                f"the penalised regression has {len(features)} features at once, which takes {size / 2**30:.1f} GiB "
                f"(limit {DENSE_BYTES / 2**30:.0f} GiB). Use a larger l1_ratio or regularization, or fewer neighbours"
            )
        if not len(features):
            return np.zeros((0, len(self.share)))
        parts = [self.pairs.differences(int(at), int(at) + 1)[0] for at in self.stored_at[features]]
        return np.asarray(np.array(parts) / self.scale[features, None])

    def loss(self, eta: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean loss of linear predictors, and its derivative by each of them."""
        y = self.model.outcome
        if self.model.logistic:
            value = np.logaddexp(0.0, eta) - y * eta
            return float(self.share @ value), self.share * (expit(eta) - y)
        return float(self.share @ np.square(eta - y)) / 2, self.share * (eta - y)

    def slopes(self, derivative: FloatArray) -> FloatArray:
        """Return the derivative of the mean loss by each coefficient of a feature."""
        found = self.pairs.map_features(lambda differences: (differences @ derivative)[:, None])[:, 0]
        return np.asarray(found / self.scale)


def fit_penalized(pairs: NeighborPairs, model: PairModel, regularization: float, l1_ratio: float) -> PenalizedFit:
    """Minimise mean loss + regularization · Σ (l1_ratio · β_j + (1 − l1_ratio) / 2 · β_j²) over β ≥ 0.

    The loss is the negative log likelihood of a logistic regression, or half the squared error. β_j is the coefficient
    per standard deviation of the differences. Constant and covariates are neither penalised nor bounded.

    Parameters
    ----------
    pairs : NeighborPairs
    model : PairModel
    regularization : float
    l1_ratio : float between 0 and 1
    """
    return _fit_path(pairs, model, [regularization], l1_ratio)[0]


def _fit_path(
    pairs: NeighborPairs, model: PairModel, regularizations: Sequence[float], l1_ratio: float
) -> list[PenalizedFit]:
    """Fit one regression per penalty, each from the result before it. The parameters are those of `fit_penalized`."""
    problem = _Problem(pairs, model)
    n_features, n_common = len(problem.scale), model.design.shape[1]
    beta: FloatArray = np.zeros(n_features)
    common: FloatArray = np.zeros(n_common)
    active = np.zeros(n_features, dtype=bool)
    fits = []
    for penalty in regularizations:
        beta, common, active = _fit_active(problem, penalty, l1_ratio, beta, common, active)
        fits.append(PenalizedFit(beta / problem.scale, beta.copy(), common.copy()))
    return fits


def _fit_active(
    problem: _Problem, penalty: float, l1_ratio: float, beta: FloatArray, common: FloatArray, active: BoolArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Minimise over the active features, and add features until no slope says that another one should enter.

    ``beta``, ``common`` and ``active`` are what the search begins with: coefficients of features and of the common
    columns, and the features that are searched. The same three are returned.
    """
    while True:
        at = np.flatnonzero(active)
        columns = problem.columns(at)
        start = np.concatenate([common, beta[at]])
        found = _minimize(problem, columns, penalty, l1_ratio, start)
        common, beta = found[: len(common)], np.zeros_like(beta)
        beta[at] = found[len(common) :]
        derivative = problem.loss(problem.model.design @ common + beta[at] @ columns)[1]
        # A coefficient of 0 would become positive if the loss falls faster than the penalty grows.
        gain = -problem.slopes(derivative) - penalty * l1_ratio
        enter = ~active & (gain > _ENTER * max(penalty, 1e-3))
        if not enter.any():
            return beta, common, beta > 0
        # The features that gain most come first; the others often gain nothing after that.
        best = np.flatnonzero(enter)[np.argsort(-gain[enter], kind="stable")[: max(50, int(active.sum()))]]
        active[best] = True


def _minimize(problem: _Problem, columns: FloatArray, penalty: float, l1_ratio: float, start: FloatArray) -> FloatArray:
    """Return the coefficients of the common columns and of the features ``columns`` that minimise the penalised loss.

    ``start`` has the coefficients to begin with.
    """
    design = problem.model.design
    n_common = design.shape[1]

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the penalised loss and its gradient."""
        beta = theta[n_common:]
        value, derivative = problem.loss(design @ theta[:n_common] + beta @ columns)
        value += penalty * (l1_ratio * beta.sum() + (1 - l1_ratio) / 2 * (beta @ beta))
        slope = columns @ derivative + penalty * (l1_ratio + (1 - l1_ratio) * beta)
        return value, np.concatenate([design.T @ derivative, slope])

    bounds: list[Any] = [(None, None)] * n_common + [(0.0, None)] * len(columns)
    options = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x)


def largest_penalty(pairs: NeighborPairs, model: PairModel, l1_ratio: float) -> float:
    """Return the smallest penalty at which all coefficients of features are 0, or a large one for a pure ridge."""
    problem = _Problem(pairs, model)
    common = _minimize(problem, np.zeros((0, len(problem.share))), 0.0, l1_ratio, np.zeros(model.design.shape[1]))
    slopes = -problem.slopes(problem.loss(model.design @ common)[1])
    # A ridge never makes coefficients 0, so that a share of .001 is taken, as in the path of other libraries.
    return max(float(slopes.max(initial=0.0)), 1e-12) / max(l1_ratio, 1e-3)


def tune_penalty(pairs: NeighborPairs, model: PairModel, l1_ratio: float, fold: IndexArray) -> float:
    """Choose the penalty by cross-validation over rows.

    A regression is fitted to the pairs both of whose rows are outside a fold, and judged by the pairs both of whose
    rows are inside it: pairs that share a row are not independent. The penalty with the least mean loss is taken; of
    equal ones the largest.

    Parameters
    ----------
    pairs, model, l1_ratio
        As in `fit_penalized`.
    fold : ndarray of shape (n_samples,)
        The number of the fold of each row.
    """
    path = np.geomspace(1.0, _SMALLEST, _PATH) * largest_penalty(pairs, model, l1_ratio)
    losses, total = np.zeros(_PATH), 0.0
    for number in range(int(fold.max()) + 1):
        first, second = fold[pairs.first] == number, fold[pairs.second] == number
        train, test = ~first & ~second, first & second
        if not test.any() or not _can_be_fitted(model, train):
            continue
        inner, inner_model = _take(pairs, model, train)
        outer = _Problem(*_take(pairs, model, test))
        size = float(model.weight[test].sum())
        total += size
        for i, fit in enumerate(_fit_path(inner, inner_model, path.tolist(), l1_ratio)):
            at = np.flatnonzero(fit.coefficients)
            columns = [outer.pairs.differences(int(j), int(j) + 1)[0] for j in outer.stored_at[at]]
            eta = outer.model.design @ fit.common + (fit.coefficients[at] @ np.array(columns) if len(at) else 0.0)
            losses[i] += size * outer.loss(eta)[0]
    if total == 0:
        raise InvalidDataError(
            'there are too few pairs for regularization="auto", which needs pairs within each of five folds. Give a '
            "number, for example regularization=0.01"
        )
    return float(path[int(np.argmin(losses))])


def _can_be_fitted(model: PairModel, chosen: BoolArray) -> bool:
    """Return whether the chosen pairs have different outcomes."""
    return bool(chosen.any()) and bool(np.ptp(model.outcome[chosen]) > 0)


def _take(pairs: NeighborPairs, model: PairModel, chosen: BoolArray) -> tuple[NeighborPairs, PairModel]:
    """Return some of the pairs, and the regression over these."""
    some = NeighborPairs(pairs.instances, pairs.first[chosen], pairs.second[chosen], pairs.weight[chosen])
    return some, replace(model, outcome=model.outcome[chosen], design=model.design[chosen], weight=model.weight[chosen])
