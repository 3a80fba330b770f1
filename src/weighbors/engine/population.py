"""Leave-one-out predictions of many individuals at once, for the evaluations of an evolutionary search.

An individual selects instances and features and weighs both (methods §0). There are three ways to compute
the same predictions. `choose_population_method` chooses one:

- ``walk``: only instances are selected, so distances never change. Neighbour lists are sorted once,
  and an evaluation goes through a list to the first selected neighbour, for 64 individuals at a time. Lists are
  cut to fit the byte limit. Rows with too few selected neighbours in their list are scanned.
- ``matrix``: instances are weighed, features are not. Distances are computed once, if they fit in the byte limit.
- ``scan``: everything else. The selected instances and features of an individual are packed and compared.

Further memory is needed for a centred copy of the data, for rounding another 4 bytes per cell, for one packed copy per
thread, and for 4 bytes per individual and row (8 with numeric targets).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _native
from .._parallel.threads import row_ranges, run_ranges
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .backends.backend import Batch
from .backends.scan import Scan, aligned_empty
from .pairs import PackedRows
from .references import ColumnRanges, References, build_references

#: Memory for lists or distances that are kept for a whole search.
CACHE_BYTES = 256 * 2**20
_SORTED_SHARE = 8  # lists of at least the n-th part of all rows are sorted, shorter ones are kept in heaps
_LEAST_WIDTH = 16  # shorter lists than this are not worth their memory
_PAIRED_ROWS = 32768  # most rows for which the scan computes every pair once, from rounded columns
_UNLISTED: dict[Any, float] = {np.int32: -2, np.float64: np.inf}  # what a walk predicts if its list is too short


@dataclass(frozen=True)
class Selections:
    """Selections and weights of P individuals. A part that is None is all ones.

    Parameters
    ----------
    feature_weights : ndarray of shape (P, S, M), optional
        The weights ``a``, 0 for features that are not selected. S is 1, or the number of classes if each class of
        the stored instance has a vector of its own.
    instance_scales : ndarray of shape (P, N), optional
        The scales ``v`` of the instances.
    instance_mask : bool ndarray of shape (P, N), optional
        Which instances are selected.
    """

    count: int
    feature_weights: FloatArray | None = None
    instance_scales: FloatArray | None = None
    instance_mask: BoolArray | None = None


@dataclass(frozen=True)
class PopulationMethod:
    """How predictions are computed, and the reason. It prints as one line per fact."""

    way: str
    reason: str
    width: int  # neighbours per list
    cache_bytes: int

    def __str__(self) -> str:
        kept = f"{self.cache_bytes / 2**20:.3g} MiB kept for the whole search" if self.cache_bytes else "nothing kept"
        return f"{self.way}: {self.reason}\n  memory      {kept}"


def choose_population_method(
    n: int,
    itemsize: int,
    *,
    features_change: bool,
    scales_change: bool,
    limit: int = CACHE_BYTES,
) -> PopulationMethod:
    """Choose how predictions are computed, from the sizes and from what differs between individuals.

    ``n`` is the number of rows, ``itemsize`` the bytes of a number, and ``limit`` the memory that may be kept.

    Examples
    --------
    >>> print(choose_population_method(2000, 4, features_change=False, scales_change=False))
    walk: only instances are selected: neighbour lists are sorted once
      memory      15.3 MiB kept for the whole search
    >>> choose_population_method(100_000, 4, features_change=False, scales_change=True).way
    'scan'
    """
    if features_change:
        return PopulationMethod("scan", "features are weighed or selected, so distances change", 0, 0)
    if scales_change:
        # Rows of distances are padded to whole vectors, here by at most 16 values.
        size = n * (n + 16) * itemsize
        if size <= limit:
            return PopulationMethod("matrix", "only instances change: distances are computed once", 0, size)
        return PopulationMethod("scan", f"all distances would take {size / 2**20:.0f} MiB", 0, 0)
    # A list has 4 bytes per neighbour. Lists of all rows must fit in the limit.
    width = min(n - 1, limit // (4 * n))
    if width < min(n - 1, _LEAST_WIDTH):
        return PopulationMethod("scan", "neighbour lists do not fit the byte limit", 0, 0)
    cut = "" if width == n - 1 else f", cut to the {width} nearest"
    reason = f"only instances are selected: neighbour lists are sorted once{cut}"
    return PopulationMethod("walk", reason, width, 4 * n * width)


class PopulationNeighbors:
    """Leave-one-out predictions by the k nearest selected instances, for many individuals per call.

    The prediction is the most frequent class of these instances, or the mean of their numeric targets.

    Parameters
    ----------
    X : ndarray of shape (N, M)
        Rows after input validation, NaN for missing values. The missing distance is the column range.
    codes : int ndarray of shape (N,)
        Class of each row.
    n_classes, n_neighbors : int
    numbers : float64 ndarray of shape (N,), optional
        Numeric targets. If they are given, they are predicted in place of the classes.
    nominal : bool ndarray of shape (M,), optional
    features_change, scales_change : bool
        Whether individuals differ in feature weights or selections, and in instance scales.
    cache_bytes : int
        Memory for lists or distances that are kept for the whole search.
    n_jobs : int
        Number of threads. Predictions do not depend on it.
    measured : ColumnRanges, optional
        Column ranges of all training rows if ``X`` is a part of them.

    Examples
    --------
    >>> X, codes = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> neighbors = PopulationNeighbors(X, codes, n_classes=2)
    >>> masks = np.array([[True, True, True, True], [True, False, False, False]])
    >>> neighbors.predict(Selections(2, instance_mask=masks))
    array([[ 0,  0,  1,  1],
           [-1,  0,  0,  0]], dtype=int32)

    Of numeric targets, the mean of all rows is predicted if no other instance is selected:

    >>> zeros, y = np.zeros(4, dtype=int), np.array([2.0, 3.0, 5.0, 6.0])
    >>> PopulationNeighbors(X, zeros, n_classes=1, numbers=y).predict(Selections(2, instance_mask=masks))
    array([[3., 2., 6., 5.],
           [4., 2., 2., 2.]])
    """

    def __init__(
        self,
        X: FloatArray,
        codes: IndexArray,
        *,
        n_classes: int,
        n_neighbors: int = 1,
        numbers: FloatArray | None = None,
        nominal: BoolArray | None = None,
        features_change: bool = True,
        scales_change: bool = True,
        cache_bytes: int = CACHE_BYTES,
        n_jobs: int = 1,
        measured: ColumnRanges | None = None,
    ) -> None:
        self.references = r = build_references(X, nominal=nominal, measured=measured)
        self.k, self.n_jobs = n_neighbors, n_jobs
        # What is predicted without a neighbour. Of numbers this is their mean, which earns nothing: R² measures how
        # much better predictions are.
        targets = None if numbers is None else np.ascontiguousarray(numbers, dtype=np.float64)
        self._dtype: Any = np.int32 if targets is None else np.float64
        # Individuals multiply the rows by their weights. Centred values are smaller, so that loses fewer digits.
        numeric = np.arange(r.m) < r.n_numeric
        middle = np.where(numeric, r.low / 2 + r.high / 2, 0).astype(r.dtype)
        centered = np.ascontiguousarray(r.rows - middle)
        self.method = choose_population_method(
            r.n, r.dtype.itemsize, features_change=features_change, scales_change=scales_change, limit=cache_bytes
        )
        # The compiled core rounds weighed columns to integers, if all of them are numbers.
        columns = half_range = None
        numbers_only = bool(numeric.all()) and not r.missing
        if self.method.way == "scan" and numbers_only and n_neighbors == 1 and r.n <= _PAIRED_ROWS:
            largest = np.abs(centered).max(axis=0, initial=0).astype(np.float64)
            half_range = np.where(largest > 0, largest, 1.0)
            columns = np.ascontiguousarray((centered / half_range).T, dtype=np.float32)
        self._table = _native.make_population_table(
            rows=r.rows,
            centered=centered,
            missing_distance=r.missing_distance,
            n_numeric=r.n_numeric,
            missing=r.missing,
            codes=np.ascontiguousarray(codes, dtype=np.int32),
            targets=targets,
            otherwise=0.0 if targets is None else float(targets.mean()),
            n_classes=n_classes,
            k=n_neighbors,
            columns=columns,
            half_range=half_range,
        )
        self._lists = nearest_lists(r, self.method.width, n_jobs) if self.method.way == "walk" else None
        self._square = squared_distances(r, n_jobs) if self.method.way == "matrix" else None

    def predict(self, selections: Selections) -> AnyArray:
        """Return the class or the number of every row by its nearest selected instances, without the row itself.

        Returns
        -------
        ndarray of shape (P, N)
            int32 classes, -1 if the individual selects no other instance; or float64 numbers, the mean of all targets
            if it selects none.
        """
        predicted = np.empty((selections.count, self.references.n), dtype=self._dtype)
        if self.method.way == "walk" and selections.instance_mask is not None:
            self._walk(selections.instance_mask, predicted)
        elif self.method.way == "matrix":
            self._read(selections, predicted)
        else:
            self._scan(selections, None, predicted)
        return predicted

    def _scan(self, selections: Selections, query: IndexArray | None, predicted: AnyArray) -> None:
        """Predict the rows ``query``, or all, by a scan, for every individual, and write to ``predicted``."""
        weights, scales, mask = self._parts(selections)
        count, n = predicted.shape
        # If individuals are fewer than threads keep busy, their rows are divided as well.
        cuts = [(0, n)] if count >= 4 * self.n_jobs or self.n_jobs == 1 else row_ranges(n, self.n_jobs, least=96)
        pieces = [(i, *cut) for i in range(count) for cut in cuts]

        def task(number: int, _: int) -> None:
            """Predict one piece: some rows for one individual."""
            i, begin, end = pieces[number]
            _native.predict_by_scan(
                table=self._table, weights=weights, scales=scales, kept=mask, query=query, **self._outputs(predicted),
                first=i, last=i + 1, begin=begin, end=end,
            )  # fmt: skip

        run_ranges(task, [(number, number + 1) for number in range(len(pieces))], self.n_jobs)

    def _read(self, selections: Selections, predicted: AnyArray) -> None:
        """Predict all rows from the stored distances, and write the predictions to ``predicted``."""
        _, scales, mask = self._parts(selections)
        square = self._square
        assert square is not None

        def task(begin: int, end: int) -> None:
            """Predict rows [begin, end) for all individuals."""
            _native.predict_from_matrix(
                table=self._table, square=square, scales=scales, kept=mask, **self._outputs(predicted),
                begin=begin, end=end,
            )  # fmt: skip

        # The distances of few rows stay in the cache for all individuals.
        run_ranges(task, row_ranges(self.references.n, self.n_jobs, most=66), self.n_jobs)

    def _walk(self, mask: BoolArray, predicted: AnyArray) -> None:
        """Predict all rows from the stored neighbour lists, and write the predictions to ``predicted``."""
        n, lists, words = self.references.n, self._lists, bit_words(mask)
        assert lists is not None

        def task(begin: int, end: int) -> None:
            """Predict rows [begin, end) for all individuals."""
            _native.predict_from_lists(
                table=self._table, lists=lists, selected=words, **self._outputs(predicted), begin=begin, end=end
            )

        run_ranges(task, row_ranges(n, self.n_jobs), self.n_jobs)
        if lists.shape[1] == n - 1:
            return
        # A list that was cut may hold too few selected rows: then all rows are scanned.
        unlisted = predicted == _UNLISTED[self._dtype]
        for i in np.flatnonzero(unlisted.any(axis=1)):
            query = np.flatnonzero(unlisted[i])
            found = np.empty((1, len(query)), dtype=predicted.dtype)
            self._scan(Selections(1, instance_mask=mask[i : i + 1]), query, found)
            predicted[i, query] = found[0]

    @staticmethod
    def _outputs(predicted: AnyArray) -> dict[str, Any]:
        """Return the predictions as the compiled core takes them: classes or numbers."""
        numeric = predicted.dtype == np.float64
        return {"predicted": None if numeric else predicted, "numbers": predicted if numeric else None}

    def _parts(self, selections: Selections) -> tuple[FloatArray | None, FloatArray | None, BoolArray | None]:
        """Return weights, squared scales and masks of individuals as the compiled core takes them."""
        dtype = self.references.dtype
        weights, scales, mask = selections.feature_weights, selections.instance_scales, selections.instance_mask
        return (
            None if weights is None else np.ascontiguousarray(weights[:, :, self.references.columns], dtype=dtype),
            # Distances are compared as squares, so their scales are squared as well.
            None if scales is None else np.ascontiguousarray(scales**2, dtype=dtype),
            None if mask is None else np.ascontiguousarray(mask),
        )


def bit_words(mask: BoolArray) -> AnyArray:
    """Return the masks as 64-bit words: bit b of word w in row x is 1 if individual 64 w + b keeps row x.

    Examples
    --------
    >>> bit_words(np.array([[True, False], [True, True]])).tolist()
    [[3], [2]]
    """
    count, n = mask.shape
    # A transposed mask puts the bits of 64 individuals side by side, so that one word serves all of them.
    packed = np.packbits(np.ascontiguousarray(mask.T), axis=1, bitorder="little")
    words = np.zeros((n, -(-count // 64) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    return words.view("<u8").astype(np.uint64, copy=False)


def squared_distances(references: References, n_jobs: int) -> FloatArray:
    """Return the squared distances of all pairs of rows, padded to whole vectors.

    The distance of a row to itself and to padding is infinite.
    """
    n, packed = references.n, _pack(references)
    square = aligned_empty((n, packed.width), references.dtype)

    def task(begin: int, end: int) -> None:
        """Write the distances of the rows [begin, end)."""
        square[begin:end] = packed.distances(begin, end)

    run_ranges(task, row_ranges(n, n_jobs, most=96), n_jobs)
    square[:, n:] = np.inf
    np.fill_diagonal(square, np.inf)
    return square


def nearest_lists(references: References, width: int, n_jobs: int) -> AnyArray:
    """Return the ``width`` nearest other rows of each row, ordered by distance and then row number, as int32."""
    n = references.n
    lists = np.empty((n, width), dtype=np.int32)
    if width * _SORTED_SHARE < n:
        # Neighbour lists of a batch take at most about 16 MB, since a scan gives distance and slot, 16 bytes together.
        size = max(6, 2**24 // (16 * max(1, width)) // 6 * 6)
        scan, rows = Scan(references), np.arange(n)
        for begin in range(0, n, size):
            own = rows[begin : begin + size]
            queries = references.rows[begin : begin + size]
            _, slot = scan.search(Batch(queries, own, references.missing, n_jobs), width)
            lists[begin : begin + size] = slot[:, 0]
        return lists
    packed = _pack(references)

    def task(begin: int, end: int) -> None:
        """Write the lists of the rows [begin, end). To sort all distances is faster than a heap of many."""
        square = packed.distances(begin, end)[:, :n]
        square[np.arange(end - begin), np.arange(begin, end)] = np.inf
        lists[begin:end] = sort_neighbors(square, width)

    # Ranges whose distances take about 1 MB stay in the cache.
    run_ranges(task, row_ranges(n, n_jobs, least=6, most=max(6, 2**17 // n)), n_jobs)
    return lists


def _pack(references: References) -> PackedRows:
    """Return the rows, packed for squared Euclidean distances."""
    return PackedRows(
        references.rows,
        n_numeric=references.n_numeric,
        missing_distance=references.missing_distance,
        missing=references.missing,
        p=2,
    )


def sort_neighbors(square: FloatArray, width: int) -> AnyArray:
    """Return the numbers of the ``width`` smallest distances of each row, by distance and then number.

    ``square`` has shape (rows, n) and no negative numbers.

    Examples
    --------
    >>> sort_neighbors(np.array([[np.inf, 4.0, 1.0, 4.0]], dtype=np.float32), 3)
    array([[2, 1, 3]], dtype=int32)
    """
    if square.dtype == np.float32:
        # The bits of floats that are not negative are ordered as the floats are. With the number in the lower half,
        # one fast sort of integers also puts equal distances in order.
        both = (np.ascontiguousarray(square).view(np.uint32).astype(np.uint64) << np.uint64(32)) | np.arange(
            square.shape[1], dtype=np.uint64
        )
        both.sort(axis=1)
        return (both[:, :width] & np.uint64(0xFFFFFFFF)).astype(np.int32)
    return np.argsort(square, axis=1, kind="stable")[:, :width].astype(np.int32)
