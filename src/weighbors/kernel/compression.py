"""Compress the votes of all rows to the votes of few stored rows, with nearly the same scores.

The scores f of all rows are known everywhere. Votes β of stored rows S are fitted to them, by least squares over many
points z: Σ_z ‖f(z) − μ − Σ_{i∈S} K(z, x_i) β_i‖² + ε βᵀ K_SS β. The points are the training rows and recombined rows,
each cell of which comes from one of two training rows. Without recombined rows, S would be fitted where f is known from
labels, but not between the training rows, where it is used.

S is found by backward elimination. If G is the inverse of the system K_zSᵀ K_zS + ε K_SS, the sum above grows by
β_i² / G_ii when row i leaves S and all other votes are fitted again (Hassibi & Stork 1993). No system is solved for
this: β and G of the smaller set follow from those of the larger one.

A row that stands for many others should be heard near by and far away, but differently. So when twice as many rows are
left as are wanted, each gets votes of several widths L: f(z) ≈ μ + Σ_L Σ_{i∈S} exp(−d(z, x_i) / L) β_iL. The rows leave
in the same way, with all their votes. The penalty is then ε Σ_L Σ_i β_iL², which keeps the votes as small as those of
all rows: votes that cancel each other would explain nothing.
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
from .votes import WidthVotes

__all__ = ["Compressed", "compress_votes", "eliminate_rows", "recombine_rows"]

#: How many recombined rows there are for each row, and at most.
RECOMBINED, MOST_RECOMBINED = 10, 10_000
#: Widths of the votes of stored rows, as multiples of that of all rows. The first ones are taken, as many as there are
#: rows for each stored row.
WIDTHS = (1.0, 2.0, 4.0, 0.5)
#: Rows that leave together: one product of matrices then updates all others.
BATCH = 32
#: So many times as many rows, those that are missed least, are looked at for a batch. Within them the order is exact.
_LOOK_AT = 4
#: If twice as many rows as are wanted have more votes than this, rows leave with votes of one width only, and those of
#: the other widths are fitted at the end.
MOST_COLUMNS = 4000
_RIDGE = 1e-3  # ε: votes that cancel each other stay small
_RIDGE_OF_WIDTHS = 1e-2  # the same for votes of several widths
_JITTER = 1e-11  # added to the diagonal of the system, so that equal rows do not make it singular
_BLOCK_CELLS = 8_000_000  # kernel values of one block


class Compressed(NamedTuple):
    """Stored rows, ascending, and their votes, of one width or more."""

    rows: IndexArray
    votes: tuple[WidthVotes, ...]


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
    width, inside = solution.width, metric.all_pairs()
    products, targets = _sum_products(metric, inside, solution, candidates, [width], rng)
    within = _RIDGE * kernel_of(inside[np.ix_(candidates, candidates)], width)
    widths = [ratio * width for ratio in WIDTHS[: metric.n // n_kept]]
    # Twice as many rows are left for the elimination with all widths, if their system is not too large.
    twice = len(widths) > 1 and len(widths) * 2 * n_kept <= MOST_COLUMNS
    kept, alpha = eliminate_rows(products, within, targets, min(2 * n_kept, len(candidates)) if twice else n_kept)
    rows = candidates[kept]
    if len(widths) > 1:
        products, targets = _sum_products(metric, inside, solution, rows, widths, rng)
        penalty = _RIDGE_OF_WIDTHS * np.eye(len(products))
        kept, alpha = eliminate_rows(products, penalty, targets, n_kept, n_widths=len(widths))
        rows = rows[kept]
    by_width = alpha.reshape(len(rows), len(widths), -1).transpose(1, 0, 2)
    return Compressed(rows, tuple(map(WidthVotes, widths, np.ascontiguousarray(by_width))))


def _sum_products(
    metric: Metric,
    inside: FloatArray,
    solution: Solution,
    rows: IndexArray,
    widths: list[float],
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return K_zSᵀ K_zS and K_zSᵀ (f(z) − μ), summed over all points z.

    S are the rows with the numbers ``rows``, each with all widths in turn. ``inside`` are the distances of all pairs of
    rows. The other parameters are those of `compress_votes`.
    """
    size = len(widths) * len(rows)
    products, targets = np.zeros((size, size)), np.zeros((size, solution.alpha.shape[1]))
    for distance in _distances(metric, inside, rng):
        some = distance[:, rows]
        part = np.stack([kernel_of(some, width) for width in widths], axis=2).reshape(len(some), size)
        products += part.T @ part
        targets += part.T @ (kernel_of(distance, solution.width) @ solution.alpha)
    return products, targets


def _distances(metric: Metric, inside: FloatArray, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield the distances of all points to all rows, in blocks: first those of the rows themselves, ``inside``."""
    rows = metric.fold(metric.references.rows)
    size = max(64, _BLOCK_CELLS // max(rows.shape))
    for begin in range(0, metric.n, size):
        yield inside[begin : begin + size]
    ranges = column_ranges(rows)
    # Constant columns take no random numbers, so that a table without them has the same recombined rows.
    columns = np.flatnonzero((ranges.low < ranges.high) | ranges.missing)
    wanted = min(RECOMBINED * metric.n, MOST_RECOMBINED)
    for begin in range(0, wanted, size):
        yield metric.between(recombine_rows(rows, columns, min(size, wanted - begin), rng))


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
    penalty: FloatArray,
    targets: FloatArray,
    n_kept: int,
    *,
    n_widths: int = 1,
    batch: int = BATCH,
) -> tuple[IndexArray, FloatArray]:
    """Eliminate rows one by one until ``n_kept`` are left. Return their positions, ascending, and their votes.

    Parameters
    ----------
    products : ndarray of shape (n · n_widths, n · n_widths)
        K_zSᵀ K_zS of all rows, each with all widths in turn.
    penalty : ndarray of the same shape
        What is added to it: ε K_SS, or ε times the unit matrix.
    targets : ndarray of shape (n · n_widths, n_outputs)
        K_zSᵀ (f(z) − μ).
    n_kept : int
    n_widths : int
        How many votes a row has. They leave together.
    batch : int
        How many rows leave before the others are updated. With 1, each is the one of all rows that is missed least.

    Returns
    -------
    ndarray of shape (n_kept,), ndarray of shape (n_kept · n_widths, n_outputs)

    Examples
    --------
    Of two near rows with equal scores, one is enough:

    >>> x = np.array([0.0, 0.1, 3.0])
    >>> kernel = np.exp(-np.abs(x[:, None] - x))
    >>> scores = np.array([[0.0], [0.0], [1.0]])
    >>> eliminate_rows(kernel.T @ kernel, 0.1 * kernel, kernel.T @ scores, 2)[0]
    array([1, 2])
    """
    alive = np.arange(len(products) // n_widths)
    factor = _factorize(products + penalty)
    beta = cho_solve(factor, targets, check_finite=False)
    if len(alive) <= n_kept:
        return alive, beta
    inverse = cho_solve(factor, np.eye(len(products)), check_finite=False)
    inverse = (inverse + inverse.T) / 2.0  # Rounding has made it a little unsymmetric, which updates would carry on.
    while len(alive) > n_kept:
        leaving = _choose_batch(beta, inverse, n_widths, min(batch, len(alive) - n_kept))
        staying = np.setdiff1d(np.arange(len(alive)), leaving)
        beta, inverse = _leave_out(beta, inverse, _columns(leaving, n_widths), _columns(staying, n_widths))
        alive = alive[staying]
    return alive, beta


def _factorize(system: FloatArray) -> tuple[FloatArray, bool]:
    """Return the Cholesky factor of a system, whose diagonal is raised a little until there is one."""
    diagonal = np.einsum("ii->i", system)
    # Rounding may hide a small penalty where rows are nearly equal. A little more on the diagonal then helps.
    lift = 1e-12 * float(diagonal.mean())
    diagonal += _JITTER
    while True:
        try:
            factor: tuple[FloatArray, bool] = cho_factor(system, lower=True, check_finite=False)
            return factor
        except np.linalg.LinAlgError:
            diagonal += lift
            lift *= 100


def _columns(rows: IndexArray, n_widths: int) -> IndexArray:
    """Return the columns of the votes of rows."""
    return (rows[:, None] * n_widths + np.arange(n_widths)).ravel()


def _growth(beta: FloatArray, inverse: FloatArray, n_widths: int) -> FloatArray:
    """Return by how much the squared error grows when each row leaves: βᵢᵀ Gᵢᵢ⁻¹ βᵢ."""
    n = len(beta) // n_widths
    own = np.einsum("iaib->iab", inverse.reshape(n, n_widths, n, n_widths))
    votes = beta.reshape(n, n_widths, -1)
    if n_widths == 1:
        growth: FloatArray = (votes[:, 0] ** 2).sum(axis=1) / np.maximum(own[:, 0, 0], 1e-300)
        return growth
    return np.einsum("iak,iak->i", votes, np.linalg.solve(own, votes))


def _choose_batch(beta: FloatArray, inverse: FloatArray, n_widths: int, n_leaving: int) -> IndexArray:
    """Return the positions of the rows that leave next.

    Two rows that stand in for each other both look as if they were not needed. So rows leave one by one: the votes of
    the rows that are looked at follow from the small part of the inverse that belongs to them.
    """
    growth = _growth(beta, inverse, n_widths)
    if n_leaving == 1:
        return np.array([int(np.argmin(growth))])
    looked_at = np.sort(np.argsort(growth, kind="stable")[: _LOOK_AT * n_leaving])
    columns = _columns(looked_at, n_widths)
    part, votes = inverse[np.ix_(columns, columns)], beta[columns]
    left = np.ones(len(looked_at), dtype=bool)
    for _ in range(n_leaving):
        least = int(np.argmin(np.where(left, _growth(votes, part, n_widths), np.inf)))
        left[least] = False
        own = slice(least * n_widths, (least + 1) * n_widths)
        share = np.linalg.solve(part[own, own], part[own]).T
        votes = votes - share @ votes[own]
        part = part - share @ part[own]
        part[own, own] = np.eye(n_widths)  # The row has left. It must not become singular, as it is solved again.
    return looked_at[~left]


def _leave_out(
    beta: FloatArray, inverse: FloatArray, leaving: IndexArray, staying: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Return votes and inverse of the columns ``staying`` when those ``leaving`` are gone."""
    cross = inverse[np.ix_(staying, leaving)]
    factor = cho_factor(inverse[np.ix_(leaving, leaving)], lower=True, check_finite=False)
    left = inverse[np.ix_(staying, staying)]
    left -= cross @ cho_solve(factor, cross.T, check_finite=False)
    return beta[staying] - cross @ cho_solve(factor, beta[leaving], check_finite=False), left
