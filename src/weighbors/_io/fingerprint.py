"""A digest of the values of a table, by which weights and checkpoints know their data."""

from __future__ import annotations

from typing import Any

import numpy as np


def fingerprint(X: Any) -> str:
    """Compute a short digest of the values of ``X``. It does not depend on layout, container and number type.

    Examples
    --------
    >>> fingerprint([[1, 2], [3, 4]]) == fingerprint(np.array([[1, 2], [3, 4]], dtype="f4"))
    True
    """
    import hashlib

    digest = hashlib.blake2b(digest_size=16)
    sparse = hasattr(X, "tocsr")
    lazy = hasattr(X, "shape") and not hasattr(X, "__array__")  # rows are read slice by slice
    X = X.tocsr() if sparse else X if lazy else np.asarray(X)
    digest.update(repr(X.shape).encode())
    rows = max(1, 2**20 // max(1, X.shape[1]))  # about 8 MB per slice
    for begin in range(0, X.shape[0], rows):
        part = X[begin : begin + rows]
        part = part.toarray() if sparse else part
        part = np.ascontiguousarray(part, dtype=np.float64) + 0.0  # -0.0 -> 0.0
        # NaN has many bit patterns. This leaves one of them.
        digest.update(np.where(np.isnan(part), np.nan, part).tobytes())
    return digest.hexdigest()
