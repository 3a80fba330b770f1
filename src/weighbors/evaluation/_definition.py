"""What determines a cell, as plain values: so that a changed method or data set is a new cell."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from .._typing import AnyArray
from ..weights import fingerprint

__all__ = ["described", "digest", "digest_of_rows", "table_digest"]


def digest(value: Any) -> str:
    """Short digest of plain values."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def digest_of_rows(*rows: AnyArray) -> str:
    """Digest of row numbers."""
    out = hashlib.blake2b(digest_size=16)
    for part in rows:
        out.update(np.ascontiguousarray(part, dtype=np.int64).tobytes() + b"|")
    return out.hexdigest()


def table_digest(X: Any, y: AnyArray) -> str:
    """Digest of a table of any kind and its labels."""
    out = hashlib.blake2b(digest_size=16)
    if isinstance(X, pd.DataFrame):
        out.update(repr([(str(name), str(kind)) for name, kind in X.dtypes.items()]).encode())
        out.update(pd.util.hash_pandas_object(X, index=False).to_numpy().tobytes())
    elif sparse.issparse(X):
        rows = sparse.csr_matrix(X, copy=True)
        rows.sum_duplicates()  # also sorts each row
        out.update(f"{rows.dtype} {rows.shape}".encode())
        for part in (rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data):
            out.update(part.tobytes())
    elif np.asarray(X).dtype.kind in "fiub":
        out.update(f"{np.asarray(X).dtype} {fingerprint(X)}".encode())
    else:
        out.update(pd.util.hash_pandas_object(pd.DataFrame(X), index=False).to_numpy().tobytes())
    out.update(pd.util.hash_pandas_object(pd.Series(y), index=False).to_numpy().tobytes())
    return out.hexdigest()


def described(value: Any) -> Any:
    """An estimator, or any parameter of one, as plain values that JSON takes."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value if not isinstance(value, float) or np.isfinite(value) else repr(value)
    if isinstance(value, np.generic):
        return described(value.item())
    if isinstance(value, (list, tuple)):
        return [described(one) for one in value]
    if isinstance(value, dict):
        return {str(key): described(one) for key, one in value.items()}
    if isinstance(value, np.ndarray) and value.dtype != object:
        content = hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16).hexdigest()
        return {"array": [str(value.dtype), list(value.shape), content]}
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {"class": _name(type(value)), "params": described(value.get_params(deep=False))}
    if hasattr(value, "__qualname__"):
        return {"function": _name(value), "code": _code(value)}
    return {"class": _name(type(value)), "content": _content(value)}


def _name(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _code(function: Any) -> str:
    """Digest of what a function does; a function edited between two runs is another one."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    parts = [code.co_code.hex(), *(repr(c) for c in code.co_consts if not hasattr(c, "co_code")), *code.co_names]
    return digest(parts)


def _content(value: Any) -> str:
    import joblib

    try:
        return str(joblib.hash(value))
    except Exception:  # what cannot be pickled is known by what it says of itself
        return repr(value)
