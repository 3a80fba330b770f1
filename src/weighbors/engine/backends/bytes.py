"""Find city-block neighbours with rows rounded to bytes, which need an eighth of the memory of float64."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ... import _native
from ..._parallel.threads import row_ranges, run_ranges
from ..._typing import FloatArray, IndexArray
from ..references import References
from .scan import Scan, lane_layout

__all__ = ["Bytes"]

_MOST = 32  # largest number of neighbours; for more the scan is used
_PROBE = 60  # number of first queries, which show whether bytes can tell the rows apart
_PROBED = 0.1  # largest share of the rows that may need exact distances in these queries


class Packed(NamedTuple):
    """The references as bytes, and the position of each reference."""

    words: Any  # (n_blocks, words, lanes) uint64
    ids: IndexArray  # slot per lane, -1: padding
    group_start: IndexArray
    lane_of_slot: IndexArray
    largest_residual: float


class Bytes:
    """Backend that finds candidates by bytes and measures them exactly. It gives the same lists as the scan."""

    def __init__(self, references: References, scan: Scan) -> None:
        self.references = references
        self.scan = scan
        self._low = references.low.astype(np.float64)
        # All columns have the same step, because city-block distances add their differences.
        span = float((references.high - references.low).max())
        self._delta = span / 255 if span > 0 else 1.0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_packed"}

    def _to_bytes(self, rows: FloatArray, n_jobs: int) -> tuple[Any, FloatArray]:
        """Return the rows rounded to bytes, shape (n, words · 8), and how much rounding changed each row."""
        out = np.empty((len(rows), -(-rows.shape[1] // 8) * 8), dtype=np.uint8)
        residual = np.empty(len(rows))

        def task(begin: int, end: int) -> None:
            """Round rows [begin, end)."""
            _native.round_to_bytes(
                rows=rows, low=self._low, delta=self._delta, bytes=out, residual=residual, begin=begin, end=end
            )

        run_ranges(task, row_ranges(len(rows), n_jobs, least=256, most=4096), n_jobs)
        return out, residual

    @cached_property
    def _packed(self) -> Packed:
        """The references as bytes, packed at the first search."""
        lanes = _native.BYTE_LANES
        order, group_start = lane_layout(self.references.group_codes, self.references.n_groups, lanes)
        rows, residual = self._to_bytes(self.references.rows, 1)
        words = rows.view(np.uint64)[np.maximum(order, 0)]
        # Eight references make a block, even ones first, since the kernel interleaves their sums.
        blocks = words.reshape(-1, lanes // 2, 2, words.shape[1]).transpose(0, 3, 2, 1)
        lane_of_slot = np.empty(self.references.n, dtype=np.int64)
        lane_of_slot[order[order >= 0]] = np.flatnonzero(order >= 0)
        return Packed(
            np.ascontiguousarray(blocks).reshape(len(order) // lanes, words.shape[1], lanes),
            order,
            group_start,
            lane_of_slot,
            float(residual.max()),
        )

    def search(
        self,
        queries: FloatArray,
        k: int,
        *,
        own_slot: IndexArray | None = None,
        missing: bool = False,
        n_jobs: int = 1,
    ) -> tuple[FloatArray, IndexArray]:
        """Search as `Scan.search` does, with the same parameters."""
        if missing or k > _MOST:
            return self.scan.search(queries, k, own_slot=own_slot, missing=missing, n_jobs=n_jobs)
        shape = (len(queries), self.references.n_groups, k)
        distance = np.full(shape, np.inf, dtype=self.references.dtype)
        slot = np.full(shape, -1, dtype=np.int64)
        packed = self._packed
        words, residual = self._to_bytes(queries, n_jobs)
        # The kernel excludes the query itself by its position in the packed blocks.
        own_lane = None if own_slot is None else np.where(own_slot < 0, -1, packed.lane_of_slot[own_slot])

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
                queries=queries,
                own_lane=own_lane,
                distance=distance,
                id=slot,
                begin=begin,
                end=end,
            )

        # The first queries are a trial: if rounding leaves too many candidates, bytes cannot tell these rows apart, and
        # the scan is faster.
        probe = min(_PROBE, len(queries))
        if task(0, probe) > probe * (_PROBED * self.references.n + 4 * k * self.references.n_groups):
            return self.scan.search(queries, k, own_slot=own_slot, n_jobs=n_jobs)
        ranges = [(begin + probe, end + probe) for begin, end in row_ranges(len(queries) - probe, n_jobs)]
        run_ranges(task, ranges, n_jobs)
        return distance, slot
