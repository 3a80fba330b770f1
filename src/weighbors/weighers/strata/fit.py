"""Fit a weigher to one stratum, and read what it learned."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..._random import open_seeds
from ..._typing import AnyArray, BoolArray, FloatArray
from ..._unscaled import columns_checked
from ...exceptions import InterruptedSearchWarning, InvalidDataError
from ...weights import Weights
from ..base import published_scores
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
    relation: str  # how `metric` comes from `published`: "plain", "square", "any" or "other"
    warned: Sequence[tuple[type[Warning], str]] = ()
    seconds: float = 0.0


def fit_stratum(place: Stratum, X: Any, y: AnyArray, params: dict[str, Any], weigher: Any) -> Outcome:
    """Fit a clone of the weigher to the rows of one stratum.

    The result does not depend on the process or computer that runs the fit. ``place`` is the stratum, ``X`` and
    ``y`` are its rows and target, and ``params`` are further parameters of the fit.
    """
    begin = time.perf_counter()
    model = _prepared(weigher, place)
    try:
        with columns_checked(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if hasattr(model, "fit_resample"):
                model.fit_resample(X, y, **params)
            else:
                model.fit(X, y, **params)
    except Exception as error:
        error.add_note(f"{type(model).__name__} was fitted to {place.description}, {len(y)} rows")
        raise
    warned = [(w.category, str(w.message)) for w in caught]
    if any(issubclass(category, InterruptedSearchWarning) for category, _ in warned):
        # An interrupted search has a result, but results of only some strata cannot be combined.
        raise KeyboardInterrupt(f"in {place.description}")
    return read_outcome(model, len(y), int(X.shape[1]))._replace(warned=warned, seconds=time.perf_counter() - begin)


def _prepared(weigher: Any, place: Stratum) -> Any:
    """Return a clone of the weigher for one stratum.

    Every ``random_state`` that is None gets the seed of the stratum, and every checkpoint gets its own file name.
    """
    model = clone(weigher)
    # Strata must not share a random state or write to the same checkpoint file.
    own: dict[str, Any] = dict.fromkeys(open_seeds(model), place.seed)
    for name, value in model.get_params(deep=True).items():
        if (name == "checkpoint" or name.endswith("__checkpoint")) and value is not None:
            own[name] = f"{os.fspath(value)}.{place.round}.{place.number}"
    return model.set_params(**own) if own else model


def read_outcome(model: Any, n: int, M: int) -> Outcome:
    """Return the results of a fitted weigher or selector that can be combined over strata.

    ``n`` and ``M`` are the numbers of rows and columns of the fit.
    """
    name, weights = type(model).__name__, getattr(model, "weights_", None)
    published: FloatArray | None = published_scores(model)
    per_class: Any = getattr(model, "class_feature_weights_", None)
    published = published if published is not None and published.shape == (M,) else None
    if not isinstance(weights, Weights):
        kept, scales, votes, metric = _kept_rows(model, n), None, None, None
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
        relation=_relation(published, metric),
    )


def _relation(published: FloatArray | None, metric: FloatArray | None) -> str:
    """Return how a weigher computes ``metric`` from the weights ``published`` (see `metric_weights`).

    "plain": equal. "square": squared. "any": both fit. "other": neither fits. "none": there is no ``metric``.
    Negative weights count as 0.
    """
    if metric is None:
        return "none"
    if published is None or metric.shape != published.shape:
        return "other"
    positive = np.maximum(published, 0.0)
    plain, square = np.array_equal(metric, positive), np.array_equal(metric, positive**2)
    if (plain and square) or (not positive.any() and (metric == 1).all()):
        return "any"
    return "plain" if plain else "square" if square else "other"


def _kept_rows(model: Any, n: int) -> BoolArray | None:
    """Return which rows a sampler with the API of imbalanced-learn keeps, or None if ``model`` is no sampler."""
    rows = getattr(model, "sample_indices_", None)
    if rows is None and hasattr(model, "fit_resample"):
        raise InvalidDataError(
            f"{type(model).__name__} does not say which rows it keeps (sample_indices_): a sampler that makes new "
            "rows selects nothing"
        )
    return None if rows is None else np.isin(np.arange(n), rows)
