"""What frozen results share: they print as a few aligned lines and give a frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Result", "number", "table_lines"]


def number(value: float) -> str:
    """Four significant digits, as results print them."""
    return f"{value:.4g}"


class Result(ABC):
    """Base of the results: `__repr__` prints ``_lines()``, `frame` gives the figures as a table."""

    @abstractmethod
    def _lines(self) -> list[str]:
        """What is printed."""

    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """The figures as a table."""

    def __repr__(self) -> str:
        return "\n".join(self._lines())


def table_lines(frame: pd.DataFrame, *, index: bool = True) -> list[str]:
    """A frame as lines of text, indented by two."""
    text = frame.to_string(index=index, float_format=number)
    return [f"  {line}" for line in text.splitlines()]
