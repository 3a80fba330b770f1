"""Proposals of another search, measured exactly, with proof that nothing nearer was left out."""

from __future__ import annotations

import numpy as np

from ... import _native
from ..._threads import row_ranges, run_ranges
from ..._typing import BoolArray, FloatArray, IndexArray
from ..references import References
from .scan import Scan

__all__ = ["certify", "measured", "settled"]


def measured(
    references: References,
    queries: FloatArray,
    candidates: IndexArray,
    k: int,
    *,
    own_slot: IndexArray | None,
    n_jobs: int,
) -> tuple[FloatArray, IndexArray]:
    """The k best candidates by (exact distance, slot); squared for p = 2."""
    distance = np.empty((len(queries), k), dtype=references.dtype)
    slot = np.empty((len(queries), k), dtype=np.int64)
    candidates = np.ascontiguousarray(candidates, dtype=np.int64)
    weights, weight_row = None, None
    if references.cells is not None:
        weights, weight_row = references.cells.of(np.arange(references.n), references.dtype)
        weight_row = np.ascontiguousarray(weight_row)
    elif references.feature_weights is not None:
        weights = references.feature_weights[None]

    def task(begin: int, end: int) -> None:
        _native.rerank(
            queries,
            references.rows,
            candidates,
            weights,
            weight_row,
            references.scales,
            own_slot,
            references.gap,
            references.n_numeric,
            references.p,
            distance,
            slot,
            begin,
            end,
        )

    run_ranges(task, row_ranges(len(queries), n_jobs), n_jobs)
    return distance, slot


def certify(references: References, kth: FloatArray, unseen: FloatArray) -> BoolArray:
    """For which queries the k best candidates are the k nearest of all.

    ``kth`` is the k-th exact distance as the kernel sums it (squared for p = 2), ``unseen`` a
    lower bound on the true distance (not squared) of everything that was not proposed. A tie at
    the border is not certain: its order is by row, and the other row may be the lower one.
    """
    rounding = 1 - (references.m + 8) * float(np.finfo(references.dtype).eps)
    root = np.sqrt(kth.astype(np.float64)) if references.p == 2 else kth.astype(np.float64)
    certain: BoolArray = root < unseen * rounding**2
    return certain


def settled(
    scan: Scan,
    queries: FloatArray,
    distance: FloatArray,
    slot: IndexArray,
    certain: BoolArray,
    *,
    own_slot: IndexArray | None,
    n_jobs: int,
) -> tuple[FloatArray, IndexArray]:
    """The lists of the certain queries, and the scan's answer for the others, as one group."""
    k = distance.shape[1]
    distance, slot = distance[:, None, :], slot[:, None, :]
    doubtful = np.flatnonzero(~certain)
    if len(doubtful):
        own = None if own_slot is None else own_slot[doubtful]
        distance[doubtful], slot[doubtful] = scan.search(
            np.ascontiguousarray(queries[doubtful]), k, own_slot=own, n_jobs=n_jobs
        )
    return distance, slot
