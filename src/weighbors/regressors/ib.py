"""Instance-based learners IB1 and IBk for numeric targets: the weighted k-NN, which scales the features itself."""

from __future__ import annotations

from typing import Any

from ..classifiers.ib import BaseIBk
from ..classifiers.ranges import UnitRanges
from .knn import WeightedKNeighborsRegressor

__all__ = ["IB1Regressor", "IBkRegressor"]


class IBkRegressor(BaseIBk, WeightedKNeighborsRegressor):
    """k nearest neighbours on min-max scaled features for numeric targets, as Weka's IBk.

    The prediction is the mean target of the neighbours, weighted by their votes. It is a `WeightedKNeighborsRegressor`
    with fixed weights: differences in a numeric feature are divided by its column range in the training rows. Two
    categories differ by 0 or 1.

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
    handle_unknown : {"different", "error"}, default="different"
    backend : {"auto", "scan", "tree", "faiss", "hnsw"}, default="auto"
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
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
    IBk : The same for classes. Its notes list the differences from Weka's program.
    IB1Regressor : One neighbour: if several rows are equally near, the first one.

    References
    ----------
    .. [1] D. W. Aha, D. Kibler, M. K. Albert, "Instance-based learning algorithms", Machine
       Learning 6 (1991) 37-66.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weighbors import IBkRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = IBkRegressor(15, weights="inverse").fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 3)
    0.382
    """

    _parameter_constraints = BaseIBk._parameter_constraints

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

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, *, refresh: bool | None = True) -> IBkRegressor:
        """Store further training rows. The column ranges are computed again, unless ``refresh=False``."""
        super().partial_fit(X, y, sample_weight, refresh=refresh)
        return self


class IB1Regressor(IBkRegressor):
    """The nearest neighbour on min-max scaled features, for numeric targets.

    The prediction is the target of the nearest row. If several rows have the smallest distance, the first row counts.
    With ``IBkRegressor(1)``, the prediction is the mean target of all these rows. Weka's IB1 takes classes only.

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
    IB1 : The same for classes.
    IBkRegressor : k neighbours.

    References
    ----------
    .. [1] D. W. Aha, D. Kibler, M. K. Albert, "Instance-based learning algorithms", Machine
       Learning 6 (1991) 37-66.

    Examples
    --------
    >>> from weighbors import IB1Regressor, IBkRegressor
    >>> X, y = [[0.0], [2.0], [2.0], [9.0]], [1.0, 3.0, 5.0, 7.0]
    >>> IB1Regressor().fit(X, y).predict([[2.0]]).tolist()
    [3.0]
    >>> IBkRegressor(1).fit(X, y).predict([[2.0]]).tolist()
    [4.0]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        name: IBkRegressor._parameter_constraints[name]
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
