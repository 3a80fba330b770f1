"""The neighbour engine: it finds the nearest training rows of queries under given weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from .._parallel.threads import effective_n_jobs
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..weights import Weights
from .backends.backend import Batch
from .plan import make_plan
from .references import ColumnRanges, References, build_references

# Least number of queries for which packing the references again is worth its time, and the memory that wide queries
# may take for that.
_QUERIES, _QUERY_BYTES = 192, 256 * 2**20
_MOST_FOUND = 20_000_000  # how many neighbours within limits may be in memory at the same time


class NeighborLists(NamedTuple):
    """Lists of neighbours of different lengths, one after the other: the parts of a CSR matrix."""

    distance: FloatArray  # (total,)
    row: IndexArray  # (total,) row numbers of the training data
    start: IndexArray  # (n_queries + 1,) where the list of each query begins

    def split(self, values: AnyArray) -> AnyArray:
        """Return an array of objects with the part of ``values`` that belongs to each query."""
        lists = np.empty(len(self.start) - 1, dtype=object)
        for number, (begin, end) in enumerate(pairwise(self.start.tolist())):
            lists[number] = values[begin:end]
        return lists


def merge_lists(parts: Sequence[tuple[FloatArray, IndexArray]]) -> tuple[FloatArray, IndexArray]:
    """Merge lists of nearest rows into one list, equal to the result of one search in all rows.

    Parameters
    ----------
    parts : sequence of (ranked, row)
        Lists as `NeighborEngine.ranked` gives them, all of one shape (..., k), each sorted by distance and
        then row. Row numbers of a later part must be higher than those of an earlier part. So a stable sort by
        distance leaves rows of equal distance in the order of row numbers.

    Returns
    -------
    ranked, row : ndarrays of shape (..., k)

    Examples
    --------
    >>> near = np.array([[1.0, 4.0]]), np.array([[3, 0]])
    >>> merge_lists([near, (np.array([[1.0, np.inf]]), np.array([[7, -1]]))])
    (array([[1., 1.]]), array([[3, 7]]))
    """
    if len(parts) == 1:
        return parts[0]
    k = parts[0][0].shape[-1]
    ranked = np.concatenate([part[0] for part in parts], axis=-1)
    row = np.concatenate([part[1] for part in parts], axis=-1)
    # A stable sort keeps rows with equal distances in the order of their row numbers.
    order = np.argsort(ranked, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(ranked, order, axis=-1), np.take_along_axis(row, order, axis=-1)


class SearchEngine(Protocol):
    """Interface of an engine that finds the nearest stored rows under some `Weights`."""

    @property
    def plan(self) -> Any:
        """Backend of a search and the reason for it. It can be printed."""

    @property
    def n_references(self) -> int:
        """Number of rows that can be neighbours."""

    @property
    def stored_rows(self) -> IndexArray:
        """Row numbers of the rows that can be neighbours, ascending."""

    def search(
        self,
        queries: Any,
        k: int,
        *,
        own_row: IndexArray | None = None,
        n_jobs: int | None = None,
        grouped: bool = False,
    ) -> tuple[FloatArray, IndexArray]:
        """Return distances and row numbers of the k nearest rows of each query, arrays of shape (n_queries, k).

        With ``grouped`` they are the k nearest of each group, arrays of shape (n_queries, n_groups, k).
        """

    def references_of(self, rows: IndexArray) -> References:
        """Return references that include at least the rows ``rows``."""

    def query_limit(self, k: int) -> int | None:
        """Return the number of queries that a caller should pass at once for ``k`` neighbours, or None if any."""

    def reference_limit(self) -> int | None:
        """Return the number of rows that a caller should ask `references_of` for at once, or None if any."""


class NeighborEngine:
    """The nearest stored rows of queries under any `Weights`.

    Parameters
    ----------
    X : array or CSR of shape (n, M)
        Finite numbers, or NaN for missing values. The caller has validated them.
    weights : Weights, optional
    p : {1, 2}
        City-block or Euclidean.
    nominal : bool ndarray of shape (M,), optional
        Columns that hold categories, which differ by 0 or 1.
    class_of_row : int ndarray of shape (n,), optional
        Position of each row's class in ``weights.classes``, for weights per class or interval.
    groups, n_groups : int ndarray of shape (n,), int
        Group of each row, and the number of groups. A grouped search finds the nearest rows of each group.
    backend : {"auto", "scan", "single", "pairs", "sparse", "rounded", "bytes", "tree", "hnsw"}
    n_jobs : int, optional
        Number of threads.
    part_bytes : int, optional
        Memory for packed references and for copies of queries. By default 32 MiB, and up to 128 MiB for wide
        rows.
    measured : ColumnRanges, optional
        Column ranges of the whole table if ``X`` is a part of it. Missing distances are computed from them.

    Examples
    --------
    >>> engine = NeighborEngine(np.array([[0.0], [1.0], [3.0]]))
    >>> engine.search(np.array([[1.2]]), 2)
    (array([[0.2, 1.2]]), array([[1, 0]]))
    >>> print(engine.plan)
    scan: the compiled scan serves every kind of distance
      references  3 x 1, float64
      distance    Euclidean, no feature weights
      memory      1 packed part(s) of at most 6.1e-05 MiB
    """

    def __init__(
        self,
        X: Any,
        *,
        weights: Weights | None = None,
        p: int = 2,
        nominal: BoolArray | None = None,
        class_of_row: IndexArray | None = None,
        groups: IndexArray | None = None,
        n_groups: int = 1,
        backend: str = "auto",
        n_jobs: int | None = None,
        part_bytes: int | None = None,
        measured: ColumnRanges | None = None,
    ) -> None:
        self.references = build_references(
            X,
            weights=weights,
            p=p,
            nominal=nominal,
            class_of_row=class_of_row,
            groups=groups,
            n_groups=n_groups,
            measured=measured,
        )
        self.n_jobs = n_jobs
        self.plan = make_plan(self.references, backend=backend, part_bytes=part_bytes)
        self._backend = self.plan.build(self.references, part_bytes)
        # A batch has as many queries as fit in the memory for a part, but at least 6, and by default more.
        row_bytes = self.references.m * self.references.dtype.itemsize
        at_least = min(_QUERIES, _QUERY_BYTES // row_bytes) if part_bytes is None else 6
        # Sparse references are packed anew for every batch, so that fewer and larger batches pay.
        budget = self.references.part_bytes if part_bytes is None else part_bytes
        budget *= 4 if self.references.sparse else 1
        self._batch = max(6, budget // row_bytes, at_least)

    @property
    def n_references(self) -> int:
        """Number of rows that can be neighbours."""
        return self.references.n

    @property
    def stored_rows(self) -> IndexArray:
        """Row numbers of the rows that can be neighbours."""
        return self.references.row_of_slot

    def search(
        self,
        queries: Any,
        k: int,
        *,
        own_row: IndexArray | None = None,
        n_jobs: int | None = None,
        grouped: bool = False,
        ranked: bool = False,
    ) -> tuple[FloatArray, IndexArray]:
        """Return the k nearest rows of each query, nearest first. Equal distances are ordered by row number.

        Parameters
        ----------
        queries : array or CSR of shape (n_queries, M)
        k : int
            Number of neighbours.
        own_row : int ndarray of shape (n_queries,), optional
            Row number of the query itself in the training data. This row is not returned as a neighbour.
        n_jobs : int, optional
            Number of threads for this search. By default that of the engine.
        grouped : bool, default=False
            Whether to return the k nearest rows of each group.
        ranked : bool, default=False
            Whether distances for p = 2 are returned squared, as neighbours are ordered. Lists from parts of a
            table must be merged by squared distances, since the roots of different squares can be equal.

        Returns
        -------
        distance, row : ndarrays of shape (n_queries, k), or with ``grouped`` (n_queries, n_groups, k)
            If there are fewer than k rows, the last distances are infinite and the last rows are -1.
        """
        references, n = self.references, queries.shape[0]
        if references.n_groups != 1 and not grouped:
            raise InvalidDataError("this engine has several groups: use grouped=True")
        shape = (n, references.n_groups, k)
        distance, row = np.empty(shape, dtype=references.dtype), np.empty(shape, dtype=np.int64)
        threads = effective_n_jobs(self.n_jobs if n_jobs is None else n_jobs)
        for part, batch in self._batches(queries, own_row, self._batch, threads):
            distance[part], slot = self._backend.search(batch, k)
            # Backends count kept rows in slots. Callers know the row numbers of the training data.
            row[part] = np.where(slot < 0, -1, references.row_of_slot[slot])
        if references.p == 2 and not ranked:
            np.sqrt(distance, out=distance)
        return (distance, row) if grouped else (distance[:, 0], row[:, 0])

    def search_within(
        self, queries: Any, limits: FloatArray, *, own_row: IndexArray | None = None, n_jobs: int | None = None
    ) -> Iterator[tuple[slice, NeighborLists]]:
        """Yield all rows nearer than the limit of each query, for batches of queries. All rows are measured.

        Parameters
        ----------
        queries, own_row, n_jobs
            As in `search`. The engine must have one group.
        limits : ndarray of shape (n_queries,)
            Distances below are wanted; squared for p = 2.

        Yields
        ------
        batch : slice
            Which queries.
        lists : NeighborLists
            Their neighbours, sorted by distance and then row number. Distances are squared for p = 2.
        """
        references = self.references
        if references.n_groups != 1:
            raise InvalidDataError("a search within limits needs an engine with one group")
        threads = effective_n_jobs(self.n_jobs if n_jobs is None else n_jobs)
        limits = np.ascontiguousarray(limits, dtype=references.dtype)
        # In the worst case every query finds all rows.
        size = max(96, _MOST_FOUND // max(1, references.n))
        for part, batch in self._batches(queries, own_row, min(size, self._batch), threads, nearest=False):
            distance, slot, count = self._backend.scan.search_within(batch, limits[part])
            yield part, NeighborLists(distance, references.row_of_slot[slot], np.cumsum(np.append(0, count)))

    def search_radius(
        self, queries: Any, radius: float, *, own_row: IndexArray | None = None, n_jobs: int | None = None
    ) -> NeighborLists:
        """Return all rows whose distance is at most ``radius``. Equal distances are ordered by row number.

        Parameters
        ----------
        queries, own_row, n_jobs
            As in `search`. The engine must have one group.
        radius : float

        Examples
        --------
        >>> engine = NeighborEngine(np.array([[0.0], [1.0], [3.0]]))
        >>> engine.search_radius(np.array([[1.2], [9.0]]), 1.2)
        NeighborLists(distance=array([0.2, 1.2]), row=array([1, 0]), start=array([0, 2, 2]))
        """
        dtype, p = self.references.dtype, self.references.p
        # The search compares squares for p = 2. Its limit is a little too wide, and the roots are compared afterwards.
        with np.errstate(over="ignore"):
            limit = np.array((radius * (1 + 8 * np.finfo(dtype).eps)) ** p + np.finfo(dtype).tiny).astype(dtype)
        limits = np.full(queries.shape[0], limit)
        distance, row, count = [np.empty(0, dtype=dtype)], [np.empty(0, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
        for _, lists in self.search_within(queries, limits, own_row=own_row, n_jobs=n_jobs):
            found = np.sqrt(lists.distance) if p == 2 else lists.distance
            inside = found <= radius
            distance.append(found[inside])
            row.append(lists.row[inside])
            count.append(np.diff(np.append(0, np.cumsum(inside))[lists.start]))
        return NeighborLists(np.concatenate(distance), np.concatenate(row), np.cumsum(np.concatenate(count)))

    def _batches(
        self, queries: Any, own_row: IndexArray | None, size: int, n_jobs: int, *, nearest: bool = True
    ) -> Iterator[tuple[slice, Batch]]:
        """Cut queries into batches, so that their dense and padded copies stay within the memory budget.

        Yield the place of each batch among the queries, and the batch. ``size`` is the number of queries in a batch.
        ``nearest``: the k nearest are wanted, for which a backend may take all queries at once, or sparse ones.
        """
        references, backend = self.references, self._backend
        own_slot = None
        if own_row is not None:
            # Row numbers of slots ascend, so a binary search finds the slot of a row; -1 if the row is not stored.
            slots = np.minimum(np.searchsorted(references.row_of_slot, own_row), references.n - 1)
            own_slot = np.where(references.row_of_slot[slots] == own_row, slots, -1).astype(np.int64)
        if nearest and backend.takes_sparse and sparse.issparse(queries):
            rows = references.select(queries)
            yield slice(None), Batch(rows, own_slot, references.check_queries(rows), n_jobs)
            return
        pairs = nearest and backend.compares_pairs and backend.scan.computes_pairs(queries, own_slot)
        if pairs or (queries.shape[0] <= size and references.are_rows(queries)):
            # Nothing is copied, and the rows were checked when they were stored.
            yield slice(None), Batch(queries, own_slot, references.missing, n_jobs)
            return
        for begin in range(0, queries.shape[0], size):
            part = slice(begin, begin + size)
            rows = queries[part]
            rows = references.select(rows.toarray() if sparse.issparse(rows) else rows)
            own = None if own_slot is None else own_slot[part]
            yield part, Batch(rows, own, references.check_queries(rows), n_jobs)

    def ranked(
        self, queries: Any, k: int, *, own_row: IndexArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, IndexArray]:
        """Return the result of `search` with ``grouped`` and ``ranked``."""
        return self.search(queries, k, own_row=own_row, n_jobs=n_jobs, grouped=True, ranked=True)

    def references_of(self, rows: IndexArray) -> References:
        """Return references that include ``rows``: here the references of all rows, which are in memory."""
        return self.references

    def query_limit(self, k: int) -> int | None:
        """Return None: there is no limit on the number of queries, since `search` cuts them into batches."""
        return None

    def reference_limit(self) -> int | None:
        """Return None: all references are in memory."""
        return None
