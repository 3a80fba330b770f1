"""Sum differences between rows and listed neighbours: the core of RELIEF and of its relatives.

Lists are summed in fixed chunks, and the sums of chunks are added in order. So sums do not depend on the number of
threads, nor on which `ListedPairs` are summed together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .. import _native
from .._parallel.threads import run_ranges
from .._typing import FloatArray, IndexArray
from .backends.scan import aligned_empty
from .references import compress_rows

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


def sum_listed(
    rows: Any, n_numeric: int, several: Sequence[ListedPairs], n_jobs: int, totals: list[FloatArray] | None = None
) -> list[FloatArray]:
    """Return sums of coefficient · |difference| between rows and listed neighbours, for each output row and feature.

    Lists of several fits are added by one call of the compiled core, so that it reads rows that are in many lists from
    the cache. Each fit gets the same bits as alone.

    Parameters
    ----------
    rows : (n, m) array or CSR
        CSR holds numbers only.
    n_numeric : int
        Number of numeric columns, which come first. In all others a pair differs by 0 or 1.
    several : sequence of ListedPairs
        The lists of each fit.
    n_jobs : int
        Number of threads.
    totals : list of arrays of shape (n_output_rows, m), optional
        Sums over earlier lists of each fit, to which these lists are added in place. If the earlier lists were a
        multiple of `LISTS`, the result has the same bits as one call with all lists.

    Returns
    -------
    list of ndarrays of shape (n_output_rows, m)
    """
    if totals is None:
        totals = [np.zeros((lists.n_output_rows, rows.shape[1])) for lists in several]
    for width in sorted({lists.neighbor.shape[1] for lists in several}):
        alike = [number for number, lists in enumerate(several) if lists.neighbor.shape[1] == width]
        _add_lists(rows, n_numeric, [several[number] for number in alike], [totals[number] for number in alike], n_jobs)
    return totals


def _add_lists(
    rows: Any, n_numeric: int, several: Sequence[ListedPairs], totals: list[FloatArray], n_jobs: int
) -> None:
    """Add the sums of lists of one width to ``totals``. The parameters are those of `sum_listed`."""
    # Every chunk has output rows of its own: sums of chunks are added to the total, not single lists.
    chunks = [
        (number, lists.n_output_rows, min(LISTS, len(lists.query) - begin))
        for number, lists in enumerate(several)
        for begin in range(0, len(lists.query), LISTS)
    ]
    owners, n_outputs, sizes = np.array(chunks, dtype=np.int64).reshape(-1, 3).T
    starts = np.append(0, np.cumsum(sizes))
    last_rows = np.cumsum(n_outputs)
    first_rows = last_rows - n_outputs
    m = rows.shape[1]
    sums = aligned_empty((int(n_outputs.sum()), m), np.dtype(np.float64))
    sums.fill(0)
    arrays: dict[str, Any] = {
        name: np.ascontiguousarray(np.concatenate([getattr(lists, name) for lists in several], dtype=kind))
        for name, kind in (("query", "i8"), ("neighbor", "i8"), ("coefficient", "f8"), ("output_row", "i8"))
    }
    arrays["output_row"] += np.repeat(first_rows, sizes)[:, None]
    compressed = compress_rows(rows) if sparse.issparse(rows) else None
    share = max(_LEAST_FEATURES, -(-m // n_jobs))
    pieces = [(0, len(owners), at, min(at + share, m)) for at in range(0, m, share)]  # threads share the features
    if compressed is not None or len(pieces) < n_jobs:  # or the chunks, where there are few features
        size = max(1, len(owners) // (4 * n_jobs))
        pieces = [(at, min(at + size, len(owners)), 0, m) for at in range(0, len(owners), size)]

    def add_piece(number: int, _: int) -> None:
        """Add some chunks in some features."""
        begin, end, first, last = pieces[number]
        some: dict[str, Any] = {**arrays, "total": sums, "begin": int(starts[begin]), "end": int(starts[end])}
        if compressed is None:
            _native.add_listed_differences(
                rows=rows, n_numeric=n_numeric, first_feature=first, last_feature=last, **some
            )
        else:
            _native.add_listed_sparse_differences(rows=compressed, **some)

    run_ranges(add_piece, [(number, number + 1) for number in range(len(pieces))], n_jobs)
    for number, first_row, last_row in zip(owners, first_rows, last_rows, strict=True):
        totals[number] += sums[first_row:last_row]
