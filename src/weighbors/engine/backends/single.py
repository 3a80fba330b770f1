"""Search among float64 rows: sums in float32 propose candidates, and exact distances decide."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ... import _native
from ..._parallel.threads import row_ranges, run_ranges
from ..._typing import FloatArray, IndexArray
from ..references import References
from .certify import settle_lists
from .scan import Part, Scan

__all__ = ["Single"]

_MOST_DOUBT = 0.2  # share of queries that the scan may have to settle
_LEAST_ROWS_PER_NEIGHBOR = 32  # with fewer rows, measuring the candidates again takes as long as the scan
_LARGEST_NORM = 1e15  # of a folded query
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
    def _row_norms(self) -> FloatArray:
        """The norms of the folded rows."""
        return self._norms(self._single.references.rows, self.references.missing)

    @cached_property
    def _largest_norm(self) -> float:
        """The largest norm of a folded row."""
        return float(self._row_norms.max())

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
        references = self.references
        if self._doubtful or (k + 1) * _LEAST_ROWS_PER_NEIGHBOR > references.n:
            return self.scan.search(queries, k, own_slot=own_slot, missing=missing, n_jobs=n_jobs)
        if references.are_rows(queries):
            folded, norms = self._single.references.rows, self._row_norms
        else:
            folded = self._fold(queries)
            norms = self._norms(folded, missing)
        distance = np.full((len(queries), 1, k), np.inf)
        slot = np.full(distance.shape, -1, dtype=np.int64)
        # Squares of greater numbers could overflow in float32. Such a query is far outside of the column ranges.
        certain = norms < _LARGEST_NORM
        for begin, end in self._measure(queries, folded, norms, distance, slot, own_slot, missing, n_jobs):
            certain[begin:end] = False
        self._doubtful = float(np.mean(certain)) < 1 - _MOST_DOUBT
        return settle_lists(
            self.scan, queries, distance[:, 0], slot[:, 0], certain, own_slot=own_slot, missing=missing, n_jobs=n_jobs
        )

    def _measure(
        self,
        queries: FloatArray,
        folded: FloatArray,
        norms: FloatArray,
        distance: FloatArray,
        slot: IndexArray,
        own_slot: IndexArray | None,
        missing: bool,
        n_jobs: int,
    ) -> list[tuple[int, int]]:
        """Fill the lists of all queries, and return the ranges of queries for which float32 is not good enough.

        Parameters
        ----------
        queries, own_slot, missing, n_jobs
            As in `search`.
        folded, norms
            The queries as `_fold` returns them, and their norms.
        distance, slot : ndarrays of shape (n_queries, 1, k)
            The lists, empty.
        """
        references, k = self.references, distance.shape[2]
        shift = self._shift(norms)
        # So many exact distances take about as long as a scan in float64.
        most = references.n // 16 + 8 * k
        ranges, failed = row_ranges(len(queries), n_jobs), []
        for part in self._single.parts(n_jobs):

            def task(begin: int, end: int, part: Part = part) -> bool:
                """Search in float32, and return whether there were too many candidates."""
                most_measured = most * (end - begin)
                measured = _native.find_k_nearest_mixed(
                    queries=folded,
                    query_ids=own_slot,
                    packed=part.packed,
                    ids=part.ids,
                    group_start=part.group_start,
                    missing_distance=self._single.references.missing_distance,
                    n_numeric=references.n_numeric,
                    missing=references.missing or missing,
                    p=references.p,
                    exact_queries=queries,
                    source=references.rows,
                    exact_weights=references.feature_weights,
                    exact_missing_distance=references.missing_distance,
                    shift=shift,
                    scale=self._scale,
                    most_measured=most_measured,
                    distance=distance,
                    id=slot,
                    begin=begin,
                    end=end,
                )
                return measured > most_measured

            done = list(zip(ranges, run_ranges(task, ranges, n_jobs), strict=True))
            failed += [bounds for bounds, too_many in done if too_many]
            ranges = [bounds for bounds, too_many in done if not too_many]
        return failed

    def _shift(self, norms: FloatArray) -> FloatArray:
        """Return how much folding can change a distance in units of the scale, by the norms of folded queries."""
        # Each coordinate rounds once on either side. Terms below the smallest normal number round by more than a share
        # of themselves: all numbers are so small if a category outweighs them.
        shift: FloatArray = 2 * _EPS * (norms + self._largest_norm)
        return shift + (self.references.m * _TINY) ** (1 / self.references.p)
