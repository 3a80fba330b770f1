"""Stability of selections: do repeated runs select the same features?

The argument ``selections`` is a bool matrix of runs × features, or a list of sets of feature numbers together with
``n_features``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from .._display.results import PlainResult, number
from .._typing import BoolArray, FloatArray, IndexArray
from .._warnings import warn
from ..exceptions import FewRunsWarning, InvalidDataError, UndefinedStabilityWarning
from .selections import check_selections, nan_with_warning, pairs_of_runs

_MANY_RUNS = 30


def _shared_features(matrix: BoolArray) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the first and the second run of every pair, and how many features both select."""
    first, second = pairs_of_runs(len(matrix))
    counts = matrix.astype(np.float64)
    # One matrix product gives the overlaps of all pairs.
    return first, second, (counts @ counts.T)[first, second]


def _jaccard(matrix: BoolArray) -> float:
    """Return the mean Jaccard index of all pairs of runs, or NaN with a warning if two runs select nothing."""
    first, second, shared = _shared_features(matrix)
    sizes = matrix.sum(axis=1)
    either = sizes[first] + sizes[second] - shared
    if not either.all():
        pair = int(np.argmin(either))
        return nan_with_warning("jaccard", f"runs {first[pair]} and {second[pair]} select no feature")
    return float((shared / either).mean())


def _kuncheva(matrix: BoolArray) -> float:
    """Return Kuncheva's index. Raise InvalidDataError if the selections differ in size."""
    sizes, d = matrix.sum(axis=1), matrix.shape[1]
    if len(np.unique(sizes)) > 1:
        raise InvalidDataError(
            f"Kuncheva's index needs selections of equal size; got {sizes.min()} to {sizes.max()} features. "
            "Use nogueira_stability, which allows any sizes"
        )
    size = int(sizes[0])
    if size in (0, d):
        return nan_with_warning("kuncheva", f"every run selects {'no feature' if size == 0 else f'all {d} features'}")
    shared = _shared_features(matrix)[2]
    return float(((shared * d - size * size) / (size * (d - size))).mean())


#: Functions of the measures, by name.
_MEASURES: dict[str, Callable[[BoolArray], float]] = {
    "nogueira": lambda matrix: _nogueira(matrix)[0],
    "kuncheva": _kuncheva,
    "jaccard": _jaccard,
}


def selection_stability(selections: Any, measure: str = "nogueira", *, n_features: int | None = None) -> float:
    """Compute the stability of selections by a published measure.

    Parameters
    ----------
    selections : bool array-like of shape (n_runs, n_features), or list of sets
    measure : {"nogueira", "kuncheva", "jaccard"}, default="nogueira"
        "nogueira" and "kuncheva" are corrected for chance; "kuncheva" needs selections of equal size, and "nogueira"
        takes any sizes and is 1 exactly for equal sets. "jaccard" is not corrected and grows with the size of the
        selections.
    n_features : int, optional
        Needed with sets.

    Returns
    -------
    float
        The stability, or NaN with a warning if the measure is not defined, as for empty selections.

    References
    ----------
    .. [1] S. Nogueira, K. Sechidis, G. Brown, "On the stability of feature selection algorithms",
       JMLR 18, 2018.

    Examples
    --------
    >>> runs = [{0, 1, 2, 3}, {1, 2, 3}, {1, 2, 3, 4}]
    >>> round(selection_stability(runs, "jaccard", n_features=5), 4)
    0.7
    >>> round(selection_stability(runs, n_features=5), 4)
    0.3182
    """
    if measure not in _MEASURES:
        raise InvalidDataError(f"measure must be one of {sorted(_MEASURES)}; got {measure!r}")
    return _MEASURES[measure](check_selections(selections, n_features))


def kuncheva_index(selections: Any, n_features: int | None = None) -> float:
    """Compute Kuncheva's index (r − k²/d)/(k − k²/d), averaged over pairs of runs.

    All selections have k of d features, and r is the number of features that the two runs of a pair share.

    Parameters
    ----------
    selections : bool array-like of shape (n_runs, n_features), or list of sets
    n_features : int, optional
        Needed with sets.

    Returns
    -------
    float
        The index is 1 for equal selections, and 0 on average for random selections. It is NaN with a warning for k = 0
        and k = d.

    Raises
    ------
    InvalidDataError
        If sizes differ, or if there are fewer than two runs.

    References
    ----------
    .. [1] L. I. Kuncheva, "A stability index for feature selection", AIA 2007.

    Examples
    --------
    >>> round(kuncheva_index([{0, 1, 2}, {0, 1, 3}, {1, 2, 4}], n_features=10), 4)  # 23/63
    0.3651
    """
    return _kuncheva(check_selections(selections, n_features))


def _nogueira(matrix: BoolArray) -> tuple[float, float]:
    """Return Nogueira's stability Φ and the variance of its estimate (2018, definition 4 and theorem 7)."""
    runs, d = matrix.shape
    z = matrix.astype(np.float64)
    share, sizes = z.mean(axis=0), z.sum(axis=1)
    mean_size = float(sizes.mean())
    # The variance that random selections of the same mean size would have (definition 4).
    chance = mean_size / d * (1 - mean_size / d)
    if chance <= 0:
        what = "no feature" if mean_size == 0 else f"all {d} features"
        return nan_with_warning("nogueira", f"every run selects {what}"), float("nan")
    phi = 1 - runs / (runs - 1) * float((share * (1 - share)).mean()) / chance
    # The terms of theorem 7, one per run: the variance of their mean is the variance of Φ.
    each = z @ share / d - sizes * mean_size / d**2
    each += phi / 2 * (2 * sizes * mean_size / d**2 - sizes / d - mean_size / d + 1)  # + : see the docstring
    each /= chance
    return phi, float(4 / runs**2 * np.square(each - each.mean()).sum())


@dataclass(frozen=True, repr=False)
class Stability(PlainResult):
    """Nogueira's stability of a set of runs.

    Attributes
    ----------
    stability : float
    variance : float
        Variance of the estimated stability.
    n_runs, n_features : int
    mean_size : float
        Mean number of selected features.
    reason : str
        The reason if the stability is NaN, otherwise empty.
    """

    stability: float
    variance: float
    n_runs: int
    n_features: int
    mean_size: float
    reason: str = ""

    @property
    def standard_error(self) -> float:
        """Square root of the variance."""
        return float(np.sqrt(self.variance))

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the stability at ``level``, by the normal approximation.

        A warning is given for fewer than 30 runs, because the approximation is then rough. The upper end is at most 1.
        """
        if not 0 < level < 1:
            raise InvalidDataError(f"level must lie between 0 and 1; got {level!r}")
        if self.n_runs < _MANY_RUNS:
            warn(
                f"an interval from {self.n_runs} runs is rough; it leans on at least {_MANY_RUNS}",
                FewRunsWarning,
            )
        half_width = float(norm.ppf((1 + level) / 2)) * self.standard_error
        return self.stability - half_width, min(1.0, self.stability + half_width)

    def __float__(self) -> float:
        return self.stability

    def _lines(self) -> list[str]:
        value = f"{self.stability:.4f}, standard error {number(self.standard_error)}"
        size = f"{self.n_runs} runs, {number(self.mean_size)} of {self.n_features} features on average"
        return [f"Stability (Nogueira) {value}; {size}{self.reason and '; ' + self.reason}"]


def nogueira_stability(selections: Any, n_features: int | None = None) -> Stability:
    """Compute Nogueira's stability Φ, which is corrected for chance and allows selections of any sizes.

    Φ = 1 − [R/(R − 1) · mean of p_f(1 − p_f)] / [k̄/d · (1 − k̄/d)], where p_f is the share of the R
    runs that select feature f, k̄ is the mean size of the selections, and d is the number of features. Φ is Fleiss' κ
    with the features as subjects. If all sizes are equal, Φ is Kuncheva's index.

    Parameters
    ----------
    selections : bool array-like of shape (n_runs, n_features), or list of sets
    n_features : int, optional
        Needed with sets.

    Returns
    -------
    Stability
        The stability. Its method ``confidence_interval()`` returns an interval.

    Notes
    -----
    The term of the variance with Φ/2 has a plus sign, as in the paper. The R code of the authors has a minus sign, with
    which a 95 % interval covers 99.8 %. Runs are assumed to be independent. Folds of a cross-validation share rows and
    are not quite independent, so that the interval describes this way of resampling, not new data.

    References
    ----------
    .. [1] S. Nogueira, K. Sechidis, G. Brown, "On the stability of feature selection algorithms",
       JMLR 18, 2018.

    Examples
    --------
    >>> nogueira_stability([{0, 1, 2, 3}, {1, 2, 3}, {1, 2, 3, 4}], n_features=5)
    Stability (Nogueira) 0.3182, standard error 0.1813; 3 runs, 3.667 of 5 features on average
    """
    matrix = check_selections(selections, n_features)
    # The warning becomes the reason in the result, so that it is not given twice.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UndefinedStabilityWarning)
        phi, variance = _nogueira(matrix)
    reason = str(caught[0].message) if caught else ""
    return Stability(phi, variance, matrix.shape[0], matrix.shape[1], float(matrix.sum(axis=1).mean()), reason)


@dataclass(frozen=True, repr=False)
class StabilityTest(PlainResult):
    """Comparison of two stabilities: ``difference`` = first − second, ``z``, and two-sided ``p_value``."""

    difference: float
    z: float
    p_value: float
    first: Stability
    second: Stability

    def _row(self) -> dict[str, Any]:
        return {**super()._row(), "first": self.first.stability, "second": self.second.stability}

    def _lines(self) -> list[str]:
        values = f"{self.first.stability:.4f} against {self.second.stability:.4f}"
        return [f"Stability {values}: z = {self.z:.4f}, p = {number(self.p_value)} (two-sided)"]


def nogueira_test(first: Any, second: Any, n_features: int | None = None) -> StabilityTest:
    """Test whether two sets of runs differ in stability, by Nogueira's two-sample test.

    Parameters
    ----------
    first, second : selections, or `Stability`
        The two sets of runs, which must be independent of each other.
    n_features : int, optional
        Needed with sets.

    Returns
    -------
    StabilityTest

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> steady, loose = (rng.random((50, 20)) < np.r_[[p] * 5, [0.1] * 15] for p in (0.95, 0.6))
    >>> nogueira_test(steady, loose).p_value < 0.001
    True
    """
    one, two = (x if isinstance(x, Stability) else nogueira_stability(x, n_features) for x in (first, second))
    for stability in (one, two):
        if stability.reason:
            raise InvalidDataError(f"a stability that is not defined cannot be compared ({stability.reason})")
        if stability.n_runs < _MANY_RUNS:
            warn(
                f"a test of {stability.n_runs} runs is rough; it leans on at least {_MANY_RUNS}",
                FewRunsWarning,
            )
    difference, spread = one.stability - two.stability, np.sqrt(one.variance + two.variance)
    z = float(difference / spread) if spread > 0 else float(np.copysign(np.inf, difference) if difference else 0.0)
    return StabilityTest(difference, z, float(2 * norm.sf(abs(z))), one, two)
