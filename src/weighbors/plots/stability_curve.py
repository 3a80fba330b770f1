"""Stability of the best features, for every number of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from .._display.figure import ABOVE, GREY, Display, line_style, scale_sizes
from .._names import shorten_name
from ..evaluation import StabilityCurve, stability_curve
from ..evaluation.curve import chance_deviation
from ..exceptions import InvalidDataError

if TYPE_CHECKING:
    import pandas as pd


class StabilityCurveDisplay(Display):
    """A curve of how stable the choice of the best k features is, for every k, beside what chance would give.

    Parameters
    ----------
    curves : mapping of name to StabilityCurve
        The curves, all of the same features.
    level : float, default=0.95
        Level of the intervals and of the band of chance.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of name to Line2D
    intervals_ : dict of name to PolyCollection
    chance_ : PolyCollection
        The band in which a random choice of features would lie.

    Examples
    --------
    >>> from weighbors.evaluation import kuncheva_curve
    >>> from weighbors.plots import StabilityCurveDisplay
    >>> curve = kuncheva_curve([[0.9, 0.5, 0.1, 0.0], [0.8, 0.6, 0.2, 0.1], [0.7, 0.9, 0.0, 0.3]])
    >>> StabilityCurveDisplay({"ReliefF": curve}).frame()[["curve", "size", "stability"]].round(2)
         curve  size  stability
    0  ReliefF     1       0.11
    1  ReliefF     2       1.00
    2  ReliefF     3       0.11
    """

    def __init__(self, curves: Mapping[str, StabilityCurve], *, level: float = 0.95) -> None:
        if not curves or not all(isinstance(curve, StabilityCurve) for curve in curves.values()):
            raise InvalidDataError("a mapping of names to StabilityCurve is needed, with at least one of them")
        if len({curve.weights.shape[1] for curve in curves.values()}) > 1:
            raise InvalidDataError("the curves have different numbers of features; draw each into axes of its own")
        if not 0 < level < 1:
            raise InvalidDataError(f"level must lie between 0 and 1; got {level!r}")
        self.curves = dict(curves)
        self.level = level

    @classmethod
    def from_result(cls, curve: StabilityCurve, *, name: str = "stability", ax: Any = None) -> StabilityCurveDisplay:
        """Draw one curve."""
        return cls({name: curve}).plot(ax)

    @classmethod
    def from_results(cls, curves: Mapping[str, StabilityCurve], *, ax: Any = None) -> StabilityCurveDisplay:
        """Draw several curves, by name."""
        return cls(curves).plot(ax)

    @classmethod
    def from_estimator(cls, weigher: Any, X: Any, y: Any, *, ax: Any = None, **options: Any) -> StabilityCurveDisplay:
        """Measure and draw the curve of a weigher; options as in `weighbors.evaluation.stability_curve`."""
        name = type(weigher.steps[-1][1] if hasattr(weigher, "steps") else weigher).__name__
        return cls({name: stability_curve(weigher, X, y, **options)}).plot(ax)

    def _z(self) -> float:
        """Return the quantile of the normal distribution for the level of the intervals."""
        return float(norm.isf((1 - self.level) / 2))

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per curve and number of features.

        The columns are curve, size, stability, low, high, tied, and the upper end of the band of chance.
        """
        import pandas as pd

        parts = []
        for name, curve in self.curves.items():
            part = curve.frame().rename(columns={"standard_error": "low"})
            margin = self._z() * part["low"]
            part["low"] = part["stability"] - margin
            part.insert(3, "high", part["stability"] + margin)
            part.insert(0, "curve", name)
            parts.append(part.assign(chance=self._z() * self._chance(curve)))
        return pd.concat(parts, ignore_index=True)

    @staticmethod
    def _chance(curve: StabilityCurve) -> float:
        """Return the standard deviation of the stability if each run chooses its features at random."""
        return chance_deviation(curve.weights.shape[1], np.bincount(curve.repetition))

    def plot(self, ax: Any = None) -> StabilityCurveDisplay:
        """Draw into ``ax`` or a new figure."""
        ax = self._open(ax, (6.4, 3.6))
        # One band serves all curves, so the widest one is drawn: it errs on the safe side.
        width = max(self._chance(curve) for curve in self.curves.values()) * self._z()
        last = max(int(curve.sizes[-1]) for curve in self.curves.values())
        label = f"features chosen at random ({self.level:.0%})"
        self.chance_ = ax.fill_between([1, last], -width, width, color=GREY, alpha=0.35, linewidth=0, label=label)
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        self.lines_, self.intervals_ = {}, {}
        lowest = -width
        for place, (name, curve) in enumerate(self.curves.items()):
            style, margin = line_style(place), self._z() * curve.standard_error
            # Dots would hide a curve of many sizes.
            dots = "o" if len(curve.sizes) < 15 else None
            label = shorten_name(name, 40)
            (self.lines_[name],) = ax.plot(curve.sizes, curve.stability, marker=dots, label=label, **style)
            # An index cannot be larger than 1.
            low, high = curve.stability - margin, np.minimum(curve.stability + margin, 1.0)
            band = {"color": style["color"], "alpha": 0.2, "linewidth": 0}
            self.intervals_[name] = ax.fill_between(curve.sizes, low, high, **band)
            lowest = min(lowest, float(low.min()))
        scale_sizes(ax, last)
        ax.set_ylim(max(-1.0, lowest) - 0.05, 1.05)
        self._label("number of features chosen", "stability (1: always the same)", **ABOVE)
        return self
