"""Instance-based learners IB1 and IBk: the weighted k-NN with min-max scaling inside."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import FloatArray, IndexArray
from ..engine import distance_votes, mass_votes
from ..engine.plan import BACKENDS
from ._checks import check_enough
from ._explain import Voters
from ._ranges import UnitRanges
from .knn import BATCH_CELLS, WeightedKNeighborsClassifier

__all__ = ["IB1", "IBk", "reach"]

_OFFSET = 0.001  # Weka's IBk adds it to d before 1/d
#: Distances this close to the k-th, relatively, are tied with it: rounding must not break ties.
_TIED = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}


def reach(distance: FloatArray, mass: FloatArray | None, k: int) -> tuple[IndexArray, IndexArray]:
    """How many neighbours are needed for k, and how many there are with those tied at the k-th.

    Parameters
    ----------
    distance : ndarray of shape (n_queries, width)
        Ascending.
    mass : ndarray of the same shape, or None
        Repetitions each neighbour stands for.

    Returns
    -------
    needed, tied : ndarrays of shape (n_queries,)
        ``needed`` is width + 1 where the mass of all of them falls short.
    """
    n, width = distance.shape
    if mass is None:
        needed = np.full(n, min(k, width + 1), dtype=np.int64)
    else:
        needed = 1 + (np.cumsum(mass, axis=1) < k * (1 - 1e-12)).sum(axis=1)
    last = distance[np.arange(n), np.minimum(needed, width) - 1]
    limit = last * (1 + _TIED[distance.dtype])
    return needed, (distance <= limit[:, None]).sum(axis=1)


class IBk(WeightedKNeighborsClassifier):
    """k nearest neighbours on min-max scaled features, as Weka's IBk.

    A setting of `WeightedKNeighborsClassifier`: every numeric feature counts in units of its range
    in the training rows, categories differ by 0 or 1.

    Parameters
    ----------
    n_neighbors : int, default=1
    weights : {"uniform", "inverse", "similarity"}, default="uniform"
        Votes of a neighbour at distance d, with δ = d/√M for M features: 1, 1/(δ + 0.001), or
        1 − δ and at least 0.
    ties : {"all", "index"}, default="all"
        What happens where several rows are as far as the k-th neighbour: all of them vote, or those
        with the lowest row numbers, so that exactly k vote. Distances within 1e-10 of each other,
        relatively, are tied (float32: 1e-5).
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns whose values differ by 0 or 1.
    handle_unknown : {"different", "error"}, default="different"
    backend : {"auto", "scan", "tree", "faiss", "hnsw"}, default="auto"
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    weights_ : Weights
        One over the squared range of each numeric feature; 0 for a feature with one value.
    plan_ : Plan
        What runs in ``predict``, and why.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where ``X`` had column names.
    n_samples_fit_ : int

    See Also
    --------
    IB1 : One neighbour, the first of those tied.

    Notes
    -----
    Where it departs from Weka's program: ranges come from the training rows alone (Weka widens them
    by every query it has seen, so that its answers depend on the order of queries); ties are
    found with a tolerance (Weka compares rounded sums); a missing number is at the full range of
    the feature from everything (Weka: at the larger of the distances to its two ends);
    probabilities are shares of the votes (Weka adds 1/n to each class). ``sample_weight`` counts as
    repetition.

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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"uniform", "inverse", "similarity"})],
        "ties": [StrOptions({"all", "index"})],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "handle_unknown": [StrOptions({"different", "error"})],
        "backend": [StrOptions(set(BACKENDS))],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        weights: str = "uniform",
        ties: str = "all",
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        backend: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            UnitRanges(),
            weights=weights,
            categorical_features=categorical_features,
            handle_unknown=handle_unknown,
            backend=backend,
            n_jobs=n_jobs,
        )
        self.ties = ties

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, refresh: bool | None = True
    ) -> IBk:
        """Store further training rows; ranges are measured anew, unless ``refresh=False``."""
        super().partial_fit(X, y, classes, sample_weight, refresh=refresh)
        return self

    def _neighbors_and_votes(self, X: Any, own: IndexArray | None) -> Iterator[Voters]:
        """Batches of queries that have equally many voters; more neighbours are sought where ties go on."""
        if self.ties == "index":
            yield from super()._neighbors_and_votes(X, own)
            return
        k = int(self.n_neighbors)
        check_enough(k, self._fitted.engine, self._fitted.mass, own is not None)
        most = self._fitted.engine.n_references - (own is not None)
        size = max(64, BATCH_CELLS // k)
        for begin in range(0, X.shape[0], size):
            pending, width = np.arange(begin, min(begin + size, X.shape[0])), min(k + 4, most)
            while len(pending):
                not_this = None if own is None else own[pending]
                distance, row = self._fitted.engine.search(X[pending], width, own_row=not_this, n_jobs=self.n_jobs)
                needed, tied = reach(distance, None if self._fitted.mass is None else self._fitted.mass[row], k)
                done = ((needed <= width) & (tied < width)) | (width == most)
                for count in np.unique(tied[done]):
                    at = np.flatnonzero(done & (tied == count))
                    near, rows = distance[at, :count], row[at, :count]
                    yield Voters(pending[at], near, rows, self._votes(near, rows)[0])
                pending, width = pending[~done], min(2 * width, most)

    def _votes(self, distance: FloatArray, row: IndexArray) -> tuple[FloatArray | None, FloatArray | None]:
        """Votes of the neighbours, and the mass reached where rows count as repetitions."""
        votes = self._by_distance(distance)
        if self._fitted.mass is None:
            return votes, None
        mass = self._fitted.mass[row]
        reached = mass.sum(axis=1)
        if self.ties == "index":
            mass, reached = mass_votes(mass, int(self.n_neighbors))
        return (mass if votes is None else votes * mass), reached

    def _by_distance(self, distance: FloatArray) -> FloatArray | None:
        span = float(np.sqrt(self.n_features_in_))
        if self.weights == "inverse":
            inverse: FloatArray = 1.0 / (distance.astype(np.float64) / span + _OFFSET)
            return inverse
        return distance_votes(distance, "complement" if self.weights == "similarity" else None, span=span)


class IB1(IBk):
    """The nearest neighbour on min-max scaled features, as Weka's IB1.

    Of several rows at the smallest distance the first one decides, whereas ``IBk(1)`` lets all of
    them vote.

    Parameters
    ----------
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns whose values differ by 0 or 1.
    handle_unknown : {"different", "error"}, default="different"
    backend : {"auto", "scan", "tree", "faiss", "hnsw"}, default="auto"
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    weights_ : Weights
    plan_ : Plan
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where ``X`` had column names.
    n_samples_fit_ : int

    See Also
    --------
    IBk : k neighbours; says how it departs from Weka's.

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
        name: IBk._parameter_constraints[name]
        for name in ("categorical_features", "handle_unknown", "backend", "n_jobs")
    }

    def __init__(
        self,
        *,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        backend: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            1,
            ties="index",
            categorical_features=categorical_features,
            handle_unknown=handle_unknown,
            backend=backend,
            n_jobs=n_jobs,
        )
