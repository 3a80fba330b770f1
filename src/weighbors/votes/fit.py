"""Fit learned votes to a coded table: decide who votes, choose width and ridge, solve, and leave rows out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import AnyArray, FloatArray, IndexArray
from ..engine import ColumnRanges, build_references
from ..engine.references import column_ranges
from ..exceptions import InvalidDataError
from ..weights import Weights
from .choice import choose_parameters, median_distance
from .fitted import (
    CHOICE_ROWS,
    FittedVotes,
    VotesPlan,
    VotesSettings,
    check_memory,
    draw_voting_rows,
    feature_part,
    grid_of,
    list_tried,
)
from .gradient import FeatureChoice, Table, choose_feature_weights, learn_feature_weights
from .local import LocalVotes, choose_local
from .metric import Metric, check_symmetric
from .votes import StoredVotes

#: Up to so many different rows, n_neighbors="auto" lets all rows vote.
ALL_ROWS = 4000
#: Above that, "auto" lets so many of the nearest rows vote.
AUTO_NEIGHBORS = 100
#: Rows from which feature weights are learned where not all rows vote.
WEIGHT_ROWS = 2000
_LEAST_LOCAL_RIDGE = 1e-10
_DENSE_CELLS = 10_000_000  # Sparse rows of at most so many cells are made dense to find repeated ones.


def fit_votes(table: Table, settings: VotesSettings, weights: Weights | None, rng: np.random.Generator) -> FittedVotes:
    """Fit votes to a table.

    Parameters
    ----------
    table : Table
    settings : VotesSettings
    weights : Weights or None
        Feature weights, feature and instance masks. None: feature weights are learned from the solution, if that helps.
    rng : Generator
        Draws rows for choices.
    """
    if weights is not None:
        check_symmetric(weights)
    chosen: FeatureChoice | None = None
    selected = None if weights is None or weights.instance_mask is None else np.flatnonzero(weights.instance_mask)
    # Rows in blocks never vote all together, and the search for the nearest rows leaves out what is not selected.
    part = table if selected is None or not table.in_memory else table.take(selected)
    # Where the rows are in blocks only learning looks at repeated rows.
    merged = _merge_repeated(part) if table.in_memory or weights is None else _merge_nothing(table)
    unmerged = merged.first is merged.kind
    kinds = part if unmerged else replace(part.take(merged.first), repetition=merged.repetition)
    if weights is None:
        # Of repeated rows, one could be in the training part of a fold and one in its test part: so they are merged.
        chosen = choose_feature_weights(kinds, settings.p, rng, settings.n_jobs)
    kind, reason = _decide(settings, part.rows.shape[0], len(merged.first), table.in_memory)
    if kind == "all rows":
        # Missing cells are as far from others as among all rows, also those that are not selected.
        ranges = None if selected is None else column_ranges(table.rows)
        fitted = _fit_all(part, kinds, merged, settings, weights, chosen, ranges, rng, reason)
        return fitted if selected is None else _number_rows(fitted, selected, len(table.Y))
    if weights is None:
        assert chosen is not None
        drawn = kinds.draw(WEIGHT_ROWS, rng)
        learned = learn_feature_weights(drawn, settings.p, chosen.gamma, chosen.n_rounds, rng, settings.n_jobs)
        weights = Weights(feature_weights=learned)
    fitted = _fit_nearest(table, settings, weights, rng, reason)
    plan = replace(fitted.plan, feature_weights=_describe(weights, chosen))
    return replace(fitted, plan=plan, feature_choice=chosen)


def _number_rows(fitted: FittedVotes, selected: IndexArray, n: int) -> FittedVotes:
    """Return votes of selected rows with their numbers among all ``n`` rows. The other rows have votes 0."""
    assert fitted.alpha is not None
    alpha = np.zeros((n, fitted.alpha.shape[1]))
    alpha[selected] = fitted.alpha
    rows, stored = selected[fitted.loo_rows], selected[fitted.stored_rows]
    return replace(fitted, alpha=alpha, loo_rows=rows, stored_rows=stored)


def _decide(settings: VotesSettings, n: int, n_different: int, in_memory: bool) -> tuple[str, str]:
    """Return who votes, and the reason.

    Parameters
    ----------
    settings : VotesSettings
    n : int
        Number of rows that the weights select.
    n_different : int
        Number of rows that differ, among those that the weights select.
    in_memory : bool
        Whether the rows are in memory.
    """
    k = settings.n_neighbors
    if k is not None and k != "auto":
        if int(k) >= n and in_memory:  # the search among the others of a row would leave one row out
            return "all rows", f"n_neighbors={k} is at least the number of rows, {n}"
        return "nearest rows", f"n_neighbors={k}"
    if k == "auto" and not in_memory:
        return "nearest rows", "the rows are in blocks"
    if k == "auto" and n_different > ALL_ROWS:
        return "nearest rows", f"{n_different} different rows are more than {ALL_ROWS}, up to which all of them vote"
    if k is None:
        return "all rows", "n_neighbors=None"
    return "all rows", f"{n_different} different rows are at most {ALL_ROWS}"


@dataclass(frozen=True)
class _Merged:
    """Rows that are equal in all cells and in the target count as one row of their summed weight."""

    first: IndexArray  # (n_different,) a row of each kind
    kind: IndexArray  # (n,) kind of each row
    repetition: FloatArray | None  # (n_different,)
    share: FloatArray | None  # (n,) share of the row in the weight of its kind


def _merge_repeated(table: Table) -> _Merged:
    """Find repeated rows. The order of the kinds follows from their values, not from the order of the rows.

    Merging changes nothing in the solution. It makes the systems smaller, and makes a row given twice and a row of
    weight 2 the same thing also where rows are drawn. Rows with missing cells are not merged: they differ.
    """
    n = table.rows.shape[0]
    thin = sparse.issparse(table.rows)
    if n > 5 * ALL_ROWS or ((thin or not table.in_memory) and n * table.rows.shape[1] > _DENSE_CELLS):
        return _merge_nothing(table)
    table = table if table.in_memory else table.take(np.arange(n))
    rows = table.rows.toarray() if thin else table.rows
    cells = np.concatenate([rows.astype(np.float64), table.Y], axis=1) + 0.0  # -0.0 becomes 0.0
    incomplete = np.isnan(rows).any(axis=1)
    number = np.where(incomplete, 1.0 + np.cumsum(incomplete), 0.0)  # rows with missing cells get one of their own
    cells = np.ascontiguousarray(np.concatenate([cells, number[:, None]], axis=1))
    keys: AnyArray = cells.view(np.dtype((np.void, cells.dtype.itemsize * cells.shape[1]))).ravel()
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    weight = np.ones(n) if table.repetition is None else table.repetition
    total: Any = np.bincount(kind, weights=weight)
    if len(first) == n:
        return _Merged(first, kind, None if table.repetition is None else total, None)
    return _Merged(first, kind, total, weight / total[kind])


def _merge_nothing(table: Table) -> _Merged:
    """Return the rows as they are."""
    every = np.arange(table.rows.shape[0])
    return _Merged(every, every, table.repetition, None)


def _fit_all(
    table: Table,
    kinds: Table,
    merged: _Merged,
    settings: VotesSettings,
    weights: Weights | None,
    chosen: FeatureChoice | None,
    ranges: ColumnRanges | None,
    rng: np.random.Generator,
    reason: str,
) -> FittedVotes:
    """Let all rows vote. The parameters are those of `fit_votes`, and what it found before.

    ``ranges`` are the column ranges from which missing distances are computed. None: those of ``kinds``.
    """
    n_different = len(merged.first)
    check_memory(n_different)
    if weights is None:
        assert chosen is not None
        learned = learn_feature_weights(kinds, settings.p, chosen.gamma, chosen.n_rounds, rng, settings.n_jobs)
        weights = Weights(feature_weights=learned)
    references = build_references(
        kinds.rows, weights=feature_part(weights), p=settings.p, nominal=table.nominal, measured=ranges
    )
    metric = Metric(references, settings.n_jobs)
    distance = metric.all_pairs()
    widths, ridges = grid_of(settings, median_distance(distance, kinds.repetition))
    solution, choice = choose_parameters(distance, kinds.Y, kinds.repetition, widths, ridges, rng)
    alpha = solution.alpha[merged.kind]
    if merged.share is not None:
        alpha = alpha * merged.share[:, None]
    left_out = (kinds.Y - solution.residuals)[merged.kind]
    plan = VotesPlan(
        "all rows", reason, len(table.Y), n_different, table.rows.shape[1], settings.p,
        3 * 8 * n_different**2 / 1e6, _describe(weights, chosen),
    )  # fmt: skip
    return FittedVotes(
        StoredVotes(metric, solution.alpha, solution.intercept, solution.width),
        weights,
        alpha,
        solution.intercept,
        solution.width,
        solution.ridge,
        np.arange(len(table.Y)),
        left_out,
        list_tried(choice.tried),
        plan,
        chosen,
        merged.first,
    )


def _describe(weights: Weights, chosen: FeatureChoice | None) -> str:
    """Return the line of the plan about feature weights."""
    if chosen is not None and chosen.gamma == 0:
        return "equal weights (learned ones would not help)"
    if chosen is not None:
        return f"weights learned from the votes (exponent {chosen.gamma:g}, {chosen.n_rounds} round(s))"
    return "given weights" if weights.kind != "none" or weights.feature_mask is not None else "equal weights"


def _fit_nearest(
    table: Table, settings: VotesSettings, weights: Weights, rng: np.random.Generator, reason: str
) -> FittedVotes:
    """Let the k nearest rows vote. The parameters are those of `fit_votes`."""
    n = table.rows.shape[0]
    engine = table.engine(replace(weights, votes=None), settings.p, settings.n_jobs)
    wanted = AUTO_NEIGHBORS if settings.n_neighbors == "auto" else int(settings.n_neighbors)  # type: ignore[arg-type]
    k = min(wanted, engine.n_references - 1)
    if k < 1:
        raise InvalidDataError("at least 2 rows that can be neighbours are needed; use more rows")
    targets: Any = table.Y if table.codes is None else table.codes
    votes = LocalVotes(engine, targets, table.Y.shape[1], table.repetition, k, 1.0, 1.0, settings.n_jobs)
    rows = draw_voting_rows(n, CHOICE_ROWS, rng)
    drawn = table.rows[rows]
    width = None if settings.width == "auto" else float(settings.width)
    # Smaller ridges drown in rounding where neighbours repeat, and then an explanation would not add up to the scores.
    ridge = None if settings.ridge == "auto" else max(float(settings.ridge), _LEAST_LOCAL_RIDGE)
    counts = None if table.repetition is None else table.repetition[rows]
    choice = choose_local(votes, drawn, rows, table.Y[rows], width, ridge, counts)
    votes = replace(votes, width=choice.width, ridge=choice.ridge)
    left_out = votes.scores(drawn, rows)
    plan = VotesPlan(
        "nearest rows", reason, n, k, table.rows.shape[1], settings.p, 8 * k * k * settings.n_jobs / 1e6,
        "", str(engine.plan).splitlines()[0],
    )  # fmt: skip
    return FittedVotes(
        votes, weights, None, table.mean(), choice.width, choice.ridge, rows, left_out, list_tried(choice.tried), plan,
        None, engine.stored_rows,
    )  # fmt: skip
