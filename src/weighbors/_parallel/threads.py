"""Thread pools that process ranges of rows.

The compiled functions release the GIL and treat every row alone. So results do not depend on the number of threads or
on how the rows are cut into ranges.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar, cast

from .. import _native

Result = TypeVar("Result")

_MOST_PLACED = 8  # threads; among more, one that waits behind its leader hardly matters


class _Pool:
    """Threads that are kept between calls, and wake up on other CPUs than the thread that calls them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._thread_ids: list[int] = []  # a thread adds its number when it starts
        self._unfinished: list[Future[None]] = []
        self._lock = threading.Lock()  # callers that come at the same time place the threads one after the other
        self._executor = ThreadPoolExecutor(
            size, "weighbors", initializer=lambda: self._thread_ids.append(threading.get_native_id())
        )

    def submit(self, work: Callable[[], None]) -> list[Future[None]]:
        """Let every thread of the pool call ``work`` beside the calling thread."""
        leader, place = threading.get_native_id(), self._size <= _MOST_PLACED

        def help_leader() -> None:
            """Call ``work`` in a thread of the pool."""
            if place:
                # First of all, because threads that are started in ``work`` inherit the CPUs of this one.
                _native.allow_cpus_of(leader)
            work()

        with self._lock:
            self._unfinished = [future for future in self._unfinished if not future.done()]
            if place and not self._unfinished:  # threads that work for another leader are awake
                # A thread that wakes up behind its leader would wait for milliseconds: see cpu_places.hpp. The tuple is
                # a copy, since new threads add their numbers meanwhile.
                _native.forbid_this_cpu(tuple(self._thread_ids))
            futures = [self._executor.submit(help_leader) for _ in range(self._size)]
            self._unfinished += futures
        return futures


_pools: dict[int, _Pool] = {}
if hasattr(os, "register_at_fork"):  # a forked child process does not have the threads of its parent
    os.register_at_fork(after_in_child=_pools.clear)


def effective_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``, as in joblib. None means 1, or the number of the active context."""
    import joblib

    return max(1, int(joblib.effective_n_jobs(n_jobs)))


def row_ranges(n: int, n_jobs: int, *, least: int = 48, most: int = 1020) -> list[tuple[int, int]]:
    """Cut ``n`` rows into ranges: about four per thread, each of about ``least`` to ``most`` rows.

    Examples
    --------
    >>> row_ranges(200, 2)
    [(0, 48), (48, 96), (96, 144), (144, 192), (192, 200)]
    """
    # Four ranges per thread even out their times.
    size = min(max(-(-n // (4 * n_jobs)), least), most)
    size = -(-size // 6) * 6  # whole tiles of six queries
    return [(begin, min(begin + size, n)) for begin in range(0, n, size)]


def run_ranges(task: Callable[[int, int], Result], ranges: list[tuple[int, int]], n_jobs: int) -> list[Result]:
    """Run ``task(begin, end)`` for every range, and return the results in the order of the ranges.

    The calling thread works, too. If a task raises an error, this function raises it.
    """
    helpers = min(n_jobs, len(ranges)) - 1
    # One thread needs no pool.
    if helpers < 1:
        return [task(begin, end) for begin, end in ranges]
    todo = list(enumerate(ranges))[::-1]
    results: dict[int, Result] = {}

    def work() -> None:
        """Take ranges from the list until none is left."""
        while True:
            try:
                number, bounds = todo.pop()  # each range goes to one thread only
            except IndexError:
                return
            try:
                results[number] = task(*bounds)
            except BaseException:
                # After an error the other threads stop at the end of their current range.
                todo.clear()
                raise

    pool = _pools.get(helpers) or _pools.setdefault(helpers, _Pool(helpers))
    futures = pool.submit(work)
    try:
        work()
    finally:
        # Helpers that have not started are not needed any more, since all ranges are taken.
        begun = [future for future in futures if not future.cancel()]
        for future in begun:
            future.exception()  # wait: no thread may write into the arrays after this call
    for future in begun:
        future.result()
    return [results[number] for number in range(len(ranges))]


def run_with_helpers(lead: Callable[[_native.HelperThreads], Result], n_jobs: int) -> Result:
    """Return ``lead(helpers)``, computed with the help of up to ``n_jobs`` - 1 threads of the pool.

    This is for loops whose steps depend on each other. The leading thread shares the parts of a step with the helper
    threads that have started. If none has started, it computes all parts itself.
    """
    helpers = _native.HelperThreads()

    def task(number: int, _: int) -> Result | None:
        """Lead the work if ``number`` is 0, and help otherwise."""
        if number > 0:
            helpers.help()
            return None
        try:
            return lead(helpers)
        finally:
            helpers.close()

    return cast(Result, run_ranges(task, [(number, number + 1) for number in range(n_jobs)], n_jobs)[0])
