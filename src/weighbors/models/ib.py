"""Instance-based learners IB1 and IBk: the weighted k-NN, which scales the features by their ranges itself."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import FloatArray
from ..tables.coded import CodedTable, read_training, takes_coded_tables
from ..weights import Weights
from .base_knn import BaseKNeighbors
from .lazy import range_weights
from .neighbor_votes import VoteKind
from .training import select_rows

_OFFSET = 0.001  # Weka's IBk adds this number to d before it computes 1/d


class RangeScaledKNN(ClassifierMixin, BaseKNeighbors):
    """Base class of IBk and IB1: features are divided by their ranges, and votes are those of Weka."""

    n_neighbors: int = 1
    weigher: Any = "ranges"  # the weights are computed from the column ranges of the stored rows
    weights: str = "uniform"
    ties: str = "index"

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Store the training rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Counts as repetition.

        Returns
        -------
        self
        """
        return self._learn(select_rows(self, read_training(self, X, y, sample_weight), least_classes=2))

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, refresh: bool | None = True
    ) -> Self:
        """Store further training rows. The column ranges are computed again, unless ``refresh=False``.

        See `WeightedKNeighborsClassifier.partial_fit`.
        """
        return self._add_labelled(X, y, classes, sample_weight, refresh)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of the votes for each class. See `WeightedKNeighborsClassifier.predict_proba`."""
        return self._scores(X)

    @property
    def feature_importances_(self) -> FloatArray:
        """1 for each feature, but 0 for a numeric feature with only one value."""
        return (super().feature_importances_ > 0).astype(np.float64)

    def _own_weights(self, table: CodedTable) -> tuple[None, Weights]:
        """Return weights that divide each numeric feature by its range."""
        return None, range_weights(table.rows, table.nominal)

    def _vote_kind(self) -> VoteKind:
        """Return which neighbours vote, and how much, as in Weka."""
        span = float(np.sqrt(self.n_features_in_))
        by_distance: Any = {"uniform": None, "similarity": "complement"}.get(self.weights)
        if self.weights == "inverse":

            def by_distance(distance: FloatArray) -> FloatArray:
                inverse: FloatArray = 1.0 / (distance.astype(np.float64) / span + _OFFSET)
                return inverse

        return VoteKind(int(self.n_neighbors), by_distance, span, all_ties=self.ties == "all")


@dataclass(eq=False, repr=False)
class IBk(RangeScaledKNN):
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

    n_neighbors: int = 1
    _: KW_ONLY
    weights: str = "uniform"
    ties: str = "all"
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"uniform", "inverse", "similarity"})],
        "ties": [StrOptions({"all", "index"})],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "n_jobs": [None, Integral],
    }


@dataclass(eq=False, repr=False, kw_only=True)
class IB1(RangeScaledKNN):
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

    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: IBk._parameter_constraints[name] for name in ("categorical_features", "n_jobs")
    }
