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

from ..exceptions import InvalidDataError

SEPARATORS = (",", ";", "\t", "|")
BLANKS = r"\s+"
_SAMPLE = 200  # how many records are inspected
_SAMPLE_LENGTH = 2**18  # about how many characters are inspected
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_COMMA, _POINT = re.compile(r"[-+]?\d+,\d+"), re.compile(r"[-+]?\d+\.\d+")


@dataclass(frozen=True)
class Dialect:
    """Separator and decimal sign of a table in a text file."""

    separator: str = ","
    decimal: str = "."


def decode_text(raw: bytes, name: str) -> tuple[str, str]:
    """Return the text of a file and its encoding.

    The byte order mark gives the encoding. Without one, UTF-8, Windows-1252 and Latin-1 are tried in this order.
    """
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
    """Yield the line number and the cells of each record that is not empty."""
    if separator == BLANKS:
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield number, line.split()
        return
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=separator != "\t")
    for cells in reader:
        if cells:
            yield reader.line_num, cells


def find_dialect(text: str, *, tabs: bool = False) -> Dialect:
    """Return the separator that gives most records the same number of cells, and the decimal sign.

    If several separators fit equally well, the one that gives more cells is used. If ``tabs`` is true, the tab is tried
    first.
    """
    order = ("\t", ",", ";", "|") if tabs else SEPARATORS
    text = _beginning(text)
    scores = [(_agreement(text, separator), separator) for separator in (*order, BLANKS)]
    best = max(scores[:-1], key=lambda scored: scored[0])
    # Blanks are the last choice, because cells may contain blanks. All records must have the same number of cells.
    if best[0][1] < 2 and scores[-1][0][1] > 1 and scores[-1][0][0] == 1.0:
        best = scores[-1]
    separator = best[1] if best[0][1] > 1 else order[0]
    return Dialect(separator, _decimal(text, separator))


def _beginning(text: str) -> str:
    """Return whole lines from the beginning of a text: at least five lines, and at most about `_SAMPLE_LENGTH`."""
    end = len(text) if len(text) <= _SAMPLE_LENGTH else text.rfind("\n", 0, _SAMPLE_LENGTH) + 1
    while end < len(text) and text.count("\n", 0, end) < 5:
        end = text.find("\n", end) + 1 or len(text)
    return text[:end]


def _agreement(text: str, separator: str) -> tuple[float, int]:
    """Return the share of the inspected records with the most frequent number of cells, and this number of cells."""
    try:
        sample = [cells for _, cells in islice(iterate_records(text, separator), _SAMPLE)]
    except csv.Error:
        return 0.0, 0
    if not sample:
        return 0.0, 0
    widths = [len(cells) for cells in sample]
    # The header is not counted, since it may lack the name of the first column.
    usual = Counter(widths[1:] or widths).most_common(1)[0][0]
    names_rows = widths[0] == usual - 1 and widths[0] > 1  # the header has no name for the column of row names
    if usual < 2 or not (widths[0] == usual or names_rows):
        return 0.0, 1
    return widths.count(usual) / (len(widths) - names_rows), usual


def _decimal(text: str, separator: str) -> str:
    """Return the decimal sign: a comma if more cells have a decimal comma than a decimal point, otherwise a point.

    If commas separate the cells, it is a point.
    """
    if separator == ",":
        return "."
    cells = [cell for _, row in islice(iterate_records(text, separator), 1, _SAMPLE) for cell in row]
    # Only cells that are numbers as a whole count: a comma also occurs in text.
    commas = sum(_COMMA.fullmatch(cell.strip()) is not None for cell in cells)
    points = sum(_POINT.fullmatch(cell.strip()) is not None for cell in cells)
    return "," if commas > points else "."
