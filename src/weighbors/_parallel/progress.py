"""Progress of work that has many steps, such as passes over the blocks of a table. It is shown only where it is wanted.

A step may have steps of its own: then the line shows both, the outer ones first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from .._display.status_line import StatusLine

Item = TypeVar("Item")


@dataclass
class _Progress:
    """The status line, and what is being done now, from the outermost to the innermost steps."""

    line: StatusLine = field(default_factory=StatusLine)
    parts: list[str] = field(default_factory=list)


_CURRENT: ContextVar[_Progress | None] = ContextVar("progress", default=None)


@contextmanager
def show_progress() -> Iterator[None]:
    """Show the progress of the code in the ``with`` block on stderr.

    Fits and predictions over tables in blocks show which part of the rows they are at. Work that Dask does is shown by
    the tools of Dask, too: its dashboard, and ``dask.diagnostics.ProgressBar`` without a cluster.

    Examples
    --------
    >>> from weighbors.blocks import show_progress
    >>> with show_progress():
    ...     pass  # ReliefF().fit("patients/", "outcome")
    """
    progress = _Progress()
    token = _CURRENT.set(progress)
    try:
        yield
    finally:
        _CURRENT.reset(token)
        progress.line.clear()


def watch(items: Iterable[Item], total: int | None, what: str) -> Iterator[Item]:
    """Yield the items, and show how many are done if progress is shown.

    ``total`` is their number, if it is known, and ``what`` is what they are called.
    """
    progress = _CURRENT.get()
    if progress is None:
        yield from items
        return
    level = len(progress.parts)
    for done, item in enumerate(items):
        progress.parts[level:] = [f"{what} {done + 1}" + ("" if total is None else f" of {total}")]
        if progress.line.due():
            progress.line.show(f"{', '.join(progress.parts)}; {progress.line.seconds:.0f} s")
        yield item
    del progress.parts[level:]
