"""The neighbour engine over blocks: the same search in every block, lists merged by (distance, row)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..engine import Extent, NeighborEngine, merge_lists, rooted
from ..exceptions import InvalidDataError
from ..weights import Weights
from ._blocks import Block
from ._door import Door
from ._executors import LocalExecutor
from ._table import BlockTable

__all__ = ["BlockEngine", "BlockPlan"]

_GRAPH_BYTES = 8 * 2**20  # queries that one graph of tasks carries


@dataclass(frozen=True)
class Search:
    """What the search of every block needs to know."""

    door: Door
    transform: Any
    p: int
    nominal: BoolArray | None
    measured: Extent
    grouped: bool
    n_groups: int
    class_of_code: IndexArray | None  # position of a class among those of the weights
    backend: str
    n_jobs: int

    def engine(self, rows: FloatArray, codes: IndexArray | None, weights: Weights | None) -> NeighborEngine:
        """The ordinary engine over some of the rows."""
        of_class = self.class_of_code is not None and codes is not None
        return NeighborEngine(
            rows,
            weights=weights,
            p=self.p,
            nominal=self.nominal,
            class_of_row=self.class_of_code[codes] if of_class else None,  # type: ignore[index]
            groups=codes if self.grouped else None,
            n_groups=self.n_groups,
            backend=self.backend,
            n_jobs=self.n_jobs,
            measured=self.measured,
        )

    @property
    def labelled(self) -> bool:
        """Whether the search asks for the classes of rows."""
        return self.grouped or self.class_of_code is not None


def search_block(
    block: Block,
    first: int,
    weights: Weights | None,
    search: Search,
    queries: FloatArray,
    k: int,
    own_row: IndexArray | None,
) -> tuple[FloatArray, IndexArray]:
    """The k nearest of a block whose rows are numbered from ``first`` on, by what ranks them."""
    shape = (len(queries), search.n_groups, k)
    lists = [(np.full(shape, np.inf, dtype=search.door.dtype), np.full(shape, -1, dtype=np.int64))]
    begin = 0
    for piece in block.pieces():
        n = len(piece.table)
        mine = weights
        if weights is not None and weights.instance_bound and n:
            mine = _part(weights, begin, n)
        begin, here = begin + n, first + begin
        if n == 0 or mine is _NOBODY:
            continue
        rows = search.door.rows(piece.table)
        rows = rows if search.transform is None else search.transform(rows)
        codes = search.door.codes(piece.labels) if search.labelled else None
        engine = search.engine(rows, codes, mine)
        own = None if own_row is None else own_row - here
        ranked, row = engine.ranked(queries, k, own_row=own)
        lists = [merge_lists([*lists, (ranked, np.where(row < 0, -1, row + here))])]
    return lists[0]


_NOBODY = Weights()  # stands for a part of which no row is kept


def _part(weights: Weights, begin: int, n: int) -> Weights:
    mask = weights.instance_mask
    if mask is not None and not mask[begin : begin + n].any():
        return _NOBODY
    return weights.take(np.arange(begin, begin + n))


@dataclass(frozen=True)
class BlockPlan:
    """What runs in a search over blocks. Prints as one line per fact."""

    n_blocks: int
    n_references: int
    n_features: int
    dtype: str
    where: str
    max_bytes: int

    def __str__(self) -> str:
        return "\n".join(
            [
                f"blocks: the same search in each of {self.n_blocks} blocks, lists merged by (distance, row)",
                f"  references  {self.n_references} x {self.n_features}, {self.dtype}",
                f"  where       {self.where}",
                f"  memory      at most about {self.max_bytes / 2**20:.3g} MiB per task",
            ]
        )


class BlockEngine:
    """`NeighborEngine` for a `BlockTable`: the same answers, to the bit.

    Parameters
    ----------
    table : BlockTable
    transform, measured
        What is done to coded rows, and the extent of the rows after that.
    weights, p, nominal, backend
        As in `NeighborEngine`.
    by_class : bool
        The nearest of each class are wanted.
    class_of_code : int ndarray of shape (n_classes,), optional
        Position of each class of the table in ``weights.classes``.
    """

    def __init__(
        self,
        table: BlockTable,
        *,
        transform: Any = None,
        measured: Extent | None = None,
        weights: Weights | None = None,
        p: int = 2,
        nominal: BoolArray | None = None,
        by_class: bool = False,
        class_of_code: IndexArray | None = None,
        backend: str = "auto",
    ) -> None:
        self.table = table
        self.weights = None if weights is None else replace(weights, votes=None, fingerprint=None)
        threads = 1
        if isinstance(table.executor, LocalExecutor):
            threads = max(1, table.executor.n_workers // max(1, len(table.blocks)))
        self.search_of = Search(
            door=table.door,
            transform=transform,
            p=p,
            nominal=nominal,
            measured=table.measured if measured is None else measured,
            grouped=by_class,
            n_groups=len(table.classes) if by_class else 1,
            class_of_code=class_of_code,
            backend=backend,
            n_jobs=threads,
        )

    @property
    def stored_rows(self) -> IndexArray:
        """Rows that can be neighbours."""
        mask = None if self.weights is None else self.weights.instance_mask
        return np.arange(self.table.n) if mask is None else np.flatnonzero(mask)

    @property
    def n_references(self) -> int:
        """Number of rows that can be neighbours."""
        mask = None if self.weights is None else self.weights.instance_mask
        return self.table.n if mask is None else int(mask.sum())

    @property
    def plan(self) -> BlockPlan:
        """What runs."""
        client = getattr(self.table.executor, "client", None)
        where = f"joblib, {self.table.executor.n_workers} at once"
        if not isinstance(self.table.executor, LocalExecutor):
            where = "dask's own scheduler" if client is None else f"dask, {self.table.executor.n_workers} threads"
        n, m = self.table.shape
        return BlockPlan(len(self.table.blocks), n, m, str(self.table.dtype), where, self.table.max_bytes)

    def search(
        self, queries: Any, k: int, *, own_row: IndexArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, IndexArray]:
        """As `NeighborEngine.search`; ``n_jobs`` is that of the table."""
        distance, row = self.search_groups(queries, k, own_row=own_row)
        if distance.shape[1] != 1:
            raise InvalidDataError("this engine has several groups: use search_groups")
        return distance[:, 0], row[:, 0]

    def search_groups(
        self, queries: Any, k: int, *, own_row: IndexArray | None = None, n_jobs: int | None = None
    ) -> tuple[FloatArray, IndexArray]:
        """As `NeighborEngine.search_groups`."""
        n, groups, dtype = queries.shape[0], self.search_of.n_groups, self.table.dtype
        distance = np.empty((n, groups, k), dtype=dtype)
        row = np.empty((n, groups, k), dtype=np.int64)
        batch = self.batch(k)
        for begin in range(0, n, batch):
            part = np.ascontiguousarray(queries[begin : begin + batch], dtype=dtype)
            own = None if own_row is None else own_row[begin : begin + batch]
            ranked, found = self._ranked(part, k, own)
            distance[begin : begin + batch] = rooted(ranked, self.search_of.p)
            row[begin : begin + batch] = found
        return distance, row

    def batch(self, k: int) -> int:
        """Queries at once: they and their lists, two of which meet in a merge, are a small part of the memory."""
        item = self.table.dtype.itemsize
        each = self.table.header.width * item + self.search_of.n_groups * k * (item + 8) * 4
        room = self.table.max_bytes // 4
        if not isinstance(self.table.executor, LocalExecutor):
            room = min(room, _GRAPH_BYTES)
        return max(6, room // each // 6 * 6)

    def _ranked(self, queries: FloatArray, k: int, own_row: IndexArray | None) -> tuple[FloatArray, IndexArray]:
        bound = self.weights is not None and self.weights.instance_bound
        jobs: list[tuple[int, AnyArray | Weights | None]] = []
        blocks = []
        for block, (begin, end) in zip(self.table.blocks, self.table.ranges(), strict=True):
            mine: Any = _part(self.weights, begin, end - begin) if bound and end > begin else self.weights  # type: ignore[arg-type]
            if end > begin and mine is not _NOBODY:
                blocks.append(block)
                jobs.append((begin, mine))
        found: tuple[FloatArray, IndexArray] = self.table.executor.reduce(
            search_block, blocks, jobs, self.search_of, queries, k, own_row, merge=merge_lists
        )
        return found
