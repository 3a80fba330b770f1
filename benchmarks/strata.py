"""Stratified and democratic instance selection from 60 000 to a million rows: growth of time, and what it costs.

Generated rows (10 features, 3 classes of 2 clusters each, 5 % of the labels at random), float32, one thread.
Time is that of the processor, since the machine may be shared. At 4 000 rows one search over all of them, with as
many evaluations as the strata have together, says what strata lose. Growth is measured with short searches, about ten
minutes of processor time; ``--full`` takes the searches of the comparison there, too (about 40 minutes), and
``python benchmarks/strata.py 60000 250000`` other sizes. ``--growth`` leaves the comparison out,
``stratified`` or ``democratic`` the other one.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import time
from typing import Any

import numpy as np
from harness import verdict
from sklearn.datasets import make_classification

from weighbors import Democratic, EvolutionaryWeigher, Stratified, WeightedKNeighborsClassifier

SIZES, SMALL, TEST, SEEDS = (60_000, 250_000, 1_000_000), 4_000, 5_000, (0, 1, 2)
TABLES = (0, 7)  # settings were found on the first; the second says whether they hold elsewhere


def data(n: int, table: int = TABLES[0]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X, y = make_classification(
        n + TEST,
        10,
        n_informative=6,
        n_redundant=0,
        n_classes=3,
        n_clusters_per_class=2,
        class_sep=1.5,
        flip_y=0.05,
        random_state=table,
    )
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    return X[:n], y[:n], X[n:], y[n:]


def stratified(n: int, seed: int, *, short: bool = False) -> Stratified:
    size, evaluations = (10, 100) if short else (30, 2000)
    search = EvolutionaryWeigher("IS", population_size=size, max_evaluations=evaluations)
    return Stratified(search, n // 200, random_state=seed)


def democratic(n: int, seed: int, *, short: bool = False) -> Democratic:
    size, evaluations = (20, 60) if short else (20, 1000)
    search = EvolutionaryWeigher("IS", population_size=size, max_evaluations=evaluations)
    return Democratic(search, 3, n_strata=n // 250, random_state=seed)


def whole(n: int, seed: int) -> EvolutionaryWeigher:
    evaluations = n // 200 * 2000  # those of the strata together
    return EvolutionaryWeigher("IS", max_evaluations=evaluations, random_state=seed)


def measured(weigher: Any, n: int, table: int = TABLES[0]) -> tuple[float, float, float]:
    """Seconds of the processor, accuracy of 1-NN on other rows, reduction."""
    X, y, X_test, y_test = data(n, table)
    cpu, wall = time.process_time(), time.perf_counter()
    weigher.fit(X, y)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    accuracy = WeightedKNeighborsClassifier(1, weigher.weights_).fit(X, y).score(X_test, y_test)
    print(
        f"  {type(weigher).__name__:<20} {n:>9} rows {cpu:9.1f} s ({wall:.0f} s on the clock)  accuracy "
        f"{100 * accuracy:.1f}  reduction {100 * weigher.reduction_:.1f}",
        flush=True,
    )
    return cpu, 100 * accuracy, 100 * weigher.reduction_


def losses(table: int) -> None:
    print(f"{SMALL} rows, table {table}, seeds {SEEDS}")
    X, y, X_test, y_test = data(SMALL, table)
    plain = WeightedKNeighborsClassifier(1).fit(X, y).score(X_test, y_test)
    print(f"  1-NN with all rows: accuracy {100 * plain:.1f}")
    means = {
        make.__name__: np.mean([measured(make(SMALL, seed), SMALL, table)[1:] for seed in SEEDS], axis=0)
        for make in (whole, stratified, democratic)
    }
    for name in ("stratified", "democratic"):
        accuracy, reduction = means[name] - means["whole"]
        verdict(f"{name}: accuracy less that of the whole, points", accuracy, -1)
        verdict(f"{name}: reduction less that of the whole, points", reduction, -5)


def growth(make: Any, sizes: tuple[int, ...], *, short: bool) -> None:
    print(f"growth, {make.__name__}, {make(SMALL, 0, short=short).weigher.max_evaluations} evaluations per stratum")
    seconds = np.array([measured(make(n, 0, short=short), n)[0] for n in sizes])
    rows = np.array(sizes, dtype=float)
    slope, start = np.polyfit(rows, seconds, 1)
    fitted = slope * rows + start
    r2 = 1 - ((seconds - fitted) ** 2).sum() / ((seconds - seconds.mean()) ** 2).sum()
    exponent = np.polyfit(np.log(rows), np.log(seconds), 1)[0]
    print(f"  seconds = {1e6 * slope:.0f} per million rows {start:+.1f}, R² {r2:.5f}")
    verdict(f"{make.__name__}: exponent of growth", float(exponent), 1.1, at_most=True)


if __name__ == "__main__":
    asked = tuple(int(size) for size in sys.argv[1:] if size.isdigit()) or SIZES
    if "--growth" not in sys.argv:
        for table in TABLES:
            losses(table)
    for make in (stratified, democratic):
        if make.__name__ in sys.argv or not {"stratified", "democratic"} & {*sys.argv}:
            growth(make, asked, short="--full" not in sys.argv)
