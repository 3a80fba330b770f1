"""Find out what a column of a DataFrame holds: numbers, categories, or something that has no distance.

All code that reads tables uses this module, so that cells are treated alike whatever the dtype of their column is.
For example, dates in a column of objects are treated like dates in a datetime64 column.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, time, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InvalidDataError

if TYPE_CHECKING:
    import pandas as pd

#: Kinds of columns that have no distance: what the column holds, and what the user can do.
ADVICE = {
    "date": (
        "holds dates or durations",
        "which have no distance as they are. Turn it into numbers (for example days since a date) or drop it",
    ),
    "interval": (
        "holds intervals",
        "which have no distance as they are. Turn it into numbers (the middle of each), into text (astype(str)) if "
        "each interval is a category, or drop it",
    ),
    "nested": (
        "holds lists, dicts or other nested objects",
        "and a cell must be one number or one text. Give each part a column of its own, or drop it",
    ),
    "complex": ("holds complex numbers", "which have no order and no range. Give both parts columns of their own"),
    "bytes": (
        "holds bytes",
        "which equal no text even where they spell it. Decode them (for example column.str.decode('utf-8')), or drop "
        "the column",
    ),
}
_OF_CELLS = {  # from the kind that pandas infers for a column of objects to our kind
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty"), "number"),
    **dict.fromkeys(("date", "datetime", "datetime64", "time", "timedelta", "timedelta64", "period"), "date"),
    "string": "category",
    "categorical": "category",
    "interval": "interval",
    "complex": "complex",
    "bytes": "bytes",
}


def column_kind(X: pd.DataFrame, j: int, dtype: Any) -> str:
    """Return what column number ``j`` of a frame holds: "number", "category", or a key of `ADVICE`.

    ``dtype`` is the dtype of the column. The cells are read only if the dtype does not decide, because taking a column
    out of a wide frame is slow.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [date(2020, 1, 1), None]})
    >>> [column_kind(X, j, dtype) for j, dtype in enumerate(X.dtypes)]
    ['number', 'category', 'date']
    """
    import pandas as pd

    # The dtype decides in most cases. Looking at the cells is slow.
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return "number"
    if isinstance(dtype, (pd.CategoricalDtype, pd.StringDtype)):
        return "category"
    if isinstance(dtype, pd.PeriodDtype):
        return "date"
    if isinstance(dtype, pd.IntervalDtype):
        return "interval"
    if isinstance(dtype, pd.ArrowDtype):
        return _arrow_kind(dtype.pyarrow_dtype)
    kind = getattr(dtype, "kind", "O")
    if kind in "mM":
        return "date"
    if kind == "c":
        return "complex"
    return _kind_of_cells(X.iloc[:, j]) if kind == "O" else "number"


def _arrow_kind(arrow: Any) -> str:
    """Return the kind of a column whose type is the Arrow type ``arrow``."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(arrow) or str(arrow) in ("string", "large_string", "string_view"):
        return "category"
    if kinds.is_temporal(arrow):
        return "date"
    if kinds.is_nested(arrow):
        return "nested"
    return "bytes" if "binary" in str(arrow) else "number"


def _kind_of_cells(column: pd.Series) -> str:
    """Return the kind of a column of objects, found from its cells."""
    import pandas as pd

    found = pd.api.types.infer_dtype(column, skipna=True)
    if found in _OF_CELLS:
        return _OF_CELLS[found]
    # The cells have several types. If one of the types has no distance, the column has none; else cells are categories.
    kinds = {_kind_of_type(type(value)) for value in column[column.notna().to_numpy()]}
    return next((kind for kind in ADVICE if kind in kinds), "category")


def _kind_of_type(cell: type) -> str:
    """Return the kind of a cell whose Python type is ``cell``."""
    import pandas as pd

    if issubclass(cell, (date, time, timedelta, np.datetime64, np.timedelta64, pd.Period)):
        return "date"
    if issubclass(cell, pd.Interval):
        return "interval"
    if issubclass(cell, (bytes, bytearray)):
        return "bytes"
    if issubclass(cell, (complex, np.complexfloating)):
        return "complex"
    return "nested" if issubclass(cell, Collection) and not issubclass(cell, str) else "category"


def refuse_column(name: Any, kind: str, dtype: Any) -> None:
    """Raise InvalidDataError if ``kind`` has no distance. ``name`` is the column as the message shows it."""
    if kind in ADVICE:
        holds, advice = ADVICE[kind]
        of_type = "" if dtype == np.dtype(object) else f" ({dtype})"
        raise InvalidDataError(f"column {name} {holds}{of_type}, {advice}")
