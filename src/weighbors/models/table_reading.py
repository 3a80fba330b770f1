"""Read new tables for an estimator of tables: by the names of their columns, to rows that the estimator takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from .._names import quote_name
from .._typing import AnyArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError, UnknownCategoryError
from ..tables import LeftOut
from ..tables.cleaning import with_text_names
from ..tables.dates import dates_to_days
from ..tables.encoding import TableEncoder
from ..tables.frame_arrays import FrameAttribute
from ..tables.frames import as_pandas, is_frame
from ..tables.validation import CodedRows, TableCoder

if TYPE_CHECKING:
    import pandas as pd

_FEW_ROWS = 16  # up to so many rows, cells are read one by one, which is faster than column by column


class TableReader:
    """The part of `BaseTableEstimator` that reads the rows of new tables. ``fit`` sets the attributes it needs."""

    _table = FrameAttribute()  # the cleaned training columns, in their own units
    _encoder: TableEncoder
    _dates: list[str]  # columns of dates that become days
    _positions: list[int]  # of the used columns in the training table
    _codes: tuple[IndexArray, FloatArray] | None  # see `_find_codes`
    estimator_: Any
    left_out_: tuple[LeftOut, ...]
    n_features_in_: int
    _target_name: str | None = None  # of the labels or numbers in fit, if they had one

    def _check_array(self, X: Any, *, reset: bool) -> AnyArray:
        """Return an array as scikit-learn checks it. Text and missing values are accepted, sparse matrices are not."""
        if sparse.issparse(X):
            raise InvalidDataError(
                f"Sparse data was passed to {type(self).__name__}, and columns of a table are wanted. Use X.toarray()"
            )
        if not hasattr(X, "dtype"):
            X = np.asarray(X, dtype=None if _all_numbers(X) else object)
        out: AnyArray = check_array(X, dtype=None, ensure_all_finite=False, estimator=self)
        validate_data(self, out, skip_check_array=True, reset=reset)
        return out

    def _find_codes(self) -> tuple[IndexArray, FloatArray] | None:
        """Return the encoded columns of categories, and a table from our code to that of the fitted estimator.

        The table has a row for each of these columns. None if the estimator is not of this library: then it is given a
        DataFrame.
        """
        coder = _coder_of(self.estimator_)
        if coder is None:
            return None
        places = np.flatnonzero(self._encoder.nominal)
        most = max((len(labels) for labels in self._encoder.labels.values()), default=0)
        # The last element of a row is for the code −1: a category that is new, and differs from all others.
        codes = np.full((len(places), most + 1), -1.0)
        for i, j in enumerate(places.tolist()):
            code_of = {text: code for code, text in enumerate(coder.categories[j].tolist())}
            labels = self._encoder.labels[j]
            codes[i, : len(labels)] = [code_of.get(text, -1) for text in labels]
        return places, codes

    def _queries(self, X: Any) -> Any:
        """Return the rows of a new table in the form that the fitted estimator takes."""
        check_is_fitted(self, "estimator_")
        coder = _coder_of(self.estimator_)
        if coder is not None and coder.handle_unknown == "error":
            self._refuse_new_categories(self._read(X)[0])
        return self._translate(self._encode(X))

    def _refuse_new_categories(self, frame: pd.DataFrame) -> None:
        """Raise `UnknownCategoryError` if a column has a category that was not there in fit."""
        for name, known in self._encoder.columns.categories.items():
            column = frame[name].cat
            new = column.categories[len(known) :].tolist()  # `TableScaler.read` puts new ones after the known ones
            if new:
                raise UnknownCategoryError(
                    f"column {quote_name(name)} has categories that were not there in fit: {new[:5]} (known: "
                    f"{list(known[:10])}). Use handle_unknown='different' to treat them as unlike every known one"
                )

    def _translate(self, rows: FloatArray) -> Any:
        """Return encoded rows in the form that the fitted estimator takes. Codes are changed in place."""
        if self._codes is None:
            return self._encoder.label(rows)
        places, codes = self._codes
        if len(places):
            ours = rows[:, places]
            missing = np.isnan(ours)
            theirs = codes[np.arange(len(places)), np.where(missing, 0, ours).astype(np.int64)]
            rows[:, places] = np.where(missing, np.nan, theirs)
        return CodedRows(np.ascontiguousarray(rows))

    def _encode(self, X: Any) -> FloatArray:
        """Return the encoded rows of a new table. Plain numbers and few rows take a short way."""
        X = as_pandas(X)
        encoder = self._encoder
        if is_frame(X):
            positions = self._find_positions(X)
            if positions is not None and 0 < len(X) <= _FEW_ROWS:
                if len(X) == 1 and encoder.columns.nominal.any():
                    cells = X.iloc[0].tolist()  # interleaving columns of text would take longer than the search
                    found = encoder.encode_cells([[cells[j] for j in positions]])
                    return encoder.encode(self._read(X)[0]) if found is None else found
                values = X.to_numpy()
                if values.dtype.kind in "iuf" and not encoder.columns.nominal.any():
                    return encoder.encode_numbers(values[:, positions].astype(np.float64))
                found = encoder.encode_cells(values[:, positions].tolist())
                if found is not None:
                    return found
            return encoder.encode(self._read(X)[0])
        if not self._is_plain(X):
            X = self._check_array(X, reset=False)
        if X.dtype.kind in "iuf" and not encoder.columns.nominal.any():
            return encoder.encode_numbers(X[:, self._positions].astype(np.float64))
        return encoder.encode(self._read_array(X))

    def _is_plain(self, X: Any) -> bool:
        """Return whether an array needs no check: the check takes as long as the search for one row."""
        plain = type(X) is np.ndarray and X.dtype == np.float64 and X.shape == (len(X), self.n_features_in_)
        return plain and len(X) > 0 and not hasattr(self, "feature_names_in_")

    def _find_positions(self, X: pd.DataFrame) -> list[int] | None:
        """Return the positions of the used columns, or None if the table must be read in full, for its messages."""
        columns = X.columns.tolist()
        fitted = getattr(self, "feature_names_in_", None)
        if self._dates or fitted is None:
            return None
        if columns == fitted.tolist():
            return self._positions
        place = {name: j for j, name in enumerate(columns)}
        used = self._encoder.columns.names
        return [place[name] for name in used] if len(place) == len(columns) and place.keys() >= set(used) else None

    def _read(self, X: Any) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return the used columns of a new table, cleaned and in their own units, with messages about it."""
        frame = with_text_names(as_pandas(X))
        validate_names = getattr(self, "feature_names_in_", None)
        if validate_names is None and not set(self._encoder.columns.names) <= set(frame.columns):
            validate_data(self, frame, skip_check_array=True, reset=False)  # the names of an array are of no use
            frame = frame.set_axis([f"x{j}" for j in range(frame.shape[1])], axis=1)
        if self._dates:
            frame = dates_to_days(frame, self._dates)
        known = {column.name for column in self.left_out_}
        return self._encoder.columns.read(frame.drop(columns=[name for name in frame.columns if name in known]))

    def _read_array(self, X: AnyArray) -> pd.DataFrame:
        """Return the used columns of a checked array, cleaned and in their own units."""
        import pandas as pd

        names = pd.Index(self._encoder.columns.names, dtype=object)
        frame = pd.DataFrame(X[:, self._positions], columns=names).infer_objects()
        return self._encoder.columns.read(frame)[0]

    def _read_columns(self, X: Any) -> pd.DataFrame:
        """Return the used columns of a new table or array, cleaned and in their own units."""
        X = as_pandas(X)
        return self._read(X)[0] if is_frame(X) else self._read_array(self._check_array(X, reset=False))

    def check_table(self, X: Any) -> tuple[str, ...]:
        """Return messages about a new table: columns that are not used, categories that were not there in fit.

        Parameters
        ----------
        X : DataFrame of shape (n_queries, n_columns)

        Returns
        -------
        tuple of str

        Raises
        ------
        InvalidDataError
            If the model could not predict the rows of this table. The message says why.
        """
        check_is_fitted(self, "estimator_")
        return self._read(X)[1]

    def count_training_rows(self, X: Any) -> int:
        """Return how many rows of a table are also training rows: predictions of these say little about new rows.

        Parameters
        ----------
        X : table of shape (n_queries, n_columns)

        Returns
        -------
        int
            Rows that have the same encoded cells as a training row.
        """
        check_is_fitted(self, "estimator_")
        known = {row.tobytes() for row in self._encoder.encode(self._table)}
        return sum(row.tobytes() in known for row in self._encode(X))


def _coder_of(estimator: Any) -> TableCoder | None:
    """Return the column coding of a fitted estimator of this library, or None for any other estimator."""
    coder = getattr(estimator, "_coder", None) or getattr(getattr(estimator, "_fitted", None), "coder", None)
    return coder if isinstance(coder, TableCoder) else None


def _all_numbers(X: Any) -> bool:
    """Return whether a list of rows holds no text and no missing cell, which NumPy would turn into text."""
    try:
        return np.asarray(X).dtype.kind in "biufcmM"
    except ValueError:  # rows of different lengths; the check of the array says so
        return False
