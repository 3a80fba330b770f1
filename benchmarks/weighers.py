"""The margin weighers against fast-select, scikit-rebate and NumPy loops: same data, 2 threads each.

Run by ``make bench``; ``--rebate`` adds scikit-rebate, which takes minutes.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("NUMBA_NUM_THREADS", "2")

import subprocess
import sys
import time
import tracemalloc

import numpy as np
from harness import best_of, show, verdict
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from weighbors import MBIW, MultiSURF, ReliefF, RReliefF, Simba, SimbaMBIW
from weighbors.engine import NeighborEngine

THREADS = 2


def data(n=5000, m=100):
    return make_classification(n, m, n_informative=min(20, m // 2), random_state=0)


def relief_family() -> None:
    import fast_select

    X, y = data()
    best = best_of(
        {
            "weighbors ReliefF": lambda: ReliefF(10, n_jobs=THREADS).fit(X, y),
            "fast-select ReliefF, warm": lambda: fast_select.ReliefF(10, n_neighbors=10, n_jobs=THREADS).fit(X, y),
        },
        rounds=5,
    )
    show("ReliefF, k = 10, 5000 x 100, float64", best, "weighbors ReliefF")
    verdict("fast-select / ours", best["fast-select ReliefF, warm"] / best["weighbors ReliefF"], 4)
    surf = best_of(
        {
            "weighbors MultiSURF": lambda: MultiSURF(n_jobs=THREADS).fit(X, y),
            "fast-select MultiSURF, warm": lambda: fast_select.MultiSURF(10, n_jobs=THREADS).fit(X, y),
        },
        rounds=5,
    )
    show("MultiSURF, 5000 x 100, float64", surf, "weighbors MultiSURF")
    verdict("fast-select / ours", surf["fast-select MultiSURF, warm"] / surf["weighbors MultiSURF"], 3)
    for weigher in (ReliefF(10, n_jobs=THREADS), MultiSURF(n_jobs=THREADS)):
        tracemalloc.start()
        weigher.fit(X, y)
        verdict(
            f"{type(weigher).__name__}: memory over the data, MB",
            tracemalloc.get_traced_memory()[1] / 1e6,
            100,
            at_most=True,
        )
        tracemalloc.stop()
    if "--rebate" in sys.argv:
        import skrebate

        start = time.perf_counter()
        skrebate.ReliefF(n_neighbors=10, n_jobs=THREADS).fit(X, y)
        verdict("scikit-rebate ReliefF / ours", (time.perf_counter() - start) / best["weighbors ReliefF"], 200)


def numeric_targets() -> None:
    """RReliefF beside our ReliefF, and beside scikit-rebate's ReliefF with a continuous endpoint."""
    X, y = data()
    number = X[:, 0] + X[:, 1] * X[:, 2]
    best = best_of(
        {
            "weighbors ReliefF": lambda: ReliefF(10, n_jobs=1).fit(X, y),
            "weighbors RReliefF": lambda: RReliefF(10, n_jobs=1).fit(X, number),
            "weighbors MultiSURF, classes": lambda: MultiSURF(n_jobs=1).fit(X, y),
            "weighbors MultiSURF, numbers": lambda: MultiSURF(n_jobs=1).fit(X, number),
        },
        rounds=5,
    )
    show("numeric targets, k = 10, 5000 x 100, float64, one thread", best, "weighbors RReliefF")
    verdict("RReliefF / ReliefF", best["weighbors RReliefF"] / best["weighbors ReliefF"], 1.5, at_most=True)
    import skrebate

    n = len(X) if "--rebate" in sys.argv else 1000
    part = best_of(
        {
            "weighbors RReliefF": lambda: RReliefF(10, n_jobs=1).fit(X[:n], number[:n]),
            "scikit-rebate ReliefF": lambda: skrebate.ReliefF(n_neighbors=10, n_jobs=1).fit(X[:n], number[:n]),
        },
        rounds=1,
    )
    verdict(f"scikit-rebate / ours, {n} x 100", part["scikit-rebate ReliefF"] / part["weighbors RReliefF"], 100)


def fresh_process() -> None:
    setup = "from sklearn.datasets import make_classification; X, y = make_classification(5000, 100, random_state=0); "
    codes = {
        "weighbors": setup + "from weighbors import ReliefF; ReliefF(10, n_jobs=2).fit(X, y)",
        "fast-select": setup + "from fast_select import ReliefF; ReliefF(10, n_neighbors=10, n_jobs=2).fit(X, y)",
    }
    runs = {name: (lambda c=c: subprocess.run([sys.executable, "-c", c], check=True)) for name, c in codes.items()}
    best = best_of(runs, rounds=2)
    show("imports to result in a fresh process", best, "weighbors")
    verdict("fast-select / ours", best["fast-select"] / best["weighbors"], 4)


def simba_loop(X, y, step, *, products):
    """One pass in NumPy: all differences, or two matrix-vector products."""
    n, m = X.shape
    w, squares = np.ones(m), X**2
    for i in np.random.RandomState(0).permutation(n):
        a = w**2
        d = squares @ a - 2 * (X @ (a * X[i])) + a @ squares[i] if products else ((X - X[i]) ** 2) @ a
        d[i] = np.inf
        hit = np.where(y == y[i], d, np.inf).argmin()
        miss = np.where(y == y[i], np.inf, d).argmin()
        delta = (X[i] - X[miss]) ** 2 / np.sqrt(max(d[miss], 1e-300)) - (X[i] - X[hit]) ** 2 / np.sqrt(
            max(d[hit], 1e-300)
        )
        w = w + step * 0.5 * delta * w
    return w


def margins() -> None:
    for n, m in ((5000, 100), (200, 10_000)):
        X, y = data(n, m)
        X = np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0))
        for step in (1.0, "1/n"):
            size = 1 / n if step == "1/n" else step
            with threadpool_limits(1):
                best = best_of(
                    {
                        "weighbors Simba": lambda X=X, y=y, s=step: Simba(step=s, random_state=0, n_jobs=THREADS).fit(
                            X, y
                        ),
                        "NumPy, two products": lambda X=X, y=y, s=size: simba_loop(X, y, s, products=True),
                        "NumPy, differences": lambda X=X, y=y, s=size: simba_loop(X, y, s, products=False),
                    },
                    rounds=5,
                )
            show(f"SIMBA, one pass, {n} x {m}, step {step}", best, "weighbors Simba")
            verdict("NumPy differences / ours", best["NumPy, differences"] / best["weighbors Simba"], 10)
            verdict("NumPy two products / ours", best["NumPy, two products"] / best["weighbors Simba"], 1.5)
    X, y = data()
    rows = np.arange(len(X))
    best = best_of(
        {
            "leave-one-out 1-NN": lambda: NeighborEngine(X, n_jobs=THREADS).search(X, 1, own_row=rows),
            "MBIW": lambda: MBIW(n_jobs=THREADS).fit(X, y),
            "Simba, step 1/n": lambda: Simba(step="1/n", random_state=0, n_jobs=THREADS).fit(X, y),
            "SimbaMBIW": lambda: SimbaMBIW(n_jobs=THREADS).fit(X, y),
        },
        rounds=5,
    )
    show("MBIW and SIMBAMBIW, 5000 x 100", best, "leave-one-out 1-NN")
    verdict("MBIW / leave-one-out", best["MBIW"] / best["leave-one-out 1-NN"], 3, at_most=True)
    verdict(
        "SimbaMBIW / (MBIW + Simba)", best["SimbaMBIW"] / (best["MBIW"] + best["Simba, step 1/n"]), 1.3, at_most=True
    )


def growth() -> None:
    """Seconds as N, M and K grow by a factor of 16."""
    weighers = {
        "ReliefF": lambda: ReliefF(10, n_jobs=THREADS),
        "MultiSURF": lambda: MultiSURF(n_jobs=THREADS),
        "MBIW": lambda: MBIW(n_jobs=THREADS),
        "Simba 1/n": lambda: Simba(step="1/n", random_state=0, n_jobs=THREADS),
        "Simba 1": lambda: Simba(random_state=0, n_jobs=THREADS),
    }
    print("growth, seconds")
    for label, sizes in {
        "N (M = 50, K = 2)": [(500, 50, 2), (2000, 50, 2), (8000, 50, 2)],
        "M (N = 1000, K = 2)": [(1000, 25, 2), (1000, 100, 2), (1000, 400, 2)],
        "K (N = 2000, M = 50)": [(2000, 50, 2), (2000, 50, 8), (2000, 50, 32)],
    }.items():
        print(f"  {label}")
        for name, make in weighers.items():
            seconds = []
            for n, m, k in sizes:
                X, y = make_classification(n, m, n_informative=12, n_classes=k, n_clusters_per_class=1, random_state=0)
                seconds.append(best_of({name: lambda X=X, y=y, make=make: make().fit(X, y)}, rounds=2)[name])
            exponent = np.log(seconds[-1] / seconds[0]) / np.log(16)
            print(
                f"    {name:<10} " + " ".join(f"{s:8.4f}" for s in seconds) + f"   exponent {exponent:.2f}", flush=True
            )


if __name__ == "__main__":
    relief_family()
    numeric_targets()
    fresh_process()
    margins()
    growth()
