"""The RELIEF family and MBIW over tables in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import _fit_context

from .. import weighers
from .._parallel.cluster import is_dask
from .._parallel.executors import Executor
from .._parallel.threads import effective_n_jobs
from .._random import draw_rows
from .._typing import FloatArray
from ..blocks import BlockTable, ColumnCoding, LazyRows, is_path, select_columns
from ..engine.pairs import distance_sums
from ..exceptions import InvalidDataError
from ..tables.coded import CodedTable
from ..tables.targets import Target, check_numeric_target, expect_target
from ..tables.validation import TableCoder
from ..weighers.base import warn_of_few_neighbors, warn_of_singletons
from ..weighers.mbiw import inverse_weights, margin_vectors
from ..weights import Weights, fingerprint
from ._base import BLOCK_CONSTRAINTS, MAX_BYTES, SAMPLE_CONSTRAINTS, OverBlocks, sample_weights
from ._instances import BlockInstances

_EACH = 2_000_000_000  # numbers that a task processes, which takes more than 50 ms


@dataclass(eq=False, repr=False, kw_only=True)
class _BlockWeigher(OverBlocks):
    """Mixin of the weighers over blocks that compare rows with their k nearest neighbours."""

    client: Any = None
    max_bytes: int = MAX_BYTES

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Compute the weights of the features.

        Parameters
        ----------
        X : dask array or DataFrame, path of a parquet folder or an npy file, mapped array, array or DataFrame
        y : labels (for `RReliefF`: numbers) of the same kind, or the name of a column of X
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the contributions of the instances.

        Returns
        -------
        self
        """
        coding = ColumnCoding(TableCoder(self.categorical_features))
        table = self._blocks(X, y, coding, numbers=self._takes_numeric_targets)
        self._fit_blocks(table, sample_weights(sample_weight, table.n))
        return self

    def _fit_blocks(self, table: BlockTable, sample_weight: FloatArray | None) -> None:
        """Learn the weights from a measured table."""
        expect_target(self, numeric=table.targets is not None)
        warn_of_singletons(table.classes, np.bincount(table.codes, minlength=len(table.classes)))
        self._coder = table.coder
        numbers = None
        if table.targets is not None:
            numbers = check_numeric_target(table.targets, who=type(self).__name__)
            self.target_type_ = "numeric"
        weight = np.ones(table.n) if sample_weight is None else sample_weight
        # Rows with a numeric target are of one class.
        codes = table.codes if numbers is None else np.zeros(table.n, dtype=np.int64)
        coded = CodedTable(None, table.coder, Target(codes, table.classes, numbers), weight)
        rows = BlockInstances(table, scaled=self._scaled, p=self._p)
        self._publish(table, self.score_targets(rows, [self.choose_rows(coded)])[0])

    def transform(self, X: Any) -> Any:
        """Return the selected features of ``X``. The result of a dask collection is lazy.

        Parameters
        ----------
        X : dask array or DataFrame, array or DataFrame

        Returns
        -------
        table of the same kind as ``X``
        """
        if is_path(X) or isinstance(X, bytes):
            raise InvalidDataError("transform takes a table, not a path: read it with dask.dataframe.read_parquet")
        if not is_dask(X):
            return super().transform(X)
        support = self.get_support()
        self._warn_of_unselected()
        if hasattr(X, "columns"):  # by name, because the table may have further columns
            return X[list(self.feature_names_in_[support])]
        if X.shape[1] != self.n_features_in_:
            raise InvalidDataError(f"X has {X.shape[1]} features; {self.n_features_in_} were there in fit")
        return select_columns(X, support)


def _constraints(local: Any) -> dict[str, list[Any]]:
    """Return the constraints of a weigher over blocks: those of the local one, and those of blocks."""
    return {**local._parameter_constraints, **BLOCK_CONSTRAINTS}


_PARAMETERS = """
    Parameters
    ----------
    n_neighbors, n_features_to_select, ties, categorical_features{more}
        As in :class:`weighbors.{name}`. Nothing depends on how the table is cut into blocks.
    client : distributed.Client, optional
        Where blocks are processed. By default dask collections go to the current client or to dask's threads,
        files and tables in memory to joblib on this machine.
    max_bytes : int, default=2**28
        Memory for rows and lists, per task: blocks are read in pieces of an eighth of it.
    n_jobs : int, optional
        Number of blocks that joblib processes at the same time.

    Attributes
    ----------
    feature_weights_, weights_, support_{attributes}
        As in :class:`weighbors.{name}`.

    Notes
    -----
    The weights are those of the ordinary estimator to the bit, for any cut of the table.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbors.distributed import {name}
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3)).astype(np.float32)
    >>> y = (X[:, 1] > 0).astype(int)
    >>> weigher = {name}(3, max_bytes=2**16).fit(X, y)
    >>> int(weigher.feature_weights_.argmax())
    1
    >>> weigher.to_local()
    {name}(n_neighbors=3)
"""


@dataclass(eq=False, repr=False)
class Relief(_BlockWeigher, weighers.Relief):
    __doc__ = "RELIEF with k neighbours over a table in blocks.\n" + _PARAMETERS.format(
        name="Relief", more="", attributes=", classes_"
    )
    _local = weighers.Relief
    _parameter_constraints = _constraints(weighers.Relief)


@dataclass(eq=False, repr=False)
class RelievedF(_BlockWeigher, weighers.RelievedF):
    __doc__ = "RelievedF over a table in blocks.\n" + _PARAMETERS.format(
        name="RelievedF", more="", attributes=", classes_"
    )
    _local = weighers.RelievedF
    _parameter_constraints = _constraints(weighers.RelievedF)


@dataclass(eq=False, repr=False)
class ReliefF(_BlockWeigher, weighers.ReliefF):
    __doc__ = "ReliefF over a table in blocks.\n" + _PARAMETERS.format(
        name="ReliefF", more=", sigma, n_samples, random_state", attributes=", sample_indices_, classes_"
    )
    _local = weighers.ReliefF
    _parameter_constraints = _constraints(weighers.ReliefF)


@dataclass(eq=False, repr=False)
class RReliefF(_BlockWeigher, weighers.RReliefF):
    __doc__ = "RReliefF over a table in blocks, for a number to predict.\n" + _PARAMETERS.format(
        name="RReliefF", more=", sigma, n_samples, random_state", attributes=", sample_indices_, target_type_"
    )
    _local = weighers.RReliefF
    _parameter_constraints = _constraints(weighers.RReliefF)


@dataclass(eq=False, repr=False)
class ClassRelief(_BlockWeigher, weighers.ClassRelief):
    __doc__ = "Class-dependent RELIEF over a table in blocks.\n" + _PARAMETERS.format(
        name="ClassRelief",
        more=", credit, skip_zero, ranking",
        attributes=", classes_, class_feature_weights_, agreement_",
    )
    _local = weighers.ClassRelief
    _parameter_constraints = _constraints(weighers.ClassRelief)


class MBIW(OverBlocks, weighers.MBIW):
    """Margin-based instance weights over a table in blocks.

    Parameters
    ----------
    n_neighbors, categorical_features
        As in :class:`weighbors.MBIW`.
    n_samples : int or None, default=None
        Number of rows that are drawn. Their hits and misses are searched among all rows, and their margin vectors are
        compared with each other. None means all rows. The margin vectors (8 bytes per number) must fit in memory.
    random_state, client, max_bytes, n_jobs
        As in `ReliefF`.

    Attributes
    ----------
    instance_weights_ : ndarray of shape (n_samples,)
        Weights of the drawn rows. Their sum is 1.
    sample_indices_ : ndarray of shape (n_samples,)
        Numbers of the drawn rows, in ascending order.
    weights_ : Weights
        Votes of the drawn rows, for a k-NN that is fitted to these rows in this order.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    With ``n_samples=None`` the weights are equal to those of the ordinary estimator, to the bit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors.distributed import MBIW
    >>> X, y = load_iris(return_X_y=True)
    >>> MBIW(max_bytes=2**16).fit(X, y).instance_weights_.argmin()  # the most outlying flower
    np.int64(15)
    """

    _local = weighers.MBIW
    _parameter_constraints = {**weighers.MBIW._parameter_constraints, **BLOCK_CONSTRAINTS, **SAMPLE_CONSTRAINTS}  # noqa: RUF012

    def __init__(
        self,
        n_neighbors: int | str = 1,
        *,
        n_samples: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        client: Any = None,
        max_bytes: int = MAX_BYTES,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_samples = n_samples
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.client = client
        self.max_bytes = max_bytes
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> MBIW:
        """Compute the weights of the instances.

        Parameters
        ----------
        X : dask array or DataFrame, path of a parquet folder or an npy file, mapped array, array or DataFrame
        y : labels of the same kind, or the name of a column of X

        Returns
        -------
        self
        """
        table = self._blocks(X, y, ColumnCoding(TableCoder(self.categorical_features)))
        self._fit_blocks(table, None)
        return self

    def _fit_blocks(self, table: BlockTable, sample_weight: FloatArray | None) -> None:
        """Learn the instance weights from a measured table. Sample weights are not used."""
        warn_of_singletons(table.classes, np.bincount(table.codes, minlength=len(table.classes)))
        warn_of_few_neighbors(table.classes, table.codes, self.n_neighbors, misses="together")
        self.sample_indices_ = draw_rows(table.n, self.n_samples, self.random_state)
        target = Target(table.codes, table.classes)
        drawn = CodedTable(None, table.coder, target, np.ones(table.n), drawn=self.sample_indices_)
        rows = BlockInstances(table, scaled=False, p=2)
        margins = margin_vectors(rows, drawn, None if self.n_neighbors == "all" else int(self.n_neighbors))
        sums = _distance_sums(np.ascontiguousarray(margins), table.executor, effective_n_jobs(self.n_jobs))
        self.instance_weights_ = inverse_weights(sums)
        number = len(self.instance_weights_)
        kept: Any = LazyRows(table) if self.n_samples is None else table.take(self.sample_indices_)
        self.weights_ = Weights(votes=self.instance_weights_ * number, n_samples=number, fingerprint=fingerprint(kept))


def _distance_sums(margins: FloatArray, executor: Executor, n_jobs: int) -> FloatArray:
    """Return the `distance_sums` of the margin vectors.

    If there are many rows, tasks compute them range by range, and every task gets all margin vectors.
    """
    n, m = margins.shape
    size = max(252, _EACH // (n * m))
    if n <= size:
        return distance_sums(margins, n_jobs)
    ranges = [(begin, min(begin + size, n)) for begin in range(0, n, size)]
    return np.concatenate(executor.map(_range_sums, ranges, margins))


def _range_sums(begin: int, end: int, margins: FloatArray) -> FloatArray:
    """Return the sums of the distances of rows [begin, end) to all margin vectors."""
    return distance_sums(margins, 1, begin, end)
