"""Outcomes of many strata, put together: per instance, by vote over features, by mean over weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import BoolArray, FloatArray, IndexArray
from .._warnings import warn
from ..exceptions import InvalidDataError
from ._base import metric_weights
from ._strata import Outcome

__all__ = ["Joined", "elect_features", "join", "repeat_warnings"]


@dataclass
class Joined:
    """All outcomes of a fit over N rows and M features; None where the weigher says nothing of it."""

    keeps: IndexArray | None  # (N,) rounds that keep a row
    scales: FloatArray | None  # (N,) v, mean over the rounds that keep the row
    votes: FloatArray | None  # (N,) ω, mean over rounds, mean 1
    share: FloatArray | None  # (M,) share of the rows whose stratum keeps a feature
    seats: int | None  # features every stratum keeps, where they all keep as many
    published: FloatArray | None
    per_class: FloatArray | None
    metric: Callable[[BoolArray], FloatArray] | None  # a, given the features that are kept


def join(outcomes: Sequence[Outcome], rows: Sequence[IndexArray], N: int, n_rounds: int) -> Joined:
    """Put outcomes together; ``rows`` are those of each one's stratum, all rows once per round."""
    _agree(outcomes)
    keeps = scales = votes = None
    one = outcomes[0]
    if any(outcome.kept is not None for outcome in outcomes):
        keeps = np.zeros(N, dtype=np.int64)
        for outcome, mine in zip(outcomes, rows, strict=True):
            keeps[mine] += 1 if outcome.kept is None else outcome.kept
    if one.scales is not None:
        scales = _mean_scales(outcomes, rows, N)
    if one.votes is not None:
        votes = np.zeros(N)
        for outcome, mine in zip(outcomes, rows, strict=True):
            votes[mine] += np.asarray(outcome.votes)
        votes /= n_rounds
        votes /= votes.mean()
    mass = np.array([outcome.n for outcome in outcomes], dtype=np.float64)
    columns = None if one.columns is None else np.array([outcome.columns for outcome in outcomes])
    seats = None if columns is None else set(columns.sum(axis=1).tolist())
    published = None if one.published is None else _mean([o.published for o in outcomes], mass)
    return Joined(
        keeps,
        scales,
        votes,
        None if columns is None else _mean(columns, mass),
        seats.pop() if seats is not None and len(seats) == 1 else None,
        published,
        None if one.per_class is None else _mean([o.per_class for o in outcomes], mass),
        _metric(outcomes, mass, published),
    )


def _agree(outcomes: Sequence[Outcome]) -> None:
    """Refuse strata that say different kinds of things; all kept rows may be said by silence."""
    for name in ("scales", "votes", "columns", "published", "per_class", "metric"):
        shapes = {None if (part := getattr(o, name)) is None else np.shape(part)[-1:] for o in outcomes}
        if name in ("scales", "votes"):
            shapes = {shape is None for shape in shapes}
        if len(shapes) > 1:
            raise InvalidDataError(
                f"strata disagree on what they learn ({name}: {sorted(map(str, shapes))}): were their columns the same?"
            )


def _mean(parts: Any, mass: FloatArray) -> FloatArray:
    """Mean by the rows behind each part."""
    return np.average(np.asarray(parts, dtype=np.float64), axis=0, weights=mass)


def _mean_scales(outcomes: Sequence[Outcome], rows: Sequence[IndexArray], N: int) -> FloatArray:
    """V of each row: mean over the rounds that keep it, over all rounds where none does."""
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
    outcomes: Sequence[Outcome], mass: FloatArray, published: FloatArray | None
) -> Callable[[BoolArray], FloatArray] | None:
    """How ``a`` comes from the strata: from the mean of what they publish, the way each of them made it."""
    if outcomes[0].metric is None:
        return None
    relations = {outcome.relation for outcome in outcomes} - {"any"}
    if published is not None and relations <= {"plain"}:
        return lambda support: metric_weights(published, support)
    if published is not None and relations == {"square"}:
        return lambda support: metric_weights(published, support, square=True)
    mean = _mean([outcome.metric for outcome in outcomes], mass)
    return lambda support: mean


def elect_features(joined: Joined, threshold: float) -> BoolArray:
    """Features that are kept: by their share of votes, ties by mean weight and then by number.

    Where all strata keep the same number of features, so many; else those whose share reaches
    ``threshold``, or those with the largest share where none does.
    """
    share = joined.share
    assert share is not None
    if joined.seats is not None:
        weight = np.zeros(len(share)) if joined.published is None else joined.published
        order = np.lexsort((np.arange(len(share)), -weight, -share))
        elected = np.zeros(len(share), dtype=bool)
        elected[order[: joined.seats]] = True
        return elected
    tolerance = 1e-9  # shares are means
    return share >= min(threshold, float(share.max())) - tolerance


def repeat_warnings(outcomes: Sequence[Outcome]) -> None:
    """Every kind of warning of the strata once, with how many gave it."""
    first: dict[type[Warning], str] = {}
    number: Counter[type[Warning]] = Counter()
    for outcome in outcomes:
        for category in {kind for kind, _ in outcome.warned}:
            number[category] += 1
            first.setdefault(category, next(text for kind, text in outcome.warned if kind is category))
    for category, text in first.items():
        told = f" (in {number[category]} of {len(outcomes)} strata)" if len(outcomes) > 1 else ""
        warn(f"{text}{told}", category)
