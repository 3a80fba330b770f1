"""Cells and numbers of explanations as words."""

from __future__ import annotations

from typing import Any

import numpy as np


def format_value(value: Any) -> str:
    """Return a cell as text: numbers with four digits, missing values by name.

    Examples
    --------
    >>> format_value(12.34567), format_value(480.0), format_value(None), format_value("red")
    ('12.35', '480', 'missing', 'red')
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return "missing"
    if isinstance(value, (bool, np.bool_)):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return str(value)
    if not isinstance(value, (float, np.floating)):
        return str(value)
    number = float(value)
    if np.isnan(number):
        return "missing"
    # Whole numbers are printed in full: 12345, not 1.234e+04.
    return str(int(number)) if number.is_integer() and abs(number) < 1e7 else f"{number:.4g}"


def signed(number: float) -> str:
    """Return a number with its sign and three digits."""
    return f"{number:+.3g}" if number else "0"


def plain(number: float) -> str:
    """Return a number with three digits."""
    return f"{number:.3g}"


def others(n: int, what: str = "") -> str:
    """Return how many rows or features are not shown: "1 other", "3 other features"."""
    text = f"{n} other {what}" if what else f"{n} other"
    return text + ("s" if n > 1 else "")
