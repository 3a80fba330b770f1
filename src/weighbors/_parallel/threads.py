"""Thread pools that process ranges of rows.

The compiled functions release the GIL and treat every row alone. So results do not depend on the number of threads or
on how the rows are cut into ranges.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")

_pools: dict[int, ThreadPoolExecutor] = {}  # kept between calls, by their number of threads
if hasattr(os, "register_at_fork"):  # a forked child process does not have the threads of its parent
    os.register_at_fork(after_in_child=_pools.clear)


def effective_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``, as in joblib. None means 1, or the number of the active context."""
    import joblib

    return max(1, int(joblib.effective_n_jobs(n_jobs)))


def fixed_ranges(n: int, size: int) -> list[tuple[int, int]]:
    """Return ranges of ``size`` numbers from 0 to ``n``. They do not depend on the number of threads."""
    return [(begin, min(begin + size, n)) for begin in range(0, n, size)]


def row_ranges(n: int, n_jobs: int, *, least: int = 48, most: int = 1020) -> list[tuple[int, int]]:
    """Cut ``n`` rows into ranges: about four per thread, each of about ``least`` to ``most`` rows.

    Examples
    --------
    >>> row_ranges(200, 2)
    [(0, 48), (48, 96), (96, 144), (144, 192), (192, 200)]
    """
    # Four ranges per thread even out their times.
    size = min(max(-(-n // (4 * n_jobs)), least), most)
    return fixed_ranges(n, -(-size // 6) * 6)  # whole tiles of six queries


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

    pool = _pools.get(helpers) or _pools.setdefault(helpers, ThreadPoolExecutor(helpers, "weighbors"))
    futures = [pool.submit(work) for _ in range(helpers)]
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


def run_kernel(
    kernel: Callable[..., Result], ranges: list[tuple[int, int]], n_jobs: int, **arguments: Any
) -> list[Result]:
    """Run a function of the compiled core for every range, as `run_ranges` does. It takes ``begin`` and ``end``."""
    return run_ranges(lambda begin, end: kernel(**arguments, begin=begin, end=end), ranges, n_jobs)
