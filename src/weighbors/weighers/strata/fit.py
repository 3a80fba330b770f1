"""Draw and fit the strata of a table in memory. `fit_blocks` does the same for a table in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from ..._parallel.executors import executor_for
from ..._targets import Target, check_target, expect_target
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..._validation import TableCoder
from ...engine import ColumnRanges, NeighborEngine
from ...engine.references import column_ranges
from ...exceptions import InvalidDataError
from ...weights import Weights
from .draw import (
    Outcome,
    Stratum,
    count_numeric_strata,
    count_strata,
    draw_strata,
    fit_stratum,
    group_rows,
    rows_of_strata,
)

__all__ = ["Cut", "Fits", "LocalRows", "cut", "level_neighbors", "set_categories"]


class Cut(NamedTuple):
    """How to cut a table into strata: number of strata or "auto", rows per stratum, and one seed per round."""

    n_strata: Any
    stratum_size: int
    rounds: list[np.random.SeedSequence]


class Fits(NamedTuple):
    """All fits of all rounds: the strata, the rows of each stratum, and the result of each fit."""

    strata: list[Stratum]
    rows: list[IndexArray]
    outcomes: list[Outcome]


def cut(
    codes: IndexArray, n_strata: int, seeds: np.random.SeedSequence, *, of_round: int, first: int = 0
) -> tuple[list[Stratum], list[IndexArray]]:
    """Cut some rows into the strata of one round.

    Parameters
    ----------
    codes : int ndarray of shape (n,)
        Group of each row, of which every stratum gets its share (see `group_rows`).
    n_strata : int
        Number of strata.
    seeds : SeedSequence
        Seeds for drawing the strata and for the fits.
    of_round : int
        Number of the round.
    first : int
        Number that the first stratum gets.

    Returns
    -------
    strata, rows
        The strata, and the rows of each.
    """
    # Seeds belong to the round and the stratum, so that results do not depend on the order of the fits.
    draw, *fits = seeds.spawn(1 + n_strata)
    stratum = draw_strata(codes, n_strata, np.random.Generator(np.random.PCG64(draw)))
    places = [
        Stratum(of_round, first + number, int(child.generate_state(1)[0] % (2**31 - 1)))
        for number, child in enumerate(fits)
    ]
    return places, rows_of_strata(stratum, n_strata)


def set_categories(weigher: Any, nominal: BoolArray) -> Any:
    """Tell the weigher which columns are categories, if it has a parameter for it. Return the weigher."""
    if nominal.any() and "categorical_features" in weigher.get_params(deep=False):
        weigher.set_params(categorical_features=nominal)
    return weigher


def takes_codes(weigher: Any) -> bool:
    """Return whether the weigher takes categories as codes: it has the parameter ``categorical_features``."""
    return "categorical_features" in weigher.get_params(deep=False)


def level_neighbors(
    X: Any,
    target: Target,
    level: IndexArray,
    n_levels: int,
    weights: Weights,
    queries: FloatArray,
    own_row: IndexArray,
    *,
    k: int,
    measured: ColumnRanges,
    nominal: BoolArray | None = None,
    n_jobs: int | None = None,
) -> tuple[FloatArray, IndexArray, IndexArray]:
    """Find the k nearest rows of every query at each level.

    The level of a row is its number of removal votes. One search gives the neighbours for every threshold.

    Parameters
    ----------
    X, target : rows, and their classes or numbers
    level, n_levels : int ndarray of shape (n,), int
        Level of each row, and the number of levels.
    weights : Weights
    queries : ndarray of shape (n_queries, M)
    own_row : int ndarray of shape (n_queries,)
        Row number of the query itself, which must not be its neighbour, or -1.
    k : int
        Number of neighbours.
    measured : ColumnRanges
        Column ranges of the whole table, from which missing distances are computed.
    nominal : bool ndarray of shape (M,), optional
        Columns that hold categories.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    ranked, row, value : ndarrays of shape (n_queries, n_levels, k)
        Squared distance, row number, and class or number of each neighbour. Row and value are -1 if there is no
        neighbour.
    """
    engine = NeighborEngine(
        X,
        weights=weights,
        nominal=nominal,
        class_of_row=target.codes if weights.kind == "class" else None,
        groups=level,
        n_groups=n_levels,
        backend="scan",
        measured=measured,
        n_jobs=n_jobs,
    )
    ranked, row = engine.ranked(queries, k, own_row=own_row)
    values = target.codes if target.numbers is None else target.numbers
    return ranked, row, np.where(row < 0, -1, values[row])


class LocalRows:
    """A table in memory with its target, after column coding.

    ``estimator`` is the `CombinedWeigher`, ``weigher`` is fitted to every stratum, and ``params`` are further
    parameters of its fit, with one entry per row. ``target_type`` is as in `check_target`.
    """

    def __init__(
        self, estimator: Any, weigher: Any, X: Any, y: Any, params: dict[str, Any], target_type: str | None
    ) -> None:
        self.coder = TableCoder(categories_of(estimator, weigher))
        self.X = self.coder.fit_transform(estimator, X)
        self.target = check_target(y, target_type)
        check_consistent_length(self.X, self.target.codes)
        self.groups = group_rows(self.target)
        self.N, self.M = self.X.shape
        self.nominal = self.coder.nominal_of(self.X)
        self.params = {name: _checked_param(name, value, self.N) for name, value in params.items()}
        numeric = self.target.numbers is not None
        self.weigher = expect_target(set_categories(weigher, self.nominal), numeric=numeric)
        # Selectors of other packages cannot be told which codes are categories: they get the table as it came.
        raw = self.nominal.any() and not takes_codes(weigher)
        self.table = (X if hasattr(X, "shape") else np.asarray(X, dtype=object)) if raw else self.X

    def learn(self, given: Cut, *, n_jobs: int | None, client: Any) -> Fits:
        """Fit every stratum of every round. ``given`` says how to cut the table."""
        number = count_strata_of(given, self.target)
        strata: list[Stratum] = []
        rows: list[IndexArray] = []
        for of_round, seeds in enumerate(given.rounds):
            places, parts = cut(self.groups, number, seeds.spawn(1)[0], of_round=of_round)
            strata, rows = strata + places, rows + parts
        y = self.target.decoded

        def tasks() -> Iterator[tuple[Any, ...]]:
            # The rows of a stratum are copied only when a worker process is free to take them.
            """Yield one task per stratum."""
            for stratum, mine in zip(strata, rows, strict=True):
                params = {name: _safe_indexing(value, mine) for name, value in self.params.items()}
                yield stratum, _safe_indexing(self.table, mine), y[mine], params

        outcomes = executor_for(client, n_jobs, threads=False).map(fit_stratum, tasks(), self.weigher)
        return Fits(strata, rows, outcomes)

    def draw(
        self, number: int, rng: np.random.Generator, *, n_jobs: int | None, client: Any
    ) -> tuple[IndexArray, FloatArray, Target]:
        """Draw about ``number`` rows as `proportional` does. Return their row numbers, values and target."""
        rows = proportional(self.groups, number, rng)
        values = self.X[rows]
        return rows, values.toarray() if sparse.issparse(values) else values, self.target.take(rows)

    def neighbors(
        self,
        level: IndexArray,
        n_levels: int,
        weights: list[Weights],
        queries: FloatArray,
        own_row: IndexArray,
        *,
        k: int,
        n_jobs: int | None,
        client: Any,
    ) -> list[tuple[FloatArray, IndexArray, IndexArray]]:
        """Return the result of `level_neighbors` for each of the ``weights``."""
        nominal, measured = self.nominal if self.nominal.any() else None, column_ranges(self.X)
        return [
            level_neighbors(
                self.X,
                self.target,
                level,
                n_levels,
                one,
                queries,
                own_row,
                k=k,
                measured=measured,
                nominal=nominal,
                n_jobs=n_jobs,
            )
            for one in weights
        ]


def count_strata_of(given: Cut, target: Target) -> int:
    """Return the number of strata of a table in memory. ``given`` says what was asked for."""
    if target.numbers is not None:
        return count_numeric_strata(given.n_strata, given.stratum_size, len(target.numbers))
    counts = np.bincount(target.codes, minlength=len(target.classes))
    return count_strata(given.n_strata, given.stratum_size, counts, target.classes)


def categories_of(estimator: Any, weigher: Any) -> Any:
    """Return the setting of which columns are categories.

    It is the setting of the estimator. If this is "from_dtype", it is the setting of the weigher, if it has one.
    """
    own = estimator.categorical_features
    return getattr(weigher, "categorical_features", own) if isinstance(own, str) else own


def proportional(codes: IndexArray, number: int, rng: np.random.Generator) -> IndexArray:
    """Draw about ``number`` rows without replacement, with the shares of the groups and at least one row of each."""
    if number >= len(codes):
        return np.arange(len(codes))
    counts = np.bincount(codes)
    drawn = [
        rng.choice(np.flatnonzero(codes == code), size=max(1, round(number * int(count) / len(codes))), replace=False)
        for code, count in enumerate(counts)
        if count
    ]
    return np.sort(np.concatenate(drawn))


def _checked_param(name: str, value: Any, N: int) -> AnyArray:
    """Return a fit parameter as an array. Raise InvalidDataError if it has not one entry per row."""
    array = value if hasattr(value, "shape") else np.asarray(value)
    if not array.shape or array.shape[0] != N:
        raise InvalidDataError(
            f"{name} must have one entry per row, {N}, so that each stratum gets its own; got shape {array.shape}"
        )
    return array
