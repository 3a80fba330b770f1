"""Learned votes: the nearest-neighbour classifier whose votes are solved for, not guessed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length

from .._typing import AnyArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..explanation import Explanation, explain_rows
from ..tables.labels import check_labels
from ..tables.validation import check_sample_weight
from ..votes.calibration import Calibration, fit_calibration
from .base_learned_votes import BaseLearnedVotes, ExplainedOutputs
from .training import indexable, repetition_weights


class LearnedVotesClassifier(ClassifierMixin, BaseLearnedVotes):
    """Nearest-neighbour classifier with learned votes: kernel ridge regression under the library's distance.

    Every stored row x_i has a signed vote α_i for each class. A query q gets the scores f(q) = μ + Σ_i exp(−d(q,
    x_i)/L) α_i, where μ are the shares of the classes, and the class with the largest score is predicted. The votes are
    solved for: they minimise the squared error of the scores on the training rows, with a penalty λ on their size.
    Width L, ridge λ and feature weights are chosen by leave-one-out and cross-validation inside the training rows. In
    the literature this is regularised least-squares classification [1]_, and the feature weights are those of recursive
    feature machines [2]_.

    Numbers should be on comparable scales, for example by :class:`sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    n_neighbors : "auto", None or int, default="auto"
        Which rows vote for a query. None: all stored rows. An integer: that many nearest rows, whose votes are solved
        for each query, for any number of rows. "auto": all rows up to 4000 different ones, else the 100 nearest;
        ``plan_`` says which.
    weigher : "auto", None, Weights or weigher, default="auto"
        Where feature weights come from. "auto": from the votes themselves (how strongly the scores change with a
        feature), if cross-validation finds that they help. A weigher is an estimator whose ``fit(X, y)`` sets
        ``weights_``. If the weights select instances, the other rows are left out. Votes ω of the weights
        multiply ``sample_weight``.
    p : {1, 2}, default=1
        1 for the city-block distance, 2 for the Euclidean distance.
    width : "auto" or float, default="auto"
        The width L of the kernel exp(−d/L). "auto": a multiple of the median distance, chosen by leave-one-out.
    ridge : "auto" or float, default="auto"
        The penalty λ. "auto": from 0.001 to 3, chosen by leave-one-out.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns whose values differ by 0 or 1. "from_dtype": the columns of a DataFrame that contain
        categories or text.
    handle_unknown : {"different", "error"}, default="different"
        What happens if a query has a category that was not in the training data. "different": it differs from all
        known categories. "error": an error is raised.
    class_weight : dict, "balanced" or None, default=None
        Factors of ``sample_weight`` for each class, as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Draws the folds for feature weights, and the rows on which large tables choose their
        parameters.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    alpha_ : ndarray of shape (n_samples, n_classes), or None
        Signed votes of the training rows for a query at distance 0. Rows that are not selected, and rows of weight 0,
        have 0. None if the nearest rows vote, since then every query has votes of its own.
    intercept_ : ndarray of shape (n_classes,)
        The shares μ of the classes.
    width_, ridge_ : float
        L and λ of the votes of all rows.
    p_ : int
    weights_ : Weights
        The weights in use.
    weigher_ : estimator or None
        The fitted clone of ``weigher``.
    feature_importances_ : ndarray of shape (n_features,)
    loo_rows_ : ndarray of int
        Rows that were left out, one at a time: all of positive weight, or drawn ones of large tables.
    loo_predictions_ : ndarray
        The predicted class of each of these rows when it is left out. Feature weights stay as they are.
    loo_decision_function_ : ndarray of shape (n_left_out, n_classes)
        Their scores.
    loo_score_ : float
        Accuracy of these predictions.
    calibration_ : Calibration
        The slope that turns scores into probabilities, and its log-loss on the rows left out.
    choice_ : DataFrame
        The widths, ridges and feature weights that were tried, with their losses.
    plan_ : VotesPlan
        Which rows vote, and why.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if ``X`` had column names.

    Notes
    -----
    Leave-one-out costs no refit: the residual of a row left out is α_i over the i-th diagonal element of (K + λI)⁻¹
    [1]_. All rows voting needs 3 n² numbers of memory.

    If all rows vote, ``sample_weight`` counts as repetition: a row of weight 2 is the same as the row given twice. If
    the nearest rows vote, weights say how closely a row is fitted, and ``n_neighbors`` counts rows. Weights of a mean
    below 1 are scaled to a mean of 1.

    A missing value is at the full column range from every other value (HEOM), but a row is at distance 0 from itself.

    References
    ----------
    .. [1] R. Rifkin, R. Lippert, "Notes on regularized least squares", MIT-CSAIL-TR-2007-025, 2007.
    .. [2] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin, "Mechanism for feature learning in neural networks and
       backpropagation-free machine learning models", Science 383, 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from weighbors import LearnedVotesClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LearnedVotesClassifier(weigher=None)).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 3)
    0.978
    >>> print(model[-1].plan_)
    all rows vote: 89 different rows are at most 4000
      rows      89 of 13 features, of which 89 vote for a query
      distance  city-block, equal weights
      memory    0.19 MB for the matrices of the fit
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **BaseLearnedVotes._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        n_neighbors: int | str | None = "auto",
        weigher: Any = "auto",
        *,
        p: int = 1,
        width: float | str = "auto",
        ridge: float | str = "auto",
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weigher = weigher
        self.p = p
        self.width = width
        self.ridge = ridge
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LearnedVotesClassifier:
        """Learn weights and votes.

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
        coder, table, rows = self._check_rows(X, y)
        self.classes_, codes = check_labels(y, who=type(self).__name__)
        check_consistent_length(rows, codes)
        weight = check_sample_weight(sample_weight, rows)
        repetition = repetition_weights(codes, self.classes_, weight, self.class_weight)
        self._row_numbers = np.arange(len(codes))
        if repetition is not None and (repetition == 0).any():
            kept = self._row_numbers = np.flatnonzero(repetition > 0)
            if len(np.unique(codes[kept])) < 2:
                raise InvalidDataError("at least 2 classes are needed; rows of weight 0 left out, there is 1 class")
            table = rows[kept] if sparse.issparse(rows) else _safe_indexing(indexable(table, coder.nominal), kept)
            rows = coder.fit_transform(self, table) if coder.nominal.any() else rows[kept]
            codes, repetition = codes[kept], repetition[kept]
            weight = None if weight is None else weight[kept]
        y = self.classes_[codes]
        self._fit_votes(coder, table, rows, y, codes, len(self.classes_), repetition, weight)
        self._calibrate(codes)
        return self

    def _calibrate(self, codes: IndexArray) -> None:
        """Set the attributes that come from the rows left out. ``codes`` are the classes of the training rows."""
        left_out, kept_rows = self._fitted.loo_scores, self._fitted.loo_rows
        weights_of_loo = None if self._training.repetition is None else self._training.repetition[kept_rows]
        self.calibration_: Calibration = fit_calibration(left_out, codes[kept_rows], weights_of_loo)
        self.loo_decision_function_ = left_out
        best = self.calibration_(left_out).argmax(axis=1)
        self.loo_predictions_: AnyArray = self.classes_[best]
        self.loo_score_ = float(np.average(best == codes[kept_rows], weights=weights_of_loo))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of the classes, or for two classes the score of the second minus that of the first.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_classes), or (n_queries,) for two classes
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> AnyArray:
        """Return the class with the largest probability. Of equal ones, the first in ``classes_`` is the answer.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        best = self.predict_proba(X).argmax(axis=1)  # first, since it checks that the model is fitted
        labels: AnyArray = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes, calibrated on the rows left out.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Positive, with row sums of 1, in the order of the scores.
        """
        scores = self._scores(X)
        return self.calibration_(scores)

    def explain(self, X: Any, top: int | None = None) -> Explanation:
        """Explain the answers: why this class, whose votes it is made of, and what would change it.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        top : int, optional
            How many features and neighbours are shown, by default 5. If it is given, the table of votes has only the
            rows with the largest votes, by absolute value, and the others are one line.

        Returns
        -------
        Explanation
            It can be printed. Its table of votes, ``frame()``, has one row per query and voter. ``voter`` is "mean" for
            the shares of the classes, "row" for a training row, and "others" for all rows below the top ones. ``row``
            is the number of the training row, ``label`` its class, ``distance`` its distance to the query; ``vote for
            <class>`` adds up to the score of the class over the rows of a query. ``share of <feature>`` is the
            feature's share of the distance.
        """
        return explain_rows(self, X, top=top)

    def _explained_outputs(self) -> ExplainedOutputs:
        """Return what the scores are called, and how they become classes."""
        names = tuple(str(label) for label in self.classes_.tolist())
        return ExplainedOutputs(
            names=names,
            columns=tuple(f"vote for {name}" for name in names),
            labels=self.classes_[self._training.targets],
            strata=np.asarray(self._training.targets),
            spread=np.ones(len(names)),
            center=np.zeros(len(names)),
            answers=lambda scores: self.classes_[self.calibration_(scores).argmax(axis=1)],
            probabilities=self.calibration_,
            classes=self.classes_,
        )
