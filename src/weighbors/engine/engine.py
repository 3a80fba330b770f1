"""The one neighbour engine: data and weights in, neighbours out."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from .._threads import effective_n_jobs
from .._typing import BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..weights import Weights
from .backends.bytes import Bytes
from .backends.scan import Scan
from .plan import Plan, make_plan, part_bytes_of, queries_at_once
from .references import Extent, References, build_references

__all__ = ["NeighborEngine", "rooted"]


def rooted(ranked: FloatArray, p: int) -> FloatArray:
    """Distances from what neighbours are ranked by (their squares, with p = 2), in its place.

    Examples
    --------
    >>> rooted(np.array([4.0, 9.0]), 2)
    array([2., 3.])
    """
    return np.sqrt(ranked, out=ranked) if p == 2 else ranked


class Backend(Protocol):
    """What every backend offers."""

    def search(
        self, queries: FloatArray, k: int, *, own_slot: IndexArray | None, missing: bool, n_jobs: int
    ) -> tuple[FloatArray, IndexArray]: ...


def _backend(plan: Plan, references: References, part_bytes: int) -> Backend:
    scan = Scan(references, part_bytes=part_bytes)
    if plan.backend == "bytes":
        return Bytes(references, scan)
    if plan.backend == "tree":
        from .backends.tree import Tree

        return Tree(references, scan)
    if plan.backend in ("faiss", "hnsw"):
        from .backends.faiss import Faiss

        return Faiss(references, scan, approximate=plan.backend == "hnsw")
    return scan


class NeighborEngine:
    """Nearest stored rows under any `Weights`.

    Parameters
    ----------
    X : array or CSR of shape (n, M)
        Checked by the caller: finite or, among numeric and nominal features, NaN for missing.
    weights : Weights, optional
    p : {1, 2}
        City-block or Euclidean.
    nominal : bool ndarray of shape (M,), optional
        Features that differ by 0 or 1.
    class_of_row : int ndarray of shape (n,), optional
        Position of each row's class in ``weights.classes``, for weights per class or interval.
    groups, n_groups : int ndarray of shape (n,), int
        Codes of the groups whose nearest are wanted separately.
    backend : {"auto", "scan", "bytes", "tree", "faiss", "hnsw"}
    n_jobs : int, optional
    part_bytes : int, optional
        Packed references, and copies of queries, that are in memory at once; by default 32 MiB, and
        more for rows of over 60 000 features.
    measured : Extent, optional
        Of the whole table, where ``X`` is a part of it: missing values are at its full range.

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
        measured: Extent | None = None,
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
        self._backend = _backend(self.plan, self.references, self.part_bytes)

    @property
    def n_references(self) -> int:
        """Rows that can be neighbours."""
        return self.references.n

    @property
    def stored_rows(self) -> IndexArray:
        """Row numbers of those."""
        return self.references.row_of_slot

    def search(
        self, queries: Any, k: int, *, own_row: IndexArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, IndexArray]:
        """The k nearest rows of each query, nearest first; equal distances by row number.

        Parameters
        ----------
        queries : array or CSR of shape (n_queries, M)
        k : int
        own_row : int ndarray of shape (n_queries,), optional
            Row number of the training data that a query must not find.
        n_jobs : int, optional
            Threads for this search; by default the engine's.

        Returns
        -------
        distance, row : ndarrays of shape (n_queries, k)
            With fewer than k rows: infinite distance and row -1.
        """
        distance, row = self.search_groups(queries, k, own_row=own_row, n_jobs=n_jobs)
        if distance.shape[1] != 1:
            raise InvalidDataError("this engine has several groups: use search_groups")
        return distance[:, 0], row[:, 0]

    def search_groups(
        self, queries: Any, k: int, *, own_row: IndexArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, IndexArray]:
        """As `search`, the k nearest of each group: arrays of shape (n_queries, n_groups, k)."""
        ranked, row = self.ranked(queries, k, own_row=own_row, n_jobs=n_jobs)
        return rooted(ranked, self.references.p), row

    def ranked(
        self, queries: Any, k: int, *, own_row: IndexArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, IndexArray]:
        """As `search_groups`, with what neighbours are ranked by: for p = 2 the squared distance.

        Lists of parts of a table are merged by it: roots of different squares can be equal.
        """
        references, n = self.references, queries.shape[0]
        shape = (n, references.n_groups, k)
        distance, row = np.empty(shape, dtype=references.dtype), np.empty(shape, dtype=np.int64)
        own_slot = None if own_row is None else self._slot_of(own_row)
        threads = effective_n_jobs(self.n_jobs if n_jobs is None else n_jobs)
        batch = self._batch
        for begin in range(0, n, batch):
            part = queries[begin : begin + batch]
            part = references.select(part.toarray() if sparse.issparse(part) else part)
            missing = references.check_queries(part)
            own = None if own_slot is None else own_slot[begin : begin + batch]
            found, slot = self._backend.search(part, k, own_slot=own, missing=missing, n_jobs=threads)
            distance[begin : begin + batch] = found
            row[begin : begin + batch] = np.where(slot < 0, -1, references.row_of_slot[slot])
        return distance, row

    def _slot_of(self, own_row: IndexArray) -> IndexArray:
        slots = np.searchsorted(self.references.row_of_slot, own_row)
        slots = np.minimum(slots, self.references.n - 1)
        found: IndexArray = np.where(self.references.row_of_slot[slots] == own_row, slots, -1).astype(np.int64)
        return found
