"""Time the instance selectors, and measure what they keep and what accuracy that leaves.

``python benchmarks/instance_selectors.py`` prints the times at 20 000 x 20 on two threads, with imbalanced-learn's
condensed nearest neighbour beside FCNN. ``--growth`` prints times from 5 000 to 80 000 rows. ``--tables`` prints shares
of rows kept and accuracies of 1-NN on real tables in 10 folds, as the guide shows them; it needs the papers' data sets.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from collections.abc import Callable

import numpy as np
from harness import verdict
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from weighbors import DROP3, DROP5, FCNN, HMNEI, IB2, IB3, ICF, WeightedKNeighborsClassifier
from weighbors.datasets import load_dataset
from weighbors.exceptions import LostClassWarning

THREADS = 2
SELECTORS: dict[str, Callable[[], object]] = {
    "FCNN": lambda: FCNN(n_jobs=THREADS),
    "IB2": lambda: IB2(n_jobs=THREADS),
    "IB3": lambda: IB3(n_jobs=THREADS),
    "DROP3": lambda: DROP3(n_jobs=THREADS),
    "DROP5": lambda: DROP5(n_jobs=THREADS),
    "ICF": lambda: ICF(n_jobs=THREADS),
    "HMNEI": lambda: HMNEI(n_jobs=THREADS),
}
TABLES = ("glass", "sonar", "ionosphere", "parkinsons", "pima", "spectf", "vehicle", "wdbc")


def made(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a table of ``n`` rows and 20 columns with overlapping classes and 5 % of labels drawn at random."""
    return make_classification(
        n, 20, n_informative=10, n_clusters_per_class=4, class_sep=1.5, flip_y=0.05, random_state=0
    )


def seconds_of(run: Callable[[], object]) -> tuple[float, float, object]:
    """Return the time of one run, its CPU time, which other programs do not lengthen, and its result."""
    start, cpu = time.perf_counter(), time.process_time()
    result = run()
    return time.perf_counter() - start, time.process_time() - cpu, result


def time_all(n: int) -> dict[str, float]:
    """Print and return the time of each selector on a table of ``n`` rows."""
    X, y = made(n)
    taken = {}
    for name, make in SELECTORS.items():
        taken[name], cpu, selector = seconds_of(lambda make=make: make().fit(X, y))
        kept = len(selector.sample_indices_) / n
        print(f"  {name:<6} {n:>6} rows {taken[name]:8.2f} s, CPU {cpu:8.2f} s, {100 * kept:5.1f} % kept", flush=True)
    return taken


def condense(n: int) -> None:
    """Run imbalanced-learn's condensed nearest neighbour on the same table."""
    from imblearn.under_sampling import CondensedNearestNeighbour

    CondensedNearestNeighbour(random_state=0, n_jobs=THREADS).fit_resample(*made(n))


def against_condensed(n: int, limit: float) -> float:
    """Return the time of imbalanced-learn's condensed nearest neighbour, or ``limit`` seconds if it takes longer."""
    process = multiprocessing.get_context("spawn").Process(target=condense, args=(n,))
    taken, _, _ = seconds_of(lambda: (process.start(), process.join(limit)))
    if process.is_alive():
        process.kill()
        print(f"  imbalanced-learn's CNN {n:>6} rows: not finished after {limit:.0f} s", flush=True)
        return limit
    print(f"  imbalanced-learn's CNN {n:>6} rows {taken:8.2f} s", flush=True)
    return taken


def compare(n: int) -> None:
    """Print the times at one size, and whether they reach their targets."""
    taken = time_all(n)
    for name in ("DROP3", "ICF"):
        verdict(f"{name}, seconds", taken[name], 60, at_most=True)
    limit = max(60.0, 100 * taken["FCNN"])
    verdict("imbalanced-learn's CNN / FCNN (at least)", against_condensed(n, limit) / taken["FCNN"], 20)


def measure(name: str) -> dict[str, tuple[float, float]]:
    """Return the share of rows kept and the accuracy of 1-NN, in percent, for each selector, in 10 folds."""
    data = load_dataset(name, "C_uci")
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    methods = {"all rows": None, **SELECTORS}
    found: dict[str, list[tuple[float, float]]] = {method: [] for method in methods}
    rng = np.random.default_rng(0)
    for part, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
        train = rng.permutation(part)  # IB2 and IB3 take the rows as they come, and some tables are sorted by class
        scaler = StandardScaler().fit(X[train])
        rows, queries = scaler.transform(X[train]), scaler.transform(X[test])
        for method, make in methods.items():
            kept = np.arange(len(train)) if make is None else make().fit(rows, y[train]).sample_indices_
            model = WeightedKNeighborsClassifier(1).fit(rows[kept], y[train][kept])
            found[method].append((len(kept) / len(train), model.score(queries, y[test])))
    return {method: tuple(100 * np.mean(values, axis=0)) for method, values in found.items()}


def measure_tables() -> None:
    """Print the table of the guide: rows kept and accuracy, both in percent."""
    results = {name: measure(name) for name in TABLES}
    methods = list(next(iter(results.values())))
    print("| table | " + " | ".join(methods) + " |\n|---|" + "---|" * len(methods))
    for name, found in results.items():
        print(f"| {name} | " + " | ".join(f"{found[m][0]:.0f} · {found[m][1]:.1f}" for m in methods) + " |")
    mean = {m: np.mean([found[m] for found in results.values()], axis=0) for m in methods}
    print("| **mean** | " + " | ".join(f"**{mean[m][0]:.0f} · {mean[m][1]:.1f}**" for m in methods) + " |")


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=LostClassWarning)
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--tables", action="store_true")
    options = parser.parse_args()
    if options.tables:
        measure_tables()
    elif options.growth:
        for size in (5_000, 10_000, 20_000, 40_000, 80_000):
            time_all(size)
    else:
        compare(options.rows)
