"""From the columns of a cleaned table to rows of numbers, and back to the column that each number comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._names import unused_name
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .cleaning import category_text
from .column_scales import ColumnScales, learn_scales
from .scaling import TableScaler

if TYPE_CHECKING:
    import pandas as pd

#: What becomes of missing cells. "indicator": an own category, and for numbers the mean and a column that says so.
#: "distance": they stay missing, and the distance of the estimator decides.
MISSING = ("indicator", "distance")
UNSEEN = -1.0  # the code of a category that was not in the training table
_NEW = -2  # what stands for such a category before missing cells, which pandas codes as −1, have their code


@dataclass(frozen=True)
class TableEncoder:
    """Encoding of a cleaned table: numbers are scaled, categories get codes, missing cells are marked.

    The encoded columns are the columns of the table in their order, then one column for each number that was missing in
    training rows. That column is 1 if the number is missing.

    Parameters
    ----------
    columns : TableScaler
        Names, ranges and categories of the columns of the table.
    scales : ColumnScales
        Scaling of the numbers.
    missing : {"indicator", "distance"}
    fill : ndarray of shape (n_numbers,)
        What stands for a missing number: the mean of the scaled column, or NaN if ``missing="distance"``.
    flagged : ndarray of shape (n_numbers,)
        Which numbers have a column that says whether they are missing.
    has_missing : ndarray of shape (n_categorical,)
        Which categorical columns have a category for missing cells.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": [1.0, 3.0, None], "colour": pd.Categorical(["red", "blue", "red"])})
    >>> encoder = TableEncoder.learn(X, "range")
    >>> encoder.names
    ('size', 'colour', 'size is missing')
    >>> encoder.encode(X)
    array([[0. , 1. , 0. ],
           [1. , 0. , 0. ],
           [0.5, 1. , 1. ]])
    """

    columns: TableScaler
    scales: ColumnScales
    missing: str
    fill: FloatArray
    flagged: BoolArray
    has_missing: BoolArray

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
        columns = TableScaler.learn(X)
        nominal = columns.nominal
        numbers = X.loc[:, ~nominal].to_numpy(dtype=np.float64)
        scales = learn_scales(numbers, scale, weight)
        absent = np.isnan(numbers)
        if missing == "distance":
            none, no_category = np.zeros(numbers.shape[1], dtype=bool), np.zeros(int(nominal.sum()), dtype=bool)
            return cls(columns, scales, missing, np.full(numbers.shape[1], np.nan), none, no_category)
        scaled, mass = scales.transform(numbers), np.ones(len(X)) if weight is None else weight
        there = np.where(absent, 0.0, mass[:, None])
        fill = (np.where(absent, 0.0, scaled) * there).sum(axis=0) / there.sum(axis=0)
        has_missing = np.asarray(X.loc[:, nominal].isna().any(axis=0), dtype=bool)
        return cls(columns, scales, missing, fill, absent.any(axis=0), has_missing)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        taken = list(self.columns.names)
        for j in self._number_places[self.flagged].tolist():
            taken.append(unused_name(f"{self.columns.names[j]} is missing", taken))
        return tuple(taken)

    @cached_property
    def origin(self) -> IndexArray:
        """For every encoded column, the position of the column of the table that it comes from."""
        return np.concatenate([np.arange(len(self.columns.names)), self._number_places[self.flagged]])

    @cached_property
    def nominal(self) -> BoolArray:
        """Which encoded columns are codes of categories. Columns that mark missing numbers are."""
        return np.concatenate([self.columns.nominal, np.ones(int(self.flagged.sum()), dtype=bool)])

    @cached_property
    def _number_places(self) -> IndexArray:
        """Positions of the numbers among the columns of the table."""
        return np.flatnonzero(~self.columns.nominal)

    @cached_property
    def _category_places(self) -> IndexArray:
        """Positions of the categorical columns among the columns of the table."""
        return np.flatnonzero(self.columns.nominal)

    @cached_property
    def labels(self) -> dict[int, tuple[str, ...]]:
        """For every encoded column of codes, the texts that the codes stand for."""
        found: dict[int, tuple[str, ...]] = {}
        for j, absent in zip(self._category_places.tolist(), self.has_missing.tolist(), strict=True):
            known = self.columns.categories[self.columns.names[j]]
            found[j] = (*known, unused_name("(missing)", known)) if absent else known
        found.update(dict.fromkeys(range(len(self.columns.names), len(self.names)), ("present", "missing")))
        return found

    def encode(self, X: pd.DataFrame) -> FloatArray:
        """Return the encoded rows of a table that comes from `TableScaler.read`."""
        codes = np.empty((len(X), len(self._category_places)))
        for i, j in enumerate(self._category_places.tolist()):
            cell = X.iloc[:, j].cat.codes.to_numpy()
            known = len(self.columns.categories[self.columns.names[j]])
            codes[:, i] = np.where(cell >= known, _NEW, cell)  # new categories come after the known ones
        numbers = X.iloc[:, self._number_places].to_numpy(dtype=np.float64)
        return self._combine(numbers, codes)

    @cached_property
    def _missing_codes(self) -> FloatArray:
        """The code of a missing cell, for every categorical column."""
        known = [len(self.columns.categories[self.columns.names[j]]) for j in self._category_places.tolist()]
        own = np.where(self.has_missing, np.array(known, dtype=np.float64), UNSEEN)
        return np.full(len(known), np.nan) if self.missing == "distance" else own

    def _combine(self, numbers: FloatArray, codes: FloatArray) -> FloatArray:
        """Return encoded rows for numbers in their own units and codes of categories.

        ``codes`` has −1 for missing cells and −2 for categories that are new.
        """
        out = np.empty((len(numbers), len(self.nominal)))
        scaled = self.scales.transform(numbers)
        absent = np.isnan(scaled)
        if self.missing == "indicator":
            scaled = np.where(absent, self.fill, scaled)
        out[:, self._number_places] = scaled
        out[:, self._category_places] = np.where(codes == -1, self._missing_codes, np.maximum(codes, UNSEEN))
        out[:, len(self.columns.names) :] = absent[:, self.flagged]
        return out

    def encode_cells(self, cells: list[list[Any]]) -> FloatArray | None:
        """Return the encoded rows of a few rows of cells, or None if a cell needs the rules of `TableScaler.read`.

        ``cells`` has a list for each row, with the cells in the order of ``columns.names``. For one row this is much
        faster than operations on the columns of a DataFrame, and gives the same numbers.
        """
        number_places, category_places = self._place_lists
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

    @cached_property
    def _place_lists(self) -> tuple[list[int], list[int]]:
        """Positions of the numbers and of the categorical columns, as lists, which Python reads faster than arrays."""
        return self._number_places.tolist(), self._category_places.tolist()

    @cached_property
    def _code_of(self) -> dict[int, dict[str, int]]:
        """For every categorical column, the code of each known category."""
        names = self.columns.names
        return {
            j: {text: code for code, text in enumerate(self.columns.categories[names[j]])}
            for j in self._category_places.tolist()
        }

    def _plain_code(self, cell: Any, j: int) -> float | None:
        """Return the code of one cell: −1 if it is missing, −2 if it is new, None if it is no plain value."""
        if isinstance(cell, str):
            return self._code_of[j].get(cell, _NEW)
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return -1
        if isinstance(cell, (bool, np.bool_, int, float, np.integer)):
            return self._code_of[j].get(category_text(cell), _NEW)
        return None

    def label(self, rows: FloatArray) -> pd.DataFrame:
        """Return encoded rows as a DataFrame with names, and with texts in place of codes."""
        import pandas as pd

        columns = dict(self._label_columns(rows))
        frame = pd.DataFrame({j: columns[j] for j in range(len(self.names))})
        return frame.set_axis(pd.Index(self.names, dtype=object), axis=1)

    def _label_columns(self, rows: FloatArray) -> Iterator[tuple[int, AnyArray]]:
        """Yield the number of every encoded column, and its cells as numbers or as texts."""
        for j in range(rows.shape[1]):
            if self.nominal[j]:
                texts = np.array([*self.labels[j], None], dtype=object)  # None for missing cells and new categories
                code = np.where(rows[:, j] >= 0, rows[:, j], len(texts) - 1)
                yield j, texts[np.nan_to_num(code, nan=len(texts) - 1).astype(np.int64)]
            else:
                yield j, rows[:, j]


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
