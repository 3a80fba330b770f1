"""Cells on a Dask cluster. A worker process of a Dask worker computes and writes each cell.

Every thread of a Dask worker has one worker process, as in a study on one computer. So time limits hold, and a method
that kills its process causes one failed cell only. If a Dask worker dies, Dask gives its cells to another worker. The
results are the same, because seeds belong to cells.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from ..._parallel.cluster import current_client, dask_module, result_of
from ..._parallel.executors import DaskExecutor
from ...exceptions import StoreError
from .cell import Job, StudyData, write_failure
from .processes import OnCellEnd, Task, WorkerProcess
from .store import Store

IDLE = 60.0  # seconds after which an unused worker process is ended


def run_on_cluster(
    tasks: Iterator[Task],
    job: Job,
    load: Callable[[str], StudyData],
    store: Store,
    tell: OnCellEnd,
    *,
    client: Any,
    n_jobs: int | None,
    limit: float | None,
) -> None:
    """Compute the cells on the workers of a cluster, which also write them.

    ``store`` must be on a disk that all workers and this process share. ``load`` returns a data set by its name,
    ``tell`` is called with the status of each cell, ``n_jobs`` is the number of cells that are submitted at the same
    time, and ``limit`` is the time in seconds that a cell may take.
    """
    client = current_client(client)
    executor = DaskExecutor(client)
    token, sent = uuid.uuid4().hex, list[Task]()

    def calls() -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of each cell. A data set is shared once for all its cells."""
        shared, name, data = executor.share(job), None, None
        for task in tasks:
            if task.cell.dataset != name:
                name = task.cell.dataset
                data = executor.share(load(name))
            sent.append(task)
            yield token, shared, data, tuple(task), str(store.path.absolute()), limit

    try:
        for number, future in executor.submit(compute_cell, calls(), window=n_jobs):
            tell(_ended(client, future, sent[number], store))
    finally:
        if client.status == "running":
            with suppress(Exception):
                client.run(close_processes, token)


def _ended(client: Any, future: Any, task: Task, store: Store) -> str:
    """Return the status of a cell that has ended, after a check that its file is in the store.

    ``future`` is the Dask future of the cell ``task``, and ``client`` is the client that submitted it.
    """
    try:
        status: str = result_of(client, future)
    except dask_module("distributed").scheduler.KilledWorker as error:
        told = "several workers of the cluster died with this cell (out of memory, or a crash)"
        write_failure(task.cell, store.cell(task.cell.identity), "died", f"ChildProcessError: {told}", str(error), 0.0)
        return "failed"
    except (ImportError, AttributeError) as error:
        error.add_note("methods, measures and data must be importable, or picklable, on the workers of the cluster")
        raise
    until = time.monotonic() + 5.0  # a shared disk may show the file late
    while store.status(task.cell.identity) == "missing":
        if time.monotonic() > until:
            raise StoreError(
                f"a worker wrote a cell to '{store.path.absolute()}', and it is not there for this process: the store "
                "must be on a disk that all workers share"
            )
        time.sleep(0.1)
    return status


class _WorkerProcesses:
    """The worker processes that a Dask worker keeps, at most one per thread.

    A process serves one study. It is replaced when its thread gets a cell of another study, and ended after about
    ``IDLE`` seconds without work.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.processes: dict[int, tuple[str, WorkerProcess]] = {}
        self.busy: set[int] = set()
        self.used: dict[int, float] = {}
        self.watching = False

    def take(self, token: str, make: Callable[[], WorkerProcess]) -> WorkerProcess:
        """Return the process of this thread. ``token`` identifies the study, and ``make`` starts a new process."""
        me = threading.get_ident()
        with self.lock:
            self.busy.add(me)
            known = self.processes.get(me)
            # A worker process knows the methods of one study only.
            if known is not None and known[0] != token:
                known[1].close()
                known = None
            if known is None:
                known = self.processes[me] = token, make()
            if not self.watching:
                self.watching = True
                threading.Thread(target=self._watch, daemon=True).start()
        return known[1]

    def release(self) -> None:
        """Mark the worker process of this thread as not busy."""
        me = threading.get_ident()
        with self.lock:
            self.busy.discard(me)
            self.used[me] = time.monotonic()

    def close(self, keep: Callable[[int, str], bool]) -> None:
        """End all worker processes that are not busy, except those for which ``keep(thread, token)`` is True."""
        with self.lock:
            for thread, (token, process) in list(self.processes.items()):
                if thread not in self.busy and not keep(thread, token):
                    process.close()
                    del self.processes[thread]

    def _watch(self) -> None:
        """End worker processes that have been idle for too long, until none is left."""
        while True:
            time.sleep(IDLE / 4)
            self.close(lambda thread, _: time.monotonic() - self.used.get(thread, 0.0) < IDLE)
            with self.lock:
                if not self.processes:
                    self.watching = False
                    return


_kept = _WorkerProcesses()


def close_processes(token: str) -> None:
    """End the worker processes of a study on this Dask worker. ``token`` identifies the study."""
    _kept.close(lambda _, other: other != token)


def compute_cell(token: str, job: Job, data: StudyData, task: tuple[Any, ...], store: str, limit: float | None) -> str:
    """Compute and write a cell in the worker process of this thread of a Dask worker, and return its status."""
    task = Task(*task)
    process = _kept.take(token, lambda: WorkerProcess(job, lambda _: data, Store(store), limit))
    process.load = lambda _: data  # the process may need another data set than before
    try:
        return process.run(task)
    finally:
        _kept.release()
