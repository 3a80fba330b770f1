"""TuRF: score, drop the worst features, score again."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import has_fit_parameter

from .._typing import FloatArray
from ._base import FeatureWeigher
from .relief import ReliefF

__all__ = ["TuRF"]


class TuRF(FeatureWeigher):
    """Tuned RELIEF: iterative elimination around any weigher of features.

    Noise features blur the distances in which neighbours are sought. TuRF drops a share of the
    worst features, scores the rest again in their own space, and so on.

    Parameters
    ----------
    weigher : estimator or None, default=None
        Anything whose fit leaves ``feature_weights_``. None: ``ReliefF()``.
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps; elimination stops there.
        None: all are ranked, elimination stops at one share of the features.
    share : float, default=0.1
        Part of the original features dropped in each round, at least one.
    threshold, categorical_features, n_jobs
        As in `Relief`; ``n_jobs`` is the weigher's own.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        Scores of the last round for the features that reached it. Those dropped earlier come
        below all of these, later rounds above earlier ones, by their last score within a round.
    round_ : int ndarray of shape (n_features,)
        The round in which a feature was last scored, from 1.
    weights_ : Weights
        Features dropped count 0.
    support_, classes_
        As in `Relief`.

    References
    ----------
    .. [1] J. H. Moore, B. C. White, "Tuning ReliefF for genome-wide genetic analysis", EvoBIO 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from weighbors import ReliefF, TuRF
    >>> X, y = make_classification(n_features=30, n_informative=3, n_redundant=0, shuffle=False, random_state=0)
    >>> TuRF(ReliefF(5), n_features_to_select=3).fit(X, y).get_support(indices=True)
    array([0, 1, 2])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **FeatureWeigher._parameter_constraints,
        "weigher": [None, HasMethods(["fit", "get_params"])],
        "share": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        weigher: Any = None,
        n_features_to_select: float | None = None,
        *,
        share: float = 0.1,
        threshold: float | None = None,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        self.weigher = weigher
        self.n_features_to_select = n_features_to_select
        self.share = share
        self.threshold = threshold
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TuRF:
        """Score and eliminate.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Passed to the weigher, which must take it.

        Returns
        -------
        self
        """
        X, _ = self._open(X, y)
        nominal = self._coder.nominal_of(X)
        M = X.shape[1]
        drop = max(1, int(self.share * M))
        goal = self._goal(M, drop)
        params = {} if sample_weight is None else {"sample_weight": sample_weight}
        alive, scores = np.arange(M), np.zeros(M)
        self.round_ = np.zeros(M, dtype=np.int64)
        while True:
            weigher = clone(ReliefF(n_jobs=self.n_jobs) if self.weigher is None else self.weigher)
            if "categorical_features" in weigher.get_params(deep=False):
                weigher.set_params(categorical_features=nominal[alive])
            if params and not has_fit_parameter(weigher, "sample_weight"):
                raise TypeError(f"{type(weigher).__name__} takes no sample_weight in fit")
            weigher.fit(_safe_indexing(X, alive, axis=1), y, **params)
            scores[alive] = weigher.feature_weights_
            self.round_[alive] += 1
            if len(alive) <= goal:
                break
            kept = max(goal, len(alive) - drop)
            alive = np.sort(alive[np.argsort(-scores[alive], kind="stable")[:kept]])
        final = _ranked(scores, self.round_)
        survivors = np.where(self.round_ == self.round_.max(), np.maximum(scores, 0.0), 0.0)
        parts: dict[str, Any] = {"feature_weights": survivors} if (survivors > 0).any() else {}
        self._close(X, final, **parts)
        return self

    def _goal(self, M: int, drop: int) -> int:
        wanted = self.n_features_to_select
        if wanted is None:
            return min(M, drop)
        return max(1, round(wanted * M)) if wanted < 1 else min(int(wanted), M)


def _ranked(scores: FloatArray, rounds: Any) -> FloatArray:
    """Scores moved so that every feature of a later round is above all of earlier rounds."""
    final = scores.copy()
    floor = np.inf
    for number in range(int(rounds.max()), 0, -1):
        mine = rounds == number
        if floor < np.inf:
            final[mine] -= max(0.0, final[mine].max() - floor) + np.finfo(float).eps * max(1.0, abs(floor)) * 4
        floor = min(floor, float(final[mine].min()))
    return final
