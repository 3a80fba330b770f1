"""What each margin weigher ranks first, its accuracy in the doubly weighted k-NN, its stability.

madelon and the microarrays, prepared as in the preset simbambiw; 10 stratified folds. Writes
docs/results/margin_weighers.csv and prints the tables of the page docs/margin_weighers.md. Takes a few
minutes; data sets can be named.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

import weighbors as wb
from weighbors.evaluation import Study, StudyResults, kuncheva_curve
from weighbors.presets.simbambiw import PROBLEMS, knn_of, load

SETS = ["madelon", "colon", "lung", "breast", "gcm"]
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


def data(name: str):
    return replace(load(name, 1), splits=StratifiedKFold(10, shuffle=True, random_state=0))


def row_of(results: StudyResults, name: str, label: str) -> dict[str, object]:
    cells = results.cells[(results.cells["dataset"] == name) & (results.cells["method"] == label)]
    row = {"data": PROBLEMS[name].file, "weigher": label, "accuracy": cells["accuracy"].mean(), "kuncheva": np.nan}
    row |= {"first": "", "seconds": cells["fit_seconds"].mean()}
    if WEIGHERS[label] is None:
        return row
    weights = results.weights(name, label).to_numpy()
    curve = kuncheva_curve(weights, [TOP], feature_names=range(weights.shape[1]))
    return {**row, "kuncheva": curve.stability[0], "first": ", ".join(curve.frequencies(TOP).index[:5])}


def print_tables(table: pd.DataFrame) -> None:
    for name, part in table.groupby("data", sort=False):
        head = ["weigher", "accuracy", f"Kuncheva index (top {TOP})", f"most often in the top {TOP}", "s per fold"]
        print(f"\n## {name}\n\n| {' | '.join(head)} |\n{'|---' * len(head)}|")
        for row in part.itertuples():
            index = "–" if np.isnan(row.kuncheva) else f"{row.kuncheva:.2f}"
            print(f"| {row.weigher} | {100 * row.accuracy:.1f} | {index} | {row.first or '–'} | {row.seconds:.2f} |")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    names = sys.argv[1:] or SETS
    with tempfile.TemporaryDirectory() as place:
        methods = lambda name: {label: knn_of(name, weigher) for label, weigher in WEIGHERS.items()}  # noqa: E731
        results = Study({name: partial(data, name) for name in names}, methods, place).run(progress=None)
        table = pd.DataFrame([row_of(results, name, label) for name in names for label in WEIGHERS])
    if names == SETS:
        table.round(4).to_csv(Path(__file__).parents[1] / "docs" / "results" / "margin_weighers.csv", index=False)
    print_tables(table)
