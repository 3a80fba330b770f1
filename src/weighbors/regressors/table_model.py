"""A weighted k-NN regressor for unprepared tables, in a file without pickle, as `TableModel` is for classes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._names import quote_name
from .._targets import check_numeric_target
from .._typing import AnyArray, FloatArray
from ..classifiers import Predictions, TableModel, model_file
from ..classifiers.table_model import BaseTableModel, check_settings, prepare_table
from ..datasets import LeftOut, TableScaler
from ..exceptions import InvalidDataError, ModelFileError, WeighborsError
from ..weights import Weights
from .knn import WeightedKNeighborsRegressor

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NUMERIC_WEIGHERS", "NumericTableModel", "load_table_model", "score_numbers"]

#: Names of the weighers that take a numeric target, as on the command line.
NUMERIC_WEIGHERS = ("none", "relieff", "multisurf")


@dataclass(frozen=True, eq=False, repr=False)
class NumericTableModel(BaseTableModel):
    """A fitted k-NN regressor, together with the names, ranges and categories of the table's columns.

    Use `learn` to make a model. `save` writes it to a file without pickle, and `load` reads it.

    Parameters
    ----------
    scaler : TableScaler
        Names of the columns, with their ranges and categories.
    rows : DataFrame of shape (n_samples, n_features)
        Training rows, scaled.
    values : ndarray of shape (n_samples,)
        The target of every row.
    weights : Weights
    target : str
        Name of the target column.
    settings : dict
        Settings of `learn`, as in `weighbors.classifiers.TableModel`.
    left_out : tuple of LeftOut
        Columns of the training table that the model does not use.
    notes : tuple of str
        Messages about changes that cleaning made to the training table. They are not saved.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weighbors.regressors import NumericTableModel
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = NumericTableModel.learn(X[::2], y[::2], n_neighbors=15)
    >>> model
    NumericTableModel of 'target': 221 rows, 10 features, targets 25 to 346; 15-NN, weigher relieff
    >>> round(model.score_table(X[1::2].assign(target=y), model.predict(X[1::2]))["r2"], 2)
    0.4
    """

    scaler: TableScaler
    rows: pd.DataFrame
    values: FloatArray
    weights: Weights
    target: str
    settings: dict[str, Any]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def learn(
        cls,
        X: pd.DataFrame,
        y: Any,
        *,
        weigher: str = "relieff",
        n_neighbors: int = 5,
        votes: str = "uniform",
        target: str | None = None,
        keep: Iterable[str] = (),
        drop: Iterable[str] = (),
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> NumericTableModel:
        """Clean and scale a table, learn weights, and return the model.

        Parameters
        ----------
        X : DataFrame
            Numbers, categories and text. Cells may be missing.
        y : array-like of shape (n_samples,)
            Numbers.
        weigher : {"none", "relieff", "multisurf"}, default="relieff"
            "relieff" is `RReliefF`. "none": distances without weights. The other weighers of `TableModel` need classes.
        n_neighbors : int, default=5
        votes : {"uniform", "distance"}, default="uniform"
        target : str, optional
            Name of the target column. By default the name of ``y``, or "class" if it has no name.
        keep, drop : iterable of str
            As in `clean_table`.
        random_state : int, default=0
        n_jobs : int, optional

        Returns
        -------
        NumericTableModel
        """
        settings = check_settings(weigher, votes, n_neighbors, random_state)
        maker = _make_weigher(weigher, n_jobs)
        name, clean, scaler, rows = prepare_table(X, y, target, keep, drop)
        values = check_numeric_target(np.asarray(y))
        if len(values) != len(rows):
            raise InvalidDataError(f"one target per row is needed; got {len(values)} targets for {len(rows)} rows")
        if settings["n_neighbors"] > len(rows):
            raise InvalidDataError(f"{settings['n_neighbors']} neighbours are to vote, and there are {len(rows)} rows")
        knn = WeightedKNeighborsRegressor(settings["n_neighbors"], maker, weights=votes, n_jobs=n_jobs).fit(
            rows, values
        )
        return cls(scaler, rows, values, knn.weights_, name, settings, clean.left_out, clean.notes)

    @cached_property
    def regressor(self) -> WeightedKNeighborsRegressor:
        """The k-NN over the scaled rows."""
        model = WeightedKNeighborsRegressor(self.settings["n_neighbors"], self.weights, weights=self.settings["votes"])
        # The same rows and weights give the same k-NN, to the bit. So the k-NN itself need not be stored.
        return model.fit(self.rows, self.values)

    def judge(self, X: pd.DataFrame) -> Predictions:
        """Return the predicted numbers of the rows of a table, with messages about the table.

        Raises
        ------
        InvalidDataError
            If columns are missing, or if their values are of another kind than in the training table.
        """
        rows, notes = self._read(X)
        values = self.regressor.predict(rows)
        return Predictions(values, np.zeros((len(values), 0)), notes)

    def predict(self, X: pd.DataFrame) -> FloatArray:
        """Return the predicted numbers of the rows of a table."""
        return self.judge(X).labels

    def score_table(self, X: pd.DataFrame, predicted: FloatArray) -> dict[str, Any] | None:
        """Return R², RMSE and MAE of predictions, if the table has the target. Rows without a number are left out.

        Parameters
        ----------
        X : DataFrame
        predicted : ndarray of shape (n_samples,)

        Returns
        -------
        dict or None
            ``r2``, ``rmse``, ``mae`` and ``rows``. R² is None for a single row and for a constant target. The result is
            None if the table has no such column, or no number in it.
        """
        return score_numbers(X[self.target], predicted) if self.target in X.columns else None

    def _targets(self) -> dict[str, AnyArray]:
        """Return the arrays of the target for the file."""
        return {"values": self.values}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NumericTableModel:
        """Return a model that `save` wrote to a file. Nothing in the file is executed.

        Raises
        ------
        ModelFileError
            If the file is damaged, was changed, or is not a model of a numeric target.
        """
        parts = model_file.read(path)
        if "values" not in parts:
            raise ModelFileError(
                f"'{os.fspath(path)}' is a model of classes: load it with weighbors.classifiers.TableModel"
            )
        model = cls(**parts)
        try:
            _ = model.regressor  # raises an error if the weights do not fit the rows
        except WeighborsError as error:
            raise ModelFileError(f"'{os.fspath(path)}' holds no valid model: {error}") from error
        return model

    def __repr__(self) -> str:
        low, high = self.values.min(), self.values.max()
        shape = f"{len(self.rows)} rows, {len(self.scaler.names)} features, targets {low:g} to {high:g}"
        s = self.settings
        return f"NumericTableModel of {quote_name(self.target)}: {shape}; {s['n_neighbors']}-NN, weigher {s['weigher']}"


def score_numbers(truth: pd.Series, predicted: FloatArray) -> dict[str, Any] | None:
    """Return ``r2``, ``rmse``, ``mae`` and ``rows`` of predictions, or None if no row has a number.

    Rows without a number are left out. R² is None for a single row and for a constant target.
    """
    import pandas as pd

    numbers = pd.to_numeric(truth.astype(object), errors="coerce").to_numpy(dtype=np.float64)
    known = np.isfinite(numbers)
    if not known.any():
        return None
    numbers, error = numbers[known], numbers[known] - predicted[known]
    total = float(np.square(numbers - numbers.mean()).sum())
    return {
        "r2": 1.0 - float(np.square(error).sum()) / total if total > 0 else None,
        "rmse": float(np.sqrt(np.square(error).mean())),
        "mae": float(np.abs(error).mean()),
        "rows": int(known.sum()),
    }


def load_table_model(path: str | os.PathLike[str]) -> TableModel | NumericTableModel:
    """Return the model in a file: a `TableModel` of classes, or a `NumericTableModel`.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    TableModel or NumericTableModel

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from weighbors.datasets import load_builtin
    >>> data, path = load_builtin("iris"), Path(tempfile.mkdtemp()) / "iris.wb"
    >>> TableModel.learn(data.X, data.y).save(path)
    >>> load_table_model(path)
    TableModel of 'class': 150 rows, 4 features, 3 classes; 5-NN, weigher relieff
    """
    numeric = "values" in model_file.read(path)
    return NumericTableModel.load(path) if numeric else TableModel.load(path)


def _make_weigher(name: str, n_jobs: int | None) -> Any:
    """Return the weigher of numeric targets with this name, or None for "none". Refuse those that need classes."""
    from .. import weighers

    if name not in NUMERIC_WEIGHERS:
        raise InvalidDataError(
            f"the weigher {name!r} needs classes, and the target is numeric: take {', '.join(NUMERIC_WEIGHERS[1:])} or "
            "none, or classes (target_type='classes', --target-type classes)"
        )
    if name == "none":
        return None
    return weighers.RReliefF(10, n_jobs=n_jobs) if name == "relieff" else weighers.MultiSURF(n_jobs=n_jobs)
