"""Read tables from files: csv, tsv, parquet, ARFF, KEEL's .dat and npz."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._io.archive import DAMAGE, read_arrays
from .._io.files import require_pyarrow, require_utf8
from .._names import hint, known_names, quote_name, require_text, unique_names
from .._typing import AnyArray
from ..exceptions import InvalidDataError
from ..tables.labels import looks_numeric
from ..tables.targets import check_numeric_target, recognize_target
from . import _delimited
from ._attributes import looks_declared, read_declared
from ._text import decode_text

if TYPE_CHECKING:
    import pandas as pd

TEXT = (".csv", ".tsv", ".txt", ".data", ".tab", ".arff", ".dat")
#: A target with more different whole numbers than this could be classes or a number: a message says what was taken.
FEW_CLASSES = 10
DENSE_BYTES = 2**30  # a sparse table raises an error if it would need more bytes as a dense table


@dataclass(frozen=True)
class Table:
    """A table as it was read from a file.

    Parameters
    ----------
    frame : DataFrame
        Columns with unique names. They contain numbers, text or categories, and missing cells are NaN.
    target : str or None
        Name of the class column, if the file declares one.
    source : str
        Path of the file.
    notes : tuple of str
        Messages for the user, such as names that were changed.
    """

    frame: pd.DataFrame
    target: str | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    _written: Callable[[], pd.DataFrame] | None = field(default=None, repr=False, compare=False)

    def cells(self) -> pd.DataFrame:
        """Return the cells as text, as they are written in a csv or tsv file. For other files, return ``frame``."""
        return self.frame if self._written is None else self._written()


def read_table(path: str | os.PathLike[str], *, header: bool = True) -> Table:
    r"""Return the table in a file. The kind of file, its encoding and its separator are detected.

    Parameters
    ----------
    path : path
        A csv, tsv or other separated text file, an ARFF file, a .dat file of KEEL, a parquet file (needs the extra
        ``parquet``), or an npz file with ``X`` and ``y``, or with the parts of a CSR matrix and ``y``.
    header : bool, default=True
        Whether the first line of a csv or tsv file contains the column names.

    Returns
    -------
    Table

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file, or if the path is a directory.
    InvalidDataError
        If the file contains no table that can be read. The message gives the reason.

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
        return _read_parquet(place, name)
    if suffix == ".npz":
        return _read_npz_table(place, name)
    raw = place.read_bytes()
    # The first bytes of zip, gzip, parquet, npy and HDF5 files: their names may end in anything.
    if suffix not in TEXT and raw.startswith((b"PK\x03\x04", b"\x1f\x8b", b"PAR1", b"\x93NUMPY", b"\x89HDF")):
        raise InvalidDataError(f"'{name}' is no text. Tables in csv, tsv, parquet, arff, KEEL .dat and npz can be read")
    text, encoding = decode_text(raw, name)
    if not text.strip():
        raise InvalidDataError(f"'{name}' is empty: a line of column names and rows below it are needed")
    if suffix == ".arff" or (suffix == ".dat" and looks_declared(text)):
        frame, target, notes = read_declared(text, name)
        return Table(frame, target, name, tuple(notes))
    found = _delimited.parse_delimited(text, name, header=header, tabs=suffix in (".tsv", ".tab"))
    said = () if encoding in ("utf-8", "utf-16") else (f"the text is no UTF-8; it was read as {encoding}",)
    return Table(found.frame(), None, name, (*said, *found.notes), found.cells)


def _read_parquet(path: Path, name: str) -> Table:
    """Return the table in a parquet file. ``name`` is the path as text, for error messages."""
    import pandas as pd

    pyarrow = require_pyarrow(name)
    try:
        frame = pd.read_parquet(path)
        # An index with a name, or of other than row numbers, is a column of the user's table.
        if frame.index.name is not None or not isinstance(frame.index, pd.RangeIndex):
            frame = frame.reset_index()
        _check_text(frame, name)
    except (pyarrow.ArrowException, *DAMAGE) as error:
        raise InvalidDataError(f"'{name}' is no readable parquet file: {error}") from error
    return _table_with_unique_names(frame, None, name)


def _check_text(frame: pd.DataFrame, name: str) -> None:
    """Raise an error if a column contains text that is not UTF-8. ``name`` is the file, for error messages."""
    import pandas as pd

    for j, dtype in enumerate(frame.dtypes):
        kind = dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype
        if isinstance(kind, pd.StringDtype):
            column = frame.iloc[:, j]
            values = column.cat.categories if isinstance(dtype, pd.CategoricalDtype) else column
            require_utf8(values.array.__arrow_array__(), frame.columns[j], name)


def _read_npz_table(path: Path, name: str) -> Table:
    """Return the table in an npz file with the arrays X and y. ``name`` is the path as text, for error messages."""
    try:
        parts = read_arrays(path)
    except (*DAMAGE, zipfile.LargeZipFile) as error:
        raise InvalidDataError(f"'{name}' is no readable npz file: {error}") from error
    if "y" not in parts or not ("X" in parts or {"data", "indices", "indptr", "shape"} <= set(parts)):
        there = ", ".join(quote_name(key) for key in list(parts)[:10]) or "nothing"
        raise InvalidDataError(f"'{name}' must hold the arrays X and y; it holds {there}")
    X, y = _densify(parts, name) if "X" not in parts else parts["X"], parts["y"]
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise InvalidDataError(f"'{name}' must hold X of shape (n, m) and y of shape (n,); got {X.shape} and {y.shape}")
    for what, part in (("cell", X), ("label", y)):
        if part.dtype.kind == "U":
            require_text(np.unique(part), f"'{name}': the {what}")
    return _table_with_labels(X, y, parts.get("feature_names"), name)


def _table_with_labels(X: Any, y: Any, given: Any, name: str) -> Table:
    """Return a table of ``X`` and ``y``. ``given`` are the column names in the file, or None."""
    import pandas as pd

    width = X.shape[1]
    names = [str(one) for one in given] if given is not None and given.shape == (width,) else []
    names = names or [f"x{j}" for j in range(width)]
    # Column numbers stand for the names until the end, since names may repeat.
    frame = pd.DataFrame(X, columns=range(width))
    frame[width] = y
    frame.columns = pd.Index([*names, "class"], dtype=object)
    return _table_with_unique_names(frame, width, name)


def _densify(parts: dict[str, Any], name: str) -> Any:
    """Return the dense array of a CSR matrix. Raise `InvalidDataError` if it is too large or not a CSR matrix."""
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


def _table_with_unique_names(frame: pd.DataFrame, target: int | None, name: str) -> Table:
    """Return a table with unique column names. ``target`` is the position of the class column, or None."""
    import pandas as pd

    names, notes = unique_names([str(one) for one in frame.columns])
    require_text(names, f"'{name}': the column")
    frame.columns = pd.Index(names, dtype=object)
    return Table(frame, None if target is None else names[target], name, tuple(notes))


def split_target(
    table: Table, target: str | None = None, *, target_type: str = "classes"
) -> tuple[pd.DataFrame, pd.Series, tuple[str, ...]]:
    """Split a table into features and target. Rows without a target are left out, and a message says so.

    Parameters
    ----------
    table : Table
    target : str, optional
        Name of the target column. By default the column that the file declares.
    target_type : {"classes", "numeric", "auto"}, default="classes"
        What the target is. "auto": a number to predict if a value is no whole number, or if most whole numbers differ.
        The notes then say what it was taken for, if it could be either.

    Returns
    -------
    X : DataFrame
        The features. The index is the row numbers of the table.
    y : Series
        Labels, as whole numbers or text, or float64 for a numeric target. The name of the Series is the target.
    notes : tuple of str

    Raises
    ------
    InvalidDataError
        If the target is not a column. If it should be classes: if it contains numbers that are not whole, has only one
        class, or a different label in every row. If it should be numeric: if it contains text or infinite numbers, is
        constant, or has a single row.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table(pd.DataFrame({"size": [1.5, 2.5, 3.5, 4.5], "kind": ["a", "a", "b", None]}))
    >>> X, y, notes = split_target(table, "kind")
    >>> X.shape, y.tolist(), notes
    ((3, 1), ['a', 'a', 'b'], ("1 row has no label in 'kind' and was left out (row 3)",))
    """
    frame = table.frame
    target = find_target(table, target)
    if frame.shape[1] < 2:
        raise InvalidDataError(f"{quote_name(target)} is the only column: features are needed besides the target")
    labels = frame[target]
    known = labels.notna().to_numpy()
    known_names([target_type], ("auto", "classes", "numeric"), "target type")
    found = _recognize_column(labels[known], target) if target_type == "auto" else target_type
    notes = _missing_targets(known, target, "label" if found == "classes" else "number")
    if found == "numeric" and known.any():
        y = _target_numbers(labels[known], target)
    else:
        y = _class_labels(labels[known], target)
        _check_classes(y, len(frame), target)
    if target_type == "auto":
        notes += _describe_recognition(y, target)
    return frame.drop(columns=target)[known], y, tuple(notes)


def _missing_targets(known: AnyArray, target: str, what: str) -> list[str]:
    """Return a message on the rows without a target, if there are any. ``known`` marks the others."""
    if known.all():
        return []
    count = int((~known).sum())
    first = int(np.flatnonzero(~known)[0])
    no_label = f"no {what} in {quote_name(target)} and"
    one = f"1 row has {no_label} was left out (row {first})"
    return [one if count == 1 else f"{count} rows have {no_label} were left out (the first is row {first})"]


def _recognize_column(labels: pd.Series, target: str) -> str:
    """Return "numeric" or "classes" for a column without missing values. Text that looks like numbers is refused."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(labels.dtype) or isinstance(labels.dtype, pd.CategoricalDtype):
        return "classes"
    if pd.api.types.is_numeric_dtype(labels.dtype):
        # In a file it is an accident whether whole numbers are written as 7 or 7.0.
        whole = looks_numeric(np.unique(labels.to_numpy()), len(labels))
        return "numeric" if whole else recognize_target(labels.to_numpy())
    try:
        return recognize_target(labels.to_numpy(dtype=object))
    except InvalidDataError as error:
        raise InvalidDataError(
            f"the target {quote_name(target)} is text that looks like numbers ({quote_name(labels.iloc[0])}, ...). Say "
            f"what it is: {_switch('numeric')}, or {_switch('classes')}"
        ) from error


def _switch(target_type: str) -> str:
    """Return how the user decides what a target is, in Python and on the command line."""
    return f"target_type={target_type!r} (--target-type {target_type})"


def _describe_recognition(y: pd.Series, target: str) -> list[str]:
    """Return a message on what a target was taken for, if it is numeric or could be."""
    if y.dtype.kind not in "if":
        return []
    number, name = y.nunique(), quote_name(target)
    if y.dtype.kind == "f":
        found = f"the target {name} is taken as a number to predict ({number} values, {y.min():g} to {y.max():g})"
        # Numbers with a fraction are refused as classes, so the switch would not help.
        whole = bool((y.dropna() % 1 == 0).all())
        return [f"{found}; if these are names of classes: {_switch('classes')}" if whole else found]
    if number <= FEW_CLASSES:
        return []
    return [
        f"the target {name} is taken as classes ({number} different whole numbers, {y.min()} to {y.max()}); if it is a "
        f"number to predict: {_switch('numeric')}"
    ]


def _target_numbers(labels: pd.Series, target: str) -> pd.Series:
    """Return a numeric target as float64. Raise `InvalidDataError` if there is text, or if it cannot be predicted."""
    import pandas as pd

    numbers = pd.to_numeric(labels.astype(object), errors="coerce").astype(np.float64)
    if numbers.isna().any():
        strange = labels[numbers.isna()]
        raise InvalidDataError(
            f"the target {quote_name(target)} should be a number, and {len(strange)} of {len(labels)} rows hold text "
            f"({quote_name(strange.iloc[0])}, ...). Correct them, name another column, or take classes: "
            f"{_switch('classes')}"
        )
    try:
        check_numeric_target(numbers.to_numpy())
    except InvalidDataError as error:
        raise InvalidDataError(f"the target {quote_name(target)} cannot be predicted: {error}") from error
    return numbers


def find_target(table: Table, target: str | None = None) -> str:
    """Return the name of the class column: ``target``, or the column that the file declares if ``target`` is None."""
    names = [str(name) for name in table.frame.columns]
    ends = names if len(names) <= 30 else [*names[:20], *names[-5:]]  # classes are often last
    listed = ", ".join(quote_name(name) for name in ends) + (f" (of {len(names)} columns)" if len(names) > 30 else "")
    if target is None and table.target is None:
        raise InvalidDataError(f"which column holds the classes? Name one of {listed}")
    wanted = table.target if target is None else target
    assert wanted is not None
    if wanted not in names:
        close = hint(wanted, names)
        near = f" {close}" if close.startswith("Did") and len(close) < 80 and close.isprintable() else ""
        raise InvalidDataError(f"there is no column {quote_name(wanted)}.{near} The columns are {listed}")
    return wanted


def _class_labels(labels: pd.Series, target: str) -> pd.Series:
    """Return labels as whole numbers or text. Raise `InvalidDataError` if there are numbers that are not whole."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(labels.dtype) or not pd.api.types.is_numeric_dtype(labels.dtype):
        return labels.astype(object).map(str).astype(object)
    numbers = labels.to_numpy(dtype=np.float64)
    if len(numbers) and not (np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()):
        strange = labels[~(np.isfinite(numbers) & (numbers == np.floor(numbers)))].iloc[0]
        raise InvalidDataError(
            f"the target {quote_name(target)} holds measurements ({strange:.6g}, ...), not classes. Name another "
            f"column, turn it into classes, or predict the number: {_switch('numeric')}"
        )
    if len(numbers) and np.abs(numbers).max() >= 2**53:  # such large whole numbers are not exact as floats
        return labels.astype(object).map(str).astype(object)
    return labels.astype(np.int64)


def _check_classes(y: pd.Series, rows: int, target: str) -> None:
    """Raise `InvalidDataError` if there are no labels, only one class, or a different label in every row.

    ``rows`` is the number of rows of the table, including rows without a label.
    """
    if rows == 0:
        raise InvalidDataError("the table has column names and no rows")
    counts = y.value_counts()
    if len(counts) == 0:
        raise InvalidDataError(f"the target {quote_name(target)} is empty: no row has a label")
    if len(counts) == 1:
        raise InvalidDataError(
            f"at least 2 classes are needed; the target {quote_name(target)} has one, {quote_name(counts.index[0])}, "
            f"in all {len(y)} rows"
            if len(y) > 1
            else "at least 2 classes are needed, and the table has 1 row"
        )
    if counts.iloc[0] < 2:
        raise InvalidDataError(
            f"all {len(y)} rows have a label of their own in {quote_name(target)}: it holds no classes, or there are "
            "too few rows. Name another column as target"
            + (f", or predict the number: {_switch('numeric')}" if y.dtype.kind == "i" else "")
        )
