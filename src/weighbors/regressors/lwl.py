"""Locally weighted learning for numeric targets: a small model for each query, fitted to rows weighted by nearness."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from .._typing import BoolArray, FloatArray
from ..classifiers.lwl import BaseLWL, LocalModel
from .lazy import LazyRegressor
from .local_models import LocalLinear, NumericStump

__all__ = ["LWLRegressor"]


class LWLRegressor(BaseLWL, LazyRegressor):
    """Locally weighted learning for numeric targets, as Weka's LWL.

    For each query, a small model is fitted to the training rows and predicts only this query. The weight of each row
    is a kernel function of its distance from the query, on min-max scaled features.

    Parameters
    ----------
    estimator : {"stump", "linear"} or regressor, default="stump"
        "stump": the one test of one feature that leaves the smallest squared error. Missing values form a third branch.
        "linear": a linear function, fitted by weighted least squares; the notes say how it takes categories and missing
        values. Any other scikit-learn regressor whose ``fit`` takes ``sample_weight`` is cloned and fitted for each
        query.
    n_neighbors : int or None, default=None
        How many rows count. Rows that are tied with the k-th row count too. None: all rows count.
    kernel : {"linear", "epanechnikov", "tricube", "inverse", "gauss", "constant"}, default="linear"
        Weight of a row whose distance is t times the bandwidth: 1.0001 − t, ¾(1.0001 − t²), (1.0001 − t³)³,
        1/(1 + t), exp(−t²), or 1. The bandwidth is the distance of the farthest row that counts.
    ridge : float, default=1e-4
        Penalty of the slopes of "linear", which other estimators do not use. With few neighbours and many features, a
        larger one helps.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns whose values differ by 0 or 1.
    handle_unknown : {"different", "error"}, default="different"
    n_jobs : int or None, default=None
        Threads of the neighbour search. Results do not depend on it.

    Attributes
    ----------
    weights_ : Weights
        1 divided by the squared range of each numeric feature, and 0 for a numeric feature with only one value.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if ``X`` had column names.
    n_samples_fit_ : int

    See Also
    --------
    LWL : The same for classes.

    Notes
    -----
    ``sample_weight`` counts as repetition and multiplies the kernel. As in `IBk`, ranges are computed from the training
    rows alone, and the missing distance of a number is the full column range.

    The linear function minimises Σ w (y − a − b·z)² + ridge · Σ w · b·b, where z are the features divided by their
    column ranges, so units do not matter. A categorical feature has one column per category, with values 0 and 1. In
    all these columns, a missing value is replaced by the weighted mean of the rows that count. A category that none
    of these rows has, known or not, gets the mean effect of their categories. If there are fewer rows than columns, or
    if columns depend on each other, the ridge decides: of all slopes with nearly the least error, the smallest are
    used. Weka's linear regression has a penalty that hardly counts; ``ridge=1e-8`` gives its predictions. A linear
    function extrapolates: its predictions can lie outside the range of the targets.

    References
    ----------
    .. [1] C. G. Atkeson, A. W. Moore, S. Schaal, "Locally weighted learning", Artificial
       Intelligence Review 11 (1997) 11-73.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weighbors import LWLRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(LWLRegressor().fit(X[::2], y[::2]).score(X[1::2], y[1::2]), 3)
    0.099
    >>> local = LWLRegressor("linear", n_neighbors=100).fit(X[::2], y[::2])
    >>> round(local.score(X[1::2], y[1::2]), 3)
    0.438
    """

    _models = ("stump", "linear")
    _example = "DecisionTreeRegressor"

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        **BaseLWL._parameter_constraints,
        "estimator": [StrOptions(set(_models)), HasMethods(["fit", "predict", "get_params"])],
        "ridge": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = "stump",
        n_neighbors: int | None = None,
        *,
        kernel: str = "linear",
        ridge: float = 1e-4,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            estimator,
            n_neighbors,
            kernel=kernel,
            categorical_features=categorical_features,
            handle_unknown=handle_unknown,
            n_jobs=n_jobs,
        )
        self.ridge = ridge

    def _build_model(self, nominal: BoolArray) -> LocalModel:
        """Return the local model that ``estimator`` names, for the stored rows."""
        if self.estimator == "stump":
            return NumericStump(self._rows, nominal, self._targets)
        return LocalLinear(self._rows, nominal, self._targets, float(self.ridge))

    def predict(self, X: Any) -> FloatArray:
        """Return the prediction of the model that is fitted for each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        return self._answers(X)

    def _ask_clone(self, w: FloatArray, stored: Any, query: Any) -> Any:
        """Return the prediction of one query, from a clone of the estimator. The parameters are as in `BaseLWL`."""
        rows = np.flatnonzero(w)
        model = clone(self.estimator).fit(_safe_indexing(stored, rows), self._numbers[rows], sample_weight=w[rows])
        return model.predict(query)[0]
