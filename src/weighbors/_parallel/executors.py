"""Executors run tasks in parallel: strata, blocks of a table, and the cells of a study on a cluster.

A task is a tuple of arguments. `Executor.map` calls a function with every task, and `Executor.reduce` also combines
the results. Threads, joblib and Dask run the same functions on the same tasks and combine the results in the same
order.
"""

from __future__ import annotations

import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Protocol, TypeAlias
from uuid import uuid4

from .cluster import active_client, collect, computed, results_of, width_of
from .progress import watch
from .threads import effective_n_jobs

FAN_IN = 8  # number of results that one merge task on a cluster combines
MIN_SECONDS = 0.05  # short tasks are sent in chunks that take about this long

Task: TypeAlias = tuple[Any, ...]
Timed: TypeAlias = list[tuple[Any, float]]  # results of a chunk, each with the seconds of its task


class Executor(Protocol):
    """Protocol of objects that run a function on many tasks."""

    @property
    def description(self) -> str:
        """Where tasks run, for people."""

    @property
    def n_workers(self) -> int:
        """Number of tasks that run at the same time."""

    def map(self, function: Callable[..., Any], tasks: Iterable[Task], *common: Any) -> list[Any]:
        """Return ``function(*task, *common)`` for every task, in the order of the tasks.

        Parameters
        ----------
        function : callable
            A function that can be imported and has no state: a task may run in another process, and on a cluster more
            than once.
        tasks : iterable of tuples
            An iterator is read when workers become free, so that few of its tasks are in memory at once.
        *common
            Arguments that all tasks share.
        """

    def reduce(
        self,
        function: Callable[..., Any],
        tasks: Iterable[Task],
        *common: Any,
        merge: Callable[[list[Any]], Any],
    ) -> Any:
        """Return the results of all tasks, combined by ``merge``, or None if there are no tasks.

        ``merge`` takes a list of neighbouring results, in the order of the tasks. The length of the list depends on
        the executor, so ``merge`` must be associative (up to rounding).
        """


class JoblibExecutor:
    """Runs tasks with the active joblib backend, by default in worker processes of this computer.

    Parameters
    ----------
    n_jobs : int, optional
        Number of tasks that run at the same time, as in joblib.

    Examples
    --------
    >>> JoblibExecutor().map(pow, [(1,), (2,), (3,)], 2)
    [1, 4, 9]
    """

    prefer: str | None = None

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    @property
    def description(self) -> str:
        """Where tasks run, for people."""
        return f"joblib, {self.n_workers} at once"

    @property
    def n_workers(self) -> int:
        """Number of tasks that run at the same time."""
        return effective_n_jobs(self.n_jobs)

    def map(self, function: Callable[..., Any], tasks: Iterable[Task], *common: Any) -> list[Any]:
        """Return one result per task, as `Executor.map` does. Short tasks are sent in chunks."""
        total = len(tasks) if isinstance(tasks, Sequence) else None
        tasks, width = iter(tasks), self.n_workers
        # Two tasks are enough to know whether parallel work is worth starting.
        first = list(islice(tasks, min(width, 2)))
        tasks = chain(first, tasks)
        if len(first) < 2:  # one worker, or one task
            return [function(*task, *common) for task in watch(tasks, total, "block")]
        import joblib

        with joblib.Parallel(n_jobs=self.n_jobs, prefer=self.prefer) as parallel:
            return _map_in_chunks(
                tasks,
                width,
                lambda chunks: parallel(
                    joblib.delayed(run_chunk)(function, chunk, *common) for chunk in watch(chunks, None, "task")
                ),
            )

    def reduce(
        self,
        function: Callable[..., Any],
        tasks: Iterable[Task],
        *common: Any,
        merge: Callable[[list[Any]], Any],
    ) -> Any:
        """Combine the results as `Executor.reduce` does, wave by wave, so that few results are in memory at once."""
        merged: Any = None
        total = len(tasks) if isinstance(tasks, Sequence) else None
        for number, part in enumerate(watch(self._results(function, tasks, common), total, "block")):
            merged = part if number == 0 else merge([merged, part])
        return merged

    def _results(self, function: Callable[..., Any], tasks: Iterable[Task], common: Task) -> Iterator[Any]:
        """Yield the results in order.

        Tasks are not sent in chunks, because a chunk would hold several unmerged results.
        """
        tasks, width = iter(tasks), self.n_workers
        wave = list(islice(tasks, 2 * width))
        if width == 1 or len(wave) < 2:
            yield from (function(*task, *common) for task in chain(wave, tasks))
            return
        import joblib

        with joblib.Parallel(n_jobs=self.n_jobs, prefer=self.prefer) as parallel:
            # A wave has two tasks per worker, so that all workers are busy while results are merged.
            while wave:
                yield from parallel(joblib.delayed(function)(*task, *common) for task in wave)
                wave = list(islice(tasks, 2 * width))


class ThreadExecutor(JoblibExecutor):
    """Runs tasks in threads, unless another joblib backend is active.

    Use it for tasks that read files, or whose time goes into compiled code that releases the interpreter lock.
    """

    prefer = "threads"


class DaskExecutor:
    """Runs tasks with Dask, and combines results by a tree of merge tasks.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the active client. If there is none, the scheduler of Dask computes on this computer.

    Notes
    -----
    All inputs of a task are part of its graph, so that Dask can compute again what was lost with a worker.
    """

    def __init__(self, client: Any = None) -> None:
        self._client = active_client(client)

    @property
    def client(self) -> Any:
        """The client that runs the tasks, or None.

        If the client of the constructor was closed, it is the client that is active now: a fitted estimator lives
        longer than a cluster.
        """
        if self._client is None or self._client.status != "running":
            return active_client() or self._client
        return self._client

    @property
    def description(self) -> str:
        """Where tasks run, for people."""
        if self.client is None:
            return "dask's own scheduler"
        running = self.client.status == "running"
        return f"dask, {self.n_workers} threads" if running else "dask, on a cluster that was lost"

    def __getstate__(self) -> dict[str, Any]:
        return {"_client": None}  # a connection cannot be saved; the client that is active later takes its place

    @property
    def n_workers(self) -> int:
        """Number of tasks that run at the same time."""
        return effective_n_jobs(-1) if self.client is None else width_of(self.client)

    def map(self, function: Callable[..., Any], tasks: Iterable[Task], *common: Any) -> list[Any]:
        """Return one result per task, as `Executor.map` does.

        A sequence of tasks is sent as one graph. With a client, tasks of an iterator are sent in chunks.
        """
        if self.client is None or isinstance(tasks, Sequence):
            return self._compute(self._graph(function, tasks, common))
        client, width = self.client, self.n_workers
        shared = [self.share(value) for value in common]

        def run(chunks: Iterator[list[Task]]) -> list[Timed]:
            """Submit the chunks, and return their results in order."""
            futures = (client.submit(run_chunk, function, chunk, *shared, pure=False) for chunk in chunks)
            return results_of(client, futures, window=2 * width)

        return _map_in_chunks(tasks, width, run)

    def reduce(
        self,
        function: Callable[..., Any],
        tasks: Iterable[Task],
        *common: Any,
        merge: Callable[[list[Any]], Any],
    ) -> Any:
        """Combine the results on the workers as `Executor.reduce` does, so that only one result is sent back."""
        from dask import delayed

        parts = self._graph(function, tasks, common)
        # Results are merged level by level, FAN_IN at a time, in the order of the tasks.
        while len(parts) > 1:
            groups = [parts[begin : begin + FAN_IN] for begin in range(0, len(parts), FAN_IN)]
            parts = [delayed(merge, pure=False)(group) if len(group) > 1 else group[0] for group in groups]
        return self._compute(parts)[0] if parts else None

    def submit(
        self, function: Callable[..., Any], tasks: Iterable[Task], *, window: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number and the future of every task when it ends. The executor must have a client.

        Parameters
        ----------
        function : callable
        tasks : iterable of tuples
            The next task is taken when an earlier task has ended.
        window : int, optional
            Largest number of tasks that are submitted at the same time. By default two per thread of the cluster.
        """
        window = 2 * self.n_workers if window is None else window
        futures = (self.client.submit(function, *task, pure=False) for task in tasks)
        return collect(self.client, futures, window=window)

    def share(self, value: Any) -> Any:
        """Return a future of a value that many tasks share. The executor must have a client.

        If its worker dies, Dask can create the value again. It could not do so for a value sent by ``scatter``.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self.client.submit(_identity, value, pure=False)

    def _graph(self, function: Callable[..., Any], tasks: Iterable[Task], common: Task) -> list[Any]:
        """Return one Dask delayed object per task. Each argument in ``common`` is in the graph only once."""
        from dask import delayed

        shared = [delayed(value, name=f"weighbors-shared-{uuid4().hex}", traverse=False) for value in common]
        # Arguments are not searched for Dask objects inside them, which would be slow for large ones.
        run = delayed(function, pure=False, traverse=False)
        return [run(*task, *shared) for task in tasks]

    def _compute(self, graph: list[Any]) -> list[Any]:
        """Compute the tasks of a graph. Large graphs are meant, so Dask does not warn of them."""
        import dask

        if not graph:
            return []
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"}):
            return computed(graph, self.client)


def executor_for(client: Any, n_jobs: int | None, *, dask: bool = False, threads: bool = True) -> Executor:
    """Return the executor for a client, or for joblib if there is no client.

    Parameters
    ----------
    client : distributed.Client or None
    n_jobs : int or None
        Number of tasks at the same time if joblib runs them.
    dask : bool
        Whether the table is a Dask collection. Then Dask computes even without a client.
    threads : bool
        Whether joblib uses threads. Use False, which means processes, for tasks that are mostly Python code.
    """
    if client is not None or dask:
        return DaskExecutor(client)
    return ThreadExecutor(n_jobs) if threads else JoblibExecutor(n_jobs)


def run_chunk(function: Callable[..., Any], chunk: list[Task], *common: Any) -> Timed:
    """Run the tasks of a chunk one after the other. Return, for each task, its result and its time in seconds."""
    results = []
    for task in chunk:
        begin = time.perf_counter()
        result = function(*task, *common)
        results.append((result, time.perf_counter() - begin))
    return results


def _map_in_chunks(tasks: Iterable[Task], width: int, run: Callable[[Iterator[list[Task]]], list[Timed]]) -> list[Any]:
    """Run the first ``width`` tasks in chunks of one, to measure how long a task takes, and the other tasks in chunks.

    ``run`` takes an iterator of chunks and returns what `run_chunk` returns for each chunk. Some joblib backends (Ray,
    Spark, Dask) need milliseconds to start a task, so that short tasks would be slow without chunks.
    """
    tasks = iter(tasks)
    timed = [one for chunk in run([task] for task in islice(tasks, width)) for one in chunk]
    if not timed:
        return []
    seconds = max(statistics.median(taken for _, taken in timed), 1e-6)
    # The median is not misled by the first task, which may import modules.
    size = math.ceil(MIN_SECONDS / seconds)
    chunks = iter(lambda: list(islice(tasks, size)), [])
    timed += [one for chunk in run(chunks) for one in chunk]
    return [result for result, _ in timed]


def _identity(value: Any) -> Any:
    """Return the value unchanged. As a task it makes a value that Dask can compute again if a worker dies."""
    return value
