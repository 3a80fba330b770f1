"""The RELIEF family and MBIW over tables in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import _fit_context

from .. import weighers
from .._parallel.cluster import is_dask
from .._parallel.executors import Executor
from .._parallel.threads import effective_n_jobs
from .._random import draw_rows
from .._targets import check_numeric_target, expect_target
from .._typing import FloatArray
from .._validation import TableCoder
from ..blocks import BlockTable, ColumnCoding, LazyRows, is_path, select_columns
from ..engine.pairs import distance_sums
from ..exceptions import InvalidDataError
from ..weighers.base import warn_of_few_neighbors, warn_of_singletons
from ..weighers.mbiw import inverse_weights, margin_vectors
from ..weighers.neighborhoods import compute_scores
from ..weights import Weights, fingerprint
from ._base import BLOCK_CONSTRAINTS, MAX_BYTES, SAMPLE_CONSTRAINTS, OverBlocks, sample_weights
from ._instances import BlockInstances

__all__ = ["MBIW", "ClassRelief", "RReliefF", "Relief", "ReliefF", "RelievedF"]

_EACH = 2_000_000_000  # numbers that a task processes, which takes more than 50 ms


class _BlockWeigher(OverBlocks):
    """Mixin of the weighers over blocks that compare rows with their k nearest neighbours."""

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
        weight = self._draw(np.ones(table.n) if sample_weight is None else sample_weight)
        instances = BlockInstances(table, scaled=self._scaled, p=self._p, asked=self.sample_indices_)
        if table.targets is not None:
            instances.target = check_numeric_target(table.targets, who=type(self).__name__)
            self.target_type_ = "numeric"
        warn_of_few_neighbors(table.classes, instances.codes, self.n_neighbors, misses=self._misses)
        (published,) = compute_scores([instances], [self._scores(instances, weight)])
        self._publish(table, published, **self._metric_parts())

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
    """Return the constraints of a weigher over blocks: those of the local one, except for redundant features.

    To compare features with each other, their columns must be in memory.
    """
    own = {name: value for name, value in local._parameter_constraints.items() if not name.startswith("redundancy")}
    return {**own, **BLOCK_CONSTRAINTS, **SAMPLE_CONSTRAINTS}


_PARAMETERS = """
    Parameters
    ----------
    n_neighbors, n_features_to_select, threshold, ties, categorical_features{more}
        As in :class:`weighbors.{name}`.
    n_samples, random_state
        As in :class:`weighbors.{name}`, which draws the same rows. They do not depend on how the table is cut into
        blocks.
    client : distributed.Client, optional
        Where blocks are processed. By default dask collections go to the current client or to dask's threads,
        files and tables in memory to joblib on this machine.
    max_bytes : int, default=2**28
        Memory for rows and lists, per task: blocks are read in pieces of an eighth of it.
    n_jobs : int, optional
        Number of blocks that joblib processes at the same time.

    Attributes
    ----------
    sample_indices_ : ndarray of shape (n_samples,)
        The rows that were drawn, in ascending order.
    feature_weights_, weights_, support_{attributes}
        As in :class:`weighbors.{name}`.

    Notes
    -----
    The weights are those of the ordinary estimator to the bit, for any cut of the table, over all rows and over drawn
    ones.

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
    {name}(n_samples=200, random_state=0)
"""


class Relief(_BlockWeigher, weighers.Relief):
    __doc__ = "RELIEF with k neighbours over a table in blocks.\n" + _PARAMETERS.format(
        name="Relief", more="", attributes=", classes_"
    )
    _local = weighers.Relief
    _parameter_constraints = _constraints(weighers.Relief)


class RelievedF(_BlockWeigher, weighers.RelievedF):
    __doc__ = "RelievedF over a table in blocks.\n" + _PARAMETERS.format(
        name="RelievedF", more="", attributes=", classes_"
    )
    _local = weighers.RelievedF
    _parameter_constraints = _constraints(weighers.RelievedF)


class _NeighborWeightsOverBlocks(_BlockWeigher):
    """Mixin of the weighers over blocks that weigh neighbours by rank or distance."""

    def __init__(
        self,
        n_neighbors: int = 10,
        n_features_to_select: float | None = None,
        *,
        sigma: float | None = None,
        neighbor_weights: str | None = None,
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
        self.sigma = sigma
        self.neighbor_weights = neighbor_weights


class ReliefF(_NeighborWeightsOverBlocks, weighers.ReliefF):
    __doc__ = "ReliefF over a table in blocks.\n" + _PARAMETERS.format(
        name="ReliefF", more=", sigma, neighbor_weights", attributes=", classes_"
    )
    _local = weighers.ReliefF
    _parameter_constraints = _constraints(weighers.ReliefF)


class RReliefF(_NeighborWeightsOverBlocks, weighers.RReliefF):
    __doc__ = "RReliefF over a table in blocks, for a number to predict.\n" + _PARAMETERS.format(
        name="RReliefF", more=", sigma, neighbor_weights", attributes=", target_type_"
    )
    _local = weighers.RReliefF
    _parameter_constraints = _constraints(weighers.RReliefF)


class ClassRelief(_BlockWeigher, weighers.ClassRelief):
    __doc__ = "Class-dependent RELIEF over a table in blocks.\n" + _PARAMETERS.format(
        name="ClassRelief",
        more=", credit, skip_zero, ranking, metric",
        attributes=", classes_, class_feature_weights_, agreement_",
    )
    _local = weighers.ClassRelief
    _parameter_constraints = _constraints(weighers.ClassRelief)

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
        instances = BlockInstances(table, scaled=False, p=2, asked=self.sample_indices_)
        margins = margin_vectors(instances, None if self.n_neighbors == "all" else int(self.n_neighbors))
        sums = _distance_sums(np.ascontiguousarray(margins), table.executor, effective_n_jobs(self.n_jobs))
        self.instance_weights_ = inverse_weights(sums)
        number = len(self.instance_weights_)
        rows: Any = LazyRows(table) if self.n_samples is None else table.take(self.sample_indices_)
        self.weights_ = Weights(votes=self.instance_weights_ * number, n_samples=number, fingerprint=fingerprint(rows))


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
