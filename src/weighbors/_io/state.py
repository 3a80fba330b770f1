"""Fitted estimators as one JSON text and plain arrays, so that they can be saved and loaded without pickle.

Only values of this library, of NumPy and of plain Python are written and read. When a file is read, objects are made
only of the classes in `_PACKAGES`, and nothing in the file is executed.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from .._typing import AnyArray
from ..exceptions import InvalidDataError

#: Packages and modules of this library whose classes may be in a file.
_PACKAGES = (
    "tables",
    "engine",
    "models",
    "neighbors",
    "votes",
    "weighers",
    "weights",
)
_PLAIN = (bool, int, float, str, type(None))


def write_state(value: Any) -> tuple[str, dict[str, AnyArray]]:
    """Return a value as a JSON text, and the arrays that the text refers to.

    Raises
    ------
    InvalidDataError
        If it holds something that is neither of this library nor of NumPy, for example a function.

    Examples
    --------
    >>> text, arrays = write_state({"a": np.arange(3), "b": (1, None)})
    >>> read_state(text, arrays)
    {'a': array([0, 1, 2]), 'b': (1, None)}
    """
    writer = _Writer()
    tree = writer.write(value, "model")
    return json.dumps(tree), writer.arrays


def read_state(text: str, arrays: Mapping[str, AnyArray]) -> Any:
    """Return the value that `write_state` wrote. Raise ValueError, KeyError or TypeError if it is not one of these."""
    return _Reader(arrays).read(json.loads(text))


class _Writer:
    """Walks through a value, and stores every array and every object once."""

    def __init__(self) -> None:
        self.arrays: dict[str, AnyArray] = {}
        self.seen: dict[int, tuple[Any, Any]] = {}  # by id: the value, which must stay alive, and what stands for it
        self.n_objects = 0

    def write(self, value: Any, path: str) -> Any:
        """Return the JSON form of a value. ``path`` is where it stands, for messages."""
        if type(value) in _PLAIN:
            return value
        if id(value) in self.seen:
            return self.seen[id(value)][1]
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.write(one, f"{path}[{i}]") for i, one in enumerate(value)]}
        if type(value) is dict:
            return {"dict": [[self.write(k, path), self.write(v, f"{path}[{k!r}]")] for k, v in value.items()]}
        if isinstance(value, (np.ndarray, np.generic)):
            return self._write_array(value, path)
        if sparse.issparse(value):
            return self._write_sparse(value)
        if _allowed(type(value)):
            return self._write_object(value, path)
        raise InvalidDataError(
            f"{path} is a {type(value).__module__}.{type(value).__qualname__}, which a model file cannot hold: only "
            "objects of this library, numbers and text can be saved. Use skops.io.dump, or another value"
        )

    def _write_array(self, value: Any, path: str) -> Any:
        """Return the JSON form of an array or NumPy scalar. Cells of objects are written one by one."""
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            cells = [self.write(cell, path) for cell in value.ravel().tolist()]
            return {"objects": cells, "shape": list(value.shape)}
        key = f"a{len(self.arrays)}"
        self.arrays[key] = np.asarray(value)
        frozen = isinstance(value, np.ndarray) and not value.flags.writeable
        form = {"scalar" if isinstance(value, np.generic) else "frozen" if frozen else "array": key}
        self.seen[id(value)] = (value, form)
        return form

    def _write_sparse(self, value: Any) -> Any:
        """Return the JSON form of a sparse matrix, which is stored in CSR form."""
        rows = sparse.csr_matrix(value)
        parts = [self._write_array(part, "") for part in (rows.data, rows.indices, rows.indptr)]
        return {"csr": parts, "shape": [int(n) for n in rows.shape]}

    def _write_object(self, value: Any, path: str) -> Any:
        """Return the JSON form of an object of this library."""
        kind, number = type(value), self.n_objects
        self.n_objects += 1
        self.seen[id(value)] = (value, {"ref": number})
        form: dict[str, Any] = {"class": f"{kind.__module__}:{kind.__qualname__}"}
        if isinstance(value, tuple):  # a NamedTuple
            return form | {"args": [self.write(one, f"{path}[{i}]") for i, one in enumerate(value)]}
        if "__reduce__" in vars(kind):  # through the constructor, which checks its arguments
            return form | {"args": [self.write(one, path) for one in value.__reduce__()[1]]}
        return form | {"state": {k: self.write(v, f"{path}.{k}") for k, v in _state_of(value).items()}}


def _state_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an object that are to be stored. What a dataclass caches is left out."""
    # Estimators are dataclasses for their parameters only: what they learn is no field.
    plain = is_dataclass(value) and not isinstance(value, BaseEstimator)
    if plain and "__getstate__" not in vars(type(value)):
        return {part.name: getattr(value, part.name) for part in fields(value)}
    state: dict[str, Any] = value.__getstate__() or {}
    return state


class _Reader:
    """Builds the value of a JSON text and arrays."""

    def __init__(self, arrays: Mapping[str, AnyArray]) -> None:
        self.arrays, self.objects = arrays, dict[int, Any]()
        self.n_objects = 0

    def read(self, form: Any) -> Any:
        """Return the value of a JSON form."""
        if type(form) in _PLAIN:
            return form
        if not isinstance(form, dict) or not form:
            raise ValueError(f"{form!r:.40} is no kind of value")
        if "class" in form:
            return self._read_object(form)
        kind = next(iter(form))
        if kind == "ref":
            return self.objects[form["ref"]]
        if kind in ("list", "tuple"):
            items = [self.read(one) for one in form[kind]]
            return items if kind == "list" else tuple(items)
        if kind == "dict":
            return {self.read(k): self.read(v) for k, v in form["dict"]}
        return self._read_array(kind, form)

    def _read_array(self, kind: str, form: dict[str, Any]) -> Any:
        """Return the array, scalar or sparse matrix of a JSON form."""
        if kind == "objects":
            cells = np.empty(len(form["objects"]), dtype=object)
            cells[:] = [self.read(one) for one in form["objects"]]
            return cells.reshape(form["shape"])
        if kind == "csr":
            matrix = sparse.csr_matrix(tuple(self.read(part) for part in form["csr"]), shape=tuple(form["shape"]))
            matrix.check_format(full_check=True)
            return matrix
        array = self.arrays[form[kind]]
        if kind == "frozen":
            array.setflags(write=False)
        elif kind not in ("array", "scalar"):
            raise ValueError(f"{kind!r} is no kind of value")
        return array[()] if kind == "scalar" else array

    def _read_object(self, form: dict[str, Any]) -> Any:
        """Return the object of a JSON form."""
        kind, number = _class_of(form["class"]), self.n_objects
        self.n_objects += 1
        if "args" in form:
            self.objects[number] = kind(*(self.read(one) for one in form["args"]))
            return self.objects[number]
        value = self.objects[number] = kind.__new__(kind)
        state = {name: self.read(one) for name, one in form["state"].items()}
        if "__setstate__" in vars(kind):
            value.__setstate__(state)
            return value
        for name, one in state.items():
            object.__setattr__(value, name, one)  # dataclasses may be frozen
        return value


def _allowed(kind: type) -> bool:
    """Return whether objects of a class may be in a file."""
    library, _, rest = kind.__module__.partition(".")
    return library == "weighbors" and rest.partition(".")[0] in _PACKAGES


def _class_of(name: str) -> Any:
    """Return a class of this library by its name. Raise ValueError if there is none that may be in a file."""
    module, _, qualname = name.partition(":")
    package, _, rest = module.partition(".")
    found: Any = None
    if package == "weighbors" and rest.partition(".")[0] in _PACKAGES:
        try:
            found = getattr(importlib.import_module(module), qualname, None)
        except ImportError:
            found = None
    if not isinstance(found, type) or not _allowed(found):
        raise ValueError(f"{name!r} is no class that a model file may hold")
    return found
