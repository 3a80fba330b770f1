"""The training rows as the RELIEF family sees them: neighbours per class, and sums of differences.

`differences` defines the difference of a feature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._parallel.threads import effective_n_jobs
from .._typing import BoolArray, FloatArray, IndexArray
from ..engine import NeighborEngine, SearchEngine
from ..engine.pairs import PackedRows, sum_listed
from ..engine.references import as_rows, column_ranges
from ..exceptions import InvalidDataError
from .differences import Expectation, RangeScale, absolute_sums

__all__ = ["Instances", "Neighborhoods", "Neighbors", "to_dense", "refuse_dense", "share_slots", "tolerance"]


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


def tolerance(dtype: Any) -> float:
    """Return the share of themselves by which distances may differ and still count as tied."""
    return 1e-10 if dtype == np.float64 else 1e-5


@dataclass(frozen=True)
class Neighbors:
    """Neighbours of some rows in each class: how far, who, and what part of a slot each one fills."""

    query: IndexArray  # (n,)
    row: IndexArray  # (n, n_classes, width), -1: none
    share: FloatArray  # the same shape; sums to the slots filled
    distance: FloatArray


def share_slots(distance: FloatArray, k: int, *, ties: str, tol: float) -> FloatArray:
    """Return what part of k slots each neighbour fills.

    Parameters
    ----------
    distance : ndarray of shape (..., width)
        Ascending; infinite where there is no neighbour.
    k : int
    ties : {"share", "index"}
        With "index" the first k fill one slot each. With "share" those tied at the k-th distance share what
        the nearer ones leave, and the list must hold all of them.
    tol : float
        Distances that differ by less than this share of themselves are tied.
    """
    real = np.isfinite(distance)
    first = real & (np.arange(distance.shape[-1]) < k)
    if ties == "index" or distance.shape[-1] < k:
        return first.astype(np.float64)
    kth = distance[..., k - 1 : k]
    with np.errstate(invalid="ignore"):
        nearer = real & (distance < kth * (1 - tol))
        tied = real & ~nearer & (distance <= kth * (1 + tol))
    slots = k - nearer.sum(axis=-1, keepdims=True)
    share = nearer + tied * np.minimum(1.0, slots / np.maximum(tied.sum(axis=-1, keepdims=True), 1))
    return np.where(np.isfinite(kth), share, first)


class Neighborhoods(ABC):
    """Rows, classes and the geometry of their differences, wherever the rows are.

    Numeric columns come first; ``columns`` says where each column was. ``asked`` are the rows, in ascending order,
    whose neighbours are wanted.
    """

    missing: bool
    dtype: np.dtype[Any]
    sparse = False
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
        """Some of the rows; each as often as it is named."""

    @abstractmethod
    def column(self, at: int) -> FloatArray:
        """A column of all rows, in float64."""

    @property
    @abstractmethod
    def engine(self) -> SearchEngine:
        """Search for the nearest of each class, as `NeighborEngine` does it."""

    @property
    @abstractmethod
    def missing_distance(self) -> FloatArray:
        """What a missing value counts, per column."""

    @abstractmethod
    def expectations(self) -> Iterable[tuple[int, Expectation]]:
        """The columns that have missing values, and their differences."""

    @abstractmethod
    def _sum_listed(
        self, query: IndexArray, neighbor: IndexArray, weight: FloatArray, output_row: IndexArray, n_outputs: int
    ) -> FloatArray:
        """Sum as `sum_listed` does, columns that have missing values left out."""

    @property
    def plain(self) -> bool:
        """Whether all features are numbers and none is missing."""
        return self.n_numeric == self.n_features and not self.missing

    def neighbors(self, k: int, *, ties: str = "share", skip_zero: bool = False) -> Iterator[Neighbors]:
        """The k nearest of every class for every row asked for, itself left out, in batches."""
        size = max(64, int(4e6) // (self.n_classes * (k + 1)))
        for begin in range(0, len(self.asked), size):
            yield from self._batch(self.asked[begin : begin + size], k, ties, skip_zero)

    def _batch(self, rows: IndexArray, k: int, ties: str, skip_zero: bool) -> Iterator[Neighbors]:
        """Yield the neighbours of one batch; rows with ties beyond the list are searched again with a longer one.

        Parameters
        ----------
        rows : ndarray of int
        k, ties, skip_zero
            As in `neighbors`.
        """
        # One more than k shows whether ties end there, and another one makes up for a neighbour at distance 0.
        tol, width = tolerance(self.dtype), k + (ties == "share") + skip_zero
        while len(rows):
            width = min(width, self.n)
            distance, found = self.engine.search_groups(self.take(rows), width, own_row=rows)
            last = distance[..., -1]  # inf: the class holds no more
            if skip_zero:
                distance, found = _without_zeros(distance, found)
            kth = distance[..., min(k, width) - 1]
            # A list is long enough where the class holds no more, or its last row is farther than the ties.
            known = np.isinf(last) | (np.isfinite(kth) & ((ties == "index") | (last > kth * (1 + tol))))
            done = known.all(axis=1) | (width == self.n)
            if done.any():
                share = share_slots(distance[done], k, ties=ties, tol=tol)
                yield Neighbors(rows[done], found[done], share, distance[done])
            rows, width = rows[~done], 4 * width

    def sum_differences(
        self, found: Neighbors, coefficient: FloatArray, output_row: IndexArray, n_outputs: int
    ) -> FloatArray:
        """Return Σ coefficient · |x − z| per output row and original feature, of shape (n_outputs, n_features).

        Parameters
        ----------
        found : Neighbors
        coefficient : ndarray of shape (n, n_classes, width)
        output_row : int ndarray that broadcasts to that shape
            The row of the result that a term is added to.
        n_outputs : int
        """
        flat = (len(found.query), -1)
        neighbor, weight = found.row.reshape(flat), coefficient.reshape(flat)
        output_row = np.broadcast_to(output_row, coefficient.shape).reshape(flat)
        weight = np.where(neighbor >= 0, weight, 0.0)
        total = self._sum_listed(found.query, neighbor, weight, output_row, n_outputs)
        for j, expected in self.expectations():
            x = found.query[:, None]
            difference = expected.differences(np.broadcast_to(x, neighbor.shape), neighbor)
            for c in range(n_outputs):
                total[c, j] = np.sum(np.where(output_row == c, weight * difference, 0.0))
        return self.in_place(total)

    def differences(self, x: IndexArray, z: IndexArray) -> Any:
        """|x − z| of pairs of rows, over the original features, missing values at full range; float64.

        A row of -1 has difference 0. CSR where the rows are sparse and none of their values is missing.
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
        """Σ over the rows of each class of their difference to every row, of original feature j.

        Missing values are at full range; shape (n_classes, n). A row's difference to itself is 0.
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
                kinds, counts = np.unique(values, return_counts=True)
                equal = np.zeros(self.n)
                if len(kinds):
                    position = np.clip(np.searchsorted(kinds, column), 0, len(kinds) - 1)
                    equal = np.where(kinds[position] == column, counts[position], 0.0)
                sums = len(values) - equal
            else:
                sums = absolute_sums(column, values)
            sums = np.where(known, sums, missing_distance * len(values))
            out[c] = sums + missing_distance * lacking - np.where(members & ~known, missing_distance, 0.0)
        return out

    def in_place(self, total: FloatArray) -> FloatArray:
        """Return the columns in the order of the original table."""
        if self.n_numeric in (0, self.n_features):
            return total
        out = np.empty_like(total)
        out[:, self.columns] = total
        return out


class Instances(Neighborhoods):
    """Rows in memory.

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
    """

    def __init__(
        self, X: Any, codes: IndexArray, n_classes: int, nominal: BoolArray, *, scaled: bool, p: int, n_jobs: int | None
    ) -> None:
        X = as_rows(X)
        codes = np.asarray(codes, dtype=np.int64)
        super().__init__(np.arange(X.shape[0]), codes, n_classes, nominal, p=p, n_jobs=n_jobs)
        order = self.columns
        self.rows = X if np.array_equal(order, np.arange(self.n_features)) else as_rows(X[:, order])
        if scaled:
            self.rows = RangeScale.of(column_ranges(self.rows), self.n_numeric)(self.rows)
        self.dtype, self.sparse = self.rows.dtype, bool(sparse.issparse(self.rows))
        self.missing = bool(np.isnan(self.rows.data if self.sparse else self.rows).any())

    def take(self, rows: IndexArray) -> Any:
        """Some of the rows; a view where they follow each other."""
        first, n = (int(rows[0]), len(rows)) if len(rows) else (0, 0)
        if not self.sparse and np.array_equal(rows, np.arange(first, first + n)):
            return self.rows[first : first + n]
        return self.rows[rows]

    def column(self, at: int) -> FloatArray:
        """A column of all rows, in float64."""
        column = self.rows[:, [at]].toarray()[:, 0] if self.sparse else self.rows[:, at]
        values: FloatArray = column.astype(np.float64)
        return values

    @cached_property
    def engine(self) -> NeighborEngine:
        """Search for the nearest of each class."""
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
        """What a missing value counts, per column."""
        return self.engine.references.missing_distance

    def expectations(self) -> Iterable[tuple[int, Expectation]]:
        """The columns that have missing values, and their differences."""
        return self._expectations.items()

    def _sum_listed(
        self, query: IndexArray, neighbor: IndexArray, weight: FloatArray, output_row: IndexArray, n_outputs: int
    ) -> FloatArray:
        """Sum with the compiled core, over rows whose incomplete columns are 0."""
        n_jobs = effective_n_jobs(self.n_jobs)
        return sum_listed(self._complete_rows, self.n_numeric, query, neighbor, weight, output_row, n_outputs, n_jobs)

    def sum_pairs(self, coefficients: Any) -> FloatArray:
        """Σ coefficient · |x − z| over all pairs, per original feature.

        ``coefficients(begin, end)`` gives the (end − begin, width) coefficients of some rows.
        """
        n_jobs = effective_n_jobs(self.n_jobs)
        total = self.pairs.sum_differences(coefficients, n_jobs)
        for j, expected in self.expectations():
            total[j] = 0.0
            everyone = np.arange(self.n)
            for begin, end in self.pairs.ranges():
                x, z = np.meshgrid(np.arange(begin, end), everyone, indexing="ij")
                total[j] += np.sum(coefficients(begin, end)[:, : self.n] * expected.differences(x, z))
        return self.in_place(total[None])[0]

    @cached_property
    def pairs(self) -> PackedRows:
        """All pairs of rows; in distances missing numbers are at full range."""
        rows = to_dense(self.rows, "a weigher that compares all pairs")
        missing_distance = None if self.plain else self.missing_distance
        return PackedRows(rows, n_numeric=self.n_numeric, missing_distance=missing_distance, missing=self.missing)

    @cached_property
    def _complete_rows(self) -> Any:
        """The rows, with columns that have missing values set to 0: those are added apart."""
        if not self.missing:
            return self.rows
        rows = self.rows.tolil() if sparse.issparse(self.rows) else self.rows.copy()
        rows[:, list(self._expectations)] = 0.0
        return rows.tocsr() if sparse.issparse(rows) else rows

    @cached_property
    def _expectations(self) -> dict[int, Expectation]:
        """Differences of the columns that have missing values, by column."""
        if not self.missing:
            return {}
        dense = self.rows.toarray() if sparse.issparse(self.rows) else self.rows
        incomplete = np.flatnonzero(np.isnan(dense).any(axis=0))
        return {
            int(j): Expectation(dense[:, j].astype(np.float64), self.codes, self.n_classes, bool(j >= self.n_numeric))
            for j in incomplete
        }


def _without_zeros(distance: FloatArray, found: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Take the neighbours at distance 0 out of lists and move the others up."""
    zero = distance == 0
    order = np.argsort(zero, axis=-1, kind="stable")
    zero = np.take_along_axis(zero, order, axis=-1)
    distance = np.where(zero, np.inf, np.take_along_axis(distance, order, axis=-1))
    return distance, np.where(zero, -1, np.take_along_axis(found, order, axis=-1))
