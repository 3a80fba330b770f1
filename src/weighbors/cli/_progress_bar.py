"""A progress bar on stderr, if stderr is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._display.status_line import StatusLine, draw_bar
from ._say import on_terminal


class Bar:
    """A progress bar that shows how many steps are done."""

    def __init__(self) -> None:
        self._line = StatusLine()

    def __call__(self, done: int, total: int, what: str) -> None:
        """Show that ``done`` of ``total`` steps are done. ``what`` names the current step."""
        if self._line.due():
            self._line.show(f"[{draw_bar(done, total)}] {done}/{total} {what}, {self._line.seconds:.0f} s")

    def clear(self) -> None:
        """Remove the bar from its line."""
        self._line.clear()


@contextmanager
def progress_bar() -> Iterator[Bar | None]:
    """Yield a progress bar for a library function, or None if stderr is not a terminal or notes are suppressed."""
    bar = Bar() if on_terminal() else None
    try:
        yield bar
    finally:
        if bar is not None:
            bar.clear()
