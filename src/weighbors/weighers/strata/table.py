"""The table whose strata are fitted: rows in memory or in blocks, and their target in this process.

Strata are drawn inside blocks, so that every stratum is fitted where its rows are. A table in memory is one block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.utils import _safe_indexing

from ..._parallel.cluster import active_client, is_dask
from ..._parallel.executors import Executor, JoblibExecutor, executor_for
from ..._typing import AnyArray, IndexArray
from ...blocks import ColumnCoding, Header, encode_block, is_path, open_source, read_labels
from ...exceptions import InvalidDataError
from ...tables.coded import CodedTable, read_training, takes_coded
from ...tables.targets import Target, check_target, expect_target
from ...tables.validation import TableCoder
from .draw import Stratum, count_strata, cut_round, draw_queries, group_rows, share_out
from .fit import Outcome, fit_stratum

STRATA_PER_TASK = 16  # strata of a block that one task fits, so that the block is read once for all of them
BLOCK_BYTES = 32 * 2**20  # size of a block of a file; it does not depend on the number of worker processes

#: Header and column coding, with which a task reads a block. None if the rows are in memory.
Reader: TypeAlias = tuple[Header, ColumnCoding] | None

#: A stratum to fit, with the numbers of its rows in the block; its target, and further parameters of the fit.
Todo: TypeAlias = tuple[Stratum, Target, dict[str, Any]]


@dataclass
class StrataTable:
    """A table with its target, which is cut into strata. `open_memory` and `open_blocks` make it."""

    blocks: list[Any]  # a `CodedTable` in memory, or blocks that tasks read; Dask Delayed objects of them too
    sizes: list[int]  # number of rows of each block
    target: Target  # of all rows; row numbers go through all blocks in order
    weigher: Any
    reader: Reader
    executor: Executor  # runs the fits
    coder: TableCoder | None = None  # column coding of a table in memory
    params: dict[str, AnyArray] = field(default_factory=dict)  # further parameters of fit, one entry per row
    n_threads: int | None = None  # for the search of neighbours in memory

    def __post_init__(self) -> None:
        expect_target(self.weigher, numeric=self.target.numbers is not None)
        self.start: list[int] = np.cumsum([0, *self.sizes]).tolist()
        self.n = self.start[-1]
        self.targets = [self.target.take(self.rows_of(p)) for p in range(len(self.blocks))]

    def rows_of(self, p: int) -> IndexArray:
        """Return the numbers of the rows of block ``p``."""
        return np.arange(self.start[p], self.start[p + 1])

    def fit_strata(self, n_strata: Any, rounds: list[np.random.SeedSequence]) -> tuple[list[Stratum], list[Outcome]]:
        """Cut the table once per seed sequence, and fit every stratum of every round.

        ``n_strata`` is the number of strata of a round, or "auto". Return the strata and the results of their fits.
        """
        numbers = self._strata_per_block(n_strata)
        first = np.cumsum([0, *numbers]).tolist()
        groups = [group_rows(target) for target in self.targets]
        parts: list[list[Stratum]] = []  # the strata of each block of each round
        for of_round, seeds in enumerate(rounds):
            for p, child in enumerate(seeds.spawn(len(self.blocks))):
                where = {"of_round": of_round, "first": first[p], "start": self.start[p]}
                parts.append(cut_round(groups[p], numbers[p], child, **where))
        tasks = self._tasks(parts)
        # Dask gets the tasks of its blocks as one graph; other tasks are made when a worker is free to take them.
        found = self.executor.map(fit_block, list(tasks) if self.reader else tasks, self.weigher, self.reader)
        return list(chain(*parts)), list(chain(*found))

    def _tasks(self, parts: list[list[Stratum]]) -> Iterator[tuple[Any, ...]]:
        """Yield the tasks of `fit_block`: some strata of a block that it reads, or the rows of one stratum.

        ``parts`` are the strata of each block, for one round after the other.
        """
        for number, strata in enumerate(parts):
            p = number % len(self.blocks)
            targets = [self.target.take(one.rows) for one in strata]
            if self.reader is not None:
                inside = [one._replace(rows=one.rows - self.start[p]) for one in strata]
                todo: list[Todo] = [(one, target, {}) for one, target in zip(inside, targets, strict=True)]
                for begin in range(0, len(todo), STRATA_PER_TASK):
                    yield self.blocks[p], todo[begin : begin + STRATA_PER_TASK]
                continue
            for one, target in zip(strata, targets, strict=True):
                params = {name: _safe_indexing(value, one.rows) for name, value in self.params.items()}
                whole = one._replace(rows=np.arange(len(one.rows)))
                yield self.blocks[p].take(one.rows), [(whole, target, params)]

    def _strata_per_block(self, n_strata: Any) -> list[int]:
        """Return how many strata each block is cut into."""
        targets, classes = self.targets, self.target.classes
        if len(targets) == 1:
            return [count_strata(n_strata, self.target)]
        lacking = np.argwhere([np.bincount(target.codes, minlength=len(classes)) == 0 for target in targets])
        if len(lacking):
            p, code = lacking[0].tolist()
            raise InvalidDataError(
                f"partition {p} of {len(targets)} has no row of class {classes.tolist()[code]!r}, and strata need "
                "every class. Shuffle the rows among partitions, or use fewer partitions "
                f"({len(lacking)} such gaps)"
            )
        wanted: list[Any] = [n_strata] * len(targets)
        if n_strata != "auto":
            if n_strata < len(targets):
                raise InvalidDataError(
                    f"n_strata={n_strata} is less than the {len(targets)} partitions, and strata do not reach over "
                    f"partitions. Use n_strata='auto', at least {len(targets)}, or fewer partitions"
                )
            wanted = share_out(int(n_strata), np.array(self.sizes)).tolist()
        return [count_strata(wanted[p], target, f" in partition {p}") for p, target in enumerate(targets)]

    def draw_queries(self, number: int, rng: np.random.Generator) -> IndexArray:
        """Draw about ``number`` rows, with the shares of blocks and classes. Return their numbers, ascending."""
        sizes = share_out(min(number, self.n), np.array(self.sizes)).tolist()
        drawn = [draw_queries(group_rows(target), sizes[p], rng) for p, target in enumerate(self.targets)]
        return np.concatenate([rows + self.start[p] for p, rows in enumerate(drawn)])


def open_memory(
    estimator: Any, weigher: Any, X: Any, y: Any, params: dict[str, Any], target_type: str | None
) -> StrataTable:
    """Open a table in memory.

    Parameters
    ----------
    estimator : CombinedWeigher
        Its settings say which columns are categories.
    weigher : estimator
        Fitted to every stratum.
    X, y : table and target
    params : dict
        Further parameters of fit, with one entry per row.
    target_type : {"auto", "classes", "numeric"} or None
        As in `check_target`.
    """
    coder = TableCoder(_categories_of(estimator, weigher))
    whole = read_training(estimator, X, y, target_type=target_type, coder=coder)
    if not _takes_text(weigher, whole):
        whole = replace(whole, given=None)  # worker processes get the rows
    n = len(whole)
    return StrataTable(
        blocks=[whole],
        sizes=[n],
        target=whole.target,
        weigher=weigher,
        reader=None,
        executor=JoblibExecutor(estimator.n_jobs),
        coder=whole.coder,
        params={name: _check_fit_param(name, value, n) for name, value in params.items()},
        n_threads=estimator.n_jobs,
    )


def open_blocks(
    estimator: Any, weigher: Any, X: Any, y: Any, params: dict[str, Any], target_type: str | None
) -> StrataTable:
    """Open a table in blocks: partitions of Dask, or about 32 MiB of a file each. Only the labels are read.

    The parameters are those of `open_memory`, but blocks take no further parameters of fit.
    """
    if params:
        raise InvalidDataError(
            f"fit parameters ({', '.join(params)}) are not handed to partitions. Fit a table in memory, or put "
            "them into the weigher"
        )
    if not is_path(X):
        _check_collections(X, y)
    source = open_source(X, y, piece_bytes=BLOCK_BYTES, as_partitions=not is_path(X))
    if is_path(X):
        # Row groups may be small. Blocks of about the same size make strata of about the same size.
        source = source.combined(1, max(16, BLOCK_BYTES // (8 * max(1, source.header.width))))
    executor = executor_for(active_client(), estimator.n_jobs, dask=source.dask, threads=False)
    labels = executor.map(read_block_labels, [(part, p) for p, part in enumerate(source.label_parts or ())])
    estimator.n_features_in_, names = source.header.width, source.header.names
    vars(estimator).pop("feature_names_in_", None)
    if names is not None:
        estimator.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
    return StrataTable(
        blocks=source.blocks,
        sizes=[len(part) for part in labels],
        target=check_target(np.concatenate(labels), target_type),
        weigher=weigher,
        reader=(source.header, ColumnCoding(TableCoder(_categories_of(estimator, weigher)))),
        executor=executor,
    )


def _categories_of(estimator: Any, weigher: Any) -> Any:
    """Return the setting of which columns are categories.

    It is the setting of the estimator. If this is "from_dtype", it is the setting of the weigher, if it has one.
    """
    own = estimator.categorical_features
    return getattr(weigher, "categorical_features", own) if isinstance(own, str) else own


def _check_fit_param(name: str, value: Any, n: int) -> AnyArray:
    """Return a fit parameter as an array. Raise InvalidDataError if it has not one entry per row, of ``n``."""
    array = value if hasattr(value, "shape") else np.asarray(value)
    if not array.shape or array.shape[0] != n:
        raise InvalidDataError(
            f"{name} must have one entry per row, {n}, so that each stratum gets its own; got shape {array.shape}"
        )
    return array


def _check_collections(X: Any, y: Any) -> None:
    """Raise InvalidDataError unless a table and its target are both Dask collections."""
    if not (is_dask(X) and is_dask(y)):
        raise InvalidDataError(
            "X and y must both be Dask collections, with the same partitions, or neither; got "
            f"{type(X).__name__} and {type(y).__name__}. Use dask.array.from_array(y, chunks=X.chunks[0])"
        )
    if getattr(X, "ndim", 0) != 2:
        raise InvalidDataError(f"X must have two dimensions; got {getattr(X, 'ndim', '?')}")
    if getattr(y, "ndim", 0) != 1:
        raise InvalidDataError(f"y must be a vector; got {getattr(y, 'ndim', '?')} dimensions")


def read_block_labels(part: Any, p: int) -> AnyArray:
    """Return the labels of block ``p``. ``part`` is as in `read_labels`."""
    values = read_labels(part)
    if not len(values):
        raise InvalidDataError(f"partition {p} is empty. Drop empty partitions, or repartition")
    absent = int(pd.isna(values).sum())
    if absent:
        raise InvalidDataError(f"{absent} labels are missing in partition {p}. Drop these rows")
    return values


def read_rows(block: Any, reader: Reader) -> CodedTable:
    """Return the rows of a block, which are read and coded unless they are in memory."""
    if reader is None:
        table: CodedTable = block
        return table
    read = encode_block(block, *reader)
    assert read.coding is not None
    # The target of the rows is with the strata; here it only has the right length.
    target = Target(np.zeros(read.rows.shape[0], dtype=np.int64), np.zeros(0))
    return CodedTable(read.rows, read.coding.table, target, given=read.table)


def fit_block(block: Any, todo: list[Todo], weigher: Any, reader: Reader) -> list[Outcome]:
    """Fit some strata of a block (see `read_rows`)."""
    table = read_rows(block, reader)
    if not _takes_text(weigher, table):
        table = replace(table, given=None)
    return [fit_stratum(one, replace(table.take(one.rows), target=y), params, weigher) for one, y, params in todo]


def _takes_text(weigher: Any, table: CodedTable) -> bool:
    """Return whether the weigher must be given categories as text, since it cannot be told which codes are categories.

    These are selectors of other packages.
    """
    knows = takes_coded(weigher, table) or "categorical_features" in weigher.get_params(deep=False)
    return bool(table.nominal.any()) and not knows
