"""Checks of the arguments of a study (data sets, methods, scores, measures) and conversion to one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import get_scorer_names
from sklearn.utils.validation import check_consistent_length

from ..._names import hint, require_text
from ...datasets import Dataset
from ...datasets.loaders import load_named
from ...exceptions import InvalidDataError
from ...tables.frames import as_pandas
from ...tables.groups import check_groups
from ...tables.labels import as_column
from .cell import StudyData
from .results import RESERVED
from .scores import LABEL_SCORES, NUMBER_SCORES


def name_datasets(datasets: Any) -> dict[str, Any]:
    """Return the data sets of a study by name. They are not loaded yet."""
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
            f"datasets must be a mapping of names to data, or a sequence of names; got {_describe_briefly(datasets)}"
        )
    _check_keys(named, "data set")
    return named


def _check_keys(named: Mapping[Any, Any], what: str) -> None:
    """Raise InvalidDataError if a mapping is empty or a name is no text. ``what`` is used in the message."""
    if not named:
        raise InvalidDataError(f"a study needs at least one {what}")
    for name in named:
        if not isinstance(name, str) or not name:
            raise InvalidDataError(f"the name of a {what} must be text; got {name!r}")
        require_text([name], what)


def load_data(name: str, given: Any) -> StudyData:
    """Load and check a data set. ``given`` is one of the forms that `Study` accepts."""
    # Data sets may be functions, so that large ones are loaded only when their cells are computed.
    if callable(given) and not isinstance(given, (Dataset, StudyData)):
        given = given()
    if isinstance(given, str):
        given = load_named(given)
    if isinstance(given, Dataset):
        given = StudyData(given.X, given.y)
    if isinstance(given, tuple) and len(given) in (2, 3):
        given = StudyData(*given)
    if not isinstance(given, StudyData):
        raise InvalidDataError(
            f"data set {name!r} must be (X, y), (X, y, groups), StudyData or a name; got {_describe_briefly(given)}"
        )
    X = as_pandas(given.X)
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise InvalidDataError(f"data set {name!r} needs a table of rows and features; got shape {tuple(X.shape)}")
    y = as_column(given.y)
    check_consistent_length(X, y)
    groups = None if given.groups is None else check_groups(given.groups, len(y))
    # A row without a target can be neither learned nor scored.
    if pd.isna(y).any():
        raise InvalidDataError(f"data set {name!r} has {int(pd.isna(y).sum())} rows without a target. Drop them")
    _check_text(name, X, y)
    return StudyData(X, y, groups, given.splits)


def _check_text(name: str, X: Any, y: Any) -> None:
    """Raise InvalidDataError for invalid text, because names, cells and labels go into the store and its digests."""
    where = f"data set {name!r}: the"
    require_text(y, f"{where} label")
    if hasattr(X, "iloc"):
        require_text([str(column) for column in X.columns], f"{where} column")
        # Only columns of objects can hold text with half characters.
        for j in np.flatnonzero([dtype.kind == "O" for dtype in X.dtypes]).tolist():
            require_text(X.iloc[:, j], f"{where} cell")
    elif X.dtype.kind in "OU":
        require_text(np.ravel(X), f"{where} cell")


def resolve_methods(methods: Any, datasets: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the methods of every data set, by name of the data set.

    ``methods`` is one mapping for all data sets, or a function of the name of a data set that returns a mapping.
    """
    if callable(methods):
        return {name: _check_methods(methods(name)) for name in datasets}
    return dict.fromkeys(datasets, _check_methods(methods))


def _check_methods(methods: Any) -> dict[str, Any]:
    """Return the methods as a dict. Raise InvalidDataError if a method is no estimator."""
    if not isinstance(methods, Mapping):
        raise InvalidDataError(f"methods must be a mapping of names to estimators; got {type(methods).__name__}")
    _check_keys(methods, "method")
    for name, method in methods.items():
        if isinstance(method, type) or not (hasattr(method, "fit") and hasattr(method, "get_params")):
            raise InvalidDataError(f"method {name!r} must be an estimator with fit and get_params; got {method!r}")
    return dict(methods)


def check_scoring(scoring: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of scores as a tuple. Raise InvalidDataError with a suggestion if a name is not known."""
    if not isinstance(scoring, Iterable):
        raise InvalidDataError(f"scoring must be the name of a score, or several; got {scoring!r}")
    names = (scoring,) if isinstance(scoring, str) else tuple(scoring)
    known = [*LABEL_SCORES, *NUMBER_SCORES, *get_scorer_names()]
    for name in names:
        if name not in known:
            raise InvalidDataError(f"there is no score {name!r}. {hint(name, known)}")
    return names


def check_measures(measures: Mapping[str, Any] | None, scoring: tuple[str, ...]) -> dict[str, Any]:
    """Return the measures by name. Raise InvalidDataError if the results have another column of the same name."""
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


def _describe_briefly(given: Any) -> str:
    """Return a short description of an argument for a message, because the text of a table would be long."""
    if isinstance(given, (tuple, list)):
        return f"a {type(given).__name__} of {len(given)}"
    return repr(given) if isinstance(given, (str, int, float, type(None))) else type(given).__name__
