"""Cells side by side: every lane owns a worker process and can end it when it hangs.

A worker that hangs in compiled code heeds no signal of Python's and no thread can be stopped, so
a limit of time needs a process to kill. Pools of processes break when one of theirs is killed;
here a lane starts another one.
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

from .._typing import IndexArray
from ..exceptions import InvalidDataError, StoreError
from ._cell import Cell, Job, StudyData, failure, run_cell
from ._store import Store
from ._worker import receive, send

__all__ = ["Task", "run_here", "run_lanes"]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
            "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS")  # fmt: skip
_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from weighbors.evaluation._worker import main; main()"
Tell = Callable[[str], None]


class Task(NamedTuple):
    """A cell and its rows."""

    cell: Cell
    train: IndexArray
    test: IndexArray


def run_here(tasks: Iterable[Task], job: Job, load: Callable[[str], StudyData], store: Store, tell: Tell) -> None:
    """One cell after the other in this process, one thread each."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        for task in tasks:
            path = store.cell(task.cell.identity)
            tell(run_cell(job, load(task.cell.dataset), task.cell, task.train, task.test, path))


class _Lane:
    """One worker process, started when needed and started anew after a death."""

    def __init__(self, job: Job, load: Callable[[str], StudyData], store: Store, limit: float | None) -> None:
        self.job, self.load, self.store, self.limit = job, load, store, limit
        self.process: subprocess.Popen[bytes] | None = None
        self.dataset: str | None = None
        self.closed = False

    def run(self, task: Task) -> str:
        """Have a cell computed; it is written when this returns, whatever happened."""
        self._prepare(task.cell.dataset)
        path = self.store.cell(task.cell.identity)
        begin = time.perf_counter()
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.kill()

        clock = None if self.limit is None else threading.Timer(self.limit, stop)
        if clock is not None:
            clock.daemon = True
            clock.start()
        try:
            return self._ask("cell", (task.cell, task.train, task.test, str(path)))
        except (EOFError, OSError):
            if self.closed:
                raise
            seconds = time.perf_counter() - begin
            code = self._bury()
            if late.is_set():
                if self.store.status(task.cell.identity) == "done":  # it was written in the last moment
                    return "done"
                told = f"TimeoutError: the cell did not end within {self.limit:g} seconds and was stopped"
                failure(task.cell, path, "timeout", told, told, seconds)
            else:
                told = f"the worker process ended with code {code} before the cell did (out of memory, or a crash)"
                failure(task.cell, path, "died", f"ChildProcessError: {told}", told, seconds)
            return "failed"
        finally:
            if clock is not None:
                clock.cancel()
                clock.join()
                if late.is_set():  # perhaps just after the answer: the worker is dead all the same
                    self._bury()

    def _prepare(self, dataset: str) -> None:
        if self.process is None:
            self._start()
        if self.dataset != dataset:
            self._tell("data", self.load(dataset))
            self.dataset = dataset

    def _start(self) -> None:
        environment = {**os.environ, **dict.fromkeys(_THREADS, "1")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _BOOT, json.dumps([str(place) for place in sys.path])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=os.name == "posix",
        )
        self.dataset = None
        self._tell("job", self.job)

    def _tell(self, kind: str, content: object) -> None:
        """Hand the worker what its cells need."""
        try:
            self._ask(kind, content)
        except (EOFError, OSError) as error:
            if self.closed:
                raise
            code = self._bury()
            raise InvalidDataError(
                f"a worker process ended with code {code} when it was given the {kind}: is there enough memory for "
                "one copy of the data per worker?"
            ) from error

    def _ask(self, kind: str, content: object) -> str:
        process = self.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        send(process.stdin, (kind, content), by_value=kind != "cell")
        answer: str = receive(process.stdout)
        if not answer.startswith("broken"):
            return answer
        if kind == "cell":  # errors of methods are results; this is one of the store, such as a full disk
            raise StoreError(f"a worker process could not write its cell\n{answer[7:]}")
        raise InvalidDataError(
            f"a worker process could not take the {kind}: methods, measures and data must be importable, or "
            f"picklable, in another process (or use n_jobs=1 without a time limit)\n{answer[7:]}"
        )

    def _bury(self) -> int | None:
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
        """End the worker and whatever it started."""
        process = self.process
        if process is None or process.poll() is not None:
            return
        with suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()

    def close(self) -> None:
        """End the lane, in the middle of a cell where need be."""
        self.closed = True
        self.kill()
        self._bury()


def run_lanes(
    tasks: Iterator[Task],
    job: Job,
    load: Callable[[str], StudyData],
    store: Store,
    tell: Tell,
    *,
    n_jobs: int,
    limit: float | None,
) -> None:
    """Share the tasks among ``n_jobs`` worker processes; an error of the machinery itself is raised here."""
    lock, errors = threading.Lock(), list[BaseException]()
    lanes = [_Lane(job, load, store, limit) for _ in range(n_jobs)]

    def stop() -> None:
        for lane in lanes:  # their threads see the pipe end, and clean up
            lane.closed = True
            lane.kill()

    def work(lane: _Lane) -> None:
        try:
            while True:
                with lock:
                    task = None if errors else next(tasks, None)
                if task is None:
                    return
                status = lane.run(task)
                with lock:
                    tell(status)
        except BaseException as error:
            if not lane.closed:
                errors.append(error)
                stop()
        finally:
            lane.close()

    threads = [threading.Thread(target=work, args=(lane,), daemon=True) for lane in lanes]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # so that Ctrl-C is heard
    except BaseException:
        with lock:
            errors.append(KeyboardInterrupt())
        stop()
        for thread in threads:
            thread.join(10)
        raise
    if errors:
        raise errors[0]
