"""K*: an instance-based learner that measures nearness by the probability that one value changes into another."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import special
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from .._parallel.threads import effective_n_jobs, row_ranges, run_ranges
from .._typing import BoolArray, FloatArray
from ..tables.coded import takes_coded_tables
from .lazy import LazyClassifier

_CELLS = 250_000  # how many distances are in memory at the same time
_STEPS = 100
_CLOSE = 1e-10  # relative accuracy of the number of instances that a scale includes
_TINY = 1e-300
#: Exponents of 2. Distances and repetition weights are rescaled if they are outside 2^±500 and 2^±200, because their
#: products would overflow or underflow.
_SAFE_DISTANCE, _SAFE_REPETITION = 500, 200


def _safe_distances(query: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distances abs(query − value) and the range of the values, for each query in its own unit.

    The unit does not change the result of K*. If the products of a query's distances would overflow or underflow, its
    distances are multiplied by a power of 2, which causes no rounding. The other queries are not changed.
    """
    low, high = float(values.min()), float(values.max())
    largest = np.maximum(np.abs(query), max(abs(low), abs(high)))
    power = np.where(largest > 2.0**1000, -_SAFE_DISTANCE, 0)  # the difference of such numbers could overflow
    if power.any():
        distance = np.abs(np.ldexp(query, power)[:, None] - np.ldexp(values, power[:, None]))
    else:
        distance = np.abs(query[:, None] - values)
    span = np.ldexp(high, power) - np.ldexp(low, power)
    # Only differences of distances enter the scale, so their range decides whether products are safe.
    widest = np.ptp(distance, axis=1)
    extreme = (widest > 0) & ~((widest > 2.0**-_SAFE_DISTANCE) & (widest < 2.0**_SAFE_DISTANCE))
    if extreme.any():
        power = np.where(extreme, -np.frexp(widest)[1], 0)
        distance, span = np.ldexp(distance, power[:, None]), np.ldexp(span, power)
    return distance, span


def _safe_repetitions(repetition: FloatArray) -> FloatArray:
    """Return the repetition weights, rescaled if products of four could overflow or underflow. Only ratios matter."""
    power = int(np.frexp(repetition.max())[1])
    return repetition if abs(power) <= _SAFE_REPETITION else np.maximum(np.ldexp(repetition, -power), _TINY)


def _included(
    scale: FloatArray, excess: FloatArray, repetition: FloatArray, moment: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the log of the number of instances that a scale includes, and the derivative by the log of the scale.

    With weights e = exp(−2·scale·excess), the number of instances is (Σe)²/Σe² (Cleary & Trigg 1995, section 3.3).

    Parameters
    ----------
    scale : ndarray of shape (n_queries,)
    excess : ndarray of shape (n_queries, n_values)
        Distances minus the smallest distance of the query.
    repetition : ndarray of shape (n_values,)
        Total weight of the instances that have each value.
    moment : ndarray of shape (n_queries, n_values)
        excess · repetition.
    """
    e = np.exp((-2.0 * scale)[:, None] * excess)
    square = e * e
    first, second = np.einsum("ij,j->i", e, repetition), np.einsum("ij,j->i", square, repetition)
    first_slope, second_slope = np.einsum("ij,ij->i", e, moment), np.einsum("ij,ij->i", square, moment)
    # Logarithms make the equation nearly linear, so that Newton's method needs few steps.
    return 2 * np.log(first) - np.log(second), 4.0 * scale * (second_slope / second - first_slope / first)


def _scale(excess: FloatArray, repetition: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return the scale that includes ``wanted`` instances, for each query.

    The scale is found with Newton's method on logarithms, inside a bracket. ``excess``, of shape (n_queries, n_values),
    holds the distances minus the smallest distance of the query. As the scale grows from 0, the number of included
    instances falls from all instances to the instances with excess 0.
    """
    moment = excess * repetition
    nearest = np.where(excess > 0, excess, np.inf).min(axis=1)
    aim, total = np.log(wanted), repetition.sum()
    # Beyond these bounds all instances, or only the nearest, are included up to rounding.
    low, high = np.log(1e-12 / excess.max(axis=1)), np.log(400.0 / nearest)
    # For evenly spread values, a scale includes an interval of about 2 / scale, which gives a good first guess.
    log_scale = np.clip(np.log(total / wanted * total / (2 * moment.sum(axis=1))), low, high)
    rows = np.arange(len(excess))
    for _ in range(_STEPS):
        at = log_scale[rows]
        number, slope = _included(np.exp(at), excess, repetition, moment)
        error = number - aim[rows]
        low[rows] = np.where(error > 0, at, low[rows])
        high[rows] = np.where(error > 0, high[rows], at)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = at - error / slope
        # Newton's step is used if it stays inside the bracket. Otherwise the middle of the bracket is used.
        inside = (step > low[rows]) & (step < high[rows])
        log_scale[rows] = np.where(inside, step, (low[rows] + high[rows]) / 2)
        # Queries that are solved are left out, and their scale is not changed any more.
        doing = np.abs(error) > _CLOSE
        log_scale[rows[~doing]] = at[~doing]
        if not doing.any():
            break
        if not doing.all():
            rows, excess, moment = rows[doing], excess[doing], moment[doing]
    return np.exp(log_scale)


def numeric_log_chances(
    query: FloatArray, values: FloatArray, repetition: FloatArray, blend: float
) -> tuple[FloatArray, BoolArray]:
    """Return the logs of P*(value | query) of a numeric feature, and for which queries the values differ in P*.

    Up to a constant factor, P* = scale · exp(−2·scale·abs(query − value)). The scale of a query includes
    n₀ + blend·(n − n₀) of the n instances, where n₀ instances are at the smallest distance from the query.

    Parameters
    ----------
    query : ndarray of shape (n_queries,)
    values : ndarray of shape (n_values,)
        The distinct values of the feature, without missing values.
    repetition : ndarray of shape (n_values,)
        Total weight of the instances that have each value.
    blend : float
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (n_queries, n_values), bool ndarray of shape (n_queries,)
    """
    distance, span = _safe_distances(query, values)
    excess = distance - distance.min(axis=1, keepdims=True)
    # Distances that differ only by rounding count as equally near.
    excess[excess <= 1e-10 * span[:, None]] = 0.0
    informative: BoolArray = (excess > 0).any(axis=1)
    out = np.zeros(distance.shape)
    if informative.any():
        smallest = np.where(excess[informative] == 0, repetition, 0.0).sum(axis=1)
        scale = _scale(excess[informative], repetition, smallest + blend * (repetition.sum() - smallest))
        # P* of a number is a Laplace density (Cleary & Trigg 1995), up to a factor that cancels.
        out[informative] = np.log(scale)[:, None] - 2.0 * scale[:, None] * distance[informative]
    return out, informative


def nominal_log_chances(
    query: FloatArray, values: FloatArray, repetition: FloatArray, blend: float
) -> tuple[FloatArray, BoolArray]:
    """Return the logs of P*(value | query) of a categorical feature, and for which queries the values differ in P*.

    P* is (1 − s)/n_values, plus s if the value is the category of the query. The ratio r of the two probabilities
    solves (n₀ + m·r)² = aim·(n₀ + m·r²), where n₀ instances have the category of the query, m instances have another
    category, and aim = n₀ + blend·m. If no instance has the category of the query, all logs are 0. The parameters are
    those of `numeric_log_chances`.
    """
    same = query[:, None] == values
    n0 = (same * repetition).sum(axis=1)
    m = repetition.sum() - n0
    informative: BoolArray = (n0 > 0) & (m > 0)
    n0, m = np.where(informative, n0, 1.0), np.where(informative, m, 1.0)
    more = blend * m  # aim − n₀, not computed as a difference, which would be inaccurate for a small blend
    aim = n0 + more
    # r is the root of m(m − aim)·r² + 2·n₀·m·r − n₀(aim − n₀) = 0 that lies in (0, 1)
    half, product = n0 * m, m * (m - aim) * n0 * more
    ratio = np.maximum(n0 * more / (half + np.sqrt(np.maximum(half**2 + product, 0.0))), _TINY)
    # With s = (1 − r)/(1 + r·(n_values − 1)), the two probabilities are 1/(...) and r/(...). No nearly equal numbers
    # are subtracted.
    equal = -np.log1p(ratio * (len(values) - 1))
    log = np.where(same, equal[:, None], (np.log(ratio) + equal)[:, None])
    return np.where(informative[:, None], log, 0.0), informative


@dataclass(eq=False, repr=False)
class KStar(LazyClassifier):
    """K*: nearness is the probability that random steps change one instance into another.

    The probability that a number changes into another number falls exponentially with their distance. For categories,
    there is one probability for the same category and another one for all other categories. How fast the probability
    falls is chosen for each query and feature, so that a given share of the training rows counts. The probabilities
    of the features are multiplied. Each training row adds its probability to its class.

    Parameters
    ----------
    blend : float, default=20
        Per cent of the training rows that count in a feature, in addition to the rows nearest to the query. Values
        near 0 give the nearest neighbour, values near 100 give equal votes of all rows.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if ``X`` had column names.
    n_samples_fit_ : int

    Notes
    -----
    A training value that is missing has the mean probability of the known values. If a value of the query is missing,
    the feature is left out. If m of M features remain, the product of their probabilities is raised to the power M/m.
    ``sample_weight`` counts as repetition. A category of a query that was not in the training data has no effect.

    There are four differences from Weka's program. Weka stops its search if a scale includes the wanted number of
    instances up to 0.01, and it uses no scale below 0.005, so that features in large units count too much. Here the
    equation is solved, and units do not matter. Weka's automatic choice of the blend (option -E) is not available.
    The number of categories is the number found in ``fit``. (In Weka it is the number that the file declares.) If a
    value of the query is missing, Weka raises the product to a power after each later feature. Here this is done once.

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

    blend: float = 20
    _: KW_ONLY
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "blend": [Interval(Real, 0, 100, closed="neither")],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "n_jobs": [None, Integral],
    }

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        self._repetition = _safe_repetitions(self._repetition)
        self._columns = []
        for column in self._rows.T:
            known = ~np.isnan(column)
            values = np.unique(column[known])
            # Missing values have the position after the last value.
            position = np.where(known, np.searchsorted(values, column), len(values))
            repetition = np.bincount(position, self._repetition, len(values) + 1)[:-1].astype(np.float64)
            self._columns.append((values, repetition, position))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of each class in the sum of the training rows' probabilities.

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
        """Return the share of each class in the sum of the probabilities of all stored rows."""
        chance = self._chances(queries)
        of_class = [np.flatnonzero(self._codes == c) for c in range(len(self.classes_))]
        total = np.stack([np.take(chance, rows, axis=1).sum(axis=1) for rows in of_class], axis=1)
        shares: FloatArray = total / total.sum(axis=1, keepdims=True)
        return shares

    def _chances(self, queries: FloatArray) -> FloatArray:
        """Return the probabilities of all stored rows, of shape (n_queries, n_rows), each query up to a factor."""
        log = np.zeros((len(queries), len(self._rows)))
        for j in range(queries.shape[1]):
            log += self._log_chances(j, queries[:, j])
        known = (~np.isnan(queries)).sum(axis=1)
        # Missing features of a query are left out. The known ones stand for all of them.
        log *= (queries.shape[1] / np.maximum(known, 1))[:, None]
        # The largest probability becomes 1, so that the others do not underflow. Only ratios matter.
        chances: FloatArray = np.exp(log - log.max(axis=1, keepdims=True)) * self._repetition
        return chances

    def _log_chances(self, j: int, query: FloatArray) -> FloatArray:
        """Return the log probability of the value of feature ``j`` in each training row, of shape (n_queries, n_rows).

        ``query`` holds the value of the feature in each query.
        """
        values, repetition, position = self._columns[j]
        # Queries often repeat a value. Each distinct value is computed once.
        asked, back = np.unique(query, return_inverse=True)
        known = ~np.isnan(asked)
        table = np.zeros((len(asked), len(values) + 1))
        if known.any() and len(values):
            chances = nominal_log_chances if self._coder.nominal[j] else numeric_log_chances
            log, informative = chances(asked[known], values, repetition, float(self.blend) / 100)
            table[known, :-1] = log
            table[known, -1] = special.logsumexp(log, b=repetition / repetition.sum(), axis=1)
            table[np.flatnonzero(known)[~informative]] = 0.0
        of_rows: FloatArray = table[back][:, position]
        return of_rows
