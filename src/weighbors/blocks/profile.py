"""One pass over the blocks of a table finds the number of rows, dtype, column ranges, categories and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import column_or_1d

from .._names import require_text
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..engine.references import ColumnRanges, column_ranges, integral
from ..exceptions import InvalidDataError
from ..tables.labels import codes_of
from ..tables.validation import InfiniteCellError
from .block import Block, Header, Piece
from .encode import BlockEncoder, ColumnCoding


@dataclass
class BlockProfile:
    """The facts that one pass over a block finds."""

    rows: int
    dtype: Any
    column_range: ColumnRanges | None  # NaN if all values of a column are missing; None if there are no rows
    coding: ColumnCoding | None
    labels: AnyArray  # the distinct labels, sorted
    codes: AnyArray  # position of the label of each row in ``labels``
    unlabelled: int  # rows without a label
    first_unlabelled: int
    broken: FloatArray | None  # (2, M) per column, the first value that is no whole number, and its row; NaN if none
    infinite: InfiniteCellError | None = None  # raised when the number of its row in the whole table is known


def profile_block(block: Block, header: Header, blank: ColumnCoding, labelled: bool, whole: bool) -> BlockProfile:
    """Return the profile of a block.

    Parameters
    ----------
    block : Block
    header : Header
    blank : ColumnCoding
        A coding that has learned nothing.
    labelled : bool
        Whether the rows have labels.
    whole : bool
        Whether to look for numbers that are not whole.
    """
    parts = [_profile(piece, header, blank, labelled, whole) for piece in block.pieces() if len(piece.table)]
    if not parts:
        return BlockProfile(0, None, None, None, np.zeros(0), np.zeros(0, dtype=np.uint8), 0, -1, None)
    return merge_profiles(parts)


def _profile(piece: Piece, header: Header, blank: ColumnCoding, labelled: bool, whole: bool) -> BlockProfile:
    """Return the profile of one piece. The parameters are those of `profile_block`."""
    coding = blank.blank()
    labels, codes, absent = np.zeros(0), np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64)
    try:
        rows = coding.learn(header, piece.table)
    except InfiniteCellError as error:
        return BlockProfile(len(piece.table), None, None, None, labels, codes, 0, -1, None, error)
    if labelled:
        values = column_or_1d(piece.labels)
        missing = pd.isna(values)
        absent = np.flatnonzero(missing)
        labels, codes = _sorted_labels(values[~missing])
        require_text(labels, "label")
    broken = _broken(rows) if whole else None
    first = int(absent[0]) if len(absent) else -1
    return BlockProfile(
        len(rows), rows.dtype, column_ranges(rows, empty=np.nan), coding, labels, codes, len(absent), first, broken
    )


def _sorted_labels(values: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the same as ``np.unique(values, return_inverse=True)``.

    Labels are hashed, which is faster for a few distinct labels that are often text.
    """
    found, unique = pd.factorize(values)
    unique = np.asarray(unique, dtype=values.dtype)
    try:
        order = np.argsort(unique, kind="stable")
    except TypeError as error:
        raise InvalidDataError(f"labels of different kinds cannot be compared: {error}") from error
    rank = np.empty(len(order), dtype=_smallest_type(len(order)))
    rank[order] = np.arange(len(order))
    return unique[order], rank[found]


def _smallest_type(n: int) -> Any:
    """Return the smallest integer dtype for ``n`` different codes, to save memory for huge tables."""
    return np.min_scalar_type(max(n - 1, 0))


def _broken(rows: FloatArray) -> FloatArray:
    """Return the first value of each column that is not whole, and its row: shape (2, M), NaN if there is none."""
    out = np.full((2, rows.shape[1]), np.nan)
    for j in np.flatnonzero(~integral(rows)).tolist():
        column = rows[:, j]
        row = int(np.argmax((column != np.rint(column)) & ~np.isnan(column)))
        out[:, j] = column[row], row
    return out


def merge_profiles(parts: list[BlockProfile]) -> BlockProfile:
    """Combine the profiles of neighbouring pieces or blocks into one profile."""
    parts = [part for part in parts if part.rows]
    first = parts[0]
    if len(parts) == 1:
        return first
    offset = np.concatenate([[0], np.cumsum([part.rows for part in parts])])[:-1]
    for part, begin in zip(parts, offset.tolist(), strict=True):
        if part.infinite is not None:  # the first one is reported, and nothing else is needed
            return replace(part, rows=sum(part.rows for part in parts), infinite=part.infinite.moved(begin))
    assert first.coding is not None
    try:
        labels = np.unique(np.concatenate([part.labels for part in parts]))
    except TypeError as error:
        raise InvalidDataError(f"labels of different kinds cannot be compared: {error}") from error
    # Only the distinct labels of each part are looked up, because the rows have codes already.
    codes = [codes_of(part.labels, labels)[part.codes] for part in parts]
    unlabelled = [int(offset[i]) + part.first_unlabelled for i, part in enumerate(parts) if part.unlabelled]
    return BlockProfile(
        int(sum(part.rows for part in parts)),
        # The dtype that holds the values of all parts, as for one table in memory.
        np.result_type(*(part.dtype for part in parts)),
        merge_ranges([part.column_range for part in parts]),
        first.coding.merged([part.coding for part in parts]),
        labels,
        np.concatenate(codes).astype(_smallest_type(len(labels))),
        sum(part.unlabelled for part in parts),
        min(unlabelled, default=-1),
        _first_broken(parts, offset),
    )


def _first_broken(parts: list[BlockProfile], offset: IndexArray) -> FloatArray | None:
    """Combine the results of `_broken`. ``offset`` has the number of the first row of each part."""
    if parts[0].broken is None:
        return None
    out = np.full_like(parts[0].broken, np.nan)
    # From the last part to the first, so that the earliest row remains.
    for part, first in zip(reversed(parts), offset[::-1].tolist(), strict=True):
        assert part.broken is not None
        out = np.where(np.isnan(part.broken[0]), out, part.broken + np.array([[0.0], [first]]))
    return out


def count_rows(block: Block) -> int:
    """Return the number of rows of a block."""
    return sum(len(piece.table) for piece in block.pieces([0], labels=False))


def block_range(block: Block, kept: BoolArray, encoder: BlockEncoder) -> ColumnRanges | None:
    """Return the column ranges of some rows of a block, or None if no row is kept.

    ``kept`` is a mask of the rows of the block.
    """
    ranges = []
    begin = 0
    for piece in block.pieces(labels=False):
        end = begin + len(piece.table)
        if kept[begin:end].any():
            ranges.append(column_ranges(encoder.encode_rows(piece.table)[kept[begin:end]], empty=np.nan))
        begin = end
    return merge_ranges(ranges)


def merge_ranges(ranges: Sequence[ColumnRanges | None]) -> ColumnRanges | None:
    """Combine the column ranges of several parts of a table. Return None if no part has rows."""
    known = [part for part in ranges if part is not None]
    if not known:
        return None
    return ColumnRanges(
        np.fmin.reduce([part.low for part in known]),
        np.fmax.reduce([part.high for part in known]),
        np.any([part.missing for part in known], axis=0),
    )
