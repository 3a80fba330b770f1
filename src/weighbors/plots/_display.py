"""What all pictures share: matplotlib when it is needed, colours, names that fit."""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import AnyArray
from ..exceptions import InvalidDataError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BLUE", "COLOURS", "GREY", "ORANGE", "Display", "check_lengths", "names_of", "ranked_top", "short"]

#: Okabe and Ito's colours, told apart by all common kinds of colour vision; the yellow, too pale on
#: white, is left out.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
BLUE, ORANGE = COLOURS[:2]
GREY = "#808080"
MARKERS = ("o", "s", "^", "D", "v", "P")


def pyplot() -> Any:
    """`matplotlib.pyplot`, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingDependencyError("pictures need the package matplotlib: pip install 'weighbors[plots]'") from error
    return plt


class Display(ABC):
    """Base of the pictures: the data are given to ``__init__``, `plot` draws them, `frame` gives them back."""

    ax_: Any
    figure_: Any

    @abstractmethod
    def plot(self, ax: Any = None) -> Any:
        """Draw into ``ax``, or a new figure; returns the display with ``ax_`` and ``figure_``."""

    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """What is drawn, as a table."""

    def _open(self, ax: Any, size: tuple[float, float]) -> Any:
        """The axes to draw in: those given, or those of a new figure of ``size`` inches."""
        if ax is None:
            _, ax = pyplot().subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        return ax


def short(name: Any, most: int = 28) -> str:
    r"""A name on one line, without control characters, its middle left out where it is long.

    Examples
    --------
    >>> short("two\nlines")
    'two lines'
    >>> short("a" * 20 + "z" * 20, 11)
    'aaaaa…zzzzz'
    """
    text = str(name).encode("utf8", "replace").decode("utf8")
    text = "".join(" " if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") else char for char in text[:20_000])
    text = " ".join(text.split())
    if len(text) > most:
        tail = most // 2
        text = f"{text[: most - tail - 1]}…{text[len(text) - tail :]}"
    return text or "(no name)"


def names_of(names: Iterable[Any] | None, number: int) -> tuple[str, ...]:
    """Names of features as given, or x0, x1, ..."""
    told = tuple(f"x{j}" for j in range(number)) if names is None else tuple(str(name) for name in names)
    check_lengths(feature_names=told, weights=range(number))
    return told


def check_lengths(**parts: Sequence[Any] | AnyArray | None) -> None:
    """Refuse parts of different lengths."""
    sizes = {name: len(part) for name, part in parts.items() if part is not None}
    if len(set(sizes.values())) > 1:
        raise InvalidDataError(
            f"these must have the same length: {', '.join(f'{name} ({size})' for name, size in sizes.items())}"
        )


def ranked_top(weights: AnyArray, top: int | None) -> AnyArray:
    """Positions of the ``top`` largest weights, largest first, ties by position."""
    if top is not None and top < 1:
        raise InvalidDataError(f"top must be at least 1; got {top!r}")
    return np.argsort(-np.asarray(weights), kind="stable")[:top]


def plain_text(texts: Iterable[Any]) -> None:
    """Draw dollar signs as they are: names are no formulas."""
    for text in texts:
        text.set_parse_math(False)
