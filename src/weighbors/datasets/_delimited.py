"""Read tables whose cells are separated by a character: csv, tsv and similar text files."""

from __future__ import annotations

import csv
import io
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._names import quote_name, unique_names
from ..exceptions import InvalidDataError
from ..tables.cells import read_column
from ._layout import find_layout, is_blank, is_footnote
from ._text import BLANKS, Dialect, find_dialect, iterate_records

if TYPE_CHECKING:
    import pandas as pd

#: Texts that are missing among numbers. Columns of text are read again, as they are written.
MISSING = [
    *(
        "?",
        "-",
        "--",
        ".",
        "–",
        "k.A.",
        "k. A.",
        "n.a.",
        "N.A.",
        "n.d.",
        "N.D.",
        "na",
        "<null>",
        "#NV",
        "#WERT!",
        "#VALUE!",
    ),
    *(
        "#REF!",
        "#BEZUG!",
        "#DIV/0!",
        "#NUM!",
        "#ZAHL!",
        "#NAME?",
        "#NULL!",
        "unknown",
        "Unknown",
        "unbekannt",
        "missing",
    ),
]
_HEAD, _TAIL = 200, 20  # how many records at both ends are inspected for lines that are no rows


@dataclass(frozen=True)
class Delimited:
    """A text table in which all records have the same number of cells."""

    text: str
    dialect: Dialect
    names: list[str]
    notes: tuple[str, ...]
    unused: bool  # whether every line ends with a separator, so that there is a last column without cells

    def frame(self, decimal: str | None, kinds: dict[str, str]) -> tuple[pd.DataFrame, dict[str, tuple[str, ...]]]:
        """Return the table, and notes on its columns. Missing cells are NaN.

        ``decimal`` is the decimal sign if the user says it. ``kinds`` are kinds of columns that are known, as
        in `read_column`.
        """
        known = decimal or self.dialect.decimal
        frame = self._parse(na_values=MISSING, decimal=known or ".")
        texts = [
            name
            for name in frame.columns
            if frame[name].dtype.kind not in "iufb" or kinds.get(name) in ("category", "truth")
        ]
        if known is None:
            texts += [name for name in frame.columns if name not in texts and _may_be_thousands(frame[name])]
        notes: dict[str, tuple[str, ...]] = {}
        if not texts:
            return frame, notes
        written = self._parse(texts, dtype=object, na_filter=False)
        for name in texts:
            found = read_column(written[name], decimal=known, forced=decimal is not None, kind=kinds.get(name, ""))
            frame[name], notes[name] = found.cells, found.notes
        return frame, notes

    def cells(self) -> pd.DataFrame:
        """Return the table with all cells as text, as they are written in the file."""
        return self._parse(dtype=object, na_filter=False)

    def _parse(self, wanted: list[str] | None = None, **options: Any) -> pd.DataFrame:
        """Return the table, or the columns ``wanted``, parsed by pandas with these options of ``read_csv``."""
        import pandas as pd

        wanted = self.names if wanted is None else wanted
        if not self.text.strip():
            return pd.DataFrame(columns=pd.Index(wanted, dtype=object), dtype=object)
        if options.get("dtype") is object:
            options["dtype"] = dict.fromkeys(wanted, object)
        try:
            return read_exact_csv(
                io.StringIO(self.text),
                sep=self.dialect.separator,
                header=None,
                names=[*self.names, "\0"] if self.unused else self.names,
                usecols=wanted,
                index_col=False,
                # A cell of a tab-separated file may be empty or begin with a blank.
                skipinitialspace=self.dialect.separator != "\t",
                low_memory=False,
                **options,
            )
        except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise InvalidDataError(f"the table cannot be read: {error}. Look for a quote that is not closed") from error


def _may_be_thousands(column: pd.Series) -> bool:
    """Return whether all fractions of a column have three digits and whole numbers are beside: 1.386 and 993."""
    if column.dtype.kind != "f":
        return False
    values = np.abs(column.to_numpy()[np.isfinite(column.to_numpy())])
    fractions = values[values != np.floor(values)]
    thousandths = fractions * 1000
    three = np.abs(thousandths - np.round(thousandths)) < 1e-6
    return 0 < len(fractions) < len(values) and bool(three.all() and (fractions >= 1).all())


def read_exact_csv(source: Any, **options: Any) -> pd.DataFrame:
    """Return the table of a file or stream, in which every number is the float that is nearest to its text.

    ``options`` are those of ``pandas.read_csv``. Before version 3.1, pandas may be wrong in the last bit unless it is
    told otherwise; from then on it needs no telling, and warns of it.
    """
    import pandas as pd

    if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1):
        options["float_precision"] = "round_trip"
    return pd.read_csv(source, **options)


def parse_delimited(
    text: str,
    name: str,
    *,
    header: bool | None = None,
    tabs: bool = False,
    separator: str | None = None,
    skip: int | None = None,
) -> Delimited:
    """Find the separator, the names of the columns and the rows, and check that all rows have the same number of cells.

    Parameters
    ----------
    text : str
    name : str
        The file, for error messages.
    header : bool or None
        Whether there are names of columns. None means that it is found out.
    tabs : bool, default=False
        Whether the tab is preferred as separator.
    separator : str, optional
        The separator, if the user says it.
    skip : int, optional
        How many lines stand above the table. By default it is found out.

    Raises
    ------
    InvalidDataError
        If the text is empty, or if a row has more or fewer cells than there are names.
    """
    if skip:
        text = "".join(list(io.StringIO(text, newline=""))[skip:])
    try:
        dialect = find_dialect(text, tabs=tabs, wanted=separator)
        records = _scan(text, dialect.separator)
    except csv.Error as error:
        raise InvalidDataError(f"'{name}' cannot be read as a table: {error}") from error
    if not records.head:
        raise InvalidDataError(f"'{name}' is empty: a line of column names and rows below it are needed")
    layout = find_layout(records.head, header, titles=skip is None)
    first = records.head[layout.titles]
    names = [cell.strip() for cell in first] if layout.header else [f"x{j}" for j in range(len(first))]
    start = layout.titles + layout.header + layout.units
    rows = range(start, len(records.widths))
    no_rows = {*records.blank, *_find_footnotes(records, start, len(names))}
    remarks = sorted(no_rows - set(records.blank))
    widths = {records.widths[i] for i in rows if i not in no_rows}
    unused = False
    if widths == {len(names) + 1}:
        unused = not records.filled_last[len(names) + 1]
        names = names if unused else ["row name", *names]  # files of R have no name for the column of row names
    elif len(names) > 1 and not names[-1] and not records.filled_last[len(names)]:
        names, unused = names[:-1], True
    width = len(names) + unused
    # One record of another width shows that a separator or a quote was misread, and then no column can be trusted.
    strange = next((i for i in rows if records.widths[i] != width and i not in no_rows), None)
    if strange is not None:
        cells = "1 cell" if records.widths[strange] == 1 else f"{records.widths[strange]} cells"
        raise InvalidDataError(
            f"line {records.ends[strange] + (skip or 0)} of '{name}' has {cells} where the "
            f"{'header' if layout.header else 'first line'} has {width}. Is it cut off, or is a separator inside a "
            f"cell without quotes? (cells are separated by {_separator_name(dialect.separator)})"
        )
    notes = list(layout.notes)
    if remarks:
        lines = "line is" if len(remarks) == 1 else f"{len(remarks)} lines are"
        notes.append(f"the last {lines} below the table and no row ({quote_name(records.tail[remarks[0]][0])})")
    unique, changed = unique_names(names)
    return Delimited(_keep_rows(text, records, start, no_rows), dialect, unique, (*notes, *changed), unused)


@dataclass
class _Records:
    """What a walk through the records of a text has found: the number of the last line and the cells of each.

    ``filled_last`` counts the records by their numbers of cells, if their last cells are filled.
    """

    ends: list[int]
    widths: list[int]
    blank: set[int]
    filled_last: Counter[int]
    head: list[list[str]]
    tail: dict[int, list[str]]


def _scan(text: str, separator: str) -> _Records:
    """Walk through the records of a text."""
    found = _Records([], [], set(), Counter(), [], {})
    tail: deque[list[str]] = deque(maxlen=_TAIL)
    for end, cells in iterate_records(text, separator):
        if is_blank(cells):
            found.blank.add(len(found.ends))
        elif cells[-1].strip():
            found.filled_last[len(cells)] += 1
        found.ends.append(end)
        found.widths.append(len(cells))
        if len(found.head) < _HEAD:
            found.head.append(cells)
        tail.append(cells)
    found.tail = dict(zip(range(len(found.ends) - len(tail), len(found.ends)), tail, strict=True))
    return found


def _find_footnotes(records: _Records, start: int, width: int) -> list[int]:
    """Return the records at the end that are remarks and no rows of a table of ``width`` columns."""
    found: list[int] = []
    for i in sorted(records.tail, reverse=True):
        if i in records.blank:
            continue
        apart = i > 0 and (i - 1 in records.blank or records.ends[i] - records.ends[i - 1] > 1)
        if i <= start or not is_footnote(records.tail[i], width, sure=apart or len(records.tail[i]) < width):
            # A blank line above several remarks is above their first.
            break
        found.append(i)
    return found


def _keep_rows(text: str, records: _Records, start: int, no_rows: set[int]) -> str:
    """Return the text without its first ``start`` records, and without those that are no rows."""
    begin = records.ends[start - 1] if start else 0
    lines = list(io.StringIO(text, newline=""))
    left = {line for i in no_rows if i >= start for line in range(records.ends[i - 1] if i else 0, records.ends[i])}
    return "".join(line for number, line in enumerate(lines) if number >= begin and number not in left)


def _separator_name(separator: str) -> str:
    """Return the name of a separator for an error message."""
    return {"\t": "tabs", BLANKS: "blanks"}.get(separator, quote_name(separator))
