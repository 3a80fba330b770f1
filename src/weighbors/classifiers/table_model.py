"""A weighted k-NN for unprepared tables. It cleans and scales the columns itself, and can be saved to a file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import whole_number
from .._frames import as_pandas
from .._names import known_names, quote_name, require_text
from .._typing import AnyArray, FloatArray, IndexArray
from .._validation import check_labels
from ..datasets import CleanTable, LeftOut, TableScaler, clean_table
from ..datasets.cleaning import require_frame
from ..exceptions import InvalidDataError, ModelFileError, WeighborsError
from ..neighbors.checks import check_enough
from ..weights import Weights
from . import model_file
from .knn import WeightedKNeighborsClassifier

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BaseTableModel", "Predictions", "TableModel", "WEIGHERS", "check_settings", "prepare_table"]

#: Names of the weighers, as on the command line.
WEIGHERS = ("none", "relieff", "multisurf", "irelief", "class-relief", "simba", "mbiw", "simbambiw")


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted labels or numbers of new rows.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Labels, or float64 for a numeric target.
    shares : ndarray of shape (n, n_classes)
        Share of the votes per class, in the order of the model's ``classes``. A numeric target has none.
    notes : tuple of str
        Messages about the table, for example columns that were not used and categories that were not in the training
        data.
    """

    labels: AnyArray
    shares: FloatArray
    notes: tuple[str, ...]


class BaseTableModel(ABC):
    """What models of classes and of numbers share: reading of new tables, weights by name, and files."""

    scaler: TableScaler
    rows: pd.DataFrame
    weights: Weights
    target: str
    settings: dict[str, Any]
    left_out: tuple[LeftOut, ...]

    def _read(self, X: Any) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return the scaled rows of a new table, and messages about it."""
        X = as_pandas(X)
        require_frame(X)
        # Columns that the model left out, and the target, may be in the table but are not needed.
        ignored = [self.target, *(column.name for column in self.left_out)]
        frame, notes = self.scaler.read(X.drop(columns=ignored, errors="ignore"))
        return self.scaler.scale(frame), notes

    def feature_weights(self) -> pd.DataFrame:
        """Return the weights as a table with one row per feature, in descending order of the largest weight.

        Weights per class have one column per class.
        """
        import pandas as pd

        if self.weights.kind == "none":
            frame = pd.DataFrame({"weight": np.ones(len(self.scaler.names))}, index=list(self.scaler.names))
        else:
            frame = self.weights.frame()
        order = np.argsort(-frame.to_numpy(dtype=float).max(axis=1), kind="stable")
        return frame.iloc[order].rename_axis("feature")

    @abstractmethod
    def _targets(self) -> dict[str, AnyArray]:
        """Return the arrays of the target for the file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, in an atomic write. The file contains arrays and text, no pickle."""
        scaler = self.scaler
        # Categorical columns have no range.
        nominal = np.isnan(scaler.low)
        text = [name for name, one in zip(scaler.names, nominal, strict=True) if one]
        codes = [self.rows[name].cat.codes.to_numpy(dtype=np.int32) for name in text]
        about = {
            "names": list(scaler.names),
            "categories": {name: list(values) for name, values in scaler.categories.items()},
            "target": self.target,
            "settings": self.settings,
            "left_out": [list(column) for column in self.left_out],
        }
        arrays = {
            "low": scaler.low,
            "high": scaler.high,
            "numbers": self.rows.loc[:, ~nominal].to_numpy(dtype=np.float64),
            "cells": np.column_stack(codes) if codes else np.zeros((len(self.rows), 0), dtype=np.int32),
            **self._targets(),
        }
        model_file.write(path, about, arrays, self.weights._state())


def check_settings(weigher: str, votes: str, n_neighbors: Any, random_state: Any) -> dict[str, Any]:
    """Check the settings of a model that are no data, and return them as they are stored in its file.

    ``weigher`` is one of `WEIGHERS`, ``votes`` is "uniform" or "distance".
    """
    known_names([weigher], WEIGHERS, "weigher")
    known_names([votes], model_file.VOTES, "way to vote")
    return {
        "n_neighbors": whole_number(n_neighbors, "n_neighbors"),
        "weigher": weigher,
        "votes": votes,
        "random_state": whole_number(random_state, "random_state", least=0),
        "version": _version(),
    }


def prepare_table(
    X: Any, y: Any, target: str | None, keep: Iterable[str], drop: Iterable[str]
) -> tuple[str, CleanTable, TableScaler, pd.DataFrame]:
    """Return the name of the target, the cleaned table, its scaler, and the scaled rows.

    ``y`` is used only for its name and length; ``keep`` and ``drop`` are as in `clean_table`.
    """
    if y is None:
        raise InvalidDataError("one label per row is needed; y is None")
    name = str(target if target is not None else getattr(y, "name", None) or "class")
    require_text([name], "target")
    clean = clean_table(X, keep=keep, drop=drop)
    scaler = TableScaler.learn(clean.X)
    rows = scaler.scale(clean.X).reset_index(drop=True)
    return name, clean, scaler, rows


@dataclass(frozen=True, eq=False, repr=False)
class TableModel(BaseTableModel):
    """A fitted k-NN, together with the names, ranges and categories of the table's columns.

    Use `learn` to make a model. `save` writes it to a file without pickle, and `load` reads it.

    Parameters
    ----------
    scaler : TableScaler
        Names of the columns, with their ranges and categories.
    rows : DataFrame of shape (n_samples, n_features)
        Training rows, scaled.
    codes : ndarray of shape (n_samples,)
        Position of every row's label in ``classes``.
    classes : ndarray of shape (n_classes,)
    weights : Weights
    target : str
        Name of the column of labels.
    settings : dict
        Settings of `learn`: ``n_neighbors``, ``weigher``, ``votes``, ``random_state``, and the ``version`` of the
        library.
    left_out : tuple of LeftOut
        Columns of the training table that the model does not use.
    notes : tuple of str
        Messages about changes that cleaning made to the training table. They are not saved.

    Examples
    --------
    >>> from weighbors.classifiers import TableModel
    >>> from weighbors.datasets import load_builtin
    >>> data = load_builtin("breast-cancer")
    >>> model = TableModel.learn(data.X[::2], data.y[::2])
    >>> round(float((model.predict(data.X[1::2]) == data.y[1::2]).mean()), 3)
    0.968
    """

    scaler: TableScaler
    rows: pd.DataFrame
    codes: IndexArray
    classes: AnyArray
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
    ) -> TableModel:
        """Clean and scale a table, learn weights, and return the model.

        Parameters
        ----------
        X : DataFrame
            Numbers, categories and text. Cells may be missing.
        y : array-like of shape (n_samples,)
        weigher : str, default="relieff"
            One of ``WEIGHERS``. "none": distances without weights.
        n_neighbors : int, default=5
        votes : {"uniform", "distance"}, default="uniform"
        target : str, optional
            Name of the column of labels. By default the name of ``y``, or "class" if it has no name.
        keep, drop : iterable of str
            As in `clean_table`.
        random_state : int, default=0
            Seed for the weighers that use random numbers.
        n_jobs : int, optional

        Returns
        -------
        TableModel
        """
        settings = check_settings(weigher, votes, n_neighbors, random_state)
        name, clean, scaler, rows = prepare_table(X, y, target, keep, drop)
        classes, codes = check_labels(np.asarray(y))
        if len(codes) != len(rows):
            raise InvalidDataError(f"one label per row is needed; got {len(codes)} labels for {len(rows)} rows")
        # NumPy's own text type, so that the labels can be saved without pickle.
        classes = np.array(classes.tolist())
        knn = WeightedKNeighborsClassifier(
            settings["n_neighbors"], make_weigher(weigher, random_state, n_jobs), weights=votes, n_jobs=n_jobs
        ).fit(rows, classes[codes])
        check_enough(settings["n_neighbors"], knn._fitted.engine, None)  # with too few rows, it could not predict
        return cls(scaler, rows, codes, classes, knn.weights_, name, settings, clean.left_out, clean.notes)

    @cached_property
    def classifier(self) -> WeightedKNeighborsClassifier:
        """The k-NN over the scaled rows."""
        model = WeightedKNeighborsClassifier(self.settings["n_neighbors"], self.weights, weights=self.settings["votes"])
        # The same rows and weights give the same k-NN, to the bit. So the k-NN itself need not be stored.
        return model.fit(self.rows, self.classes[self.codes])

    def judge(self, X: pd.DataFrame) -> Predictions:
        """Return the labels and votes for the rows of a table, with messages about the table.

        Raises
        ------
        InvalidDataError
            If columns are missing, or if their values are of another kind than in the training table.
        """
        rows, notes = self._read(X)
        shares = self.classifier.predict_proba(rows)
        return Predictions(self.classes[shares.argmax(axis=1)], shares, notes)

    def predict(self, X: pd.DataFrame) -> AnyArray:
        """Return the predicted labels of the rows of a table."""
        return self.judge(X).labels

    def _targets(self) -> dict[str, AnyArray]:
        """Return the arrays of the target for the file."""
        return {"codes": self.codes.astype(np.int64), "classes": self.classes}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TableModel:
        """Return a model that `save` wrote to a file. Nothing in the file is executed.

        Raises
        ------
        ModelFileError
            If the file is damaged, was changed, or is not a model file.
        """
        parts = model_file.read(path)
        if "values" in parts:
            raise ModelFileError(
                f"'{os.fspath(path)}' is a model of a numeric target: load it with "
                "weighbors.regressors.NumericTableModel"
            )
        model = cls(**parts)
        try:
            _ = model.classifier  # raises an error if the weights do not fit the rows
        except WeighborsError as error:
            raise ModelFileError(f"'{os.fspath(path)}' holds no valid model: {error}") from error
        return model

    def __repr__(self) -> str:
        shape = f"{len(self.rows)} rows, {len(self.scaler.names)} features, {len(self.classes)} classes"
        s = self.settings
        return f"TableModel of {quote_name(self.target)}: {shape}; {s['n_neighbors']}-NN, weigher {s['weigher']}"


def make_weigher(name: str, random_state: int = 0, n_jobs: int | None = None) -> Any:
    """Return the weigher with this name from `WEIGHERS`, or None for "none"."""
    from .. import weighers

    if name == "none":
        return None
    made: dict[str, Any] = {
        "relieff": lambda: weighers.ReliefF(n_neighbors=10, n_jobs=n_jobs),
        "multisurf": lambda: weighers.MultiSURF(n_jobs=n_jobs),
        "irelief": lambda: weighers.IRelief(n_jobs=n_jobs),
        "class-relief": lambda: weighers.ClassRelief(n_neighbors=10, n_jobs=n_jobs),
        "simba": lambda: weighers.Simba(random_state=random_state, n_jobs=n_jobs),
        "mbiw": lambda: weighers.MBIW(n_jobs=n_jobs),
        "simbambiw": lambda: weighers.SimbaMBIW(random_state=random_state, n_jobs=n_jobs),
    }
    return made[name]()


def _version() -> str:
    """Return the version of this library."""
    from importlib.metadata import version

    return version("weighbors")
