"""Fit a weigher to one stratum, read what it learned, and combine the results of many strata.

Instances are combined one by one, features by votes, and weights by their mean.
"""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..._random import open_seeds
from ..._typing import BoolArray, FloatArray, IndexArray
from ..._warnings import warn
from ...exceptions import InterruptedSearchWarning, InvalidDataError
from ...tables.coded import CodedTable, takes_coded
from ...weights import Weights
from ..base import metric_weights, published_scores
from .draw import Stratum


class Outcome(NamedTuple):
    """Result of fitting a weigher to one stratum. A part is None if the weigher does not learn it."""

    n: int
    kept: BoolArray | None  # t: rows that are kept
    scales: FloatArray | None  # v: instance scales
    votes: FloatArray | None  # ω: votes of instances, with mean 1
    columns: BoolArray | None  # s: columns that are kept
    published: FloatArray | None  # feature weights as the weigher publishes them
    per_class: FloatArray | None
    metric: FloatArray | None  # a: (M,) or (K, M)
    warned: Sequence[tuple[type[Warning], str]] = ()
    seconds: float = 0.0


def fit_stratum(stratum: Stratum, table: CodedTable, params: dict[str, Any], weigher: Any) -> Outcome:
    """Fit a clone of the weigher to the rows of one stratum.

    The result does not depend on the process or computer that runs the fit. ``table`` has the rows of the stratum, and
    ``params`` are further parameters of the fit. In the clone, every ``random_state`` that is None gets the seed of the
    stratum, and every checkpoint gets its own file name.
    """
    begin, model = time.perf_counter(), clone(weigher)
    # Strata must not share a random state or write to the same checkpoint file.
    own: dict[str, Any] = dict.fromkeys(open_seeds(model), stratum.seed)
    for name, value in model.get_params(deep=True).items():
        if (name == "checkpoint" or name.endswith("__checkpoint")) and value is not None:
            own[name] = f"{os.fspath(value)}.{stratum.round}.{stratum.number}"
    if table.nominal.any() and "categorical_features" in model.get_params(deep=False):
        own["categorical_features"] = table.nominal
    model.set_params(**own)
    resample = hasattr(model, "fit_resample")
    X: Any = table.rows if table.given is None else table.given
    y: Any = table.target.decoded
    if takes_coded(model, table) and not resample:
        X, y = table, table.target
    where = f"stratum {stratum.number} of round {stratum.round}"
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (model.fit_resample if resample else model.fit)(X, y, **params)
    except Exception as error:
        error.add_note(f"{type(model).__name__} was fitted to {where}, {len(table)} rows")
        raise
    warned = [(w.category, str(w.message)) for w in caught]
    if any(issubclass(category, InterruptedSearchWarning) for category, _ in warned):
        # An interrupted search has a result, but results of only some strata cannot be combined.
        raise KeyboardInterrupt(f"in {where}")
    return read_outcome(model, *table.shape)._replace(warned=warned, seconds=time.perf_counter() - begin)


def read_outcome(model: Any, n: int, M: int) -> Outcome:
    """Return the results of a fitted weigher or selector that can be combined over strata.

    ``n`` and ``M`` are the numbers of rows and columns of the fit.
    """
    name, weights = type(model).__name__, getattr(model, "weights_", None)
    published: FloatArray | None = published_scores(model)
    per_class: Any = getattr(model, "class_feature_weights_", None)
    published = published if published is not None and published.shape == (M,) else None
    if not isinstance(weights, Weights):
        rows, scales, votes, metric = getattr(model, "sample_indices_", None), None, None, None
        if rows is None and hasattr(model, "fit_resample"):
            raise InvalidDataError(
                f"{name} does not say which rows it keeps (sample_indices_): a sampler that makes new rows selects "
                "nothing"
            )
        kept = None if rows is None else np.isin(np.arange(n), rows)
        columns = np.asarray(model.get_support(), dtype=bool) if hasattr(model, "get_support") else None
    elif weights.kind in ("interval", "instance"):
        raise InvalidDataError(
            f"{name} learns intervals of values, and those of several strata make no table. "
            "It needs one pass over the rows as it is: fit it to all of them"
            if weights.kind == "interval"
            else f"{name} weighs features per instance, which has no mean over strata"
        )
    else:
        kept, scales, votes = weights.instance_mask, weights.instance_scales, weights.votes
        columns, metric = weights.feature_mask, weights.feature_weights
    if all(part is None for part in (published, metric, kept, scales, votes, columns)):
        raise InvalidDataError(
            f"{name} has no weights for rows or features after fit: weights_, sample_indices_, "
            "get_support, feature_importances_ or coef_ is needed"
        )
    return Outcome(
        n=n,
        kept=kept,
        scales=scales,
        # Strata may scale their votes differently. With a mean of 1 they can be joined.
        votes=None if votes is None else votes / votes.mean(),
        columns=columns,
        published=published,
        per_class=per_class if np.ndim(per_class) == 2 else None,
        metric=metric,
    )


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


def join(strata: Sequence[Stratum], outcomes: Sequence[Outcome], N: int, n_rounds: int) -> Joined:
    """Combine the results of all strata of a table of ``N`` rows. Every row is in one stratum per round."""
    _check_agreement(outcomes)
    one, n_rows = outcomes[0], np.array([outcome.n for outcome in outcomes], dtype=np.float64)

    def parts_of(name: str) -> list[Any]:
        """Return a part of the result of each stratum."""
        return [getattr(outcome, name) for outcome in outcomes]

    def sum_rows(parts: Iterable[Any]) -> FloatArray:
        """Return the sum over rounds for each row. ``parts`` has the values of the rows of each stratum."""
        total = np.zeros(N)
        for stratum, part in zip(strata, parts, strict=True):
            total[stratum.rows] += part
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
        metric=_join_metrics(outcomes, published, mean_of("metric")),
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
    outcomes: Sequence[Outcome], published: FloatArray | None, mean: FloatArray | None
) -> Callable[[BoolArray], FloatArray] | None:
    """Return a function that takes the kept features and returns the metric weights ``a``, or None without ``a``.

    If all strata compute ``a`` from their published weights in the same way, the function does so from ``published``,
    the mean of these weights. Else it returns ``mean``, the mean of ``a``.
    """
    if mean is None:
        return None
    # The metric of the mean is not the mean of the metrics: clipping at 0 would give noise features a positive mean.
    for square in (False, True):
        if published is not None and all(_follows(outcome, square=square) for outcome in outcomes):
            return partial(metric_weights, published, square=square)
    return lambda support: mean


def _follows(outcome: Outcome, *, square: bool) -> bool:
    """Return whether the metric weights of a stratum are its published weights or, if ``square``, their squares.

    Negative weights count as 0. If there is no positive weight, metric weights are 1 (see `metric_weights`).
    """
    published, metric = outcome.published, outcome.metric
    if published is None or metric is None or metric.shape != published.shape:
        return False
    positive = np.maximum(published, 0.0)
    none = not positive.any() and bool((metric == 1).all())
    return none or np.array_equal(metric, positive**2 if square else positive)


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
