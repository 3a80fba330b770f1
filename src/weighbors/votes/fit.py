"""Fit learned votes to a coded table: decide who votes, choose width and ridge, solve, and leave rows out."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._display.html import lines_block
from .._typing import AnyArray, FloatArray, IndexArray
from ..blocks import BlockEngine
from ..engine import NeighborEngine, SearchEngine, build_references
from ..engine.references import column_ranges
from ..exceptions import InvalidDataError
from ..weights import Weights
from .choose import Choice, choose_parameters
from .gradient import FeatureChoice, choose_feature_weights, learn_feature_weights
from .local import LocalVotes, choose_local
from .metric import Metric, VotesTable, check_symmetric
from .solve import StoredVotes, weighted_mean

#: Up to so many different rows, n_neighbors="auto" lets all rows vote.
ALL_ROWS = 4000
#: Above that, "auto" lets so many of the nearest rows vote.
AUTO_NEIGHBORS = 100
#: Rows from which feature weights are learned where not all rows vote.
WEIGHT_ROWS = 2000
#: Rows on which the votes of the nearest rows are chosen and calibrated.
CHOICE_ROWS = 2000
_LEAST_LOCAL_RIDGE = 1e-10
_DENSE_CELLS = 10_000_000  # Sparse rows of at most so many cells are made dense to find repeated ones.


@dataclass(frozen=True)
class VotesSettings:
    """What the user asked for. The fields are parameters of `LearnedVotesClassifier`."""

    n_neighbors: int | str | None = "auto"
    p: int = 1
    width: float | str = "auto"
    ridge: float | str = "auto"
    n_jobs: int = 1


@dataclass(frozen=True)
class VotesPlan:
    """Which rows vote for a query, and why. It prints as one line per fact."""

    voters: str  # "all rows" or "nearest rows"
    reason: str
    n_rows: int
    n_voting: int
    n_features: int
    p: int
    megabytes: float  # of the largest matrices of the fit
    feature_weights: str
    search: str = ""

    def _repr_html_(self) -> str:
        return lines_block(str(self))

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
    stored_rows: IndexArray  # (n_stored,) number of each stored row among the training rows
    weights: Weights
    alpha: FloatArray | None  # (n, n_outputs) per training row; None if the nearest rows vote
    intercept: FloatArray
    loo_rows: IndexArray  # training rows that were left out, one at a time
    loo_scores: FloatArray  # (len(loo_rows), n_outputs)
    choice: Choice
    feature_choice: FeatureChoice | None  # None: the weights were given
    plan: VotesPlan


def fit_votes(
    table: VotesTable, settings: VotesSettings, weights: Weights | None, rng: np.random.Generator
) -> FittedVotes:
    """Fit votes to a table.

    Parameters
    ----------
    table : VotesTable
    settings : VotesSettings
    weights : Weights or None
        Feature weights, feature and instance masks. None: feature weights are learned from the solution, if that helps.
    rng : Generator
        Draws rows for choices.
    """
    if weights is not None:
        check_symmetric(weights)
    selected = None if weights is None or weights.instance_mask is None else np.flatnonzero(weights.instance_mask)
    # Rows in blocks never vote all together, and the search for the nearest rows leaves out what is not selected.
    part = table if selected is None or not table.in_memory else table.take(selected)
    merged = merge_repeated(part, needed=table.in_memory or weights is None)
    kinds, n_different = merged.table, merged.table.rows.shape[0]
    everybody, reason = _decide(settings, part, n_different)
    if everybody:
        _check_memory(n_different)
    chosen: FeatureChoice | None = None
    if weights is None:
        # Of repeated rows, one could be in the training part of a fold and one in its test part: so they are merged.
        chosen = choose_feature_weights(kinds, settings.p, rng, settings.n_jobs)
        drawn = kinds if everybody else kinds.draw(WEIGHT_ROWS, rng)
        learned = learn_feature_weights(drawn, settings.p, chosen.gamma, chosen.n_rounds, rng, settings.n_jobs)
        weights = Weights(feature_weights=learned)
    n, m = part.rows.shape if everybody else table.rows.shape
    plan = VotesPlan(
        "all rows" if everybody else "nearest rows", reason, n, n_different, m, settings.p,
        3 * 8 * n_different**2 / 1e6, _describe_weights(weights, chosen),
    )  # fmt: skip
    if not everybody:
        return _fit_nearest(table, settings, weights, chosen, plan, rng)
    # Missing cells are as far from others as among all rows, also those that are not selected.
    ranges = None if selected is None else column_ranges(table.rows)
    of_features = Weights(feature_weights=weights.feature_weights, feature_mask=weights.feature_mask)
    references = build_references(kinds.rows, weights=of_features, p=settings.p, nominal=table.nominal, measured=ranges)
    metric = Metric(references, settings.n_jobs)
    solution, choice = choose_parameters(
        metric.all_pairs(), kinds.Y, kinds.repetition, rng, width=settings.width, ridge=settings.ridge
    )
    votes = StoredVotes(metric, solution.alpha, solution.intercept, solution.width, solution.ridge, kinds.repetition)
    alpha = solution.alpha[merged.kind]
    if merged.share is not None:
        alpha = alpha * merged.share[:, None]
    left_out = (kinds.Y - solution.residuals)[merged.kind]
    rows, stored = np.arange(n), merged.first
    if selected is not None:  # The other rows have votes 0.
        rows, stored, some = selected, selected[stored], alpha
        alpha = np.zeros((len(table.targets), table.n_outputs))
        alpha[selected] = some
    return FittedVotes(votes, stored, weights, alpha, votes.intercept, rows, left_out, choice, chosen, plan)


def _decide(settings: VotesSettings, part: VotesTable, n_different: int) -> tuple[bool, str]:
    """Return whether all rows vote, and the reason.

    Parameters
    ----------
    settings : VotesSettings
    part : VotesTable
        The rows that the weights select.
    n_different : int
        Number of rows that differ among them.
    """
    k, n = settings.n_neighbors, part.rows.shape[0]
    if k is None and not part.in_memory:
        raise InvalidDataError(
            "n_neighbors=None lets all rows vote, which must be in memory, and these are read in blocks. Use "
            "n_neighbors='auto' or a number"
        )
    if k is None:
        return True, "n_neighbors=None"
    if k != "auto":
        if int(k) >= n and part.in_memory:  # the search among the others of a row would leave one row out
            return True, f"n_neighbors={k} is at least the number of rows, {n}"
        return False, f"n_neighbors={k}"
    if not part.in_memory:
        return False, "the rows are in blocks"
    if n_different > ALL_ROWS:
        return False, f"{n_different} different rows are more than {ALL_ROWS}, up to which all of them vote"
    return True, f"{n_different} different rows are at most {ALL_ROWS}"


@dataclass(frozen=True)
class MergedRows:
    """Rows that are equal in all cells and in the target count as one row of their summed weight."""

    table: VotesTable  # one row of each kind
    first: IndexArray  # (n_different,) their numbers
    kind: IndexArray  # (n,) kind of each row
    share: FloatArray | None = None  # (n,) share of the row in the weight of its kind


def merge_repeated(table: VotesTable, *, needed: bool = True) -> MergedRows:
    """Find repeated rows. The order of the kinds follows from their values, not from the order of the rows.

    Merging changes nothing in the solution. It makes the systems smaller, and makes a row given twice and a row of
    weight 2 the same thing also where rows are drawn. Rows with missing cells are not merged: they differ. If merging
    is not needed, or too expensive, the rows stay as they are.
    """
    n, m = table.rows.shape
    thin = sparse.issparse(table.rows)
    if not needed or n > 5 * ALL_ROWS or ((thin or not table.in_memory) and n * m > _DENSE_CELLS):
        return MergedRows(table, np.arange(n), np.arange(n))
    whole = table if table.in_memory else table.take(np.arange(n))
    rows = whole.rows.toarray() if thin else whole.rows
    cells = np.concatenate([rows.astype(np.float64), whole.Y], axis=1) + 0.0  # -0.0 becomes 0.0
    incomplete = np.isnan(rows).any(axis=1)
    number = np.where(incomplete, 1.0 + np.cumsum(incomplete), 0.0)  # rows with missing cells get one of their own
    cells = np.ascontiguousarray(np.concatenate([cells, number[:, None]], axis=1))
    keys: AnyArray = cells.view(np.dtype((np.void, cells.dtype.itemsize * cells.shape[1]))).ravel()
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    kinds = whole.take(first)
    if len(first) == n:
        return MergedRows(kinds, first, kind)
    weight = np.ones(n) if table.repetition is None else table.repetition
    total: Any = np.bincount(kind, weights=weight)
    return MergedRows(replace(kinds, repetition=total), first, kind, weight / total[kind])


def _describe_weights(weights: Weights, chosen: FeatureChoice | None) -> str:
    """Return the line of the plan about feature weights."""
    if chosen is None:
        given = weights.kind != "none" or weights.feature_mask is not None
        return "given weights" if given else "equal weights"
    if chosen.gamma == 0:
        return "equal weights (learned ones would not help)"
    return f"weights learned from the votes (exponent {chosen.gamma:g}, {chosen.n_rounds} round(s))"


def _check_memory(n: int) -> None:
    """Raise InvalidDataError if three matrices of n × n numbers do not fit into memory."""
    needed, available = 3 * 8 * n * n, available_bytes()
    if available is not None and needed > available:
        raise InvalidDataError(
            f"votes of all {n} rows need {needed / 2**30:.3g} GiB for matrices of {n} x {n} numbers; "
            f"{available / 2**30:.3g} GiB are available. Let the nearest rows vote (n_neighbors=100)"
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


def make_engine(table: VotesTable, weights: Weights, p: int, n_jobs: int) -> SearchEngine:
    """Return an engine that finds the nearest rows of a table in memory or in blocks."""
    nominal = table.nominal if table.nominal.any() else None
    if table.in_memory:
        return NeighborEngine(table.rows, weights=weights, p=p, nominal=nominal, n_jobs=n_jobs)
    return BlockEngine(table.rows.table, weights=weights, p=p, nominal=nominal)


def _fit_nearest(
    table: VotesTable,
    settings: VotesSettings,
    weights: Weights,
    chosen: FeatureChoice | None,
    plan: VotesPlan,
    rng: np.random.Generator,
) -> FittedVotes:
    """Let the k nearest rows vote. The parameters are those of `fit_votes`, and what it found before."""
    n = table.rows.shape[0]
    engine = make_engine(table, replace(weights, votes=None), settings.p, settings.n_jobs)
    wanted = AUTO_NEIGHBORS if settings.n_neighbors == "auto" else int(settings.n_neighbors)  # type: ignore[arg-type]
    k = min(wanted, engine.n_references - 1)
    if k < 1:
        raise InvalidDataError("at least 2 rows that can be neighbours are needed; use more rows")
    votes = LocalVotes(engine, table.targets, table.n_outputs, table.repetition, k, 1.0, 1.0, settings.n_jobs)
    rows = np.arange(n) if n <= CHOICE_ROWS else np.sort(rng.choice(n, CHOICE_ROWS, replace=False))
    drawn = table.take(rows)
    # Smaller ridges drown in rounding where neighbours repeat, and then an explanation would not add up to the scores.
    ridge = settings.ridge if isinstance(settings.ridge, str) else max(float(settings.ridge), _LEAST_LOCAL_RIDGE)
    choice = choose_local(votes, drawn, rows, width=settings.width, ridge=ridge)
    votes = replace(votes, width=choice.width, ridge=choice.ridge)
    plan = replace(
        plan, n_voting=k, megabytes=8 * k * k * settings.n_jobs / 1e6, search=str(engine.plan).splitlines()[0]
    )
    if table.n_classes:
        sums = np.bincount(table.targets, weights=table.repetition, minlength=table.n_classes)
        mean: FloatArray = sums / sums.sum()
    else:
        mean = weighted_mean(table.targets, table.repetition)
    left_out = votes.scores(drawn.rows, rows)
    return FittedVotes(votes, engine.stored_rows, weights, None, mean, rows, left_out, choice, chosen, plan)
