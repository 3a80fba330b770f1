"""Decide what a column of written cells holds: numbers, dates, truth values or categories.

Cells are text as people and spreadsheets write it: ``1.234,5``, ``12 %``, ``<0,05``, ``k.A.``. What a cell means
depends on its column, and is decided here once, for files and for tables of Python.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._names import quote_name
from .._typing import AnyArray, FloatArray
from .integers import EXACT

if TYPE_CHECKING:
    import pandas as pd

#: Cells that are missing in every column, in small letters: those of pandas, and the errors of spreadsheets.
_ALWAYS = {
    *("", "?", "n/a", "na", "nan", "-nan", "null", "<na>", "<null>", "n.a.", "n.d.", "k.a.", "k. a.", ".", "-", "--"),
    *("–", "—", "#n/a", "#n/a n/a", "#na", "#nv", "#value!", "#wert!", "#ref!", "#bezug!", "#div/0!", "#num!"),
    *("#zahl!", "#name?", "#null!", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"),
}
#: Words that are missing among numbers, dates and truth values. In a column of categories they are categories.
_AMONG_VALUES = {"unknown", "unbekannt", "missing", "none", "no data", "nicht bekannt", "nd", "tbd"}
_NONE = "None"  # as Python writes it; "none" may be a category
MOSTLY = 0.9  # the share of cells that must be numbers or dates if a column is to hold them
FEW = 10  # with fewer different numbers than this beside other text, a column holds categories
_EXAMPLES, _LOOKED_AT = 3, 100  # how many different cells are shown of a column, and looked at for this

_BLANKS = " \u00a0\u202f\u2009"
_CELL = re.compile(
    rf"(?P<bound>[<>≤≥~≈]=?)?\s*(?:[€$£¥]|EUR|USD|CHF|GBP)?\s*"
    rf"(?P<number>[-+−]?(?:\d(?:[\d.,'’{_BLANKS}]*\d)?[.,]?|[.,]\d+)(?:[eE][-+−]?\d+)?)"
    rf"\s*(?P<unit>[%‰€$£¥°A-Za-zµμΩÅ][^\s\d<>=;,]{{0,11}}(?:[ ]?/[ ]?[^\s<>=;,]{{1,8}})?[²³]?)?"
)


def _number_pattern(decimal: str, other: str) -> re.Pattern[str]:
    """Return the pattern of a number with this decimal sign, in which ``other`` and blanks may separate thousands."""
    whole = rf"(?:[1-9]\d{{0,2}}(?:([{other}'’{_BLANKS}])\d{{3}})(?:\1\d{{3}})*|\d+)"
    return re.compile(rf"[-+]?(?:{whole}(?:[{decimal}]\d*)?|[{decimal}]\d+)(?:[eE][-+]?\d+)?")


_PATTERNS = {".": _number_pattern(".", ","), ",": _number_pattern(",", ".")}
_DAY = (
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.] ?\d{1,2}[-/.] ?(?:\d{4}|\d{2})"
    r"|\d{1,2}[-. ]+[A-Za-z]{3,9}\.?[-, ]+\d{2,4}|[A-Za-z]{3,9}\.? \d{1,2}, \d{4})"
)
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[-+]\d{2}:?\d{2}| ?[AaPp][Mm])?"
_DATE = re.compile(rf"{_DAY}(?:[T ]{_TIME})?")
_DAY_FIRST = re.compile(r"(?:1[3-9]|2\d|3[01])[-/]|\d{1,2}\.")
_TRUTH = {"true": True, "false": False}


class _Number(NamedTuple):
    """A cell as a number: with a decimal point, with a decimal comma (None if it is none then), and what is around."""

    point: float | None
    comma: float | None
    bound: bool = False
    unit: str = ""


@dataclass(frozen=True)
class ColumnReading:
    """How a column was read.

    Parameters
    ----------
    cells : array or Series
        The cells as float64, bool, dates or text. Missing cells are NaN.
    read_as : str
        "number", "date", "truth" or "category".
    notes : tuple of str
        What was changed or decided, without the name of the column.
    """

    cells: Any
    read_as: str
    notes: tuple[str, ...] = ()


def is_missing(cell: Any, *, among_values: bool = True) -> bool:
    """Return whether a cell is empty or holds a usual word for a missing value.

    ``among_values``: words such as "unknown" are missing, too. In a column of categories they are categories.

    Examples
    --------
    >>> [is_missing(cell) for cell in ("k.A.", "#NV", "unknown", "0", "none")]
    [True, True, True, False, True]
    """
    if not isinstance(cell, str):
        return cell is None or cell != cell
    word = cell.strip()
    return word == _NONE or word.lower() in _ALWAYS or (among_values and word.lower() in _AMONG_VALUES)


def is_number(cell: str) -> bool:
    """Return whether a written cell is a number without a unit, in any spelling.

    Examples
    --------
    >>> [is_number(cell) for cell in ("1.234,5", "<0,05", "5 mg", "12.05.2020")]
    [True, True, False, False]
    """
    number = _parse_number(cell.strip())
    return number is not None and not number.unit


def read_column(cells: pd.Series, *, decimal: str | None = None, forced: bool = False, kind: str = "") -> ColumnReading:
    """Return the values of a column of written cells.

    A column holds numbers, dates or truth values if nearly all of its cells do. Its decimal sign follows from its own
    cells, and otherwise from ``decimal``.

    Parameters
    ----------
    cells : Series
        Text, and numbers or dates where the file has them.
    decimal : {".", ","}, optional
        The decimal sign of the file, if it is known.
    forced : bool, default=False
        Whether ``decimal`` wins over what the cells show.
    kind : {"", "number", "truth", "category"}
        What the column is known to hold, for example because a model was fitted to it. By default it is found out.

    Examples
    --------
    >>> import pandas as pd
    >>> found = read_column(pd.Series(["1.234,5", "<5,0", "k.A.", "7"]))
    >>> found.cells.tolist(), found.read_as
    ([1234.5, 5.0, nan, 7.0], 'number')
    >>> found.notes
    ("1 cell such as '<5,0' is read as the number behind the sign",)
    """
    import pandas as pd

    codes, found = pd.factorize(cells.to_numpy(dtype=object))
    texts = [one.strip() if isinstance(one, str) else one for one in found]
    different = _Cells(texts, np.bincount(codes[codes >= 0], minlength=len(texts)))
    if not different.present and kind in ("number", "truth"):
        return ColumnReading(np.full(len(codes), np.nan, dtype=None if kind == "number" else object), kind)
    reading = None
    if different.present and kind in ("", "truth"):
        reading = _read_truth(different)
    if different.present and kind in ("", "number"):
        reading = reading or _read_numbers(different, decimal, forced=forced, known=kind == "number")
    if different.present and not kind:
        reading = reading or _read_dates(different)
    if reading is None:
        return _read_categories(texts, codes)
    gap: Any = pd.NaT if reading.read_as == "date" else np.nan
    spread = np.append(reading.cells, np.nan) if reading.read_as == "number" else pd.Series([*reading.cells, gap])
    return ColumnReading(np.asarray(spread)[codes], reading.read_as, reading.notes)


class _Cells:
    """The different cells of a column: their texts, how often each occurs, and whether it is missing."""

    def __init__(self, texts: list[Any], counts: AnyArray) -> None:
        self.texts = texts
        self.counts = counts
        self.missing = np.array([is_missing(one) for one in texts], dtype=bool)
        self.present = self.count(~self.missing)

    def count(self, marked: AnyArray) -> int:
        """Return how many rows have the marked cells."""
        return int(self.counts[marked].sum())

    def describe(self, strange: AnyArray, what: str) -> str:
        """Return the message that the marked cells are no numbers or dates."""
        number, first = self.count(strange), quote_name(self.texts[int(np.flatnonzero(strange)[0])], 20)
        if number == 1:
            return f"1 cell is no {what} ({first}) and counts as missing"
        return f"{number} cells are no {what}s ({first}) and count as missing"


def _read_truth(cells: _Cells) -> ColumnReading | None:
    """Return truth values if all cells are true or false in any spelling, otherwise None."""
    words = [_TRUTH.get(str(text).lower()) for text in cells.texts]
    if any(word is None and not gone for word, gone in zip(words, cells.missing, strict=True)):
        return None
    return ColumnReading([np.nan if word is None else word for word in words], "truth")


def _read_numbers(cells: _Cells, decimal: str | None, *, forced: bool, known: bool) -> ColumnReading | None:
    """Return a number for each different cell if nearly all cells are numbers, otherwise None.

    ``known``: the column holds numbers, even if few cells are. The other parameters are those of `read_column`.
    """
    numbers = [None if gone else _parse_number(text) for text, gone in zip(cells.texts, cells.missing, strict=True)]
    share = cells.count(np.array([one is not None for one in numbers])) / cells.present
    if share == 0 or (share < MOSTLY and not known):
        return None
    units = {number.unit for number in numbers if number is not None and number.unit}
    if len(units) > 1:
        return None
    values, notes = _choose_decimal(cells, numbers, decimal, forced)
    # Different texts of many digits may be the same float. They are names then.
    large = np.abs(values) >= EXACT
    if len(np.unique(values[large])) < int(large.sum()):
        return None
    strange = np.isnan(values) & ~cells.missing
    if strange.any():
        if not known and len(np.unique(values[~np.isnan(values)])) < FEW:
            return None
        notes.append(cells.describe(strange, "number"))
    bounds = np.array([number is not None and number.bound for number in numbers])
    if bounds.any():
        number = cells.count(bounds)
        first = quote_name(cells.texts[int(np.flatnonzero(bounds)[0])], 20)
        how = f"such as {first} {'is' if number == 1 else 'are'} read as the number behind the sign"
        notes.append(f"{number} cell{'' if number == 1 else 's'} {how}")
    if units:
        notes.append(f"the unit {quote_name(units.pop())} is left out")
    return ColumnReading(values, "number", tuple(notes))


def _parse_number(text: Any) -> _Number | None:
    """Return a cell as a number, or None if it is none."""
    if isinstance(text, Number) and not isinstance(text, (bool, complex)):
        value = float(text)  # type: ignore[arg-type]
        return _Number(value, value)
    match = _CELL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    written = match["number"].replace("−", "-")
    point, comma = (_convert(written, sign) for sign in ".,")
    if point is None and comma is None:
        return None
    return _Number(point, comma, match["bound"] is not None, match["unit"] or "")


def _convert(written: str, decimal: str) -> float | None:
    """Return a written number as a float, or None if it is no number with this decimal sign."""
    if _PATTERNS[decimal].fullmatch(written) is None:
        return None
    other = "," if decimal == "." else "."
    return float(re.sub(rf"[{other}'’{_BLANKS}]", "", written).replace(",", "."))


def _choose_decimal(
    cells: _Cells, numbers: list[_Number | None], decimal: str | None, forced: bool
) -> tuple[FloatArray, list[str]]:
    """Return the values of the different cells, and messages on how their decimal signs were taken."""
    points = np.array([np.nan if one is None or one.point is None else one.point for one in numbers])
    commas = np.array([np.nan if one is None or one.comma is None else one.comma for one in numbers])
    sure = {".": ~np.isnan(points) & np.isnan(commas), ",": np.isnan(points) & ~np.isnan(commas)}
    either = ~np.isnan(points) & ~np.isnan(commas) & (points != commas)
    notes: list[str] = []
    if forced and decimal is not None:
        return (points if decimal == "." else commas), notes
    by_sign = {sign: cells.count(marked) for sign, marked in sure.items()}
    if any(by_sign.values()):
        chosen = max(by_sign, key=lambda sign: by_sign[sign])
        if all(by_sign.values()):
            notes.append("it has decimal points and decimal commas; each cell is read as it is written")
    elif decimal is not None or not either.any():
        chosen = decimal or "."
    else:
        chosen = _guess_decimal(cells.texts, numbers, either)
    values = np.where(np.isnan(points), commas, points) if chosen == "." else np.where(np.isnan(commas), points, commas)
    if either.any() and not any(by_sign.values()):
        first = int(np.flatnonzero(either)[0])
        other = "," if chosen == "." else "."
        notes.append(
            f"{quote_name(cells.texts[first])} is read as {values[first]:.15g}; if it is "
            f"{(commas if chosen == '.' else points)[first]:.15g}, say that the decimal sign is {quote_name(other)}"
        )
    return values, notes


def _guess_decimal(texts: list[Any], numbers: list[_Number | None], either: AnyArray) -> str:
    """Return the decimal sign of a column in which every sign is before exactly three digits, as in 1.386.

    The sign separates thousands if whole numbers are beside it: 1.386 and 993. Numbers that were rounded to three
    digits would hardly all have exactly three.
    """
    signs = {"." if "." in str(texts[i]) else "," for i in np.flatnonzero(either)}
    if signs == {","}:
        return "."  # 1,234 is how thousands are written in English
    whole = [one for one, sure in zip(numbers, either, strict=True) if one is not None and not sure]
    return "," if whole else "."


def _read_dates(cells: _Cells) -> ColumnReading | None:
    """Return dates if nearly all cells are dates, otherwise None."""
    import pandas as pd

    written = [str(text) for text in cells.texts]
    known = np.array([_DATE.fullmatch(text) is not None for text in written])
    known |= np.array([hasattr(cell, "year") for cell in cells.texts])
    if cells.count(known) < MOSTLY * cells.present:
        return None
    dayfirst = any(_DAY_FIRST.match(text) for text in written)
    dates = pd.Series([text if ok else None for text, ok in zip(written, known, strict=True)], dtype=object)
    values = pd.to_datetime(dates, errors="coerce", format="mixed", dayfirst=dayfirst, utc=True).dt.tz_localize(None)
    lost = values.isna().to_numpy() & ~cells.missing
    if cells.count(lost) > (1 - MOSTLY) * cells.present:
        return None
    return ColumnReading(values.tolist(), "date", (cells.describe(lost, "date"),) if lost.any() else ())


def _read_categories(texts: list[Any], codes: AnyArray) -> ColumnReading:
    """Return the cells as text. A minus sign is a category beside a plus sign, and otherwise missing."""
    signs = any(isinstance(text, str) and text and set(text) == {"+"} for text in texts)
    values = np.empty(len(texts) + 1, dtype=object)
    for i, text in enumerate(texts):
        kept = signs and text in ("-", "--", "–")
        values[i] = np.nan if is_missing(text, among_values=False) and not kept else text
    values[-1] = np.nan
    return ColumnReading(values[codes], "category")


def describe_columns(frame: pd.DataFrame, notes: Mapping[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    """Describe the columns of a table: name, what it was read as, missing cells, examples and notes of each."""
    from .columns import column_kind

    described = []
    missing = frame.isna().sum().to_numpy()
    for j, (name, dtype) in enumerate(frame.dtypes.items()):
        column = frame.iloc[:, j]
        shown = (str(one).removesuffix(" 00:00:00") for one in column.head(_LOOKED_AT).dropna())  # days have no time
        examples = list(dict.fromkeys(shown))[:_EXAMPLES]
        truth = getattr(dtype, "kind", "O") == "b" or (len(examples) > 0 and {*examples} <= {"True", "False"})
        kind = "empty" if missing[j] == len(frame) else "truth" if truth else column_kind(frame, j, dtype)
        described.append(
            {
                "name": str(name),
                "read_as": kind,
                "missing": int(missing[j]),
                "examples": examples,
                "notes": list(notes.get(str(name), ())),
            }
        )
    return described
