"""I-RELIEF (Sun 2007): who the nearest neighbours are is a hidden variable, estimated in turn with the weights."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import BoolArray, FloatArray
from .._warnings import warn
from ..tables.coded import CodedTable
from .base import FeatureWeigher
from .rows import Instances, weigh_pairs
from .surf import mean_distance


def expected_margins(instances: Instances, target: CodedTable, w: FloatArray, sigma: float) -> FloatArray:
    """Return the margin of each feature under the weights ``w``: the vector ν of Sun (2007), one round of I-RELIEF.

    For every instance, the expected difference to its nearest hit is subtracted from that to its nearest
    miss, and the result is multiplied by γ; ν is the mean over instances. The probability that a row is the
    nearest hit (miss) is proportional to exp(−d / σ) with d = Σ w_j |x_j − z_j|, normalised over hits
    (misses). γ is the probability that the instance is no outlier: the share of the hits in all these terms.
    """
    weighted = weigh_pairs(instances.pairs, w[instances.columns].astype(np.float64))
    n, codes = instances.n, target.codes

    def coefficients(begin: int, end: int) -> FloatArray:
        """Return the coefficients of rows [begin, end) with all rows."""
        rows = np.arange(begin, end)
        d = weighted.distances(begin, end)[:, :n].astype(np.float64)
        d[np.arange(end - begin), rows] = np.inf  # an instance is not its own neighbour
        # Subtracting the smallest distance multiplies all terms of a row by one factor, which cancels below;
        # without it, all of them could underflow to 0.
        d -= d.min(axis=1, keepdims=True)
        f = np.exp(-d / sigma)
        hit = codes[rows][:, None] == codes[None, :]
        hits, misses = np.where(hit, f, 0.0), np.where(hit, 0.0, f)
        total_hits, total_misses = hits.sum(axis=1, keepdims=True), misses.sum(axis=1, keepdims=True)
        # The probability that the instance is no outlier (Sun 2007): the share of the hits in all terms.
        gamma = 1.0 - total_misses / (total_hits + total_misses)
        # A row without misses (or hits, in a class of one instance) has no such term instead of 0 / 0.
        share = np.divide(misses, total_misses, out=np.zeros_like(f), where=total_misses > 0)
        share -= np.divide(hits, total_hits, out=np.zeros_like(f), where=total_hits > 0)
        # The kernel sums coefficient × difference over all pairs; rows are padded to full vectors with zeros.
        out = np.zeros((end - begin, instances.pairs.width))
        out[:, :n] = gamma * share / n
        return out

    return instances.sum_pairs(coefficients, target)


def rank_columns(rows: Any, nominal: BoolArray) -> FloatArray:
    """Return the rows with the ranks of the numbers in each column, from 0 to 1, in place of the numbers.

    Equal numbers share the mean of their ranks. Missing values stay missing, and categories are not changed.

    Examples
    --------
    >>> rank_columns(np.array([[5.0], [900.0], [np.nan], [7.0]]), np.array([False]))
    array([[0. ],
           [1. ],
           [nan],
           [0.5]])
    """
    dense = rows.toarray() if sparse.issparse(rows) else rows
    missing = np.isnan(dense)
    # As the largest numbers, missing values do not change the ranks of the others. SciPy's own way is very slow.
    ranks = rankdata(np.where(missing, np.inf, dense), axis=0) - 1
    known = np.maximum(len(dense) - missing.sum(axis=0) - 1, 1)
    return np.where(nominal | missing, dense, ranks / known).astype(dense.dtype)


@dataclass(eq=False, repr=False)
class IRelief(FeatureWeigher):
    """I-RELIEF: all hits and misses count, each by its probability of being the nearest one.

    Weights start equal and are (ν)⁺ / ‖(ν)⁺‖ after each round.

    Parameters
    ----------
    sigma : float or "scale", default="scale"
        Width of the kernel exp(−d / σ). "scale": the mean distance of all pairs under equal
        weights. Rounds settle only if σ is not too small.
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    scale : {"range", "rank", "both"}, default="range"
        How differences of numbers are measured. "range": divided by the range of the column, as in the paper. "rank":
        as differences of ranks, which a single extreme value does not change. "both": the mean of the weights of both,
        normalised again. How stable lists of the best features are with each: :doc:`/guide/lists`.
    max_iter : int, default=50
    tol : float, default=1e-4
        Stop when the weights move less than this (Euclidean norm).

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        The weights are not negative, and their Euclidean length is 1.
    n_iter_ : int
        With ``scale="both"``, the larger number of rounds of the two.
    sigma_ : float
        With ``scale="both"``, the width for the ranks.
    weights_, support_, classes_
        As in `Relief`.

    Notes
    -----
    ``scale`` is no part of the paper.

    References
    ----------
    .. [1] Y. Sun, "Iterative RELIEF for feature weighting: algorithms, theories, and applications",
       IEEE TPAMI 29, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import IRelief
    >>> X, y = load_iris(return_X_y=True)
    >>> IRelief().fit(X, y).feature_weights_.argsort()[::-1][:2]
    array([3, 2])
    """

    sigma: float | str = "scale"
    _: KW_ONLY
    scale: str = "range"
    max_iter: int = 50
    tol: float = 1e-4

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FeatureWeigher._parameter_constraints,
        "scale": [StrOptions({"range", "rank", "both"})],
        "sigma": [Interval(Real, 0, None, closed="neither"), StrOptions({"scale"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Learn the weights, from the values, from their ranks, or from both."""
        found, rounds = np.zeros(table.rows.shape[1]), []
        for kind in ("range", "rank"):
            if self.scale in (kind, "both"):
                rows = table.rows if kind == "range" else rank_columns(table.rows, table.nominal)
                weights, n_iter = self._settle(replace(table, rows=rows))
                found += weights
                rounds.append(n_iter)
        self.n_iter_ = max(rounds)
        if self.scale != "both":
            return found
        length = float(np.linalg.norm(found))
        return found / length if length > 0 else found

    def _settle(self, table: CodedTable) -> tuple[FloatArray, int]:
        """Compute probabilities from weights, and weights from probabilities, until they settle.

        Return the weights and the number of rounds.
        """
        instances = Instances(table.rows, table.nominal, scaled=True, p=1, n_jobs=self.n_jobs)
        M = instances.n_features
        w = np.full(M, 1 / np.sqrt(M))
        if self.sigma == "scale":
            self.sigma_ = mean_distance(instances) * w[0] or 1.0  # rows may all be equal
        else:
            self.sigma_ = float(self.sigma)
        rounds = 0
        for _ in range(self.max_iter):
            rounds += 1
            # Sun (2007): w = (ν)⁺ / ‖(ν)⁺‖ maximises wᵀν under ‖w‖ = 1, w ≥ 0.
            positive = np.maximum(expected_margins(instances, table, w, self.sigma_), 0.0)
            length = np.linalg.norm(positive)
            new = positive / length if length > 0 else positive
            moved, w = float(np.linalg.norm(new - w)), new
            if moved < self.tol or length == 0:
                break
        else:
            warn(
                f"I-RELIEF did not settle in max_iter={self.max_iter} rounds (the last moved {moved:.2g}); "
                "raise max_iter",
                ConvergenceWarning,
            )
        return w, rounds
