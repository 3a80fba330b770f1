"""Class-dependent RELIEF (paper 001): table 2, the correlations, and the data of figures 2 to 4."""

from __future__ import annotations

import itertools
import os
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata, spearmanr
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from .._typing import FloatArray, IndexArray
from ..datasets import data_directory, load_builtin, load_dataset
from ..evaluation import StudyData, StudyResults
from ..models import WeightedKNeighborsClassifier
from ..weighers import ClassRelief
from ._preset import Definition, Preset, Tables
from ._tables import find_tables

SEED = 0
RUNS = 10
#: Runs of each built-in problem. Half of them suffice to show what the experiment does, in half of the time.
BUILT_IN_RUNS = 5
TOP = 5
#: Numbers of features on the curves of the quick version: enough points to show their shape.
QUICK_SIZES = (1, 2, 3, TOP, 8, 13, 30)
QUICK = ("breast-cancer", "heart", "thyroid", "breast-w", "bupa")
#: Whose class vector gets each term. "neighbor" reproduces the paper's numbers, "instance" is the formula it prints.
CREDITS = ("neighbor", "instance")


class Problem(NamedTuple):
    """A row of the paper's table 1, and the file with its data; or two classes of a built-in table."""

    group: str
    file: str
    train: tuple[int, int]  # training instances of each class
    n_features: int
    scaled: bool  # True: standardised in each training part. False: used as the source distributes it
    labels: tuple[str, ...] = ()  # the two classes of a built-in table that are used. Empty: all of its rows


PROBLEMS = {
    "breast-cancer": Problem("A_ida", "breast-cancer", (140, 60), 9, False),
    "diabetis": Problem("A_ida", "diabetis", (300, 168), 8, False),
    "heart": Problem("A_ida", "heart", (93, 77), 13, False),
    "splice": Problem("A_ida", "splice", (525, 475), 60, False),
    "thyroid": Problem("A_ida", "thyroid", (97, 43), 5, False),
    "breast-w": Problem("A_uci", "breast-w-683", (353, 193), 9, True),
    "bupa": Problem("A_uci", "bupa", (119, 157), 6, True),
    "pima": Problem("A_uci", "pima", (398, 217), 8, True),
}
#: Where the group of a problem is this one, its data come with scikit-learn.
BUILT_IN_GROUP = "built-in"
#: Problems of the quick version without a directory of data sets. Four fifths of each class are training rows.
BUILT_IN = {
    "wdbc": Problem(BUILT_IN_GROUP, "breast-cancer", (286, 170), 30, True),
    "wine, 0 or 1": Problem(BUILT_IN_GROUP, "wine", (47, 57), 13, True, ("class_0", "class_1")),
    "wine, 0 or 2": Problem(BUILT_IN_GROUP, "wine", (47, 38), 13, True, ("class_0", "class_2")),
    "wine, 1 or 2": Problem(BUILT_IN_GROUP, "wine", (57, 38), 13, True, ("class_1", "class_2")),
    "digits, 3 or 8": Problem(BUILT_IN_GROUP, "digits", (146, 139), 64, True, ("3", "8")),
}
QUANTITIES = ("accuracy", "corr1", "corr2", "max_corr")
#: Table 2 of the paper, in percent: mean and standard deviation of each quantity.
TABLE_2 = {
    "breast-cancer": ((70.12, 5.44), (-0.35, 15.75), (64.43, 10.79), (64.43, 10.79)),
    "diabetis": ((70.65, 4.57), (-5.73, 24.38), (86.24, 4.85), (86.24, 4.85)),
    "heart": ((80.00, 3.39), (36.33, 16.64), (63.88, 16.37), (67.41, 10.38)),
    "splice": ((72.89, 1.72), (43.50, 13.65), (91.64, 3.37), (91.64, 3.37)),
    "thyroid": ((91.86, 3.84), (42.90, 24.65), (89.03, 3.67), (89.03, 3.67)),
    "breast-w": ((97.95, 1.32), (21.93, 19.29), (97.91, 1.01), (97.91, 1.01)),
    "bupa": ((65.07, 6.12), (61.29, 34.41), (-13.47, 38.37), (67.53, 23.31)),
    "pima": ((72.73, 1.08), (24.45, 35.18), (89.53, 6.61), (89.53, 6.61)),
}
#: Spearman's rho and its p-value in the paper (section 3.1), for each measure of hardness, over means or over runs.
PRINTED = {
    ("all features", "means"): (0.5952, 0.06),
    ("all features", "runs"): (0.4155, 0.0001),
    ("top 5", "means"): (0.8333, 0.0154),
    ("top 5", "runs"): (0.6476, 0.0),
}


class ClassVector(BaseEstimator):
    """A weigher whose feature weights are the `ClassRelief` weights of one class.

    Parameters
    ----------
    weigher : ClassRelief
    number : int
        Number of the class, in the order of the labels, from 0.
    """

    def __init__(self, weigher: Any, number: int = 0) -> None:
        self.weigher = weigher
        self.number = number

    def fit(self, X: Any, y: Any) -> ClassVector:
        """Fit a clone of the weigher, and store the weights of the class."""
        self.weigher_ = clone(self.weigher).fit(X, y)
        self.feature_weights_ = self.weigher_.class_feature_weights_[self.number]
        return self


def _relief(credit: str = "neighbor", **options: Any) -> ClassRelief:
    """Return the RELIEF weigher of the paper. ``credit`` is one of `CREDITS`."""
    # The settings that reproduce the numbers of the paper (docs/papers/class_relief.md).
    return ClassRelief(1, credit=credit, skip_zero=True, ties="index", **options)


def _sizes(n_features: int, quick: bool) -> list[int]:
    """Return the numbers of features that are tried: all numbers up to 13, then the multiples of 5.

    With ``quick``, only those of `QUICK_SIZES` are tried.
    """
    return [k for k in range(1, n_features + 1) if (k in QUICK_SIZES if quick else k <= 13 or k % 5 == 0)]


def _methods(name: str, *, quick: bool) -> dict[str, Any]:
    """Return the methods for a data set: 5-NN, the weighers, and 5-NN on the first k features of each ranking.

    With ``quick``, fewer values of k are tried.
    """
    problem = (PROBLEMS | BUILT_IN)[name]
    knn = WeightedKNeighborsClassifier(5)
    parts: dict[str, Any] = {"5-NN": knn, "RELIEF": _relief()}
    for credit, number in itertools.product(CREDITS, (0, 1)):
        parts[f"class {number + 1}, {credit}"] = ClassVector(_relief(credit), number)
    rankings = {"RELIEF": _relief()}
    rankings |= {f"cdRelief, {credit}": _relief(credit, ranking="variance") for credit in CREDITS}
    for (ranking, weigher), k in itertools.product(rankings.items(), _sizes(problem.n_features, quick)):
        chosen = clone(weigher).set_params(n_features_to_select=k)
        parts[f"{ranking}, top {k}"] = Pipeline([("choose", chosen), ("knn", knn)])
    if not problem.scaled:
        return parts
    # Scaling is part of the method, so that it is learned from the training part only.
    return {method: Pipeline([("scale", StandardScaler()), ("then", part)]) for method, part in parts.items()}


def draw_partitions(
    name: str, y: Any, train_sizes: tuple[int, ...], n_runs: int = RUNS
) -> list[tuple[IndexArray, IndexArray]]:
    """Return random partitions, as pairs of training rows and test rows.

    ``train_sizes`` are the numbers of training rows of each class, ``name`` is the name of the data set, and ``n_runs``
    is the number of partitions.
    """
    labels, codes = np.unique(y, return_inverse=True)
    splits = []
    # The seed depends on the name, so that a data set always has the same partitions.
    for seeds in np.random.SeedSequence([SEED, *name.encode()]).spawn(n_runs):
        rng = np.random.default_rng(seeds)
        chosen = [rng.permutation(np.flatnonzero(codes == c))[: train_sizes[c]] for c in range(len(labels))]
        train = np.sort(np.concatenate(chosen))
        splits.append((train, np.setdiff1d(np.arange(len(codes)), train)))
    return splits


def _load(name: str, *, data_home: str | os.PathLike[str] | None) -> StudyData:
    """Return a data set with its ten partitions: those in its directory, or random ones if there are none."""
    problem = PROBLEMS[name]
    data = load_dataset(problem.file, problem.group, data_home=data_home)
    X = data.X.astype(np.float64)
    original = data_directory(data_home) / problem.group / f"{problem.file}_splits.npz"
    if not original.is_file():
        return StudyData(X, data.y, splits=draw_partitions(name, data.y, problem.train))
    with np.load(original, allow_pickle=False) as splits:
        return StudyData(X, data.y, splits=list(zip(splits["train"], splits["test"], strict=True)))


def _load_built_in(name: str) -> StudyData:
    """Return a problem of `BUILT_IN` with `BUILT_IN_RUNS` random partitions."""
    problem = BUILT_IN[name]
    data = load_builtin(problem.file)
    y = np.asarray(data.y).astype(str)
    rows = np.isin(y, problem.labels) if problem.labels else np.ones(len(y), dtype=bool)
    X = data.X[rows].reset_index(drop=True).astype(np.float64)
    return StudyData(X, y[rows], splits=draw_partitions(name, y[rows], problem.train, BUILT_IN_RUNS))


def data_sets(quick: bool) -> tuple[str, ...]:
    """Return the names of the paper's data sets, or with ``quick`` the names of five small ones."""
    return QUICK if quick else tuple(PROBLEMS)


def build(quick: bool, data_home: str | os.PathLike[str] | None) -> Definition:
    """Return the definition of the study: ten runs per data set, with separate cells for weights and accuracies.

    Built-in problems have five runs.
    """
    places = {name: (PROBLEMS[name].group, PROBLEMS[name].file) for name in data_sets(quick)}
    built_in = {name: partial(_load_built_in, name) for name in BUILT_IN} if quick else None
    data, absent, used = find_tables(
        places, partial(_load, data_home=data_home), data_home=data_home, built_in=built_in
    )
    methods = partial(_methods, quick=quick)
    return Definition(data, methods, random_state=SEED, absent=absent, built_in=used)


def spearman(x: Any, y: Any) -> tuple[float, float, float]:
    """Return Spearman's rho, its right-tailed p-value and its two-sided p-value.

    For up to 9 pairs, the p-values are exact, computed from all orders. If ``x`` or ``y`` is constant, all three
    values are NaN.
    """
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan"), float("nan"), float("nan")
    rho = float(spearmanr(x, y).statistic)
    if len(x) > 9:
        right, both = (float(spearmanr(x, y, alternative=side).pvalue) for side in ("greater", "two-sided"))
        return rho, right, both
    ranks = rankdata(x) - (len(x) + 1) / 2
    # The t approximation is poor for 8 data sets. With at most 9 pairs, all orders are tried.
    orders = np.array(list(itertools.permutations(rankdata(y) - (len(y) + 1) / 2)))
    # Mean ranks are subtracted, so that sums are symmetric around 0 and both tails can be compared.
    sums, seen = orders @ ranks, float(np.dot(ranks, rankdata(y)))
    right = float(np.mean(sums >= seen - 1e-9))
    return rho, right, float(np.mean(np.abs(sums) >= abs(seen) - 1e-9))


def _correlations(results: StudyResults, name: str, credit: str) -> FloatArray:
    """Return the Pearson correlation of both class vectors with the RELIEF weights in each run, of shape (runs, 2)."""
    whole = results.weights(name, "RELIEF").to_numpy()
    parts = [results.weights(name, f"class {c}, {credit}").to_numpy() for c in (1, 2)]
    return np.array([[np.corrcoef(part[r], whole[r])[0, 1] for part in parts] for r in range(len(whole))])


def _runs(results: StudyResults) -> pd.DataFrame:
    """Return a table with one row per data set and run: accuracies, and correlations for both credits."""
    rows = []
    for name in results.cells["dataset"].unique():
        methods = {"accuracy": "5-NN", "accuracy_top5": f"RELIEF, top {TOP}"}
        scores = results.folds("accuracy", dataset=name, methods=methods.values())
        table = pd.DataFrame({column: scores[method].to_numpy() for column, method in methods.items()})
        table.insert(0, "run", range(len(table)))
        for credit in CREDITS:
            found = _correlations(results, name, credit)
            table[f"corr1_{credit}"], table[f"corr2_{credit}"] = found.T
            table[f"max_corr_{credit}"] = found.max(axis=1)
        table.insert(0, "dataset", name)
        rows.append(table)
    return pd.concat(rows, ignore_index=True)


def _table2(runs: pd.DataFrame) -> pd.DataFrame:
    """Return table 2 in percent, with the paper's numbers beside ours. Standard deviations use n − 1.

    Built-in problems, which the paper does not have, have NaN in its columns.
    """
    rows = []
    unknown = ((float("nan"), float("nan")),) * len(QUANTITIES)
    for name, part in runs.groupby("dataset", sort=False):
        for quantity, (mean, std) in zip(QUANTITIES, TABLE_2.get(str(name), unknown), strict=True):
            row: dict[str, Any] = {"dataset": name, "quantity": quantity, "paper": mean, "paper_std": std}
            for credit in CREDITS:
                values = 100 * part[quantity if quantity == "accuracy" else f"{quantity}_{credit}"]
                row |= {credit: values.mean(), f"{credit}_std": values.std(ddof=1)}
            rows.append(row)
    return pd.DataFrame(rows)


def _spearman_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return Spearman's correlation between hardness (accuracy) and diversity (largest correlation).

    It is computed over the means of the data sets and over all runs. For built-in problems, the columns of the paper
    are NaN.
    """
    papers = runs["dataset"].isin(list(PROBLEMS)).any()
    rows = []
    means = runs.drop(columns="run").groupby("dataset", sort=False).mean()
    hardnesses = {"all features": "accuracy", "top 5": "accuracy_top5"}
    for (hardness, column), (over, table) in itertools.product(hardnesses.items(), (("means", means), ("runs", runs))):
        rho, p = PRINTED[hardness, over] if papers else (float("nan"), float("nan"))
        for credit in CREDITS:
            found, right, both = spearman(table[column], table[f"max_corr_{credit}"])
            place: dict[str, Any] = {"hardness": hardness, "over": over, "n": len(table), "credit": credit}
            ours = {"rho": found, "p_right": right, "p_two_sided": both}
            rows.append({**place, **ours, "paper_rho": rho, "paper_p": p})
    return pd.DataFrame(rows)


def _curves(results: StudyResults) -> pd.DataFrame:
    """Return the accuracy for each number of features (figures 2 and 3, left)."""
    cells = results.cells[results.cells["method"].str.contains(", top ")]
    named = cells["method"].str.rsplit(", top ", n=1, expand=True)
    table = cells.assign(ranking=named[0], n_features_used=named[1].astype(int))
    grouped = table.groupby(["dataset", "ranking", "n_features_used"], sort=False)["accuracy"]
    return grouped.agg(accuracy="mean", std="std").reset_index()


def _weights(results: StudyResults) -> pd.DataFrame:
    """Return the weight vectors of the first run (figures 2 and 3, right, and figure 4)."""
    methods = ["RELIEF", *(f"class {c}, {credit}" for credit in CREDITS for c in (1, 2))]
    parts = []
    for name in results.cells["dataset"].unique():
        first = {method: results.weights(name, method).iloc[0] for method in methods}
        table = pd.DataFrame(first).rename_axis("feature").reset_index()
        table.insert(0, "number", range(1, len(table) + 1))
        table.insert(0, "dataset", name)
        parts.append(table)
    return pd.concat(parts, ignore_index=True)


def tables(results: StudyResults) -> Tables:
    """Return table 2, the correlations of section 3.1, and the data of the figures."""
    runs = _runs(results)
    return {
        "table2": _table2(runs),
        "spearman": _spearman_table(runs),
        "accuracy_by_features": _curves(results),
        "weights": _weights(results),
        "runs": runs,
    }


def summary(tables: Tables) -> str:
    """Return a text that compares the correlations of table 2 and section 3.1 with those in the paper.

    Built-in problems are not in the paper, and the text then says what was found alone.
    """
    table = tables["table2"].query("quantity != 'accuracy'")
    papers = bool(table["paper"].notna().any())
    lines = [] if papers else ["Built-in tables, none of which the paper used: its figures cannot stand beside these."]
    for credit in CREDITS if papers else ():
        near = int(((table[credit] - table["paper"]).abs() <= table["paper_std"]).sum())
        lines.append(
            f"credit={credit!r}: {near} of {len(table)} correlations of table 2 within one of its standard deviations."
        )
    for row in tables["spearman"].query("credit == 'neighbor'").itertuples():
        found = f"rho {row.rho:.4f}, right-tailed p {row.p_right:.4g}"
        printed = f"; the paper prints {row.paper_rho:.4f} and {row.paper_p:g}" if papers else ""
        lines.append(f"Hardness ({row.hardness}) and diversity over {row.n} {row.over}: {found}{printed}.")
    return "\n".join(lines)


PRESET = Preset(
    name="class-relief",
    title="Class-dependent RELIEF",
    paper="E. Marchiori, Class dependent feature weighting and K-nearest neighbor classification, PRIB 2013",
    statement=(
        "Ten runs of one partition each, not repeated further: IDA's own partitions of breast-cancer and heart, for "
        "the other sets random ones with the class sizes of the paper's table 1 (seed 0). The sets of IDA as it "
        "distributes them (standardised, splice as codes 1 to 4); breast-w, bupa and pima standardised in each "
        "training part. RELIEF with one neighbour per class, those at distance 0 skipped, both credits; 5-NN without "
        "weights."
    ),
    data_sets=data_sets,
    build=build,
    tables=tables,
    summary=summary,
    offline=(
        "Two-class problems from tables that come with scikit-learn, which the paper did not use, since no directory "
        "of data sets is named: breast cancer of Wisconsin, the three pairs of wines, the digits 3 and 8. Five random "
        "partitions with four fifths of each class for training (seed 0), standardised in each training part. RELIEF "
        "with one neighbour per class, those at distance 0 skipped, both credits; 5-NN without weights."
    ),
)
