"""One bar on stderr, and only where it is wanted."""

from __future__ import annotations

import sys
import time
from types import TracebackType

__all__ = ["Progress"]


class Progress:
    """Counts cells; draws a bar where ``wanted`` (None: where stderr is a terminal)."""

    def __init__(self, total: int, done: int, *, wanted: bool | None) -> None:
        self.total, self.done, self.failed = total, done, 0
        stream = sys.stderr
        self.shown = bool(stream is not None and stream.isatty()) if wanted is None else bool(wanted)
        self.began, self.drawn = time.monotonic(), 0.0

    def tell(self, status: str) -> None:
        """Another cell has ended."""
        self.done += 1
        self.failed += status == "failed"
        now = time.monotonic()
        if self.shown and (now - self.drawn > 0.1 or self.done == self.total):
            self.drawn = now
            self._draw()

    def _draw(self) -> None:
        filled = 30 * self.done // max(1, self.total)
        seconds = int(time.monotonic() - self.began)
        failed = f", {self.failed} failed" if self.failed else ""
        bar = f"\r[{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total} cells{failed}, {seconds} s "
        sys.stderr.write(bar)
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        if self.shown:
            self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.shown:
            sys.stderr.write("\n")
            sys.stderr.flush()
