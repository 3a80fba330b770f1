"""Text of unknown encoding, and the separator of its cells."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ..exceptions import InvalidDataError

__all__ = ["Dialect", "decoded", "dialect_of", "records", "shown", "unique_names"]

SEPARATORS = (",", ";", "\t", "|")
BLANKS = r"\s+"
_SAMPLE = 200  # records that are looked at
_SAMPLE_LENGTH = 2**18  # and about so many characters
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_COMMA, _POINT = re.compile(r"[-+]?\d+,\d+"), re.compile(r"[-+]?\d+\.\d+")


@dataclass(frozen=True)
class Dialect:
    """How a table is written as text."""

    separator: str = ","
    decimal: str = "."


def shown(name: object, width: int = 40) -> str:
    r"""A name or cell as a message may show it: quoted, on one line, shortened, nothing a terminal obeys.

    Examples
    --------
    >>> print(shown("two\nlines"), shown("a" * 100, 10))
    'two\nlines' 'aaaaaaaaa…'
    """
    text = str(name)
    text = text if len(text) <= width else text[: width - 1] + "…"
    safe = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return f"'{safe}'"


def decoded(raw: bytes, name: str) -> tuple[str, str]:
    """The text of a file, and its encoding: by its mark, UTF-8 if it is that, else Windows' Latin-1."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            try:
                return raw.decode(encoding), encoding.removesuffix("-sig")
            except UnicodeDecodeError as error:
                raise InvalidDataError(f"'{name}' begins as {encoding} text and is damaged further on") from error
    if b"\0" in raw:
        raise InvalidDataError(f"'{name}' holds zero bytes: it is no text. Save the table as csv in UTF-8")
    for encoding in ("utf-8", "cp1252"):
        try:
            return raw.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1"), "latin-1"


def records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every record that is not blank."""
    if separator == BLANKS:
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield number, line.split()
        return
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=separator != "\t")
    for cells in reader:
        if cells:
            yield reader.line_num, cells


def dialect_of(text: str, *, tabs: bool = False) -> Dialect:
    """The separator that cuts all records alike, and into most cells; and the decimal sign.

    ``tabs`` puts the tab first where several would do.
    """
    order = ("\t", ",", ";", "|") if tabs else SEPARATORS
    text = _beginning(text)
    scores = [(_agreement(text, separator), separator) for separator in (*order, BLANKS)]
    best = max(scores[:-1], key=lambda scored: scored[0])
    if best[0][1] < 2 and scores[-1][0][1] > 1 and scores[-1][0][0] == 1.0:
        best = scores[-1]
    separator = best[1] if best[0][1] > 1 else order[0]
    return Dialect(separator, _decimal(text, separator))


def _beginning(text: str) -> str:
    """Whole lines from the beginning of a text: at least five, and not many more characters than are looked at."""
    end = len(text) if len(text) <= _SAMPLE_LENGTH else text.rfind("\n", 0, _SAMPLE_LENGTH) + 1
    while end < len(text) and text.count("\n", 0, end) < 5:
        end = text.find("\n", end) + 1 or len(text)
    return text[:end]


def _agreement(text: str, separator: str) -> tuple[float, int]:
    """Share of the sampled records that have the usual number of cells, and that number."""
    try:
        sample = [cells for _, cells in islice(records(text, separator), _SAMPLE)]
    except csv.Error:
        return 0.0, 0
    if not sample:
        return 0.0, 0
    widths = [len(cells) for cells in sample]
    usual = Counter(widths[1:] or widths).most_common(1)[0][0]
    names_rows = widths[0] == usual - 1 and widths[0] > 1  # a header that leaves out the names of the rows
    if usual < 2 or not (widths[0] == usual or names_rows):
        return 0.0, 1
    return widths.count(usual) / (len(widths) - names_rows), usual


def _decimal(text: str, separator: str) -> str:
    """A comma where numbers are written so, and commas separate nothing."""
    if separator == ",":
        return "."
    cells = [cell for _, row in islice(records(text, separator), 1, _SAMPLE) for cell in row]
    commas = sum(_COMMA.fullmatch(cell.strip()) is not None for cell in cells)
    points = sum(_POINT.fullmatch(cell.strip()) is not None for cell in cells)
    return "," if commas > points else "."


def unique_names(names: list[str]) -> tuple[list[str], list[str]]:
    """Names of columns, each once: blank ones numbered, repeated ones counted; and what was changed."""
    taken: set[str] = set(names)
    used: set[str] = set()
    out, notes = [], []
    for j, given in enumerate(names):
        name = given
        if not name:
            name = _free(f"column {j + 1}", taken)
            notes.append(f"column {j + 1} has no name and is called {shown(name)}")
        elif name in used:
            count = 2
            while f"{given} ({count})" in taken:
                count += 1
            name = f"{given} ({count})"
            notes.append(f"there is more than one column {shown(given)}: column {j + 1} is called {shown(name)}")
        used.add(name)
        taken.add(name)
        out.append(name)
    return out, notes


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    return name
