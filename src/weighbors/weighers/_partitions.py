"""The rows that strata are drawn from, on a cluster: partitions of Dask's arrays and DataFrames.

Strata are drawn inside each partition, where its rows lie; what travels is what the fits learn.
A single partition gives what the same table gives in memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from .._cluster import computed, dask_module, is_dask
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .._validation import TableCoder, check_labels, codes_of
from ..engine import Extent
from ..engine.references import bounds
from ..exceptions import InvalidDataError
from ..weights import Weights
from ._democracy import merge
from ._strata import Outcome, Stratum, count_strata, fit_stratum
from ._tables import Cut, Fits, categories_of, cut, level_neighbors, proportional, set_categories, takes_codes

__all__ = ["PartitionedRows", "reduced_partitions", "selected_columns"]

TOGETHER = 16  # strata of a partition that one task fits


class Door(NamedTuple):
    """What every task needs to open a partition."""

    estimator: Any  # its settings check and code the table
    weigher: Any
    classes: AnyArray
    names: list[str] | None
    M: int

    def open(self, part: Any, label: Any, p: int) -> tuple[Any, Any, IndexArray, BoolArray]:
        """Partition ``p`` as the weigher takes it, coded rows, their classes, and which columns are categories."""
        own = [str(name) for name in part.columns] if hasattr(part, "columns") else None
        if own != self.names or part.shape[1] != self.M:
            raise InvalidDataError(
                f"partition {p} has the columns {own or part.shape[1]} and the table has {self.names or self.M}: all "
                "partitions need the same columns in the same order"
            )
        if len(label) != part.shape[0]:
            raise InvalidDataError(f"partition {p} has {part.shape[0]} rows and {len(label)} labels")
        coder = TableCoder(categories_of(self.estimator, self.weigher))
        X = coder.fit_transform(self.estimator, part)
        nominal = coder.nominal_of(X)
        table = part if nominal.any() and not takes_codes(self.weigher) else X
        return table, X, codes_of(label, self.classes), nominal


class Plan(NamedTuple):
    """Strata of a partition that one task fits."""

    p: int
    seeds: np.random.SeedSequence
    of_round: int
    first: int  # number of the partition's first stratum
    number: int  # strata of the partition
    which: range  # of them, those to fit


class PartitionedRows:
    """Partitions of a Dask collection, their labels, and how many rows of each class they have."""

    def __init__(self, estimator: Any, weigher: Any, X: Any, y: Any, params: dict[str, Any]) -> None:
        if params:
            raise InvalidDataError(
                f"fit parameters ({', '.join(params)}) are not handed to partitions. Fit a table in memory, or put "
                "them into the weigher"
            )
        self.estimator, self.weigher = clone(estimator), weigher
        self.parts, self.labels, self.names, self.M = partitions(X, y)

    @property
    def _door(self) -> Door:
        return Door(self.estimator, self.weigher, self.classes, self.names, self.M)

    def _count(self, client: Any) -> None:
        """Read the labels once: classes, and the rows of each class in each partition."""
        delayed = dask_module("dask").delayed
        found = computed([delayed(label_counts)(part, p) for p, part in enumerate(self.labels)], client)
        values = np.concatenate([labels for labels, _ in found])
        self.classes = check_labels(values)[0]
        self.counts = np.zeros((len(found), len(self.classes)), dtype=np.int64)
        for p, (labels, counts) in enumerate(found):
            self.counts[p, codes_of(labels, self.classes)] = counts
        lacking = np.argwhere(self.counts == 0)
        if len(lacking):
            p, code = lacking[0].tolist()
            name = repr(self.classes.tolist()[code])
            raise InvalidDataError(
                f"partition {p} of {len(found)} has no row of class {name}, and strata need every "
                f"class. Shuffle the rows among partitions, or use fewer partitions ({len(lacking)} such gaps)"
            )
        self.start = np.concatenate([[0], np.cumsum(self.counts.sum(axis=1))])
        self.N = int(self.start[-1])

    def learn(self, given: Cut, *, n_jobs: int | None, client: Any) -> Fits:
        """Fit every stratum of every round, each in the partition that has its rows."""
        self._count(client)
        delayed = dask_module("dask").delayed
        numbers = self._numbers(given)
        first = np.concatenate([[0], np.cumsum(numbers)])
        tasks = []
        for of_round, seeds in enumerate(given.rounds):
            for p, child in enumerate(seeds.spawn(len(self.parts))):
                for begin in range(0, numbers[p], TOGETHER):
                    which = range(begin, min(begin + TOGETHER, numbers[p]))
                    plan = Plan(p, child, of_round, int(first[p]), numbers[p], which)
                    tasks.append(delayed(fit_strata)(self._door, self.parts[p], self.labels[p], plan))
        fits = Fits([], [], [])
        for p, found in computed(tasks, client):
            for stratum, rows, outcome in found:
                fits.strata.append(stratum)
                fits.rows.append(rows + self.start[p])
                fits.outcomes.append(outcome)
        return fits

    def _numbers(self, given: Cut) -> list[int]:
        """Strata of each partition."""
        wanted: list[Any] = ["auto"] * len(self.parts)
        if given.n_strata != "auto":
            if given.n_strata < len(self.parts):
                raise InvalidDataError(
                    f"n_strata={given.n_strata} is less than the {len(self.parts)} partitions, and strata do not reach "
                    f"over partitions. Use n_strata='auto', at least {len(self.parts)}, or fewer partitions"
                )
            wanted = shared_out(int(given.n_strata), np.diff(self.start)).tolist()
        return [
            count_strata(number, given.stratum_size, self.counts[p], self.classes, where=f" in partition {p}")
            for p, number in enumerate(wanted)
        ]

    def draw(self, number: int, rng: np.random.Generator, client: Any) -> tuple[IndexArray, FloatArray, IndexArray]:
        """Rows drawn in proportion to partitions and classes: numbers, values, classes."""
        delayed = dask_module("dask").delayed
        sizes = shared_out(min(number, self.N), np.diff(self.start))
        seeds = rng.integers(2**63 - 1, size=len(self.parts))
        tasks = [
            delayed(draw_rows)(self._door, part, label, p, int(size), int(seed))
            for p, (part, label, size, seed) in enumerate(zip(self.parts, self.labels, sizes, seeds, strict=True))
        ]
        found = computed(tasks, client)
        rows = np.concatenate([one[0] + self.start[p] for p, one in enumerate(found)])
        self.reach = joined_reach([one[3] for one in found])
        return rows, np.concatenate([one[1] for one in found]), np.concatenate([one[2] for one in found])

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
        """The k nearest rows of every query at each level under each of several weights; after `draw`."""
        delayed = dask_module("dask").delayed
        shared = delayed((queries, own_row, self.reach))
        tasks = []
        for p, (part, label) in enumerate(zip(self.parts, self.labels, strict=True)):
            rows = np.arange(self.start[p], self.start[p + 1])
            mine = [one.take(rows) if one.instance_bound else one for one in weights]
            start = int(self.start[p])
            tasks.append(
                delayed(partition_neighbors)(self._door, part, label, p, start, level[rows], n_levels, mine, shared, k)
            )
        found = computed(tasks, client)
        return [merge([lists[number] for lists in found], k) for number in range(len(weights))]


def partitions(X: Any, y: Any) -> tuple[list[Any], list[Any], list[str] | None, int]:
    """Delayed partitions of a table and of its labels, names and number of columns."""
    if not (is_dask(X) and is_dask(y)):
        raise InvalidDataError(
            "X and y must both be Dask collections, with the same partitions, or neither; got "
            f"{type(X).__name__} and {type(y).__name__}. Use dask.array.from_array(y, chunks=X.chunks[0])"
        )
    if getattr(X, "ndim", 0) != 2:
        raise InvalidDataError(f"X must have two dimensions; got {getattr(X, 'ndim', '?')}")
    if getattr(y, "ndim", 0) != 1:
        raise InvalidDataError(f"y must be a vector; got {getattr(y, 'ndim', '?')} dimensions")
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if names is None and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    known = names is None and not hasattr(y, "divisions") and not np.isnan([*X.chunks[0], *y.chunks[0]]).any()
    if known and X.shape[0] != y.shape[0]:
        raise InvalidDataError(f"X has {X.shape[0]} rows and y {y.shape[0]} labels")
    if known and X.chunks[0] != y.chunks[0]:
        y = y.rechunk((X.chunks[0],))
    parts, labels = (list(np.ravel(np.asarray(one.to_delayed(), dtype=object))) for one in (X, y))
    if len(parts) != len(labels):
        raise InvalidDataError(
            f"X has {len(parts)} partitions and y {len(labels)}: they must agree. Repartition one like the other, "
            "or compute the chunk sizes of both (compute_chunk_sizes)"
        )
    return parts, labels, names, int(X.shape[1])


def shared_out(number: int, sizes: AnyArray) -> IndexArray:
    """``number`` shared out in proportion to ``sizes``, at least one each; the largest remainders round up.

    Examples
    --------
    >>> shared_out(5, np.array([100, 300]))
    array([1, 4])
    """
    exact = number * sizes / sizes.sum()
    out = np.maximum(1, np.floor(exact)).astype(np.int64)
    while out.sum() < number:
        out[np.argmax(exact - out)] += 1
    while out.sum() > number and (out > 1).any():
        out[np.argmin(np.where(out > 1, exact - out, np.inf))] -= 1
    return out


def label_counts(labels: Any, p: int) -> tuple[AnyArray, IndexArray]:
    """Labels of a partition, each once, and how often they come."""
    values = np.asarray(labels)
    if not len(values):
        raise InvalidDataError(f"partition {p} is empty. Drop empty partitions, or repartition")
    absent = int(pd.isna(values).sum())
    if absent:
        raise InvalidDataError(f"{absent} labels are missing in partition {p}. Drop these rows")
    return np.unique(values, return_counts=True)


def fit_strata(door: Door, part: Any, label: Any, plan: Plan) -> tuple[int, list[tuple[Stratum, IndexArray, Outcome]]]:
    """Cut a partition into strata and fit some of them."""
    table, _, codes, nominal = door.open(part, label, plan.p)
    fresh = np.random.SeedSequence(plan.seeds.entropy, spawn_key=plan.seeds.spawn_key)  # a task may run again
    strata, rows = cut(codes, plan.number, fresh, of_round=plan.of_round, first=plan.first)
    told = set_categories(clone(door.weigher), nominal)
    found = []
    for one in plan.which:
        mine = rows[one]
        outcome = fit_stratum(told, strata[one], _safe_indexing(table, mine), door.classes[codes[mine]], {})
        found.append((strata[one], mine, outcome))
    return plan.p, found


def draw_rows(
    door: Door, part: Any, label: Any, p: int, number: int, seed: int
) -> tuple[IndexArray, FloatArray, IndexArray, Extent]:
    """Some rows of a partition: numbers within it, values, classes; and how far its columns reach."""
    _, X, codes, nominal = door.open(part, label, p)
    if nominal.any():
        raise InvalidDataError(
            "neighbours across partitions need numbers, and some columns are categories. Encode them (one column per "
            "category), or choose the thresholds yourself (threshold=, feature_threshold=)"
        )
    rows = proportional(codes, number, np.random.default_rng(seed))
    return rows, X[rows], codes[rows], bounds(X)


def joined_reach(parts: list[Extent]) -> Extent:
    """How far the columns of all partitions reach; 0 where all values are missing."""
    low, high = np.fmin.reduce([part.low for part in parts]), np.fmax.reduce([part.high for part in parts])
    return Extent(np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=0.0), np.any([p.missing for p in parts], axis=0))


def partition_neighbors(
    door: Door,
    part: Any,
    label: Any,
    p: int,
    start: int,
    level: IndexArray,
    n_levels: int,
    weights: list[Weights],
    shared: tuple[FloatArray, IndexArray, Extent],
    k: int,
) -> list[tuple[FloatArray, IndexArray, IndexArray]]:
    """`level_neighbors` in one partition, rows numbered as in the whole table."""
    queries, own_row, reach = shared
    _, X, codes, _ = door.open(part, label, p)
    own = np.where((own_row >= start) & (own_row < start + len(codes)), own_row - start, -1)
    out = []
    for one in weights:
        distance, row, code = level_neighbors(X, codes, level, n_levels, one, queries, own, k=k, measured=reach)
        out.append((distance, np.where(row < 0, -1, row + start), code))
    return out


def selected_columns(X: Any, support: BoolArray) -> Any:
    """Some columns of a Dask collection."""
    columns = np.flatnonzero(support)
    return X[[X.columns[j] for j in columns]] if hasattr(X, "columns") else X[:, columns]


def reduced_partitions(X: Any, y: Any, kept: BoolArray, support: BoolArray) -> Any:
    """Some rows and columns of a Dask collection, and of its labels, still in partitions."""
    small = _kept_rows(selected_columns(X, support), kept)
    return small if y is None else (small, _kept_rows(y, kept))


def _kept_rows(values: Any, kept: BoolArray) -> Any:
    delayed = dask_module("dask").delayed
    found = list(np.ravel(np.asarray(values.to_delayed(), dtype=object)))
    if hasattr(values, "divisions") or np.isnan(values.chunks[0]).any():
        sizes = computed([delayed(len)(part) for part in found])
    else:
        sizes = list(values.chunks[0])
    if sum(sizes) != len(kept):
        raise InvalidDataError(f"reduce takes the {len(kept)} rows that were fitted; got {sum(sizes)}")
    masks = np.split(kept, np.cumsum(sizes)[:-1])
    parts = [delayed(_safe_indexing)(part, np.flatnonzero(mask)) for part, mask in zip(found, masks, strict=True)]
    if hasattr(values, "divisions"):
        return dask_module("dask.dataframe").from_delayed(parts, meta=values._meta, verify_meta=False)
    array = dask_module("dask.array")
    shapes = [(int(mask.sum()), *values.shape[1:]) for mask in masks]
    pieces = [array.from_delayed(part, shape, values.dtype) for part, shape in zip(parts, shapes, strict=True)]
    return array.concatenate(pieces)
