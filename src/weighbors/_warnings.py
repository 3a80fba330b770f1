"""Warnings that point at the line of the user's code, not at a line inside the library."""

from __future__ import annotations

import sys
import warnings

# Packages whose stack frames are skipped when the line of the user is looked for.
_INSIDE = (
    "weighbors",
    "sklearn",
    "imblearn",
    "joblib",
    "contextlib",
)


def warn(message: str, category: type[Warning]) -> None:
    """Give a warning that points at the nearest line outside this library.

    If the stack has no such line, as in a thread, the warning points at the caller of this function.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        if frame.f_back is None:
            level = 2
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
