"""Checks of weights (finite, not negative, of the right shape), of masks and of whole numbers."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ._typing import AnyArray, BoolArray, FloatArray
from .exceptions import InvalidDataError, InvalidWeightsError


def whole_number(value: Any, name: str, *, least: int = 1) -> int:
    """Return the value as an int. Raise InvalidDataError if it is not a whole number of at least ``least``.

    Examples
    --------
    >>> whole_number(np.int64(3), "n_repeats")
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidDataError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return int(value)


def freeze(values: Any, dtype: Any) -> AnyArray:
    """Return a read-only copy of the values, in C order."""
    out = np.array(values, dtype=dtype, order="C")
    out.setflags(write=False)
    return out


def check_non_negative(values: Any, name: str, ndim: tuple[int, ...]) -> FloatArray:
    """Return a read-only copy of weights, after checks.

    Raise InvalidWeightsError if a weight is negative or not finite, if all are zero, or if the number of dimensions is
    not one of ``ndim``. ``name`` is the name of the weights in the message.
    """
    raw = np.asarray(values)
    if raw.dtype.kind not in "fiub":
        raise InvalidWeightsError(f"{name} must be real numbers; got an array of {raw.dtype}")
    if raw.ndim not in ndim or raw.size == 0:
        wanted = " or ".join({1: "a vector", 2: "a matrix"}[n] for n in ndim)
        raise InvalidWeightsError(f"{name} must be {wanted} that is not empty; got shape {raw.shape}")
    out = freeze(raw, np.float64)
    bad = ~np.isfinite(out)
    if bad.any():
        where = np.argwhere(bad)[0].tolist()
        raise InvalidWeightsError(f"{name} must be finite; got {out[tuple(where)]} at position {_at(where)}")
    if (out < 0).any():
        where = np.argwhere(out < 0)[0].tolist()
        raise InvalidWeightsError(
            f"{name} must not be negative; got {out[tuple(where)]:g} at position {_at(where)}. "
            "Clip them to 0 (numpy.maximum(w, 0)) if a negative weight means an irrelevant feature."
        )
    if not (out > 0).any():
        raise InvalidWeightsError(
            f"{name} are all zero, so nothing would be told apart. Leave {name} out for equal weights"
        )
    return out


def check_mask(values: Any, name: str) -> BoolArray:
    """Return a read-only copy of a mask. Raise InvalidWeightsError if it is no vector of bool, or all False."""
    out = freeze(values, None)
    if out.ndim != 1 or out.dtype != bool:
        raise InvalidWeightsError(f"{name} must be a vector of bool; got {out.dtype} of shape {out.shape}")
    if not out.any():
        raise InvalidWeightsError(f"{name} keeps nothing: at least one entry must be True")
    return out


def _at(where: list[int]) -> str:
    """Format the indices ``where`` of an array entry for a message."""
    return str(where[0]) if len(where) == 1 else str(tuple(where))
