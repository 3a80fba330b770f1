"""Tables in blocks that were measured in one pass. An estimator is fitted to one if its table `is_blocks`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._parallel.cluster import active_client, is_dask
from .._parallel.executors import Executor, executor_for
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..engine import ColumnRanges
from ..exceptions import InvalidDataError
from ..tables.coded import CodedTable
from ..tables.labels import check_classes, require_labels
from ..tables.targets import Target, accepted_target, check_target
from ..tables.validation import TableCoder, check_sample_weight
from .block import Block, Header, KeptBlock, read_labels
from .encode import BlockEncoder, ColumnCoding, take_block
from .profile import BlockProfile, block_range, count_rows, merge_profiles, merge_ranges, profile_block
from .sources import Source, delay, is_path, open_source

#: Bytes of memory that a task over blocks may use for rows and lists. Results do not depend on it. A program that
#: needs another limit sets it before ``fit``.
TASK_BYTES = 256 * 2**20
PIECES = 8  # a piece may take 1/8 of the bytes of a task, since copies of it are coded, transformed and packed


def is_blocks(X: Any) -> bool:
    """Return whether an estimator reads a table in blocks.

    That is a Dask collection, the path of a parquet folder or of an npy file, a mapped array, or a `BlockTable`, which
    another estimator has read.
    """
    if type(X) is np.ndarray or isinstance(X, CodedTable):
        return False
    if isinstance(X, np.memmap):
        # joblib maps large arrays that it hands to its workers, and deletes these files afterwards.
        return X.filename is not None and "joblib_memmapping_folder" not in str(X.filename)
    return isinstance(X, BlockTable) or is_dask(X) or is_path(X)


class RowBlocks:
    """Rows in blocks. Rows are numbered through all blocks, so that row numbers do not depend on the cut."""

    def __init__(self, source: Source, executor: Executor, max_bytes: int, encoder: BlockEncoder) -> None:
        self.source = source.combined(4 * executor.n_workers, _piece_rows(source.header, max_bytes))
        self.executor = executor
        self.max_bytes = max_bytes
        self.header, self.encoder, self.dtype = source.header, encoder, encoder.dtype
        self.first = np.concatenate([[0], np.cumsum(self.source.sizes or [])]).astype(np.int64)
        self.n = int(self.first[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return self.n, self.header.width

    @property
    def blocks(self) -> list[Any]:
        """The blocks. Small neighbouring blocks are combined."""
        return self.source.blocks

    def ranges(self) -> list[tuple[int, int]]:
        """Return, for every block, the number of its first row and of the row after its last row."""
        return list(zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True))

    def cut(self, values: AnyArray | None) -> list[AnyArray | None]:
        """Cut an array with one value per row into one array per block. None gives None for every block."""
        return [None if values is None else values[begin:end] for begin, end in self.ranges()]

    def tasks(self, *each: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return one task per block: a tuple of the block and its entry of each sequence in ``each``."""
        return list(zip(self.blocks, *each, strict=True))

    def take(self, rows: IndexArray, transform: Any = None, columns: list[int] | None = None) -> FloatArray:
        """Return the coded rows with the numbers ``rows``, in this order. Row numbers may repeat.

        ``transform`` is applied to the coded rows. ``columns`` are the columns to return after that, by default all.
        """
        # Each row is read once, however often it is asked for.
        unique, inverse = np.unique(rows, return_inverse=True)
        cut = np.searchsorted(unique, self.first)
        # Blocks without a row that is asked for are not read.
        touched = [i for i in range(len(self.blocks)) if cut[i] < cut[i + 1]]
        tasks = [(self.blocks[i], unique[cut[i] : cut[i + 1]] - self.first[i]) for i in touched]
        parts = self.executor.map(take_block, tasks, self.encoder, transform, columns)
        if not parts:
            return np.zeros((0, self.header.width if columns is None else len(columns)), dtype=self.dtype)
        return np.concatenate(parts)[inverse]

    def column(self, at: int, transform: Any = None) -> FloatArray:
        """Return column number ``at`` of all rows, after ``transform``, in float64."""
        return self.take(np.arange(self.n), transform, [at])[:, 0].astype(np.float64)


class BlockTable(RowBlocks):
    """Rows in blocks with their classes and column ranges, which are found in one pass.

    Parameters
    ----------
    source : Source
    executor : Executor
        Runs the tasks over the blocks, in this pass and later.
    max_bytes : int
        Bytes of memory per task.
    blank : ColumnCoding
        The column coding. It has learned nothing yet.
    whole : bool
        Whether to look for numbers that are not whole.
    numbers : bool
        Whether the labels are numeric targets. Then there are no classes, and ``targets`` has the labels of all rows.
    """

    def __init__(
        self,
        source: Source,
        executor: Executor,
        max_bytes: int,
        blank: ColumnCoding,
        *,
        whole: bool = False,
        numbers: bool = False,
    ) -> None:
        labelled, header = source.label_parts is not None, source.header
        if source.sizes is not None:
            source = source.combined(4 * executor.n_workers, _piece_rows(header, max_bytes))
        tasks = [(block,) for block in source.blocks]
        profiles = executor.map(profile_block, tasks, header, blank, labelled, whole)
        sizes = [profile.rows for profile in profiles]
        if sum(sizes) == 0:
            raise InvalidDataError("Found array with 0 sample(s): all partitions of the table are empty")
        profile = merge_profiles(profiles)
        if profile.infinite is not None:
            raise profile.infinite
        assert profile.column_range is not None
        assert profile.coding is not None
        self.classes: AnyArray = np.zeros(0)
        self.codes: AnyArray = np.zeros(0, dtype=np.uint8)
        self.targets: AnyArray | None = None
        if labelled:
            _require_every_label(profile)
        if labelled and numbers:
            self.targets = profile.labels[profile.codes]
        elif labelled:
            check_classes(profile.labels, profile.rows)
            self.classes, self.codes = profile.labels, profile.codes
        self.coder, self.broken = profile.coding.coder, profile.broken
        self.nominal: BoolArray = profile.coding.table.nominal
        low, high = (np.nan_to_num(end, nan=0.0).astype(profile.dtype) for end in profile.column_range[:2])
        self.measured = ColumnRanges(low, high, profile.column_range.missing)
        encoder = BlockEncoder(header, profile.coding, np.dtype(profile.dtype), self.classes)
        # The label parts are not needed any more, because the codes of all rows are in memory.
        measured = replace(source, sizes=sizes, label_parts=None)
        super().__init__(measured, executor, max_bytes, encoder)

    def ranges_of(self, kept: BoolArray | None) -> ColumnRanges:
        """Return the column ranges of the rows in the mask ``kept``, by default of all rows.

        Missing distances are computed from these ranges.
        """
        if kept is None:
            return self.measured
        found = merge_ranges(self.executor.map(block_range, self.tasks(self.cut(kept)), self.encoder))
        assert found is not None
        low, high = (np.nan_to_num(end, nan=0.0) for end in found[:2])
        return ColumnRanges(low, high, found.missing)

    def check_weights(self, sample_weight: Any) -> FloatArray | None:
        """Return the sample weights of the rows as floats, or None. Raise an error if a weight is negative."""
        if sample_weight is not None and is_dask(sample_weight):
            sample_weight = sample_weight.compute()
        # The check needs the number of rows only. A broadcast array has it and takes no memory.
        return check_sample_weight(sample_weight, np.broadcast_to(np.zeros(1), (self.n, 1)))

    def read_again(self, estimator: Any, coding: ColumnCoding, *, whole: bool) -> BlockTable:
        """Return the table of the same rows and labels under another column coding. See `read_blocks`."""
        source, numbers = replace(self.source, label_parts=self.source.blocks), self.targets is not None
        table = BlockTable(source, self.executor, self.max_bytes, coding, whole=whole, numbers=numbers)
        table.describe_to(estimator)
        return table

    def describe_to(self, estimator: Any) -> None:
        """Set what an estimator knows of the columns and classes of its training table."""
        estimator.n_features_in_, names = self.header.width, self.header.names
        # An earlier fit may have left names or classes that this table does not have.
        vars(estimator).pop("feature_names_in_", None)
        vars(estimator).pop("classes_", None)
        if names is not None and all(isinstance(name, str) for name in names):
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        if self.targets is None:
            estimator.classes_ = self.classes

    def select(self, kept: BoolArray) -> BlockTable:
        """Return the table of the rows in the mask ``kept``. They are read once, for their categories and ranges.

        Classes keep their numbers, also those without any row.
        """
        blocks = [_kept_block(*task) for task in self.tasks(self.cut(kept))]
        sizes = [int(part.sum()) for part in self.cut(kept) if part is not None]
        source = replace(self.source, blocks=blocks, sizes=sizes)
        some = BlockTable(source, self.executor, self.max_bytes, self.encoder.coding.blank())
        some.classes, some.encoder = self.classes, replace(some.encoder, classes=self.classes)
        some.codes = self.codes[kept] if len(self.codes) else self.codes
        some.targets = None if self.targets is None else self.targets[kept]
        return some


def _kept_block(block: Any, kept: Any) -> Any:
    """Return a block of the rows in the mask ``kept``. The block may be a Dask Delayed object."""
    return KeptBlock(block, kept) if isinstance(block, Block) else delay(KeptBlock, block, kept)


def _piece_rows(header: Header, max_bytes: int) -> int:
    """Return the number of float64 rows that a piece may have."""
    return max(16, max_bytes // PIECES // max(1, header.width * 8))


def _require_every_label(profile: BlockProfile) -> None:
    """Raise InvalidDataError if a label is missing."""
    if profile.unlabelled:
        raise InvalidDataError(
            f"Input y contains NaN: {profile.unlabelled} labels are missing (the first in row "
            f"{profile.first_unlabelled}). Drop these rows: a row without a label cannot vote"
        )


class LazyRows:
    """All or some rows of a table, which are read only when they are indexed like an array."""

    def __init__(self, table: RowBlocks, rows: IndexArray | None = None) -> None:
        self.table = table
        self.rows = np.arange(table.n) if rows is None else rows

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return len(self.rows), self.table.shape[1]

    def __getitem__(self, some: Any) -> FloatArray:
        return self.table.take(self.rows[some])


def read_blocks(
    estimator: Any, X: Any, y: Any, coding: TableCoder | ColumnCoding, *, numbers: bool = False, whole: bool = False
) -> BlockTable:
    """Cut a training table into blocks, read it once, and set what the estimator knows of its columns and classes.

    These are the attributes ``n_features_in_``, ``feature_names_in_`` and ``classes_``. The table has the class codes
    or the targets of all rows, and its ``coder`` codes queries.

    Parameters
    ----------
    estimator : estimator
        Its ``n_jobs``, if it has this parameter, is the number of blocks that are processed at the same time where Dask
        does not process them.
    X : any table for which `is_blocks` is true
    y : vector, Dask collection, path of an npy file, or name of a column of ``X``
    coding : TableCoder or ColumnCoding
        The column coding, which has learned nothing yet.
    numbers : bool
        Whether ``y`` holds numeric targets. Then there are no classes.
    whole : bool
        Whether to look for numbers that are not whole.
    """
    if isinstance(X, BlockTable):  # it has its labels
        X.describe_to(estimator)
        return X
    require_labels(estimator, y)
    source = open_source(X, y, piece_bytes=TASK_BYTES // PIECES)
    coding = ColumnCoding(coding) if isinstance(coding, TableCoder) else coding
    executor = executor_for(active_client(), getattr(estimator, "n_jobs", None), dask=source.dask)
    table = BlockTable(source, executor, TASK_BYTES, coding, whole=whole, numbers=numbers)
    table.describe_to(estimator)
    return table


def read_training_blocks(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, target_type: str | None = None
) -> CodedTable:
    """Return a training table in blocks, as `read_training` returns one in memory. Its rows are a `BlockTable`.

    The parameters are those of `read_training`, and ``X`` is any table for which `is_blocks` is true.
    """
    wanted, who = accepted_target(estimator) if target_type is None else target_type, type(estimator).__name__
    coder = TableCoder(
        getattr(estimator, "categorical_features", "from_dtype"), getattr(estimator, "handle_unknown", "different")
    )
    blocks = read_blocks(estimator, X, y, coder, numbers=wanted in ("numeric", "outputs"))
    target = Target(blocks.codes, blocks.classes, asked=wanted)
    if blocks.targets is not None:
        target = check_target(blocks.targets, wanted, who=who)
    names = getattr(estimator, "feature_names_in_", None)
    return CodedTable(blocks, blocks.coder, target, blocks.check_weights(sample_weight), feature_names=names)


def read_queries(table: BlockTable, X: Any, n_jobs: int | None = None) -> LazyRows:
    """Cut a table of queries into blocks, whose rows are coded like the training rows of ``table`` when they are read.

    ``X`` is a table for which `is_blocks` is true. It may have further columns, such as the labels.
    """
    names, header = table.header.names, table.header
    source = open_source(X, None, piece_bytes=table.max_bytes // PIECES, names=names)
    if source.header.width != header.width:
        raise InvalidDataError(f"X has {source.header.width} features; {header.width} were there in fit")
    if names is not None and source.header.names is not None and list(source.header.names) != list(names):
        raise InvalidDataError(
            f"the columns of X are {list(source.header.names)[:10]}; in fit they were {list(names)[:10]}"
        )
    executor = executor_for(active_client(), n_jobs, dask=source.dask)
    if source.sizes is None:
        source = replace(source, sizes=executor.map(count_rows, [(block,) for block in source.blocks]))
    return LazyRows(RowBlocks(source, executor, table.max_bytes, table.encoder))


def read_target(X: Any, y: Any, n_jobs: int | None = None) -> Any:
    """Return a target in memory, for ``score``. ``y`` holds it, or names a column of ``X``."""
    if isinstance(y, str) and is_blocks(X):
        source = open_source(X, y, piece_bytes=TASK_BYTES // PIECES)  # only the labels are read
        executor = executor_for(active_client(), n_jobs, dask=source.dask)
        y = np.concatenate(executor.map(read_labels, [(part,) for part in source.label_parts or ()]))
    return y.compute() if is_dask(y) else y
