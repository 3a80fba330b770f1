"""All stored rows within a radius of each query, nearest first.

If one vector of feature weights serves all rows, distances to all rows are computed with the weights folded in, and
those that may lie within the radius are measured again exactly. Under all other weights, and for sparse rows, the
number of neighbours grows until the last one lies beyond the radius. Both give the same lists.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._parallel.threads import effective_n_jobs, run_ranges
from .._typing import AnyArray, FloatArray, IndexArray
from .backends.certify import measure_candidates
from .engine import NeighborEngine, rooted
from .pairs import PackedRows, fixed_ranges
from .references import References

__all__ = ["NeighborLists", "search_radius"]

_QUERIES = 96  # queries of one task
_FIRST_WIDTH = 32  # neighbours of the first search where their number grows
_BATCH_CELLS = 4_000_000  # neighbours in memory at the same time where their number grows


class NeighborLists(NamedTuple):
    """Lists of neighbours of different lengths, one after the other: the parts of a CSR matrix."""

    distance: FloatArray  # (total,)
    row: IndexArray  # (total,) row numbers of the training data
    start: IndexArray  # (n_queries + 1,) where the list of each query begins

    def split(self, values: AnyArray) -> AnyArray:
        """Return an array of objects with the part of ``values`` that belongs to each query."""
        lists = np.empty(len(self.start) - 1, dtype=object)
        bounds = self.start.tolist()
        for number, (begin, end) in enumerate(pairwise(bounds)):
            lists[number] = values[begin:end]
        return lists


def search_radius(
    engine: NeighborEngine,
    queries: Any,
    radius: float,
    *,
    own_row: IndexArray | None = None,
    n_jobs: int | None = None,
) -> NeighborLists:
    """Return all rows whose distance is at most ``radius``. Equal distances are ordered by row number.

    Parameters
    ----------
    engine : NeighborEngine
        An engine with one group.
    queries : array or CSR of shape (n_queries, M)
    radius : float
    own_row : int ndarray of shape (n_queries,), optional
        Row number of the query itself in the training data. This row is not returned.
    n_jobs : int, optional
        Number of threads.

    Examples
    --------
    >>> engine = NeighborEngine(np.array([[0.0], [1.0], [3.0]]))
    >>> search_radius(engine, np.array([[1.2], [9.0]]), 1.2)
    NeighborLists(distance=array([0.2, 1.2]), row=array([1, 0]), start=array([0, 2, 2]))
    """
    references = engine.references
    threads = effective_n_jobs(engine.n_jobs if n_jobs is None else n_jobs)
    if references.cells is not None or references.scales is not None or references.sparse:
        parts = _grow(engine, queries, radius, own_row, threads)
    else:
        parts = _scan(engine, queries, radius, own_row, threads)
    counts = np.concatenate([[0], *(part[2] for part in parts)])
    distance = np.concatenate([np.empty(0, dtype=references.dtype), *(part[0] for part in parts)])
    row = np.concatenate([np.empty(0, dtype=np.int64), *(part[1] for part in parts)])
    return NeighborLists(distance, row, np.cumsum(counts))


#: Distances and rows of some queries, one list after the other, and the length of each list.
_Part = tuple[FloatArray, IndexArray, IndexArray]


def _cut(distance: FloatArray, row: IndexArray, radius: float) -> _Part:
    """Cut sorted lists of shape (n_queries, width) at the radius. Places without a row are at infinity."""
    inside = (distance <= radius) & (row >= 0)
    return distance[inside], row[inside], inside.sum(axis=1)


def _scan(engine: NeighborEngine, queries: Any, radius: float, own_row: IndexArray | None, n_jobs: int) -> list[_Part]:
    """Return the lists by distances to all rows. The parameters are those of `search_radius`."""
    references, fold = engine.references, engine.references.fold()
    packed = PackedRows(
        references.rows if fold is None else fold(references.rows),
        n_numeric=references.n_numeric,
        missing_distance=references.missing_distance if fold is None else fold.missing_distance,
        missing=references.missing,
        p=references.p,
    )
    largest_sum = _largest_sum(references, packed.rows)
    own_slot = None if own_row is None else engine.slots_of(own_row)

    def task(begin: int, end: int) -> _Part:
        """Return the lists of the queries [begin, end)."""
        part = queries[begin:end]
        part = references.select(part.toarray() if sparse.issparse(part) else part)
        missing = references.check_queries(part)
        folded = part if fold is None else fold(part)
        all_distances = packed.distances(0, len(part), folded, missing=missing)[:, : references.n]
        near = all_distances <= _limits(references, largest_sum, folded, radius)[:, None]
        candidates = _pad(near)
        own = None if own_slot is None else own_slot[begin:end]
        distance, slot = measure_candidates(references, part, candidates, candidates.shape[1], own_slot=own, n_jobs=1)
        row = np.where(slot < 0, -1, references.row_of_slot[slot])
        return _cut(rooted(distance, references.p), row, radius)

    return run_ranges(task, fixed_ranges(queries.shape[0], _QUERIES), n_jobs)


def _largest_sum(references: References, folded_rows: FloatArray) -> float:
    """Return an upper bound on the sum of absolute numbers of a folded row, or 0 if nothing is folded."""
    if references.feature_weights is None:
        return 0.0
    numeric = np.abs(folded_rows[:, : references.n_numeric])
    return float(np.fmax.reduce(numeric, axis=0, initial=0.0).sum(dtype=np.float64))


def _limits(references: References, largest_sum: float, folded: FloatArray, radius: float) -> FloatArray:
    """Return, for each query, a bound on the folded distance (squared for p = 2) of all rows within the radius.

    Folding rounds each coordinate a few times, and each sum rounds m times. Both bounds are generous, since a
    candidate too many costs one exact distance only.

    Parameters
    ----------
    references : References
    largest_sum : float
        From `_largest_sum`.
    folded : ndarray of shape (n_queries, m)
    radius : float
    """
    eps = float(np.finfo(references.dtype).eps)
    wide = 1 + 4 * (references.m + 8) * eps
    slack: FloatArray = np.zeros(len(folded))
    if references.feature_weights is not None:
        slack = (
            8
            * eps
            * np.asarray(np.nansum(np.abs(folded[:, : references.n_numeric]), axis=1, dtype=np.float64) + largest_sum)
        )
    with np.errstate(over="ignore"):
        limit = (((radius * wide + slack) * wide) ** references.p).astype(references.dtype)
    # Rounded down to float32, a limit could leave out a row at the radius.
    bounds: FloatArray = np.nextafter(limit, limit.dtype.type(np.inf))
    return bounds


def _pad(near: AnyArray) -> IndexArray:
    """Return the columns that are True in each row of a mask, padded with -1 to the longest list, at least one."""
    counts = near.sum(axis=1)
    query, column = np.nonzero(near)
    padded = np.full((len(near), max(1, int(counts.max(initial=0)))), -1, dtype=np.int64)
    padded[query, np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)] = column
    return padded


def _grow(engine: NeighborEngine, queries: Any, radius: float, own_row: IndexArray | None, n_jobs: int) -> list[_Part]:
    """Return the lists by searches for more and more neighbours. The parameters are those of `search_radius`."""
    lists: dict[int, tuple[FloatArray, IndexArray]] = {}
    pending, width = np.arange(queries.shape[0]), min(_FIRST_WIDTH, engine.n_references)
    while len(pending):
        unfinished = []
        for begin in range(0, len(pending), max(1, _BATCH_CELLS // width)):
            some = pending[begin : begin + max(1, _BATCH_CELLS // width)]
            own = None if own_row is None else own_row[some]
            distance, row = engine.search(queries[some], width, own_row=own, n_jobs=n_jobs)
            # A list is complete if its last row lies beyond the radius, or if there are no more rows.
            complete = (distance[:, -1] > radius) | (row[:, -1] < 0) | (width == engine.n_references)
            ends = (distance <= radius).sum(axis=1)
            for at in np.flatnonzero(complete).tolist():
                lists[int(some[at])] = distance[at, : ends[at]].copy(), row[at, : ends[at]].copy()
            unfinished.append(some[~complete])
        pending, width = np.concatenate(unfinished), min(4 * width, engine.n_references)
    return [(*lists[number], np.array([len(lists[number][0])])) for number in range(queries.shape[0])]
