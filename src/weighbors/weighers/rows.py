"""Training rows for the RELIEF family: how their differences are measured, and sums of these differences.

The difference of two rows in one feature is |x − z| for numbers (divided by the column range if the method says so) and
0 or 1 for categories. If a value is missing, it is the expected difference, given the class of the instance that lacks
the value: Kononenko's conditional probability, and for numbers the mean absolute difference to the known values of that
class.

Differences to listed neighbours are summed in fixed chunks, and the sums of chunks are added in order. So sums do not
depend on the number of threads, nor on which `ListedPairs` are summed together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .. import _native
from .._parallel.threads import effective_n_jobs, run_ranges
from .._typing import BoolArray, FloatArray, IndexArray
from ..engine import NeighborEngine, SearchEngine
from ..engine.backends.scan import aligned_empty
from ..engine.pairs import PackedRows
from ..engine.references import ColumnRanges, as_rows, column_ranges, compress_rows, compute_missing_distance
from ..exceptions import InvalidDataError
from ..tables.coded import CodedTable

DENSE_BYTES = 2 * 2**30  # a sparse matrix may become dense up to this size
LISTS = 512  # lists per chunk
_LEAST_FEATURES = 512  # fewest features that a thread gets


@dataclass(frozen=True)
class ListedPairs:
    """Lists of neighbours: pairs of rows, the coefficient of each pair, and the sum to which it is added."""

    query: IndexArray  # (n_lists,) the row to which each list belongs
    neighbor: IndexArray  # (n_lists, width) the rows in each list; -1 means that there is no neighbour at this place
    coefficient: FloatArray  # (n_lists, width) the factor of each pair
    output_row: IndexArray  # (n_lists, width) the row of the result to which each pair is added
    n_output_rows: int


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


class Instances:
    """Training rows and their differences. Numeric columns come first; ``columns`` says where each column was.

    Many targets may share the rows: what depends on classes is computed for the target that a method gets.

    Parameters
    ----------
    X : (n, M) array or CSR, coded, NaN for missing
    nominal : (M,) bool
    scaled : bool
        Divide numeric differences by the feature's range.
    p : {1, 2}
        Distance in which neighbours are sought.
    n_jobs : int or None
    """

    cells = 2**20  # cells of `differences` worth computing at once: temporary arrays then stay in the cache

    def __init__(self, X: Any, nominal: BoolArray, *, scaled: bool, p: int, n_jobs: int | None) -> None:
        rows = as_rows(X)
        self.n, self.n_features = rows.shape
        self.p, self.n_jobs = p, n_jobs
        self.columns = np.concatenate([np.flatnonzero(~nominal), np.flatnonzero(nominal)])
        self.n_numeric = int((~nominal).sum())
        if not np.array_equal(self.columns, np.arange(self.n_features)):
            rows = as_rows(rows[:, self.columns])
        if scaled:
            rows, _ = scale_by_range(rows, column_ranges(rows), self.n_numeric)
        self.rows, self.dtype, self.sparse = rows, rows.dtype, bool(sparse.issparse(rows))
        self.incomplete = np.zeros(self.n_features, dtype=bool)  # columns that have missing values
        self.incomplete[rows.indices[np.isnan(rows.data)] if self.sparse else np.isnan(rows).any(axis=0)] = True
        self.missing = bool(self.incomplete.any())
        self._expected: tuple[CodedTable | None, list[tuple[int, Expectation]]] = None, []
        self.plain = self.n_numeric == self.n_features and not self.missing  # only numbers, none is missing

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

    def make_engine(self, target: CodedTable) -> SearchEngine:
        """Return the engine that finds the nearest rows of each class."""
        nominal = np.arange(self.n_features) >= self.n_numeric
        return NeighborEngine(
            self.rows,
            p=self.p,
            nominal=nominal,
            groups=target.codes,
            n_groups=target.n_groups,
            n_jobs=self.n_jobs,
        )

    @cached_property
    def missing_distance(self) -> FloatArray:
        """The missing distance of each column: what a missing value counts in a distance."""
        return compute_missing_distance(column_ranges(self.rows), self.n_numeric, self.dtype)

    @cached_property
    def pairs(self) -> PackedRows:
        """All pairs of rows. In distances, a missing number is at the missing distance of its column."""
        rows = to_dense(self.rows, "a weigher that compares all pairs")
        missing_distance = None if self.plain else self.missing_distance
        return PackedRows(rows, n_numeric=self.n_numeric, missing_distance=missing_distance, missing=self.missing)

    @cached_property
    def _complete_rows(self) -> Any:
        """The rows with 0 in all columns that have missing values, since those columns are summed separately."""
        rows = self.rows.tolil() if self.sparse else self.rows.copy()
        rows[:, np.flatnonzero(self.incomplete)] = 0.0
        return rows.tocsr() if self.sparse else rows

    def expectations(self, target: CodedTable) -> Iterable[tuple[int, Expectation]]:
        """Return each column that has missing values, with its expected differences; those of one target are kept."""
        if self._expected[0] is not target:
            self._expected = (
                target,
                [
                    (j, Expectation(self.column(j), target.codes, target.n_groups, j >= self.n_numeric))
                    for j in np.flatnonzero(self.incomplete).tolist()
                ],
            )
        return self._expected[1]

    def sum_complete(self, several: Sequence[ListedPairs]) -> list[FloatArray]:
        """Return the sums of `sum_listed`, in which columns that have missing values are 0."""
        rows = self._complete_rows if self.missing else self.rows
        return sum_listed(rows, self.n_numeric, several, effective_n_jobs(self.n_jobs))

    def add_incomplete(self, total: FloatArray, lists: ListedPairs, target: CodedTable) -> FloatArray:
        """Return the sums over all columns, in the order of the original table.

        ``total`` are the sums of `sum_complete`. The columns with missing values are summed here: their differences are
        expectations, which no kernel computes.
        """
        for j, expected in self.expectations(target):
            x = np.broadcast_to(lists.query[:, None], lists.neighbor.shape)
            difference = lists.coefficient * expected.differences(x, lists.neighbor)
            for c in range(lists.n_output_rows):
                total[c, j] = np.sum(np.where(lists.output_row == c, difference, 0.0))
        return self.in_place(total)

    def sum_pairs(self, coefficients: Any, target: CodedTable) -> FloatArray:
        """Return Σ coefficient · |x − z| over all pairs of rows, for each original feature.

        ``coefficients(begin, end)`` returns the coefficients of rows [begin, end) with all rows, of shape
        (end − begin, width).
        """
        total = self.pairs.sum_differences(coefficients, effective_n_jobs(self.n_jobs))
        for j, expected in self.expectations(target):
            # The kernel cannot compute expected differences. Its sum over such a column is replaced.
            total[j] = 0.0
            everyone = np.arange(self.n)
            for begin, end in self.pairs.ranges():
                x, z = np.meshgrid(np.arange(begin, end), everyone, indexing="ij")
                total[j] += np.sum(coefficients(begin, end)[:, : self.n] * expected.differences(x, z))
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

    def in_place(self, total: FloatArray) -> FloatArray:
        """Return sums or rows with their columns in the order of the original table."""
        if self.n_numeric in (0, self.n_features):
            return total
        out = np.empty_like(total)
        out[..., self.columns] = total
        return out


def weigh_pairs(pairs: PackedRows, a: FloatArray) -> PackedRows:
    """Return packed rows whose city-block distances are Σ a |difference|, for the weights ``a`` of their columns."""
    # Weights are folded into numbers. Categories are codes and cannot be scaled: their weight is the distance of two
    # different categories. Columns of weight 0, often most of them, are left out.
    kept = np.flatnonzero(a > 0)
    n_numeric = int(np.searchsorted(kept, pairs.n_numeric))
    factor = np.where(np.arange(len(kept)) < n_numeric, a[kept], 1.0)
    return PackedRows(
        (pairs.rows[:, kept] * factor).astype(pairs.rows.dtype, copy=False),
        n_numeric=n_numeric,
        missing_distance=pairs.missing_distance[kept].astype(np.float64) * a[kept],
        missing=pairs.missing,
    )


class Expectation:
    """The differences of one feature that has missing values."""

    def __init__(self, values: FloatArray, codes: IndexArray, n_classes: int, nominal: bool) -> None:
        self.values, self.codes, self.nominal = values, codes, nominal
        known = ~np.isnan(values)
        # A class without any known value takes the known values of all classes, and a column without any the value 0.
        everyone = values[known] if known.any() else np.zeros(1)
        self.known = [values[known & (codes == c)] for c in range(n_classes)]
        self.known = [part if len(part) else everyone for part in self.known]
        # If one of two values is missing, the difference is the mean difference of the known value to the class of
        # the row that lacks its value. If both are missing, it is the mean difference of the two classes. Both tables
        # are computed once, so that a pair is only looked up.
        self.to_class = np.stack([self._expected(values, part) for part in self.known])
        self.between = np.array([[self._expected(a, b).mean() for b in self.known] for a in self.known])

    def _expected(self, values: FloatArray, others: FloatArray) -> FloatArray:
        """Return the mean difference of each of ``values`` to all of ``others``."""
        if self.nominal:
            # The expected difference to a random other category is 1 minus the share of the own category.
            return 1.0 - count_equal(values, others) / len(others)
        return absolute_sums(values, others) / len(others)

    def differences(self, x: IndexArray, z: IndexArray) -> FloatArray:
        """Return the difference of each row of ``x`` to the row of ``z`` at the same position."""
        a, b = self.values[x], self.values[z]
        no_a, no_b = np.isnan(a), np.isnan(b)
        plain = (a != b).astype(np.float64) if self.nominal else np.abs(a - b)
        plain = np.where(no_a & ~no_b, self.to_class[self.codes[x], z], plain)
        plain = np.where(no_b & ~no_a, self.to_class[self.codes[z], x], plain)
        return np.where(no_a & no_b, self.between[self.codes[x], self.codes[z]], plain)


def count_equal(values: FloatArray, others: FloatArray) -> FloatArray:
    """Return how many of ``others`` equal each value."""
    if not len(others):
        return np.zeros(len(values))
    kinds, counts = np.unique(others, return_counts=True)
    position = np.clip(np.searchsorted(kinds, values), 0, len(kinds) - 1)
    equal: FloatArray = np.where(kinds[position] == values, counts[position], 0.0)
    return equal


def absolute_sums(values: FloatArray, others: FloatArray) -> FloatArray:
    """Return the sum of |value − other| over all ``others``, for each value."""
    # Sorted, the others below a value sum to a prefix, so that no pair is visited.
    others = np.sort(others)
    below = np.searchsorted(others, values, side="right")
    prefix = np.concatenate([[0.0], np.cumsum(others)])
    # The ``below`` others that are not above the value add value − other, and the rest add other − value.
    return values * (2 * below - len(others)) + prefix[-1] - 2 * prefix[below]


def scale_by_range(rows: Any, measured: ColumnRanges, n_numeric: int) -> tuple[Any, FloatArray]:
    """Return the rows of an array or CSR with numbers divided by the column range, and the factor of each column.

    The first ``n_numeric`` columns hold numbers, whose ranges are ``measured``. Constant ones become 0.
    """
    with np.errstate(over="ignore"):
        span = measured.high - measured.low
        factor = np.divide(1.0, span, out=np.zeros(len(span)), where=span > 0)
    factor[n_numeric:] = 1.0
    extreme = np.flatnonzero(~(np.isfinite(factor) & np.isfinite(span)))
    if len(extreme):
        raise InvalidDataError(
            f"a feature spans {span[extreme[0]]:.3g}, which cannot be scaled to 1 in {measured.high.dtype}: "
            "rescale the features (for example with sklearn.preprocessing.StandardScaler), or drop it"
        )
    if sparse.issparse(rows):
        # Sparse rows are not shifted, since zeros would become something else. Differences do not depend on the shift.
        return (rows @ sparse.diags(factor)).tocsr().astype(rows.dtype), factor
    low = np.where(np.arange(len(factor)) < n_numeric, measured.low, 0.0)
    scaled: FloatArray = rows - low.astype(rows.dtype)
    scaled *= factor.astype(rows.dtype)
    return scaled, factor


def sum_listed(
    rows: Any, n_numeric: int, several: Sequence[ListedPairs], n_jobs: int, totals: list[FloatArray] | None = None
) -> list[FloatArray]:
    """Return sums of coefficient · |difference| between rows and listed neighbours, for each output row and feature.

    Lists of several fits are added by one call of the compiled core, so that it reads rows that are in many lists from
    the cache. Each fit gets the same bits as alone.

    Parameters
    ----------
    rows : (n, m) array or CSR
        CSR holds numbers only.
    n_numeric : int
        Number of numeric columns, which come first. In all others a pair differs by 0 or 1.
    several : sequence of ListedPairs
        The lists of each fit.
    n_jobs : int
        Number of threads.
    totals : list of arrays of shape (n_output_rows, m), optional
        Sums over earlier lists of each fit, to which these lists are added in place. If the earlier lists were a
        multiple of `LISTS`, the result has the same bits as one call with all lists.

    Returns
    -------
    list of ndarrays of shape (n_output_rows, m)
    """
    if totals is None:
        totals = [np.zeros((lists.n_output_rows, rows.shape[1])) for lists in several]
    for width in sorted({lists.neighbor.shape[1] for lists in several}):
        alike = [number for number, lists in enumerate(several) if lists.neighbor.shape[1] == width]
        _add_lists(rows, n_numeric, [several[number] for number in alike], [totals[number] for number in alike], n_jobs)
    return totals


def _add_lists(
    rows: Any, n_numeric: int, several: Sequence[ListedPairs], totals: list[FloatArray], n_jobs: int
) -> None:
    """Add the sums of lists of one width to ``totals``. The parameters are those of `sum_listed`."""
    # Every chunk has output rows of its own: sums of chunks are added to the total, not single lists.
    chunks = [
        (number, lists.n_output_rows, min(LISTS, len(lists.query) - begin))
        for number, lists in enumerate(several)
        for begin in range(0, len(lists.query), LISTS)
    ]
    owners, n_outputs, sizes = np.array(chunks, dtype=np.int64).reshape(-1, 3).T
    starts = np.append(0, np.cumsum(sizes))
    last_rows = np.cumsum(n_outputs)
    first_rows = last_rows - n_outputs
    m = rows.shape[1]
    sums = aligned_empty((int(n_outputs.sum()), m), np.dtype(np.float64))
    sums.fill(0)
    arrays: dict[str, Any] = {
        name: np.ascontiguousarray(np.concatenate([getattr(lists, name) for lists in several], dtype=kind))
        for name, kind in (("query", "i8"), ("neighbor", "i8"), ("coefficient", "f8"), ("output_row", "i8"))
    }
    arrays["output_row"] += np.repeat(first_rows, sizes)[:, None]
    compressed = compress_rows(rows) if sparse.issparse(rows) else None
    share = max(_LEAST_FEATURES, -(-m // n_jobs))
    pieces = [(0, len(owners), at, min(at + share, m)) for at in range(0, m, share)]  # threads share the features
    if compressed is not None or len(pieces) < n_jobs:  # or the chunks, where there are few features
        size = max(1, len(owners) // (4 * n_jobs))
        pieces = [(at, min(at + size, len(owners)), 0, m) for at in range(0, len(owners), size)]

    def add_piece(number: int, _: int) -> None:
        """Add some chunks in some features."""
        begin, end, first, last = pieces[number]
        some: dict[str, Any] = {**arrays, "total": sums, "begin": int(starts[begin]), "end": int(starts[end])}
        if compressed is None:
            _native.add_listed_differences(
                rows=rows, n_numeric=n_numeric, first_feature=first, last_feature=last, **some
            )
        else:
            _native.add_listed_sparse_differences(rows=compressed, **some)

    run_ranges(add_piece, [(number, number + 1) for number in range(len(pieces))], n_jobs)
    for number, first_row, last_row in zip(owners, first_rows, last_rows, strict=True):
        totals[number] += sums[first_row:last_row]


def open_rows(table: CodedTable, *, scaled: bool, p: int, n_jobs: int | None) -> Instances:
    """Return the rows of a table, in memory or in blocks, with which differences are measured. See `Instances`."""
    if isinstance(table.rows, np.ndarray) or sparse.issparse(table.rows):
        return Instances(table.rows, table.nominal, scaled=scaled, p=p, n_jobs=n_jobs)
    from .block_rows import BlockInstances

    return BlockInstances(table.rows, scaled=scaled, p=p, n_jobs=n_jobs)
