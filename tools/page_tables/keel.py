"""The table of selectors in docs/migration/from_keel.md, from the csv file of benchmarks/keel_selectors.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "keel_selectors.csv"


def selectors_table() -> str:
    """Return one line per selector: runs with the same rows, summed, and means over the tables in percent."""
    cells = pd.read_csv(RESULTS)
    lines = [
        f"| {cells['table'].nunique()} tables | runs | same rows | rows in common "
        "| kept: ours | KEEL's | 1-NN: ours | KEEL's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for selector, group in cells.groupby("selector", sort=False):
        same = f"{group['same_rows'].sum()}"
        if group["same_rows_alike"].notna().all():
            same += f" ({group['same_rows_alike'].sum():.0f})"
        means = [f"{100 * group[column].mean():.1f}" for column in ("kept", "keel_kept", "accuracy", "keel_accuracy")]
        common = f"{100 * group['overlap'].mean():.1f}"
        lines.append(f"| {selector} | {group['runs'].sum()} | {same} | {common} | " + " | ".join(means) + " |")
    return "\n".join(lines)


#: The table by the name of its marks on the page.
TABLES = {"selectors": selectors_table}
