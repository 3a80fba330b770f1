"""All tests for one table of scores, with a description of every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._display.latex import booktabs_table, escape_latex, format_scores, score_rows
from .._display.results import Result, table_lines
from ..exceptions import InvalidDataError
from ._scores import check_control, check_table, mean_ranks, resolve_direction
from .adjust import _MOST_METHODS, adjust
from .omnibus import OmnibusResult, friedman, iman_davenport
from .paired import wilcoxon
from .pairwise import CriticalDifference, bonferroni_dunn, nemenyi, rank_p_values, wins


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Everything that `compare` found, and the steps that it took.

    Attributes
    ----------
    steps : tuple of str
        The steps that were taken, in order, and those that were left out, with the reason.
    mean_ranks : Series
    friedman, iman_davenport : OmnibusResult or None
        None with two methods.
    critical_difference : CriticalDifference
        Nemenyi's, or Bonferroni and Dunn's with a control.
    pairs : DataFrame
        One row per comparison: first, second, wins, ties, losses, rank_difference, z, p_rank and its
        adjustments, p_wilcoxon and wilcoxon_holm.
    alpha : float
    control : object or None
    scores : DataFrame of shape (n_datasets, n_methods)
        The table that was compared.
    higher_is_better : bool
    """

    steps: tuple[str, ...]
    mean_ranks: pd.Series
    friedman: OmnibusResult | None
    iman_davenport: OmnibusResult | None
    critical_difference: CriticalDifference
    pairs: pd.DataFrame
    alpha: float
    control: Any
    scores: pd.DataFrame
    higher_is_better: bool

    def frame(self) -> pd.DataFrame:
        """Return the result as a table with one row per comparison."""
        return self.pairs.copy()

    def to_latex(
        self,
        *,
        deviations: pd.DataFrame | None = None,
        decimals: int = 3,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        r"""Return the scores as a LaTeX table, data sets × methods, with the best of each line in bold.

        Below the data sets stand the mean of every method ± its standard deviation over the data sets, and its mean
        rank. With a control, the p-values of Wilcoxon's test against it follow, adjusted by Holm. Methods that print
        the same number as the best are all bold. The table needs ``\usepackage{booktabs}``.

        Parameters
        ----------
        deviations : DataFrame of shape (n_datasets, n_methods), optional
            Standard deviations, for cells such as 0.912 ± 0.013. `StudyResults.deviations` returns those over folds.
        decimals : int, default=3
            Number of digits after the point.
        caption, label : str, optional
            Text above the table, and the name for references to it. They are LaTeX and are not escaped, while the
            names of data sets and methods are. Without both, the result has no ``table`` environment.

        Returns
        -------
        str

        Examples
        --------
        >>> import pandas as pd
        >>> from weighbors.stats import compare
        >>> scores = pd.DataFrame({"ours": [0.9, 0.8], "old_1": [0.9, 0.6]}, index=["wine", "iris"])
        >>> print(compare(scores).to_latex(decimals=1))
        \begin{tabular}{lrr}
        \toprule
        data set & ours & old\_1 \\
        \midrule
        wine & $\mathbf{0.9}$ & $\mathbf{0.9}$ \\
        iris & $\mathbf{0.8}$ & $0.6$ \\
        \midrule
        mean $\pm$ sd & $\mathbf{0.9} \pm 0.1$ & $0.8 \pm 0.2$ \\
        mean rank & $\mathbf{1.25}$ & $1.75$ \\
        \bottomrule
        \end{tabular}
        """
        scores, better = self.scores, {"higher_is_better": self.higher_is_better}
        rows = score_rows(scores, deviations, decimals=decimals, **better)
        means, spread = scores.mean().tolist(), scores.std(ddof=1).tolist()
        ranks = self.mean_ranks[scores.columns].tolist()
        below = [
            [r"mean $\pm$ sd", *format_scores(means, spread, decimals=decimals, **better)],
            ["mean rank", *format_scores(ranks, None, decimals=2, higher_is_better=False)],
        ]
        below += [] if self.control is None else [self._latex_p_values()]
        head = ["data set", *map(escape_latex, scores.columns)]
        return booktabs_table(head, [rows, below], caption=caption, label=label)

    def _latex_p_values(self) -> list[str]:
        """Return the line of a LaTeX table with the adjusted p-values against the control. Its own cell is a dash."""
        found = {}
        for first, second, p in self.pairs[["first", "second", "wilcoxon_holm"]].to_numpy().tolist():
            found[second if first == self.control else first] = "$<0.001$" if p < 0.001 else f"${p:.3f}$"
        named = f"$p$ against {escape_latex(self.control)}"
        return [named, *(found.get(method, "--") for method in self.scores.columns)]

    def _notes(self) -> list[str]:
        return [line for line in self._lines()[1:] if line not in table_lines(self.pairs, index=False)]

    def _lines(self) -> list[str]:
        lines = ["What was done:"] + [f"  {i}. {step}" for i, step in enumerate(self.steps, 1)]
        if self.friedman is not None and self.iman_davenport is not None:
            lines += [repr(self.friedman).splitlines()[0], repr(self.iman_davenport).splitlines()[0]]
        return [*lines, *repr(self.critical_difference).splitlines(), *table_lines(self.pairs, index=False)]


def compare(
    table: Any,
    *,
    control: Any = None,
    alpha: float = 0.05,
    ties: str = "corrected",
    higher_is_better: bool | None = None,
) -> Comparison:
    """Compare methods over data sets with all the usual tests, and say which of them were used.

    Parameters
    ----------
    table : DataFrame or array-like of shape (n_datasets, n_methods)
        One score per data set and method, complete.
    control : name of a method, optional
        Compare all others with this one. None: all pairs.
    alpha : float, default=0.05
        Level of the critical difference.
    ties : {"corrected", "ignored"}, default="corrected"
        As in `friedman`.
    higher_is_better : bool, optional
        By default what the table says (``table.attrs["higher_is_better"]``, which `StudyResults.table` sets for errors
        and times), otherwise True.

    Returns
    -------
    Comparison
        Printable. p-values are given however the omnibus test ends; ``steps`` says how it ended.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from weighbors.stats import compare
    >>> scores = np.random.default_rng(0).normal([0.9, 0.6, 0.5], 0.1, (12, 3))
    >>> found = compare(pd.DataFrame(scores, columns=["ours", "old", "older"]))
    >>> print(found.steps[0])
    Ranked 3 methods within each of 12 data sets, higher scores better; ties on 0 data sets
    >>> found.pairs[["first", "second", "wins", "holm"]].round(4)
      first second  wins    holm
    0  ours    old    12  0.0159
    1  ours  older    12  0.0000
    2   old  older    11  0.0412
    """
    frame = check_table(table)
    if control is not None:
        check_control(control, frame.columns)
    higher_is_better = resolve_direction(frame, higher_is_better)
    better = {"higher_is_better": higher_is_better}
    # With two methods, ranks only say who wins. Friedman's test would add nothing to Wilcoxon's.
    if frame.shape[1] == 2:
        overall, f_test = None, None
        if not np.ptp(frame.to_numpy(), axis=1).any():
            raise InvalidDataError("the two columns are identical: there is nothing to compare")
    else:
        overall, f_test = friedman(frame, ties=ties, **better), iman_davenport(frame, ties=ties, **better)
    if control is None:
        critical = nemenyi(frame, alpha=alpha, **better)
    else:
        critical = bonferroni_dunn(frame, control, alpha=alpha, **better)
    pairs, pair_steps = _pairs(frame, control, higher_is_better)
    steps = (*_omnibus_steps(frame, overall, f_test, alpha, higher_is_better), _critical_step(critical), *pair_steps)
    ranks = mean_ranks(frame, higher_is_better=higher_is_better)
    return Comparison(steps, ranks, overall, f_test, critical, pairs, alpha, control, frame, higher_is_better)


def _omnibus_steps(
    frame: pd.DataFrame, overall: OmnibusResult | None, f_test: OmnibusResult | None, alpha: float, higher: bool
) -> list[str]:
    """Describe the ranking and both omnibus tests, which are None for two methods.

    ``overall`` is Friedman's test, ``f_test`` that of Iman and Davenport; ``higher`` says whether higher scores are
    better.
    """
    n, k = frame.shape
    head = f"Ranked {k} methods within each of {n} data sets, {'higher' if higher else 'lower'} scores better"
    if overall is None or f_test is None:
        return [head, "No omnibus test: there are two methods, so Wilcoxon's test of the pair says it all"]
    ends = "differ" if f_test.p_value <= alpha else "are not shown to differ: read what follows with that in mind"
    return [
        f"{head}; ties on {overall.n_tied} data sets",
        f"Friedman and Iman-Davenport, ties {overall.ties}: by the latter, at alpha = {alpha:g}, the methods {ends}",
    ]


def _critical_step(critical: CriticalDifference) -> str:
    """Describe the critical difference."""
    if critical.control is None:
        return f"Nemenyi's critical difference of all pairs at alpha = {critical.alpha:g}"
    return f"Bonferroni-Dunn critical difference against {critical.control} at alpha = {critical.alpha:g}"


def _pairs(frame: pd.DataFrame, control: Any, higher: bool) -> tuple[pd.DataFrame, list[str]]:
    """Compute every comparison with every p-value, and describe the steps.

    ``frame`` has the scores, ``control`` is the method that all others are compared with (None: all pairs), and
    ``higher`` says whether higher scores are better.
    """
    n, k = frame.shape
    ranked = rank_p_values(mean_ranks(frame, higher_is_better=higher), n, control)
    pairs = ranked.rename(columns={"p_value": "p_rank"})
    counts = [wins(frame, a, b, higher_is_better=higher) for a, b in zip(pairs["first"], pairs["second"], strict=True)]
    for place, name in enumerate(("wins", "ties", "losses")):
        pairs.insert(2 + place, name, [count[place] for count in counts])
    # Shaffer's and Bergmann and Hommel's procedures use the logic of all pairs, which a control does not have.
    names = ["holm", "hochberg"] + (["shaffer", "bergmann"] if control is None else [])
    steps = []
    if control is None and k > _MOST_METHODS:
        names.remove("bergmann")
        steps.append(f"Bergmann-Hommel left out: it ends at {_MOST_METHODS} methods")
    for name in names:
        pairs[name] = adjust(pairs["p_rank"], name)
    scope = "all pairs" if control is None else f"the pairs with {control}"
    steps.insert(0, f"Compared mean ranks of {scope} by z, adjusted by {', '.join(names)}")
    steps.append(_add_wilcoxon(pairs, frame))
    return pairs, steps


def _add_wilcoxon(pairs: pd.DataFrame, frame: pd.DataFrame) -> str:
    """Add Wilcoxon's test of every pair to the comparisons and describe it."""
    tests = [wilcoxon(frame[a], frame[b]) for a, b in zip(pairs["first"], pairs["second"], strict=True)]
    pairs["p_wilcoxon"] = [test.p_value for test in tests]
    pairs["wilcoxon_holm"] = adjust(pairs["p_wilcoxon"], "holm")
    exact = sum(test.method == "exact" for test in tests)
    return (
        f"Wilcoxon signed ranks of each pair, two-sided, zeros split: exact for {exact}, normal approximation for "
        f"{len(tests) - exact} (ties or zeros, or more than 50 data sets); adjusted by holm"
    )
