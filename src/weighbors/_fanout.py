"""Independent tasks side by side, by joblib or on a Dask cluster, in chunks that are worth sending.

The first tasks go one by one, and say how long one takes; the others go in chunks of at least
50 ms, so that a backend of joblib's that is slow to start a task (Ray, Spark, Dask) still pays.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ._cluster import current_client, results_of, width_of
from ._threads import effective_n_jobs

__all__ = ["fan_out"]

WORTH = 0.05  # seconds

Make = Callable[[Any], tuple[Any, ...]]
Chunk = list[tuple[Any, ...]]


def fan_out(
    function: Callable[..., Any],
    tasks: Sequence[Any],
    make: Make,
    *,
    n_jobs: int | None = None,
    client: Any = None,
) -> list[Any]:
    """``function(*make(task))`` of every task, in their order.

    Parameters
    ----------
    function : callable
        Importable, and without memory: results do not depend on who runs what.
    tasks : sequence
    make : callable
        Arguments of a task, made here when its turn comes, so that few are in memory at once.
    n_jobs : int, optional
        As joblib understands it, with the backend that is active.
    client : distributed.Client, optional
        Instead of joblib.

    Examples
    --------
    >>> fan_out(pow, [1, 2, 3], lambda base: (base, 2))
    [1, 4, 9]
    """
    if client is not None:
        client = current_client(client)
        return _in_chunks(tasks, make, width_of(client), lambda chunks: _on(client, function, chunks))
    workers = min(effective_n_jobs(n_jobs), len(tasks))
    if workers < 2:
        return [function(*make(task)) for task in tasks]
    import joblib

    with joblib.Parallel(n_jobs=n_jobs) as parallel:
        return _in_chunks(
            tasks,
            make,
            workers,
            lambda chunks: parallel(joblib.delayed(run_chunk)(function, chunk) for chunk in chunks),
        )


def run_chunk(function: Callable[..., Any], chunk: Chunk) -> list[tuple[Any, float]]:
    """Results of some tasks, and what each took."""
    out = []
    for arguments in chunk:
        begin = time.perf_counter()
        result = function(*arguments)
        out.append((result, time.perf_counter() - begin))
    return out


def _in_chunks(
    tasks: Sequence[Any],
    make: Make,
    width: int,
    run: Callable[[Iterator[Chunk]], list[list[tuple[Any, float]]]],
) -> list[Any]:
    first = run([make(task)] for task in tasks[:width])
    answers = [answer for chunk in first for answer in chunk]
    seconds = max(statistics.median(taken for _, taken in answers), 1e-6)
    size, rest = math.ceil(WORTH / seconds), tasks[width:]
    chunks = ([make(task) for task in rest[begin : begin + size]] for begin in range(0, len(rest), size))
    answers += [answer for chunk in run(chunks) for answer in chunk]
    return [result for result, _ in answers]


def _on(client: Any, function: Callable[..., Any], chunks: Iterator[Chunk]) -> list[list[tuple[Any, float]]]:
    futures = (client.submit(run_chunk, function, chunk, pure=False) for chunk in chunks)
    return results_of(client, futures, window=2 * width_of(client))
