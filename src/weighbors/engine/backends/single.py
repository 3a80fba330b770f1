"""Search among float64 rows: sums in float32 propose candidates, and exact distances decide."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._typing import FloatArray, IndexArray
from ..references import References
from .certify import certify, measure_candidates, settle_lists
from .scan import Scan

__all__ = ["Single"]

_SPARE = 1  # candidates beyond k: the last one bounds all others, and longer lists take longer to keep
_TRIAL = 240  # queries of the first part, after which it is decided whether float32 is good enough for the rest
_MOST_DOUBT = 0.2  # share of queries that the scan may have to settle
_LEAST_ROWS_PER_CANDIDATE = 32  # with fewer rows, measuring the candidates again takes as long as the scan
_EPS, _TINY = float(np.finfo(np.float32).eps), float(np.finfo(np.float32).tiny)
_LARGEST = float(np.finfo(np.float64).max)


class Single:
    """Backend that scans rows in float32, which takes half the time, and measures the candidates exactly.

    The numbers are centred, their weights folded in, and divided by the largest of them. So rounding to float32 moves a
    distance by a small share of the largest one. Queries for which that share could matter are scanned in float64.
    """

    def __init__(self, references: References, scan: Scan) -> None:
        self.references, self.scan = references, scan
        self._doubtful = False  # whether most distances are too close to one another for float32

    def __getstate__(self) -> dict[str, Any]:
        return {"references": self.references, "scan": self.scan, "_doubtful": self._doubtful}

    @cached_property
    def _center(self) -> FloatArray:
        """What is subtracted from each column: the middle of the range of a number, 0 for categories."""
        references, numeric = self.references, np.arange(self.references.m) < self.references.n_numeric
        center: FloatArray = np.where(numeric, references.low / 2 + references.high / 2, 0.0)
        return center

    @cached_property
    def _root(self) -> FloatArray:
        """The factor that folds the weight of each column into its differences."""
        a = self.references.feature_weights
        if a is None:
            return np.ones(self.references.m)
        return np.sqrt(a) if self.references.p == 2 else a

    @cached_property
    def _scale(self) -> float:
        """The factor that makes the largest difference 1, so that nothing over- or underflows in float32."""
        largest = float(np.max(self.references.missing_distance * self._root, initial=0.0))
        return min(1.0 / largest, _LARGEST) if largest > 0 else 1.0

    def _fold(self, rows: FloatArray) -> FloatArray:
        """Return centred rows in float32 with weights and scale folded in. Categories stay as they are."""
        with np.errstate(over="ignore"):  # a query far outside of the range becomes infinite, and the scan settles it
            folded = rows - self._center
            folded *= self._factor
            return folded.astype(np.float32)

    @cached_property
    def _factor(self) -> FloatArray:
        """What each column is multiplied by: weight and scale, and 1 for categories."""
        numeric = np.arange(self.references.m) < self.references.n_numeric
        with np.errstate(over="ignore"):  # A finite factor keeps the 0 of a constant column, however much it weighs.
            factor: FloatArray = np.where(numeric, np.minimum(self._root * self._scale, _LARGEST), 1.0)
        return factor

    @cached_property
    def _single(self) -> Scan:
        """The scan of the rows in float32, packed at the first search."""
        references = self.references
        missing_distance = (references.missing_distance * self._root * self._scale).astype(np.float32)
        rows = np.ascontiguousarray(self._fold(references.rows))
        single = replace(references, rows=rows, missing_distance=missing_distance, feature_weights=None)
        return Scan(single, part_bytes=self.scan.part_bytes)

    @cached_property
    def _largest_norm(self) -> float:
        """The largest norm of a folded row."""
        return float(self._norms(self._single.references.rows, self.references.missing).max())

    def _norms(self, folded: FloatArray, missing: bool) -> FloatArray:
        """Return the norms of folded rows over their numbers, in float64. ``missing``: some of these are missing."""
        numbers = folded[:, : self.references.n_numeric]
        if missing:
            numbers = np.nan_to_num(numbers, posinf=np.inf, neginf=-np.inf)
        if self.references.p == 1:
            sums: FloatArray = np.abs(numbers).sum(axis=1, dtype=np.float64)
            return sums
        norms: FloatArray = np.sqrt(np.einsum("ij,ij->i", numbers, numbers, dtype=np.float64))
        return norms

    def search(
        self,
        queries: FloatArray,
        k: int,
        *,
        own_slot: IndexArray | None = None,
        missing: bool = False,
        n_jobs: int = 1,
    ) -> tuple[FloatArray, IndexArray]:
        """Search as `Scan.search` does, with the same parameters, for one group."""
        if self._doubtful or (k + _SPARE) * _LEAST_ROWS_PER_CANDIDATE > self.references.n:
            return self.scan.search(queries, k, own_slot=own_slot, missing=missing, n_jobs=n_jobs)
        found = []
        for begin, end in ((0, _TRIAL), (_TRIAL, len(queries))):
            part, own = queries[begin:end], None if own_slot is None else own_slot[begin:end]
            if len(part):
                search = self.scan.search if self._doubtful else self._propose
                found.append(search(part, k, own_slot=own, missing=missing, n_jobs=n_jobs))
        distance, slot = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return distance, slot

    def _propose(
        self, queries: FloatArray, k: int, *, own_slot: IndexArray | None, missing: bool, n_jobs: int
    ) -> tuple[FloatArray, IndexArray]:
        """Search in float32, measure the candidates exactly, and scan for the queries that stay uncertain."""
        references, folded = self.references, self._fold(queries)
        proposed, candidates = self._single.search(
            folded, k + _SPARE, own_slot=own_slot, missing=missing, n_jobs=n_jobs
        )
        distance, slot = measure_candidates(references, queries, candidates[:, 0], k, own_slot=own_slot, n_jobs=n_jobs)
        last = proposed[:, 0, -1].astype(np.float64)
        last = np.sqrt(last) if references.p == 2 else last
        # Each coordinate rounds once on either side, and a sum rounds once per term. Terms below the smallest normal
        # number round by more than a share of themselves: all numbers are so small if a category outweighs them.
        with np.errstate(invalid="ignore"):
            shift = 2 * _EPS * (self._norms(folded, missing) + self._largest_norm)
            shift += (references.m * _TINY) ** (1 / references.p)
            unseen = (last * (1 - (references.m + 8) * _EPS) - shift) / self._scale
        certain = certify(references, distance[:, -1], unseen)
        self._doubtful = self._doubtful or float(np.mean(certain)) < 1 - _MOST_DOUBT
        return settle_lists(
            self.scan, queries, distance, slot, certain, own_slot=own_slot, missing=missing, n_jobs=n_jobs
        )
