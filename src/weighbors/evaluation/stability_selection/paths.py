"""Integrated path stability selection (Melikechi and Miller): from selections of half samples to q-values.

The notation follows the papers. ``B`` is the number of pairs of half samples, ``p`` the number of features, π_j(τ) the
share of the 2B half samples that select feature j at threshold τ, and q(τ) the mean number of selected features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._typing import BoolArray, FloatArray

__all__ = [
    "PathIntegrals",
    "bound_terms",
    "integrate_paths",
    "list_sizes",
    "measure_weights",
    "path_scores",
    "permutation_false_positives",
    "q_values",
    "rank_paths",
    "score_paths",
    "score_thresholds",
]

_STILL = 0.01  # paths that stop changing end the thresholds only if the mean share is above this


@dataclass(frozen=True, eq=False)
class PathIntegrals:
    """Stability paths, cut where the bound reaches the cutoff, and what their integrals say of each feature.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        From the strictest one on, up to the one at which the bound reaches the cutoff.
    paths : ndarray of shape (n_thresholds, n_features)
        π_j(τ).
    mean_selected : ndarray of shape (n_thresholds,)
        q(τ).
    bound : float
        The integral I of the bound.
    scores : ndarray of shape (n_features,)
        The integrals of h(π_j), from 0 to 1.
    expected_false_positives : ndarray of shape (n_features,)
        I / score, at most the number of features.
    q_values : ndarray of shape (n_features,)
    """

    thresholds: FloatArray
    paths: FloatArray
    mean_selected: FloatArray
    bound: float
    scores: FloatArray
    expected_false_positives: FloatArray
    q_values: FloatArray


def integrate_paths(
    paths: FloatArray,
    mean_selected: FloatArray,
    thresholds: FloatArray,
    n_pairs: int,
    *,
    delta: float = 1.0,
    cutoff: float = 0.05,
    order: int = 3,
) -> PathIntegrals:
    """Return scores, expected false positives and q-values of all features, from their stability paths.

    Parameters
    ----------
    paths : ndarray of shape (n_thresholds, n_features)
        Share of the half samples that select each feature at each threshold.
    mean_selected : ndarray of shape (n_thresholds,)
        Mean number of selected features.
    thresholds : ndarray of shape (n_thresholds,)
        Positive and descending, each the same factor smaller than the one before.
    n_pairs : int
        Number B of pairs of half samples.
    delta : float
        The measure dμ is proportional to τ^(−delta) dτ.
    cutoff : float
        Thresholds are used from the strictest on while the integral of the bound is at most this.
    order : {1, 2, 3}
        h(π) = (2π − 1)^order for π > ½, else 0.

    Notes
    -----
    Integrals are the sums of the authors' program `ipss`. In particular, the measure of the scores is normalised over
    the thresholds up to the cutoff, and the measure of the bound over all thresholds given. The two agree if the
    cutoff is reached at the last threshold, as with the sizes of `list_sizes`.

    Examples
    --------
    >>> sizes = list_sizes(100, 50)
    >>> paths = np.zeros((len(sizes), 100))
    >>> paths[:, 0] = 1.0  # one feature is always among the selected ones
    >>> found = integrate_paths(paths, np.floor(sizes), 1 / sizes, 50)
    >>> bool(found.expected_false_positives[0] < 0.06), float(found.expected_false_positives[1])
    (True, 100.0)
    """
    p = paths.shape[1]
    end = _end_of_changes(paths)
    paths, mean_selected, thresholds = paths[:end], mean_selected[:end], thresholds[:end]
    # The value at a threshold stands for the interval to the next one, so the last value has no interval.
    running = np.cumsum(measure_weights(thresholds, delta) * bound_terms(mean_selected, p, n_pairs, order)[:-1])
    inside = int(np.searchsorted(running, cutoff, side="right"))
    bound = float(running[inside - 1]) if inside else 0.0
    stop = inside + 1  # one more threshold than intervals
    paths, mean_selected, thresholds = paths[:stop], mean_selected[:stop], thresholds[:stop]
    scores = path_scores(paths, thresholds, delta=delta, order=order)
    # A bound of 0 means that nothing was ever selected, so nothing can be said of any feature.
    floor = np.maximum(scores, bound / p)
    false = np.divide(bound, floor, out=np.full(p, float(p)), where=floor > 0)
    return PathIntegrals(thresholds, paths, mean_selected, bound, scores, false, q_values(false))


def path_scores(paths: FloatArray, thresholds: FloatArray, *, delta: float = 1.0, order: int = 3) -> FloatArray:
    """Return the score of each feature: the integral of h(π_j(τ)) over all thresholds.

    The parameters are those of `integrate_paths`.
    """
    height = np.maximum(2 * paths[:-1] - 1, 0.0) ** order
    return np.asarray(measure_weights(thresholds, delta) @ height)


def permutation_false_positives(scores: FloatArray, null_scores: FloatArray) -> FloatArray:
    """Return the expected false positives of each feature and all better ones, from scores of permuted labels.

    The number of scores of permuted labels that are at least as large, per permutation, estimates how many features
    reach a score by chance. One is added to the number, so that no estimate is 0.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
    null_scores : ndarray of shape (n_permutations, n_features)

    Examples
    --------
    >>> null = np.array([[0.1, 0.0, 0.2, 0.0], [0.0, 0.3, 0.0, 0.0]])
    >>> permutation_false_positives(np.array([0.9, 0.2, 0.0, 0.0]), null)
    array([0.5, 1.5, 4. , 4. ])
    """
    pooled = np.sort(null_scores, axis=None)
    # Scores are sums of the same terms, in whatever order: differences below this are rounding errors.
    above = len(pooled) - np.searchsorted(pooled, scores - 1e-12, side="left")
    false = np.minimum((above + 1) / len(null_scores), scores.size)
    return np.where(scores > 0, false, float(scores.size))


def _end_of_changes(paths: FloatArray) -> int:
    """Return the number of thresholds up to the one after which the paths do not change any more."""
    for i in range(2, len(paths)):
        if paths[i].mean() > _STILL and np.allclose(paths[i], paths[i - 2], rtol=0, atol=1e-8):
            return i
    return len(paths)


def measure_weights(thresholds: FloatArray, delta: float) -> FloatArray:
    """Return the measure of the interval between each threshold and the next one, as `ipss` computes it.

    The measure is proportional to τ^(−delta) dτ and its sum is nearly 1; a grid of equal factors makes each interval
    proportional to τ^(1 − delta).
    """
    n, low, high = len(thresholds), float(thresholds.min()), float(thresholds.max())
    if n < 2 or low == high:
        return np.ones(max(n - 1, 0)) / max(n - 1, 1)
    step = 1 - (low / high) ** (1 / n)
    if delta == 1:
        return np.full(n - 1, step / np.log(high / low))
    total = (high ** (1 - delta) - low ** (1 - delta)) / (1 - delta)
    return np.asarray(step * thresholds[1:] ** (1 - delta) / total)


def bound_terms(mean_selected: FloatArray, p: int, n_pairs: int, order: int = 3) -> FloatArray:
    """Return the bound on the expected false positives at each threshold, of which I is the integral.

    Parameters
    ----------
    mean_selected : ndarray of shape (n_thresholds,)
        q(τ).
    p, n_pairs : int
        Numbers of features and of pairs of half samples.
    order : {1, 2, 3}
        The power in h. The terms are those of Melikechi and Miller (2025), theorem 4.1 and its corollaries.
    """
    q, B = np.asarray(mean_selected, dtype=np.float64), n_pairs
    if order == 1:
        return q**2 / p
    if order == 2:
        return q**2 / (p * B) + (B - 1) * q**4 / (B * p**3)
    return q**2 / (p * B**2) + 3 * (B - 1) * q**4 / (p**3 * B**2) + (B - 1) * (B - 2) * q**6 / (float(p) ** 5 * B**2)


def q_values(expected_false_positives: FloatArray) -> FloatArray:
    """Return the q-values: the smallest estimated false discovery rate of a list that has the feature.

    A list that has all features with at most ``t`` expected false positives has the rate t / (its length).

    Examples
    --------
    >>> q_values(np.array([0.1, 4.0, 0.1, 0.6]))
    array([0.05, 1.  , 0.05, 0.2 ])
    """
    order = np.argsort(expected_false_positives, kind="stable")
    ranked = expected_false_positives[order]
    # Features with equal values are in the same lists, so the last of them gives the length.
    length = np.searchsorted(ranked, ranked, side="right")
    out = np.empty_like(ranked)
    out[order] = np.minimum.accumulate((ranked / length)[::-1])[::-1]
    return out


def list_sizes(
    p: int, n_pairs: int, *, n_thresholds: int = 100, delta: float = 1.0, cutoff: float = 0.05, order: int = 3
) -> FloatArray:
    """Return the sizes of lists that are used as thresholds: from 1 on, each the same factor larger.

    The last size is the largest one for which the integral of the bound is at most ``cutoff``. It is known before any
    fit, since the lists have as many features as their size says. Sizes are no whole numbers; a list has as many
    features as fit in.

    Parameters
    ----------
    p, n_pairs : int
        Numbers of features and of pairs of half samples.
    n_thresholds : int
    delta, cutoff, order
        As in `integrate_paths`.

    Examples
    --------
    >>> sizes = list_sizes(1000, 50)
    >>> float(sizes[0]), float(sizes[-1].round())
    (1.0, 321.0)
    """

    def integral(last: float) -> float:
        sizes = np.geomspace(1.0, last, n_thresholds)
        terms = bound_terms(_whole(sizes), p, n_pairs, order)
        return float(measure_weights(1 / sizes, delta) @ terms[:-1])

    low, high = 1.0, float(p)
    if integral(high) <= cutoff:
        return np.geomspace(1.0, high, n_thresholds)
    # The integral grows with the last size, so the size is found by bisection.
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if integral(middle) <= cutoff else (low, middle)
    # A size just below a whole number would depend on rounding errors, so the last one is a little smaller.
    return np.geomspace(1.0, max(1.0, low * (1 - 1e-6)), n_thresholds)


def _whole(sizes: FloatArray) -> FloatArray:
    """Return the number of features in lists of these sizes. Rounding errors do not make a list shorter."""
    return np.floor(sizes * (1 + 1e-12) + 1e-12)


def rank_paths(weights: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the stability paths of lists of the best features, and the mean number of features in them.

    A feature is in a list of size k if at most k features have a weight as large as its own. So equal weights, such as
    the zeros of a forest, are selected together or not at all, and the order of the columns decides nothing. Features
    without a weight (NaN) are never selected.

    Parameters
    ----------
    weights : ndarray of shape (n_runs, n_features)
        The weights learned from each half sample.
    sizes : ndarray of shape (n_thresholds,)
    """
    rank = np.empty(weights.shape)
    for run, row in enumerate(weights):
        known = np.where(np.isnan(row), -np.inf, row)
        rank[run] = len(row) - np.searchsorted(np.sort(known), known, side="left")
    rank[~np.isfinite(weights) & ~(weights > 0)] = np.inf
    return _paths(lambda k: rank <= k, _whole(sizes), weights.shape)


def score_thresholds(weights: FloatArray, n_thresholds: int = 100) -> FloatArray:
    """Return thresholds of the weights: from the largest one to its 10⁻⁸-fold, each the same factor smaller."""
    largest = float(np.nanmax(np.where(np.isfinite(weights), weights, np.nan), initial=0.0))
    return np.geomspace(1.0, 1e-8, n_thresholds) * (largest if largest > 0 else 1.0)


def score_paths(weights: FloatArray, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the stability paths of the features whose weights are above thresholds, and their mean number."""
    known = np.where(np.isnan(weights), -np.inf, weights)
    return _paths(lambda limit: known > limit, thresholds, weights.shape)


def _paths(
    selected: Callable[[float], BoolArray], limits: FloatArray, shape: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Return the shares of runs that select each feature, and the mean number of features, for each limit.

    ``selected`` returns the selections of all runs at a limit, a bool matrix of this ``shape``.
    """
    paths, mean_selected = np.empty((len(limits), shape[1])), np.empty(len(limits))
    for place, limit in enumerate(limits):  # one limit at a time: all of them would not fit in memory
        chosen = selected(float(limit))
        paths[place] = chosen.mean(axis=0)
        mean_selected[place] = chosen.sum() / shape[0]
    return paths, mean_selected
