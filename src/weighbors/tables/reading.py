"""Read tables for an estimator of tables: by the names of their columns, from raw cells to encoded rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._names import quote_name
from .._typing import AnyArray, FloatArray
from ..exceptions import InvalidDataError, UnknownCategoryError
from .cleaning import CleanTable, clean_table, find_identifier, with_text_names
from .dates import date_columns, dates_to_days
from .encoding import TableEncoder
from .frames import as_pandas, is_frame

if TYPE_CHECKING:
    import pandas as pd

_FEW_ROWS = 16  # up to so many rows, cells are read one by one, which is faster than column by column


def read_frame(estimator: Any, X: Any) -> pd.DataFrame:
    """Return a training table as a DataFrame with text names, and tell the estimator what its columns are."""
    import pandas as pd

    X = as_pandas(X)
    if not is_frame(X):
        X = _check_array(estimator, X, reset=True)
        names = [f"x{j}" for j in range(X.shape[1])]
        return pd.DataFrame(X, columns=pd.Index(names, dtype=object)).infer_objects()
    frame = with_text_names(X)
    if not len(frame):
        raise InvalidDataError("the table has column names and no rows (n_samples=0)")
    validate_data(estimator, frame, skip_check_array=True)
    return frame


@dataclass(frozen=True)
class TableReader:
    """How raw tables become encoded rows, as it was learned from a training table.

    Methods that take arrays get the estimator that was fitted: it knows how many columns there were.

    Parameters
    ----------
    encoder : TableEncoder
    dates : list of str
        Columns of dates that become days.
    unused : frozenset of str
        Columns of the training table that are left out.
    positions : list of int
        Positions of the used columns in the training table.
    names : list of str or None
        All columns of the training table. None: it was an array.
    row_column : str or None
        The column that names the rows.
    """

    encoder: TableEncoder
    dates: list[str]
    unused: tuple[str, ...]
    positions: list[int]
    names: list[str] | None
    row_column: str | None

    @classmethod
    def learn(
        cls,
        frame: pd.DataFrame,
        weight: FloatArray | None,
        *,
        named: bool,
        scale: str | None,
        missing: str,
        days: bool,
        row_names: str | None,
        keep: list[str],
        drop: list[str],
    ) -> tuple[TableReader, CleanTable]:
        """Learn how to read tables, and return the reader and the cleaned training table.

        Parameters
        ----------
        frame : DataFrame
            The training table of `read_frame`.
        weight : ndarray of shape (n,), or None
            Sample weights. Columns are learned from the rows that count.
        named : bool
            Whether the columns have names of the user.
        scale, missing, row_names, keep, drop
            As in `TableClassifier`.
        days : bool
            Whether dates become days.
        """
        dates = date_columns(frame) if days else []
        frame = dates_to_days(frame, dates)
        # Rows of weight 0 would not be there if weights were copies.
        counted = np.arange(len(frame)) if weight is None else np.flatnonzero(weight > 0)
        if len(counted) < 2:
            zero = "" if weight is None else " whose sample_weight is above 0"
            raise InvalidDataError(f"at least 2 rows{zero} are needed; got n_samples={len(counted)}")
        clean = clean_table(frame.iloc[counted], keep=keep, drop=drop)
        encoder = TableEncoder.learn(clean.X, scale, missing, None if weight is None else weight[counted])
        row_column = find_identifier(frame, clean.left_out) if row_names == "auto" else row_names
        names = list(frame.columns)
        positions = [names.index(name) for name in encoder.columns]
        unused = tuple(column.name for column in clean.left_out)
        return cls(encoder, dates, unused, positions, names if named else None, row_column), clean

    def name_rows(self, X: pd.DataFrame) -> AnyArray | None:
        """Return the names of the rows: those of an identifier column, else the index if it is no plain count."""
        import pandas as pd

        if self.row_column is not None and self.row_column in X.columns:
            return np.asarray(X[self.row_column].astype(str), dtype=str)
        plain = isinstance(X.index, pd.RangeIndex) and X.index.start == 0 and X.index.step == 1
        return None if plain else np.array([str(label) for label in X.index], dtype=str)

    def read(self, estimator: Any, X: Any) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return the used columns of a table, cleaned and in their own units, with messages about it."""
        X = as_pandas(X)
        if not is_frame(X):
            return self._read_array(_check_array(estimator, X, reset=False))
        frame = with_text_names(X)
        if self.names is None and not set(self.encoder.columns) <= set(frame.columns):
            validate_data(estimator, frame, skip_check_array=True, reset=False)  # the names of an array are of no use
            frame = frame.set_axis([f"x{j}" for j in range(frame.shape[1])], axis=1)
        frame = dates_to_days(frame, self.dates)
        return self.encoder.read(frame.drop(columns=[name for name in self.unused if name in frame.columns]))

    def _read_array(self, X: AnyArray) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return what `read` returns, for an array that has been checked."""
        import pandas as pd

        names = pd.Index(self.encoder.columns, dtype=object)
        return self.encoder.read(pd.DataFrame(X[:, self.positions], columns=names).infer_objects())

    def encode(self, estimator: Any, X: Any) -> FloatArray:
        """Return the encoded rows of a table. Plain numbers and few rows take a short way."""
        X = as_pandas(X)
        if is_frame(X):
            found = self._encode_plain(X)
            return self.encoder.encode(self.read(estimator, X)[0]) if found is None else found
        # The check of an array takes as long as the search for one row, and plain ones need none.
        plain = type(X) is np.ndarray and X.dtype == np.float64 and X.shape == (len(X), estimator.n_features_in_)
        if not plain or not len(X) or self.names is not None:
            X = _check_array(estimator, X, reset=False)
        if X.dtype.kind in "iuf" and not self.encoder.categories:
            return self.encoder.encode_numbers(X[:, self.positions].astype(np.float64))
        return self.encoder.encode(self._read_array(X)[0])

    def _encode_plain(self, X: pd.DataFrame) -> FloatArray | None:
        """Return the encoded rows of a frame of numbers or of few rows, or None if it must be read by column."""
        positions, encoder = self._find_positions(X), self.encoder
        if positions is None or not len(X):
            return None
        if not encoder.categories and {dtype.kind for dtype in X.dtypes} <= set("iuf"):
            values = X.to_numpy()
            if values.dtype.kind in "iuf":  # integers with missing cells become objects
                return encoder.encode_numbers(values[:, positions].astype(np.float64))
        if len(X) == 1:
            cells = X.iloc[0].tolist()  # interleaving columns of text would take longer than the search
            return encoder.encode_cells([[cells[j] for j in positions]])
        return encoder.encode_cells(X.to_numpy()[:, positions].tolist()) if len(X) <= _FEW_ROWS else None

    def _find_positions(self, X: pd.DataFrame) -> list[int] | None:
        """Return the positions of the used columns, or None if the table must be read in full, for its messages."""
        columns = X.columns.tolist()
        if self.dates or self.names is None:
            return None
        if columns == self.names:
            return self.positions
        place, used = {name: j for j, name in enumerate(columns)}, self.encoder.columns
        return [place[name] for name in used] if len(place) == len(columns) and place.keys() >= set(used) else None

    def refuse_new_categories(self, estimator: Any, X: Any) -> None:
        """Raise `UnknownCategoryError` if a column has a category that was not there in fit."""
        frame = self.read(estimator, X)[0]
        for name, texts in self.encoder.categories.items():
            known = [text for text in texts if text is not None]
            new = frame[name].cat.categories[len(known) :].tolist()  # `read` puts new ones after the known ones
            if new:
                raise UnknownCategoryError(
                    f"column {quote_name(name)} has categories that were not there in fit: {new[:5]} (known: "
                    f"{known[:10]}). Use handle_unknown='different' to treat them as unlike every known one"
                )


def _check_array(estimator: Any, X: Any, *, reset: bool) -> AnyArray:
    """Return an array as scikit-learn checks it. Text and missing values are accepted, sparse matrices are not."""
    if sparse.issparse(X):
        raise InvalidDataError(
            f"Sparse data was passed to {type(estimator).__name__}, and columns of a table are wanted. Use X.toarray()"
        )
    if not hasattr(X, "dtype"):
        X = np.asarray(X, dtype=None if _all_numbers(X) else object)
    out: AnyArray = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator)
    validate_data(estimator, out, skip_check_array=True, reset=reset)
    return out


def _all_numbers(X: Any) -> bool:
    """Return whether a list of rows holds no text and no missing cell, which NumPy would turn into text."""
    try:
        return np.asarray(X).dtype.kind in "biufcmM"
    except ValueError:  # rows of different lengths; the check of the array says so
        return False
