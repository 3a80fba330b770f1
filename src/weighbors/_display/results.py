"""The base class of results, which print as a few lines and return a DataFrame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from .html import block, cell_text, facts, frame_table, heading, paragraph, preformatted

if TYPE_CHECKING:
    import pandas as pd


def number(value: float) -> str:
    """Format a number with four significant digits, as results print it."""
    return f"{value:.4g}"


class Result(ABC):
    """Base class of results: `__repr__` returns the text of ``_lines()``, and `frame` returns the result as a table."""

    @abstractmethod
    def _lines(self) -> list[str]:
        """Return the lines that `__repr__` prints."""

    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """Return the result as a table."""

    def _shown(self) -> pd.DataFrame | None:
        """Return the table that a notebook shows, of which it takes the first lines. None: the text alone."""
        return self.frame()

    def _notes(self) -> list[str]:
        """Return the lines of text that a notebook shows above the table, after the first one."""
        return []

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        """Return the result for a notebook: the first line, and the table."""
        lines, frame, notes = self._lines(), self._shown(), self._notes()
        if frame is None:
            return block(heading(lines[0]), preformatted(line.removeprefix("  ") for line in lines[1:]))
        if len(frame) == 1:
            below = facts((str(name), cell_text(frame[name].iloc[0])) for name in frame)
        else:
            below = frame_table(frame)
        above = preformatted(notes) if len(notes) > 1 else "".join(map(paragraph, notes))
        return block(heading(lines[0]), above, below)


class PlainResult(Result):
    """Base class of dataclasses of a few plain values: `frame` returns these as a table with one row."""

    def _row(self) -> dict[str, Any]:
        """Return the numbers and texts of the result by name. Arrays and other results are left out."""
        return {name: value for name, value in vars(self).items() if isinstance(value, (str, int, float))}

    def frame(self) -> pd.DataFrame:
        """Return the result as a table with one row."""
        import pandas as pd

        return pd.DataFrame([self._row()])


def table_lines(frame: pd.DataFrame, *, index: bool = True) -> list[str]:
    """Format a frame as lines of text, indented by two blanks."""
    text = frame.to_string(index=index, float_format=number)
    return [f"  {line}" for line in text.splitlines()]
