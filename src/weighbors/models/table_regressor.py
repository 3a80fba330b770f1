"""A regressor for tables as they are: raw columns in, numbers and explanations out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import RegressorMixin, _fit_context

from .._typing import FloatArray
from .base_table import BaseTableEstimator
from .learned_votes import LearnedVotesRegressor

if TYPE_CHECKING:
    import pandas as pd


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

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TableRegressor:
        """Prepare the columns of a table, and fit the estimator to them.

        Parameters
        ----------
        X : table of shape (n_samples, n_columns)
            A DataFrame of pandas or polars, an Arrow table, or an array.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            As in the estimator. Means and ranks that scale the columns count rows by their weight.

        Returns
        -------
        self
        """
        self._fit_table(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the predicted numbers.

        Parameters
        ----------
        X : table of shape (n_queries, n_columns)

        Returns
        -------
        ndarray of shape (n_queries,) or (n_queries, n_outputs)
        """
        queries = self._queries(X)
        numbers: FloatArray = self.estimator_.predict(queries)
        return numbers

    def _answer(self, rows: FloatArray) -> FloatArray:
        numbers: FloatArray = self.estimator_.predict(self._translate(rows))
        return numbers

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
