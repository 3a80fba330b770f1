"""The search engine over blocks: every block is searched, and the lists are merged by (distance, row)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._display.html import lines_block
from .._parallel.executors import DaskExecutor
from .._parallel.progress import watch
from .._typing import BoolArray, FloatArray, IndexArray
from ..engine import ColumnRanges, NeighborEngine, References, build_references, merge_lists
from ..exceptions import InvalidDataError
from ..weights import Weights
from .block import Block
from .encode import BlockEncoder
from .table import BlockTable

_GRAPH_BYTES = 8 * 2**20  # bytes of queries that one graph of tasks may contain


@dataclass(frozen=True)
class Search:
    """The settings of a search that all blocks share."""

    encoder: BlockEncoder
    transform: Any
    p: int
    nominal: BoolArray | None
    measured: ColumnRanges
    grouped: bool
    n_groups: int
    class_of_code: IndexArray | None  # position of each class in ``weights.classes``
    backend: str
    n_jobs: int

    def engine(self, rows: FloatArray, codes: IndexArray | None, weights: Weights | None) -> NeighborEngine:
        """Return a `NeighborEngine` over some rows.

        ``codes`` holds their class numbers, and ``weights`` their weights.
        """
        return NeighborEngine(
            rows,
            weights=weights,
            p=self.p,
            nominal=self.nominal,
            class_of_row=self._class_of_row(codes),
            groups=codes if self.grouped else None,
            n_groups=self.n_groups,
            backend=self.backend,
            n_jobs=self.n_jobs,
            measured=self.measured,
        )

    def _class_of_row(self, codes: IndexArray | None) -> IndexArray | None:
        """Return the position of the class of each row in ``weights.classes``, or None if it is not needed."""
        return None if self.class_of_code is None or codes is None else self.class_of_code[codes]

    def references(self, rows: FloatArray, codes: IndexArray | None, weights: Weights | None) -> References:
        """Return the `References` of some rows. ``codes`` holds their class numbers, and ``weights`` their weights."""
        return build_references(
            rows,
            weights=weights,
            p=self.p,
            nominal=self.nominal,
            class_of_row=self._class_of_row(codes),
            measured=self.measured,
        )

    @property
    def labelled(self) -> bool:
        """Whether the search needs the class of each row."""
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
    """Find the k nearest rows of a block for every query.

    Parameters
    ----------
    block : Block
    first : int
        Row number of the first row of the block.
    weights : Weights or None
        Weights of the rows of the block.
    search : Search
    queries : ndarray of shape (n_queries, M)
    k : int
    own_row : int ndarray of shape (n_queries,) or None
        Number of the row that a query must not find, because the query is this row itself.

    Returns
    -------
    ranked, row : ndarrays of shape (n_queries, n_groups, k)
        As `NeighborEngine.ranked` returns them. For p = 2 the distances are squared, since roots of different squares
        can be equal.
    """
    shape = (len(queries), search.n_groups, k)
    # An empty list has infinite distances, so that merging it with others leaves those.
    lists = [(np.full(shape, np.inf, dtype=search.encoder.dtype), np.full(shape, -1, dtype=np.int64))]
    begin = 0
    for piece in block.pieces(labels=search.labelled):
        n = len(piece.table)
        mine = weights
        if weights is not None and weights.instance_bound and n:
            mine = _part(weights, begin, n)
        begin, here = begin + n, first + begin
        if n == 0 or mine is _NOBODY:
            continue
        rows = search.encoder.encode_rows(piece.table)
        rows = rows if search.transform is None else search.transform(rows)
        codes = search.encoder.encode_labels(piece.labels) if search.labelled else None
        engine = search.engine(rows, codes, mine)
        # Row numbers of the query itself count the whole table; the engine counts from the first row of the piece.
        own = None if own_row is None else own_row - here
        ranked, row = engine.ranked(queries, k, own_row=own)
        lists = [merge_lists([*lists, (ranked, np.where(row < 0, -1, row + here))])]
    return lists[0]


_NOBODY = Weights()  # marks a part of the table of which no row is kept


def _part(weights: Weights, begin: int, n: int) -> Weights:
    """Return the weights of ``n`` rows from row ``begin`` on, or `_NOBODY` if the mask keeps none of these rows."""
    mask = weights.instance_mask
    if mask is not None and not mask[begin : begin + n].any():
        return _NOBODY
    return weights.take(np.arange(begin, begin + n))


@dataclass(frozen=True)
class BlockPlan:
    """Description of a search over blocks. ``str`` gives one line per fact."""

    n_blocks: int
    n_references: int
    n_features: int
    dtype: str
    where: str
    max_bytes: int

    def _repr_html_(self) -> str:
        return lines_block(str(self))

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
    """`NeighborEngine` for a `BlockTable`. Its results are the same to the bit.

    Parameters
    ----------
    table : BlockTable
    transform, measured
        Function that is applied to the coded rows, and the extent of the transformed rows.
    weights, p, nominal, backend
        As in `NeighborEngine`.
    by_class : bool
        Whether the search returns the nearest rows of each class separately.
    class_of_code : int ndarray of shape (n_classes,), optional
        Position of each class of the table in ``weights.classes``.
    """

    def __init__(
        self,
        table: BlockTable,
        *,
        transform: Any = None,
        measured: ColumnRanges | None = None,
        weights: Weights | None = None,
        p: int = 2,
        nominal: BoolArray | None = None,
        by_class: bool = False,
        class_of_code: IndexArray | None = None,
        backend: str = "auto",
    ) -> None:
        self.table = table
        # Votes and fingerprint do not matter for a search, and need not be sent with every task.
        self.weights = None if weights is None else replace(weights, votes=None, fingerprint=None)
        # If there are fewer blocks than workers, each block is searched by several threads. Dask starts its own
        # threads.
        threads = 1
        if not isinstance(table.executor, DaskExecutor):
            threads = max(1, table.executor.n_workers // max(1, len(table.blocks)))
        self.search_of = Search(
            encoder=table.encoder,
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
        """Numbers of the rows that can be neighbours."""
        mask = None if self.weights is None else self.weights.instance_mask
        return np.arange(self.table.n) if mask is None else np.flatnonzero(mask)

    @property
    def n_references(self) -> int:
        """Number of rows that can be neighbours."""
        mask = None if self.weights is None else self.weights.instance_mask
        return self.table.n if mask is None else int(mask.sum())

    @property
    def plan(self) -> BlockPlan:
        """Description of the search: blocks, rows, executor and memory."""
        where = self.table.executor.description
        n, m = self.table.shape
        return BlockPlan(len(self.table.blocks), n, m, str(self.table.dtype), where, self.table.max_bytes)

    def search(
        self,
        queries: Any,
        k: int,
        *,
        own_row: IndexArray | None = None,
        n_jobs: int | None = None,
        grouped: bool = False,
    ) -> tuple[FloatArray, IndexArray]:
        """Return what `NeighborEngine.search` returns. ``n_jobs`` is ignored: the executor of the table decides."""
        n, groups, dtype = queries.shape[0], self.search_of.n_groups, self.table.dtype
        if groups != 1 and not grouped:
            raise InvalidDataError("this engine has several groups: use grouped=True")
        distance = np.empty((n, groups, k), dtype=dtype)
        row = np.empty((n, groups, k), dtype=np.int64)
        batch = self.query_limit(k)
        begins = range(0, n, batch)
        for begin in watch(begins, len(begins), "batch of queries"):
            part = np.ascontiguousarray(queries[begin : begin + batch], dtype=dtype)
            own = None if own_row is None else own_row[begin : begin + batch]
            ranked, found = self._ranked(part, k, own)
            distance[begin : begin + batch] = np.sqrt(ranked) if self.search_of.p == 2 else ranked
            row[begin : begin + batch] = found
        return (distance, row) if grouped else (distance[:, 0], row[:, 0])

    def references_of(self, rows: IndexArray) -> References:
        """Read the rows with the numbers ``rows``, in ascending order, and return their `References`."""
        weights = self.weights
        if weights is not None and weights.instance_bound:
            weights = weights.take(rows)
        codes = self.table.codes[rows] if self.search_of.labelled else None
        found = self.search_of.references(self.table.take(rows), codes, weights)
        return replace(found, row_of_slot=rows)

    def query_limit(self, k: int) -> int:
        """Return the number of queries that one round of tasks searches for.

        The queries and their neighbour lists should be a small part of the memory of a task. A merge holds two lists.
        """
        item = self.table.dtype.itemsize
        # The factor 4 leaves room for the lists that a merge reads and writes.
        each = self.table.header.width * item + self.search_of.n_groups * k * (item + 8) * 4
        room = self.table.max_bytes // 4
        if isinstance(self.table.executor, DaskExecutor):
            room = min(room, _GRAPH_BYTES)
        return max(6, room // each // 6 * 6)

    def reference_limit(self) -> int | None:
        """Return the number of rows that take a quarter of ``max_bytes``."""
        return max(16, self.table.max_bytes // 4 // (self.table.header.width * self.table.dtype.itemsize))

    def _ranked(self, queries: FloatArray, k: int, own_row: IndexArray | None) -> tuple[FloatArray, IndexArray]:
        """Return the merged lists of all blocks for one batch of queries, with squared distances for p = 2."""
        tasks: list[tuple[Any, ...]] = []
        for block, (begin, end) in zip(self.table.blocks, self.table.ranges(), strict=True):
            mine = self.weights
            # Weights that belong to rows are cut like the rows, so that a task gets only its own part.
            if mine is not None and mine.instance_bound and end > begin:
                mine = _part(mine, begin, end - begin)
            if end > begin and mine is not _NOBODY:
                tasks.append((block, begin, mine))
        found: tuple[FloatArray, IndexArray] = self.table.executor.reduce(
            search_block, tasks, self.search_of, queries, k, own_row, merge=merge_lists
        )
        return found
