"""Tables of docs/papers/wibk.md."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from weighbors.presets.wibk import to_the_digit

from .marks import format_p, markdown_table
from .results import read_result

SHORT = {
    "balance-scale": "BS",
    "breast-cancer-wisconsin": "BC",
    "cmc": "CMC",
    "dermatology-358": "D",
    "haberman": "H",
    "hayes-roth-132": "HR",
    "lung-cancer": "LC",
    "tae": "TAE",
}


def _beside_paper(table: str, digits: int, cell: Callable[[pd.Series], str]) -> str:
    """Return the paper's row of each column, then ours, one cell per data set."""
    found, rows = read_result("wibk", table), []
    for column, part in found.groupby("column", sort=False):
        name = str(column).replace("*", "\\*")
        printed = part.drop_duplicates("dataset")["paper"]
        rows.append([f"*{name}, paper*", *(f"{value:.{digits}f}" for value in printed)])
        for method, ours in part.groupby("method", sort=False):
            rows.append([str(method), *(cell(row) for _, row in ours.iterrows())])
    return markdown_table(["", *(SHORT[name] for name in found["dataset"].unique())], rows)


def _over_repeats(row: pd.Series) -> str:
    """Return the mean ± deviation of the repeats."""
    return f"{row['accuracy']:.1f} ± {row['std']:.1f}"


def _on_paper_folds(row: pd.Series) -> str:
    """Return the figure on the paper's folds, in bold if it is the paper's to the digit."""
    text = f"{row['paper_folds']:.3f}"
    return f"**{text}**" if to_the_digit(row["paper_folds"], row["paper"]) else text


def paper_folds() -> str:
    """Return table 4 on the paper's own folds."""
    return _beside_paper("table4", 3, _on_paper_folds)


def table4() -> str:
    """Return table 4."""
    return _beside_paper("table4", 1, _over_repeats)


def table5() -> str:
    """Return table 5."""
    return _beside_paper("table5", 1, _over_repeats)


def best() -> str:
    """Return on how many data sets each reading is best."""
    found = read_result("wibk", "best")
    counted = [name for name in found.columns if name not in ("table", "data_sets")]
    rows = [[name if name != "paper" else "*paper*", *(str(count) for count in found[name])] for name in counted]
    return markdown_table(["best of the table on", *(f"table {row.table}" for row in found.itertuples())], rows)


def gains() -> str:
    """Return the comparison of WIB-K with IB-K, and where the difference comes from."""
    rows = [
        [
            SHORT[row.dataset],
            *(f"{points:+.1f}" for points in (row.paper_gain, row.gain)),
            format_p(row.p_gain),
            *(f"{points:+.1f}" for points in (row.of_raw_values, row.of_weights)),
            format_p(row.p_weights),
        ]
        for row in read_result("wibk", "gains").itertuples()
    ]
    return markdown_table(["", "*paper*", "ours", "p", "of raw values", "of weights", "p"], rows)


#: The tables by the names of their marks on the page.
TABLES = {
    "paper_folds": paper_folds,
    "table4": table4,
    "table5": table5,
    "best": best,
    "gains": gains,
}
