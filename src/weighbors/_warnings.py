"""Warnings that point at the user's line, however deep in the library they arise."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]

_INSIDE = ("weighbors", "sklearn", "joblib", "contextlib")  # whoever is called between the user and us


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the nearest line outside this library; at the caller's where there is none, as in a thread."""
    frame, level = sys._getframe(1), 2
    while frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        if frame.f_back is None:
            level = 2
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
