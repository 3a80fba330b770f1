"""A classifier for tables as they are: raw columns in, labels, probabilities and explanations out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, FloatArray
from .base_table import BaseTableEstimator
from .learned_votes import LearnedVotesClassifier

if TYPE_CHECKING:
    import pandas as pd


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

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TableClassifier:
        """Prepare the columns of a table, and fit the estimator to them.

        Parameters
        ----------
        X : table of shape (n_samples, n_columns)
            A DataFrame of pandas or polars, an Arrow table, or an array.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            As in the estimator. Means and ranks that scale the columns count rows by their weight.

        Returns
        -------
        self
        """
        self._fit_table(X, y, sample_weight)
        return self

    @property
    def classes_(self) -> AnyArray:
        """The classes."""
        check_is_fitted(self, "estimator_")
        classes: AnyArray = self.estimator_.classes_
        return classes

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted labels.

        Parameters
        ----------
        X : table of shape (n_queries, n_columns)

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        queries = self._queries(X)
        labels: AnyArray = self.estimator_.predict(queries)
        return labels

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

    def _answer(self, rows: FloatArray) -> FloatArray:
        queries = self._translate(rows)
        if hasattr(self.estimator_, "predict_proba"):
            return self.estimator_.predict_proba(queries)
        return np.searchsorted(self.classes_, self.estimator_.predict(queries)).astype(np.float64)

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
