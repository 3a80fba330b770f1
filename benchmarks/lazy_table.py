"""Tables 4 and 5 of paper 002 without WIB-K: the lazy learners, and the nearest relatives of the others.

Stratified 10-fold, 10 repeats, complete rows only, K as in the paper, data from the directory named
by WEIGHBORS_DATA. Writes docs/results/lazy_table.csv and prints the tables of the page
docs/lazy_learners.md. Takes about ten minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import verdict
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import weighbors as wb
from weighbors.datasets import load_dataset

#: the paper's name, ours, K
SETS = {
    "BS": ("balance-scale", 24),
    "BC": ("breast-cancer-wisconsin", 5),
    "CMC": ("cmc", 16),
    "D": ("dermatology-358", 1),
    "H": ("haberman", 27),
    "HR": ("hayes-roth-132", 2),
    "LC": ("lung-cancer", 1),
    "TAE": ("tae", 1),
}
#: paper 002, tables 4 and 5: accuracy (%), 10-fold
PAPER = {
    "IB1": (79.027, 96.04, 43.312, 95.269, 65.709, 76.538, 48.333, 63.583),
    "IB-K": (89.436, 97.079, 48.404, 95.269, 74.494, 62.087, 48.333, 62.291),
    "dwIB-K (1/d)": (89.436, 97.216, 48.264, 95.269, 73.537, 67.417, 48.333, 62.291),
    "dwIB-K (1-d)": (89.436, 97.216, 48.4, 95.269, 74.494, 67.417, 48.333, 62.291),
    "LWL": (53.932, 92.09, 48.47, 82.642, 72.505, 79.395, 56.666, 52.916),
    "K*": (88.474, 95.458, 49.553, 94.126, 71.204, 61.263, 56.666, 64.291),
    "NB": (90.04, 96.33, 49.28, 97.48, 74.83, 74.24, 70.37, 52.98),
    "SMO": (87.68, 97.07, 50.98, 97.76, 73.52, 53.78, 48.14, 54.30),
    "MP": (90.72, 96.04, 54.51, 97.48, 72.87, 74.24, 51.85, 54.30),
    "J48": (76.64, 96.04, 53.22, 95.25, 71.89, 80.30, 48.14, 59.60),
    "PART": (83.52, 95.46, 50.10, 93.29, 72.54, 75.75, 48.14, 58.27),
}


def models(k: int) -> dict[str, tuple[str, Any]]:
    """Our model by its name, with the column of the paper it stands beside."""
    perceptron = MLPClassifier((20,), solver="sgd", learning_rate_init=0.3, momentum=0.2, max_iter=500, random_state=0)
    return {
        "IB1": ("IB1", wb.IB1()),
        "IBk, ties by index": ("IB-K", wb.IBk(k, ties="index")),
        "IBk, all ties (Weka's rule)": ("IB-K", wb.IBk(k)),
        "IBk, 1/d": ("dwIB-K (1/d)", wb.IBk(k, weights="inverse")),
        "IBk, 1-d": ("dwIB-K (1-d)", wb.IBk(k, weights="similarity")),
        "LWL": ("LWL", wb.LWL()),
        "KStar": ("K*", wb.KStar()),
        "GaussianNB": ("NB", GaussianNB()),
        "LWL, naive Bayes, constant kernel": ("NB", wb.LWL("naive_bayes", kernel="constant")),
        "SVC, linear, C = 1, min-max": ("SMO", make_pipeline(MinMaxScaler(), SVC(kernel="linear"))),
        "MLPClassifier, 20 units, min-max": ("MP", make_pipeline(MinMaxScaler((-1, 1)), perceptron)),
        "DecisionTreeClassifier, entropy, pruned": (
            "J48",
            DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, ccp_alpha=0.01, random_state=0),
        ),
        # there is no rule learner in scikit-learn: PART's rules come from partial trees
        "DecisionTreeClassifier, not pruned": ("PART", DecisionTreeClassifier(min_samples_leaf=2, random_state=0)),
    }


def complete_rows(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    data = load_dataset(name, "B_wibk")
    complete = data.X.notna().all(axis=1).to_numpy()
    return data.X[complete].reset_index(drop=True).astype(float), np.asarray(data.y)[complete].astype(str)


def study(short: str, repeats: int, only: list[str] | None) -> list[dict[str, object]]:
    """Mean accuracy over all instances, per repeat, of every model on one data set."""
    name, k = SETS[short]
    X, y = complete_rows(name)
    rows = []
    for label, (column, model) in models(k).items():
        if only and label not in only:
            continue
        start, right = time.perf_counter(), []
        for seed in range(repeats):
            hits = 0
            for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
                hits += (clone(model).fit(X.iloc[train], y[train]).predict(X.iloc[test]) == y[test]).sum()
            right.append(100 * hits / len(y))
        printed = PAPER[column][list(SETS).index(short)]
        rows.append(
            {
                "data": short,
                "rows": len(y),
                "k": k,
                "model": label,
                "column": column,
                "paper": printed,
                "ours": np.mean(right),
                "std": np.std(right, ddof=1) if repeats > 1 else np.nan,
                "seconds": (time.perf_counter() - start) / (10 * repeats),
            }
        )
        print(f"{short:>4} {label:<40} {np.mean(right):6.2f} ({printed:.2f})", file=sys.stderr, flush=True)
    return rows


def tell(table: pd.DataFrame) -> None:
    """The tables of the page, and whether the figures are as near as asked for."""
    for tables, columns in (("Table 4", list(PAPER)[:6]), ("Table 5", list(PAPER)[6:])):
        part = table[table["column"].isin(columns)]
        print(f"\n## {tables}\n\n| | {' | '.join(SETS)} |\n{'|---' * (len(SETS) + 1)}|")
        for column in columns:
            print(f"| *{column}, paper* | " + " | ".join(f"{value:.1f}" for value in PAPER[column]) + " |")
            for label, rows in part[part["column"] == column].groupby("model", sort=False):
                cells = [f"{row.ours:.1f} ± {row.std:.1f}" for row in rows.itertuples()]
                print(f"| {label} | {' | '.join(cells)} |")
    print()
    gap = table.assign(gap=(table["ours"] - table["paper"]).abs()).set_index(["model", "data"])["gap"]
    for label, wanted in (("IBk, ties by index", 6), ("IBk, all ties (Weka's rule)", 5)):
        if label in gap:
            verdict(f"{label}: sets within 1.5 points of the paper", float((gap[label] <= 1.5).sum()), wanted)
    for short in ("BS", "H", "TAE"):
        if ("LWL", short) in gap:
            verdict(f"LWL on {short}: points from the paper", float(gap["LWL", short]), 1.0, at_most=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=list(models(1)))
    parser.add_argument("-o", "--out", type=Path, help="csv; by default only a full run writes docs/results")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    table = pd.DataFrame([row for short in given.sets for row in study(short, given.repeats, given.models)])
    full = given.repeats == 10 and given.sets == list(SETS) and not given.models
    out = given.out or (Path(__file__).parents[1] / "docs" / "results" / "lazy_table.csv" if full else None)
    if out:
        table.drop(columns="seconds").round(3).to_csv(out, index=False)
    tell(table)
