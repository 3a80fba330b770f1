"""Instance and feature selection and weighting: the 15 combinations of paper 004."""

from __future__ import annotations

import os
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from .._random import generators
from ..classifiers import WeightedKNeighborsClassifier
from ..datasets import data_directory, load_dataset
from ..evaluation import StudyData, StudyResults
from ..stats import friedman, holm, iman_davenport, posthoc, wilcoxon
from ..stats.pairwise import wins
from ..weighers import EvolutionaryWeigher
from ..weighers.evolution.results import balanced_rows
from ..weights import Weights
from ._preset import Definition, Preset, Tables

__all__ = ["COMBINATIONS", "IMBALANCED", "PRESET", "STANDARD", "Undersample"]

SEED = 0
NONE = "none"
UNDERSAMPLED = ", undersampled"
#: All 15, from one task to four.
COMBINATIONS = tuple("+".join(c) for size in range(1, 5) for c in combinations(("IS", "FS", "IW", "FW"), size))
KEEL = "D_keel_partitions"
# fmt: off
#: Standard problems, by accuracy: name and where it comes from. Those of KEEL have its own ten folds.
STANDARD = dict.fromkeys((
    "bupa", "cleveland", "ecoli", "glass", "haberman", "iris", "monk-2", "new-thyroid", "pima", "vehicle", "wine",
    "wisconsin",
), KEEL) | dict.fromkeys((
    "balance-scale", "dermatology-358", "hayes-roth", "heart-statlog", "ionosphere", "sonar", "tae", "wdbc",
), "D_uci")
#: Two-class problems, by G-mean; imbalance from 1.8 to 35. KEEL cuts these in five, so ten folds are drawn.
IMBALANCED = dict.fromkeys((
    "abalone-3_vs_11", "abalone9-18", "dermatology-6", "ecoli-0-3-4_vs_5", "ecoli1", "ecoli2", "ecoli3", "ecoli4",
    "glass-0-1-2-3_vs_4-5-6", "glass0", "glass1", "glass2", "glass6", "new-thyroid1", "page-blocks-1-3_vs_4",
    "winequality-red-8_vs_6", "yeast-0-5-6-7-9_vs_4", "yeast-1_vs_7", "yeast-2_vs_4", "yeast-2_vs_8",
), "D_imbalanced")
# fmt: on
QUICK = ("iris", "wine", "new-thyroid", "ecoli-0-3-4_vs_5", "glass2", "new-thyroid1")


class Undersample(BaseEstimator):
    """Random undersampling alone: what `EvolutionaryWeigher` does before its search.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
    """

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Undersample:
        """Draw from every class as many rows as the smallest has."""
        codes = np.unique(y, return_inverse=True)[1]
        kept = np.zeros(len(codes), dtype=bool)
        kept[balanced_rows(codes, True, generators(self.random_state, 1)[0])] = True
        self.weights_ = Weights(instance_mask=kept)
        return self


def performance(model: Any, X_train: Any, y_train: Any, X_test: Any, y_test: Any) -> float:
    """What the fitness saw on the training rows; NaN without a search."""
    return float(getattr(getattr(model[-1], "weigher_", None), "performance_", np.nan))


def _model(weigher: Any) -> Pipeline:
    return Pipeline([("scale", StandardScaler()), ("knn", WeightedKNeighborsClassifier(1, weigher))])


def _methods(name: str, *, quick: bool) -> dict[str, Pipeline]:
    """Plain 1-NN and all combinations; for an imbalanced problem also with undersampling in front."""
    size, evaluations = (50, 1000) if quick else (100, 10_000)  # paper 004, section 4.1

    def search(tasks: str, fitness: str, undersample: bool = False) -> Pipeline:
        return _model(
            EvolutionaryWeigher(
                tasks, fitness, undersample=undersample, population_size=size, max_evaluations=evaluations
            )
        )

    if name in STANDARD:
        return {NONE: _model(None)} | {tasks: search(tasks, "accuracy") for tasks in COMBINATIONS}
    plain = {NONE: _model(None)} | {tasks: search(tasks, "g_mean") for tasks in COMBINATIONS}
    under = {NONE: _model(Undersample())} | {tasks: search(tasks, "g_mean", True) for tasks in COMBINATIONS}
    return plain | {tasks + UNDERSAMPLED: model for tasks, model in under.items()}


def _load(name: str, data_home: str | os.PathLike[str] | None, *, quick: bool) -> StudyData:
    group = (STANDARD | IMBALANCED)[name]
    data = load_dataset(name, group, data_home=data_home)
    table = pd.get_dummies(data.X, dtype=float)
    whole = table.notna().all(axis=1).to_numpy()
    X, y = table[whole].reset_index(drop=True).astype(np.float32), np.asarray(data.y)[whole].astype(str)
    if quick or group != KEEL:
        return StudyData(X, y)
    folds = np.loadtxt(data_directory(data_home) / group / f"{name}.folds.txt", dtype=int)[whole]
    parts = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in np.unique(folds)]
    return StudyData(X, y, splits=parts)


def data_sets(quick: bool) -> tuple[str, ...]:
    """20 standard and 20 imbalanced problems, or three of each."""
    return QUICK if quick else (*STANDARD, *IMBALANCED)


def build(quick: bool, data_home: str | os.PathLike[str] | None) -> Definition:
    """Ten folds, or three; 16 methods per standard problem, 32 per imbalanced one."""
    data_directory(data_home)
    return Definition(
        {name: partial(_load, name, data_home, quick=quick) for name in data_sets(quick)},
        partial(_methods, quick=quick),
        cv=3 if quick else 10,
        scoring=("accuracy", "g_mean"),
        measures={"performance": performance},
        random_state=SEED,
    )


def per_data_set(cells: pd.DataFrame) -> pd.DataFrame:
    """Means over the folds of each problem and combination, with the score its block goes by.

    Blocks are "standard" (accuracy), "imbalanced" and "undersampled" (G-mean).
    """
    under = cells["method"].str.endswith(UNDERSAMPLED)
    standard = cells["dataset"].isin(list(STANDARD))
    told = cells.assign(
        block=np.select([standard, under], ["standard", "undersampled"], "imbalanced"),
        tasks=cells["method"].str.removesuffix(UNDERSAMPLED),
        score=cells["accuracy"].where(standard, cells["g_mean"]),
        reduction=cells["reduction"].fillna(0.0),
    )
    grouped = told.groupby(["block", "dataset", "tasks"], sort=False)
    return grouped.agg(
        score=("score", "mean"),
        std=("score", "std"),
        training=("performance", "mean"),
        reduction=("reduction", "mean"),
        seconds=("fit_seconds", "mean"),
        folds=("score", "size"),
    ).reset_index()


def _wide(per_set: pd.DataFrame, block: str) -> pd.DataFrame:
    """Problems × combinations of a block, in the order of `COMBINATIONS`."""
    part = per_set[per_set["block"] == block]
    return part.pivot_table("score", "dataset", "tasks", sort=False)[[NONE, *COMBINATIONS]]


def _testable(per_set: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Blocks of at least two problems."""
    found = {block: _wide(per_set, block) for block in per_set["block"].unique()}
    return {block: table for block, table in found.items() if len(table) > 1}


def by_combination(per_set: pd.DataFrame) -> pd.DataFrame:
    """Mean score, rank, reduction and time of every combination in every block."""
    ranks = per_set.groupby(["block", "dataset"])["score"].rank(ascending=False)
    grouped = per_set.assign(rank=ranks).groupby(["block", "tasks"], sort=False)
    columns = ["score", "rank", "training", "reduction", "seconds"]
    return grouped[columns].mean().assign(data_sets=grouped.size()).reset_index()


def omnibus(per_set: pd.DataFrame) -> pd.DataFrame:
    """Friedman's and Iman and Davenport's test of each block."""
    found = [
        test(table).frame().assign(block=block)
        for block, table in _testable(per_set).items()
        for test in (friedman, iman_davenport)
    ]
    return _first_column("block", found)


def _first_column(name: str, frames: list[pd.DataFrame]) -> pd.DataFrame:
    table = pd.concat(frames, ignore_index=True)
    return table[[name, *(column for column in table.columns if column != name)]]


def against_best(per_set: pd.DataFrame) -> pd.DataFrame:
    """Every combination against the best ranked one of its block, adjusted by Holm."""
    found = []
    for block, table in _testable(per_set).items():
        best = friedman(table).mean_ranks.idxmin()
        rows = posthoc(table, control=best, adjust="holm").frame()
        found.append(rows.rename(columns={"first": "best", "second": "tasks", "adjusted": "holm"}).assign(block=block))
    return _first_column("block", found)


def _signed_ranks(table: pd.DataFrame, pairs: list[tuple[str, str]]) -> pd.DataFrame:
    rows = []
    for first, second in pairs:
        counts = dict(zip(("wins", "ties", "losses"), wins(table, first, second), strict=True))
        gain = float((table[first] - table[second]).mean())
        p = wilcoxon(table[first], table[second]).p_value
        rows.append({"first": first, "second": second, **counts, "mean_difference": gain, "p_value": p})
    frame = pd.DataFrame(rows)
    return frame.assign(holm=holm(frame["p_value"]))


def wilcoxon_pairs(per_set: pd.DataFrame) -> pd.DataFrame:
    """Wilcoxon's signed ranks of all pairs of a block, adjusted by Holm."""
    found = [
        _signed_ranks(table, list(combinations(table.columns, 2))).assign(block=block)
        for block, table in _testable(per_set).items()
    ]
    return _first_column("block", found)


def undersampling(per_set: pd.DataFrame) -> pd.DataFrame:
    """Each combination with undersampling in front against itself without, by Wilcoxon and Holm."""
    both = _both(per_set)
    pairs = [(tasks + UNDERSAMPLED, tasks) for tasks in (NONE, *COMBINATIONS)]
    table = _signed_ranks(both, pairs).rename(columns={"second": "tasks"}).drop(columns="first")
    means = both.mean()
    table.insert(1, "g_mean", table["tasks"].map(means))
    table.insert(2, "g_mean_undersampled", (table["tasks"] + UNDERSAMPLED).map(means))
    return table


def _both(per_set: pd.DataFrame) -> pd.DataFrame:
    """Imbalanced problems × all 32 methods."""
    return _wide(per_set, "imbalanced").join(_wide(per_set, "undersampled").add_suffix(UNDERSAMPLED))


def _place(values: pd.Series, name: str, *, largest: bool = False) -> tuple[bool, str]:
    """Whether ``name`` has the smallest (or the largest) value, and its place among all in words."""
    ordered = values.sort_values(kind="stable")
    first, last = ordered.index[0], ordered.index[-1]
    place = int((values < values[name]).sum()) + 1
    told = f"{name} {values[name]:.2f}, place {place} of {len(values)}"
    told += f"; first {first} {values[first]:.2f}, last {last} {values[last]:.2f}"
    return bool(values[name] == (values.max() if largest else values.min())), told


def _standard_claims(per_set: pd.DataFrame, table: pd.DataFrame) -> list[tuple[str, str, bool]]:
    part = by_combination(per_set).query("block == 'standard' and tasks != @NONE").set_index("tasks")
    ranks = friedman(table[list(COMBINATIONS)]).mean_ranks
    best, told_best = _place(ranks, "FW")
    worst, told_worst = _place(ranks, "FS", largest=True)
    most, told_most = _place(100 - 100 * part["reduction"], "IS+FS")
    adjusted = against_best(per_set).query("block == 'standard'").set_index("tasks")["holm"]
    near = float(adjusted.get("IS+FS", 1.0))  # not there: it is the best itself
    means = 100 * table.mean()
    more = _signed_ranks(table, [("IS+FS+FW", "IS+FS"), ("IS+FS+IW", "IS+FS"), ("IS+FS+IW+FW", "IS+FS")])
    gains = ((more["holm"] <= 0.05) & (more["mean_difference"] > 0)).any()
    told_more = "; ".join(
        f"{row['first']} {100 * row['mean_difference']:+.1f} points, p {row['holm']:.2g}"
        for row in more.to_dict("records")
    )
    return [
        ("FW has the best accuracy", f"mean ranks: {told_best}", best),
        ("FS has the worst accuracy", f"mean ranks: {told_worst}", worst),
        ("IS+FS reduces most", f"per cent of the table left: {told_most}", most),
        (
            "IS+FS classifies well",
            f"Holm's p against the best ranked: {near:.2g}; {means['IS+FS']:.1f} % right, 1-NN {means[NONE]:.1f} %",
            near > 0.05,
        ),
        ("weights added to IS+FS do not improve it significantly", f"by Wilcoxon: {told_more}", not gains),
    ]


def claims(per_set: pd.DataFrame) -> pd.DataFrame:
    """The paper's conclusions (its section 6) beside what was found; rows for the blocks that are there."""
    tables, rows = _testable(per_set), []
    if "standard" in tables:
        rows += [("standard", *row) for row in _standard_claims(per_set, tables["standard"])]
    if "undersampled" in tables:
        both = _both(per_set)
        best, told = _place(friedman(both.drop(columns=[NONE, NONE + UNDERSAMPLED])).mean_ranks, "IS+FS" + UNDERSAMPLED)
        rows.append(("imbalanced", "IS+FS with undersampling has the best G-mean", f"mean ranks: {told}", best))
    return pd.DataFrame(rows, columns=["block", "claim", "found", "holds"])


def tables(results: StudyResults) -> Tables:
    """Means, ranks and tests of each block, and the paper's conclusions beside them."""
    per_set = per_data_set(results.cells)
    found = {"combinations": by_combination(per_set), "data_sets": per_set}
    if not (testable := _testable(per_set)):
        return found
    found |= {
        "claims": claims(per_set),
        "omnibus": omnibus(per_set),
        "holm": against_best(per_set),
        "wilcoxon": wilcoxon_pairs(per_set),
    }
    return found | ({"undersampling": undersampling(per_set)} if "undersampled" in testable else {})


def summary(tables: Tables) -> str:
    """The paper's conclusions, one line each."""
    if "claims" not in tables:
        return "Fewer than two data sets of a kind: nothing to compare."
    lines = [
        f"{row.block}: {row.claim}: {'yes' if row.holds else 'no'} ({row.found})."
        for row in tables["claims"].itertuples()
    ]
    for row in tables["omnibus"].query("test == 'Iman-Davenport'").itertuples():
        lines.append(
            f"{row.block}: Iman-Davenport F{row.df} = {row.statistic:.3f}, p = {row.p_value:.3g} over {row.n_datasets} "
            f"data sets and {row.n_methods} methods."
        )
    return "\n".join(lines)


PRESET = Preset(
    name="ifsw",
    title="Instance and feature selection and weighting",
    paper=(
        "J. Pérez-Rodríguez, A. G. Arroyo-Peña, N. García-Pedrajas, Simultaneous instance and feature selection and "
        "weighting using evolutionary computation: Proposal and study, Applied Soft Computing 37, 2015"
    ),
    statement=(
        "1-NN; features standardised in each training part, categories as indicator columns, rows with missing cells "
        "left out. Population 100, 10 000 evaluations; the fitness is the accuracy on standard problems and the G-mean "
        "on imbalanced ones, which are run without and with random undersampling in front. Ten stratified folds, once "
        "(the paper repeats three times): KEEL's own where it has ten, drawn with seed 0 for the others. With --quick "
        "1000 evaluations of 50 individuals and three folds."
    ),
    data_sets=data_sets,
    build=build,
    tables=tables,
    summary=summary,
)
