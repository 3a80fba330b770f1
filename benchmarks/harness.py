"""Time several contestants in turn, in one process, and keep the best of each."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_of(contestants: dict[str, Callable[[], object]], rounds: int = 9, *, seconds: float = 0.0) -> dict[str, float]:
    """Best time of each contestant in seconds; they alternate, so that a busy machine slows down all of them.

    There are at least ``rounds`` rounds, and more until every contestant was timed for ``seconds`` in total: the best
    of nine calls of 2 ms differs by a half between runs, because one interruption takes as long as the call.
    """
    best, total = dict.fromkeys(contestants, float("inf")), dict.fromkeys(contestants, 0.0)
    for run in contestants.values():
        run()
    done = 0
    while done < rounds or min(total.values()) < seconds:
        for name, run in contestants.items():
            time.sleep(0.05)  # a peer's OpenMP threads spin on for a while after its turn
            start = time.perf_counter()
            run()
            took = time.perf_counter() - start
            best[name], total[name] = min(best[name], took), total[name] + took
        done += 1
    return best


def show(title: str, best: dict[str, float], ours: str, *, cells: float | None = None) -> None:
    """Print one line per contestant: milliseconds, and the factor to our time."""
    print(title)
    for name, seconds in best.items():
        rate = f"  {3 * cells / seconds / 1e9:6.0f} GFLOP/s" if cells and name == ours else ""
        ratio = "" if name == ours else f"  {seconds / best[ours]:6.2f} x ours"
        print(f"  {name:<34} {1e3 * seconds:9.2f} ms{ratio}{rate}")
    print(flush=True)


def verdict(what: str, reached: float, wanted: float, *, at_most: bool = False) -> None:
    """Print whether a figure reaches its target."""
    holds = reached <= wanted if at_most else reached >= wanted
    print(
        f"  {'ok ' if holds else 'LOW'} {what}: {reached:.2f} (wanted {'<=' if at_most else '>='} {wanted:g})",
        flush=True,
    )
