"""Base of the estimators over blocks: parameters, opening a table, and conversion to the ordinary estimator."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from .._parallel.cluster import active_client, is_dask
from .._parallel.executors import executor_for
from .._typing import BoolArray, FloatArray
from ..blocks import (
    BlockEncoder,
    BlockTable,
    ColumnCoding,
    LazyRows,
    block_range,
    is_path,
    merge_ranges,
    open_blocks,
    open_queries,
    open_source,
    read_labels,
)
from ..blocks import table as table_of
from ..engine import ColumnRanges
from ..exceptions import InvalidDataError
from ..tables.labels import require_labels
from ..tables.validation import check_sample_weight
from ..weighers import MBIW, RepresentativeIntervals
from ..weighers.relief import NeighborWeigher

MAX_BYTES = 256 * 2**20

BLOCK_CONSTRAINTS: dict[str, list[Any]] = {
    "client": [None, HasMethods(["compute", "gather", "nthreads"])],
    "max_bytes": [Interval(Integral, 2**16, None, closed="left")],
}
SAMPLE_CONSTRAINTS: dict[str, list[Any]] = {
    "n_samples": [None, Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
}


class OverBlocks(BaseEstimator):
    """Mixin of estimators that are fitted to tables in blocks. ``_local`` is the class of the ordinary estimator."""

    _local: type[Any]

    def _blocks(
        self, X: Any, y: Any, coding: ColumnCoding, *, whole: bool = False, numbers: bool = False
    ) -> BlockTable:
        """Open the training table, read it once, and set the attributes that scikit-learn expects.

        ``coding`` is the column coding. ``whole`` says whether to look for numbers that are not whole, and ``numbers``
        whether ``y`` holds numeric targets.
        """
        require_labels(self, y)
        table = (
            X
            if isinstance(X, BlockTable)
            else open_blocks(
                X,
                y,
                coding,
                client=active_client(self.client),
                n_jobs=self.n_jobs,
                max_bytes=min(self.max_bytes, table_of.TASK_BYTES),
                whole=whole,
                numbers=numbers,
            )
        )
        self.n_features_in_ = table.header.width
        # A frame that was fitted before may have left names, and this table may have none.
        self.__dict__.pop("feature_names_in_", None)
        names = table.header.names
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        if not numbers:
            self.classes_ = table.classes
        return table

    def _lazy_queries(self, X: Any, encoder: BlockEncoder) -> LazyRows | None:
        """Return queries in blocks, or None if ``X`` is a table in memory. ``encoder`` is that of the training rows."""
        if not (is_dask(X) or is_path(X) or isinstance(X, np.memmap)):
            return None
        client, limit = active_client(self.client), min(self.max_bytes, table_of.TASK_BYTES)
        return LazyRows(open_queries(X, encoder, client=client, n_jobs=self.n_jobs, max_bytes=limit))

    def _labels(self, X: Any, y: Any) -> Any:
        """Return labels in memory. ``y`` holds them, or names a column of ``X``."""
        if isinstance(y, str):
            # Only the labels are read here. ``predict`` reads the rows.
            source = open_source(X, y, piece_bytes=int(self.max_bytes) // 8)
            # The table to score may be of another kind than the training table, so it has an executor of its own.
            executor = executor_for(self.client, self.n_jobs, dask=source.dask)
            y = np.concatenate(executor.map(read_labels, [(part,) for part in source.label_parts or ()]))
        return y.compute() if is_dask(y) else y

    def to_local(self) -> Any:
        """Return the ordinary estimator with the fitted attributes of this one."""
        check_is_fitted(self)
        # Parameters that only the ordinary estimator has keep their defaults.
        shared = set(self._local._get_param_names()) & set(self.get_params(deep=False))
        local = self._local(**{name: getattr(self, name) for name in sorted(shared)})
        mine = set(self.get_params(deep=False)) | {"_fitted"}
        if "n_samples" not in shared:
            mine.add("sample_indices_")  # the ordinary estimator cannot draw rows
        for name, value in vars(self).items():
            if name not in mine:
                setattr(local, name, value)
        return local

    def __sklearn_clone__(self) -> Any:
        """Return a clone that has the same client, because a client cannot be copied."""
        params = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        return type(self)(**{name: clone(value, safe=False) for name, value in params.items()}, client=self.client)

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state["client"] = None  # the connection is not saved with the estimator
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def sample_weights(sample_weight: Any, n: int) -> FloatArray | None:
    """Return the sample weights of ``n`` rows as floats, or None. Raise an error if a weight is negative."""
    if sample_weight is not None and is_dask(sample_weight):
        sample_weight = sample_weight.compute()
    # The check needs the number of rows only. A broadcast array has it and takes no memory.
    return check_sample_weight(sample_weight, np.broadcast_to(np.zeros(1), (n, 1)))


def require_block_weigher(weigher: Any) -> None:
    """Raise InvalidDataError if a weigher cannot learn from blocks."""
    if isinstance(weigher, RepresentativeIntervals | MBIW | NeighborWeigher):
        return
    raise InvalidDataError(
        f"{type(weigher).__name__} needs all rows in memory. Use a weigher that reads blocks, such as ReliefF, or "
        "learn weights from a sample of the rows and pass its weights_"
    )


def column_range(table: BlockTable, kept: BoolArray | None) -> ColumnRanges | None:
    """Return the column ranges of the rows in the mask ``kept``, from which missing distances are computed.

    Return None if ``kept`` is None: then the ranges of all rows are used.
    """
    if kept is None:
        return None
    found = merge_ranges(table.executor.map(block_range, table.tasks(table.cut(kept)), table.encoder))
    assert found is not None
    low, high = (np.nan_to_num(end, nan=0.0) for end in found[:2])
    return ColumnRanges(low, high, found.missing)
