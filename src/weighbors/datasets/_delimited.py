"""Tables of separated cells: csv, tsv and their kin."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..exceptions import InvalidDataError
from ._text import BLANKS, Dialect, dialect_of, records, shown, unique_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Delimited", "opened"]

MISSING = ["?"]  # besides what pandas takes for a missing cell


@dataclass(frozen=True)
class Delimited:
    """A text table that was looked through: every record has the header's number of cells."""

    text: str
    dialect: Dialect
    names: list[str]
    header: bool
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Columns of numbers where all their cells are, otherwise of text; missing cells as NaN."""
        return self._parsed(na_values=MISSING, decimal=self.dialect.decimal)

    def cells(self) -> pd.DataFrame:
        """The cells as they are written, all text."""
        return self._parsed(dtype=object, na_filter=False)

    def _parsed(self, **options: Any) -> pd.DataFrame:
        import pandas as pd

        if options.get("dtype") is object:
            options["dtype"] = dict.fromkeys(self.names, object)
        try:
            return pd.read_csv(
                io.StringIO(self.text),
                sep=self.dialect.separator,
                header=0 if self.header else None,
                names=self.names,
                index_col=False,
                skipinitialspace=self.dialect.separator != "\t",
                low_memory=False,
                **options,
            )
        except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise InvalidDataError(f"the table cannot be read: {error}. Look for a quote that is not closed") from error


def opened(text: str, name: str, *, header: bool = True, tabs: bool = False) -> Delimited:
    """Find the dialect and check that all records have the same number of cells.

    Raises
    ------
    InvalidDataError
        Where there is nothing, or a record is longer or shorter than the header.
    """
    try:
        dialect = dialect_of(text, tabs=tabs)
        first, widths = _widths(text, dialect.separator, header)
    except csv.Error as error:
        raise InvalidDataError(f"'{name}' cannot be read as a table: {error}") from error
    if not first:
        raise InvalidDataError(f"'{name}' is empty: a line of column names and rows below it are needed")
    names = [cell.strip() for cell in first] if header else [f"x{j}" for j in range(len(first))]
    if widths and set(widths) == {len(first) + 1}:  # R leaves the names of the rows without a name
        names = ["row name", *names]
        widths = {}
    strange = next(((width, line) for width, line in widths.items() if width != len(names)), None)
    if strange is not None:
        cells = "1 cell" if strange[0] == 1 else f"{strange[0]} cells"
        raise InvalidDataError(
            f"line {strange[1]} of '{name}' has {cells} where the {'header' if header else 'first line'} has "
            f"{len(names)}. Is it cut off, or is a separator inside a cell without quotes? "
            f"(cells are separated by {_spoken(dialect.separator)})"
        )
    unique, notes = unique_names(names)
    if header and all(_is_number(cell) for cell in names):
        notes.append("the first line holds only numbers and was taken for the names of the columns")
    return Delimited(text, dialect, unique, header, tuple(notes))


def _widths(text: str, separator: str, header: bool) -> tuple[list[str], dict[int, int]]:
    """The first record, and the line of the first record below it of every width."""
    first: list[str] = []
    widths: dict[int, int] = {}
    for line, cells in records(text, separator):
        if not first:
            first = cells
            if header:
                continue
        if len(cells) not in widths:
            widths[len(cells)] = line
    return first, widths


def _spoken(separator: str) -> str:
    return {"\t": "tabs", BLANKS: "blanks"}.get(separator, shown(separator))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
