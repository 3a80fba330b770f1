"""A classifier and a regressor for tables as they are: raw columns in, labels or numbers and explanations out."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._names import known_names, quote_name
from .._typing import AnyArray, FloatArray
from ..exceptions import InvalidDataError
from ..explanation import Explanation, OriginalValues, explain_rows
from ..tables import LeftOut
from ..tables.coded import CodedTable, takes_coded
from ..tables.encoding import MISSING
from ..tables.frame_arrays import FrameAttribute
from ..tables.frames import as_pandas, is_frame
from ..tables.labels import require_labels
from ..tables.reading import TableReader, read_frame
from ..tables.unscaled import warn_unscaled
from ..tables.validation import check_sample_weight
from .learned_votes import LearnedVotesClassifier, LearnedVotesRegressor
from .table_file import load_estimator, save_estimator

if TYPE_CHECKING:
    import pandas as pd


class BaseTableEstimator(BaseEstimator, ABC):
    """Base class of `TableClassifier` and `TableRegressor`. A subclass names the estimator that is the default."""

    _table = FrameAttribute()  # the cleaned training columns, in their own units
    _reader: TableReader
    _target_name: str | None  # of the labels or numbers in fit, if they had one
    estimator_: Any
    left_out_: tuple[LeftOut, ...]
    notes_: tuple[str, ...]
    row_names_: AnyArray | None
    n_features_in_: int

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        "estimator": [None, HasMethods(["fit", "predict", "get_params"])],
        "scale": [None, StrOptions({"standard", "range", "rank"})],
        "missing": [StrOptions(set(MISSING))],
        "dates": [StrOptions({"leave_out", "days"})],
        "row_names": [None, str],
        "keep": [None, str, "array-like"],
        "drop": [None, str, "array-like"],
    }

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

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Prepare the columns of a table, and fit the estimator to them.

        Parameters
        ----------
        X : table of shape (n_samples, n_columns)
            A DataFrame of pandas or polars, an Arrow table, or an array.
        y : array-like of shape (n_samples,)
            Labels. For a regressor numbers, or several columns of numbers.
        sample_weight : array-like of shape (n_samples,), optional
            As in the estimator. Means and ranks that scale the columns count rows by their weight.

        Returns
        -------
        self
        """
        require_labels(self, y)
        X = as_pandas(X)
        frame = read_frame(self, X)
        keep, drop = self._check_cleaning(frame)
        self._reader, clean = TableReader.learn(
            frame,
            check_sample_weight(sample_weight, frame),
            named=is_frame(X),
            scale=self.scale,
            missing=self.missing,
            days=self.dates == "days",
            row_names=self.row_names,
            keep=keep,
            drop=drop,
        )
        self.left_out_, self.notes_ = clean.left_out, clean.notes
        self.row_names_ = self._find_row_names(frame)
        rows, _ = self._reader.read(self, frame)
        self._table = rows
        table = self._reader.encoder.coded_table(self._reader.encoder.encode(rows))
        self.estimator_ = self._fit_estimator(table, y, sample_weight)
        name = getattr(y, "name", None)
        self._target_name = None if name is None else str(name)
        return self

    def _names(self, parameter: str) -> list[str]:
        """Return the column names that a parameter lists."""
        given = getattr(self, parameter)
        return [] if given is None else [given] if isinstance(given, str) else [str(name) for name in given]

    def _check_cleaning(self, frame: pd.DataFrame) -> tuple[list[str], list[str]]:
        """Return the columns that are kept, and those that are left out as asked.

        Raise `InvalidDataError` if a parameter names a column that is not there, or contradicts another one.
        """
        keep, drop = (
            known_names(self._names(parameter), list(frame.columns), "column") for parameter in ("keep", "drop")
        )
        if self.row_names not in (None, "auto", *drop):
            drop.append(str(self.row_names))
        both = sorted(set(keep) & set(drop))
        if both:
            raise InvalidDataError(
                f"column {quote_name(both[0])} is to be kept and to be left out: remove it from keep or from drop"
            )
        return keep, drop

    def _find_row_names(self, frame: pd.DataFrame) -> AnyArray | None:
        """Return the names of the rows of a frame, or None if they have none or none are wanted."""
        return None if self.row_names is None else self._reader.name_rows(frame)

    def _fit_estimator(self, table: CodedTable, y: Any, sample_weight: Any) -> Any:
        """Return a clone of the estimator, fitted to encoded rows."""
        inner = self._default_estimator() if self.estimator is None else clone(self.estimator)
        if table.nominal.any() and "categorical_features" not in inner.get_params(deep=False):
            raise InvalidDataError(
                f"the table has categories, and {type(inner).__name__} takes numbers only: use an estimator of this "
                "library, or name the columns of categories in drop"
            )
        if takes_coded(inner, table):
            warn_unscaled(inner, table.rows, table.nominal, table.coder.names)
        if sample_weight is None:
            return inner.fit(table.for_model(inner), y)
        if not has_fit_parameter(inner, "sample_weight"):
            raise InvalidDataError(f"{type(inner).__name__} takes no sample_weight: leave it out")
        return inner.fit(table.for_model(inner), y, sample_weight=sample_weight)

    def _queries(self, X: Any) -> Any:
        """Return the rows of a new table in the form that the fitted estimator takes."""
        check_is_fitted(self, "estimator_")
        if getattr(self.estimator_, "handle_unknown", None) == "error":
            self._reader.refuse_new_categories(self, X)
        return self._coded(self._reader.encode(self, X))

    def _coded(self, rows: FloatArray) -> Any:
        """Return encoded rows in the form that the fitted estimator takes."""
        return self._reader.encoder.coded_table(rows).for_model(self.estimator_)

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted labels or numbers.

        Parameters
        ----------
        X : table of shape (n_queries, n_columns)

        Returns
        -------
        ndarray of shape (n_queries,) or (n_queries, n_outputs)
        """
        queries = self._queries(X)
        answers: AnyArray = self.estimator_.predict(queries)
        return answers

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
        encoder, inner = self._reader.encoder, self.estimator_  # of this fit, and not of a later one

        def encode(table: pd.DataFrame) -> Any:
            """Return rows in their own units as the estimator takes them."""
            return encoder.coded_table(encoder.encode(encoder.read(table)[0])).for_model(inner)

        return OriginalValues(
            queries=self._reader.read(self, X)[0],
            training=self._table,
            encode=encode,
            columns={name: np.flatnonzero(encoder.origin == j).tolist() for j, name in enumerate(encoder.columns)},
            row_names=None if self.row_names_ is None else self.row_names_.tolist(),
            query_names=self.name_rows(X).tolist(),
        )

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
        return self._reader.read(self, X)[1]

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
        known = {row.tobytes() for row in self._reader.encoder.encode(self._table)}
        return sum(row.tobytes() in known for row in self._reader.encode(self, X))

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
        positions = self._reader.positions
        used = np.bincount(self._reader.encoder.origin, weights=encoded, minlength=len(positions))
        out = np.zeros(self.n_features_in_)
        out[positions] = used
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


def _estimator_has(name: str) -> Any:
    """Return the condition of `available_if`: whether the estimator has the method ``name``."""

    def check(model: BaseTableEstimator) -> bool:
        inner = getattr(model, "estimator_", None) or model.estimator or model._default_estimator()
        return hasattr(inner, name)

    return check


class TableClassifier(ClassifierMixin, BaseTableEstimator):
    """Classifier for a table as it is: it cleans, scales and encodes the columns, and fits an estimator to them.

    Columns may be numbers, text or categories, and cells may be missing. The table may be of pandas, polars or Arrow,
    or an array. Columns that cannot help (identifiers, constants, dates, nested objects) are left out, and
    ``left_out_`` says why.

    Parameters
    ----------
    estimator : classifier or None, default=None
        What is fitted to the prepared columns. None: `LearnedVotesClassifier`. Its parameters can be set as
        ``estimator__<name>``, also if it is None.
    scale : {"standard", "range", "rank"} or None, default="standard"
        How numbers are scaled. "standard": mean 0 and standard deviation 1. "range": from 0 to 1. "rank": the share of
        training rows with a smaller value. None: not at all. Different categories are at distance 1 from each other.
    missing : {"indicator", "distance"}, default="indicator"
        What becomes of missing cells. "indicator": a missing category is a category of its own. A missing number is the
        mean, and one more column says that it was missing, if that happened in training rows. "distance": cells stay
        missing, and are at the full column range from every value (HEOM).
    dates : {"leave_out", "days"}, default="leave_out"
        "days": dates become days since 1970 and durations become days, as numbers.
    row_names : "auto", str or None, default="auto"
        The column that names the rows in explanations and predictions; it is no feature. "auto": the first identifier
        that is left out, or else the index of the table. None: rows have no names.
    keep, drop : str or list of str, optional
        Columns that are kept although they look like identifiers, and columns that are left out.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator. Its columns are the encoded ones.
    classes_ : ndarray of shape (n_classes,)
    left_out_ : tuple of LeftOut
        Columns that are not used, with the reason.
    notes_ : tuple of str
        Messages about cells that were changed.
    row_names_ : ndarray of str of shape (n_samples,), or None
        The names of the training rows.
    weights_ : Weights
        Of the encoded columns.
    feature_importances_ : ndarray of shape (n_features,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the table had column names.

    Notes
    -----
    New tables are read by the names of their columns: their order does not matter, and further columns are ignored. A
    category that was not in the training rows differs from all known ones. `check_table` reports both.

    Examples
    --------
    >>> import pandas as pd
    >>> from weighbors import TableClassifier
    >>> from weighbors.datasets import load_builtin
    >>> data = load_builtin("breast-cancer")
    >>> frame = data.X.assign(patient=[f"P{i:03d}" for i in range(len(data.X))], site="A")
    >>> model = TableClassifier().fit(frame[::2], data.y[::2])
    >>> for column in model.left_out_:
    ...     print(column)
    'patient' is left out: it names the rows (285 different texts in 285 rows)
    'site' is left out: all its values are the same
    >>> round(model.score(frame[1::2], data.y[1::2]), 3)
    0.961
    >>> model.predict_table(frame[1:4]).round(3)
         prediction  probability of benign  probability of malignant
    P001  malignant                  0.026                     0.974
    P002  malignant                  0.006                     0.994
    P003  malignant                  0.119                     0.881
    """

    @staticmethod
    def _default_estimator() -> LearnedVotesClassifier:
        return LearnedVotesClassifier(random_state=0)

    @property
    def classes_(self) -> AnyArray:
        """The classes."""
        check_is_fitted(self, "estimator_")
        classes: AnyArray = self.estimator_.classes_
        return classes

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, in the order of ``classes_``.

        Parameters
        ----------
        X : table of shape (n_queries, n_columns)

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
        """
        queries = self._queries(X)
        shares: FloatArray = self.estimator_.predict_proba(queries)
        return shares

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of the classes, or for two classes the score of the second minus that of the first.

        Parameters
        ----------
        X : table of shape (n_queries, n_columns)

        Returns
        -------
        ndarray of shape (n_queries, n_classes), or (n_queries,) for two classes
        """
        queries = self._queries(X)
        scores: FloatArray = self.estimator_.decision_function(queries)
        return scores

    def predict_table(self, X: Any) -> pd.DataFrame:
        """Return predictions and probabilities as a DataFrame whose index are the names of the rows.

        Parameters
        ----------
        X : table of shape (n_queries, n_columns)

        Returns
        -------
        DataFrame of shape (n_queries, 1 + n_classes)
        """
        import pandas as pd

        queries = self._queries(X)
        columns: dict[str, Any] = {"prediction": self.estimator_.predict(queries)}
        if hasattr(self.estimator_, "predict_proba"):
            shares = self.estimator_.predict_proba(queries)
            columns |= {f"probability of {label}": shares[:, k] for k, label in enumerate(self.classes_.tolist())}
        return pd.DataFrame(columns, index=self.name_rows(X))


class TableRegressor(RegressorMixin, BaseTableEstimator):
    """Regressor for a table as it is: it cleans, scales and encodes the columns, and fits an estimator to them.

    Parameters
    ----------
    estimator : regressor or None, default=None
        What is fitted to the prepared columns. None: `LearnedVotesRegressor`.
    scale, missing, dates, row_names, keep, drop
        As in `TableClassifier`.

    Attributes
    ----------
    estimator_ : regressor
        The fitted estimator. Its columns are the encoded ones.
    left_out_, notes_, row_names_, weights_, feature_importances_, n_features_in_, feature_names_in_
        As in `TableClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weighbors import TableRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = TableRegressor().fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.43
    """

    @staticmethod
    def _default_estimator() -> LearnedVotesRegressor:
        return LearnedVotesRegressor(random_state=0)

    def predict_table(self, X: Any) -> pd.DataFrame:
        """Return predictions as a DataFrame whose index are the names of the rows.

        Parameters
        ----------
        X : table of shape (n_queries, n_columns)

        Returns
        -------
        DataFrame of shape (n_queries, n_outputs)
        """
        import pandas as pd

        numbers = self.predict(X)
        if numbers.ndim == 1:
            return pd.DataFrame({"prediction": numbers}, index=self.name_rows(X))
        names = [f"prediction {t}" for t in range(numbers.shape[1])]
        return pd.DataFrame(numbers, columns=names, index=self.name_rows(X))
