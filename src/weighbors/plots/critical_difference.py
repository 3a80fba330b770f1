"""Critical difference diagram: mean ranks of methods over data sets, and which of them differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._display.figure import GREY, Display, disable_math
from .._names import known_names, shorten_name
from .._typing import BoolArray
from ..evaluation import StudyResults
from ..exceptions import InvalidDataError
from ..stats import Comparison, CriticalDifference, Posthoc, compare

if TYPE_CHECKING:
    import pandas as pd

_ADJUSTED = ("holm", "hochberg", "shaffer", "bergmann", "wilcoxon_holm")


def _groups(alike: BoolArray) -> list[tuple[int, int]]:
    """Return the first and last position of each maximal run of methods whose pairs do not differ.

    Methods are ordered by rank. ``alike[i, j]`` says whether methods i and j do not differ.
    """
    k, runs = len(alike), list[tuple[int, int]]()
    for first in range(k):
        last = first
        while last + 1 < k and alike[first : last + 1, last + 1].all():
            last += 1
        # A run that ends where the one before ends is part of it.
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def _ranks_of(result: Posthoc) -> pd.Series:
    """Compute the mean ranks of the methods from the differences of ranks in ``result``.

    The mean ranks of k methods sum to k (k + 1) / 2.
    """
    import pandas as pd

    pairs = result.comparisons
    names = list(dict.fromkeys([*pairs["first"], *pairs["second"]]))
    anchor = names[0] if result.control is None else result.control
    away = pairs[pairs["first"] == anchor].set_index("second")["rank_difference"]
    # Differences leave one constant open: mean ranks have the mean (k + 1) / 2.
    base = (len(names) + 1) / 2 + float(away.sum()) / len(names)
    return pd.Series({name: base - float(away.get(name, 0.0)) for name in names}, name="mean rank")


class CriticalDifferenceDisplay(Display):
    """A diagram of the mean ranks of methods, the best on the left. A bar joins methods that do not differ.

    Parameters
    ----------
    mean_ranks : Series
        Mean rank of each method, with its name in the index.
    pairs : DataFrame
        The columns first, second and differs say which pairs of methods differ.
    critical_difference : float, optional
        It is drawn above the scale, if one difference decides for all pairs.
    control : name of a method, optional
        The method that all others were compared with; the bar then joins it with those that do not differ.
    title : str
        Name of the test, which is drawn above the ranks.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : PathCollection
        One point per method, best first.
    bars_ : list of Line2D
        One bar per group, as `groups` gives them.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from weighbors.plots import CriticalDifferenceDisplay
    >>> from weighbors.stats import nemenyi
    >>> scores = np.random.default_rng(0).normal([0.9, 0.6, 0.5], 0.1, (12, 3))
    >>> found = nemenyi(pd.DataFrame(scores, columns=["ours", "old", "older"]))
    >>> display = CriticalDifferenceDisplay(found.mean_ranks, found.comparisons)
    >>> display.groups()
    [('old', 'older')]
    """

    def __init__(
        self,
        mean_ranks: pd.Series,
        pairs: pd.DataFrame,
        *,
        critical_difference: float | None = None,
        control: Any = None,
        title: str = "",
    ) -> None:
        self.mean_ranks = mean_ranks.sort_values(kind="stable")
        lacking = [name for name in ("first", "second", "differs") if name not in pairs.columns]
        if lacking or len(self.mean_ranks) < 2:
            raise InvalidDataError(
                "mean ranks of at least 2 methods, and pairs with first, second and differs, are needed; "
                + (f"the pairs lack {', '.join(lacking)}" if lacking else f"there are {len(self.mean_ranks)} ranks")
            )
        strange = sorted({str(n) for n in [*pairs["first"], *pairs["second"]]} - {str(n) for n in mean_ranks.index})
        if strange:
            raise InvalidDataError(f"the pairs name methods without a rank: {', '.join(strange)}")
        self.pairs, self.critical_difference, self.control, self.title = pairs, critical_difference, control, title

    @classmethod
    def from_result(
        cls, result: Any, *, adjust: str = "nemenyi", alpha: float = 0.05, ax: Any = None
    ) -> CriticalDifferenceDisplay:
        """Draw a result of `weighbors.stats`.

        Parameters
        ----------
        result : Comparison, CriticalDifference or Posthoc
            Of `compare`, `nemenyi`, `bonferroni_dunn` or `posthoc`.
        adjust : {"nemenyi", "holm", "hochberg", "shaffer", "bergmann", "wilcoxon_holm"}, default="nemenyi"
            Which test of a `Comparison` is drawn: its critical difference, or its adjusted p-values.
        alpha : float, default=0.05
            Level for adjusted p-values; a critical difference has its own.
        ax : matplotlib Axes, optional

        Returns
        -------
        CriticalDifferenceDisplay
        """
        if not 0 < alpha < 1:
            raise InvalidDataError(f"alpha must lie between 0 and 1; got {alpha!r}")
        if isinstance(result, Comparison) and adjust == "nemenyi":
            result = result.critical_difference
        if isinstance(result, CriticalDifference):
            title = f"{result.test}, α = {result.alpha:g}, {result.n_datasets} data sets"
            cd = result.critical_difference
            return cls(result.mean_ranks, result.comparisons, critical_difference=cd, control=result.control,
                       title=title).plot(ax)  # fmt: skip
        if isinstance(result, Comparison):
            there = [name for name in _ADJUSTED if name in result.pairs]
            column = known_names([adjust], ["nemenyi", *there], "adjustment")[0]
            pairs, ranks = result.pairs, result.mean_ranks
        elif isinstance(result, Posthoc):
            pairs, ranks, column = result.comparisons, _ranks_of(result), "adjusted"
            adjust = result.adjust
        else:
            raise InvalidDataError(
                f"a Comparison, CriticalDifference or Posthoc of weighbors.stats is needed; got {type(result).__name__}"
            )
        pairs = pairs.assign(differs=pairs[column] <= alpha)
        return cls(ranks, pairs, control=result.control, title=f"{adjust.replace('_', ', ')}, α = {alpha:g}").plot(ax)

    @classmethod
    def from_results(
        cls, results: Any, score: str = "accuracy", *, adjust: str = "nemenyi", alpha: float = 0.05,
        higher_is_better: bool | None = None, control: Any = None, ax: Any = None,
    ) -> CriticalDifferenceDisplay:  # fmt: skip
        """Compare the methods of a study over its data sets, and draw the result.

        Parameters
        ----------
        results : StudyResults, or DataFrame of shape (n_datasets, n_methods)
        score : str, default="accuracy"
            Name of a score of the study.
        adjust, alpha, ax
            As in `from_result`.
        higher_is_better, control
            As in `weighbors.stats.compare`.

        Returns
        -------
        CriticalDifferenceDisplay
        """
        table = results.table(score) if isinstance(results, StudyResults) else results
        found = compare(table, alpha=alpha, higher_is_better=higher_is_better, control=control)
        return cls.from_result(found, adjust=adjust, alpha=alpha, ax=ax)

    def groups(self) -> list[tuple[Any, ...]]:
        """Return the groups of methods that do not differ, best first. With a control, return only its group."""
        names = list(self.mean_ranks.index)
        return [tuple(names[i] for i in members) for members in self._members()]

    def _members(self) -> list[list[int]]:
        """Return the positions of the methods of each group."""
        names = list(self.mean_ranks.index)
        alike = np.eye(len(names), dtype=bool)
        for first, second, differs in self.pairs[["first", "second", "differs"]].itertuples(index=False):
            i, j = names.index(first), names.index(second)
            alike[i, j] = alike[j, i] = not differs
        if self.control is None:
            # A group must be one bar in the diagram, so its methods must have neighbouring ranks.
            return [list(range(first, last + 1)) for first, last in _groups(alike)]
        same = np.flatnonzero(alike[names.index(self.control)]).tolist()
        return [same] if len(same) > 1 else []

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per method, best first: its mean rank, and the numbers of its groups."""
        import pandas as pd

        groups = self.groups()
        numbers = [tuple(g for g, group in enumerate(groups) if name in group) for name in self.mean_ranks.index]
        return (
            self.mean_ranks.to_frame("mean_rank")
            .assign(groups=pd.Series(numbers, index=self.mean_ranks.index))
            .rename_axis("method")
        )

    def plot(self, ax: Any = None) -> CriticalDifferenceDisplay:
        """Draw into ``ax`` or a new figure."""
        ranks, k = self.mean_ranks.to_numpy(dtype=np.float64), len(self.mean_ranks)
        members, left = self._members(), (len(self.mean_ranks) + 1) // 2
        # The names come below all bars.
        bars = 0.35 * len(members)
        ax = self._open(ax, (6.4, 1.3 + 0.26 * left + 0.1 * len(members)))
        low, high, span = 1, k, float(k - 1)
        ax.hlines(0.0, low, high, color="black", linewidth=1.0)
        ax.vlines(range(low, high + 1), 0.0, 0.25, color="black", linewidth=1.0)
        for tick in range(low, high + 1):
            ax.text(tick, 0.4, str(tick), ha="center", va="bottom", fontsize="small")
        self.bars_ = []
        # Bars of overlapping groups are drawn below each other.
        for level, group in enumerate(members):
            ends, at = (ranks[group[0]], ranks[group[-1]]), -0.35 * (level + 1)
            self.bars_ += ax.plot(ends, (at, at), color="black", linewidth=3.5, solid_capstyle="round")
        names = []
        for place, (name, rank) in enumerate(self.mean_ranks.items()):
            on_left = place < left
            # Names of the better half are on the left, the others on the right, both below the bars. Inner methods
            # are lower than outer ones, so that lines do not cross.
            depth = -bars - 0.5 - 0.75 * (place if on_left else k - 1 - place)
            edge = low - 0.08 * span if on_left else high + 0.08 * span
            ax.plot((rank, rank, edge), (0.0, depth, depth), color=GREY, linewidth=0.9, zorder=1)
            text = f"{shorten_name(name, 24)}  {rank:.2f}" if on_left else f"{rank:.2f}  {shorten_name(name, 24)}"
            style = "bold" if self.control is not None and name == self.control else "normal"
            names.append(
                ax.text(edge, depth, f" {text} ", ha="right" if on_left else "left", va="center", weight=style)
            )
        self.points_ = ax.scatter(ranks, np.zeros(k), color="black", s=18, zorder=3)
        if self.critical_difference is not None:
            ax.plot((low, low + self.critical_difference), (1.7, 1.7), color="black", marker="|", linewidth=1.0)
            ax.text(low, 1.85, f"critical difference {self.critical_difference:.2f}", va="bottom", fontsize="small")
        ax.set_title(self.title, fontsize="small", loc="right")
        ax.set_axis_off()
        ax.set_xlim(low - 0.75 * span, high + 0.75 * span)
        ax.set_ylim(-bars - 0.5 - 0.75 * (left - 1) - 0.5, 2.6)
        disable_math(names)
        return self
