"""The weighted k nearest neighbours: classifier and regressor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ..exceptions import InvalidDataError
from ..tables.coded import read_training, takes_coded_tables
from ..tables.labels import require_labels
from ..tables.targets import check_target
from .base_knn import KNN_CONSTRAINTS, BaseKNeighbors
from .knn_blocks import reads_blocks, store_blocks
from .training import select_rows


@dataclass(eq=False, repr=False)
class WeightedKNeighborsClassifier(ClassifierMixin, BaseKNeighbors):
    """k nearest neighbours with learned weights.

    Without a weigher, it predicts as :class:`sklearn.neighbors.KNeighborsClassifier` with ``p`` 1 or 2 does. With a
    weigher, feature weights change the distance, and instance weights change the vote (paper 000, algorithm 2). If
    distances are equal (for p = 2: squared distances), the row with the lower number is nearer. If votes are equal,
    by default the class that comes first in ``classes_`` wins.

    Parameters
    ----------
    n_neighbors : int or "auto", default=5
        "auto": one of 1, 3, 5, 7, 9, 11, 15, 21, 31. The notes say how values are chosen.
    weigher : None, Weights, weigher or "auto", default=None
        A weigher is an estimator whose ``fit(X, y)`` sets ``weights_``. A clone of the weigher is fitted. If its
        ``categorical_features`` differ from those of this classifier, an error is raised. "auto": none, `ReliefF`, or
        weights by the gradients of learned votes (those of `LearnedVotesClassifier`).
    weights : {"uniform", "distance", "complement", "auto"} or callable, default="uniform"
        Vote of a neighbour at distance d. "uniform": 1. "distance": 1/d. "complement", for min-max scaled features:
        1 − d/√M (p = 2) or 1 − d/M (p = 1) for M features, but at least 0. A callable gets the distances as an array
        of shape (n_queries, n_neighbors) and returns the votes. "auto": "uniform" or "distance".
    p : {1, 2} or "auto", default=2
        1 for the city-block distance, 2 for the Euclidean distance. "auto": one of them.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns whose values differ by 0 or 1. "from_dtype": the columns of a DataFrame that contain
        categories or text.
    handle_unknown : {"different", "error"}, default="different"
        What happens if a query has a category that was not in the training data. "different": it differs from all
        known categories. "error": an error is raised.
    vote_ties : {"first", "nearest"}, default="first"
        Which of several classes with equal votes wins. "first": the class that comes first in ``classes_``.
        "nearest": the class of the nearest neighbour that votes for one of these classes.
    class_weight : dict, "balanced" or None, default=None
        Factors of ``sample_weight`` for each class, as in scikit-learn.
    backend : {"auto", "scan", "single", "pairs", "sparse", "rounded", "bytes", "tree", "hnsw"}, default="auto"
        Which search finds the neighbours. All of them except "hnsw" give the same results. ``plan_`` says which search
        was chosen.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
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
        One row per candidate: ``weigher``, ``p``, ``n_neighbors``, ``weights``, ``accuracy``, ``squared_error`` (of the
        vote shares, summed over classes) and ``chosen``. None if no parameter is "auto".
    feature_importances_ : ndarray of shape (n_features,)
        The feature weights in use, for `RFECV` and `SelectFromModel`. Masked features have 0. Weights per class,
        instance or interval are averaged. Without feature weights, all are 1.
    plan_ : Plan
        Which search ``predict`` uses, and why. It can be printed.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if ``X`` had column names.
    n_samples_fit_ : int
        Number of training rows, including rows of weight 0.

    Notes
    -----
    The missing distance is the full column range: a missing value (NaN) differs by it from every value, also from
    another missing value (HEOM). Queries are converted to the dtype of the training rows. The votes ω of a weigher
    multiply the votes of the k neighbours. They do not change the number of neighbours.

    ``sample_weight`` counts as repetition. Neighbours are taken until their weights add up to ``n_neighbors``. The last
    neighbour counts only for the rest that is needed. A row of weight 0 is removed. Integer weights therefore have the
    same effect as repeated rows. If the weights sum to at most ``n_neighbors`` and their mean is below 1, they are
    multiplied so that their mean over the rows that can be neighbours is 1. This is the case in boosting, where the
    weights sum to 1. As in scikit-learn, fewer training rows than ``n_neighbors`` raise an error only when neighbours
    are searched.

    If all votes of a query are zero, its neighbours vote only by ``sample_weight`` and ``class_weight``, and a
    `NoVoteWarning` is given.

    Every "auto" is chosen in ``fit``, together with the others; the parameters themselves stay "auto". Each candidate
    predicts the training rows (of more than 5000, 5000 drawn ones), each row left out. The largest accuracy wins; of
    equal ones the least squared error of the vote shares, then the simplest candidate. Weights of a weigher are learned
    in five folds, each time from the other four, so that no row is judged under weights that have seen its label.
    If weights belong to single rows, its neighbours are rows of the other four folds only. Rows count by
    ``sample_weight`` and ``class_weight``. The draw and the folds are always the same. The accuracy of the chosen
    candidate is the largest of many, so it is a little too good: use cross-validation to estimate the accuracy.

    For the choice, a row of weight 2 is left out as a whole, while one of two equal rows is
    predicted with the help of the other. So the two are not the same there.

    If the training rows are read in blocks, the classifier stores the blocks (of a file only their place), the weights,
    and the class of every row. All blocks are read again for every batch of queries, so persist a Dask collection that
    is expensive to compute. Then "auto" and ``partial_fit`` are not available.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from weighbors import Weights, WeightedKNeighborsClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> plain = WeightedKNeighborsClassifier(n_neighbors=5).fit(X[::2], y[::2])
    >>> round(plain.score(X[1::2], y[1::2]), 3)
    0.73
    >>> scaled = Weights(feature_weights=1 / X.var())
    >>> weighted = WeightedKNeighborsClassifier(n_neighbors=5, weigher=scaled).fit(X[::2], y[::2])
    >>> round(weighted.score(X[1::2], y[1::2]), 3)
    0.944

    Let ``fit`` choose:

    >>> X = (X - X.mean()) / X.std()
    >>> best = WeightedKNeighborsClassifier("auto", "auto", weights="auto", p="auto")
    >>> best = best.fit(X[::2], y[::2])
    >>> best.n_neighbors_, type(best.weigher_).__name__, best.vote_kind_, best.p_
    (21, 'GradientWeights', 'distance', 2)
    >>> round(best.score(X[1::2], y[1::2]), 3)
    0.966
    """

    n_neighbors: Any = 5
    weigher: Any = None
    _: KW_ONLY
    weights: str | Callable[[FloatArray], Any] = "uniform"
    p: Any = 2
    categorical_features: Any = "from_dtype"
    handle_unknown: str = "different"
    vote_ties: str = "first"
    class_weight: Any = None
    backend: str = "auto"
    n_jobs: int | None = None

    _needs_scaled_columns: ClassVar[bool] = True  # wide columns would decide the distances

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KNN_CONSTRAINTS,
        "vote_ties": [StrOptions({"first", "nearest"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> WeightedKNeighborsClassifier:
        """Store the training rows and learn their weights.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Or a table that is read in blocks: a Dask collection, the path of a parquet folder or of an npy file, or a
            mapped array. Predictions are the same to the bit.
        y : array-like of shape (n_samples,)
            Or the name of a column of a table in blocks.
        sample_weight : array-like of shape (n_samples,), optional
            Counts as repetition.

        Returns
        -------
        self
        """
        if reads_blocks(self, X):
            return store_blocks(self, X, y, sample_weight)
        return self._learn(select_rows(self, read_training(self, X, y, sample_weight), least_classes=2))

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, refresh: bool | None = None
    ) -> WeightedKNeighborsClassifier:
        """Store further training rows (the update of the concept description in paper 002, table 1).

        Without a weigher and without "auto", or with ``refresh=True``, the model is the same as after ``fit`` on all
        rows so far. Values that were chosen for "auto", in ``fit`` or in the first call, are kept unless
        ``refresh=True``.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), optional
            All labels that can occur in this and in later calls. Required in the first call if ``fit`` was not called.
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
        return self._add_labelled(X, y, classes, sample_weight, refresh)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of the votes for each class.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the queries are the training rows, and no row is its own neighbour.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns as in ``classes_``.
        """
        return self._scores(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predictions.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        y : array-like of shape (n_queries,)
            Or the name of a column of ``X``, if ``X`` is a table in blocks.
        sample_weight : array-like of shape (n_queries,), optional

        Returns
        -------
        float
        """
        check_is_fitted(self, "weights_")
        return self._score(X, y, sample_weight)


@dataclass(eq=False, repr=False)
class WeightedKNeighborsRegressor(RegressorMixin, BaseKNeighbors):
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
    Missing values, ``sample_weight`` (it counts as repetition), the votes ω of a weigher, queries whose votes are all
    zero, and tables in blocks are treated as in `WeightedKNeighborsClassifier`. Predictions are float64, also for whole
    targets and for float32 tables.

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

    n_neighbors: Any = 5
    weigher: Any = None
    _: KW_ONLY
    weights: str | Callable[[FloatArray], Any] = "uniform"
    p: Any = 2
    categorical_features: Any = "from_dtype"
    handle_unknown: str = "different"
    backend: str = "auto"
    n_jobs: int | None = None

    _needs_scaled_columns: ClassVar[bool] = True  # wide columns would decide the distances

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = KNN_CONSTRAINTS

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> WeightedKNeighborsRegressor:
        """Store the training rows and learn their weights.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Or a table that is read in blocks: a Dask collection, the path of a parquet folder or of an npy file, or a
            mapped array. Predictions are the same to the bit.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers. Or the name of a column of a table in blocks, which has one output.
        sample_weight : array-like of shape (n_samples,), optional
            Counts as repetition.

        Returns
        -------
        self
        """
        if reads_blocks(self, X):
            return store_blocks(self, X, y, sample_weight)
        return self._learn(select_rows(self, read_training(self, X, y, sample_weight)))

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
        if not hasattr(self, "weights_"):
            return self._learn(select_rows(self, read_training(self, X, y, sample_weight)))
        require_labels(self, y)
        target, known = check_target(y, "outputs"), self._table.numbers
        assert target.numbers is not None
        assert known is not None
        if target.numbers.shape[1:] != known.shape[1:]:
            raise InvalidDataError(
                f"y has the shape {target.numbers.shape}; the targets so far have the shape {known.shape}. Give as "
                "many outputs as in the first call, or fit again"
            )
        return self._add_rows(X, target, sample_weight, refresh)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of the predictions, averaged over outputs.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        y : array-like of shape (n_queries,) or (n_queries, n_outputs)
            Or the name of a column of ``X``, if ``X`` is a table in blocks.
        sample_weight : array-like of shape (n_queries,), optional

        Returns
        -------
        float
        """
        check_is_fitted(self, "weights_")
        return self._score(X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
