"""The k nearest neighbours: weighbors, scikit-learn, scikit-learn-intelex, FAISS and ScaNN, over ten shapes.

All are exact (brute force) and run in one process with the same data and two threads each. They alternate, and the best
time of at least nine rounds counts. Searches that take milliseconds have about a hundred rounds. Only the search is
timed: every index is built, and searched once, before. The result is a markdown table. A rival that is not installed
is named and left out (``pip install --group rivals`` installs all).
Neighbours are compared with ours. Rivals that expand the square of the difference may swap neighbours whose distances
are nearly equal, so the share of equal entries is printed where it is below 0.999.

``python benchmarks/rivals.py [--rounds 9] [--seconds 0.3] [--shapes 0 3 9]``
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")
os.environ.setdefault("MKL_NUM_THREADS", "2")

import argparse
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import best_of

from weighbors.engine import NeighborEngine

THREADS = 2
Search = Callable[[], np.ndarray]


@dataclass(frozen=True)
class Shape:
    """Rows and features; queries, or None for leave-one-out; neighbours; dtype."""

    n: int
    m: int
    queries: int | None
    k: int
    dtype: str = "float32"

    def __str__(self) -> str:
        n, m, queries = (f"{count or 0:_}".replace("_", " ") for count in (self.n, self.m, self.queries))
        what = "leave-one-out" if self.queries is None else f"{queries} queries"
        return f"{n} × {m}, {what}, k = {self.k}, {self.dtype}"

    def data(self) -> tuple[np.ndarray, np.ndarray | None]:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.n, self.m), dtype=np.float32).astype(self.dtype)
        if self.queries is None:
            return X, None
        return X, rng.standard_normal((self.queries, self.m), dtype=np.float32).astype(self.dtype)


SHAPES = (
    Shape(2_000, 30, None, 1),
    Shape(2_000, 30, None, 5, "float64"),
    Shape(5_000, 100, None, 5),
    Shape(20_000, 50, 5_000, 10),
    Shape(20_000, 50, 5_000, 10, "float64"),
    Shape(100_000, 20, 2_000, 10),
    Shape(1_000_000, 16, 200, 10),
    Shape(10_000, 784, 1_000, 5),
    Shape(200, 10_000, None, 5, "float64"),
    Shape(100, 20_000, None, 5),
)


def drop_self(rows: np.ndarray, k: int) -> np.ndarray:
    """Remove each row from its own list of k + 1."""
    own = rows == np.arange(len(rows))[:, None]
    own[~own.any(axis=1), -1] = True
    return rows[~own].reshape(len(rows), k)


def ours(X: np.ndarray, Q: np.ndarray | None, k: int) -> Search:
    engine, own = NeighborEngine(X, n_jobs=THREADS), np.arange(len(X))
    return lambda: engine.search(X if Q is None else Q, k, own_row=own if Q is None else None)[1]


def scikit_learn(X: np.ndarray, Q: np.ndarray | None, k: int, module: Any = None) -> Search:
    if module is None:
        from sklearn import neighbors as module
    finder = module.NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=THREADS).fit(X)
    return lambda: finder.kneighbors(Q)[1]


def intelex(X: np.ndarray, Q: np.ndarray | None, k: int) -> Search:
    from sklearnex import neighbors

    return scikit_learn(X, Q, k, neighbors)


def faiss_flat(X: np.ndarray, Q: np.ndarray | None, k: int) -> Search:
    import faiss

    faiss.omp_set_num_threads(THREADS)
    rows = np.ascontiguousarray(X, dtype=np.float32)  # it has nothing else
    index = faiss.IndexFlatL2(rows.shape[1])
    index.add(rows)
    if Q is None:
        return lambda: drop_self(index.search(rows, k + 1)[1], k)
    queries = np.ascontiguousarray(Q, dtype=np.float32)
    return lambda: index.search(queries, k)[1]


def scann_brute_force(X: np.ndarray, Q: np.ndarray | None, k: int) -> Search:
    import scann

    rows = np.ascontiguousarray(X, dtype=np.float32)
    index = scann.scann_ops_pybind.builder(rows, k + (Q is None), "squared_l2").score_brute_force().build()
    index.set_num_threads(THREADS)
    queries = rows if Q is None else np.ascontiguousarray(Q, dtype=np.float32)
    if Q is None:
        return lambda: drop_self(index.search_batched_parallel(queries)[0].astype(np.int64), k)
    return lambda: index.search_batched_parallel(queries)[0]


CONTESTANTS = {
    "weighbors": ours,
    "scikit-learn": scikit_learn,
    "scikit-learn-intelex": intelex,
    "faiss-cpu": faiss_flat,
    "scann": scann_brute_force,
}


def installed() -> list[str]:
    """Names of the contestants that can be imported; the others are named."""
    found = []
    for name in CONTESTANTS:
        try:
            print(f"{name} {importlib.metadata.version(name)}")
            found.append(name)
        except importlib.metadata.PackageNotFoundError:
            print(f"{name} is not installed and left out")
    return found


def measure(shape: Shape, names: list[str], rounds: int, seconds: float) -> str:
    """Time all contestants on one shape; one line of the table."""
    X, Q = shape.data()
    searches = {name: CONTESTANTS[name](X, Q, shape.k) for name in names}
    answers = {name: np.asarray(search()) for name, search in searches.items()}
    best = best_of(searches, rounds, seconds=seconds)
    cells = [str(shape), f"{1e3 * best['weighbors']:.2f} ms"]
    for name in names[1:]:
        same = float(np.mean(answers[name] == answers["weighbors"]))
        note = "" if same >= 0.999 else f" ({same:.3f} the same)"
        cells.append(f"{best[name] / best['weighbors']:.2f}{note}")
    queries = shape.n if shape.queries is None else shape.queries
    cells.append(f"{3e-9 * shape.n * shape.m * queries / best['weighbors']:.0f}")
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.3, help="least time of all calls of a contestant")
    parser.add_argument("--shapes", type=int, nargs="+", default=list(range(len(SHAPES))))
    arguments = parser.parse_args()
    names = installed()
    titles = ["search", "weighbors", *(f"{name} / weighbors" for name in names[1:]), "GFLOP/s (3 per difference)"]
    print("\n| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    for at in arguments.shapes:
        print(measure(SHAPES[at], names, arguments.rounds, arguments.seconds), flush=True)


if __name__ == "__main__":
    main()
