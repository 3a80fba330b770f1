"""The weighted k-nearest-neighbour classifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.utils import _safe_indexing, compute_class_weight
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    has_fit_parameter,
)

from .._typing import AnyArray, FloatArray, IndexArray
from .._validation import TableCoder, check_labels
from ..engine import NeighborEngine, Plan, contributions, distance_votes, mass_votes, tally
from ..engine.plan import BACKENDS
from ..exceptions import InvalidDataError, InvalidWeightsError
from ..weights import Weights
from ._checks import check_enough, check_fits, class_of_row

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WeightedKNeighborsClassifier"]

_BATCH_CELLS = 2_000_000  # neighbours in memory at once


class Voters(NamedTuple):
    """Some queries, their neighbours and the votes of these (None: one each)."""

    query: IndexArray
    distance: FloatArray
    row: IndexArray
    votes: FloatArray | None


class WeightedKNeighborsClassifier(ClassifierMixin, BaseEstimator):
    """k nearest neighbours under learned weights.

    Without a weigher it answers as :class:`sklearn.neighbors.KNeighborsClassifier` with ``p`` 1 or
    2 does. With one, feature weights shape the distance and instance weights the vote (paper 000,
    algorithm 2). Equal distances (for p = 2, equal squares) go to the lower training row, equal
    votes to the class that comes first in ``classes_``.

    Parameters
    ----------
    n_neighbors : int, default=5
    weigher : None, Weights or weigher, default=None
        A weigher is an estimator whose ``fit(X, y)`` leaves ``weights_``; a clone of it is fitted.
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
    class_weight : dict, "balanced" or None, default=None
        Multiplies ``sample_weight``, as everywhere in scikit-learn.
    backend : {"auto", "scan", "tree", "faiss", "hnsw"}, default="auto"
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
        if y is None:
            raise InvalidDataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: one label per row is needed"
            )
        coder = TableCoder(self.categorical_features, self.handle_unknown)
        table = X
        X = coder.fit_transform(self, X)
        classes, codes = check_labels(y)
        check_consistent_length(X, codes)
        mass = self._masses(X, codes, classes, sample_weight)
        kept = np.arange(X.shape[0]) if mass is None else np.flatnonzero(mass > 0)
        if len(np.unique(codes[kept])) < 2:
            raise InvalidDataError("at least 2 classes are needed; rows of weight 0 left out, there is 1 class")
        weigher = self._fitted_weigher(
            X if sparse.issparse(X) else table, X, classes[codes], kept, sample_weight, coder
        )
        weights = self._learned(weigher, X, kept, coder)
        rows, codes, mass = X if len(kept) == X.shape[0] else X[kept], codes[kept], None if mass is None else mass[kept]
        engine = NeighborEngine(
            rows,
            weights=weights,
            p=int(self.p),
            nominal=coder.nominal if coder.nominal.any() else None,
            class_of_row=class_of_row(weights, classes, codes),
            backend=self.backend,
            n_jobs=self.n_jobs,
        )
        check_enough(int(self.n_neighbors), engine, mass)
        self.classes_, self.weights_, self.weigher_ = classes, weights, weigher
        self.n_samples_fit_ = X.shape[0]
        self._coder, self._engine = coder, engine
        self._X, self._codes, self._kept, self._mass = rows, codes, kept, mass
        return self

    def _masses(self, X: Any, codes: IndexArray, classes: AnyArray, sample_weight: Any) -> FloatArray | None:
        """Repetitions each row stands for; None where every row counts once."""
        if sample_weight is None and self.class_weight is None:
            return None
        mass = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if isinstance(self.class_weight, dict):
            of_class = compute_class_weight(self.class_weight, classes=classes, y=classes[codes])
            if not (np.isfinite(of_class) & (of_class >= 0)).all():
                raise InvalidDataError(f"class_weight must be finite numbers >= 0; got {self.class_weight}")
            mass = mass * of_class[codes]
        elif self.class_weight == "balanced":  # every class weighs the same, repetitions counted
            total = np.bincount(codes, weights=mass)
            mass = mass * mass.sum() / ((total > 0).sum() * np.where(total > 0, total, 1.0))[codes]
        return None if (mass == 1).all() else mass

    def _fitted_weigher(
        self, table: Any, X: Any, y: AnyArray, kept: IndexArray, sample_weight: Any, coder: TableCoder
    ) -> Any:
        """A clone of the weigher, fitted to the kept rows; None where weights are given or absent."""
        if self.weigher is None or isinstance(self.weigher, Weights):
            return None
        weigher = clone(self.weigher)
        named = weigher.get_params(deep=False).get("categorical_features", None)
        if isinstance(named, str) and coder.nominal.any():
            weigher.set_params(categorical_features=coder.nominal)
        params: dict[str, Any] = {}
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if _routing_enabled():
            params = dict(process_routing(self, "fit", sample_weight=sample_weight).weigher.fit)
        elif sample_weight is not None and has_fit_parameter(weigher, "sample_weight"):
            params = {"sample_weight": sample_weight}
        params = {name: None if value is None else _safe_indexing(value, kept) for name, value in params.items()}
        table = table if hasattr(table, "shape") else np.asarray(table)
        return weigher.fit(_safe_indexing(table, kept), y[kept], **params)

    def _learned(self, weigher: Any, X: Any, kept: IndexArray, coder: TableCoder) -> Weights:
        """The weights of the kept rows, from the weigher or as they were given."""
        if weigher is None:
            weights = self.weigher or Weights()
            check_fits(weights, X, coder.names)
            return weights if len(kept) == X.shape[0] or not weights.instance_bound else weights.take(kept)
        learned: Any = getattr(weigher, "weights_", None)
        if not isinstance(learned, Weights):
            raise InvalidWeightsError(
                f"a weigher must leave a Weights as weights_ after fit; {type(weigher).__name__} left "
                f"{type(learned).__name__}"
            )
        return learned

    @property
    def plan_(self) -> Plan:
        """What runs in ``predict``, and why."""
        check_is_fitted(self, "classes_")
        return self._engine.plan

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
        k: Any = self.n_neighbors if n_neighbors is None else n_neighbors
        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise InvalidDataError(f"n_neighbors must be a whole number of at least 1; got {k!r}")
        queries, own = self._queries(X)
        check_enough(int(k), self._engine, None, own is not None)
        distance, row = self._engine.search(queries, int(k), own_row=own, n_jobs=self.n_jobs)
        indices: IndexArray = self._kept[row]
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
        if self._mass is not None:
            mass, reached = mass_votes(self._mass[row], int(self.n_neighbors))
            votes = mass if votes is None else votes * mass
        omega = self.weights_.votes
        if omega is not None:  # paper 000, algorithm 2: ω in the vote
            votes = omega[row] if votes is None else votes * omega[row]
        return votes, reached

    def _queries(self, X: Any) -> tuple[Any, IndexArray | None]:
        """Coded queries; without any, the training rows and the row each of them must not find."""
        check_is_fitted(self, "classes_")
        if X is None:
            return self._X, np.arange(self._X.shape[0], dtype=np.int64)
        return self._coder.transform(self, X), None

    def _neighbors_and_votes(self, X: Any, own: IndexArray | None) -> Iterator[Voters]:
        """Batches of queries with their neighbours and votes; more neighbours where mass lacks."""
        k = int(self.n_neighbors)
        check_enough(k, self._engine, self._mass, own is not None)
        most = self._engine.n_references - (own is not None)
        size = max(64, _BATCH_CELLS // k)
        for begin in range(0, X.shape[0], size):
            pending, width = np.arange(begin, min(begin + size, X.shape[0])), min(k, most)
            while len(pending):
                not_this = None if own is None else own[pending]
                distance, row = self._engine.search(X[pending], width, own_row=not_this, n_jobs=self.n_jobs)
                votes, reached = self._votes(distance, row)
                full = np.ones(len(pending), dtype=bool)
                if reached is not None and width < most:
                    full = reached >= k * (1 - 1e-12)
                yield Voters(pending[full], distance[full], row[full], None if votes is None else votes[full])
                pending, width = pending[~full], min(2 * width, most)

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
                shares[found.query] = tally(self._codes[found.row], found.votes, len(self.classes_))
        return shares

    def predict(self, X: Any) -> AnyArray:
        """The class with the most votes; of equal ones the first in ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the training rows, each left out of its own neighbours.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        shares = self.predict_proba(X)
        labels: AnyArray = self.classes_[np.argmax(shares, axis=1)]
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
        import pandas as pd

        queries, own = self._queries(X)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        parts = [self._told(queries, found) for found in self._neighbors_and_votes(queries, own) if len(found.query)]
        frame = pd.concat([part for part, _ in parts], ignore_index=True)
        shares = pd.DataFrame(np.concatenate([s for _, s in parts]), columns=[f"share of {name}" for name in names])
        return pd.concat([frame, shares], axis=1).sort_values(["query", "rank"], ignore_index=True)

    def _told(self, X: Any, found: Voters) -> tuple[pd.DataFrame, FloatArray]:
        """Neighbours of a batch, one row each, and the features' shares of their distances."""
        import pandas as pd

        terms = contributions(self._engine.references, X[found.query], found.row)
        total = terms.sum(axis=2, keepdims=True)
        np.divide(terms, total, out=terms, where=total > 0)
        cast = np.ones(found.row.shape) if found.votes is None else found.votes
        cast = np.where(cast.sum(axis=1, keepdims=True) > 0, cast, 1.0)
        width = found.row.shape[1]
        frame = pd.DataFrame(
            {
                "query": np.repeat(found.query, width),
                "rank": np.tile(np.arange(1, width + 1), len(found.query)),
                "row": self._kept[found.row].ravel(),
                "label": self.classes_[self._codes[found.row]].ravel(),
                "distance": found.distance.ravel(),
                "vote": (cast / cast.sum(axis=1, keepdims=True)).ravel(),
            }
        )
        return frame, terms.reshape(-1, terms.shape[2])

    def get_metadata_routing(self) -> MetadataRouter:
        """Who takes ``sample_weight``: this classifier, and its weigher."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if self.weigher is not None and not isinstance(self.weigher, Weights):
            router.add(weigher=self.weigher, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags
