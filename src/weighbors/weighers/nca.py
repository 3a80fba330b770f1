"""NCA weights (Yang, Wang & Zuo 2012): the metric under which a random neighbour predicts each row best."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from .._parallel.blas import one_blas_thread
from .._parallel.threads import effective_n_jobs
from .._typing import BoolArray, FloatArray, IndexArray
from .._warnings import warn
from ..engine.pairs import PackedRows
from ..engine.references import column_ranges, compute_missing_distance
from ..tables.coded import CodedTable
from ..tables.targets import TARGET_TYPES
from .base import ContributionWeigher, metric_weights
from .rows import scale_by_range, to_dense, weigh_pairs

#: Largest component of the gradient at which L-BFGS over w ends, and that over w² begins.
COARSE = 1e-3


@dataclass(frozen=True)
class Problem:
    """Rows and their target, as the objective of NCA needs them."""

    pairs: PackedRows  # (n, m) float64: numbers first, categories (as codes) last; NaN where missing
    codes: IndexArray  # (n,) class of each row
    target: FloatArray | None  # (n,) numeric target, or None for classes
    share: FloatArray  # (n,) what each row contributes; sums to 1

    def rewards(self, begin: int, end: int) -> FloatArray:
        """Return how well each row predicts the rows [begin, end): 1 or 0 for classes, −|y − y'| for numbers."""
        if self.target is None:
            return (self.codes[begin:end, None] == self.codes).astype(np.float64)
        reward: FloatArray = np.subtract.outer(self.target[begin:end], self.target)
        return np.negative(np.abs(reward, out=reward), out=reward)


def neighbor_probabilities(distance: FloatArray) -> None:
    """Turn distances into probabilities of being the neighbour, exp(−d) normalised over each row, in place.

    A distance of infinity has probability 0.
    """
    # The smallest distance of a row cancels in the ratio. Without its subtraction all terms could underflow to 0.
    distance -= distance.min(axis=1, keepdims=True)
    np.negative(distance, out=distance)
    np.exp(distance, out=distance)
    distance /= distance.sum(axis=1, keepdims=True)


def objective(problem: Problem, a: FloatArray, n_jobs: int = 1) -> tuple[float, FloatArray]:
    """Return the mean reward of a random neighbour, and its gradient in ``a`` = w²; the penalty is not included.

    With p_ij ∝ exp(−Σ_k a_k |Δ_ijk|) over j ≠ i, rewards r_ij and shares s_i, the value is Σ_i s_i R_i with
    R_i = Σ_j p_ij r_ij (Yang et al. 2012, eq. 4). Its gradient is Σ_ij s_i p_ij (R_i − r_ij) |Δ_ijk|, and
    2 w_k times this in w_k (eq. 6).
    """
    weighted, n = weigh_pairs(problem.pairs, a), problem.pairs.n
    expected = np.empty(n)

    def coefficients(begin: int, end: int) -> FloatArray:
        out = weighted.distances(begin, end)
        out[:, n:] = 0.0  # padding
        p = out[:, :n]
        p[np.arange(end - begin), np.arange(begin, end)] = np.inf  # a row is not its own neighbour
        neighbor_probabilities(p)
        reward = problem.rewards(begin, end)
        expected[begin:end] = np.einsum("ij,ij->i", p, reward)
        # What is left of the derivative when the normalisation of p is derived, too: better neighbours than expected
        # should come nearer, worse ones should go away.
        np.subtract(expected[begin:end, None], reward, out=reward)
        p *= reward
        p *= problem.share[begin:end, None]
        return out

    gradient = problem.pairs.sum_differences(coefficients, n_jobs)
    return float(np.sum(problem.share * expected)), gradient


def maximize_objective(
    problem: Problem, regularization: float, *, max_iter: int, tol: float, n_jobs: int = 1
) -> tuple[FloatArray, float, int, bool]:
    """Maximise the objective less ``regularization`` · Σ w², from weights of 1.

    L-BFGS over w, as in the paper, comes near a maximum. There a weight only creeps towards 0, since its gradient is
    proportional to it. So the last steps are those of L-BFGS over a = w² ≥ 0, which has the same maxima, and which
    makes weights exactly 0.

    Parameters
    ----------
    problem : Problem
    regularization : float
        λ of the paper.
    max_iter : int
        Most iterations of L-BFGS.
    tol : float
        L-BFGS stops when no component of the gradient is larger, bounds considered.
    n_jobs : int
        Threads.

    Returns
    -------
    w : ndarray of shape (m,)
        The weights, not negative.
    value : float
        The objective with its penalty.
    n_iter : int
    converged : bool
    """
    from scipy.optimize import minimize

    def by_square(a: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(problem, a, n_jobs)
        return regularization * float(a.sum()) - value, regularization - gradient

    def by_weight(w: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = by_square(w**2)
        return value, 2.0 * w * gradient

    def run(loss: Any, start: FloatArray, tolerance: float, iterations: int, bounds: Any = None) -> Any:
        limits = {"maxiter": iterations, "maxfun": 20 * iterations, "gtol": tolerance, "ftol": 1e-14}
        return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=limits)

    m = problem.pairs.m
    if m == 0:
        return np.zeros(0), objective(problem, np.zeros(0), n_jobs)[0], 0, True
    with one_blas_thread():  # the vectors of L-BFGS are short
        coarse = run(by_weight, np.ones(m), max(COARSE, tol), max_iter)
        left = max(1, max_iter - int(coarse.nit))
        fine = run(by_square, coarse.x**2, tol, left, [(0.0, None)] * m)
        # L-BFGS may stop a little short of a bound that it would reach with its next step.
        a = np.where((fine.x <= min(tol, 1e-5)) & (fine.jac > 0), 0.0, fine.x)
        value = -by_square(a)[0]
    # Status 1 of scipy means that the iterations were used up.
    return np.sqrt(a), value, int(coarse.nit + fine.nit), fine.status != 1


def make_problem(table: CodedTable) -> tuple[Problem, IndexArray, FloatArray]:
    """Return the problem of a table, the column of the table of each of its columns, and the factors of its numbers.

    Constant columns are left out. Numbers are divided by their standard deviation, and a numeric target, too. The
    factors have one entry per column of the table; a number of the problem is a number of the table times its
    factor, up to a constant.
    """
    # Always float64: the line search compares values of the objective that float32 cannot tell apart.
    rows = np.asarray(to_dense(table.rows, "NCAWeights"), dtype=np.float64)
    columns = np.concatenate([np.flatnonzero(~table.nominal), np.flatnonzero(table.nominal)])
    n_numeric = int((~table.nominal).sum())
    rows = rows[:, columns]
    measured = column_ranges(rows)
    missing_distance = compute_missing_distance(measured, n_numeric, np.float64)
    factor = np.ones(len(columns))
    # The deviation is taken after the range is 1, where squares neither overflow nor underflow.
    (rows, unit), numeric_range = scale_by_range(rows, measured, n_numeric), missing_distance[:n_numeric]
    deviation = _deviations(rows[:, :n_numeric])
    deviation[numeric_range == 0] = 1.0  # constant columns, which are left out below
    rows[:, :n_numeric] /= deviation
    factor[:n_numeric] = np.where(numeric_range > 0, unit[:n_numeric] / deviation, 1.0)
    missing_distance[:n_numeric] = (numeric_range > 0) / deviation
    varying: BoolArray = np.where(
        np.arange(len(columns)) < n_numeric, missing_distance > 0, (measured.high > measured.low) | measured.missing
    )
    target = table.numbers
    if target is not None:
        target = (target - target.min()) / np.ptp(target)
        target = target / target.std()
    by_column = np.ones(len(columns))
    by_column[columns] = factor
    pairs = PackedRows(
        rows[:, varying],
        n_numeric=int(varying[:n_numeric].sum()),
        missing_distance=missing_distance[varying],
        missing=bool(np.isnan(rows[:, varying]).any()),
    )
    share = table.sample_weight / table.sample_weight.sum()
    return Problem(pairs, table.codes, target, share), columns[varying], by_column


def _deviations(rows: FloatArray) -> FloatArray:
    """Return the standard deviation of each column without its missing values; 0 for a column without values."""
    known = ~np.isnan(rows)
    number = np.maximum(known.sum(axis=0), 1)
    centered = np.where(known, rows, 0.0)
    centered -= np.where(known, centered.sum(axis=0) / number, 0.0)
    deviation: FloatArray = np.sqrt(np.einsum("ij,ij->j", centered, centered) / number)
    return deviation


@dataclass(eq=False, repr=False)
class NCAWeights(ContributionWeigher):
    """Weights under which a random near neighbour predicts each row best, for classes and numeric targets.

    The method is neighbourhood component feature selection, known from MATLAB as ``fscnca`` and ``fsrnca``. The
    neighbour of row i is row j ≠ i with probability p_ij ∝ exp(−d_ij), d_ij = Σ_k w_k² abs(x_ik − x_jk). The weights
    maximise the probability of a neighbour of the same class (for a numeric target: minus the expected difference
    abs(y_i − y_j)), averaged over rows, less λ Σ_k w_k². The penalty takes weights of useless features to 0.

    Parameters
    ----------
    regularization : float or None, default=None
        λ. None: 1 / n_samples, a weak penalty. `GridSearchCV` around a k-NN chooses among several values.
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. "auto": floats are a numeric target if one of them is no whole number or if many differ;
        all else is classes.
    max_iter : int, default=1000
        Most iterations of L-BFGS.
    tol : float, default=1e-6
        L-BFGS stops when no component of the gradient is larger.
    n_jobs : int, optional
        Threads. Results do not depend on it.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        abs(w), not negative. It is exactly 0 for features that are worth less than their penalty, and for constant
        ones.
    weights_ : Weights
        For a k-NN with ``p=1``: w² per standard deviation of the feature. So its distances are those that were learned,
        whether its table was scaled or not. (The weights of the RELIEF family are scores and not a metric: they
        act on the features as the k-NN gets them.)
    target_type_ : str
        "classes" or "numeric".
    regularization_ : float
        λ.
    objective_ : float
        What was maximised, at its maximum.
    n_iter_ : int
    support_ : bool ndarray of shape (n_features,)
    classes_ : ndarray of shape (n_classes,)
        Only for classes.

    Notes
    -----
    Numbers are divided by their standard deviation first, and so is a numeric target: without that, λ would mean
    something else for every unit of measurement. Categories differ by 0 or 1. A missing value differs from every other
    by the range of its feature (1 for categories), as in the search for neighbours. ``sample_weight`` multiplies what a
    row contributes to the mean; it does not change how probable a row is as a neighbour. Sparse rows become dense while
    they fit 2 GiB. All is computed in float64, in time N² · M per iteration and in memory of some copies of the table.

    References
    ----------
    .. [1] W. Yang, K. Wang, W. Zuo, "Neighborhood component feature selection for high-dimensional data", Journal of
       Computers 7, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import NCAWeights, WeightedKNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> NCAWeights().fit(X, y).feature_weights_.argsort()[::-1][:2]
    array([3, 2])
    >>> WeightedKNeighborsClassifier(5, NCAWeights(), p=1).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    regularization: float | None = None
    _: KW_ONLY
    target_type: str = "auto"
    max_iter: int = 1000
    tol: float = 1e-6

    _takes_numeric_targets: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ContributionWeigher._parameter_constraints,
        "regularization": [None, Interval(Real, 0, None, closed="left")],
        "target_type": [TARGET_TYPES],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Learn the weights."""
        problem, columns, self._factor = make_problem(table)
        self.regularization_ = 1.0 / len(table.codes) if self.regularization is None else float(self.regularization)
        w, self.objective_, self.n_iter_, converged = maximize_objective(
            problem,
            self.regularization_,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=effective_n_jobs(self.n_jobs),
        )
        if not converged:
            warn(
                f"L-BFGS did not converge in max_iter={self.max_iter} iterations; raise max_iter or tol",
                ConvergenceWarning,
            )
        weights = np.zeros(table.rows.shape[1])
        weights[columns] = w
        return weights

    def _metric_parts(self) -> dict[str, Any]:
        """Return w² in units of the table as it was given, so that the distances of a k-NN are those learned."""
        return {"feature_weights": metric_weights(self.feature_weights_, self.support_, square=True) * self._factor}
