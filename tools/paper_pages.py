"""Fill the tables of docs/papers from the results committed in docs/results.

What stands in a page between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` is what the function
of that name makes of the csv files. Without arguments the pages are written; with ``--check`` pages
that are not up to date are named.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd

DOCS = Path(__file__).parents[1] / "docs"
Blocks = dict[str, Callable[[], str]]


def read(preset: str, table: str) -> pd.DataFrame:
    """A committed table."""
    return pd.read_csv(DOCS / "results" / preset / f"{table}.csv", keep_default_na=False, na_values=[""])


def lines_of(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def _brackets(mean: float, std: float) -> str:
    return f"{mean:.2f} ({std:.2f})"


# class-relief ------------------------------------------------------------------------------------


def table2() -> str:
    """Table 2: the paper, the reading that reproduces it, the printed formula."""
    head = ["data set", "quantity", "paper", "credit to the neighbour", "credit to the instance (as printed)"]
    table = read("class-relief", "table2")
    rows = []
    for row in table.itertuples():
        same = row.quantity == "accuracy"
        rows.append([row.dataset, row.quantity.replace("_", " "), _brackets(row.paper, row.paper_std),
                     _brackets(row.neighbor, row.neighbor_std),
                     "the same" if same else _brackets(row.instance, row.instance_std)])  # fmt: skip
    return lines_of(head, rows)


def agreement() -> str:
    """How many figures of table 2 agree."""
    table = read("class-relief", "table2")
    given = table["dataset"].isin(["breast-cancer", "heart"])
    exact = table[given]
    close = int(((exact["neighbor"] - exact["paper"]).abs() < 0.02).sum())
    spread = int(((exact["neighbor_std"] - exact["paper_std"]).abs() < 0.02).sum())
    others = table[~given & (table["quantity"] != "accuracy")]
    near = {
        credit: int(((others[credit] - others["paper"]).abs() <= others["paper_std"]).sum())
        for credit in ("neighbor", "instance")
    }
    accuracy = table[~given & (table["quantity"] == "accuracy")]
    met = int(((accuracy["neighbor"] - accuracy["paper"]).abs() <= accuracy["paper_std"]).sum())
    return (
        f"- With the original partitions (breast-cancer, heart) {close} of {len(exact)} means and {spread} of "
        f"{len(exact)} standard deviations agree within 0.02, accuracies included (the paper cuts digits off).\n"
        f"- On the six sets with drawn partitions {near['neighbor']} of {len(others)} correlations lie within one "
        "standard deviation of the paper's where terms are credited to the neighbour, and "
        f"{near['instance']} with the printed formula; of the accuracies {met} of {len(accuracy)} do."
    )


def spearman() -> str:
    """Hardness and diversity."""
    head = [
        "accuracy with",
        "over",
        "paper: rho (p)",
        "neighbour: rho",
        "right-tailed p",
        "instance: rho",
        "right-tailed p ",
    ]
    table = read("class-relief", "spearman")
    rows = []
    for (hardness, over), part in table.groupby(["hardness", "over"], sort=False):
        one, two = (part[part["credit"] == credit].iloc[0] for credit in ("neighbor", "instance"))
        row = [hardness, f"{one['n']} {over}", f"{one['paper_rho']:.4f} ({one['paper_p']:g})"]
        rows.append(row + [text for part in (one, two) for text in (f"{part['rho']:.4f}", f"{part['p_right']:.2g}")])
    return lines_of(head, rows)


def features() -> str:
    """Accuracy against the number of features on the two sets of figures 2 and 3."""
    table = read("class-relief", "accuracy_by_features")
    table = table[table["dataset"].isin(["breast-cancer", "breast-w"])]
    wide = table.pivot_table("accuracy", ["dataset", "ranking"], "n_features_used", sort=False)
    rows = [
        [*key, *(f"{100 * value:.1f}" for value in row)] for key, row in zip(wide.index, wide.to_numpy(), strict=True)
    ]
    return lines_of(["data set", "ranking", *(f"{k}" for k in wide.columns)], rows)


def figure2() -> str:
    """Weights of the first run on breast-cancer."""
    table = read("class-relief", "weights").query("dataset == 'breast-cancer'")
    kinds = ["RELIEF", "class 1, neighbor", "class 2, neighbor", "class 1, instance", "class 2, instance"]
    names = ["age", "menopause", "tumor-size", "inv-nodes", "node-caps", "deg-malig", "breast", "breast-quad",
             "irradiat"]  # fmt: skip
    rows = [
        [f"{row['number']} {name}", *(f"{row[kind]:.1f}" for kind in kinds)]
        for name, (_, row) in zip(names, table.iterrows(), strict=True)
    ]
    return lines_of(["feature", *kinds], rows)


PAGES: dict[str, Blocks] = {
    "class_relief.md": {
        "agreement": agreement, "table2": table2, "spearman": spearman, "features": features, "figure2": figure2},
}  # fmt: skip


def filled(page: str, blocks: Blocks) -> str:
    """The page with every block made anew."""
    for name, make in blocks.items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if len(pattern.findall(page)) != 1:
            raise ValueError(f"the page needs one pair of marks for {name!r}")
        text = make()
        page = pattern.sub(lambda found, text=text: f"{found[1]}\n{text}\n\n{found[2]}", page)
    return page


def outdated() -> list[str]:
    """Pages that differ from what the results say."""
    texts = {name: (DOCS / "papers" / name).read_text(encoding="utf8") for name in PAGES}
    return [name for name, text in texts.items() if filled(text, PAGES[name]) != text]


def main() -> int:
    """Write the pages, or check them."""
    late = outdated()
    if "--check" in sys.argv[1:]:
        print("\n".join(f"docs/papers/{name} is not what docs/results says" for name in late) or "up to date")
        return bool(late)
    for name in late:
        path = DOCS / "papers" / name
        path.write_text(filled(path.read_text(encoding="utf8"), PAGES[name]), encoding="utf8")
        print(f"wrote docs/papers/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
