"""Find the encoding of a text file, the separator of its cells, and its decimal sign."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from .._names import quote_name
from ..exceptions import InvalidDataError

SEPARATORS = (",", ";", "\t", "|")
BLANKS = r"\s+"
MOST_TITLES = 10  # how many lines may stand above the names of the columns
_SAMPLE = 200  # how many records are inspected
_SAMPLE_LENGTH = 2**18  # about how many characters are inspected
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# Numbers that show their decimal sign: no other sign stands before exactly three digits, or thousands are separated.
_COMMA = re.compile(r"[-+]?(?:\d+,(?:\d{1,2}|\d{4,})|0,\d+|\d{1,3}(?:\.\d{3})+,\d+)")
_POINT = re.compile(r"[-+]?(?:\d+\.(?:\d{1,2}|\d{4,})|0\.\d+|\d{1,3}(?:,\d{3})+\.\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """Separator and decimal sign of a table in a text file. The sign is None if no number shows it."""

    separator: str = ","
    decimal: str | None = None


def decode_text(raw: bytes, name: str, encoding: str | None = None) -> tuple[str, str]:
    """Return the text of a file and its encoding.

    If ``encoding`` is None, the byte order mark gives it. Without one, UTF-8, Windows-1252 and Latin-1 are tried in
    this order.
    """
    if encoding is not None:
        try:
            return raw.decode(encoding).removeprefix("\ufeff"), encoding
        except LookupError as error:
            raise InvalidDataError(
                f"there is no encoding {quote_name(encoding)}: utf-8 and cp1252 are usual"
            ) from error
        except UnicodeDecodeError as error:
            raise InvalidDataError(f"'{name}' is not written in {encoding}: {error}") from error
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            try:
                return raw.decode(encoding), encoding.removesuffix("-sig")
            except UnicodeDecodeError as error:
                raise InvalidDataError(f"'{name}' begins as {encoding} text and is damaged further on") from error
    # UTF-16 without a byte order mark, and binary files, would be read as Latin-1 without an error.
    if b"\0" in raw:
        raise InvalidDataError(f"'{name}' holds zero bytes: it is no text. Save the table as csv in UTF-8")
    for encoding in ("utf-8", "cp1252"):
        try:
            return raw.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    # Latin-1 gives a character to every byte, so it never fails. It comes last.
    return raw.decode("latin-1"), "latin-1"


def iterate_records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the last line and the cells of each record that is not empty."""
    if separator == BLANKS:
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield number, line.split()
        return
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=separator != "\t")
    for cells in reader:
        if cells:
            yield reader.line_num, cells


def find_dialect(text: str, *, tabs: bool = False, wanted: str | None = None) -> Dialect:
    """Return the separator that gives most records the same number of cells, and the decimal sign.

    If several separators fit equally well, the one that gives more cells is used. If ``tabs`` is true, the tab is tried
    first. ``wanted`` is the separator if it is known.
    """
    order = ("\t", ",", ";", "|") if tabs else SEPARATORS
    text = _beginning(text)
    scores = [(_agreement(text, separator), separator) for separator in (*order, BLANKS)]
    best = max(scores[:-1], key=lambda scored: scored[0])
    # Blanks are the last choice, because cells may contain blanks. All records must have the same number of cells.
    if best[0][1] < 2 and scores[-1][0][1] > 1 and scores[-1][0][0] == 1.0:
        best = scores[-1]
    separator = wanted or (best[1] if best[0][1] > 1 else order[0])
    return Dialect(separator, _decimal(text, separator))


def _beginning(text: str) -> str:
    """Return whole lines from the beginning of a text: at least five lines, and at most about `_SAMPLE_LENGTH`."""
    end = len(text) if len(text) <= _SAMPLE_LENGTH else text.rfind("\n", 0, _SAMPLE_LENGTH) + 1
    while end < len(text) and text.count("\n", 0, end) < 5:
        end = text.find("\n", end) + 1 or len(text)
    return text[:end]


def _agreement(text: str, separator: str) -> tuple[float, int]:
    """Return the share of the inspected records with the most frequent number of cells, and this number of cells.

    Lines of one cell above the table and below it, such as titles and remarks, are not counted.
    """
    try:
        widths = [len(cells) for _, cells in islice(iterate_records(text, separator), _SAMPLE)]
    except csv.Error:
        return 0.0, 0
    if not widths:
        return 0.0, 0
    outer = [j for j, width in enumerate(widths) if width > 1]
    inner = widths[outer[0] : outer[-1] + 1] if outer else widths
    if not outer or len(inner) < 2 or outer[0] > MOST_TITLES:
        inner = widths
    # The header is not counted, since it may lack the name of the first column.
    usual = Counter(inner[1:] or inner).most_common(1)[0][0]
    names_rows = inner[0] == usual - 1 and inner[0] > 1  # the header has no name for the column of row names
    if usual < 2 or not (inner[0] == usual or names_rows or usual in inner[:MOST_TITLES]):
        return 0.0, 1
    # All lines count here, so that a separator of few lines does not win.
    return inner.count(usual) / (len(widths) - names_rows), usual


def _decimal(text: str, separator: str) -> str | None:
    """Return the decimal sign that more cells show, or None if no cell shows one. Equal counts mean a point.

    If commas separate the cells, it is a point. A sign before exactly three digits may separate thousands.
    """
    if separator == ",":
        return "."
    cells = [cell.strip() for _, row in islice(iterate_records(text, separator), 1, _SAMPLE) for cell in row]
    # Only cells that are numbers as a whole count: a comma also occurs in text.
    commas = sum(_COMMA.fullmatch(cell) is not None for cell in cells)
    points = sum(_POINT.fullmatch(cell) is not None for cell in cells)
    return None if not commas and not points else "," if commas > points else "."
