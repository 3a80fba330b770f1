"""A weighted k-NN for a table as it is, from the columns to the labels, in one value that can be saved."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import whole_number
from .._names import known_names, require_text
from .._typing import AnyArray, FloatArray, IndexArray
from .._validation import check_labels
from ..datasets import LeftOut, TableScaler, clean_table
from ..datasets._text import shown
from ..datasets.cleaning import require_frame
from ..exceptions import InvalidDataError, ModelFileError, WeighborsError
from ..weights import Weights
from . import _model_file
from .knn import WeightedKNeighborsClassifier

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Predictions", "TableModel", "WEIGHERS"]

#: Weighers by the name the command line knows them by.
WEIGHERS = ("none", "relieff", "multisurf", "irelief", "class-relief", "simba", "mbiw", "simbambiw")


@dataclass(frozen=True, eq=False)
class Predictions:
    """Labels of new rows.

    Parameters
    ----------
    labels : ndarray of shape (n,)
    shares : ndarray of shape (n, n_classes)
        Share of the votes per class, in the order of the model's ``classes``.
    notes : tuple of str
        What was strange about the table: columns that were not used, categories never seen.
    """

    labels: AnyArray
    shares: FloatArray
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """A fitted k-NN together with everything it must know of the tables it is given.

    Make one with `learn`; `save` and `load` keep it in a file without pickle.

    Parameters
    ----------
    scaler : TableScaler
        Columns, their ranges and categories.
    rows : DataFrame of shape (n_samples, n_features)
        Training rows, scaled.
    codes : ndarray of shape (n_samples,)
        Position of every row's label in ``classes``.
    classes : ndarray of shape (n_classes,)
    weights : Weights
    target : str
        Name of the column of labels.
    settings : dict
        How it was made: ``n_neighbors``, ``weigher``, ``votes``, ``random_state``, ``version``.
    left_out : tuple of LeftOut
        Columns the table had and the model does not use.
    notes : tuple of str
        What was changed in the table before it was learned from; not saved.

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
        """Clean and scale a table, learn weights, and keep what prediction needs.

        Parameters
        ----------
        X : DataFrame
            Numbers, categories and text with missing cells, as they are.
        y : array-like of shape (n_samples,)
        weigher : str, default="relieff"
            One of ``WEIGHERS``; "none" for plain distances.
        n_neighbors : int, default=5
        votes : {"uniform", "distance"}, default="uniform"
        target : str, optional
            Name of the column of labels; by default that of ``y``, or "class".
        keep, drop : iterable of str
            As in `clean_table`.
        random_state : int, default=0
            For the weighers that draw.
        n_jobs : int, optional

        Returns
        -------
        TableModel
        """
        known_names([weigher], WEIGHERS, "weigher")
        known_names([votes], _model_file.VOTES, "way to vote")
        n_neighbors = whole_number(n_neighbors, "n_neighbors")
        random_state = whole_number(random_state, "random_state", least=0)
        if y is None:
            raise InvalidDataError("one label per row is needed; y is None")
        name = str(target if target is not None else getattr(y, "name", None) or "class")
        require_text([name], "target")
        clean = clean_table(X, keep=keep, drop=drop)
        scaler = TableScaler.learn(clean.X)
        rows = scaler.scale(clean.X).reset_index(drop=True)
        classes, codes = check_labels(np.asarray(y))
        if len(codes) != len(rows):
            raise InvalidDataError(f"one label per row is needed; got {len(codes)} labels for {len(rows)} rows")
        classes = np.array(classes.tolist())
        knn = WeightedKNeighborsClassifier(
            n_neighbors, make_weigher(weigher, random_state, n_jobs), weights=votes, n_jobs=n_jobs
        ).fit(rows, classes[codes])
        settings = {
            "n_neighbors": n_neighbors,
            "weigher": weigher,
            "votes": votes,
            "random_state": random_state,
            "version": _version(),
        }
        return cls(scaler, rows, codes, classes, knn.weights_, name, settings, clean.left_out, clean.notes)

    @cached_property
    def classifier(self) -> WeightedKNeighborsClassifier:
        """The k-NN over the scaled rows."""
        model = WeightedKNeighborsClassifier(self.settings["n_neighbors"], self.weights, weights=self.settings["votes"])
        return model.fit(self.rows, self.classes[self.codes])

    def judge(self, X: pd.DataFrame) -> Predictions:
        """Labels and votes for the rows of a table, and what was strange about it.

        Raises
        ------
        InvalidDataError
            Where columns are missing or hold something else than in fit.
        """
        require_frame(X)
        ignored = [self.target, *(column.name for column in self.left_out)]
        frame, notes = self.scaler.read(X.drop(columns=ignored, errors="ignore"))
        shares = self.classifier.predict_proba(self.scaler.scale(frame))
        return Predictions(self.classes[shares.argmax(axis=1)], shares, notes)

    def predict(self, X: pd.DataFrame) -> AnyArray:
        """The labels of the rows of a table."""
        return self.judge(X).labels

    def feature_weights(self) -> pd.DataFrame:
        """One row per feature, heaviest first, one column per class where the weights differ."""
        import pandas as pd

        if self.weights.kind == "none":
            frame = pd.DataFrame({"weight": np.ones(len(self.scaler.names))}, index=list(self.scaler.names))
        else:
            frame = self.weights.frame()
        order = np.argsort(-frame.to_numpy(dtype=float).max(axis=1), kind="stable")
        return frame.iloc[order].rename_axis("feature")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, whole or not at all. It holds arrays and text, no pickle."""
        scaler = self.scaler
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
            "codes": self.codes.astype(np.int64),
            "classes": self.classes,
        }
        _model_file.write(path, about, arrays, self.weights._state())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TableModel:
        """Read a model that `save` wrote. Nothing in the file is executed.

        Raises
        ------
        ModelFileError
            Where the file is damaged, was changed, or holds something else.
        """
        model = cls(**_model_file.read(path))
        try:
            _ = model.classifier  # weights must fit the rows
        except WeighborsError as error:
            raise ModelFileError(f"'{os.fspath(path)}' holds no valid model: {error}") from error
        return model

    def __repr__(self) -> str:
        shape = f"{len(self.rows)} rows, {len(self.scaler.names)} features, {len(self.classes)} classes"
        s = self.settings
        return f"TableModel of {shown(self.target)}: {shape}; {s['n_neighbors']}-NN, weigher {s['weigher']}"


def make_weigher(name: str, random_state: int = 0, n_jobs: int | None = None) -> Any:
    """The weigher of that name; None for "none"."""
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
    from importlib.metadata import version

    return version("weighbors")
