"""Reading and writing of tables and models, which all commands share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ._errors import UsageError
from ._options import FileOptions, TableOptions
from ._say import notes

if TYPE_CHECKING:
    import pandas as pd

    from ..datasets.readers import Table
    from ..models import TableClassifier, TableRegressor
    from ..tables import CleanTable
    from ..tables.cleaning import LeftOut


class TrainingTable(NamedTuple):
    """A table to learn from, with its target and its groups apart from the features."""

    table: Table
    X: pd.DataFrame
    y: pd.Series
    groups: pd.Series | None

    @property
    def numeric(self) -> bool:
        """Whether the target is a number to predict. Labels of classes are whole numbers or text."""
        return bool(self.y.dtype.kind == "f")

    @property
    def target_type(self) -> str:
        """The type of the target as estimators call it."""
        return "numeric" if self.numeric else "classes"

    def clean(self, options: TableOptions) -> CleanTable:
        """Return the features that can be used, and print which were left out or changed."""
        from ..tables import clean_table

        clean = clean_table(self.X, keep=options.keep or (), drop=options.drop or ())
        notes([*map(str, clean.left_out), *clean.notes])
        return clean


def read_file(options: FileOptions, kinds: Mapping[str, str] | None = None) -> Table:
    """Return the table in a file, and print the messages about it.

    ``kinds`` are "number", "truth" or "category" for columns of which this is known.
    """
    from ..datasets.readers import read_file as read

    wanted = {name: getattr(options, name) for name in ("sheet", "sep", "decimal", "encoding", "header", "skip")}
    table = read(options.data, **wanted, kinds=kinds)
    notes(table.all_notes())
    return table


def read_new_rows(options: FileOptions, model: Any) -> pd.DataFrame:
    """Return the table in a file. Its columns are read as what they were when the model was fitted."""
    from .._names import known_names
    from ..exceptions import InvalidDataError

    dtypes = model._table.dtypes
    kinds = {str(name): _kind_of(dtype) for name, dtype in dtypes.items() if name not in model._reader.dates}
    frame = read_file(options, kinds).frame
    try:
        return frame.drop(columns=known_names(options.drop or (), frame.columns, "column"))
    except InvalidDataError as problem:
        raise UsageError(f"--drop: {problem}") from problem


def _kind_of(dtype: Any) -> str:
    """Return what a cleaned column holds: "number", "truth" or "category"."""
    if str(dtype) != "category":
        return "number"
    return "truth" if {*dtype.categories} <= {"True", "False"} else "category"


def read_training(options: TableOptions, groups: str | None = None) -> TrainingTable:
    """Return the table in a file with its target and groups, and print how they were interpreted.

    Raise `UsageError` if ``--target`` or ``groups`` is not a column.
    """
    from .._names import known_names
    from ..datasets import split_target
    from ..datasets.targets import find_target
    from ..exceptions import InvalidDataError

    table = read_file(options)
    try:
        target = find_target(table.frame, options.target or table.target)
    except InvalidDataError as problem:
        raise UsageError(f"{problem}" if options.target else f"{problem}, with --target") from problem
    X, y, said = split_target(table.frame, target, target_type=options.target_type)
    notes(said)
    if groups is None:
        return TrainingTable(table, X, y, None)
    try:
        known_names([groups], [str(name) for name in X.columns], "column")
    except InvalidDataError as problem:
        raise UsageError(str(problem)) from problem
    if X[groups].isna().any():
        raise InvalidDataError(f"{int(X[groups].isna().sum())} rows have no group in column '{groups}'")
    return TrainingTable(table, X.drop(columns=groups), y, X[groups].astype(str))


def describe_left_out(columns: Iterable[LeftOut]) -> list[dict[str, str]]:
    """Describe columns that were left out, for JSON output."""
    return [{"name": column.name, "reason": column.reason} for column in columns]


def load_model(path: Path) -> TableClassifier | TableRegressor:
    """Return the model in a file that ``weighbors fit`` or ``save`` wrote.

    Raise `ModelFileError` if the file is damaged, was changed, or is not a model file.
    """
    from ..models import TableClassifier, TableRegressor
    from ..models.table_file import kind_in_file

    # If the file is not a model file, the load function of the classifier raises the error.
    return TableRegressor.load(path) if kind_in_file(path) == "TableRegressor" else TableClassifier.load(path)


def split_known_target(model: Any, table: pd.DataFrame) -> tuple[pd.Series | None, pd.DataFrame]:
    """Return the target of new rows, if the table has it, and the other columns. It has its name in the training."""
    name = model._target_name
    if name is None or name not in table.columns:
        return None, table
    return table[name], table.drop(columns=name)


def check_output(path: Path | None, *, force: bool, inputs: tuple[Path, ...] = (), formats: str = "") -> None:
    """Raise `UsageError` if the output file cannot or must not be written. Commands call this before any work.

    ``formats`` are the endings that its name may have, apart by blanks; by default it may have any.
    """
    if path is None:
        return
    known = formats.split()
    if known and path.suffix.lower() not in known:
        raise UsageError(f"'{path}' should end in {', '.join(known[:-1])} or {known[-1]}, so that the format is known")
    if path.is_dir():
        raise UsageError(f"'{path}' is a directory; name a file to write to")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"the directory of '{path}' does not exist: create it first")
    if path.exists():
        # The table has not been read yet, and writing would destroy it.
        if any(one.exists() and path.samefile(one) for one in inputs):
            raise UsageError(f"'{path}' is the input file; name another file to write to")
        if not path.is_file():
            raise UsageError(f"'{path}' is not a regular file; name one to write to")
        if not force:
            raise UsageError(f"'{path}' exists already; --force overwrites it")
    if path.suffix.lower() == ".parquet":
        from .._io.files import require_pyarrow

        require_pyarrow(path.name)


def check_directory(path: Path | None) -> None:
    """Raise `UsageError` if the directory of data sets does not exist."""
    if path is not None and not path.is_dir():
        raise UsageError(f"there is no directory '{path}'")


#: Endings of the tables that `write_frame` writes.
TABLES = ".csv .tsv .parquet"


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a table to a file, in an atomic write. The format follows from the ending of its name."""
    import io

    # The table is written to memory first: an error then leaves no file behind.
    buffer = io.BytesIO()
    if path.suffix.lower() == ".parquet":
        frame.to_parquet(buffer, index=False)
    else:
        separator = "\t" if path.suffix.lower() == ".tsv" else ","
        frame.to_csv(buffer, index=False, sep=separator, lineterminator="\n", encoding="utf-8")
    write_bytes(buffer.getvalue(), path)


def write_bytes(content: bytes, path: Path) -> None:
    """Write a file in an atomic write."""
    from .._io.files import atomic_write

    with atomic_write(path) as file:
        file.write(content)
