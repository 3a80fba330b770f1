"""The neighbour engine: it finds the nearest training rows of queries under given weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from .._parallel.threads import effective_n_jobs
from .._typing import BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..weights import Weights
from .backends.bytes import Bytes
from .backends.rounded import Rounded
from .backends.scan import Scan
from .backends.single import Single
from .backends.sparse_rows import SparseRows
from .backends.wide import WidePairs
from .lists import NeighborLists
from .plan import Plan, make_plan, part_bytes_of, queries_at_once
from .references import ColumnRanges, References, build_references

__all__ = ["NeighborEngine", "rooted"]

_MOST_FOUND = 20_000_000  # how many neighbours within limits may be in memory at the same time


def rooted(ranked: FloatArray, p: int) -> FloatArray:
    """Take the root of squared distances (p = 2) in place; distances of p = 1 stay as they are.

    Examples
    --------
    >>> rooted(np.array([4.0, 9.0]), 2)
    array([2., 3.])
    """
    return np.sqrt(ranked, out=ranked) if p == 2 else ranked


class Backend(Protocol):
    """Interface of a backend. `Scan.search` describes its only method."""

    def search(
        self, queries: FloatArray, k: int, *, own_slot: IndexArray | None, missing: bool, n_jobs: int
    ) -> tuple[FloatArray, IndexArray]: ...


def _build_backend(plan: Plan, references: References, scan: Scan) -> Backend:
    """Build the backend of the plan. Every backend uses the scan for queries that it cannot serve itself."""
    if plan.backend == "bytes":
        return Bytes(references, scan)
    if plan.sparse_rows:
        return SparseRows(references, scan)
    if plan.single or plan.rounded or plan.wide:
        other = Single(references, scan) if plan.single else scan
        if plan.wide:
            return WidePairs(references, scan, other)
        return Rounded(references, scan, other) if plan.rounded else other
    if plan.backend == "tree":
        from .backends.tree import Tree

        return Tree(references, scan)
    if plan.backend in ("faiss", "hnsw"):
        from .backends.faiss import Faiss

        return Faiss(references, scan, approximate=plan.backend == "hnsw")
    return scan


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
    backend : {"auto", "scan", "bytes", "tree", "faiss", "hnsw"}
    n_jobs : int, optional
        Number of threads.
    part_bytes : int, optional
        Memory for packed references and for copies of queries. By default as `part_bytes_of` says, at least
        32 MiB.
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
        self.part_bytes = part_bytes_of(self.references) if part_bytes is None else part_bytes
        self._batch = queries_at_once(self.references, part_bytes)
        self.plan = make_plan(self.references, backend=backend, part_bytes=self.part_bytes)
        self.n_jobs = n_jobs
        self._scan = Scan(self.references, part_bytes=self.part_bytes)
        self._backend = _build_backend(self.plan, self.references, self._scan)

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
            raise InvalidDataError("this engine has several groups: use search_groups")
        shape = (n, references.n_groups, k)
        distance, row = np.empty(shape, dtype=references.dtype), np.empty(shape, dtype=np.int64)
        threads = effective_n_jobs(self.n_jobs if n_jobs is None else n_jobs)
        backend = self._backend
        for batch, part, own, missing in self._batches(
            queries,
            own_row,
            self._batch,
            whole=isinstance(backend, Scan | WidePairs),
            sparse_too=isinstance(backend, SparseRows),
        ):
            found, slot = backend.search(part, k, own_slot=own, missing=missing, n_jobs=threads)
            distance[batch] = found
            # Backends count kept rows in slots. Callers know the row numbers of the training data.
            row[batch] = np.where(slot < 0, -1, references.row_of_slot[slot])
        if not ranked:
            distance = rooted(distance, references.p)
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
        for batch, part, own, missing in self._batches(queries, own_row, min(size, self._batch)):
            distance, slot, count = self._scan.search_within(
                part, limits[batch], own_slot=own, missing=missing, n_jobs=threads
            )
            yield batch, NeighborLists(distance, references.row_of_slot[slot], np.cumsum(np.append(0, count)))

    def _batches(
        self,
        queries: Any,
        own_row: IndexArray | None,
        size: int,
        *,
        whole: bool = False,
        sparse_too: bool = False,
    ) -> Iterator[tuple[slice, FloatArray, IndexArray | None, bool]]:
        """Cut queries into batches, so that their dense and padded copies stay within the memory budget.

        Yield, for each batch, its place among the queries, its rows as the backends read them, their own slots or
        None, and whether values are missing. ``size`` is the number of queries in a batch. ``whole``: the backend may
        take all queries at once if it computes each pair of them once. ``sparse_too``: it takes sparse queries as they
        are.
        """
        own_slot = None if own_row is None else self._slot_of(own_row)
        if sparse_too and sparse.issparse(queries):
            part = self.references.select_sparse(queries)
            yield slice(None), part, own_slot, self.references.check_sparse_queries(part)
            return
        pairs = whole and self._scan.computes_pairs(queries, own_slot)
        if pairs or (queries.shape[0] <= size and self.references.are_rows(queries)):
            # Nothing is copied, and the rows were checked when they were stored.
            yield slice(None), queries, own_slot, self.references.missing
            return
        for begin in range(0, queries.shape[0], size):
            batch = slice(begin, begin + size)
            part = queries[batch]
            part = self.references.select(part.toarray() if sparse.issparse(part) else part)
            missing = self.references.check_queries(part)
            yield batch, part, None if own_slot is None else own_slot[batch], missing

    def search_groups(
        self, queries: Any, k: int, *, own_row: IndexArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, IndexArray]:
        """Return the k nearest rows of each group, as `search` does: arrays of shape (n_queries, n_groups, k)."""
        return self.search(queries, k, own_row=own_row, n_jobs=n_jobs, grouped=True)

    def ranked(
        self, queries: Any, k: int, *, own_row: IndexArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, IndexArray]:
        """Return the result of `search_groups` with squared distances for p = 2."""
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

    def _slot_of(self, own_row: IndexArray) -> IndexArray:
        """Return the slot of each row number, or -1 if the row is not stored."""
        # Row numbers of slots ascend, so a binary search finds the slot of a row.
        slots = np.searchsorted(self.references.row_of_slot, own_row)
        slots = np.minimum(slots, self.references.n - 1)
        found: IndexArray = np.where(self.references.row_of_slot[slots] == own_row, slots, -1).astype(np.int64)
        return found
