"""Strata: parts of a table with the class shares of the whole, and what a weigher learns from one."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .._warnings import warn
from ..exceptions import InterruptedSearchWarning, InvalidDataError, RareClassWarning
from ..weights import Weights

__all__ = ["Outcome", "Stratum", "count_strata", "draw_strata", "fit_stratum", "rows_of_strata"]


def count_strata(n_strata: Any, stratum_size: int, counts: IndexArray, classes: AnyArray, *, where: str = "") -> int:
    """How many strata rows with these class counts are cut into; every stratum gets every class.

    "auto" makes strata of ``stratum_size`` rows, and fewer of them, with a warning, where the
    smallest class has less than two rows for each.

    Examples
    --------
    >>> count_strata("auto", 100, np.array([300, 200]), np.array(["a", "b"]))
    5
    """
    rarest = int(np.argmin(counts))
    name = repr(classes.tolist()[rarest])
    if n_strata != "auto":
        if counts[rarest] < n_strata:
            raise InvalidDataError(
                f"n_strata={n_strata}{where} is more than the {counts[rarest]} instances of class {name}, and every "
                f"stratum needs one of each class. Use at most {counts[rarest]}{where}, or drop or join rare classes"
            )
        return int(n_strata)
    wanted = max(1, round(int(counts.sum()) / stratum_size))
    number = max(1, min(wanted, int(counts[rarest]) // 2))
    if 2 * number < wanted:
        warn(
            f"class {name} has {counts[rarest]} instances{where}, so there are {number} strata of about "
            f"{int(counts.sum()) // number} rows instead of {wanted} of {stratum_size}: a fit takes longer. "
            "Drop or join rare classes",
            RareClassWarning,
        )
    return number


def draw_strata(codes: IndexArray, n_strata: int, rng: np.random.Generator) -> IndexArray:
    """The stratum of each row, drawn at random; sizes, and counts per class, differ by at most 1.

    The rows of each class are shuffled and dealt out one by one; the next class begins where the
    one before ended (Cano et al. 2005: disjoint strata of equal size that keep the class shares).
    """
    stratum = np.empty(len(codes), dtype=np.int64)
    dealt = 0
    for code in range(int(codes.max()) + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        stratum[rows] = (dealt + np.arange(len(rows))) % n_strata
        dealt += len(rows)
    return stratum


def rows_of_strata(stratum: IndexArray, n_strata: int) -> list[IndexArray]:
    """Rows of each stratum, ascending."""
    order = np.argsort(stratum, kind="stable")
    return np.split(order, np.cumsum(np.bincount(stratum, minlength=n_strata))[:-1])


class Stratum(NamedTuple):
    """One fit: a stratum of a round, and its seed."""

    round: int
    number: int
    seed: int

    @property
    def told(self) -> str:
        """For messages."""
        return f"stratum {self.number} of round {self.round}"


class Outcome(NamedTuple):
    """What a weigher learned from a stratum; None where it says nothing of it."""

    n: int
    kept: BoolArray | None  # t of the rows
    scales: FloatArray | None  # v
    votes: FloatArray | None  # ω, mean 1
    columns: BoolArray | None  # s
    published: FloatArray | None  # feature weights as the weigher prints them
    per_class: FloatArray | None
    metric: FloatArray | None  # a: (M,) or (K, M)
    relation: str  # how `metric` comes from `published`: "plain", "square", "any" or "other"
    warned: list[tuple[type[Warning], str]]
    seconds: float


def fit_stratum(weigher: Any, place: Stratum, X: Any, y: AnyArray, params: dict[str, Any]) -> Outcome:
    """Fit a clone of the weigher to the rows of one stratum. The same wherever it runs."""
    begin = time.perf_counter()
    model = _prepared(weigher, place)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if hasattr(model, "fit_resample"):
                model.fit_resample(X, y, **params)
            else:
                model.fit(X, y, **params)
    except Exception as error:
        error.add_note(f"{type(model).__name__} was fitted to {place.told}, {len(y)} rows")
        raise
    told = [(w.category, str(w.message)) for w in caught]
    if any(issubclass(category, InterruptedSearchWarning) for category, _ in told):
        raise KeyboardInterrupt(f"in {place.told}")  # a search keeps its best; half of the strata are no answer
    return learned(model, len(y), int(X.shape[1]))._replace(warned=told, seconds=time.perf_counter() - begin)


def _prepared(weigher: Any, place: Stratum) -> Any:
    """A clone whose open seeds, and whose checkpoint, are this stratum's."""
    model = clone(weigher)
    given = model.get_params(deep=True)
    open_seeds = [
        name
        for name, value in given.items()
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    ]
    own: dict[str, Any] = dict.fromkeys(open_seeds, place.seed)
    for name, value in given.items():
        if (name == "checkpoint" or name.endswith("__checkpoint")) and value is not None:
            own[name] = f"{os.fspath(value)}.{place.round}.{place.number}"
    return model.set_params(**own) if own else model


def learned(model: Any, n: int, M: int) -> Outcome:
    """The parts of a fitted weigher or selector that can be put together."""
    published = _feature_vector(model, M)
    weights = getattr(model, "weights_", None)
    if isinstance(weights, Weights):
        if weights.kind == "interval":
            raise InvalidDataError(
                f"{type(model).__name__} learns intervals of values, and those of several strata make no table. "
                "It needs one pass over the rows as it is: fit it to all of them"
            )
        if weights.kind == "instance":
            raise InvalidDataError(
                f"{type(model).__name__} weighs features per instance, which has no mean over strata"
            )
        metric = weights.feature_weights
        kept, scales, votes, columns = (
            weights.instance_mask,
            weights.instance_scales,
            weights.votes,
            weights.feature_mask,
        )
    else:
        metric = scales = votes = None
        kept, columns = _kept_rows(model, n), _kept_columns(model)
    if published is None and all(part is None for part in (metric, kept, scales, votes, columns)):
        raise InvalidDataError(
            f"{type(model).__name__} says nothing of rows or features after fit: weights_, sample_indices_, "
            "get_support or feature_importances_ is needed"
        )
    votes = None if votes is None else votes / votes.mean()
    per_class = getattr(model, "class_feature_weights_", None)
    if per_class is not None and np.ndim(per_class) != 2:
        per_class = None
    return Outcome(n, kept, scales, votes, columns, published, per_class, metric, _relation(published, metric), [], 0.0)


def _relation(published: FloatArray | None, metric: FloatArray | None) -> str:
    """How a weigher makes ``a`` of what it publishes (see `_base.metric_weights`)."""
    if metric is None:
        return "none"
    if published is None or metric.shape != published.shape:
        return "other"
    positive = np.maximum(published, 0.0)
    plain, square = np.array_equal(metric, positive), np.array_equal(metric, positive**2)
    if (plain and square) or (not positive.any() and (metric == 1).all()):
        return "any"
    return "plain" if plain else "square" if square else "other"


def _feature_vector(model: Any, M: int) -> FloatArray | None:
    for name in ("feature_weights_", "feature_importances_"):
        found = getattr(model, name, None)
        if found is not None and np.shape(found) == (M,):
            return np.asarray(found, dtype=np.float64)
    return None


def _kept_rows(model: Any, n: int) -> BoolArray | None:
    """Of a sampler in imbalanced-learn's manner."""
    rows = getattr(model, "sample_indices_", None)
    if rows is None:
        if hasattr(model, "fit_resample"):
            raise InvalidDataError(
                f"{type(model).__name__} does not say which rows it keeps (sample_indices_): a sampler that makes new "
                "rows selects nothing"
            )
        return None
    kept = np.zeros(n, dtype=bool)
    kept[np.asarray(rows)] = True
    return kept


def _kept_columns(model: Any) -> BoolArray | None:
    """Of a selector in scikit-learn's manner."""
    return np.asarray(model.get_support(), dtype=bool) if hasattr(model, "get_support") else None
