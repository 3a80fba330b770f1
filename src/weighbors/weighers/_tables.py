"""The rows that strata are drawn from: a table in memory. `_partitions` has the same on a cluster."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from .._fanout import fan_out
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .._validation import TableCoder, check_labels
from ..engine import Extent, NeighborEngine
from ..engine.references import extent
from ..exceptions import InvalidDataError
from ..weights import Weights
from ._strata import Outcome, Stratum, count_strata, draw_strata, fit_stratum, rows_of_strata

__all__ = ["Cut", "Fits", "LocalRows", "cut", "level_neighbors", "set_categories"]


class Cut(NamedTuple):
    """How a table is to be cut: strata wanted, rows per stratum, and the seeds of the rounds."""

    n_strata: Any
    stratum_size: int
    rounds: list[np.random.SeedSequence]


class Fits(NamedTuple):
    """All fits of all rounds, with the rows each one saw."""

    strata: list[Stratum]
    rows: list[IndexArray]
    outcomes: list[Outcome]


def cut(
    codes: IndexArray, n_strata: int, seeds: np.random.SeedSequence, *, of_round: int, first: int = 0
) -> tuple[list[Stratum], list[IndexArray]]:
    """Strata of one round of some rows, numbered from ``first``, and the rows of each."""
    draw, *fits = seeds.spawn(1 + n_strata)
    stratum = draw_strata(codes, n_strata, np.random.Generator(np.random.PCG64(draw)))
    places = [
        Stratum(of_round, first + number, int(child.generate_state(1)[0] % (2**31 - 1)))
        for number, child in enumerate(fits)
    ]
    return places, rows_of_strata(stratum, n_strata)


def set_categories(weigher: Any, nominal: BoolArray) -> Any:
    """The weigher, told which of the coded columns are categories."""
    if nominal.any() and "categorical_features" in weigher.get_params(deep=False):
        weigher.set_params(categorical_features=nominal)
    return weigher


def takes_codes(weigher: Any) -> bool:
    """Whether categories can be handed over as codes."""
    return "categorical_features" in weigher.get_params(deep=False)


def level_neighbors(
    X: Any,
    codes: IndexArray,
    level: IndexArray,
    n_levels: int,
    weights: Weights,
    queries: FloatArray,
    own_row: IndexArray,
    *,
    k: int,
    measured: Extent,
    nominal: BoolArray | None = None,
    n_jobs: int | None = None,
) -> tuple[FloatArray, IndexArray, IndexArray]:
    """The k nearest rows of every query at each level: squared distance, row and class.

    Arrays of shape (n_queries, n_levels, k). One pass over the rows serves every threshold between
    levels. ``measured``: how far the columns of the whole table reach; a missing value is that far.
    """
    engine = NeighborEngine(
        X,
        weights=weights,
        nominal=nominal,
        class_of_row=codes if weights.kind == "class" else None,
        groups=level,
        n_groups=n_levels,
        backend="scan",
        measured=measured,
        n_jobs=n_jobs,
    )
    ranked, row = engine.ranked(queries, k, own_row=own_row)
    return ranked, row, np.where(row < 0, -1, codes[row])


class LocalRows:
    """A table in memory, coded, and its labels."""

    def __init__(self, estimator: Any, weigher: Any, X: Any, y: Any, params: dict[str, Any]) -> None:
        self.coder = TableCoder(categories_of(estimator, weigher))
        self.X = self.coder.fit_transform(estimator, X)
        self.classes, self.codes = check_labels(y)
        check_consistent_length(self.X, self.codes)
        self.N, self.M = self.X.shape
        self.nominal = self.coder.nominal_of(self.X)
        self.params = {name: _checked_param(name, value, self.N) for name, value in params.items()}
        self.weigher = set_categories(weigher, self.nominal)
        # selectors of other packages read categories themselves
        raw = self.nominal.any() and not takes_codes(weigher)
        self.table = (X if hasattr(X, "shape") else np.asarray(X, dtype=object)) if raw else self.X

    def learn(self, given: Cut, *, n_jobs: int | None, client: Any) -> Fits:
        """Fit every stratum of every round."""
        counts = np.bincount(self.codes, minlength=len(self.classes))
        number = count_strata(given.n_strata, given.stratum_size, counts, self.classes)
        strata: list[Stratum] = []
        rows: list[IndexArray] = []
        for of_round, seeds in enumerate(given.rounds):
            places, parts = cut(self.codes, number, seeds.spawn(1)[0], of_round=of_round)
            strata, rows = strata + places, rows + parts
        y = self.classes[self.codes]

        def make(task: int) -> tuple[Any, ...]:
            mine = rows[task]
            params = {name: _safe_indexing(value, mine) for name, value in self.params.items()}
            return self.weigher, strata[task], _safe_indexing(self.table, mine), y[mine], params

        outcomes = fan_out(fit_stratum, range(len(strata)), make, n_jobs=n_jobs, client=client)
        return Fits(strata, rows, outcomes)

    def draw(
        self, number: int, rng: np.random.Generator, client: Any = None
    ) -> tuple[IndexArray, FloatArray, IndexArray]:
        """Rows drawn in proportion to the classes, at least one of each: numbers, values, classes."""
        rows = proportional(self.codes, number, rng)
        values = self.X[rows]
        return rows, values.toarray() if sparse.issparse(values) else values, self.codes[rows]

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
        """`level_neighbors` under each of several weights."""
        nominal, reach = self.nominal if self.nominal.any() else None, extent(self.X)
        return [
            level_neighbors(
                self.X,
                self.codes,
                level,
                n_levels,
                one,
                queries,
                own_row,
                k=k,
                measured=reach,
                nominal=nominal,
                n_jobs=n_jobs,
            )
            for one in weights
        ]


def categories_of(estimator: Any, weigher: Any) -> Any:
    """Which columns are categories: as the outer one says, where it says nothing as the weigher does."""
    own = estimator.categorical_features
    return getattr(weigher, "categorical_features", own) if isinstance(own, str) else own


def proportional(codes: IndexArray, number: int, rng: np.random.Generator) -> IndexArray:
    """Rows drawn without replacement, about ``number``, each class by its share and at least one."""
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
    array = value if hasattr(value, "shape") else np.asarray(value)
    if not array.shape or array.shape[0] != N:
        raise InvalidDataError(
            f"{name} must have one entry per row, {N}, so that each stratum gets its own; got shape {array.shape}"
        )
    return array
