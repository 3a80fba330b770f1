"""What all backends share: their interface, exact distances of candidates, and the proof that none was left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from ... import _native
from ..._parallel.threads import row_ranges, run_kernel
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..references import Fold, References

if TYPE_CHECKING:
    from .scan import Scan

Result = TypeVar("Result")

#: Distances and slots of the nearest, arrays of shape (n_queries, n_groups, k). Distances are squared for p = 2.
Lists = tuple[FloatArray, IndexArray]

_MOST_DOUBT = 0.2  # share of the queries of a search that a proposing backend may leave to the scan

# What a backend may be unable to serve, by the names in `Backend.refuses`: how it is recognised, and how it is called.
_OBSTACLES: dict[str, tuple[Callable[[References], bool], str]] = {
    "Euclidean": (lambda r: r.p == 2, "the distance is not city-block"),
    "city-block": (lambda r: r.p == 1, "the distance is not Euclidean"),
    "sparse": (lambda r: r.sparse, "the data are sparse"),
    "dense": (lambda r: not r.sparse, "the data are dense"),
    "float32": (lambda r: r.dtype == np.float32, "the data are float32"),
    "nominal": (lambda r: r.n_numeric < r.m, "there are nominal features"),
    "missing": (lambda r: r.missing, "there are missing values"),
    "groups": (lambda r: r.n_groups > 1, "the nearest of each group are wanted"),
    "feature weights": (lambda r: r.feature_weights is not None, "there are weights"),
    "cells": (
        lambda r: r.cells is not None or r.scales is not None,
        "weights per instance do not fold into the data",
    ),
    "cpu": (
        lambda r: not _native.multiplies_pairs(),
        "this CPU has no instruction that multiplies pairs of 16-bit integers",
    ),
}


@dataclass(frozen=True)
class Batch:
    """Queries as backends take them."""

    rows: Any  # (n_queries, m) as `References.select` returns them
    own_slot: IndexArray | None = None  # (n_queries,) slot of the query, which must not be its neighbour, or -1
    missing: bool = False  # whether queries or references have missing values
    n_jobs: int = 1

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def take(self, some: slice | IndexArray) -> Batch:
        """Return some of the queries."""
        rows = np.ascontiguousarray(self.rows[some])
        return replace(self, rows=rows, own_slot=None if self.own_slot is None else self.own_slot[some])

    def run(self, kernel: Callable[..., Result], **arguments: Any) -> list[Result]:
        """Run a function of the compiled core for ranges of the queries, and return the results in their order."""
        return run_kernel(kernel, row_ranges(len(self), self.n_jobs), self.n_jobs, **arguments)


def empty_lists(references: References, n_queries: int, k: int) -> Lists:
    """Return lists without a neighbour: all distances are infinite, and all slots are -1."""
    shape = (n_queries, references.n_groups, k)
    return np.full(shape, np.inf, dtype=references.dtype), np.full(shape, -1, dtype=np.int64)


def measure_norms(rows: AnyArray, references: References) -> FloatArray:
    """Return the norm of each row over its numbers, in float64. Missing values count as 0."""
    numbers = rows[:, : references.n_numeric]
    numbers = np.where(np.isnan(numbers), 0, numbers)
    if references.p == 1:
        sums: FloatArray = np.abs(numbers).sum(axis=1, dtype=np.float64)
        return sums
    norms: FloatArray = np.sqrt(np.einsum("ij,ij->i", numbers, numbers, dtype=np.float64))
    return norms


class Backend:
    """Base of the backends. All except `HNSW` find the same lists as the scan.

    Parameters
    ----------
    references : References
    other : Backend
        It serves the searches that this backend cannot, or would not do faster.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    refuses: ClassVar[tuple[str, ...]] = ()  # keys of `_OBSTACLES`
    # Least number of rows per group, from so many features on, for which the backend is faster than the scan. None: it
    # never is.
    least_rows: ClassVar[dict[int, int | None]] = {0: 0}
    compares_pairs: ClassVar[bool] = False  # whether it takes all stored rows at once to compare each pair once
    takes_sparse: ClassVar[bool] = False  # whether it takes sparse queries as they are

    _doubtful = False  # whether distances were found to be too close to one another for this backend

    def __init__(self, references: References, other: Backend) -> None:
        self.references, self.other = references, other

    @property
    def scan(self) -> Scan:
        """The scan behind this backend, which settles the queries that stay uncertain."""
        return self.other.scan

    def __getstate__(self) -> dict[str, Any]:
        # What a search has prepared is prepared again where it is needed.
        return {name: getattr(self, name) for name in ("references", "other", "_doubtful")}

    @classmethod
    def obstacle(cls, references: References, *, asked: bool) -> str | None:
        """Return why this backend cannot serve these references, or None if it can.

        If it was not ``asked`` for, it must also be faster than the backends after it.
        """
        for name in cls.refuses:
            holds, reason = _OBSTACLES[name]
            if holds(references):
                return reason
        least = next(rows for features, rows in reversed(cls.least_rows.items()) if references.m >= features)
        if not asked and least is None:
            return "there are too few or too many features"
        if not asked and references.n < (least or 0) * references.n_groups:
            return f"there are fewer than {least} rows" + (" per group" if references.n_groups > 1 else "")
        return cls.own_obstacle(references, asked=asked)

    @classmethod
    def own_obstacle(cls, references: References, *, asked: bool) -> str | None:
        """Return an obstacle that no other backend has, or None. The parameters are those of `obstacle`."""
        return None

    def search(self, batch: Batch, k: int) -> Lists:
        """Return the k nearest references of each query in each group.

        Returns
        -------
        distance : ndarray of shape (n_queries, n_groups, k)
            Squared for p = 2. Infinite if a group has fewer than k members.
        slot : ndarray of the same shape
            -1 if a group has fewer than k members.
        """
        raise NotImplementedError

    @cached_property
    def _fold(self) -> Fold:
        """The shift and scale that fold the weights into the data, in float64."""
        return self.references.fold(np.float64)

    def _decide(self, batch: Batch, candidates: IndexArray, k: int, unseen: FloatArray) -> Lists:
        """Return the k nearest references: candidates are measured exactly, and uncertain queries are scanned.

        ``candidates`` are slots, of shape (n_queries, width). ``unseen`` is a lower bound on the true distance (not
        squared) of all references that are not candidates. A tie with this bound is not certain: equal distances are
        ordered by row, and the other row may have the lower number.
        """
        references, lists = self.references, self._measure_candidates(batch, candidates, k)
        # The kernel sums m terms, each of which is rounded. The bound is lowered by more than that can add up to.
        rounding = max(0.0, 1 - (references.m + 8) * float(np.finfo(references.dtype).eps))
        kth = lists[0][:, 0, -1].astype(np.float64)
        certain = (np.sqrt(kth) if references.p == 2 else kth) < unseen * rounding**2
        return self._settle(batch, lists, certain)

    def _measure_candidates(self, batch: Batch, candidates: IndexArray, k: int) -> Lists:
        """Return the k nearest of the candidates, ordered by exact distance and then slot, as one group.

        ``candidates`` are slots, of shape (n_queries, width).
        """
        references = self.references
        distance, slot = empty_lists(references, len(batch), k)
        weights, weight_row = None, None
        if references.cells is not None:
            weights, weight_row = references.cells.of(np.arange(references.n), references.dtype)
            weight_row = np.ascontiguousarray(weight_row)
        elif references.feature_weights is not None:
            weights = references.feature_weights[None]
        batch.run(
            _native.rerank,
            queries=batch.rows,
            source=references.rows,
            candidates=np.ascontiguousarray(candidates, dtype=np.int64),
            weights=weights,
            weight_row=weight_row,
            scales=references.scales,
            own_row=batch.own_slot,
            missing_distance=references.missing_distance,
            n_numeric=references.n_numeric,
            p=references.p,
            distance=distance,
            id=slot,
        )
        return distance, slot

    def _settle(self, batch: Batch, lists: Lists, certain: BoolArray) -> Lists:
        """Return the lists with those of uncertain queries replaced by the results of the scan.

        If too many queries were uncertain, proposals are given up from now on.
        """
        self._doubtful = self._doubtful or float(np.mean(certain)) < 1 - _MOST_DOUBT
        doubtful = np.flatnonzero(~certain)
        if len(doubtful):
            for found, scanned in zip(lists, self.scan.search(batch.take(doubtful), lists[0].shape[2]), strict=True):
                found[doubtful] = scanned
        return lists
