"""Measure the candidates of another search exactly, and prove that no nearer row was left out."""

from __future__ import annotations

import numpy as np

from ... import _native
from ..._parallel.threads import row_ranges, run_ranges
from ..._typing import BoolArray, FloatArray, IndexArray
from ..references import References
from .scan import Scan

__all__ = ["certify", "measure_candidates", "settle_lists"]


def measure_candidates(
    references: References,
    queries: FloatArray,
    candidates: IndexArray,
    k: int,
    *,
    own_slot: IndexArray | None,
    n_jobs: int,
) -> tuple[FloatArray, IndexArray]:
    """Return the k nearest candidates, ordered by exact distance and then slot. Distances are squared for p = 2.

    Parameters
    ----------
    references : References
    queries : ndarray of shape (n_queries, m)
    candidates : int ndarray of shape (n_queries, width)
        Slots of the candidates of each query.
    k : int
    own_slot : int ndarray of shape (n_queries,), or None
        Slot of the query itself, which must not be its neighbour.
    n_jobs : int
    """
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
        """Measure the candidates of queries [begin, end)."""
        _native.rerank(
            queries=queries,
            source=references.rows,
            candidates=candidates,
            weights=weights,
            weight_row=weight_row,
            scales=references.scales,
            own_row=own_slot,
            missing_distance=references.missing_distance,
            n_numeric=references.n_numeric,
            p=references.p,
            distance=distance,
            id=slot,
            begin=begin,
            end=end,
        )

    run_ranges(task, row_ranges(len(queries), n_jobs), n_jobs)
    return distance, slot


def certify(references: References, kth: FloatArray, unseen: FloatArray) -> BoolArray:
    """Return for which queries it is certain that the k nearest candidates are the k nearest of all references.

    ``kth`` is the k-th exact distance as the kernel computes it (squared for p = 2). ``unseen`` is a lower
    bound on the true distance (not squared) of all references that are not candidates. A tie with this bound is
    not certain: equal distances are ordered by row, and the other row may have the lower number.
    """
    # The kernel sums m terms, each of which is rounded. The bound is lowered by more than that can add up to.
    rounding = 1 - (references.m + 8) * float(np.finfo(references.dtype).eps)
    root = np.sqrt(kth.astype(np.float64)) if references.p == 2 else kth.astype(np.float64)
    certain: BoolArray = root < unseen * rounding**2
    return certain


def settle_lists(
    scan: Scan,
    queries: FloatArray,
    distance: FloatArray,
    slot: IndexArray,
    certain: BoolArray,
    *,
    own_slot: IndexArray | None,
    n_jobs: int,
    missing: bool = False,
) -> tuple[FloatArray, IndexArray]:
    """Return the lists of the certain queries, and the result of the scan for the other queries, as one group.

    Parameters
    ----------
    scan : Scan
    queries : ndarray of shape (n_queries, m)
    distance, slot : ndarrays of shape (n_queries, k)
        Lists of the candidates, as `measure_candidates` gives them.
    certain : bool ndarray of shape (n_queries,)
        As `certify` gives it.
    own_slot, n_jobs
        As in `measure_candidates`.
    missing : bool
        Whether queries have missing values.
    """
    k = distance.shape[1]
    # Lists of other backends have no groups. The scan's results have an axis for them.
    distance, slot = distance[:, None, :], slot[:, None, :]
    doubtful = np.flatnonzero(~certain)
    if len(doubtful):
        own = None if own_slot is None else own_slot[doubtful]
        distance[doubtful], slot[doubtful] = scan.search(
            np.ascontiguousarray(queries[doubtful]), k, own_slot=own, missing=missing, n_jobs=n_jobs
        )
    return distance, slot
