"""Choose the width of the kernel and the ridge by leave-one-out, on a grid.

The width is one of a few multiples of the median distance, the ridge one of a logarithmic grid. The loss of a grid
point is the mean squared leave-one-out residual. Few rows: every point is computed, by one eigendecomposition per
width. More rows: the best point of a drawn part of the rows is where a search on all rows starts. It goes to a better
neighbour on the grid until there is none, and each point costs one Cholesky factorisation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray
from .solve import Solution, kernel_of, left_out_residuals, mean_square, solve_all, weighted_mean

WIDTHS = (0.5, 1.0, 2.0, 4.0, 8.0)  # multiples of the median distance
RIDGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
#: Up to so many rows, every point of the grid is computed; of more rows, so many are drawn for the start.
EVERY_POINT = 400

Point = tuple[int, int]  # positions of a width and a ridge on the grid


@dataclass(frozen=True)
class Choice:
    """The best grid point, and all points that were computed."""

    width: float
    ridge: float
    scale: float  # the typical distance, of which the widths of the grid are multiples
    tried: list[dict[str, float]]  # width, ridge and loss of each point


def median_distance(distance: FloatArray, repetition: FloatArray | None = None) -> float:
    """Return the median distance of all pairs of rows, or their mean if the median is 0, or 1 if all are 0.

    A row of repetition weight s counts as s rows, which have distance 0 from each other.
    """
    # The upper triangle without the diagonal, row by row: `numpy.triu_indices` would need n² numbers more.
    pairs = np.concatenate([row[i + 1 :] for i, row in enumerate(distance)])
    if repetition is None:
        found = float(np.median(pairs)) if len(pairs) else 0.0
    else:
        weight = np.concatenate([repetition[i] * repetition[i + 1 :] for i in range(len(distance))])
        copies = float((repetition * np.maximum(repetition - 1.0, 0.0)).sum() / 2.0)
        found = _weighted_median(pairs, weight, copies)
    if found > 0:
        return found
    mean = float(pairs.mean()) if len(pairs) else 0.0
    return mean if mean > 0 else 1.0


def _weighted_median(values: FloatArray, weight: FloatArray, at_zero: float) -> float:
    """Return the weighted median of values that are not negative, with a further weight ``at_zero`` of zeros.

    It is the mean of the two middle values, as `numpy.median` has it, where the weights are whole numbers.
    """
    order = np.argsort(values, kind="stable")
    total = weight[order]
    np.cumsum(total, out=total)
    whole = (total[-1] if len(total) else 0.0) + at_zero
    near = 1e-12 * whole

    def value_at(part: float) -> float:
        place = int(np.searchsorted(total, part - at_zero))
        if part <= at_zero or not len(values):
            return 0.0
        return float(values[order[min(place, len(values) - 1)]])

    return (value_at(whole / 2.0 - near) + value_at(whole / 2.0 + near)) / 2.0


def choose_parameters(
    distance: FloatArray,
    Y: FloatArray,
    repetition: FloatArray | None,
    rng: np.random.Generator,
    *,
    width: float | str = "auto",
    ridge: float | str = "auto",
) -> tuple[Solution, Choice]:
    """Return the solution with the least leave-one-out loss on a grid, and the points that were computed.

    Parameters
    ----------
    distance : ndarray of shape (n, n)
    Y : ndarray of shape (n, n_outputs)
    repetition : ndarray of shape (n,), or None
    rng : Generator
        Draws the rows on which the search starts.
    width, ridge : "auto" or float
        L itself and λ. A number is not chosen but taken.
    """
    n, scale = len(distance), median_distance(distance, repetition)
    widths, ridges = list_points(width, ridge, scale)
    work = np.empty_like(distance)  # the median needs memory of this size, too: first one, then the other
    losses: dict[Point, float] = {}
    best: Solution | None = None

    def loss_at(point: Point) -> float:
        nonlocal best
        solution = solve_all(distance, widths[point[0]], ridges[point[1]], Y, repetition, work=work)
        losses[point] = solution.loss
        if first_least(losses) == point:  # Only the best one is kept: the others are as large as Y.
            best = solution
        return solution.loss

    if len(widths) * len(ridges) == 1:
        tried = {(0, 0): loss_at((0, 0))}
    elif n <= EVERY_POINT:
        tried = _every_loss(distance, Y, repetition, widths, ridges)
        loss_at(first_least(tried))
    else:
        rows = np.sort(rng.choice(n, EVERY_POINT, replace=False))
        part = None if repetition is None else repetition[rows]
        start = first_least(_every_loss(distance[np.ix_(rows, rows)], Y[rows], part, widths, ridges))
        tried = search_grid(loss_at, start, (len(widths), len(ridges)))
    assert best is not None
    return best, name_choice(tried, widths, ridges, scale)


def list_points(width: float | str, ridge: float | str, scale: float) -> tuple[list[float], list[float]]:
    """Return the widths and ridges of the grid. ``scale`` is the distance of which widths are multiples."""
    widths = [ratio * scale for ratio in WIDTHS] if isinstance(width, str) else [float(width)]
    return widths, list(RIDGES) if isinstance(ridge, str) else [float(ridge)]


def name_choice(losses: dict[Point, float], widths: Sequence[float], ridges: Sequence[float], scale: float) -> Choice:
    """Return the best of the points that were computed, and all of them, by their widths and ridges."""
    best = first_least(losses)
    tried = [{"width": widths[i], "ridge": ridges[j], "loss": loss} for (i, j), loss in losses.items()]
    return Choice(widths[best[0]], ridges[best[1]], scale, tried)


def search_grid(loss_at: Callable[[Point], float], start: Point, shape: Point) -> dict[Point, float]:
    """Go from a grid point to its best neighbour until none is better, and return all losses.

    Parameters
    ----------
    loss_at : callable
        Loss of a grid point. It is called once per point.
    start : (int, int)
    shape : (int, int)
        Size of the grid.
    """
    losses = {start: loss_at(start)}
    here = start
    while True:
        for step in ((0, -1), (0, 1), (-1, 0), (1, 0)):
            point = (here[0] + step[0], here[1] + step[1])
            if 0 <= point[0] < shape[0] and 0 <= point[1] < shape[1] and point not in losses:
                losses[point] = loss_at(point)
        best = first_least(losses)
        if best == here:
            return losses
        here = best


def first_least(losses: dict[Point, float]) -> Point:
    """Return the point of least loss. Of equal ones, the one with the larger ridge, then the larger width."""
    return min(losses, key=lambda point: (losses[point], -point[1], -point[0]))


def _every_loss(
    distance: FloatArray,
    Y: FloatArray,
    repetition: FloatArray | None,
    widths: Sequence[float],
    ridges: Sequence[float],
) -> dict[Point, float]:
    """Return the loss of every grid point. The parameters are those of `choose_parameters`."""
    s = np.ones(len(Y)) if repetition is None else repetition
    root = np.sqrt(s)
    target = root[:, None] * (Y - weighted_mean(Y, repetition))
    losses = {}
    for i, width in enumerate(widths):
        # K + λ S⁻¹ = S^−½ (S^½ K S^½ + λ) S^−½: one decomposition of the matrix in brackets serves every ridge.
        system = kernel_of(distance, width)
        system *= root[:, None]
        system *= root[None, :]
        values, vectors = np.linalg.eigh(system)
        projected = vectors.T @ target
        lift = max(0.0, -float(values[0]) * 1.01)  # makes the system positive definite where K is not
        for j, ridge in enumerate(ridges):
            inverse = 1.0 / (values + (ridge + lift))
            alpha = root[:, None] * (vectors @ (inverse[:, None] * projected))
            diagonal = s * ((vectors * vectors) @ inverse)
            residuals = left_out_residuals(alpha, diagonal, ridge + lift, repetition)
            losses[i, j] = mean_square(residuals, repetition)
    return losses
