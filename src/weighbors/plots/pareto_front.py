"""Pareto front of a search with several goals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._display.figure import BLUE, ORANGE, Display, fitted_value
from .._names import known_names
from ..exceptions import InvalidDataError

if TYPE_CHECKING:
    import pandas as pd


class ParetoFrontDisplay(Display):
    """Two goals of a Pareto front. The solution in use is marked.

    Parameters
    ----------
    front : DataFrame
        One row per trade-off, as `EvolutionaryWeigher` has it in ``pareto_front_``.
    x, y : str, optional
        Columns to draw; the first two by default.
    selected : int, optional
        Row in use.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : PathCollection
    selected_ : PathCollection or None

    Examples
    --------
    >>> import pandas as pd
    >>> from weighbors.plots import ParetoFrontDisplay
    >>> front = pd.DataFrame({"error": [0.1, 0.2], "instances": [0.5, 0.1]})
    >>> ParetoFrontDisplay(front, selected=1).frame()
       error  instances  selected
    0    0.1        0.5     False
    1    0.2        0.1      True
    """

    def __init__(
        self, front: pd.DataFrame, *, x: str | None = None, y: str | None = None, selected: int | None = None
    ) -> None:
        if front.shape[1] < 2 or not len(front):
            raise InvalidDataError(f"a front of at least one row and two goals is needed; got shape {front.shape}")
        names = [str(name) for name in front.columns]
        self.x = known_names([names[0] if x is None else x], names, "goal")[0]
        rest = [name for name in names if name != self.x]
        self.y = known_names([rest[0] if y is None else y], names, "goal")[0]
        if selected is not None and not 0 <= selected < len(front):
            raise InvalidDataError(f"selected must be a row of the front, 0 to {len(front) - 1}; got {selected!r}")
        self.front, self.selected = front, selected
        self.axis_names: dict[str, str] = {}

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, x: str | None = None, y: str | None = None, ax: Any = None
    ) -> ParetoFrontDisplay:
        """Draw the front of an `EvolutionaryWeigher` fitted with ``objective="pareto"``.

        Parameters
        ----------
        estimator : fitted EvolutionaryWeigher
        x, y : str, optional
            Columns of ``pareto_front_``; the first two goals by default.
        ax : matplotlib Axes, optional

        Returns
        -------
        ParetoFrontDisplay
        """
        front = fitted_value(estimator, "pareto_front_", "fit EvolutionaryWeigher with objective='pareto'")
        display = cls(front, x=x, y=y, selected=estimator.selected_)
        if getattr(estimator, "target_type_", "classes") == "numeric" and estimator.fitness in ("accuracy", "r2"):
            display.axis_names = {"error": "error (1 − R²)"}
        return display.plot(ax)

    def frame(self) -> pd.DataFrame:
        """Return the front as a table with one row per solution, and a column that marks the solution in use."""
        return self.front.assign(selected=[row == self.selected for row in range(len(self.front))])

    def plot(self, ax: Any = None) -> ParetoFrontDisplay:
        """Draw into ``ax`` or a new figure."""
        ax = self._open(ax, (5.6, 3.8))
        self.points_ = ax.scatter(self.front[self.x], self.front[self.y], color=BLUE, s=26, label="not dominated")
        self.selected_ = None
        if self.selected is not None:
            row = self.front.iloc[self.selected]
            ring = {"facecolors": "none", "edgecolors": ORANGE, "linewidth": 2.0, "s": 120}
            self.selected_ = ax.scatter([row[self.x]], [row[self.y]], label="in use", **ring)
        self._label(self.axis_names.get(self.x, self.x), self.axis_names.get(self.y, self.y))
        return self
