"""Fill the table of selectors in docs/migration/from_keel.md from the csv file of benchmarks/keel_selectors.py.

python tools/keel_page.py            # writes the page
python tools/keel_page.py --check    # says whether it is up to date
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "migration" / "from_keel.md"
RESULTS = ROOT / "docs" / "results" / "keel_selectors.csv"


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


def filled(text: str) -> str:
    """Return the page with the table between its marks."""
    pattern = r"(<!-- begin selectors -->\n).*?(<!-- end selectors -->)"
    text, count = re.subn(pattern, lambda m: f"{m[1]}\n{selectors_table()}\n\n{m[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"the page needs one pair of marks for 'selectors'; it has {count}")
    return text


def outdated() -> bool:
    """Return whether the page differs from the csv file."""
    text = PAGE.read_text(encoding="utf8")
    return filled(text) != text


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit("run: python tools/keel_page.py" if outdated() else 0)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf8")), encoding="utf8")
