"""Sum differences between rows and listed neighbours: the core of RELIEF and of its relatives.

Lists are summed in fixed chunks, and the sums of chunks are added in order. So sums do not depend on the number of
threads, nor on which `ListedPairs` are summed together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from .. import _native
from .._parallel.threads import run_ranges
from .._typing import FloatArray, IndexArray
from .backends.scan import aligned_empty
from .compressed import sparse_parts
from .pairs import fixed_ranges

__all__ = ["LISTS", "ListedPairs", "count_places", "sum_listed", "sum_together"]

LISTS = 512  # lists per chunk
_LEAST_FEATURES = 512  # fewest features that a thread gets


@dataclass(frozen=True)
class ListedPairs:
    """Lists of neighbours: pairs of rows, the coefficient of each pair, and the sum to which it is added."""

    query: IndexArray  # (n_lists,) the row to which each list belongs
    neighbor: IndexArray  # (n_lists, width) the rows in each list; -1 means that there is no neighbour at this place
    coefficient: FloatArray  # (n_lists, width) the factor of each pair
    output_row: IndexArray  # (n_lists, width) the row of the result to which each pair is added
    n_output_rows: int

    def take(self, some: slice) -> ListedPairs:
        """Return some of the lists."""
        return ListedPairs(
            self.query[some],
            self.neighbor[some],
            self.coefficient[some],
            self.output_row[some],
            self.n_output_rows,
        )

    def arrays(self) -> dict[str, Any]:
        """Return the arrays as the compiled core takes them."""
        return {
            "query": np.ascontiguousarray(self.query, dtype=np.int64),
            "neighbor": np.ascontiguousarray(self.neighbor, dtype=np.int64),
            "coefficient": np.ascontiguousarray(self.coefficient, dtype=np.float64),
            "output_row": np.ascontiguousarray(self.output_row, dtype=np.int64),
        }


def sum_listed(
    rows: Any, n_numeric: int, lists: ListedPairs, n_jobs: int, total: FloatArray | None = None
) -> FloatArray:
    """Return sums of coefficient · |difference| between rows and listed neighbours, for each output row and feature.

    Parameters
    ----------
    rows : (n, m) array or CSR
        CSR holds numbers only.
    n_numeric : int
        Number of numeric columns, which come first. In all others a pair differs by 0 or 1.
    lists : ListedPairs
    n_jobs : int
        Number of threads.
    total : (n_output_rows, m) array, optional
        Sums over earlier lists, to which these lists are added in place. If the earlier lists were a multiple of
        `LISTS`, the result has the same bits as one call with all lists.

    Returns
    -------
    ndarray of shape (n_output_rows, m)
    """
    arrays, m = lists.arrays(), rows.shape[1]
    entries = sparse_parts(rows) if sparse.issparse(rows) else None

    def add_lists(part: FloatArray, begin: int, end: int, first: int, last: int) -> None:
        """Add the sums over lists [begin, end) to ``part``. Of dense rows only the features [first, last) are added."""
        some = {**arrays, "total": part, "begin": begin, "end": end}
        if entries is None:
            _native.add_listed_differences(
                rows=rows, n_numeric=n_numeric, first_feature=first, last_feature=last, **some
            )
        else:
            start, feature, value = entries
            _native.add_listed_sparse_differences(start=start, feature=feature, value=value, **some)

    def sum_chunk(begin: int, end: int) -> FloatArray:
        """Return the sums over lists [begin, end)."""
        part = _zeros(lists.n_output_rows, m)
        add_lists(part, begin, end, 0, m)
        return part

    total = np.zeros((lists.n_output_rows, m)) if total is None else total
    chunks = fixed_ranges(len(lists.query), LISTS)
    # Chunks of lists are added in order, to the same bits for any number of threads.
    if entries is not None or len(chunks) >= n_jobs:
        for part in run_ranges(sum_chunk, chunks, n_jobs):
            total += part
        return total
    # With few lists, threads share the features of a chunk.
    for begin, end in chunks:
        part = _zeros(lists.n_output_rows, m)
        run_ranges(partial(add_lists, part, begin, end), _feature_ranges(m, n_jobs), n_jobs)
        total += part
    return total


def sum_together(rows: Any, n_numeric: int, several: Sequence[ListedPairs], n_jobs: int) -> list[FloatArray]:
    """Return what `sum_listed` returns for each of several `ListedPairs`, with the same bits.

    One call of the compiled core adds all of them, so that rows that are in many lists are read from the cache. The
    other parameters are those of `sum_listed`.
    """
    if len(several) == 1 or sparse.issparse(rows):
        return [sum_listed(rows, n_numeric, one, n_jobs) for one in several]
    # Every chunk has output rows of its own, because `sum_listed` adds the sums of chunks, not their lists.
    chunks = [
        (number, one.take(slice(begin, end)))
        for number, one in enumerate(several)
        for begin, end in fixed_ranges(len(one.query), LISTS)
    ]
    stacked, first_row = _stack([chunk for _, chunk in chunks])
    m = rows.shape[1]
    sums, arrays = _zeros(stacked.n_output_rows, m), stacked.arrays()

    def add(begin: int, end: int, first: int, last: int) -> None:
        """Add the lists [begin, end) in the features [first, last)."""
        _native.add_listed_differences(
            rows=rows,
            n_numeric=n_numeric,
            first_feature=first,
            last_feature=last,
            total=sums,
            begin=begin,
            end=end,
            **arrays,
        )

    features = _feature_ranges(m, n_jobs)
    if len(features) >= n_jobs:
        run_ranges(partial(add, 0, len(stacked.query)), features, n_jobs)
    else:  # With few features, threads share the chunks, which have output rows of their own.
        starts = np.cumsum([0, *(len(chunk.query) for _, chunk in chunks)])
        size = max(1, -(-len(chunks) // n_jobs))
        run_ranges(
            lambda some, end: add(int(starts[some]), int(starts[end]), 0, m), fixed_ranges(len(chunks), size), n_jobs
        )
    totals = [np.zeros((one.n_output_rows, m)) for one in several]
    for (number, chunk), first in zip(chunks, first_row, strict=True):
        totals[number] += sums[first : first + chunk.n_output_rows]
    return totals


def count_places(several: Collection[ListedPairs]) -> int:
    """Return how many places the lists have together, if all of them are as long as the longest."""
    width = max((one.neighbor.shape[1] for one in several), default=0)
    return width * sum(len(one.query) for one in several)


def _stack(chunks: Sequence[ListedPairs]) -> tuple[ListedPairs, list[int]]:
    """Return all lists as one, each chunk with output rows of its own, and the first output row of each chunk.

    Lists that are shorter than the longest ones get places without a neighbour.
    """
    width = max((chunk.neighbor.shape[1] for chunk in chunks), default=0)
    n_lists = sum(len(chunk.query) for chunk in chunks)
    neighbor, output_row = np.full((n_lists, width), -1), np.zeros((n_lists, width), dtype=np.int64)
    coefficient, first_row = np.zeros((n_lists, width)), []
    begin = n_output_rows = 0
    for chunk in chunks:
        place = np.s_[begin : begin + len(chunk.query), : chunk.neighbor.shape[1]]
        neighbor[place], coefficient[place] = chunk.neighbor, chunk.coefficient
        output_row[place] = chunk.output_row + n_output_rows
        first_row.append(n_output_rows)
        begin, n_output_rows = begin + len(chunk.query), n_output_rows + chunk.n_output_rows
    query = np.concatenate([chunk.query for chunk in chunks]) if chunks else np.empty(0, dtype=np.int64)
    return ListedPairs(query, neighbor, coefficient, output_row, n_output_rows), first_row


def _zeros(n_output_rows: int, m: int) -> FloatArray:
    """Return sums over no list, which begin at a cache line."""
    sums = aligned_empty((n_output_rows, m), np.dtype(np.float64))
    sums.fill(0)
    return sums


def _feature_ranges(m: int, n_jobs: int) -> list[tuple[int, int]]:
    """Return the features that each thread adds."""
    return fixed_ranges(m, max(_LEAST_FEATURES, -(-m // n_jobs)))
