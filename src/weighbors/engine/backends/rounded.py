"""Search among rows of numbers: rows rounded to 16 bits propose candidates, and exact distances decide."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ... import _native
from ..._parallel.threads import row_ranges, run_ranges
from ..._typing import AnyArray, FloatArray, IndexArray
from .centred import CentredRows
from .certify import certify, measure_candidates, settle_lists
from .scan import aligned_empty

__all__ = ["Rounded"]

# Candidates beyond k, of which the last one bounds all others: so many, and one more for so many features. Distances
# between wide rows are closer to each other, and rounding moves them more.
_SPARE, _FEATURES_PER_SPARE = 3, 112
_TRIAL = 240  # queries of the first part, after which it is decided whether rounded rows are good enough
_MOST_DOUBT = 0.2  # share of queries that another search may have to settle
_LEAST_ROWS_PER_CANDIDATE = 32  # with fewer rows, measuring the candidates again takes as long as the scan
_LARGEST_LEVEL = 16380  # twice a level must fit in 16 bits
_LARGEST_SUM = 1.9 * 2**28  # a squared distance is at most four times this, which fits in 31 bits


class Rounded(CentredRows):
    """Backend that compares rows as integers, for p = 2, and measures the candidates exactly.

    Numbers are centred and multiplied by the root of their weights and by ``_levels``, then rounded. By the triangle
    inequality that moves a distance by at most the residuals of both rows, which are known. Queries for which this
    could matter are left to another search.

    Parameters
    ----------
    references : References
        One group of numbers without missing values, scales and weights per instance.
    scan : Scan
        It settles the queries that stay uncertain.
    other : Scan or Single
        It is taken if most queries stay uncertain, or if queries have missing values.
    """

    _packed: tuple[AnyArray, AnyArray, float] | None = None  # what `_pack` returns, once it was needed

    @property
    def _spare(self) -> int:
        """How many candidates there are beyond k."""
        return _SPARE + self.references.m // _FEATURES_PER_SPARE

    @cached_property
    def _root(self) -> FloatArray:
        """The factor that folds the weight of each column into its differences."""
        a = self.references.feature_weights
        return np.ones(self.references.m) if a is None else np.sqrt(a.astype(np.float64))

    @cached_property
    def _reach(self) -> FloatArray:
        """Half of the range of each folded column."""
        reach: FloatArray = self._half_range * self._root
        return reach

    @cached_property
    def _levels(self) -> float:
        """The number of levels per unit of a folded column; 0 if nothing can be rounded."""
        largest = float(self._reach.max(initial=0.0))
        if not 1e-100 < largest < 1e100:  # so that squares neither vanish nor overflow
            return 0.0
        share = self._reach / largest
        return min(_LARGEST_LEVEL, float(np.sqrt(_LARGEST_SUM / np.sum(share**2)))) / largest

    def _round(
        self, rows: FloatArray, levels: AnyArray, norm: AnyArray, n_jobs: int, *, times: int = 1, packed: bool = False
    ) -> FloatArray:
        """Round rows to ``levels``, times a factor, write their squared norms, and return their residuals."""
        residual, most = np.empty(len(rows)), np.floor(self._reach * self._levels)
        factor = self._root * self._levels

        def task(begin: int, end: int) -> None:
            _native.round_to_levels(
                rows=rows, center=self._center, factor=factor, most=most, times=times, packed=packed,
                levels=levels, norm=norm, residual=residual, begin=begin, end=end,
            )  # fmt: skip

        run_ranges(task, row_ranges(len(rows), n_jobs), n_jobs)
        # The margin covers the rounding of all this.
        margin: FloatArray = residual * (1 + 1e-9) + 1e-6 * np.sqrt(rows.shape[1])
        return margin

    def _pack(self, n_jobs: int) -> tuple[AnyArray, AnyArray, float]:
        """Return rounded references in blocks of lanes, their squared norms, and the largest residual."""
        if self._packed is None:
            lanes, (n, m) = _native.BLOCK_LANES_FLOAT32, self.references.rows.shape
            packed = aligned_empty((-(-n // lanes), -(-m // 2), lanes), np.dtype(np.int32))
            packed[-1] = 0  # some lanes of the last block may be padding
            norms = np.full(len(packed) * lanes, 2**30, dtype=np.int32)  # padding is far from everything
            residual = self._round(self.references.rows, packed, norms, n_jobs, packed=True)
            self._packed = packed, norms, float(residual.max())
        return self._packed

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
        few = (k + self._spare) * _LEAST_ROWS_PER_CANDIDATE > self.references.n
        if self._doubtful or missing or few or self._levels == 0 or not _native.multiplies_pairs():
            return self.other.search(queries, k, own_slot=own_slot, missing=missing, n_jobs=n_jobs)
        found = []
        for begin, end in ((0, _TRIAL), (_TRIAL, len(queries))):
            part, own = queries[begin:end], None if own_slot is None else own_slot[begin:end]
            if len(part):
                search = self.other.search if self._doubtful else self._propose
                found.append(search(part, k, own_slot=own, n_jobs=n_jobs))
        distance, slot = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return distance, slot

    def _propose(
        self, queries: FloatArray, k: int, *, own_slot: IndexArray | None, n_jobs: int
    ) -> tuple[FloatArray, IndexArray]:
        """Search among rounded rows, measure the candidates exactly, and scan for the queries that stay uncertain."""
        references, (packed, norm, largest_residual) = self.references, self._pack(n_jobs)
        levels = np.empty((len(queries), packed.shape[1]), dtype=np.int32)
        query_norm = np.empty(len(queries), dtype=np.int32)
        residual = self._round(queries, levels, query_norm, n_jobs, times=-2)
        shape = (len(queries), k + self._spare)
        proposed, candidates = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.int64)

        def task(begin: int, end: int) -> None:
            """Propose candidates for queries [begin, end)."""
            _native.propose_rounded(
                packed=packed,
                norm=norm,
                n=references.n,
                queries=levels,
                query_norm=query_norm,
                own=own_slot,
                distance=proposed,
                id=candidates,
                begin=begin,
                end=end,
            )

        run_ranges(task, row_ranges(len(queries), n_jobs), n_jobs)
        distance, slot = measure_candidates(references, queries, candidates, k, own_slot=own_slot, n_jobs=n_jobs)
        unseen = (np.sqrt(proposed[:, -1].astype(np.float64)) - residual - largest_residual) / self._levels
        certain = certify(references, distance[:, -1], unseen)
        self._doubtful = self._doubtful or float(np.mean(certain)) < 1 - _MOST_DOUBT
        return settle_lists(self.scan, queries, distance, slot, certain, own_slot=own_slot, n_jobs=n_jobs)
