"""The RELIEF family and MBIW over tables in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import _fit_context

from .. import weighers
from .._cluster import is_dask
from .._threads import effective_n_jobs
from .._typing import FloatArray
from .._validation import TableCoder
from ..engine.pairs import distance_sums
from ..exceptions import InvalidDataError
from ..weighers._base import tell_lonely
from ..weighers.mbiw import inverse_weights, margin_vectors
from ..weights import Weights, fingerprint
from ._base import BLOCK_CONSTRAINTS, MAX_BYTES, SAMPLE_CONSTRAINTS, OverBlocks, drawn_rows, sample_weights
from ._executors import Executor
from ._instances import BlockInstances
from ._table import BlockTable, LazyRows

__all__ = ["MBIW", "ClassRelief", "Relief", "ReliefF", "RelievedF"]

_EACH = 2_000_000_000  # cells per task: worth more than 50 ms


class _BlockWeigher(OverBlocks):
    """Mixin of the weighers that look at k neighbours."""

    _coder: Any

    def __init__(
        self,
        n_neighbors: int = 1,
        n_features_to_select: float | None = None,
        *,
        n_samples: int | None = None,
        threshold: float | None = None,
        ties: str = "share",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        client: Any = None,
        max_bytes: int = MAX_BYTES,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_features_to_select = n_features_to_select
        self.n_samples = n_samples
        self.threshold = threshold
        self.ties = ties
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.client = client
        self.max_bytes = max_bytes
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Weigh the features.

        Parameters
        ----------
        X : dask array or DataFrame, path of a parquet folder or an npy file, mapped array, array or DataFrame
        y : labels of the same kind, or the name of a column of X
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies what an instance contributes.

        Returns
        -------
        self
        """
        table = self._blocks(X, y, TableCoder(self.categorical_features))
        self._fit_blocks(table, sample_weights(sample_weight, table.n))
        return self

    def _fit_blocks(self, table: BlockTable, sample_weight: FloatArray | None) -> None:
        tell_lonely(table.classes, np.bincount(table.codes, minlength=len(table.classes)))
        self._coder = table.coder
        self.sample_indices_ = drawn_rows(table.n, self.n_samples, self.random_state)
        weight = np.ones(table.n) if sample_weight is None else sample_weight
        if self.n_samples is not None:
            weight = np.where(np.isin(np.arange(table.n), self.sample_indices_, assume_unique=True), weight, 0.0)
        if not weight.any():
            raise InvalidDataError("at least one of the rows that count must have a positive sample weight")
        instances = BlockInstances(table, scaled=self._scaled, p=self._p, asked=self.sample_indices_)
        self._close(table, self._scores(instances, weight), **self._metric_parts())

    def transform(self, X: Any) -> Any:
        """The selected features of ``X``; lazily of a dask collection.

        Parameters
        ----------
        X : dask array or DataFrame, array or DataFrame

        Returns
        -------
        of the same kind
        """
        if isinstance(X, (str, bytes)) or hasattr(X, "__fspath__"):
            raise InvalidDataError("transform takes a table, not a path: read it with dask.dataframe.read_parquet")
        if not is_dask(X):
            return super().transform(X)
        kept = np.flatnonzero(self.get_support())
        if hasattr(X, "columns"):
            return X[[self.feature_names_in_[j] for j in kept]]
        if X.shape[1] != self.n_features_in_:
            raise InvalidDataError(f"X has {X.shape[1]} features; {self.n_features_in_} were there in fit")
        return X[:, kept]


_PARAMETERS = """
    Parameters
    ----------
    n_neighbors, n_features_to_select, threshold, ties, categorical_features{more}
        As in :class:`weighbors.{name}`.
    n_samples : int or None, default=None
        Rows that are drawn and compared with all others. None: every row is, which takes time that grows
        with the square of their number.
    random_state : int, RandomState or None, default=None
        Draws the rows; the same ones however the table is cut.
    client : distributed.Client, optional
        Where blocks are worked off. By default dask collections go to the current client or to dask's threads,
        files and tables in memory to joblib on this machine.
    max_bytes : int, default=2**28
        Memory for rows and lists, per task: blocks are read in pieces of an eighth of it.
    n_jobs : int, optional
        Blocks at once, where joblib works them off.

    Attributes
    ----------
    sample_indices_ : ndarray of shape (n_samples,)
        The rows that were drawn, in ascending order.
    feature_weights_, weights_, support_, classes_{attributes}
        As in :class:`weighbors.{name}`.

    Notes
    -----
    Over all rows the weights are those of the ordinary estimator to the bit, for any cut of the table. With
    ``n_samples`` they are those of the ordinary one with a ``sample_weight`` of 1 for the drawn rows and 0
    for the others, up to the order of sums (1e-12).

    Examples
    --------
    >>> import numpy as np
    >>> from weighbors.distributed import {name}
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3)).astype(np.float32)
    >>> y = (X[:, 1] > 0).astype(int)
    >>> weigher = {name}(n_samples=200, max_bytes=2**16, random_state=0).fit(X, y)
    >>> int(weigher.feature_weights_.argmax())
    1
    >>> weigher.to_local()
    {name}()
"""


class Relief(_BlockWeigher, weighers.Relief):
    __doc__ = "RELIEF with k neighbours over a table in blocks.\n" + _PARAMETERS.format(
        name="Relief", more="", attributes=""
    )
    _local = weighers.Relief
    _parameter_constraints = {**weighers.Relief._parameter_constraints, **BLOCK_CONSTRAINTS, **SAMPLE_CONSTRAINTS}  # noqa: RUF012


class RelievedF(_BlockWeigher, weighers.RelievedF):
    __doc__ = "RelievedF over a table in blocks.\n" + _PARAMETERS.format(name="RelievedF", more="", attributes="")
    _local = weighers.RelievedF
    _parameter_constraints = {**weighers.RelievedF._parameter_constraints, **BLOCK_CONSTRAINTS, **SAMPLE_CONSTRAINTS}  # noqa: RUF012


class ReliefF(_BlockWeigher, weighers.ReliefF):
    __doc__ = "ReliefF over a table in blocks.\n" + _PARAMETERS.format(name="ReliefF", more="", attributes="")
    _local = weighers.ReliefF
    _parameter_constraints = {**weighers.ReliefF._parameter_constraints, **BLOCK_CONSTRAINTS, **SAMPLE_CONSTRAINTS}  # noqa: RUF012

    def __init__(
        self,
        n_neighbors: int = 10,
        n_features_to_select: float | None = None,
        *,
        n_samples: int | None = None,
        threshold: float | None = None,
        ties: str = "share",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        client: Any = None,
        max_bytes: int = MAX_BYTES,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            n_features_to_select,
            n_samples=n_samples,
            threshold=threshold,
            ties=ties,
            categorical_features=categorical_features,
            random_state=random_state,
            client=client,
            max_bytes=max_bytes,
            n_jobs=n_jobs,
        )


class ClassRelief(_BlockWeigher, weighers.ClassRelief):
    __doc__ = "Class-dependent RELIEF over a table in blocks.\n" + _PARAMETERS.format(
        name="ClassRelief",
        more=", credit, skip_zero, ranking, metric",
        attributes=", class_feature_weights_, agreement_",
    )
    _local = weighers.ClassRelief
    _parameter_constraints = {**weighers.ClassRelief._parameter_constraints, **BLOCK_CONSTRAINTS, **SAMPLE_CONSTRAINTS}  # noqa: RUF012

    def __init__(
        self,
        n_neighbors: int = 10,
        n_features_to_select: float | None = None,
        *,
        n_samples: int | None = None,
        credit: str = "instance",
        skip_zero: bool = False,
        ranking: str = "sum",
        metric: str = "sum",
        threshold: float | None = None,
        ties: str = "share",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        client: Any = None,
        max_bytes: int = MAX_BYTES,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            n_features_to_select,
            n_samples=n_samples,
            threshold=threshold,
            ties=ties,
            categorical_features=categorical_features,
            random_state=random_state,
            client=client,
            max_bytes=max_bytes,
            n_jobs=n_jobs,
        )
        self.credit = credit
        self.skip_zero = skip_zero
        self.ranking = ranking
        self.metric = metric


class MBIW(OverBlocks, weighers.MBIW):
    """Margin-based instance weights over a table in blocks.

    Parameters
    ----------
    n_neighbors, categorical_features
        As in :class:`weighbors.MBIW`.
    n_samples : int or None, default=None
        Rows that are drawn: their hits and misses are sought among all rows, and their margins compared with
        each other's. None: all rows, whose margin vectors (8 bytes a number) must fit in memory.
    random_state, client, max_bytes, n_jobs
        As in `ReliefF`.

    Attributes
    ----------
    instance_weights_ : ndarray of shape (n_samples,)
        Of the drawn rows; sum to 1.
    sample_indices_ : ndarray of shape (n_samples,)
        Their numbers, in ascending order.
    weights_ : Weights
        Votes of those rows, for a k-NN that is fitted to them in this order.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    Over all rows the weights are those of the ordinary estimator to the bit.

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
        """Weigh the instances.

        Parameters
        ----------
        X : dask array or DataFrame, path of a parquet folder or an npy file, mapped array, array or DataFrame
        y : labels of the same kind, or the name of a column of X

        Returns
        -------
        self
        """
        table = self._blocks(X, y, TableCoder(self.categorical_features))
        self._fit_blocks(table, None)
        return self

    def _fit_blocks(self, table: BlockTable, sample_weight: FloatArray | None) -> None:
        tell_lonely(table.classes, np.bincount(table.codes, minlength=len(table.classes)))
        self.sample_indices_ = drawn_rows(table.n, self.n_samples, self.random_state)
        instances = BlockInstances(table, scaled=False, p=2, asked=self.sample_indices_)
        margins = margin_vectors(instances, None if self.n_neighbors == "all" else int(self.n_neighbors))
        sums = _distance_sums(np.ascontiguousarray(margins), table.executor, effective_n_jobs(self.n_jobs))
        self.instance_weights_ = inverse_weights(sums)
        number = len(self.instance_weights_)
        rows: Any = LazyRows(table) if self.n_samples is None else table.take(self.sample_indices_)
        self.weights_ = Weights(votes=self.instance_weights_ * number, n_samples=number, fingerprint=fingerprint(rows))


def _distance_sums(margins: FloatArray, executor: Executor, n_jobs: int) -> FloatArray:
    """As `distance_sums`, ranges of rows spread over the workers; each of them gets all margin vectors."""
    n, m = margins.shape
    size = max(252, _EACH // (n * m))
    if n <= size:
        return distance_sums(margins, n_jobs)
    ranges = [(begin, min(begin + size, n)) for begin in range(0, n, size)]
    parts = executor.map(_range_sums, [None] * len(ranges), ranges, margins)
    return np.concatenate(parts)


def _range_sums(_: None, begin: int, end: int, margins: FloatArray) -> FloatArray:
    return distance_sums(margins, 1, begin, end)
