"""Tables of docs/papers/simbambiw.md."""

from __future__ import annotations

import pandas as pd

from .marks import markdown_table
from .results import read_result

BASELINES = ["SIMBA", "SIMBA, step 1/N", "SIMBA, fixed order"]
VARIANTS = ["SIMBAMBIW, order", "SIMBAMBIW, sample", "SIMBAMBIW, synergetic"]


def _three(row: pd.Series) -> str:
    """Return the counts better / equal / worse, and how many were not tested."""
    rest = f" ({row['untested']} untested)" if row["untested"] else ""
    return f"{row['better']} / {row['equal']} / {row['worse']}{rest}"


def _figure1() -> pd.DataFrame:
    return read_result("simbambiw", "figure1").set_index(["measure", "method", "against"])


def answers() -> str:
    """Return the answers to the questions on paper 000: how often, at which sizes, at what cost."""
    counts, sizes = _figure1(), read_result("simbambiw", "figure1_by_size")
    lines = []
    for against in BASELINES[:2]:
        stable, error = (counts.loc[(measure, VARIANTS[0], against)] for measure in ("stability", "error"))
        by_size = sizes[(sizes["method"] == VARIANTS[0]) & (sizes["against"] == against)]
        shares = ", ".join(f"{row.mean_gain:+.2f} at {row.share:.0%}" for row in by_size.itertuples())
        untested = f", untested on {stable['untested']}" if stable["untested"] else ""
        lines.append(
            f"- **Against {against}**, SIMBAMBIW (order) has the higher mean index on {stable['higher']} of "
            f"{stable['n']} data sets; by the paired tests it is better on {stable['better']}, equal on "
            f"{stable['equal']}, worse on {stable['worse']}{untested}. Mean gain {stable['mean_gain']:+.3f}; by share "
            f"of the features kept: {shares}. Its error changes by {-100 * error['mean_gain']:+.1f} points on average "
            f"(better on {error['better']}, equal on {error['equal']}, worse on {error['worse']})."
        )
    return "\n".join(lines)


def counts() -> str:
    """Return the counts of figure 1."""
    table = _figure1()
    head = ["method", "against", "stability", "smaller half of the sizes", "mean gain", "error", "mean gain (points)",
            "inner error"]  # fmt: skip
    rows = []
    for method, against in table.loc["stability"].index:
        stable, half, error, inner = (
            table.loc[(measure, method, against)]
            for measure in ("stability", "stability, smaller half", "error", "inner error")
        )
        rows.append([method, against, _three(stable), _three(half), f"{stable['mean_gain']:+.3f}", _three(error),
                     f"{100 * error['mean_gain']:+.1f}", _three(inner)])  # fmt: skip
    return markdown_table(head, rows)


def worse() -> str:
    """Return where a variant is worse than SIMBA, by name."""
    table, lines = _figure1(), []
    for method in VARIANTS:
        for measure in ("stability", "error"):
            row = table.loc[(measure, method, "SIMBA")]
            lines.append(f"- {method}, {measure}: {row['worse_on'] if isinstance(row['worse_on'], str) else 'none'}")
    return "\n".join(lines)


def sizes() -> str:
    """Return the counts better / equal / worse at some shares of the features."""
    table = read_result("simbambiw", "figure1_by_size").set_index(["method", "against", "share"])
    shares = table.index.get_level_values("share").unique()
    pairs = [(method, against) for method in VARIANTS[:2] for against in BASELINES[:2]]
    rows = [
        [f"{method} against {against}", *(_three(table.loc[(method, against, share)]) for share in shares)]
        for method, against in pairs
    ]
    lost = [(share, table.loc[(VARIANTS[0], "SIMBA", share)]["worse_on"]) for share in shares]
    told = "; ".join(f"{names} at {share:.0%}" for share, names in lost if isinstance(names, str))
    head = ["features kept", *(f"{share:.0%}" for share in shares)]
    return f"{markdown_table(head, rows)}\n\n*Order* is worse than SIMBA on: {told or 'no data set'}."


def madelon() -> str:
    """Return the curves of madelon, at some sizes."""
    table = read_result("simbambiw", "curves").query("dataset == 'madelon'")
    chosen = table[table["size"].isin([1, 5, 10, 20, 35, 50, 101, 245, 418])]
    shown = ["SIMBA", "SIMBA, step 1/N", *VARIANTS[:2]]
    rows = [[method, *(f"{value:.2f}" for value in chosen[method])] for method in shown]
    return markdown_table(["features kept", *(str(size) for size in chosen["size"])], rows)


def _wide(column: str) -> pd.DataFrame:
    table = read_result("simbambiw", "by_data_set")
    return table.pivot_table(column, "dataset", "method", sort=False)


def stability() -> str:
    """Return the mean index per data set."""
    wide = _wide("ki")[BASELINES + VARIANTS]
    facts = read_result("simbambiw", "by_data_set").drop_duplicates("dataset").set_index("dataset")
    rows = []
    for name, row in wide.iterrows():
        fact = facts.loc[name]
        place = [str(name), f"{fact['rows']} × {fact['features']}", str(fact["repeats"])]
        rows.append([*place, *(f"{value:.2f}" for value in row)])
    return markdown_table(["data set", "size", "repeats", *wide.columns], rows)


def errors() -> str:
    """Return the error on the rows left out, per data set."""
    wide = _wide("error")[["no weights", *BASELINES, *VARIANTS]]
    rows = [[str(name), *(f"{100 * value:.1f}" for value in row)] for name, row in wide.iterrows()]
    rows.append(["**mean**", *(f"{100 * value:.1f}" for value in wide.mean())])
    return markdown_table(["data set", *wide.columns], rows)


def means() -> str:
    """Return the effects of the weights, as means over the data sets."""
    table = read_result("simbambiw", "by_data_set").groupby("method", sort=False).mean(numeric_only=True)
    columns = {"ki": "mean index", "error": "error %", "inner_error": "inner error %",
               "prediction_agreement": "prediction agreement", "prediction_kappa": "Fleiss' κ",
               "same_as_plain": "labels as without weights", "median_weight": "median weight",
               "lowest_weight": "lowest weight"}  # fmt: skip
    rows = []
    for method, row in table[list(columns)].iterrows():
        shown = [f"{100 * v:.1f}" if "error" in c else f"{v:.3f}" for c, v in row.items()]
        rows.append([str(method), *("–" if text == "nan" else text for text in shown)])
    return markdown_table(["method", *columns.values()], rows)


#: The tables by the names of their marks on the page.
TABLES = {
    "answers": answers,
    "counts": counts,
    "worse": worse,
    "sizes": sizes,
    "madelon": madelon,
    "means": means,
    "stability": stability,
    "errors": errors,
}
