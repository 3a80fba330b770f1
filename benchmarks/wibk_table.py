"""WIB-K's column of paper 002's table 4 on its eight data sets, and WIB-K on tables that are not integers.

Stratified 10-fold, 10 repeats, complete rows only, K as in the paper, on the data directory
(WEIGHBORS_DATA). Writes docs/results/wibk_table.csv and docs/results/wibk_other_tables.csv and prints
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
from sklearn.compose import make_column_transformer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

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
#: methods.md took the complement with a smoothing so small that it only serves all-zero instances
READINGS = {
    "no weights, ties to the nearest": lambda k: wb.WeightedKNeighborsClassifier(k, vote_ties="nearest"),
    "default, ties to the first class": lambda k: wb.WIBK(k),
    "complement, ties to the nearest": lambda k: wb.WIBK(k, weight="overlap", smoothing=1e-6, vote_ties="nearest"),
    "complement, smoothing 0.02": lambda k: wb.WIBK(k, weight="overlap", vote_ties="nearest"),
}
REAL = ["iris", "wine", "glass", "sonar", "ionosphere", "wdbc", "pima", "vehicle"]
MIXED = ["saheart", "heart-c", "credit-approval", "hepatitis", "australian", "german"]


def complete_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of the rows without missing cells."""
    data = load_dataset(name, "B_wibk")
    X = np.asarray(data.X, dtype=np.float64)
    whole = ~np.isnan(X).any(axis=1)
    return X[whole], np.asarray(data.y)[whole]


def accuracies(model, X, y, repeats: int) -> list[float]:
    """Share of right labels of each repeat, over all its folds together."""
    found = []
    for seed in range(repeats):
        right = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class smaller than the number of folds
            for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
                fitted = clone(model).fit(_safe_indexing(X, train), y[train])
                right += int((fitted.predict(_safe_indexing(X, test)) == y[test]).sum())
        found.append(100 * right / len(y))
    return found


def table_4(repeats: int) -> pd.DataFrame:
    rows = []
    for short, (name, k, paper, expected) in SETS.items():
        X, y = complete_rows(name)
        for (reading, make), before in zip(READINGS.items(), (*expected, np.nan), strict=True):
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


class BinsAlone(wb.WIBK):
    """WIBK's integers without its weights: what the bins do."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        integers = self._table(self._coder.integers(self._training.X))
        self.knn_ = clone(self.knn_).set_params(weigher=None).fit(integers, y)
        return self


def models(k: int, numeric: list[str]) -> dict[str, object]:
    """What is compared; ``numeric`` columns are scaled where it says so."""
    knn = wb.WeightedKNeighborsClassifier

    def scaled(model):
        scaler = make_column_transformer((StandardScaler(), numeric), remainder="passthrough")
        return make_pipeline(scaler.set_output(transform="pandas"), model)

    return {
        "no weights": knn(k),
        "no weights, standardised": scaled(knn(k)),
        "bins alone, MDLP": BinsAlone(k, discretize="mdlp"),
        "bins alone, equal frequency": BinsAlone(k, discretize="frequency"),
        "WIBK, MDLP": wb.WIBK(k, discretize="mdlp"),
        "WIBK, equal frequency": wb.WIBK(k, discretize="frequency"),
        "WIBK, complement, MDLP": wb.WIBK(k, weight="overlap", discretize="mdlp"),
        "WIBK, complement, equal frequency": wb.WIBK(k, weight="overlap", discretize="frequency"),
        "intervals by MDLP on standardised values": scaled(knn(k, wb.RepresentativeIntervals(discretize="mdlp"))),
    }


def other_tables(repeats: int, k: int = 5) -> pd.DataFrame:
    """Real-valued and mixed tables as they are, categories and missing cells included."""
    rows = []
    for name in [*REAL, *MIXED]:
        data = load_dataset(name, "D_uci")
        X, y = data.X.reset_index(drop=True), np.asarray(data.y)
        numeric = X.select_dtypes("number").columns.tolist()
        for label, model in models(k, numeric).items():
            found = accuracies(model, X, y, repeats)
            rows.append({"data": name, "model": label, "accuracy": np.mean(found), "repeats": repeats})
            print(f"{name:>15} {label:<42} {np.mean(found):6.2f}", file=sys.stderr, flush=True)
    return pd.DataFrame(rows)


def markdown(frame: pd.DataFrame) -> str:
    head = "| | " + " | ".join(frame.columns) + " |\n" + "|---" * (len(frame.columns) + 1) + "|"
    return "\n".join(
        [
            head,
            *(f"| {name} | " + " | ".join(row) + " |" for name, row in zip(frame.index, frame.to_numpy(), strict=True)),
        ]
    )


def show_table_4(table: pd.DataFrame) -> None:
    first = table.drop_duplicates("data").set_index("data")
    shown = {"paper": first["paper"].map("{:.1f}".format)}
    for reading, part in table.groupby("reading", sort=False):
        part = part.set_index("data")
        shown[reading] = part.apply(lambda row: f"{row['accuracy']:.1f} ± {row['std']:.1f}", axis=1)
        if part["methods"].notna().all():
            shown[f"{reading}: an earlier prototype"] = part["methods"].map("{:.1f}".format)
    print(markdown(pd.DataFrame(shown).T[list(SETS)]), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--only", choices=["paper", "other"])
    options = parser.parse_args()
    out = Path(__file__).parents[1] / "docs" / "results"
    if options.only != "other":
        table = table_4(options.repeats)
        table.round(3).to_csv(out / "wibk_table.csv", index=False)
        show_table_4(table)
    if options.only != "paper":
        table = other_tables(options.repeats)
        table.round(3).to_csv(out / "wibk_other_tables.csv", index=False)
        wide = table.pivot_table(index="model", columns="data", values="accuracy").loc[table["model"].unique()]
        for names in (REAL, MIXED):
            part = wide[names].assign(mean=wide[names].mean(axis=1))
            print("\n" + markdown(part.map("{:.1f}".format)), flush=True)
