"""Tables of docs/papers/ifsw.md."""

from __future__ import annotations

import pandas as pd

from weighbors.stats import wilcoxon

from .marks import format_p, markdown_table
from .results import read_record, read_result

SCORES = {"standard": "accuracy", "imbalanced": "G-mean", "undersampled": "G-mean, undersampled"}


def combinations() -> str:
    """Return score, rank, reduction and time of each combination, in one table per kind of problems."""
    found = read_result("ifsw", "combinations")
    return "\n\n".join(_combined(found, blocks) for blocks in (["standard"], ["imbalanced", "undersampled"]))


def _combined(found: pd.DataFrame, blocks: list[str]) -> str:
    head = [column for block in blocks for column in (SCORES[block], "rank", "reduction", "s")]
    rows = []
    for tasks in found["tasks"].unique():
        cells = [tasks]
        for block in blocks:
            row = found[(found["block"] == block) & (found["tasks"] == tasks)].iloc[0]
            cells += [f"{100 * row['score']:.1f}", f"{row['rank']:.1f}", f"{100 * row['reduction']:.1f}"]
            cells.append(f"{row['seconds']:.1f}")
        rows.append(cells)
    return markdown_table(["tasks", *head], rows)


def tests() -> str:
    """Return Friedman's and Iman and Davenport's tests."""
    rows = [
        [row.block, row.test, f"{row.statistic:.2f}", str(row.df), format_p(row.p_value), str(row.n_datasets)]
        for row in read_result("ifsw", "omnibus").itertuples()
    ]
    return markdown_table(["", "test", "statistic", "df", "p", "data sets"], rows)


def holm() -> str:
    """Return the adjusted p of every combination against the best ranked one of its block."""
    found = read_result("ifsw", "holm")
    blocks = {block: part.set_index("tasks") for block, part in found.groupby("block", sort=False)}
    best = {block: part["best"].iloc[0] for block, part in blocks.items()}
    order = read_result("ifsw", "combinations")["tasks"].unique()
    rows = [
        [
            tasks,
            *("best" if tasks == best[block] else format_p(part.loc[tasks, "holm"]) for block, part in blocks.items()),
        ]
        for tasks in order
    ]
    return markdown_table(["against the best", *blocks], rows)


def claims() -> str:
    """Return the paper's conclusions beside what was found."""
    rows = [
        [row.block, row.claim, row.found, "yes" if row.holds else "no"]
        for row in read_result("ifsw", "claims").itertuples()
    ]
    return markdown_table(["", "the paper concludes", "found", "holds here"], rows)


def undersampling() -> str:
    """Return the G-mean without and with undersampling."""
    rows = [
        [
            row.tasks,
            *(f"{100 * score:.1f}" for score in (row.g_mean, row.g_mean_undersampled)),
            f"{row.wins} / {row.ties} / {row.losses}",
            format_p(row.p_value),
            format_p(row.holm),
        ]
        for row in read_result("ifsw", "undersampling").itertuples()
    ]
    return markdown_table(["tasks", "G-mean", "undersampled", "better / equal / worse", "Wilcoxon's p", "Holm"], rows)


def data() -> str:
    """Return the data sets and their sizes."""
    found = read_result("ifsw", "data_sets")
    facts = read_record("ifsw")
    sizes, rows = facts["settings"]["data_sets"], []
    for block in ("standard", "imbalanced"):
        names = found[found["block"] == block]["dataset"].unique()
        rows.append([block, str(len(names)), ", ".join(f"{name} ({sizes[name]['rows']})" for name in names)])
    return markdown_table(["", "number", "data sets (rows)"], rows)


def selectors() -> str:
    """Return the classical selectors beside 1-NN and the search for instances."""
    tables = []
    for block, part in read_result("ifsw", "selectors").groupby("block", sort=False):
        rows = []
        for row in part.sort_values("score", ascending=False).itertuples():
            name = {"none": "all rows (1-NN)", "IS": "**search for instances (IS)**"}.get(row.selector, row.selector)
            counts = (
                ["", ""]
                if pd.isna(row.wins)
                else [f"{row.wins:.0f} / {row.ties:.0f} / {row.losses:.0f}", format_p(row.holm)]
            )
            rows.append([name, f"{100 * row.score:.1f}", f"{100 * row.reduction:.1f}", f"{row.seconds:.3f}", *counts])
        tables.append(
            markdown_table(
                [f"{block} problems", SCORES[block], "reduction", "s", "better / equal / worse than IS", "Holm"], rows
            )
        )
    return "\n\n".join(tables)


def _question(name: str) -> pd.DataFrame:
    """Return the cells of a question, without problems of which cells are missing."""
    cells = read_result("ifsw_questions", name)
    counts = cells.groupby("dataset").size()
    return cells[cells["dataset"].isin(counts[counts == counts.max()].index)]


def _against(cells: pd.DataFrame, first: str, second: str, column: str = "score") -> list[str]:
    """Return on how many problems the first method is better, equal and worse than the second, and Wilcoxon's p."""
    means = cells.pivot_table(column, "dataset", "method").round(6)
    gain = (means[first] - means[second]).round(6)
    counts = " / ".join(str(int(count)) for count in ((gain > 0).sum(), (gain == 0).sum(), (gain < 0).sum()))
    return [counts, format_p(wilcoxon(means[first], means[second]).p_value)]


def _question_rows(name: str, columns: list[str], control: str) -> list[list[str]]:
    """Return one row per method: means in per cent, and the comparison of its score with that of ``control``."""
    cells = _question(name)
    rows = []
    for method, means in cells.groupby("method", sort=False)[columns].mean().iterrows():
        shown = ["" if pd.isna(value) else f"{100 * value:.1f}" for value in means]
        rows.append([str(method), *shown, *(["", ""] if method == control else _against(cells, method, control))])
    return rows


def pareto() -> str:
    """Return the comparison of points of a front with the weighted sum, on rows left out."""
    head = ["", "accuracy, rows left out", "training rows", "instances kept", "features kept"]
    rows = _question_rows("pareto", ["score", "training", "instances", "features"], "weighted sum")
    return markdown_table([*head, "better / equal / worse", "Wilcoxon's p"], rows)


def margins() -> str:
    """Return the comparison of class margins with accuracy, as goals of feature weights."""
    rows = _question_rows("margins", ["score", "training"], "FW, accuracy")
    return markdown_table(
        ["", "accuracy, rows left out", "training rows", "better / equal / worse", "Wilcoxon's p"], rows
    )


def learners() -> str:
    """Return accuracy on rows left out, and reduction, of selections made for a tree and an SVM."""
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
    return markdown_table(
        ["tasks", *(f"{learner}{part}" for learner in learners for part in ("", ", reduction", ", p"))], rows
    )


def start() -> str:
    """Return the comparison of the paper's start of a search with a spread one."""
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
    return markdown_table(
        ["tasks", "start", "fitness", "accuracy, rows left out", "reduction", "fitter on", "more accurate on"], rows
    )


#: The tables by the names of their marks on the page.
TABLES = {
    "data": data,
    "claims": claims,
    "combinations": combinations,
    "tests": tests,
    "holm": holm,
    "undersampling": undersampling,
    "selectors": selectors,
    "pareto": pareto,
    "margins": margins,
    "learners": learners,
    "start": start,
}
