"""Training rows that may be in blocks: how their neighbours are found, and how their differences are summed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._parallel.threads import effective_n_jobs
from .._typing import FloatArray, IndexArray
from ..blocks import BlockEngine, BlockTable
from ..engine import ColumnRanges
from ..engine.references import compute_missing_distance
from ..tables.coded import CodedTable
from .rows import LISTS, Expectation, Instances, ListedPairs, scale_by_range, sum_listed


@dataclass(frozen=True)
class Arranged:
    """A transform that puts numeric columns first, and scales them to the ranges ``scaled`` if these are given."""

    columns: IndexArray
    n_numeric: int
    scaled: ColumnRanges | None

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return coded rows with their columns reordered and scaled."""
        if not np.array_equal(self.columns, np.arange(rows.shape[1])):
            rows = np.ascontiguousarray(rows[:, self.columns])
        return rows if self.scaled is None else scale_by_range(rows, self.scaled, self.n_numeric)[0]


class BlockInstances(Instances):
    """`Instances` for a `BlockTable`: the same neighbours and the same sums, in the same order.

    Neighbours are searched among all rows. The rows of some neighbour lists at a time are read from the blocks and
    summed in this process.
    """

    cells = 2**25  # large, because every `take` is a round of tasks

    def __init__(self, table: BlockTable, *, scaled: bool, p: int, n_jobs: int | None) -> None:
        nominal, self.n_jobs = table.nominal, n_jobs
        self.table, self.dtype, self.p, self.sparse = table, table.dtype, p, False
        self.n, self.n_features = table.n, len(nominal)
        self.columns = np.concatenate([np.flatnonzero(~nominal), np.flatnonzero(nominal)])
        self.n_numeric = int((~nominal).sum())
        measured = table.measured.of(self.columns)
        self.transform = Arranged(self.columns, self.n_numeric, measured if scaled else None)
        if scaled:  # scaling and rounding keep the order of values
            low, high = (scale_by_range(end[None], measured, self.n_numeric)[0][0] for end in measured[:2])
            measured = ColumnRanges(low, high, measured.missing)
        self.measured, self.incomplete = measured, measured.missing
        self.missing = bool(measured.missing.any())
        self.plain = not (nominal.any() or self.missing)

    def take(self, rows: IndexArray) -> FloatArray:
        """Return the transformed rows with the numbers ``rows``."""
        return self.table.take(rows, self.transform)

    def column(self, at: int) -> FloatArray:
        """Return column number ``at`` of all transformed rows, in float64."""
        return self.table.column(at, self.transform)

    def make_engine(self, target: CodedTable) -> BlockEngine:
        """Return the engine that finds the nearest rows of each class of the block table."""
        nominal = np.arange(self.n_features) >= self.n_numeric
        return BlockEngine(
            self.table,
            transform=self.transform,
            measured=self.measured,
            p=self.p,
            nominal=nominal,
            by_class=len(self.table.classes) > 0,
        )

    @cached_property
    def missing_distance(self) -> FloatArray:
        """The missing distance of each column."""
        return compute_missing_distance(self.measured, self.n_numeric, self.dtype)

    def expectations(self, target: CodedTable) -> Iterator[tuple[int, Expectation]]:
        """Yield the expected differences of each column with missing values, one column in memory at a time."""
        for j in np.flatnonzero(self.incomplete).tolist():
            yield j, Expectation(self.column(j), target.codes, target.n_groups, j >= self.n_numeric)

    def sum_complete(self, several: Sequence[ListedPairs]) -> list[FloatArray]:
        """Return the sums of listed pairs, in which columns with missing values are 0."""
        return [self._sum_from_blocks(lists) for lists in several]

    def _sum_from_blocks(self, lists: ListedPairs) -> FloatArray:
        """Return the sums of listed pairs, whose rows are read from the blocks."""
        total = np.zeros((lists.n_output_rows, self.n_features))
        row_bytes = self.n_features * self.dtype.itemsize
        # A multiple of LISTS per round: chunks then begin where those of one large call begin, which gives the same
        # bits.
        size = max(1, self.table.max_bytes // 4 // row_bytes // (lists.neighbor.shape[1] + 1) // LISTS) * LISTS
        for begin in range(0, len(lists.query), size):
            some = slice(begin, begin + size)
            query, named = lists.query[some], lists.neighbor[some]
            # A row that is in several lists is read once.
            rows = np.unique(np.concatenate([query, named[named >= 0]]))
            values = self.take(rows)
            values[:, self.incomplete] = 0.0  # columns with missing values are added elsewhere
            at = np.where(named >= 0, np.searchsorted(rows, named), -1)
            read = ListedPairs(
                np.searchsorted(rows, query), at, lists.coefficient[some], lists.output_row[some], lists.n_output_rows
            )
            sum_listed(values, self.n_numeric, [read], effective_n_jobs(self.n_jobs), [total])
        return total
