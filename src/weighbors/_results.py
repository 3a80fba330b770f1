"""The base class of results, which print as a few lines and return a DataFrame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Result", "number", "table_lines"]


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

    def __repr__(self) -> str:
        return "\n".join(self._lines())


def table_lines(frame: pd.DataFrame, *, index: bool = True) -> list[str]:
    """Format a frame as lines of text, indented by two blanks."""
    text = frame.to_string(index=index, float_format=number)
    return [f"  {line}" for line in text.splitlines()]
