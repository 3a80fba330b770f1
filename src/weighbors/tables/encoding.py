"""From a table of any columns to coded rows of numbers, and back to the column that each number comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._names import quote_name, unused_name
from .._typing import BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from .cells import is_missing, read_column
from .cleaning import as_categories, category_text, with_text_names
from .coded import CodedTable
from .column_scales import ColumnScales, learn_scales
from .validation import TableCoder

if TYPE_CHECKING:
    import pandas as pd

#: What becomes of missing cells. "indicator": an own category, and for numbers the mean and a column that says so.
#: "distance": they stay missing, and the distance of the estimator decides.
MISSING = ("indicator", "distance")
UNSEEN = -1.0  # the code of a category that was not in the training table


@dataclass(frozen=True)
class TableEncoder:
    """Encoding of a cleaned table: numbers are scaled, categories get codes, missing cells are marked.

    The encoded columns are the columns of the table in their order, then one column for each number that was missing in
    training rows. That column is 1 if the number is missing.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns of the table, in order.
    categories : dict of str to tuple of str or None
        For each categorical column, the categories that its codes stand for, in the order in which they first appear.
        None is the category of missing cells, if there is one. The other columns are numbers.
    scales : ColumnScales
        Scaling of the numbers.
    missing : {"indicator", "distance"}
    fill : ndarray of shape (n_numbers,)
        What stands for a missing number: the mean of the scaled column, or NaN if ``missing="distance"``.
    flagged : ndarray of shape (n_numbers,)
        Which numbers have a column that says whether they are missing.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": [1.0, 3.0, None], "colour": pd.Categorical(["red", "blue", "red"])})
    >>> encoder = TableEncoder.learn(X, "range")
    >>> encoder.names
    ('size', 'colour', 'size is missing')
    >>> encoder.encode(X)
    array([[0. , 0. , 0. ],
           [1. , 1. , 0. ],
           [0.5, 0. , 1. ]])
    >>> encoder.scale(X)
       size colour
    0   0.0    red
    1   1.0   blue
    2   NaN    red
    """

    columns: tuple[str, ...]
    categories: dict[str, tuple[str | None, ...]]
    scales: ColumnScales
    missing: str
    fill: FloatArray
    flagged: BoolArray

    @classmethod
    def learn(
        cls, X: pd.DataFrame, scale: str | None, missing: str = "indicator", weight: FloatArray | None = None
    ) -> TableEncoder:
        """Learn the encoding of a table that comes from `clean_table`.

        Parameters
        ----------
        X : DataFrame
        scale : {"standard", "range", "rank"} or None
        missing : {"indicator", "distance"}
        weight : ndarray of shape (n_samples,), optional
            A row of weight 2 counts as two rows.
        """
        import pandas as pd

        columns = tuple(str(name) for name in X.columns)
        nominal = np.array([isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes], dtype=bool)
        # None for missing cells. TableCoder codes categories in the same order.
        found = {columns[j]: X.iloc[:, j].astype(object).unique().tolist() for j in np.flatnonzero(nominal).tolist()}
        known = {
            name: tuple(text if isinstance(text, str) else None for text in texts) for name, texts in found.items()
        }
        numbers = X.loc[:, ~nominal].to_numpy(dtype=np.float64)
        _refuse_wide(numbers, [name for name in columns if name not in known])
        scales = learn_scales(numbers, scale, weight)
        absent = np.isnan(numbers)
        if missing == "distance":
            known = {name: tuple(text for text in texts if text is not None) for name, texts in known.items()}
            none = np.zeros(numbers.shape[1], dtype=bool)
            return cls(columns, known, scales, missing, np.full(numbers.shape[1], np.nan), none)
        scaled, mass = scales.transform(numbers), np.ones(len(X)) if weight is None else weight
        there = np.where(absent, 0.0, mass[:, None])
        fill = (np.where(absent, 0.0, scaled) * there).sum(axis=0) / there.sum(axis=0)
        return cls(columns, known, scales, missing, fill, absent.any(axis=0))

    @cached_property
    def _places(self) -> tuple[IndexArray, IndexArray]:
        """Positions of the numbers and of the categorical columns among the columns of the table."""
        nominal = np.array([name in self.categories for name in self.columns], dtype=bool)
        return np.flatnonzero(~nominal), np.flatnonzero(nominal)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        taken = list(self.columns)
        for j in self.origin[len(taken) :].tolist():
            taken.append(unused_name(f"{self.columns[j]} is missing", taken))
        return tuple(taken)

    @cached_property
    def origin(self) -> IndexArray:
        """For every encoded column, the position of the column of the table that it comes from."""
        return np.concatenate([np.arange(len(self.columns)), self._places[0][self.flagged]])

    @cached_property
    def coder(self) -> TableCoder:
        """The encoded columns as estimators know them. Columns that mark missing numbers hold categories."""
        categories = {}
        for j in self._places[1].tolist():
            known = self.categories[self.columns[j]]
            mark = unused_name("(missing)", [text for text in known if text is not None])
            categories[j] = np.array([mark if text is None else text for text in known], dtype=object)
        marks = np.array(["present", "missing"], dtype=object)
        categories |= dict.fromkeys(range(len(self.columns), len(self.names)), marks)
        nominal = np.isin(np.arange(len(self.names)), list(categories))
        return TableCoder(nominal=nominal, categories=categories, names=list(self.names))

    def coded_table(self, rows: FloatArray) -> CodedTable:
        """Return encoded rows as estimators take them."""
        return CodedTable(rows, self.coder, feature_names=np.array(self.names, dtype=object))

    def scale(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the table of `read` or `clean_table` with scaled numbers. Categories and missing cells stay."""
        scaled = X.copy(deep=False)
        plain = [name for name in self.columns if name not in self.categories]
        scaled[plain] = self.scales.transform(X[plain].to_numpy(dtype=np.float64))
        return scaled

    def read(self, X: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return a new table, cleaned and reduced to the columns of the encoder, with messages about it.

        Raises
        ------
        InvalidDataError
            If columns are missing, if a numeric column contains mostly text, or if there are no rows.
        """
        import pandas as pd

        X = with_text_names(X)
        self._check(X)
        notes = self._note_extra_columns(X)
        columns: dict[str, Any] = {}
        for name in self.categories:
            columns[name] = self._categories(X[name], name, notes)
        plain = [name for name in self.columns if name not in self.categories]
        frame = X[plain]
        # Plain numbers are converted at once, which is much faster for wide tables than column by column.
        if all(dtype.kind in "iuf" for dtype in frame.dtypes):
            numbers = np.array(frame.to_numpy(dtype=np.float64, na_value=np.nan))
        else:
            numbers = np.column_stack([_numbers(frame[name], name, notes) for name in plain])
        numbers[np.isinf(numbers)] = np.nan
        frame = pd.DataFrame(numbers, columns=pd.Index(plain, dtype=object), index=X.index)
        if columns:
            frame = pd.concat([frame, pd.DataFrame(columns, index=X.index)], axis=1)[list(self.columns)]
        return frame, tuple(notes)

    def _check(self, X: pd.DataFrame) -> None:
        """Raise `InvalidDataError` if the table has no rows or lacks columns."""
        there = set(X.columns)
        lacking = [name for name in self.columns if name not in there]
        if lacking:
            some = ", ".join(quote_name(name) for name in lacking[:10]) + (", ..." if len(lacking) > 10 else "")
            raise InvalidDataError(
                f"the table lacks {len(lacking)} of the {len(self.columns)} columns the model was fitted to: {some}. "
                f"It has {', '.join(quote_name(name) for name in X.columns[:10])}"
            )
        if not len(X):
            raise InvalidDataError("the table has column names and no rows")

    def _note_extra_columns(self, X: pd.DataFrame) -> list[str]:
        """Return a list with a message that names the columns the model does not use, or an empty list."""
        known = set(self.columns)
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
        known = [text for text in self.categories[name] if text is not None]
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

    def encode(self, X: pd.DataFrame) -> FloatArray:
        """Return the encoded rows of a table that comes from `read`."""
        codes = np.empty((len(X), len(self.categories)))
        for i, j in enumerate(self._places[1].tolist()):
            column, code_of = X.iloc[:, j].cat, self._code_of[j]
            # The code −1 of a missing cell selects the last element.
            known = [code_of.get(text, UNSEEN) for text in column.categories]
            codes[:, i] = np.array([*known, code_of[None]], dtype=np.float64)[column.codes.to_numpy()]
        numbers = X.iloc[:, self._places[0]].to_numpy(dtype=np.float64)
        return self._combine(numbers, codes)

    @cached_property
    def _code_of(self) -> dict[int, dict[str | None, float]]:
        """For every categorical column, the code of each known category, and that of missing cells, which is None."""
        absent = np.nan if self.missing == "distance" else UNSEEN
        return {
            j: {None: absent, **{text: float(code) for code, text in enumerate(self.categories[self.columns[j]])}}
            for j in self._places[1].tolist()
        }

    def _combine(self, numbers: FloatArray, codes: FloatArray) -> FloatArray:
        """Return encoded rows for numbers in their own units and codes of categories."""
        out = np.empty((len(numbers), len(self.names)))
        scaled = self.scales.transform(numbers)
        absent = np.isnan(scaled)
        if self.missing == "indicator":
            scaled = np.where(absent, self.fill, scaled)
        out[:, self._places[0]], out[:, self._places[1]] = scaled, codes
        out[:, len(self.columns) :] = absent[:, self.flagged]
        return out

    def encode_cells(self, cells: list[list[Any]]) -> FloatArray | None:
        """Return the encoded rows of a few rows of cells, or None if a cell needs the rules of `read`.

        ``cells`` has a list for each row, with the cells in the order of ``columns``. For one row this is much
        faster than operations on the columns of a DataFrame, and gives the same numbers.
        """
        # Python reads lists faster than arrays.
        number_places, category_places = (places.tolist() for places in self._places)
        numbers, codes = np.empty((len(cells), len(number_places))), np.empty((len(cells), len(category_places)))
        for r, row in enumerate(cells):
            for i, j in enumerate(number_places):
                number = _plain_number(row[j])
                if number is None:
                    return None
                numbers[r, i] = number
            for i, j in enumerate(category_places):
                code = self._plain_code(row[j], j)
                if code is None:
                    return None
                codes[r, i] = code
        return self._combine(numbers, codes)

    def encode_numbers(self, numbers: FloatArray) -> FloatArray:
        """Return the encoded rows of a table that has only numbers. Infinite ones count as missing."""
        if not np.isfinite(numbers).all():
            numbers = np.where(np.isinf(numbers), np.nan, numbers)
        return self._combine(numbers, np.empty((len(numbers), 0)))

    def _plain_code(self, cell: Any, j: int) -> float | None:
        """Return the code of one cell of a categorical column, or None if it is no plain value."""
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return self._code_of[j][None]
        if isinstance(cell, (str, bool, np.bool_, int, float, np.integer)):
            return self._code_of[j].get(cell if isinstance(cell, str) else category_text(cell), UNSEEN)
        return None


def _refuse_wide(numbers: FloatArray, names: list[str]) -> None:
    """Raise InvalidDataError if the range of a column is infinite: every scaled value would be 0 or NaN."""
    low, high = np.fmin.reduce(numbers, axis=0), np.fmax.reduce(numbers, axis=0)
    with np.errstate(over="ignore"):
        wide = np.flatnonzero(np.isinf(high - low))
    if len(wide):
        j = wide[0]
        raise InvalidDataError(
            f"column {quote_name(names[j])} spans from {low[j]:.3g} to {high[j]:.3g}, too much to be scaled: divide it "
            "by a constant, or drop it"
        )


def _numbers(column: pd.Series, name: str, notes: list[str]) -> FloatArray:
    """Return a new column as numbers. Cells of text become NaN, and a message is added to ``notes``.

    Raise `InvalidDataError` if more than half of the cells are text.
    """
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    found = read_column(column, kind="number")
    numbers = np.asarray(found.cells if found.read_as == "number" else np.full(len(column), np.nan), dtype=np.float64)
    present = np.array([known and not is_missing(cell) for known, cell in zip(column.notna(), column, strict=True)])
    strange = column[present & np.isnan(numbers)]
    # Mostly text means that another column has the name. A few texts may be marks of missing values.
    if 2 * len(strange) > present.sum():
        raise InvalidDataError(
            f"column {quote_name(name)} was numbers in fit and holds text now ({quote_name(strange.iloc[0], 20)}, ...)"
        )
    notes += [f"{quote_name(name)}: {one}" for one in found.notes]
    return numbers


def _plain_number(cell: Any) -> float | None:
    """Return a cell as a number, NaN if it is missing or infinite, and None if it is no plain number."""
    if cell is None:
        return math.nan
    if isinstance(cell, (float, int, np.integer, np.floating)) and not isinstance(cell, bool):
        try:
            number = float(cell)
        except OverflowError:
            return None
        return math.nan if math.isinf(number) else number
    return None
