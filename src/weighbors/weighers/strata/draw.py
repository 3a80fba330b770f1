"""Draw strata and fit a weigher to a stratum.

Strata are parts of a table with the class shares of the table. Of a numeric target, they have the same shares of its
low, middle and high values.
"""

from __future__ import annotations

import os
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..._random import open_seeds
from ..._targets import Target
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..._unscaled import columns_checked
from ..._warnings import warn
from ...exceptions import InterruptedSearchWarning, InvalidDataError, RareClassWarning
from ...weights import Weights
from ..base import published_scores

__all__ = [
    "Outcome",
    "Stratum",
    "count_numeric_strata",
    "count_strata",
    "draw_strata",
    "fit_stratum",
    "group_rows",
    "rows_of_strata",
]

N_BINS = 10  # groups of a numeric target


def group_rows(target: Target) -> IndexArray:
    """Return the group of each row, of which every stratum gets its share: its class, or a bin of its number.

    Bins hold equally many rows, in the order of the numbers. Equal numbers are ordered by their row.

    Examples
    --------
    >>> numbers = np.array([5.0, 1.0, 9.0, 3.0])
    >>> group_rows(Target(np.zeros(4, dtype=int), np.zeros(0), numbers))
    array([2, 0, 3, 1])
    """
    if target.numbers is None:
        return target.codes
    n = len(target.numbers)
    rank = np.empty(n, dtype=np.int64)
    rank[np.argsort(target.numbers, kind="stable")] = np.arange(n)
    return rank * min(N_BINS, n) // n


def count_numeric_strata(n_strata: Any, stratum_size: int, n: int, *, where: str = "") -> int:
    """Return the number of strata of ``n`` rows with a numeric target. The parameters are those of `count_strata`.

    Every stratum has at least two rows, since one number says nothing of how numbers differ.

    Examples
    --------
    >>> count_numeric_strata("auto", 100, 520), count_numeric_strata("auto", 1000, 520)
    (5, 1)
    """
    if n_strata == "auto":
        return max(1, min(round(n / stratum_size), n // 2))
    if n < 2 * n_strata:
        raise InvalidDataError(
            f"n_strata={n_strata}{where} is more than half of the {n} rows, and every stratum needs two. Use at most "
            f"{n // 2}{where}"
        )
    return int(n_strata)


def count_strata(n_strata: Any, stratum_size: int, counts: IndexArray, classes: AnyArray, *, where: str = "") -> int:
    """Return the number of strata, such that every stratum can have rows of every class.

    ``counts`` is the number of rows of each class in ``classes``. If ``n_strata`` is "auto", strata have about
    ``stratum_size`` rows. If the smallest class then has fewer than two rows per stratum, there are fewer and
    larger strata, and a warning if there are less than half as many. ``where`` names the part of the table in
    messages.

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
    # Two rows of the rarest class per stratum, so that each of them has a nearest hit.
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
    """Return a random stratum for each row. The sizes of strata, and their rows of each class, differ by at most 1.

    ``codes`` are the groups of `group_rows`: classes, or bins of a numeric target. The rows of each class are shuffled
    and given to the strata in turn. The next class continues with the stratum after the last one (Cano et al. 2005:
    disjoint strata of equal size that keep the class shares).
    """
    stratum = np.empty(len(codes), dtype=np.int64)
    dealt = 0
    for code in range(int(codes.max()) + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        # Each class goes on where the one before stopped, so that strata differ by at most one row in all.
        stratum[rows] = (dealt + np.arange(len(rows))) % n_strata
        dealt += len(rows)
    return stratum


def rows_of_strata(stratum: IndexArray, n_strata: int) -> list[IndexArray]:
    """Return the rows of each stratum, ascending."""
    order = np.argsort(stratum, kind="stable")
    return np.split(order, np.cumsum(np.bincount(stratum, minlength=n_strata))[:-1])


class Stratum(NamedTuple):
    """A stratum: number of its round, its number in the round, and the seed of its fit."""

    round: int
    number: int
    seed: int

    @property
    def description(self) -> str:
        """Name of the stratum for messages."""
        return f"stratum {self.number} of round {self.round}"


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
    warned: list[tuple[type[Warning], str]]
    seconds: float


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
            f"{type(model).__name__} has no weights for rows or features after fit: weights_, sample_indices_, "
            "get_support, feature_importances_ or coef_ is needed"
        )
    # Strata may scale their votes differently. With a mean of 1 they can be joined.
    votes = None if votes is None else votes / votes.mean()
    per_class = getattr(model, "class_feature_weights_", None)
    if per_class is not None and np.ndim(per_class) != 2:
        per_class = None
    return Outcome(n, kept, scales, votes, columns, published, per_class, metric, _relation(published, metric), [], 0.0)


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


def _feature_vector(model: Any, M: int) -> FloatArray | None:
    """Return one score per feature from a fitted model, or None if it has none of that shape."""
    scores = published_scores(model)
    return scores if scores is not None and scores.shape == (M,) else None


def _kept_rows(model: Any, n: int) -> BoolArray | None:
    """Return which rows a sampler with the API of imbalanced-learn keeps, or None if ``model`` is no sampler."""
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
    """Return which columns a selector with the API of scikit-learn keeps, or None if ``model`` is no selector."""
    return np.asarray(model.get_support(), dtype=bool) if hasattr(model, "get_support") else None
