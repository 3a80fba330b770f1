"""Fit learned votes to a coded table: decide who votes, choose width and ridge, solve, and leave rows out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import AnyArray, FloatArray, IndexArray
from ..engine import build_references
from ..exceptions import InvalidDataError
from ..weights import Weights
from .centers import Block, choose_centers, distances_to_stored, left_out_scores, solve_centers
from .choice import RIDGES, WIDTHS, choose_parameters, median_distance
from .elimination import eliminate_rows
from .gradient import FeatureChoice, Table, choose_feature_weights, learn_feature_weights
from .local import LocalVotes, choose_local
from .metric import Metric, check_symmetric
from .ridge import kernel_of
from .votes import StoredVotes

__all__ = ["ALL_ROWS", "FittedVotes", "VotesPlan", "VotesSettings", "fit_votes"]

#: Up to so many different rows, n_neighbors="auto" lets all rows vote.
ALL_ROWS = 4000
#: Above that, "auto" lets so many of the nearest rows vote.
AUTO_NEIGHBORS = 100
#: Rows on which the votes of the nearest rows, or of few stored rows, are chosen and calibrated.
CHOICE_ROWS = 2000
#: Rows from which feature weights are learned where not all rows vote.
WEIGHT_ROWS = 2000
#: The least and the largest number of rows from which the stored rows are chosen by elimination.
POOL = (2000, 4000)
_BLOCK_CELLS = 8_000_000  # kernel values of one block
_LEAST_BLOCK = 256  # rows
_LEAST_LOCAL_RIDGE = 1e-10
_DENSE_CELLS = 10_000_000  # Sparse rows of at most so many cells are made dense to find repeated ones.


@dataclass(frozen=True)
class VotesSettings:
    """What the user asked for. The fields are parameters of `KernelVotesClassifier`."""

    n_neighbors: int | str | None = "auto"
    p: int = 1
    width: float | str = "auto"
    ridge: float | str = "auto"
    n_stored: float | None = None
    stored_by: str = "auto"
    backend: str = "auto"
    n_jobs: int = 1


@dataclass(frozen=True)
class VotesPlan:
    """Which rows vote for a query, and why. It prints as one line per fact."""

    voters: str  # "all rows", "nearest rows" or "stored rows"
    reason: str
    n_rows: int
    n_voting: int
    n_features: int
    p: int
    megabytes: float  # of the largest matrices of the fit
    feature_weights: str
    search: str = ""

    def __str__(self) -> str:
        metric = {1: "city-block", 2: "Euclidean"}[self.p]
        lines = [
            f"{self.voters} vote: {self.reason}",
            f"  rows      {self.n_rows} of {self.n_features} features, of which {self.n_voting} vote for a query",
            f"  distance  {metric}, {self.feature_weights}",
            f"  memory    {self.megabytes:.3g} MB for the matrices of the fit",
        ]
        return "\n".join(lines + ([f"  search    {self.search}"] if self.search else []))


@dataclass(frozen=True)
class FittedVotes:
    """The result of `fit_votes`."""

    votes: StoredVotes | LocalVotes
    weights: Weights
    # (n, n_outputs) per training row, or per stored row if the rows are in blocks; None if the nearest rows vote
    alpha: FloatArray | None
    intercept: FloatArray
    width: float
    ridge: float
    loo_rows: IndexArray  # training rows that were left out, one at a time
    loo_scores: FloatArray  # (len(loo_rows), n_outputs)
    tried: list[dict[str, Any]]
    plan: VotesPlan
    feature_choice: FeatureChoice | None = None
    stored_rows: IndexArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


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
    # Where the rows are in blocks, they never vote all together: then only learning looks at repeated rows.
    merged = _merge_repeated(table) if table.in_memory or weights is None else _merge_nothing(table)
    unmerged = merged.first is merged.kind
    kinds = table if unmerged else replace(table.take(merged.first), repetition=merged.repetition)
    if weights is None:
        # Of repeated rows, one could be in the training part of a fold and one in its test part: so they are merged.
        chosen = choose_feature_weights(kinds, settings.p, rng, settings.n_jobs)
    mask = None if weights is None else weights.instance_mask
    kind, reason = _decide(settings, len(merged.first), table.in_memory, mask is not None)
    if kind == "all rows":
        return _fit_all(table, kinds, merged, settings, weights, chosen, rng, reason)
    if weights is None:
        assert chosen is not None
        part = kinds.draw(WEIGHT_ROWS, rng)
        learned = learn_feature_weights(part, settings.p, chosen.gamma, chosen.n_rounds, rng, settings.n_jobs)
        weights = Weights(feature_weights=learned)
    fit = _fit_nearest if kind == "nearest rows" else _fit_stored
    fitted = fit(table, settings, weights, rng, reason)
    plan = replace(fitted.plan, feature_weights=_describe(weights, chosen))
    return replace(fitted, plan=plan, feature_choice=chosen)


def _decide(settings: VotesSettings, n_different: int, in_memory: bool, selected: bool) -> tuple[str, str]:
    """Return who votes, and the reason.

    Parameters
    ----------
    settings : VotesSettings
    n_different : int
        Number of rows that differ.
    in_memory : bool
        Whether the rows are in memory.
    selected : bool
        Whether the weights select instances.
    """
    k = settings.n_neighbors
    if k is not None and k != "auto":
        return "nearest rows", f"n_neighbors={k}"
    if settings.n_stored is not None:
        return "stored rows", f"n_stored={settings.n_stored}"
    if selected:
        return "stored rows", "the weights select instances"
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


def _grid(settings: VotesSettings, median: float) -> tuple[list[float], list[float]]:
    """Return the widths and ridges to choose from."""
    widths = [ratio * median for ratio in WIDTHS] if settings.width == "auto" else [float(settings.width)]
    return widths, list(RIDGES) if settings.ridge == "auto" else [float(settings.ridge)]


def _fit_all(
    table: Table,
    kinds: Table,
    merged: _Merged,
    settings: VotesSettings,
    weights: Weights | None,
    chosen: FeatureChoice | None,
    rng: np.random.Generator,
    reason: str,
) -> FittedVotes:
    """Let all rows vote. The parameters are those of `fit_votes`, and what it found before."""
    n_different = len(merged.first)
    _check_memory(n_different)
    if weights is None:
        assert chosen is not None
        learned = learn_feature_weights(kinds, settings.p, chosen.gamma, chosen.n_rounds, rng, settings.n_jobs)
        weights = Weights(feature_weights=learned)
    references = build_references(kinds.rows, weights=_feature_part(weights), p=settings.p, nominal=table.nominal)
    metric = Metric(references, settings.n_jobs)
    distance = metric.all_pairs()
    widths, ridges = _grid(settings, median_distance(distance, kinds.repetition))
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
        _frame(choice.tried),
        plan,
        chosen,
        merged.first,
    )


def _feature_part(weights: Weights) -> Weights:
    """Return the weights without what belongs to instances."""
    return Weights(feature_weights=weights.feature_weights, feature_mask=weights.feature_mask)


def _describe(weights: Weights, chosen: FeatureChoice | None) -> str:
    """Return the line of the plan about feature weights."""
    if chosen is not None and chosen.gamma == 0:
        return "equal weights (learned ones would not help)"
    if chosen is not None:
        return f"weights learned from the votes (exponent {chosen.gamma:g}, {chosen.n_rounds} round(s))"
    return "given weights" if weights.kind != "none" or weights.feature_mask is not None else "equal weights"


def _frame(tried: dict[tuple[float, float], float]) -> list[dict[str, Any]]:
    """Return the grid points that were computed, one dict each."""
    return [{"width": width, "ridge": ridge, "loss": loss} for (width, ridge), loss in tried.items()]


def _draw_rows(n: int, most: int, rng: np.random.Generator) -> IndexArray:
    """Return all row numbers, or ``most`` drawn ones, ascending."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _fit_nearest(
    table: Table, settings: VotesSettings, weights: Weights, rng: np.random.Generator, reason: str
) -> FittedVotes:
    """Let the k nearest rows vote. The parameters are those of `fit_votes`."""
    n = table.rows.shape[0]
    engine = table.engine(replace(weights, votes=None), settings.p, settings.backend, settings.n_jobs)
    wanted = AUTO_NEIGHBORS if settings.n_neighbors == "auto" else int(settings.n_neighbors)  # type: ignore[arg-type]
    k = min(wanted, engine.n_references - 1)
    if k < 1:
        raise InvalidDataError("at least 2 rows that can be neighbours are needed; use more rows")
    targets: Any = table.Y if table.codes is None else table.codes
    votes = LocalVotes(engine, targets, table.Y.shape[1], table.repetition, k, 1.0, 1.0, settings.n_jobs)
    rows = _draw_rows(n, CHOICE_ROWS, rng)
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
        votes, weights, None, table.mean(), choice.width, choice.ridge, rows, left_out, _frame(choice.tried), plan,
        None, engine.stored_rows,
    )  # fmt: skip


def _choose_stored(table: Table, settings: VotesSettings, weights: Weights, rng: np.random.Generator) -> IndexArray:
    """Return the numbers of the rows to store, ascending. The parameters are those of `fit_votes`."""
    n = table.rows.shape[0]
    candidates = np.arange(n) if weights.instance_mask is None else np.flatnonzero(weights.instance_mask)
    if settings.n_stored is None:
        return candidates
    wanted = settings.n_stored
    number = max(1, round(wanted * n)) if wanted < 1 else int(wanted)
    n_pool = min(len(candidates), int(np.clip(4 * number, *POOL)))
    drawn = settings.stored_by == "draw" or (settings.stored_by == "auto" and not table.in_memory)
    if drawn or number >= n_pool:
        return candidates[_draw_rows(len(candidates), number, rng)]
    # All rows may be too many to solve for. Then some of them are drawn, several for each row that is stored.
    _check_memory(n_pool, "stored_by='draw'")
    pool = candidates[_draw_rows(len(candidates), n_pool, rng)]
    part = table.take(pool)
    references = build_references(part.rows, weights=_feature_part(weights), p=settings.p, nominal=table.nominal)
    distance = Metric(references, settings.n_jobs).all_pairs()
    widths, ridges = _grid(settings, median_distance(distance, part.repetition))
    solution, _ = choose_parameters(distance, part.Y, part.repetition, widths, ridges, rng)
    return pool[eliminate_rows(distance, solution.width, solution.ridge, part.Y, part.repetition, number)]


def _fit_stored(
    table: Table, settings: VotesSettings, weights: Weights, rng: np.random.Generator, reason: str
) -> FittedVotes:
    """Let few stored rows vote, with votes solved over all rows. The parameters are those of `fit_votes`."""
    n = table.rows.shape[0]
    stored = _choose_stored(table, settings, weights, rng)
    _check_memory(len(stored))
    slot_of_row = np.full(n, -1)
    slot_of_row[stored] = np.arange(len(stored))
    kept = table.rows if len(stored) == n and table.in_memory else table.rows[stored]
    references = build_references(kept, weights=_feature_part(weights), p=settings.p, nominal=table.nominal)
    metric = Metric(replace(references, row_of_slot=stored), settings.n_jobs)
    mean = table.mean()

    def block(rows: Any, read: Any = None) -> Block:
        repetition = None if table.repetition is None else table.repetition[rows]
        read = table.rows[rows] if read is None else read
        return Block(metric.select(read), table.Y[rows], repetition, slot_of_row[rows])

    # As many rows as there are stored ones would ask for too large a ridge: there must be several rows per vote.
    drawn = block(_draw_rows(n, max(CHOICE_ROWS, 5 * len(stored)), rng))
    inside = metric.all_pairs()
    widths, ridges = _grid(settings, median_distance(inside))
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
    rows = _draw_rows(n, max(CHOICE_ROWS, ALL_ROWS), rng)
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
        left_out, _frame(choice.tried), plan, None, stored,
    )  # fmt: skip


def _check_memory(n: int, instead: str = "n_stored=2000") -> None:
    """Raise InvalidDataError if three matrices of n × n numbers do not fit into memory.

    ``instead`` is the parameter with which fewer numbers are needed.
    """
    needed, available = 3 * 8 * n * n, available_bytes()
    if available is not None and needed > available:
        raise InvalidDataError(
            f"votes of all {n} rows need {needed / 2**30:.3g} GiB for matrices of {n} x {n} numbers; "
            f"{available / 2**30:.3g} GiB are available. Let the nearest rows vote (n_neighbors=100), or choose "
            f"the stored rows otherwise ({instead})"
        )


def available_bytes() -> int | None:
    """Return how much memory is available, or None if the operating system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, AttributeError):
        return None
