"""Base of the weighted k nearest neighbours: it finds neighbours and their votes, whatever the votes are used for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from .._checks import whole_number
from .._typing import AnyArray, FloatArray, IndexArray
from .._validation import TakesTables
from ..engine import combine_votes, distance_votes, mass_votes
from ..engine.plan import BACKENDS
from ..neighbors.checks import check_enough
from ..neighbors.graph import equal_lists, graph_of_lists
from ..weights import Weights
from ._importances import feature_importances
from .explain import Voters, explain_votes
from .learning import Fitted
from .training import scale_repetitions

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BaseKNeighbors"]

BATCH_CELLS = 2_000_000  # how many neighbours are in memory at the same time


class BaseKNeighbors(TakesTables, BaseEstimator, ABC):
    """Base class of the weighted k-NN: it finds neighbours and their votes.

    A subclass says what the votes become: classes (`BaseKNeighborsClassifier`) or numbers (`BaseKNeighborsRegressor`).
    Another one defines ``fit``: the rows are in memory (`LocalKNeighbors`) or in blocks (`weighbors.distributed`).
    """

    _fitted: Fitted

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

    def _explain(self, X: Any) -> pd.DataFrame:
        """Return the table that `explain` returns. ``X`` holds the queries."""
        queries, own = self._queries(X)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        found = list(self._neighbors_and_votes(queries, own))
        # Only the neighbours that voted are read, since rows may be in blocks.
        rows = np.unique(np.concatenate([voters.row.ravel() for voters in found]))
        references = self._fitted.engine.references_of(rows)
        return explain_votes(references, queries, found, self._fitted.training.row, self._describe_rows, list(names))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the router that passes ``sample_weight`` to this estimator and to its weigher."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if hasattr(self.weigher, "fit"):
            mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="partial_fit", callee="fit")
            router.add(weigher=self.weigher, method_mapping=mapping)
        return router
