"""Learned votes: the nearest-neighbour classifier and regressor whose votes are solved for, not guessed."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from .._parallel.cluster import is_dask
from .._typing import AnyArray, FloatArray
from ..blocks import answer_lazily
from ..exceptions import InvalidDataError
from ..tables.coded import takes_coded_tables
from ..tables.targets import standardize_outputs
from ..votes.calibration import fit_calibration
from .base_learned_votes import LearnedVotes
from .explain_votes import ExplainedOutputs
from .training import repetition_weights

if TYPE_CHECKING:
    pass


@dataclass(eq=False, repr=False)
class LearnedVotesClassifier(ClassifierMixin, LearnedVotes):
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

    Of a table in blocks the nearest rows vote, as they do in memory: scores differ by the order of sums at most. Each
    batch of queries reads all blocks. For a Dask collection, predictions are a lazy Dask array.

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

    _: KW_ONLY
    class_weight: Any = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnedVotes._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    @takes_coded_tables
    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn weights and votes.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Or a table that is read in blocks: a Dask collection, the path of a parquet folder or an npy file, or a
            mapped array. Then the nearest rows vote.
        y : array-like of shape (n_samples,)
            Or the name of a column of a table in blocks.
        sample_weight : array-like of shape (n_samples,), optional
            Counts as repetition.

        Returns
        -------
        self
        """
        table = self._read(X, y, sample_weight)
        self.classes_ = table.classes
        repetition = repetition_weights(table.codes, self.classes_, table.given_weight, self.class_weight)
        if repetition is not None and (repetition == 0).any():
            kept = repetition > 0
            if len(np.unique(table.codes[kept])) < 2:
                raise InvalidDataError("at least 2 classes are needed; rows of weight 0 left out, there is 1 class")
            table, repetition = self._keep(table, kept), repetition[kept]
        self._codes = table.codes
        self._fit_votes(table, self._codes, len(self.classes_), repetition)
        left_out, codes = self._fitted.loo_scores, self._codes[self._fitted.loo_rows]
        self.calibration_ = fit_calibration(left_out, codes, self._loo_repetition)
        self.loo_decision_function_ = left_out
        best = self.calibration_(left_out).argmax(axis=1)
        self.loo_predictions_: AnyArray = self.classes_[best]
        self.loo_score_ = float(np.average(best == codes, weights=self._loo_repetition))
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of the classes, or for two classes the score of the second minus that of the first.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_classes), or (n_queries,) for two classes
        """
        check_is_fitted(self, "weights_")
        if is_dask(X):
            width = None if len(self.classes_) == 2 else len(self.classes_)
            return answer_lazily(self, "decision_function", X, dtype=np.float64, width=width)
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
        check_is_fitted(self, "weights_")
        if is_dask(X):
            return answer_lazily(self, "predict", X, dtype=self.classes_.dtype)
        best = self.predict_proba(X).argmax(axis=1)
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
        check_is_fitted(self, "weights_")
        if is_dask(X):
            return answer_lazily(self, "predict_proba", X, dtype=np.float64, width=len(self.classes_))
        return self.calibration_(self._scores(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is predicted.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        y : array-like of shape (n_queries,)
            Or the name of a column of a table in blocks.
        sample_weight : array-like of shape (n_queries,), optional

        Returns
        -------
        float
        """
        table, y = self._read_judged(X, y)
        return float(super().score(table, y, sample_weight))

    def _explained_outputs(self) -> ExplainedOutputs:
        """Return what the scores are called, and how they become classes."""
        names = tuple(str(label) for label in self.classes_.tolist())
        return ExplainedOutputs(
            names=names,
            columns=tuple(f"vote for {name}" for name in names),
            labels=self.classes_[self._codes],
            strata=self._codes,
            spread=np.ones(len(names)),
            center=np.zeros(len(names)),
            answers=lambda scores: self.classes_[self.calibration_(scores).argmax(axis=1)],
            probabilities=self.calibration_,
            classes=self.classes_,
        )


@dataclass(eq=False, repr=False)
class LearnedVotesRegressor(RegressorMixin, LearnedVotes):
    """Nearest-neighbour regressor with learned votes: kernel ridge regression under the library's distance.

    Every stored row x_i has a signed vote α_i. A query q gets the prediction f(q) = μ + Σ_i exp(−d(q, x_i)/L) α_i,
    where μ is the mean target. Votes, width, ridge and feature weights are found as in `LearnedVotesClassifier`.

    Parameters
    ----------
    n_neighbors, weigher, p, width, ridge
        As in `LearnedVotesClassifier`. A weigher must accept numeric targets.
    categorical_features, handle_unknown, random_state, n_jobs
        As in `LearnedVotesClassifier`.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_samples,) or (n_samples, n_outputs), or None
        Signed votes of the training rows, in units of the target. None if the nearest rows vote.
    intercept_ : float or ndarray of shape (n_outputs,)
        The mean target μ.
    width_, ridge_, p_, weights_, weigher_, feature_importances_, choice_, plan_, loo_rows_
        As in `LearnedVotesClassifier`.
    loo_predictions_ : ndarray of shape (n_left_out,) or (n_left_out, n_outputs)
        Predictions of training rows, each left out.
    loo_score_ : float
        R² of these predictions.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if ``X`` had column names.

    Notes
    -----
    With several outputs, width, ridge and feature weights are the same for all of them. They are chosen by the squared
    error of the outputs, each divided by its standard deviation.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from weighbors import LearnedVotesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = scale(X)
    >>> model = LearnedVotesRegressor(weigher=None).fit(X[::2], y[::2])
    >>> round(model.loo_score_, 2), round(model.score(X[1::2], y[1::2]), 2)
    (0.49, 0.43)
    """

    @takes_coded_tables
    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn weights and votes.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Or a table in blocks, as of `LearnedVotesClassifier`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers, or the name of a column of a table in blocks.
        sample_weight : array-like of shape (n_samples,), optional
            Counts as repetition.

        Returns
        -------
        self
        """
        table = self._read(X, y, sample_weight)
        if table.given_weight is not None and (table.given_weight == 0).any():
            table = self._keep(table, table.given_weight > 0)
        if len(table) < 2:
            raise InvalidDataError(f"at least 2 rows are needed; got n_samples={len(table)}")
        assert table.numbers is not None
        self._targets, weight = table.numbers, table.given_weight
        # Targets are standardised inside: then all outputs count alike, and no target is too large for the sums.
        scaled, self._center, self._spread = standardize_outputs(self._targets.reshape(len(table), -1), weight)
        self._fit_votes(table, scaled, 0, weight)
        if self.alpha_ is not None:
            self.alpha_ = self._in_units(self.alpha_, center=False)
        self.intercept_ = self._in_units(self.intercept_[None, :])[0]
        left_out, rows = self._fitted.loo_scores, self._fitted.loo_rows
        self.loo_predictions_ = self._in_units(left_out)
        # R² has no unit, and its average over outputs is over those of standardised targets.
        with np.errstate(all="ignore"):
            weight = None if weight is None else weight[rows]
            self.loo_score_ = float(r2_score(scaled[rows], left_out, sample_weight=weight))
        return self

    def _in_units(self, scores: FloatArray, *, center: bool = True) -> FloatArray:
        """Return scores or votes in units of the targets: one column if there is one output."""
        out = scores * self._spread + (self._center if center else 0.0)
        return out[:, 0] if self._targets.ndim == 1 else out

    def predict(self, X: Any) -> FloatArray:
        """Return the predicted targets.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,) or (n_queries, n_outputs)
        """
        check_is_fitted(self, "weights_")
        if is_dask(X):
            width = self._targets.shape[1] if self._targets.ndim == 2 else None
            return answer_lazily(self, "predict", X, dtype=np.float64, width=width)
        return self._in_units(self._scores(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of the predictions: 1 minus the squared error over that of the mean, averaged over outputs.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        y : array-like of shape (n_queries,) or (n_queries, n_outputs)
        sample_weight : array-like of shape (n_queries,), optional

        Returns
        -------
        float
        """
        table, y = self._read_judged(X, y)
        return float(super().score(table, y, sample_weight))

    def _explained_outputs(self) -> ExplainedOutputs:
        """Return what the scores are called, and how they become numbers."""
        n_outputs, one = len(self._spread), self._targets.ndim == 1
        names = ("the prediction",) if one else tuple(f"output {t}" for t in range(n_outputs))
        return ExplainedOutputs(
            names=names,
            columns=("vote",) if one else tuple(f"vote for {name}" for name in names),
            labels=self._targets,
            strata=self._targets.reshape(len(self._targets), -1)[:, 0],
            spread=self._spread,
            center=self._center,
            answers=lambda scores: scores[:, 0] if one else scores,
            target_spread=self._spread,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
