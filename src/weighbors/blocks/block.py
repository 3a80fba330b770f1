"""Blocks of rows, which the task that processes them reads: mapped files, parquet files, partitions of Dask.

A block of a file only stores where its rows are, so that it is small to send. Its rows are read in pieces of at most
``size`` rows, so that the memory of a task does not depend on the size of the block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._io.files import require_utf8
from .._typing import AnyArray, BoolArray
from ..exceptions import InvalidDataError


class Piece(NamedTuple):
    """Some rows of a block."""

    table: Any  # array or frame
    labels: Any  # vector, or None


@dataclass(frozen=True)
class Header:
    """The columns that all blocks of a table share."""

    width: int
    names: tuple[Any, ...] | None  # names of the feature columns
    target: Any = None  # name of the column of labels, or None if the labels are not in the table

    def check(self, found: Any, number: int) -> None:
        """Raise InvalidDataError if a block has other columns than the table.

        ``found`` holds the column names of the block, or the number of its columns if there are no names. ``number`` is
        the number of the partition for the message.
        """
        if self.names is None:
            if found != self.width:
                raise InvalidDataError(
                    f"partition {number} has {found} columns; {self.width} are expected, as in the first one"
                )
            return
        wanted = [*self.names, *([] if self.target is None else [self.target])]
        lacking, strange = [c for c in wanted if c not in found], [c for c in found if c not in wanted]
        if lacking or strange:
            raise InvalidDataError(
                f"the columns of partition {number} differ from those of the table: it lacks {lacking[:10]} and has "
                f"{strange[:10]} beside. Give all partitions the same columns"
            )


class Block(ABC):
    """Consecutive rows of a table."""

    @abstractmethod
    def pieces(self, columns: list[int] | None = None, *, labels: bool = True) -> Iterator[Piece]:
        """Yield the rows in order, in pieces of at most ``size`` rows.

        Parameters
        ----------
        columns : list of int, optional
            Positions of the features to read. By default all features are read.
        labels : bool
            Whether the labels are needed.
        """


@dataclass(frozen=True)
class ArrayBlock(Block):
    """A chunk of a Dask array, or rows that no file has in one piece, and their labels."""

    X: Any
    y: Any
    header: Header
    size: int
    number: int = 0

    def pieces(self, columns: list[int] | None = None, *, labels: bool = True) -> Iterator[Piece]:
        """Yield views of the rows."""
        X = self._rows()
        n = X.shape[0]
        self.header.check(X.shape[1] if X.ndim == 2 else 0, self.number)
        if self.y is not None and len(self.y) != n:
            raise InvalidDataError(f"partition {self.number} has {n} rows and {len(self.y)} labels")
        for begin in range(0, n, self.size):
            part = X[begin : begin + self.size]
            part = part if columns is None else part[:, columns]
            mine = None if self.y is None else self.y[begin : begin + self.size]
            yield Piece(part if sparse.issparse(part) else np.asarray(part), mine)

    def _rows(self) -> Any:
        """Return the rows as an array or CSR matrix, which can be sliced."""
        return self.X.tocsr() if sparse.issparse(self.X) else self.X


@dataclass(frozen=True)
class MappedBlock(ArrayBlock):
    """Rows of a file that every task maps into memory again. ``X`` is the result of `mapped`."""

    begin: int = 0
    end: int = 0

    def _rows(self) -> Any:
        """Map the file again, and return the rows of this block."""
        filename, dtype, offset, shape, order = self.X
        whole: AnyArray = np.memmap(filename, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)
        return whole[self.begin : self.end]

    @staticmethod
    def mapped(X: np.memmap[Any, Any]) -> tuple[str, str, int, tuple[int, ...], str]:
        """Return the path, dtype, offset, shape and order of a mapped array, with which it can be mapped again."""
        root: Any = X
        # A view of a mapped array is itself a memmap. Only its root knows where the file was mapped.
        while isinstance(root.base, np.memmap):
            root = root.base
        offset = int(root.offset) + X.ctypes.data - root.ctypes.data  # a slice keeps the offset of the whole array
        return str(X.filename), X.dtype.str, offset, X.shape, "C" if X.flags.c_contiguous else "F"


@dataclass(frozen=True)
class FrameBlock(Block):
    """A partition of a Dask frame. Its labels are in ``y`` or in the column ``header.target``."""

    frame: Any
    y: Any
    header: Header
    size: int
    number: int = 0

    def pieces(self, columns: list[int] | None = None, *, labels: bool = True) -> Iterator[Piece]:
        """Yield slices of the frame."""
        self.header.check(list(self.frame.columns), self.number)
        assert self.header.names is not None
        names = [self.header.names[j] for j in (range(self.header.width) if columns is None else columns)]
        y = self.y if self.header.target is None else self.frame[self.header.target]
        if y is not None and len(y) != len(self.frame):
            raise InvalidDataError(f"partition {self.number} has {len(self.frame)} rows and {len(y)} labels")
        features = self.frame[names]
        for begin in range(0, len(self.frame), self.size):
            mine = None if y is None or not labels else np.asarray(y[begin : begin + self.size])
            yield Piece(features.iloc[begin : begin + self.size], mine)


@dataclass(frozen=True)
class ParquetBlock(Block):
    """Row groups of a parquet file."""

    path: str
    row_groups: tuple[int, ...]
    header: Header
    size: int
    number: int = 0

    def pieces(self, columns: list[int] | None = None, *, labels: bool = True) -> Iterator[Piece]:
        """Yield the batches in which pyarrow reads the file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        header = self.header
        assert header.names is not None
        names = [header.names[j] for j in (range(header.width) if columns is None else columns)]
        target = header.target if labels else None
        wanted = names if target is None else [*names, target]
        with pq.ParquetFile(self.path) as file:
            batches = file.iter_batches(self.size, row_groups=list(self.row_groups), columns=wanted)
            # The iterator reads the file, so errors of reading appear at ``next`` and not at the call before.
            while True:
                try:
                    batch = next(batches, None)
                except (pa.ArrowException, OSError) as error:
                    raise InvalidDataError(f"'{self.path}' is no readable parquet file: {error}") from error
                if batch is None:
                    return
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    require_utf8(column, name, self.path)
                frame = pa.Table.from_batches([batch]).to_pandas(ignore_metadata=False)
                yield Piece(frame[names], None if target is None else np.asarray(frame[target]))


@dataclass(frozen=True)
class CombinedBlock(Block):
    """Several small blocks that one task processes one after the other."""

    blocks: list[Block]

    def pieces(self, columns: list[int] | None = None, *, labels: bool = True) -> Iterator[Piece]:
        """Yield the pieces of the blocks, in order."""
        for block in self.blocks:
            yield from block.pieces(columns, labels=labels)


@dataclass(frozen=True)
class KeptBlock(Block):
    """Some rows of a block. ``kept`` is a mask of its rows."""

    block: Block
    kept: BoolArray

    def pieces(self, columns: list[int] | None = None, *, labels: bool = True) -> Iterator[Piece]:
        """Yield the kept rows of the pieces of the block."""
        begin = 0
        for piece in self.block.pieces(columns, labels=labels):
            end = begin + len(piece.table)
            kept = self.kept[begin:end]
            begin = end
            yield Piece(piece.table[kept], None if piece.labels is None else np.asarray(piece.labels)[kept])


def read_block(block: Block) -> Piece | None:
    """Return all rows of a block and their labels as one piece, or None if the block is empty."""
    pieces = list(block.pieces())
    if len(pieces) < 2:
        return pieces[0] if pieces else None
    labels = None if pieces[0].labels is None else np.concatenate([np.asarray(piece.labels) for piece in pieces])
    tables = [piece.table for piece in pieces]
    if not hasattr(tables[0], "iloc"):
        return Piece(np.concatenate(tables), labels)
    import pandas as pd

    return Piece(pd.concat(tables), labels)


def read_labels(part: Any) -> AnyArray:
    """Return labels as one vector. ``part`` is a block, a vector of labels, or a list of blocks or vectors."""
    if isinstance(part, Block):
        # One column is enough to read the labels of all rows.
        part = [piece.labels for piece in part.pieces([0])]
    elif isinstance(part, list):
        part = [read_labels(one) for one in part]
    else:
        return np.asarray(part)
    return np.concatenate([np.asarray(labels) for labels in part]) if part else np.zeros(0, dtype=object)
