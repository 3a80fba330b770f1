"""RELIEF with numeric targets beside scikit-rebate and Orange: rankings of real tables, and features found again.

Every method runs where it is installed, on the same data, and adds its rows to csv files:

    python benchmarks/relief_numeric.py ours rebate -o docs/results/relief_numeric      # here
    python benchmarks/relief_numeric.py orange -o docs/results/relief_numeric           # with orange3, elsewhere
    python benchmarks/relief_numeric.py imitation --draws 0 0 -o docs/results/relief_numeric

``found.csv`` has, for each draw of two problems, the share of the relevant features among the best ones;
``scores.csv`` has the score of every feature of the regression tables in ``--data``.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1

DRAWS = 100
TABLES = (
    "autompg",
    "autoprice",
    "bodyfat",
    "housing",
    "machine-cpu",
    "pwlinear",
    "servo",
    "stock",
    "triazines",
    "wisconsin",
)
FEW = 10  # scikit-rebate takes columns of at most so many values for categories


def friedman(draw):
    """Friedman's first function: 5 relevant features of 50, 500 rows."""
    X, y = make_friedman1(500, 50, noise=1.0, random_state=draw)
    return X, y, 5


def interaction(draw):
    """A pure interaction, y = x1 x2 + noise, among 100 features, 500 rows."""
    rng = np.random.default_rng(draw)
    X = rng.normal(size=(500, 100))
    return X, X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=500), 2


PROBLEMS = {"Friedman 1": friedman, "interaction": interaction}


def table(path):
    """Rows without missing values as numbers, which columns hold text, and the target."""
    frame = pd.read_csv(path).dropna()
    y = frame.pop("target").to_numpy(dtype=float)
    text = np.array([frame[name].dtype == object or frame[name].dtype == "str" for name in frame])
    for name in frame.columns[text]:
        frame[name] = pd.factorize(frame[name])[0]
    return frame.to_numpy(dtype=float), y, text, list(frame.columns)


def ours():
    from weighbors import SURF, MultiSURF, RReliefF

    def run(weigher):
        return lambda X, y, nominal: weigher.set_params(categorical_features=nominal).fit(X, y).feature_weights_

    return {
        "RReliefF": run(RReliefF(10)),
        "RReliefF, sigma=20": run(RReliefF(50, sigma=20)),
        "SURF": run(SURF(target_type="numeric")),
        "MultiSURF": run(MultiSURF(target_type="numeric")),
    }


def rebate():
    import skrebate

    def run(make):
        return lambda X, y, nominal: make().fit(X, y).feature_importances_

    return {
        "scikit-rebate ReliefF": run(lambda: skrebate.ReliefF(n_neighbors=10)),
        "scikit-rebate MultiSURF": run(lambda: skrebate.MultiSURF()),
    }


def orange():
    from Orange.data import ContinuousVariable, DiscreteVariable, Domain, Table
    from Orange.preprocess.score import RReliefF

    def data(X, y, nominal):
        names = [f"x{j}" for j in range(X.shape[1])]
        columns = [
            DiscreteVariable(name, [str(v) for v in range(int(X[:, j].max()) + 1)])
            if nominal[j]
            else ContinuousVariable(name)
            for j, name in enumerate(names)
        ]
        return Table.from_numpy(Domain(columns, ContinuousVariable("y")), X, y)

    # As many rows are drawn as there are; by default it draws 50.
    return {
        "Orange RReliefF": lambda X, y, nominal: RReliefF(n_iterations=len(y), k_nearest=10, random_state=0)(
            data(X, y, nominal)
        )
    }


def imitation():
    """RReliefF by loops, with 5 m in the place of m: what Orange's scores were found to be."""

    def score(X, y, nominal, k=10):
        n = len(y)
        extent = np.where(nominal, 1.0, np.ptp(X, axis=0))
        changed, by_feature, both = 0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1])
        for i in range(n):
            apart = np.abs(X - X[i]) / np.where(extent > 0, extent, 1.0)
            apart[:, nominal] = apart[:, nominal] > 0
            order = np.argsort(apart.sum(axis=1), kind="stable")
            near = order[order != i][:k]
            dy = np.abs(y[near] - y[i]) / np.ptp(y)
            changed += dy.mean()
            by_feature += apart[near].mean(axis=0)
            both += (dy[:, None] * apart[near]).mean(axis=0)
        return both / changed - (by_feature - both) / (5 * n - changed)

    return {"RReliefF with 5 m": score}


def found_rows(methods, draws):
    """The share of the relevant features among the best ones, for each draw, problem and method."""
    for draw in draws:
        for problem, make in PROBLEMS.items():
            X, y, relevant = make(draw)
            for name, score in methods.items():
                scores = np.asarray(score(X, y, np.zeros(X.shape[1], dtype=bool)))
                best = np.argsort(-scores, kind="stable")[:relevant]
                yield {"problem": problem, "draw": draw, "method": name, "found": float((best < relevant).mean())}


def score_rows(methods, folder):
    """The scores of the features of each table. Those with "few" take columns of few values for categories."""
    for name in TABLES:
        X, y, text, columns = table(folder / f"r-{name}.csv")
        few = np.array([len(np.unique(X[:, j])) <= FEW for j in range(X.shape[1])])
        for method, score in methods.items():
            kinds = {"": text, " (few)": few} if not method.startswith("scikit") else {"": text}
            for suffix, nominal in kinds.items():
                for column, value in zip(columns, score(X, y, nominal), strict=True):
                    yield {"table": name, "method": method + suffix, "feature": column, "score": round(float(value), 6)}


def add(path, rows, key):
    """Write rows to a csv file; rows of the same key that are there already are replaced."""
    new = pd.DataFrame(rows)
    if path.exists():
        new = pd.concat([pd.read_csv(path), new]).drop_duplicates(key, keep="last")
    new.sort_values(key, kind="stable").to_csv(path, index=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="+", choices=["ours", "rebate", "orange", "imitation"])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/R_regression"))
    parser.add_argument(
        "--draws", type=int, nargs=2, default=(0, DRAWS), help="the first one, and the one after the last"
    )
    parser.add_argument("--no-tables", action="store_true", help="leave the regression tables out")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for group in options.methods:
        methods = {"ours": ours, "rebate": rebate, "orange": orange, "imitation": imitation}[group]()
        if not options.no_tables:
            add(options.output / "scores.csv", list(score_rows(methods, options.data)), ["table", "method", "feature"])
        for first in range(*options.draws, 5):  # What is done is kept, if the run is stopped.
            some = range(first, min(first + 5, options.draws[1]))
            add(options.output / "found.csv", list(found_rows(methods, some)), ["problem", "method", "draw"])


if __name__ == "__main__":
    main()
