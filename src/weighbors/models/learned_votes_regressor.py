"""Learned votes for numeric targets: kernel ridge regression under the library's distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin, _fit_context
from sklearn.metrics import r2_score
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from .._typing import FloatArray
from ..exceptions import InvalidDataError
from ..explanation import Explanation, explain_rows
from ..tables.targets import check_outputs, standardize_outputs
from ..tables.validation import TableCoder, check_sample_weight
from .base_learned_votes import BaseLearnedVotes, ExplainedOutputs
from .training import indexable


class LearnedVotesRegressor(RegressorMixin, BaseLearnedVotes):
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
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LearnedVotesRegressor:
        """Learn weights and votes.

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
        coder, table, rows = self._check_rows(X, y)
        targets = check_outputs(y)
        check_consistent_length(rows, targets)
        weight = check_sample_weight(sample_weight, rows)
        self._row_numbers = np.arange(len(targets))
        if weight is not None and (weight == 0).any():
            kept = self._row_numbers = np.flatnonzero(weight > 0)
            table = rows[kept] if sparse.issparse(rows) else _safe_indexing(indexable(table, coder.nominal), kept)
            rows = coder.fit_transform(self, table) if coder.nominal.any() else rows[kept]
            targets, weight = targets[kept], weight[kept]
        self._fit_targets(coder, table, rows, targets, weight)
        return self

    def _fit_targets(
        self, coder: TableCoder, table: Any, rows: Any, targets: FloatArray, weight: FloatArray | None
    ) -> None:
        """Learn weights and votes from rows of positive weight, and set the fitted attributes.

        Parameters
        ----------
        coder : TableCoder
        table, rows
            The rows as the user gave them, and coded.
        targets : ndarray of shape (n,) or (n, n_outputs)
        weight : ndarray of shape (n,), or None
        """
        if rows.shape[0] < 2:
            raise InvalidDataError(f"at least 2 rows are needed; got n_samples={rows.shape[0]}")
        self._one_output = targets.ndim == 1
        Y = targets.reshape(len(targets), -1)
        # Targets are standardised inside: then all outputs count alike, and no target is too large for the sums.
        scaled, self._center, self._spread = standardize_outputs(Y, weight)
        self._fit_votes(coder, table, rows, targets, scaled, 0, weight, weight)
        if self.alpha_ is not None:
            self.alpha_ = self._in_units(self.alpha_, center=False)
        self.intercept_ = self._in_units(self.intercept_[None, :], center=True)[0]
        self.loo_predictions_ = self._in_units(self._fitted.loo_scores, center=True)
        kept_rows = self._fitted.loo_rows
        weights_of_loo = None if weight is None else weight[kept_rows]
        # R² has no unit, and its average over outputs is over those of standardised targets.
        with np.errstate(all="ignore"):
            self.loo_score_ = float(r2_score(scaled[kept_rows], self._fitted.loo_scores, sample_weight=weights_of_loo))
        self._targets = targets

    def _in_units(self, scores: FloatArray, *, center: bool) -> FloatArray:
        """Return scores or votes in units of the targets: one column if there is one output."""
        out = scores * self._spread + (self._center if center else 0.0)
        return out[:, 0] if self._one_output else out

    def predict(self, X: Any) -> FloatArray:
        """Return the predicted targets.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,) or (n_queries, n_outputs)
        """
        scores = self._scores(X)
        return self._in_units(scores, center=True)

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
        return float(super().score(X, y, sample_weight=sample_weight))

    def explain(self, X: Any, top: int | None = None) -> Explanation:
        """Explain the predictions: what each feature adds, whose votes they are made of, and what would change them.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        top : int, optional
            How many features and neighbours are shown, by default 5. If it is given, the table of votes has only the
            rows with the largest votes, and the others are one line.

        Returns
        -------
        Explanation
            As of `LearnedVotesClassifier.explain`. ``vote`` (``vote for output 0`` and so on if there are several) adds
            up to the prediction over the rows of a query. The answer counts as changed if it moves by a standard
            deviation of the training targets.
        """
        return explain_rows(self, X, top=top)

    def _explained_outputs(self) -> ExplainedOutputs:
        """Return what the scores are called, and how they become numbers."""
        n_outputs, one = len(self._spread), self._one_output
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
