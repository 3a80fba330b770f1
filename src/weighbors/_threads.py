"""One thread pool over fixed row ranges. The primitives release the GIL and are independent
per row, so results cannot depend on the number of threads or on how rows are cut.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def effective_n_jobs(n_jobs: int | None) -> int:
    """Threads meant by ``n_jobs``, as joblib understands it (None: 1 or the active context's)."""
    import joblib

    return max(1, int(joblib.effective_n_jobs(n_jobs)))


def row_ranges(n: int, n_jobs: int, *, least: int = 48, most: int = 1020) -> list[tuple[int, int]]:
    """Cut ``n`` rows into ranges: about four per thread, none needlessly small or large.

    Examples
    --------
    >>> row_ranges(200, 2)
    [(0, 48), (48, 96), (96, 144), (144, 192), (192, 200)]
    """
    size = min(max(-(-n // (4 * n_jobs)), least), most)
    size = -(-size // 6) * 6  # whole tiles of six queries
    return [(begin, min(begin + size, n)) for begin in range(0, n, size)]


def run_ranges(
    task: Callable[[int, int], Result], ranges: list[tuple[int, int]], n_jobs: int
) -> list[Result]:
    """Run ``task(begin, end)`` over the ranges; results in the order of the ranges."""
    if n_jobs == 1 or len(ranges) <= 1:
        return [task(begin, end) for begin, end in ranges]
    with ThreadPoolExecutor(min(n_jobs, len(ranges))) as pool:
        return list(pool.map(lambda bounds: task(*bounds), ranges))
