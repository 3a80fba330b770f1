"""Read a sheet of an Excel or OpenDocument file."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._names import hint, quote_name, unique_names
from ..exceptions import InvalidDataError, MissingDependencyError
from ..tables.cells import read_column
from ._layout import find_layout, is_footnote

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_HEAD, _TAIL = 200, 20  # how many rows at both ends are inspected for lines that are no rows of the table


class Sheet(NamedTuple):
    """The table in a sheet."""

    frame: pd.DataFrame
    sheet: str
    notes: tuple[str, ...]
    column_notes: dict[str, tuple[str, ...]]


def read_sheet(
    path: Path,
    name: str,
    sheet: str | int | None,
    *,
    decimal: str | None,
    header: bool | None,
    skip: int | None,
    kinds: Mapping[str, str],
) -> Sheet:
    """Return the table in a sheet. The parameters are those of `read_file`, and ``name`` is the path in messages."""
    import pandas as pd

    if find_spec("python_calamine") is None:
        raise MissingDependencyError(
            f"sheets need python-calamine, and '{name}' has some: pip install 'weighbors[excel]', or save one as csv"
        )
    try:
        with pd.ExcelFile(path, engine="calamine") as book:
            chosen, grid, others = _choose_sheet(book, sheet, name)
    except InvalidDataError:
        raise
    except Exception as error:  # the reader has its own error classes
        protected = "password" in str(error).lower() or "encrypt" in str(error).lower()
        why = "it is protected by a password: save it without one" if protected else str(error)
        raise InvalidDataError(f"'{name}' cannot be read as a sheet: {why}") from error
    notes = [f"the sheet {quote_name(chosen)} was read; others are {_listed(others)} (--sheet)"] if others else []
    cells = grid.to_numpy(dtype=object)[skip or 0 :]
    filled = cells != ""
    width = int(filled.any(axis=0).nonzero()[0].max(initial=-1)) + 1
    cells, filled = cells[:, :width], filled[:, :width].astype(bool)
    cells = cells[filled.any(axis=1)]
    if not len(cells):
        raise InvalidDataError(f"the sheet {quote_name(chosen)} of '{name}' is empty")
    layout = find_layout([_as_text(row) for row in cells[:_HEAD]], header, titles=skip is None)
    notes += layout.notes
    first = _as_text(cells[layout.titles])
    names = [cell.strip() for cell in first] if layout.header else [f"x{j}" for j in range(width)]
    body = cells[layout.titles + layout.header + layout.units :]
    end = len(body)
    while end > max(1, len(body) - _TAIL) and is_footnote(_as_text(body[end - 1]), width, sure=False):
        end -= 1
    if end < len(body):
        notes.append(f"the last {len(body) - end} rows are below the table and no row ({quote_name(body[end][0])})")
    unique, changed = unique_names(names)
    columns: dict[str, Any] = {}
    column_notes: dict[str, tuple[str, ...]] = {}
    for j, column in enumerate(unique):
        columns[column], said = _read_cells(body[:end, j], decimal, kinds.get(column, ""))
        if said:
            column_notes[column] = said
    frame = pd.DataFrame(columns, columns=pd.Index(unique, dtype=object))
    return Sheet(frame, chosen, (*notes, *changed), column_notes)


def _choose_sheet(book: Any, sheet: str | int | None, name: str) -> tuple[str, pd.DataFrame, list[str]]:
    """Return the name of the sheet, its cells, and the names of other sheets if none was wanted."""
    names = [str(one) for one in book.sheet_names]
    if sheet is not None:
        number = int(sheet) - 1 if str(sheet).isdecimal() else -1
        wanted = str(sheet) if str(sheet) in names else names[number] if 0 <= number < len(names) else None
        if wanted is None:
            raise InvalidDataError(f"'{name}' has no sheet {quote_name(sheet)}. {hint(sheet, names)}")
        return wanted, _parse_sheet(book, wanted), []
    for one in names:
        grid = _parse_sheet(book, one)
        if grid.size and (grid != "").to_numpy().any():
            return one, grid, [other for other in names if other != one]
    raise InvalidDataError(f"'{name}' has no sheet with cells")


def _parse_sheet(book: Any, sheet: str) -> pd.DataFrame:
    """Return all cells of a sheet: text, numbers, truth values and dates; an empty cell is an empty text."""
    import pandas as pd

    return pd.read_excel(book, sheet, header=None, dtype=object, na_filter=False)


def _as_text(row: Any) -> list[str]:
    """Return the cells of a row as text."""
    return [str(cell) for cell in row]


def _read_cells(cells: Any, decimal: str | None, kind: str) -> tuple[Any, tuple[str, ...]]:
    """Return a column of cells, and notes on it. Columns of numbers alone, which most are, need no closer look."""
    import pandas as pd

    if kind not in ("category", "truth"):
        plain = np.array([type(cell) is float or type(cell) is int or cell == "" for cell in cells], dtype=bool)
        if plain.all() and len(cells):
            numbers = np.array([np.nan if cell == "" else cell for cell in cells], dtype=object)
            return pd.Series(numbers).infer_objects().to_numpy(), ()
    found = read_column(pd.Series(cells, dtype=object), decimal=decimal, forced=decimal is not None, kind=kind)
    return found.cells, found.notes


def _listed(names: list[str]) -> str:
    """Return some names for a message."""
    return ", ".join(quote_name(one, 20) for one in names[:4]) + (", ..." if len(names) > 4 else "")
