"""Cells in parallel: every thread owns a worker process and can kill it if it hangs.

Code that hangs in a compiled function does not react to Python signals, and a thread cannot be stopped. So a time limit
needs a process that can be killed. A process pool breaks if one of its processes is killed. Here a new process is
started instead.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from ..._typing import IndexArray
from ...exceptions import InvalidDataError, StoreError
from .cell import Cell, Job, StudyData, run_cell, write_failure
from .store import Store
from .worker import receive, send

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
            "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS")  # fmt: skip
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from weighbors.evaluation.study.worker import main; main()"
)
OnCellEnd = Callable[[str], None]


class Task(NamedTuple):
    """A cell, and the numbers of its training and test rows."""

    cell: Cell
    train: IndexArray
    test: IndexArray


def run_here(
    tasks: Iterable[Task], job: Job, load: Callable[[str], StudyData], store: Store, on_cell_end: OnCellEnd
) -> None:
    """Compute the cells one after the other in this process, with one thread each.

    ``load`` returns a data set by its name. ``on_cell_end`` is called with the status of each cell.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        for task in tasks:
            path = store.cell(task.cell.identity)
            on_cell_end(run_cell(job, load(task.cell.dataset), task.cell, task.train, task.test, path))


class WorkerProcess:
    """One worker process. It is started for its first cell, and started again if it has died."""

    def __init__(self, job: Job, load: Callable[[str], StudyData], store: Store, limit: float | None) -> None:
        self.job, self.load, self.store, self.limit = job, load, store, limit
        self.process: subprocess.Popen[bytes] | None = None
        self.dataset: str | None = None
        self.closed = False

    def run(self, task: Task) -> str:
        """Compute a cell in the process and return its status. The result or the failure is then in the store."""
        self._prepare(task.cell.dataset)
        path = self.store.cell(task.cell.identity)
        begin = time.perf_counter()
        late = threading.Event()

        # Kill the process at the time limit. The thread that waits for its answer then sees the end of the pipe.
        def stop() -> None:
            late.set()
            self.kill()

        clock = None if self.limit is None else threading.Timer(self.limit, stop)
        if clock is not None:
            clock.daemon = True
            clock.start()
        try:
            return self._request("cell", (task.cell, task.train, task.test, str(path)))
        except (EOFError, OSError):
            if self.closed:
                raise
            seconds = time.perf_counter() - begin
            code = self._collect()
            if late.is_set():
                if self.store.status(task.cell.identity) == "done":  # it was written just before the limit
                    return "done"
                message = f"TimeoutError: the cell did not end within {self.limit:g} seconds and was stopped"
                write_failure(task.cell, path, "timeout", message, message, seconds)
            else:
                message = f"the worker process ended with code {code} before the cell did (out of memory, or a crash)"
                write_failure(task.cell, path, "died", f"ChildProcessError: {message}", message, seconds)
            return "failed"
        finally:
            if clock is not None:
                clock.cancel()
                # A timer that has started must end before the next cell begins, or it would kill that cell.
                clock.join()
                if late.is_set():  # the process is killed even if the limit passes just after the answer
                    self._collect()

    def _prepare(self, dataset: str) -> None:
        """Start the process if it does not run, and send the data set if the process does not have it yet."""
        if self.process is None:
            self._start_process()
        if self.dataset != dataset:
            self._send_setup("data", self.load(dataset))
            self.dataset = dataset

    def _start_process(self) -> None:
        """Start the process with one thread for each numerical library, and send it the job."""
        # Cells already use all cores, so that BLAS threads inside the cells would compete for them.
        environment = {**os.environ, **dict.fromkeys(_THREADS, "1")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _BOOT, json.dumps([str(place) for place in sys.path])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # A session of its own makes it possible to kill the process together with its children.
            start_new_session=os.name == "posix",
        )
        self.dataset = None
        self._send_setup("job", self.job)

    def _send_setup(self, kind: str, content: object) -> None:
        """Send the job or a data set to the process. ``kind`` is "job" or "data"."""
        try:
            self._request(kind, content)
        except (EOFError, OSError) as error:
            if self.closed:
                raise
            code = self._collect()
            raise InvalidDataError(
                f"a worker process ended with code {code} when it was given the {kind}: is there enough memory for "
                "one copy of the data per worker?"
            ) from error

    def _request(self, kind: str, content: object) -> str:
        """Send a message and return the answer. Raise an error if the process could not handle the message."""
        process = self.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        # The job and the data may contain classes and functions of the user's script, which another process cannot
        # import.
        send(process.stdin, (kind, content), by_value=kind != "cell")
        answer: str = receive(process.stdout)
        if not answer.startswith("broken"):
            return answer
        if kind == "cell":  # errors of methods are results, so this is an error of the store, such as a full disk
            raise StoreError(f"a worker process could not write its cell\n{answer[7:]}")
        raise InvalidDataError(
            f"a worker process could not take the {kind}: methods, measures and data must be importable, or "
            f"picklable, in another process (or use n_jobs=1 without a time limit)\n{answer[7:]}"
        )

    def _collect(self) -> int | None:
        """Close the pipes of a process that ended and return its exit code."""
        process, self.process = self.process, None
        if process is None:
            return None
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            return process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def kill(self) -> None:
        """Kill the process and all processes that it started."""
        process = self.process
        # A process that has ended already must not be killed: its number may belong to another process by now.
        if process is None or process.poll() is not None:
            return
        with suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()

    def close(self) -> None:
        """End the process, even in the middle of a cell."""
        self.closed = True
        self.kill()
        self._collect()


def run_in_processes(
    tasks: Iterator[Task],
    job: Job,
    load: Callable[[str], StudyData],
    store: Store,
    on_cell_end: OnCellEnd,
    *,
    n_jobs: int,
    limit: float | None,
) -> None:
    """Share the tasks among ``n_jobs`` worker processes.

    Errors of methods are written to the store as failed cells. Only errors of the study itself are raised. ``load``
    returns a data set by its name, ``on_cell_end`` is called with the status of each cell, and ``limit`` is the time
    in seconds that a cell may take.
    """
    lock, errors = threading.Lock(), list[BaseException]()
    workers = [WorkerProcess(job, load, store, limit) for _ in range(n_jobs)]

    def stop() -> None:
        for worker in workers:  # the threads of the workers notice the end of the pipe and clean up
            worker.closed = True
            worker.kill()

    def work(worker: WorkerProcess) -> None:
        try:
            while True:
                with lock:
                    # The generator of tasks is shared by all threads, and a generator is not thread-safe.
                    # After the first error no thread takes a further task.
                    task = None if errors else next(tasks, None)
                if task is None:
                    return
                status = worker.run(task)
                with lock:
                    on_cell_end(status)
        except BaseException as error:
            # Errors of a worker that was closed on purpose are no errors of the study.
            if not worker.closed:
                errors.append(error)
                stop()
        finally:
            worker.close()

    threads = [threading.Thread(target=work, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # a join without a timeout would not react to Ctrl-C
    except BaseException:
        with lock:
            errors.append(KeyboardInterrupt())
        stop()
        for thread in threads:
            thread.join(10)
        raise
    if errors:
        raise errors[0]
