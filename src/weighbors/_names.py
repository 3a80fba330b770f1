"""Names of users: an error says which one was probably meant, or what is no text."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from .exceptions import InvalidDataError

__all__ = ["hint", "known_names", "require_text"]


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
    if not isinstance(wanted, Iterable):
        raise InvalidDataError(f"the name of a {what}, or several, is wanted; got {wanted!r}")
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in names:
        if name not in there:
            raise InvalidDataError(f"there is no {what} {name!r}. {hint(name, there)}")
    return names


def require_text(names: Iterable[Any], what: str, error: type[Exception] = InvalidDataError) -> None:
    """Refuse text that holds half of a character (a lone surrogate): no file and no terminal takes it.

    Examples
    --------
    >>> require_text(["size", "Größe", 3], "column")
    """
    texts = [name for name in names if isinstance(name, str)]
    try:
        "\n".join(texts).encode()
    except UnicodeEncodeError:
        broken = next(text for text in texts if any("\ud800" <= char <= "\udfff" for char in text))
        raise error(
            f"{what} {str(broken)!a} is no valid text: it holds half of a character (a lone surrogate), which can be "
            "neither shown nor written. Rename it"
        ) from None
