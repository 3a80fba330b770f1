"""Runs of integers of a table in blocks, computed from merged counts.

The distinct values per class are counted in every block, and the counts are merged. Runs, bins and weights follow from
the merged counts. If most values of a column differ, its counts take up to 24 bytes per row; columns are counted in
groups that fit in the memory of a task, but at least one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ..._typing import AnyArray, FloatArray
from ...blocks import BlockTable, ColumnCoding, Header
from ...blocks.encode import TableShape
from ...exceptions import InvalidDataError
from ...tables.validation import TableCoder
from .counts import Counts, column_counts
from .discretize import Column, IntegerCoder
from .runs import Runs, find_runs


def find_block_runs(table: BlockTable, overlap: str, sample_weight: FloatArray | None) -> Runs:
    """Learn the bins of the columns of a table in blocks, and return its runs. Its coder is an `IntegerCoder`.

    ``overlap`` is as in `RepresentativeIntervals`. With sample weights that are not whole numbers, sums are added in
    another order than for a table in memory, and weights differ by about 1e-12; otherwise they are the same to the bit.
    """
    coder: Any = table.coder
    columns = _Columns(table, sample_weight)
    broken = np.full((2, table.header.width), np.nan) if table.broken is None else table.broken
    real = ~table.nominal & ~np.isnan(broken[0])

    def example(j: int) -> tuple[float, int]:
        """Return a number of column ``j`` that is not whole, and its row."""
        return float(broken[0, j]), int(broken[1, j])

    coder.learn_columns(table.measured, ~table.nominal, real, table.dtype, len(table.classes), columns, example)
    parts = [_runs_of(j, counts, coder, table, overlap) for j, counts in columns.all()]
    return Runs(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Runs)})


def _runs_of(j: int, counts: Counts, coder: IntegerCoder, table: BlockTable, overlap: str) -> Runs:
    """Return the runs of column ``j``, from its counts."""
    values: AnyArray = counts.values
    if j in coder.cuts:
        values = np.searchsorted(coder.cuts[j], values, side="right").astype(np.float64)
    # Each pair of value and class stands for as many rows as it was counted.
    runs = find_runs(
        values[:, None],
        counts.codes,
        len(table.classes),
        table.nominal[[j]],
        overlap=overlap,
        sample_weight=counts.number.astype(np.float64),
    )
    return replace(runs, feature=np.full_like(runs.feature, j), magnitude=runs.magnitude.astype(counts.number.dtype))


class IntegerCoding(ColumnCoding):
    """The column coding of `IntegerCoder`: ordered categories become ranks. Bins are learned later, from counts."""

    @property
    def table(self) -> TableCoder:
        """The coder that knows the categories."""
        table: TableCoder = self.coder.table
        return table

    def blank(self) -> IntegerCoding:
        """Return a coding with the same settings that has learned nothing yet."""
        own = self.coder
        return IntegerCoding(IntegerCoder(own.discretize, own.n_bins, own.categorical_features))

    def learn(self, header: Header, table: Any) -> Any:
        """Learn the columns of a piece and return its coded rows."""
        return self.coder.open(TableShape(header), table)

    def encode(self, header: Header, table: Any) -> Any:
        """Return the coded rows of a piece, before numbers are put into bins."""
        return self.coder.coded(TableShape(header), table)

    def merged(self, others: Sequence[Any]) -> Any:
        """Return one coding with the categories of all codings. Raise InvalidDataError if their ranks differ."""
        whole = super().merged(others)
        ranks = [{j: rank.tolist() for j, rank in other.coder.ranks.items()} for other in others]
        if any(one != ranks[0] for one in ranks):
            raise InvalidDataError("the order of an ordered category differs between partitions")
        whole.coder.ranks = others[0].coder.ranks
        return whole


class _Columns:
    """The columns of a table, given by their counts. Counts are stored as long as they fit in the memory of a task."""

    def __init__(self, table: BlockTable, sample_weight: FloatArray | None) -> None:
        self.table, self.sample_weight = table, sample_weight
        self._kept: dict[int, Counts] = {}
        self._bytes = 0

    def _keep(self, j: int, counts: Counts) -> None:
        """Store the counts of column ``j``, if there is memory left."""
        size = sum(part.nbytes for part in counts)
        if j not in self._kept and self._bytes + size <= self.table.max_bytes:
            self._kept[j] = counts
            self._bytes += size

    def all(self) -> Any:
        """Yield the number and the counts of every column, in order."""
        every = list(range(self.table.header.width))
        fresh = column_counts(self.table, [j for j in every if j not in self._kept], self.sample_weight)
        for j in every:
            if j in self._kept:
                yield j, self._kept[j]
            else:
                yield next(fresh)

    def __call__(self, j: int) -> Column:
        """Return the values of column ``j`` that are not missing.

        Without sample weights a value is repeated as often as it occurs. With sample weights every pair of value and
        class is there once, with its weight.
        """
        if not self._kept:
            for other, counts in column_counts(self.table, list(range(self.table.header.width)), self.sample_weight):
                self._keep(other, counts)
        counts = self._kept[j] if j in self._kept else next(column_counts(self.table, [j], self.sample_weight))[1]
        if self.sample_weight is not None:
            return Column(counts.values, counts.codes, counts.number)
        return Column(np.repeat(counts.values, counts.number), np.repeat(counts.codes, counts.number), None)
