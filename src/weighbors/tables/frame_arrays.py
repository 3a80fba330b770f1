"""Conversion of DataFrames to plain arrays and back, so that fitted estimators can be saved without pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def frame_to_arrays(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of a frame as arrays, with their names and dtypes. The index is left out.

    Examples
    --------
    >>> import pandas as pd
    >>> held = frame_to_arrays(pd.DataFrame({"n": [1, 2], "c": pd.Categorical(["x", None])}))
    >>> held["names"], held["dtypes"]
    (['n', 'c'], ['int64', 'category'])
    >>> frame_from_arrays(held)
       n    c
    0  1    x
    1  2  NaN
    """
    columns = [frame.iloc[:, j] for j in range(frame.shape[1])]
    return {
        "names": list(frame.columns),
        "dtypes": [str(column.dtype) for column in columns],
        "columns": [_values_of(column) for column in columns],
    }


def _values_of(column: pd.Series) -> Any:
    """Return the cells of a column as a NumPy array, or as a dict with codes and categories."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = np.asarray(column.cat.categories, dtype=object)
        return {"codes": column.cat.codes.to_numpy(), "categories": categories, "ordered": bool(column.cat.ordered)}
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy()
    values = column.astype(object)  # the extension types of pandas mark missing cells by pandas objects
    return values.where(column.notna(), None).to_numpy()


def frame_from_arrays(held: dict[str, Any]) -> pd.DataFrame:
    """Return the frame that `frame_to_arrays` converted to ``held``. Its rows are numbered from 0."""
    import pandas as pd

    columns: dict[int, Any] = {}
    for j, (values, dtype) in enumerate(zip(held["columns"], held["dtypes"], strict=True)):
        if dtype == "category":
            kind = pd.CategoricalDtype(pd.Index(values["categories"]), values["ordered"])
            columns[j] = pd.Categorical.from_codes(values["codes"], dtype=kind)
        else:
            columns[j] = pd.Series(values, dtype=dtype)
    # Numbers stand for the names until the end, since names may repeat.
    frame = pd.DataFrame(columns)
    frame.columns = pd.Index(held["names"])
    return frame


class FrameAttribute:
    """Descriptor of an attribute that is set and read as a DataFrame and stored as arrays.

    Each access returns a new frame, so that changes to the frame do not change the estimator.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.held = name, f"_{name.strip('_')}_arrays"

    def __set__(self, estimator: Any, frame: pd.DataFrame) -> None:
        setattr(estimator, self.held, frame_to_arrays(frame))

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        if self.held not in vars(estimator):
            raise AttributeError(f"{type(estimator).__name__} has no attribute '{self.name}': it appears after fit")
        return frame_from_arrays(vars(estimator)[self.held])

    def __delete__(self, estimator: Any) -> None:
        vars(estimator).pop(self.held, None)
