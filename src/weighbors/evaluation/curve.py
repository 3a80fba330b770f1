"""Stability of the k best features, for every k. The weights are given, or a weigher learns them from a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_consistent_length

from .._display.results import Result, number
from .._random import integer_seed, seed_sequence
from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..tables.frames import as_pandas
from ..tables.labels import as_column
from .folds import make_folds
from .model_features import fit_feature_scores
from .selections import check_weights, top_selections
from .targets import decide_target_type, expected_target, told_model


@dataclass(frozen=True, eq=False, repr=False)
class StabilityCurve(Result):
    """Stability of the k features with the largest weights, for every k.

    Attributes
    ----------
    sizes : ndarray of int
        The numbers k of features.
    stability : ndarray of shape (n_sizes,)
        Kuncheva's index, averaged over the repetitions. For selections of equal size it is Nogueira's stability.
    standard_error : ndarray of shape (n_sizes,)
        Standard error of the index, if runs are independent (Nogueira's variance).
    tied : ndarray of shape (n_sizes,)
        Share of the runs in which the k-th and the next weight are equal, so that the order of the columns decides
        which feature is selected.
    weights : ndarray of shape (n_runs, n_features)
        Feature weights of each run.
    repetition : ndarray of shape (n_runs,)
        Number of the repetition that each run belongs to.
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
        """Return the result as a table with one row per size: size, stability, standard_error, tied."""
        columns = ("size", "stability", "standard_error", "tied")
        return pd.DataFrame(
            dict(zip(columns, (self.sizes, self.stability, self.standard_error, self.tied), strict=True))
        )

    def mean(self, up_to: int | None = None) -> float:
        """Return the mean stability over all sizes, or over the sizes up to ``up_to``."""
        chosen = self.stability if up_to is None else self.stability[self.sizes <= up_to]
        if not len(chosen):
            raise InvalidDataError(f"the curve has no size of at most {up_to}; it starts at {self.sizes[0]}")
        return float(chosen.mean())

    def frequencies(self, size: int) -> pd.Series:
        """Return the share of runs in which each feature is among the ``size`` best, in descending order."""
        if not 1 <= size <= self.weights.shape[1]:
            raise InvalidDataError(f"size must lie between 1 and {self.weights.shape[1]}; got {size!r}")
        share = top_selections(self.weights, size).mean(axis=0)
        named = pd.Series(share, index=list(self.feature_names), name="share of runs")
        return named.sort_values(ascending=False, kind="stable")

    def _shown(self) -> pd.DataFrame:
        return self.frame().iloc[self._some_sizes()].set_index("size")

    def _some_sizes(self) -> IndexArray:
        """Return the positions of the sizes that are shown: close together for few features, wider for many."""
        return np.unique(np.round(np.geomspace(1, len(self.sizes), 8)).astype(int)) - 1

    def _lines(self) -> list[str]:
        runs, repeats = len(self.weights), len(np.unique(self.repetition))
        head = f"Stability of {self.weights.shape[1]} features over {runs} runs"
        head += f" in {repeats} repetitions" if repeats > 1 else ""
        rows = [
            f"  top {self.sizes[i]:>6}  {self.stability[i]:7.4f} ± {number(self.standard_error[i])}"
            f"{'   ties decide' if self.tied[i] else ''}"
            for i in self._some_sizes()
        ]
        return [f"{head}; mean over sizes {self.mean():.4f}", *rows]


def _check_sizes(sizes: Any, d: int) -> IndexArray:
    """Return sizes as a sorted array without repetitions, by default 1 to ``d`` − 1.

    ``d`` is the number of features.
    """
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
    """Return the index, its variance and the share of tied runs, for the sizes 1 to ``last``.

    One pass is enough: in step k every run adds its feature of rank k. ``back[i]`` is a sum over the features that run
    i has selected so far; each feature adds the number of runs that have selected it. Index and variance follow from
    ``back``.
    """
    runs, d = weights.shape
    order = np.argsort(-weights, axis=1, kind="stable")
    ranked = np.take_along_axis(weights, order, axis=1)
    held, times = np.zeros((runs, d), dtype=bool), np.zeros(d)
    back, rows = np.zeros(runs), np.arange(runs)
    index, variance = np.empty(last), np.empty(last)
    for k in range(1, last + 1):
        # Every run adds one feature. First, runs that already hold a new feature of another run gain one for it. Then
        # every run gains the number of runs that hold its own new feature.
        new = order[:, k - 1]
        back += held[:, new].sum(axis=1)
        np.add.at(times, new, 1.0)
        held[rows, new] = True
        back += times[new]
        # ``back`` also counts each run with itself, k times per run, which is no pair of runs.
        overlap = (back.sum() - runs * k) / (runs * (runs - 1))
        chance = k / d * (1 - k / d)
        index[k - 1] = (overlap - k * k / d) / (d * chance)
        variance[k - 1] = 4 / runs**2 * np.square((back - back.mean()) / (runs * d * chance)).sum()
    tied = (ranked[:, :last] == ranked[:, 1 : last + 1]).mean(axis=0)
    return index, variance, tied


def kuncheva_curve(
    weights: Any, sizes: Any = None, *, repetition: Any = None, feature_names: Sequence[Any] | None = None
) -> StabilityCurve:
    """Compute Kuncheva's index of the k features with the largest weights, for every k.

    Parameters
    ----------
    weights : array-like of shape (n_runs, n_features)
        Larger weights mean more relevant features. Of equal weights the lower column number comes first.
    sizes : array-like of int, optional
        By default 1 to n_features − 1. With all features the index is not defined.
    repetition : array-like of shape (n_runs,), optional
        Number of the repetition of each run. Only runs of the same repetition are compared with each other, and the
        results of all repetitions are averaged. By default all runs are one repetition.
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
    # The variance of an average of r repetitions is the sum of their variances divided by r squared.
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
    target_type: str = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> StabilityCurve:
    """Fit a weigher in every fold and measure how stable the k best features are, for every k.

    Parameters
    ----------
    weigher : estimator or callable
        An estimator that has feature weights after ``fit`` (a weigher, a pipeline that ends in a weigher, a forest, a
        linear model), or a function of ``X, y`` that returns feature weights. It is fitted to the training rows of
        each fold. Scale features inside a pipeline, not before.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels, or a numeric target if the weigher takes one.
    cv : int, splitter or iterable of (train, test), default=10
        A number means stratified folds: by class, or by up to ten quantile bins of a numeric target. With ``groups``
        the folds keep groups whole.
    groups : array-like of shape (n_samples,), optional
        Rows of one group, for example the samples of one patient, stay together. Folds that split a group raise an
        error.
    n_repeats : int, default=1
        Number of repetitions of the folds. Rows are shuffled again in each repetition.
    sizes : array-like of int, optional
        The numbers k of features. By default 1 to n_features − 1.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. "auto": what the weigher needs, if it takes only one of both, otherwise floats with a fraction
        or with many values are numbers. Weighers with ``target_type="auto"`` are set to it.
    random_state : int, RandomState or None, default=0
        Seed of the folds, and of the weigher if its ``random_state`` is None.
    n_jobs : int or None, default=None
        Number of folds that are fitted at the same time. Results do not depend on it.

    Returns
    -------
    StabilityCurve
        Runs of the same repetition are compared with each other, and the repetitions are averaged.

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

    X, y = as_pandas(X), as_column(y)
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    X = X if hasattr(X, "shape") else np.asarray(X)
    check_consistent_length(X, y)
    kind = decide_target_type(y, target_type, expected_target(weigher))
    weigher = told_model(weigher, y, kind)
    root = seed_sequence(random_state)
    # Folds and fits have separate seeds, so that other folds do not change the random numbers of the fits.
    fold_seeds, run_seeds = root.spawn(2)
    repetitions = make_folds(cv, X, y, groups, n_repeats=n_repeats, seeds=fold_seeds, numeric=kind == "numeric")
    trains = [train for repetition in repetitions for train, _ in repetition]
    part = [r for r, repetition in enumerate(repetitions) for _ in repetition]
    scores = Parallel(n_jobs=n_jobs)(
        delayed(fit_feature_scores)(weigher, X, y, train, integer_seed(child))
        for train, child in zip(trains, run_seeds.spawn(len(trains)), strict=True)
    )
    return kuncheva_curve(np.array(scores), sizes, repetition=part, feature_names=names)


def chance_deviation(n_features: int, runs_per_repetition: Any) -> float:
    """Return the standard deviation of the stability if all runs select features at random. The mean is then 0.

    The overlap of two random sets of k of d features is hypergeometric, so Kuncheva's index of a pair
    has the variance 1 / (d − 1) for every k. The pairs of a repetition are uncorrelated.

    Parameters
    ----------
    n_features : int
    runs_per_repetition : array-like of int
        Number of runs in each repetition.

    Examples
    --------
    >>> round(chance_deviation(101, [10]), 4)
    0.0149
    """
    # Independent pairs: the variance of a mean of P pairs is 1 / (d − 1) / P.
    runs = np.asarray(runs_per_repetition, dtype=np.float64)
    pairs = runs * (runs - 1) / 2
    return float(np.sqrt(np.sum(1 / (pairs * (n_features - 1)))) / len(runs))
