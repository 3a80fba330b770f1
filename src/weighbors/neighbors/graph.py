"""Neighbours as sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IndexArray
from ..engine import NeighborLists
from ..exceptions import InvalidDataError


def equal_lists(distance: FloatArray, row: IndexArray) -> NeighborLists:
    """Return lists of equal lengths, arrays of shape (n_queries, k), as one list after the other.

    Examples
    --------
    >>> equal_lists(np.array([[1.0, 2.0]]), np.array([[4, 0]])).start
    array([0, 2])
    """
    n, k = row.shape
    return NeighborLists(distance.ravel(), row.ravel(), np.arange(0, n * k + 1, k))


def graph_of_lists(lists: NeighborLists, n_rows: int, mode: str) -> Any:
    """Return lists of neighbours as a CSR matrix of shape (n_queries, n_rows).

    Parameters
    ----------
    lists : NeighborLists
    n_rows : int
        Number of training rows.
    mode : {"connectivity", "distance"}
        Whether the entries are 1 or the distances. Distances of 0 are stored like others.

    Examples
    --------
    >>> graph_of_lists(equal_lists(np.array([[0.5]]), np.array([[1]])), 2, "distance").toarray()
    array([[0. , 0.5]])
    """
    if mode not in ("connectivity", "distance"):
        raise InvalidDataError(f"mode must be 'connectivity' or 'distance'; got {mode!r}")
    data = np.ones(len(lists.row)) if mode == "connectivity" else lists.distance
    # CSR from its parts: the entries are in place already.
    return sparse.csr_matrix((data, lists.row, lists.start), shape=(len(lists.start) - 1, n_rows))
