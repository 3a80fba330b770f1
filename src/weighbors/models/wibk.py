"""WIB-K: a k-NN on integers, with weights from representative intervals (paper 002)."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._typing import AnyArray, FloatArray, IndexArray
from ..engine import Plan
from ..explanation import Explanation, OriginalValues, Prepared, explain_rows
from ..tables.coded import CodedTable
from ..tables.frames import as_pandas
from ..tables.labels import check_labels, require_labels
from ..tables.targets import Target
from ..tables.unscaled import columns_checked
from ..tables.validation import TakesTables, check_sample_weight
from ..weighers.intervals import INTERVAL_CONSTRAINTS, RepresentativeIntervals, interval_frame
from ..weighers.intervals.discretize import IntegerCoder
from ..weights import Weights
from .knn import WeightedKNeighborsClassifier
from .training import codes_among, declared_classes, join_tables, scale_repetitions

if TYPE_CHECKING:
    import pandas as pd


@dataclass(eq=False, repr=False)
class WIBK(TakesTables, ClassifierMixin, BaseEstimator):
    """k nearest neighbours on unscaled integers, with weights from representative intervals.

    :class:`~weighbors.RepresentativeIntervals` computes the weights, and
    :class:`~weighbors.WeightedKNeighborsClassifier` finds the neighbours and counts the votes. ``fit`` and ``predict``
    first convert the table to integers. Ordered categories become their rank. Other categories become a code, and two
    of them differ by 0 or 1. If ``discretize`` is given, numbers become the number of their bin in columns whose
    numbers are not whole or have many values.

    Parameters
    ----------
    n_neighbors : int, default=5
    weight : {"nonoverlap", "overlap"}, default="nonoverlap"
        Weight of an interval. "nonoverlap": the share of the interval that lies in no representative interval of
        another class, as in the paper. "overlap": 1 minus this share.
    normalize : "instance" or None, default="instance"
        As in `RepresentativeIntervals`.
    smoothing : float, default=0.02
        As in `RepresentativeIntervals`.
    overlap : {"values", "length"}, default="values"
        As in `RepresentativeIntervals`.
    vote_ties : {"first", "nearest"}, default="first"
        Which of several classes with equal votes wins. "first": the class that comes first in ``classes_``.
        "nearest": the class of the nearest neighbour that votes for one of these classes.
    discretize : {"mdlp", "frequency"} or None, default=None
        How bins are made in columns whose numbers are not whole, or that have more than ``n_bins`` different integers.
        None: integers are used without bins, as in the paper, and other numbers raise an error.
    n_bins : int, default=10
        Bins per column for "frequency".
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns of unordered categories. "from_dtype": the columns of a DataFrame that contain text or unordered
        categories.
    n_jobs : int or None, default=None

    Attributes
    ----------
    intervals_ : DataFrame
        All runs, with the values and categories of the original table. See `RepresentativeIntervals`.
    knn_ : WeightedKNeighborsClassifier
        The k-NN on the integers.
    classes_ : ndarray of shape (n_classes,)
    weights_ : Weights
    feature_importances_ : ndarray of shape (n_features,)
        Weights averaged over the intervals of each class, and then over the classes.
    plan_ : Plan
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] O. Gómez, E. F. Morales, J. A. González, "Weighted instance-based learning using
       representative intervals", MICAI 2007.

    Examples
    --------
    >>> from weighbors import WIBK
    >>> X = [[1, 3], [2, 9], [3, 5], [8, 4], [9, 9], [10, 2]]
    >>> WIBK(1).fit(X, ["low"] * 3 + ["high"] * 3).predict([[4, 9], [7, 5]])
    array(['low', 'high'], dtype='<U4')
    """

    n_neighbors: int = 5
    _: KW_ONLY
    weight: str = "nonoverlap"
    normalize: str | None = "instance"
    smoothing: float = 0.02
    overlap: str = "values"
    vote_ties: str = "first"
    discretize: str | None = None
    n_bins: int = 10
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        **INTERVAL_CONSTRAINTS,
        "vote_ties": [StrOptions({"first", "nearest"})],
        "n_jobs": [None, Integral],
    }

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> WIBK:
        """Find the intervals and store the rows.

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
        coder, rows = self._open(X, y)
        classes, codes = check_labels(y, who=type(self).__name__)
        return self._learn(coder, self._table_of(coder, rows, Target(codes, classes), sample_weight))

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, refresh: bool = False
    ) -> WIBK:
        """Store further training rows (the update of the concept description in the paper).

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), optional
            All labels that can occur in this and in later calls. Required in the first call if ``fit`` was not called.
        sample_weight : array-like of shape (n_samples,), optional
        refresh : bool, default=False
            Whether bins and intervals are computed again from all rows. The model is then the same as after ``fit`` on
            all rows. False: the old bins and intervals are used for the new rows too.

        Returns
        -------
        self
        """
        if not hasattr(self, "knn_"):
            declared = declared_classes(classes)
            coder, rows = self._open(X, y)
            table = self._table_of(coder, rows, Target(codes_among(y, declared), declared), sample_weight)
            return self._learn(coder, table, partial=True)
        require_labels(self, y)
        target = Target(codes_among(y, self.classes_, classes), self.classes_)
        # The coder is copied, so that an error below leaves the fitted model as it was.
        coder = deepcopy(self._coder)
        check_consistent_length(X, target.codes)
        new = self._table_of(coder, coder.extend(self, X), target, sample_weight)
        table = join_tables(self._training, new)
        if refresh:
            return self._learn(coder, table, partial=True)
        coder.check_whole(new.rows)
        knn = copy(self.knn_)  # a shallow copy is enough: partial_fit replaces the fitted attributes
        knn.partial_fit(self._with_names(coder.integers(new.rows)), y, sample_weight=sample_weight, refresh=False)
        return self._store(knn, coder, table)

    def _open(self, X: Any, y: Any) -> tuple[IntegerCoder, Any]:
        """Return a coder for the table, and the coded rows before bins are made."""
        require_labels(self, y)
        coder = IntegerCoder(self.discretize, self.n_bins, self.categorical_features)
        return coder, coder.open(self, X)

    def _table_of(self, coder: IntegerCoder, rows: Any, target: Target, sample_weight: Any) -> CodedTable:
        """Return coded rows with their target and weights, which are checked here."""
        check_consistent_length(rows, target.codes)
        return CodedTable(rows, coder.table, target, check_sample_weight(sample_weight, rows))

    def _learn(self, coder: IntegerCoder, table: CodedTable, *, partial: bool = False) -> WIBK:
        """Compute the bins, and fit the k-NN to the integers.

        Parameters
        ----------
        coder : IntegerCoder
        table : CodedTable
            All rows so far, before bins are made.
        partial : bool
            Whether some of the classes may have no rows yet.
        """
        weight, classes = table.given_weight, table.classes
        if weight is None:
            coder.learn(table.rows, table.codes, len(classes), None)
        else:  # bins use the same repetition weights as the vote
            some = np.flatnonzero(weight > 0)
            counted = scale_repetitions(weight, some, int(self.n_neighbors))[some]
            coder.learn(table.rows[some], table.codes[some], len(classes), counted)
        nominal = coder.table.nominal
        weigher = RepresentativeIntervals(self.normalize, self.smoothing, weight=self.weight, overlap=self.overlap)
        # With metadata routing on, scikit-learn passes sample weights only to estimators that ask for them.
        if _routing_enabled():
            weigher.set_fit_request(sample_weight=True)
        knn = WeightedKNeighborsClassifier(
            self.n_neighbors,
            weigher,
            categorical_features=nominal if nominal.any() else None,
            vote_ties=self.vote_ties,
            n_jobs=self.n_jobs,
        )
        integers, labels = self._with_names(coder.integers(table.rows)), table.target.decoded
        with columns_checked():  # these columns are numbers of bins
            if partial:
                knn.partial_fit(integers, labels, classes, weight)
            else:
                knn.fit(integers, labels, weight)
        return self._store(knn, coder, table)

    def _store(self, knn: WeightedKNeighborsClassifier, coder: IntegerCoder, table: CodedTable) -> WIBK:
        """Set the fitted attributes: the k-NN, the coder of its integers, and the rows before bins are made."""
        self.knn_, self._coder, self._training = knn, coder, table
        self.classes_ = table.classes
        return self

    def _with_names(self, rows: Any) -> Any:
        """Return the rows as a DataFrame with the column names of the training table.

        If the training table had no column names, or if the rows are sparse, they are returned unchanged.
        """
        names = getattr(self, "feature_names_in_", None)
        if names is None or hasattr(rows, "tocsr"):
            return rows
        import pandas as pd

        return pd.DataFrame(rows, columns=names)

    def _coded_queries(self, X: Any) -> tuple[WeightedKNeighborsClassifier, Any]:
        """Return the fitted k-NN, and the queries as integers. If ``X`` is None, the second value is None."""
        check_is_fitted(self, "knn_")
        return self.knn_, None if X is None else self._with_names(self._coder.transform(self, X))

    def predict(self, X: Any) -> AnyArray:
        """Return the class with the most votes. ``vote_ties`` decides between classes with equal votes.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the queries are the training rows, and no row is its own neighbour.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        knn, integers = self._coded_queries(X)
        return knn.predict(integers)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of the votes for each class.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the queries are the training rows, and no row is its own neighbour.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns as in ``classes_``.
        """
        knn, integers = self._coded_queries(X)
        return knn.predict_proba(integers)

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> IndexArray | tuple[FloatArray, IndexArray]:
        """Return the nearest training rows of each query. See `WeightedKNeighborsClassifier.kneighbors`."""
        knn, integers = self._coded_queries(X)
        return knn.kneighbors(integers, n_neighbors, return_distance)

    def explain(self, X: Any, top: int | None = None) -> Explanation:
        """Explain the answers, in the values of the original table. See `WeightedKNeighborsClassifier.explain`.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the queries are the training rows, and no row is its own neighbour.
        top : int, optional
            How many features and neighbours are shown, by default 5.

        Returns
        -------
        Explanation
        """
        if X is None or hasattr(X, "tocsr") or hasattr(self._training.rows, "tocsr"):
            knn, integers = self._coded_queries(X)
            return knn.explain(integers, top)
        return explain_rows(self, X, top=top, original=self._original_values(X))

    def _prepare_explanation(self, X: Any, top: int | None) -> Prepared:
        """Return what the k-NN over integers says, with an encoding that begins at the original values."""
        knn, integers = self._coded_queries(X)
        found, known = knn._prepare_explanation(integers, top), copy(self)
        to_rows = found.model.encode

        def encode(table: Any) -> Any:
            """Return a table in the original values as the k-NN searches it."""
            return to_rows(known._coded_queries(table)[1])

        return replace(found, model=replace(found.model, encode=encode))

    def _original_values(self, X: Any) -> OriginalValues:
        """Return queries and training rows before numbers became integers."""
        import pandas as pd

        named = hasattr(self, "feature_names_in_")
        names = [str(name) for name in getattr(self, "feature_names_in_", range(self.n_features_in_))]
        names = names if named else [f"x{j}" for j in range(self.n_features_in_)]
        training = self._coder.table.table_of(self._training.rows, names)
        X = as_pandas(X)
        queries = pd.DataFrame(X if named or not hasattr(X, "to_numpy") else X.to_numpy())

        def encode(table: Any) -> Any:
            """Return a table in the form in which the queries came."""
            return table if named else table.to_numpy()

        return OriginalValues(queries.set_axis(names, axis=1), training, encode, {n: [j] for j, n in enumerate(names)})

    @property
    def intervals_(self) -> pd.DataFrame:
        """All runs, kept or dropped, with the values and categories of the original table."""
        knn, _ = self._coded_queries(None)
        return interval_frame(knn.weigher_, self._coder)

    @property
    def weights_(self) -> Weights:
        """The weights in use."""
        return self._coded_queries(None)[0].weights_

    @property
    def feature_importances_(self) -> FloatArray:
        """Weights averaged over the intervals of each class, and then over the classes."""
        return self._coded_queries(None)[0].feature_importances_

    @property
    def plan_(self) -> Plan:
        """Which search ``predict`` uses, and why."""
        return self._coded_queries(None)[0].plan_
