"""Tests of two methods: Wilcoxon's signed ranks over data sets, and the corrected resampled t over folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata
from scipy.stats import t as student

from .._display.results import PlainResult, number
from .._typing import FloatArray
from ..exceptions import InvalidDataError
from ._scores import check_pairs

_EXACT_UP_TO = 50
_TIED_UP_TO = 13  # pairs with ties or zeros for which "auto" takes the exact distribution
_SIDES = ("two-sided", "greater", "less")


@dataclass(frozen=True, repr=False)
class WilcoxonResult(PlainResult):
    """The result of Wilcoxon's signed-rank test.

    Attributes
    ----------
    statistic : float
        T, the smaller of the two rank sums.
    p_value : float
    rank_sums : tuple of float
        Sums of the ranks of the positive differences (first minus second) and of the negative ones. With
        "zsplit", half of the zeros' ranks is added to each.
    z : float
        z value of the normal approximation. It is NaN if the approximation was not used.
    n, n_zero : int
        Number of all pairs, and of pairs whose difference is 0.
    zero_method, method, alternative : str
        How zeros were treated, which distribution was used, and which alternative.
    median_difference : float
    note : str
        Why the distribution was chosen.
    """

    statistic: float
    p_value: float
    rank_sums: tuple[float, float]
    z: float
    n: int
    n_zero: int
    zero_method: str
    method: str
    alternative: str
    median_difference: float
    note: str

    def _row(self) -> dict[str, Any]:
        return {**super()._row(), "rank_sum_first": self.rank_sums[0], "rank_sum_second": self.rank_sums[1]}

    def _lines(self) -> list[str]:
        return [
            f"Wilcoxon signed ranks: T = {self.statistic:g}, p = {number(self.p_value)} ({self.alternative}), "
            f"{self.n} pairs",
            f"  median difference {number(self.median_difference)}; {self.n_zero} zeros ({self.zero_method}); "
            f"{self.method}: {self.note}",
        ]


def _exact_sf(ranks: FloatArray, at_least: float) -> float:
    """Return the probability that the ranks which get a positive sign at random sum to at least ``at_least``.

    Tied ranks are halves of integers, so that the doubled ones count the places of a table of sums.
    """
    doubled = np.rint(2 * ranks).astype(np.int64)
    counts = np.zeros(int(doubled.sum()) + 1)
    counts[0] = 1.0
    for rank in doubled.tolist():
        # Each rank is in the sum or not: the counts of all sums are a product of (1 + x^rank).
        counts[rank:] += counts[: len(counts) - rank].copy()
    return float(counts[max(round(2 * at_least), 0) :].sum() / 2.0 ** len(ranks))


def _choose(method: str, tied: bool, n: int) -> tuple[str, str]:
    """Choose between the exact distribution and the normal approximation, and say why."""
    if method not in ("auto", "exact", "approx"):
        raise InvalidDataError(f"method must be 'auto', 'exact' or 'approx'; got {method!r}")
    if method != "auto":
        return method, "asked for"
    if tied:
        few = n <= _TIED_UP_TO
        return (
            ("exact", f"all signs of at most {_TIED_UP_TO} pairs") if few else ("approx", "ties or zeros, many pairs")
        )
    return ("exact", f"no ties, at most {_EXACT_UP_TO} pairs") if n <= _EXACT_UP_TO else ("approx", "many pairs")


def wilcoxon(
    x: Any, y: Any = None, *, zero_method: str = "zsplit", method: str = "auto", alternative: str = "two-sided"
) -> WilcoxonResult:
    """Wilcoxon's signed-rank test of two methods over data sets.

    Differences are rounded first, so that equal scores count as equal.

    Parameters
    ----------
    x, y : array-like of shape (n_datasets,)
        Scores of the two methods; ``x`` alone is taken as differences.
    zero_method : {"zsplit", "wilcox", "pratt"}, default="zsplit"
        How differences of 0 are treated. "zsplit": they are ranked, and their ranks are split between both sides, as
        Demšar does. "wilcox": they are dropped. "pratt": they are ranked and then dropped.
    method : {"auto", "exact", "approx"}, default="auto"
        Which distribution gives the p-value. "auto" takes the exact one, over all signs of the ranks, for at most 50
        pairs, or at most 13 if there are ties or zeros, as SciPy does. Otherwise it takes the normal one, with the
        variance corrected for ties. The result says which.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        "greater": the scores of ``x`` are higher. Choose it before seeing the data.

    Returns
    -------
    WilcoxonResult

    Examples
    --------
    >>> from weighbors.stats import wilcoxon
    >>> wilcoxon([0.9, 0.8, 0.7, 0.9, 0.6, 0.8], [0.8, 0.75, 0.72, 0.6, 0.59, 0.73])
    Wilcoxon signed ranks: T = 2, p = 0.09375 (two-sided), 6 pairs
      median difference 0.06; 0 zeros (zsplit); exact: no ties, at most 50 pairs
    """
    if zero_method not in ("zsplit", "wilcox", "pratt"):
        raise InvalidDataError(f"zero_method must be 'zsplit', 'wilcox' or 'pratt'; got {zero_method!r}")
    if alternative not in _SIDES:
        raise InvalidDataError(f"alternative must be one of {_SIDES}; got {alternative!r}")
    d = check_pairs(x, y)
    n, n_zero, median = len(d), int((d == 0).sum()), float(np.median(d))
    if n_zero == n:
        # Both rank sums are then half of n (n + 1) / 2, and there is nothing to test.
        half = n * (n + 1) / 4
        facts = (n, n_zero, zero_method, "none", alternative, median, "all differences are 0")
        return WilcoxonResult(half, 1.0, (half, half), float("nan"), *facts)
    # Zeros are dropped (wilcox), ranked and dropped (pratt), or ranked and shared by both sides (zsplit).
    kept = d[d != 0] if zero_method == "wilcox" else d
    ranks: FloatArray = rankdata(np.abs(kept))
    plus, minus = float(ranks[kept > 0].sum()), float(ranks[kept < 0].sum())
    share = float(ranks[kept == 0].sum()) / 2 if zero_method == "zsplit" else 0.0
    plus, minus = plus + share, minus + share
    tied = n_zero > 0 or len(np.unique(ranks)) < len(ranks)
    chosen, why = _choose(method, tied, len(kept))
    if chosen == "exact":
        # Signs of zeros change no sum, so only the other ranks are drawn.
        signed = ranks[kept != 0]
        z, upper, lower = float("nan"), _exact_sf(signed, plus - share), _exact_sf(signed, minus - share)
    else:
        # The two sums add up to a constant. Half of their difference is the distance of either one from its mean.
        z = (plus - minus) / 2 / _deviation(kept, ranks, zero_method)
        upper, lower = float(norm.sf(z)), float(norm.cdf(z))
    p = {"greater": upper, "less": lower, "two-sided": min(1.0, 2 * min(upper, lower))}[alternative]
    facts = (n, n_zero, zero_method, chosen, alternative, median, why)
    return WilcoxonResult(min(plus, minus), p, (plus, minus), z, *facts)


def _deviation(kept: FloatArray, ranks: FloatArray, zero_method: str) -> float:
    """Return the standard deviation of a rank sum if the methods are equal, with a correction for ties."""
    n, n_zero = len(kept), int((kept == 0).sum())
    # The variance of the sum of those ranks from 1 to n that get a positive sign at random, before corrections.
    variance = n * (n + 1) * (2 * n + 1) / 24
    if zero_method == "pratt":
        # Zeros take the smallest ranks but add to neither sum, so that their part of the variance is removed.
        variance -= n_zero * (n_zero + 1) * (2 * n_zero + 1) / 24
        ranks = ranks[kept != 0]
    sizes = np.unique(ranks, return_counts=True)[1]
    return float(np.sqrt(variance - float((sizes**3 - sizes).sum()) / 48))


@dataclass(frozen=True, repr=False)
class ResampledTTest(PlainResult):
    """The result of the corrected resampled t-test.

    Attributes
    ----------
    statistic, p_value : float
    df : int
    mean_difference, standard_error : float
    correlation : float
        Assumed correlation of the differences of two folds: the share of the rows that are tested.
    n : int
        Number of folds, over all repetitions.
    alternative : str
    note : str
        The reason if the variance is 0, otherwise empty.
    """

    statistic: float
    p_value: float
    df: int
    mean_difference: float
    standard_error: float
    correlation: float
    n: int
    alternative: str
    note: str = ""

    def _lines(self) -> list[str]:
        head = f"Corrected resampled t: t({self.df}) = {self.statistic:.4f}, p = {number(self.p_value)}"
        tail = f"  mean difference {number(self.mean_difference)} over {self.n} folds, correlation "
        return [f"{head} ({self.alternative})", f"{tail}{number(self.correlation)}{self.note and '; ' + self.note}"]


def fold_correlation(n_folds: int | None, n_train: int | None, n_test: int | None) -> float:
    """Return the assumed correlation of the differences of two folds: the share of the rows that are tested."""
    if n_folds is not None and n_train is None and n_test is None:
        if n_folds < 2:
            raise InvalidDataError(f"n_folds must be at least 2; got {n_folds!r}")
        return 1 / n_folds
    if n_folds is None and n_train is not None and n_test is not None:
        if n_train < 1 or n_test < 1:
            raise InvalidDataError(f"n_train and n_test must be at least 1; got {n_train!r} and {n_test!r}")
        return n_test / (n_train + n_test)
    raise InvalidDataError(
        "say how rows were split: n_folds of a cross-validation, or n_train and n_test of each random split"
    )


def corrected_resampled_ttest(
    x: Any,
    y: Any = None,
    *,
    n_folds: int | None = None,
    n_train: int | None = None,
    n_test: int | None = None,
    alternative: str = "two-sided",
) -> ResampledTTest:
    """Nadeau and Bengio's t-test of two methods on one data set, over (repeated) folds.

    Training sets overlap, so folds are not independent: the variance of the mean difference is
    taken as (1/n + n_test/n_train) times that of the differences.

    Parameters
    ----------
    x, y : array-like of shape (n,)
        Scores on the same folds, all repetitions; ``x`` alone is taken as differences.
    n_folds : int, optional
        Number of folds of the cross-validation, not multiplied by its repetitions.
    n_train, n_test : int, optional
        Number of rows that are trained on and tested in each split, instead of ``n_folds``.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"

    Returns
    -------
    ResampledTTest

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
    .. [2] R. R. Bouckaert, E. Frank, "Evaluating the replicability of significance tests for
       comparing learning algorithms", PAKDD 2004.

    Examples
    --------
    >>> from weighbors.stats import corrected_resampled_ttest
    >>> corrected_resampled_ttest([0.02, -0.01, 0.03, 0.04, 0.0, 0.05, 0.01, 0.02, -0.03, 0.06], n_folds=10)
    Corrected resampled t: t(9) = 1.4945, p = 0.1692 (two-sided)
      mean difference 0.019 over 10 folds, correlation 0.1
    """
    if alternative not in _SIDES:
        raise InvalidDataError(f"alternative must be one of {_SIDES}; got {alternative!r}")
    correlation = fold_correlation(n_folds, n_train, n_test)
    d = check_pairs(x, y)
    n, mean = len(d), float(d.mean())
    # Nadeau and Bengio: folds share training rows, which adds n_test / n_train to 1/n.
    error = float(np.sqrt((1 / n + correlation / (1 - correlation)) * d.var(ddof=1)))
    note = ""
    if error == 0:
        note = "all differences are equal"
        # The t value is infinite if all differences are equal, because their variance is 0. It is 0 if all of them are
        # 0.
        statistic = float(np.copysign(np.inf, mean)) if mean else 0.0
    else:
        statistic = mean / error
    upper, lower = float(student.sf(statistic, n - 1)), float(student.cdf(statistic, n - 1))
    p = {"greater": upper, "less": lower, "two-sided": min(1.0, 2 * min(upper, lower))}[alternative]
    return ResampledTTest(statistic, p, n - 1, mean, error, correlation, n, alternative, note)
