"""Dates and durations as numbers of days."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import FloatArray
from .columns import column_kind

if TYPE_CHECKING:
    import pandas as pd


def date_columns(X: pd.DataFrame) -> list[Any]:
    """Return the names of the columns that hold dates or durations which can be counted in days."""
    kinds = (column_kind(X, j, dtype) for j, dtype in enumerate(X.dtypes))
    dates = [name for name, kind in zip(X.columns, kinds, strict=True) if kind == "date"]
    return [name for name in dates if days_of(X[name]) is not None]


def dates_to_days(X: pd.DataFrame, names: list[Any]) -> pd.DataFrame:
    """Return the table with some columns as days: since 1 January 1970 for dates, the length for durations.

    Columns that are not there, or that are no dates now, stay as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"born": pd.to_datetime(["1970-01-03", None])})
    >>> dates_to_days(X, ["born"])["born"].tolist()
    [2.0, nan]
    """
    X = X.copy(deep=False)
    for name in names:
        if name in X.columns:
            days = days_of(X[name])
            if days is not None:
                X[name] = days
    return X


def days_of(column: pd.Series) -> FloatArray | None:
    """Return a column of dates or durations as days, or None if it holds something else, for example times of day."""
    import pandas as pd

    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if column_kind(column.to_frame(), 0, column.dtype) != "date":
        return None
    present = column.notna().to_numpy()
    cells = column.astype(object)
    for convert in (lambda cells: pd.to_datetime(cells, errors="coerce", utc=True), _durations):
        found: Any = convert(cells)
        if (found.notna().to_numpy() == present).all():
            days = found.to_numpy(dtype="datetime64[ns]" if found.dtype.kind == "M" else "timedelta64[ns]")
            numbers = days.astype(np.int64) / 86_400e9
            return np.where(present, numbers, np.nan)
    return None


def _durations(cells: pd.Series) -> Any:
    """Return the cells as durations. Cells that are no durations become missing."""
    import pandas as pd

    try:
        return pd.to_timedelta(cells, errors="coerce")
    except (TypeError, ValueError):  # times of day, which pandas does not coerce
        return pd.Series(pd.NaT, index=cells.index, dtype="timedelta64[ns]")
