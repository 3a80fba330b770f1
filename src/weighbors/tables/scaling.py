"""Column ranges and categories of a training table, and min-max scaling of other tables with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._names import quote_name
from .._typing import BoolArray, FloatArray
from ..exceptions import InvalidDataError
from .cleaning import as_categories, text_cells_note, with_text_names
from .ranges import scale_columns

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TableScaler:
    """Min-max scaling of the numeric columns of a table. The column ranges are learned from a training table.

    Categories are not changed. After scaling, two numbers of the training table differ by 0 to 1, two categories by 0
    or 1, and the missing distance is 1.

    Parameters
    ----------
    names : tuple of str
        Names of the columns, in order.
    low, high : ndarray of shape (n_features,)
        Smallest and largest value of each numeric column, and NaN for categorical columns.
    categories : dict of str to tuple of str
        Known categories of each categorical column.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": [1.0, 3.0, 2.0], "colour": pd.Categorical(["red", "blue", "red"])})
    >>> TableScaler.learn(X).scale(X)
       size colour
    0   0.0    red
    1   1.0   blue
    2   0.5    red
    """

    names: tuple[str, ...]
    low: FloatArray
    high: FloatArray
    categories: dict[str, tuple[str, ...]]

    @property
    def nominal(self) -> BoolArray:
        """Which columns are categorical: those without a range."""
        return np.isnan(self.low)

    @classmethod
    def learn(cls, X: pd.DataFrame) -> TableScaler:
        """Return a scaler with the ranges and categories of a table. The table must come from `clean_table`."""
        names = tuple(str(name) for name in X.columns)
        nominal = _nominal(X)
        low, high = np.full(len(names), np.nan), np.full(len(names), np.nan)
        numbers = X.loc[:, ~nominal].to_numpy(dtype=np.float64)
        low[~nominal], high[~nominal] = np.fmin.reduce(numbers, axis=0), np.fmax.reduce(numbers, axis=0)
        with np.errstate(over="ignore"):
            # A range above the largest float is infinite. Every scaled value would be 0 or NaN.
            wide = np.flatnonzero(np.isinf(high - low))
        if len(wide):
            raise InvalidDataError(
                f"column {quote_name(names[wide[0]])} spans from {low[wide[0]]:.3g} to {high[wide[0]]:.3g}, too much "
                "to be scaled: divide it by a constant, or drop it"
            )
        known = {names[j]: tuple(X.iloc[:, j].cat.categories) for j in np.flatnonzero(nominal).tolist()}
        return cls(names, low, high, known)

    def scale(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the table with numbers scaled by the learned column ranges. Categorical columns are not changed."""
        import pandas as pd

        nominal = self.nominal
        low, span = self.low[~nominal], (self.high - self.low)[~nominal]
        numbers = X.loc[:, ~nominal].to_numpy(dtype=np.float64)
        scaled = pd.DataFrame(scale_columns(numbers, low, span), columns=X.columns[~nominal], index=X.index)
        return pd.concat([scaled, X.loc[:, nominal]], axis=1)[list(X.columns)] if nominal.any() else scaled

    def read(self, X: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return a new table, reduced to the columns of the scaler and not yet scaled, with messages about it.

        Raises
        ------
        InvalidDataError
            If columns are missing, if a numeric column contains mostly text, or if there are no rows.
        """
        import pandas as pd

        X = with_text_names(X)
        self._check(X)
        notes = self._note_extra_columns(X)
        nominal = self.nominal
        columns: dict[str, Any] = {}
        for name in (one for one, text in zip(self.names, nominal, strict=True) if text):
            columns[name] = self._categories(X[name], name, notes)
        plain = [name for name, text in zip(self.names, nominal, strict=True) if not text]
        frame = X[plain]
        # Plain numbers are converted at once, which is much faster for wide tables than column by column.
        if all(dtype.kind in "iuf" for dtype in frame.dtypes):
            numbers = np.array(frame.to_numpy(dtype=np.float64, na_value=np.nan))
        else:
            numbers = np.column_stack([_numbers(frame[name], name, notes) for name in plain])
        numbers[np.isinf(numbers)] = np.nan
        frame = pd.DataFrame(numbers, columns=pd.Index(plain, dtype=object), index=X.index)
        if columns:
            frame = pd.concat([frame, pd.DataFrame(columns, index=X.index)], axis=1)[list(self.names)]
        return frame, tuple(notes)

    def _check(self, X: pd.DataFrame) -> None:
        """Raise `InvalidDataError` if the table has no rows or lacks columns."""
        there = set(X.columns)
        lacking = [name for name in self.names if name not in there]
        if lacking:
            some = ", ".join(quote_name(name) for name in lacking[:10]) + (", ..." if len(lacking) > 10 else "")
            raise InvalidDataError(
                f"the table lacks {len(lacking)} of the {len(self.names)} columns the model was fitted to: {some}. "
                f"It has {', '.join(quote_name(name) for name in X.columns[:10])}"
            )
        if not len(X):
            raise InvalidDataError("the table has column names and no rows")

    def _note_extra_columns(self, X: pd.DataFrame) -> list[str]:
        """Return a list with a message that names the columns the model does not use, or an empty list."""
        known = set(self.names)
        extra = [name for name in X.columns if name not in known]
        if not extra:
            return []
        some = ", ".join(quote_name(name) for name in extra[:5]) + (", ..." if len(extra) > 5 else "")
        return [f"{len(extra)} {'column' if len(extra) == 1 else 'columns'} the model does not use: {some}"]

    def _categories(self, column: pd.Series, name: str, notes: list[str]) -> Any:
        """Return a new column as categories. A message in ``notes`` names categories that are new."""
        import pandas as pd

        found = as_categories(column)
        if isinstance(found, str):
            raise InvalidDataError(f"column {quote_name(name)} was categories in fit, and now {found}")
        known = self.categories[name]
        unseen = found.categories.difference(pd.Index(known, dtype=object)).tolist()
        if unseen:
            rows = int(found.isin(unseen).sum())
            some = ", ".join(quote_name(value, 20) for value in unseen[:5]) + (", ..." if len(unseen) > 5 else "")
            notes.append(
                f"{quote_name(name)}: {some} {'was' if len(unseen) == 1 else 'were'} not there in fit ({rows} "
                f"{'row' if rows == 1 else 'rows'}); such a category differs from every known one"
            )
        # New categories get codes after the known ones, so that they differ from all of them.
        return found.set_categories(pd.Index([*known, *unseen], dtype=object))


def _nominal(X: pd.DataFrame) -> Any:
    """Return a mask of the categorical columns."""
    import pandas as pd

    return np.array([isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes], dtype=bool)


def _numbers(column: pd.Series, name: str, notes: list[str]) -> FloatArray:
    """Return a new column as numbers. Cells of text become NaN, and a message is added to ``notes``.

    Raise `InvalidDataError` if more than half of the cells are text.
    """
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    present = column[column.notna()]
    # pandas would decode bytes, which need not be text.
    present = present.map(str) if present.dtype == object else present.astype(str)
    numbers = pd.to_numeric(present, errors="coerce")
    strange = present[numbers.isna()]
    # Mostly text means that another column has the name. A few texts may be marks of missing values.
    if 2 * len(strange) > len(present):
        raise InvalidDataError(
            f"column {quote_name(name)} was numbers in fit and holds text now ({quote_name(strange.iloc[0], 20)}, ...)"
        )
    if len(strange):
        notes.append(text_cells_note(name, len(strange), strange.iloc[0]))
    return numbers.reindex(column.index).to_numpy(dtype=np.float64)
