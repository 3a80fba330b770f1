"""Combine the results of many strata: instances one by one, features by votes, weights by their mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import BoolArray, FloatArray, IndexArray
from ..._warnings import warn
from ...exceptions import InvalidDataError
from ..base import metric_weights
from .fit import Outcome


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
    one, n_rows = outcomes[0], np.array([outcome.n for outcome in outcomes], dtype=np.float64)

    def parts_of(name: str) -> list[Any]:
        """Return a part of the result of each stratum."""
        return [getattr(outcome, name) for outcome in outcomes]

    def sum_rows(parts: Iterable[Any]) -> FloatArray:
        """Return the sum over rounds for each row. ``parts`` has the values of the rows of each stratum."""
        total = np.zeros(N)
        for part, mine in zip(parts, rows, strict=True):
            total[mine] += part
        return total

    def mean_of(name: str) -> FloatArray | None:
        """Return the mean of a part over strata, weighted by their numbers of rows."""
        if getattr(one, name) is None:
            return None
        mean: FloatArray = np.average(np.array(parts_of(name), dtype=np.float64), axis=0, weights=n_rows)
        return mean

    # A weigher that gives no mask has kept all rows of its stratum.
    kept: list[Any] = [1 if outcome.kept is None else outcome.kept for outcome in outcomes]
    keeps = sum_rows(kept).astype(np.int64)
    scales = votes = None
    if one.scales is not None:
        by_keepers = sum_rows(found * mine for found, mine in zip(parts_of("scales"), kept, strict=True))
        by_all = sum_rows(parts_of("scales")) / n_rounds
        scales = np.where(keeps > 0, by_keepers / np.maximum(keeps, 1), by_all)
    if one.votes is not None:
        votes = sum_rows(parts_of("votes")) / n_rounds
        # Each stratum has a mean of 1, so this only removes rounding errors.
        votes /= votes.mean()
    seats = set() if one.columns is None else {int(columns.sum()) for columns in parts_of("columns")}
    published = mean_of("published")
    return Joined(
        keeps=None if all(outcome.kept is None for outcome in outcomes) else keeps,
        scales=scales,
        votes=votes,
        share=mean_of("columns"),
        seats=seats.pop() if len(seats) == 1 else None,
        published=published,
        per_class=mean_of("per_class"),
        metric=_join_metrics({outcome.relation for outcome in outcomes}, published, mean_of("metric")),
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


def _join_metrics(
    relations: set[str], published: FloatArray | None, mean: FloatArray | None
) -> Callable[[BoolArray], FloatArray] | None:
    """Return a function that takes the kept features and returns the metric weights ``a``, or None without ``a``.

    If all strata compute ``a`` from their published weights in the same way, the function does so from ``published``,
    the mean of these weights. Else it returns ``mean``, the mean of ``a``.
    """
    if mean is None:
        return None
    relations = relations - {"any"}
    # The metric of the mean is not the mean of the metrics: clipping at 0 would give noise features a positive mean.
    if published is None or not (relations <= {"plain"} or relations == {"square"}):
        return lambda support: mean
    return lambda support: metric_weights(published, support, square="square" in relations)


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
