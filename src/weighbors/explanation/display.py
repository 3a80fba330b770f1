"""A picture of what each feature adds to an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._display.figure import BLUE, GREY, ORANGE, Display, check_lengths, disable_math
from .._names import shorten_name
from .words import format_value, others

if TYPE_CHECKING:
    import pandas as pd

    from .value import Explanation


class ExplanationDisplay(Display):
    """Bars for what each feature adds to the score of the answer: to the right for it, to the left against it.

    Parameters
    ----------
    features : sequence of str
        The largest contribution first.
    values : sequence
        Values of the row in these features.
    contributions : array-like of shape (n_features,)
    rest : float, default=0
        Sum of the contributions of the features that are not shown.
    n_rest : int, default=0
        Number of these features.
    title : str, default=""

    Attributes
    ----------
    bars_ : BarContainer
    ax_, figure_ : matplotlib Axes and Figure
    """

    def __init__(
        self,
        features: Sequence[str],
        values: Sequence[Any],
        contributions: Any,
        *,
        rest: float = 0.0,
        n_rest: int = 0,
        title: str = "",
    ) -> None:
        check_lengths(features=list(features), values=list(values), contributions=list(contributions))
        self.features, self.values = list(features), list(values)
        self.contributions = np.asarray(contributions, dtype=np.float64)
        self.rest, self.n_rest, self.title = float(rest), int(n_rest), title

    @classmethod
    def from_result(cls, explanation: Explanation, *, row: int = 0, ax: Any = None) -> ExplanationDisplay:
        """Draw the contributions to the answer for one row of an explanation.

        Parameters
        ----------
        explanation : Explanation
        row : int, default=0
        ax : matplotlib Axes, optional
        """
        return cls(**explanation._picture_data(row)).plot(ax)

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per feature: value, contribution."""
        import pandas as pd

        return pd.DataFrame(
            {"value": self.values, "contribution": self.contributions}, index=pd.Index(self.features, name="feature")
        )

    def plot(self, ax: Any = None) -> ExplanationDisplay:
        """Draw the bars into ``ax`` or a new figure."""
        names = [f"{shorten_name(n)} = {format_value(v)}" for n, v in zip(self.features, self.values, strict=True)]
        numbers = self.contributions
        if self.n_rest:
            names, numbers = [*names, others(self.n_rest, "feature")], np.append(numbers, self.rest)
        ax = self._open(ax, (6.4, 1.4 + 0.32 * len(names)))
        place = np.arange(len(names))
        colours = [BLUE if number >= 0 else ORANGE for number in numbers]
        self.bars_ = ax.barh(place, numbers, color=colours, height=0.7)
        ax.bar_label(self.bars_, [f"{number:+.3g}" for number in numbers], padding=3, fontsize="small")
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        ax.margins(x=0.18)
        self._list_names(names)
        disable_math([ax.set_title(self.title, loc="left", fontsize="medium")])
        ax.set_xlabel("contribution: for the answer to the right, against it to the left")
        return self
