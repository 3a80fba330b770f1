"""Bayesian tests: how probable is it that one method is better, that the other one is, or that neither is?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student
from sklearn.utils import check_random_state

from .._checks import whole_number
from .._display.results import Result
from .._typing import FloatArray
from ..exceptions import InvalidDataError
from ._scores import NUMBERS, check_pairs
from .paired import fold_correlation

_BATCH = 4096


@dataclass(frozen=True, repr=False)
class BayesianResult(Result):
    """The posterior probabilities of three answers, which sum to 1.

    Attributes
    ----------
    first, rope, second : float
        Probability that the first method is better, that the difference lies within ±``half_width``, and that the
        second method is better.
    half_width : float
        Half width of the region of practical equivalence.
    test : str
    n : int
    mean_difference : float
    """

    first: float
    rope: float
    second: float
    half_width: float
    test: str
    n: int
    mean_difference: float

    def frame(self) -> pd.DataFrame:
        """Return the result as a table with one row."""
        return pd.DataFrame([{name: getattr(self, name) for name in self.__dataclass_fields__}])

    def _lines(self) -> list[str]:
        answers = f"P(first better) = {self.first:.4f}, P(second better) = {self.second:.4f}"
        if self.half_width:
            answers += f", P(within ±{self.half_width:g}) = {self.rope:.4f}"
        return [f"{self.test}, {self.n} differences: {answers}"]


def _check_rope(rope: Any) -> None:
    """Raise InvalidDataError if the half width of the region of practical equivalence is negative or not finite."""
    if not isinstance(rope, NUMBERS) or not 0 <= rope < np.inf:
        raise InvalidDataError(f"rope must be a number of at least 0; got {rope!r}")


def bayesian_correlated_ttest(
    x: Any,
    y: Any = None,
    *,
    rope: float = 0.0,
    n_folds: int | None = None,
    n_train: int | None = None,
    n_test: int | None = None,
) -> BayesianResult:
    """Bayesian correlated t-test of two methods on one data set, over (repeated) folds.

    The posterior of the mean difference is a t distribution. Its scale accounts for the correlation of folds, as
    `corrected_resampled_ttest` does.

    Parameters
    ----------
    x, y : array-like of shape (n,)
        Scores (higher is better) on the same folds; ``x`` alone is taken as differences.
    rope : float, default=0
        Differences up to this are practically none.
    n_folds, n_train, n_test
        As in `corrected_resampled_ttest`.

    Returns
    -------
    BayesianResult

    References
    ----------
    .. [1] G. Corani, A. Benavoli, "A Bayesian approach for comparing cross-validated algorithms on
       multiple data sets", Machine Learning 100, 2015.

    Examples
    --------
    >>> from weighbors.stats import bayesian_correlated_ttest
    >>> differences = [0.02, -0.01, 0.03, 0.04, 0.0, 0.05, 0.01, 0.02, -0.03, 0.06]
    >>> bayesian_correlated_ttest(differences, rope=0.01, n_folds=10)
    Bayesian correlated t, 10 differences: P(first better) = 0.7515, P(second better) = 0.0242, P(within ±0.01) = 0.2242
    """
    _check_rope(rope)
    correlation = fold_correlation(n_folds, n_train, n_test)
    d = check_pairs(x, y)
    n, mean = len(d), float(d.mean())
    # Folds share training rows, so that the variance of their mean is larger than 1/n of the variance.
    scale = float(np.sqrt((1 / n + correlation / (1 - correlation)) * d.var(ddof=1)))
    if scale == 0:  # all differences equal: the posterior is a point
        first, second = float(mean > rope), float(mean < -rope)
        if mean == 0 and rope == 0:
            first = second = 0.5
    else:
        first = float(student.sf(rope, n - 1, mean, scale))
        second = float(student.cdf(-rope, n - 1, mean, scale))
    # Rounding can make the sum of both sides a little larger than 1.
    return BayesianResult(first, max(0.0, 1 - first - second), second, float(rope), "Bayesian correlated t", n, mean)


def bayesian_signed_rank(
    x: Any,
    y: Any = None,
    *,
    rope: float = 0.0,
    prior_strength: float = 0.6,
    n_samples: int = 50_000,
    random_state: Any = None,
) -> BayesianResult:
    """Bayesian signed-rank test of two methods over data sets.

    The distribution of the differences is a Dirichlet process with one pseudo-observation at 0. Each sample from its
    posterior is a distribution, and votes for the answer that is most probable for the mean of two differences
    drawn from it.

    Parameters
    ----------
    x, y : array-like of shape (n_datasets,)
        Scores (higher is better); ``x`` alone is taken as differences.
    rope : float, default=0
        Differences up to this are practically none; with 0, a mean of exactly 0 counts half for
        either side.
    prior_strength : float, default=0.6
        Weight of the pseudo-observation.
    n_samples : int, default=50000
        Samples of the posterior.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    BayesianResult
        ``first``, ``rope`` and ``second`` are shares of the posterior samples.

    References
    ----------
    .. [1] A. Benavoli, G. Corani, J. Demšar, M. Zaffalon, "Time for a change: a tutorial for comparing
       multiple classifiers through Bayesian analysis", JMLR 18, 2017.

    Examples
    --------
    >>> from weighbors.stats import bayesian_signed_rank
    >>> result = bayesian_signed_rank([0.05, 0.04, 0.06, 0.03, 0.05], rope=0.01, random_state=0)
    >>> result.first > 0.95
    True
    """
    _check_rope(rope)
    if not isinstance(prior_strength, NUMBERS) or not prior_strength > 0:
        raise InvalidDataError(f"prior_strength must be a number above 0; got {prior_strength!r}")
    n_samples = whole_number(n_samples, "n_samples")
    d = check_pairs(x, y)
    # The pseudo-observation at 0 is the prior: without data, neither method is better.
    z = np.concatenate([[0.0], d])
    parameters = np.ones(len(z))
    parameters[0] = prior_strength
    random = check_random_state(random_state)
    above, below = _answers(z, rope)
    won = np.zeros(3)
    for begin in range(0, n_samples, _BATCH):
        weight: FloatArray = random.dirichlet(parameters, min(_BATCH, n_samples - begin))
        # The weights of a posterior sample are probabilities of the differences; a quadratic form sums the
        # probability of all pairs whose mean lies above (below) the region.
        first, second = ((weight @ answer * weight).sum(axis=1) for answer in (above, below))
        share = np.column_stack([first, 1 - first - second, second])
        if rope == 0:
            share[:, 1] = -1.0  # there is no region, so that it cannot win
        # Answers that are equally probable share the sample.
        best = share >= share.max(axis=1, keepdims=True) - 1e-12
        won += (best / best.sum(axis=1, keepdims=True)).sum(axis=0)
    won /= n_samples
    return BayesianResult(
        float(won[0]), float(won[1]), float(won[2]), float(rope), "Bayesian signed rank", len(d), float(d.mean())
    )


def _answers(z: FloatArray, rope: float) -> tuple[FloatArray, FloatArray]:
    """Return, for every pair of differences, whether their mean is above the region, and whether it is below."""
    # The test asks for the mean of two differences, as Wilcoxon's signed ranks do (Walsh averages).
    mean = (z[:, None] + z[None, :]) / 2
    slack = 1e-12 * max(1.0, float(np.abs(z).max()))
    above, below = (mean > rope + slack).astype(float), (mean < -rope - slack).astype(float)
    if rope == 0:
        # Without a region of equivalence, means of exactly 0 count half for each method.
        level = 1 - above - below
        above, below = above + level / 2, below + level / 2
    return above, below
