"""Omnibus tests (do the methods differ at all?): Friedman's test, and Iman and Davenport's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2, f

from .._display.results import PlainResult, number, table_lines
from .._typing import FloatArray
from ..exceptions import InvalidDataError
from ._scores import check_table, rank_rows, tie_sizes


@dataclass(frozen=True, eq=False, repr=False)
class OmnibusResult(PlainResult):
    """The result of a test of all methods at once.

    Attributes
    ----------
    test : {"Friedman", "Iman-Davenport"}
    statistic, p_value : float
    df : tuple of int
        Degrees of freedom.
    mean_ranks : Series
        Mean rank of each method, 1 the best.
    n_datasets : int
    ties : {"corrected", "ignored"}
        How tied ranks entered the statistic.
    n_tied : int
        Data sets on which methods tie.
    """

    test: str
    statistic: float
    p_value: float
    df: tuple[int, ...]
    mean_ranks: pd.Series
    n_datasets: int
    ties: str
    n_tied: int

    def _row(self) -> dict[str, Any]:
        return {
            "test": self.test,
            "statistic": self.statistic,
            "df": str(self.df[0]) if len(self.df) == 1 else str(self.df),
            "p_value": self.p_value,
            "n_datasets": self.n_datasets,
            "n_methods": len(self.mean_ranks),
            "ties": self.ties,
            "n_tied": self.n_tied,
        }

    def _lines(self) -> list[str]:
        symbol = "chi2" if self.test == "Friedman" else "F"
        df = ", ".join(str(value) for value in self.df)
        ties = f"ties on {self.n_tied} of them, {self.ties}" if self.n_tied else "no ties"
        head = f"{self.test}: {symbol}({df}) = {self.statistic:.4f}, p = {number(self.p_value)}"
        ranks = self.mean_ranks.sort_values().to_frame()
        return [head, f"{len(self.mean_ranks)} methods on {self.n_datasets} data sets; {ties}", *table_lines(ranks)]


def friedman_statistic(ranks: FloatArray, *, ties: str = "corrected") -> float:
    """Return Friedman's chi-square statistic of the ranks within each row.

    With corrected ties it is NaN if all ranks of every row tie.
    """
    n, k = ranks.shape
    means = ranks.mean(axis=0)
    # Demšar (2006), section 3.2.2: chi² = 12 n / (k (k + 1)) · (Σ R² − k (k + 1)² / 4), with mean ranks R.
    plain = 12 * n / (k * (k + 1)) * (np.square(means).sum() - k * (k + 1) ** 2 / 4)
    if ties == "ignored":
        return float(plain)
    # Ties make the variance of ranks smaller; the correction divides by what is left of it.
    tied = sum(float((sizes**3 - sizes).sum()) for sizes in tie_sizes(ranks))
    correction = 1 - tied / (n * k * (k * k - 1))
    return float(plain / correction) if correction > 0 else float("nan")


def _rank_methods(table: Any, ties: str, higher_is_better: bool | None) -> tuple[pd.DataFrame, FloatArray]:
    """Check the table and rank the methods within each data set."""
    if ties not in ("corrected", "ignored"):
        raise InvalidDataError(f"ties must be 'corrected' or 'ignored'; got {ties!r}")
    frame = check_table(table)
    ranks = rank_rows(frame, higher_is_better=higher_is_better)
    if (ranks == ranks[:, :1]).all():
        raise InvalidDataError(
            f"all {frame.shape[1]} columns are identical: every data set is one tie and nothing can be ranked. "
            "Check that the methods differ, and that scores were not rounded away"
        )
    return frame, ranks


def friedman(table: Any, *, ties: str = "corrected", higher_is_better: bool | None = None) -> OmnibusResult:
    """Friedman's test: do the methods' ranks differ over the data sets?

    Parameters
    ----------
    table : DataFrame or array-like of shape (n_datasets, n_methods)
        One score per data set and method, complete.
    ties : {"corrected", "ignored"}, default="corrected"
        Whether the statistic is corrected for the smaller variance of tied ranks. Demšar's formula ignores ties,
        which is conservative.
    higher_is_better : bool, optional
        By default what the table says (``table.attrs["higher_is_better"]``, which `StudyResults.table` sets for errors
        and times), otherwise True.

    Returns
    -------
    OmnibusResult

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.

    Examples
    --------
    >>> from weighbors.stats import friedman
    >>> friedman([[0.9, 0.8, 0.7], [0.8, 0.7, 0.7], [0.9, 0.6, 0.5], [0.7, 0.8, 0.6]])
    Friedman: chi2(2) = 5.7333, p = 0.05689
    3 methods on 4 data sets; ties on 1 of them, corrected
              mean rank
    method 0       1.25
    method 1      1.875
    method 2      2.875
    """
    frame, ranks = _rank_methods(table, ties, higher_is_better)
    statistic = friedman_statistic(ranks, ties=ties)
    df = frame.shape[1] - 1
    return _result("Friedman", statistic, float(chi2.sf(statistic, df)), (df,), frame, ranks, ties)


def iman_davenport(table: Any, *, ties: str = "corrected", higher_is_better: bool | None = None) -> OmnibusResult:
    """Test whether the methods' ranks differ, by Iman and Davenport's F statistic.

    The statistic is computed from Friedman's chi-square, which is too conservative.

    Parameters
    ----------
    table, ties, higher_is_better
        As in `friedman`.

    Returns
    -------
    OmnibusResult

    References
    ----------
    .. [1] R. L. Iman, J. M. Davenport, "Approximations of the critical region of the Friedman
       statistic", Communications in Statistics A9, 1980.

    Examples
    --------
    >>> from weighbors.stats import iman_davenport
    >>> result = iman_davenport([[0.9, 0.8, 0.7], [0.8, 0.7, 0.7], [0.9, 0.6, 0.5], [0.7, 0.8, 0.6]])
    >>> result.df, round(result.statistic, 3), round(result.p_value, 4)
    ((2, 6), 7.588, 0.0227)
    """
    frame, ranks = _rank_methods(table, ties, higher_is_better)
    n, k = ranks.shape
    chi = friedman_statistic(ranks, ties=ties)
    # Demšar (2006), section 3.2.2: F = (n − 1) chi² / (n (k − 1) − chi²).
    left = n * (k - 1) - chi
    statistic = (n - 1) * chi / left if left > 1e-9 else float("inf")  # infinite: all data sets have the same order
    df = (k - 1, (k - 1) * (n - 1))
    return _result("Iman-Davenport", statistic, float(f.sf(statistic, *df)), df, frame, ranks, ties)


def _result(
    test: str, statistic: float, p: float, df: tuple[int, ...], frame: pd.DataFrame, ranks: FloatArray, ties: str
) -> OmnibusResult:
    """Collect the results of an omnibus test.

    ``p`` is the p-value of ``statistic``, ``frame`` has the scores, and ``ranks`` has the ranks of the methods within
    each data set.

    ``df`` are the degrees of freedom, and ``ties`` says how ties were treated.
    """
    means = pd.Series(ranks.mean(axis=0), index=frame.columns, name="mean rank")
    n_tied = sum(bool((sizes > 1).any()) for sizes in tie_sizes(ranks))
    return OmnibusResult(test, statistic, p, df, means, len(frame), ties, n_tied)
