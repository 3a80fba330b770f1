"""Time several contestants in turn, in one process, and keep the best of each."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_of(contestants: dict[str, Callable[[], object]], rounds: int = 9) -> dict[str, float]:
    """Best time of each contestant in seconds; they alternate, so that a busy machine slows down all of them."""
    best = dict.fromkeys(contestants, float("inf"))
    for run in contestants.values():
        run()
    for _ in range(rounds):
        for name, run in contestants.items():
            time.sleep(0.05)  # a peer's OpenMP threads spin on for a while after its turn
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
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
