"""All stored rows within a radius of each query, nearest first."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import IndexArray
from .engine import NeighborEngine
from .lists import NeighborLists


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
    dtype, p = engine.references.dtype, engine.references.p
    # The search compares squares for p = 2. Its limit is a little too wide, and the roots are compared afterwards.
    with np.errstate(over="ignore"):
        limit = np.array((radius * (1 + 8 * np.finfo(dtype).eps)) ** p + np.finfo(dtype).tiny).astype(dtype)
    limits = np.full(queries.shape[0], limit)
    distance, row, count = [np.empty(0, dtype=dtype)], [np.empty(0, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
    for _, lists in engine.search_within(queries, limits, own_row=own_row, n_jobs=n_jobs):
        found = np.sqrt(lists.distance) if p == 2 else lists.distance
        inside = found <= radius
        distance.append(found[inside])
        row.append(lists.row[inside])
        count.append(np.diff(np.append(0, np.cumsum(inside))[lists.start]))
    return NeighborLists(np.concatenate(distance), np.concatenate(row), np.cumsum(np.concatenate(count)))
