"""Search with a k-d tree on folded data, for many rows and few features."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..._typing import FloatArray
from .backend import Backend, Batch, Lists

_SPARE = 4  # candidates beyond k: one may be the query itself, and others may be tied


class Tree(Backend):
    """Backend that finds candidates by a tree and measures them exactly. Uncertain queries are scanned."""

    name = "tree"
    description = "a k-d tree on folded data proposes, exact distances decide"
    # Weights per instance do not fold into the data, and then no tree can be built over it.
    refuses = ("sparse", "nominal", "missing", "groups", "cells")
    # `benchmarks/backends.py` prints the measurements.
    least_rows: ClassVar[dict[int, int | None]] = {
        0: None, 1: 5_000, 2: 20_000, 3: 30_000, 4: 50_000, 5: 100_000, 6: None,
    }  # fmt: skip

    @cached_property
    def _tree(self) -> Any:
        """The tree over folded rows, built at the first search."""
        from scipy.spatial import cKDTree

        return cKDTree(self._fold_rows(self.references.rows))

    def _fold_rows(self, rows: FloatArray) -> FloatArray:
        """Return the rows in float64 with the feature weights folded in. Float64 keeps rounding errors small."""
        return rows.astype(np.float64) if self.references.feature_weights is None else self._fold(rows)

    def search(self, batch: Batch, k: int) -> Lists:
        """Search as `Backend.search` says, in one group."""
        references = self.references
        if batch.missing:  # a tree has no place for missing values
            return self.other.search(batch, k)
        width = min(k + _SPARE, references.n)
        folded = self._fold_rows(batch.rows)
        proposed, candidates = self._tree.query(folded, np.arange(1, width + 1), p=references.p, workers=batch.n_jobs)
        # Coordinates round in the last digit. The bound is lowered by more than the errors of all coordinates.
        largest_sum = np.abs(folded).sum(axis=1) + float(np.abs(self._tree.data).sum(axis=1).max())
        unseen = np.full(len(batch), np.inf) if width == references.n else proposed[:, -1] - 1e-15 * 8 * largest_sum
        return self._decide(batch, candidates, k, unseen)
