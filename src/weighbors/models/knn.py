"""The weighted k-nearest-neighbour classifier for tables in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.base import _fit_context

from .._typing import FloatArray
from ..tables.targets import Target, check_target
from .class_votes import BaseKNeighborsClassifier
from .local_knn import AUTO_CONSTRAINTS, LocalKNeighbors
from .training import codes_among, declared_classes


class WeightedKNeighborsClassifier(LocalKNeighbors, BaseKNeighborsClassifier):
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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        **BaseKNeighborsClassifier._parameter_constraints,
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
        vote_ties: str = "first",
        class_weight: Any = None,
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
            vote_ties=vote_ties,
            class_weight=class_weight,
            backend=backend,
            n_jobs=n_jobs,
        )

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> WeightedKNeighborsClassifier:
        """Store the training rows and learn their weights.

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
        check = partial(check_target, who=type(self).__name__)
        return self._fit_rows(X, y, check, sample_weight, least_classes=2)

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
        if not hasattr(self, "_fitted"):
            declared = declared_classes(classes)
            return self._fit_rows(X, y, lambda y: Target(codes_among(y, declared), declared), sample_weight)
        known = self.classes_
        return self._add_rows(X, y, lambda y: Target(codes_among(y, known, classes), known), sample_weight, refresh)
