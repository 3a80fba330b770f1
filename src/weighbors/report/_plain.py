"""Plain values for the dict of a report: rounded numbers, and cells of the table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def json_number(value: Any, digits: int = 6) -> float | int | None:
    """Return a number rounded to ``digits`` significant digits for JSON, or None if it is not finite.

    Integers are not rounded.

    Examples
    --------
    >>> json_number(1 / 3), json_number(float("nan")), json_number(np.int64(7))
    (0.333333, None, 7)
    """
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    value = float(value)
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def json_numbers(values: Iterable[Any], digits: int = 6) -> list[float | int | None]:
    """Return a list of numbers for JSON. See `json_number`."""
    return [json_number(value, digits) for value in values]


def shown_cell(value: Any) -> Any:
    """Return a cell of the table as a rounded number, as text, or as None if it is missing."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return json_number(value, 4) if isinstance(value, (int, float, np.number)) else str(value)
