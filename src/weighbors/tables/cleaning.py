"""Clean a table: convert columns to numbers or categories, and leave out useless columns with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._names import known_names, quote_name, require_text
from .._typing import FloatArray
from ..exceptions import InvalidDataError
from .cells import read_column
from .columns import ADVICE, column_kind
from .frames import as_pandas
from .integers import EXACT, find_rounded

if TYPE_CHECKING:
    import pandas as pd

FEW = 10  # with fewer rows than this, no column is treated as an identifier
OWN_VALUES = 0.9  # a column of text is an identifier if its share of different texts is above this
_IDENTIFIER = re.compile(r"(^|[\W_])(id|ids|idx|index|uid|uuid|guid|row|rowid|key|nr|no|number)$|^unnamed: \d+$", re.I)
# Beginnings of the reasons for which identifiers are left out.
_COUNTS, _NAMES, _CALLED = "it counts the rows", "it names the rows", "it is called an identifier"


class LeftOut(NamedTuple):
    """A column that was left out, and the reason."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{quote_name(self.name)} is left out: {self.reason}"

    @property
    def is_identifier(self) -> bool:
        """Whether the column was left out because it names or counts the rows."""
        return self.reason.startswith((_COUNTS, _NAMES, _CALLED))


@dataclass(frozen=True)
class CleanTable:
    """A table of features that weighers and classifiers can use.

    Parameters
    ----------
    X : DataFrame
        Each column is float64, with NaN for missing cells, or categorical, with text as categories.
    left_out : tuple of LeftOut
    notes : tuple of str
        Messages about changes in columns, such as text that became missing.
    """

    X: pd.DataFrame
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


def clean_table(X: pd.DataFrame, *, keep: Iterable[str] = (), drop: Iterable[str] = ()) -> CleanTable:
    """Convert columns to numbers or categories, and leave out columns that cannot help to separate classes.

    These columns are left out: empty columns, constant columns, dates, nested objects, integers beyond 2⁵³ that floats
    round, and identifiers. An identifier is a column of text that is different in nearly every row, or a column of
    integers that counts the rows, or one that is different in every row and has a name such as "id". Infinite numbers
    become missing values. In a column of text that are nearly all numbers, the other texts become missing values.

    Parameters
    ----------
    X : DataFrame
        Its column names must be unique.
    keep : iterable of str
        Columns that are kept although they look like identifiers. A single name is also accepted.
    drop : iterable of str
        Columns that are left out.

    Returns
    -------
    CleanTable

    Raises
    ------
    InvalidDataError
        If no column is left, if ``keep`` or ``drop`` name a column that does not exist, if ``keep`` names a column of
        integers that floats round, or if a name or category is not valid text.

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

    X = with_text_names(X)
    names = list(X.columns)
    kept, dropped = (set(known_names(wanted, names, "column")) for wanted in (keep, drop))
    out: dict[str, str] = {name: "as asked" for name in names if name in dropped}
    notes: list[str] = []
    is_number = dict(zip(names, map(_is_number, X.dtypes), strict=True))
    # All numeric columns are cleaned as one array, which is faster than column by column for wide tables.
    numeric = [name for name in names if name not in out and is_number[name]]
    numbers = np.array(X[numeric].to_numpy(dtype=np.float64, na_value=np.nan))
    rounded = _rounded_integers(X[numeric], numbers, kept)
    columns: dict[str, Any] = {}
    for name in names:
        if name not in out and not is_number[name]:
            found = _classify_column(X[name], name, notes)
            if isinstance(found, str):
                out[name] = found
            elif isinstance(found, np.ndarray):
                numeric.append(name)
                numbers = np.column_stack([numbers, found])
            else:
                columns[name] = found
    out.update(_useless_numbers(numbers, numeric, kept, notes))
    out.update(rounded)
    out.update(_useless_categories(columns, kept))
    left = [name for name in names if name not in out]
    left_out = tuple(LeftOut(name, out[name]) for name in names if name in out)
    if not left:
        reasons = "; ".join(map(str, left_out[:5]))
        raise InvalidDataError(f"no feature is left to work with ({reasons or 'the table has no columns'})")
    used = [j for j, name in enumerate(numeric) if name not in out]
    clean = pd.DataFrame(numbers[:, used], columns=pd.Index([numeric[j] for j in used], dtype=object), index=X.index)
    categories = {name: values for name, values in columns.items() if name not in out}
    if categories:
        clean = pd.concat([clean, pd.DataFrame(categories, index=X.index)], axis=1)
    return CleanTable(clean if list(clean.columns) == left else clean[left], left_out, tuple(notes))


def find_identifier(X: pd.DataFrame, left_out: Iterable[LeftOut]) -> str | None:
    """Return the first identifier that was left out and is different in every row, or None. It can name the rows.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"id": range(12), "size": [1.0, 2.5, None] * 4})
    >>> find_identifier(X, clean_table(X).left_out)
    'id'
    """
    return next((one.name for one in left_out if one.is_identifier and X[one.name].is_unique), None)


def require_frame(X: Any) -> None:
    """Raise `InvalidDataError` if ``X`` is not a DataFrame. Column names are needed."""
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        raise InvalidDataError(
            f"a DataFrame is needed, whose columns have names; got {type(X).__name__}. "
            "Use pandas.DataFrame(X, columns=[...])"
        )


def with_text_names(X: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its column names as text. Raise `InvalidDataError` if the names are not unique."""
    import pandas as pd

    X = as_pandas(X)
    require_frame(X)
    names = pd.Index([str(name) for name in X.columns], dtype=object)
    if not names.is_unique:
        raise InvalidDataError(f"there is more than one column {quote_name(names[names.duplicated()][0])}: rename them")
    require_text(names, "column")
    return X.set_axis(names, axis=1)


def _is_number(dtype: Any) -> bool:
    """Return whether a dtype is for real numbers. Bool and complex dtypes are not."""
    import pandas as pd

    kinds = pd.api.types
    return bool(kinds.is_numeric_dtype(dtype) and not kinds.is_bool_dtype(dtype) and not kinds.is_complex_dtype(dtype))


def _rounded_integers(X: pd.DataFrame, numbers: FloatArray, kept: set[str]) -> dict[str, str]:
    """Return the names of columns of integers that ``numbers``, the same columns as floats, rounds, with the reason.

    Raise `InvalidDataError` if such a column is one of ``kept``: it cannot be used as it is.
    """
    out: dict[str, str] = {}
    if not len(numbers):
        return out
    large = (np.fmax.reduce(numbers, axis=0) >= EXACT) | (np.fmin.reduce(numbers, axis=0) <= -EXACT)
    for j in np.flatnonzero(large).tolist():
        name = str(X.columns[j])
        found = find_rounded(X.iloc[:, j].to_numpy(dtype=object), numbers[:, j])
        if found is None:
            continue
        reason = f"it holds integers beyond 2**53, which floats round ({found[0]} to {found[1]})"
        if name in kept:
            raise InvalidDataError(f"{quote_name(name)} cannot be kept: {reason}. Subtract the smallest number first")
        out[name] = reason
    return out


def _classify_column(column: pd.Series, name: str, notes: list[str]) -> Any:
    """Return a column that is not numeric as categories or as an array of numbers, or the reason to leave it out.

    A message is added to ``notes`` if texts become missing values.
    """
    import pandas as pd

    kind = column_kind(column.to_frame(), 0, column.dtype)
    if kind == "date":
        return "it holds dates or durations; turn them into numbers, such as days since a date"
    if kind in ADVICE:
        return f"it {ADVICE[kind][0]}"
    if kind == "number" and pd.api.types.infer_dtype(column, skipna=True) == "decimal":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    text = as_categories(column)
    if isinstance(text, str):
        return text
    require_text(text.categories, f"column {quote_name(name)}: the category")
    # A column that its owner declared to be categories is not turned into numbers.
    if isinstance(column.dtype, pd.CategoricalDtype):
        return text
    found = read_column(column)
    if found.read_as == "date":
        return "it holds dates or durations; turn them into numbers, such as days since a date"
    # A column with few different numbers, such as 1 to 5, may be categories and stays text.
    if found.read_as != "number" or len(np.unique(found.cells[~np.isnan(found.cells)])) < FEW:
        return text
    notes += [f"{quote_name(name)}: {one}" for one in found.notes]
    return found.cells


def as_categories(column: pd.Series) -> Any:
    """Return a column as categories of text, or the reason why this is not possible.

    Whole numbers are written without a decimal point.
    """
    import pandas as pd

    try:
        codes, values = pd.factorize(column.astype(object))
    except TypeError:  # lists and the like
        # Categories must be hashable values that can be written as text.
        return "it holds objects, not values"
    if not all(isinstance(value, (str, int, float, np.generic)) for value in values):
        return "it holds objects, not values"
    known, order = np.unique(np.array([category_text(value) for value in values], dtype=object), return_inverse=True)
    # The code −1 of a missing value selects the last element, which is −1.
    codes = np.append(order, -1)[codes]
    return pd.Categorical.from_codes(codes, categories=pd.Index(known, dtype=object))


def category_text(value: Any) -> str:
    """Return a value as the text of a category. Whole numbers have no decimal point."""
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def _useless_numbers(numbers: FloatArray, names: list[str], kept: set[str], notes: list[str]) -> dict[str, str]:
    """Return the names of useless numeric columns, with the reason for each.

    Infinite values become NaN in place, and a message is added to ``notes``. ``kept`` are the names of columns that are
    kept although they look like identifiers.
    """
    if not len(numbers):
        return {}
    infinite = np.isinf(numbers)
    for j in np.flatnonzero(infinite.any(axis=0)).tolist():
        notes.append(f"{quote_name(names[j])}: {int(infinite[:, j].sum())} infinite values count as missing")
    numbers[infinite] = np.nan
    low, high = np.fmin.reduce(numbers, axis=0), np.fmax.reduce(numbers, axis=0)
    out: dict[str, str] = {}
    for j in np.flatnonzero(np.isnan(low) | (low == high)).tolist():
        out[names[j]] = "it is empty" if np.isnan(low[j]) else "all its values are the same"
    # An identifier has n different whole numbers, so its range is at least n − 1. This test is cheaper than the sort.
    with np.errstate(over="ignore"):  # An infinite range is above every n; `TableEncoder` refuses it.
        suspects = (numbers == np.floor(numbers)).all(axis=0) & (high - low >= len(numbers) - 1)
    for j in np.flatnonzero(suspects).tolist():
        reason = _identifier_reason(numbers[:, j], names[j])
        if reason and names[j] not in kept:
            out[names[j]] = reason
    return out


def _identifier_reason(values: FloatArray, name: str) -> str | None:
    """Return the reason why a column of whole numbers is an identifier, or None if it is not an identifier."""
    n = len(values)
    # In a very small table, different whole numbers may be measurements.
    if n < FEW or len(np.unique(values)) < n:
        return None
    with np.errstate(over="ignore"):  # an infinite range is that of no counter
        if values.max() - values.min() == n - 1:
            return _COUNTS
    return f"{_CALLED} and is different in every row" if _IDENTIFIER.search(name) else None


def _useless_categories(columns: dict[str, Any], kept: set[str]) -> dict[str, str]:
    """Return the names of useless categorical columns, with the reason for each.

    ``kept`` are the names of columns that are kept although they look like identifiers.
    """
    out: dict[str, str] = {}
    for name, values in columns.items():
        present, different = int((values.codes >= 0).sum()), len(values.categories)
        if different == 0:
            out[name] = "it is empty"
        elif different == 1:
            out[name] = "all its values are the same"
        elif present >= FEW and different > OWN_VALUES * present and name not in kept:
            out[name] = f"{_NAMES} ({different} different texts in {present} rows)"
    return out
