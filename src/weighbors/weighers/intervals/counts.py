"""Counts of distinct values per class and column, computed block by block. Intervals and bins are made from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..._typing import AnyArray, FloatArray, IndexArray
from ...blocks import Block, BlockEncoder, BlockTable

_DENSE = 2**22  # largest number of (integer, class) pairs that one bincount covers


class Counts(NamedTuple):
    """Distinct pairs of value and class of a column, sorted by value and class. Missing values are left out."""

    values: FloatArray
    codes: IndexArray
    number: AnyArray  # number of rows of each pair, or the sum of their sample weights


def _counted(values: FloatArray, codes: IndexArray, weight: FloatArray | None, n_classes: int) -> Counts:
    """Count the pairs of value and class. With ``weight``, the weights of the rows are added up.

    ``values`` and ``codes`` are the value and the class number of each row, and ``n_classes`` is the number of classes.
    """
    if not len(values):
        return Counts(values.astype(np.float64), codes, np.zeros(0, dtype=np.int64 if weight is None else np.float64))
    low, high = float(values.min()), float(values.max())
    whole = np.rint(values)
    # Whole numbers of a small range are counted in one table, which is faster than sorting.
    if (high - low + 1) * n_classes <= min(_DENSE, 16 * len(values) + 1024) and (whole == values).all():
        place = (whole - low).astype(np.int64) * n_classes + codes
        table = np.bincount(place, weights=weight)
        # Whether a pair occurs is decided by counting rows, not by the sum of their weights.
        at = np.flatnonzero(table if weight is None else np.bincount(place))
        return Counts(at // n_classes + low, at % n_classes, table[at])
    order = np.lexsort((codes, values))
    values, codes = values[order].astype(np.float64), codes[order]
    # Equal pairs are neighbours after the sort, and each group of them begins where one of the two changes.
    first = np.flatnonzero(np.concatenate([[True], (np.diff(values) != 0) | (np.diff(codes) != 0)]))
    if weight is None:
        count: AnyArray = np.diff(np.concatenate([first, [len(values)]]))
    else:
        count = np.add.reduceat(weight[order], first)
    return Counts(values[first], codes[first], count)


def count_block(block: Block, weight: FloatArray | None, columns: list[int], encoder: BlockEncoder) -> list[Counts]:
    """Count the values of some columns of a block. Rows of sample weight 0 are left out."""
    parts = []
    begin = 0
    assert encoder.classes is not None
    for piece in block.pieces():
        if not len(piece.table):
            continue
        end = begin + len(piece.table)
        mine = None if weight is None else weight[begin:end]
        begin = end
        rows, codes = encoder.encode_rows(piece.table), encoder.encode_labels(piece.labels)
        parts.append([_count_column(rows[:, j], codes, mine, len(encoder.classes)) for j in columns])
    return merge_counts(parts) if parts else [_counted(np.zeros(0), np.zeros(0, np.int64), weight, 1) for _ in columns]


def _count_column(column: FloatArray, codes: IndexArray, weight: FloatArray | None, n_classes: int) -> Counts:
    """Count the pairs of value and class in one column. Missing values and rows of weight 0 are left out."""
    known = ~np.isnan(column) if weight is None else ~np.isnan(column) & (weight > 0)
    if not known.all():
        column, codes = column[known], codes[known]
        weight = None if weight is None else weight[known]
    return _counted(column, codes, weight, n_classes)


def merge_counts(parts: list[list[Counts]]) -> list[Counts]:
    """Combine the counts of several blocks, column by column."""
    return [_merged(list(columns)) for columns in zip(*parts, strict=True)]


def _merged(parts: list[Counts]) -> Counts:
    """Combine the counts of one column from several blocks."""
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
    """Yield the number and the counts of each column, one after the other.

    Columns are counted in groups. The counts of a group fit in ``max_bytes`` even if all values differ, unless the
    group is a single column.
    """
    whole = table.measured.high.astype(np.float64) - table.measured.low + 1
    broken = np.isnan(table.broken[0]) if table.broken is not None else np.zeros(len(whole), dtype=bool)
    # A column of whole numbers has at most as many distinct values as its range. Any other column may have one per row.
    distinct = np.where(broken, np.minimum(whole, table.n), table.n) * len(table.classes)
    tasks = table.tasks(table.cut(sample_weight))
    for group in _groups(columns, np.minimum(distinct, table.n) * 24, table.max_bytes):
        found = table.executor.reduce(count_block, tasks, group, table.encoder, merge=merge_counts)
        yield from zip(group, found, strict=True)


def _groups(columns: list[int], sizes: FloatArray, limit: int) -> list[list[int]]:
    """Cut the columns into groups, each of at most ``limit`` bytes. ``sizes`` has the bytes of each column."""
    groups: list[list[int]] = []
    filled: Any = np.inf
    for j in columns:
        if filled + sizes[j] > limit:
            groups.append([])
            filled = 0.0
        groups[-1].append(j)
        filled += sizes[j]
    return groups
