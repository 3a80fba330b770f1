"""The tables of docs/guide/lists.md, from the csv files of earlier runs of benchmarks/list_error.py and others."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "lists"
RELEVANT = 10  # features of the generated tables
MANY_TIES = 0.1  # share of the lists in which chance decided between equal scores
FEWEST = 10  # methods that were run on fewer generated tables are not shown, since their means say nothing


def error_table() -> str:
    """Return the mean false discovery proportion and power of each method, with the number of tables it was run on."""
    cells = pd.read_csv(RESULTS / "error.csv")
    cells["proportion"] = cells["false"] / cells["selected"].clip(lower=1)
    cells["power"] = (cells["selected"] - cells["false"]) / RELEVANT
    lines = [
        "| method | tables | false, target .1 | power | false, target .2 | power |",
        "|---|---|---|---|---|---|",
    ]
    for method, group in cells.groupby("method"):
        if group["table"].nunique() < FEWEST:
            continue
        parts = []
        for _, one in group.groupby("target"):
            margin = 1.96 * one["proportion"].sem()
            parts.append(f"{one['proportion'].mean():.3f} ± {margin:.3f} | {one['power'].mean():.2f}")
        lines.append(f"| {method} | {group['table'].nunique()} | {' | '.join(parts)} |")
    return "\n".join(lines)


def _cells() -> pd.DataFrame:
    """Return the stability cells of the weighers that were run on all tables."""
    cells = pd.read_csv(RESULTS / "stability.csv")
    run = cells.groupby("weigher")["table"].transform("nunique")
    return cells[run == cells["table"].nunique()]


def stability_table() -> str:
    """Return stability and errors of each weigher, as means over the tables."""
    cells = _cells()
    columns = ["stability", "knn_error", "svm_error", "tied"]
    wide = cells.pivot_table(index="weigher", columns="size", values=columns, sort=False)
    wide = wide.loc[wide["stability"].mean(axis=1).sort_values(ascending=False, kind="stable").index]
    sizes = sorted(cells["size"].unique())
    lines = [
        f"| weigher ({cells['table'].nunique()} tables) | "
        + " | ".join([f"Φ, best {size}" for size in sizes])
        + " | "
        + " | ".join([f"5-NN, {size}" for size in sizes] + [f"SVM, {size}" for size in sizes])
        + " |",
        "|---|" + "---|" * 9,
    ]
    for weigher, row in wide.iterrows():
        # A star marks lists that chance completes, since features have equal scores.
        marks = ["*" if row[("tied", size)] > MANY_TIES else "" for size in sizes]
        values = [f"{row[('stability', size)]:.3f}{mark}" for size, mark in zip(sizes, marks, strict=True)]
        values += [f"{row[(kind, size)]:.3f}" for kind in ("knn_error", "svm_error") for size in sizes]
        lines.append(f"| {weigher} | " + " | ".join(values) + " |")
    return "\n".join(lines)


def tables_table() -> str:
    """Return the mean stability over the list lengths, by weigher and table, for all that was run."""
    cells = pd.read_csv(RESULTS / "stability.csv")
    wide = cells.pivot_table(index="weigher", columns="table", values="stability", sort=False)
    lines = ["| weigher | " + " | ".join(wide.columns) + " |", "|---|" + "---|" * len(wide.columns)]
    for weigher, row in wide.iterrows():
        shown = ["not run" if pd.isna(value) else f"{value:.3f}" for value in row]
        lines.append(f"| {weigher} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


#: The tables by the names of their marks on the page.
TABLES = {"error": error_table, "stability": stability_table, "tables": tables_table}
