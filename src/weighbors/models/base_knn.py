"""Base of the weighted k nearest neighbours: it finds neighbours and their votes, whatever the votes are used for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from .._checks import whole_number
from .._typing import AnyArray, FloatArray, IndexArray
from ..engine import References, combine_votes, distance_votes, mass_votes
from ..engine.plan import BACKENDS
from ..explanation import ExplainedModel, Explanation, Prepared, RowVoters, explain_rows
from ..neighbors.checks import check_enough
from ..neighbors.graph import equal_lists, graph_of_lists
from ..tables.validation import TakesTables
from ..weights import Weights
from ._importances import feature_importances
from .explain import Voters, VotesOfRows, explain_votes, vote_shares, voters_by_query
from .explain_votes import some_references
from .learning import Fitted
from .training import scale_repetitions

BATCH_CELLS = 2_000_000  # how many neighbours are in memory at the same time


class BaseKNeighbors(TakesTables, BaseEstimator, ABC):
    """Base class of the weighted k-NN: it finds neighbours and their votes.

    A subclass says what the votes become: classes (`BaseKNeighborsClassifier`) or numbers (`BaseKNeighborsRegressor`).
    Another one defines ``fit``: the rows are in memory (`LocalKNeighbors`) or in blocks (`weighbors.distributed`).
    """

    _fitted: Fitted

    _needs_scaled_columns = True  # wide columns would decide the distances

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weigher": [None, Weights, HasMethods(["fit", "get_params"])],
        "weights": [StrOptions({"uniform", "distance", "complement"}), callable, None],
        "p": [Options(Real, {1, 2})],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "handle_unknown": [StrOptions({"different", "error"})],
        "backend": [StrOptions(set(BACKENDS))],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        weigher: Any = None,
        *,
        weights: str | Callable[[FloatArray], Any] = "uniform",
        p: int = 2,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        backend: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weigher = weigher
        self.weights = weights
        self.p = p
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.backend = backend
        self.n_jobs = n_jobs

    def _use(self, fitted: Fitted) -> Self:
        """Set the fitted attributes from ``fitted``, and return the estimator."""
        self._fitted = fitted
        self.weights_, self.weigher_ = fitted.weights, fitted.weigher
        self.n_samples_fit_ = fitted.n_given
        return self

    def _value_of(self, name: str) -> Any:
        """Return the value of a parameter that search and votes use. A subclass may choose values in ``fit``."""
        return getattr(self, name)

    @property
    def _class_weight(self) -> Any:
        """Factors of the sample weights for each class, or None."""
        return None

    @abstractmethod
    def _describe_rows(self, row: IndexArray) -> dict[str, AnyArray]:
        """Return the columns of `explain` that say what the stored rows ``row`` vote for."""

    @property
    def plan_(self) -> Any:
        """Which search ``predict`` uses, and why."""
        check_is_fitted(self, "weights_")
        return self._fitted.engine.plan

    @property
    def feature_importances_(self) -> FloatArray:
        """The feature weights in use, one number per feature."""
        check_is_fitted(self, "weights_")
        return feature_importances(self.weights_, self.n_features_in_)

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> IndexArray | tuple[FloatArray, IndexArray]:
        """Return the nearest training rows of each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), optional
            By default, the queries are the training rows, and no row is its own neighbour.
        n_neighbors : int, optional
            By default the ``n_neighbors`` of the constructor.
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Only with ``return_distance``.
        indices : ndarray of shape (n_queries, n_neighbors)
            Row numbers in the training data that were given to ``fit``.
        """
        check_is_fitted(self, "weights_")
        k = whole_number(self._value_of("n_neighbors") if n_neighbors is None else n_neighbors, "n_neighbors")
        queries, own = self._queries(X)
        check_enough(k, self._fitted.engine, None, own is not None)
        distance, row = self._fitted.engine.search(queries, k, own_row=own, n_jobs=self.n_jobs)
        indices: IndexArray = self._fitted.training.row[row]
        return (distance, indices) if return_distance else indices

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """Return the neighbours as a CSR matrix of shape (n_queries, n_samples_fit).

        With ``mode="connectivity"``, the entries are 1. With ``mode="distance"``, they are the distances.
        """
        distance, row = self.kneighbors(X, n_neighbors)
        return graph_of_lists(equal_lists(distance, row), self.n_samples_fit_, mode)

    def _shares(self, repetition: FloatArray) -> FloatArray:
        """Return how many of the k votes each neighbour has.

        ``repetition`` has the repetition weights of the neighbours, nearest first.
        """
        return mass_votes(repetition, int(self._value_of("n_neighbors")))[0]

    def _distance_votes(self, distance: FloatArray, shares: FloatArray | None) -> FloatArray | None:
        """Return the factor of each vote that depends on the distance. None: all factors are equal.

        ``shares`` are the votes that follow from the repetition weights, or None if there are no repetition weights.
        """
        # The largest distance of two min-max scaled rows with M features is M to the power 1/p.
        span = self.n_features_in_ ** (1 / int(self._value_of("p")))
        return distance_votes(distance, self._value_of("weights"), span=span, shares=shares)

    def _voters(
        self, query: IndexArray, distance: FloatArray, row: IndexArray, repetition: FloatArray | None
    ) -> Voters:
        """Return a batch of queries with their neighbours, and the votes of the neighbours.

        Parameters
        ----------
        query : ndarray of int
            Numbers of the queries.
        distance, row : ndarrays of shape (n_queries, width)
            Distances and stored rows of the neighbours.
        repetition : ndarray or None
            Repetition weights of all stored rows. None: every row counts once.
        """
        shares = None if repetition is None else self._shares(repetition[row])
        omega = self.weights_.votes  # paper 000, algorithm 2: ω in the vote
        by_distance = self._distance_votes(distance, shares)
        return Voters(query, distance, row, combine_votes(by_distance, shares, None if omega is None else omega[row]))

    def _queries(self, X: Any) -> tuple[Any, IndexArray | None]:
        """Return the coded queries, and the row that each query must not find.

        If ``X`` is None, the queries are the training rows, and each must not find itself. Otherwise the second value
        is None.
        """
        check_is_fitted(self, "weights_")
        if X is None:
            return self._fitted.training.X, np.arange(self._fitted.training.X.shape[0], dtype=np.int64)
        return self._fitted.coder.transform(self, X), None

    def _neighbors_and_votes(self, X: Any, own: IndexArray | None) -> Iterator[Voters]:
        """Yield batches of queries with their neighbours and votes.

        If the repetition weights of a query's neighbours add up to less than k, the number of neighbours is doubled
        until they reach k or there are no more rows. ``own`` is the row that each query must not find, or None.
        """
        k = int(self._value_of("n_neighbors"))
        repetition = self._repetitions(own)
        most = self._fitted.engine.n_references - (own is not None)
        size = self._queries_at_once(k)
        for begin in range(0, X.shape[0], size):
            pending, width = np.arange(begin, min(begin + size, X.shape[0])), min(k, most)
            while len(pending):
                not_this = None if own is None else own[pending]
                distance, row = self._fitted.engine.search(X[pending], width, own_row=not_this, n_jobs=self.n_jobs)
                # If repetition weights are below 1, k neighbours may have less than k votes in all. Queries with too
                # few votes get twice as many neighbours.
                full = np.ones(len(pending), dtype=bool)
                if repetition is not None and width < most:
                    full = repetition[row].sum(axis=1) >= k * (1 - 1e-12)
                if full.any():
                    yield self._voters(pending[full], distance[full], row[full], repetition)
                pending, width = pending[~full], min(2 * width, most)

    def _repetitions(self, own: IndexArray | None) -> FloatArray | None:
        """Return the repetition weights of the stored rows, or None if every row counts once.

        Raise `InvalidDataError` if there are too few rows for k neighbours. ``own`` is the row that each query must
        not find, or None.
        """
        k, engine, repetition = int(self._value_of("n_neighbors")), self._fitted.engine, self._fitted.repetition
        repetition = None if repetition is None else scale_repetitions(repetition, engine.stored_rows, k)
        check_enough(k, engine, repetition, own is not None)
        return repetition

    def _queries_at_once(self, k: int) -> int:
        """Return the number of queries per batch, so that the neighbours of a batch fit in memory."""
        size, limit = max(64, BATCH_CELLS // k), self._fitted.engine.query_limit(k)
        return size if limit is None else min(size, max(64, limit))

    @abstractmethod
    def _coded_scores(self, queries: Any, own: IndexArray | None) -> FloatArray:
        """Return shares of classes or predicted numbers, of shape (n_queries, n_outputs). See `_queries`."""

    @abstractmethod
    def _coded_answers(self, queries: Any, own: IndexArray | None) -> AnyArray:
        """Return what ``predict`` returns. The parameters are what `_queries` returns."""

    @abstractmethod
    def _explained_votes(self, row: IndexArray, share: FloatArray) -> VotesOfRows:
        """Return what stored rows vote for, and their votes for all outputs. ``share`` has their shares."""

    def _explained_parts(self) -> dict[str, Any]:
        """Return the fields of `ExplainedModel` that differ between classes and numbers."""
        return {"probabilities": None, "classes": None, "target_spread": None}

    def _prepare_explanation(self, X: Any, top: int | None) -> Prepared:
        """Return what an explanation needs to know. Its parts are computed from a copy, which no later fit changes."""
        queries, own = self._queries(X)
        known = copy(self)
        found = list(self._neighbors_and_votes(queries, own))
        neighbors = np.unique(np.concatenate([voters.row.ravel() for voters in found]))
        # Rows in blocks are not read all: some, and the neighbours that voted, stand for them.
        references = some_references(self._fitted.engine, lambda: neighbors)
        names, training = self._input_names(), self._fitted.training
        table = explain_votes(references, queries, found, training.row, self._describe_rows, names)
        model = known._explained_model(references, voters_by_query(found))
        return Prepared(model, queries, own, lambda: table)

    def _explained_model(self, references: References, voters_of: list[Voters]) -> ExplainedModel:
        """Return the model in the form that explanations need.

        ``references`` are stored rows, and ``voters_of`` has the voters of each query.
        """
        coder, numbers = self._fitted.coder, self._fitted.training.row

        def voters(i: int) -> RowVoters:
            found = voters_of[i]
            row, share = found.row[0], vote_shares(found)[0]
            labels, votes = self._explained_votes(row, share)
            return RowVoters(numbers[row], labels, found.distance[0], votes, np.zeros(votes.shape[1]), False)

        def own_rows(rows: Any, own: int | None) -> IndexArray | None:
            return None if own is None else np.full(rows.shape[0], own, dtype=np.int64)

        return ExplainedModel(
            kind=type(self).__name__,
            encode=lambda X: self._queries(X)[0],
            scores=lambda rows, own: self._coded_scores(rows, own_rows(rows, own)),
            answers=lambda rows, own: self._coded_answers(rows, own_rows(rows, own)),
            voters=voters,
            outputs=self._output_names(),
            references=references,
            row_numbers=numbers[references.row_of_slot],
            strata=self._strata(references.row_of_slot),
            nominal=coder.nominal if coder.nominal.any() else np.zeros(self.n_features_in_, dtype=bool),
            categories=coder.categories,
            names=tuple(self._input_names()),
            cost=float(self._fitted.engine.n_references * self.n_features_in_),
            **self._explained_parts(),
        )

    @abstractmethod
    def _strata(self, row: IndexArray) -> AnyArray:
        """Return the codes of the classes, or the targets, of the stored rows ``row``."""

    @abstractmethod
    def _output_names(self) -> tuple[str, ...]:
        """Return the names of the classes or outputs."""

    def _input_names(self) -> list[str]:
        """Return the names of the features, or x0, x1, ... if there are no names."""
        return [str(name) for name in getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])]

    def explain(self, X: Any, top: int | None = None) -> Explanation:
        """Explain the answers: what each feature adds, which neighbours vote, and what would change the answer.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        top : int, optional
            How many features and neighbours are shown, by default 5.

        Returns
        -------
        Explanation
            It can be printed. Its table of votes, ``frame()``, has one row per query and neighbour. The columns are
            ``query``, ``rank`` (1 is the nearest), ``row`` (number of the training row), what the row votes for,
            ``distance``, ``vote`` (the neighbour's share of all votes of the query), and for each feature ``share of
            <name>``: the feature's share of d² (p = 2) or d (p = 1). At distance 0 all shares are 0. A classifier has
            the column ``label``. A regressor has ``target`` (``target of output 0`` and so on if ``y`` had columns):
            over the neighbours of a query, the products of vote and target add up to the prediction.
        """
        return explain_rows(self, X, top=top)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the router that passes ``sample_weight`` to this estimator and to its weigher."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if hasattr(self.weigher, "fit"):
            mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="partial_fit", callee="fit")
            router.add(weigher=self.weigher, method_mapping=mapping)
        return router
