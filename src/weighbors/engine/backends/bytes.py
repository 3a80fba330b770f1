"""Find city-block neighbours with rows rounded to bytes, which need an eighth of the memory of float64."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ... import _native
from ..._parallel.threads import row_ranges, run_kernel, run_ranges
from ..._typing import FloatArray, IndexArray
from ..references import References
from .backend import Backend, Batch, Lists, empty_lists
from .scan import lane_layout

_MOST_BYTES = 128 * 2**20  # largest memory for rows as bytes, which are kept after the first search
_LARGEST_SUM = 2**24  # of bytes: float32 holds all whole numbers below it
_MOST = 32  # largest number of neighbours; for more the scan is used
_PROBE = 60  # number of first queries, which show whether bytes can tell the rows apart
_PROBED = 0.1  # largest share of the rows that may need exact distances in these queries


class PackedBytes(NamedTuple):
    """The references as bytes, and the position of each reference."""

    words: Any  # (n_blocks, words, lanes) uint64
    ids: IndexArray  # slot per lane, -1: padding
    group_start: IndexArray
    lane_of_slot: IndexArray
    largest_residual: float


class Bytes(Backend):
    """Backend that finds candidates by bytes and measures them exactly."""

    name = "bytes"
    description = "sums over rows rounded to bytes propose, exact distances decide"
    refuses = ("Euclidean", "sparse", "nominal", "missing", "feature weights", "cells")

    least_rows: ClassVar[dict[int, int | None]] = {0: None, 8: 512}  # with fewer, rounding takes too long

    @classmethod
    def own_obstacle(cls, references: References, *, asked: bool) -> str | None:
        """Return an obstacle that no other backend has, or None."""
        most = (_LARGEST_SUM - 1) // 255
        if references.m > most:
            return f"there are more than {most} features"
        # The byte kernel has a vector instruction from AVX2 on. Its portable loop is slower than the scan.
        if not asked and _native.cpu_level() == "baseline":
            return "this CPU has no instruction that sums differences of bytes"
        too_large = not asked and references.n * references.m > _MOST_BYTES
        return "the rows take too much memory as bytes" if too_large else None

    @cached_property
    def _delta(self) -> float:
        """The width of a level, the same for all columns, because city-block distances add their differences."""
        span = float((self.references.high - self.references.low).max())
        return span / 255 if span > 0 else 1.0

    def _to_bytes(self, rows: FloatArray, n_jobs: int) -> tuple[Any, FloatArray]:
        """Return the rows rounded to bytes, shape (n, words · 8), and how much rounding changed each row."""
        out = np.empty((len(rows), -(-rows.shape[1] // 8) * 8), dtype=np.uint8)
        residual, low = np.empty(len(rows)), self.references.low.astype(np.float64)
        ranges = row_ranges(len(rows), n_jobs, least=256, most=4096)
        run_kernel(
            _native.round_to_bytes, ranges, n_jobs, rows=rows, low=low, delta=self._delta, bytes=out, residual=residual
        )
        return out, residual

    @cached_property
    def _packed(self) -> PackedBytes:
        """The references as bytes, packed at the first search."""
        lanes = _native.BYTE_LANES
        order, group_start = lane_layout(self.references.group_codes, self.references.n_groups, lanes)
        rows, residual = self._to_bytes(self.references.rows, 1)
        words = rows.view(np.uint64)[np.maximum(order, 0)]
        # Eight references make a block, even ones first, since the kernel interleaves their sums.
        blocks = words.reshape(-1, lanes // 2, 2, words.shape[1]).transpose(0, 3, 2, 1)
        lane_of_slot = np.empty(self.references.n, dtype=np.int64)
        lane_of_slot[order[order >= 0]] = np.flatnonzero(order >= 0)
        return PackedBytes(
            np.ascontiguousarray(blocks).reshape(len(order) // lanes, words.shape[1], lanes),
            order,
            group_start,
            lane_of_slot,
            float(residual.max()),
        )

    def search(self, batch: Batch, k: int) -> Lists:
        """Search as `Backend.search` says."""
        if batch.missing or k > _MOST:
            return self.other.search(batch, k)
        distance, slot = empty_lists(self.references, len(batch), k)
        packed = self._packed
        words, residual = self._to_bytes(batch.rows, batch.n_jobs)
        # The kernel excludes the query itself by its position in the packed blocks.
        own = batch.own_slot
        own_lane = None if own is None else np.where(own < 0, -1, packed.lane_of_slot[own])

        def task(begin: int, end: int) -> int:
            """Search for queries [begin, end), and return how many exact distances were needed."""
            return _native.find_k_nearest_by_bytes(
                packed=packed.words,
                ids=packed.ids,
                group_start=packed.group_start,
                delta=self._delta,
                largest_residual=packed.largest_residual,
                source=self.references.rows,
                query_words=words.view(np.uint64),
                query_residual=residual,
                queries=batch.rows,
                own_lane=own_lane,
                distance=distance,
                id=slot,
                begin=begin,
                end=end,
            )

        # The first queries are a trial: if rounding leaves too many candidates, bytes cannot tell these rows apart.
        probe = min(_PROBE, len(batch))
        if task(0, probe) > probe * (_PROBED * self.references.n + 4 * k * self.references.n_groups):
            return self.other.search(batch, k)
        ranges = row_ranges(len(batch) - probe, batch.n_jobs)
        run_ranges(lambda begin, end: task(begin + probe, end + probe), ranges, batch.n_jobs)
        return distance, slot
