"""Solve for the votes of all rows, with exact leave-one-out in closed form.

With K = exp(−d/L), targets Y of mean μ and repetition weights s, the votes are α = (K + λ S⁻¹)⁻¹ (Y − μ), and the
scores of a query q are f(q) = μ + Σ_i K(q, x_i) α_i. This is kernel ridge regression. The residual of a row that is
left out follows from the diagonal of the inverse (Rifkin & Lippert 2007), so that no system is solved twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from .._typing import FloatArray
from ..exceptions import InvalidDataError

#: Narrower kernels are the same: 1 at distance 0, and 0 everywhere else. The inverse of this width is finite.
LEAST_WIDTH = 1e-300
_NOT_FINITE = (
    "votes cannot be solved for: distances or targets are not finite. Rescale the features, for example with "
    "sklearn.preprocessing.StandardScaler"
)
_LEAST_RAISE = 1e-14  # A system that is not positive definite gets at least this ridge: rounding hides smaller ones.


@dataclass(frozen=True)
class Solution:
    """The votes of the stored rows, and what leave-one-out says of them."""

    alpha: FloatArray  # (n, n_outputs) signed votes
    intercept: FloatArray  # (n_outputs,) the mean μ
    width: float
    ridge: float
    residuals: FloatArray  # (n, n_outputs) y minus its score when the row is left out
    loss: float  # mean squared residual per row


def weighted_mean(Y: FloatArray, repetition: FloatArray | None) -> FloatArray:
    """Return the mean of the rows of ``Y``, where a row counts as often as ``repetition`` says."""
    mean: FloatArray = np.average(Y, axis=0, weights=repetition)
    return mean


def kernel_of(distance: FloatArray, width: float, out: FloatArray | None = None) -> FloatArray:
    """Return exp(−d / width), in ``out`` if it is given."""
    with np.errstate(over="ignore"):  # exp(−inf) is 0, as it should be
        out = np.multiply(distance, -1.0 / max(width, LEAST_WIDTH), out=out)
    return np.exp(out, out=out)


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


def solve_system(
    distance: FloatArray,
    width: float,
    ridge: float,
    target: FloatArray,
    repetition: FloatArray | None,
    *,
    work: FloatArray | None = None,
) -> tuple[FloatArray, float]:
    """Solve (K + λ S⁻¹) α = target by Cholesky's method, and return α and the ridge that was needed.

    Parameters
    ----------
    distance : ndarray of shape (n, n)
    width, ridge : float
        L and λ. If K is not positive definite (p = 2 with missing values), λ is raised until the system is.
    target : ndarray of shape (n, n_outputs)
        Y − μ.
    repetition : ndarray of shape (n,), or None
    work : ndarray of shape (n, n), optional
        Memory for the system. It is overwritten, and then holds the Cholesky factor.
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
            break
        if not (np.isfinite(distance).all() and ridge < 1e300):
            raise InvalidDataError(_NOT_FINITE)  # No ridge would help: the loop would not end.
        ridge = max(4 * ridge, _LEAST_RAISE)
    alpha, _ = lapack.dpotrs(work.T, target, lower=1)
    if not np.isfinite(alpha).all():  # not every LAPACK finds a NaN in the matrix
        raise InvalidDataError(_NOT_FINITE)
    return np.ascontiguousarray(alpha), ridge


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

    Parameters
    ----------
    distance : ndarray of shape (n, n)
    width, ridge : float
        L and λ.
    Y : ndarray of shape (n, n_outputs)
    repetition : ndarray of shape (n,), optional
        Repetition weights. By default every row counts once.
    work : ndarray of shape (n, n), optional
        Memory that is overwritten.

    Examples
    --------
    >>> d = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> solution = solve_all(d, 2.0, 0.1, np.array([[0.0], [0.0], [1.0]]))
    >>> solution.intercept.round(3), solution.residuals.ravel().round(3)
    (array([0.333]), array([-0.166, -0.32 ,  0.782]))
    """
    mean = weighted_mean(Y, repetition)
    work = np.empty_like(distance) if work is None else work
    alpha, ridge = solve_system(distance, width, ridge, Y - mean, repetition, work=work)
    # The diagonal of the inverse is the squared length of each column of the inverse Cholesky factor.
    inverse, _ = lapack.dtrtri(work.T, lower=1, overwrite_c=1)
    residuals = left_out_residuals(alpha, _column_squares(inverse), ridge, repetition)
    return Solution(alpha, mean, width, ridge, residuals, mean_square(residuals, repetition))


def _column_squares(lower: FloatArray) -> FloatArray:
    """Return the squared length of each column of a lower triangle. The other triangle is not read."""
    rows = lower.T  # columns are contiguous
    return np.array([np.dot(row[i:], row[i:]) for i, row in enumerate(rows)])
