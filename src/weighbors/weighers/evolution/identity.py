"""What identifies a search: its data, and all that changes its course, as plain values."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from numbers import Integral
from types import CodeType
from typing import Any

import numpy as np

from ..._typing import BoolArray, FloatArray, IndexArray
from ...weights import fingerprint

__all__ = ["course_of", "data_of", "text_of_estimator", "text_of_function"]

_COURSE = (  # parameters that change the course of a search
    "objective",
    "population_size",
    "margin_rows",
    "n_neighbors",
    "per_class",
    "cv",
    "undersample",
    "de_factor",
    "crossover_rate",
    "incest_prevention",
    "restart",
)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def data_of(X: FloatArray, codes: IndexArray) -> str:
    """Fingerprint of rows and labels."""
    return f"{X.dtype} {fingerprint(X)} {fingerprint(codes[:, None])}"


def course_of(
    given: Any,
    tasks: Sequence[str],
    alphas: Sequence[float],
    goals: Sequence[str] | None,
    nominal: BoolArray,
) -> dict[str, Any]:
    """The settings of a search; ``given`` is the estimator, ``nominal`` the columns that are categories."""
    course = {name: getattr(given, name) for name in _COURSE}
    course = {name: value.item() if isinstance(value, np.generic) else value for name, value in course.items()}
    seed = given.random_state
    course.update(
        tasks="+".join(tasks),
        alphas=list(alphas),
        goals=None if goals is None else list(goals),
        fitness=given.fitness if isinstance(given.fitness, str) else text_of_function(given.fitness),
        estimator=None if given.estimator is None else text_of_estimator(given.estimator),
        random_state=int(seed) if isinstance(seed, Integral) else None,
        categorical_features=np.flatnonzero(nominal).tolist(),
    )
    return course


def text_of_estimator(estimator: Any) -> str:
    """Type and parameters, those of its parts too; the repr of scikit-learn leaves out what is long."""
    given = estimator.get_params()
    plain = {name: value for name, value in given.items() if not hasattr(value, "get_params")}
    told = ", ".join(f"{name}={plain[name]!r}" for name in sorted(plain))
    parts = [type(given[name]).__name__ for name in sorted(given) if hasattr(given[name], "get_params")]
    return f"{type(estimator).__name__}({told})" + (f" of {', '.join(parts)}" if parts else "")


def text_of_function(function: Any) -> str:
    """A name, and a digest of what a function written in Python does; the same in every process.

    Examples
    --------
    >>> text_of_function(lambda a, b: 1.0) == text_of_function(lambda a, b: 1.0)
    True
    >>> text_of_function(lambda a, b: 1.0) == text_of_function(lambda a, b: 2.0)
    False
    """
    if isinstance(function, functools.partial):
        bound: dict[Any, Any] = {**dict(enumerate(function.args)), **function.keywords}
        told = ", ".join(f"{name}={value!r}" for name, value in bound.items() if isinstance(value, _PLAIN))
        return f"partial({text_of_function(function.func)}, {told})"
    name = getattr(function, "__qualname__", type(function).__qualname__)
    code = getattr(function, "__code__", getattr(type(function).__call__, "__code__", None))
    if code is None:
        return str(name)
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    seen = (*cells, *(getattr(function, "__defaults__", None) or ()))
    held = [value for value in seen if isinstance(value, _PLAIN)]
    digest = hashlib.blake2b(repr((_text_of_code(code), held)).encode(), digest_size=8)
    return f"{name} {digest.hexdigest()}"


def _text_of_code(code: CodeType) -> str:
    """Instructions, names and constants; not the file or the line."""
    constants = [_text_of_code(part) if isinstance(part, CodeType) else repr(part) for part in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"
