"""Blocks of rows that are read where they are worked on: arrays, mapped files, frames, parquet files.

A block is small to send; its rows come in pieces of at most ``size`` rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._typing import AnyArray
from ..exceptions import InvalidDataError

__all__ = ["ArrayBlock", "Block", "FrameBlock", "Header", "JoinedBlock", "MappedBlock", "ParquetBlock", "Piece"]


class Piece(NamedTuple):
    """Some rows of a block."""

    table: Any  # array or frame
    labels: Any  # vector, or None


@dataclass(frozen=True)
class Header:
    """What all blocks of a table share."""

    width: int
    names: tuple[Any, ...] | None  # of the feature columns
    target: Any = None  # name of the column of labels, where it is one of the table

    def check(self, found: Any, number: int) -> None:
        """Refuse a block of other columns."""
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
        """The rows in order, at most ``size`` at once.

        ``columns``: some of the features, by position; ``labels``: whether they are wanted.
        """


@dataclass(frozen=True)
class ArrayBlock(Block):
    """Rows in memory, and their labels."""

    X: Any
    y: Any
    header: Header
    size: int
    number: int = 0

    def pieces(self, columns: list[int] | None = None, *, labels: bool = True) -> Iterator[Piece]:
        """Views of the rows."""
        X = self._rows()
        self.header.check(X.shape[1] if X.ndim == 2 else 0, self.number)
        if self.y is not None and len(self.y) != len(X):
            raise InvalidDataError(f"partition {self.number} has {len(X)} rows and {len(self.y)} labels")
        for begin in range(0, len(X), self.size):
            part = X[begin : begin + self.size]
            mine = None if self.y is None else self.y[begin : begin + self.size]
            yield Piece(np.asarray(part if columns is None else part[:, columns]), mine)

    def _rows(self) -> Any:
        return self.X


@dataclass(frozen=True)
class MappedBlock(ArrayBlock):
    """Rows of a file, mapped anew wherever they are worked on; ``X`` tells where and what (see `mapped`)."""

    begin: int = 0
    end: int = 0

    def _rows(self) -> Any:
        filename, dtype, offset, shape, order = self.X
        whole: AnyArray = np.memmap(filename, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)
        return whole[self.begin : self.end]

    @staticmethod
    def mapped(X: np.memmap[Any, Any]) -> tuple[str, str, int, tuple[int, ...], str]:
        """What is needed to map a file again."""
        root: Any = X
        while isinstance(root.base, np.memmap):
            root = root.base
        offset = int(root.offset) + X.ctypes.data - root.ctypes.data  # a slice keeps the offset of the whole
        return str(X.filename), X.dtype.str, offset, X.shape, "C" if X.flags.c_contiguous else "F"


@dataclass(frozen=True)
class FrameBlock(Block):
    """A pandas frame; labels beside it, or in the column ``header.target``."""

    frame: Any
    y: Any
    header: Header
    size: int
    number: int = 0

    def pieces(self, columns: list[int] | None = None, *, labels: bool = True) -> Iterator[Piece]:
        """Slices of the frame."""
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
        """Batches as they are read."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        header = self.header
        assert header.names is not None
        names = [header.names[j] for j in (range(header.width) if columns is None else columns)]
        target = header.target if labels else None
        wanted = names if target is None else [*names, target]
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(self.size, row_groups=list(self.row_groups), columns=wanted):
                frame = pa.Table.from_batches([batch]).to_pandas(ignore_metadata=False)
                yield Piece(frame[names], None if target is None else np.asarray(frame[target]))


@dataclass(frozen=True)
class JoinedBlock(Block):
    """Several blocks, one after the other: small ones are worked off together."""

    blocks: list[Block]

    def pieces(self, columns: list[int] | None = None, *, labels: bool = True) -> Iterator[Piece]:
        """Those of the blocks, in order."""
        for block in self.blocks:
            yield from block.pieces(columns, labels=labels)
