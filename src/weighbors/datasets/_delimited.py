"""Read tables whose cells are separated by a character: csv, tsv and similar text files."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._names import quote_name, unique_names
from ..exceptions import InvalidDataError
from ._text import BLANKS, Dialect, find_dialect, iterate_records

if TYPE_CHECKING:
    import pandas as pd

MISSING = ["?"]  # in addition to the texts that pandas reads as missing


@dataclass(frozen=True)
class Delimited:
    """A text table in which all records have the same number of cells."""

    text: str
    dialect: Dialect
    names: list[str]
    header: bool
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return the table. A column is numeric if all its cells are numbers or missing. Missing cells are NaN."""
        return self._parse(na_values=MISSING, decimal=self.dialect.decimal)

    def cells(self) -> pd.DataFrame:
        """Return the table with all cells as text, as they are written in the file."""
        return self._parse(dtype=object, na_filter=False)

    def _parse(self, **options: Any) -> pd.DataFrame:
        """Return the table, parsed by pandas with these options of ``read_csv``."""
        import pandas as pd

        if options.get("dtype") is object:
            options["dtype"] = dict.fromkeys(self.names, object)
        try:
            return read_exact_csv(
                io.StringIO(self.text),
                sep=self.dialect.separator,
                header=0 if self.header else None,
                names=self.names,
                index_col=False,
                # A cell of a tab-separated file may be empty or begin with a blank.
                skipinitialspace=self.dialect.separator != "\t",
                low_memory=False,
                **options,
            )
        except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise InvalidDataError(f"the table cannot be read: {error}. Look for a quote that is not closed") from error


def read_exact_csv(source: Any, **options: Any) -> pd.DataFrame:
    """Return the table of a file or stream, in which every number is the float that is nearest to its text.

    ``options`` are those of ``pandas.read_csv``. Before version 3.1, pandas may be wrong in the last bit unless it is
    told otherwise; from then on it needs no telling, and warns of it.
    """
    import pandas as pd

    if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1):
        options["float_precision"] = "round_trip"
    return pd.read_csv(source, **options)


def parse_delimited(text: str, name: str, *, header: bool = True, tabs: bool = False) -> Delimited:
    """Find the separator and the decimal sign, and check that all records have the same number of cells.

    ``header`` tells whether the first record contains the column names. If ``tabs`` is true, the tab is preferred as
    separator. ``name`` is the file, for error messages.

    Raises
    ------
    InvalidDataError
        If the text is empty, or if a record has more or fewer cells than the header.
    """
    try:
        dialect = find_dialect(text, tabs=tabs)
        first, widths = _record_widths(text, dialect.separator, header)
    except csv.Error as error:
        raise InvalidDataError(f"'{name}' cannot be read as a table: {error}") from error
    if not first:
        raise InvalidDataError(f"'{name}' is empty: a line of column names and rows below it are needed")
    names = [cell.strip() for cell in first] if header else [f"x{j}" for j in range(len(first))]
    if widths and set(widths) == {len(first) + 1}:  # files of R have no name for the column of row names
        names = ["row name", *names]
        widths = {}
    # One record of another width shows that a separator or a quote was misread, and then no column can be trusted.
    strange = next(((width, line) for width, line in widths.items() if width != len(names)), None)
    if strange is not None:
        cells = "1 cell" if strange[0] == 1 else f"{strange[0]} cells"
        raise InvalidDataError(
            f"line {strange[1]} of '{name}' has {cells} where the {'header' if header else 'first line'} has "
            f"{len(names)}. Is it cut off, or is a separator inside a cell without quotes? "
            f"(cells are separated by {_separator_name(dialect.separator)})"
        )
    unique, notes = unique_names(names)
    if header and all(_is_number(cell) for cell in names):
        notes.append("the first line holds only numbers and was taken for the names of the columns")
    return Delimited(text, dialect, unique, header, tuple(notes))


def _record_widths(text: str, separator: str, header: bool) -> tuple[list[str], dict[int, int]]:
    """Return the first record, and for each number of cells the first line that has it.

    If ``header`` is true, the first record is not counted.
    """
    first: list[str] = []
    widths: dict[int, int] = {}
    for line, cells in iterate_records(text, separator):
        if not first:
            first = cells
            if header:
                continue
        if len(cells) not in widths:
            widths[len(cells)] = line
    return first, widths


def _separator_name(separator: str) -> str:
    """Return the name of a separator for an error message."""
    return {"\t": "tabs", BLANKS: "blanks"}.get(separator, quote_name(separator))


def _is_number(cell: str) -> bool:
    """Return whether a cell can be read as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
