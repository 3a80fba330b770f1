"""Answers for a Dask collection, and selections of its columns and rows. The results are lazy Dask collections."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import numpy as np
from sklearn.utils import _safe_indexing

from .._parallel.cluster import dask_module, starts_tasks
from .._parallel.executors import DaskExecutor
from .._typing import BoolArray
from ..exceptions import InvalidDataError


def answer_lazily(model: Any, method: str, X: Any, *, dtype: Any, width: int | None = None) -> Any:
    """Return what a method of a fitted model returns for the rows of a Dask collection, as a lazy Dask array.

    Each partition is answered by one task, which calls the method with the rows of the partition. So it does not matter
    whether the training rows are in memory or in blocks.

    Parameters
    ----------
    model : fitted estimator
    method : str
        Name of a method that returns one value per row, or one row of ``width`` values.
    X : Dask array or DataFrame
        A frame may have further columns, and its number of rows need not be known.
    dtype : dtype of the result
    width : int, optional
        Number of columns of the result. None: the result is a vector.
    """
    delayed, array = dask_module("dask").delayed, dask_module("dask.array")
    if hasattr(X, "columns"):
        names = getattr(model, "feature_names_in_", None)
        X = X[list(names)] if names is not None and set(names) < set(X.columns) else X
        parts, sizes = X.to_delayed(), [np.nan] * X.npartitions
    else:
        parts, sizes = X.rechunk({1: -1}).to_delayed()[:, 0], X.chunks[0]
    answer = delayed(_answer_part, pure=False, traverse=False)
    fitted = delayed(model, name=f"weighbors-model-{uuid4().hex}", traverse=False)
    at_once, answers = DaskExecutor().n_workers, list[Any]()
    for number, part in enumerate(parts):
        # A task over blocks starts tasks and gives its thread away meanwhile. So that not all partitions are in memory
        # at once, it waits for an earlier answer.
        earlier = answers[number - at_once] if number >= at_once else None
        answers.append(answer(fitted, method, part, earlier))
    tail = () if width is None else (width,)
    chunks = [array.from_delayed(one, (n, *tail), dtype) for one, n in zip(answers, sizes, strict=True)]
    return array.concatenate(chunks, allow_unknown_chunksizes=True)


def _answer_part(model: Any, method: str, part: Any, earlier: Any) -> Any:
    """Return the answers for one partition. ``earlier`` is an answer that had to come first."""
    with starts_tasks():
        return np.asarray(getattr(model, method)(part))


def select_columns(selector: Any, X: Any) -> Any:
    """Return the columns of a Dask collection that a fitted selector keeps."""
    kept = selector.get_support()
    names = getattr(selector, "feature_names_in_", None)
    if hasattr(X, "columns") and names is not None:  # by name, because the table may have further columns
        return X[list(names[kept])]
    if X.shape[1] != len(kept):
        raise InvalidDataError(f"X has {X.shape[1]} features; {len(kept)} were there in fit")
    columns = np.flatnonzero(kept)
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
