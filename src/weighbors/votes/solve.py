"""Solve for the votes of all rows, with exact leave-one-out in closed form, and score queries by them.

With K = exp(−d/L), targets Y of mean μ and repetition weights s, the votes are α = (K + λ S⁻¹)⁻¹ (Y − μ), and the
scores of a query q are f(q) = μ + Σ_i K(q, x_i) α_i. This is kernel ridge regression. The residual of a row that is
left out follows from the diagonal of the inverse (Rifkin & Lippert 2007), so that no system is solved twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from .._typing import FloatArray
from ..exceptions import InvalidDataError
from .metric import Metric

#: Narrower kernels are the same: 1 at distance 0, and 0 everywhere else. The inverse of this width is finite.
LEAST_WIDTH = 1e-300
_NOT_FINITE = (
    "votes cannot be solved for: distances or targets are not finite. Rescale the features, for example with "
    "sklearn.preprocessing.StandardScaler"
)
_LEAST_RAISE = 1e-14  # A system that is not positive definite gets at least this ridge: rounding hides smaller ones.
_CELLS = 8_000_000  # kernel values in memory at the same time
_PRODUCT = 8192  # rows in one product; BLAS would share more than 10 000 of them between threads


def weighted_mean(Y: FloatArray, repetition: FloatArray | None) -> FloatArray:
    """Return the mean of the rows of ``Y``, where a row counts as often as ``repetition`` says."""
    mean: FloatArray = np.average(Y, axis=0, weights=repetition)
    return mean


def kernel_of(distance: FloatArray, width: float, out: FloatArray | None = None) -> FloatArray:
    """Return exp(−d / width), in ``out`` if it is given."""
    with np.errstate(over="ignore"):  # exp(−inf) is 0, as it should be
        out = np.multiply(distance, -1.0 / max(width, LEAST_WIDTH), out=out)
    return np.exp(out, out=out)


@dataclass(frozen=True)
class System:
    """The system K + λ S⁻¹ as its Cholesky factor: votes, row weights and rows left out follow from it."""

    factor: FloatArray  # (n, n): its transpose holds the lower triangle
    ridge: float  # λ, raised until the system was positive definite

    def solve(self, target: FloatArray) -> FloatArray:
        """Return (K + λ S⁻¹)⁻¹ target, for a target of shape (n, n_outputs)."""
        solution, _ = lapack.dpotrs(self.factor.T, target, lower=1)
        if not np.isfinite(solution).all():  # not every LAPACK finds a NaN in the matrix
            raise InvalidDataError(_NOT_FINITE)
        return np.ascontiguousarray(solution)

    def inverse_diagonal(self) -> FloatArray:
        """Return the diagonal of (K + λ S⁻¹)⁻¹. It overwrites the factor, so nothing can be solved afterwards."""
        # The diagonal of the inverse is the squared length of each column of the inverse Cholesky factor.
        lower, _ = lapack.dtrtri(self.factor.T, lower=1, overwrite_c=1)
        return np.array([np.dot(column[i:], column[i:]) for i, column in enumerate(lower.T)])


def factor_system(
    distance: FloatArray,
    width: float,
    ridge: float,
    repetition: FloatArray | None = None,
    *,
    work: FloatArray | None = None,
) -> System:
    """Factor K + λ S⁻¹ by Cholesky's method.

    Parameters
    ----------
    distance : ndarray of shape (n, n)
    width, ridge : float
        L and λ. If K is not positive definite (p = 2 with missing values), λ is raised until the system is.
    repetition : ndarray of shape (n,), optional
        Repetition weights. By default every row counts once.
    work : ndarray of shape (n, n), optional
        Memory for the factor. It is overwritten.
    """
    n = len(distance)
    work = np.empty((n, n)) if work is None else work
    while True:
        kernel_of(distance, width, work)
        work.flat[:: n + 1] += ridge if repetition is None else ridge / repetition
        # A symmetric matrix is its own transpose, and the transpose of a C-ordered array is in Fortran's order: LAPACK
        # works in place, without a copy.
        _, info = lapack.dpotrf(work.T, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            return System(work, ridge)
        if not (np.isfinite(distance).all() and ridge < 1e300):
            raise InvalidDataError(_NOT_FINITE)  # No ridge would help: the loop would not end.
        ridge = max(4 * ridge, _LEAST_RAISE)


def left_out_residuals(
    alpha: FloatArray, inverse_diagonal: FloatArray, ridge: float, repetition: FloatArray | None
) -> FloatArray:
    """Return the residual of every row when one repetition of it is left out. The mean μ is kept.

    Parameters
    ----------
    alpha : ndarray of shape (n, n_outputs)
        The solution for all rows.
    inverse_diagonal : ndarray of shape (n,)
        Diagonal of (K + λ S⁻¹)⁻¹.
    ridge : float
    repetition : ndarray of shape (n,), or None
        A row of weight s ≤ 1 is left out as a whole; of a larger one, one repetition is left out.
    """
    if repetition is None:
        return alpha / inverse_diagonal[:, None]
    # The residual is e / (1 − t H), with the fitted residual e = λ α / s, the leverage H = 1 − (λ / s) g of the row,
    # and t the share of the row that is left out.
    fitted = ridge * alpha / repetition[:, None]
    leverage = 1.0 - ridge / repetition * inverse_diagonal
    share = np.minimum(1.0, 1.0 / repetition)
    return fitted / (1.0 - share * leverage)[:, None]


def mean_square(residuals: FloatArray, repetition: FloatArray | None) -> float:
    """Return the mean over rows of the squared length of the residuals."""
    return float(np.average((residuals**2).sum(axis=1), weights=repetition))


@dataclass(frozen=True)
class Solution:
    """The votes of the stored rows, and what leave-one-out says of them."""

    alpha: FloatArray  # (n, n_outputs) signed votes
    intercept: FloatArray  # (n_outputs,) the mean μ
    width: float
    ridge: float
    residuals: FloatArray  # (n, n_outputs) y minus its score when the row is left out
    loss: float  # mean squared residual per row


def solve_all(
    distance: FloatArray,
    width: float,
    ridge: float,
    Y: FloatArray,
    repetition: FloatArray | None = None,
    *,
    work: FloatArray | None = None,
) -> Solution:
    """Solve for the votes of all rows, and leave out every row once.

    ``Y`` has the shape (n, n_outputs). The other parameters are those of `factor_system`.

    Examples
    --------
    >>> d = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> solution = solve_all(d, 2.0, 0.1, np.array([[0.0], [0.0], [1.0]]))
    >>> solution.intercept.round(3), solution.residuals.ravel().round(3)
    (array([0.333]), array([-0.166, -0.32 ,  0.782]))
    """
    mean = weighted_mean(Y, repetition)
    system = factor_system(distance, width, ridge, repetition, work=work)
    alpha = system.solve(Y - mean)
    residuals = left_out_residuals(alpha, system.inverse_diagonal(), system.ridge, repetition)
    return Solution(alpha, mean, width, system.ridge, residuals, mean_square(residuals, repetition))


@dataclass(frozen=True)
class StoredVotes:
    """Votes of stored rows for every query: f(q) = μ + Σ_i exp(−d(q, x_i) / L) α_i."""

    metric: Metric
    alpha: FloatArray  # (n_stored, n_outputs)
    intercept: FloatArray  # (n_outputs,)
    width: float
    ridge: float
    repetition: FloatArray | None = None  # (n_stored,)

    def kernel(self, queries: Any) -> FloatArray:
        """Return exp(−d / L) of queries and all stored rows, of shape (n_queries, n_stored)."""
        return kernel_of(self.distances(queries), self.width)

    def distances(self, queries: Any) -> FloatArray:
        """Return the distances of queries to all stored rows."""
        return self.metric.between(self.metric.select(queries))

    def scores(self, queries: Any) -> FloatArray:
        """Return the scores of queries, of shape (n_queries, n_outputs)."""
        out = np.empty((queries.shape[0], len(self.intercept)))
        size = max(1, _CELLS // self.metric.n)
        for begin in range(0, len(out), size):
            batch = slice(begin, begin + size)
            out[batch] = self.intercept + _add_votes(self.kernel(queries[batch]), self.alpha)
        return out

    def row_weights(self, queries: Any) -> FloatArray:
        """Return how much the own target of each stored row counts, s(q) = (K + λ S⁻¹)⁻¹ k(q).

        The scores are f(q) = μ + Σ_i s_i(q) (y_i − μ). The system is factored anew, since it takes n² numbers.

        Returns
        -------
        ndarray of shape (n_queries, n_stored)
        """
        system = factor_system(self.metric.all_pairs(), self.width, self.ridge, self.repetition)
        return system.solve(self.kernel(queries).T).T


def _add_votes(kernel: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the product of both matrices, with bits that depend on no other query and not on the number of threads.

    A product of matrices adds in an order that depends on the number of queries, so that a row would have other last
    bits alone than among others. So there is one product of vectors for each query and output.
    """
    total: FloatArray = np.zeros((len(kernel), alpha.shape[1]))
    for begin in range(0, len(alpha), _PRODUCT):
        part = slice(begin, begin + _PRODUCT)
        total += np.vecdot(kernel[:, None, part], np.ascontiguousarray(alpha[part].T))
    return total
