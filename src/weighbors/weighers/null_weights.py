"""p-values of feature weights from weights learned from permuted targets."""

from __future__ import annotations

import numpy as np

from .. import _native
from .._typing import BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError

_ROUNDING = 1e-10  # relative differences below this are rounding errors
_COLUMNS = 128  # features that are standardised at once: what is computed for them stays in the cache


def null_p_values(scores: FloatArray, permuted: FloatArray, null: str) -> tuple[FloatArray, FloatArray]:
    """Return the p-values of the features, and family-wise p-values against the largest weight of each permutation.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
        Weights learned from the original target.
    permuted : ndarray of shape (n_permutations, n_features)
        Weights learned from permuted targets.
    null : {"pooled", "feature"}
        Whether a weight is compared with the standardised permuted weights of all features, or with those of the
        same feature only.
    """
    if np.isinf(scores).any() or np.isinf(permuted).any():
        raise InvalidDataError(
            "the weigher gives infinite weights, which have no mean to be compared with. Return finite ones, for "
            "example by numpy.nan_to_num"
        )
    alone, familywise = np.ones(len(scores)), np.ones(len(scores))
    tested = _changing_features(scores, permuted)
    if not tested.any():
        return alone, familywise
    if not tested.all():
        scores, permuted = scores[tested], permuted[:, tested]
    observed = _lower_by_rounding(standardize(scores, permuted.mean(axis=0), permuted.std(axis=0)))
    z = _standardize_leave_one_out(permuted)
    # The observed weight counts as one of the permutations (the 1 in both sums), so that p is never 0.
    familywise[tested] = (1 + (z.max(axis=1)[:, None] >= observed).sum(axis=0)) / (1 + len(z))
    if null == "feature" or len(scores) == 1:  # the pool of one feature is its own null, which is exact unstandardised
        alone[tested] = (1 + (permuted >= _lower_by_rounding(scores)).sum(axis=0)) / (1 + len(z))
    else:
        alone[tested] = (1 + count_reaching(observed, z.ravel())) / (1 + z.size)
    return alone, familywise


def count_reaching(limits: FloatArray, values: FloatArray) -> IndexArray:
    """Return, for each limit, how many values are at least as large.

    Only the limits are sorted, because there are many more values.

    Examples
    --------
    >>> count_reaching(np.array([2.0, 0.0]), np.array([0.0, 1.0, 2.0, 3.0, -1.0]))
    array([2, 4])
    """
    order = np.argsort(limits)
    between = np.zeros(len(limits) + 1, dtype=np.int64)
    _native.count_between(limits=limits[order], values=values, counts=between)
    reaching = np.empty(len(limits), dtype=np.int64)
    reaching[order] = len(values) - np.cumsum(between[:-1])
    return reaching


def _changing_features(scores: FloatArray, permuted: FloatArray) -> BoolArray:
    """Return a mask of the features whose weights are not always the same, up to rounding.

    A weight that never changes tells nothing, whatever labels there are. Such features are not tested, and they do not
    enter the pool or the largest weights. Features with a NaN, such as the F value of a constant column, are not in the
    mask.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
    permuted : ndarray of shape (n_permutations, n_features)
    """
    lowest, highest = np.minimum(permuted.min(axis=0), scores), np.maximum(permuted.max(axis=0), scores)
    # A column with NaN compares as False, so that it is not tested.
    changing: BoolArray = highest - lowest > _ROUNDING * np.maximum(np.abs(lowest), np.abs(highest))
    return changing


def _lower_by_rounding(values: FloatArray) -> FloatArray:
    """Return the values minus a rounding error, so that values that differ only by rounding count as equal."""
    return np.asarray(values - _ROUNDING * np.abs(np.where(np.isfinite(values), values, 0.0)))


def standardize(values: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return (value − mean) / deviation. If the deviation is 0, return 0 for a value at the mean, else ±infinity.

    Examples
    --------
    >>> standardize(np.array([3.0, 3.0, 1.0]), np.array([1.0, 1.0, 1.0]), np.array([2.0, 0.0, 0.0]))
    array([ 1., inf,  0.])
    """
    distance = np.where(np.abs(values - mean) > _ROUNDING * np.abs(mean), values - mean, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(distance == 0, 0.0, distance / np.where(deviation > _ROUNDING * np.abs(mean), deviation, 0.0))


def _standardize_leave_one_out(permuted: FloatArray) -> FloatArray:
    """Standardise each permuted weight by the other permuted weights of its feature.

    The observed weight is not used here. The weight of a relevant feature is so large that it would make the
    standardised permuted weights, and so the p-values of all features, too small. A permuted weight is standardised by
    one weight less than the observed weight. So the tails of the pool are heavier, and p-values are rather too large.
    """
    n, out = len(permuted), np.zeros_like(permuted)
    if n == 1:
        return out
    for begin in range(0, permuted.shape[1], _COLUMNS):
        part = permuted[:, begin : begin + _COLUMNS]
        centred = part - part.mean(axis=0)  # to keep precision in the squares below
        square = np.square(centred).sum(axis=0)
        mean = -centred / (n - 1)  # mean of the other weights, because all centred weights sum to 0
        variance = (square - np.square(centred)) / (n - 1) - np.square(mean)
        # a variance that is only a rounding error of the squares counts as 0
        variance = np.where(variance > _ROUNDING * square / n, variance, 0.0)
        out[:, begin : begin + _COLUMNS] = standardize(centred, mean, np.sqrt(variance))
    return out
