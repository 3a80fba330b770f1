"""Reading and writing of tables, which all commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ._errors import UsageError
from ._say import notes

if TYPE_CHECKING:
    import pandas as pd

    from ..datasets import Table


def read_data(path: Path, header: bool) -> Table:
    """Return the table in a file, and print the messages about it. ``header``: the first line has column names."""
    from ..datasets import read_table

    table = read_table(path, header=header)
    notes(table.notes)
    return table


def is_numeric(y: pd.Series) -> bool:
    """Return whether `split_labels` found a numeric target. Labels are whole numbers or text."""
    return bool(y.dtype.kind == "f")


def split_labels(table: Table, target: str | None, target_type: str = "auto") -> tuple[pd.DataFrame, pd.Series]:
    """Split a table into features and target, and print how the target was interpreted.

    ``target_type`` is as in `split_target`. Raise `UsageError` if the target is not a column.
    """
    from ..datasets import split_target
    from ..datasets.readers import find_target
    from ..exceptions import InvalidDataError

    try:
        name = find_target(table, target)
    except InvalidDataError as problem:
        raise UsageError(f"{problem}" if target else f"{problem}, with --target") from problem
    X, y, said = split_target(table, name, target_type=target_type)
    notes(said)
    return X, y


def split_groups(X: pd.DataFrame, groups: str | None) -> tuple[pd.DataFrame, pd.Series | None]:
    """Split the column of groups off the features."""
    if groups is None:
        return X, None
    from .._names import known_names
    from ..exceptions import InvalidDataError

    try:
        known_names([groups], [str(name) for name in X.columns], "column")
    except InvalidDataError as problem:
        raise UsageError(str(problem)) from problem
    if X[groups].isna().any():
        raise InvalidDataError(f"{int(X[groups].isna().sum())} rows have no group in column '{groups}'")
    return X.drop(columns=groups), X[groups].astype(str)


def check_output(path: Path | None, *, force: bool, inputs: tuple[Path, ...] = ()) -> None:
    """Raise `UsageError` if the output file cannot or must not be written. Commands call this before any work."""
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"'{path}' is a directory; name a file to write to")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"the directory of '{path}' does not exist: create it first")
    if not path.exists():
        return
    # The table has not been read yet, and writing would destroy it.
    if any(one.exists() and path.samefile(one) for one in inputs):
        raise UsageError(f"'{path}' is the input file; name another file to write to")
    if not path.is_file():
        raise UsageError(f"'{path}' is not a regular file; name one to write to")
    if not force:
        raise UsageError(f"'{path}' exists already; --force overwrites it")


def check_directory(path: Path | None) -> None:
    """Raise `UsageError` if the directory of data sets does not exist."""
    if path is not None and not path.is_dir():
        raise UsageError(f"there is no directory '{path}'")


def check_format(path: Path | None) -> None:
    """Raise an error if the ending of a file name is unknown, or if a package for its format is missing."""
    if path is not None and path.suffix.lower() not in (".csv", ".tsv", ".parquet"):
        raise UsageError(f"'{path}' should end in .csv, .tsv or .parquet, so that the format is known")
    if path is not None and path.suffix.lower() == ".parquet":
        from .._io.files import require_pyarrow

        require_pyarrow(path.name)


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a table to a file, in an atomic write. The format follows from the ending of its name."""
    import io

    from .._io.files import atomic_write

    # The table is written to memory first: an error then leaves no file behind.
    buffer = io.BytesIO()
    if path.suffix.lower() == ".parquet":
        frame.to_parquet(buffer, index=False)
    else:
        separator = "\t" if path.suffix.lower() == ".tsv" else ","
        frame.to_csv(buffer, index=False, sep=separator, lineterminator="\n", encoding="utf-8")
    with atomic_write(path) as file:
        file.write(buffer.getvalue())
