"""Cells on a Dask cluster: each is written by its worker, in a process of its own that may hang or die.

A Dask worker keeps the same lanes as a study on one machine (`_lanes`), one per thread: so limits
of time hold, and a method that kills its process is one failed cell. Where a worker itself dies,
Dask gives its cells to another; seeds belong to cells, so they come out the same.
"""

from __future__ import annotations

import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from .._cluster import collect, current_client, dask_module, result_of, width_of
from ..exceptions import StoreError
from ._cell import Job, StudyData, failure
from ._lanes import Task, Tell, _Lane
from ._store import Store

__all__ = ["run_on_cluster"]

IDLE = 60.0  # seconds after which a worker ends a lane nobody uses


def run_on_cluster(
    tasks: Iterator[Task],
    job: Job,
    load: Callable[[str], StudyData],
    store: Store,
    tell: Tell,
    *,
    client: Any,
    n_jobs: int | None,
    limit: float | None,
) -> None:
    """Have the cells computed and written by the workers of a cluster.

    ``store`` must be on a disk that all workers and this process see.
    """
    client = current_client(client)
    width = width_of(client)
    token, sent = uuid.uuid4().hex, list[Task]()

    def futures() -> Iterator[Any]:
        shared, name, data = _kept(client, job), None, None
        for task in tasks:
            if task.cell.dataset != name:
                name = task.cell.dataset
                data = _kept(client, load(name))
            sent.append(task)
            place = str(store.path.absolute())
            yield client.submit(compute_cell, token, shared, data, tuple(task), place, limit, pure=False)

    try:
        for number, future in collect(client, futures(), window=2 * width if n_jobs is None else n_jobs):
            tell(_ended(client, future, sent[number], store))
    finally:
        if client.status == "running":
            with suppress(Exception):
                client.run(close_lanes, token)


def _kept(client: Any, value: Any) -> Any:
    """A value on the cluster that can be made again when its worker dies, unlike a scattered one."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        return client.submit(_same, value, pure=False)


def _same(value: Any) -> Any:
    return value


def _ended(client: Any, future: Any, task: Task, store: Store) -> str:
    """How a cell ended; it is in the store then."""
    try:
        status: str = result_of(client, future)
    except dask_module("distributed").scheduler.KilledWorker as error:
        told = "several workers of the cluster died with this cell (out of memory, or a crash)"
        failure(task.cell, store.cell(task.cell.identity), "died", f"ChildProcessError: {told}", str(error), 0.0)
        return "failed"
    except (ImportError, AttributeError) as error:
        error.add_note("methods, measures and data must be importable, or picklable, on the workers of the cluster")
        raise
    until = time.monotonic() + 5.0  # a shared disk may be late
    while store.status(task.cell.identity) == "missing":
        if time.monotonic() > until:
            raise StoreError(
                f"a worker wrote a cell to '{store.path.absolute()}', and it is not there for this process: the store "
                "must be on a disk that all workers share"
            )
        time.sleep(0.1)
    return status


class _Lanes:
    """The lanes of a worker: one per thread, of the study that came last; ended when nobody uses them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lanes: dict[int, tuple[str, _Lane]] = {}
        self.busy: set[int] = set()
        self.used: dict[int, float] = {}
        self.watching = False

    def take(self, token: str, make: Callable[[], _Lane]) -> _Lane:
        """The lane of this thread."""
        me = threading.get_ident()
        with self.lock:
            self.busy.add(me)
            known = self.lanes.get(me)
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
        """Leave the lane of this thread, for now."""
        me = threading.get_ident()
        with self.lock:
            self.busy.discard(me)
            self.used[me] = time.monotonic()

    def close(self, keep: Callable[[int, str], bool]) -> None:
        """End the lanes that nobody is busy with, save those to be kept."""
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
    """End the lanes of a study on this worker."""
    _lanes.close(lambda _, other: other != token)


def compute_cell(token: str, job: Job, data: StudyData, task: tuple[Any, ...], store: str, limit: float | None) -> str:
    """On a worker: have a cell computed and written by this thread's lane."""
    task = Task(*task)
    lane = _lanes.take(token, lambda: _Lane(job, lambda _: data, Store(store), limit))
    lane.load = lambda _: data  # of the data set that comes next
    try:
        return lane.run(task)
    finally:
        _lanes.release()
