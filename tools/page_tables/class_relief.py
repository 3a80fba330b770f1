"""Tables of docs/papers/class_relief.md."""

from __future__ import annotations

from .marks import markdown_table
from .results import read_result


def _with_deviation(mean: float, std: float) -> str:
    """Return a mean with its standard deviation in brackets."""
    return f"{mean:.2f} ({std:.2f})"


def table2() -> str:
    """Return table 2 of the paper beside the reading that reproduces it and the printed formula."""
    head = ["data set", "quantity", "paper", "credit to the neighbour", "credit to the instance (as printed)"]
    table = read_result("class-relief", "table2")
    rows = []
    for row in table.itertuples():
        same = row.quantity == "accuracy"
        rows.append([row.dataset, row.quantity.replace("_", " "), _with_deviation(row.paper, row.paper_std),
                     _with_deviation(row.neighbor, row.neighbor_std),
                     "the same" if same else _with_deviation(row.instance, row.instance_std)])  # fmt: skip
    return markdown_table(head, rows)


def agreement() -> str:
    """Return how many figures of table 2 agree."""
    table = read_result("class-relief", "table2")
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
    """Return how accuracy and the correlation of class weights go together over data sets and runs."""
    head = [
        "accuracy with",
        "over",
        "paper: rho (p)",
        "neighbour: rho",
        "right-tailed p",
        "instance: rho",
        "right-tailed p ",
    ]
    table = read_result("class-relief", "spearman")
    rows = []
    for (hardness, over), part in table.groupby(["hardness", "over"], sort=False):
        one, two = (part[part["credit"] == credit].iloc[0] for credit in ("neighbor", "instance"))
        row = [hardness, f"{one['n']} {over}", f"{one['paper_rho']:.4f} ({one['paper_p']:g})"]
        rows.append(row + [text for part in (one, two) for text in (f"{part['rho']:.4f}", f"{part['p_right']:.2g}")])
    return markdown_table(head, rows)


def features() -> str:
    """Return the accuracy against the number of features on the two sets of figures 2 and 3."""
    table = read_result("class-relief", "accuracy_by_features")
    table = table[table["dataset"].isin(["breast-cancer", "breast-w"])]
    wide = table.pivot_table("accuracy", ["dataset", "ranking"], "n_features_used", sort=False)
    rows = [
        [*key, *(f"{100 * value:.1f}" for value in row)] for key, row in zip(wide.index, wide.to_numpy(), strict=True)
    ]
    return markdown_table(["data set", "ranking", *(f"{k}" for k in wide.columns)], rows)


def figure2() -> str:
    """Return the weights of the first run on breast-cancer (figure 2)."""
    table = read_result("class-relief", "weights").query("dataset == 'breast-cancer'")
    kinds = ["RELIEF", "class 1, neighbor", "class 2, neighbor", "class 1, instance", "class 2, instance"]
    names = ["age", "menopause", "tumor-size", "inv-nodes", "node-caps", "deg-malig", "breast", "breast-quad",
             "irradiat"]  # fmt: skip
    rows = [
        [f"{row['number']} {name}", *(f"{row[kind]:.1f}" for kind in kinds)]
        for name, (_, row) in zip(names, table.iterrows(), strict=True)
    ]
    return markdown_table(["feature", *kinds], rows)


#: The tables by the names of their marks on the page.
TABLES = {
    "agreement": agreement,
    "table2": table2,
    "spearman": spearman,
    "features": features,
    "figure2": figure2,
}
