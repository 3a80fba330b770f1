"""What is printed, and where: results to stdout, the rest to stderr."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable
from typing import Any

__all__ = ["emit", "error", "note", "on_terminal", "quietly", "say"]

_quiet = False


def quietly(wanted: bool) -> None:
    """Whether notes are kept back; errors never are."""
    global _quiet
    _quiet = wanted


def on_terminal() -> bool:
    """Whether stderr is a terminal, and so a bar may be drawn."""
    return bool(sys.stderr is not None and sys.stderr.isatty()) and not _quiet


def say(text: str = "") -> None:
    """Lines of the result, on stdout, with nothing in them that a terminal obeys."""
    sys.stdout.write("".join(f"{_printable(line)}\n" for line in text.split("\n")))


def hand_over(text: str) -> None:
    """Data for another program, on stdout, as they are."""
    sys.stdout.write(text)


def note(text: str) -> None:
    """A message on stderr."""
    if not _quiet:
        sys.stderr.write(f"{_styled('note:', '33')} {_one_line(text)}\n")


def notes(texts: Iterable[str], at_most: int = 12) -> None:
    """Messages on stderr; of very many the first."""
    texts = [str(text) for text in texts]
    for text in texts[:at_most]:
        note(text)
    if len(texts) > at_most:
        note(f"... and {len(texts) - at_most} more like these")


def error(text: str) -> None:
    """Why the command failed, on stderr."""
    sys.stderr.write(f"{_styled('error:', '31;1')} {_one_line(text)}\n")


def emit(value: Any) -> None:
    """A value as JSON on stdout; what is not a number is null."""
    sys.stdout.write(json.dumps(_plain(value), indent=1, allow_nan=False) + "\n")


def _styled(text: str, code: str) -> str:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stderr.isatty()
    return text if plain else f"\033[{code}m{text}\033[0m"


def _one_line(text: str) -> str:
    """A message on one line."""
    return " ".join(_printable(line).strip() for line in text.splitlines())


def _printable(line: str) -> str:
    return line if line.isprintable() else "".join(char if char.isprintable() else "?" for char in line)


def _plain(value: Any) -> Any:
    """Arrays, paths and numbers of NumPy as what JSON knows."""
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
