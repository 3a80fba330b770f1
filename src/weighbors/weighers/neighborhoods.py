"""Training rows for the RELIEF family: their neighbours in each class, and sums of their differences.

The module `differences` defines the difference of two rows in a feature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._parallel.threads import effective_n_jobs
from .._typing import BoolArray, FloatArray, IndexArray
from ..engine import NeighborEngine, SearchEngine
from ..engine.listed import ListedPairs, count_places, sum_together
from ..engine.pairs import PackedRows
from ..engine.references import as_rows, column_ranges
from ..exceptions import InvalidDataError
from .differences import Expectation, RangeScale, absolute_sums
from .slots import NeighborWeights, tolerance

__all__ = [
    "Instances",
    "Neighborhoods",
    "Neighbors",
    "PendingScores",
    "Terms",
    "compute_scores",
    "refuse_dense",
    "to_dense",
]


_MOST_PLACES = 2**20  # places of lists that are summed together; a place takes some 64 bytes in all arrays
DENSE_BYTES = 2 * 2**30  # a sparse matrix may become dense up to this size


def to_dense(X: Any, who: str) -> Any:
    """Return dense rows. Raise an error if a sparse matrix would need more than ``DENSE_BYTES``.

    ``who`` names the caller in the message.
    """
    refuse_dense(X, who)
    return X.toarray() if sparse.issparse(X) else X


def refuse_dense(X: Any, who: str) -> None:
    """Raise an error if a sparse matrix would need more than ``DENSE_BYTES`` as a dense array."""
    size = X.shape[0] * X.shape[1] * 8
    if sparse.issparse(X) and size > DENSE_BYTES:
        raise InvalidDataError(
            f"{who} needs dense rows, and this sparse matrix would take {size / 2**30:.1f} GiB "
            f"(limit {DENSE_BYTES / 2**30:.0f} GiB). Select features first, for example with ReliefF"
        )


@dataclass(frozen=True)
class Neighbors:
    """The neighbours of some rows in each class: which rows, how far, and how much each one counts."""

    query: IndexArray  # (n,) the rows whose neighbours these are
    row: IndexArray  # (n, n_classes, width) the neighbours, -1 if there is none
    share: FloatArray  # of the same shape; what `NeighborWeights` says, by default the share of a slot that is filled
    distance: FloatArray  # of the same shape


@dataclass(frozen=True)
class Terms:
    """Terms coefficient · |x − z| of rows x and their neighbours z, and the sum to which each term is added."""

    found: Neighbors  # only ``query`` and ``row`` are used
    coefficient: FloatArray  # of the shape of ``found.row``
    output_row: IndexArray  # broadcasts to that shape; the row of the result to which a term is added
    n_outputs: int

    def list_pairs(self) -> ListedPairs:
        """Return the terms as the engine takes them."""
        flat = (len(self.found.query), -1)
        neighbor = self.found.row.reshape(flat)
        # Places without a neighbour must not add anything, whatever coefficient they have.
        coefficient = np.where(neighbor >= 0, self.coefficient.reshape(flat), 0.0)
        output_row = np.broadcast_to(self.output_row, self.coefficient.shape).reshape(flat)
        return ListedPairs(self.found.query, neighbor, coefficient, output_row, self.n_outputs)


#: A computation of scores that waits for sums: a generator that yields `Terms`, gets their sums, of shape
#: (n_outputs, n_features), and returns the scores in the end. So the sums of several fits can be computed together: see
#: `compute_scores`.
PendingScores = Generator[Terms, FloatArray, FloatArray]


class Neighborhoods(ABC):
    """Rows, their classes, and how their differences are measured, wherever the rows are stored.

    Numeric columns come first; ``columns`` says where each column was. ``asked`` are the rows, in ascending order,
    whose neighbours are wanted. ``target`` has the numeric target, if there is one; all rows are then of one class.
    """

    missing: bool
    dtype: np.dtype[Any]
    sparse = False
    target: FloatArray | None = None
    cells = 2**20  # cells of `differences` worth computing at once: temporary arrays then stay in the cache

    def __init__(
        self, asked: IndexArray, codes: IndexArray, n_classes: int, nominal: BoolArray, *, p: int, n_jobs: int | None
    ) -> None:
        self.asked = asked
        self.codes = codes
        self.n_classes = n_classes
        self.n_jobs = n_jobs
        self.n, self.n_features = len(codes), len(nominal)
        self.columns = np.concatenate([np.flatnonzero(~nominal), np.flatnonzero(nominal)])
        self.n_numeric = int((~nominal).sum())
        self.p = p

    @abstractmethod
    def take(self, rows: IndexArray) -> Any:
        """Return the rows with these numbers. A number may occur more than once."""

    @abstractmethod
    def column(self, at: int) -> FloatArray:
        """Return one column of all rows, in float64."""

    @property
    @abstractmethod
    def engine(self) -> SearchEngine:
        """Engine that finds the nearest rows of each class."""

    @property
    @abstractmethod
    def missing_distance(self) -> FloatArray:
        """The missing distance of each column: what a missing value counts in a distance."""

    @abstractmethod
    def expectations(self) -> Iterable[tuple[int, Expectation]]:
        """Return the columns that have missing values, each with its expected differences."""

    @abstractmethod
    def sum_complete(self, several: Sequence[ListedPairs]) -> list[FloatArray]:
        """Return the sums of `engine.listed.sum_together`, in which columns that have missing values are 0."""

    @property
    def plain(self) -> bool:
        """Whether all features are numbers and none is missing."""
        return self.n_numeric == self.n_features and not self.missing

    def neighbors(
        self, k: int, *, ties: str = "share", skip_zero: bool = False, weights: NeighborWeights | None = None
    ) -> Iterator[Neighbors]:
        """Yield the k nearest rows of each class for every row that is asked for, in batches.

        A row is not its own neighbour. ``weights`` says how much each neighbour counts; None: all count alike.
        """
        weights = NeighborWeights() if weights is None else weights
        # A batch has at most about 4 million neighbours, which keeps its arrays at some 100 MB.
        size = max(64, int(4e6) // (self.n_classes * (k + 1)))
        for begin in range(0, len(self.asked), size):
            yield from self._batch(self.asked[begin : begin + size], k, ties, skip_zero, weights)

    def _batch(
        self, rows: IndexArray, k: int, ties: str, skip_zero: bool, weights: NeighborWeights
    ) -> Iterator[Neighbors]:
        """Yield the neighbours of one batch of rows.

        Rows whose ties go beyond the list are searched again with a longer list.

        Parameters
        ----------
        rows : ndarray of int
        k, ties, skip_zero, weights
            As in `neighbors`.
        """
        # One more than k shows whether ties end there, and another one makes up for a neighbour at distance 0.
        tol, width = tolerance(self.dtype), k + (ties == "share") + skip_zero
        while len(rows):
            width = min(width, self.n)
            distance, found = self._search(rows, width)
            last = distance[..., -1]  # inf: the class has no further row
            if skip_zero:
                distance, found = _without_zeros(distance, found)
            kth = distance[..., min(k, width) - 1]
            # A list is long enough if the class has no further row, or its last row is farther than the ties.
            known = np.isinf(last) | (np.isfinite(kth) & ((ties == "index") | (last > kth * (1 + tol))))
            done = known.all(axis=1) | (width == self.n)
            if done.any():
                share = weights(distance[done], k, ties=ties, tol=tol)
                yield Neighbors(rows[done], found[done], share, distance[done])
            # Few rows have so many ties, so a list four times as long costs little.
            rows, width = rows[~done], 4 * width

    def _search(self, rows: IndexArray, width: int) -> tuple[FloatArray, IndexArray]:
        """Return distances and row numbers of the nearest rows of each class, of shape (n, n_classes, width)."""
        return self.engine.search_groups(self.take(rows), width, own_row=rows)

    def add_incomplete(self, lists: ListedPairs, total: FloatArray) -> FloatArray:
        """Return the sums over all columns, in the order of the original table.

        ``total`` are the sums of `sum_complete`. The columns with missing values are summed here: their differences are
        expectations, which no kernel computes.
        """
        for j, expected in self.expectations():
            x = np.broadcast_to(lists.query[:, None], lists.neighbor.shape)
            difference = lists.coefficient * expected.differences(x, lists.neighbor)
            for c in range(lists.n_output_rows):
                total[c, j] = np.sum(np.where(lists.output_row == c, difference, 0.0))
        return self.in_place(total)

    def differences(self, x: IndexArray, z: IndexArray) -> Any:
        """Return |x − z| for pairs of rows, over the original features, as float64.

        A missing value is at the missing distance of its column.

        A row number of -1 in ``z`` gives differences of 0. The result is CSR if the rows are sparse and complete.
        """
        a, b = self.take(x), self.take(np.maximum(z, 0))
        if self.sparse:
            if self.plain:
                return sparse.diags((z >= 0).astype(np.float64)) @ abs(a.astype(np.float64) - b.astype(np.float64))
            a, b = a.toarray(), b.toarray()
        a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
        out: FloatArray = np.subtract(a, b)
        np.abs(out, out=out)
        out[:, self.n_numeric :] = a[:, self.n_numeric :] != b[:, self.n_numeric :]
        if self.missing:
            out = np.where(np.isnan(out), self.missing_distance.astype(np.float64), out)
        out[z < 0] = 0.0
        return self.in_place(out)

    def class_difference_sums(self, j: int) -> FloatArray:
        """Return, for original feature ``j``, the sum of the differences of every row to all rows of each class.

        The result has shape (n_classes, n). A missing value is at the missing distance of its column. The difference
        of a row to itself is 0.
        """
        at = int(np.flatnonzero(self.columns == j)[0])
        column = self.column(at)
        missing_distance = float(self.missing_distance[at])
        known = ~np.isnan(column)
        out = np.empty((self.n_classes, self.n))
        for c in range(self.n_classes):
            members = self.codes == c
            values = column[members & known]
            lacking = float((members & ~known).sum())
            sums: FloatArray
            if at >= self.n_numeric:
                # A value differs by 1 from all members of the class but those that have the same category.
                kinds, counts = np.unique(values, return_counts=True)
                equal = np.zeros(self.n)
                if len(kinds):
                    position = np.clip(np.searchsorted(kinds, column), 0, len(kinds) - 1)
                    equal = np.where(kinds[position] == column, counts[position], 0.0)
                sums = len(values) - equal
            else:
                sums = absolute_sums(column, values)
            # A row that lacks the value is at the missing distance from all known values, and all rows are at that
            # distance from members that lack theirs. Only the difference of a row to itself is 0.
            sums = np.where(known, sums, missing_distance * len(values))
            out[c] = sums + missing_distance * lacking - np.where(members & ~known, missing_distance, 0.0)
        return out

    def in_place(self, total: FloatArray) -> FloatArray:
        """Return the columns in the order of the original table. Here numeric columns come first."""
        if self.n_numeric in (0, self.n_features):
            return total
        out = np.empty_like(total)
        out[:, self.columns] = total
        return out


class Instances(Neighborhoods):
    """Rows in memory, with their neighbours and differences.

    Parameters
    ----------
    X : (n, M) array or CSR, coded, NaN for missing
    codes : (n,) class of each row
    n_classes : int
    nominal : (M,) bool
    scaled : bool
        Divide numeric differences by the feature's range.
    p : {1, 2}
        Distance in which neighbours are sought.
    n_jobs : int or None
    asked : ndarray of int, optional
        The rows whose neighbours are wanted, in ascending order; by default all.
    """

    def __init__(
        self,
        X: Any,
        codes: IndexArray,
        n_classes: int,
        nominal: BoolArray,
        *,
        scaled: bool,
        p: int,
        n_jobs: int | None,
        asked: IndexArray | None = None,
    ) -> None:
        X = as_rows(X)
        codes = np.asarray(codes, dtype=np.int64)
        asked = np.arange(X.shape[0]) if asked is None else asked
        super().__init__(asked, codes, n_classes, nominal, p=p, n_jobs=n_jobs)
        order = self.columns
        rows = X if np.array_equal(order, np.arange(self.n_features)) else as_rows(X[:, order])
        if scaled:
            rows = RangeScale.of(column_ranges(rows), self.n_numeric)(rows)
        self._take_rows(rows, missing=bool(np.isnan(rows.data if sparse.issparse(rows) else rows).any()))

    def _take_rows(self, rows: Any, *, missing: bool) -> None:
        """Set the rows, with their columns in order and scaled. ``missing`` tells whether they have missing values."""
        self.rows, self.missing = rows, missing
        self.dtype, self.sparse = rows.dtype, bool(sparse.issparse(rows))

    def take(self, rows: IndexArray) -> Any:
        """Return the rows with these numbers. The result is a view if they follow each other."""
        first, n = (int(rows[0]), len(rows)) if len(rows) else (0, 0)
        if not self.sparse and np.array_equal(rows, np.arange(first, first + n)):
            return self.rows[first : first + n]
        return self.rows[rows]

    def column(self, at: int) -> FloatArray:
        """Return one column of all rows, in float64."""
        column = self.rows[:, [at]].toarray()[:, 0] if self.sparse else self.rows[:, at]
        values: FloatArray = column.astype(np.float64)
        return values

    @cached_property
    def engine(self) -> NeighborEngine:
        """Engine that finds the nearest rows of each class."""
        nominal = np.arange(self.n_features) >= self.n_numeric
        return NeighborEngine(
            self.rows,
            p=self.p,
            nominal=nominal,
            groups=self.codes,
            n_groups=self.n_classes,
            n_jobs=self.n_jobs,
        )

    @property
    def missing_distance(self) -> FloatArray:
        """The missing distance of each column: what a missing value counts in a distance."""
        return self.engine.references.missing_distance

    def expectations(self) -> Iterable[tuple[int, Expectation]]:
        """Return the columns that have missing values, each with its expected differences."""
        return self._expectations.items()

    def sum_complete(self, several: Sequence[ListedPairs]) -> list[FloatArray]:
        """Return the sums of listed pairs from the compiled core, in which columns with missing values are 0."""
        return sum_together(self._complete_rows, self.n_numeric, several, effective_n_jobs(self.n_jobs))

    def sum_pairs(self, coefficients: Any) -> FloatArray:
        """Return Σ coefficient · |x − z| over all pairs of rows, for each original feature.

        ``coefficients(begin, end)`` returns the coefficients of rows [begin, end) with all rows, of shape
        (end − begin, width).
        """
        n_jobs = effective_n_jobs(self.n_jobs)
        total = self.pairs.sum_differences(coefficients, n_jobs)
        for j, expected in self.expectations():
            # The kernel cannot compute expected differences. Its sum over such a column is replaced.
            total[j] = 0.0
            everyone = np.arange(self.n)
            for begin, end in self.pairs.ranges():
                x, z = np.meshgrid(np.arange(begin, end), everyone, indexing="ij")
                total[j] += np.sum(coefficients(begin, end)[:, : self.n] * expected.differences(x, z))
        return self.in_place(total[None])[0]

    @cached_property
    def pairs(self) -> PackedRows:
        """All pairs of rows. In distances, a missing number is at the missing distance of its column."""
        rows = to_dense(self.rows, "a weigher that compares all pairs")
        missing_distance = None if self.plain else self.missing_distance
        return PackedRows(rows, n_numeric=self.n_numeric, missing_distance=missing_distance, missing=self.missing)

    @cached_property
    def _complete_rows(self) -> Any:
        """The rows with 0 in all columns that have missing values, since those columns are summed separately."""
        if not self.missing:
            return self.rows
        rows = self.rows.tolil() if sparse.issparse(self.rows) else self.rows.copy()
        rows[:, self._incomplete_columns] = 0.0
        return rows.tocsr() if sparse.issparse(rows) else rows

    @cached_property
    def _expectations(self) -> dict[int, Expectation]:
        """The expected differences of the columns that have missing values, by column."""
        if not self.missing:
            return {}
        dense = self.rows.toarray() if sparse.issparse(self.rows) else self.rows
        return {
            j: Expectation(dense[:, j].astype(np.float64), self.codes, self.n_classes, j >= self.n_numeric)
            for j in self._incomplete_columns
        }

    @cached_property
    def _incomplete_columns(self) -> list[int]:
        """The columns that have missing values."""
        if self.sparse:
            return sorted(set(self.rows.indices[np.isnan(self.rows.data)].tolist()))
        columns: list[int] = np.flatnonzero(np.isnan(self.rows).any(axis=0)).tolist()
        return columns


def compute_scores(instances: Sequence[Neighborhoods], pending: Sequence[PendingScores]) -> list[FloatArray]:
    """Return the scores of one fit, or of several fits to the same rows, whose sums are computed together.

    Parameters
    ----------
    instances : sequence of Neighborhoods
        The rows as each fit sees them. They differ in their classes or targets and in the rows asked for. The sums are
        computed by the first of them.
    pending : sequence of PendingScores
        The computation of each fit. It is run to its end.
    """
    finished: dict[int, FloatArray] = {}
    ready: list[tuple[int, Any]] = [(fit, None) for fit in reversed(range(len(pending)))]  # None starts a generator
    waiting: dict[int, ListedPairs] = {}
    while ready or waiting:
        if ready:
            fit, sums = ready.pop()
            try:
                waiting[fit] = pending[fit].send(sums).list_pairs()
            except StopIteration as end:
                finished[fit] = end.value
        # Ties can make lists long. So fits do not wait for each other if their lists take much memory, and those that
        # have their sums go on before others begin.
        if waiting and (not ready or count_places(waiting.values()) > _MOST_PLACES):
            totals = instances[0].sum_complete(list(waiting.values()))
            for (fit, lists), total in zip(waiting.items(), totals, strict=True):
                ready.append((fit, instances[fit].add_incomplete(lists, total)))
            waiting.clear()
    return [finished[fit] for fit in range(len(pending))]


def _without_zeros(distance: FloatArray, found: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Remove the neighbours at distance 0 from the lists, and move the others up."""
    zero = distance == 0
    # A stable sort by "is 0" keeps the order of all other neighbours.
    order = np.argsort(zero, axis=-1, kind="stable")
    zero = np.take_along_axis(zero, order, axis=-1)
    distance = np.where(zero, np.inf, np.take_along_axis(distance, order, axis=-1))
    return distance, np.where(zero, -1, np.take_along_axis(found, order, axis=-1))
