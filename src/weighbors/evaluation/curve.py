"""Stability for every number of features: the whole job for one data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from .._results import Result, number
from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ._fitting import folds_of, scores_of, seed_of, seed_sequence
from ._selections import check_weights, top_selections

__all__ = ["StabilityCurve", "kuncheva_curve", "stability_curve"]


@dataclass(frozen=True, eq=False, repr=False)
class StabilityCurve(Result):
    """Stability of the k features of the largest weight, for every k.

    Attributes
    ----------
    sizes : ndarray of int
    stability : ndarray of shape (n_sizes,)
        Kuncheva's index, which for selections of one size is Nogueira's stability; mean over the
        repetitions.
    standard_error : ndarray of shape (n_sizes,)
        Of the index, runs taken as independent (Nogueira's variance).
    tied : ndarray of shape (n_sizes,)
        Share of the runs in which the k-th and the next weight are equal, so that the order of the
        columns decided.
    weights : ndarray of shape (n_runs, n_features)
    repetition : ndarray of shape (n_runs,)
        Which repetition a run belongs to.
    feature_names : tuple of str
    """

    sizes: IndexArray
    stability: FloatArray
    standard_error: FloatArray
    tied: FloatArray
    weights: FloatArray
    repetition: IndexArray
    feature_names: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per size: size, stability, standard_error, tied."""
        columns = ("size", "stability", "standard_error", "tied")
        return pd.DataFrame(
            dict(zip(columns, (self.sizes, self.stability, self.standard_error, self.tied), strict=True))
        )

    def mean(self, up_to: int | None = None) -> float:
        """Mean stability over the sizes, or over those of at most ``up_to`` features."""
        chosen = self.stability if up_to is None else self.stability[self.sizes <= up_to]
        if not len(chosen):
            raise InvalidDataError(f"the curve has no size of at most {up_to}; it starts at {self.sizes[0]}")
        return float(chosen.mean())

    def frequencies(self, size: int) -> pd.Series:
        """Share of the runs in which each feature is among the ``size`` best, most frequent first."""
        if not 1 <= size <= self.weights.shape[1]:
            raise InvalidDataError(f"size must lie between 1 and {self.weights.shape[1]}; got {size!r}")
        share = top_selections(self.weights, size).mean(axis=0)
        named = pd.Series(share, index=list(self.feature_names), name="share of runs")
        return named.sort_values(ascending=False, kind="stable")

    def _lines(self) -> list[str]:
        runs, repeats = len(self.weights), len(np.unique(self.repetition))
        head = f"Stability of {self.weights.shape[1]} features over {runs} runs"
        head += f" in {repeats} repetitions" if repeats > 1 else ""
        shown = np.unique(np.round(np.geomspace(1, len(self.sizes), 8)).astype(int)) - 1
        rows = [
            f"  top {self.sizes[i]:>6}  {self.stability[i]:7.4f} ± {number(self.standard_error[i])}"
            f"{'   ties decide' if self.tied[i] else ''}"
            for i in shown
        ]
        return [f"{head}; mean over sizes {self.mean():.4f}", *rows]


def _check_sizes(sizes: Any, d: int) -> IndexArray:
    if d < 2:
        raise InvalidDataError(f"a curve needs at least 2 features; got {d}")
    if sizes is None:
        return np.arange(1, d)
    chosen = np.unique(np.asarray(sizes))
    if chosen.dtype.kind not in "iu" or not len(chosen) or chosen[0] < 1 or chosen[-1] >= d:
        raise InvalidDataError(
            f"sizes must be whole numbers from 1 to {d - 1} (all {d} features are always the same); got {sizes!r}"
        )
    return chosen.astype(np.int64)


def _one_repetition(weights: FloatArray, last: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Index, its variance and the share of tied runs for the sizes 1 to ``last``.

    Features join run by run in the order of their weight. ``back[i]`` sums, over the features of
    run i, how many runs hold them; both figures follow from it.
    """
    runs, d = weights.shape
    order = np.argsort(-weights, axis=1, kind="stable")
    ranked = np.take_along_axis(weights, order, axis=1)
    held, times = np.zeros((runs, d), dtype=bool), np.zeros(d)
    back, rows = np.zeros(runs), np.arange(runs)
    index, variance = np.empty(last), np.empty(last)
    for k in range(1, last + 1):
        new = order[:, k - 1]
        back += held[:, new].sum(axis=1)
        np.add.at(times, new, 1.0)
        held[rows, new] = True
        back += times[new]
        overlap = (back.sum() - runs * k) / (runs * (runs - 1))
        chance = k / d * (1 - k / d)
        index[k - 1] = (overlap - k * k / d) / (d * chance)
        variance[k - 1] = 4 / runs**2 * np.square((back - back.mean()) / (runs * d * chance)).sum()
    tied = (ranked[:, :last] == ranked[:, 1 : last + 1]).mean(axis=0)
    return index, variance, tied


def kuncheva_curve(
    weights: Any, sizes: Any = None, *, repetition: Any = None, feature_names: Sequence[Any] | None = None
) -> StabilityCurve:
    """Kuncheva's index of the k features of the largest weight, for every k.

    Parameters
    ----------
    weights : array-like of shape (n_runs, n_features)
        Larger for more relevant. Equal weights go to the lower column.
    sizes : array-like of int, optional
        By default 1 to n_features − 1; with all features the index is not defined.
    repetition : array-like of shape (n_runs,), optional
        Runs of one repetition are compared with each other, and repetitions averaged.
    feature_names : sequence of str, optional

    Returns
    -------
    StabilityCurve

    Examples
    --------
    >>> curve = kuncheva_curve([[0.9, 0.5, 0.1, 0.0], [0.8, 0.6, 0.2, 0.1], [0.7, 0.9, 0.0, 0.3]])
    >>> curve.frame()[["size", "stability"]].round(3)
       size  stability
    0     1      0.111
    1     2      1.000
    2     3      0.111
    """
    values = check_weights(weights)
    runs, d = values.shape
    chosen = _check_sizes(sizes, d)
    part = np.zeros(runs, dtype=np.int64) if repetition is None else np.unique(repetition, return_inverse=True)[1]
    if len(part) != runs or np.bincount(part).min() < 2:
        raise InvalidDataError(f"repetition needs one number per run ({runs}), and at least 2 runs in each")
    found = [_one_repetition(values[part == r], int(chosen[-1])) for r in range(part.max() + 1)]
    index, variance, tied = (np.array([one[i] for one in found])[:, chosen - 1] for i in range(3))
    names = tuple(f"x{j}" for j in range(d)) if feature_names is None else tuple(str(name) for name in feature_names)
    error = np.sqrt(variance.sum(axis=0)) / len(found)
    return StabilityCurve(chosen, index.mean(axis=0), error, tied.mean(axis=0), values, part, names)


def stability_curve(
    weigher: Any,
    X: Any,
    y: Any,
    cv: Any = 10,
    groups: Any = None,
    *,
    n_repeats: int = 1,
    sizes: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> StabilityCurve:
    """Fit a weigher in every fold and measure how stable its best features are, for every number of them.

    Parameters
    ----------
    weigher : estimator or callable
        Anything that leaves weights of its features (a weigher, a pipeline that ends in one, a
        forest, a linear model), or a function of ``X, y`` that returns them. Fitted to the training
        rows of each fold. Scale inside a pipeline, not before.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    cv : int, splitter or iterable of (train, test), default=10
        A number means stratified folds, and with ``groups`` stratified folds of whole groups.
    groups : array-like of shape (n_samples,), optional
        Rows of one group (the samples of one patient) stay together; folds that part them are refused.
    n_repeats : int, default=1
        Repetitions of the folds, each shuffled anew.
    sizes : array-like of int, optional
        By default all from 1 to n_features − 1.
    random_state : int, RandomState or None, default=0
        For the folds, and for the weigher where its own ``random_state`` is None.
    n_jobs : int or None, default=None
        Folds fitted at a time. Results do not depend on it.

    Returns
    -------
    StabilityCurve
        Runs of one repetition are compared with each other, and repetitions averaged.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from weighbors import ReliefF
    >>> from weighbors.evaluation import stability_curve
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> curve = stability_curve(ReliefF(), X, y, cv=5)
    >>> curve.frequencies(3).head(3)
    flavanoids                      1.0
    od280/od315_of_diluted_wines    1.0
    proline                         1.0
    Name: share of runs, dtype: float64
    """
    from joblib import Parallel, delayed

    y = column_or_1d(y)
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    X = X if hasattr(X, "shape") else np.asarray(X)
    check_consistent_length(X, y, groups)
    root = seed_sequence(random_state)
    fold_seeds, run_seeds = root.spawn(2)
    repetitions = folds_of(cv, X, y, groups, n_repeats=n_repeats, seeds=fold_seeds)
    trains = [train for repetition in repetitions for train, _ in repetition]
    part = [r for r, repetition in enumerate(repetitions) for _ in repetition]
    scores = Parallel(n_jobs=n_jobs)(
        delayed(scores_of)(weigher, X, y, train, seed_of(child))
        for train, child in zip(trains, run_seeds.spawn(len(trains)), strict=True)
    )
    return kuncheva_curve(np.array(scores), sizes, repetition=part, feature_names=names)
