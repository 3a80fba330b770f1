"""Votes of few stored rows, solved over all rows (Nyström's method), in bounded memory.

With S the stored rows and N all rows, α = (K_NSᵀ D K_NS + λ K_SS)⁻¹ K_NSᵀ D (Y − μ), D the repetition weights. The sums
over N are made block by block, so that only matrices of the size of S are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from .._typing import FloatArray, IndexArray
from .choice import Choice, search_choice
from .metric import Metric
from .ridge import kernel_of

__all__ = ["Block", "choose_centers", "distances_to_stored", "left_out_scores", "solve_centers"]

_JITTER = 1e-10  # relative to the mean of the diagonal: keeps the system positive definite where rows repeat


class Block(NamedTuple):
    """Some training rows, folded, with their targets and repetition weights."""

    rows: Any
    Y: FloatArray
    repetition: FloatArray | None
    slot: IndexArray | None = None  # the slot of each row among the stored rows, -1: not stored


def distances_to_stored(metric: Metric, block: Block) -> FloatArray:
    """Return the distances of the rows of a block to all stored rows.

    A stored row is at distance 0 from itself, as in the distances of the stored rows, also if it has missing cells.
    """
    distance = metric.between(block.rows)
    if block.slot is not None:
        inside = np.flatnonzero(block.slot >= 0)
        distance[inside, block.slot[inside]] = 0.0
    return distance


class _Sums(NamedTuple):
    """Sums over all rows: the products of kernels, and of kernels and targets."""

    products: FloatArray  # (n_stored, n_stored)
    targets: FloatArray  # (n_stored, n_outputs)


def _sum_blocks(metric: Metric, blocks: Iterable[Block], width: float, mean: FloatArray) -> _Sums:
    """Add up the products of all blocks, in their order."""
    products = np.zeros((metric.n, metric.n))
    targets = np.zeros((metric.n, len(mean)))
    for block in blocks:
        kernel = kernel_of(distances_to_stored(metric, block), width)
        weighted = kernel if block.repetition is None else kernel * block.repetition[:, None]
        products += weighted.T @ kernel
        targets += weighted.T @ (block.Y - mean)
    return _Sums(products, targets)


def _factor(sums: _Sums, stored: FloatArray, ridge: float) -> Any:
    """Return the Cholesky factor of the system. ``stored`` is the kernel of the stored rows."""
    system = sums.products + ridge * stored
    jitter = _JITTER
    while True:
        try:
            lifted = system + np.diag(np.full(len(system), jitter * np.trace(system) / len(system)))
            return cho_factor(lifted, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            if not jitter < 1e3:  # The system is not finite, and no jitter would help.
                raise
            jitter *= 100


def solve_centers(
    metric: Metric, blocks: Iterable[Block], width: float, ridge: float, mean: FloatArray
) -> tuple[FloatArray, Any]:
    """Return the votes α of the stored rows, and the Cholesky factor of the system.

    Parameters
    ----------
    metric : Metric
        The stored rows.
    blocks : iterable of Block
        All training rows, in parts.
    width, ridge : float
    mean : ndarray of shape (n_outputs,)
    """
    sums = _sum_blocks(metric, blocks, width, mean)
    factor = _factor(sums, kernel_of(metric.all_pairs(), width), ridge)
    return cho_solve(factor, sums.targets, check_finite=False), factor


def left_out_scores(kernel: FloatArray, block: Block, mean: FloatArray, alpha: FloatArray, factor: Any) -> FloatArray:
    """Return the scores of the rows of a block when each is left out. The stored rows stay stored.

    Parameters
    ----------
    kernel : ndarray of shape (n_rows, n_stored)
        Kernel of the rows of the block and the stored rows.
    block : Block
    mean : ndarray of shape (n_outputs,)
    alpha, factor
        As `solve_centers` returns them.
    """
    fitted = mean + kernel @ alpha
    # The leverage of a row is s k' M⁻¹ k: the squared length of the solution of one triangular system.
    half = solve_triangular(factor[0], kernel.T, lower=True, check_finite=False)
    leverage = np.einsum("ij,ij->j", half, half)
    if block.repetition is not None:
        leverage *= np.minimum(block.repetition, 1.0)
    residual = (block.Y - fitted) / np.maximum(1.0 - leverage, 1e-8)[:, None]
    scores: FloatArray = block.Y - residual
    return scores


def choose_centers(
    metric: Metric, block: Block, widths: Sequence[float], ridges: Sequence[float], mean: FloatArray
) -> Choice:
    """Choose width and ridge by leave-one-out over the rows of one block.

    Parameters
    ----------
    metric : Metric
        The stored rows.
    block : Block
        Drawn training rows.
    widths, ridges : sequences of float
    mean : ndarray of shape (n_outputs,)
    """
    stored, distance = metric.all_pairs(), distances_to_stored(metric, block)

    @lru_cache(maxsize=1)  # the search often stays at one width
    def sums_of(i: int) -> tuple[FloatArray, FloatArray, _Sums]:
        kernel = kernel_of(distance, widths[i])
        weighted = kernel if block.repetition is None else kernel * block.repetition[:, None]
        return kernel, kernel_of(stored, widths[i]), _Sums(weighted.T @ kernel, weighted.T @ (block.Y - mean))

    def loss_at(point: tuple[int, int]) -> float:
        kernel, inside, sums = sums_of(point[0])
        factor = _factor(sums, inside, ridges[point[1]])
        alpha = cho_solve(factor, sums.targets, check_finite=False)
        scores = left_out_scores(kernel, block, mean, alpha, factor)
        return float(np.average(((block.Y - scores) ** 2).sum(axis=1), weights=block.repetition))

    return search_choice(loss_at, widths, ridges)
