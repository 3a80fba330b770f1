"""Sparse rows as the compiled core takes them: compressed, with ascending columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native


def ascending_rows(rows: Any) -> Any:
    """Return CSR rows with ascending columns, each given once. The rows of the caller are not changed."""
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def compress_rows(rows: Any) -> _native.SparseRows:
    """Return CSR rows as the compiled core takes them."""
    rows = ascending_rows(rows)
    return _native.make_sparse_rows(
        start=rows.indptr.astype(np.int64),
        feature=rows.indices.astype(np.int32),
        value=np.require(rows.data, requirements=["C_CONTIGUOUS", "ALIGNED"]),
        width=rows.shape[1],
    )
