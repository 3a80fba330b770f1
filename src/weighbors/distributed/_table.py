"""A table in blocks that was measured once: what the estimators of this room are fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..engine import Extent
from ..exceptions import InvalidDataError
from ._blocks import Header
from ._door import BlockProfile, Coder, Door, count_rows, merge_profiles, nominal_of, profile_block, take_block
from ._executors import Executor, executor_for
from ._sources import Source, open_source

__all__ = ["BlockTable", "LazyRows", "RowBlocks", "open_blocks", "open_queries"]

_PIECES = 8  # a piece may take this part of max_bytes: it is read, coded, transformed and packed


class RowBlocks:
    """Rows in blocks. Row numbers count from the first block on: nothing depends on how the table is cut."""

    def __init__(self, source: Source, executor: Executor, max_bytes: int, door: Door) -> None:
        self.source = source.joined(4 * executor.n_workers, _piece_rows(source.header, max_bytes))
        self.executor = executor
        self.max_bytes = max_bytes
        self.header, self.door, self.dtype = source.header, door, door.dtype
        self.first = np.concatenate([[0], np.cumsum(self.source.sizes or [])]).astype(np.int64)
        self.n = int(self.first[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.n, self.header.width

    @property
    def blocks(self) -> list[Any]:
        """The blocks, those of few rows put together."""
        return self.source.blocks

    def ranges(self) -> list[tuple[int, int]]:
        """First row and end of every block."""
        return list(zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True))

    def take(self, rows: IndexArray, transform: Any = None, columns: list[int] | None = None) -> FloatArray:
        """Some rows, coded, each as often as it is named; read from the blocks that hold them."""
        unique, inverse = np.unique(rows, return_inverse=True)
        cut = np.searchsorted(unique, self.first)
        touched = [i for i in range(len(self.blocks)) if cut[i] < cut[i + 1]]
        each = [(unique[cut[i] : cut[i + 1]] - self.first[i],) for i in touched]
        blocks = [self.blocks[i] for i in touched]
        parts = self.executor.map(take_block, blocks, each, self.door, transform, columns)
        if not parts:
            return np.zeros((0, self.header.width if columns is None else len(columns)), dtype=self.dtype)
        return np.concatenate(parts)[inverse]

    def column(self, at: int, transform: Any = None) -> FloatArray:
        """A transformed column of all rows, in float64."""
        return self.take(np.arange(self.n), transform, [at])[:, 0].astype(np.float64)


class BlockTable(RowBlocks):
    """Rows in blocks, their classes, and how far the columns reach, measured in one pass."""

    def __init__(
        self, source: Source, executor: Executor, max_bytes: int, blank: Coder, *, whole: bool = False
    ) -> None:
        labelled, header = source.labels, source.header
        if source.sizes is not None:
            source = source.joined(4 * executor.n_workers, _piece_rows(header, max_bytes))
        each: list[tuple[Any, ...]] = [()] * len(source.blocks)
        profiles = executor.map(profile_block, source.blocks, each, header, blank, labelled, whole)
        sizes = [profile.rows for profile in profiles]
        if sum(sizes) == 0:
            raise InvalidDataError("Found array with 0 sample(s): all partitions of the table are empty")
        profile = merge_profiles(profiles)
        assert profile.reach is not None
        assert profile.coder is not None
        self.classes: AnyArray = _checked_classes(profile) if labelled else np.zeros(0)
        self.codes: AnyArray = profile.codes
        self.coder, self.broken = profile.coder, profile.broken
        self.nominal: BoolArray = nominal_of(profile.coder, header.width)
        low, high = (np.nan_to_num(end, nan=0.0).astype(profile.dtype) for end in profile.reach[:2])
        self.measured = Extent(low, high, profile.reach.missing)
        door = Door(header, profile.coder, np.dtype(profile.dtype), self.classes)
        super().__init__(Source(source.blocks, header, sizes, source.dask, labelled), executor, max_bytes, door)


def _piece_rows(header: Header, max_bytes: int) -> int:
    """Rows of a block: in float64 a piece."""
    return max(16, max_bytes // _PIECES // max(1, header.width * 8))


def _checked_classes(profile: BlockProfile) -> AnyArray:
    """The classes, as `check_labels` gives them."""
    if profile.unlabelled:
        raise InvalidDataError(
            f"Input y contains NaN: {profile.unlabelled} labels are missing (the first in row "
            f"{profile.first_unlabelled}). Drop these rows: a row without a label cannot vote"
        )
    classes = profile.labels
    if len(classes) < 2:
        raise InvalidDataError(
            f"at least 2 classes are needed; got 1 class ({classes.tolist()[0]!r}) in {profile.rows} rows. "
            "Check the labels: nothing can be told apart"
        )
    check_classification_targets(classes)
    return classes


class LazyRows:
    """Rows of a table, or some of them, that are read when they are asked for; sliced as an array is."""

    def __init__(self, table: RowBlocks, rows: IndexArray | None = None) -> None:
        self.table = table
        self.rows = np.arange(table.n) if rows is None else rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self.rows), self.table.shape[1]

    def __getitem__(self, some: Any) -> FloatArray:
        return self.table.take(self.rows[some])


def open_blocks(
    X: Any, y: Any, coder: Coder, *, client: Any, n_jobs: int | None, max_bytes: int, whole: bool = False
) -> BlockTable:
    """Cut a training table into blocks and measure them."""
    source = open_source(X, y, piece_bytes=int(max_bytes) // _PIECES)
    return BlockTable(source, executor_for(client, n_jobs, dask=source.dask), int(max_bytes), coder, whole=whole)


def open_queries(X: Any, door: Door, *, client: Any, n_jobs: int | None, max_bytes: int) -> RowBlocks:
    """Rows to be coded as the training rows were."""
    names = door.header.names
    source = open_source(X, None, piece_bytes=int(max_bytes) // _PIECES, names=names)
    executor = executor_for(client, n_jobs, dask=source.dask)
    if source.header.width != door.header.width:
        raise InvalidDataError(f"X has {source.header.width} features; {door.header.width} were there in fit")
    if names is not None and source.header.names is not None and list(source.header.names) != list(names):
        raise InvalidDataError(
            f"the columns of X are {list(source.header.names)[:10]}; in fit they were {list(names)[:10]}"
        )
    if source.sizes is None:
        sizes = executor.map(count_rows, source.blocks, [()] * len(source.blocks))
        source = Source(source.blocks, source.header, sizes, source.dask, source.labels)
    return RowBlocks(source, executor, int(max_bytes), door)
