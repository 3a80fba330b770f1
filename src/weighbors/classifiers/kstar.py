"""K*: an instance-based learner whose distance is the chance of one value turning into another."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import special
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from .._threads import effective_n_jobs, row_ranges, run_ranges
from .._typing import BoolArray, FloatArray
from ._lazy import LazyClassifier

__all__ = ["KStar", "numeric_log_chances", "nominal_log_chances"]

_CELLS = 250_000  # distances in memory at once
_STEPS = 100
_CLOSE = 1e-10  # relative accuracy of the number of instances a scale includes


def _included(
    scale: FloatArray, gap: FloatArray, mass: FloatArray, moment: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Log of the number of instances that a scale includes, and its derivative by the log of the scale.

    With weights e = exp(−2·scale·gap) the number is (Σe)²/Σe² (Cleary & Trigg 1995, section 3.3).
    ``moment`` is gap · mass.
    """
    e = np.exp((-2.0 * scale)[:, None] * gap)
    square = e * e
    first, second = np.einsum("ij,j->i", e, mass), np.einsum("ij,j->i", square, mass)
    first_slope, second_slope = np.einsum("ij,ij->i", e, moment), np.einsum("ij,ij->i", square, moment)
    return 2 * np.log(first) - np.log(second), 4.0 * scale * (second_slope / second - first_slope / first)


def _scale(gap: FloatArray, mass: FloatArray, wanted: FloatArray) -> FloatArray:
    """The scale that includes ``wanted`` instances, per query: Newton's steps on logs, kept in a bracket.

    ``gap`` (n_queries, n_values) are distances less the smallest one. The number falls from all
    instances at scale 0 to those with gap 0.
    """
    moment = gap * mass
    nearest = np.where(gap > 0, gap, np.inf).min(axis=1)
    aim, total = np.log(wanted), mass.sum()
    low, high = np.log(1e-12 / gap.max(axis=1)), np.log(400.0 / nearest)
    # over evenly spread values a scale includes about 2 / scale of their span
    log_scale = np.clip(np.log(total / wanted * total / (2 * moment.sum(axis=1))), low, high)
    rows = np.arange(len(gap))
    for _ in range(_STEPS):
        at = log_scale[rows]
        number, slope = _included(np.exp(at), gap, mass, moment)
        error = number - aim[rows]
        low[rows] = np.where(error > 0, at, low[rows])
        high[rows] = np.where(error > 0, high[rows], at)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = at - error / slope
        inside = (step > low[rows]) & (step < high[rows])
        log_scale[rows] = np.where(inside, step, (low[rows] + high[rows]) / 2)
        doing = np.abs(error) > _CLOSE
        log_scale[rows[~doing]] = at[~doing]
        if not doing.any():
            break
        if not doing.all():
            rows, gap, moment = rows[doing], gap[doing], moment[doing]
    return np.exp(log_scale)


def numeric_log_chances(
    query: FloatArray, values: FloatArray, mass: FloatArray, blend: float
) -> tuple[FloatArray, BoolArray]:
    """Logs of P*(value | query) of a numeric feature, and for which queries it tells anything apart.

    P* = scale · exp(−2·scale·|query − value|) up to a factor; the scale of a query includes
    n₀ + blend·(n − n₀) instances, where n₀ are at the smallest distance from it.

    Parameters
    ----------
    query : ndarray of shape (n_queries,)
    values : ndarray of shape (n_values,)
        Distinct and known.
    mass : ndarray of shape (n_values,)
        Instances that have each value.
    blend : float
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (n_queries, n_values), bool ndarray of shape (n_queries,)
    """
    distance = np.abs(query[:, None] - values)
    gap = distance - distance.min(axis=1, keepdims=True)
    gap[gap <= 1e-10 * np.ptp(values, axis=None)] = 0.0
    told: BoolArray = (gap > 0).any(axis=1)
    out = np.zeros(distance.shape)
    if told.any():
        smallest = np.where(gap[told] == 0, mass, 0.0).sum(axis=1)
        scale = _scale(gap[told], mass, smallest + blend * (mass.sum() - smallest))
        out[told] = np.log(scale)[:, None] - 2.0 * scale[:, None] * distance[told]
    return out, told


def nominal_log_chances(
    query: FloatArray, values: FloatArray, mass: FloatArray, blend: float
) -> tuple[FloatArray, BoolArray]:
    """As `numeric_log_chances` for categories: P* = (1 − s)/n_values, and s more for the same value.

    The ratio r of the two chances solves (n₀ + m·r)² = aim·(n₀ + m·r²) for n₀ instances of the
    query's value and m others. A value that no instance has tells nothing apart.
    """
    same = query[:, None] == values
    n0 = (same * mass).sum(axis=1)
    m = mass.sum() - n0
    told: BoolArray = (n0 > 0) & (m > 0)
    n0, m = np.where(told, n0, 1.0), np.where(told, m, 1.0)
    aim = n0 + blend * m
    # m(m − aim)·r² + 2·n₀·m·r − n₀(aim − n₀) = 0, its root in (0, 1)
    half, product = n0 * m, m * (m - aim) * n0 * (aim - n0)
    ratio = n0 * (aim - n0) / (half + np.sqrt(np.maximum(half**2 + product, 0.0)))
    stop = (1 - ratio) / (1 + ratio * (len(values) - 1))
    other = (1 - stop) / len(values)
    chance = np.where(same, (stop + other)[:, None], other[:, None])
    return np.where(told[:, None], np.log(chance), 0.0), told


class KStar(LazyClassifier):
    """K*: nearness is the chance of turning one instance into another by random steps.

    The chance of a value turning into another falls exponentially with their distance; for
    categories it is one chance for the same value and another for all others. How fast it falls is
    chosen per query and feature such that a given share of the training rows counts. The chances
    of the features multiply, and every training row adds its chance to its class.

    Parameters
    ----------
    blend : float, default=20
        Per cent of the training rows that count, beyond those nearest to the query in a feature:
        near 0 for the nearest neighbour, near 100 for equal votes of all rows.
    missing : {"average", "farthest"}, default="average"
        Chance of a training value that is missing: the mean chance of the known ones, or the smallest.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
    handle_unknown : {"different", "error"}, default="different"
        A category that was not there in fit tells nothing apart, or is an error.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where ``X`` had column names.
    n_samples_fit_ : int

    Notes
    -----
    A missing value of the query leaves the feature out, and the chances over the m of M features
    that are left are taken to the power M/m. ``sample_weight`` counts as repetition.

    Weka's program stops its search when a scale includes 0.01 instances more or less than wanted,
    and never goes below a scale of 0.005, so that features in large units count more than they
    should; here the equation is solved, and units do not matter. Its automatic choice of the blend
    (option -E) is not offered. It counts the categories its file declares, here those seen in
    ``fit`` count.

    References
    ----------
    .. [1] J. G. Cleary, L. E. Trigg, "K*: an instance-based learner using an entropic distance
       measure", ICML (1995) 108-114.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from weighbors import KStar
    >>> X, y = load_wine(return_X_y=True)
    >>> round(KStar().fit(X[::2], y[::2]).score(X[1::2], y[1::2]), 3)
    0.933
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        "blend": [Interval(Real, 0, 100, closed="neither")],
        "missing": [StrOptions({"average", "farthest"})],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "handle_unknown": [StrOptions({"different", "error"})],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        blend: float = 20,
        *,
        missing: str = "average",
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        n_jobs: int | None = None,
    ) -> None:
        self.blend = blend
        self.missing = missing
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KStar:
        """Store the training rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Counts as repetition.

        Returns
        -------
        self
        """
        self._store(X, y, sample_weight)
        self._columns = []
        for column in self._rows.T:
            known = ~np.isnan(column)
            values = np.unique(column[known])
            position = np.where(known, np.searchsorted(values, column), len(values))
            mass = np.bincount(position, self._mass, len(values) + 1)[:-1].astype(np.float64)
            self._columns.append((values, mass, position))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Share of the chances per class.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns as in ``classes_``.
        """
        queries = self._queries(X)
        threads = effective_n_jobs(self.n_jobs)
        size = max(1, _CELLS // len(self._rows))
        ranges = row_ranges(len(queries), threads, least=min(48, size), most=size)
        return np.concatenate(run_ranges(lambda b, e: self._shares(queries[b:e]), ranges, threads))

    def _shares(self, queries: FloatArray) -> FloatArray:
        log = np.zeros((len(queries), len(self._rows)))
        for j in range(queries.shape[1]):
            log += self._log_chances(j, queries[:, j])
        known = (~np.isnan(queries)).sum(axis=1)
        log *= (queries.shape[1] / np.maximum(known, 1))[:, None]
        chance = np.exp(log - log.max(axis=1, keepdims=True)) * self._mass
        of_class = [np.flatnonzero(self._codes == c) for c in range(len(self.classes_))]
        total = np.stack([np.take(chance, rows, axis=1).sum(axis=1) for rows in of_class], axis=1)
        shares: FloatArray = total / total.sum(axis=1, keepdims=True)
        return shares

    def _log_chances(self, j: int, query: FloatArray) -> FloatArray:
        """Log of the chance of every training value of feature j, (n_queries, n_rows)."""
        values, mass, position = self._columns[j]
        asked, back = np.unique(query, return_inverse=True)
        known = ~np.isnan(asked)
        table = np.zeros((len(asked), len(values) + 1))
        if known.any() and len(values):
            chances = nominal_log_chances if self._coder.nominal_of(self._rows)[j] else numeric_log_chances
            log, told = chances(asked[known], values, mass, float(self.blend) / 100)
            table[known, :-1] = log
            if self.missing == "average":
                table[known, -1] = special.logsumexp(log, b=mass / mass.sum(), axis=1)
            else:
                table[known, -1] = log.min(axis=1)
            table[np.flatnonzero(known)[~told]] = 0.0
        of_rows: FloatArray = table[back][:, position]
        return of_rows
