"""Combine the results of many strata: instances one by one, features by votes, weights by their mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import BoolArray, FloatArray, IndexArray
from ..._warnings import warn
from ...exceptions import InvalidDataError
from ..base import metric_weights
from .draw import Outcome

__all__ = ["Joined", "elect_features", "join", "repeat_warnings"]


@dataclass
class Joined:
    """Combined results of all strata, for N rows and M features. A part is None if the weigher does not learn it."""

    keeps: IndexArray | None  # (N,) number of rounds that keep each row
    scales: FloatArray | None  # (N,) v, mean over the rounds that keep the row
    votes: FloatArray | None  # (N,) ω, mean over rounds, scaled to mean 1
    share: FloatArray | None  # (M,) share of the rows whose stratum keeps each feature
    seats: int | None  # number of features that each stratum keeps, None if it differs
    published: FloatArray | None
    per_class: FloatArray | None
    metric: Callable[[BoolArray], FloatArray] | None  # a, given the features that are kept


def join(outcomes: Sequence[Outcome], rows: Sequence[IndexArray], N: int, n_rounds: int) -> Joined:
    """Combine the results of all strata. ``rows`` are the rows of each stratum, ``N`` is the number of rows.

    Every row is in one stratum per round.
    """
    _check_agreement(outcomes)
    keeps = scales = votes = None
    one = outcomes[0]
    if any(outcome.kept is not None for outcome in outcomes):
        keeps = np.zeros(N, dtype=np.int64)
        for outcome, mine in zip(outcomes, rows, strict=True):
            # A weigher that gives no mask has kept all rows of its stratum.
            keeps[mine] += 1 if outcome.kept is None else outcome.kept
    if one.scales is not None:
        scales = _mean_scales(outcomes, rows, N)
    if one.votes is not None:
        votes = np.zeros(N)
        for outcome, mine in zip(outcomes, rows, strict=True):
            votes[mine] += np.asarray(outcome.votes)
        votes /= n_rounds
        # Each stratum has a mean of 1, so this only removes rounding errors.
        votes /= votes.mean()
    n_rows = np.array([outcome.n for outcome in outcomes], dtype=np.float64)
    columns = None if one.columns is None else np.array([outcome.columns for outcome in outcomes])
    seats = None if columns is None else set(columns.sum(axis=1).tolist())
    published = None if one.published is None else _mean([o.published for o in outcomes], n_rows)
    return Joined(
        keeps,
        scales,
        votes,
        None if columns is None else _mean(columns, n_rows),
        seats.pop() if seats is not None and len(seats) == 1 else None,
        published,
        None if one.per_class is None else _mean([o.per_class for o in outcomes], n_rows),
        _metric(outcomes, n_rows, published),
    )


def _check_agreement(outcomes: Sequence[Outcome]) -> None:
    """Raise an error if some strata have a part of the result that others do not have, or of another width.

    The part ``kept`` is not compared, since None has a meaning there: the stratum keeps all its rows.
    """
    for name in ("scales", "votes", "columns", "published", "per_class", "metric"):
        shapes = {None if (part := getattr(o, name)) is None else np.shape(part)[-1:] for o in outcomes}
        if name in ("scales", "votes"):
            shapes = {shape is None for shape in shapes}
        if len(shapes) > 1:
            raise InvalidDataError(
                f"strata disagree on what they learn ({name}: {sorted(map(str, shapes))}): were their columns the same?"
            )


def _mean(parts: Any, n_rows: FloatArray) -> FloatArray:
    """Return the mean of the parts, weighted by their numbers of rows."""
    return np.average(np.asarray(parts, dtype=np.float64), axis=0, weights=n_rows)


def _mean_scales(outcomes: Sequence[Outcome], rows: Sequence[IndexArray], N: int) -> FloatArray:
    """Return the scale v of each row: the mean over the rounds that keep the row, or over all rounds if none does."""
    total, count = np.zeros((2, N)), np.zeros((2, N))  # by all rounds, by those that keep the row
    for outcome, mine in zip(outcomes, rows, strict=True):
        kept = np.ones(len(mine), dtype=bool) if outcome.kept is None else outcome.kept
        for part, weight in ((0, np.ones(len(mine))), (1, kept.astype(np.float64))):
            total[part, mine] += weight * np.asarray(outcome.scales)
            count[part, mine] += weight
    chosen = (count[1] > 0).astype(np.int64)
    at = np.arange(N)
    return total[chosen, at] / np.maximum(count[chosen, at], 1.0)


def _metric(
    outcomes: Sequence[Outcome], n_rows: FloatArray, published: FloatArray | None
) -> Callable[[BoolArray], FloatArray] | None:
    """Return a function that takes the kept features and returns the metric weights ``a``, or None without ``a``.

    If all strata compute ``a`` from their published weights in the same way, the function does so from the mean
    of the published weights. Else it returns the mean of ``a``.
    """
    if outcomes[0].metric is None:
        return None
    # The metric of the mean is not the mean of the metrics: clipping at 0 would give noise features a positive mean.
    relations = {outcome.relation for outcome in outcomes} - {"any"}
    if published is not None and relations <= {"plain"}:
        return lambda support: metric_weights(published, support)
    if published is not None and relations == {"square"}:
        return lambda support: metric_weights(published, support, square=True)
    mean = _mean([outcome.metric for outcome in outcomes], n_rows)
    return lambda support: mean


def elect_features(joined: Joined, threshold: float) -> BoolArray:
    """Return which features are kept.

    If all strata keep the same number of features, this number of features is kept: those with the largest
    shares of votes, then with the largest mean weights, then with the lowest column numbers. Else the features
    whose share is at least ``threshold`` are kept, or those with the largest share if no share reaches it.
    """
    share = joined.share
    assert share is not None
    if joined.seats is not None:
        weight = np.zeros(len(share)) if joined.published is None else joined.published
        # Features that have as many votes are ordered by their mean weight, then by their number.
        order = np.lexsort((np.arange(len(share)), -weight, -share))
        elected = np.zeros(len(share), dtype=bool)
        elected[order[: joined.seats]] = True
        return elected
    tolerance = 1e-9  # shares are means, which have rounding errors
    return share >= min(threshold, float(share.max())) - tolerance


def repeat_warnings(outcomes: Sequence[Outcome]) -> None:
    """Emit each category of warning of the strata once, and say how many strata emitted it."""
    first: dict[type[Warning], str] = {}
    number: Counter[type[Warning]] = Counter()
    for outcome in outcomes:
        for category in {kind for kind, _ in outcome.warned}:
            number[category] += 1
            first.setdefault(category, next(text for kind, text in outcome.warned if kind is category))
    for category, text in first.items():
        where = f" (in {number[category]} of {len(outcomes)} strata)" if len(outcomes) > 1 else ""
        warn(f"{text}{where}", category)
