"""What the classifier and the regressor of learned votes share: parameters, fit of the votes, explanations."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from .._parallel.threads import effective_n_jobs
from .._random import generators
from .._typing import AnyArray, BoolArray, FloatArray
from ..blocks import BlockEngine, BlockTable, LazyRows, is_blocks, read_target, read_training_blocks
from ..blocks import read_queries as open_queries
from ..explanation import Explanation, Prepared, explain_rows
from ..neighbors.checks import check_fits
from ..neighbors.resolve import resolve_weights
from ..tables.coded import CodedTable, read_queries, read_training
from ..tables.validation import TakesTables
from ..votes.fit import VotesPlan, VotesSettings, fit_votes
from ..votes.metric import VotesTable
from ..weights import Weights
from ._importances import feature_importances
from .explain_votes import ExplainedOutputs, explain_scores, make_explained_model

if TYPE_CHECKING:
    import pandas as pd


@dataclass(eq=False, repr=False)
class LearnedVotes(TakesTables, BaseEstimator):
    """Parameters, fit of the votes and explanations, which the classifier and the regressor share."""

    n_neighbors: int | str | None = "auto"
    weigher: Any = "auto"
    _: KW_ONLY
    p: int = 1
    width: float | str = "auto"
    ridge: float | str = "auto"
    categorical_features: Any = "from_dtype"
    handle_unknown: str = "different"
    random_state: Any = None
    n_jobs: int | None = None

    _needs_scaled_columns: ClassVar[bool] = True  # wide columns would decide the distances
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [StrOptions({"auto"}), None, Interval(Integral, 1, None, closed="left")],
        "weigher": [StrOptions({"auto"}), None, Weights, HasMethods(["fit", "get_params"])],
        "p": [Options(Real, {1, 2})],
        "width": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "ridge": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "handle_unknown": [StrOptions({"different", "error"})],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def _read(self, X: Any, y: Any, sample_weight: Any) -> CodedTable:
        """Return the coded training table. It keeps all rows, also those of weight 0."""
        table = (read_training_blocks if is_blocks(X) else read_training)(self, X, y, sample_weight)
        if isinstance(self.weigher, Weights):  # Rows of weight 0 are left out later, with their part of these weights.
            check_fits(self.weigher, _indexable(table), table.coder.names)
        self._n_given = len(table)
        self._row_numbers = np.arange(len(table))
        return table

    def _keep(self, table: CodedTable, kept: BoolArray) -> CodedTable:
        """Return the rows of the mask ``kept``, coded as if they alone had been given, and remember their numbers."""
        self._row_numbers = np.flatnonzero(kept)
        if not isinstance(table.rows, BlockTable):
            return table.take(self._row_numbers).recoded()
        blocks = table.rows.select(kept)
        weight = None if table.given_weight is None else table.given_weight[kept]
        target = table.target.take(self._row_numbers)
        return replace(table, rows=blocks, coder=blocks.coder, target=target, given_weight=weight)

    def _fit_votes(self, table: CodedTable, targets: AnyArray, n_classes: int, repetition: FloatArray | None) -> None:
        """Learn weights, solve for the votes, and set the fitted attributes.

        Parameters
        ----------
        table : CodedTable
            Rows of weight 0 are left out.
        targets : ndarray of shape (n,) or (n, n_outputs)
            Classes as codes, or numbers.
        n_classes : int
            0 for numbers.
        repetition : ndarray of shape (n,), or None
            Repetition weights of the votes.
        """
        weights = self._resolve_weights(table)
        if weights is not None and weights.votes is not None:
            # Rows that a weigher trusts more are fitted more closely: its votes ω, scaled to a mean of 1, multiply the
            # repetition weights.
            trusted = weights.votes / weights.votes.mean()
            repetition = np.maximum(trusted if repetition is None else repetition * trusted, 1e-6)
        repetition = _scale_to_counts(repetition)
        fitted = fit_votes(
            VotesTable(_indexable(table), table.nominal, targets, n_classes, repetition),
            VotesSettings(self.n_neighbors, int(self.p), self.width, self.ridge, effective_n_jobs(self.n_jobs)),
            weights,
            generators(self.random_state, 1)[0],
        )
        self._fitted, self._coder = fitted, table.coder
        self._loo_repetition = None if repetition is None else repetition[fitted.loo_rows]
        self.weights_, names = fitted.weights, getattr(self, "feature_names_in_", None)
        if isinstance(self.weigher, str) and names is not None:  # other weights have names of their own
            self.weights_ = replace(fitted.weights, feature_names=tuple(names))
        self.alpha_, self.intercept_ = fitted.alpha, fitted.intercept
        if fitted.alpha is not None:
            self.alpha_ = np.zeros((self._n_given, fitted.alpha.shape[1]))
            self.alpha_[self._row_numbers] = fitted.alpha
        self.width_, self.ridge_, self.p_ = fitted.votes.width, fitted.votes.ridge, int(self.p)
        self.loo_rows_ = self._row_numbers[fitted.loo_rows]

    def _resolve_weights(self, table: CodedTable) -> Weights | None:
        """Return the weights in use, or None if they are learned from the votes. Set ``weigher_``."""
        self.weigher_ = None
        if isinstance(self.weigher, str):
            return None
        if self.weigher is None:
            return Weights()
        if isinstance(self.weigher, Weights):
            left_out = len(self._row_numbers) < self._n_given
            return self.weigher.take(self._row_numbers) if left_out and self.weigher.instance_bound else self.weigher
        self.weigher_, weights = resolve_weights(self, table)
        return weights

    @property
    def plan_(self) -> VotesPlan:
        """Which rows vote, and why. It can be printed."""
        check_is_fitted(self, "weights_")
        return self._fitted.plan

    @property
    def choice_(self) -> pd.DataFrame:
        """What was tried: one row per width and ridge, and per exponent of the feature weights."""
        import pandas as pd

        check_is_fitted(self, "weights_")
        tried: list[dict[str, Any]] = [{"choice": "width and ridge", **each} for each in self._fitted.choice.tried]
        chosen = self._fitted.feature_choice
        weights = [] if chosen is None else [{"choice": "feature weights", **each} for each in chosen.tried]
        return pd.DataFrame(tried + weights)

    @property
    def feature_importances_(self) -> FloatArray:
        """The feature weights in use, one number per feature."""
        check_is_fitted(self, "weights_")
        return feature_importances(self.weights_, self.n_features_in_)

    def _queries(self, X: Any) -> Any:
        """Return the coded rows of queries."""
        check_is_fitted(self, "weights_")
        engine = getattr(self._fitted.votes, "engine", None)
        if isinstance(engine, BlockEngine) and is_blocks(X):
            return open_queries(engine.table, X, self.n_jobs)
        return read_queries(self, self._coder, X)

    def _scores(self, X: Any) -> FloatArray:
        """Return the scores of queries, of shape (n_queries, n_outputs)."""
        queries = self._queries(X)
        return self._fitted.votes.scores(queries)

    def _read_judged(self, X: Any, y: Any) -> tuple[CodedTable, Any]:
        """Return the coded rows of a table to score, and its target, which may be named as a column of ``X``."""
        rows = self._queries(X)
        return CodedTable(rows, self._coder), read_target(X, y, self.n_jobs)

    def explain(self, X: Any, top: int | None = None) -> Explanation:
        """Explain the answers: what each feature adds, whose votes they are made of, and what would change them.

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
            the shares of the classes, or the mean target, "row" for a training row, and "others" for all rows below the
            top ones. ``row`` is the number of the training row, ``label`` its class or target, ``distance`` its
            distance to the query; ``vote for <class>`` adds up to the score of the class over the rows of a query, and
            ``vote`` (``vote for output 0`` and so on if there are several) to the prediction of a regressor. ``share of
            <feature>`` is the feature's share of the distance. A numeric answer counts as changed if it moves by a
            standard deviation of the training targets.
        """
        return explain_rows(self, X, top=top)

    @abstractmethod
    def _explained_outputs(self) -> ExplainedOutputs:
        """Return what the scores are called, and how they become answers."""

    def _prepare_explanation(self, X: Any, top: int | None) -> Prepared:
        """Return what an explanation needs to know. Its parts are computed from a copy, which no later fit changes."""
        queries, known = self._queries(X), copy(self)
        outputs, rows, fitted = known._explained_outputs(), self._row_numbers, self._fitted
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))
        model = make_explained_model(known, fitted, self._coder, queries, outputs, rows, names)
        return Prepared(model, queries, None, lambda: explain_scores(fitted, queries, rows, outputs, names, top))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the router that passes ``sample_weight`` to this estimator and to its weigher."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if hasattr(self.weigher, "fit"):
            router.add(weigher=self.weigher, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router


def _indexable(table: CodedTable) -> Any:
    """Return the rows of a table. Those in blocks are read when they are indexed."""
    return LazyRows(table.rows) if isinstance(table.rows, BlockTable) else table.rows


def _scale_to_counts(repetition: FloatArray | None) -> FloatArray | None:
    """Return repetition weights. Weights of a mean below 1 only say which rows count more: they get a mean of 1."""
    if repetition is None or (repetition == 1).all():
        return None
    mean = repetition.mean()
    return repetition if mean >= 1 - 1e-9 else repetition / mean
