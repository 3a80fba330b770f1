"""Output of the commands: results go to stdout, and all other messages to stderr."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable
from typing import Any

_quiet = False


def set_quiet(wanted: bool) -> None:
    """Set whether notes are suppressed. Errors are always shown."""
    global _quiet
    _quiet = wanted


def on_terminal() -> bool:
    """Return whether stderr is a terminal and notes are not suppressed, so that a progress bar may be drawn."""
    return bool(sys.stderr is not None and sys.stderr.isatty()) and not _quiet


def say(text: str = "") -> None:
    """Print lines of the result on stdout, without control characters."""
    sys.stdout.write("".join(f"{_printable(line)}\n" for line in text.split("\n")))


def write_raw(text: str) -> None:
    """Write data for another program to stdout, unchanged."""
    sys.stdout.write(text)


def note(text: str) -> None:
    """Print a message on stderr."""
    if not _quiet:
        sys.stderr.write(f"{_styled('note:', '33')} {_one_line(text)}\n")


def notes(texts: Iterable[str], at_most: int = 12) -> None:
    """Print messages on stderr. If there are more than ``at_most``, only the first ones are printed."""
    texts = [str(text) for text in texts]
    for text in texts[:at_most]:
        note(text)
    if len(texts) > at_most:
        note(f"... and {len(texts) - at_most} more like these")


def error(text: str) -> None:
    """Print on stderr why the command failed."""
    sys.stderr.write(f"{_styled('error:', '31;1')} {_one_line(text)}\n")


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout. NaN and infinite numbers become null."""
    sys.stdout.write(json.dumps(_plain(value), indent=1, allow_nan=False) + "\n")


def _styled(text: str, code: str) -> str:
    """Colour a text, if stderr is a terminal with colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stderr.isatty()
    return text if plain else f"\033[{code}m{text}\033[0m"


def _one_line(text: str) -> str:
    """Join the lines of a message into one line."""
    return " ".join(_printable(line).strip() for line in text.splitlines())


def _printable(line: str) -> str:
    """Replace control characters by question marks."""
    return line if line.isprintable() else "".join(char if char.isprintable() else "?" for char in line)


def _plain(value: Any) -> Any:
    """Convert arrays, paths and NumPy numbers to values that JSON can represent."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)
