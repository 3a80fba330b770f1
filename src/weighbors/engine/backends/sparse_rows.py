"""Search among sparse rows of numbers: sums over common features propose, and exact distances decide."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ... import _native
from ..._typing import FloatArray, IndexArray
from ..references import References, ascending_rows, compress_rows
from .backend import Backend, Batch, Lists, empty_lists
from .scan import lane_layout

_COST = 50  # so many differences of a scan take as long as one term of a sum over common features


class Compressed(NamedTuple):
    """The references by row and by feature, as the compiled core takes them, and their norms."""

    rows: _native.SparseRows
    columns: _native.SparseRows
    norm: FloatArray
    order: IndexArray  # slots of all groups, one group after the other
    group_start: IndexArray


class SparseRows(Backend):
    """Backend for sparse rows. No row is made dense.

    A sum over the features that two rows have in common takes little time. With it, and the norms of both rows, their
    distance is known up to a small error (|q|² + |x|² − 2 q·x for p = 2, and much the same for p = 1). The few rows
    that may be among the k nearest are measured exactly: features that neither row has add nothing to the sum, so that
    its bits are those of the scan.
    """

    name = "sparse"
    description = "sums over common features of sparse rows propose, exact distances decide"
    refuses = ("dense", "nominal", "missing", "cells")
    takes_sparse = True

    @classmethod
    def own_obstacle(cls, references: References, *, asked: bool) -> str | None:
        """Return an obstacle that no other backend has, or None."""
        if asked:
            return None
        # For a query like the references, each of its features adds as many terms as it has entries.
        entries = np.bincount(references.rows.indices, minlength=references.m).astype(np.float64)
        cheap = float(np.square(entries).sum()) * _COST < float(references.n) ** 2 * references.m
        return None if cheap else "the rows have too many features in common"

    @cached_property
    def _compressed(self) -> Compressed:
        """The references with ascending features, and the same by feature, sorted at the first search."""
        rows = ascending_rows(self.references.rows)
        columns = rows.T.tocsr().astype(np.float64)
        layout = lane_layout(self.references.groups, self.references.n_groups, lanes=1)
        return Compressed(compress_rows(rows), compress_rows(columns), self._norms(rows), *layout)

    def _norms(self, rows: Any) -> FloatArray:
        """Return the sums of the p-th powers of rows, times the weights."""
        powers = abs(rows.astype(np.float64)).power(self.references.p)
        weights = self.references.feature_weights
        ones = np.ones(self.references.m) if weights is None else weights.astype(np.float64)
        return np.asarray(powers @ ones, dtype=np.float64)

    def search(self, batch: Batch, k: int) -> Lists:
        """Search as `Backend.search` says. Queries are dense or sparse."""
        references = self.references
        if batch.missing:
            dense = batch.rows.toarray() if sparse.issparse(batch.rows) else batch.rows
            return self.other.search(replace(batch, rows=dense), k)
        compressed = self._compressed
        asked = ascending_rows(sparse.csr_matrix(batch.rows, dtype=references.dtype))
        distance, slot = empty_lists(references, batch.rows.shape[0], k)
        batch.run(
            _native.find_k_nearest_sparse,
            queries=compress_rows(asked),
            references=compressed.rows,
            columns=compressed.columns,
            weights=references.feature_weights,
            query_norm=self._norms(asked),
            norm=compressed.norm,
            order=compressed.order,
            group_start=compressed.group_start,
            own=batch.own_slot,
            p=references.p,
            distance=distance,
            id=slot,
        )
        return distance, slot
