"""References: the kept rows and columns of the training data, and their weights.

Numeric columns come first and nominal columns last. Columns that are masked out or have weight 0 are left
out. `row` numbers count the training data, `slot` numbers count the kept rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .. import _native
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError, InvalidWeightsError
from ..weights import Weights
from ..weights.intervals import IntervalLookup

#: Memory for packed references; for wide rows up to four times as much.
PART_BYTES = 32 * 2**20
#: Number of references per packed block.
BLOCK_LANES = {np.dtype("f4"): _native.BLOCK_LANES_FLOAT32, np.dtype("f8"): _native.BLOCK_LANES_FLOAT64}


class ColumnRanges(NamedTuple):
    """The smallest and largest value of each column of a table, apart from missing values."""

    low: FloatArray  # (M,) smallest value, 0 if all are missing
    high: FloatArray  # (M,) largest value
    missing: BoolArray  # (M,) columns that have missing values

    def of(self, columns: IndexArray) -> ColumnRanges:
        """Return the ranges of the columns ``columns``, in this order."""
        return ColumnRanges(self.low[columns], self.high[columns], self.missing[columns])


@dataclass(frozen=True)
class CellWeights:
    """Weights ``a`` for each stored instance and feature.

    The weights of a slot are the row ``row_of_slot[slot]`` of ``table``, or are looked up in intervals.
    """

    table: FloatArray | None
    row_of_slot: IndexArray  # row of the table, or class among those of the intervals
    lookup: IntervalLookup | None = None
    columns: IndexArray | None = None
    values: Any = None  # the stored rows with all their columns, for intervals

    def of(self, slots: IndexArray, dtype: Any) -> tuple[FloatArray, IndexArray]:
        """Return a table of weights, and the row of this table for each of ``slots``."""
        if self.lookup is None:
            assert self.table is not None
            return self.table, self.row_of_slot[slots]
        assert self.columns is not None
        out = np.empty((len(slots), len(self.columns)), dtype=dtype)
        every = np.array_equal(self.columns, np.arange(self.values.shape[1]))
        batch = max(1, 2**15 // self.values.shape[1])  # Temporary arrays of this size stay in the cache.
        for begin in range(0, len(slots), batch):
            some = slots[begin : begin + batch]
            found = None if self._found is None else self._found[some]
            weights = self.lookup(self._rows(some), self.row_of_slot[some], found)
            out[begin : begin + batch] = weights if every else weights[:, self.columns]
        return out, np.arange(len(slots), dtype=np.int64)

    def _rows(self, slots: IndexArray) -> FloatArray:
        """Return the stored rows of ``slots`` as a dense array."""
        part = self.values[slots]
        return part.toarray() if sparse.issparse(part) else part

    @cached_property
    def _found(self) -> AnyArray | None:
        """The interval of every stored value in the columns that need a search, or None if no column needs one."""
        assert self.lookup is not None
        if not len(self.lookup.searched):
            return None
        # Found once per engine and not per search; in parts, so that temporary arrays stay small.
        ranges = np.array_split(np.arange(len(self.row_of_slot)), -(-len(self.row_of_slot) // 2**16))
        return np.concatenate([self.lookup.find(self._rows(slots), self.row_of_slot[slots]) for slots in ranges])


class Fold(NamedTuple):
    """The transformation ``(x − center) · factor``, which turns weighted distances into plain ones, up to rounding."""

    center: FloatArray
    factor: FloatArray
    missing_distance: FloatArray

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return folded rows. Nominal columns have center 0 and factor 1, so they do not change."""
        folded: FloatArray = (X - self.center) * self.factor
        return folded


@dataclass(frozen=True)
class References:
    """Stored rows with their weights, ready for a backend."""

    rows: Any  # (n, m) C-ordered array, or CSR
    row_of_slot: IndexArray  # (n,) ascending
    columns: IndexArray  # (m,)
    n_numeric: int
    p: int
    missing_distance: FloatArray  # (m,) also the distance of different categories in nominal columns
    feature_weights: FloatArray | None  # (m,) the weights a, if they are the same for all instances
    cells: CellWeights | None  # the weights a per instance or class, if they differ
    scales: FloatArray | None  # (n,) instance scales v, as v ** p
    groups: IndexArray  # (n,) group of each slot, 0 if there is only one group
    n_groups: int
    missing: bool  # whether numeric columns have missing values
    largest: FloatArray  # (m,) largest absolute value per column
    low: FloatArray  # (m,) smallest value per column
    high: FloatArray
    n_columns: int  # number of columns of the original table
    # Sizes that follow from the rows, computed once.
    n: int = field(init=False)  # number of stored instances
    m: int = field(init=False)  # number of columns that are used
    dtype: np.dtype[Any] = field(init=False)  # float32 or float64
    sparse: bool = field(init=False)  # whether the rows are stored as CSR
    lanes: int = field(init=False)  # number of references per packed block
    block_bytes: int = field(init=False)  # of one packed block, with its weights and the dense copy of sparse rows
    part_bytes: int = field(init=False)  # memory for packed references: 32 MiB, or eight blocks, but at most 128 MiB

    def __post_init__(self) -> None:
        n, m = map(int, self.rows.shape)
        dtype, is_sparse = self.rows.dtype, bool(sparse.issparse(self.rows))
        lanes = BLOCK_LANES[dtype]
        # Weights per instance are packed like the rows; sparse rows are made dense before they are packed.
        block_bytes = lanes * m * dtype.itemsize * (1 + (self.cells is not None) + is_sparse)
        part_bytes = max(PART_BYTES, min(8 * block_bytes, 4 * PART_BYTES))
        # The dataclass is frozen, so that its attributes are set in this way.
        self.__dict__.update(
            n=n, m=m, dtype=dtype, sparse=is_sparse, lanes=lanes, block_bytes=block_bytes, part_bytes=part_bytes
        )

    def __reduce__(self) -> tuple[Any, ...]:  # through the constructor, which computes the sizes
        return type(self), tuple(getattr(self, part.name) for part in fields(self) if part.init)

    @cached_property
    def heaviest(self) -> FloatArray:
        """The largest weight of each column, in float64."""
        if self.feature_weights is not None:
            return self.feature_weights.astype(np.float64)
        if self.cells is None:
            return np.ones(self.m)
        if self.cells.table is not None:
            return self.cells.table.max(axis=0).astype(np.float64)
        assert self.cells.lookup is not None
        table = self.cells.lookup.table
        # Weights that are normalised per instance sum to 1, so none is larger than 1.
        largest = 1.0 if table.normalize == "instance" else float(table.weight.max())
        return np.full(self.m, largest + table.smoothing)

    @property
    def half_range(self) -> FloatArray:
        """Half of the range of each column, in float64. Each bound is halved before the difference could overflow."""
        half: FloatArray = self.high.astype(np.float64) / 2 - self.low.astype(np.float64) / 2
        return half

    def fold(self, dtype: Any = None) -> Fold:
        """Return the shift and scale of the numeric columns under which plain distances equal the weighted ones.

        The distances are equal up to rounding. All instances must have the same ``feature_weights``, if any. ``dtype``
        is that of the computation, by default that of the rows.
        """
        dtype = self.dtype if dtype is None else dtype
        # Centred values are small beside large offsets, so that folding loses fewer digits. Half of each bound is
        # taken before the sum, which might overflow.
        numeric = np.arange(self.m) < self.n_numeric
        weights = np.ones(self.m, dtype) if self.feature_weights is None else self.feature_weights.astype(dtype)
        root = np.sqrt(weights) if self.p == 2 else weights
        center = np.where(numeric, self.low.astype(dtype) / 2 + self.high.astype(dtype) / 2, 0)
        return Fold(
            center.astype(dtype),
            np.where(numeric, root, 1).astype(dtype),
            (self.missing_distance * root).astype(dtype),
        )

    def select(self, X: Any) -> Any:
        """Return the columns of dense or sparse queries that are used, in the order and dtype of the references."""
        identity = self.m == self.n_columns and bool((np.diff(self.columns) == 1).all())
        X = X.tocsr() if sparse.issparse(X) else X
        return as_rows(X if identity else X[:, self.columns], self.dtype)

    def are_rows(self, X: Any) -> bool:
        """Return whether ``X`` is the very array of the stored rows, so that queries are also references."""
        if self.sparse or not isinstance(X, np.ndarray):
            return False
        same = X.shape == self.rows.shape and X.strides == self.rows.strides and X.dtype == self.rows.dtype
        return same and X.ctypes.data == self.rows.ctypes.data

    def check_queries(self, Q: Any) -> bool:
        """Return whether numeric columns of the queries have missing values. Raise an error if distances overflow."""
        if sparse.issparse(Q):
            low, high, incomplete = column_ranges(Q)
            largest = np.maximum(high, -low).astype(np.float64)
        else:
            # NaN goes through max and min, so that two passes find the extremes and the incomplete columns at once.
            largest = np.maximum(Q.max(axis=0), -Q.min(axis=0)).astype(np.float64)
            incomplete = np.isnan(largest)
            if incomplete.any():
                largest[incomplete] = np.fmax.reduce(np.abs(Q[:, incomplete]), axis=0, initial=0.0)
        _refuse_extremes(np.maximum(largest, self.largest), self)
        return bool(incomplete[: self.n_numeric].any())


def as_rows(X: Any, dtype: Any = None) -> Any:
    """Return C-ordered or CSR rows of ``dtype``, by default of float32 if they are so, otherwise of float64."""
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if dtype is None:
        dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    if sparse.issparse(X):
        return X.astype(dtype, copy=False)
    # The compiled core reads each number at a multiple of its size.
    return np.require(X, dtype=dtype, requirements=["C_CONTIGUOUS", "ALIGNED"])


def ascending_rows(rows: Any) -> Any:
    """Return CSR rows with ascending columns, each given once. The rows of the caller are not changed."""
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def compress_rows(rows: Any) -> _native.SparseRows:
    """Return CSR rows as the compiled core takes them."""
    rows = ascending_rows(rows)
    return _native.make_sparse_rows(
        start=rows.indptr.astype(np.int64),
        feature=rows.indices.astype(np.int32),
        value=np.require(rows.data, requirements=["C_CONTIGUOUS", "ALIGNED"]),
        width=rows.shape[1],
    )


def build_references(
    X: Any,
    *,
    weights: Weights | None = None,
    p: int = 2,
    nominal: BoolArray | None = None,
    class_of_row: IndexArray | None = None,
    groups: IndexArray | None = None,
    n_groups: int = 1,
    measured: ColumnRanges | None = None,
) -> References:
    """Select rows and columns, measure the column ranges, and attach the weights.

    The parameters are those of `NeighborEngine`. ``class_of_row`` has positions in ``weights.classes``. ``groups``
    has the group of each row, from 0 to ``n_groups`` − 1. ``measured`` has the column ranges of the whole table
    if ``X`` is a part of it. Rows that the instance mask leaves out count in the column ranges, so that distances
    between rows do not depend on the selection.

    Examples
    --------
    >>> references = build_references(np.eye(3), weights=Weights(feature_mask=[True, False, True]))
    >>> references.n, references.columns
    (3, array([0, 2]))
    """
    X = as_rows(X)
    n, M = X.shape
    nominal = np.zeros(M, dtype=bool) if nominal is None else nominal
    row_of_slot, used = np.arange(n, dtype=np.int64), np.ones(M, dtype=bool)
    if weights is not None:
        row_of_slot, used = _select(weights, n, M)
    columns = np.concatenate([np.flatnonzero(used & ~nominal), np.flatnonzero(used & nominal)])
    every_row, every_column = len(row_of_slot) == n, np.array_equal(columns, np.arange(M))
    kept = X if every_row else X[row_of_slot]
    rows = kept if every_column else as_rows(kept[:, columns])
    n_numeric = int((~nominal[columns]).sum())
    if measured is not None:
        ranges = measured.of(columns)
    else:
        ranges = column_ranges(rows) if every_row else column_ranges(X).of(columns)
    a, cells, scales = None, None, None
    if weights is not None:
        a, cells = _attach(weights, kept, row_of_slot, columns, class_of_row, rows.dtype)
        # Scales of 1 change nothing, and the kernel is faster without scales. Distances are ranked as d ** p, so the
        # scale v is raised to the same power.
        if weights.instance_scales is not None and (weights.instance_scales != 1).any():
            scales = _cast(weights.instance_scales[row_of_slot] ** p, rows.dtype)
    references = References(
        rows=rows,
        row_of_slot=row_of_slot,
        columns=columns,
        n_numeric=n_numeric,
        p=p,
        missing_distance=compute_missing_distance(ranges, n_numeric, rows.dtype),
        feature_weights=a,
        cells=cells,
        scales=scales,
        groups=np.zeros(len(row_of_slot), dtype=np.int64) if groups is None else groups[row_of_slot].astype(np.int64),
        n_groups=n_groups,
        missing=bool(ranges.missing[:n_numeric].any()),
        largest=np.maximum(np.abs(ranges.low), np.abs(ranges.high)).astype(np.float64),
        low=ranges.low,
        high=ranges.high,
        n_columns=M,
    )
    _refuse_extremes(references.largest, references)
    return references


def _select(weights: Weights, n: int, M: int) -> tuple[IndexArray, BoolArray]:
    """Return the numbers of the rows that weights keep, and a mask of the columns that they use.

    Raise an error if the weights are for another number of rows or features, or if no column would be left.
    """
    if weights.n_features not in (None, M):
        raise InvalidWeightsError(f"the weights are for {weights.n_features} features; the data have {M}")
    if weights.instance_bound and weights.n_samples != n:
        raise InvalidWeightsError(f"the weights are for {weights.n_samples} training rows; the data have {n}")
    used = np.ones(M, dtype=bool) if weights.feature_mask is None else weights.feature_mask.copy()
    if weights.feature_weights is not None:
        # A column whose weight is 0 in every class and instance adds nothing to any distance.
        used &= (np.atleast_2d(weights.feature_weights) > 0).any(axis=0)
    if not used.any():
        raise InvalidWeightsError("feature_mask leaves only features of weight 0: no distance would be left")
    kept = np.ones(n, dtype=bool) if weights.instance_mask is None else weights.instance_mask
    return np.flatnonzero(kept), used


def column_ranges(rows: Any, *, empty: float = 0.0) -> ColumnRanges:
    """Return the range of each column (``empty`` if all values are missing), and which columns have missing values.

    If a sparse table has any missing value, all its columns are marked. Ranges of blocks are merged, and there a 0
    would count as a value: ``empty`` is NaN for these.
    """
    if sparse.issparse(rows):
        from sklearn.utils.sparsefuncs import min_max_axis

        low, high = min_max_axis(rows, axis=0, ignore_nan=True)
        # Which column of a sparse table misses a value is not worth a pass: any of them counts for all.
        missing = np.full(rows.shape[1], bool(np.isnan(rows.data).any()))
    else:
        # Plain min and max are fast and give NaN for incomplete columns, which alone take the slower way.
        low, high = rows.min(axis=0), rows.max(axis=0)
        missing = np.isnan(low)
        if missing.any():
            low[missing] = np.fmin.reduce(rows[:, missing], axis=0)
            high[missing] = np.fmax.reduce(rows[:, missing], axis=0)
    return ColumnRanges(np.nan_to_num(low, nan=empty), np.nan_to_num(high, nan=empty), missing)


def compute_missing_distance(measured: ColumnRanges, n_numeric: int, dtype: Any) -> FloatArray:
    """Return the missing distance of each column: the column range of a numeric column, 1 for a nominal column.

    The first ``n_numeric`` columns are numeric. Two different categories have the distance 1 too.
    """
    numeric = np.arange(len(measured.low)) < n_numeric
    with np.errstate(over="ignore"):  # such columns are refused with a reason, by `_refuse_extremes`
        missing_distance: FloatArray = np.where(numeric, measured.high - measured.low, 1).astype(dtype)
    return missing_distance


def integral(rows: Any) -> BoolArray:
    """Return which columns hold only whole numbers or missing values."""
    whole = np.ones(rows.shape[1], dtype=bool)
    if sparse.issparse(rows):
        broken = (rows.data != np.rint(rows.data)) & ~np.isnan(rows.data)
        whole[rows.indices[broken]] = False
        return whole
    # In parts, so that the temporary arrays stay in the cache.
    for begin in range(0, rows.shape[0], 4096):
        part = rows[begin : begin + 4096]
        whole &= ((part == np.rint(part)) | np.isnan(part)).all(axis=0)
    return whole


def _attach(
    weights: Weights,
    kept: Any,
    row_of_slot: IndexArray,
    columns: IndexArray,
    class_of_row: AnyArray | None,
    dtype: Any,
) -> tuple[FloatArray | None, CellWeights | None]:
    """Return the weights ``a`` of the kept columns for all instances, or the weights per stored instance.

    Parameters
    ----------
    weights : Weights
    kept : array or CSR
        The kept rows with all their columns, in which intervals are looked up.
    row_of_slot : ndarray
        Row of the training data of each kept row.
    columns : ndarray
        The kept columns.
    class_of_row : ndarray or None
        Class of every row of the training data, for weights per class or interval.
    dtype : dtype of the rows
    """
    if weights.kind == "none":
        return None, None
    if weights.kind == "feature":
        assert weights.feature_weights is not None
        a = weights.feature_weights[columns]
        # Weights of 1 are left out, so that the plain and faster kernel is used.
        return (None if (a == 1).all() else _cast(a, dtype)), None
    if weights.kind == "instance":
        row = row_of_slot
    elif class_of_row is not None:
        row = np.asarray(class_of_row, dtype=np.int64)[row_of_slot]
    else:
        raise InvalidWeightsError(f"weights per {weights.kind} need the class of every stored instance")
    if weights.intervals is not None:
        low, high, _ = column_ranges(kept)
        lookup = IntervalLookup.of(weights.intervals, low, high, integral(kept), kept.shape[0])
        return None, CellWeights(None, row, lookup, columns, kept)
    assert weights.feature_weights is not None
    return None, CellWeights(_cast(weights.feature_weights[:, columns], dtype), np.ascontiguousarray(row))


def _refuse_extremes(largest: FloatArray, references: References) -> None:
    """Raise an error if distances could overflow, or if they or the differences of a column would vanish.

    ``largest`` is the largest absolute value of each column. Categories differ by at most 1.
    """
    info, heaviest = np.finfo(references.dtype), references.heaviest
    advice = "rescale the features (for example with sklearn.preprocessing.StandardScaler)"
    scales = np.ones(1) if references.scales is None else references.scales
    # Two values differ by at most twice the largest. A quarter of the largest float is a margin for rounding.
    with np.errstate(over="ignore"):
        largest_difference = np.where(np.arange(references.m) < references.n_numeric, 2.0 * largest, 1.0)
        bound = float(np.sum(heaviest * largest_difference**references.p)) * max(float(scales.max()), 1.0)
    if not bound <= float(info.max) / 4:
        wider = "" if references.dtype == np.float64 else " or convert them to float64"
        raise InvalidDataError(
            f"values up to {np.max(largest, initial=0.0):.3g} under weights up to {heaviest.max():.3g} make distances "
            f"that overflow {references.dtype}: {advice}{wider}"
        )
    span = references.missing_distance.astype(np.float64)
    if not (span > 0).any():
        return
    # The widest column must lie far above the smallest normal number, so that small differences keep their digits.
    widest = float((heaviest * span**references.p).max()) * min(float(scales[scales > 0].min(initial=1.0)), 1.0)
    if widest < float(info.tiny) / float(info.eps) ** 2:
        raise InvalidDataError(
            f"the widest feature spans only {float(references.missing_distance.max()):.3g} under weights up to "
            f"{heaviest.max():.3g}, and distances underflow {references.dtype}: {advice} or the weights"
        )
    # Beside larger columns, too, rows that differ in a narrow column only must not become equal. A weight below 1 is
    # not counted here: it says that the column matters little.
    least = float(info.tiny) / float(info.eps) ** references.p
    vanishing = (span > 0) & (np.maximum(heaviest, 1.0) * span**references.p < least)
    if vanishing.any():
        slot = int(np.flatnonzero(vanishing)[0])
        wider = "" if references.dtype == np.float64 else ", convert them to float64"
        raise InvalidDataError(
            f"column {references.columns[slot]} spans only {span[slot]:.3g}, and its differences vanish in "
            f"{references.dtype} when they are squared: {advice}{wider}, or drop the column"
        )


def _cast(weights: FloatArray, dtype: Any) -> FloatArray:
    """Return the weights in the dtype of the data. Weights too small for the dtype become 0.

    Raise an error if weights are too large for the dtype, or if none stays positive.
    """
    with np.errstate(over="ignore", under="ignore"):
        # The range of float32 is smaller than that of the weights, which are float64.
        out = np.ascontiguousarray(weights, dtype=dtype)
    if not np.isfinite(out).all() or not (out > 0).any():
        raise InvalidWeightsError(
            f"weights up to {weights.max():.3g} do not fit {np.dtype(dtype)}: "
            "divide them by their maximum, or convert the data to float64"
        )
    return out
