"""Read tables with declared attributes: ARFF files, and KEEL's .dat files, which also declare ranges and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._names import quote_name, unique_names
from ..exceptions import InvalidDataError

if TYPE_CHECKING:
    import pandas as pd

# Groups 1 and 2 of the patterns are the text inside single and double quotes, group 3 is text without quotes.
_NAME = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s{\["']+))\s*(.*)""", re.S)
_QUOTED = r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\""""
_FIELD = re.compile(rf"""\s*(?:{_QUOTED}|((?!\s*['"])[^,\t]*?))\s*(?:[,\t]|$)""")
_WORD = re.compile(rf"""[\s,]*(?:{_QUOTED}|([^\s,'"][^\s,]*))(?=[\s,]|$)""")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_NUMBERS = ("numeric", "real", "integer")
_MISSING = ("?", "<null>", "")


@dataclass(frozen=True)
class _Attribute:
    """A declared column."""

    name: str
    kind: str  # "number", "category" or "text"
    categories: tuple[str, ...] = ()


@dataclass
class _Header:
    """The declarations of a file, and where its rows begin."""

    attributes: list[_Attribute]
    outputs: list[str]
    rows_from: int  # line number of the first row, from 0


def looks_declared(text: str) -> bool:
    """Return whether a text contains declarations of attributes."""
    return re.search(r"^\s*@attribute\b", text, re.I | re.M) is not None


def read_declared(text: str, name: str) -> tuple[pd.DataFrame, str | None, list[str]]:
    """Return a table with declared attributes: the DataFrame, the name of the class attribute or None, and messages.

    The class attribute is named by KEEL's ``@outputs``. Without ``@outputs``, it is the categorical attribute called
    "class". If there is no such attribute, it is the last attribute, if that is categorical. ``name`` is the file, for
    error messages.

    Raises
    ------
    InvalidDataError
        If the format does not allow a declaration or a row. The message names the line.
    """
    import pandas as pd

    lines = (
        text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    )  # str.splitlines would also split at other characters
    header = _header(lines, name)
    names, notes = unique_names([attribute.name for attribute in header.attributes])
    rows = list(_rows(lines, header, name))
    columns = {}
    for j, (unique, attribute) in enumerate(zip(names, header.attributes, strict=True)):
        cells = [row[1][j] for row in rows]
        columns[unique] = _column(attribute, cells, [row[0] for row in rows], name)
    return pd.DataFrame(columns, columns=names), _class_of(header, names), notes


def _header(lines: list[str], name: str) -> _Header:
    """Return the declarations of a file up to ``@data``. ``name`` is the file, for error messages."""
    attributes: list[_Attribute] = []
    outputs: list[str] = []
    for number, line in enumerate(lines):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        # A keyword without a value, such as @data, has no second word.
        keyword, rest = (*text.split(None, 1), "")[:2]
        keyword = keyword.lower()
        if keyword == "@attribute":
            attributes.append(_attribute(rest, number + 1, name))
        elif keyword in ("@outputs", "@output"):
            outputs = [part.strip() for part in rest.split(",")]
        elif keyword == "@data":
            if not attributes:
                break
            return _Header(attributes, outputs, number + 1)
        elif keyword == "@relation" and rest[:1] in ("'", '"') and _NAME.match(rest) is None:
            raise InvalidDataError(f"line {number + 1} of '{name}' cannot be read: a quote is not closed")
        elif keyword not in ("@relation", "@inputs", "@input"):
            raise InvalidDataError(f"line {number + 1} of '{name}' is no declaration: {quote_name(text)}")
    wanted = "@data" if attributes else "@attribute"
    raise InvalidDataError(f"'{name}' has no {wanted} line: is it cut off?")


def _attribute(declared: str, line: int, name: str) -> _Attribute:
    """Return the attribute that one ``@attribute`` line declares.

    ``declared`` is the text after the keyword. ``line`` and ``name`` are line number and file, for error messages.
    """
    match = _NAME.match(declared)
    if match is None:
        raise InvalidDataError(f"line {line} of '{name}' names no attribute: {quote_name(declared)}")
    called, kind = _unquote(match), match.group(4).strip()
    if kind.startswith("{"):
        kind = _without_comment(kind).rstrip() if "%" in kind else kind
        if not kind.rstrip().endswith("}"):
            raise InvalidDataError(f"line {line} of '{name}' lists categories without an end: {quote_name(kind)}")
        try:
            return _Attribute(called, "category", _categories(kind.strip()[1:-1]))
        except ValueError as error:
            raise InvalidDataError(f"line {line} of '{name}' cannot be read: {error}") from error
    word = re.split(r"[\s\[]", kind, maxsplit=1)[0].lower()
    if word in _NUMBERS:
        return _Attribute(called, "number")
    if word in ("string", "date"):
        return _Attribute(called, "text")
    raise InvalidDataError(
        f"line {line} of '{name}': attribute {quote_name(called)} is of the type {quote_name(kind)}; "
        "numeric, real, integer, string, date and {categories} can be read"
    )


def _categories(inside: str) -> tuple[str, ...]:
    """Return the declared categories. They are separated by commas, or by blanks if there is no comma."""
    commas = "," in re.sub(_QUOTED, "", inside)
    found = _fields(inside) if commas else _words(inside)
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _unquote(match: re.Match[str]) -> str:
    """Return the text of a matched cell, without quotes and escapes."""
    quoted = match.group(1) if match.group(1) is not None else match.group(2)
    if quoted is None:
        return match.group(3) or ""
    return re.sub(r"\\(.)", lambda escaped: _ESCAPED.get(escaped[1], escaped[1]), quoted)


def _cell(match: re.Match[str]) -> str | None:
    """Return the text of a matched cell, or None if it is missing. A quoted question mark is not missing."""
    text = _unquote(match)
    return None if match.group(3) is not None and text in _MISSING else text


def _words(line: str) -> list[str | None]:
    """Return the cells of a line, split as in Weka: any number of blanks, tabs and commas separates two cells."""
    if "'" not in line and '"' not in line:
        return [None if word in _MISSING else word for word in line.replace(",", " ").split()]
    cells, at, end = [], 0, len(line.rstrip(" \t,"))
    while at < end:
        match = _WORD.match(line, at)
        if match is None:
            raise ValueError("a quote is not closed, or text follows it")
        cells.append(_cell(match))
        at = match.end()
    return cells


def _fields(line: str) -> list[str | None]:
    """Return the cells of a line, split at commas or tabs.

    Cells may contain blanks or be empty. A separator at the end of the line does not begin another cell.
    """
    line = line.rstrip()
    if not line:
        return []
    cells, at = [], 0
    while at < len(line):
        match = _FIELD.match(line, at)
        if match is None:
            raise ValueError("a quote is not closed, or text follows it")
        cells.append(_cell(match))
        at = match.end()
    return cells


def _without_comment(line: str) -> str:
    """Return a line without its comment, which begins with a percent sign at the beginning of a word.

    A percent sign inside quotes or inside a word does not begin a comment.
    """
    at = 0
    while (match := _WORD.match(line, at)) is not None:
        if match.group(3) is not None and match.group(3).startswith("%"):
            return line[: match.start(3)]
        at = match.end()
    return line


def _rows(lines: list[str], header: _Header, name: str) -> Iterator[tuple[int, list[str | None]]]:
    """Yield the line number and the cells of each row. ``name`` is the file, for error messages."""
    for number in range(header.rows_from, len(lines)):
        line = lines[number].strip()
        if not line or line.startswith("%"):
            continue
        try:
            yield number + 1, _cells(line, header)
        except (ValueError, IndexError) as error:
            raise InvalidDataError(f"line {number + 1} of '{name}' {error}") from error


def _cells(line: str, header: _Header) -> list[str | None]:
    """Return the cells of one row.

    The line is first split as in Weka. If the number of cells is not the declared number, it is split only at commas
    and tabs, because files of KEEL have blanks in cells without quotes, and other files have empty cells. If that also
    fails, a percent sign is read as part of a cell instead of a comment.
    """
    width, found = len(header.attributes), 0
    plain = _without_comment(line) if "%" in line else line
    if plain.startswith("{"):
        return _sparse_cells(plain.rstrip(), header)
    for text in (plain, line) if plain != line else (line,):
        for read in (_words, _fields):
            try:
                cells = read(text)
            except ValueError as error:
                raise ValueError(f"cannot be read: {error}") from error
            # A comma at the end of a line may separate the last cell, which is empty.
            if read is _fields and len(cells) == width - 1 and text.endswith(","):
                cells.append(None)
            if len(cells) == width:
                return cells
            # The error message gives the number of cells when the line is split at commas, if there are commas.
            found = found or (0 if read is _words and "," in text else len(cells))
    raise ValueError(f"has {found} cells where {width} attributes are declared")


def _sparse_cells(line: str, header: _Header) -> list[str | None]:
    """Return the cells of a sparse row such as ``{3 5.1, 7 a}``. Other cells are 0 or the first category."""
    cells: list[str | None] = [
        a.categories[0] if a.kind == "category" and a.categories else "0" for a in header.attributes
    ]
    if not line.endswith("}"):
        raise ValueError("cannot be read: a sparse row without its end")
    words = _words(line[1:-1])
    if len(words) % 2:
        raise ValueError("cannot be read: a sparse row lists pairs of an attribute's number and its value")
    for index, value in zip(words[::2], words[1::2], strict=True):
        if index is None or not index.isdecimal() or int(index) >= len(cells):
            raise ValueError(
                f"cannot be read: {quote_name(index)} is no number of an attribute (0 to {len(cells) - 1})"
            )
        cells[int(index)] = value
    return cells


def _column(attribute: _Attribute, cells: list[str | None], lines: list[int], name: str) -> Any:
    """Return the cells of one attribute as a column.

    ``lines`` are the line numbers of the cells, and ``name`` is the file, both for error messages.
    """
    import pandas as pd

    values = np.array(cells, dtype=object)
    if attribute.kind == "text":
        return pd.Series(values, dtype=object)
    # A quoted "?" may be a category. If the category "?" is not declared, the cell is missing.
    missing = np.array([value is None or value in _MISSING for value in cells], dtype=bool)
    if attribute.kind == "number":
        return _numbers(attribute, values, missing, lines, name)
    known = pd.Index(attribute.categories, dtype=object)
    codes = known.get_indexer(pd.Index(values, dtype=object))
    unknown = np.flatnonzero((codes < 0) & ~missing)
    if len(unknown):
        raise InvalidDataError(
            f"line {lines[unknown[0]]} of '{name}': {quote_name(values[unknown[0]])} is none of the declared "
            f"categories of {quote_name(attribute.name)} "
            f"({', '.join(quote_name(one, 20) for one in attribute.categories[:10])})"
        )
    return pd.Categorical.from_codes(codes, categories=known)


def _numbers(attribute: _Attribute, values: Any, missing: Any, lines: list[int], name: str) -> Any:
    """Return cells as numbers. Raise `InvalidDataError` if a cell is not a number. The message names its line.

    ``missing`` marks missing cells. ``lines`` and ``name`` are line numbers and file, for error messages.
    """
    values[missing] = "nan"
    try:
        return values.astype(np.float64)
    except ValueError:
        for line, value in zip(lines, values, strict=True):
            try:
                float(value)
            except ValueError as error:
                raise InvalidDataError(
                    f"line {line} of '{name}': {quote_name(value)} is no number, and {quote_name(attribute.name)} is "
                    "declared as numbers"
                ) from error
        raise


def _class_of(header: _Header, names: list[str]) -> str | None:
    """Return the name of the class attribute, or None if there is none. ``names`` are the unique column names."""
    declared = [attribute.name for attribute in header.attributes]
    # KEEL names the class attribute itself. ARFF files do not, so the usual name and place are tried.
    for output in header.outputs:
        if output in declared:
            return names[declared.index(output)]
    nominal = [attribute.kind == "category" for attribute in header.attributes]
    called = [j for j, one in enumerate(declared) if one.lower() == "class" and nominal[j]]
    if len(called) == 1:
        return names[called[0]]
    return names[-1] if nominal[-1] else None
