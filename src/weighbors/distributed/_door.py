"""The door of a table in blocks: each piece is checked and coded as the ordinary estimators would, where it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d

from .._names import require_text
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .._validation import TableCoder, codes_of, joined_categories
from ..engine import Extent
from ..engine.references import bounds, integral
from ..exceptions import InvalidDataError
from ..weighers.discretize import IntegerCoder
from ._blocks import Block, Header, Piece

__all__ = [
    "BlockProfile",
    "Coder",
    "Door",
    "count_rows",
    "merge_profiles",
    "merge_reaches",
    "nominal_of",
    "profile_block",
    "reach_block",
    "take_block",
]


class _Shape(BaseEstimator):
    """What the coders ask of an estimator: the columns it was fitted to."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.n_features_in_ = header.width
        if header.names is not None and all(isinstance(name, str) for name in header.names):
            self.feature_names_in_ = np.asarray(header.names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


Coder = TableCoder | IntegerCoder


def _table_of(coder: Coder) -> TableCoder:
    return coder.table if isinstance(coder, IntegerCoder) else coder


def _blank(coder: Coder) -> Coder:
    """A coder of the same settings that has learned nothing."""
    if isinstance(coder, IntegerCoder):
        return IntegerCoder(coder.discretize, coder.n_bins, coder.categorical_features, coder.handle_unknown)
    return TableCoder(coder.categorical_features, coder.handle_unknown)


@dataclass(frozen=True)
class Door:
    """How pieces become rows: the coder that was learned from all blocks, and the dtype all of them have."""

    header: Header
    coder: Coder
    dtype: Any
    classes: AnyArray | None = None

    def rows(self, table: Any) -> FloatArray:
        """Coded rows, C-ordered."""
        shape = _Shape(self.header)
        coded = (
            self.coder.coded(shape, table)
            if isinstance(self.coder, IntegerCoder)
            else self.coder.transform(shape, table)
        )
        return np.ascontiguousarray(coded, dtype=self.dtype)

    def codes(self, labels: Any) -> IndexArray:
        """Position of each label among the classes."""
        assert self.classes is not None
        return codes_of(column_or_1d(labels), self.classes)


@dataclass
class BlockProfile:
    """What one pass over a block tells."""

    rows: int
    dtype: Any
    reach: Extent | None  # NaN where all are missing; None without rows
    coder: Coder | None
    labels: AnyArray  # the different ones
    codes: AnyArray  # of the rows, among these
    unlabelled: int  # rows without a label
    first_unlabelled: int
    broken: FloatArray | None  # (2, M) the first value that is not whole, and its row; NaN without one


def profile_block(block: Block, header: Header, blank: Coder, labelled: bool, whole: bool) -> BlockProfile:
    """Measure a block. ``blank``: a coder that has learned nothing; ``whole``: look for broken numbers too."""
    parts = [_profile(piece, header, blank, labelled, whole) for piece in block.pieces() if len(piece.table)]
    if not parts:
        return BlockProfile(0, None, None, None, np.zeros(0), np.zeros(0, dtype=np.uint8), 0, -1, None)
    return merge_profiles(parts)


def _profile(piece: Piece, header: Header, blank: Coder, labelled: bool, whole: bool) -> BlockProfile:
    coder, shape = _blank(blank), _Shape(header)
    rows = (
        coder.open(shape, piece.table) if isinstance(coder, IntegerCoder) else coder.fit_transform(shape, piece.table)
    )
    labels, codes, absent = np.zeros(0), np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64)
    if labelled:
        values = column_or_1d(piece.labels)
        missing = pd.isna(values)
        absent = np.flatnonzero(missing)
        labels, codes = _sorted_labels(values[~missing])
        require_text(labels, "label")
    broken = _broken(rows) if whole else None
    first = int(absent[0]) if len(absent) else -1
    return BlockProfile(len(rows), rows.dtype, bounds(rows), coder, labels, codes, len(absent), first, broken)


def _sorted_labels(values: AnyArray) -> tuple[AnyArray, AnyArray]:
    """As ``np.unique`` with the inverse, by hashing: labels are few and often text."""
    found, unique = pd.factorize(values)
    unique = np.asarray(unique, dtype=values.dtype)
    try:
        order = np.argsort(unique, kind="stable")
    except TypeError as error:
        raise InvalidDataError(f"labels of different kinds cannot be compared: {error}") from error
    rank = np.empty(len(order), dtype=_small(len(order)))
    rank[order] = np.arange(len(order))
    return unique[order], rank[found]


def _small(n: int) -> Any:
    """The smallest type that numbers ``n`` things."""
    return np.min_scalar_type(max(n - 1, 0))


def _broken(rows: FloatArray) -> FloatArray:
    out = np.full((2, rows.shape[1]), np.nan)
    for j in np.flatnonzero(~integral(rows)).tolist():
        column = rows[:, j]
        row = int(np.argmax((column != np.rint(column)) & ~np.isnan(column)))
        out[:, j] = column[row], row
    return out


def merge_profiles(parts: list[BlockProfile]) -> BlockProfile:
    """The profile of neighbouring pieces or blocks together."""
    parts = [part for part in parts if part.rows]
    first = parts[0]
    if len(parts) == 1:
        return first
    offset = np.concatenate([[0], np.cumsum([part.rows for part in parts])])[:-1]
    try:
        labels = np.unique(np.concatenate([part.labels for part in parts]))
    except TypeError as error:
        raise InvalidDataError(f"labels of different kinds cannot be compared: {error}") from error
    codes = [codes_of(part.labels, labels)[part.codes] for part in parts]
    unlabelled = [int(offset[i]) + part.first_unlabelled for i, part in enumerate(parts) if part.unlabelled]
    return BlockProfile(
        int(sum(part.rows for part in parts)),
        np.result_type(*(part.dtype for part in parts)),
        merge_reaches([part.reach for part in parts]),
        _merged_coder([part.coder for part in parts]),
        labels,
        np.concatenate(codes).astype(_small(len(labels))),
        sum(part.unlabelled for part in parts),
        min(unlabelled, default=-1),
        _first_broken(parts, offset),
    )


def _first_broken(parts: list[BlockProfile], offset: IndexArray) -> FloatArray | None:
    if parts[0].broken is None:
        return None
    out = np.full_like(parts[0].broken, np.nan)
    for part, first in zip(reversed(parts), offset[::-1].tolist(), strict=True):
        assert part.broken is not None
        out = np.where(np.isnan(part.broken[0]), out, part.broken + np.array([[0.0], [first]]))
    return out


def _merged_coder(coders: list[Any]) -> Any:
    """One coder that knows the categories of all, in the order in which they first appear."""
    first = _blank(coders[0])
    table, tables = _table_of(first), [_table_of(coder) for coder in coders]
    table.nominal, table.names = tables[0].nominal, tables[0].names
    for number, other in enumerate(tables):
        differ = np.flatnonzero(other.nominal != table.nominal)
        if len(differ):
            column = table.names[int(differ[0])] if table.names else int(differ[0])
            raise InvalidDataError(
                f"column {column!r} holds categories in some partitions and numbers in others (block {number}): "
                "convert it, or name the columns in categorical_features"
            )
        for j, found in other.categories.items():
            known = table.categories.get(j)
            table.categories[j] = joined_categories(known, found)
    if isinstance(first, IntegerCoder):
        first.ranks = coders[0].ranks
        if any(
            {j: r.tolist() for j, r in c.ranks.items()} != {j: r.tolist() for j, r in first.ranks.items()}
            for c in coders
        ):
            raise InvalidDataError("the order of an ordered category differs between partitions")
    return first


def count_rows(block: Block) -> int:
    """Rows of a block."""
    return sum(len(piece.table) for piece in block.pieces([0], labels=False))


def reach_block(block: Block, kept: BoolArray, door: Door) -> Extent | None:
    """How far the columns of the kept rows of a block reach; None where none is kept."""
    reaches = []
    begin = 0
    for piece in block.pieces(labels=False):
        end = begin + len(piece.table)
        if kept[begin:end].any():
            reaches.append(bounds(door.rows(piece.table)[kept[begin:end]]))
        begin = end
    return merge_reaches(reaches)


def merge_reaches(reaches: Sequence[Extent | None]) -> Extent | None:
    """Of several parts of a table together."""
    known = [reach for reach in reaches if reach is not None]
    if not known:
        return None
    return Extent(
        np.fmin.reduce([reach.low for reach in known]),
        np.fmax.reduce([reach.high for reach in known]),
        np.any([reach.missing for reach in known], axis=0),
    )


def take_block(block: Block, rows: IndexArray, door: Door, transform: Any, columns: list[int] | None) -> FloatArray:
    """Some rows of a block, ascending, coded and transformed; or all rows of some raw columns."""
    parts = []
    begin = 0
    for piece in block.pieces(labels=False):
        end = begin + len(piece.table)
        inside = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)] - begin
        begin = end
        if not len(inside):
            continue
        table = piece.table.iloc[inside] if hasattr(piece.table, "iloc") else piece.table[inside]
        coded = door.rows(table)
        coded = coded if transform is None else transform(coded)
        parts.append(coded if columns is None else coded[:, columns])
    return np.concatenate(parts) if parts else np.zeros((0, door.header.width), dtype=door.dtype)


def nominal_of(coder: Coder, width: int) -> BoolArray:
    """Columns that hold categories."""
    nominal = _table_of(coder).nominal
    return nominal if len(nominal) == width else np.zeros(width, dtype=bool)
