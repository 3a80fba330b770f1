"""What a model knows of the columns it was fitted to: ranges of numbers, and categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import FloatArray
from ..exceptions import InvalidDataError
from ._text import shown
from .cleaning import as_categories, named, no_numbers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableScaler"]


@dataclass(frozen=True)
class TableScaler:
    """Min-max scaling of the numbers of a mixed table, learned once and applied to others.

    Categories stay as they are. So a number differs from another by 0 to 1, a category by 0 or 1, and a
    missing value, which is at full range, by 1.

    Parameters
    ----------
    names : tuple of str
        The columns, in order.
    low, high : ndarray of shape (n_features,)
        Range of the numbers; NaN for categories.
    categories : dict of str to tuple of str
        Known categories of the others.

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

    @classmethod
    def learn(cls, X: pd.DataFrame) -> TableScaler:
        """Learn ranges and categories of a table that `clean_table` made."""
        names = tuple(str(name) for name in X.columns)
        nominal = _nominal(X)
        low, high = np.full(len(names), np.nan), np.full(len(names), np.nan)
        numbers = X.loc[:, ~nominal].to_numpy(dtype=np.float64)
        low[~nominal], high[~nominal] = np.fmin.reduce(numbers, axis=0), np.fmax.reduce(numbers, axis=0)
        with np.errstate(over="ignore"):
            wide = np.flatnonzero(np.isinf(high - low))
        if len(wide):
            raise InvalidDataError(
                f"column {shown(names[wide[0]])} spans from {low[wide[0]]:.3g} to {high[wide[0]]:.3g}, too much to be "
                "scaled: divide it by a constant, or drop it"
            )
        known = {names[j]: tuple(X.iloc[:, j].cat.categories) for j in np.flatnonzero(nominal).tolist()}
        return cls(names, low, high, known)

    def scale(self, X: pd.DataFrame) -> pd.DataFrame:
        """Numbers from 0 to 1 over the range that was learned; other columns untouched."""
        import pandas as pd

        nominal = np.isnan(self.low)
        low, span = self.low[~nominal], (self.high - self.low)[~nominal]
        numbers = X.loc[:, ~nominal].to_numpy(dtype=np.float64)
        scaled = pd.DataFrame((numbers - low) / span, columns=X.columns[~nominal], index=X.index)
        return pd.concat([scaled, X.loc[:, nominal]], axis=1)[list(X.columns)] if nominal.any() else scaled

    def read(self, X: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """A new table with the columns of this one, not yet scaled, and notes.

        Raises
        ------
        InvalidDataError
            Where columns are missing, a column of numbers holds text, or there are no rows.
        """
        import pandas as pd

        X = named(X)
        self._check(X)
        notes = self._extra(X)
        nominal = np.isnan(self.low)
        columns: dict[str, Any] = {}
        for name in (one for one, text in zip(self.names, nominal, strict=True) if text):
            columns[name] = self._categories(X[name], name, notes)
        plain = [name for name, text in zip(self.names, nominal, strict=True) if not text]
        frame = X[plain]
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
        there = set(X.columns)
        lacking = [name for name in self.names if name not in there]
        if lacking:
            some = ", ".join(shown(name) for name in lacking[:10]) + (", ..." if len(lacking) > 10 else "")
            raise InvalidDataError(
                f"the table lacks {len(lacking)} of the {len(self.names)} columns the model was fitted to: {some}. "
                f"It has {', '.join(shown(name) for name in X.columns[:10])}"
            )
        if not len(X):
            raise InvalidDataError("the table has column names and no rows")

    def _extra(self, X: pd.DataFrame) -> list[str]:
        known = set(self.names)
        extra = [name for name in X.columns if name not in known]
        if not extra:
            return []
        some = ", ".join(shown(name) for name in extra[:5]) + (", ..." if len(extra) > 5 else "")
        return [f"{len(extra)} columns the model does not use: {some}"]

    def _categories(self, column: pd.Series, name: str, notes: list[str]) -> Any:
        import pandas as pd

        found = as_categories(column)
        if isinstance(found, str):
            raise InvalidDataError(f"column {shown(name)} was categories in fit, and now {found}")
        known = self.categories[name]
        unseen = found.categories.difference(pd.Index(known, dtype=object)).tolist()
        if unseen:
            rows = int(found.isin(unseen).sum())
            some = ", ".join(shown(value, 20) for value in unseen[:5]) + (", ..." if len(unseen) > 5 else "")
            notes.append(
                f"{shown(name)}: {some} {'was' if len(unseen) == 1 else 'were'} not there in fit ({rows} "
                f"{'row' if rows == 1 else 'rows'}); such a category differs from every known one"
            )
        return found.set_categories(pd.Index([*known, *unseen], dtype=object))


def _nominal(X: pd.DataFrame) -> Any:
    import pandas as pd

    return np.array([isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes], dtype=bool)


def _numbers(column: pd.Series, name: str, notes: list[str]) -> FloatArray:
    """Numbers of a new column; a few cells of text count as missing, many are an error."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    present = column[column.notna()].astype(str)
    numbers = pd.to_numeric(present, errors="coerce")
    strange = present[numbers.isna()]
    if 2 * len(strange) > len(present):
        raise InvalidDataError(
            f"column {shown(name)} was numbers in fit and holds text now ({shown(strange.iloc[0], 20)}, ...)"
        )
    if len(strange):
        notes.append(no_numbers(name, len(strange), strange.iloc[0]))
    return numbers.reindex(column.index).to_numpy(dtype=np.float64)
