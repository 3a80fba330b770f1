"""Search among rows of numbers: rows rounded to 16 bits propose candidates, and exact distances decide."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from ... import _native
from ..._typing import AnyArray, FloatArray
from .backend import Backend, Batch, Lists
from .scan import aligned_empty

# Candidates beyond k, of which the last one bounds all others: so many, and one more for so many features. Distances
# between wide rows are closer to each other, and rounding moves them more.
_SPARE, _FEATURES_PER_SPARE = 3, 112
_TRIAL = 240  # queries of the first part, after which it is decided whether rounded rows are good enough
_LEAST_ROWS_PER_CANDIDATE = 32  # with fewer rows, measuring the candidates again takes as long as the scan
_LARGEST_LEVEL = 16380  # twice a level must fit in 16 bits
_LARGEST_SUM = 1.9 * 2**28  # a squared distance is at most four times this, which fits in 31 bits


class Rounded(Backend):
    """Backend that compares rows as integers, for p = 2, and measures the candidates exactly.

    Numbers are centred and multiplied by the root of their weights and by ``_levels``, then rounded. By the triangle
    inequality that moves a distance by at most the residuals of both rows, which are known. Queries for which this
    could matter are left to the scan, and all queries to another backend if that happens often.
    """

    name = "rounded"
    description = "rows rounded to 16 bits propose, exact distances decide"
    refuses = ("city-block", "sparse", "nominal", "missing", "groups", "cells", "cpu")
    # Among very wide rows, distances are too close to one another.
    least_rows: ClassVar[dict[int, int | None]] = {
        0: None, 4: 16_000, 16: 6_000, 48: 5_000, 257: 8_000, 1025: None,
    }  # fmt: skip

    _packed: tuple[AnyArray, AnyArray, float] | None = None  # what `_pack` returns, once it was needed

    @property
    def _spare(self) -> int:
        """How many candidates there are beyond k."""
        return _SPARE + self.references.m // _FEATURES_PER_SPARE

    @cached_property
    def _reach(self) -> FloatArray:
        """Half of the range of each folded column, the largest absolute value after centring."""
        return self.references.half_range * self._fold.factor

    @cached_property
    def _levels(self) -> float:
        """The number of levels per unit of a folded column; 0 if nothing can be rounded."""
        largest = float(self._reach.max(initial=0.0))
        if not 1e-100 < largest < 1e100:  # so that squares neither vanish nor overflow
            return 0.0
        share = self._reach / largest
        return min(_LARGEST_LEVEL, float(np.sqrt(_LARGEST_SUM / np.sum(share**2)))) / largest

    def _round(self, batch: Batch, levels: AnyArray, norm: AnyArray, *, times: int = 1) -> FloatArray:
        """Round rows to ``levels``, times a factor, write their squared norms, and return their residuals."""
        residual = np.empty(len(batch))
        batch.run(
            _native.round_to_levels,
            rows=batch.rows,
            center=self._fold.center,
            factor=self._fold.factor * self._levels,
            most=np.floor(self._reach * self._levels),
            times=times,
            levels=levels,
            norm=norm,
            residual=residual,
        )
        # The margin covers the rounding of all this.
        margin: FloatArray = residual * (1 + 1e-9) + 1e-6 * np.sqrt(self.references.m)
        return margin

    def _pack(self, n_jobs: int) -> tuple[AnyArray, AnyArray, float]:
        """Return rounded references in blocks of lanes, their squared norms, and the largest residual."""
        if self._packed is None:
            lanes, (n, m) = _native.BLOCK_LANES_FLOAT32, self.references.rows.shape
            packed = aligned_empty((-(-n // lanes), -(-m // 2), lanes), np.dtype(np.int32))
            packed[-1] = 0  # some lanes of the last block may be padding
            norms = np.full(len(packed) * lanes, 2**30, dtype=np.int32)  # padding is far from everything
            residual = self._round(Batch(self.references.rows, n_jobs=n_jobs), packed, norms)
            self._packed = packed, norms, float(residual.max())
        return self._packed

    def search(self, batch: Batch, k: int) -> Lists:
        """Search as `Backend.search` says, in one group."""
        few = (k + self._spare) * _LEAST_ROWS_PER_CANDIDATE > self.references.n
        if self._doubtful or batch.missing or few or self._levels == 0 or not _native.multiplies_pairs():
            return self.other.search(batch, k)
        found = []
        for part in (batch.take(slice(_TRIAL)), batch.take(slice(_TRIAL, None))):
            if len(part):
                found.append((self.other.search if self._doubtful else self._propose)(part, k))
        distance, slot = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return distance, slot

    def _propose(self, batch: Batch, k: int) -> Lists:
        """Search among rounded rows, measure the candidates exactly, and scan for the queries that stay uncertain."""
        packed, norm, largest_residual = self._pack(batch.n_jobs)
        levels = np.empty((len(batch), packed.shape[1], 1), dtype=np.int32)
        query_norm = np.empty(len(batch), dtype=np.int32)
        residual = self._round(batch, levels, query_norm, times=-2)
        shape = (len(batch), 1, k + self._spare)
        proposed, candidates = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.int64)
        batch.run(
            _native.propose_rounded,
            packed=packed,
            norm=norm,
            n=self.references.n,
            queries=levels[:, :, 0],
            query_norm=query_norm,
            own=batch.own_slot,
            distance=proposed,
            id=candidates,
        )
        unseen = (np.sqrt(proposed[:, 0, -1].astype(np.float64)) - residual - largest_residual) / self._levels
        return self._decide(batch, candidates[:, 0], k, unseen)
