"""Evaluations of the evolutionary search against leave-one-out with scikit-learn and FAISS: 2 threads each.

2000 x 30, float32. A peer gets the same selected instances and features, scaled by the same weights;
packing, folding and selecting are in our time and not in theirs. Then evaluations with numeric targets (R²) beside
those with classes (accuracy). Run by ``make bench``.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "2")

import time
import tracemalloc

import faiss
import numpy as np
from harness import best_of, verdict
from sklearn.datasets import make_classification
from sklearn.neighbors import NearestNeighbors

from weighbors import EvolutionaryWeigher
from weighbors.engine.population import PopulationNeighbors
from weighbors.tables.targets import check_target
from weighbors.weighers.evolution import EvolutionSearch, Fitness, Genome
from weighbors.weighers.evolution.fitness import NeighborPredictor, build_score, default_alphas

THREADS, N, M, P = 2, 2000, 30, 100


def data() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(N, M, n_informative=10, random_state=0)
    return np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0), dtype=np.float32), y


def brute(queries: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Two neighbours: the first may be the row itself."""
    return NearestNeighbors(n_neighbors=2, algorithm="brute", n_jobs=THREADS).fit(references).kneighbors(queries)[1]


def brute_leave_one_out(rows: np.ndarray) -> np.ndarray:
    return NearestNeighbors(n_neighbors=1, algorithm="brute", n_jobs=THREADS).fit(rows).kneighbors()[1]


def flat(rows: np.ndarray) -> None:
    index = faiss.IndexFlatL2(rows.shape[1])
    index.add(rows)
    index.search(rows, 2)


def evaluations() -> None:
    X, y = data()
    rng = np.random.default_rng(0)
    faiss.omp_set_num_threads(THREADS)

    def ours(tasks: tuple[str, ...], density: float = 0.5):
        genome = Genome(tasks, N, M)
        people = genome.random(P, rng, density=density)
        neighbors = PopulationNeighbors(
            X,
            y,
            n_classes=2,
            n_jobs=THREADS,
            features_change="FS" in tasks or "FW" in tasks,
            scales_change="IW" in tasks,
        )
        selections = genome.selections(people)
        first = people.take([0])
        rows, columns = genome.instance_mask(first)[0], genome.feature_mask(first)[0]
        scaled = (X * genome.feature_weights(first)[0, 0]).astype(np.float32)[:, columns]
        return (lambda: neighbors.predict(selections)), np.ascontiguousarray(scaled), rows

    weighing, weighed, _ = ours(("FW",))
    everything, part, kept = ours(("IS", "FS", "IW", "FW"))
    half, plain, kept_half = ours(("IS",))
    few, _, kept_few = ours(("IS",), 0.02)
    scaling, _, _ = ours(("IW",))
    contestants = {
        "FW": weighing,
        "IS+FS+IW+FW": everything,
        "IS, half selected": half,
        "IS, 2 % selected": few,
        "IW": scaling,
        "scikit-learn, all": lambda: brute_leave_one_out(weighed),
        "FAISS Flat, all": lambda: flat(weighed),
        "scikit-learn, random start": lambda: brute(part, np.ascontiguousarray(part[kept])),
        "scikit-learn, half": lambda: brute(plain, np.ascontiguousarray(plain[kept_half])),
        "scikit-learn, 2 %": lambda: brute(plain, np.ascontiguousarray(plain[kept_few])),
    }
    best = best_of(contestants, rounds=7)
    for name in ("FW", "IS+FS+IW+FW", "IS, half selected", "IS, 2 % selected", "IW"):
        best[name] /= P
    print(f"one evaluation, {N} x {M}, float32, {THREADS} threads")
    for name, seconds in best.items():
        print(f"  {name:<28} {1e3 * seconds:9.4f} ms")
    verdict("FW: scikit-learn brute / ours", best["scikit-learn, all"] / best["FW"], 5)
    verdict("FW: FAISS Flat / ours", best["FAISS Flat, all"] / best["FW"], 4)
    verdict("all four: scikit-learn brute / ours", best["scikit-learn, random start"] / best["IS+FS+IW+FW"], 8)
    verdict("IS, half: scikit-learn brute / ours", best["scikit-learn, half"] / best["IS, half selected"], 200)
    verdict("IS, 2 %: scikit-learn brute / ours", best["scikit-learn, 2 %"] / best["IS, 2 % selected"], 10)


def numeric_targets() -> None:
    """Evaluations of a population by R² and by accuracy, scores included.

    Every measurement evaluates the population several times, as a search does with its generations: alone, an
    evaluation of few rows would mostly wait for the memory that the other search has used in between.
    """
    X, y = data()
    numbers = X[:, 0] + np.random.default_rng(0).normal(size=N)

    def repeated_evaluations(tasks: tuple[str, ...], density: float, times: int, *, numeric: bool):
        genome = Genome(tasks, N, M)
        people = genome.random(P, np.random.default_rng(0), density=density)
        target = check_target(numbers if numeric else y, "numeric" if numeric else "classes")
        score = build_score("accuracy", target)  # of a number it is R²
        fitness = Fitness(genome, NeighborPredictor(genome, X, target, n_jobs=THREADS), score, default_alphas(tasks))
        return lambda: [fitness(people) for _ in range(times)]

    # Tasks, share of the rows that is selected, and how often the population is evaluated in one measurement.
    cases = {"FW": (("FW",), 0.5, 2), "IS, half selected": (("IS",), 0.5, 100),
             "IS, 2 % selected": (("IS",), 0.02, 100), "IS+FS+IW+FW": (("IS", "FS", "IW", "FW"), 0.5, 5)}  # fmt: skip
    for name, (tasks, density, times) in cases.items():
        pair = {kind: repeated_evaluations(tasks, density, times, numeric=kind == "R²") for kind in ("accuracy", "R²")}
        best = best_of(pair, rounds=10)
        each = {kind: 1e3 * best[kind] / P / times for kind in pair}
        print(f"{name}: {', '.join(f'{kind} {each[kind]:.4f} ms' for kind in pair)} per evaluation")
        verdict("R² / accuracy", best["R²"] / best["accuracy"], 1.3, at_most=True)


def search_alone() -> None:
    """The search without evaluations: 100 individuals, 2030 bits, 30 reals."""
    genome, seconds = Genome(("IS", "FS", "FW"), N, M), []
    fitness = np.random.default_rng(1)
    for _ in range(5):  # fresh searches: all individuals cross in early generations
        search = EvolutionSearch(genome, P, np.random.default_rng(0))
        search.tell(fitness.random(len(search.ask())))
        for _ in range(10):
            begun = time.perf_counter()
            asked = search.ask()
            search.tell(fitness.random(len(asked)))
            seconds.append(time.perf_counter() - begun)
    verdict("search alone, median ms per generation", 1e3 * float(np.median(seconds)), 2, at_most=True)


def whole_searches() -> None:
    """Searches with the default settings: 100 individuals, 10 000 evaluations. Lists and Python are in the time."""
    for n, m, tasks in ((300, M, "IS"), (1000, M, "IS"), (2000, M, "IS"), (200, 10, "FW"), (200, 10, "IS+FS+IW+FW")):
        X, y = make_classification(n, m, n_informative=min(10, m // 2), random_state=0)
        X = np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0), dtype=np.float32)
        search = EvolutionaryWeigher(tasks, random_state=0, n_jobs=THREADS)
        wall, cpu = time.perf_counter(), time.process_time()
        search.fit(X, y)
        wall, cpu = (1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu))
        print(f"{tasks}, {n} x {m}: {search.reduction_:.3f} removed, processor {cpu / search.n_evaluations_:.4f} ms")
        reached = wall / search.n_evaluations_
        verdict("ms per evaluation of a whole search", round(reached, 4), 0.03 if tasks == "IS" else 0.1, at_most=True)


def memory() -> None:
    """Beyond the data: what is kept for a large table, and what evaluations take."""
    X = np.random.default_rng(0).normal(size=(50_000, 10)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    tracemalloc.start()
    genome = Genome(("IS",), len(X), 10)
    neighbors = PopulationNeighbors(
        X, y, n_classes=2, n_jobs=THREADS, features_change=False, scales_change=False, cache_bytes=16 * 2**20
    )
    neighbors.predict(genome.selections(genome.random(8, np.random.default_rng(0))))
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    print(f"50 000 x 10, IS, limit 16 MiB: {neighbors.method}")
    verdict("peak of Python's arrays, MiB", peak, 64, at_most=True)


if __name__ == "__main__":
    evaluations()
    numeric_targets()
    search_alone()
    whole_searches()
    memory()
