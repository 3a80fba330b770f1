"""Output of the commands: results go to stdout, and all other messages to stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_quiet = False
_bar_console: Any = None  # that of the progress bar, while there is one: it prints messages above the bar


def set_quiet(wanted: bool) -> None:
    """Set whether notes are suppressed. Errors are always shown."""
    global _quiet
    _quiet = wanted


def on_terminal() -> bool:
    """Return whether stderr is a terminal and notes are not suppressed, so that a progress bar may be drawn."""
    return bool(sys.stderr is not None and sys.stderr.isatty()) and not _quiet


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int, str], None] | None]:
    """Yield a function that draws a progress bar on stderr, or None if stderr is no terminal or notes are suppressed.

    The function takes how many steps are done, of how many, and the name of the current step.
    """
    global _bar_console
    if not on_terminal():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(30), MofNCompleteColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    _bar_console = Console(stderr=True)
    try:
        # By default, rich would print to stderr what goes to stdout while the bar is there.
        with Progress(*columns, console=_bar_console, transient=True, redirect_stdout=False) as bar:
            task = bar.add_task("", total=None)
            yield lambda done, total, what: bar.update(task, completed=done, total=total, description=what)
    finally:
        _bar_console = None


def say(text: str = "") -> None:
    """Print lines of the result on stdout, without control characters."""
    sys.stdout.write("".join(f"{_printable(line)}\n" for line in text.split("\n")))


def say_columns(lines: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print a table with aligned columns on stdout: the first ``left`` columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.ljust(w) if j < left else cell.rjust(w) for j, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        say("  ".join(cells).rstrip())


def write_raw(text: str) -> None:
    """Write data for another program to stdout, unchanged."""
    sys.stdout.write(text)


def note(text: str) -> None:
    """Print a message on stderr."""
    if not _quiet:
        _print_message("note:", "yellow", text)


def notes(texts: Iterable[str], at_most: int = 12) -> None:
    """Print messages on stderr. If there are more than ``at_most``, only the first ones are printed."""
    texts = [str(text) for text in texts]
    for text in texts[:at_most]:
        note(text)
    if len(texts) > at_most:
        note(f"... and {len(texts) - at_most} more like these")


def error(text: str) -> None:
    """Print on stderr why the command failed."""
    _print_message("error:", "red", text)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout. NaN and infinite numbers become null."""
    sys.stdout.write(json.dumps(_plain(value), indent=1, allow_nan=False) + "\n")


def _print_message(label: str, colour: str, text: str) -> None:
    """Print a message on stderr as one line. Its label has a colour if stderr is a terminal that has colours."""
    from rich.console import Console
    from rich.text import Text

    joined = " ".join(_printable(line).strip() for line in text.splitlines())
    console = _bar_console or Console(stderr=True)
    console.print(Text(label, colour), Text(joined), soft_wrap=True)


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
