"""The weighted k-nearest-neighbour regressor for tables in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import _fit_context

from .._typing import FloatArray
from ..exceptions import InvalidDataError
from ..tables.targets import Target, check_outputs
from .local_knn import AUTO_CONSTRAINTS, LocalKNeighbors
from .mean_votes import BaseKNeighborsRegressor


class WeightedKNeighborsRegressor(LocalKNeighbors, BaseKNeighborsRegressor):
    """k nearest neighbours with learned weights, for numeric targets.

    The prediction is the mean target of the k nearest training rows, weighted by their votes. Without a weigher, it is
    that of :class:`sklearn.neighbors.KNeighborsRegressor` with ``p`` 1 or 2. With a weigher, feature weights change the
    distance, and instance weights change the votes. If distances are equal (for p = 2: squared distances), the row with
    the lower number is nearer.

    Parameters
    ----------
    n_neighbors : int or "auto", default=5
        "auto": one of 1, 3, 5, 7, 9, 11, 15, 21, 31. The notes say how values are chosen.
    weigher : None, Weights, weigher or "auto", default=None
        A weigher is an estimator whose ``fit(X, y)`` sets ``weights_``. A clone of the weigher is fitted; if it has
        ``target_type="auto"``, it is set to a numeric target. Weighers that learn from classes are refused, and
        with several outputs those that learn from one target. "auto": none, `RReliefF`, or weights by the gradients of
        learned votes (those of `LearnedVotesRegressor`); with several outputs none.
    weights : {"uniform", "distance", "complement", "auto"} or callable, default="uniform"
        Vote of a neighbour at distance d. "uniform": 1. "distance": 1/d, and if neighbours are at distance 0, only
        these vote. "complement", for min-max scaled features: 1 − d/√M (p = 2) or 1 − d/M (p = 1) for M features, but
        at least 0. A callable gets the distances as an array of shape (n_queries, n_neighbors) and returns the votes.
        "auto": "uniform" or "distance".
    p : {1, 2} or "auto", default=2
        1 for the city-block distance, 2 for the Euclidean distance. "auto": one of them.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns whose values differ by 0 or 1. "from_dtype": the columns of a DataFrame that contain
        categories or text.
    handle_unknown : {"different", "error"}, default="different"
        What happens if a query has a category that was not in the training data. "different": it differs from all
        known categories. "error": an error is raised.
    backend : {"auto", "scan", "single", "pairs", "sparse", "rounded", "bytes", "tree", "hnsw"}, default="auto"
        Which search finds the neighbours. All of them except "hnsw" give the same results. ``plan_`` says which search
        was chosen.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    weights_ : Weights
        The weights in use.
    weigher_ : estimator or None
        The fitted clone of ``weigher``, or the fitted weigher that was chosen.
    n_neighbors_ : int
        The number of neighbours in use.
    p_ : int
        The p in use.
    vote_kind_ : str or callable
        The value of ``weights`` in use.
    choice_ : DataFrame or None
        One row per candidate: ``weigher``, ``p``, ``n_neighbors``, ``weights``, ``r2``, ``squared_error`` (both
        averaged over outputs) and ``chosen``. None if no parameter is "auto".
    feature_importances_ : ndarray of shape (n_features,)
        The feature weights in use, for `RFECV` and `SelectFromModel`. Masked features have 0. Weights per instance are
        averaged. Without feature weights, all are 1.
    plan_ : Plan
        Which search ``predict`` uses, and why. It can be printed.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if ``X`` had column names.
    n_samples_fit_ : int
        Number of training rows, including rows of weight 0.

    Notes
    -----
    Missing values, ``sample_weight`` (it counts as repetition), the votes ω of a weigher, and queries whose votes are
    all zero are treated as in `WeightedKNeighborsClassifier`. Predictions are float64, also for whole targets and for
    float32 tables.

    Every "auto" is chosen in ``fit``, together with the others; the parameters themselves stay "auto". Each candidate
    predicts the training rows (of more than 5000, 5000 drawn ones), each row left out. The largest R² wins, averaged
    over the outputs; of equal ones the simplest candidate. Weights of a weigher are learned in five folds, each time
    from the other four, so that no row is judged under weights that have seen its target. If weights belong to single
    rows, its neighbours are rows of the other four folds only. Rows count by ``sample_weight``; a row of weight 2 is
    left out as a whole, while one of two equal rows is predicted with the help of the other. The draw and the folds are
    always the same. The R² of the chosen candidate is the largest of many, so it is a little too good: use
    cross-validation to estimate it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weighbors import NCAWeights, WeightedKNeighborsRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> plain = WeightedKNeighborsRegressor(n_neighbors=15).fit(X[::2], y[::2])
    >>> round(plain.score(X[1::2], y[1::2]), 3)
    0.384
    >>> weighted = WeightedKNeighborsRegressor(n_neighbors=15, weigher=NCAWeights(), p=1).fit(X[::2], y[::2])
    >>> round(weighted.score(X[1::2], y[1::2]), 3)
    0.432

    The votes and targets of the neighbours add up to the prediction:

    >>> told = plain.explain(X[1:2])
    >>> print((told["vote"] * told["target"]).sum().round(3), plain.predict(X[1:2])[0].round(3))
    87.067 87.067
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        **BaseKNeighborsRegressor._parameter_constraints,
        **AUTO_CONSTRAINTS,
    }

    def __init__(
        self,
        n_neighbors: Any = 5,
        weigher: Any = None,
        *,
        weights: str | Callable[[FloatArray], Any] = "uniform",
        p: Any = 2,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        backend: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            weigher,
            weights=weights,
            p=p,
            categorical_features=categorical_features,
            handle_unknown=handle_unknown,
            backend=backend,
            n_jobs=n_jobs,
        )

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> WeightedKNeighborsRegressor:
        """Store the training rows and learn their weights.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Counts as repetition.

        Returns
        -------
        self
        """
        return self._fit_rows(X, y, code_outputs, sample_weight)

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, refresh: bool | None = None
    ) -> WeightedKNeighborsRegressor:
        """Store further training rows.

        Without a weigher and without "auto", or with ``refresh=True``, the model is the same as after ``fit`` on all
        rows so far. Values that were chosen for "auto", in ``fit`` or in the first call, are kept unless
        ``refresh=True``.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            As many outputs as in the first call.
        sample_weight : array-like of shape (n_samples,), optional
            Counts as repetition.
        refresh : bool, optional
            Whether the weights are learned again from all rows, and values for "auto" are chosen again. False: the old
            weights are used for the new rows too. None: as False, but weights are learned again if the old ones belong
            to single rows (votes, scales, selections).

        Returns
        -------
        self
        """
        if not hasattr(self, "_fitted"):
            return self._fit_rows(X, y, code_outputs, sample_weight)
        return self._add_rows(X, y, self._code_further, sample_weight, refresh)

    def _code_further(self, y: Any) -> Target:
        """Check the targets of further rows. They must have as many outputs as the stored ones."""
        target, known = code_outputs(y), self._targets
        assert target.numbers is not None
        if target.numbers.shape[1:] != known.shape[1:]:
            raise InvalidDataError(
                f"y has the shape {target.numbers.shape}; the targets so far have the shape {known.shape}. Give as "
                "many outputs as in the first call, or fit again"
            )
        return target

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def code_outputs(y: Any) -> Target:
    """Check numeric targets of one or several outputs, and return them. All rows have code 0."""
    numbers = check_outputs(y)
    return Target(np.zeros(len(numbers), dtype=np.int64), np.zeros(0), numbers)
