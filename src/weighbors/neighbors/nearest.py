"""The nearest rows under learned weights, as an estimator without a target."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._checks import whole_number
from .._typing import FloatArray, IndexArray
from ..engine import NeighborEngine, NeighborLists, Plan
from ..engine.plan import BACKENDS
from ..exceptions import InvalidDataError, InvalidWeightsError
from ..tables.coded import CodedTable, read_queries, read_training, takes_coded_tables
from ..tables.targets import wanted_target
from ..tables.validation import TableCoder, TakesTables
from ..weights import Weights
from .checks import check_enough, class_of_row
from .graph import equal_lists, graph_of_lists
from .resolve import resolve_weights


@dataclass(eq=False, repr=False)
class WeightedNearestNeighbors(TakesTables, BaseEstimator):
    """Find the nearest rows of a table, under weights.

    It takes the place of scikit-learn's `NearestNeighbors`, also in imbalanced-learn's samplers, and has the weights,
    categories, missing values and speed of this library.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours that ``kneighbors`` returns.
    weigher : weigher, Weights or None, default=None
        Where the weights come from. A weigher is cloned and fitted in ``fit(X, y)``. None: no weights.
    radius : float, default=1.0
        Largest distance of the neighbours that ``radius_neighbors`` returns.
    p : {1, 2}, default=2
        1 for the city-block distance, 2 for the Euclidean distance.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns whose values differ by 0 or 1. "from_dtype": the columns of a DataFrame that contain
        categories or text.
    handle_unknown : {"different", "error"}, default="different"
        What happens if a query has a category that was not in the training data. "different": it differs from all
        known categories. "error": an error is raised.
    backend : {"auto", "scan", "single", "pairs", "sparse", "rounded", "bytes", "tree", "hnsw"}, default="auto"
        Which search ``kneighbors`` uses. All of them except "hnsw" give the same results. ``radius_neighbors`` always
        measures all rows.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    weights_ : Weights
        The weights in use. Votes have no effect here.
    weigher_ : estimator or None
        The fitted clone of ``weigher``.
    n_samples_fit_ : int
        Number of training rows.
    effective_metric_ : str
        "euclidean" or "manhattan", "minkowski" with weights per feature, and "weighted" for all other distances:
        weights per class or instance, instance scales, categories or missing values.
    effective_metric_params_ : dict
        For "minkowski", ``p`` and the weights ``w`` as in scikit-learn. Otherwise empty.
    plan_ : Plan
        Which search ``kneighbors`` uses, and why. It can be printed.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if ``X`` had column names.

    Notes
    -----
    Neighbours are ordered by distance (for p = 2 by squared distance, before the root rounds), and equal distances by
    row number; scikit-learn's order of equal distances is arbitrary. So a query that occurs several times in the table
    finds the copy with the lowest row number first. If the queries are left out (``kneighbors()``), no row is its own
    neighbour, however many copies it has.

    A missing value (NaN) differs from every value by the full column range, also from another missing value (HEOM).
    Rows that an instance mask of the weights leaves out are never neighbours.

    Examples
    --------
    >>> from weighbors import WeightedNearestNeighbors, Weights
    >>> X = [[0.0, 5.0], [1.0, 0.0], [3.0, 1.0]]
    >>> nearest = WeightedNearestNeighbors(1, weigher=Weights(feature_weights=[1.0, 0.0])).fit(X)
    >>> nearest.kneighbors([[0.4, 0.0]])
    (array([[0.4]]), array([[0]]))
    >>> nearest.radius_neighbors_graph(radius=2.5).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """

    n_neighbors: int = 5
    weigher: Any = None
    _: KW_ONLY
    radius: float = 1.0
    p: int = 2
    categorical_features: Any = "from_dtype"
    handle_unknown: str = "different"
    backend: str = "auto"
    n_jobs: int | None = None

    _needs_scaled_columns: ClassVar[bool] = True  # wide columns would decide the distances

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weigher": [None, Weights, HasMethods(["fit", "get_params"])],
        "radius": [Interval(Real, 0, None, closed="both")],
        "p": [Options(Real, {1, 2})],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "handle_unknown": [StrOptions({"different", "error"})],
        "backend": [StrOptions(set(BACKENDS))],
        "n_jobs": [None, Integral],
    }

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any = None) -> WeightedNearestNeighbors:
        """Store the rows, and learn their weights if there is a weigher.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Needed by a weigher and by weights per class or interval. Otherwise it is not used.

        Returns
        -------
        self
        """
        table = self._read(X, y)
        self.weigher_, self.weights_ = resolve_weights(self, table)
        self._engine = NeighborEngine(
            table.rows,
            weights=self.weights_,
            p=int(self.p),
            nominal=table.nominal if table.nominal.any() else None,
            class_of_row=class_of_row(self.weights_, table.classes, table.codes),
            backend=self.backend,
            n_jobs=self.n_jobs,
        )
        self._coder, self._rows, self.n_samples_fit_ = table.coder, table.rows, len(table)
        return self

    def _read(self, X: Any, y: Any) -> CodedTable:
        """Return the checked and coded table. It has a target only if the weigher or the weights need one."""
        if not isinstance(self.weigher, (Weights, type(None))):
            name = type(self.weigher).__name__
            if y is None:
                raise InvalidDataError(
                    f"the weigher {name} requires y to be passed, but the target y is None. Use fit(X, y). Where other "
                    f"code calls fit(X), as imbalanced-learn's samplers do, give it weights instead: weigher="
                    f"{name}(...).fit(X, y).weights_"
                )
            return read_training(self, X, y, target_type=wanted_target(self.weigher))
        if self.weigher is not None and self.weigher.classes is not None:
            if y is None:
                raise InvalidWeightsError(
                    f"weights per {self.weigher.kind} need the class of every row, but y is None. Use fit(X, y)"
                )
            return read_training(self, X, y)
        coder = TableCoder(self.categorical_features, self.handle_unknown)
        return CodedTable(coder.fit_transform(self, X), coder)

    @property
    def plan_(self) -> Plan:
        """Which search ``kneighbors`` uses, and why."""
        check_is_fitted(self, "n_samples_fit_")
        return self._engine.plan

    @property
    def effective_metric_(self) -> str:
        """The distance by its name in scikit-learn, or "weighted" if scikit-learn has no such distance."""
        check_is_fitted(self, "n_samples_fit_")
        references = self._engine.references
        plain = references.n_numeric == references.m and not references.missing
        if not plain or references.cells is not None or references.scales is not None:
            return "weighted"
        if references.feature_weights is not None or references.m < references.n_columns:
            return "minkowski"
        return "euclidean" if references.p == 2 else "manhattan"

    @property
    def effective_metric_params_(self) -> dict[str, Any]:
        """The parameters of ``effective_metric_``."""
        if self.effective_metric_ != "minkowski":
            return {}
        references, w = self._engine.references, np.zeros(self.n_features_in_)
        w[references.columns] = 1.0 if references.feature_weights is None else references.feature_weights
        return {"p": references.p, "w": w}

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> IndexArray | tuple[FloatArray, IndexArray]:
        """Return the nearest training rows of each query.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_queries, n_features), optional
            By default, the queries are the training rows, and no row is its own neighbour.
        n_neighbors : int, optional
            By default the ``n_neighbors`` of the constructor.
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Only with ``return_distance``.
        indices : ndarray of shape (n_queries, n_neighbors)
            Row numbers in the training data.
        """
        queries, own = self._queries(X)
        k = whole_number(self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors")
        check_enough(k, self._engine, None, own is not None)
        distance, row = self._engine.search(queries, k, own_row=own, n_jobs=self.n_jobs)
        return (distance, row) if return_distance else row

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """Return the nearest training rows of each query as a sparse matrix.

        Parameters
        ----------
        X, n_neighbors
            As in `kneighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether entries are 1 or the distances.

        Returns
        -------
        CSR matrix of shape (n_queries, n_samples_fit)
        """
        distance, row = self.kneighbors(X, n_neighbors)
        return graph_of_lists(equal_lists(distance, row), self.n_samples_fit_, mode)

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        """Return all training rows within a radius of each query.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_queries, n_features), optional
            By default, the queries are the training rows, and no row is its own neighbour.
        radius : float, optional
            Rows at exactly this distance are included. By default the ``radius`` of the constructor.
        return_distance : bool, default=True
        sort_results : bool, default=False
            For scikit-learn's interface: lists are always sorted by distance and row number.

        Returns
        -------
        distances : ndarray of shape (n_queries,) of arrays
            Only with ``return_distance``.
        indices : ndarray of shape (n_queries,) of arrays
            Row numbers in the training data.
        """
        if sort_results and not return_distance:
            raise InvalidDataError("return_distance must be True if sort_results is True.")
        lists = self._within(X, radius)
        rows = lists.split(lists.row)
        return (lists.split(lists.distance), rows) if return_distance else rows

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: str = "connectivity", sort_results: bool = False
    ) -> Any:
        """Return all training rows within a radius of each query as a sparse matrix.

        Parameters
        ----------
        X, radius, sort_results
            As in `radius_neighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether entries are 1 or the distances. The entries of a row are sorted by distance.

        Returns
        -------
        CSR matrix of shape (n_queries, n_samples_fit)
        """
        return graph_of_lists(self._within(X, radius), self.n_samples_fit_, mode)

    def _within(self, X: Any, radius: float | None) -> NeighborLists:
        """Return the training rows within a radius of each query, as one list after the other."""
        queries, own = self._queries(X)
        wanted = self.radius if radius is None else radius
        if isinstance(wanted, bool) or not isinstance(wanted, Real) or not wanted >= 0:
            raise InvalidDataError(f"radius must be a number of at least 0; got {wanted!r}")
        return self._engine.search_radius(queries, float(wanted), own_row=own, n_jobs=self.n_jobs)

    def _queries(self, X: Any) -> tuple[Any, IndexArray | None]:
        """Return the coded queries, and the row that each query must not find, or None if ``X`` is given."""
        check_is_fitted(self, "n_samples_fit_")
        if X is None:
            return self._rows, np.arange(self.n_samples_fit_, dtype=np.int64)
        return read_queries(self, self._coder, X), None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.weigher is not None and not isinstance(self.weigher, Weights)
        return tags
