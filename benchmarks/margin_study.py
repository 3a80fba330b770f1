"""What each margin weigher ranks first, its accuracy in the doubly weighted k-NN, its stability.

madelon and the microarrays of the data directory (WEIGHBORS_DATA); features standardised inside
each of 10 stratified folds. Writes docs/results/margin_weighers.csv and prints the table of the page
docs/margin_weighers.md. Takes a few minutes.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import weighbors as wb
from weighbors.datasets import load_dataset
from weighbors.evaluation import kuncheva_index

SETS = ["madelon", "colon", "lung", "breast-vantveer", "gcm-reduced"]
WEIGHERS = {
    "no weights": None,
    "Relief": wb.Relief(10),
    "ReliefF": wb.ReliefF(10),
    "MultiSURF": wb.MultiSURF(),
    "ClassRelief": wb.ClassRelief(10),
    "IRelief": wb.IRelief(),
    "Simba": wb.Simba(random_state=0),
    "Simba, step 1/n": wb.Simba(step="1/n", random_state=0),
    "Simba, 1/n, fixed order": wb.Simba(step="1/n", order="fixed"),
    "SimbaMBIW": wb.SimbaMBIW(),
}
TOP = 20


def study(name: str) -> list[dict[str, object]]:
    data = load_dataset(name)
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
    rows = []
    for label, weigher in WEIGHERS.items():
        right, tops, seconds = [], [], 0.0
        for train, test in folds:
            scaler = make_pipeline(SimpleImputer(), StandardScaler()).fit(X[train])
            start = time.perf_counter()
            model = wb.WeightedKNeighborsClassifier(
                5, None if weigher is None else clone(weigher).set_params(n_jobs=2), n_jobs=2
            )
            model.fit(scaler.transform(X[train]), y[train])
            seconds += time.perf_counter() - start
            right.append(model.score(scaler.transform(X[test]), y[test]))
            if weigher is not None:
                tops.append(set(np.argsort(-model.weigher_.feature_weights_, kind="stable")[:TOP].tolist()))
        counts = pd.Series([j for top in tops for j in top], dtype=int).value_counts()
        first = ", ".join(str(j) for j in sorted(counts.index, key=lambda j: (-counts[j], j))[:5])
        rows.append(
            {
                "data": name,
                "weigher": label,
                "accuracy": np.mean(right),
                "kuncheva": kuncheva_index(tops, X.shape[1]) if tops else np.nan,
                "first": first,
                "seconds": seconds / len(folds),
            }
        )
        print(
            f"{name:>16} {label:<24} {np.mean(right):.3f} {rows[-1]['kuncheva']:.3f} {seconds / 10:8.3f} s",
            file=sys.stderr,
            flush=True,
        )
    return rows


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    table = pd.DataFrame([row for name in SETS for row in study(name)])
    out = Path(__file__).parents[1] / "docs" / "results"
    out.mkdir(exist_ok=True)
    table.round(4).to_csv(out / "margin_weighers.csv", index=False)
    for name, part in table.groupby("data", sort=False):
        head = ["weigher", "accuracy", f"Kuncheva index (top {TOP})", f"most often in the top {TOP}", "s per fold"]
        print(f"\n## {name}\n\n| {' | '.join(head)} |\n{'|---' * len(head)}|")
        for row in part.itertuples():
            index = "–" if np.isnan(row.kuncheva) else f"{row.kuncheva:.2f}"
            print(f"| {row.weigher} | {100 * row.accuracy:.1f} | {index} | {row.first or '–'} | {row.seconds:.2f} |")
