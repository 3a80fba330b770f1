"""One line on stderr that shows the progress of long work. Searches, studies and the command line use it."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

_TERMINAL_SECONDS = 0.1  # between two updates on a terminal, on which the line is rewritten
_LOG_SECONDS = 10.0  # between two lines if stderr is no terminal, so that every line stays


def stderr_is_terminal() -> bool:
    """Return whether stderr is a terminal. A program without a console may have no stderr."""
    return bool(sys.stderr is not None and sys.stderr.isatty())


def draw_bar(done: int, total: int, width: int = 30) -> str:
    """Return a progress bar of ``width`` characters. The bar is full if ``done`` is more than ``total``.

    Examples
    --------
    >>> draw_bar(3, 6, width=8)
    '####....'
    """
    filled = width * min(done, total) // max(1, total)
    return "#" * filled + "." * (width - filled)


class StatusLine:
    """A status line that is rewritten on a terminal. If stderr is no terminal, every update is a new line."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self._shown = -float("inf")  # when the line was last written
        self._open = False  # whether the line on the terminal has not been ended yet

    @property
    def seconds(self) -> float:
        """Seconds since the work began."""
        return time.monotonic() - self.began

    def due(self) -> bool:
        """Return whether it is time to write the line again, so that the caller need not make its text too often."""
        interval = _TERMINAL_SECONDS if stderr_is_terminal() else _LOG_SECONDS
        return time.monotonic() - self._shown >= interval

    def show(self, text: str) -> None:
        """Write the line now."""
        self._shown, self._open = time.monotonic(), stderr_is_terminal()
        # The escape sequence clears the rest of a longer earlier line.
        sys.stderr.write(f"\r{text}\x1b[K" if self._open else f"{text}\n")
        sys.stderr.flush()

    def end(self) -> None:
        """End the line. It stays on the terminal."""
        self._finish("\n")

    def clear(self) -> None:
        """Remove the line from the terminal."""
        self._finish("\r\x1b[K\r")

    def _finish(self, text: str) -> None:
        if self._open:
            sys.stderr.write(text)
            sys.stderr.flush()
            self._open = False


class ProgressBar:
    """Counts units of work, for example cells of a study, and draws a bar.

    Parameters
    ----------
    total, done : int
        Number of units in all, and number of units that are done already.
    wanted : bool or None
        Whether the bar is drawn. None means that it is drawn if stderr is a terminal.
    unit : str
        What is counted.
    """

    def __init__(self, total: int, done: int, *, wanted: bool | None, unit: str = "cells") -> None:
        self.total, self.done, self.failed, self.unit = total, done, 0, unit
        self.shown = stderr_is_terminal() if wanted is None else bool(wanted)
        self._line, self._lock = StatusLine(), threading.Lock()

    def tell(self, status: str) -> None:
        """Count a unit that has ended with this status, and update the bar. Threads may call it."""
        with self._lock:
            self.done += 1
            self.failed += status == "failed"
            if self.shown and (self._line.due() or self.done == self.total):
                self._draw()

    def _draw(self) -> None:
        failed = f", {self.failed} failed" if self.failed else ""
        bar = draw_bar(self.done, self.total)
        self._line.show(f"[{bar}] {self.done}/{self.total} {self.unit}{failed}, {int(self._line.seconds)} s ")

    def __enter__(self) -> ProgressBar:
        if self.shown:
            self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.end()
