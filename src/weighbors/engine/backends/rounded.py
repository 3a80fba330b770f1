"""Search among rows of numbers: rows rounded to 16 bits propose candidates, and exact distances decide."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ... import _native
from ..._parallel.threads import row_ranges, run_ranges
from ..._typing import AnyArray, FloatArray, IndexArray
from ..references import References
from .certify import certify, measure_candidates, settle_lists
from .scan import aligned_empty

__all__ = ["Rounded"]

_SPARE = 3  # candidates beyond k: the last one bounds all others
_TRIAL = 240  # queries of the first part, after which it is decided whether rounded rows are good enough
_MOST_DOUBT = 0.2  # share of queries that another search may have to settle
_LEAST_ROWS_PER_CANDIDATE = 32  # with fewer rows, measuring the candidates again takes as long as the scan
_CHUNK = 2**20  # values that are rounded at once
_LARGEST_LEVEL = 16380  # twice a level must fit in 16 bits
_LARGEST_SUM = 1.9 * 2**28  # a squared distance is at most four times this, which fits in 31 bits


class Rounded:
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

    def __init__(self, references: References, scan: Any, other: Any) -> None:
        self.references, self.scan, self.other = references, scan, other
        self._doubtful = False  # whether most distances are too close to one another for rounded rows

    def __getstate__(self) -> dict[str, Any]:
        kept = ("references", "scan", "other", "_doubtful")
        return {name: getattr(self, name) for name in kept}  # not the packed rows

    @cached_property
    def _center(self) -> FloatArray:
        """The middle of the range of each column."""
        center: FloatArray = self.references.low.astype(np.float64) / 2 + self.references.high.astype(np.float64) / 2
        return center

    @cached_property
    def _root(self) -> FloatArray:
        """The factor that folds the weight of each column into its differences."""
        a = self.references.feature_weights
        return np.ones(self.references.m) if a is None else np.sqrt(a.astype(np.float64))

    @cached_property
    def _reach(self) -> FloatArray:
        """Half of the range of each folded column."""
        half = self.references.high.astype(np.float64) / 2 - self.references.low.astype(np.float64) / 2
        reach: FloatArray = half * self._root
        return reach

    @cached_property
    def _levels(self) -> float:
        """The number of levels per unit of a folded column; 0 if nothing can be rounded."""
        largest = float(self._reach.max(initial=0.0))
        if not 1e-100 < largest < 1e100:  # so that squares neither vanish nor overflow
            return 0.0
        share = self._reach / largest
        return min(_LARGEST_LEVEL, float(np.sqrt(_LARGEST_SUM / np.sum(share**2)))) / largest

    def _round(self, rows: FloatArray) -> tuple[AnyArray, AnyArray, FloatArray]:
        """Return levels as int16 with an even number of columns, squared norms and residuals of rows."""
        n, m = rows.shape
        levels = np.zeros((n, m + m % 2), dtype=np.int16)
        norm, residual = np.empty(n, dtype=np.int32), np.empty(n)
        most = np.floor(self._reach * self._levels)
        step = max(1, _CHUNK // m)
        for begin in range(0, n, step):
            part = slice(begin, begin + step)
            with np.errstate(over="ignore"):  # a query outside of the range gets a large residual, perhaps infinity
                exact = rows[part] - self._center
                exact *= self._root * self._levels
                rounded = np.clip(np.rint(exact), -most, most)
                levels[part, :m] = rounded
                norm[part] = np.einsum("ij,ij->i", rounded, rounded)
                exact -= rounded
                residual[part] = np.sqrt(np.einsum("ij,ij->i", exact, exact))
        # The margin covers the rounding of all this.
        return levels, norm, residual * (1 + 1e-9) + 1e-6 * np.sqrt(m)

    @cached_property
    def _packed(self) -> tuple[AnyArray, AnyArray, float]:
        """Rounded references in blocks of lanes, their squared norms, and the largest residual."""
        lanes, n = _native.BLOCK_LANES_FLOAT32, self.references.n
        levels, norm, residual = self._round(self.references.rows)
        pairs = np.zeros((-(-n // lanes) * lanes, levels.shape[1] // 2), dtype=np.int32)
        pairs[:n] = levels.view(np.int32)
        norms = np.full(len(pairs), 2**30, dtype=np.int32)  # padding is far from everything
        norms[:n] = norm
        packed = aligned_empty((len(pairs) // lanes, pairs.shape[1], lanes), np.dtype(np.int32))
        packed[...] = pairs.reshape(-1, lanes, pairs.shape[1]).transpose(0, 2, 1)
        return packed, norms, float(residual.max())

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
        few = (k + _SPARE) * _LEAST_ROWS_PER_CANDIDATE > self.references.n
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
        references, (packed, norm, largest_residual) = self.references, self._packed
        levels, query_norm, residual = self._round(queries)
        doubled = (-2 * levels).view(np.int32)
        shape = (len(queries), k + _SPARE)
        proposed, candidates = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.int64)

        def task(begin: int, end: int) -> None:
            """Propose candidates for queries [begin, end)."""
            _native.propose_rounded(
                packed=packed,
                norm=norm,
                n=references.n,
                queries=doubled,
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
