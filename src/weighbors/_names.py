"""Names that users give: suggest a known name for a misspelt one, and quote, shorten or make names unique."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from .exceptions import InvalidDataError

# Control characters but tab and line ends, and the characters that turn the direction of text. The latter can make a
# name look like another one.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def escape_controls(text: str) -> str:
    r"""Write control and direction characters as escapes, which JSON reads back and a page shows as they are.

    Examples
    --------
    >>> print(escape_controls("size\u202ega"))
    size\u202ega
    """
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def hint(name: Any, known: Iterable[Any]) -> str:
    """Return a text that suggests the known name most like ``name``, or lists up to 20 known names if none is similar.

    Examples
    --------
    >>> hint("sonnar", ["sonar", "glass"])
    "Did you mean 'sonar'?"
    """
    there = [str(one) for one in known]
    close = difflib.get_close_matches(str(name), there, n=1, cutoff=0.4)
    return f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(map(repr, there[:20]))}"


def known_names(wanted: Iterable[str] | None, known: Iterable[str], what: str) -> list[str]:
    """Return the wanted names as a list, or all known names if ``wanted`` is None.

    Raise InvalidDataError with a suggestion if a name is not known. ``what`` says in the message what the names are
    names of, for example "dataset".
    """
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
    """Raise ``error`` if a name holds half of a character (a lone surrogate), which cannot be written or shown.

    ``what`` says in the message what the names are names of. Names that are not text are accepted.

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


def quote_name(name: object, width: int = 40) -> str:
    r"""Format a name or cell for a message: quoted, on one line, shortened, without control characters.

    Examples
    --------
    >>> print(quote_name("two\nlines"), quote_name("a" * 100, 10))
    'two\nlines' 'aaaaaaaaa…'
    """
    text = str(name)
    text = text if len(text) <= width else text[: width - 1] + "…"
    safe = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return f"'{safe}'"


def shorten_name(name: Any, most: int = 28) -> str:
    r"""Put a name on one line, without control characters, and leave out its middle if it is long.

    Examples
    --------
    >>> shorten_name("two\nlines")
    'two lines'
    >>> shorten_name("a" * 20 + "z" * 20, 11)
    'aaaaa…zzzzz'
    """
    # Half of a character (a lone surrogate) cannot be written to a terminal or file.
    text = str(name).encode("utf8", "replace").decode("utf8")
    # Control and format characters (Cc, Cf) and line separators (Zl, Zp) could break or reorder a line.
    text = "".join(" " if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") else char for char in text[:20_000])
    text = " ".join(text.split())
    if len(text) > most:
        tail = most // 2
        text = f"{text[: most - tail - 1]}…{text[len(text) - tail :]}"
    return text or "(no name)"


def unique_names(names: list[str]) -> tuple[list[str], list[str]]:
    """Make column names unique. Return the new names, and one note for every changed name.

    A column without a name is called after its number, and a repeated name gets a count.
    """
    # Names that come later are taken as well, so that a new name never collides with one of them.
    taken: set[str] = set(names)
    used: set[str] = set()
    out, notes = [], []
    for j, given in enumerate(names):
        name = given
        if not name:
            name = _free(f"column {j + 1}", taken)
            notes.append(f"column {j + 1} has no name and is called {quote_name(name)}")
        elif name in used:
            count = 2
            while f"{given} ({count})" in taken:
                count += 1
            name = f"{given} ({count})"
            notes.append(
                f"there is more than one column {quote_name(given)}: column {j + 1} is called {quote_name(name)}"
            )
        used.add(name)
        taken.add(name)
        out.append(name)
    return out, notes


def _free(name: str, taken: set[str]) -> str:
    """Return the name, with apostrophes appended until it is not one of ``taken``."""
    while name in taken:
        name += "'"
    return name


def unused_name(name: str, taken: Iterable[str]) -> str:
    """Return ``name``, or ``name`` with a number after it if it is one of the names that are ``taken``.

    Examples
    --------
    >>> unused_name("age", ["size"]), unused_name("age", ["age", "age 2"])
    ('age', 'age 3')
    """
    used, number, free = set(taken), 1, name
    while free in used:
        number += 1
        free = f"{name} {number}"
    return free
