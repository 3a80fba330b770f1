"""Fill the tables of docs/papers from the results committed in docs/results.

What stands in a page between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` is what the function
of that name makes of the csv files. Without arguments the pages are written; with ``--check`` pages
that are not up to date are named.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from weighbors.presets.wibk import to_the_digit
from weighbors.stats import wilcoxon

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


# simbambiw ---------------------------------------------------------------------------------------

BASELINES = ["SIMBA", "SIMBA, step 1/N", "SIMBA, fixed order"]
VARIANTS = ["SIMBAMBIW, order", "SIMBAMBIW, sample", "SIMBAMBIW, synergetic"]


def _three(row: pd.Series) -> str:
    """Better / equal / worse, and how many were not tested."""
    rest = f" ({row['untested']} untested)" if row["untested"] else ""
    return f"{row['better']} / {row['equal']} / {row['worse']}{rest}"


def _figure1() -> pd.DataFrame:
    return read("simbambiw", "figure1").set_index(["measure", "method", "against"])


def answers() -> str:
    """The questions on paper 000: how often, at which sizes, at what cost."""
    counts, sizes = _figure1(), read("simbambiw", "figure1_by_size")
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
    """Figure 1."""
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
    return lines_of(head, rows)


def worse() -> str:
    """Where a variant is worse than SIMBA, by name."""
    table, lines = _figure1(), []
    for method in VARIANTS:
        for measure in ("stability", "error"):
            row = table.loc[(measure, method, "SIMBA")]
            lines.append(f"- {method}, {measure}: {row['worse_on'] if isinstance(row['worse_on'], str) else 'none'}")
    return "\n".join(lines)


def sizes() -> str:
    """Better / equal / worse at some shares of the features."""
    table = read("simbambiw", "figure1_by_size").set_index(["method", "against", "share"])
    shares = table.index.get_level_values("share").unique()
    pairs = [(method, against) for method in VARIANTS[:2] for against in BASELINES[:2]]
    rows = [
        [f"{method} against {against}", *(_three(table.loc[(method, against, share)]) for share in shares)]
        for method, against in pairs
    ]
    lost = [(share, table.loc[(VARIANTS[0], "SIMBA", share)]["worse_on"]) for share in shares]
    told = "; ".join(f"{names} at {share:.0%}" for share, names in lost if isinstance(names, str))
    head = ["features kept", *(f"{share:.0%}" for share in shares)]
    return f"{lines_of(head, rows)}\n\n*Order* is worse than SIMBA on: {told or 'no data set'}."


def madelon() -> str:
    """Curves of madelon, at some sizes."""
    table = read("simbambiw", "curves").query("dataset == 'madelon'")
    chosen = table[table["size"].isin([1, 5, 10, 20, 35, 50, 101, 245, 418])]
    shown = ["SIMBA", "SIMBA, step 1/N", *VARIANTS[:2]]
    rows = [[method, *(f"{value:.2f}" for value in chosen[method])] for method in shown]
    return lines_of(["features kept", *(str(size) for size in chosen["size"])], rows)


def _wide(column: str) -> pd.DataFrame:
    table = read("simbambiw", "by_data_set")
    return table.pivot_table(column, "dataset", "method", sort=False)


def stability() -> str:
    """Mean index per data set."""
    wide = _wide("ki")[BASELINES + VARIANTS]
    facts = read("simbambiw", "by_data_set").drop_duplicates("dataset").set_index("dataset")
    rows = []
    for name, row in wide.iterrows():
        fact = facts.loc[name]
        place = [str(name), f"{fact['rows']} × {fact['features']}", str(fact["repeats"])]
        rows.append([*place, *(f"{value:.2f}" for value in row)])
    return lines_of(["data set", "size", "repeats", *wide.columns], rows)


def errors() -> str:
    """Error on the rows left out, per data set."""
    wide = _wide("error")[["no weights", *BASELINES, *VARIANTS]]
    rows = [[str(name), *(f"{100 * value:.1f}" for value in row)] for name, row in wide.iterrows()]
    rows.append(["**mean**", *(f"{100 * value:.1f}" for value in wide.mean())])
    return lines_of(["data set", *wide.columns], rows)


def means() -> str:
    """What the weights do, mean over the data sets."""
    table = read("simbambiw", "by_data_set").groupby("method", sort=False).mean(numeric_only=True)
    columns = {"ki": "mean index", "error": "error %", "inner_error": "inner error %",
               "prediction_agreement": "prediction agreement", "prediction_kappa": "Fleiss' κ",
               "same_as_plain": "labels as without weights", "median_weight": "median weight",
               "lowest_weight": "lowest weight"}  # fmt: skip
    rows = []
    for method, row in table[list(columns)].iterrows():
        shown = [f"{100 * v:.1f}" if "error" in c else f"{v:.3f}" for c, v in row.items()]
        rows.append([str(method), *("–" if text == "nan" else text for text in shown)])
    return lines_of(["method", *columns.values()], rows)


# wibk --------------------------------------------------------------------------------------------

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


def _p(value: float) -> str:
    """A p-value as pages print it."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _beside_paper(table: str, digits: int, cell: Callable[[pd.Series], str]) -> str:
    """The paper's row of each column, then ours, one cell per data set."""
    found, rows = read("wibk", table), []
    for column, part in found.groupby("column", sort=False):
        name = str(column).replace("*", "\\*")
        printed = part.drop_duplicates("dataset")["paper"]
        rows.append([f"*{name}, paper*", *(f"{value:.{digits}f}" for value in printed)])
        for method, ours in part.groupby("method", sort=False):
            rows.append([str(method), *(cell(row) for _, row in ours.iterrows())])
    return lines_of(["", *(SHORT[name] for name in found["dataset"].unique())], rows)


def _over_repeats(row: pd.Series) -> str:
    """Mean ± deviation of the repeats."""
    return f"{row['accuracy']:.1f} ± {row['std']:.1f}"


def _on_paper_folds(row: pd.Series) -> str:
    """Bold where ours is the paper's figure to the digit."""
    text = f"{row['paper_folds']:.3f}"
    return f"**{text}**" if to_the_digit(row["paper_folds"], row["paper"]) else text


def wibk_paper_folds() -> str:
    """Table 4 on the paper's own folds."""
    return _beside_paper("table4", 3, _on_paper_folds)


def wibk_table4() -> str:
    """Table 4."""
    return _beside_paper("table4", 1, _over_repeats)


def wibk_table5() -> str:
    """Table 5."""
    return _beside_paper("table5", 1, _over_repeats)


def wibk_best() -> str:
    """On how many data sets each reading is best."""
    found = read("wibk", "best")
    counted = [name for name in found.columns if name not in ("table", "data_sets")]
    rows = [[name if name != "paper" else "*paper*", *(str(count) for count in found[name])] for name in counted]
    return lines_of(["best of the table on", *(f"table {row.table}" for row in found.itertuples())], rows)


def wibk_gains() -> str:
    """WIB-K against IB-K, and where the difference comes from."""
    rows = [
        [
            SHORT[row.dataset],
            *(f"{points:+.1f}" for points in (row.paper_gain, row.gain)),
            _p(row.p_gain),
            *(f"{points:+.1f}" for points in (row.of_raw_values, row.of_weights)),
            _p(row.p_weights),
        ]
        for row in read("wibk", "gains").itertuples()
    ]
    return lines_of(["", "*paper*", "ours", "p", "of raw values", "of weights", "p"], rows)


# ifsw --------------------------------------------------------------------------------------------

BLOCKS = {"standard": "accuracy", "imbalanced": "G-mean", "undersampled": "G-mean, undersampled"}


def ifsw_combinations() -> str:
    """Score, mean rank, reduction and time by combination: a table for standard problems, one for imbalanced ones."""
    found = read("ifsw", "combinations")
    return "\n\n".join(_combined(found, blocks) for blocks in (["standard"], ["imbalanced", "undersampled"]))


def _combined(found: pd.DataFrame, blocks: list[str]) -> str:
    head = [column for block in blocks for column in (BLOCKS[block], "rank", "reduction", "s")]
    rows = []
    for tasks in found["tasks"].unique():
        cells = [tasks]
        for block in blocks:
            row = found[(found["block"] == block) & (found["tasks"] == tasks)].iloc[0]
            cells += [f"{100 * row['score']:.1f}", f"{row['rank']:.1f}", f"{100 * row['reduction']:.1f}"]
            cells.append(f"{row['seconds']:.1f}")
        rows.append(cells)
    return lines_of(["tasks", *head], rows)


def ifsw_tests() -> str:
    """Friedman's and Iman and Davenport's tests."""
    rows = [
        [row.block, row.test, f"{row.statistic:.2f}", str(row.df), _p(row.p_value), str(row.n_datasets)]
        for row in read("ifsw", "omnibus").itertuples()
    ]
    return lines_of(["", "test", "statistic", "df", "p", "data sets"], rows)


def ifsw_holm() -> str:
    """Adjusted p of every combination against the best ranked one of its block."""
    found = read("ifsw", "holm")
    blocks = {block: part.set_index("tasks") for block, part in found.groupby("block", sort=False)}
    best = {block: part["best"].iloc[0] for block, part in blocks.items()}
    order = read("ifsw", "combinations")["tasks"].unique()
    rows = [
        [tasks, *("best" if tasks == best[block] else _p(part.loc[tasks, "holm"]) for block, part in blocks.items())]
        for tasks in order
    ]
    return lines_of(["against the best", *blocks], rows)


def ifsw_claims() -> str:
    """The paper's conclusions beside what was found."""
    rows = [
        [row.block, row.claim, row.found, "yes" if row.holds else "no"] for row in read("ifsw", "claims").itertuples()
    ]
    return lines_of(["", "the paper concludes", "found", "holds here"], rows)


def ifsw_undersampling() -> str:
    """G-mean without and with undersampling."""
    rows = [
        [
            row.tasks,
            *(f"{100 * score:.1f}" for score in (row.g_mean, row.g_mean_undersampled)),
            f"{row.wins} / {row.ties} / {row.losses}",
            _p(row.p_value),
            _p(row.holm),
        ]
        for row in read("ifsw", "undersampling").itertuples()
    ]
    return lines_of(["tasks", "G-mean", "undersampled", "better / equal / worse", "Wilcoxon's p", "Holm"], rows)


def ifsw_data() -> str:
    """The data sets and their sizes."""
    found = read("ifsw", "data_sets")
    facts = json.loads((DOCS / "results" / "ifsw" / "made.json").read_text(encoding="utf8"))
    sizes, rows = facts["settings"]["data_sets"], []
    for block in ("standard", "imbalanced"):
        names = found[found["block"] == block]["dataset"].unique()
        rows.append([block, str(len(names)), ", ".join(f"{name} ({sizes[name]['rows']})" for name in names)])
    return lines_of(["", "number", "data sets (rows)"], rows)


def ifsw_selectors() -> str:
    """The classical selectors beside 1-NN and the search for instances."""
    tables = []
    for block, part in read("ifsw", "selectors").groupby("block", sort=False):
        rows = []
        for row in part.sort_values("score", ascending=False).itertuples():
            name = {"none": "all rows (1-NN)", "IS": "**search for instances (IS)**"}.get(row.selector, row.selector)
            counts = (
                ["", ""] if pd.isna(row.wins) else [f"{row.wins:.0f} / {row.ties:.0f} / {row.losses:.0f}", _p(row.holm)]
            )
            rows.append([name, f"{100 * row.score:.1f}", f"{100 * row.reduction:.1f}", f"{row.seconds:.3f}", *counts])
        tables.append(
            lines_of(
                [f"{block} problems", BLOCKS[block], "reduction", "s", "better / equal / worse than IS", "Holm"], rows
            )
        )
    return "\n\n".join(tables)


def _question(name: str) -> pd.DataFrame:
    """The cells of a question, without problems of which cells are missing."""
    cells = read("ifsw_questions", name)
    counts = cells.groupby("dataset").size()
    return cells[cells["dataset"].isin(counts[counts == counts.max()].index)]


def _against(cells: pd.DataFrame, first: str, second: str, column: str = "score") -> list[str]:
    """On how many problems the first method is better, equal and worse than the second, and Wilcoxon's p."""
    means = cells.pivot_table(column, "dataset", "method").round(6)
    gain = (means[first] - means[second]).round(6)
    counts = " / ".join(str(int(count)) for count in ((gain > 0).sum(), (gain == 0).sum(), (gain < 0).sum()))
    return [counts, _p(wilcoxon(means[first], means[second]).p_value)]


def _question_rows(name: str, columns: list[str], control: str) -> list[list[str]]:
    """One row per method: means in per cent, and the comparison of its score with that of ``control``."""
    cells = _question(name)
    rows = []
    for method, means in cells.groupby("method", sort=False)[columns].mean().iterrows():
        shown = ["" if pd.isna(value) else f"{100 * value:.1f}" for value in means]
        rows.append([str(method), *shown, *(["", ""] if method == control else _against(cells, method, control))])
    return rows


def ifsw_pareto() -> str:
    """Points of a front against the weighted sum, on rows left out."""
    head = ["", "accuracy, rows left out", "training rows", "instances kept", "features kept"]
    rows = _question_rows("pareto", ["score", "training", "instances", "features"], "weighted sum")
    return lines_of([*head, "better / equal / worse", "Wilcoxon's p"], rows)


def ifsw_margins() -> str:
    """Class margins as goals of feature weights."""
    rows = _question_rows("margins", ["score", "training"], "FW, accuracy")
    return lines_of(["", "accuracy, rows left out", "training rows", "better / equal / worse", "Wilcoxon's p"], rows)


def ifsw_learners() -> str:
    """Selections for a tree and an SVM: accuracy on rows left out and reduction."""
    cells = _question("learners")
    split = cells["method"].str.split(": ", expand=True)
    means = cells.assign(learner=split[0], tasks=split[1]).groupby(["learner", "tasks"], sort=False)
    table = means[["score", "reduction"]].mean()
    learners = list(dict.fromkeys(split[0]))
    rows = []
    for tasks in dict.fromkeys(split[1]):
        row = [tasks]
        for learner in learners:
            if (learner, tasks) not in table.index:
                row += ["", "", ""]
                continue
            score, reduction = table.loc[(learner, tasks)]
            p = "" if tasks == "none" else _against(cells, f"{learner}: {tasks}", f"{learner}: none")[1]
            row += [f"{100 * score:.1f}", f"{100 * reduction:.1f}", p]
        rows.append(row)
    return lines_of(
        ["tasks", *(f"{learner}{part}" for learner in learners for part in ("", ", reduction", ", p"))], rows
    )


def ifsw_start() -> str:
    """The paper's start of a search against a spread one."""
    cells = _question("start")
    rows = []
    for method, means in cells.groupby("method", sort=False)[["fitness", "score", "reduction"]].mean().iterrows():
        tasks, start = str(method).split(": ")
        row = [
            tasks,
            start,
            f"{means['fitness']:.3f}",
            f"{100 * means['score']:.1f}",
            f"{100 * means['reduction']:.1f}",
        ]
        for column in ("fitness", "score"):
            compared = _against(cells, str(method), f"{tasks}: half", column) if start == "spread" else []
            row.append(", p ".join(compared))
        rows.append(row)
    return lines_of(
        ["tasks", "start", "fitness", "accuracy, rows left out", "reduction", "fitter on", "more accurate on"], rows
    )


PAGES: dict[str, Blocks] = {
    "simbambiw.md": {
        "answers": answers, "counts": counts, "worse": worse, "sizes": sizes, "madelon": madelon, "means": means,
        "stability": stability, "errors": errors},
    "class_relief.md": {
        "agreement": agreement, "table2": table2, "spearman": spearman, "features": features, "figure2": figure2},
    "wibk.md": {
        "paper_folds": wibk_paper_folds, "table4": wibk_table4, "table5": wibk_table5, "best": wibk_best,
        "gains": wibk_gains},
    "ifsw.md": {
        "data": ifsw_data, "claims": ifsw_claims, "combinations": ifsw_combinations, "tests": ifsw_tests,
        "holm": ifsw_holm, "undersampling": ifsw_undersampling, "selectors": ifsw_selectors, "pareto": ifsw_pareto,
        "margins": ifsw_margins, "learners": ifsw_learners, "start": ifsw_start},
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
