"""The base class of the displays, with colours and helpers that they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray
from ..exceptions import InvalidDataError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

#: Where a legend stands above the picture, and where beside it.
ABOVE: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 2}
BESIDE: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
#: Colours of Okabe and Ito, which people with any common kind of colour vision can tell apart. The yellow is
#: left out, as it is too pale on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
BLUE, ORANGE = COLOURS[:2]
GREY = "#808080"
MARKERS = ("o", "s", "^", "D", "v", "P")


def pyplot() -> Any:
    """Import `matplotlib.pyplot`, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingDependencyError("pictures need the package matplotlib: pip install 'weighbors[plots]'") from error
    return plt


class Display(ABC):
    """Base class of the displays: ``__init__`` takes the data, `plot` draws them, `frame` returns them."""

    ax_: Any
    figure_: Any

    @abstractmethod
    def plot(self, ax: Any = None) -> Any:
        """Draw into ``ax`` or a new figure, and return the display with ``ax_`` and ``figure_``."""

    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """Return the data of the figure as a table."""

    def _open(self, ax: Any, size: tuple[float, float]) -> Any:
        """Return the axes to draw in: those given, or those of a new figure of ``size`` inches."""
        if ax is None:
            _, ax = pyplot().subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        return ax

    def _label(self, x: str, y: str, *, legend: bool = True, **place: Any) -> None:
        """Name both axes, and draw the legend if there is one. ``place`` says where it is drawn."""
        self.ax_.set_xlabel(x)
        self.ax_.set_ylabel(y)
        if legend:
            disable_math(self.ax_.legend(frameon=False, fontsize="small", **place).get_texts())

    def _list_names(self, names: Sequence[str]) -> None:
        """Write a name beside every line of the picture, the first one at the top."""
        self.ax_.set_yticks(np.arange(len(names)), names)
        disable_math(self.ax_.get_yticklabels())
        self.ax_.set_ylim(len(names) - 0.4, -0.6)


def line_style(place: int) -> dict[str, Any]:
    """Return the look of a line. Styles differ as well as colours, for printing in black and white."""
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": ("-", "--", "-.", ":")[place % 4]}


def scale_sizes(ax: Any, last: int) -> None:
    """Give few features, which matter most, more room on an axis of up to ``last`` features: by a log scale."""
    if last > 60:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("")


def fitted_value(estimator: Any, attribute: str, advice: str) -> Any:
    """Return an attribute that an estimator has after fit. ``advice`` says what to do if it never has it."""
    check_is_fitted(estimator)
    value = getattr(estimator, attribute, None)
    if value is None:
        raise InvalidDataError(f"{type(estimator).__name__} has no {attribute}; {advice}")
    return value


def check_names(names: Iterable[Any] | None, number: int) -> tuple[str, ...]:
    """Return names of features as text, or x0, x1, ... if none are given."""
    texts = tuple(f"x{j}" for j in range(number)) if names is None else tuple(str(name) for name in names)
    check_lengths(feature_names=texts, weights=range(number))
    return texts


def check_lengths(**parts: Sequence[Any] | AnyArray | None) -> None:
    """Raise InvalidDataError if lengths differ. The keywords are the names of the arrays in the message."""
    sizes = {name: len(part) for name, part in parts.items() if part is not None}
    if len(set(sizes.values())) > 1:
        raise InvalidDataError(
            f"these must have the same length: {', '.join(f'{name} ({size})' for name, size in sizes.items())}"
        )


def top_positions(weights: AnyArray, top: int | None) -> AnyArray:
    """Return the positions of the ``top`` largest weights, largest first. Equal weights keep their order."""
    if top is not None and top < 1:
        raise InvalidDataError(f"top must be at least 1; got {top!r}")
    return np.argsort(-np.asarray(weights), kind="stable")[:top]


def disable_math(texts: Iterable[Any]) -> None:
    """Make matplotlib draw dollar signs in ``texts`` as they are, because names are no formulas."""
    for text in texts:
        text.set_parse_math(False)
