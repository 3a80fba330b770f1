"""Search among float64 rows: sums in float32 propose candidates, and exact distances decide."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from ... import _native
from ..._parallel.threads import row_ranges, run_ranges
from ..._typing import FloatArray
from ..references import Fold
from .backend import Backend, Batch, Lists, empty_lists, measure_norms
from .scan import Part, Scan

_LEAST_ROWS_PER_NEIGHBOR = 32  # with fewer rows, measuring the candidates again takes as long as the scan
_LARGEST_NORM = 1e15  # of a folded query
_EPS, _TINY = float(np.finfo(np.float32).eps), float(np.finfo(np.float32).tiny)
_LARGEST = float(np.finfo(np.float64).max)


class Single(Backend):
    """Backend that scans rows in float32, which takes half the time, and measures the candidates exactly.

    The numbers are centred, their weights folded in, and divided by the largest of them. So rounding to float32 moves a
    distance by a small share of the largest one. Queries for which that share could matter are scanned in float64.
    """

    name = "single"
    description = "sums in float32 propose, exact distances decide"
    refuses = ("float32", "sparse", "groups", "cells")
    least_rows: ClassVar[dict[int, int | None]] = {0: 2000}  # with fewer, a scan in float32 does not pay

    @cached_property
    def _scale(self) -> float:
        """The factor that makes the largest difference 1, so that nothing over- or underflows in float32."""
        largest = float(np.max(self._fold.missing_distance, initial=0.0))
        return min(1.0 / largest, _LARGEST) if largest > 0 else 1.0

    @cached_property
    def _scaled_fold(self) -> Fold:
        """The shift of each column, and its weight times the scale. Categories stay as they are."""
        numeric = np.arange(self.references.m) < self.references.n_numeric
        with np.errstate(over="ignore"):  # A finite factor keeps the 0 of a constant column, however much it weighs.
            factor = np.where(numeric, np.minimum(self._fold.factor * self._scale, _LARGEST), 1.0)
        return Fold(self._fold.center, factor, self._fold.missing_distance * self._scale)

    def _fold_rows(self, rows: FloatArray) -> FloatArray:
        """Return folded rows in float32."""
        with np.errstate(over="ignore"):  # a query far outside of the range becomes infinite, and the scan settles it
            return self._scaled_fold(rows).astype(np.float32)

    @cached_property
    def _single(self) -> Scan:
        """The scan of the rows in float32, packed at the first search."""
        rows = np.ascontiguousarray(self._fold_rows(self.references.rows))
        missing_distance = self._scaled_fold.missing_distance.astype(np.float32)
        single = replace(self.references, rows=rows, missing_distance=missing_distance, feature_weights=None)
        return Scan(single, part_bytes=self.scan.part_bytes)

    @cached_property
    def _row_norms(self) -> FloatArray:
        """The norms of the folded rows."""
        return measure_norms(self._single.references.rows, self.references)

    def search(self, batch: Batch, k: int) -> Lists:
        """Search as `Backend.search` says, in one group."""
        references = self.references
        if self._doubtful or (k + 1) * _LEAST_ROWS_PER_NEIGHBOR > references.n:
            return self.other.search(batch, k)
        if references.are_rows(batch.rows):
            folded, norms = self._single.references.rows, self._row_norms
        else:
            folded = self._fold_rows(batch.rows)
            norms = measure_norms(folded, references)
        lists = empty_lists(references, len(batch), k)
        # Squares of greater numbers could overflow in float32. Such a query is far outside of the column ranges.
        certain = norms < _LARGEST_NORM
        for begin, end in self._fill(lists, batch, folded, self._shift(norms)):
            certain[begin:end] = False
        return self._settle(batch, lists, certain)

    def _fill(self, lists: Lists, batch: Batch, folded: FloatArray, shift: FloatArray) -> list[tuple[int, int]]:
        """Fill the empty lists, and return the ranges of queries for which float32 is not good enough.

        ``folded`` are the queries as `_fold_rows` returns them, and ``shift`` is the result of `_shift` for them.
        """
        references, (distance, slot) = self.references, lists
        # So many exact distances take about as long as a scan in float64.
        most = references.n // 16 + 8 * distance.shape[2]
        ranges, failed = row_ranges(len(batch), batch.n_jobs), []
        for part in self._single.parts(batch.n_jobs):

            def task(begin: int, end: int, part: Part = part) -> bool:
                """Search in float32, and return whether there were too many candidates."""
                most_measured = most * (end - begin)
                measured = _native.find_k_nearest_mixed(
                    references=part.references,
                    queries=folded,
                    own=batch.own_slot,
                    missing=references.missing or batch.missing,
                    exact_queries=batch.rows,
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

            done = list(zip(ranges, run_ranges(task, ranges, batch.n_jobs), strict=True))
            failed += [bounds for bounds, too_many in done if too_many]
            ranges = [bounds for bounds, too_many in done if not too_many]
        return failed

    def _shift(self, norms: FloatArray) -> FloatArray:
        """Return how much folding can change a distance in units of the scale, by the norms of folded queries."""
        # Each coordinate rounds once on either side. Terms below the smallest normal number round by more than a share
        # of themselves: all numbers are so small if a category outweighs them.
        shift: FloatArray = 2 * _EPS * (norms + self._row_norms.max())
        return shift + (self.references.m * _TINY) ** (1 / self.references.p)
