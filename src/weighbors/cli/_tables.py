"""Tables in, tables out: what the commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ._errors import UsageError
from ._say import notes

if TYPE_CHECKING:
    import pandas as pd

    from ..datasets import Table

__all__ = ["check_directory", "check_format", "check_output", "labelled", "opened", "write_frame"]


def opened(path: Path, header: bool) -> Table:
    """The table in a file; what is odd about it is said."""
    from ..datasets import read_table

    table = read_table(path, header=header)
    notes(table.notes)
    return table


def labelled(table: Table, target: str | None) -> tuple[pd.DataFrame, pd.Series]:
    """Features and labels; a target that is not there is an error of usage."""
    from ..datasets import split_target
    from ..datasets.readers import target_of
    from ..exceptions import InvalidDataError

    try:
        name = target_of(table, target)
    except InvalidDataError as problem:
        raise UsageError(f"{problem}" if target else f"{problem}, with --target") from problem
    X, y, said = split_target(table, name)
    notes(said)
    return X, y


def check_output(path: Path | None, *, force: bool, inputs: tuple[Path, ...] = ()) -> None:
    """Refuse, before any work is done, a place that cannot or must not be written."""
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"'{path}' is a directory; name a file to write to")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"the directory of '{path}' is not there: make it first")
    if not path.exists():
        return
    if any(one.exists() and path.samefile(one) for one in inputs):
        raise UsageError(f"'{path}' is what is read; name another file to write to")
    if not path.is_file():
        raise UsageError(f"'{path}' is no regular file; name one to write to")
    if not force:
        raise UsageError(f"'{path}' is there already; --force overwrites it")


def check_directory(path: Path | None) -> None:
    """Refuse a directory of data sets that is not there."""
    if path is not None and not path.is_dir():
        raise UsageError(f"there is no directory '{path}'")


def check_format(path: Path | None) -> None:
    """Refuse, before any work is done, a name that tells no format of a table, or one that cannot be written."""
    if path is not None and path.suffix.lower() not in (".csv", ".tsv", ".parquet"):
        raise UsageError(f"'{path}' should end in .csv, .tsv or .parquet, so that the format is known")
    if path is not None and path.suffix.lower() == ".parquet":
        from .._files import require_pyarrow

        require_pyarrow(path.name)


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a table in the format its name tells, whole or not at all."""
    import io

    from .._files import written_whole

    buffer = io.BytesIO()
    if path.suffix.lower() == ".parquet":
        frame.to_parquet(buffer, index=False)
    else:
        separator = "\t" if path.suffix.lower() == ".tsv" else ","
        frame.to_csv(buffer, index=False, sep=separator, lineterminator="\n", encoding="utf-8")
    with written_whole(path) as file:
        file.write(buffer.getvalue())
