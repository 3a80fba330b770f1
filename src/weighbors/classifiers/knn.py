"""The weighted k-nearest-neighbour classifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
)
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)

from .._checks import whole_number
from .._typing import AnyArray, FloatArray, IndexArray
from .._validation import TableCoder, TakesTables, check_labels, checked_sample_weight, require_labels
from ..engine import Plan, decide, distance_votes, mass_votes, tally
from ..engine.plan import BACKENDS
from ..exceptions import InvalidDataError
from ..weights import Weights
from ._checks import check_enough
from ._explain import Voters, explained
from ._learning import Fitted, grown, learned
from ._training import codes_among, declared_classes, masses

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WeightedKNeighborsClassifier"]

BATCH_CELLS = 2_000_000  # neighbours in memory at once


class WeightedKNeighborsClassifier(TakesTables, ClassifierMixin, BaseEstimator):
    """k nearest neighbours under learned weights.

    Without a weigher it answers as :class:`sklearn.neighbors.KNeighborsClassifier` with ``p`` 1 or
    2 does. With one, feature weights shape the distance and instance weights the vote (paper 000,
    algorithm 2). Equal distances (for p = 2, equal squares) go to the lower training row, equal
    votes by default to the class that comes first in ``classes_``.

    Parameters
    ----------
    n_neighbors : int, default=5
    weigher : None, Weights or weigher, default=None
        A weigher is an estimator whose ``fit(X, y)`` leaves ``weights_``; a clone of it is fitted. Where it
        names other ``categorical_features`` than this classifier has, it is refused.
    weights : {"uniform", "distance", "complement"} or callable, default="uniform"
        How distance makes votes: not at all; 1/d; 1 − d/√M (p = 2; 1 − d/M for p = 1) and at
        least 0, meant for min-max scaled features; or a function of the (n_queries, k) distances.
    p : {1, 2}, default=2
        City-block or Euclidean distance.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns whose values differ by 0 or 1. "from_dtype": those of a DataFrame that hold
        categories or text.
    handle_unknown : {"different", "error"}, default="different"
        A category that was not there in fit differs from all known ones, or is an error.
    vote_ties : {"first", "nearest"}, default="first"
        Of classes with equal votes, the one that comes first in ``classes_`` wins, or the one whose
        nearest voting neighbour is the nearest.
    class_weight : dict, "balanced" or None, default=None
        Multiplies ``sample_weight``, as everywhere in scikit-learn.
    backend : {"auto", "scan", "bytes", "tree", "faiss", "hnsw"}, default="auto"
        Which search serves; all but "hnsw" give the same answers. ``plan_`` says what was chosen.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    weights_ : Weights
        The weights in use.
    weigher_ : estimator or None
        The fitted clone of ``weigher``.
    plan_ : Plan
        What runs in ``predict``, and why. Printable.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where ``X`` had column names.
    n_samples_fit_ : int
        Training rows, those of weight 0 included.

    Notes
    -----
    A missing value (NaN) is at the feature's full range from everything, also from another
    missing value (HEOM). Queries are taken in the dtype of the training rows. A weigher's votes ω
    multiply the votes of the k neighbours and never their number. ``sample_weight`` counts as
    repetition: neighbours are taken until their weight reaches ``n_neighbors``, the last one counts
    for what is left, and weight 0 removes a row; so integer weights equal repeated rows.

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
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weigher": [None, Weights, HasMethods(["fit", "get_params"])],
        "weights": [StrOptions({"uniform", "distance", "complement"}), callable, None],
        "p": [Options(Real, {1, 2})],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "handle_unknown": [StrOptions({"different", "error"})],
        "vote_ties": [StrOptions({"first", "nearest"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
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
        vote_ties: str = "first",
        class_weight: Any = None,
        backend: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weigher = weigher
        self.weights = weights
        self.p = p
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.vote_ties = vote_ties
        self.class_weight = class_weight
        self.backend = backend
        self.n_jobs = n_jobs

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
        coder, table, X = self._opened(X, y)
        classes, codes = check_labels(y)
        check_consistent_length(X, codes)
        weight = checked_sample_weight(sample_weight, X)
        mass = masses(codes, classes, weight, self.class_weight)
        if mass is not None and len(np.unique(codes[mass > 0])) < 2:
            raise InvalidDataError("at least 2 classes are needed; rows of weight 0 left out, there is 1 class")
        fitted = learned(self, table, X, coder, classes, codes, weight)
        check_enough(int(self.n_neighbors), fitted.engine, fitted.mass)
        return self._become(fitted)

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, refresh: bool | None = None
    ) -> WeightedKNeighborsClassifier:
        """Store further training rows (paper 002, table 1: the concept description grows).

        Without a weigher, or with ``refresh=True``, the model is that of ``fit`` on all rows so far.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), optional
            All labels that will ever come; needed where nothing was fitted before.
        sample_weight : array-like of shape (n_samples,), optional
            Counts as repetition.
        refresh : bool, optional
            True: learn the weights anew from all rows. False: the old ones serve the new rows too.
            None: anew only where the old ones belong to the old rows (votes, scales, selections).

        Returns
        -------
        self
        """
        if not hasattr(self, "_fitted"):
            declared = declared_classes(classes)
            coder, table, X = self._opened(X, y)
            codes = codes_among(y, declared)
            check_consistent_length(X, codes)
            weight = checked_sample_weight(sample_weight, X)
            return self._become(learned(self, table, X, coder, declared, codes, weight))
        require_labels(self, y)
        codes = codes_among(y, self.classes_, classes)
        check_consistent_length(X, codes)
        weight = checked_sample_weight(sample_weight, X)
        return self._become(grown(self, self._fitted, X, codes, weight, refresh))

    def _opened(self, X: Any, y: Any) -> tuple[TableCoder, Any, Any]:
        """A coder, the table it was fitted to, and the coded rows."""
        require_labels(self, y)
        coder = TableCoder(self.categorical_features, self.handle_unknown)
        return coder, X, coder.fit_transform(self, X)

    def _become(self, fitted: Fitted) -> WeightedKNeighborsClassifier:
        self._fitted = fitted
        self.classes_, self.weights_, self.weigher_ = fitted.classes, fitted.weights, fitted.weigher
        self.n_samples_fit_ = fitted.n_given
        return self

    @property
    def plan_(self) -> Plan:
        """What runs in ``predict``, and why."""
        check_is_fitted(self, "classes_")
        return self._fitted.engine.plan

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> IndexArray | tuple[FloatArray, IndexArray]:
        """The nearest training rows.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), optional
            Without it, the training rows, none of which finds itself.
        n_neighbors : int, optional
            As in the constructor by default.
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Only with ``return_distance``.
        indices : ndarray of shape (n_queries, n_neighbors)
            Row numbers of the training data as they were given to ``fit``.
        """
        check_is_fitted(self, "classes_")
        k = whole_number(self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors")
        queries, own = self._queries(X)
        check_enough(k, self._fitted.engine, None, own is not None)
        distance, row = self._fitted.engine.search(queries, k, own_row=own, n_jobs=self.n_jobs)
        indices: IndexArray = self._fitted.training.row[row]
        return (distance, indices) if return_distance else indices

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """The neighbours as a CSR matrix of shape (n_queries, n_samples_fit).

        ``mode`` is "connectivity" (entries 1) or "distance".
        """
        if mode not in ("connectivity", "distance"):
            raise InvalidDataError(f"mode must be 'connectivity' or 'distance'; got {mode!r}")
        distance, row = self.kneighbors(X, n_neighbors)
        n, k = row.shape
        data = np.ones(row.size) if mode == "connectivity" else distance.ravel()
        return sparse.csr_matrix((data, row.ravel(), np.arange(0, n * k + 1, k)), shape=(n, self.n_samples_fit_))

    def _votes(self, distance: FloatArray, row: IndexArray) -> tuple[FloatArray | None, FloatArray | None]:
        """Votes of the neighbours, and the mass reached where rows count as repetitions."""
        span = self.n_features_in_ ** (1 / int(self.p))
        votes, reached = distance_votes(distance, self.weights, span=span), None
        if self._fitted.mass is not None:
            mass, reached = mass_votes(self._fitted.mass[row], int(self.n_neighbors))
            votes = mass if votes is None else votes * mass
        omega = self.weights_.votes
        if omega is not None:  # paper 000, algorithm 2: ω in the vote
            votes = omega[row] if votes is None else votes * omega[row]
        return votes, reached

    def _queries(self, X: Any) -> tuple[Any, IndexArray | None]:
        """Coded queries; without any, the training rows and the row each of them must not find."""
        check_is_fitted(self, "classes_")
        if X is None:
            return self._fitted.training.X, np.arange(self._fitted.training.X.shape[0], dtype=np.int64)
        return self._fitted.coder.transform(self, X), None

    def _neighbors_and_votes(self, X: Any, own: IndexArray | None) -> Iterator[Voters]:
        """Batches of queries with their neighbours and votes; more neighbours where mass lacks."""
        k = int(self.n_neighbors)
        check_enough(k, self._fitted.engine, self._fitted.mass, own is not None)
        most = self._fitted.engine.n_references - (own is not None)
        size = self._queries_at_once(k)
        for begin in range(0, X.shape[0], size):
            pending, width = np.arange(begin, min(begin + size, X.shape[0])), min(k, most)
            while len(pending):
                not_this = None if own is None else own[pending]
                distance, row = self._fitted.engine.search(X[pending], width, own_row=not_this, n_jobs=self.n_jobs)
                votes, reached = self._votes(distance, row)
                full = np.ones(len(pending), dtype=bool)
                if reached is not None and width < most:
                    full = reached >= k * (1 - 1e-12)
                yield Voters(pending[full], distance[full], row[full], None if votes is None else votes[full])
                pending, width = pending[~full], min(2 * width, most)

    def _queries_at_once(self, k: int) -> int:
        return max(64, BATCH_CELLS // k)

    def predict_proba(self, X: Any) -> FloatArray:
        """Share of the votes per class.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the training rows, each left out of its own neighbours.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns as in ``classes_``.
        """
        queries, own = self._queries(X)
        shares = np.empty((queries.shape[0], len(self.classes_)))
        for found in self._neighbors_and_votes(queries, own):
            if len(found.query):
                shares[found.query] = tally(self._fitted.training.codes[found.row], found.votes, len(self.classes_))
        return shares

    def predict(self, X: Any) -> AnyArray:
        """The class with the most votes; of equal ones as ``vote_ties`` says.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the training rows, each left out of its own neighbours.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        queries, own = self._queries(X)
        winner = np.empty(queries.shape[0], dtype=np.int64)
        for found in self._neighbors_and_votes(queries, own):
            if len(found.query):
                codes = self._fitted.training.codes[found.row]
                shares = tally(codes, found.votes, len(self.classes_))
                winner[found.query] = decide(shares, codes, found.votes, self.vote_ties)
        labels: AnyArray = self.classes_[winner]
        return labels

    def explain(self, X: Any) -> pd.DataFrame:
        """Why: the neighbours, their votes, and each feature's share of each distance.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        DataFrame
            One row per query and neighbour: ``query``, ``rank`` (1 is the nearest), ``row`` (of the
            training data), ``label``, ``distance``, ``vote`` (share of all votes), and per feature
            ``share of <name>``: its part of d² (p = 2) or d (p = 1); all 0 at distance 0.
        """
        queries, own = self._queries(X)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        found = (voters for voters in self._neighbors_and_votes(queries, own) if len(voters.query))
        return explained(
            self._fitted.engine.references, queries, found, self._fitted.training, self.classes_, list(names)
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Who takes ``sample_weight``: this classifier, and its weigher."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if self.weigher is not None and not isinstance(self.weigher, Weights):
            mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="partial_fit", callee="fit")
            router.add(weigher=self.weigher, method_mapping=mapping)
        return router
