"""Read tables from files: csv, tsv, Excel and OpenDocument sheets, parquet, feather, ARFF, KEEL's .dat and npz."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._io.archive import DAMAGE, read_arrays
from .._io.files import require_pyarrow, require_utf8
from .._names import known_names, quote_name, require_text, unique_names
from ..exceptions import InvalidDataError
from ..tables.cells import describe_columns
from . import _delimited, _sheets
from ._attributes import looks_declared, read_declared
from ._text import BLANKS, decode_text

if TYPE_CHECKING:
    import pandas as pd

TEXT = (".csv", ".tsv", ".txt", ".data", ".tab", ".arff", ".dat")
DENSE_BYTES = 2**30  # a sparse table raises an error if it would need more bytes as a dense table
_WEB_PAGE = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head|body|table|\?xml)", re.I)
#: The first bytes of zip, gzip, parquet, npy, HDF5 and old Excel files: their names may end in anything.
_BINARY = (b"PK\x03\x04", b"\x1f\x8b", b"PAR1", b"\x93NUMPY", b"\x89HDF", b"\xd0\xcf\x11\xe0")


class Reading(dict[str, Any]):
    """How a table was read, in ``frame.attrs["weighbors"]``. Pandas copies attributes often, and this never changes."""

    def __deepcopy__(self, memo: Any) -> Reading:
        return self


@dataclass(frozen=True)
class Table:
    """A table as it was read from a file.

    Parameters
    ----------
    frame : DataFrame
        Columns with unique names. They contain numbers, text or categories, and missing cells are NaN.
    target : str or None
        Name of the class column, if the file declares one.
    notes : tuple of str
        Messages for the user, such as names that were changed.
    column_notes : dict
        Messages on single columns, by their names.
    found : dict
        What was found out about the file, such as its separator.
    """

    frame: pd.DataFrame
    target: str | None = None
    notes: tuple[str, ...] = ()
    column_notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    found: Mapping[str, Any] = field(default_factory=dict)
    _written: Callable[[], pd.DataFrame] | None = field(default=None, repr=False, compare=False)

    def cells(self) -> pd.DataFrame:
        """Return the cells as text, as they are written in a csv or tsv file. For other files, return ``frame``."""
        return self.frame if self._written is None else self._written()

    def all_notes(self) -> list[str]:
        """Return the messages on the file and on its columns."""
        return [
            *self.notes,
            *(f"{quote_name(name)}: {one}" for name, said in self.column_notes.items() for one in said),
        ]


def read_table(
    path: str | os.PathLike[str],
    sheet: str | int | None = None,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    skip: int | None = None,
) -> pd.DataFrame:
    r"""Return the table in a file. The kind of file, and how it is written, is found out unless it is said.

    Parameters
    ----------
    path : path
        A csv, tsv or other separated text file, an Excel or OpenDocument sheet (xlsx, xls, ods; needs the extra
        ``excel``), a parquet or feather file (needs the extra ``parquet``), an ARFF file, a .dat file of KEEL, or an
        npz file with ``X`` and ``y``, or with the parts of a CSR matrix and ``y``.
    sheet : str or int, optional
        Name or number of the sheet, counted from 1. By default the first one that has cells.
    sep : str, optional
        What separates the cells of a text file.
    decimal : {".", ","}, optional
        The decimal sign of written numbers.
    encoding : str, optional
        The encoding of a text file.
    header : bool, optional
        Whether the first line of the table has the names of the columns.
    skip : int, optional
        How many lines stand above the table.

    Returns
    -------
    DataFrame
        Missing cells are NaN. ``frame.attrs["weighbors"]`` says how the file was read: ``source``, ``target`` (the
        class column, if the file declares one), ``notes``, what was found out about the file, and ``columns`` with one
        entry per column: ``name``, ``read_as``, ``missing``, ``examples`` and ``notes``.

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
    >>> _ = path.write_text("size;class\n1,5;a\n<0,5;b\nk.A.;b\n")
    >>> frame = read_table(path)
    >>> frame
       size class
    0   1.5     a
    1   0.5     b
    2   NaN     b
    >>> frame.attrs["weighbors"]["columns"][0]["notes"]
    ["1 cell such as '<0,5' is read as the number behind the sign"]
    """
    table = read_file(path, sheet, sep=sep, decimal=decimal, encoding=encoding, header=header, skip=skip)
    columns = describe_columns(table.frame, table.column_notes)
    table.frame.attrs["weighbors"] = Reading(
        source=os.fspath(path), target=table.target, notes=list(table.notes), **table.found, columns=columns
    )
    return table.frame


def read_file(
    path: str | os.PathLike[str],
    sheet: str | int | None = None,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    skip: int | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Table:
    """Return the table in a file with what was found out about it. Most parameters are those of `read_table`.

    ``kinds`` are "number", "truth" or "category" for columns of which this is known: a model was fitted to them.
    """
    name, place = os.fspath(path), Path(path)
    if place.is_dir():
        raise IsADirectoryError(f"'{name}' is a directory; a file with a table is needed")
    if not place.exists():
        raise FileNotFoundError(f"there is no file '{name}'")
    if decimal is not None:
        known_names([decimal], [".", ","], "decimal sign")
    suffix = place.suffix.lower()
    if suffix in (".parquet", ".pq", ".feather"):
        return _read_arrow(place, name)
    if suffix == ".npz":
        return _read_npz_table(place, name)
    raw = place.read_bytes()
    if _WEB_PAGE.match(raw[:400]):
        raise InvalidDataError(f"'{name}' is a web page or XML, not a table: save the table as csv or xlsx")
    if suffix in _sheets.SUFFIXES:
        found = _sheets.read_sheet(place, name, sheet, decimal=decimal, header=header, skip=skip, kinds=kinds or {})
        return Table(found.frame, None, found.notes, found.column_notes, {"sheet": found.sheet})
    if suffix not in TEXT and raw.startswith(_BINARY):
        raise InvalidDataError(
            f"'{name}' is no text. Tables in csv, tsv, xlsx, xls, ods, parquet, feather, arff, KEEL .dat and npz can "
            "be read, if their names end so"
        )
    text, encoding = decode_text(raw, name, encoding)
    if not text.strip():
        raise InvalidDataError(f"'{name}' is empty: a line of column names and rows below it are needed")
    if suffix == ".arff" or (suffix == ".dat" and looks_declared(text)):
        frame, target, notes = read_declared(text, name)
        return Table(frame, target, tuple(notes))
    separator = {"tab": "\t", "\\t": "\t", "blank": BLANKS, " ": BLANKS}.get(sep or "", sep)
    written = _delimited.parse_delimited(
        text, name, header=header, tabs=suffix in (".tsv", ".tab"), separator=separator, skip=skip
    )
    frame, column_notes = written.frame(decimal, dict(kinds or {}))
    said = (
        () if encoding.lower() in ("utf-8", "utf8", "utf-16") else (f"the text is no UTF-8; it was read as {encoding}",)
    )
    dialect = {"sep": written.dialect.separator, "decimal": decimal or written.dialect.decimal, "encoding": encoding}
    return Table(frame, None, (*said, *written.notes), column_notes, dialect, written.cells)


def _read_arrow(path: Path, name: str) -> Table:
    """Return the table in a parquet or feather file. ``name`` is the path as text, for error messages."""
    import pandas as pd

    pyarrow = require_pyarrow(name)
    try:
        frame = pd.read_feather(path) if path.suffix.lower() == ".feather" else pd.read_parquet(path)
        # An index with a name, or of other than row numbers, is a column of the user's table.
        if frame.index.name is not None or not isinstance(frame.index, pd.RangeIndex):
            frame = frame.reset_index()
        _check_text(frame, name)
    except (pyarrow.ArrowException, *DAMAGE) as error:
        raise InvalidDataError(f"'{name}' is no readable {path.suffix.lower()[1:]} file: {error}") from error
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
    frame.attrs.clear()  # those of another program
    return Table(frame, None if target is None else names[target], tuple(notes))
