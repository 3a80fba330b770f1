"""The cells of a study computed here, in worker processes of joblib, or on a Dask cluster.

A worker that dies takes its cell with it, and joblib or Dask cannot tell which cell killed it. So all cells that may
have been under way are computed again, each alone. A cell that kills its worker again is written as failed.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..._parallel.cluster import current_client, dask_module, result_of
from ..._parallel.executors import DaskExecutor
from ..._warnings import warn
from ...exceptions import InvalidDataError, LostWorkerWarning, StoreError
from .cell import Cell, Scores, StudyData, run_cell, write_failure
from .store import Store

_LATE_SECONDS = 5.0  # after which a shared disk must show a file of another computer
#: Warnings and standard output belong to a process. So a worker of Dask computes one cell at a time in all its threads.
_one_cell = threading.Lock()


class Runner:
    """Computes and stores cells that are waiting, except those that another process has written meanwhile.

    Parameters
    ----------
    cells : list of Cell
    store : Store
    load : function of the name of a data set
        Returns its `StudyData`.
    scores : Scores
    tell : function of a status
        It is called whenever a cell has ended.
    """

    def __init__(
        self,
        cells: list[Cell],
        store: Store,
        load: Callable[[str], StudyData],
        scores: Scores,
        tell: Callable[[str], None],
    ) -> None:
        self.store, self.load, self.scores, self.tell = store, load, scores, tell
        # Several processes may work on one store. If they start at different cells, they rarely compute the same cell.
        start = int.from_bytes(os.urandom(4), "little") % max(1, len(cells))
        self._waiting = deque(cells[start:] + cells[:start])
        self._listed = {cell.identity: store.time_written(cell.identity) for cell in cells}

    def _is_written(self, cell: Cell) -> bool:
        """Return whether the file of a cell was written since the cells were listed."""
        return self.store.time_written(cell.identity) not in (None, self._listed[cell.identity])

    def _take_cells(self) -> Iterator[Cell]:
        """Yield the waiting cells. Cells that another process has written meanwhile count as ended."""
        while self._waiting:
            cell = self._waiting.popleft()
            if self._is_written(cell):
                self.tell(self.store.status(cell.identity))
            else:
                yield cell

    def run_here(self) -> None:
        """Compute the cells one after the other in this process, with one thread each."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            for cell in self._take_cells():
                data = self.load(cell.dataset)
                self.tell(run_cell(cell, data.X, data.y, self.scores, self.store.cell(cell.identity)))

    def run_in_processes(self, n_jobs: int) -> None:
        """Compute the cells in ``n_jobs`` worker processes of this computer."""
        self._run_apart(lambda cells: self._compute_in_processes(cells, n_jobs))

    def run_on_cluster(self, client: Any, n_jobs: int | None) -> None:
        """Compute the cells on a Dask cluster, at most ``n_jobs`` at the same time."""
        client = current_client(client)
        self._run_apart(lambda cells: self._compute_on_cluster(cells, client, n_jobs))

    def _run_apart(self, compute: Callable[[Iterator[Cell]], list[Cell]]) -> None:
        """Compute all cells in other processes.

        ``compute`` returns the cells that may have been under way when a worker died. They are computed again, each
        alone, and the cells that nobody has begun wait until then.
        """
        while lost := compute(self._take_cells()):
            warn(
                "a worker of the study died (out of memory, or a crash); cells that may have been under way are "
                f"computed again, one at a time: {', '.join(f'{cell.dataset} × {cell.method}' for cell in lost)}",
                LostWorkerWarning,
            )
            for cell in lost:
                begin = time.perf_counter()
                if compute(iter([cell])):
                    message = (
                        "the worker died with this cell, and again with this cell alone (out of memory, or a crash)"
                    )
                    seconds = time.perf_counter() - begin
                    path = self.store.cell(cell.identity)
                    write_failure(cell, path, "died", f"ChildProcessError: {message}", message, seconds)
                    self.tell("failed")

    def _compute_in_processes(self, cells: Iterator[Cell], n_jobs: int) -> list[Cell]:
        """Compute cells with joblib. Return those that may have been under way when a worker process died."""
        from joblib import Parallel, delayed, parallel_config
        from joblib.externals.loky import BrokenProcessPool
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        sent: dict[str, Cell] = {}

        def make_calls() -> Iterator[Any]:
            for cell in cells:
                sent[cell.identity] = cell
                data, path = self.load(cell.dataset), self.store.cell(cell.identity)
                yield delayed(compute_cell)(cell, data.X, data.y, self.scores, path, os.getpid())

        try:
            # joblib shows large arrays to all workers as files in shared memory, and sends one cell at a time.
            with parallel_config("loky", inner_max_num_threads=1):
                run = Parallel(n_jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1)
                for identity, status in run(make_calls()):
                    del sent[identity]
                    self.tell(status)
            return []
        except TerminatedWorkerError:
            return self._sort_out_lost(list(sent.values()), n_jobs)
        except (BrokenProcessPool, pickle.PicklingError) as error:
            raise InvalidDataError(
                "a worker process could not take a cell: methods, measures and data must be importable, or picklable, "
                f"in another process (or use n_jobs=1)\n{error.__cause__ or error}"
            ) from error

    def _sort_out_lost(self, sent: list[Cell], n_jobs: int) -> list[Cell]:
        """Return the cells that may have been under way in ``n_jobs`` processes. Later ones wait again.

        ``sent`` are cells of which joblib has not returned the status, in the order in which it took them.
        """
        lost = []
        for cell in sent:
            if self._is_written(cell):
                self.tell(self.store.status(cell.identity))
            else:
                lost.append(cell)
        # joblib takes some cells before a process is free for them, and processes get the cells in this order.
        self._waiting.extendleft(reversed(lost[n_jobs:]))
        return lost[:n_jobs]

    def _compute_on_cluster(self, cells: Iterator[Cell], client: Any, n_jobs: int | None) -> list[Cell]:
        """Compute cells on the workers of a cluster, which also write them. Return those that Dask gave up.

        Dask computes a cell again on another worker if its worker dies, and gives it up if several workers die. The
        Dask backend of joblib would wait for such a cell for ever.
        """
        executor = DaskExecutor(client)
        store = Store(self.store.path.absolute())  # workers have other current directories
        killed = dask_module("distributed").scheduler.KilledWorker
        sent, given_up = list[Cell](), list[Cell]()

        def make_calls() -> Iterator[tuple[Any, ...]]:
            """Yield the arguments of each cell. A data set is shared once for all its cells."""
            name = X = y = None
            for cell in cells:
                if cell.dataset != name:
                    name, data = cell.dataset, self.load(cell.dataset)
                    X, y = executor.share(data.X), executor.share(data.y)
                sent.append(cell)
                yield cell, X, y, self.scores, store.cell(cell.identity)

        for number, future in executor.submit(compute_cell, make_calls(), window=n_jobs):
            try:
                _, status = result_of(client, future)
            except killed:
                given_up.append(sent[number])
                continue
            except (ImportError, AttributeError) as error:
                error.add_note("methods, measures and data must be importable, or picklable, on the workers")
                raise
            self._wait_for_file(sent[number])
            self.tell(status)
        return given_up

    def _wait_for_file(self, cell: Cell) -> None:
        """Raise StoreError if the file that a worker has written does not appear in the store of this process."""
        until = time.monotonic() + _LATE_SECONDS
        while self.store.time_written(cell.identity) is None:
            if time.monotonic() > until:
                raise StoreError(
                    f"a worker wrote a cell to '{self.store.path.absolute()}', and it is not there for this process: "
                    "the store must be on a disk that all workers share"
                )
            time.sleep(0.1)


def compute_cell(cell: Cell, X: Any, y: Any, scores: Scores, path: Path, study: int | None = None) -> tuple[str, str]:
    """Compute and write a cell in a worker, and return its identity and status.

    ``study`` is the number of the process of the study, with which a worker process of joblib ends. It is None on a
    cluster.
    """
    from threadpoolctl import threadpool_limits

    if study is None:
        # Dask does not limit the threads of numerical libraries. Finding these libraries takes some milliseconds.
        with _one_cell, threadpool_limits(1):
            return cell.identity, run_cell(cell, X, y, scores, path)
    _end_with(study)
    return cell.identity, run_cell(cell, X, y, scores, path)


@lru_cache
def _end_with(study: int) -> None:
    """Let this worker process end soon after the process of the study, which may have been killed."""

    def watch() -> None:
        while os.getppid() == study:
            time.sleep(1.0)
        os._exit(1)

    # On Windows a process keeps the number of its parent. There the worker ends when it has waited for work too long.
    if os.name == "posix" and os.getpid() != study:
        threading.Thread(target=watch, daemon=True).start()
