"""Base of the estimators of tables as they are: clean, scale and encode the columns, then fit an estimator."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from .._names import known_names, quote_name
from .._typing import AnyArray, FloatArray
from ..exceptions import InvalidDataError
from ..explanation import Explanation, OriginalValues, explain_rows
from ..tables import clean_table
from ..tables.cleaning import find_identifier, with_text_names
from ..tables.dates import date_columns, dates_to_days
from ..tables.encoding import MISSING, TableEncoder
from ..tables.frames import as_pandas, is_frame
from ..tables.labels import require_labels
from ..tables.validation import check_sample_weight
from .table_file import load_estimator, save_estimator
from .table_reading import TableReader

if TYPE_CHECKING:
    import pandas as pd


class TrainingTable(NamedTuple):
    """What an explanation needs of the training rows.

    Parameters
    ----------
    columns : DataFrame of shape (n_samples, n_used)
        The cleaned columns in their own units. Its index are the names of the rows.
    encoder : TableEncoder
        From these columns to the encoded ones. ``encoder.names`` are the encoded columns, and ``encoder.origin`` the
        position in ``columns`` that each of them comes from.
    """

    columns: pd.DataFrame
    encoder: TableEncoder


class BaseTableEstimator(TableReader, BaseEstimator, ABC):
    """Base class of `TableClassifier` and `TableRegressor`. A subclass names the estimator that is the default."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        "estimator": [None, HasMethods(["fit", "predict", "get_params"])],
        "scale": [None, StrOptions({"standard", "range", "rank"})],
        "missing": [StrOptions(set(MISSING))],
        "dates": [StrOptions({"leave_out", "days"})],
        "row_names": [None, str],
        "keep": [None, str, "array-like"],
        "drop": [None, str, "array-like"],
    }
    notes_: tuple[str, ...]
    row_names_: AnyArray | None

    def __init__(
        self,
        estimator: Any = None,
        scale: str | None = "standard",
        *,
        missing: str = "indicator",
        dates: str = "leave_out",
        row_names: str | None = "auto",
        keep: Any = None,
        drop: Any = None,
    ) -> None:
        self.estimator = estimator
        self.scale = scale
        self.missing = missing
        self.dates = dates
        self.row_names = row_names
        self.keep = keep
        self.drop = drop

    @staticmethod
    @abstractmethod
    def _default_estimator() -> Any:
        """Return the estimator that ``estimator=None`` stands for."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters. If ``estimator`` is None, those of the default estimator are among them.

        Parameters
        ----------
        deep : bool, default=True
            Whether the parameters of the estimator are returned too, as ``estimator__<name>``.

        Returns
        -------
        dict
        """
        params: dict[str, Any] = super().get_params(deep)
        if deep and self.estimator is None:
            inner = self._default_estimator().get_params(deep=True)
            params |= {f"estimator__{name}": value for name, value in inner.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters. ``estimator__<name>`` sets one of the estimator, also of the default one.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self
        """
        nested = any(name.startswith("estimator__") for name in params)
        if nested and self.estimator is None and params.get("estimator") is None:
            params = {**params, "estimator": self._default_estimator()}
        super().set_params(**params)
        return self

    def _fit_table(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Clean, scale and encode a table, fit the estimator to it, and set the fitted attributes."""
        require_labels(self, y)
        frame = self._training_frame(X)
        if self.dates == "days":
            self._dates = date_columns(frame)
            frame = dates_to_days(frame, self._dates)
        else:
            self._dates = []
        weight = check_sample_weight(sample_weight, frame)
        # Columns are learned from the rows that count. Rows of weight 0 would not be there if weights were copies.
        counted = np.arange(len(frame)) if weight is None else np.flatnonzero(weight > 0)
        if len(counted) < 2:
            zero = "" if weight is None else " whose sample_weight is above 0"
            raise InvalidDataError(f"at least 2 rows{zero} are needed; got n_samples={len(counted)}")
        self._check_cleaning(frame)
        clean = clean_table(frame.iloc[counted], keep=self._names("keep"), drop=self._dropped())
        part = None if weight is None else weight[counted]
        self._encoder = TableEncoder.learn(clean.X, self.scale, self.missing, part)
        self.left_out_, self.notes_ = clean.left_out, clean.notes
        self._row_column = self._find_row_column(frame)
        self.row_names_ = self._find_row_names(frame)
        rows, _ = self._encoder.columns.read(frame[list(self._encoder.columns.names)])
        self._table = rows
        self._positions = [list(frame.columns).index(name) for name in self._encoder.columns.names]
        self.estimator_ = self._fit_estimator(self._encoder.encode(rows), y, sample_weight)
        self._codes = self._find_codes()
        name = getattr(y, "name", None)
        self._target_name = None if name is None else str(name)

    def _training_frame(self, X: Any) -> pd.DataFrame:
        """Return the training table as a DataFrame with text names, and set the attributes that describe its input."""
        import pandas as pd

        X = as_pandas(X)
        if not is_frame(X):
            X = self._check_array(X, reset=True)
            names = [f"x{j}" for j in range(X.shape[1])]
            return pd.DataFrame(X, columns=pd.Index(names, dtype=object)).infer_objects()
        frame = with_text_names(X)
        if not len(frame):
            raise InvalidDataError("the table has column names and no rows (n_samples=0)")
        validate_data(self, frame, skip_check_array=True)
        return frame

    def _names(self, parameter: str) -> list[str]:
        """Return the column names that a parameter lists."""
        given = getattr(self, parameter)
        return [] if given is None else [given] if isinstance(given, str) else [str(name) for name in given]

    def _dropped(self) -> list[str]:
        """Return the columns that are left out as asked: those of ``drop``, and the one that names the rows."""
        named = [] if self.row_names in (None, "auto") else [str(self.row_names)]
        return [*self._names("drop"), *(name for name in named if name not in self._names("drop"))]

    def _check_cleaning(self, frame: pd.DataFrame) -> None:
        """Raise `InvalidDataError` if a parameter names a column that is not there, or contradicts another one."""
        for parameter in ("keep", "drop"):
            known_names(self._names(parameter), list(frame.columns), "column")
        both = sorted(set(self._names("keep")) & set(self._dropped()))
        if both:
            raise InvalidDataError(
                f"column {quote_name(both[0])} is to be kept and to be left out: remove it from keep or from drop"
            )

    def _find_row_column(self, frame: pd.DataFrame) -> str | None:
        """Return the column that names the rows, or None."""
        if self.row_names is None:
            return None
        if self.row_names != "auto":
            return str(self.row_names)
        return find_identifier(frame, self.left_out_)

    def _find_row_names(self, frame: pd.DataFrame) -> AnyArray | None:
        """Return the names of the rows: those of an identifier column, else the index if it is no plain count."""
        import pandas as pd

        if self.row_names is None:
            return None
        if self._row_column is not None and self._row_column in frame.columns:
            return np.asarray(frame[self._row_column].astype(str), dtype=str)
        plain = isinstance(frame.index, pd.RangeIndex) and frame.index.start == 0 and frame.index.step == 1
        return None if plain else np.array([str(label) for label in frame.index], dtype=str)

    def _fit_estimator(self, rows: FloatArray, y: Any, sample_weight: Any) -> Any:
        """Return a clone of the estimator, fitted to encoded rows."""
        inner = self._default_estimator() if self.estimator is None else clone(self.estimator)
        if self._encoder.nominal.any() and "categorical_features" not in inner.get_params(deep=False):
            raise InvalidDataError(
                f"the table has categories, and {type(inner).__name__} takes numbers only: use an estimator of this "
                "library, or name the columns of categories in drop"
            )
        if sample_weight is None:
            return inner.fit(self._encoder.label(rows), y)
        if not has_fit_parameter(inner, "sample_weight"):
            raise InvalidDataError(f"{type(inner).__name__} takes no sample_weight: leave it out")
        return inner.fit(self._encoder.label(rows), y, sample_weight=sample_weight)

    @abstractmethod
    def _answer(self, rows: FloatArray) -> FloatArray:
        """Return probabilities or numbers for encoded rows. A file has them, to compare."""

    def save(self, path: str | os.PathLike[str], *, row_names: bool = True) -> None:
        """Write the fitted model to a file, in an atomic write. The file holds arrays and text, no pickle.

        The file has the used columns of the training rows, their targets, and the names of the rows. Other columns are
        not in it.

        Parameters
        ----------
        path : path-like
        row_names : bool, default=True
            Whether the names of the training rows are written. Without them, explanations give row numbers. The model
            still knows which column names the rows of new tables.

        Raises
        ------
        InvalidDataError
            If the estimator holds what is not of this library, for example a function or a scikit-learn estimator.
        """
        check_is_fitted(self, "estimator_")
        model = self
        if not row_names:
            model = copy(self)
            model.row_names_ = None
        save_estimator(model, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the model that `save` wrote to a file. Nothing in the file is executed.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        fitted estimator

        Raises
        ------
        ModelFileError
            If the file is damaged, was changed, or holds another kind of model.
        """
        model: Self = load_estimator(path, cls)
        return model

    def name_rows(self, X: Any) -> AnyArray:
        """Return the names of the rows of a table: of its identifier column or index, else row numbers as text.

        Parameters
        ----------
        X : DataFrame of shape (n_queries, n_columns)

        Returns
        -------
        ndarray of str of shape (n_queries,)
        """
        check_is_fitted(self, "estimator_")
        X = as_pandas(X)
        names = self._find_row_names(X) if is_frame(X) else None
        return np.arange(len(X)).astype(str) if names is None else names

    def explain(self, X: Any, top: int | None = 5) -> Explanation:
        """Explain the answers: why this one, which rows vote for it, and what would change it.

        Values and changes are in the units of the table, and rows have their names.

        Parameters
        ----------
        X : table of shape (n_queries, n_columns)
        top : int or None, default=5
            How many features and voters are shown. None: 5 are shown, and the table of votes lists all voters.

        Returns
        -------
        Explanation
            It can be printed, and it is a page in a notebook. Its features are the columns of the table that are used.
            A column that marks missing cells is a part of the column that it comes from. ``frame()`` is the table of
            votes, in which ``name`` is the name of the voter's row.

        Raises
        ------
        InvalidDataError
            If the estimator cannot explain: it is no weighted k-NN and has no learned votes.
        """
        queries = self._queries(X)
        if not hasattr(self.estimator_, "_prepare_explanation"):
            raise InvalidDataError(
                f"{type(self.estimator_).__name__} has no explain: use learned votes (estimator=None), a weighted k-NN "
                "or WIBK"
            )
        return explain_rows(self.estimator_, queries, top=top, original=self._original_values(X))

    def _original_values(self, X: Any) -> OriginalValues:
        """Return queries and training rows in their own units, and how such rows become those of the estimator."""
        known = copy(self)  # which no later fit changes
        encoder, names = self._encoder, self._encoder.columns.names

        def encode(table: pd.DataFrame) -> Any:
            """Return rows in their own units as the estimator takes them."""
            return known._translate(encoder.encode(encoder.columns.read(table)[0]))

        return OriginalValues(
            queries=self._read_columns(X),
            training=self._table,
            encode=encode,
            columns={name: np.flatnonzero(encoder.origin == j).tolist() for j, name in enumerate(names)},
            row_names=None if self.row_names_ is None else self.row_names_.tolist(),
            query_names=self.name_rows(X).tolist(),
        )

    def _training_names(self) -> AnyArray:
        """Return the names of the training rows; row numbers as text if they have none."""
        check_is_fitted(self, "estimator_")
        return np.arange(len(self._table)).astype(str) if self.row_names_ is None else self.row_names_

    def _training_table(self) -> TrainingTable:
        """Return what an explanation needs: cleaned training columns in their own units, row names, the encoding."""
        return TrainingTable(self._table.set_axis(self._training_names(), axis=0), self._encoder)

    @property
    def weights_(self) -> Any:
        """The weights in use, by the names of the encoded columns."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.weights_

    @property
    def feature_importances_(self) -> FloatArray:
        """The weights of the table's columns, in the order of ``feature_names_in_``. Columns left out have 0.

        A column that marks missing cells counts for the column that it comes from.
        """
        check_is_fitted(self, "estimator_")
        encoded = np.asarray(self.estimator_.feature_importances_, dtype=np.float64)
        used = np.bincount(self._encoder.origin, weights=encoded, minlength=len(self._positions))
        out = np.zeros(self.n_features_in_)
        out[self._positions] = used
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        inner = self._default_estimator() if self.estimator is None else self.estimator
        tags.target_tags.multi_output = get_tags(inner).target_tags.multi_output
        return tags
