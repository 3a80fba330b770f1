"""Compare thresholds: how many votes remove an instance.

García-Osorio et al. 2010: of the thresholds v = 1 ... r, choose the one that minimises
f(v) = α · ε(v) + (1 − α) · m(v). ε is the error of the nearest neighbour with the instances that v leaves, and m is
their share. A higher threshold keeps all instances that a lower one keeps. So the nearest row at each level of votes
gives the neighbours for all thresholds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from ..._parallel.executors import JoblibExecutor
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...blocks import ColumnCoding, merge_ranges
from ...engine import ColumnRanges, NeighborEngine
from ...engine.references import column_ranges
from ...exceptions import InvalidDataError
from ...tables.targets import Target
from ...weights import Weights
from ..evolution.fitness import NumericPerformance, Performance, build_score
from .table import Reader, StrataTable, read_rows


class Nearest(NamedTuple):
    """The nearest rows of queries, and their distances (squared). Row -1 means no neighbour."""

    distance: FloatArray
    row: IndexArray

    def nearer(self, other: Nearest) -> Nearest:
        """Return the nearer of two rows for each query. Of equal distances, it is the lower row."""
        closer = (other.distance < self.distance) | ((other.distance == self.distance) & (other.row < self.row))
        taken = (other.row >= 0) & ((self.row < 0) | closer)
        return Nearest(np.where(taken, other.distance, self.distance), np.where(taken, other.row, self.row))

    def below_levels(self) -> list[Nearest]:
        """Return the nearest rows among the levels 0 to v − 1, for each v = 1, 2, ... The second axis is levels."""
        found = [Nearest(self.distance[:, 0], self.row[:, 0])]
        for level in range(1, self.row.shape[1]):
            found.append(found[-1].nearer(Nearest(self.distance[:, level], self.row[:, level])))
        return found


def find_nearest(
    table: StrataTable, queries: IndexArray, level: IndexArray, n_levels: int, weights: list[Weights]
) -> list[Nearest]:
    """Return the nearest row of each query at each level, of shape (n_queries, n_levels), for each of the ``weights``.

    ``queries`` are the numbers of rows, ascending. A query is not its own neighbour. ``level`` is the level of each
    row of the table, which is its number of votes for removal.
    """
    # Rows in memory are searched by threads of this process.
    executor = JoblibExecutor() if table.reader is None else table.executor
    parts = np.split(queries, np.searchsorted(queries, table.start[1:-1]))
    asked = [(block, part - begin) for block, part, begin in zip(table.blocks, parts, table.start[:-1], strict=True)]
    read = executor.map(read_queries, asked, table.reader)
    merged = merge_ranges([ranges for _, ranges, _ in read])
    assert merged is not None
    low, high = (np.nan_to_num(end, nan=0.0) for end in merged[:2])  # 0 if all values of a column are missing
    tasks: list[tuple[Any, ...]] = []
    for p, block in enumerate(table.blocks):
        rows = table.rows_of(p)
        # A block gets only the weights of its own rows.
        mine = [one.take(rows) if one.instance_bound else one for one in weights]
        tasks.append((block, table.start[p], level[rows], table.target.codes[rows], mine))
    found_values, reader = [values for values, _, _ in read], table.reader
    if reader is not None:
        # Each block was coded by its own categories. From here on, a category has the same code in all blocks.
        codings: list[Any] = [coding for _, _, coding in read]
        whole = codings[0].merged(codings)
        found_values = [whole.translate(values, own) for values, own in zip(found_values, codings, strict=True)]
        reader = reader[0], whole
    values, measured = np.concatenate(found_values), ColumnRanges(low, high, merged.missing)
    shared = values, queries, n_levels, measured, table.n_threads, reader
    found: list[Nearest] = executor.reduce(search_block, tasks, *shared, merge=merge_nearest)
    return found


def read_queries(block: Any, rows: IndexArray, reader: Reader) -> tuple[FloatArray, ColumnRanges, ColumnCoding]:
    """Return some rows of a block, by their numbers in the block, and the column ranges and codes of the block."""
    found = read_rows(block, reader)
    values = found.rows[rows]
    if sparse.issparse(values):
        return values.toarray(), column_ranges(found.rows), ColumnCoding(found.coder)
    return values, column_ranges(found.rows, empty=np.nan), ColumnCoding(found.coder)


def search_block(
    block: Any,
    start: int,
    level: IndexArray,
    codes: IndexArray,
    weights: list[Weights],
    queries: FloatArray,
    own_row: IndexArray,
    n_levels: int,
    measured: ColumnRanges,
    n_threads: int | None,
    reader: Reader,
) -> list[Nearest]:
    """Find the nearest row of every query at each level in one block, for each of the ``weights``.

    Parameters
    ----------
    block : Block or EncodedBlock
    start : int
        Row number of the first row of the block in the whole table, in which all row numbers count.
    level, codes : int ndarrays of shape (n,)
        Level and class of each row of the block.
    weights : list of Weights
    queries : ndarray of shape (n_queries, M)
    own_row : int ndarray of shape (n_queries,)
        Row number of the query itself, which must not be its neighbour.
    n_levels : int
    measured : ColumnRanges
        Column ranges of the whole table, from which missing distances are computed.
    n_threads : int or None
    reader : Reader
    """
    rows, out = read_rows(block, reader), []
    # A query that belongs to another block has no row of its own here.
    own = np.where((own_row >= start) & (own_row < start + len(level)), own_row - start, -1)
    for one in weights:
        engine = NeighborEngine(
            rows.rows,
            weights=one,
            nominal=rows.nominal if rows.nominal.any() else None,
            class_of_row=codes if one.kind == "class" else None,
            groups=level,
            n_groups=n_levels,
            backend="scan",
            measured=measured,
            n_jobs=n_threads,
        )
        ranked, row = engine.ranked(queries, 1, own_row=own)
        out.append(Nearest(ranked[..., 0], np.where(row < 0, -1, row + start)[..., 0]))
    return out


def merge_nearest(parts: Sequence[list[Nearest]]) -> list[Nearest]:
    """Merge the rows that were found in several blocks, separately for each `Weights`."""
    return [reduce(Nearest.nearer, found) for found in zip(*parts, strict=True)]


class Candidate(NamedTuple):
    """A threshold for the share of votes, and the features that it keeps."""

    threshold: float
    support: BoolArray


def list_candidates(share: FloatArray, n_rounds: int) -> list[Candidate]:
    """Return the sets of features to compare: those of the thresholds 1/r, 2/r, ... 1 for r rounds.

    Equal sets are returned once. ``share`` is the share of votes of each feature.
    """
    found: dict[bytes, Candidate] = {}
    for number in range(1, n_rounds + 1):
        # Shares are means and have rounding errors.
        support = share >= number / n_rounds - 1e-9
        if support.any():
            found.setdefault(support.tobytes(), Candidate(number / n_rounds, support))
    return list(found.values())


def measure_performance(score: Any, truth: Target) -> Performance | NumericPerformance:
    """Return the score of predictions of rows whose target is ``truth``. ``score`` is a name or a function."""
    if truth.numbers is not None and len(np.unique(truth.numbers)) < 2:
        raise InvalidDataError(
            f"the {len(truth.numbers)} rows on which the error is measured all have the target "
            f"{truth.numbers[0]:g}: choose the threshold (threshold=)"
        )
    return build_score(score, truth)


def compare_thresholds(
    found: list[Nearest],
    candidates: list[Candidate],
    kept: FloatArray,
    target: Target,
    performance: Performance | NumericPerformance,
    alpha: float,
) -> pd.DataFrame:
    """Return a table with one row per pair of thresholds: error, share of the table kept, and f.

    Parameters
    ----------
    found : list of Nearest
        The nearest rows at each level, for each of the ``candidates``.
    candidates : list of Candidate
    kept : ndarray of shape (n_levels,)
        Share of rows that each threshold v = 1, 2, ... leaves. A threshold that leaves no rows is not in the table.
    target : Target
        The target of all rows of the table.
    performance : Performance or NumericPerformance
        The score of predictions of the queries.
    alpha : float
    """
    # A query without a neighbour has no class, or the mean of all queries.
    values: AnyArray = target.codes if target.numbers is None else target.numbers
    otherwise = performance.numbers.mean() if isinstance(performance, NumericPerformance) else -1
    rows: list[dict[str, Any]] = []
    for candidate, neighbors in zip(candidates, found, strict=True):
        for v, (_, row) in enumerate(neighbors.below_levels(), start=1):
            if kept[v - 1] == 0:
                continue
            answer = np.where(row < 0, otherwise, values[row])
            error = 1.0 - float(performance(answer[None, :])[0])
            share = float(kept[v - 1] * candidate.support.mean())
            judged = {"threshold": v, "feature_threshold": candidate.threshold, "error": error, "kept": share}
            rows.append({**judged, "f": alpha * error + (1.0 - alpha) * share})
    if not rows:
        raise InvalidDataError("no threshold leaves an instance")
    return pd.DataFrame(rows)
