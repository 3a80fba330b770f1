"""Search among sparse rows of numbers: sums over common features propose, and exact distances decide."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ... import _native
from ..._parallel.threads import row_ranges, run_ranges
from ..._typing import AnyArray, FloatArray, IndexArray
from ..compressed import ascending_rows, sparse_parts
from ..references import References
from .scan import Scan

__all__ = ["SparseRows"]


class Columns(NamedTuple):
    """The references by feature, as the compiled core takes them, and their norms."""

    start: IndexArray
    row: AnyArray
    value: FloatArray
    norm: FloatArray


class SparseRows:
    """Backend for sparse rows. No row is made dense.

    A sum over the features that two rows have in common takes little time. With it, and the norms of both rows, their
    distance is known up to a small error (|q|² + |x|² − 2 q·x for p = 2, and much the same for p = 1). The few rows
    that may be among the k nearest are measured exactly: features that neither row has add nothing to the sum, so that
    its bits are those of the scan.

    Parameters
    ----------
    references : References
        Numbers without missing values, scales and weights per instance.
    scan : Scan
        It serves queries with missing values.
    """

    def __init__(self, references: References, scan: Scan) -> None:
        self.references, self.scan = references, scan

    def __getstate__(self) -> dict[str, Any]:
        return {"references": self.references, "scan": self.scan}  # not the columns

    @cached_property
    def _rows(self) -> Any:
        """The references with ascending features, each given once."""
        return ascending_rows(self.references.rows)

    @cached_property
    def _columns(self) -> Columns:
        """The references by feature, sorted at the first search."""
        columns = self._rows.tocsc()
        return Columns(
            columns.indptr.astype(np.int64),
            columns.indices.astype(np.int32),
            columns.data.astype(np.float64),
            self._norms(self._rows),
        )

    @cached_property
    def _groups(self) -> tuple[IndexArray, IndexArray]:
        """Slots of all groups, one group after the other, and where each begins."""
        codes = self.references.group_codes
        counts = np.bincount(codes, minlength=self.references.n_groups)
        return np.argsort(codes, kind="stable"), np.concatenate([[0], np.cumsum(counts)])

    def _norms(self, rows: Any) -> FloatArray:
        """Return the sums of the p-th powers of rows, times the weights."""
        powers = abs(rows.astype(np.float64)).power(self.references.p)
        weights = self.references.feature_weights
        ones = np.ones(self.references.m) if weights is None else weights.astype(np.float64)
        return np.asarray(powers @ ones, dtype=np.float64)

    def search(
        self,
        queries: Any,
        k: int,
        *,
        own_slot: IndexArray | None = None,
        missing: bool = False,
        n_jobs: int = 1,
    ) -> tuple[FloatArray, IndexArray]:
        """Search as `Scan.search` does, with the same parameters. Queries are dense or sparse."""
        references = self.references
        if missing:
            dense = queries.toarray() if sparse.issparse(queries) else queries
            return self.scan.search(dense, k, own_slot=own_slot, missing=missing, n_jobs=n_jobs)
        rows, columns, (order, group_start) = self._rows, self._columns, self._groups
        asked = ascending_rows(sparse.csr_matrix(queries, dtype=references.dtype))
        shape = (asked.shape[0], references.n_groups, k)
        distance, slot = np.empty(shape, dtype=references.dtype), np.empty(shape, dtype=np.int64)
        asked_start, asked_feature, asked_value = sparse_parts(asked)
        start, feature, value = sparse_parts(rows)
        asked_norm = self._norms(asked)

        def task(begin: int, end: int) -> None:
            """Search for queries [begin, end)."""
            _native.find_k_nearest_sparse(
                query_start=asked_start,
                query_feature=asked_feature,
                query_value=asked_value,
                start=start,
                feature=feature,
                value=value,
                column_start=columns.start,
                column_row=columns.row,
                column_value=columns.value,
                weights=references.feature_weights,
                query_norm=asked_norm,
                norm=columns.norm,
                order=order,
                group_start=group_start,
                own=own_slot,
                p=references.p,
                distance=distance,
                id=slot,
                begin=begin,
                end=end,
            )

        run_ranges(task, row_ranges(shape[0], n_jobs), n_jobs)
        return distance, slot
