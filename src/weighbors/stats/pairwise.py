"""Comparisons of mean ranks: which methods differ, of all pairs or from a control?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm, studentized_range

from .._display.results import Result, table_lines
from .._typing import FloatArray
from ..exceptions import InvalidDataError
from ._scores import NUMBERS, check_control, check_pairs, check_table, mean_ranks
from .adjust import adjust as adjust_p


@dataclass(frozen=True, eq=False, repr=False)
class Posthoc(Result):
    """The result of pairwise comparisons of mean ranks.

    Attributes
    ----------
    comparisons : DataFrame
        first, second, rank_difference (negative: the first ranks better), z, p_value, adjusted.
    adjust : str
        The procedure that adjusted the p-values.
    control : object or None
        The method all others were compared with; None: all pairs.
    n_datasets : int
    """

    comparisons: pd.DataFrame
    adjust: str
    control: Any
    n_datasets: int

    def frame(self) -> pd.DataFrame:
        """Return the result as a table with one row per comparison."""
        return self.comparisons.copy()

    def _lines(self) -> list[str]:
        scope = "all pairs" if self.control is None else f"against {self.control}"
        head = f"Comparisons of mean ranks, {scope}, on {self.n_datasets} data sets; p-values adjusted by {self.adjust}"
        return [head, *table_lines(self.comparisons.sort_values("p_value", kind="stable"), index=False)]


@dataclass(frozen=True, eq=False, repr=False)
class CriticalDifference(Result):
    """Mean ranks of methods, and how far two of them must be apart to differ significantly.

    Attributes
    ----------
    test : {"Nemenyi", "Bonferroni-Dunn"}
    critical_difference : float
        Mean ranks farther apart than this differ at level ``alpha``.
    alpha : float
    mean_ranks : Series
    comparisons : DataFrame
        first, second, rank_difference, p_value (adjusted by the test), differs.
    control : object or None
    n_datasets : int
    """

    test: str
    critical_difference: float
    alpha: float
    mean_ranks: pd.Series
    comparisons: pd.DataFrame
    control: Any
    n_datasets: int

    def groups(self) -> list[tuple[Any, ...]]:
        """Return the groups of methods that do not differ: maximal runs of ranks within the critical difference."""
        ranks = self.mean_ranks.sort_values(kind="stable")
        values, names = ranks.to_numpy(), ranks.index.to_list()
        # For each method, the last one within the critical difference; a run inside the one before is left out.
        ends = [int(np.flatnonzero(values - low <= self.critical_difference)[-1]) for low in values]
        runs = [(i, end) for i, end in enumerate(ends) if i == 0 or end > ends[i - 1]]
        return [tuple(names[i : end + 1]) for i, end in runs]

    def frame(self) -> pd.DataFrame:
        """Return the result as a table with one row per comparison."""
        return self.comparisons.copy()

    def _notes(self) -> list[str]:
        return self._diagram()

    def _lines(self) -> list[str]:
        scope = "" if self.control is None else f" against {self.control}"
        head = f"{self.test}{scope}: critical difference {self.critical_difference:.4f} at alpha = {self.alpha:g}"
        return [f"{head}, {self.n_datasets} data sets", *self._diagram()]

    def _diagram(self) -> list[str]:
        """Draw the ranks and the groups as lines of text."""
        ranks = self.mean_ranks.sort_values(kind="stable")
        if self.control is not None:
            marks = ["*" if abs(rank - ranks[self.control]) > self.critical_difference else "" for rank in ranks]
            note = "* differs from the control"
        else:
            bars = self.groups()
            marks = ["".join("|" if name in bar else " " for bar in bars) for name in ranks.index]
            note = "methods on one bar are not told apart"
        width = max(len(str(name)) for name in ranks.index)
        rows = [
            f"  {name!s:<{width}}  {rank:6.3f}  {mark}".rstrip()
            for (name, rank), mark in zip(ranks.items(), marks, strict=True)
        ]
        return [*rows, f"  ({note})"]


def _standard_error(n: int, k: int) -> float:
    """Return the standard error of the difference of two mean ranks, for ``n`` data sets and ``k`` methods."""
    return float(np.sqrt(k * (k + 1) / (6 * n)))


def _pairs(ranks: pd.Series, control: Any) -> pd.DataFrame:
    """Return the pairs of methods and the differences of their mean ranks."""
    if control is None:
        pairs = list(combinations(ranks.index, 2))
    else:
        pairs = [(control, name) for name in ranks.index if name != control]
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    return pd.DataFrame({"first": first, "second": second, "rank_difference": [ranks[a] - ranks[b] for a, b in pairs]})


def rank_p_values(ranks: pd.Series, n: int, control: Any = None) -> pd.DataFrame:
    """Return the pairs of methods with their z values and two-sided normal p-values.

    z is the difference of the mean ranks, divided by sqrt(k (k + 1) / (6 n)) for ``k`` methods and ``n`` data sets.
    """
    frame = _pairs(ranks, control)
    frame["z"] = frame["rank_difference"] / _standard_error(n, len(ranks))
    frame["p_value"] = 2 * norm.sf(frame["z"].abs())
    return frame


def posthoc(table: Any, *, control: Any = None, adjust: str = "holm", higher_is_better: bool | None = None) -> Posthoc:
    """Compare mean ranks pair by pair, with adjusted p-values.

    Parameters
    ----------
    table : DataFrame or array-like of shape (n_datasets, n_methods)
    control : name of a method, optional
        Compare all others with this one. None: all pairs.
    adjust : {"bonferroni", "holm", "hochberg", "shaffer", "bergmann"}, default="holm"
        The last two are for all pairs.
    higher_is_better : bool, optional
        By default what the table says (``table.attrs["higher_is_better"]``, which `StudyResults.table` sets for errors
        and times), otherwise True.

    Returns
    -------
    Posthoc

    References
    ----------
    .. [1] S. García, F. Herrera, "An extension on 'Statistical comparisons of classifiers over
       multiple data sets' for all pairwise comparisons", JMLR 9, 2008.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from weighbors.stats import posthoc
    >>> scores = np.random.default_rng(0).normal([0.9, 0.6, 0.5], 0.1, (12, 3))
    >>> posthoc(pd.DataFrame(scores, columns=["ours", "old", "older"]), control="ours").frame()["adjusted"].round(4)
    0    0.008
    1    0.000
    Name: adjusted, dtype: float64
    """
    frame = check_table(table)
    if control is not None:
        check_control(control, frame.columns)
        if adjust in ("shaffer", "bergmann"):
            raise InvalidDataError(
                f"adjust={adjust!r} is made for all pairs; with a control take 'holm' or 'hochberg', or give none"
            )
    ranks = mean_ranks(frame, higher_is_better=higher_is_better)
    comparisons = rank_p_values(ranks, len(frame), control)
    comparisons["adjusted"] = adjust_p(comparisons["p_value"], adjust)
    return Posthoc(comparisons, adjust, control, len(frame))


def nemenyi(table: Any, *, alpha: float = 0.05, higher_is_better: bool | None = None) -> CriticalDifference:
    """Compare all pairs of methods by Nemenyi's test, which has one critical difference of mean ranks for all pairs.

    p-values come from the studentised range, as the critical difference does.

    Parameters
    ----------
    table : DataFrame or array-like of shape (n_datasets, n_methods)
    alpha : float, default=0.05
    higher_is_better : bool, optional
        By default what the table says (``table.attrs["higher_is_better"]``, which `StudyResults.table` sets for errors
        and times), otherwise True.

    Returns
    -------
    CriticalDifference

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from weighbors.stats import nemenyi
    >>> scores = np.random.default_rng(0).normal([0.9, 0.6, 0.5], 0.1, (12, 3))
    >>> nemenyi(pd.DataFrame(scores, columns=["ours", "old", "older"]))
    Nemenyi: critical difference 0.9568 at alpha = 0.05, 12 data sets
      ours    1.000  |
      old     2.083   |
      older   2.917   |
      (methods on one bar are not told apart)
    """
    _check_alpha(alpha)
    frame = check_table(table)
    n, k = frame.shape
    ranks = mean_ranks(frame, higher_is_better=higher_is_better)
    error = _standard_error(n, k)
    # The studentised range is that of k normal values, of which the difference of two has √2 times the deviation.
    difference = float(studentized_range.ppf(1 - alpha, k, np.inf)) / np.sqrt(2) * error
    pairs = _pairs(ranks, None)
    distance = pairs["rank_difference"].abs().to_numpy()
    pairs["p_value"] = np.minimum(1.0, studentized_range.sf(distance / error * np.sqrt(2), k, np.inf))
    return _critical("Nemenyi", difference, alpha, ranks, pairs, None, n)


def bonferroni_dunn(
    table: Any, control: Any, *, alpha: float = 0.05, higher_is_better: bool | None = None
) -> CriticalDifference:
    """Compare all methods with a control by Dunn's test, with p-values adjusted by Bonferroni's procedure.

    Parameters
    ----------
    table : DataFrame or array-like of shape (n_datasets, n_methods)
    control : name of a method
    alpha : float, default=0.05
    higher_is_better : bool, optional
        By default what the table says (``table.attrs["higher_is_better"]``, which `StudyResults.table` sets for errors
        and times), otherwise True.

    Returns
    -------
    CriticalDifference

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from weighbors.stats import bonferroni_dunn
    >>> scores = np.random.default_rng(0).normal([0.9, 0.6, 0.5], 0.1, (12, 3))
    >>> bonferroni_dunn(pd.DataFrame(scores, columns=["ours", "old", "older"]), "ours")
    Bonferroni-Dunn against ours: critical difference 0.9150 at alpha = 0.05, 12 data sets
      ours    1.000
      old     2.083  *
      older   2.917  *
      (* differs from the control)
    """
    _check_alpha(alpha)
    frame = check_table(table)
    check_control(control, frame.columns)
    n, k = frame.shape
    ranks = mean_ranks(frame, higher_is_better=higher_is_better)
    # With k − 1 comparisons, each one is tested two-sided at the level alpha / (k − 1) (Demšar 2006, section 3.2.2).
    difference = float(norm.isf(alpha / (2 * (k - 1)))) * _standard_error(n, k)
    pairs = rank_p_values(ranks, n, control).drop(columns="z")
    pairs["p_value"] = adjust_p(pairs["p_value"], "bonferroni")
    return _critical("Bonferroni-Dunn", difference, alpha, ranks, pairs, control, n)


def _critical(
    test: str, difference: float, alpha: float, ranks: pd.Series, pairs: pd.DataFrame, control: Any, n: int
) -> CriticalDifference:
    """Mark the pairs that differ, and collect the results of a test.

    ``ranks`` has the mean ranks, ``control`` is the method that all others were compared with (None: all pairs), and
    ``alpha`` is the significance level.

    ``difference`` is the critical difference, ``pairs`` has the comparisons, and ``n`` is the number of data sets.
    """
    pairs["differs"] = pairs["rank_difference"].abs() > difference
    return CriticalDifference(test, difference, alpha, ranks, pairs, control, n)


def _check_alpha(alpha: Any) -> None:
    """Raise InvalidDataError if the significance level is not between 0 and 1."""
    if not isinstance(alpha, NUMBERS) or not 0 < alpha < 1:
        raise InvalidDataError(f"alpha must lie between 0 and 1; got {alpha!r}")


def wins(table: pd.DataFrame, first: Any, second: Any, *, higher_is_better: bool = True) -> tuple[int, int, int]:
    """Count on how many data sets ``first`` is better than, equal to and worse than ``second``."""
    difference: FloatArray = check_pairs(table[first].to_numpy(), table[second].to_numpy())
    sign = np.sign(difference if higher_is_better else -difference)
    return int((sign > 0).sum()), int((sign == 0).sum()), int((sign < 0).sum())
