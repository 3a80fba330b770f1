"""Cells on a Dask cluster. A worker process of a Dask worker computes and writes each cell.

Every thread of a Dask worker has one worker process, as in a study on one computer. So time limits hold, and a method
that kills its process causes one failed cell only. If a Dask worker dies, Dask gives its cells to another worker. The
results are the same, because seeds belong to cells. In this module a worker process is called a lane.
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

__all__ = ["run_on_cluster"]

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
                client.run(close_lanes, token)


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


class _Lanes:
    """The worker processes ("lanes") that a Dask worker keeps, at most one per thread.

    A lane serves one study. It is replaced when its thread gets a cell of another study, and ended after about
    ``IDLE`` seconds without work.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lanes: dict[int, tuple[str, WorkerProcess]] = {}
        self.busy: set[int] = set()
        self.used: dict[int, float] = {}
        self.watching = False

    def take(self, token: str, make: Callable[[], WorkerProcess]) -> WorkerProcess:
        """Return the lane of this thread. ``token`` identifies the study, and ``make`` starts a new lane."""
        me = threading.get_ident()
        with self.lock:
            self.busy.add(me)
            known = self.lanes.get(me)
            # A lane knows the methods of one study only.
            if known is not None and known[0] != token:
                known[1].close()
                known = None
            if known is None:
                known = self.lanes[me] = token, make()
            if not self.watching:
                self.watching = True
                threading.Thread(target=self._watch, daemon=True).start()
        return known[1]

    def release(self) -> None:
        """Mark the lane of this thread as not busy."""
        me = threading.get_ident()
        with self.lock:
            self.busy.discard(me)
            self.used[me] = time.monotonic()

    def close(self, keep: Callable[[int, str], bool]) -> None:
        """End all lanes that are not busy, except those for which ``keep(thread, token)`` is True."""
        with self.lock:
            for thread, (token, lane) in list(self.lanes.items()):
                if thread not in self.busy and not keep(thread, token):
                    lane.close()
                    del self.lanes[thread]

    def _watch(self) -> None:
        while True:
            time.sleep(IDLE / 4)
            self.close(lambda thread, _: time.monotonic() - self.used.get(thread, 0.0) < IDLE)
            with self.lock:
                if not self.lanes:
                    self.watching = False
                    return


_lanes = _Lanes()


def close_lanes(token: str) -> None:
    """End the lanes of a study on this Dask worker. ``token`` identifies the study."""
    _lanes.close(lambda _, other: other != token)


def compute_cell(token: str, job: Job, data: StudyData, task: tuple[Any, ...], store: str, limit: float | None) -> str:
    """Compute and write a cell in the lane of this thread of a Dask worker, and return the status of the cell."""
    task = Task(*task)
    lane = _lanes.take(token, lambda: WorkerProcess(job, lambda _: data, Store(store), limit))
    lane.load = lambda _: data  # the lane may need another data set than before
    try:
        return lane.run(task)
    finally:
        _lanes.release()
