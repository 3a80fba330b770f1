"""Read a table from a file, whatever it is: csv, tsv, parquet, ARFF, KEEL's .dat, npz."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._archive import DAMAGE, read_arrays
from .._files import require_pyarrow
from .._names import hint, require_text
from ..exceptions import InvalidDataError
from . import _delimited
from ._attributes import looks_declared, read_declared
from ._text import decoded, shown, unique_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Table", "read_table", "split_target"]

TEXT = (".csv", ".tsv", ".txt", ".data", ".tab", ".arff", ".dat")
DENSE_BYTES = 2**30  # a sparse npz that takes more as a dense table is refused


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Parameters
    ----------
    frame : DataFrame
        Unique names, numbers or text or categories, missing cells as NaN.
    target : str or None
        The class attribute, where the file declares one.
    source : str
        Where it came from.
    notes : tuple of str
        What a reader should know: names that were changed, and the like.
    """

    frame: pd.DataFrame
    target: str | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    _written: Callable[[], pd.DataFrame] | None = field(default=None, repr=False, compare=False)

    def cells(self) -> pd.DataFrame:
        """The cells as they are written in the file; of a file that is no text, the frame itself."""
        return self.frame if self._written is None else self._written()


def read_table(path: str | os.PathLike[str], *, header: bool = True) -> Table:
    r"""Read a table; what the file is, its encoding and its separator are found.

    Parameters
    ----------
    path : path
        csv, tsv and other separated text, ARFF, KEEL's .dat, parquet (extra ``parquet``), or npz with
        ``X`` and ``y`` (also the parts of a CSR matrix and ``y``).
    header : bool, default=True
        Whether the first line of a csv or tsv names the columns.

    Returns
    -------
    Table

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        Where there is no file.
    InvalidDataError
        Where it holds no table that can be read, with the reason and the line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "few.csv"
    >>> _ = path.write_text("size;class\n1,5;a\n2,5;b\n")
    >>> read_table(path).frame
       size class
    0   1.5     a
    1   2.5     b
    """
    name, place = os.fspath(path), Path(path)
    if place.is_dir():
        raise IsADirectoryError(f"'{name}' is a directory; a file with a table is needed")
    if not place.exists():
        raise FileNotFoundError(f"there is no file '{name}'")
    suffix = place.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return _parquet(place, name)
    if suffix == ".npz":
        return _npz(place, name)
    raw = place.read_bytes()
    if suffix not in TEXT and raw.startswith((b"PK\x03\x04", b"\x1f\x8b", b"PAR1", b"\x93NUMPY", b"\x89HDF")):
        raise InvalidDataError(f"'{name}' is no text. Tables in csv, tsv, parquet, arff, KEEL .dat and npz can be read")
    text, encoding = decoded(raw, name)
    if not text.strip():
        raise InvalidDataError(f"'{name}' is empty: a line of column names and rows below it are needed")
    if suffix == ".arff" or (suffix == ".dat" and looks_declared(text)):
        frame, target, notes = read_declared(text, name)
        return Table(frame, target, name, tuple(notes))
    found = _delimited.opened(text, name, header=header, tabs=suffix in (".tsv", ".tab"))
    said = () if encoding in ("utf-8", "utf-16") else (f"the text is no UTF-8; it was read as {encoding}",)
    return Table(found.frame(), None, name, (*said, *found.notes), found.cells)


def _parquet(path: Path, name: str) -> Table:
    import pandas as pd

    pyarrow = require_pyarrow(name)
    try:
        frame = pd.read_parquet(path)
        if frame.index.name is not None or not isinstance(frame.index, pd.RangeIndex):
            frame = frame.reset_index()
        _check_text(frame)
    except (pyarrow.ArrowException, *DAMAGE) as error:
        raise InvalidDataError(f"'{name}' is no readable parquet file: {error}") from error
    return _named(frame, None, name)


def _check_text(frame: pd.DataFrame) -> None:
    """Refuse text that is no UTF-8: Arrow looks at it only when it is used."""
    import pandas as pd

    for j, dtype in enumerate(frame.dtypes):
        kind = dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype
        if isinstance(kind, pd.StringDtype):
            column = frame.iloc[:, j]
            values = column.cat.categories if isinstance(dtype, pd.CategoricalDtype) else column
            values.array.__arrow_array__().validate(full=True)


def _npz(path: Path, name: str) -> Table:
    try:
        parts = read_arrays(path)
    except (*DAMAGE, zipfile.LargeZipFile) as error:
        raise InvalidDataError(f"'{name}' is no readable npz file: {error}") from error
    if "y" not in parts or not ("X" in parts or {"data", "indices", "indptr", "shape"} <= set(parts)):
        there = ", ".join(shown(key) for key in list(parts)[:10]) or "nothing"
        raise InvalidDataError(f"'{name}' must hold the arrays X and y; it holds {there}")
    X, y = _dense(parts, name) if "X" not in parts else parts["X"], parts["y"]
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise InvalidDataError(f"'{name}' must hold X of shape (n, m) and y of shape (n,); got {X.shape} and {y.shape}")
    for what, part in (("cell", X), ("label", y)):
        if part.dtype.kind == "U":
            require_text(np.unique(part), f"'{name}': the {what}")
    return _with_labels(X, y, parts.get("feature_names"), name)


def _with_labels(X: Any, y: Any, given: Any, name: str) -> Table:
    import pandas as pd

    width = X.shape[1]
    names = [str(one) for one in given] if given is not None and given.shape == (width,) else []
    names = names or [f"x{j}" for j in range(width)]
    frame = pd.DataFrame(X, columns=range(width))
    frame[width] = y
    frame.columns = pd.Index([*names, "class"], dtype=object)
    return _named(frame, width, name)


def _dense(parts: dict[str, Any], name: str) -> Any:
    from scipy import sparse

    try:
        rows = sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
        rows.check_format()
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"'{name}' holds the parts of no CSR matrix: {error}") from error
    if rows.shape[0] * rows.shape[1] * 8 > DENSE_BYTES:
        raise InvalidDataError(
            f"'{name}' holds a sparse table of {rows.shape[0]} x {rows.shape[1]}, too large to be laid out in full. "
            "Select features first, or use the Python interface, which takes sparse rows"
        )
    return rows.toarray()


def _named(frame: pd.DataFrame, target: int | None, name: str) -> Table:
    """Unique text as names; ``target`` is the position of the class."""
    import pandas as pd

    names, notes = unique_names([str(one) for one in frame.columns])
    require_text(names, f"'{name}': the column")
    frame.columns = pd.Index(names, dtype=object)
    return Table(frame, None if target is None else names[target], name, tuple(notes))


def split_target(table: Table, target: str | None = None) -> tuple[pd.DataFrame, pd.Series, tuple[str, ...]]:
    """Features, labels, and notes; rows without a label are left out.

    Parameters
    ----------
    table : Table
    target : str, optional
        Name of the column that holds the classes. By default the one the file declares.

    Returns
    -------
    X : DataFrame
        Row numbers of the table as its index.
    y : Series
        Whole numbers, or text. Its name is the target.
    notes : tuple of str

    Raises
    ------
    InvalidDataError
        Where the target is not among the columns, holds measurements, one class, or no class twice.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table(pd.DataFrame({"size": [1.5, 2.5, 3.5, 4.5], "kind": ["a", "a", "b", None]}))
    >>> X, y, notes = split_target(table, "kind")
    >>> X.shape, y.tolist(), notes
    ((3, 1), ['a', 'a', 'b'], ("1 row has no label in 'kind' and was left out (row 3)",))
    """
    frame = table.frame
    target = target_of(table, target)
    if frame.shape[1] < 2:
        raise InvalidDataError(f"{shown(target)} is the only column: features are needed besides the target")
    labels = frame[target]
    known = labels.notna().to_numpy()
    notes = []
    if not known.all():
        count = int((~known).sum())
        first = int(np.flatnonzero(~known)[0])
        told = f"no label in {shown(target)} and"
        one = f"1 row has {told} was left out (row {first})"
        notes.append(one if count == 1 else f"{count} rows have {told} were left out (the first is row {first})")
    y = _labels(labels[known], target)
    _check_classes(y, len(frame), target)
    return frame.drop(columns=target)[known], y, tuple(notes)


def target_of(table: Table, target: str | None = None) -> str:
    """Name of the column of classes: the one asked for, or the file's own; an error lists the columns."""
    names = [str(name) for name in table.frame.columns]
    ends = names if len(names) <= 30 else [*names[:20], *names[-5:]]  # classes are often last
    listed = ", ".join(shown(name) for name in ends) + (f" (of {len(names)} columns)" if len(names) > 30 else "")
    if target is None and table.target is None:
        raise InvalidDataError(f"which column holds the classes? Name one of {listed}")
    wanted = table.target if target is None else target
    assert wanted is not None
    if wanted not in names:
        close = hint(wanted, names)
        near = f" {close}" if close.startswith("Did") and len(close) < 80 and close.isprintable() else ""
        raise InvalidDataError(f"there is no column {shown(wanted)}.{near} The columns are {listed}")
    return wanted


def _labels(labels: pd.Series, target: str) -> pd.Series:
    """Whole numbers or text."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(labels.dtype) or not pd.api.types.is_numeric_dtype(labels.dtype):
        return labels.astype(object).map(str).astype(object)
    numbers = labels.to_numpy(dtype=np.float64)
    if len(numbers) and not (np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()):
        strange = labels[~(np.isfinite(numbers) & (numbers == np.floor(numbers)))].iloc[0]
        raise InvalidDataError(
            f"the target {shown(target)} holds measurements ({strange:.6g}, ...), not classes. "
            "Name another column, or turn it into classes"
        )
    if len(numbers) and np.abs(numbers).max() >= 2**53:  # too large to be told apart as numbers
        return labels.astype(object).map(str).astype(object)
    return labels.astype(np.int64)


def _check_classes(y: pd.Series, rows: int, target: str) -> None:
    if rows == 0:
        raise InvalidDataError("the table has column names and no rows")
    counts = y.value_counts()
    if len(counts) == 0:
        raise InvalidDataError(f"the target {shown(target)} is empty: no row has a label")
    if len(counts) == 1:
        raise InvalidDataError(
            f"at least 2 classes are needed; the target {shown(target)} has one, {shown(counts.index[0])}, in all "
            f"{len(y)} rows"
            if len(y) > 1
            else "at least 2 classes are needed, and the table has 1 row"
        )
    if counts.iloc[0] < 2:
        raise InvalidDataError(
            f"all {len(y)} rows have a label of their own in {shown(target)}: it holds no classes, or there are too "
            "few rows. Name another column as target"
        )
