"""Selection of columns and rows of a Dask collection. The result is again a Dask collection."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from .._parallel.cluster import dask_module
from .._parallel.executors import DaskExecutor
from .._typing import BoolArray
from ..exceptions import InvalidDataError


def select_columns(X: Any, support: BoolArray) -> Any:
    """Return the columns of a Dask collection at which the mask ``support`` is True."""
    columns = np.flatnonzero(support)
    return X[[X.columns[j] for j in columns]] if hasattr(X, "columns") else X[:, columns]


def select_rows(values: Any, kept: BoolArray) -> Any:
    """Return the rows of a Dask collection at which the mask ``kept`` is True. It covers the rows of all partitions."""
    delayed = dask_module("dask").delayed
    found = list(np.ravel(np.asarray(values.to_delayed(), dtype=object)))
    # The sizes of partitions of a frame are not known before they are computed.
    if hasattr(values, "divisions") or np.isnan(values.chunks[0]).any():
        sizes = DaskExecutor().map(len, [(part,) for part in found])
    else:
        sizes = list(values.chunks[0])
    if sum(sizes) != len(kept):
        raise InvalidDataError(f"reduce takes the {len(kept)} rows that were fitted; got {sum(sizes)}")
    masks = np.split(kept, np.cumsum(sizes)[:-1])
    parts = [delayed(_safe_indexing)(part, np.flatnonzero(mask)) for part, mask in zip(found, masks, strict=True)]
    # The metadata of a frame stay the same: only rows are dropped.
    if hasattr(values, "divisions"):
        return dask_module("dask.dataframe").from_delayed(parts, meta=values._meta, verify_meta=False)
    array = dask_module("dask.array")
    shapes = [(int(mask.sum()), *values.shape[1:]) for mask in masks]
    pieces = [array.from_delayed(part, shape, values.dtype) for part, shape in zip(parts, shapes, strict=True)]
    return array.concatenate(pieces)
