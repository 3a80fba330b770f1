"""Base of the models that predict by votes of nearest neighbours: they have an engine, weights and a rule for votes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from .._checks import whole_number
from .._parallel.cluster import is_dask
from .._typing import AnyArray, FloatArray, IndexArray
from ..blocks import BlockTable, LazyRows, answer_lazily, is_blocks, read_target
from ..blocks import read_queries as read_block_queries
from ..engine import NeighborEngine, Plan, SearchEngine
from ..engine.plan import BACKENDS
from ..exceptions import InvalidDataError
from ..explanation import Explanation, Prepared, explain_rows
from ..neighbors.checks import check_enough, class_of_row
from ..neighbors.graph import equal_lists, graph_of_lists
from ..neighbors.resolve import resolve_weights
from ..tables.coded import CodedTable, read_queries
from ..tables.labels import require_labels
from ..tables.targets import Target
from ..weights import Weights
from ._importances import feature_importances
from .choice import AUTO, KNNChoice, choose_values, is_auto, use_values
from .explain import prepare_explanation
from .neighbor_votes import ClassVotes, MeanVotes, VoteKind, Voters, reaches_weight, search_ties, search_until
from .training import (
    Stored,
    check_growth,
    codes_among,
    declared_classes,
    join_tables,
    read_declared,
    read_further,
    repetition_weights,
    scale_repetitions,
    select_rows,
)

if TYPE_CHECKING:
    import pandas as pd

#: Constraints of the parameters that classifier and regressor share.
KNN_CONSTRAINTS: dict[str, list[Any]] = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "weigher": [None, Weights, HasMethods(["fit", "get_params"]), StrOptions({"auto"})],
    "weights": [StrOptions({"uniform", "distance", "complement", "auto"}), callable, None],
    "p": [Options(Real, {1, 2}), StrOptions({"auto"})],
    "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
    "handle_unknown": [StrOptions({"different", "error"})],
    "backend": [StrOptions(set(BACKENDS))],
    "n_jobs": [None, Integral],
}


class BaseKNeighbors(BaseEstimator):
    """Base class of the models that predict by votes of nearest neighbours.

    A subclass is a dataclass of its parameters, and defines ``fit``. Parameters that it does not have keep the values
    below.
    """

    n_neighbors: Any
    weights: Any
    categorical_features: Any
    n_jobs: int | None
    weigher: Any = None
    p: Any = 2
    handle_unknown: str = "different"
    vote_ties: str = "first"
    class_weight: Any = None
    backend: str = "auto"

    weights_: Weights
    weigher_: Any
    n_samples_fit_: int  # number of rows given, including rows of weight 0
    _engine: SearchEngine
    _table: CodedTable  # the stored rows, all of positive weight
    _row_numbers: IndexArray  # number of each stored row in the data that the user gave
    _repetition: FloatArray | None  # repetition weights of the stored rows; None: every row counts once
    _choice: KNNChoice | None  # values that were chosen for "auto"

    def _add_labelled(self, X: Any, y: Any, classes: Any, sample_weight: Any, refresh: bool | None) -> Self:
        """Store further training rows of a classifier. The parameters are those of ``partial_fit``."""
        if not hasattr(self, "weights_"):
            declared = declared_classes(classes)
            require_labels(self, y)
            return self._learn(select_rows(self, read_declared(self, X, y, declared, sample_weight)))
        require_labels(self, y)
        target = Target(codes_among(y, self.classes_, classes), self.classes_)
        return self._add_rows(X, target, sample_weight, refresh)

    def _add_rows(self, X: Any, target: Target, sample_weight: Any, refresh: bool | None) -> Self:
        """Store further training rows. The parameters are those of ``partial_fit``, with a coded target."""
        before, weights = self._table, self.weights_
        if isinstance(before.rows, LazyRows):
            raise InvalidDataError(
                "partial_fit needs all rows in memory, and those of fit are read in blocks. Append the new rows to the "
                "table and fit again, which reads it once"
            )
        new, kept = read_further(self, before.coder, X, target, sample_weight, self.class_weight)
        # Weights of single rows say nothing about new rows, so they are learned again.
        again = weights.instance_bound if refresh is None else refresh
        can_learn = self.weigher_ is not None or isinstance(self.weigher, str)  # "auto": a weigher may be chosen now
        if not (again and can_learn):
            check_growth(weights, before.classes, new.codes)
        known = None if again and can_learn else (self.weigher_, weights)
        numbers = np.concatenate([self._row_numbers, kept + self.n_samples_fit_])
        stored = Stored(join_tables(before, new), numbers, self.n_samples_fit_ + len(target.codes), known)
        return self._learn(stored, None if refresh else self._choice)

    def _learn(self, stored: Stored, choice: KNNChoice | None = None) -> Self:
        """Choose values for "auto", learn the weights, build the engine, and set the fitted attributes.

        ``choice`` has the values that were chosen in an earlier call. None: they are chosen now.
        """
        table, known, model = stored.table, stored.known, self
        automatic = [name for name in AUTO if is_auto(getattr(self, name))]
        if not automatic:
            choice = None
        else:
            choice = choice or choose_values(self, table, None if known is None else known[1])
            model = use_values(self, **{name: getattr(choice, name) for name in automatic})
        found = known or model._own_weights(table)
        if found is None:
            if table.given_weight is not None:  # the weigher uses the same repetition weights as the vote
                scaled = scale_repetitions(table.given_weight, np.arange(len(table)), int(model.n_neighbors))
                table = replace(table, given_weight=scaled)
            found = resolve_weights(model, table)
        weigher, weights = found
        engine = NeighborEngine(
            table.rows,
            weights=weights,
            p=int(model.p),
            nominal=table.nominal if table.nominal.any() else None,
            class_of_row=class_of_row(weights, table.classes, table.codes),
            backend=self.backend,
            n_jobs=self.n_jobs,
        )
        return self._store(stored._replace(known=(weigher, weights)), engine, choice)

    def _own_weights(self, table: CodedTable) -> tuple[Any, Weights] | None:
        """Return weights that a model computes without a weigher, or None."""
        return None

    def _store(self, stored: Stored, engine: SearchEngine, choice: KNNChoice | None = None) -> Self:
        """Set the fitted attributes, and return the estimator. The weights are known."""
        table = stored.table
        assert stored.known is not None
        self._repetition = repetition_weights(table.codes, table.classes, table.given_weight, self.class_weight)
        if table.numbers is None:
            self.classes_ = table.classes
        self.weigher_, self.weights_ = stored.known
        self.n_samples_fit_, self._row_numbers = stored.n_given, stored.numbers
        self._table = replace(table, given=None)  # what the user gave was needed by the weigher only
        self._engine, self._choice = engine, choice
        return self

    @property
    def _rule(self) -> ClassVotes | MeanVotes:
        """What votes become."""
        target = self._table.target
        if target.numbers is None:
            return ClassVotes(target.codes, target.classes, self.vote_ties)
        return MeanVotes(target.numbers)

    def _value_of(self, name: str) -> Any:
        """Return the value of a parameter, or the value that was chosen for "auto"."""
        check_is_fitted(self, "weights_")
        value = getattr(self, name)
        if not is_auto(value):
            return value
        if self._choice is None:
            raise InvalidDataError(f"{name}='auto' was set after fit, and values are chosen in fit. Fit again")
        return getattr(self._choice, name)

    @property
    def n_neighbors_(self) -> int:
        """The number of neighbours in use."""
        return int(self._value_of("n_neighbors"))

    @property
    def p_(self) -> int:
        """The p in use."""
        return int(self._value_of("p"))

    @property
    def vote_kind_(self) -> Any:
        """The value of ``weights`` in use."""
        return self._value_of("weights")

    @property
    def choice_(self) -> pd.DataFrame | None:
        """The candidates for "auto", one per row, or None if no parameter is "auto"."""
        import pandas as pd

        check_is_fitted(self, "weights_")
        return None if self._choice is None else pd.DataFrame(self._choice.tried)

    @property
    def plan_(self) -> Plan:
        """Which search ``predict`` uses, and why."""
        check_is_fitted(self, "weights_")
        plan: Plan = self._engine.plan
        return plan

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
        k = whole_number(self.n_neighbors_ if n_neighbors is None else n_neighbors, "n_neighbors")
        queries, own = self._queries(X)
        check_enough(k, self._engine, None, own is not None)
        distance, row = self._engine.search(queries, k, own_row=own, n_jobs=self.n_jobs)
        indices: IndexArray = self._row_numbers[row]
        return (distance, indices) if return_distance else indices

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """Return the neighbours as a CSR matrix of shape (n_queries, n_samples_fit).

        With ``mode="connectivity"``, the entries are 1. With ``mode="distance"``, they are the distances.
        """
        distance, row = self.kneighbors(X, n_neighbors)
        return graph_of_lists(equal_lists(distance, row), self.n_samples_fit_, mode)

    def _queries(self, X: Any) -> tuple[Any, IndexArray | None]:
        """Return the coded queries, and the row that each query must not find.

        If ``X`` is None, the queries are the training rows, and each must not find itself. Otherwise the second value
        is None.
        """
        check_is_fitted(self, "weights_")
        rows = self._table.rows
        if X is None:
            if isinstance(rows, LazyRows) and self._repetition is not None:  # those of weight 0 are among these rows
                positive = np.flatnonzero(self._repetition > 0)
                return LazyRows(rows.table, positive), positive
            return rows, np.arange(len(self._table), dtype=np.int64)
        if isinstance(rows, LazyRows) and is_blocks(X):
            assert isinstance(rows.table, BlockTable)
            return read_block_queries(rows.table, X, self.n_jobs), None
        queries = read_queries(self, self._table.coder, X)
        if isinstance(rows, LazyRows) and sparse.issparse(queries):  # rows in blocks are dense
            queries = queries.toarray()
        return queries, None

    def _vote_kind(self) -> VoteKind:
        """Return which neighbours vote, and how much."""
        # The largest distance of two min-max scaled rows with M features is M to the power 1/p.
        span = self.n_features_in_ ** (1 / int(self._value_of("p")))
        return VoteKind(int(self._value_of("n_neighbors")), self._value_of("weights"), span)

    def _voters(self, queries: Any, own: IndexArray | None) -> Iterator[Voters]:
        """Yield batches of queries with their neighbours and votes. The parameters are what `_queries` returns.

        If the repetition weights of a query's neighbours add up to less than k, there are more neighbours than k.
        """
        engine, kind, repetition, omega = self._engine, self._vote_kind(), self._repetition, self.weights_.votes
        if repetition is not None:
            repetition = scale_repetitions(repetition, engine.stored_rows, kind.k)
        check_enough(kind.k, engine, repetition, own is not None)
        if kind.all_ties:
            batches = search_ties(engine, queries, kind.k, repetition, own=own, n_jobs=self.n_jobs)
        else:
            enough = None if repetition is None else lambda _, row: reaches_weight(repetition[row], kind.k)
            batches = search_until(engine, queries, kind.k, enough, own=own, n_jobs=self.n_jobs)
        for query, distance, row in batches:
            mass = None if repetition is None else repetition[row]
            votes = kind.votes(distance, mass, None if omega is None else omega[row])
            yield Voters(query, distance, row, votes)

    def _scores(self, X: Any) -> FloatArray:
        """Return the shares of the classes, of shape (n_queries, n_classes), for ``predict_proba``."""
        if is_dask(X):
            return answer_lazily(self, "predict_proba", X, dtype=np.float64, width=len(self.classes_))
        queries, own = self._queries(X)
        return self._rule.scores(queries.shape[0], self._voters(queries, own))

    def predict(self, X: Any) -> AnyArray:
        """Return the class with the most votes; of a regressor, the mean target of the neighbours, by their votes.

        If several classes have equal votes, ``vote_ties`` decides, or else the first of them is returned.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the queries are the training rows, and no row is its own neighbour.

        Returns
        -------
        ndarray of shape (n_queries,), or (n_queries, n_outputs) for several outputs
            Of a Dask collection, a lazy Dask array.
        """
        check_is_fitted(self, "weights_")
        if is_dask(X):
            numbers = self._table.numbers
            dtype = self.classes_.dtype if numbers is None else np.float64
            width = None if numbers is None or numbers.ndim == 1 else numbers.shape[1]
            return answer_lazily(self, "predict", X, dtype=dtype, width=width)
        queries, own = self._queries(X)
        return self._rule.answers(queries.shape[0], self._voters(queries, own))

    def _score(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Return the accuracy of the predictions, or R². ``y`` may name a column of ``X``, if ``X`` is in blocks."""
        measure = accuracy_score if self._table.numbers is None else r2_score
        y = read_target(X, y, self.n_jobs)
        return float(measure(y, np.asarray(self.predict(X)), sample_weight=sample_weight))

    def _prepare_explanation(self, X: Any, top: int | None) -> Prepared:
        """Return what an explanation needs to know."""
        return prepare_explanation(self, X)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags
