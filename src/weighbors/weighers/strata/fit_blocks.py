"""Draw and fit the strata of a table in blocks: a Dask collection, a parquet folder or an npy file.

Strata are drawn inside blocks, so that every stratum is fitted where its rows are. The module `fit` does the same for
a table in memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..._parallel.cluster import is_dask
from ..._parallel.executors import Executor, executor_for
from ..._targets import Target, check_target, expect_target
from ..._typing import AnyArray, FloatArray, IndexArray
from ..._validation import TableCoder, codes_of
from ...blocks import (
    Block,
    ColumnCoding,
    EncodedBlock,
    Header,
    Source,
    encode_block,
    is_path,
    merge_ranges,
    open_source,
    read_labels,
)
from ...engine import ColumnRanges
from ...engine.references import bounds
from ...exceptions import InvalidDataError
from ...weights import Weights
from .draw import Outcome, Stratum, count_numeric_strata, count_strata, fit_stratum, group_rows
from .fit import Cut, Fits, categories_of, cut, level_neighbors, proportional, set_categories, takes_codes
from .vote import merge

__all__ = ["BlockRows", "in_blocks"]

Lists: TypeAlias = tuple[FloatArray, IndexArray, IndexArray]  # distances, rows and targets of neighbours

STRATA_PER_TASK = 16  # strata of a block that one task fits, so that the block is read once for all of them
BLOCK_BYTES = 32 * 2**20  # size of a block of a file; it does not depend on the number of worker processes


class Reader(NamedTuple):
    """Weigher, column coding, classes (None for a numeric target) and header, which tasks need to read a block."""

    weigher: Any
    coding: ColumnCoding
    classes: AnyArray | None
    header: Header

    def read(self, block: Block) -> tuple[Any, EncodedBlock, Target]:
        """Return the table as the weigher takes it, the encoded block, and the target of its rows."""
        encoded = encode_block(block, self.header, self.coding)
        raw = encoded.nominal.any() and not takes_codes(self.weigher)  # some selectors read categories themselves
        return encoded.table if raw else encoded.rows, encoded, self._target(encoded.labels)

    def _target(self, labels: AnyArray) -> Target:
        """Return the target of a block from its labels or numbers."""
        if self.classes is None:
            return Target(np.zeros(len(labels), dtype=np.int64), np.zeros(0), np.asarray(labels, dtype=np.float64))
        return Target(codes_of(labels, self.classes), self.classes)


class Part(NamedTuple):
    """The strata of one block that one task fits."""

    block: int
    seeds: np.random.SeedSequence
    of_round: int
    first: int  # number of the first stratum of the block
    number: int  # number of strata of the block
    which: range  # strata of the block that the task fits


def in_blocks(X: Any, y: Any) -> bool:
    """Return whether a table is in blocks: a path or a Dask collection."""
    return is_path(X) or is_dask(X) or is_dask(y)


class BlockRows:
    """A table in blocks with its target, and the number of rows of each class in each block.

    Parameters
    ----------
    estimator : CombinedWeigher
        Its settings say which columns are categories.
    weigher : estimator
        Fitted to every stratum.
    X, y : Dask collections; or a path, and labels as `open_source` takes them
    params : dict
        Further parameters of fit. It must be empty, since blocks do not take them.
    target_type : {"auto", "classes", "numeric"} or None
        As in `check_target`.
    """

    def __init__(
        self, estimator: Any, weigher: Any, X: Any, y: Any, params: dict[str, Any], target_type: str | None
    ) -> None:
        if params:
            raise InvalidDataError(
                f"fit parameters ({', '.join(params)}) are not handed to partitions. Fit a table in memory, or put "
                "them into the weigher"
            )
        self.weigher, self.target_type = weigher, target_type
        self.coding = ColumnCoding(TableCoder(categories_of(estimator, weigher)))
        self.source = _open(X, y)
        names = self.source.header.names
        self.names = None if names is None else [str(name) for name in names]
        self.M = self.source.header.width

    @property
    def _reader(self) -> Reader:
        """The objects that a task needs to read a block."""
        classes = self.target.classes if self.target.numbers is None else None
        return Reader(self.weigher, self.coding, classes, self.source.header)

    def _executor(self, client: Any, n_jobs: int | None) -> Executor:
        """Return the executor for a client, or for joblib."""
        return executor_for(client, n_jobs, dask=self.source.dask, threads=False)

    def _count(self, client: Any, n_jobs: int | None) -> None:
        """Read the labels, and set the target and the number of rows of each class (or all) in each block."""
        tasks = [(part, p) for p, part in enumerate(self.source.label_parts or ())]
        found = self._executor(client, n_jobs).map(count_labels, tasks)
        self.target = check_block_targets(found, self.target_type)
        numeric, classes = self.target.numbers is not None, self.target.classes
        expect_target(self.weigher, numeric=numeric)
        self.counts = np.zeros((len(found), max(1, len(classes))), dtype=np.int64)
        for p, (labels, counts) in enumerate(found):
            self.counts[p, 0 if numeric else codes_of(labels, classes)] = counts.sum() if numeric else counts
        lacking = np.argwhere(self.counts == 0)
        if len(lacking):
            p, code = lacking[0].tolist()
            name = repr(classes.tolist()[code])
            raise InvalidDataError(
                f"partition {p} of {len(found)} has no row of class {name}, and strata need every "
                f"class. Shuffle the rows among partitions, or use fewer partitions ({len(lacking)} such gaps)"
            )
        # Row numbers go through all blocks in order.
        self.start = np.concatenate([[0], np.cumsum(self.counts.sum(axis=1))])
        self.N = int(self.start[-1])

    def learn(self, given: Cut, *, n_jobs: int | None, client: Any) -> Fits:
        """Fit every stratum of every round, each where its block is. ``given`` says how to cut the table."""
        self._count(client, n_jobs)
        blocks = self.source.blocks
        numbers = self._strata_per_block(given)
        first = np.concatenate([[0], np.cumsum(numbers)])
        tasks: list[tuple[Any, ...]] = []
        for of_round, seeds in enumerate(given.rounds):
            # Seeds belong to blocks and strata, not to tasks: results do not depend on STRATA_PER_TASK.
            for p, child in enumerate(seeds.spawn(len(blocks))):
                for begin in range(0, numbers[p], STRATA_PER_TASK):
                    which = range(begin, min(begin + STRATA_PER_TASK, numbers[p]))
                    tasks.append((blocks[p], Part(p, child, of_round, int(first[p]), numbers[p], which)))
        fits = Fits([], [], [])
        for p, found in self._executor(client, n_jobs).map(fit_strata, tasks, self._reader):
            for stratum, rows, outcome in found:
                fits.strata.append(stratum)
                fits.rows.append(rows + self.start[p])
                fits.outcomes.append(outcome)
        return fits

    def _strata_per_block(self, given: Cut) -> list[int]:
        """Return how many strata each block is cut into."""
        n_blocks = len(self.source.blocks)
        wanted: list[Any] = ["auto"] * n_blocks
        if given.n_strata != "auto":
            if given.n_strata < n_blocks:
                raise InvalidDataError(
                    f"n_strata={given.n_strata} is less than the {n_blocks} partitions, and strata do not reach "
                    f"over partitions. Use n_strata='auto', at least {n_blocks}, or fewer partitions"
                )
            wanted = share_out(int(given.n_strata), np.diff(self.start)).tolist()
        if self.target.numbers is not None:
            return [
                count_numeric_strata(number, given.stratum_size, int(self.counts[p, 0]), where=f" in partition {p}")
                for p, number in enumerate(wanted)
            ]
        return [
            count_strata(number, given.stratum_size, self.counts[p], self.target.classes, where=f" in partition {p}")
            for p, number in enumerate(wanted)
        ]

    def draw(
        self, number: int, rng: np.random.Generator, *, n_jobs: int | None, client: Any
    ) -> tuple[IndexArray, FloatArray, Target]:
        """Draw about ``number`` rows, with the shares of blocks and classes. Return row numbers, values and target.

        It also sets ``column_range``.
        """
        sizes = share_out(min(number, self.N), np.diff(self.start))
        # One seed per block, drawn here, so that results do not depend on which worker reads it.
        seeds = rng.integers(2**63 - 1, size=len(sizes))
        tasks = [
            (block, int(size), int(seed)) for block, size, seed in zip(self.source.blocks, sizes, seeds, strict=True)
        ]
        found = self._executor(client, n_jobs).map(draw_rows, tasks, self._reader)
        rows = np.concatenate([one[0] + self.start[p] for p, one in enumerate(found)])
        merged = merge_ranges([one[3] for one in found])
        assert merged is not None
        low, high = (np.nan_to_num(end, nan=0.0) for end in merged[:2])  # 0 if all values of a column are missing
        self.column_range = ColumnRanges(low, high, merged.missing)
        return rows, np.concatenate([one[1] for one in found]), join_targets([one[2] for one in found])

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
    ) -> list[Lists]:
        """Return the k nearest rows of every query at each level, for each of the ``weights``. Call `draw` before."""
        tasks: list[tuple[Any, ...]] = []
        for p, block in enumerate(self.source.blocks):
            rows = np.arange(self.start[p], self.start[p + 1])
            # A block gets only the weights of its own rows.
            mine = [one.take(rows) if one.instance_bound else one for one in weights]
            tasks.append((block, int(self.start[p]), level[rows], mine))
        shared = self._reader, n_levels, queries, own_row, self.column_range, k
        executor = self._executor(client, n_jobs)
        found: list[Lists] = executor.reduce(block_neighbors, tasks, *shared, merge=merge_blocks)
        return found


def _open(X: Any, y: Any) -> Source:
    """Open the table in blocks, from which strata are drawn: partitions of Dask, or about 32 MiB of a file each."""
    if is_path(X):
        source = open_source(X, y, piece_bytes=BLOCK_BYTES)
        # Row groups may be small. Blocks of about the same size make strata of about the same size.
        return source.combined(1, max(16, BLOCK_BYTES // (8 * max(1, source.header.width))))
    if not (is_dask(X) and is_dask(y)):
        raise InvalidDataError(
            "X and y must both be Dask collections, with the same partitions, or neither; got "
            f"{type(X).__name__} and {type(y).__name__}. Use dask.array.from_array(y, chunks=X.chunks[0])"
        )
    if getattr(X, "ndim", 0) != 2:
        raise InvalidDataError(f"X must have two dimensions; got {getattr(X, 'ndim', '?')}")
    if getattr(y, "ndim", 0) != 1:
        raise InvalidDataError(f"y must be a vector; got {getattr(y, 'ndim', '?')} dimensions")
    return open_source(X, y, piece_bytes=BLOCK_BYTES, as_partitions=True)


def share_out(number: int, sizes: AnyArray) -> IndexArray:
    """Divide ``number`` into parts in proportion to ``sizes``. Each part is at least 1.

    The parts with the largest remainders are rounded up.

    Examples
    --------
    >>> share_out(5, np.array([100, 300]))
    array([1, 4])
    """
    exact = number * sizes / sizes.sum()
    out = np.maximum(1, np.floor(exact)).astype(np.int64)
    while out.sum() < number:
        # Largest remainders first, so that the shares come as close as whole numbers allow.
        out[np.argmax(exact - out)] += 1
    while out.sum() > number and (out > 1).any():
        out[np.argmin(np.where(out > 1, exact - out, np.inf))] -= 1
    return out


def count_labels(part: Any, p: int) -> tuple[AnyArray, IndexArray]:
    """Return the distinct labels of block ``p``, and how often each label occurs."""
    values = read_labels(part)
    if not len(values):
        raise InvalidDataError(f"partition {p} is empty. Drop empty partitions, or repartition")
    absent = int(pd.isna(values).sum())
    if absent:
        raise InvalidDataError(f"{absent} labels are missing in partition {p}. Drop these rows")
    return np.unique(values, return_counts=True)


def check_block_targets(found: list[tuple[AnyArray, IndexArray]], target_type: str | None) -> Target:
    """Check the labels of all blocks, and return the classes, or the numbers in no particular order.

    ``found`` has the distinct labels of each block and how often they occur. ``target_type`` is as in `check_target`.
    """
    values = np.concatenate([labels for labels, _ in found])
    if target_type in (None, "classes") or values.dtype.kind not in "fiu":
        return check_target(values, target_type)
    infinite = int((~np.isfinite(values)).sum())
    if infinite:
        raise InvalidDataError(
            f"Input y contains infinity: {infinite} different targets. Drop their rows, or replace them"
        )
    # Whether many numbers differ depends on the number of rows, so every label counts as often as it occurs.
    return check_target(np.repeat(values, np.concatenate([counts for _, counts in found])), target_type)


def join_targets(parts: list[Target]) -> Target:
    """Join the targets of several blocks."""
    numbers = [part.numbers for part in parts if part.numbers is not None]
    codes = np.concatenate([part.codes for part in parts])
    return Target(codes, parts[0].classes, np.concatenate(numbers) if numbers else None)


def fit_strata(block: Block, part: Part, reader: Reader) -> tuple[int, list[tuple[Stratum, IndexArray, Outcome]]]:
    """Cut a block into strata and fit the strata ``part.which``. Row numbers count within the block."""
    table, encoded, target = reader.read(block)
    # A copy that has spawned nothing: a task may run again in the same process.
    fresh = np.random.SeedSequence(part.seeds.entropy, spawn_key=part.seeds.spawn_key)
    strata, rows = cut(group_rows(target), part.number, fresh, of_round=part.of_round, first=part.first)
    weigher = set_categories(clone(reader.weigher), encoded.nominal)
    y, found = target.decoded, []
    for one in part.which:
        mine = rows[one]
        outcome = fit_stratum(strata[one], _safe_indexing(table, mine), y[mine], {}, weigher)
        found.append((strata[one], mine, outcome))
    return part.block, found


def draw_rows(
    block: Block, number: int, seed: int, reader: Reader
) -> tuple[IndexArray, FloatArray, Target, ColumnRanges]:
    """Draw about ``number`` rows of a block. Return their numbers in the block, values, target, and column ranges.

    The column ranges are those of the whole block.
    """
    _, encoded, target = reader.read(block)
    if encoded.nominal.any():
        raise InvalidDataError(
            "neighbours across partitions need numbers, and some columns are categories. Encode them (one column per "
            "category), or choose the thresholds yourself (threshold=, feature_threshold=)"
        )
    rows = proportional(group_rows(target), number, np.random.default_rng(seed))
    return rows, encoded.rows[rows], target.take(rows), bounds(encoded.rows)


def block_neighbors(
    block: Block,
    start: int,
    level: IndexArray,
    weights: list[Weights],
    reader: Reader,
    n_levels: int,
    queries: FloatArray,
    own_row: IndexArray,
    measured: ColumnRanges,
    k: int,
) -> list[Lists]:
    """Run `level_neighbors` in one block.

    Parameters
    ----------
    block : Block
    start : int
        Row number of the first row of the block in the whole table. Returned row numbers count in the whole table.
    level : int ndarray
        Level of each row of the block.
    weights : list of Weights
        The neighbours are searched once for each `Weights`.
    reader : Reader
    n_levels, queries, k
        As in `level_neighbors`.
    own_row : int ndarray of shape (n_queries,)
        Row number, in the whole table, of the query itself, which must not be its neighbour, or -1.
    measured : ColumnRanges
        Column ranges of the whole table.
    """
    _, encoded, target = reader.read(block)
    # A query that belongs to another block has no row of its own here.
    own = np.where((own_row >= start) & (own_row < start + len(target.codes)), own_row - start, -1)
    out = []
    for one in weights:
        distance, row, value = level_neighbors(
            encoded.rows, target, level, n_levels, one, queries, own, k=k, measured=measured
        )
        out.append((distance, np.where(row < 0, -1, row + start), value))
    return out


def merge_blocks(parts: list[list[Lists]]) -> list[Lists]:
    """Merge the neighbours that were found in several blocks, separately for each `Weights`."""
    return [merge(list(lists), lists[0][0].shape[-1]) for lists in zip(*parts, strict=True)]
