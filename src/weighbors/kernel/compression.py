"""Compress the votes of all rows to the votes of few stored rows, with nearly the same scores.

The scores f of all rows are known everywhere. Votes β of stored rows S are fitted to them, by least squares over many
points z: Σ_z ‖f(z) − μ − Σ_{i∈S} K(z, x_i) β_i‖² + ε βᵀ K_SS β. The points are the training rows and recombined rows,
each cell of which comes from one of two training rows. Without recombined rows, S would be fitted where f is known from
labels, but not between the training rows, where it is used.

S is found by backward elimination. If G is the inverse of the system K_zSᵀ K_zS + ε K_SS, the sum above grows by
β_i² / G_ii when row i leaves S and all other votes are fitted again (Hassibi & Stork 1993). No system is solved for
this: β and G of the smaller set follow from those of the larger one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from .._typing import FloatArray, IndexArray
from ..engine.references import column_ranges
from .metric import Metric
from .ridge import Solution, kernel_of

__all__ = ["Compressed", "compress_votes", "eliminate_rows", "recombine_rows"]

#: How many recombined rows there are for each row, and at most.
RECOMBINED, MOST_RECOMBINED = 10, 10_000
#: Rows that leave together: one product of matrices then updates all others.
BATCH = 32
#: So many times as many rows, those that are missed least, are looked at for a batch. Within them the order is exact.
_LOOK_AT = 4
_RIDGE = 1e-3  # ε: votes that cancel each other stay small
_JITTER = 1e-8  # added to the diagonal of K, so that equal rows do not make it singular
_BLOCK_CELLS = 8_000_000  # kernel values of one block


class Compressed(NamedTuple):
    """Stored rows, ascending, and their votes."""

    rows: IndexArray
    alpha: FloatArray  # (n_stored, n_outputs)


def compress_votes(
    metric: Metric, solution: Solution, candidates: IndexArray, n_kept: int, rng: np.random.Generator
) -> Compressed:
    """Choose ``n_kept`` rows, and fit their votes to the scores of all rows.

    Parameters
    ----------
    metric : Metric
        All rows.
    solution : Solution
        The votes of all rows.
    candidates : ndarray of int
        Rows that may be stored.
    n_kept : int
    rng : Generator
        Draws the recombined rows.
    """
    width = solution.width
    inside = kernel_of(metric.all_pairs(), width)
    products, targets = np.zeros((len(candidates),) * 2), np.zeros((len(candidates), solution.alpha.shape[1]))
    for kernel in _kernels(metric, inside, width, rng):
        part = kernel[:, candidates]
        products += part.T @ part
        targets += part.T @ (kernel @ solution.alpha)
    inside = inside[np.ix_(candidates, candidates)]
    kept, alpha = eliminate_rows(products, inside, _RIDGE, targets, n_kept)
    return Compressed(candidates[kept], alpha)


def _kernels(metric: Metric, inside: FloatArray, width: float, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield the kernel of all points and all rows, in blocks: first that of the rows themselves, ``inside``."""
    yield inside
    rows = metric.fold(metric.references.rows)
    ranges = column_ranges(rows)
    # Constant columns take no random numbers, so that a table without them has the same recombined rows.
    columns = np.flatnonzero((ranges.low < ranges.high) | ranges.missing)
    size = max(64, _BLOCK_CELLS // max(rows.shape))
    wanted = min(RECOMBINED * metric.n, MOST_RECOMBINED)
    for begin in range(0, wanted, size):
        points = recombine_rows(rows, columns, min(size, wanted - begin), rng)
        yield kernel_of(metric.between(points), width)


def recombine_rows(rows: Any, columns: IndexArray, n_points: int, rng: np.random.Generator) -> FloatArray:
    """Return rows whose cells come, each with probability ½, from one of two drawn rows.

    Numbers, categories and missing cells are all as they occur in the table. ``columns`` are those in which cells may
    come from the second row.
    """
    first, second = rng.integers(rows.shape[0], size=(2, n_points))
    mixed, other = (part.toarray() if sparse.issparse(part) else part for part in (rows[first], rows[second]))
    from_second = np.zeros(mixed.shape, dtype=bool)
    from_second[:, columns] = rng.random((n_points, len(columns))) < 0.5
    mixed[from_second] = other[from_second]
    return mixed


def eliminate_rows(
    products: FloatArray,
    inside: FloatArray,
    ridge: float,
    targets: FloatArray,
    n_kept: int,
    *,
    batch: int = BATCH,
) -> tuple[IndexArray, FloatArray]:
    """Eliminate rows one by one until ``n_kept`` are left. Return their positions, ascending, and their votes.

    Parameters
    ----------
    products : ndarray of shape (n, n)
        K_zSᵀ K_zS of all rows.
    inside : ndarray of shape (n, n)
        Their kernel K_SS.
    ridge : float
        ε.
    targets : ndarray of shape (n, n_outputs)
        K_zSᵀ (f(z) − μ).
    n_kept : int
    batch : int
        How many rows leave before the others are updated. With 1, each is the one of all rows that is missed least.

    Examples
    --------
    Of two near rows with equal scores, one is enough:

    >>> x = np.array([0.0, 0.1, 3.0])
    >>> kernel = np.exp(-np.abs(x[:, None] - x))
    >>> scores = np.array([[0.0], [0.0], [1.0]])
    >>> eliminate_rows(kernel.T @ kernel, kernel, 0.1, kernel.T @ scores, 2)[0]
    array([1, 2])
    """
    alive = np.arange(len(products))
    beta, inverse = _solve_all(products, inside, ridge, targets)
    while len(alive) > n_kept:
        leaving = _choose_batch(beta, inverse, min(batch, len(alive) - n_kept))
        staying = np.setdiff1d(np.arange(len(alive)), leaving)
        beta, inverse = _leave_out(beta, inverse, leaving, staying)
        alive = alive[staying]
    return alive, beta


def _solve_all(
    products: FloatArray, inside: FloatArray, ridge: float, targets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the votes of all rows, and the inverse of their system. The parameters are those of `eliminate_rows`."""
    system = products + ridge * inside
    diagonal = np.einsum("ii->i", system)
    diagonal += ridge * _JITTER
    # Rounding may hide a small ridge where rows are nearly equal. A little more on the diagonal then helps.
    lift = 1e-12 * float(diagonal.mean())
    while True:
        try:
            factor = cho_factor(system, lower=True, check_finite=False)
            break
        except np.linalg.LinAlgError:
            diagonal += lift
            lift *= 100
    inverse = cho_solve(factor, np.eye(len(system)), check_finite=False)
    # Rounding has made it a little unsymmetric, which the updates would carry on.
    return cho_solve(factor, targets, check_finite=False), (inverse + inverse.T) / 2.0


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
        least = int(np.argmin(np.where(left, _growth(votes, np.diagonal(part)), np.inf)))
        left[least] = False
        column = part[:, least] / part[least, least]
        votes = votes - column[:, None] * votes[least]
        part = part - column[:, None] * part[least]
        part[least, least] = 1.0  # The row has left. Its diagonal must not become 0, by which others are divided.
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
