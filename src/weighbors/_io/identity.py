"""Descriptions and digests of estimators, functions and tables.

Checkpoints of searches and cells of studies are found by these digests. So a stored result is not reused after the
method, a function of the user or the data has changed.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from .._typing import AnyArray
from .fingerprint import fingerprint

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def digest(value: Any) -> str:
    """Compute a short digest of a value that JSON can represent."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def digest_rows(*rows: AnyArray) -> str:
    """Compute a digest of one or more arrays of row numbers."""
    out = hashlib.blake2b(digest_size=16)
    for part in rows:
        # The separator keeps (1 | 2 3) and (1 2 | 3) apart.
        out.update(np.ascontiguousarray(part, dtype=np.int64).tobytes() + b"|")
    return out.hexdigest()


def digest_table(X: Any, y: AnyArray) -> str:
    """Compute a digest of a table of any kind and its labels."""
    out = hashlib.blake2b(digest_size=16)
    if isinstance(X, pd.DataFrame):
        out.update(repr([(str(name), str(kind)) for name, kind in X.dtypes.items()]).encode())
        # The bytes of an object column are pointers, so pandas must hash the values.
        out.update(pd.util.hash_pandas_object(X, index=False).to_numpy().tobytes())
    elif sparse.issparse(X):
        rows = sparse.csr_matrix(X, copy=True)
        rows.sum_duplicates()  # also sorts each row
        out.update(f"{rows.dtype} {rows.shape}".encode())
        for part in (rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data):
            out.update(part.tobytes())
    elif np.asarray(X).dtype.kind in "fiub":
        out.update(f"{np.asarray(X).dtype} {fingerprint(X)}".encode())
    else:
        out.update(pd.util.hash_pandas_object(pd.DataFrame(X), index=False).to_numpy().tobytes())
    out.update(pd.util.hash_pandas_object(pd.Series(y), index=False).to_numpy().tobytes())
    return out.hexdigest()


def describe(value: Any) -> Any:
    """Describe an estimator, or any parameter of an estimator, by plain values that JSON can represent."""
    return _describe(value, ())


def _describe(value: Any, above: tuple[int, ...]) -> Any:
    """Describe a value as `describe` does.

    ``above`` holds the ids of the objects that contain the value, from the outermost to the innermost. It stops the
    recursion at an object that contains itself.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value if not isinstance(value, float) or np.isfinite(value) else repr(value)
    if isinstance(value, np.generic):
        return _describe(value.item(), above)
    # An object that contains itself is described by the number of levels between the two occurrences.
    if id(value) in above:
        return {"again": above[::-1].index(id(value))}
    above = (*above, id(value))
    if isinstance(value, (list, tuple)):
        return [_describe(one, above) for one in value]
    if isinstance(value, dict):
        return {str(key): _describe(one, above) for key, one in value.items()}
    if isinstance(value, np.ndarray) and value.dtype != object:
        content = hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16).hexdigest()
        return {"array": [str(value.dtype), list(value.shape), content]}
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _describe_estimator(value, above)
    if isinstance(value, functools.partial):
        bound = [_describe(part, above) for part in (value.func, list(value.args), value.keywords)]
        return {"partial": bound}
    if isinstance(value, type):
        return {"class": _name(value), **_code_of_class(value, above)}
    if hasattr(value, "__qualname__"):
        owner = {"of": _describe(value.__self__, above)} if isinstance(value, MethodType) else {}
        return {"function": _name(value), "code": _function_digest(value, above), **owner}
    return _describe_object(value, above)


def _describe_estimator(estimator: Any, above: tuple[int, ...]) -> dict[str, Any]:
    """Describe an estimator by its class and parameters, and by its code if the user wrote its class.

    ``above`` is as in `_describe`.
    """
    params = estimator.get_params(deep=False)
    code = _code_of_class(type(estimator), above)
    return {"class": _name(type(estimator)), "params": _describe(params, above), **code}


def _describe_object(value: Any, above: tuple[int, ...]) -> dict[str, Any]:
    """Describe an object by its class and content, and by its code if the user wrote its class.

    The content of a callable object is its attributes; of any other object it is a joblib hash, or its repr if it
    cannot be pickled. ``above`` is as in `_describe`.
    """
    import joblib

    code = _code_of_class(type(value), above)
    if callable(value) and hasattr(value, "__dict__"):
        return {"class": _name(type(value)), "state": _describe(vars(value), above), **code}
    try:
        content = str(joblib.hash(value))
    except Exception:  # the object cannot be pickled
        content = repr(value)
    return {"class": _name(type(value)), "content": content, **code}


def _name(kind: Any) -> str:
    """Return the full name of a class or function, with its module."""
    return f"{getattr(kind, '__module__', '')}.{kind.__qualname__}"


def _code_of_class(kind: type, above: tuple[int, ...]) -> dict[str, str]:
    """Return a digest of the methods of a class and of its base classes that the user wrote.

    Return an empty dict if the class ``kind`` is from an installed package. ``above`` is as in `_describe`.
    """
    if not _is_users(kind.__module__):
        return {}
    parts = []
    for base in kind.__mro__:
        if not _is_users(base.__module__):
            continue
        for name, attribute in sorted(vars(base).items()):
            for function in _functions_of(attribute):
                # The class itself is among the objects above, since its methods may refer to it.
                parts.append([base.__qualname__, name, _function_digest(function, (*above, id(kind)))])
    return {"code": digest(parts)}


def _functions_of(attribute: Any) -> Iterator[FunctionType]:
    """Return the Python functions of a class attribute, which may be a method of any kind or a property."""
    found = (attribute, *(getattr(attribute, name, None) for name in ("__func__", "fget", "fset", "__wrapped__")))
    return (function for function in found if isinstance(function, FunctionType))


@functools.lru_cache
def _is_users(module: str) -> bool:
    """Return whether the user wrote a module.

    This is so for ``__main__``, and for a file outside the standard library, weighbors and installed packages.
    Packages may be installed in several places: those of another environment can be on the path, too.
    """
    if module == "__main__":
        return True
    top = module.partition(".")[0]
    if top in ("weighbors", "builtins") or top in sys.stdlib_module_names:
        return False
    # A module of the standard library or of an installed package counts by its name and version only.
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None or not {"site-packages", "dist-packages"}.isdisjoint(path.split(os.sep)):
        return False
    installed = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return not path.startswith(tuple(place + os.sep for place in installed))


def describe_function(function: Any) -> str:
    """Describe a function by its name and a digest of what it does. The text is the same in every process.

    The digest covers the code with all nested functions, the default values and the closure. For a function that the
    user wrote it also covers the global functions, classes and constants that the function uses. So the description
    changes if the user edits the function between two runs.

    Examples
    --------
    >>> describe_function(lambda a, b: 1.0) == describe_function(lambda a, b: 1.0)
    True
    >>> describe_function(lambda a, b: 1.0) == describe_function(lambda a, b: 2.0)
    False
    """
    if isinstance(function, functools.partial):
        bound: dict[Any, Any] = {**dict(enumerate(function.args)), **function.keywords}
        arguments = ", ".join(
            f"{name}={value!r}" if isinstance(value, _PLAIN) else f"{name}={digest(describe(value))}"
            for name, value in bound.items()
        )
        return f"partial({describe_function(function.func)}, {arguments})"
    name = getattr(function, "__qualname__", type(function).__qualname__)
    found = _function_digest(function, ())
    return f"{name} {found}" if found else str(name)


def _function_digest(function: Any, above: tuple[int, ...]) -> str:
    """Return a digest of what a Python function does, or "" for a compiled function.

    ``above`` is as in `_describe`.
    """
    code = getattr(function, "__code__", getattr(type(function).__call__, "__code__", None))
    if code is None:
        return ""
    above = (*above, id(function))
    values = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    values += getattr(function, "__defaults__", None) or ()
    plain = [value for value in values if isinstance(value, _PLAIN)]
    rest = [_describe(value, above) for value in values if not isinstance(value, _PLAIN)]
    named = {
        **(getattr(function, "__kwdefaults__", None) or {}),
        **_globals_of(function, code),
        **({} if isinstance(function, (FunctionType, MethodType)) else getattr(function, "__dict__", {})),
    }
    # Further parts are added only if there are any, so that the digest of a plain function depends on two parts only.
    parts: tuple[Any, ...] = (_text_of_code(code), plain)
    if rest or named:
        parts = (*parts, rest, _describe(named, above))
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def _globals_of(function: Any, code: CodeType) -> dict[str, Any]:
    """Return the global values that a function of the user uses, by name.

    Modules are left out, and so are functions and classes that the user did not write. Return an empty dict if the
    user did not write ``function``.
    """
    if not _is_users(getattr(function, "__module__", None) or ""):
        return {}
    known = getattr(function, "__globals__", {})
    found = {name: known[name] for name in sorted(_names_in(code)) if name in known}
    return {
        name: value
        for name, value in found.items()
        if not isinstance(value, ModuleType)
        and (not isinstance(value, (type, FunctionType)) or _is_users(value.__module__))
    }


def _names_in(code: CodeType) -> set[str]:
    """Return all names that a code object uses, also in nested functions."""
    names = set(code.co_names)
    for part in code.co_consts:
        if isinstance(part, CodeType):
            names |= _names_in(part)
    return names


def _text_of_code(code: CodeType) -> str:
    """Return the instructions, names and constants of a code object as text, without its file and line numbers."""
    constants = [_text_of_code(part) if isinstance(part, CodeType) else repr(part) for part in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"
