"""Integrated path stability selection (Melikechi and Miller): from selections of half samples to q-values.

The notation follows the papers. ``B`` is the number of pairs of half samples, ``p`` the number of features, π_j(τ) the
share of the 2B half samples that select feature j at threshold τ, and q(τ) the mean number of selected features.
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray

#: The integral of the bound on the expected false positives, up to which lists are made longer.
_CUTOFF = 0.05
_SIZES = 100  # numbers k of best features


def path_scores(paths: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the score of each feature: the integral of h(π_j(k)) = (2π − 1)³ over the sizes k of the lists.

    Shares π below ½ count 0. The parameters are those of `rank_paths`.
    """
    height = np.maximum(2 * paths[:-1] - 1, 0.0) ** 3
    return np.asarray(measure_weights(1 / sizes) @ height)


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


def measure_weights(thresholds: FloatArray) -> FloatArray:
    """Return the measure of the interval between each threshold and the next one, as `ipss` computes it.

    The measure is proportional to dτ / τ and its sum is nearly 1; a grid of equal factors makes all intervals equal.
    """
    n, low, high = len(thresholds), float(thresholds.min()), float(thresholds.max())
    if n < 2 or low == high:
        return np.ones(max(n - 1, 0)) / max(n - 1, 1)
    step = 1 - (low / high) ** (1 / n)
    return np.full(n - 1, step / np.log(high / low))


def bound_terms(mean_selected: FloatArray, p: int, n_pairs: int) -> FloatArray:
    """Return the bound on the expected false positives at each threshold (Melikechi and Miller 2025, theorem 4.1).

    Parameters
    ----------
    mean_selected : ndarray of shape (n_sizes,)
        q(τ).
    p, n_pairs : int
        Numbers of features and of pairs of half samples.
    """
    q, B = np.asarray(mean_selected, dtype=np.float64), n_pairs
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


def list_sizes(p: int, n_pairs: int) -> FloatArray:
    """Return the sizes of lists that are used as thresholds: from 1 on, each the same factor larger.

    The last size is the largest one for which the integral of the bound is at most 0.05. It is known before any
    fit, since the lists have as many features as their size says. Sizes are no whole numbers; a list has as many
    features as fit in.

    Parameters
    ----------
    p, n_pairs : int
        Numbers of features and of pairs of half samples.

    Examples
    --------
    >>> sizes = list_sizes(1000, 50)
    >>> float(sizes[0]), float(sizes[-1].round())
    (1.0, 321.0)
    """

    def integral(last: float) -> float:
        sizes = np.geomspace(1.0, last, _SIZES)
        terms = bound_terms(_whole(sizes), p, n_pairs)
        return float(measure_weights(1 / sizes) @ terms[:-1])

    low, high = 1.0, float(p)
    if integral(high) <= _CUTOFF:
        return np.geomspace(1.0, high, _SIZES)
    # The integral grows with the last size, so the size is found by bisection.
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if integral(middle) <= _CUTOFF else (low, middle)
    # A size just below a whole number would depend on rounding errors, so the last one is a little smaller.
    return np.geomspace(1.0, max(1.0, low * (1 - 1e-6)), _SIZES)


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
    sizes : ndarray of shape (n_sizes,)
    """
    rank = np.empty(weights.shape)
    for run, row in enumerate(weights):
        known = np.where(np.isnan(row), -np.inf, row)
        rank[run] = len(row) - np.searchsorted(np.sort(known), known, side="left")
    rank[~np.isfinite(weights) & ~(weights > 0)] = np.inf
    paths, mean_selected = np.empty((len(sizes), weights.shape[1])), np.empty(len(sizes))
    for place, size in enumerate(_whole(sizes)):  # one size at a time: all of them would not fit in memory
        chosen = rank <= size
        paths[place] = chosen.mean(axis=0)
        mean_selected[place] = chosen.sum() / len(weights)
    return paths, mean_selected
