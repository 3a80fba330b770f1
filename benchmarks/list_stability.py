"""How stable are the lists of the best 10, 50 and 200 features, and how well do they predict?

Each weigher ranks the features in 20 random splits of a table into 80 % training and 20 % test rows. Stability is
Nogueira's measure over the 20 lists. The error is that of a 5-NN and of a linear SVM that know only the list, on the
test rows, with features standardised by the training rows. A missing value becomes the mean of the training rows.
Chance decides between features with equal scores: if the order of the columns did, a weigher that gives all features
the same score would have perfectly stable lists. The column ``tied`` says in which share of the lists chance decided.

    python benchmarks/list_stability.py --data DIR --store runs/list_stability            # resumable
    python benchmarks/list_stability.py --store runs/list_stability -o docs/results/lists # writes stability.csv

A cell of the store is one weigher, table and split. The default, the F-statistic with an offset, was chosen on other
tables (docs/guide/lists.md names them). That I-RELIEF was a candidate came from an earlier trial on three of these.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import f_classif
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from weighbors import (
    SURF,
    ClassRelief,
    GradientWeights,
    IRelief,
    MultiSURF,
    NCAWeights,
    Relief,
    ReliefF,
    ScoreWeigher,
    Simba,
    SimbaMBIW,
    TuRF,
)
from weighbors._io.files import atomic_write
from weighbors.evaluation import nogueira_stability
from weighbors.evaluation.model_features import fit_scored_model
from weighbors.evaluation.selection_runs import rank_features

SPLITS, SIZES = 20, (10, 50, 200)
TABLES = {
    "colon": "C_microarray/colon.npz",
    "lung": "C_microarray/lung.npz",
    "breast-vantveer": "C_microarray/breast-vantveer.npz",
    "gcm": "C_microarray/gcm-reduced.npz",
    "arcene": "C_nips2003/arcene.npz",
}
#: In the order in which they are run: the anchor and the default first, the slow ones last.
WEIGHERS = {
    "t- or F-statistic": lambda: ScoreWeigher(f_classif),
    "F-statistic with an offset": lambda: ScoreWeigher(offset="auto"),
    "I-RELIEF, values and ranks": lambda: IRelief(scale="both"),
    "ReliefF": lambda: ReliefF(),
    "I-RELIEF": lambda: IRelief(),
    "random forest": lambda: ScoreWeigher(RandomForestClassifier(500, random_state=0)),
    "SIMBA": lambda: Simba(random_state=0),
    "SIMBAMBIW": lambda: SimbaMBIW(random_state=0),
    "I-RELIEF, ranks": lambda: IRelief(scale="rank"),
    "RELIEF": lambda: Relief(),
    "class-dependent RELIEF": lambda: ClassRelief(),
    "SURF": lambda: SURF(),
    "MultiSURF": lambda: MultiSURF(),
    "TuRF": lambda: TuRF(),
    "gradient weights": lambda: GradientWeights(),
    "NCA weights": lambda: NCAWeights(),
}


def read_table(folder, name):
    """Rows, and classes as numbers."""
    with np.load(folder / TABLES[name], allow_pickle=True) as file:
        return np.asarray(file["X"], dtype=np.float64), np.unique(file["y"], return_inverse=True)[1]


def run_cell(X, y, train, test, weigher, seed):
    """The 200 best features of the training rows, and the errors of lists of them on the test rows."""
    # breast-vantveer has missing values. A column without any value in the training rows becomes a constant.
    X = np.where(np.isnan(X), np.nan_to_num(np.nanmean(X[train], axis=0)), X)
    began = time.perf_counter()
    model, scores = fit_scored_model(weigher, X, y, train, 0)
    seconds = time.perf_counter() - began
    # Constant features have no score with some methods; they are left out and never make a list look stable.
    order, ranked = rank_features(model, scores, np.random.default_rng([2026, seed]))
    tied = {f"tied_{size}": bool(ranked[size - 1 : size] == ranked[size : size + 1]) for size in SIZES}
    order = order[: max(SIZES)]
    scaler = StandardScaler().fit(X[train][:, order])
    A, B = (scaler.transform(X[rows][:, order]) for rows in (train, test))
    errors = {}
    for size in SIZES:
        for name, model in {"knn": KNeighborsClassifier(5), "svm": SVC(kernel="linear")}.items():
            errors[f"{name}_{size}"] = 1 - model.fit(A[:, :size], y[train]).score(B[:, :size], y[test])
    return {"best": order.tolist(), "n_features": X.shape[1], "seconds": round(seconds, 3), **tied, **errors}


def run(folder, store, tables, weighers):
    """Run all cells that the store lacks."""
    store.mkdir(parents=True, exist_ok=True)
    for weigher in weighers:
        for table in tables:
            X, y = read_table(folder, table)
            splits = StratifiedShuffleSplit(SPLITS, test_size=0.2, random_state=0).split(X, y)
            for number, (train, test) in enumerate(splits):
                path = store / f"{table}--{list(WEIGHERS).index(weigher):02d}--{number:02d}.json"
                if path.exists():
                    continue
                cell = run_cell(X, y, train, test, WEIGHERS[weigher](), number)
                with atomic_write(path) as file:
                    file.write(json.dumps({"table": table, "weigher": weigher, "split": number, **cell}).encode())
            print(f"{weigher}, {table}: done", flush=True)


def summarize(store):
    """One row per weigher, table and size, for those of which all splits are done."""
    cells = [json.loads(path.read_text()) for path in sorted(store.glob("*.json"))]
    rows = []
    for (table, weigher), group in pd.DataFrame(cells).groupby(["table", "weigher"], sort=False):
        if len(group) < SPLITS:
            continue
        for size in SIZES:
            found = nogueira_stability([best[:size] for best in group["best"]], int(group["n_features"].iloc[0]))
            rows.append(
                {
                    "table": table,
                    "weigher": weigher,
                    "size": size,
                    "stability": round(found.stability, 4),
                    "standard_error": round(found.standard_error, 4),
                    "knn_error": round(group[f"knn_{size}"].mean(), 4),
                    "svm_error": round(group[f"svm_{size}"].mean(), 4),
                    "tied": round(group[f"tied_{size}"].mean(), 2),
                    "seconds": round(group["seconds"].median(), 2),
                }
            )
    return pd.DataFrame(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data sets; without it nothing is run")
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--weighers", nargs="+", choices=list(WEIGHERS), default=list(WEIGHERS))
    parser.add_argument("-o", "--output", type=Path, help="folder for stability.csv")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.data is not None:
        run(options.data, options.store, options.tables, options.weighers)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        summarize(options.store).to_csv(options.output / "stability.csv", index=False)


if __name__ == "__main__":
    main()
