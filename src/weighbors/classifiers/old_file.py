"""Model files of version 0.1, which are read and no longer written. Every part is validated when it is read.

Such a file is an archive of arrays and one JSON text, and holds a weighted k-NN over the scaled rows of a table.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from .._archive import DAMAGE, ArchiveKind
from .._typing import AnyArray
from ..datasets import LeftOut, TableScaler
from ..exceptions import ModelFileError, WeighborsError
from ..weights import Weights
from ..weights.value import parts_of

_FOREIGN = "'{path}' is an archive, but no model: 'weighbors fit' did not write it"
_KIND = ArchiveKind(
    format="weighbors.TableModel",
    version=1,
    error=ModelFileError,
    unreadable="'{path}' is a damaged model file ({reason}). Fit it again",
    foreign=_FOREIGN,
    other_version=(
        "'{path}' has version {found} of the format and this release reads version {version}. "
        "Upgrade weighbors, or fit the model again"
    ),
    changed="'{path}' was changed or damaged: its content is not what was saved. Fit it again",
)
#: Models of numeric targets have version 2: earlier releases, which do not know them, say that they are too old.
_NUMERIC_KIND = _KIND._replace(version=2)
_ARRAYS = ("low", "high", "numbers", "cells", "codes", "classes", "values")
_SETTINGS: dict[str, Any] = {"n_neighbors": int, "weigher": str, "votes": str, "random_state": int, "version": str}
_WEIGHTS = "weights."
_VOTES = ("uniform", "distance")


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the parts of a model, read from a file: with ``codes`` and ``classes``, or ``values`` of a numeric target.

    Raise `ModelFileError` if the file is incomplete, was changed, or is not a model file.
    """
    name = os.fspath(path)
    state = _state(path, name)
    try:
        return _model(state)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError, WeighborsError) as error:
        raise ModelFileError(f"'{name}' holds no valid model: {error}. Fit it again") from error


def is_old_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a model of version 0.1. A file that is no archive at all is none."""
    return "about" in (_member_names(path) or ())


def target_is_numeric(path: str | os.PathLike[str]) -> bool:
    """Return whether a model file of version 0.1 is one of a numeric target."""
    return "values" in (_member_names(path) or ())


def _member_names(path: str | os.PathLike[str]) -> list[str] | None:
    """Return the names of the arrays in an archive, or None if the file is damaged or no archive."""
    name = os.fspath(path)
    if Path(path).is_dir():
        raise IsADirectoryError(f"'{name}' is a directory; a model file is needed")
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file '{name}'")
    try:
        with zipfile.ZipFile(path) as archive:
            return [member.removesuffix(".npy") for member in archive.namelist()]
    except DAMAGE:
        return None


def _state(path: str | os.PathLike[str], name: str) -> dict[str, AnyArray]:
    """Return the arrays of a model file. Raise `ModelFileError` if its format, version or digest is not as expected.

    ``name`` is the path as text, for messages.
    """
    # The names are checked before any array is read, because a foreign npz file may be large.
    members = _member_names(path) or []
    foreign = [one for one in members if one not in ("header", "about", *_ARRAYS) and not one.startswith(_WEIGHTS)]
    if foreign or "about" not in members:
        raise ModelFileError(_FOREIGN.format(path=name))
    return (_NUMERIC_KIND if "values" in members else _KIND).read(path)[1]


def _model(state: dict[str, AnyArray]) -> dict[str, Any]:
    """Validate the arrays of a model file, and return the parts of the model."""
    about = json.loads(str(state["about"]))
    scaler = _scaler(about, state)
    rows = _rows(scaler, state)
    targets = _values(state, len(rows)) if "values" in state else _labels(state, len(rows))
    # A file made on purpose may contain anything, so every part is checked for its type and size.
    settings = {key: _typed(about["settings"][key], kind, key) for key, kind in _SETTINGS.items()}
    _require(1 <= settings["n_neighbors"] <= len(rows), "as many rows as neighbours")
    _require(settings["votes"] in _VOTES, "a known way to vote")
    weights = Weights(**parts_of({k.removeprefix(_WEIGHTS): v for k, v in state.items() if k.startswith(_WEIGHTS)}))
    _require(weights.n_features in (None, len(scaler.names)), "one weight per feature")
    return {
        "scaler": scaler,
        "rows": rows,
        **targets,
        "weights": weights,
        "target": _typed(about["target"], str, "target"),
        "settings": settings,
        "left_out": tuple(LeftOut(_typed(n, str, "name"), _typed(r, str, "reason")) for n, r in about["left_out"]),
    }


def _labels(state: dict[str, AnyArray], n_rows: int) -> dict[str, AnyArray]:
    """Validate the labels of a model, and return the classes and the code of each row."""
    classes, codes = state["classes"], state["codes"]
    _require(classes.ndim == 1 and classes.dtype.kind in "iufUb" and len(classes) > 1, "a vector of classes")
    _require(codes.dtype == np.int64 and codes.shape == (n_rows,), "one label per row")
    _require(bool(((codes >= 0) & (codes < len(classes))).all()), "labels among the classes")
    return {"codes": codes, "classes": classes}


def _values(state: dict[str, AnyArray], n_rows: int) -> dict[str, AnyArray]:
    """Validate the numeric target of a model, and return it."""
    values = state["values"]
    _require("codes" not in state and "classes" not in state, "either classes or numbers")
    _require(values.dtype == np.float64 and values.shape == (n_rows,), "one number per row")
    _require(bool(np.isfinite(values).all()), "finite targets")
    return {"values": values}


def _scaler(about: dict[str, Any], state: dict[str, AnyArray]) -> TableScaler:
    """Validate the names, ranges and categories of the columns, and return the scaler of the model."""
    names = tuple(_typed(name, str, "name") for name in about["names"])
    low, high = state["low"], state["high"]
    _require(len(names) > 0 and len(set(names)) == len(names), "different names of columns")
    for bound in (low, high):
        _require(bound.dtype == np.float64 and bound.shape == (len(names),), "a range per column")
    known = {
        _typed(name, str, "name"): tuple(_typed(value, str, "category") for value in values)
        for name, values in about["categories"].items()
    }
    nominal = np.isnan(low)
    _require({name for name, one in zip(names, nominal, strict=True) if one} == set(known), "categories where needed")
    # A range of 0 or infinity would make scaled values infinite or NaN.
    _require(bool(np.isfinite(high - low)[~nominal].all() and (high > low)[~nominal].all()), "ranges of the numbers")
    return TableScaler(names, low, high, known)


def _rows(scaler: TableScaler, state: dict[str, AnyArray]) -> Any:
    """Return the training rows as a DataFrame.

    Raise ValueError if a number is infinite or a category code is not one of the known categories.
    """
    import pandas as pd

    numbers, cells = state["numbers"], state["cells"]
    nominal = np.isnan(scaler.low)
    text = [name for name, one in zip(scaler.names, nominal, strict=True) if one]
    plain = [name for name, one in zip(scaler.names, nominal, strict=True) if not one]
    _require(numbers.dtype == np.float64 and numbers.ndim == 2 and numbers.shape[1] == len(plain), "rows of numbers")
    _require(cells.dtype == np.int32 and cells.shape == (len(numbers), len(text)), "rows of categories")
    _require(not np.isinf(numbers).any(), "finite numbers")
    frame = pd.DataFrame(numbers, columns=pd.Index(plain, dtype=object))
    columns = {}
    for j, name in enumerate(text):  # codes outside the categories are refused by pandas
        known = pd.Index(scaler.categories[name], dtype=object)
        columns[name] = pd.Categorical.from_codes(cells[:, j], categories=known)
    return pd.concat([frame, pd.DataFrame(columns)], axis=1)[list(scaler.names)] if columns else frame


def _typed(value: Any, kind: type, name: str) -> Any:
    """Return ``value``. Raise ValueError if its type is not ``kind``. ``name`` is used in the message."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name} should be of type {kind.__name__}")
    return value


def _require(holds: bool, what: str) -> None:
    """Raise ValueError if the condition ``holds`` is False. ``what`` says what the file lacks."""
    if not holds:
        raise ValueError(f"it lacks {what}")
