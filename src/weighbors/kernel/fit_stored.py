"""Fit the votes of few stored rows: choose these rows, then fit their votes to all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._typing import IndexArray
from ..engine import build_references
from ..weights import Weights
from .centers import Block, choose_centers, distances_to_stored, left_out_scores, solve_centers
from .choice import Choice, choose_parameters, median_distance
from .compression import compress_votes
from .fitted import (
    CHOICE_ROWS,
    FittedVotes,
    VotesPlan,
    VotesSettings,
    check_memory,
    draw_rows,
    feature_part,
    grid_of,
    list_tried,
)
from .gradient import Table
from .metric import Metric
from .ridge import Solution, kernel_of
from .votes import StoredVotes

__all__ = ["fit_stored"]

#: Up to the second number of rows, votes are compressed from those of all rows. Of more rows, at least the first
#: number is drawn, from which the stored rows are chosen.
POOL = (2000, 4000)
_LEFT_OUT = 4000  # rows that are left out, one at a time, for the calibration
_BLOCK_CELLS = 8_000_000  # kernel values of one block
_LEAST_BLOCK = 256  # rows


def fit_stored(
    table: Table, settings: VotesSettings, weights: Weights, rng: np.random.Generator, reason: str
) -> FittedVotes:
    """Let few stored rows vote.

    Parameters
    ----------
    table : Table
    settings : VotesSettings
    weights : Weights
        Feature weights, feature and instance masks.
    rng : Generator
    reason : str
        Why few rows are stored, for the plan.
    """
    compresses = _compresses(table, settings, weights) and table.rows.shape[0] <= POOL[1]
    return (_fit_compressed if compresses else _fit_drawn)(table, settings, weights, rng, reason)


def _n_wanted(settings: VotesSettings, n: int) -> int:
    """Return how many of n rows are to be stored."""
    wanted = settings.n_stored
    if wanted is None:
        return n
    return min(n, max(1, round(wanted * n)) if wanted < 1 else int(wanted))


def _compresses(table: Table, settings: VotesSettings, weights: Weights) -> bool:
    """Return whether the stored rows are chosen by compression. The parameters are those of `fit_stored`."""
    n = table.rows.shape[0] if weights.instance_mask is None else int(weights.instance_mask.sum())
    by = settings.stored_by
    wanted = by == "compression" or (by == "auto" and table.in_memory)
    return wanted and _n_wanted(settings, table.rows.shape[0]) < min(n, POOL[1])


class _Teacher(NamedTuple):
    """Rows that all vote, whose scores fewer rows are fitted to."""

    metric: Metric
    solution: Solution
    choice: Choice


def _solve_teacher(table: Table, settings: VotesSettings, weights: Weights, rng: np.random.Generator) -> _Teacher:
    """Let all rows of a table vote. The parameters are those of `fit_stored`."""
    check_memory(table.rows.shape[0], "stored_by='draw'")
    references = build_references(table.rows, weights=feature_part(weights), p=settings.p, nominal=table.nominal)
    metric = Metric(references, settings.n_jobs)
    distance = metric.all_pairs()
    widths, ridges = grid_of(settings, median_distance(distance, table.repetition))
    return _Teacher(metric, *choose_parameters(distance, table.Y, table.repetition, widths, ridges, rng))


def _choose_stored(table: Table, settings: VotesSettings, weights: Weights, rng: np.random.Generator) -> IndexArray:
    """Return the numbers of the rows to store, ascending. The parameters are those of `fit_stored`."""
    n = table.rows.shape[0]
    candidates = np.arange(n) if weights.instance_mask is None else np.flatnonzero(weights.instance_mask)
    number = _n_wanted(settings, n)
    if not _compresses(table, settings, weights):
        return candidates[draw_rows(len(candidates), number, rng)]
    # All rows are too many to solve for. Some of them are drawn, several for each row that is stored.
    pool = candidates[draw_rows(len(candidates), int(np.clip(4 * number, *POOL)), rng)]
    part = table.take(pool)
    teacher = _solve_teacher(part, settings, weights, rng)
    every = np.arange(len(pool))
    return pool[compress_votes(teacher.metric, teacher.solution, every, number, rng).rows]


def _fit_compressed(
    table: Table, settings: VotesSettings, weights: Weights, rng: np.random.Generator, reason: str
) -> FittedVotes:
    """Let few rows vote, with votes fitted to the scores of all rows. The parameters are those of `fit_stored`."""
    n, in_memory = table.rows.shape[0], table.in_memory
    table = table if in_memory else table.take(np.arange(n))
    metric, solution, choice = _solve_teacher(table, settings, weights, rng)
    candidates = np.arange(n) if weights.instance_mask is None else np.flatnonzero(weights.instance_mask)
    stored, ((width, alpha), *more) = compress_votes(metric, solution, candidates, _n_wanted(settings, n), rng)
    near = _stored_metric(table, settings, weights, stored)
    votes = StoredVotes(near, alpha, solution.intercept, width, tuple(more))
    # Leaving a row out changes the scores of all rows at this row by λα/s − e, where e is its residual when it is left
    # out. The scores of the stored rows are taken to change by as much.
    counts = np.ones(n) if table.repetition is None else table.repetition
    change = solution.ridge * solution.alpha / counts[:, None] - solution.residuals
    every = votes.near_alpha
    if in_memory:
        every = np.zeros((n, table.Y.shape[1]))
        every[stored] = votes.near_alpha
    plan = VotesPlan(
        "stored rows", reason, n, len(stored), table.rows.shape[1], settings.p, 3 * 8 * n * n / 1e6, "",
    )  # fmt: skip
    return FittedVotes(
        votes, weights, every, solution.intercept, solution.width, solution.ridge, np.arange(n),
        votes.scores(table.rows) + change, list_tried(choice.tried), plan, None, stored,
    )  # fmt: skip


def _stored_metric(table: Table, settings: VotesSettings, weights: Weights, stored: IndexArray) -> Metric:
    """Return the distance to the stored rows. The other parameters are those of `fit_stored`.

    Missing cells are as far from others as among all rows, also those that are not stored.
    """
    kept = table.rows if len(stored) == table.rows.shape[0] and table.in_memory else table.rows[stored]
    references = build_references(
        kept, weights=feature_part(weights), p=settings.p, nominal=table.nominal, measured=table.ranges()
    )
    return Metric(replace(references, row_of_slot=stored), settings.n_jobs)


def _fit_drawn(
    table: Table, settings: VotesSettings, weights: Weights, rng: np.random.Generator, reason: str
) -> FittedVotes:
    """Let few rows vote, with votes solved over all targets. The parameters are those of `fit_stored`."""
    n = table.rows.shape[0]
    stored = _choose_stored(table, settings, weights, rng)
    check_memory(len(stored))
    slot_of_row = np.full(n, -1)
    slot_of_row[stored] = np.arange(len(stored))
    metric = _stored_metric(table, settings, weights, stored)
    mean = table.mean()

    def block(rows: Any, read: Any = None) -> Block:
        repetition = None if table.repetition is None else table.repetition[rows]
        read = table.rows[rows] if read is None else read
        return Block(metric.select(read), table.Y[rows], repetition, slot_of_row[rows])

    # As many rows as there are stored ones would ask for too large a ridge: there must be several rows per vote.
    drawn = block(draw_rows(n, max(CHOICE_ROWS, 5 * len(stored)), rng))
    inside = metric.all_pairs()
    widths, ridges = grid_of(settings, median_distance(inside))
    choice = choose_centers(metric, drawn, widths, ridges, mean)
    size = max(_LEAST_BLOCK, _BLOCK_CELLS // len(stored))

    def blocks() -> Iterator[Block]:
        """Yield all rows. Rows of a part are read once, and measured in blocks of ``size`` rows."""
        for part in table.parts():
            read = table.rows[part]
            for begin in range(part.start, part.stop, size):
                end = min(begin + size, part.stop)
                yield block(slice(begin, end), read[begin - part.start : end - part.start])

    alpha, factor = solve_centers(metric, blocks(), choice.width, choice.ridge, mean)
    rows = draw_rows(n, max(CHOICE_ROWS, _LEFT_OUT), rng)
    left = block(rows)
    left_out = left_out_scores(kernel_of(distances_to_stored(metric, left), choice.width), left, mean, alpha, factor)
    every = alpha
    if table.in_memory:
        every = np.zeros((n, table.Y.shape[1]))
        every[stored] = alpha
    plan = VotesPlan(
        "stored rows", reason, n, len(stored), table.rows.shape[1], settings.p,
        8 * (3 * len(stored) ** 2 + 2 * min(n, size) * len(stored)) / 1e6, "",
    )  # fmt: skip
    return FittedVotes(
        StoredVotes(metric, alpha, mean, choice.width), weights, every, mean, choice.width, choice.ridge, rows,
        left_out, list_tried(choice.tried), plan, None, stored,
    )  # fmt: skip
