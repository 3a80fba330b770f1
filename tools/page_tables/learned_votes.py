"""The figures of the study of learned votes, from the cells committed in docs/results/learned_votes.

The statistics are those of `benchmarks/learned_votes.py`. After another run of it, ``python tools/fill_pages.py
--take STORE`` copies its store, and records with what it was made.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import learned_votes as study  # noqa: E402 - a script of benchmarks/
import learned_votes_methods as rivals  # noqa: E402

from .marks import Tables, markdown_table  # noqa: E402

RESULTS = ROOT / "docs" / "results" / "learned_votes"
PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "catboost", "xrfm", "torch")
REFERENCE = "learned votes"
TITLES = {"accuracy": "accuracy", "log_loss": "log-loss", "brier": "Brier score", "r2": "R²"}


# The cells


@cache
def read_cells() -> pd.DataFrame:
    """Return the committed cells."""
    return study.read_store(RESULTS / "cells.csv")


def read_made() -> dict[str, Any]:
    """Return the record of how the cells were made."""
    made: dict[str, Any] = json.loads((RESULTS / "made.json").read_text(encoding="utf8"))
    return made


def tables_of(task: str) -> list[str]:
    """Return the tables of a task in the order of the study, the small ones first."""
    return list(read_made()["tables"][task])


def means_of(task: str, score: str) -> pd.DataFrame:
    """Return the mean score over the folds: one row per table and one column per method. Unfinished tables are NaN."""
    cells = read_cells()
    usable = cells[(cells["task"] == task) & (cells["error"] == "")]
    means, counts = (usable.pivot_table(score, "table", "method", aggfunc=how) for how in ("mean", "count"))
    order = [method for method in [REFERENCE, *rivals.RIVALS, *rivals.OURS] if method in means]
    finished = means.where(counts == rivals.FOLDS).reindex(tables_of(task))
    return finished[list(dict.fromkeys(order))]


def compared(task: str, *, distinct: bool = False) -> tuple[list[str], list[str], list[str]]:
    """Return the tables that learned votes have finished, the rivals with all of these, and the other rivals."""
    means = means_of(task, study.SCORES[task][0])
    tables = [name for name in means.index[means[REFERENCE].notna()] if not (distinct and name in rivals.VERSIONS)]
    found = [method for method in rivals.RIVALS if method in means and means[method].notna().any()]
    complete = [method for method in found if means.loc[tables, method].notna().all()]
    return tables, complete, [method for method in found if method not in complete]


def summarize(task: str, score: str, methods: list[str], tables: list[str]) -> pd.DataFrame:
    """Return the summary of the benchmark for some methods beside learned votes, and some tables."""
    cells = read_cells()
    chosen = cells[cells["method"].isin([REFERENCE, *methods]) & cells["table"].isin(tables) & (cells["task"] == task)]
    return study.summarize(chosen, score, REFERENCE)


# How figures are printed


def p_value(p: float) -> str:
    """Return a p-value as pages print it."""
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0")


def number(value: float, digits: int = 4) -> str:
    """Return a score without the zero before the point, or a dash."""
    if pd.isna(value):
        return "–"
    text = f"{value:.{digits}f}".replace("-", "−")
    return text.replace("0.", ".", 1) if abs(value) < 1 and not text.startswith("1") else text


def bold(text: str, *, when: bool) -> str:
    """Return the text, in bold type if ``when`` is true."""
    return f"**{text}**" if when else text


def turned(counts: str) -> str:
    """Return wins, ties and losses from the side of learned votes. The summary counts from the side of the rival."""
    return " / ".join(reversed(counts.split("/")))


def rows_of(summary: pd.DataFrame) -> list[list[str]]:
    """Return mean, mean rank, counts and p-values of each method."""
    rows = []
    for method, row in summary.iterrows():
        own = method == REFERENCE
        figures = [number(row["mean"]), f"{row['mean rank']:.2f}"]
        against = ["", "", ""]
        if not own:
            against = [turned(row["win/tie/loss"]), p_value(row["Wilcoxon p"]), p_value(row["Holm p"])]
        rows.append([bold(text, when=own) for text in (str(method), *figures)] + against)
    return rows


def verdict(summary: pd.DataFrame) -> str:
    """Say against which rivals the difference is significant (5 %, Holm's correction)."""
    rivals_only = summary.drop(REFERENCE)
    counts = rivals_only["win/tie/loss"].str.split("/", expand=True).astype(int)  # from the side of the rival
    clear = rivals_only["Holm p"] < 0.05
    groups = {"better than": clear & (counts[2] > counts[0]), "worse than": clear & (counts[2] <= counts[0])}
    parts = [
        f"significantly {words} {', '.join(rivals_only.index[chosen])}"
        for words, chosen in groups.items()
        if chosen.any()
    ]
    unclear = [f"{name} (p = {p_value(p)})" for name, p in rivals_only.loc[~clear, "Holm p"].items()]
    if unclear:
        parts.append(f"not significantly different from {', '.join(unclear)}")
    return "; ".join(parts)


def summary_table(task: str, score: str, *, distinct: bool = False) -> str:
    """Return the summary of one score over the tables that learned votes have finished."""
    tables, complete, unfinished = compared(task, distinct=distinct)
    head = [
        "method",
        f"mean {TITLES[score]}",
        "mean rank",
        "learned votes better / equal / worse",
        "Wilcoxon p",
        "Holm p",
    ]
    over = f"{len(tables)} of {len(tables_of(task))} tables"
    if distinct:
        over = f"{len(tables)} tables (without second versions)"
    left = f" Not counted, because unfinished: {', '.join(unfinished)} (see below)." if unfinished else ""
    summary = summarize(task, score, complete, tables)
    begin = f"{TITLES[score].capitalize()} over {over}, {len(complete) + 1} methods.{left}"
    end = f"Learned votes at the 5 % level, after Holm's correction: {verdict(summary)}."
    return f"{begin}\n\n{markdown_table(head, rows_of(summary))}\n\n{end}"


# Blocks of the pages


def headline() -> str:
    """Return the result in three sentences."""
    tables, complete, unfinished = compared("classes")
    summary = summarize("classes", "accuracy", complete, tables)
    rivals = ", ".join(
        f"{method} {number(row['mean'], 3)}"
        for method, row in summary.drop(index=REFERENCE).sort_values("mean", ascending=False).head(3).iterrows()
    )
    losses = summarize("classes", "log_loss", complete, tables).loc["random forest", "win/tie/loss"].split("/")
    left_out = f" Not counted, because unfinished: {', '.join(unfinished)}." if unfinished else ""
    return (
        f"Learned votes with their defaults have a mean accuracy of {number(summary.loc[REFERENCE, 'mean'], 3)} on "
        f"{len(tables)} class tables of 100 to 2500 rows ({rivals}; 5-fold cross-validation, "
        f"{len(complete) + 1} methods), and a log-loss below the random forest's on {losses[2]} "
        f"of them. {significance()}{left_out}"
    )


def significance() -> str:
    """Say against which rivals the difference of the accuracies is significant, over tables that are all different."""
    tables, complete, _ = compared("classes", distinct=True)
    found = verdict(summarize("classes", "accuracy", complete, tables))
    return (
        f"Over the {len(tables)} tables that are not versions of one another, their accuracy is {found} (Wilcoxon's "
        "test with Holm's correction, 5 %)."
    )


def made() -> str:
    """Return when and with which versions the study was run."""
    facts = read_made()
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    made_by = f"{versions}; weighbors: {facts['source']}"
    return f"Cells of {facts['date']}, {facts['machine']}: {made_by}. Seed {facts['seed']}."


def accuracy() -> str:
    """Return the summary of the accuracy."""
    return summary_table("classes", "accuracy")


def distinct() -> str:
    """Return the same without tables that hold the rows of another one."""
    return summary_table("classes", "accuracy", distinct=True)


def log_loss() -> str:
    """Return the summary of the log-loss."""
    return summary_table("classes", "log_loss")


def brier() -> str:
    """Return the summary of the Brier score."""
    return summary_table("classes", "brier")


def numeric() -> str:
    """Return the summary of R² over the numeric tables."""
    return summary_table("numeric", "r2")


def pairs(task: str, score: str, methods: list[str]) -> list[list[str]]:
    """Compare each method with learned votes on the tables that both have finished."""
    means, rows = means_of(task, score), []
    for method in methods:
        both = means[means[[REFERENCE, method]].notna().all(axis=1)].index.tolist()
        if len(both) < 2:
            continue
        found = summarize(task, score, [method], both)
        rows.append([method, f"{len(both)} of {len(means)}", number(found.loc[method, "mean"]),
                     number(found.loc[REFERENCE, "mean"]), turned(found.loc[method, "win/tie/loss"]),
                     p_value(found.loc[method, "Wilcoxon p"])])  # fmt: skip
    return rows


def pairs_table(pick: Callable[[str], list[str]], otherwise: str) -> str:
    """Return a table of methods, each beside learned votes, for both tasks."""
    rows = []
    for task, score in (("classes", "accuracy"), ("numeric", "r2")):
        rows += [[TITLES[score], *row] for row in pairs(task, score, pick(task))]
    if not rows:
        return otherwise
    head = ["score", "method", "tables", "its mean", "learned votes there", "learned votes better / equal / worse"]
    return markdown_table([*head, "Wilcoxon p, not adjusted"], rows)


def unfinished() -> str:
    """Return the rivals that have not finished all tables, on those that they have."""
    return pairs_table(lambda task: compared(task)[2], "Every rival has finished all tables that learned votes have.")


def variants() -> str:
    """Return other settings of ours beside the default."""
    return pairs_table(
        lambda task: [
            name for name in rivals.OURS if name != REFERENCE and name in means_of(task, study.SCORES[task][0])
        ],
        "No cells yet.",
    )


def seconds() -> str:
    """Return mean seconds of a fit and of a prediction."""
    cells, rows = read_cells(), []
    part = cells[(cells["task"] == "classes") & (cells["error"] == "")]
    means = part.groupby("method")[["fit_seconds", "predict_seconds"]].mean().sort_values("fit_seconds")
    count = means_of("classes", "accuracy").notna().sum()
    for method, row in means.iterrows():
        rows.append([str(method), f"{row['fit_seconds']:.2f}", f"{row['predict_seconds']:.3f}", str(count[method])])
    return markdown_table(["method", "fit (s)", "predict (s)", "tables"], rows)


def failures() -> str:
    """Return the cells that failed."""
    cells = read_cells()
    failed = cells[cells["error"] != ""].groupby(["table", "method", "error"]).size()
    if not len(failed):
        return f"None of the {len(cells)} cells failed."
    rows = [[*map(str, key), str(folds)] for key, folds in failed.items()]
    return f"{int(failed.sum())} of {len(cells)} cells failed:\n\n" + markdown_table(
        ["table", "method", "error", "folds"], rows
    )


def every_table(task: str, score: str) -> str:
    """Return the mean score of every table and method. The best of a table is in bold type."""
    means, sizes = means_of(task, score), read_made()["tables"][task]
    rows = []
    for name, row in means.iterrows():
        shown = row.round(3)
        best = shown.max()
        size = f"{sizes[name]['rows']} × {sizes[name]['features']}"
        cells = [bold(number(value, 3), when=value == best) for value in shown]
        rows.append([f"{name} †" if name in rivals.VERSIONS else str(name), size, *cells])
    rows.append(["**tables finished**", "", *(str(count) for count in means.notna().sum())])
    return markdown_table(["table", "rows × features", *means.columns], rows)


def cells_of_classes() -> str:
    """Return the accuracy of every table and method."""
    return every_table("classes", "accuracy")


def cells_of_numbers() -> str:
    """Return R² of every numeric table and method."""
    return every_table("numeric", "r2")


PAGES: dict[str, Tables] = {
    "README.md": {"learned votes": headline},
    "docs/guide/learned_votes.md": {"headline": headline},
    "docs/learned_votes_study.md": {
        "headline": headline, "made": made, "accuracy": accuracy, "distinct": distinct, "log_loss": log_loss,
        "brier": brier, "numeric": numeric, "unfinished": unfinished, "variants": variants, "seconds": seconds,
        "failures": failures, "cells_of_classes": cells_of_classes, "cells_of_numbers": cells_of_numbers},
}  # fmt: skip


# The record


def take_store(store: Path, source: str) -> None:
    """Copy the store of the benchmark, and record with what it was made. The tables must be in WEIGHBORS_DATA."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(store, RESULTS / "cells.csv")
    text = (RESULTS / "cells.csv").read_text(encoding="utf8")
    (RESULTS / "cells.csv").write_text(text[: text.rindex("\n") + 1], encoding="utf8")  # a study at work adds lines
    read_cells.cache_clear()
    cells = read_cells()
    facts: dict[str, Any] = {
        "schema": 1,
        "statement": "Learned votes with their defaults against rivals: stratified 5-fold (numbers: 5-fold), shuffled "
        "with seed 0; the same folds for all methods; everything is learned from the training rows. Settings: "
        "benchmarks/learned_votes_methods.py.",
        "command": "python benchmarks/learned_votes.py --store cells.csv",
        "date": datetime.fromtimestamp(store.stat().st_mtime, UTC).date().isoformat(),
        "versions": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in PACKAGES},
        "source": source,
        "machine": platform.machine(),
        "seed": 0,
        "folds": rivals.FOLDS,
        "cells": {"done": int((cells["error"] == "").sum()), "failed": int((cells["error"] != "").sum())},
        "tables": {},
    }
    for task in study.SCORES:
        facts["tables"][task] = {}
        for name in rivals.list_tables(task):
            X, _ = rivals.load_table(name, task)
            facts["tables"][task][name] = {"rows": len(X), "features": X.shape[1]}
    (RESULTS / "made.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf8")
