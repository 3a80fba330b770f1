"""A progress bar on stderr that shows how many cells of a study, or other units of work, are done."""

from __future__ import annotations

from types import TracebackType

from ..._display.status_line import StatusLine, draw_bar, stderr_is_terminal


class CellProgressBar:
    """Counts cells and draws a bar.

    Parameters
    ----------
    total, done : int
        Number of cells in this run, and number of cells that are done already.
    wanted : bool or None
        Whether the bar is drawn. None means that it is drawn if stderr is a terminal.
    unit : str
        What is counted.
    """

    def __init__(self, total: int, done: int, *, wanted: bool | None, unit: str = "cells") -> None:
        self.unit = unit
        self.total, self.done, self.failed = total, done, 0
        self.shown = stderr_is_terminal() if wanted is None else bool(wanted)
        self._line = StatusLine()

    def tell(self, status: str) -> None:
        """Count a cell that has ended with this status, and update the bar."""
        self.done += 1
        self.failed += status == "failed"
        if self.shown and (self._line.due() or self.done == self.total):
            self._draw()

    def _draw(self) -> None:
        failed = f", {self.failed} failed" if self.failed else ""
        bar = draw_bar(self.done, self.total)
        self._line.show(f"[{bar}] {self.done}/{self.total} {self.unit}{failed}, {int(self._line.seconds)} s ")

    def __enter__(self) -> CellProgressBar:
        if self.shown:
            self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.end()
