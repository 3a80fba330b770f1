"""The nearest row at each level of votes, from which the neighbours for every threshold follow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._parallel.executors import JoblibExecutor
from ..._typing import FloatArray, IndexArray
from ...blocks import merge_ranges
from ...engine import ColumnRanges, NeighborEngine
from ...engine.references import column_ranges
from ...exceptions import InvalidDataError
from ...weights import Weights
from .table import Reader, StrataTable, read_rows


class VoteLevels(NamedTuple):
    """The level of each row, which is its number of votes for removal, and its class."""

    level: IndexArray  # (n,)
    number: int  # number of levels
    codes: IndexArray  # (n,)

    def take(self, rows: IndexArray) -> VoteLevels:
        """Return the levels of some rows."""
        return VoteLevels(self.level[rows], self.number, self.codes[rows])


class Nearest(NamedTuple):
    """The nearest rows of queries, and their distances (squared). Row -1 means no neighbour."""

    distance: FloatArray
    row: IndexArray

    def nearer(self, other: Nearest) -> Nearest:
        """Return the nearer of two rows for each query. Of equal distances, it is the lower row."""
        closer = (other.distance < self.distance) | ((other.distance == self.distance) & (other.row < self.row))
        taken = (other.row >= 0) & ((self.row < 0) | closer)
        return Nearest(np.where(taken, other.distance, self.distance), np.where(taken, other.row, self.row))

    def below_levels(self) -> list[Nearest]:
        """Return the nearest rows among the levels 0 to v − 1, for each v = 1, 2, ... The second axis is levels."""
        found = [Nearest(self.distance[:, 0], self.row[:, 0])]
        for level in range(1, self.row.shape[1]):
            found.append(found[-1].nearer(Nearest(self.distance[:, level], self.row[:, level])))
        return found


def find_nearest(table: StrataTable, queries: IndexArray, levels: VoteLevels, weights: list[Weights]) -> list[Nearest]:
    """Return the nearest row of each query at each level, of shape (n_queries, n_levels), for each of the ``weights``.

    ``queries`` are the numbers of rows, ascending. A query is not its own neighbour.
    """
    # Rows in memory are searched by threads of this process.
    executor = JoblibExecutor() if table.reader is None else table.executor
    parts = np.split(queries, np.searchsorted(queries, table.start[1:-1]))
    asked = [(block, part - table.start[p]) for p, (block, part) in enumerate(zip(table.blocks, parts, strict=True))]
    read = executor.map(read_queries, asked, table.reader, len(table.blocks))
    merged = merge_ranges([ranges for _, ranges in read])
    assert merged is not None
    low, high = (np.nan_to_num(end, nan=0.0) for end in merged[:2])  # 0 if all values of a column are missing
    measured = ColumnRanges(low, high, merged.missing)
    tasks: list[tuple[Any, ...]] = []
    for p, block in enumerate(table.blocks):
        rows = table.rows_of(p)
        # A block gets only the weights of its own rows.
        mine = [one.take(rows) if one.instance_bound else one for one in weights]
        tasks.append((block, table.start[p], levels.take(rows), mine))
    values = np.concatenate([values for values, _ in read])
    shared = values, queries, measured, table.n_threads, table.reader
    found: list[Nearest] = executor.reduce(search_block, tasks, *shared, merge=merge_nearest)
    return found


def read_queries(block: Any, rows: IndexArray, reader: Reader, n_blocks: int) -> tuple[FloatArray, ColumnRanges]:
    """Return some rows of a block, by their numbers in the block, and the column ranges of the whole block."""
    found = read_rows(block, reader)
    if found.nominal.any() and n_blocks > 1:
        raise InvalidDataError(
            "neighbours across partitions need numbers, and some columns are categories. Encode them (one column per "
            "category), or choose the threshold yourself (threshold=)"
        )
    values = found.rows[rows]
    if sparse.issparse(values):
        return values.toarray(), column_ranges(found.rows)
    return values, column_ranges(found.rows, empty=np.nan)


def search_block(
    block: Any,
    start: int,
    levels: VoteLevels,
    weights: list[Weights],
    queries: FloatArray,
    own_row: IndexArray,
    measured: ColumnRanges,
    n_threads: int | None,
    reader: Reader,
) -> list[Nearest]:
    """Find the nearest row of every query at each level in one block, for each of the ``weights``.

    Parameters
    ----------
    block : Block or EncodedBlock
    start : int
        Row number of the first row of the block in the whole table, in which all row numbers count.
    levels : VoteLevels
        VoteLevels of the rows of the block.
    weights : list of Weights
    queries : ndarray of shape (n_queries, M)
    own_row : int ndarray of shape (n_queries,)
        Row number of the query itself, which must not be its neighbour.
    measured : ColumnRanges
        Column ranges of the whole table, from which missing distances are computed.
    n_threads : int or None
    reader : Reader
    """
    rows, out = read_rows(block, reader), []
    # A query that belongs to another block has no row of its own here.
    own = np.where((own_row >= start) & (own_row < start + len(levels.level)), own_row - start, -1)
    for one in weights:
        engine = NeighborEngine(
            rows.rows,
            weights=one,
            nominal=rows.nominal if rows.nominal.any() else None,
            class_of_row=levels.codes if one.kind == "class" else None,
            groups=levels.level,
            n_groups=levels.number,
            backend="scan",
            measured=measured,
            n_jobs=n_threads,
        )
        ranked, row = engine.ranked(queries, 1, own_row=own)
        out.append(Nearest(ranked[..., 0], np.where(row < 0, -1, row + start)[..., 0]))
    return out


def merge_nearest(parts: Sequence[list[Nearest]]) -> list[Nearest]:
    """Merge the rows that were found in several blocks, separately for each `Weights`."""
    return [reduce(Nearest.nearer, found) for found in zip(*parts, strict=True)]
