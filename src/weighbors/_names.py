"""Names that a user may mistype: the error says which one was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from .exceptions import InvalidDataError

__all__ = ["hint", "known_names"]


def hint(name: Any, known: Iterable[Any]) -> str:
    """The nearest of the known names, or all of them where none is near.

    Examples
    --------
    >>> hint("sonnar", ["sonar", "glass"])
    "Did you mean 'sonar'?"
    """
    there = [str(one) for one in known]
    close = difflib.get_close_matches(str(name), there, n=1, cutoff=0.4)
    return f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(map(repr, there[:20]))}"


def known_names(wanted: Iterable[str] | None, known: Iterable[str], what: str) -> list[str]:
    """The names asked for, all by default; an unknown one is an error with the nearest match."""
    there = list(known)
    if wanted is None:
        return there
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in names:
        if name not in there:
            raise InvalidDataError(f"there is no {what} {name!r}. {hint(name, there)}")
    return names
