"""Does the list hold its false discovery rate? 200 generated tables of 100 rows and 1000 features, 10 relevant.

Features come in blocks of five with correlation ½. The ten features of two blocks are relevant. The log-odds of the
class are 2 (s + t), where s and t are the standardised means of the two blocks ("linear", the even tables), or
2 (s + t + 1.5 s t) ("interaction", the odd ones). All other features are independent of the class.

    python benchmarks/list_error.py --store runs/list_error                               # resumable
    python benchmarks/list_error.py --store runs/list_error --tables 0 -o docs/results/lists   # writes error.csv

A cell of the store is one table and one method. `ipss` is run if it is installed.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control
from sklearn.feature_selection import f_classif

from weighbors import IRelief, ReliefF, ScoreWeigher, StabilitySelection
from weighbors._io.files import atomic_write

N, P, BLOCK, TARGETS = 100, 1000, 5, (0.1, 0.2)


def make_table(number):
    """Rows, classes, and which features are relevant."""
    rng = np.random.default_rng([2026, number])
    X = np.repeat(rng.normal(size=(N, P // BLOCK)), BLOCK, axis=1) + rng.normal(size=(N, P))
    X /= np.sqrt(2)
    relevant = np.zeros(P, dtype=bool)
    means = []
    for block in rng.permutation(P // BLOCK)[:2]:
        columns = slice(block * BLOCK, (block + 1) * BLOCK)
        relevant[columns] = True
        means.append(X[:, columns].mean(axis=1) / np.sqrt(0.6) * rng.choice([-1, 1]))
    s, t = means
    odds = 2 * (s + t + (1.5 * s * t if number % 2 else 0.0))
    return X, (odds + rng.logistic(size=N) > 0).astype(int), relevant


def stability(weigher, **options):
    """Lists by stability selection."""

    def run(X, y, seed):
        model = StabilitySelection(weigher, target_fp=float(P), random_state=seed, **options).fit(X, y)
        return {"permuted labels": model.q_values_}

    return run


def run_ipss(X, y, seed):
    """The package with forests and its own defaults. It draws from NumPy's global random state."""
    from ipss.main import ipss

    np.random.seed(seed)  # noqa: NPY002 - the package has no other way to set a seed
    found = ipss(X, y, selector="rf", target_fdr=0.1)["q_values"]
    return {"": np.array([found[j] for j in range(P)])}


def unequal_scales(method):
    """The same on tables whose columns are multiplied by random factors, of which the middle 80 % differ fourfold.

    The factors do not depend on which features are relevant. The F-statistic does not change, but an offset does.
    """

    def run(X, y, seed):
        factors = np.exp(0.55 * np.random.default_rng([7, seed]).normal(size=P))
        return method(X * factors, y, seed)

    return run


METHODS = {
    "t-test, Benjamini-Hochberg": lambda X, y, seed: {"": false_discovery_control(f_classif(X, y)[1])},
    "stability selection, t": stability(ScoreWeigher(f_classif)),
    "stability selection, I-RELIEF": stability(IRelief(scale="both")),
    "ipss, forests": run_ipss,
    "stability selection, ReliefF": stability(ReliefF()),
    "stability selection, offset": stability(None),
    "stability selection, offset, unequal scales": unequal_scales(stability(None)),
}


def run(store, tables, methods):
    """Run all cells that the store lacks."""
    store.mkdir(parents=True, exist_ok=True)
    for method in methods:
        for number in tables:
            X, y, relevant = make_table(number)
            path = store / f"{number:03d}--{list(METHODS).index(method)}.json"
            if path.exists() or (method.startswith("ipss") and find_spec("ipss") is None):
                continue
            began, rows = time.perf_counter(), []
            for kind, q in METHODS[method](X, y, number).items():
                for target in TARGETS:
                    chosen = q <= target
                    rows.append(
                        {
                            "table": number,
                            "effect": "interaction" if number % 2 else "linear",
                            "method": f"{method}, {kind}".removesuffix(", "),
                            "target": target,
                            "selected": int(chosen.sum()),
                            "false": int((chosen & ~relevant).sum()),
                        }
                    )
            seconds = round(time.perf_counter() - began, 2)
            with atomic_write(path) as file:
                file.write(json.dumps([{**row, "seconds": seconds} for row in rows]).encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--tables", type=int, default=200, help="how many tables")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("-o", "--output", type=Path, help="folder for error.csv")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    run(options.store, range(options.tables), options.methods)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        rows = [row for path in sorted(options.store.glob("*.json")) for row in json.loads(path.read_text())]
        frame = pd.DataFrame(rows).sort_values(["method", "target", "table"], kind="stable")
        frame.drop(columns="seconds").to_csv(options.output / "error.csv", index=False)


if __name__ == "__main__":
    main()
