"""The check of parameters that are whole numbers."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from .exceptions import InvalidDataError


def whole_number(value: Any, name: str, *, least: int = 1) -> int:
    """Return the value as an int. Raise InvalidDataError if it is not a whole number of at least ``least``.

    Examples
    --------
    >>> whole_number(3, "n_repeats")
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidDataError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return int(value)
