"""A bar on stderr, where that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ._say import on_terminal

__all__ = ["Bar", "progress_bar"]


class Bar:
    """Draws how many steps are done; cleared when the work ends."""

    def __init__(self) -> None:
        self.began, self.drawn, self.width = time.monotonic(), 0.0, 0

    def __call__(self, done: int, total: int, what: str) -> None:
        """So many of the steps are done, and this one is under way."""
        now = time.monotonic()
        if now - self.drawn < 0.1:
            return
        self.drawn = now
        filled = 30 * done // max(1, total)
        line = f"[{'#' * filled}{'.' * (30 - filled)}] {done}/{total} {what}, {now - self.began:.0f} s"
        self.width = max(self.width, len(line))
        sys.stderr.write(f"\r{line:<{self.width}}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Leave an empty line."""
        if self.width:
            sys.stderr.write(f"\r{'':<{self.width}}\r")
            sys.stderr.flush()


@contextmanager
def progress_bar() -> Iterator[Bar | None]:
    """A bar to hand to a library function; None where stderr is no terminal."""
    bar = Bar() if on_terminal() else None
    try:
        yield bar
    finally:
        if bar is not None:
            bar.clear()
