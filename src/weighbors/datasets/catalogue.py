"""List the data sets, and describe one data set."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .._names import hint
from ..exceptions import InvalidDataError
from .builtin import builtin_names, load_builtin
from .loaders import VARIABLE, Dataset, list_datasets, load_dataset

if TYPE_CHECKING:
    import pandas as pd

BUILT_IN = "built-in"
_COLUMNS = ("name", "group", "rows", "features", "classes", "source", "licence", "note")
_SIZES = {"breast-cancer": (569, 30, 2), "digits": (1797, 64, 10), "iris": (150, 4, 3), "wine": (178, 13, 3)}


def known_datasets(data_home: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Return a table of all data sets: those of scikit-learn, and those of the directory of data sets, if there is one.

    Parameters
    ----------
    data_home : path, optional
        Directory of the data sets. By default the directory that ``WEIGHBORS_DATA`` names, if it is set.

    Returns
    -------
    DataFrame
        One row per data set, with the columns name, group, rows, features, classes, source, licence and note. An
        unknown value is an empty text.

    Examples
    --------
    >>> known_datasets().head(4)[["name", "rows", "features", "classes"]]
                name  rows features classes
    0  breast-cancer   569       30       2
    1         digits  1797       64      10
    2           iris   150        4       3
    3           wine   178       13       3
    """
    import pandas as pd

    own = [(name, BUILT_IN, *_SIZES[name], "scikit-learn", "", "") for name in builtin_names()]
    frame = pd.DataFrame(own, columns=list(_COLUMNS), dtype=object)
    if data_home is None and not os.environ.get(VARIABLE):
        return frame
    found = list_datasets(data_home).reindex(columns=list(_COLUMNS)).astype(object)
    found = found.where(found.notna(), "")
    for name in ("rows", "features", "classes"):
        found[name] = [str(value).strip().removesuffix(".0") for value in found[name]]
    return pd.concat([frame, found], ignore_index=True)


def describe_dataset(
    name: str, group: str | None = None, *, data_home: str | os.PathLike[str] | None = None
) -> dict[str, Any]:
    """Return a description of a data set: rows, columns, classes, missing cells, and source.

    Parameters
    ----------
    name : str
    group : str, optional
        Group of the data set, needed if several data sets have this name. By default the first in `known_datasets`.
    data_home : path, optional
        Directory of the data sets. By default the directory that ``WEIGHBORS_DATA`` names, if it is set.

    Returns
    -------
    dict

    Raises
    ------
    InvalidDataError
        If there is no data set with this name.

    Examples
    --------
    >>> found = describe_dataset("iris", "built-in")
    >>> found["rows"], found["columns"], found["missing"]
    (150, 4, 0)
    """
    known = known_datasets(data_home)
    found = known[known["name"] == name]
    if group is not None:
        found = found[found["group"] == group]
    if found.empty:
        where = "" if group is None else f" in group '{group}'"
        raise InvalidDataError(f"there is no data set '{name}'{where}. {hint(name, known['name'].unique().tolist())}")
    row = found.iloc[0]
    data = load_builtin(name) if row["group"] == BUILT_IN else load_dataset(name, row["group"], data_home=data_home)
    elsewhere = [str(one) for one in found["group"].tolist()[1:]]
    note = str(row["note"]) + (f" (also in {', '.join(elsewhere)})" if elsewhere else "")
    description = {
        "name": name,
        "group": str(row["group"]),
        "source": str(row["source"]),
        "licence": str(row["licence"]),
    }
    return {**description, "note": note.strip(), **_describe_contents(data)}


def _describe_contents(data: Dataset) -> dict[str, Any]:
    """Return the numbers of rows, columns, classes and missing cells of a dense or sparse table."""
    import pandas as pd

    rows, columns = data.X.shape
    labels, counts = np.unique(np.asarray(data.y).astype(str), return_counts=True)
    if hasattr(data.X, "dtypes") and hasattr(data.X, "iloc"):
        missing = data.X.isna().sum().to_numpy()
        numbers = sum(pd.api.types.is_numeric_dtype(dtype) for dtype in data.X.dtypes)
    else:
        missing = _count_missing_sparse(data.X.tocsc()) if hasattr(data.X, "tocsc") else np.isnan(data.X).sum(axis=0)
        numbers = columns
    return {
        "rows": int(rows),
        "columns": int(columns),
        "numbers": int(numbers),
        "categories": int(columns - numbers),
        "classes": dict(zip(labels.tolist(), counts.tolist(), strict=True)),
        "missing": int(missing.sum()),
        "columns_with_missing": int((missing > 0).sum()),
    }


def _count_missing_sparse(X: Any) -> Any:
    """Return the number of missing cells in each column of a CSC matrix."""
    # CSC stores its values column by column, so each value's column follows from the lengths.
    column = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    return np.bincount(column[np.isnan(X.data)], minlength=X.shape[1])
