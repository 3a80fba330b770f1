"""Choose the rows to store by backward elimination: the row whose vote is missed least goes first.

The votes β of rows S minimise J = Σ_n s_n ‖y_n − μ − Σ_{i∈S} K_ni β_i‖² + λ βᵀ K_SS β, which is the system of
`weighbors.kernel.centers`. If G is the inverse of K_NSᵀ D K_NS + λ K_SS, then J grows by β_i² / G_ii when row i leaves
S and the other votes are solved again (Hassibi & Stork 1993). No system is solved for this: β and G of the smaller set
follow from those of the larger one. Elimination begins with all rows, whose votes are the exact solution.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .._typing import FloatArray, IndexArray
from .ridge import kernel_of, weighted_mean

__all__ = ["eliminate_rows"]

#: Rows that leave together: one product of matrices then updates all others.
BATCH = 32
#: So many times as many rows, those with the least loss, are looked at for a batch. Within them the order is exact.
_LOOK_AT = 4
_JITTER = 1e-8  # added to the diagonal of K, so that equal rows do not make it singular


def eliminate_rows(
    distance: FloatArray,
    width: float,
    ridge: float,
    Y: FloatArray,
    repetition: FloatArray | None,
    n_kept: int,
    *,
    batch: int = BATCH,
) -> IndexArray:
    """Return the rows that are left, ascending, when all others have been eliminated one by one.

    Parameters
    ----------
    distance : ndarray of shape (n, n)
    width, ridge : float
        L and λ of the votes of all rows.
    Y : ndarray of shape (n, n_outputs)
    repetition : ndarray of shape (n,), or None
        Repetition weights. None: every row counts once.
    n_kept : int
        How many rows are left.
    batch : int
        How many rows leave before the others are updated. With 1, each row is the best one of all to leave out.

    Examples
    --------
    Of two near rows of the same kind, one is enough:

    >>> d = np.abs(np.subtract.outer([0.0, 0.1, 3.0], [0.0, 0.1, 3.0]))
    >>> eliminate_rows(d, 1.0, 0.1, np.array([[0.0], [0.0], [1.0]]), None, 2)
    array([1, 2])
    """
    alive = np.arange(len(distance))
    beta, inverse = _solve_all(distance, width, ridge, Y, repetition)
    while len(alive) > n_kept:
        n_leaving = min(batch, len(alive) - n_kept)
        leaving = _choose_batch(beta, inverse, n_leaving)
        staying = np.setdiff1d(np.arange(len(alive)), leaving)
        beta, inverse = _leave_out(beta, inverse, leaving, staying)
        alive = alive[staying]
    return alive


def _solve_all(
    distance: FloatArray, width: float, ridge: float, Y: FloatArray, repetition: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the votes of all rows, and the inverse of their system. The parameters are those of `eliminate_rows`."""
    kernel = kernel_of(distance, width)
    kernel.flat[:: len(kernel) + 1] += _JITTER
    weighted = kernel if repetition is None else repetition[:, None] * kernel
    system = kernel @ weighted + ridge * kernel
    # Rounding may hide a small ridge where rows are nearly equal. A little more on the diagonal then helps.
    lift = 0.0
    while True:
        try:
            factor = cho_factor(system, lower=True, check_finite=False)
            break
        except np.linalg.LinAlgError:
            lift = max(100 * lift, 1e-12 * float(np.trace(system)) / len(system))
            system.flat[:: len(system) + 1] += lift
    inverse = cho_solve(factor, np.eye(len(system)), check_finite=False)
    inverse = (inverse + inverse.T) / 2.0  # Updates keep the symmetry that rounding has lost.
    beta = cho_solve(factor, weighted.T @ (Y - weighted_mean(Y, repetition)), check_finite=False)
    return beta, inverse


def _growth(beta: FloatArray, diagonal: FloatArray) -> FloatArray:
    """Return by how much the squared error grows when each row leaves."""
    growth: FloatArray = (beta**2).sum(axis=1) / np.maximum(diagonal, 1e-300)
    return growth


def _choose_batch(beta: FloatArray, inverse: FloatArray, n_leaving: int) -> IndexArray:
    """Return the positions of the rows that leave next.

    Two rows that stand in for each other both look as if they were not needed. So rows leave one by one: the votes of
    the rows that are looked at follow from the small part of the inverse that belongs to them.
    """
    growth = _growth(beta, np.diagonal(inverse))
    if n_leaving == 1:
        return np.array([int(np.argmin(growth))])
    looked_at = np.sort(np.argsort(growth, kind="stable")[: _LOOK_AT * n_leaving])
    part, votes = inverse[np.ix_(looked_at, looked_at)], beta[looked_at]
    left = np.ones(len(looked_at), dtype=bool)
    for _ in range(n_leaving):
        worst = int(np.argmin(np.where(left, _growth(votes, np.diagonal(part)), np.inf)))
        left[worst] = False
        column = part[:, worst] / part[worst, worst]
        votes = votes - column[:, None] * votes[worst]
        part = part - column[:, None] * part[worst]
        part[worst, worst] = 1.0  # The row has left. Its diagonal must not become 0, by which others are divided.
    return looked_at[~left]


def _leave_out(
    beta: FloatArray, inverse: FloatArray, leaving: IndexArray, staying: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Return votes and inverse of the rows that stay, at the positions ``staying``, when those ``leaving`` are gone."""
    cross = inverse[np.ix_(staying, leaving)]
    factor = cho_factor(inverse[np.ix_(leaving, leaving)], lower=True, check_finite=False)
    left = inverse[np.ix_(staying, staying)]
    left -= cross @ cho_solve(factor, cross.T, check_finite=False)
    return beta[staying] - cross @ cho_solve(factor, beta[leaving], check_finite=False), left
