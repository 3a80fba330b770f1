"""Conversion of polars and Arrow tables to pandas, so that the rest of the library needs to handle pandas only.

Polars and NumPy convert the columns of polars, because its ``to_pandas`` would need pyarrow. Narwhals converts
tables of other libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InvalidDataError

if TYPE_CHECKING:
    import pandas as pd


def is_frame(X: Any) -> bool:
    """Return whether ``X`` is a pandas DataFrame or has the same attributes (iloc, dtypes, columns)."""
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")


_EXACT = 2**53  # up to this number, every integer is a float64
#: Packages whose tables narwhals converts. Dask is not among them: its tables may be larger than memory.
_CONVERTED = ("cudf", "modin", "pyarrow")


def as_pandas(X: Any) -> Any:
    """Convert a table of polars, Arrow, Modin or cuDF to pandas. Other values are returned with few changes.

    Missing numbers become NaN. Text stays text, ``Categorical`` becomes unordered categories, and ``Enum`` becomes
    ordered categories, as in ``to_pandas`` of polars. Masked cells of a NumPy array become missing cells, and sparse
    columns of a pandas frame become dense ones.

    Raises
    ------
    InvalidDataError
        If ``X`` is a LazyFrame, whose rows are not computed yet, or if two columns of an Arrow table have one name.
    """
    package = type(X).__module__.partition(".")[0]
    if package == "pandas" or type(X) is np.ndarray:  # by far the most tables
        return X if package == "numpy" else _make_dense(X)
    kind = _polars_kind(X)
    if kind == "LazyFrame":
        raise InvalidDataError("X is a polars LazyFrame, whose rows are not computed yet: call .collect() first")
    if kind != "DataFrame":
        return _fill_masked(_make_dense(_convert_other(X)))
    import pandas as pd

    names = pd.Index(X.columns, dtype=object)
    if len({str(dtype) for dtype in X.dtypes}) == 1 and X.dtypes[0].is_float():
        return pd.DataFrame(X.to_numpy(), columns=names)  # one block: thousands of single columns would be slow
    columns = [_pandas_column(column) for column in X.get_columns()]
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(X.height))
    return frame.set_axis(names, axis=1)


def as_vector(y: Any) -> Any:
    """Convert polars labels: a Series to a NumPy array, a DataFrame to pandas; masked labels become missing ones."""
    kind = _polars_kind(y)
    if kind == "Series":
        return np.asarray(_pandas_column(y))
    return as_pandas(y)


def _fill_masked(X: Any) -> Any:
    """Return a masked array with NaN, or None beside values that are no numbers, in place of masked cells."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    # np.asarray would ignore the mask, and numbers such as -999, which it hides, would be used.
    if not X.mask.any():
        return X.data
    if X.dtype.kind in "iubf":
        return np.ma.filled(X if X.dtype.kind == "f" else X.astype(np.float64), np.nan)
    return np.ma.filled(X.astype(object), None)


def _make_dense(X: Any) -> Any:
    """Return a pandas frame with dense columns in place of sparse ones. Any other value is returned unchanged."""
    if not is_frame(X):
        return X
    import pandas as pd

    is_sparse = [isinstance(dtype, pd.SparseDtype) for dtype in X.dtypes]
    if not any(is_sparse):
        return X
    # By position, since two columns may have one name.
    columns = [X.iloc[:, j].sparse.to_dense() if is_sparse[j] else X.iloc[:, j] for j in range(X.shape[1])]
    return pd.concat(columns, axis=1).set_axis(X.columns, axis=1)


def _convert_other(X: Any) -> Any:
    """Convert a table of one of the packages in `_CONVERTED` to pandas. Any other value is returned unchanged."""
    if type(X).__module__.partition(".")[0] not in _CONVERTED:
        return X
    import narwhals

    if not narwhals.dependencies.is_into_dataframe(X):
        return X
    try:
        frame = narwhals.from_native(X, eager_only=True).to_pandas()
    except narwhals.exceptions.DuplicateError as error:
        told = " ".join(str(error).split())
        raise InvalidDataError(f"there is more than one column of one name: rename them ({told})") from error
    if type(X).__module__.partition(".")[0] == "pyarrow":
        for j, column in enumerate(X.columns):
            if column.null_count and frame.dtypes.iloc[j].kind == "f" and "int" in str(column.type):
                frame.isetitem(j, _whole_numbers(frame.iloc[:, j].to_numpy(), column.to_pylist()))
    return frame


def _whole_numbers(floats: Any, values: list[Any]) -> Any:
    """Return a column of integers with missing cells: as floats if these are exact, else as nullable integers.

    NumPy has no missing integers, so that polars and Arrow give floats. Integers beyond 2⁵³ would be rounded silently.
    """
    import pandas as pd

    if not (np.abs(floats) >= _EXACT).any():  # comparisons with NaN are False
        return floats
    largest = max(value for value in values if value is not None)
    return pd.array(values, dtype="UInt64" if largest > np.iinfo(np.int64).max else "Int64")


def _polars_kind(table: Any) -> str:
    """Return the class name of a polars object, or "" for any other object. Polars is not imported for this."""
    return type(table).__name__ if type(table).__module__.partition(".")[0] == "polars" else ""


def _pandas_column(column: Any) -> pd.Series | Any:
    """Convert a polars Series to values that pandas accepts as a column."""
    import pandas as pd
    import polars as pl

    dtype = column.dtype
    if dtype == pl.Enum:
        return pd.Categorical(
            column.to_list(), categories=pd.Index(dtype.categories.to_list(), dtype=object), ordered=True
        )
    if dtype == pl.Categorical:
        return pd.Categorical(column.to_list())
    if dtype.is_integer() and "128" in str(dtype):  # NumPy has no 128-bit integers
        numbers = column.cast(pl.Float64).to_numpy()
        exact = not (np.abs(numbers) >= _EXACT).any()
        return numbers if exact else pd.Series(column.to_list(), dtype=object)
    if dtype == pl.Decimal:  # NumPy has no decimals
        return column.cast(pl.Float64).to_numpy()
    if dtype.is_integer() and column.null_count():
        return _whole_numbers(column.to_numpy(), column.to_list())
    if (
        dtype.is_numeric()
        or dtype.is_temporal()
        or dtype == pl.Null
        or (dtype == pl.Boolean and not column.null_count())
    ):
        return column.to_numpy()
    return pd.Series(column.to_list(), dtype=object)
