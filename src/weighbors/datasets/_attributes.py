"""Tables that declare their attributes: ARFF, and KEEL's .dat, which adds ranges and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InvalidDataError
from ._text import shown, unique_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["looks_declared", "read_declared"]

_NAME = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s{\["']+))\s*(.*)""", re.S)
_CELL = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|((?!\s*['"])[^,\t]*?))\s*(?:[,\t]|$)""")
_NUMBERS = ("numeric", "real", "integer")
_MISSING = ("?", "<null>", "")


@dataclass(frozen=True)
class _Attribute:
    name: str
    kind: str  # "number", "category" or "text"
    categories: tuple[str, ...] = ()


@dataclass
class _Header:
    attributes: list[_Attribute]
    outputs: list[str]
    rows_from: int  # line number of the first row, from 0


def looks_declared(text: str) -> bool:
    """Whether a text holds declarations of attributes."""
    return re.search(r"^\s*@attribute\b", text, re.I | re.M) is not None


def read_declared(text: str, name: str) -> tuple[pd.DataFrame, str | None, list[str]]:
    """Frame, the name of the class attribute (None where there is none), and notes.

    The class is KEEL's ``@outputs``; without it the attribute called class, or the last one, if it
    is nominal.

    Raises
    ------
    InvalidDataError
        Where a declaration or a row is not what the format allows; with its line.
    """
    import pandas as pd

    lines = text.splitlines()
    header = _header(lines, name)
    names, notes = unique_names([attribute.name for attribute in header.attributes])
    rows = list(_rows(lines, header, name))
    columns = {}
    for j, (unique, attribute) in enumerate(zip(names, header.attributes, strict=True)):
        cells = [row[1][j] for row in rows]
        columns[unique] = _column(attribute, cells, [row[0] for row in rows], name)
    return pd.DataFrame(columns, columns=names), _class_of(header, names), notes


def _header(lines: list[str], name: str) -> _Header:
    attributes: list[_Attribute] = []
    outputs: list[str] = []
    for number, line in enumerate(lines):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        keyword, _, rest = text.partition(" ") if " " in text else text.partition("\t")
        keyword = keyword.lower()
        if keyword == "@attribute":
            attributes.append(_attribute(rest, number + 1, name))
        elif keyword in ("@outputs", "@output"):
            outputs = [part.strip() for part in rest.split(",")]
        elif keyword == "@data":
            if not attributes:
                break
            return _Header(attributes, outputs, number + 1)
        elif keyword not in ("@relation", "@inputs", "@input"):
            raise InvalidDataError(f"line {number + 1} of '{name}' is no declaration: {shown(text)}")
    wanted = "@data" if attributes else "@attribute"
    raise InvalidDataError(f"'{name}' has no {wanted} line: is it cut off?")


def _attribute(declared: str, line: int, name: str) -> _Attribute:
    match = _NAME.match(declared)
    if match is None:
        raise InvalidDataError(f"line {line} of '{name}' names no attribute: {shown(declared)}")
    called, kind = _unquoted(match), match.group(4).strip()
    if kind.startswith("{"):
        if not kind.rstrip().endswith("}"):
            raise InvalidDataError(f"line {line} of '{name}' lists categories without an end: {shown(kind)}")
        inside = kind.strip()[1:-1]
        return _Attribute(called, "category", tuple(dict.fromkeys(_cells(inside))) if inside.strip() else ())
    word = re.split(r"[\s\[]", kind, maxsplit=1)[0].lower()
    if word in _NUMBERS:
        return _Attribute(called, "number")
    if word in ("string", "date"):
        return _Attribute(called, "text")
    raise InvalidDataError(
        f"line {line} of '{name}': attribute {shown(called)} is of the type {shown(kind)}; "
        "numeric, real, integer, string, date and {categories} can be read"
    )


def _unquoted(match: re.Match[str]) -> str:
    quoted = match.group(1) if match.group(1) is not None else match.group(2)
    return (match.group(3) or "") if quoted is None else re.sub(r"\\(.)", r"\1", quoted)


def _cells(line: str) -> list[str]:
    """Cells of one row, unquoted."""
    if "'" not in line and '"' not in line:
        return [cell.strip() for cell in line.replace("\t", ",").split(",")]
    cells, at = [], 0
    while at <= len(line):
        match = _CELL.match(line, at)
        if match is None:
            raise ValueError("a quote is not closed, or text follows it")
        cells.append(_unquoted(match))
        if match.end() == len(line) and line[match.end() - 1 : match.end()] not in (",", "\t"):
            break
        at = match.end() if match.end() > at else at + 1
    return cells


def _rows(lines: list[str], header: _Header, name: str) -> Iterator[tuple[int, list[str]]]:
    width = len(header.attributes)
    for number in range(header.rows_from, len(lines)):
        line = lines[number].strip()
        if not line or line.startswith("%"):
            continue
        try:
            cells = _sparse_cells(line, header) if line.startswith("{") else _cells(line)
        except (ValueError, IndexError) as error:
            raise InvalidDataError(f"line {number + 1} of '{name}' cannot be read: {error}") from error
        if len(cells) != width:
            raise InvalidDataError(
                f"line {number + 1} of '{name}' has {len(cells)} cells where {width} attributes are declared"
            )
        yield number + 1, cells


def _sparse_cells(line: str, header: _Header) -> list[str]:
    """``{3 5.1, 7 a}``: what is not listed is 0, or the first category."""
    cells = [a.categories[0] if a.kind == "category" and a.categories else "0" for a in header.attributes]
    inside = line.strip()
    if not inside.endswith("}"):
        raise ValueError("a sparse row without its end")
    for part in _cells(inside[1:-1]) if inside[1:-1].strip() else []:
        index, _, value = part.partition(" ")
        cells[int(index)] = value.strip().strip("'\"")
    return cells


def _column(attribute: _Attribute, cells: list[str], lines: list[int], name: str) -> Any:
    import pandas as pd

    values = np.array(cells, dtype=object)
    missing = np.isin(values, _MISSING) if len(values) else np.zeros(0, dtype=bool)
    if attribute.kind == "number":
        return _numbers(attribute, values, missing, lines, name)
    values[missing] = None
    if attribute.kind == "text":
        return pd.Series(values, dtype=object)
    known = pd.Index(attribute.categories, dtype=object)
    codes = known.get_indexer(pd.Index(values, dtype=object))
    unknown = np.flatnonzero((codes < 0) & ~missing)
    if len(unknown):
        raise InvalidDataError(
            f"line {lines[unknown[0]]} of '{name}': {shown(values[unknown[0]])} is none of the declared categories of "
            f"{shown(attribute.name)} ({', '.join(shown(one, 20) for one in attribute.categories[:10])})"
        )
    return pd.Categorical.from_codes(codes, categories=known)


def _numbers(attribute: _Attribute, values: Any, missing: Any, lines: list[int], name: str) -> Any:
    values[missing] = "nan"
    try:
        return values.astype(np.float64)
    except ValueError:
        for line, value in zip(lines, values, strict=True):
            try:
                float(value)
            except ValueError as error:
                raise InvalidDataError(
                    f"line {line} of '{name}': {shown(value)} is no number, and {shown(attribute.name)} is declared "
                    "as numbers"
                ) from error
        raise


def _class_of(header: _Header, names: list[str]) -> str | None:
    declared = [attribute.name for attribute in header.attributes]
    for output in header.outputs:
        if output in declared:
            return names[declared.index(output)]
    nominal = [attribute.kind == "category" for attribute in header.attributes]
    called = [j for j, one in enumerate(declared) if one.lower() == "class" and nominal[j]]
    if len(called) == 1:
        return names[called[0]]
    return names[-1] if nominal[-1] else None
