"""Column coding of a table in blocks: the task that reads a piece also checks and codes it.

The coding is learned piece by piece and then combined (see `profile`), so that the codes are the same as for one table
in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..tables.labels import codes_of
from ..tables.validation import TableCoder, joined_categories
from .block import Block, Header, read_block


class TableShape(BaseEstimator):
    """A placeholder for the estimator argument of a `TableCoder`. It has the columns of the header."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.n_features_in_ = header.width
        if header.names is not None and all(isinstance(name, str) for name in header.names):
            self.feature_names_in_ = np.asarray(header.names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@dataclass
class ColumnCoding:
    """Column coding, learned from pieces of a table. A subclass may code columns in another way.

    Parameters
    ----------
    coder : TableCoder
        The coder that the estimator stores and uses for queries.
    """

    coder: Any

    @property
    def table(self) -> TableCoder:
        """The coder that knows the categories."""
        table: TableCoder = self.coder
        return table

    def blank(self) -> ColumnCoding:
        """Return a coding with the same settings that has learned nothing yet."""
        return ColumnCoding(TableCoder(self.coder.categorical_features, self.coder.handle_unknown))

    def learn(self, header: Header, table: Any) -> Any:
        """Learn the columns of a piece and return its coded rows."""
        return self.coder.fit_transform(TableShape(header), table)

    def encode(self, header: Header, table: Any) -> Any:
        """Return the coded rows of a piece, with the columns and categories learned before."""
        return self.coder.transform(TableShape(header), table)

    def translate(self, rows: FloatArray, own: ColumnCoding) -> FloatArray:
        """Return rows that the coding ``own`` of one block has coded, with the codes of this coding."""
        rows = rows.copy()
        for j, found in own.table.categories.items():
            known = ~np.isnan(rows[:, j])
            rows[known, j] = codes_of(found, self.table.categories[j])[rows[known, j].astype(np.int64)]
        return rows

    def merged(self, others: Sequence[Any]) -> Any:
        """Return one coding with the categories of all codings, in the order in which the categories first appear.

        ``others`` holds the codings of neighbouring pieces, in order. This coding is one of them.
        """
        whole = self.blank()
        table, tables = whole.table, [other.table for other in others]
        table.nominal, table.names = tables[0].nominal, tables[0].names
        for number, other in enumerate(tables):
            differ = np.flatnonzero(other.nominal != table.nominal)
            if len(differ):
                column = table.names[int(differ[0])] if table.names else int(differ[0])
                raise InvalidDataError(
                    f"column {column!r} holds categories in some partitions and numbers in others (block {number}): "
                    "convert it, or name the columns in categorical_features"
                )
            # Categories of later pieces follow those of earlier ones, as if the table had been coded as a whole.
            for j, found in other.categories.items():
                table.categories[j] = joined_categories(table.categories.get(j), found)
        return whole


@dataclass(frozen=True)
class BlockEncoder:
    """Codes pieces as rows, with the coding that was learned from all blocks and with one dtype for all rows."""

    header: Header
    coding: ColumnCoding
    dtype: Any
    classes: AnyArray | None = None

    def encode_rows(self, table: Any) -> FloatArray:
        """Return the coded rows of a piece, in C order."""
        return np.ascontiguousarray(self.coding.encode(self.header, table), dtype=self.dtype)

    def encode_labels(self, labels: Any) -> IndexArray:
        """Return the position of each label among the classes."""
        assert self.classes is not None
        return codes_of(column_or_1d(labels), self.classes)


class EncodedBlock(NamedTuple):
    """All rows of a block."""

    table: Any  # the rows as they were read
    rows: Any  # the coded rows: array or CSR matrix
    labels: AnyArray
    nominal: BoolArray  # columns that hold categories
    coding: ColumnCoding | None = None  # the codes of the categories, if the rows were coded by `encode_block`


def encode_block(block: Block, header: Header, coding: ColumnCoding) -> EncodedBlock:
    """Read a block and code it.

    If ``coding`` has learned the categories of all blocks, it codes the block. Otherwise the block is coded by its own
    categories, for tasks that use one block only.
    """
    piece = read_block(block)
    if piece is None:
        raise InvalidDataError("Found array with 0 sample(s): a block of the table is empty")
    if len(coding.table.nominal):
        rows = coding.encode(header, piece.table)
    else:
        coding = coding.blank()
        rows = coding.learn(header, piece.table)
    return EncodedBlock(piece.table, rows, np.asarray(piece.labels), coding.table.nominal, coding)


def take_block(
    block: Block, rows: IndexArray, encoder: BlockEncoder, transform: Any, columns: list[int] | None
) -> FloatArray:
    """Return the coded rows of a block that have the given numbers.

    Parameters
    ----------
    block : Block
    rows : ascending int ndarray
        Row numbers, counted from the first row of the block.
    encoder : BlockEncoder
    transform : callable or None
        Function that is applied to the coded rows.
    columns : list of int or None
        The columns to return after the transform. None means all columns.
    """
    parts = []
    begin = 0
    for piece in block.pieces(labels=False):
        end = begin + len(piece.table)
        # Row numbers ascend, so two binary searches find those of a piece.
        inside = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)] - begin
        begin = end
        if not len(inside):
            continue
        table = piece.table.iloc[inside] if hasattr(piece.table, "iloc") else piece.table[inside]
        coded = encoder.encode_rows(table)
        coded = coded if transform is None else transform(coded)
        parts.append(coded if columns is None else coded[:, columns])
    return np.concatenate(parts) if parts else np.zeros((0, encoder.header.width), dtype=encoder.dtype)
