"""Sparse rows as the compiled core takes them: compressed, with ascending columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray


def ascending_rows(rows: Any) -> Any:
    """Return CSR rows with ascending columns, each given once. The rows of the caller are not changed."""
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def sparse_parts(rows: Any) -> tuple[IndexArray, AnyArray, FloatArray]:
    """Return the three arrays of CSR rows as the compiled core takes them, with ascending columns."""
    rows = ascending_rows(rows)
    return (
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int32),
        np.require(rows.data, requirements=["C_CONTIGUOUS", "ALIGNED"]),
    )
