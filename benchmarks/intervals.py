"""What representative intervals cost: fit beside one sort of the table, predict beside the plain k-NN.

Run by ``make bench``. 200 000 x 50 int64, three classes; one thread each.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
from harness import best_of, show, verdict

from weighbors import WIBK, RepresentativeIntervals, WeightedKNeighborsClassifier

N, M, QUERIES, K = 200_000, 50, 2_000, 5


def table(reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Integers from 0 to reach, classes shifted against each other."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=N)
    return rng.integers(0, reach, size=(N, M)) + (reach // 5) * y[:, None] * (np.arange(M) % 3 == 0), y


def fit_case(reach: int, wanted: float | None) -> None:
    X, y = table(reach)
    best = best_of(
        {
            "RepresentativeIntervals.fit": lambda: RepresentativeIntervals().fit(X, y),
            "WIBK.fit": lambda: WIBK(K).fit(X, y),
            "np.sort(X, axis=0)": lambda: np.sort(X, axis=0),
        },
        rounds=3,
    )
    show(f"fit, {N} x {M} int64, values below {reach}", best, "np.sort(X, axis=0)")
    for name in ("RepresentativeIntervals.fit", "WIBK.fit"):
        verdict(f"{name} / sort", best[name] / best["np.sort(X, axis=0)"], wanted or 10, at_most=True)


def predict_case(reach: int, queries: int) -> None:
    X, y = table(reach)
    Q = X[:queries]
    weighted, plain = WIBK(K).fit(X, y), WeightedKNeighborsClassifier(K).fit(X, y)
    best = best_of({"WIBK": lambda: weighted.predict(Q), "plain k-NN": lambda: plain.predict(Q)}, rounds=6)
    show(f"predict, {queries} queries, values below {reach}, k = {K}", best, "plain k-NN")
    verdict("WIBK / plain k-NN", best["WIBK"] / best["plain k-NN"], 2.5, at_most=True)


def memory(reach: int) -> None:
    X, y = table(reach)
    own = X.nbytes / 1e6
    tracemalloc.start()
    weigher = RepresentativeIntervals().fit(X, y)
    held, peak = (size / 1e6 for size in tracemalloc.get_traced_memory())
    print(f"memory, values below {reach}: X {own:.0f} MB; the weigher holds {held:.2f} MB", flush=True)
    verdict("fit: peak over X, MB (one float64 copy of X is 80)", peak, 200, at_most=True)
    model = WeightedKNeighborsClassifier(K, weigher.weights_).fit(X, y)
    plain = WeightedKNeighborsClassifier(K).fit(X, y)
    for name, fitted in (("weighted", model), ("plain", plain)):
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        fitted.predict(X[:QUERIES])
        print(f"  predict, {name}: peak {(tracemalloc.get_traced_memory()[1] - before) / 1e6:.0f} MB over the model")
    tracemalloc.stop()


if __name__ == "__main__":
    for reach in (10, 100, 1_000, 100_000, 1_000_000):
        fit_case(reach, 10)
    for queries in (200, QUERIES):
        predict_case(100, queries)
    predict_case(1_000_000, QUERIES)
    memory(100)
