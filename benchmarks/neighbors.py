"""Weighted k-NN against scikit-learn's brute force and FAISS Flat: same data, 2 threads each.

Run by ``make bench``. A cell is one difference of one feature: 3 floating-point operations.
"""

from __future__ import annotations

import os
import tracemalloc

os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")

import faiss
import numpy as np
from harness import best_of, show, verdict
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from weighbors import WeightedKNeighborsClassifier, Weights
from weighbors.engine import NeighborEngine

THREADS = 2
faiss.omp_set_num_threads(THREADS)


def faiss_flat(X, Q, k):
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return index.search(Q, k)


def predict_case(dtype) -> None:
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(20_000, 50)).astype(dtype), rng.normal(size=(5_000, 50)).astype(dtype)
    y = rng.integers(0, 3, size=len(X))
    ours = WeightedKNeighborsClassifier(10, n_jobs=THREADS).fit(X, y)
    sklearn = KNeighborsClassifier(10, algorithm="brute", n_jobs=THREADS).fit(X, y)
    finder = NearestNeighbors(n_neighbors=10, algorithm="brute", n_jobs=THREADS).fit(X)
    contestants = {
        "weighbors predict": lambda: ours.predict(Q),
        "weighbors kneighbors": lambda: ours.kneighbors(Q),
        "scikit-learn brute predict": lambda: sklearn.predict(Q),
        "scikit-learn brute kneighbors": lambda: finder.kneighbors(Q),
    }
    if dtype == np.float32:
        contestants["FAISS Flat"] = lambda: faiss_flat(X, Q, 10)
    best = best_of(contestants, rounds=7)
    name = np.dtype(dtype).name
    show(
        f"predict, 20 000 x 50 references, 5 000 queries, k = 10, {name}",
        best,
        "weighbors predict",
        cells=20_000 * 5_000 * 50,
    )
    verdict(
        f"scikit-learn predict / ours, {name}",
        best["scikit-learn brute predict"] / best["weighbors predict"],
        2 if dtype == np.float32 else 1.4,
    )
    if dtype == np.float32:
        verdict("FAISS Flat / our kneighbors", best["FAISS Flat"] / best["weighbors kneighbors"], 1.5)
    tracemalloc.start()
    WeightedKNeighborsClassifier(10, n_jobs=THREADS).fit(X, y).predict(Q)
    verdict(f"memory beyond the data, {name}, MB", tracemalloc.get_traced_memory()[1] / 1e6, 60, at_most=True)
    tracemalloc.stop()


def leave_one_out(n: int, m: int, k: int, dtype, rounds: int) -> dict[str, float]:
    """The k nearest other rows of every row: best times."""
    X = np.random.default_rng(0).normal(size=(n, m)).astype(dtype)
    rows = np.arange(n)
    finder = NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=THREADS).fit(X)
    engine = NeighborEngine(X, n_jobs=THREADS)
    contestants = {
        "weighbors": lambda: engine.search(X, k, own_row=rows),
        "scikit-learn brute": lambda: finder.kneighbors(),
    }
    if dtype == np.float32:
        contestants["FAISS Flat"] = lambda: faiss_flat(X, X, k + 1)
    best = best_of(contestants, rounds=rounds)
    show(f"leave-one-out {k}-NN, {n} x {m}, {np.dtype(dtype).name}", best, "weighbors", cells=n * n * m)
    return best


def leave_one_out_case(n: int, m: int, wanted: tuple[float, float]) -> None:
    best = leave_one_out(n, m, 1, np.float32, rounds=15)
    verdict("scikit-learn / ours", best["scikit-learn brute"] / best["weighbors"], wanted[0])
    verdict("FAISS Flat / ours", best["FAISS Flat"] / best["weighbors"], wanted[1])


def weights_case(dtype) -> None:
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(20_000, 50)).astype(dtype), rng.normal(size=(5_000, 50)).astype(dtype)
    kinds = {
        "no weights": None,
        "feature weights": Weights(feature_weights=rng.random(50)),
        "instance scales": Weights(instance_scales=0.5 + rng.random(len(X))),
        "a weight per instance and feature": Weights(feature_weights=rng.random(X.shape)),
    }
    engines = {name: NeighborEngine(X, weights=weights, n_jobs=THREADS) for name, weights in kinds.items()}
    best = best_of({name: (lambda e=e: e.search(Q, 10)) for name, e in engines.items()})
    show(f"the price of weights, {np.dtype(dtype).name}", best, "no weights", cells=20_000 * 5_000 * 50)
    for name, limit in zip(list(kinds)[1:], (1.3, 1.3, 2.5), strict=True):
        verdict(f"{name} / no weights", best[name] / best["no weights"], limit, at_most=True)


if __name__ == "__main__":
    from weighbors import _native

    print(f"CPU level of the kernels: {_native.cpu_level()}\n")
    for kind in (np.float32, np.float64):
        predict_case(kind)
    leave_one_out_case(2_000, 30, (4, 4))
    leave_one_out_case(5_000, 100, (2.3, 1.4))
    for kind in (np.float32, np.float64):
        for shape in ((200, 60_000), (100, 200_000)):  # a row is larger than the caches
            leave_one_out(*shape, 5, kind, rounds=5)
        weights_case(kind)
