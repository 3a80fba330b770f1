"""WIB-K's columns of paper 002's table 4 on its eight data sets, and what bins do for real-valued ones.

Stratified 10-fold, 10 repeats, complete rows only, K as in the paper, on the data directory
(WEIGHBORS_DATA). Writes docs/results/wibk_table.csv and docs/results/wibk_discretized.csv and prints
the tables of the page docs/wibk.md. Takes some minutes; ``--repeats`` shortens it.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import weighbors as wb
from weighbors.datasets import load_dataset

#: short name: data set, K (paper 002, table 4), paper's WIB-K, and methods.md's three readings
SETS = {
    "BS": ("balance-scale", 24, 90.396, (89.8, 90.0, 89.8)),
    "BC": ("breast-cancer-wisconsin", 5, 97.216, (97.6, 97.1, 97.5)),
    "CMC": ("cmc", 16, 55.126, (54.5, 54.7, 54.1)),
    "D": ("dermatology-358", 1, 90.238, (90.1, 89.5, 91.2)),
    "H": ("haberman", 27, 75.483, (75.7, 74.4, 76.2)),
    "HR": ("hayes-roth-132", 2, 75.604, (74.6, 74.5, 76.9)),
    "LC": ("lung-cancer", 1, 70.0, (57.8, 19.6, 60.7)),
    "TAE": ("tae", 1, 72.958, (60.7, 64.4, 64.8)),
}
READINGS = {
    "no weights, ties to the nearest": lambda k: wb.WeightedKNeighborsClassifier(k, vote_ties="nearest"),
    "default, ties to the first class": lambda k: wb.WIBK(k),
    "complement, ties to the nearest": lambda k: wb.WIBK(k, weight="overlap", vote_ties="nearest"),
}
REAL = [("iris", "C_uci"), ("wine", "C_uci"), ("glass", None), ("sonar", None), ("ionosphere", None), ("wdbc", None),
        ("pima", None), ("bupa", None), ("heart", None), ("vehicle", None)]  # fmt: skip


def complete_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of the rows without missing cells."""
    data = load_dataset(name, "B_wibk")
    X = np.asarray(data.X, dtype=np.float64)
    whole = ~np.isnan(X).any(axis=1)
    return X[whole], np.asarray(data.y)[whole]


def accuracies(model, X, y, repeats: int, n_splits: int = 10) -> list[float]:
    """Share of right labels of each repeat, over all its folds together."""
    found = []
    for seed in range(repeats):
        right = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class smaller than the number of folds
            folds = list(StratifiedKFold(n_splits, shuffle=True, random_state=seed).split(X, y))
            for train, test in folds:
                fitted = clone(model).fit(X[train], y[train])
                right += int((fitted.predict(X[test]) == y[test]).sum())
        found.append(100 * right / len(y))
    return found


def table_4(repeats: int) -> pd.DataFrame:
    rows = []
    for short, (name, k, paper, expected) in SETS.items():
        X, y = complete_rows(name)
        for (reading, make), before in zip(READINGS.items(), expected, strict=True):
            found = accuracies(make(k), X, y, repeats)
            rows.append(
                {
                    "data": short,
                    "rows": len(y),
                    "k": k,
                    "reading": reading,
                    "accuracy": np.mean(found),
                    "std": np.std(found, ddof=1) if repeats > 1 else np.nan,
                    "paper": paper,
                    "methods": before,
                    "repeats": repeats,
                }
            )
            print(f"{short:>4} {reading:<34} {np.mean(found):6.2f} ({before})", file=sys.stderr, flush=True)
    return pd.DataFrame(rows)


def real_models(k: int) -> dict[str, object]:
    knn = wb.WeightedKNeighborsClassifier
    bins = wb.RepresentativeIntervals
    return {
        "no weights, unscaled": knn(k),
        "no weights, standardised": make_pipeline(StandardScaler(), knn(k)),
        "WIBK, MDLP": wb.WIBK(k, discretize="mdlp"),
        "WIBK, equal frequency": wb.WIBK(k, discretize="frequency"),
        "WIBK, complement, MDLP": wb.WIBK(k, weight="overlap", discretize="mdlp"),
        "WIBK, complement, equal frequency": wb.WIBK(k, weight="overlap", discretize="frequency"),
        "bins without weights, MDLP": "mdlp",
        "bins without weights, equal frequency": "frequency",
        "intervals on min-max values, MDLP": make_pipeline(MinMaxScaler(), knn(k, bins(discretize="mdlp"))),
    }


class BinnedKNN(wb.WIBK):
    """WIBK with all its weights equal: what the bins do alone."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        table = np.asarray(self._coder.transform(self, X))
        self.knn_ = wb.WeightedKNeighborsClassifier(self.n_neighbors, vote_ties=self.vote_ties).fit(table, y)
        return self


def real_valued(repeats: int, k: int = 5) -> pd.DataFrame:
    rows = []
    for name, group in REAL:
        data = load_dataset(name, group)
        X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
        for label, model in real_models(k).items():
            model = BinnedKNN(k, discretize=model) if isinstance(model, str) else model
            found = accuracies(model, X, y, repeats)
            rows.append({"data": name, "model": label, "accuracy": np.mean(found), "repeats": repeats})
            print(f"{name:>12} {label:<38} {np.mean(found):6.2f}", file=sys.stderr, flush=True)
    return pd.DataFrame(rows)


def markdown(frame: pd.DataFrame) -> str:
    head = "| | " + " | ".join(frame.columns) + " |\n" + "|---" * (len(frame.columns) + 1) + "|"
    return "\n".join([head, *(f"| {name} | " + " | ".join(row) + " |" for name, row in zip(frame.index, frame.values))])


def show_table_4(table: pd.DataFrame) -> None:
    shown = {}
    first = table[table["reading"] == next(iter(READINGS))].set_index("data")
    shown["paper"] = {data: f"{value:.1f}" for data, value in first["paper"].items()}
    for reading, part in table.groupby("reading", sort=False):
        part = part.set_index("data")
        shown[reading] = {d: f"{r.accuracy:.1f} ± {r['std']:.1f}" for d, r in part.iterrows()}
        shown[f"– in a prototype (methods)"] = {d: f"{r.methods:.1f}" for d, r in part.iterrows()}
        print(markdown(pd.DataFrame({reading: shown[reading], "prototype": shown.pop("– in a prototype (methods)")}).T))
    print(markdown(pd.DataFrame(shown).T))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--only", choices=["table", "real"])
    options = parser.parse_args()
    out = Path(__file__).parents[1] / "docs" / "results"
    if options.only != "real":
        table = table_4(options.repeats)
        table.round(3).to_csv(out / "wibk_table.csv", index=False)
        show_table_4(table)
    if options.only != "table":
        table = real_valued(options.repeats)
        table.round(3).to_csv(out / "wibk_discretized.csv", index=False)
        wide = table.pivot(index="model", columns="data", values="accuracy")
        wide = wide.loc[list(real_models(5)), [name for name, _ in REAL]]
        wide["mean"] = wide.mean(axis=1)
        print(markdown(wide.map("{:.1f}".format)))
