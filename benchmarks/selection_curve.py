"""Time and memory of `selection_curve` and `redundancy_groups` on wide tables, with 2 jobs.

The target: a curve of 10 x 5 folds and 10 shuffles on 200 rows x 10 000 features in at most 60 s on 2 cores. The time
of the processor is printed beside, because it does not depend on what else the machine does: on two idle cores, the
curve takes about half of it. Run it with ``--memory`` for 25 000 features as well.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one thread per job

import resource
import sys
import time

import numpy as np
from harness import verdict

from weighbors import ReliefF
from weighbors.evaluation import redundancy_groups, selection_curve

JOBS = 2


def data(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of which 30 features know something, and copies of 100 features with noise."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, :30] += 0.8 * y[:, None]
    X[:, -100:] = X[:, :100] + 0.2 * rng.normal(size=(n, 100))
    return X, y


def processor_seconds() -> float:
    """Seconds that this process and its finished workers have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def timed(title: str, run):
    """Run a function, and print its wall time and its processor time."""
    begin, used = time.perf_counter(), processor_seconds()
    result = run()
    wall, used = time.perf_counter() - begin, processor_seconds() - used
    print(f"{title}: {wall:.1f} s, processor {used:.1f} s", flush=True)
    return result, wall, used


def curve() -> None:
    X, y = data(200, 10_000)
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    _, _, alone = timed(
        "selection curve 200 x 10 000, 10 x 5 folds, 10 shuffles, 24 sizes, 1 job",
        lambda: selection_curve(ReliefF(), X, y),
    )
    verdict(f"processor seconds / {JOBS}", alone / JOBS, 60, at_most=True)
    _, wall, _ = timed(f"the same with {JOBS} jobs", lambda: selection_curve(ReliefF(), X, y, n_jobs=JOBS))
    verdict("seconds", wall, 60, at_most=True)


def groups(p: int, **options) -> None:
    X, _ = data(200, p)
    options = {"n_jobs": JOBS, **options}
    found, _, _ = timed(f"redundancy_groups 200 x {p} {options}", lambda: redundancy_groups(X, **options))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"  {found.n_groups} groups, peak memory {peak:.2f} GB (all pairs would take {8e-9 * p * p:.1f} GB)")


if __name__ == "__main__":
    groups(10_000)
    groups(10_000, threshold="null")
    if "--memory" in sys.argv:
        groups(25_000)
    curve()
