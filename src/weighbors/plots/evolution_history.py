"""History of an evolutionary search: fitness and reduction over evaluations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._display.figure import COLOURS, Display, fitted_value
from ..exceptions import InvalidDataError

if TYPE_CHECKING:
    import pandas as pd

#: Columns that are drawn if the history has them, and their labels.
_LINES = {"best": "best", "mean": "mean of the population", "reduction": "reduction of the best"}


class EvolutionHistoryDisplay(Display):
    """A curve of the best and mean fitness, and of the reduction of the best individual, over the evaluations.

    Parameters
    ----------
    history : DataFrame
        One row per generation, with at least evaluations and best, as `EvolutionaryWeigher` has it in
        ``history_``.
    pareto : bool, default=False
        Whether the search had several goals; best is then minus the smallest first goal.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of column to Line2D

    Examples
    --------
    >>> import pandas as pd
    >>> from weighbors.plots import EvolutionHistoryDisplay
    >>> history = pd.DataFrame({"evaluations": [100, 200], "best": [0.7, 0.8], "mean": [0.5, 0.6]})
    >>> EvolutionHistoryDisplay(history).frame()
       evaluations  best  mean
    0          100   0.7   0.5
    1          200   0.8   0.6
    """

    def __init__(self, history: pd.DataFrame, *, pareto: bool = False) -> None:
        lacking = [name for name in ("evaluations", "best") if name not in history.columns]
        if lacking or not len(history):
            raise InvalidDataError(
                "a history with the columns evaluations and best is needed, one row per generation; "
                + (f"it lacks {', '.join(lacking)}" if lacking else "it is empty")
            )
        self.history = history
        self.pareto = pareto

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> EvolutionHistoryDisplay:
        """Draw the history of a fitted `EvolutionaryWeigher`.

        Parameters
        ----------
        estimator : fitted EvolutionaryWeigher
        ax : matplotlib Axes, optional

        Returns
        -------
        EvolutionHistoryDisplay
        """
        history = fitted_value(estimator, "history_", "take EvolutionaryWeigher")
        return cls(history, pareto=hasattr(estimator, "pareto_front_")).plot(ax)

    def frame(self) -> pd.DataFrame:
        """Return the history as a table with one row per generation."""
        return self.history.copy()

    def plot(self, ax: Any = None) -> EvolutionHistoryDisplay:
        """Draw into ``ax`` or a new figure."""
        ax = self._open(ax, (6.4, 3.6))
        self.lines_ = {}
        for place, (column, label) in enumerate(_LINES.items()):
            if column not in self.history:
                continue
            name = "best first goal (negative)" if self.pareto and column == "best" else label
            (self.lines_[column],) = ax.step(
                self.history["evaluations"], self.history[column], ("-", "--", ":")[place], where="post",
                color=COLOURS[place], label=name,
            )  # fmt: skip
        self._label("evaluations", "goal and reduction" if self.pareto else "fitness and reduction")
        return self
