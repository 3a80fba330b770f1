"""Which columns can help: numbers as numbers, categories as categories, the rest named and left out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._names import known_names, require_text
from .._typing import FloatArray
from ..exceptions import InvalidDataError
from ._text import shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CleanTable", "LeftOut", "clean_table"]

FEW = 10  # rows below which nothing is taken for an identifier
OWN_VALUES = 0.9  # share of different texts above which a column names rows instead of describing them
MOSTLY_NUMBERS = 0.9  # share of numbers above which other text in a column is a missing value
_TIMES = ("date", "datetime", "datetime64", "period", "time", "timedelta", "timedelta64")  # as pandas calls them
_IDENTIFIER = re.compile(r"(^|[\W_])(id|ids|idx|index|uid|uuid|guid|row|rowid|key|nr|no|number)$|^unnamed: \d+$", re.I)


class LeftOut(NamedTuple):
    """A column that was left out, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{shown(self.name)} is left out: {self.reason}"


@dataclass(frozen=True)
class CleanTable:
    """A table of features that can be used.

    Parameters
    ----------
    X : DataFrame
        Columns of float64, with NaN for missing cells, or of categories that are text.
    left_out : tuple of LeftOut
    notes : tuple of str
        What was changed in columns that stayed.
    """

    X: pd.DataFrame
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


def clean_table(X: pd.DataFrame, *, keep: Iterable[str] = (), drop: Iterable[str] = ()) -> CleanTable:
    """Tell numbers from categories, and leave out what cannot help to tell classes apart.

    Left out are columns that are empty or constant, that name the rows (text of which nearly every row
    has its own, whole numbers that count the rows or are called an id), dates and nested objects. Text in
    a column that is otherwise numbers, and infinite numbers, become missing values.

    Parameters
    ----------
    X : DataFrame
        Unique names.
    keep : iterable of str
        Columns that stay although they look like identifiers. A name alone is one column.
    drop : iterable of str
        Columns that go.

    Returns
    -------
    CleanTable

    Raises
    ------
    InvalidDataError
        Where no column is left, ``keep`` or ``drop`` name one that is not there, or a name or category is
        no valid text.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"id": range(12), "size": [1.0, 2.5, None] * 4, "colour": list("rgbr") * 3, "unit": "cm"})
    >>> clean = clean_table(X)
    >>> for column in clean.left_out:
    ...     print(column)
    'id' is left out: it counts the rows
    'unit' is left out: all its values are the same
    >>> clean.X.dtypes.astype(str).to_dict()
    {'size': 'float64', 'colour': 'category'}
    """
    import pandas as pd

    X = named(X)
    names = list(X.columns)
    kept, dropped = (set(known_names(wanted, names, "column")) for wanted in (keep, drop))
    out: dict[str, str] = {name: "as asked" for name in names if name in dropped}
    notes: list[str] = []
    is_number = dict(zip(names, map(_is_number, X.dtypes), strict=True))
    numeric = [name for name in names if name not in out and is_number[name]]
    numbers = np.array(X[numeric].to_numpy(dtype=np.float64, na_value=np.nan))
    columns: dict[str, Any] = {}
    for name in names:
        if name not in out and not is_number[name]:
            found = _described(X[name], name, notes)
            if isinstance(found, str):
                out[name] = found
            elif isinstance(found, np.ndarray):
                numeric.append(name)
                numbers = np.column_stack([numbers, found])
            else:
                columns[name] = found
    out.update(_useless_numbers(numbers, numeric, kept, notes))
    out.update(_useless_categories(columns, kept))
    left = [name for name in names if name not in out]
    left_out = tuple(LeftOut(name, out[name]) for name in names if name in out)
    if not left:
        told = "; ".join(map(str, left_out[:5]))
        raise InvalidDataError(f"no feature is left to work with ({told or 'the table has no columns'})")
    used = [j for j, name in enumerate(numeric) if name not in out]
    clean = pd.DataFrame(numbers[:, used], columns=pd.Index([numeric[j] for j in used], dtype=object), index=X.index)
    categories = {name: values for name, values in columns.items() if name not in out}
    if categories:
        clean = pd.concat([clean, pd.DataFrame(categories, index=X.index)], axis=1)
    return CleanTable(clean if list(clean.columns) == left else clean[left], left_out, tuple(notes))


def require_frame(X: Any) -> None:
    """Refuse a table that is no DataFrame, where the names of columns matter."""
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        raise InvalidDataError(
            f"a DataFrame is needed, whose columns have names; got {type(X).__name__}. "
            "Use pandas.DataFrame(X, columns=[...])"
        )


def named(X: pd.DataFrame) -> pd.DataFrame:
    """The table with text as names; they must be unique."""
    import pandas as pd

    require_frame(X)
    names = pd.Index([str(name) for name in X.columns], dtype=object)
    if not names.is_unique:
        raise InvalidDataError(f"there is more than one column {shown(names[names.duplicated()][0])}: rename them")
    require_text(names, "column")
    return X.set_axis(names, axis=1)


def _is_number(dtype: Any) -> bool:
    import pandas as pd

    kinds = pd.api.types
    return bool(kinds.is_numeric_dtype(dtype) and not kinds.is_bool_dtype(dtype) and not kinds.is_complex_dtype(dtype))


def _described(column: pd.Series, name: str, notes: list[str]) -> Any:
    """A column that is no plain number: categories, numbers, or why it is left out."""
    import pandas as pd

    kind = getattr(column.dtype, "kind", "O")
    inside = pd.api.types.infer_dtype(column, skipna=True) if column.dtype == np.dtype(object) else ""
    if kind in "mM" or isinstance(column.dtype, pd.PeriodDtype) or inside in _TIMES:
        return "it holds dates or durations; turn them into numbers, such as days since a date"
    if inside == "decimal":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind == "c":
        return "it holds complex numbers"
    text = as_categories(column)
    if isinstance(text, str):
        return text
    require_text(text.categories, f"column {shown(name)}: the category")
    if isinstance(column.dtype, pd.CategoricalDtype):
        return text
    numbers = pd.to_numeric(pd.Series(text.categories, dtype=object), errors="coerce").to_numpy(dtype=np.float64)
    numbers = np.append(numbers, np.nan)[text.codes]
    present, strange = text.codes >= 0, (text.codes >= 0) & np.isnan(numbers)
    if strange.sum() > (1 - MOSTLY_NUMBERS) * present.sum() or len(np.unique(numbers[present & ~strange])) < FEW:
        return text
    if strange.any():
        notes.append(no_numbers(name, int(strange.sum()), text[strange][0]))
    return numbers


def no_numbers(name: str, count: int, first: object) -> str:
    """What is said of cells of text in a column of numbers."""
    cells = "1 cell is no number" if count == 1 else f"{count} cells are no numbers"
    return f"{shown(name)}: {cells} ({shown(first, 20)}) and {'counts' if count == 1 else 'count'} as missing"


def as_categories(column: pd.Series) -> Any:
    """Categories that are text, whole numbers without a decimal point; or why there can be none."""
    import pandas as pd

    try:
        codes, values = pd.factorize(column.astype(object))
    except TypeError:  # lists and the like
        return "it holds objects, not values"
    if not all(isinstance(value, (str, int, float, np.generic)) for value in values):
        return "it holds objects, not values"
    known, order = np.unique(np.array([_text(value) for value in values], dtype=object), return_inverse=True)
    codes = np.append(order, -1)[codes]
    return pd.Categorical.from_codes(codes, categories=pd.Index(known, dtype=object))


def _text(value: Any) -> str:
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def _useless_numbers(numbers: FloatArray, names: list[str], kept: set[str], notes: list[str]) -> dict[str, str]:
    """Columns of numbers that say nothing; infinite values become NaN in place, with a note."""
    if not len(numbers):
        return {}
    infinite = np.isinf(numbers)
    for j in np.flatnonzero(infinite.any(axis=0)).tolist():
        notes.append(f"{shown(names[j])}: {int(infinite[:, j].sum())} infinite values count as missing")
    numbers[infinite] = np.nan
    low, high = np.fmin.reduce(numbers, axis=0), np.fmax.reduce(numbers, axis=0)
    out: dict[str, str] = {}
    for j in np.flatnonzero(np.isnan(low) | (low == high)).tolist():
        out[names[j]] = "it is empty" if np.isnan(low[j]) else "all its values are the same"
    suspects = (numbers == np.floor(numbers)).all(axis=0) & (high - low >= len(numbers) - 1)
    for j in np.flatnonzero(suspects).tolist():
        reason = _numbers_the_rows(numbers[:, j], names[j])
        if reason and names[j] not in kept:
            out[names[j]] = reason
    return out


def _numbers_the_rows(values: FloatArray, name: str) -> str | None:
    n = len(values)
    if n < FEW or len(np.unique(values)) < n:
        return None
    if values.max() - values.min() == n - 1:
        return "it counts the rows"
    return "it is called an identifier and is different in every row" if _IDENTIFIER.search(name) else None


def _useless_categories(columns: dict[str, Any], kept: set[str]) -> dict[str, str]:
    out: dict[str, str] = {}
    for name, values in columns.items():
        present, different = int((values.codes >= 0).sum()), len(values.categories)
        if different == 0:
            out[name] = "it is empty"
        elif different == 1:
            out[name] = "all its values are the same"
        elif present >= FEW and different > OWN_VALUES * present and name not in kept:
            out[name] = f"it names the rows ({different} different texts in {present} rows)"
    return out
