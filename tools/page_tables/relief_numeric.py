"""The tables of docs/guide/relief.md, from the csv files of benchmarks/relief_numeric.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from scipy.stats import spearmanr

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "relief_numeric"
#: Pairs of our method and a peer's whose scores are compared on the tables.
PAIRS = {
    "`MultiSURF`, scikit-rebate's": ("MultiSURF (few)", "scikit-rebate MultiSURF"),
    "`RReliefF`, scikit-rebate's ReliefF": ("RReliefF (few)", "scikit-rebate ReliefF"),
    "`RReliefF`, Orange's": ("RReliefF", "Orange RReliefF"),
    "the same with 5 m, Orange's": ("RReliefF with 5 m", "Orange RReliefF"),
}


def found_table() -> str:
    """Return the mean share of relevant features that each method puts on top, over the draws that all methods have."""
    found = pd.read_csv(RESULTS / "found.csv")
    methods = found["method"].nunique()
    complete = found.groupby(["problem", "draw"])["method"].transform("nunique") == methods
    wide = found[complete].pivot_table(
        index="method", columns="problem", values="found", aggfunc=["mean", "sem", "size"]
    )
    problems = list(wide["mean"].columns)
    draws = ", ".join(f"{problem} ({wide['size'][problem].min()} draws)" for problem in problems)
    lines = ["| method | " + draws.replace(", ", " | ") + " |", "|---|" + "---|" * len(problems)]
    for method in wide.index:
        cells = [f"{wide['mean'][p][method]:.3f} ± {wide['sem'][p][method]:.3f}" for p in problems]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def ranking_table() -> str:
    """Return Spearman's correlation of scores on each table, and in brackets their largest difference."""
    scores = pd.read_csv(RESULTS / "scores.csv")
    wide = scores.pivot_table(index=["table", "feature"], columns="method", values="score")
    lines = ["| table | features | " + " | ".join(PAIRS) + " |", "|---|---|" + "---|" * len(PAIRS)]
    for table, part in wide.groupby("table"):
        cells = []
        for ours, theirs in PAIRS.values():
            apart = (part[ours] - part[theirs]).abs().max()
            cells.append(f"{spearmanr(part[ours], part[theirs]).statistic:.2f} ({apart:.3f})")
        lines.append(f"| {table} | {len(part)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


#: The tables by the names of their marks on the page.
TABLES = {"found": found_table, "rankings": ranking_table}
