"""WIB-K on tables that are not integers: bins, weights and what each of them does.

Five neighbours, stratified 10-fold, 3 repeats, on real-valued and mixed tables of the data directory
(WEIGHBORS_DATA), categories and missing cells included. Writes docs/results/wibk_other_tables.csv and
prints the tables of the page docs/wibk.md. Paper 002's own tables are the preset ``wibk``.
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

REAL = ["iris", "wine", "glass", "sonar", "ionosphere", "wdbc", "pima", "vehicle"]
MIXED = ["saheart", "heart-c", "credit-approval", "hepatitis", "australian", "german"]


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


class BinsAlone(wb.WIBK):
    """WIBK with its integers and without its weights, to see the effect of the bins alone."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        integers = self._table(self._coder.integers(self._training.X))
        self.knn_ = clone(self.knn_).set_params(weigher=None).fit(integers, y)
        return self


def models(k: int, numeric: list[str]) -> dict[str, object]:
    """The models that are compared; ``numeric`` columns are scaled for those that need it."""
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    table = other_tables(parser.parse_args().repeats)
    out = Path(__file__).parents[1] / "docs" / "results"
    table.round(3).to_csv(out / "wibk_other_tables.csv", index=False)
    wide = table.pivot_table(index="model", columns="data", values="accuracy").loc[table["model"].unique()]
    for names in (REAL, MIXED):
        part = wide[names].assign(mean=wide[names].mean(axis=1))
        print("\n" + markdown(part.map("{:.1f}".format)), flush=True)
