"""Instance-based learners IB1 and IBk: the weighted k-NN, which scales the features by their ranges itself."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import FloatArray, IndexArray
from ..engine import distance_votes
from .base_knn import BATCH_CELLS
from .explain import Voters
from .knn import WeightedKNeighborsClassifier
from .ranges import UnitRanges

_OFFSET = 0.001  # Weka's IBk adds this number to d before it computes 1/d
#: Relative difference up to which a distance is tied with the k-th distance, so that rounding does not break ties.
_TIED = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}


def count_until_weight(distance: FloatArray, repetition: FloatArray | None, k: int) -> tuple[IndexArray, IndexArray]:
    """Return how many neighbours reach the weight k, and how many there are if all ties with the last are included.

    Parameters
    ----------
    distance : ndarray of shape (n_queries, width)
        Distances of the neighbours of each query, in ascending order.
    repetition : ndarray of the same shape, or None
        Repetition weight of each neighbour. None: every neighbour counts once.
    k : int

    Returns
    -------
    needed, tied : ndarrays of shape (n_queries,)
        ``needed`` is width + 1 if the weights of all neighbours add up to less than k.
    """
    n, width = distance.shape
    if repetition is None:
        needed = np.full(n, min(k, width + 1), dtype=np.int64)
    else:
        # Sums of fractions may miss k by their last bits.
        needed = 1 + (np.cumsum(repetition, axis=1) < k * (1 - 1e-12)).sum(axis=1)
    last = distance[np.arange(n), np.minimum(needed, width) - 1]
    limit = last * (1 + _TIED[distance.dtype])
    return needed, (distance <= limit[:, None]).sum(axis=1)


class IBk(WeightedKNeighborsClassifier):
    """k nearest neighbours on min-max scaled features, as Weka's IBk.

    It is a `WeightedKNeighborsClassifier` with fixed weights: differences in a numeric feature are divided by its
    column range in the training rows. Two categories differ by 0 or 1.

    Parameters
    ----------
    n_neighbors : int, default=1
    weights : {"uniform", "inverse", "similarity"}, default="uniform"
        Vote of a neighbour at distance d, with δ = d/√M for M features. "uniform": 1. "inverse": 1/(δ + 0.001).
        "similarity": 1 − δ, but at least 0.
    ties : {"all", "index"}, default="all"
        Which rows vote if several rows are as far as the k-th neighbour. "all": all of them. "index": those with the
        lowest row numbers, so that exactly k rows vote. With "all", distances are tied if their relative difference
        is at most 1e-10 (float32: 1e-5).
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns whose values differ by 0 or 1.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    weights_ : Weights
        1 divided by the squared range of each numeric feature, and 0 for a numeric feature with only one value.
    feature_importances_ : ndarray of shape (n_features,)
        1 for each feature, but 0 for a numeric feature with only one value. After scaling, all features count equally.
    plan_ : Plan
        Which search ``predict`` uses, and why.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if ``X`` had column names.
    n_samples_fit_ : int

    See Also
    --------
    IB1 : One neighbour: if several rows are equally near, the first one.

    Notes
    -----
    There are four differences from Weka's program. Ranges are computed from the training rows alone. (Weka widens the
    ranges with each query, so that its predictions depend on the order of the queries.) Ties are found with a
    tolerance. (Weka compares rounded sums.) The missing distance of a number is the full column range. (Weka takes the
    larger of the distances to the two ends of the range.) Probabilities are shares of the votes. (Weka adds 1/n to
    each class.) ``sample_weight`` counts as repetition.

    References
    ----------
    .. [1] D. W. Aha, D. Kibler, M. K. Albert, "Instance-based learning algorithms", Machine
       Learning 6 (1991) 37-66.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from weighbors import IBk
    >>> X, y = load_wine(return_X_y=True)
    >>> model = IBk(5, weights="inverse").fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 3)
    0.944
    """

    _needs_scaled_columns = False  # it scales them by their ranges

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"uniform", "inverse", "similarity"})],
        "ties": [StrOptions({"all", "index"})],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        weights: str = "uniform",
        ties: str = "all",
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            UnitRanges(),
            weights=weights,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
        )
        self.ties = ties

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, refresh: bool | None = True
    ) -> IBk:
        """Store further training rows. The column ranges are computed again, unless ``refresh=False``."""
        super().partial_fit(X, y, classes, sample_weight, refresh=refresh)
        return self

    def _neighbors_and_votes(self, X: Any, own: IndexArray | None) -> Iterator[Voters]:
        """Yield batches of queries that have the same number of voting neighbours.

        If the last neighbour found is still tied with the k-th, or if the repetition weights add up to less than k,
        the number of neighbours is doubled. ``own`` is the row that each query must not find, or None.
        """
        if self.ties == "index":
            yield from super()._neighbors_and_votes(X, own)
            return
        k = int(self.n_neighbors)
        repetition = self._repetitions(own)
        most = self._fitted.engine.n_references - (own is not None)
        size = max(64, BATCH_CELLS // k)
        for begin in range(0, X.shape[0], size):
            # A few more than k, because the ties with the k-th neighbour must be in the list, too.
            pending, width = np.arange(begin, min(begin + size, X.shape[0])), min(k + 4, most)
            while len(pending):
                not_this = None if own is None else own[pending]
                distance, row = self._fitted.engine.search(X[pending], width, own_row=not_this, n_jobs=self.n_jobs)
                needed, tied = count_until_weight(distance, None if repetition is None else repetition[row], k)
                # A list is complete if it goes beyond the ties, or contains all rows.
                done = ((needed <= width) & (tied < width)) | (width == most)
                # Voters of a batch have arrays of one width, so queries are grouped by their number of neighbours.
                for count in np.unique(tied[done]):
                    at = np.flatnonzero(done & (tied == count))
                    yield self._voters(pending[at], distance[at, :count], row[at, :count], repetition)
                pending, width = pending[~done], min(2 * width, most)

    @property
    def feature_importances_(self) -> FloatArray:
        """1 for each feature, but 0 for a numeric feature with only one value."""
        return (super().feature_importances_ > 0).astype(np.float64)

    def _shares(self, repetition: FloatArray) -> FloatArray:
        """Return how many votes each neighbour has; ``repetition`` are the repetition weights of the neighbours.

        With ``ties="all"``, each neighbour has its full repetition weight, even if the sum is above k.
        """
        return super()._shares(repetition) if self.ties == "index" else repetition

    def _distance_votes(self, distance: FloatArray, shares: FloatArray | None) -> FloatArray | None:
        """Return the factor of each vote that depends on the distance, as in Weka. None: all factors are equal."""
        span = float(np.sqrt(self.n_features_in_))
        if self.weights == "inverse":
            inverse: FloatArray = 1.0 / (distance.astype(np.float64) / span + _OFFSET)
            return inverse
        return distance_votes(distance, "complement" if self.weights == "similarity" else None, span=span)


class IB1(IBk):
    """The nearest neighbour on min-max scaled features, as Weka's IB1.

    If several rows have the smallest distance, the label of the first row is the prediction. With ``IBk(1)``, all of
    these rows vote.

    Parameters
    ----------
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns whose values differ by 0 or 1.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    weights_ : Weights
    feature_importances_ : ndarray of shape (n_features,)
        1 for each feature, but 0 for a numeric feature with only one value.
    plan_ : Plan
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if ``X`` had column names.
    n_samples_fit_ : int

    See Also
    --------
    IBk : k neighbours. Its notes list the differences from Weka.

    References
    ----------
    .. [1] D. W. Aha, D. Kibler, M. K. Albert, "Instance-based learning algorithms", Machine
       Learning 6 (1991) 37-66.

    Examples
    --------
    >>> from weighbors import IB1, IBk
    >>> X, y = [[0.0], [2.0], [2.0], [9.0]], ["a", "b", "a", "c"]
    >>> IB1().fit(X, y).predict([[2.0]]).tolist()
    ['b']
    >>> IBk(1).fit(X, y).predict([[2.0]]).tolist()
    ['a']
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        name: IBk._parameter_constraints[name] for name in ("categorical_features", "n_jobs")
    }

    def __init__(
        self,
        *,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            1,
            ties="index",
            categorical_features=categorical_features,
            n_jobs=n_jobs,
        )
