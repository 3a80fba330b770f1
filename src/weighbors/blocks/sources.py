"""Cut the table of a user (Dask collection, parquet folder, mapped file) into blocks."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from .._io.archive import HEADER_DAMAGE
from .._io.files import require_pyarrow
from .._parallel.cluster import is_dask
from ..exceptions import InvalidDataError
from ..tables.frames import as_vector
from .block import ArrayBlock, Block, CombinedBlock, FrameBlock, Header, MappedBlock, ParquetBlock


@dataclass(frozen=True)
class Source:
    """Blocks of a table, and the facts that are known before any row is read."""

    blocks: list[Any]  # Block objects, or Dask Delayed objects of blocks
    header: Header
    sizes: list[int] | None  # rows per block, or None if they are not known
    dask: bool
    label_parts: list[Any] | None  # per block, the argument of `read_labels`; None if there are no labels

    def combined(self, number: int, piece: int) -> Source:
        """Combine small neighbouring blocks up to ``piece`` rows, so that a task is worth its overhead.

        If this would leave fewer than ``number`` tasks, blocks are combined up to fewer rows, but not fewer than
        ``piece // 8``.
        """
        assert self.sizes is not None
        # ``number`` tasks keep all workers busy, but a task should not have less than an eighth of a piece.
        most = min(piece, max(piece // 8, sum(self.sizes) // max(1, number)))
        groups: list[list[int]] = [[]]
        filled = 0
        for i, rows in enumerate(self.sizes):
            if groups[-1] and filled + rows > most:
                groups.append([])
                filled = 0
            groups[-1].append(i)
            filled += rows
        groups = [group for group in groups if group]
        blocks = [_combine([self.blocks[i] for i in group]) for group in groups]
        sizes = [sum(self.sizes[i] for i in group) for group in groups]
        labels = None if self.label_parts is None else [[self.label_parts[i] for i in group] for group in groups]
        return Source(blocks, self.header, sizes, self.dask, labels)


def _combine(blocks: list[Any]) -> Any:
    """Return one block for several blocks, which may be Dask Delayed objects."""
    if len(blocks) == 1:
        return blocks[0]
    if any(not isinstance(block, Block) for block in blocks):
        return delay(CombinedBlock, blocks)
    return CombinedBlock(blocks)


def is_path(X: Any) -> bool:
    """Return whether ``X`` is a path."""
    return isinstance(X, (str, os.PathLike))


def open_source(X: Any, y: Any, *, piece_bytes: int, names: Any = None, as_partitions: bool = False) -> Source:
    """Cut a table into blocks. No rows are read.

    Parameters
    ----------
    X : Dask collection, path, or mapped array
    y : vector, name of a column of ``X``, or None
    piece_bytes : int
        Bytes of memory that a piece of a block may take.
    names : sequence, optional
        For queries: the columns of the training table. Only these columns of ``X`` are used.
    as_partitions : bool
        Whether each partition of a Dask collection is read as one piece. If so, the chunks of a Dask array may be
        sparse and of unknown size.
    """
    if is_path(X):
        path = Path(X)
        if path.suffix == ".npy":
            return _of_mapped(_mapped_file(path), y, piece_bytes)
        return _of_parquet(path, y, piece_bytes, names)
    y = as_vector(y)
    if not is_dask(X):
        return _of_mapped(X, y, piece_bytes)
    if names is not None and hasattr(X, "columns") and set(names) < set(X.columns):
        X = X[list(names)]
    cut = _of_dask_frame if hasattr(X, "columns") else _of_dask_array
    return cut(X, y, sys.maxsize if as_partitions else piece_bytes, as_partitions)


def delay(function: Any, *arguments: Any) -> Any:
    """Return a Dask Delayed object that calls the function. It is not cached by its arguments."""
    from dask import delayed

    return delayed(function, pure=False)(*arguments)


def _rows_of(width: int, itemsize: int, piece_bytes: int) -> int:
    """Return how many rows fit in a piece: at least 16."""
    return max(16, piece_bytes // max(1, width * itemsize))


def _mapped_file(path: Path) -> Any:
    """Map an npy file into memory. Raise InvalidDataError if that is not possible."""
    if not path.is_file():
        raise InvalidDataError(f"there is no file '{path}'")
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except HEADER_DAMAGE as error:
        raise InvalidDataError(f"'{path}' cannot be mapped as an array: {error}") from error


def _of_mapped(X: Any, y: Any, piece_bytes: int) -> Source:
    """Cut a mapped array into blocks."""
    if X.ndim != 2:
        raise InvalidDataError(f"a table of shape (n_samples, n_features) is needed; got shape {X.shape}")
    if is_path(y):
        if Path(y).suffix != ".npy":
            _no_column(y)
        y = _mapped_file(Path(y))
    y = None if y is None else column_or_1d(_in_memory(y), warn=True)
    _check_lengths(len(X), y)
    header = Header(X.shape[1], None)
    size = _rows_of(X.shape[1], X.dtype.itemsize, piece_bytes)
    # Only an array that lies in the file in one piece can be mapped again by its offset and shape.
    mapped = MappedBlock.mapped(X) if X.flags.c_contiguous or X.flags.f_contiguous else None
    blocks: list[Any] = []
    parts: list[Any] = []
    sizes = []
    for number, begin in enumerate(range(0, len(X), size)):
        end = min(begin + size, len(X))
        labels = None if y is None else y[begin:end]
        if mapped is None:
            blocks.append(ArrayBlock(X[begin:end], labels, header, size, number))
        else:
            blocks.append(MappedBlock(mapped, labels, header, size, number, begin, end))
        sizes.append(end - begin)
        parts.append(labels)
    return Source(blocks, header, sizes, False, None if y is None else parts)


def _of_dask_array(X: Any, y: Any, piece_bytes: int, as_partitions: bool) -> Source:
    """Cut a Dask array into one block per chunk of rows. The parameters are those of `open_source`."""
    if getattr(X, "ndim", 0) != 2:
        raise InvalidDataError(f"a table of shape (n_samples, n_features) is needed; got {X!r}")
    if not as_partitions:
        _known_chunks(X, "X")
    if not as_partitions and (hasattr(X._meta, "tocsr") or type(X._meta).__module__.startswith(("sparse", "scipy"))):
        raise InvalidDataError(
            "dask arrays of sparse chunks are not supported: use X.map_blocks(lambda c: c.toarray())"
        )
    if isinstance(y, str):
        _no_column(y)
    # A block needs all columns of its rows.
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    size = _rows_of(X.shape[1], X.dtype.itemsize, piece_bytes)
    header = Header(X.shape[1], None)
    chunks = list(X.to_delayed()[:, 0])
    unknown = as_partitions and (np.isnan(X.chunks[0]).any() or _has_unknown_sizes(y))
    sizes = None if unknown else [int(n) for n in X.chunks[0]]
    labels: list[Any] = [None] * len(chunks)
    if y is not None:
        labels = _label_partitions(y, len(chunks)) if sizes is None else _labels_like(y, sizes)
    blocks = [
        delay(ArrayBlock, chunk, part, header, size, number)
        for number, (chunk, part) in enumerate(zip(chunks, labels, strict=True))
    ]
    return Source(blocks, header, sizes, True, None if y is None else labels)


def _has_unknown_sizes(y: Any) -> bool:
    """Return whether ``y`` is a Dask collection whose partitions have unknown sizes."""
    return is_dask(y) and (hasattr(y, "divisions") or bool(np.isnan(y.chunks[0]).any()))


def _label_partitions(y: Any, number: int) -> list[Any]:
    """Return the partitions of ``y``. Raise InvalidDataError if there are not ``number``, the partitions of ``X``.

    ``y`` is a Dask collection, or a list of its partitions.
    """
    parts = y if isinstance(y, list) else list(np.ravel(np.asarray(y.to_delayed(), dtype=object)))
    if len(parts) != number:
        raise InvalidDataError(
            f"X has {number} partitions and y has {len(parts)}: they must agree. Repartition one like the other, "
            "compute the chunk sizes of both (compute_chunk_sizes), or name a column of X"
        )
    return parts


def _labels_like(y: Any, rows: list[int]) -> list[Any]:
    """Return the labels cut into chunks. ``rows`` holds the number of rows of each chunk."""
    if is_dask(y) and hasattr(y, "to_dask_array"):  # a series
        y = y.to_dask_array(lengths=True)
    if is_dask(y):
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim != 1:
            raise InvalidDataError(f"y must be a vector of labels; got {y!r}")
        _known_chunks(y, "y")
        _check_lengths(sum(rows), y)
        return list(y.rechunk((tuple(rows),)).to_delayed()) if sum(rows) else [None] * len(rows)
    y = column_or_1d(y, warn=True)
    _check_lengths(sum(rows), y)
    ends = np.cumsum(rows)
    return [y[end - n : end] for end, n in zip(ends, rows, strict=True)]


def _of_dask_frame(X: Any, y: Any, piece_bytes: int, as_partitions: bool) -> Source:
    """Cut a Dask DataFrame into one block per partition. The parameters are those of `open_source`."""
    header, y = _frame_header(list(X.columns), y)
    size = _rows_of(header.width, 8, piece_bytes)
    parts = X.to_delayed()
    labels: list[Any] = [None] * len(parts)
    if y is not None:
        if not (is_dask(y) and hasattr(y, "to_delayed")):
            raise InvalidDataError(
                "with a dask DataFrame the labels must be a dask Series or Array of the same partitions, or the name "
                f"of a column; got {type(y).__name__}"
            )
        if X.npartitions == getattr(y, "npartitions", None) != len(y.to_delayed()):
            # Dask reads several small files of one column as one partition. Not optimized, partitions stay as they are.
            parts, y = X.to_delayed(optimize_graph=False), y.to_delayed(optimize_graph=False)
        labels = _label_partitions(y, len(parts))
    blocks = [
        delay(FrameBlock, part, label, header, size, number)
        for number, (part, label) in enumerate(zip(parts, labels, strict=True))
    ]
    if header.target is not None:
        labels = list(blocks)
    return Source(blocks, header, None, True, labels if y is not None or header.target is not None else None)


def _of_parquet(path: Path, y: Any, piece_bytes: int, names: Any) -> Source:
    """Cut parquet files into one block per row group. Only their metadata are read.

    ``path`` is a file or a folder. The other parameters are those of `open_source`.
    """
    require_pyarrow(path.name)
    import pyarrow.parquet as pq

    files = _parquet_files(path)
    if y is not None and not isinstance(y, str):
        raise InvalidDataError(f"with parquet files y must be the name of a column; got {type(y).__name__}")
    schema = _columns_of(pq, files[0])
    header, _ = _frame_header([c for c in schema if names is None or c in names], y, schema)
    size = _rows_of(header.width, 8, piece_bytes)
    blocks: list[Any] = []
    sizes: list[int] = []
    for number, file in enumerate(files):
        columns = _columns_of(pq, file)
        header.check(columns if names is None else [c for c in columns if c in names], number)
        with pq.ParquetFile(file) as opened:
            counts = [opened.metadata.row_group(g).num_rows for g in range(opened.metadata.num_row_groups)]
        for group, rows in enumerate(counts):
            blocks.append(ParquetBlock(str(file), (group,), header, size, number))
            sizes.append(rows)
    return Source(blocks, header, sizes, False, None if y is None else list(blocks))


def _parquet_files(path: Path) -> list[Path]:
    """Return the parquet files of a folder, in natural order of their names: part.2 comes before part.10."""
    if path.is_file():
        return [path]
    if not path.exists():
        raise InvalidDataError(f"there is no file or folder '{path}'")
    files = [
        f for f in path.rglob("*") if f.suffix in (".parquet", ".parq", ".pq") and not f.name.startswith(("_", "."))
    ]
    if not files:
        raise InvalidDataError(f"the folder '{path}' holds no parquet files")
    if any("=" in part for f in files for part in f.relative_to(path).parts[:-1]):
        raise InvalidDataError(
            f"the folder '{path}' is partitioned by values (name=value): read it with dask.dataframe.read_parquet"
        )
    return sorted(
        files, key=lambda f: [int(t) if t.isdigit() else t for t in re.split(r"(\d+)", str(f.relative_to(path)))]
    )


def _columns_of(pq: Any, file: Path) -> list[str]:
    """Return the column names of a parquet file, without the index columns of pandas. ``pq`` is pyarrow.parquet."""
    try:
        schema = pq.read_schema(file)
    except Exception as error:
        raise InvalidDataError(f"'{file}' cannot be read as parquet: {error}") from error
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def _frame_header(columns: list[Any], y: Any, everything: list[Any] | None = None) -> tuple[Header, Any]:
    """Return the header of a frame, and ``y``, or None if ``y`` names a column.

    ``columns`` are the columns to use. ``everything`` holds all columns of the table if they are more.
    """
    if len(set(columns)) < len(columns):
        twice = sorted({str(c) for c in columns if columns.count(c) > 1})
        raise InvalidDataError(f"columns must have different names; {twice} come twice")
    if not isinstance(y, str):
        return Header(len(columns), tuple(columns)), y
    if y not in (columns if everything is None else everything):
        _no_column(y, columns)
    features = tuple(c for c in columns if c != y)
    return Header(len(features), features, y), None


def _no_column(y: Any, columns: list[Any] | None = None) -> None:
    """Raise InvalidDataError because ``y`` names no column. ``columns`` are the columns that there are, if any."""
    from .._names import hint

    if columns is None:
        raise InvalidDataError(f"y={y!r} names a column, but X is an array without names. Give the labels themselves")
    raise InvalidDataError(f"there is no column {y!r} to take the labels from. {hint(y, columns)}")


def _known_chunks(X: Any, name: str) -> None:
    """Raise InvalidDataError if a Dask array has chunks of unknown size. ``name`` is its name in the message."""
    if any(np.isnan(n) for sizes in X.chunks for n in sizes):
        raise InvalidDataError(
            f"{name} has chunks of unknown size, so that its rows cannot be numbered. "
            f"Call {name}.compute_chunk_sizes() first"
        )


def _check_lengths(n: int, y: Any) -> None:
    """Raise InvalidDataError if there are not ``n`` labels."""
    if y is not None and len(y) != n:
        raise InvalidDataError(f"Found input variables with inconsistent numbers of samples: {[n, len(y)]}")


def _in_memory(y: Any) -> Any:
    """Return labels in memory: a Dask collection is computed."""
    return y.compute() if is_dask(y) else y
