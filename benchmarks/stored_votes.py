"""Learned votes of few stored rows: tables × ways to choose the rows × 5 folds, one line of a csv file for each cell.

    WEIGHBORS_DATA=... OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/stored_votes.py --store FILE
    python benchmarks/stored_votes.py --store FILE --print

Tables and folds are those of `learned_votes.py`. Feature weights are equal in all of them, so that only the stored rows
differ. Selectors say themselves how many rows they keep; the column ``share`` has it. The study can be stopped and
started again: cells that are in the store are skipped.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from learned_votes_methods import FOLDS, list_tables, load_table, make_folds, ours

from weighbors import DROP3, FCNN, HMNEI, ICF

SHARES = (0.2, 0.1, 0.05)
METHODS: dict[str, Callable[[str, pd.DataFrame], Any]] = {
    "all rows": ours(weigher=None),
    **{f"compressed, {share:.0%}": ours(weigher=None, n_stored=share) for share in SHARES},
    **{f"drawn, {share:.0%}": ours(weigher=None, n_stored=share, stored_by="draw") for share in SHARES},
    **{kind.__name__: ours(weigher=kind()) for kind in (FCNN, DROP3, ICF, HMNEI)},
}
COLUMNS = ("table", "fold", "method", "accuracy", "share", "fit_seconds")


def read_store(path: Path) -> pd.DataFrame:
    return pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=COLUMNS)


def run_cell(method: str, X: pd.DataFrame, y: np.ndarray, train: Any, test: Any) -> dict[str, float]:
    """Accuracy of one method on one fold, the share of the rows that it stores, and the time of its fit."""
    model = METHODS[method]("classes", X.iloc[train])
    begin = time.perf_counter()
    model.fit(X.iloc[train], y[train])
    seconds = time.perf_counter() - begin
    return {
        "accuracy": round(float(np.mean(model.predict(X.iloc[test]) == y[test])), 6),
        "share": round(np.count_nonzero(model[-1].alpha_.any(axis=1)) / len(train), 4),
        "fit_seconds": round(seconds, 4),
    }


def run_study(store: Path) -> None:
    done = set(read_store(store)[["table", "fold", "method"]].itertuples(index=False, name=None))
    for table in list_tables("classes"):
        missing = [(f, m) for m in METHODS for f in range(FOLDS) if (table, f, m) not in done]
        if not missing:
            continue
        X, y = load_table(table, "classes")
        parts = list(make_folds("classes").split(X, y))
        for fold, method in missing:
            cell = {"table": table, "fold": fold, "method": method, **run_cell(method, X, y, *parts[fold])}
            line = pd.DataFrame([cell], columns=COLUMNS).to_csv(index=False, header=False, lineterminator="\n")
            if not store.is_file():
                line = ",".join(COLUMNS) + "\n" + line
            with store.open("a", encoding="utf8") as file:  # in one write, so that the store has whole lines
                file.write(line)
        print(f"{time.strftime('%H:%M:%S')} {table} {X.shape}", flush=True)


def summarize(cells: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy, stored share and loss of each method, over the tables that all methods have finished.

    ``median_loss`` is the median over the tables of the accuracy below that of all rows, ``loss`` the mean.
    """
    means = cells.pivot_table("accuracy", "table", "method").dropna()
    shares = cells[cells["table"].isin(means.index)].pivot_table("share", "table", "method")
    order = [method for method in METHODS if method in means]
    result = pd.DataFrame({"share": shares.mean(), "accuracy": means.mean()}).loc[order]
    losses = -means.sub(means["all rows"], axis=0)
    result["loss"], result["median_loss"] = losses.mean(), losses.median()
    result.attrs["tables"] = len(means)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, default=Path("stored_votes.csv"))
    parser.add_argument("--print", action="store_true", help="print the summary of the store, run nothing")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # classes with fewer rows than folds, selectors that keep a class
    if not given.print:
        run_study(given.store)
    found = summarize(read_store(given.store))
    print(f"{found.attrs['tables']} tables")
    print(found.round(4).to_string())


if __name__ == "__main__":
    main()
