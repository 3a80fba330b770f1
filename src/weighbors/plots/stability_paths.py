"""Stability paths: the share of half samples that select each feature, from short lists to long ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._display.figure import BESIDE, COLOURS, GREY, Display, check_names
from .._names import shorten_name
from ..exceptions import InvalidDataError

if TYPE_CHECKING:
    import pandas as pd


class StabilityPathsDisplay(Display):
    """The paths of the features of a list in colour, those of all others in grey.

    Parameters
    ----------
    thresholds : array-like of shape (n_thresholds,)
        Numbers of best features, or thresholds of weights.
    paths : array-like of shape (n_thresholds, n_features)
        Share of the half samples that select each feature.
    selected : array-like of bool of shape (n_features,)
    feature_names : iterable of str, optional
        By default x0, x1, ...
    label : str, default="number of best features"
        What the thresholds are.
    top : int, default=12
        So many selected features are named, those with the largest mean share first.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of name to Line2D
        The lines of the selected features.

    Examples
    --------
    >>> from weighbors.plots import StabilityPathsDisplay
    >>> StabilityPathsDisplay([1, 2], [[1.0, 0.0], [1.0, 0.5]], [True, False]).frame()
       threshold feature  share  selected
    0          1      x0    1.0      True
    1          2      x0    1.0      True
    2          1      x1    0.0     False
    3          2      x1    0.5     False
    """

    def __init__(
        self,
        thresholds: Any,
        paths: Any,
        selected: Any,
        feature_names: Iterable[Any] | None = None,
        *,
        label: str = "number of best features",
        top: int = 12,
    ) -> None:
        self.thresholds, self.paths = np.asarray(thresholds), np.asarray(paths, dtype=np.float64)
        self.selected = np.asarray(selected, dtype=bool)
        if self.paths.ndim != 2 or self.paths.shape != (len(self.thresholds), len(self.selected)):
            raise InvalidDataError(
                f"paths must have one row per threshold ({len(self.thresholds)}) and one column per feature "
                f"({len(self.selected)}); got shape {self.paths.shape}"
            )
        self.feature_names = check_names(feature_names, self.paths.shape[1])
        self.label = label
        self.top = top

    @classmethod
    def from_estimator(cls, selection: Any, *, ax: Any = None, top: int = 12) -> StabilityPathsDisplay:
        """Draw the paths of a fitted `StabilitySelection`."""
        names = getattr(selection, "feature_names_in_", None)
        return cls(selection.thresholds_, selection.paths_, selection.get_support(), names, top=top).plot(ax)

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per feature and threshold: threshold, feature, share, selected."""
        import pandas as pd

        n, p = self.paths.shape
        return pd.DataFrame(
            {
                "threshold": np.tile(self.thresholds, p),
                "feature": np.repeat(np.array(self.feature_names, dtype=object), n),
                "share": self.paths.T.ravel(),
                "selected": np.repeat(self.selected, n),
            }
        )

    def plot(self, ax: Any = None) -> StabilityPathsDisplay:
        """Draw into ``ax`` or a new figure."""
        ax = self._open(ax, (6.4, 4.0))
        others = np.flatnonzero(~self.selected)
        # A thousand grey lines show the mass of the others; more would only make the file large.
        if len(others) > 1000:
            others = others[np.argsort(-self.paths[:, others].mean(axis=0), kind="stable")[:1000]]
        if len(others):
            ax.plot(self.thresholds, self.paths[:, others], color=GREY, alpha=0.3, linewidth=0.6)
        self.lines_ = {}
        chosen = np.flatnonzero(self.selected)
        ranked = chosen[np.argsort(-self.paths[:, chosen].mean(axis=0), kind="stable")]
        for place, j in enumerate(ranked):
            name = self.feature_names[j]
            (line,) = ax.plot(
                self.thresholds,
                self.paths[:, j],
                ("-", "--", "-.", ":")[place // len(COLOURS) % 4],
                color=COLOURS[place % len(COLOURS)],
                label=shorten_name(name, 30) if place < self.top else "_nolegend_",
            )
            self.lines_[name] = line
        ax.set_xscale("log")
        if self.thresholds[0] > self.thresholds[-1]:  # thresholds of weights: the strictest one on the left
            ax.invert_xaxis()
        ax.set_ylim(-0.02, 1.02)
        self._label(self.label, "share of half samples", legend=bool(len(ranked)), **BESIDE)
        return self
