"""Stability of weights: do repeated runs give features the same weights, or at least the same order?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import kendalltau, rankdata

from .._typing import FloatArray
from ..exceptions import InvalidDataError
from .selections import check_weights, nan_with_warning, pairs_of_runs


def _pearson(weights: FloatArray) -> FloatArray:
    """Return Pearson's correlation of all pairs of runs."""
    centred = weights - weights.mean(axis=1, keepdims=True)
    unit: FloatArray = centred / np.sqrt(np.square(centred).sum(axis=1, keepdims=True))
    first, second = pairs_of_runs(len(unit))
    correlations: FloatArray = (unit @ unit.T)[first, second]
    return correlations


def _spearman(weights: FloatArray) -> FloatArray:
    """Return Spearman's rank correlation of all pairs of runs."""
    return _pearson(rankdata(weights, axis=1))


def _kendall(weights: FloatArray) -> FloatArray:
    """Return Kendall's τ-b of all pairs of runs."""
    ranks = rankdata(weights, axis=1)
    return np.array([kendalltau(ranks[a], ranks[b]).statistic for a, b in zip(*pairs_of_runs(len(ranks)), strict=True)])


_MEASURES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    "kendall": _kendall,
}


def weight_stability(weights: Any, measure: str = "pearson") -> float:
    """Compute the mean correlation of weights, or of their ranks, over all pairs of runs.

    Parameters
    ----------
    weights : array-like of shape (n_runs, n_features)
        One row of feature weights per run.
    measure : {"pearson", "spearman", "kendall"}, default="pearson"
        "spearman" and "kendall" (τ-b) use ranks only, so that ``weights`` may also be ranks.

    Returns
    -------
    float
        The mean correlation, or NaN with a warning if a run gives all features the same weight.

    Examples
    --------
    >>> runs = [[0.9, 0.5, 0.1, 0.0], [0.8, 0.6, 0.2, 0.1], [0.7, 0.9, 0.0, 0.3]]
    >>> round(weight_stability(runs), 4), round(weight_stability(runs, "spearman"), 4)
    (0.8444, 0.7333)
    """
    if measure not in _MEASURES:
        raise InvalidDataError(f"measure must be one of {sorted(_MEASURES)}; got {measure!r}")
    values = check_weights(weights)
    flat = np.flatnonzero(np.ptp(values, axis=1) == 0)
    if len(flat):
        return nan_with_warning(measure, f"run {flat[0]} gives all {values.shape[1]} features the same weight")
    return float(_MEASURES[measure](values).mean())
