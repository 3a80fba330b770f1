"""Learned votes against their rivals: tables × methods × 5 folds, one line of a csv file for each cell.

    WEIGHBORS_DATA=... OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/learned_votes.py --store FILE
    python benchmarks/learned_votes.py --store FILE --print

The study can be stopped and started again: cells that are in the store are skipped. `learned_votes_methods.py` has the
tables and the methods; CatBoost and xRFM are in the dependency group ``rivals`` (``pip install --group rivals``). Times
are only comparable between cells that ran on one machine with one number of threads.
"""

from __future__ import annotations

import argparse
import csv
import io
import signal
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from learned_votes_methods import CLASSES_ONLY, FOLDS, OURS, RIVALS, VERSIONS, list_tables, load_table, make_folds

from weighbors.stats import holm, wilcoxon

METHODS = RIVALS | OURS
SCORES = {"classes": ("accuracy", "log_loss", "brier"), "numeric": ("r2", "rmse")}
HIGHER_IS_BETTER = ("accuracy", "r2")
COLUMNS = ("table", "task", "fold", "method", "accuracy", "log_loss", "brier", "r2", "rmse",
           "fit_seconds", "predict_seconds", "error")  # fmt: skip


# The store


def read_store(path: Path) -> pd.DataFrame:
    """The cells of the store. If a cell was run again, the last line is the one that counts."""
    if not path.is_file() or not path.stat().st_size:
        return pd.DataFrame(columns=COLUMNS)
    cells = pd.read_csv(path, keep_default_na=False, na_values={name: [""] for name in COLUMNS[4:-1]})
    return cells.drop_duplicates(["table", "task", "fold", "method"], keep="last")


def append_cell(path: Path, cell: dict[str, Any]) -> None:
    """Append a cell to the store in one write, so that the store has whole lines whenever the study is stopped."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    if not path.is_file() or not path.stat().st_size:
        writer.writeheader()
    writer.writerow(cell)
    with path.open("a", encoding="utf8") as store:
        store.write(text.getvalue())


# One cell


def class_scores(y: np.ndarray, labels: np.ndarray, proba: np.ndarray, known: np.ndarray, n: int) -> dict[str, float]:
    """Scores of predicted labels and probabilities.

    ``known`` are the classes of the columns of ``proba``. A class without a column has the probability 0: of ``n``
    classes, some may have no training row. Probabilities are clipped at 1e-15 for the log-loss. The Brier score is
    the sum over the classes (0 to 2).
    """
    full = np.zeros((len(y), n))
    full[:, np.asarray(known, dtype=int)] = proba
    right = full[np.arange(len(y)), y]
    return {
        "accuracy": float(np.mean(labels == y)),
        "log_loss": float(-np.log(np.clip(right, 1e-15, 1)).mean()),
        "brier": float(((full - np.eye(n)[y]) ** 2).sum(axis=1).mean()),
    }


def number_scores(y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    squares = (y - predicted) ** 2
    return {"r2": float(1 - squares.sum() / ((y - y.mean()) ** 2).sum()), "rmse": float(np.sqrt(squares.mean()))}


def run_cell(task: str, method: str, X: pd.DataFrame, y: np.ndarray, train: Any, test: Any) -> dict[str, float]:
    """Scores and times of one method on one fold. Probabilities are part of the time to predict."""
    model = METHODS[method](task, X.iloc[train])
    begin = time.perf_counter()
    model.fit(X.iloc[train], y[train])
    fitted = time.perf_counter()
    predicted = np.ravel(model.predict(X.iloc[test]))
    proba = model.predict_proba(X.iloc[test]) if task == "classes" else None
    seconds = {"fit_seconds": round(fitted - begin, 4), "predict_seconds": round(time.perf_counter() - fitted, 4)}
    if proba is None:
        scores = number_scores(y[test], predicted)
    else:
        scores = class_scores(y[test], predicted, proba, model.classes_, int(y.max()) + 1)
    if not np.isfinite(list(scores.values())).all():
        raise ValueError(f"scores that are not finite: {scores}")
    return {name: round(score, 6) for name, score in scores.items()} | seconds


def raise_timeout(*_: Any) -> None:
    raise TimeoutError("time limit of the cell")


# The study


def wanted_cells(tasks: list[str], tables: list[str] | None, methods: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield task, table and method, small tables first."""
    for task in tasks:
        for table in list_tables(task):
            for method in methods:
                if (tables is None or table in tables) and (task == "classes" or method not in CLASSES_ONLY):
                    yield task, table, method


def run_study(given: argparse.Namespace) -> None:
    """Run the cells that are not in the store, and print a line for each table and method."""
    stored = read_store(given.store)
    if given.retry:
        stored = stored[stored["error"] == ""]
    done = set(stored[["table", "task", "fold", "method"]].itertuples(index=False, name=None))
    loaded, absent = ("", ""), set()
    for task, table, method in wanted_cells(given.task, given.tables, given.methods):
        folds = [fold for fold in range(FOLDS) if (table, task, fold, method) not in done]
        if not folds or method in absent:
            continue
        if loaded != (task, table):
            X, y = load_table(table, task)
            loaded, parts = (task, table), list(make_folds(task).split(X, y))
        begin = time.perf_counter()
        for fold in folds:
            cell = {"table": table, "task": task, "fold": fold, "method": method, "error": ""}
            try:
                signal.alarm(given.time_limit_per_cell)
                cell |= run_cell(task, method, X, y, *parts[fold])
            except ImportError as error:  # not a result of the method: it can be run when the package is there
                print(f"{method} is left out: {error}", flush=True)
                absent.add(method)
                break
            except Exception as error:  # a failure of a method is a result
                cell["error"] = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
                print(f"{table}, {method}, fold {fold}: {cell['error']}", flush=True)
            finally:
                signal.alarm(0)
            append_cell(given.store, cell)
        print(f"{time.strftime('%H:%M:%S')} {table} {X.shape} {method} {time.perf_counter() - begin:.1f} s", flush=True)


# The summary


def summarize(cells: pd.DataFrame, score: str, against: str) -> pd.DataFrame:
    """Mean and mean rank of every method, and its comparison with ``against``, over the tables that all have finished.

    A win is a table where the method is better than ``against``. The p-values are Wilcoxon's over tables, two-sided,
    with Holm's correction for the number of rivals.
    """
    usable = cells[cells["error"] == ""]
    means, counts = (usable.pivot_table(score, "table", "method", aggfunc=how) for how in ("mean", "count"))
    table = means.where(counts == FOLDS).dropna()
    sign = 1 if score in HIGHER_IS_BETTER else -1
    better = (sign * table).round(10)
    result = pd.DataFrame({"mean": table.mean(), "mean rank": better.rank(axis=1, ascending=False).mean()})
    if against in table and len(table) > 1 and table.shape[1] > 1:
        rivals = [method for method in table if method != against]
        for method in rivals:
            margin = better[method] - better[against]
            result.loc[method, "win/tie/loss"] = f"{(margin > 0).sum()}/{(margin == 0).sum()}/{(margin < 0).sum()}"
            result.loc[method, "Wilcoxon p"] = wilcoxon(better[method], better[against]).p_value
        result.loc[rivals, "Holm p"] = np.asarray(holm(result.loc[rivals, "Wilcoxon p"].to_numpy()))
    result.attrs["tables"] = len(table)
    return result.sort_values("mean rank")


def print_summary(given: argparse.Namespace) -> None:
    cells = read_store(given.store)
    cells = cells[cells["method"].isin(given.methods)]
    if given.tables:
        cells = cells[cells["table"].isin(given.tables)]
    if given.distinct:
        cells = cells[~cells["table"].isin(VERSIONS)]
    for task in given.task:
        part = cells[cells["task"] == task]
        failed = part[part["error"] != ""]
        for score in SCORES[task] if len(part) else ():
            summary = summarize(part, score, given.against)
            print(f"{score}, {summary.attrs['tables']} tables that all {len(summary)} methods have finished")
            print(summary.to_string(float_format=lambda x: f"{x:.4g}", na_rep=""), "\n")
        if len(part):
            seconds = part.groupby("method")[["fit_seconds", "predict_seconds"]].mean()
            print(seconds.assign(cells=part.groupby("method").size()).round(3).to_string(), "\n")
        if len(failed):
            print(failed.groupby(["table", "method", "error"]).size().to_string(), "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, default=Path("learned_votes.csv"))
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, "rivals", "ours"], default=["rivals", "ours"])
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--task", nargs="+", choices=list(SCORES), default=list(SCORES))
    parser.add_argument("--time-limit-per-cell", type=int, default=0, metavar="SECONDS", help="0 is none")
    parser.add_argument("--retry", action="store_true", help="run cells again that failed")
    parser.add_argument("--print", action="store_true", help="print the summary of the store, run nothing")
    parser.add_argument("--against", default="learned votes", metavar="METHOD", help="compare the others with this one")
    parser.add_argument("--distinct", action="store_true", help="print: leave out second versions of a table")
    given = parser.parse_args()
    groups = {"rivals": list(RIVALS), "ours": list(OURS)}
    given.methods = [name for method in given.methods for name in groups.get(method, [method])]
    warnings.simplefilter("ignore")  # classes with fewer rows than folds, SVC(probability=True), constant columns
    signal.signal(signal.SIGALRM, raise_timeout)
    if given.print:
        print_summary(given)
    else:
        run_study(given)


if __name__ == "__main__":
    main()
