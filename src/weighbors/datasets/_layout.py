"""Find out which lines of a file are rows of its table, and which are titles, names, units or remarks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .._names import quote_name
from ..tables.cells import is_missing, is_number
from ._text import MOST_TITLES

_MARKED = re.compile(r"\s*(?:[*†‡§¹²³#]|\(?[a-z0-9]\)\s|(?:note|source|quelle|anmerkung|hinweis|legende?)\b)", re.I)
_UNIT = re.compile(r"[\[(]?[A-Za-zµμ°%‰€$Ω/][^\s]{0,11}(?: ?[/·*] ?\S{1,8})?[\])]?|[\[(].{1,16}[\])]|-|1|")


class Layout(NamedTuple):
    """What the first records of a file are."""

    titles: int  # how many stand above the table
    header: bool  # whether the first of the others has the names of the columns
    units: bool  # whether a row of units follows
    notes: tuple[str, ...]


def find_layout(records: Sequence[Sequence[str]], header: bool | None, *, titles: bool = True) -> Layout:
    """Return what the first records of a file are.

    Parameters
    ----------
    records : sequence of lists of text
    header : bool or None
        Whether there are names of columns. None means that it is found out.
    titles : bool, default=True
        Whether there may be titles above the table.
    """
    notes: list[str] = []
    above = _count_titles(records) if titles else 0
    if above:
        first = next(cell for cell in records[0] if cell.strip())
        lines = "the first line is" if above == 1 else f"the first {above} lines are"
        notes.append(f"{lines} above the table and no row ({quote_name(first)})")
    # Remarks below a short table fill one cell.
    rest = [
        *records[above : above + 2],
        *(row for row in records[above + 2 :] if len(row) < 2 or _count_filled(row) > 1),
    ]
    if header is None and len(rest) > 1:
        header = not _looks_like_row(rest[0], rest[1:])
        if not header:
            notes.append(
                f"the first line ({', '.join(quote_name(cell, 12) for cell in rest[0][:3])}, ...) is taken as a row, "
                "since it looks like the others; if it has the names of the columns, say so (--header)"
            )
        elif all(is_number(cell) for cell in rest[0]):
            notes.append("the first line holds only numbers and was taken for the names of the columns")
    header = header is not False
    units = header and len(rest) > 3 and _is_row_of_units(rest[1], rest[2:])
    if units:
        shown = ", ".join(quote_name(cell.strip(), 12) for cell in rest[1] if cell.strip())
        notes.append(f"the line below the names has units ({shown[:80]}) and is no row")
    return Layout(above, header, units, tuple(notes))


def is_footnote(cells: Sequence[str], width: int, *, sure: bool) -> bool:
    """Return whether a record below a table of ``width`` columns is a remark: text in its first cell alone.

    ``sure``: its place or its width shows that it is no row. Otherwise it must begin as a remark does.
    """
    text = cells[0].strip()
    if width < 2 or any(cell.strip() for cell in cells[1:]) or sum(char.isalpha() for char in text) < 2:
        return False
    return _MARKED.match(text) is not None or (sure and " " in text)


def _count_filled(cells: Sequence[str]) -> int:
    """Return how many cells of a record are filled."""
    return sum(bool(cell.strip()) for cell in cells)


def is_blank(cells: Sequence[str]) -> bool:
    """Return whether no cell of a record is filled."""
    return not any(cell.strip() for cell in cells)


def _count_titles(records: Sequence[Sequence[str]]) -> int:
    """Return how many records stand above the names of the columns: few of their cells are filled."""
    widths = [len(cells) for cells in records]
    usual = max(set(widths), key=lambda width: (widths.count(width), width))
    if usual < 2:
        return 0
    for number, cells in enumerate(records[:MOST_TITLES]):
        filled = _count_filled(cells)
        # In a narrow table, a cell alone may be a row that is cut off: only the line itself can tell then.
        if filled > max(1, usual // 3) or (usual < 3 and len(cells) == usual):
            return number
    return 0


def _looks_like_row(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Return whether the first record is a row: it has numbers, and its texts occur again in their columns.

    Numbers that increase, such as wavelengths or years, are names of columns.
    """
    numbers = [is_number(cell) for cell in first]
    if not any(numbers) or len(first) < 2:
        return False
    values = [float(cell) for cell, number in zip(first, numbers, strict=True) if number and _is_plain(cell)]
    if all(numbers) and values == sorted(set(values)):
        return False
    for j, cell in enumerate(first):
        column = [row[j].strip() for row in others if j < len(row)]
        if not numbers[j] and cell.strip() and cell.strip() not in column:
            return False
        # A number as the name of a column of text, such as a year, is no cell of it.
        if numbers[j] and sum(is_number(one) or is_missing(one) for one in column) < 0.9 * len(column):
            return False
    return sum(numbers) * 2 >= len(first) - 1


def _is_plain(cell: str) -> bool:
    """Return whether Python reads a cell as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_row_of_units(cells: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Return whether a record has units: short text, and no number, in columns that hold numbers below."""
    found, beside = 0, 0
    for j, cell in enumerate(cells):
        column = [row[j] for row in others if j < len(row) and not is_missing(row[j])]
        numbers = bool(column) and sum(is_number(one) for one in column) >= 0.9 * len(column)
        if not numbers:
            beside += bool(cell.strip())
        elif is_number(cell) or (cell.strip() and _UNIT.fullmatch(cell.strip()) is None):
            return False
        else:
            found += not is_missing(cell)
    # One word above numbers may be a cell that is no number. Beside an otherwise empty line it is a unit.
    return found >= 2 or (found == 1 and not beside)
