"""Map of representative intervals: which values of which feature belong to which class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._display.figure import COLOURS, GREY, Display, disable_math, fitted_value
from .._names import shorten_name
from ..exceptions import InvalidDataError

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("class", "feature", "low", "high", "weight", "kept")


class IntervalMapDisplay(Display):
    """A line for each feature and class, with a bar for each interval. Thicker bars have a larger weight.

    Numbers lie between the least and the largest value of their feature, categories side by side.
    Runs dropped as noise are thin and grey.

    Parameters
    ----------
    intervals : DataFrame
        With the columns class, feature, low, high, weight and kept, as `RepresentativeIntervals` has
        them in ``intervals_``.
    categories : dict of feature to sequence, optional
        Order of the values of features that hold categories; by default as they come.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : list of Rectangle
        One per interval drawn, in the order of `lanes`.

    Examples
    --------
    >>> from weighbors import RepresentativeIntervals
    >>> from weighbors.plots import IntervalMapDisplay
    >>> X, y = [[1], [2], [3], [3], [5], [6], [7], [5], [6]], list("aaaaaaabb")
    >>> display = IntervalMapDisplay(RepresentativeIntervals().fit(X, y).intervals_)
    >>> display.lanes()[["feature", "class", "left", "right"]].round(2)
      feature class  left  right
    0      x0     a  0.00   0.43
    1      x0     a  0.57   1.00
    2      x0     b  0.57   0.86
    """

    def __init__(self, intervals: pd.DataFrame, *, categories: dict[str, Any] | None = None) -> None:
        lacking = [name for name in _COLUMNS if name not in intervals.columns]
        if lacking or not len(intervals):
            labelled = f"it lacks {', '.join(lacking)}" if lacking else "it is empty"
            raise InvalidDataError(f"a table of intervals with the columns {', '.join(_COLUMNS)} is needed; {labelled}")
        self.intervals = intervals
        self.categories = {str(name): list(values) for name, values in (categories or {}).items()}

    @classmethod
    def from_estimator(cls, estimator: Any, *, features: Any = None, ax: Any = None) -> IntervalMapDisplay:
        """Draw the intervals of a fitted `RepresentativeIntervals` or `WIBK`.

        Parameters
        ----------
        estimator : fitted estimator with ``intervals_``
        features : sequence of str, optional
            Only these; by default the ten whose intervals weigh most.
        ax : matplotlib Axes, optional

        Returns
        -------
        IntervalMapDisplay
        """
        intervals = fitted_value(estimator, "intervals_", "take RepresentativeIntervals or WIBK")
        return cls(intervals).plot(ax, features=features)

    def frame(self) -> pd.DataFrame:
        """Return the intervals as a table with one row per interval."""
        return self.intervals.copy()

    def importance(self) -> pd.Series:
        """Return the mean weight of the kept intervals of each feature, largest first.

        Each interval counts by its number of instances.
        """
        kept = self.intervals[self.intervals["kept"].astype(bool)]
        # A table that was written by hand may have no numbers of instances. Its intervals then count equally.
        size = kept["magnitude"] if "magnitude" in kept else kept["weight"] * 0 + 1
        sums = (kept["weight"] * size).groupby(kept["feature"], sort=False).sum()
        mean = sums / size.groupby(kept["feature"], sort=False).sum()
        return mean.sort_values(ascending=False, kind="stable")

    def lanes(self, features: Any = None) -> pd.DataFrame:
        """Return the intervals with the columns ``left`` and ``right``: where their bars begin and end.

        Positions go from 0 to 1 over the values of the feature.
        """
        import pandas as pd

        chosen = list(self.importance().index[:10]) if features is None else list(features)
        unknown = [name for name in chosen if name not in set(self.intervals["feature"])]
        if unknown:
            raise InvalidDataError(f"there are no intervals of {', '.join(map(repr, unknown))}")
        parts = []
        for name in chosen:
            part = self.intervals[self.intervals["feature"] == name].copy()
            order = self._positions(str(name), part)
            left, right = (part[end].map(order).astype(float) if order else part[end].astype(float)
                           for end in ("low", "high"))  # fmt: skip
            step = 1.0 if order or _all_integers(part) else 0.0  # a single value has a width
            low, high = float(left.min()), float(right.max()) + step
            span = high - low if high > low else 1.0
            parts.append(part.assign(left=(left - low) / span, right=(right + step - low) / span))
        return pd.concat(parts, ignore_index=True)

    def _positions(self, name: str, part: pd.DataFrame) -> dict[Any, int]:
        """Return the position of each category, or an empty dict for a numeric feature."""
        values = [*part["low"], *part["high"]]
        if name not in self.categories and all(isinstance(v, (int, float, np.number)) for v in values):
            return {}
        return {value: place for place, value in enumerate(self.categories.get(name) or dict.fromkeys(values))}

    def plot(self, ax: Any = None, *, features: Any = None) -> IntervalMapDisplay:
        """Draw the ``features`` (by default the ten that weigh most) into ``ax`` or a new figure."""
        lanes = self.lanes(features)
        names, classes = list(dict.fromkeys(lanes["feature"])), list(dict.fromkeys(self.intervals["class"]))
        lane = 0.8 / len(classes)
        ax = self._open(ax, (6.4, 1.2 + len(names) * (0.2 + 0.14 * len(classes))))
        self.bars_: list[Any] = []
        labelled: set[Any] = set()
        columns = ("feature", "class", "left", "right", "weight", "kept")
        for feature, label, left, right, weight, kept in zip(*(lanes[name] for name in columns), strict=True):
            place = classes.index(label)
            middle = names.index(feature) - 0.4 + lane * (place + 0.5)
            # A kept interval of weight 0 stays visible; a dropped one is thinner than any kept one.
            height = lane * (0.25 + 0.6 * weight) if kept else lane * 0.12
            key = shorten_name(label, 24) if kept and label not in labelled else None
            labelled |= {label} if key else set()
            self.bars_ += ax.barh(
                middle, right - left, height, left=left, edgecolor="white", linewidth=0.4, label=key,
                color=COLOURS[place % len(COLOURS)] if kept else GREY,
            )  # fmt: skip
        ax.set_yticks(range(len(names)), [f"{shorten_name(name, 24)}\n{self._range(name)}" for name in names])
        ax.set_ylim(len(names) - 0.5, -0.5)
        for edge in np.arange(1, len(names)) - 0.5:
            ax.axhline(edge, color=GREY, linewidth=0.5, alpha=0.5)
        ax.set_xlim(0.0, 1.0)
        ax.set_xticks([0, 1], ["least or first value", "largest or last"])
        ax.get_xticklabels()[0].set_ha("left")
        ax.get_xticklabels()[1].set_ha("right")
        legend = ax.legend(frameon=False, fontsize="small", title="class", loc="upper left", bbox_to_anchor=(1.0, 1.0))
        disable_math([*ax.get_yticklabels(), *legend.get_texts()])
        return self

    def _range(self, name: Any) -> str:
        """Describe the values of a feature: its categories, or its smallest and largest value."""
        part = self.intervals[self.intervals["feature"] == name]
        order = self._positions(str(name), part)
        if order:
            values = [shorten_name(value, 8) for value in order]
            return ", ".join(values) if len(values) < 4 else f"{values[0]}, {values[1]}, … {values[-1]}"
        return f"{part['low'].astype(float).min():g} to {part['high'].astype(float).max():g}"


def _all_integers(part: pd.DataFrame) -> bool:
    """Return whether all ends of the intervals are whole numbers."""
    values = part[["low", "high"]].astype(float).to_numpy()
    return bool((values == np.rint(values)).all())
