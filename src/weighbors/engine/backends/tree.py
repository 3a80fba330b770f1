"""Search with a k-d tree on folded data, for many rows and few features."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._typing import FloatArray, IndexArray
from ..references import References
from .certify import certify, measure_candidates, settle_lists
from .scan import Scan

__all__ = ["Tree"]

_SPARE = 4  # candidates beyond k: one may be the query itself, and others may be tied


class Tree:
    """Backend that finds candidates by a tree and measures them exactly. Uncertain queries are scanned."""

    def __init__(self, references: References, scan: Scan) -> None:
        self.references = references
        self.scan = scan

    def __getstate__(self) -> dict[str, Any]:
        return {"references": self.references, "scan": self.scan}

    @cached_property
    def _tree(self) -> Any:
        """The tree over folded rows, built at the first search."""
        from scipy.spatial import cKDTree

        return cKDTree(self._folded(self.references.rows))

    def _folded(self, rows: FloatArray) -> FloatArray:
        """Return the rows in float64 with the feature weights folded in. Float64 keeps rounding errors small."""
        a = self.references.feature_weights
        rows = rows.astype(np.float64)
        if a is None:
            return rows
        factor = np.sqrt(a.astype(np.float64)) if self.references.p == 2 else a.astype(np.float64)
        folded: FloatArray = (rows - (self.references.low / 2 + self.references.high / 2)) * factor
        return folded

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
        if missing:  # a tree has no place for missing values
            return self.scan.search(queries, k, own_slot=own_slot, missing=True, n_jobs=n_jobs)
        width = min(k + _SPARE, references.n)
        folded = self._folded(queries)
        proposed, candidates = self._tree.query(folded, k=np.arange(1, width + 1), p=references.p, workers=n_jobs)
        distance, slot = measure_candidates(references, queries, candidates, k, own_slot=own_slot, n_jobs=n_jobs)
        # Coordinates round in the last digit. The bound is lowered by more than the errors of all coordinates.
        largest_sum = np.abs(folded).sum(axis=1) + float(np.abs(self._tree.data).sum(axis=1).max())
        unseen = np.full(len(queries), np.inf) if width == references.n else proposed[:, -1] - 1e-15 * 8 * largest_sum
        certain = certify(references, distance[:, -1], unseen)
        return settle_lists(self.scan, queries, distance, slot, certain, own_slot=own_slot, n_jobs=n_jobs)
