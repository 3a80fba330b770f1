"""Counts of distinct values per class and column, block by block: what intervals and bins are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ._blocks import Block
from ._door import Door
from ._table import BlockTable

__all__ = ["Counts", "column_counts", "merge_counts"]

_DENSE = 2**22  # places of a column that are counted by a table


class Counts(NamedTuple):
    """Distinct pairs of value and class of a column, by value and class; missing values left out."""

    values: FloatArray
    codes: IndexArray
    number: AnyArray  # rows, or their weight


def _counted(values: FloatArray, codes: IndexArray, weight: FloatArray | None, n_classes: int) -> Counts:
    """Count the pairs."""
    if not len(values):
        return Counts(values.astype(np.float64), codes, np.zeros(0, dtype=np.int64 if weight is None else np.float64))
    low, high = float(values.min()), float(values.max())
    whole = np.rint(values)
    if (high - low + 1) * n_classes <= min(_DENSE, 16 * len(values) + 1024) and (whole == values).all():
        place = (whole - low).astype(np.int64) * n_classes + codes
        table = np.bincount(place, weights=weight)
        at = np.flatnonzero(table if weight is None else np.bincount(place))
        return Counts(at // n_classes + low, at % n_classes, table[at])
    order = np.lexsort((codes, values))
    values, codes = values[order].astype(np.float64), codes[order]
    first = np.flatnonzero(np.concatenate([[True], (np.diff(values) != 0) | (np.diff(codes) != 0)]))
    if weight is None:
        count: AnyArray = np.diff(np.concatenate([first, [len(values)]]))
    else:
        count = np.add.reduceat(weight[order], first)
    return Counts(values[first], codes[first], count)


def count_block(block: Block, weight: FloatArray | None, columns: list[int], door: Door) -> list[Counts]:
    """Counts of some columns of a block; rows of weight 0 do not count."""
    parts = []
    begin = 0
    assert door.classes is not None
    for piece in block.pieces():
        if not len(piece.table):
            continue
        end = begin + len(piece.table)
        mine = None if weight is None else weight[begin:end]
        begin = end
        rows, codes = door.rows(piece.table), door.codes(piece.labels)
        parts.append([_count_column(rows[:, j], codes, mine, len(door.classes)) for j in columns])
    return merge_counts(parts) if parts else [_counted(np.zeros(0), np.zeros(0, np.int64), weight, 1) for _ in columns]


def _count_column(column: FloatArray, codes: IndexArray, weight: FloatArray | None, n_classes: int) -> Counts:
    known = ~np.isnan(column) if weight is None else ~np.isnan(column) & (weight > 0)
    if not known.all():
        column, codes = column[known], codes[known]
        weight = None if weight is None else weight[known]
    return _counted(column, codes, weight, n_classes)


def merge_counts(parts: list[list[Counts]]) -> list[Counts]:
    """Counts of several blocks together, column by column."""
    return [_merged(list(columns)) for columns in zip(*parts, strict=True)]


def _merged(parts: list[Counts]) -> Counts:
    if len(parts) == 1:
        return parts[0]
    values, codes, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((codes, values))
    values, codes, count = values[order], codes[order], count[order]
    if not len(values):
        return parts[0]
    first = np.flatnonzero(np.concatenate([[True], (np.diff(values) != 0) | (np.diff(codes) != 0)]))
    return Counts(values[first], codes[first], np.add.reduceat(count, first))


def column_counts(
    table: BlockTable, columns: list[int], sample_weight: FloatArray | None
) -> Iterator[tuple[int, Counts]]:
    """Counts of the columns one after the other; as many at once as fit in memory if all values differ."""
    whole = table.measured.high.astype(np.float64) - table.measured.low + 1
    broken = np.isnan(table.broken[0]) if table.broken is not None else np.zeros(len(whole), dtype=bool)
    distinct = np.where(broken, np.minimum(whole, table.n), table.n) * len(table.classes)
    each = [(None if sample_weight is None else sample_weight[begin:end],) for begin, end in table.ranges()]
    for group in _groups(columns, np.minimum(distinct, table.n) * 24, table.max_bytes):
        found = table.executor.reduce(count_block, table.blocks, each, group, table.door, merge=merge_counts)
        yield from zip(group, found, strict=True)


def _groups(columns: list[int], sizes: FloatArray, limit: int) -> list[list[int]]:
    groups: list[list[int]] = []
    filled: Any = np.inf
    for j in columns:
        if filled + sizes[j] > limit:
            groups.append([])
            filled = 0.0
        groups[-1].append(j)
        filled += sizes[j]
    return groups
