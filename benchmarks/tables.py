"""Raw mixed tables: `TableClassifier` with its defaults against a scikit-learn pipeline made by hand, and latencies.

    WEIGHBORS_DATA=... OPENBLAS_NUM_THREADS=1 python benchmarks/tables.py
    OPENBLAS_NUM_THREADS=1 python benchmarks/tables.py --latency

The pipeline imputes the median and standardises numbers, gives missing categories a category of their own, encodes
categories one-hot, and tunes a k-NN (neighbours, votes, p) by 5-fold cross-validation inside the training rows. Both
get the tables as they are read, and the same folds: 5-fold cross-validation, repeated three times for up to 100 rows.
Of the two tables with more than 2000 rows, 2000 are drawn, because tuning the k-NN would take hours otherwise. One
table is given to ours as a polars frame, one with Arrow's types.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from learned_votes_methods import NEIGHBORS
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from weighbors import LearnedVotesClassifier, TableClassifier, WeightedKNeighborsClassifier
from weighbors.datasets import load_dataset

#: Name, group, and the form in which ours gets the table.
TABLES = (
    ("labor", "D_uci", "pandas"),
    ("colon", "C_microarray", "pandas"),
    ("hepatitis", "D_uci", "pandas"),
    ("autos", "D_uci", "polars"),
    ("audiology", "D_uci", "pandas"),
    ("heart-h", "D_uci", "pandas"),
    ("primary-tumor", "D_uci", "pandas"),
    ("cylinder-bands", "D_uci", "arrow"),
    ("credit-approval", "D_uci", "pandas"),
    ("anneal", "D_uci", "pandas"),
    ("sick", "D_uci", "pandas"),
    ("mushroom-8124", "D_uci", "pandas"),
)
REPEATED = 100  # rows up to which the folds are drawn three times
MOST_ROWS = 2000  # of larger tables, rows are drawn


def hand_made() -> Any:
    """What a careful user of scikit-learn would write for a mixed table."""
    numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    texts = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="(missing)"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")), (texts, make_column_selector(dtype_exclude="number"))
    )
    grid = {"n_neighbors": NEIGHBORS, "weights": ["uniform", "distance"], "p": [1, 2]}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return make_pipeline(columns, GridSearchCV(KNeighborsClassifier(), grid, cv=folds))


def read(name: str, group: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The table as it is read, with text as objects, which SimpleImputer needs."""
    data = load_dataset(name, group)
    X, y = pd.DataFrame(data.X), np.asarray(data.y)
    X.columns = [str(column) for column in X.columns]
    if len(X) > MOST_ROWS:
        drawn = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
        X, y = X.iloc[drawn].reset_index(drop=True), y[drawn]
    texts = X.select_dtypes(exclude="number").columns
    return X.astype(dict.fromkeys(texts, object)), y


def in_form(X: pd.DataFrame, form: str) -> Any:
    """The same table of polars, or with Arrow's types."""
    if form == "polars":
        import polars

        texts = X.select_dtypes(exclude="number").columns
        plain = {name: [None if pd.isna(cell) else cell for cell in X[name]] for name in texts}
        return polars.DataFrame({name: plain.get(name, X[name].to_numpy()) for name in X})
    return X.convert_dtypes(dtype_backend="pyarrow") if form == "arrow" else X


def compare_tables(names: list[str] | None) -> None:
    """Print one line per table: the accuracy of both in percent, and the difference."""
    print(f"{'table':<16} {'rows':>5} {'columns':>7} {'missing':>7} {'form':>6}  by hand   ours   gain")
    wins = tables = 0
    for name, group, form in TABLES:
        if names and name not in names:
            continue
        X, y = read(name, group)
        small = len(X) <= REPEATED
        folds: Any = StratifiedKFold(5, shuffle=True, random_state=0)
        if small:
            folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
        theirs = cross_val_score(hand_made(), X, y, cv=folds, error_score="raise").mean()
        ours = cross_val_score(TableClassifier(), in_form(X, form), y, cv=folds, error_score="raise").mean()
        tables, wins = tables + 1, wins + (ours > theirs)
        print(
            f"{name:<16} {len(X):>5} {X.shape[1]:>7} {X.isna().to_numpy().mean():>7.1%} {form:>6}  "
            f"{100 * theirs:>7.1f} {100 * ours:>6.1f}  {100 * (ours - theirs):>+5.1f}",
            flush=True,
        )
    print(f"ours is better on {wins} of {tables} tables")


def one_row_times(model: Any, rows: list[Any], repeats: int = 300) -> str:
    """Time to predict one row, in milliseconds: the median, the least, and the median of the CPU time of the thread."""
    times, busy = [], []
    for i in range(repeats + 10):
        begin, cpu = time.perf_counter(), time.thread_time()
        model.predict(rows[i % len(rows)])
        busy.append(1e3 * (time.thread_time() - cpu))
        times.append(1e3 * (time.perf_counter() - begin))
    return f"{np.median(times[10:]):8.3f} {np.min(times[10:]):8.3f} {np.median(busy[10:]):8.3f}"


def mixed_frame(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """30 numbers, 20 columns of text with 2 to 12 categories, and 5 % missing cells."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 30))
    X = pd.DataFrame(numbers, columns=[f"n{j}" for j in range(30)])
    for j in range(20):
        X[f"c{j}"] = np.array([f"v{k}" for k in range(2 + j // 2)], dtype=object)[rng.integers(0, 2 + j // 2, n)]
    y = np.where(numbers[:, 0] + numbers[:, 1] ** 2 + (X["c3"] == "v1") > 1, "yes", "no")
    return X.mask(rng.random(X.shape) < 0.05), y


def print_latencies() -> None:
    """Print the time of one row for 20 000 rows of 50 numbers, and of a mixed frame."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(20_000, 50))
    labels = np.where(numbers[:, 0] + numbers[:, 1] ** 2 + rng.normal(size=20_000) > 1, "yes", "no")
    names = [f"n{j}" for j in range(50)]
    plain, (mixed, answers) = pd.DataFrame(numbers, columns=names), mixed_frame(20_000)
    models = {"learned votes": LearnedVotesClassifier(weigher=None), "5-NN": WeightedKNeighborsClassifier(5)}
    print(f"{'one row of 20 000 x 50, ms':<40} {'median':>8} {'least':>8} {'CPU':>8}")
    for called, estimator in models.items():
        by_array = TableClassifier(estimator).fit(numbers, labels)
        print(f"{called + ', array of numbers':<40} {one_row_times(by_array, [numbers[[i]] for i in range(50)])}")
        by_frame = TableClassifier(estimator).fit(plain, labels)
        print(f"{called + ', frame of numbers':<40} {one_row_times(by_frame, [plain.iloc[[i]] for i in range(50)])}")
        by_mixed = TableClassifier(estimator).fit(mixed, answers)
        print(f"{called + ', mixed frame':<40} {one_row_times(by_mixed, [mixed.iloc[[i]] for i in range(50)])}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", action="store_true", help="times of one row instead of accuracies")
    parser.add_argument("--tables", nargs="*", help="only these tables")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", message="The least populated class")
    warnings.filterwarnings("ignore", message="Found unknown categories")
    if given.latency:
        print_latencies()
    else:
        compare_tables(given.tables)
