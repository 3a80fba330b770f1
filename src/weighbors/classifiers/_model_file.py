"""Files of models: an archive of arrays and one text, no pickle, checked part by part when read."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._archive import DAMAGE, digest_of, read_archive, write_archive
from .._typing import AnyArray
from ..datasets import LeftOut, TableScaler
from ..exceptions import ModelFileError, WeighborsError
from ..weights import Weights, _parts

__all__ = ["VOTES", "read", "write"]

_FORMAT = "weighbors.TableModel"
_VERSION = 1
_ARRAYS = ("low", "high", "numbers", "cells", "codes", "classes")
_SETTINGS: dict[str, Any] = {"n_neighbors": int, "weigher": str, "votes": str, "random_state": int, "version": str}
_WEIGHTS = "weights."
#: Ways to vote that a model can have.
VOTES = ("uniform", "distance")


def write(
    path: str | os.PathLike[str], about: Mapping[str, Any], arrays: Mapping[str, AnyArray], weights: Mapping[str, Any]
) -> None:
    """Write a model, whole or not at all."""
    state = {"about": np.array(json.dumps(about)), **arrays}
    state.update({f"{_WEIGHTS}{key}": value for key, value in weights.items()})
    write_archive(path, {"format": _FORMAT, "version": _VERSION}, state)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The parts of a model; anything but a whole and unchanged file is a `ModelFileError`."""
    name = os.fspath(path)
    if Path(path).is_dir():
        raise IsADirectoryError(f"'{name}' is a directory; a model file is needed")
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file '{name}'")
    state = _state(path, name)
    try:
        return _model(state)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError, WeighborsError) as error:
        raise ModelFileError(f"'{name}' holds no valid model: {error}. Fit it again") from error


def _state(path: str | os.PathLike[str], name: str) -> dict[str, AnyArray]:
    """The arrays of a file that says it is a model, is of this version, and has the digest it was saved with."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member.removesuffix(".npy") for member in archive.namelist()]
    except DAMAGE as error:
        raise ModelFileError(
            f"'{name}' is no readable model file ({error}): it is cut off, damaged, or something else. Fit it again"
        ) from error
    foreign = [one for one in members if one not in ("header", "about", *_ARRAYS) and not one.startswith(_WEIGHTS)]
    if foreign or "about" not in members:
        raise ModelFileError(f"'{name}' is an archive, but no model: 'weighbors fit' did not write it")
    try:
        header, state = read_archive(path)
    except DAMAGE as error:
        raise ModelFileError(f"'{name}' is a damaged model file ({error}). Fit it again") from error
    if header.get("format") != _FORMAT:
        raise ModelFileError(f"'{name}' is an archive, but no model: 'weighbors fit' did not write it")
    if header.get("version") != _VERSION:
        raise ModelFileError(
            f"'{name}' has version {header.get('version')!r} of the format and this release reads version {_VERSION}. "
            "Upgrade weighbors, or fit the model again"
        )
    if header.get("digest") != digest_of(state):
        raise ModelFileError(f"'{name}' was changed or damaged: its content is not what was saved. Fit it again")
    return state


def _model(state: dict[str, AnyArray]) -> dict[str, Any]:
    about = json.loads(str(state["about"]))
    scaler = _scaler(about, state)
    rows = _rows(scaler, state)
    classes, codes = state["classes"], state["codes"]
    _require(classes.ndim == 1 and classes.dtype.kind in "iufUb" and len(classes) > 1, "a vector of classes")
    _require(codes.dtype == np.int64 and codes.shape == (len(rows),), "one label per row")
    _require(bool(((codes >= 0) & (codes < len(classes))).all()), "labels among the classes")
    settings = {key: _typed(about["settings"][key], kind, key) for key, kind in _SETTINGS.items()}
    _require(1 <= settings["n_neighbors"] <= len(rows), "as many rows as neighbours")
    _require(settings["votes"] in VOTES, "a known way to vote")
    weights = Weights(**_parts({k.removeprefix(_WEIGHTS): v for k, v in state.items() if k.startswith(_WEIGHTS)}))
    _require(weights.n_features in (None, len(scaler.names)), "one weight per feature")
    return {
        "scaler": scaler,
        "rows": rows,
        "codes": codes,
        "classes": classes,
        "weights": weights,
        "target": _typed(about["target"], str, "target"),
        "settings": settings,
        "left_out": tuple(LeftOut(_typed(n, str, "name"), _typed(r, str, "reason")) for n, r in about["left_out"]),
    }


def _scaler(about: dict[str, Any], state: dict[str, AnyArray]) -> TableScaler:
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
    _require(bool(np.isfinite(high - low)[~nominal].all() and (high > low)[~nominal].all()), "ranges of the numbers")
    return TableScaler(names, low, high, known)


def _rows(scaler: TableScaler, state: dict[str, AnyArray]) -> Any:
    """The training rows as a frame; checks that every cell is a number or a known category."""
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
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name} should be of type {kind.__name__}")
    return value


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"it lacks {what}")
