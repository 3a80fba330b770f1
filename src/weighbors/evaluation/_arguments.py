"""What a study is given: data sets, methods, scores and measures, each checked and in one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import get_scorer_names
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from .._names import hint, require_text
from ..datasets import Dataset, load_dataset
from ..exceptions import InvalidDataError
from ._cell import LABEL_SCORES, StudyData
from .results import RESERVED

__all__ = ["as_data", "check_measures", "check_scoring", "methods_of", "named_data"]


def named_data(datasets: Any) -> dict[str, Any]:
    """The data sets of a study by their names, not loaded yet."""
    if isinstance(datasets, Mapping):
        named = dict(datasets)
    elif isinstance(datasets, Iterable) and not isinstance(datasets, str):
        named = {}
        for one in datasets:
            name = one.name if isinstance(one, Dataset) else one
            if not isinstance(name, str):
                raise InvalidDataError(
                    f"a sequence of data sets holds their names; got {type(one).__name__}. "
                    "Give data as a mapping, {'name': (X, y)}"
                )
            if name in named:
                raise InvalidDataError(f"the data set {name!r} is named twice")
            named[name] = one
    else:
        raise InvalidDataError(
            f"datasets must be a mapping of names to data, or a sequence of names; got {_short(datasets)}"
        )
    _check_keys(named, "data set")
    return named


def _check_keys(named: Mapping[Any, Any], what: str) -> None:
    if not named:
        raise InvalidDataError(f"a study needs at least one {what}")
    for name in named:
        if not isinstance(name, str) or not name:
            raise InvalidDataError(f"the name of a {what} must be text; got {name!r}")
        require_text([name], what)


def as_data(name: str, given: Any) -> StudyData:
    """A data set, loaded and checked, whatever it was given as."""
    if callable(given) and not isinstance(given, (Dataset, StudyData)):
        given = given()
    if isinstance(given, str):
        given = load_dataset(given)
    if isinstance(given, Dataset):
        given = StudyData(given.X, given.y)
    if isinstance(given, tuple) and len(given) in (2, 3):
        given = StudyData(*given)
    if not isinstance(given, StudyData):
        raise InvalidDataError(
            f"data set {name!r} must be (X, y), (X, y, groups), StudyData or a name; got {_short(given)}"
        )
    X = given.X if hasattr(given.X, "shape") else np.asarray(given.X)
    if len(X.shape) != 2:
        raise InvalidDataError(f"data set {name!r} needs a table of rows and features; got shape {tuple(X.shape)}")
    y = column_or_1d(given.y)
    check_consistent_length(X, y, given.groups)
    if pd.isna(y).any():
        raise InvalidDataError(f"data set {name!r} has {int(pd.isna(y).sum())} rows without a label. Drop them")
    _check_text(name, X, y)
    return StudyData(X, y, given.groups, given.splits)


def _check_text(name: str, X: Any, y: Any) -> None:
    """Names, cells and labels go into the store and its digests, so they must be valid text."""
    where = f"data set {name!r}: the"
    require_text(y, f"{where} label")
    if hasattr(X, "iloc"):
        require_text([str(column) for column in X.columns], f"{where} column")
        for j in np.flatnonzero([dtype.kind == "O" for dtype in X.dtypes]).tolist():
            require_text(X.iloc[:, j], f"{where} cell")
    elif X.dtype.kind in "OU":
        require_text(np.ravel(X), f"{where} cell")


def methods_of(methods: Any, datasets: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Methods of every data set; one mapping serves all of them unless a function gives each its own."""
    if callable(methods):
        return {name: _check_methods(methods(name)) for name in datasets}
    return dict.fromkeys(datasets, _check_methods(methods))


def _check_methods(methods: Any) -> dict[str, Any]:
    if not isinstance(methods, Mapping):
        raise InvalidDataError(f"methods must be a mapping of names to estimators; got {type(methods).__name__}")
    _check_keys(methods, "method")
    for name, method in methods.items():
        if isinstance(method, type) or not (hasattr(method, "fit") and hasattr(method, "get_params")):
            raise InvalidDataError(f"method {name!r} must be an estimator with fit and get_params; got {method!r}")
    return dict(methods)


def check_scoring(scoring: str | Iterable[str]) -> tuple[str, ...]:
    """Names of scores; an unknown one is an error with the nearest match."""
    if not isinstance(scoring, Iterable):
        raise InvalidDataError(f"scoring must be the name of a score, or several; got {scoring!r}")
    names = (scoring,) if isinstance(scoring, str) else tuple(scoring)
    known = [*LABEL_SCORES, *get_scorer_names()]
    for name in names:
        if name not in known:
            raise InvalidDataError(f"there is no score {name!r}. {hint(name, known)}")
    return names


def check_measures(measures: Mapping[str, Any] | None, scoring: tuple[str, ...]) -> dict[str, Any]:
    """Functions by names that the table of results has no column of."""
    if measures is not None and not isinstance(measures, Mapping):
        raise InvalidDataError(f"measures must be a mapping of names to functions; got {type(measures).__name__}")
    named = dict(measures or {})
    for name, function in named.items():
        if not callable(function):
            raise InvalidDataError(
                f"measure {name!r} must be a function of (model, X_train, y_train, X_test, y_test); "
                f"got {type(function).__name__}"
            )
        if name in scoring or name in RESERVED:
            raise InvalidDataError(f"a measure cannot be called {name!r}: the results have a column of that name")
    return named


def _short(given: Any) -> str:
    """What was given, in a few words: tables are long."""
    if isinstance(given, (tuple, list)):
        return f"a {type(given).__name__} of {len(given)}"
    return repr(given) if isinstance(given, (str, int, float, type(None))) else type(given).__name__
