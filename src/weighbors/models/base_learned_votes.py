"""Base of the estimators with learned votes: fit, weights by name, and what an explanation needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from .._parallel.threads import effective_n_jobs
from .._random import generators
from .._typing import AnyArray, FloatArray, IndexArray
from ..explanation import ExplainedModel, Prepared, ProductVotes, RowVoters
from ..neighbors.checks import check_fits
from ..neighbors.resolve import resolve_weights
from ..tables.frames import as_pandas
from ..tables.labels import require_labels
from ..tables.validation import TableCoder, TakesTables
from ..votes.fit import FittedVotes, VotesPlan, VotesSettings, fit_votes
from ..votes.local import LocalVotes
from ..votes.metric import VotesTable
from ..votes.solve import StoredVotes
from ..weights import Weights
from ._importances import feature_importances
from .explain_votes import explain_scores, stored_references, votes_of
from .training import indexable

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ExplainedOutputs:
    """What the scores of a model with learned votes are called, and how they become answers."""

    names: tuple[str, ...]  # of the classes or outputs
    columns: tuple[str, ...]  # of the table of votes
    labels: AnyArray  # (n_training,) or (n_training, n_outputs) classes or targets
    strata: AnyArray  # (n_training,) codes of classes, or targets
    spread: FloatArray  # (n_outputs,) factor from the scores of the fit to those of the user
    center: FloatArray  # (n_outputs,) added to the scores of the fit
    answers: Callable[[FloatArray], AnyArray]  # scores of the user → what predict returns
    probabilities: Callable[[FloatArray], FloatArray] | None = None
    classes: AnyArray | None = None
    target_spread: FloatArray | None = None  # (n_outputs,) standard deviation of numeric targets


class BaseLearnedVotes(TakesTables, BaseEstimator, ABC):
    """Base class of the classifier and the regressor of learned votes: parameters, fit of the votes, explanations."""

    _fitted: FittedVotes
    _coder: TableCoder
    _n_given: int  # rows that the user gave
    _row_numbers: IndexArray  # of the rows whose weight is above 0
    weights_: Weights

    _needs_scaled_columns = True  # wide columns would decide the distances

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
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

    n_neighbors: Any
    weigher: Any
    p: int
    width: Any
    ridge: Any
    categorical_features: Any
    handle_unknown: str
    random_state: Any
    n_jobs: int | None

    def _check_rows(self, X: Any, y: Any) -> tuple[TableCoder, Any, Any]:
        """Return a coder, the table to which it was fitted, and the coded rows."""
        require_labels(self, y)
        coder = TableCoder(self.categorical_features, self.handle_unknown)
        X = as_pandas(X)
        rows = coder.fit_transform(self, X)
        if isinstance(self.weigher, Weights):  # Here all rows are still there: those of weight 0 are left out later.
            check_fits(self.weigher, rows, coder.names)
        self._n_given = rows.shape[0]
        return coder, X, rows

    def _fit_votes(
        self,
        coder: TableCoder,
        table: Any,
        rows: Any,
        y: AnyArray,
        targets: AnyArray,
        n_classes: int,
        repetition: FloatArray | None,
        sample_weight: FloatArray | None,
    ) -> None:
        """Learn weights, solve for the votes, and set the fitted attributes.

        Parameters
        ----------
        coder : TableCoder
        table, rows
            The rows as the user gave them, and coded. Rows of weight 0 are left out.
        y : ndarray of shape (n,) or (n, n_outputs)
            Targets as the weigher gets them.
        targets : ndarray of shape (n,) or (n, n_outputs)
            Classes as codes, or numbers.
        n_classes : int
            0 for numbers.
        repetition, sample_weight : ndarray of shape (n,), or None
            Repetition weights of the votes, and the weights as the user gave them, for the weigher.
        """
        weights = self._weights_of(coder, table, rows, y, sample_weight)
        if weights is not None and weights.votes is not None:
            # Rows that a weigher trusts more are fitted more closely: its votes ω, scaled to a mean of 1, multiply the
            # repetition weights.
            trusted = weights.votes / weights.votes.mean()
            repetition = trusted if repetition is None else repetition * trusted
            repetition = np.maximum(repetition, 1e-6)
        training = VotesTable(rows, coder.nominal, targets, n_classes, _scaled(repetition))
        settings = VotesSettings(
            self.n_neighbors, int(self.p), self.width, self.ridge,
            effective_n_jobs(self.n_jobs),
        )  # fmt: skip
        fitted = fit_votes(training, settings, weights, generators(self.random_state, 1)[0])
        if training.in_memory:  # The stored rows are in the votes; a second copy would make the model twice as large.
            training = replace(training, rows=training.rows[:0])
        self._fitted, self._coder, self._training = fitted, coder, training
        self.weights_, self.alpha_, self.intercept_ = self._named(fitted.weights), fitted.alpha, fitted.intercept
        if fitted.alpha is not None and self._leaves_out:
            self.alpha_ = np.zeros((self._n_given, fitted.alpha.shape[1]))
            self.alpha_[self._row_numbers] = fitted.alpha
        self.width_, self.ridge_, self.p_ = fitted.votes.width, fitted.votes.ridge, int(self.p)
        self.loo_rows_ = self._row_numbers[fitted.loo_rows]

    def _weights_of(
        self, coder: TableCoder, table: Any, rows: Any, y: AnyArray, sample_weight: FloatArray | None
    ) -> Weights | None:
        """Return the weights in use, or None if they are learned from the votes. Set ``weigher_``."""
        self.weigher_ = None
        if isinstance(self.weigher, str):
            return None
        if self.weigher is None:
            return Weights()
        if isinstance(self.weigher, Weights):
            some = self._leaves_out and self.weigher.instance_bound
            return self.weigher.take(self._row_numbers) if some else self.weigher
        table = rows if sparse.issparse(rows) else indexable(table, coder.nominal)
        self.weigher_, weights = resolve_weights(self, table, y, rows, coder, sample_weight)
        return weights

    def _named(self, weights: Weights) -> Weights:
        """Return weights that were learned from the votes with the names of the features. Others have their own."""
        names = getattr(self, "feature_names_in_", None)
        if not isinstance(self.weigher, str) or names is None:
            return weights
        return replace(weights, feature_names=tuple(names))

    @property
    def _leaves_out(self) -> bool:
        """Whether rows of weight 0 were left out."""
        return len(self._row_numbers) < self._n_given

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
        tried: list[dict[str, Any]] = [
            {"choice": "width and ridge", "width": width, "ridge": ridge, "loss": loss}
            for (width, ridge), loss in self._fitted.choice.tried.items()
        ]
        chosen = self._fitted.feature_choice
        weights = [] if chosen is None else [{"choice": "feature weights", **each} for each in chosen.tried]
        return pd.DataFrame(tried + weights)

    @property
    def feature_importances_(self) -> FloatArray:
        """The feature weights in use, one number per feature."""
        check_is_fitted(self, "weights_")
        return feature_importances(self.weights_, self.n_features_in_)

    def _scores(self, X: Any) -> FloatArray:
        """Return the scores of queries, of shape (n_queries, n_outputs)."""
        check_is_fitted(self, "weights_")
        return self._fitted.votes.scores(self._queries(X))

    def _queries(self, X: Any) -> Any:
        """Return the coded rows of queries."""
        return self._coder.transform(self, X)

    @abstractmethod
    def _explained_outputs(self) -> ExplainedOutputs:
        """Return what the scores are called, and how they become answers."""

    def _prepare_explanation(self, X: Any, top: int | None) -> Prepared:
        """Return what an explanation needs to know. Its parts are computed from a copy, which no later fit changes."""
        check_is_fitted(self, "weights_")
        queries, known = self._queries(X), copy(self)
        return Prepared(known._explained_model(queries), queries, None, lambda: known._explain_table(queries, top))

    def _explained_model(self, queries: Any) -> ExplainedModel:
        """Return the model in the form that explanations need. ``queries`` are coded."""
        fitted, outputs = self._fitted, self._explained_outputs()
        references, training_rows = stored_references(fitted, queries)
        nominal = self._coder.nominal if self._coder.nominal.any() else np.zeros(self.n_features_in_, dtype=bool)

        def voters(i: int) -> RowVoters:
            found = votes_of(fitted, queries[i : i + 1])
            rows, labels = self._row_numbers[found.rows], outputs.labels[found.rows]
            mean = found.mean * outputs.spread + outputs.center
            return RowVoters(rows, labels, found.distance, found.votes * outputs.spread, mean, True)

        def scores(rows: Any, own: int | None) -> FloatArray:
            return fitted.votes.scores(rows) * outputs.spread + outputs.center

        products: tuple[ProductVotes, ...] = ()
        if isinstance(fitted.votes, StoredVotes) and references.p == 1:
            products = (ProductVotes(references, fitted.votes.alpha * outputs.spread, fitted.votes.width),)
        k = fitted.votes.k if isinstance(fitted.votes, LocalVotes) else 0
        return ExplainedModel(
            kind=type(self).__name__,
            encode=self._queries,
            scores=scores,
            answers=lambda rows, own: outputs.answers(scores(rows, own)),
            probabilities=outputs.probabilities,
            voters=voters,
            outputs=outputs.names,
            classes=outputs.classes,
            references=references,
            row_numbers=self._row_numbers[training_rows],
            strata=outputs.strata[training_rows],
            nominal=nominal,
            categories=self._coder.categories,
            names=tuple(str(name) for name in self._input_names()),
            cost=float(fitted.plan.n_rows * self.n_features_in_ + k**3),
            products=products,
            target_spread=outputs.target_spread,
        )

    def _input_names(self) -> list[str]:
        """Return the names of the features, or x0, x1, ... if there are no names."""
        return list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))

    def _explain_table(self, queries: Any, top: int | None) -> pd.DataFrame:
        """Return the table of votes, in units of the scores. ``queries`` are coded."""
        outputs = self._explained_outputs()
        columns = list(outputs.columns)
        names = self._input_names()
        frame = explain_scores(self._fitted, queries, self._row_numbers, outputs.labels, columns, names, top)
        frame[columns] = frame[columns] * outputs.spread
        frame.loc[frame["voter"] == "mean", columns] += outputs.center
        return frame

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the router that passes ``sample_weight`` to this estimator and to its weigher."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if hasattr(self.weigher, "fit"):
            router.add(weigher=self.weigher, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router


def _scaled(repetition: FloatArray | None) -> FloatArray | None:
    """Return repetition weights. Weights of a mean below 1 only say which rows count more: they get a mean of 1."""
    if repetition is None or (repetition == 1).all():
        return None
    mean = repetition.mean()
    return repetition if mean >= 1 - 1e-9 else repetition / mean
