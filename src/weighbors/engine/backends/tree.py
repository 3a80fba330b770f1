"""A k-d tree on folded data, for many rows and few features."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._typing import FloatArray, IndexArray
from ..references import References
from .certify import certify, measured, settled
from .scan import Scan

__all__ = ["Tree"]

_SPARE = 4  # candidates beyond k: one may be the query itself, and ties need room


class Tree:
    """The tree proposes, exact distances decide, the scan serves what stays uncertain."""

    def __init__(self, references: References, scan: Scan) -> None:
        self.references = references
        self.scan = scan

    def __getstate__(self) -> dict[str, Any]:
        return {"references": self.references, "scan": self.scan}

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(self._folded(self.references.rows))

    def _folded(self, rows: FloatArray) -> FloatArray:
        """Rows in float64, folded; the tree's own rounding is then far below float32's."""
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
        """As `Scan.search`, for one group."""
        references = self.references
        if missing:  # a tree has no place for missing values
            return self.scan.search(queries, k, own_slot=own_slot, missing=True, n_jobs=n_jobs)
        width = min(k + _SPARE, references.n)
        folded = self._folded(queries)
        proposed, candidates = self._tree.query(folded, k=np.arange(1, width + 1), p=references.p, workers=n_jobs)
        distance, slot = measured(references, queries, candidates, k, own_slot=own_slot, n_jobs=n_jobs)
        reach = np.abs(folded).sum(axis=1) + float(np.abs(self._tree.data).sum(axis=1).max())
        unseen = np.full(len(queries), np.inf) if width == references.n else proposed[:, -1] - 1e-15 * 8 * reach
        certain = certify(references, distance[:, -1], unseen)
        return settled(self.scan, queries, distance, slot, certain, own_slot=own_slot, n_jobs=n_jobs)
