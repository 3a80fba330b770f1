"""Score on rows left out, and stability, of the best features, for every number of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._display.figure import ABOVE, GREY, Display, line_style, pyplot, scale_sizes
from .._names import shorten_name
from ..evaluation import SelectionCurve, selection_curve
from ..exceptions import InvalidDataError

if TYPE_CHECKING:
    import pandas as pd


class SelectionCurveDisplay(Display):
    """Two pictures above each other: the score and the stability of the best k features, for every k.

    The score has its interval. A grey line is the mean score with shuffled labels. A dot marks the smallest list
    within one standard error of the best. The lower picture has the stability, and with a thin line the stability
    with stand-ins.

    Parameters
    ----------
    curve : SelectionCurve

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes of the score.
    stability_ax_ : matplotlib Axes or None
        The axes of the stability. None if there is one axes only.
    lines_, stability_lines_ : dict of name to Line2D
    intervals_ : dict of name to PolyCollection
    chosen_ : dict of name to Line2D
        The dots.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import ReliefF
    >>> from weighbors.evaluation import selection_curve
    >>> from weighbors.plots import SelectionCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = selection_curve(ReliefF(), X, y, n_repeats=2, n_shuffles=0)
    >>> SelectionCurveDisplay(curve).frame()[["weigher", "size"]]
       weigher  size
    0  ReliefF     1
    1  ReliefF     2
    2  ReliefF     3
    3  ReliefF     4
    """

    def __init__(self, curve: SelectionCurve) -> None:
        if not isinstance(curve, SelectionCurve):
            raise InvalidDataError(f"a SelectionCurve is needed; got {type(curve).__name__}")
        self.curve = curve

    @classmethod
    def from_result(cls, curve: SelectionCurve, *, ax: Any = None) -> SelectionCurveDisplay:
        """Draw a curve."""
        return cls(curve).plot(ax)

    @classmethod
    def from_estimator(cls, weighers: Any, X: Any, y: Any, *, ax: Any = None, **options: Any) -> SelectionCurveDisplay:
        """Measure and draw the curves of one or several weighers; options as in `selection_curve`."""
        return cls(selection_curve(weighers, X, y, **options)).plot(ax)

    def frame(self) -> pd.DataFrame:
        """Return the table of the curve."""
        return self.curve.frame()

    def plot(self, ax: Any = None) -> SelectionCurveDisplay:
        """Draw into ``ax`` or a new figure.

        ``ax`` is a pair of axes, for the score and the stability, or one, for the score only.
        """
        if ax is None:
            _, ax = pyplot().subplots(2, 1, figsize=(6.4, 5.6), sharex=True, layout="constrained")
        axes = np.ravel(np.asarray(ax, dtype=object))
        if len(axes) not in (1, 2):
            raise InvalidDataError(f"ax must be one axes or a pair, for the score and the stability; got {len(axes)}")
        self.stability_ax_ = self._open(axes[1], (0, 0)) if len(axes) == 2 else None
        self._open(axes[0], (0, 0))
        self.lines_: dict[str, Any] = {}
        self.intervals_: dict[str, Any] = {}
        self.chosen_: dict[str, Any] = {}
        self.stability_lines_: dict[str, Any] = {}
        for place, name in enumerate(self.curve.weighers):
            part = self.curve.table[self.curve.table["weigher"] == name]
            style = line_style(place)
            self._draw_score(name, part, style)
            if self.stability_ax_ is not None:
                self._draw_stability(name, part, style)
        self._name_axes()
        return self

    def _draw_score(self, name: str, part: pd.DataFrame, style: dict[str, Any]) -> None:
        """Draw the scores of one weigher, whose rows of the table are ``part``."""
        (self.lines_[name],) = self.ax_.plot(part["size"], part["score"], label=shorten_name(name, 40), **style)
        self.intervals_[name] = self.ax_.fill_between(
            part["size"], part["low"], part["high"], color=style["color"], alpha=0.15, linewidth=0
        )
        size = self.curve.choose(name)
        score = part.loc[part["size"] == size, "score"]
        (self.chosen_[name],) = self.ax_.plot([size], score, "o", color=style["color"])
        if part["shuffled_score"].notna().any():
            label = "shuffled labels" if len(self.lines_) == 1 else None
            self.ax_.plot(
                part["size"],
                part["shuffled_score"],
                color=GREY,
                linestyle=style["linestyle"],
                linewidth=0.9,
                label=label,
            )

    def _draw_stability(self, name: str, part: pd.DataFrame, style: dict[str, Any]) -> None:
        """Draw the stability of one weigher, whose rows of the table are ``part``."""
        ax: Any = self.stability_ax_
        (self.stability_lines_[name],) = ax.plot(part["size"], part["stability"], **style)
        if part["stand_in_stability"].notna().any():
            first = len(self.stability_lines_) == 1
            ax.plot(
                part["size"],
                part["stand_in_stability"],
                linewidth=0.7,
                label="with stand-ins" if first else None,
                **style,
            )
        if part["shuffled_stability"].notna().any():
            ax.plot(part["size"], part["shuffled_stability"], color=GREY, linestyle=style["linestyle"], linewidth=0.9)

    def _name_axes(self) -> None:
        """Set the scales, the labels of the axes and the legends."""
        sizes, score = "number of features chosen", f"{self.curve.score_name} on rows left out"
        scale_sizes(self.ax_, self.curve.sizes[-1])
        self._label(sizes if self.stability_ax_ is None else "", score, **ABOVE)
        if self.stability_ax_ is not None:
            scale_sizes(self.stability_ax_, self.curve.sizes[-1])
            self.stability_ax_.set_xlabel(sizes)
            self.stability_ax_.set_ylabel("stability (1: always the same)")
            self.stability_ax_.set_ylim(top=1.05)
            if self.stability_ax_.get_legend_handles_labels()[0]:
                self.stability_ax_.legend(frameon=False, fontsize="small", loc="best")
