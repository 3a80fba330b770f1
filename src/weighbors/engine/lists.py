"""Lists of neighbours: lists of different lengths, and lists that were found in parts of a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray


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
