"""Comparison of WIB-K with lazy learners and well-known classifiers: tables 4 and 5 of paper 002."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from ..datasets import load_builtin, load_dataset
from ..evaluation import StudyData, StudyResults
from ..models import IB1, LWL, WIBK, IBk, KStar, WeightedKNeighborsClassifier
from ..stats import corrected_resampled_ttest
from ._file_orders import uci_order
from ._preset import Definition, Preset, Tables
from ._tables import find_tables
from ._weka_folds import WekaFolds

SEED = 0
REPEATS = 10
QUICK = ("haberman", "hayes-roth-132", "tae")
#: Columns of the paper's tables after the column of WIB-K, in the order of the paper.
TABLE_4 = ("IB1", "IB-K", "dwIB-K (1/d)", "dwIB-K (1-d)", "LWL", "K*")
TABLE_5 = ("NB", "SMO", "MP", "J48", "PART")
COLUMNS = ("WIB-K", *TABLE_4, *TABLE_5)
#: For each table of the paper: its columns, and which of our columns corresponds to the number that it prints.
TABLES = {"4": (("WIB-K", *TABLE_4), "first_fold_mean"), "5": (TABLE_5, "first_accuracy")}
#: Our methods for each column of the paper. The first method is used to check the claims of the paper.
METHODS = {
    "WIB-K": ("WIBK", "WIBK, complement, ties to the nearest", "WIBK, complement, smoothing 0.02",
              "k-NN, raw", "k-NN, raw, ties to the nearest"),
    "IB1": ("IB1",),
    "IB-K": ("IBk, ties by index", "IBk, all ties (Weka's rule)"),
    "dwIB-K (1/d)": ("IBk, 1/d",),
    "dwIB-K (1-d)": ("IBk, 1-d",),
    "LWL": ("LWL", "LWL, all but the farthest"),
    "K*": ("KStar",),
    "NB": ("LWL, naive Bayes, constant kernel", "GaussianNB"),
    "SMO": ("SVC, linear, C = 1, min-max",),
    "MP": ("MLPClassifier, 20 units, min-max",),
    "J48": ("DecisionTreeClassifier, entropy, pruned",),
    "PART": ("DecisionTreeClassifier, not pruned",),
}  # fmt: skip


class Problem(NamedTuple):
    """A row of the paper's tables 4 and 5."""

    short: str
    k: int
    paper: dict[str, float]  # accuracy in per cent, by column


def _row(short: str, k: int, *figures: float) -> Problem:
    """Return a problem. ``figures`` are the numbers of its row, in the order of `COLUMNS`."""
    return Problem(short, k, dict(zip(COLUMNS, figures, strict=True)))


# fmt: off
PROBLEMS = {
    "balance-scale": _row(
        "BS", 24,
        90.396, 79.027, 89.436, 89.436, 89.436, 53.932, 88.474,
        90.04, 87.68, 90.72, 76.64, 83.52),
    "breast-cancer-wisconsin": _row(
        "BC", 5,
        97.216, 96.04, 97.079, 97.216, 97.216, 92.09, 95.458,
        96.33, 97.07, 96.04, 96.04, 95.46),
    "cmc": _row(
        "CMC", 16,
        55.126, 43.312, 48.404, 48.264, 48.4, 48.47, 49.553,
        49.28, 50.98, 54.51, 53.22, 50.10),
    "dermatology-358": _row(
        "D", 1,
        90.238, 95.269, 95.269, 95.269, 95.269, 82.642, 94.126,
        97.48, 97.76, 97.48, 95.25, 93.29),
    "haberman": _row(
        "H", 27,
        75.483, 65.709, 74.494, 73.537, 74.494, 72.505, 71.204,
        74.83, 73.52, 72.87, 71.89, 72.54),
    "hayes-roth-132": _row(
        "HR", 2,
        75.604, 76.538, 62.087, 67.417, 67.417, 79.395, 61.263,
        74.24, 53.78, 74.24, 80.30, 75.75),
    "lung-cancer": _row(
        "LC", 1,
        70.0, 48.333, 48.333, 48.333, 48.333, 56.666, 56.666,
        70.37, 48.14, 51.85, 48.14, 48.14),
    "tae": _row(
        "TAE", 1,
        72.958, 63.583, 62.291, 62.291, 62.291, 52.916, 64.291,
        52.98, 54.30, 54.30, 59.60, 58.27),
}
# fmt: on
#: Tables of integers for the quick version without a directory of data sets. The paper has no numbers for them.
BUILT_IN = {
    "iris, in millimetres": _row("IRIS", 5, *[float("nan")] * len(COLUMNS)),
    "digits, 3 or 8": _row("D38", 5, *[float("nan")] * len(COLUMNS)),
}


class AllButFarthest(ClassifierMixin, BaseEstimator):
    """`LWL` with one neighbour less than there are training rows, so that the farthest row is left out.

    All eight numbers in the paper's column LWL are those of Weka's program with this number of neighbours. Weka 3.6
    uses all rows by default.
    """

    def fit(self, X: Any, y: Any) -> AllButFarthest:
        """Fit an `LWL` whose number of neighbours is the number of rows minus 1."""
        self.model_ = LWL(n_neighbors=len(y) - 1).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Return the labels of the queries."""
        return self.model_.predict(X)


def _methods(name: str) -> dict[str, Any]:
    """Return all models of `METHODS`, with the number of neighbours that the paper used for this problem."""
    k = (PROBLEMS | BUILT_IN)[name].k
    knn = WeightedKNeighborsClassifier
    # Learning rate, momentum and number of epochs are the defaults of Weka's multilayer perceptron.
    perceptron = MLPClassifier((20,), solver="sgd", learning_rate_init=0.3, momentum=0.2, max_iter=500)
    return {
        "WIBK": WIBK(k),
        # such a small smoothing matters only for instances whose weights are all 0
        "WIBK, complement, ties to the nearest": WIBK(k, weight="overlap", smoothing=1e-6, vote_ties="nearest"),
        "WIBK, complement, smoothing 0.02": WIBK(k, weight="overlap", vote_ties="nearest"),
        "k-NN, raw": knn(k),
        "k-NN, raw, ties to the nearest": knn(k, vote_ties="nearest"),
        "IB1": IB1(),
        "IBk, ties by index": IBk(k, ties="index"),
        "IBk, all ties (Weka's rule)": IBk(k),
        "IBk, 1/d": IBk(k, weights="inverse"),
        "IBk, 1-d": IBk(k, weights="similarity"),
        "LWL": LWL(),
        "LWL, all but the farthest": AllButFarthest(),
        "KStar": KStar(),
        "LWL, naive Bayes, constant kernel": LWL("naive_bayes", kernel="constant"),
        "GaussianNB": GaussianNB(),
        "SVC, linear, C = 1, min-max": make_pipeline(MinMaxScaler(), SVC(kernel="linear")),
        "MLPClassifier, 20 units, min-max": make_pipeline(MinMaxScaler((-1, 1)), perceptron),
        "DecisionTreeClassifier, entropy, pruned": DecisionTreeClassifier(
            criterion="entropy", min_samples_leaf=2, ccp_alpha=0.01
        ),
        # scikit-learn has no rule learner. PART makes its rules from partial trees, so a tree stands for it
        "DecisionTreeClassifier, not pruned": DecisionTreeClassifier(min_samples_leaf=2),
    }


def _load(name: str, *, data_home: str | os.PathLike[str] | None) -> StudyData:
    """Return the rows of a data set that have no missing values, as in the paper, in the order of the UCI file."""
    data = load_dataset(name, "B_wibk", data_home=data_home)
    # The paper leaves out rows with missing values.
    whole = data.X.notna().all(axis=1).to_numpy()
    X, y = data.X[whole].astype(float), np.asarray(data.y)[whole].astype(str)
    order = uci_order(name, X.to_numpy())
    return StudyData(X.iloc[order].reset_index(drop=True), y[order])


def _load_built_in(name: str) -> StudyData:
    """Return a table of `BUILT_IN` as integers, which WIB-K needs."""
    table, _, _ = name.partition(",")
    data = load_builtin(table)
    X, y = data.X.astype(float), np.asarray(data.y).astype(str)
    if table == "iris":  # it has centimetres, with one decimal
        return StudyData((10 * X).round(), y)
    rows = np.isin(y, ["3", "8"])
    return StudyData(X[rows].reset_index(drop=True), y[rows])


def data_sets(quick: bool) -> tuple[str, ...]:
    """Return the names of the paper's eight data sets, or with ``quick`` of three small ones."""
    return QUICK if quick else tuple(PROBLEMS)


def build(quick: bool, data_home: str | os.PathLike[str] | None) -> Definition:
    """Return the definition of the study: ten stratified folds, repeated 10 times (twice with ``quick``).

    The first repetition has the folds of the paper. Without a directory of data sets, the quick version uses the
    tables of `BUILT_IN`.
    """
    places = {name: ("B_wibk", name) for name in data_sets(quick)}
    built_in = {name: partial(_load_built_in, name) for name in BUILT_IN} if quick else None
    data, absent, used = find_tables(
        places, partial(_load, data_home=data_home), data_home=data_home, built_in=built_in
    )
    folds = WekaFolds(10, 2 if quick else REPEATS)
    return Definition(data, _methods, cv=folds, random_state=SEED, absent=absent, built_in=used)


def accuracies(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy in per cent for each problem and method: over all rows of a repetition, and over folds.

    ``std`` is the standard deviation over the repetitions, with n − 1. Columns that begin with ``first_`` use only the
    first repetition, which has the folds of the paper.
    """
    by = ["dataset", "method"]
    # The sizes of folds can differ by one row, so the accuracy over all rows is not the mean over the folds.
    right = cells.assign(right=cells["accuracy"] * cells["n_test"].astype(float))
    repeats = right.groupby([*by, "repeat"], sort=False)[["right", "n_test"]].sum()
    shares = 100 * repeats["right"] / repeats["n_test"].astype(float)
    found = shares.groupby(by, sort=False).agg(["mean", "std"]).rename(columns={"mean": "accuracy"})
    return found.assign(
        fold_mean=100 * cells.groupby(by)["accuracy"].mean(),
        first_accuracy=shares.xs(0, level="repeat"),
        first_fold_mean=100 * cells[cells["repeat"] == 0].groupby(by)["accuracy"].mean(),
    ).reset_index()


def beside_paper(found: pd.DataFrame, table: str) -> pd.DataFrame:
    """Return our results beside the numbers of the paper's table 4 or 5.

    ``paper_folds`` is our result on the folds of the paper, computed as in the paper's table: the mean over folds in
    table 4, the share of all rows in table 5. ``accuracy`` is our result over all repetitions.
    """
    ours = found.set_index(["dataset", "method"])
    columns, measured = TABLES[table]
    problems = PROBLEMS | BUILT_IN
    rows = []
    for name in found["dataset"].unique():
        for column in columns:
            printed = problems[name].paper[column]
            for method in METHODS[column]:
                figures = ours.loc[(name, method)]
                place = {"dataset": name, "k": problems[name].k, "column": column, "method": method, "paper": printed}
                figures = {"paper_folds": figures[measured], **figures[["accuracy", "std", "fold_mean"]]}
                rows.append({**place, **figures, "difference": figures["accuracy"] - printed})
    return pd.DataFrame(rows)


def to_the_digit(ours: Any, printed: Any, digits: int = 3) -> Any:
    """Return whether our number is equal to the printed number if it is cut off after ``digits`` decimals."""
    # Numbers are cut off after the last digit, not rounded, so ours may be larger by less than one digit.
    difference = ours - printed
    return (difference > -1e-9) & (difference < 10.0**-digits)


def on_paper_folds(beside: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Count on how many data sets our result on the paper's folds agrees with the paper: exactly, and within 1 point.

    The paper cuts its numbers off after three decimals in table 4, and after two in table 5. ``beside`` are the
    results of `beside_paper`, by table.
    """
    rows = []
    for table, part in beside.items():
        for (column, method), ours in part.groupby(["column", "method"], sort=False):
            found, paper = ours["paper_folds"], ours["paper"]
            rows.append(
                {
                    "table": table,
                    "column": column,
                    "method": method,
                    "to_the_digit": int(to_the_digit(found, paper, 3 if table == "4" else 2).sum()),
                    "within_1": int(((found - paper).abs() <= 1).sum()),
                    "within_1_repeats": int((ours["difference"].abs() <= 1).sum()),
                    "data_sets": len(ours),
                }
            )
    return pd.DataFrame(rows)


def gains(results: StudyResults, found: pd.DataFrame) -> pd.DataFrame:
    """Return how many percentage points WIB-K gains over IB-K: in all, by unscaled values, and by its weights.

    The p-values are those of the corrected resampled t-test over all folds. ``p_weights`` compares WIB-K with the same
    k-NN without weights.
    """
    ours = found.pivot_table("accuracy", "dataset", "method", sort=False)
    rows = []
    for name, row in ours.iterrows():
        printed = (PROBLEMS | BUILT_IN)[str(name)].paper
        folds = results.folds("accuracy", dataset=str(name), methods=["WIBK", "k-NN, raw", "IBk, ties by index"])
        p_gain, p_weights = (_p_value(folds["WIBK"], folds[other]) for other in ("IBk, ties by index", "k-NN, raw"))
        rows.append(
            {
                "dataset": name,
                "paper_gain": printed["WIB-K"] - printed["IB-K"],
                "gain": row["WIBK"] - row["IBk, ties by index"],
                "p_gain": p_gain,
                "of_raw_values": row["k-NN, raw"] - row["IBk, ties by index"],
                "of_weights": row["WIBK"] - row["k-NN, raw"],
                "p_weights": p_weights,
            }
        )
    return pd.DataFrame(rows)


def _p_value(first: pd.Series, second: pd.Series) -> float:
    """Return the p-value of the corrected resampled t-test, or 1 if both methods have the same score in every fold."""
    difference = (first - second).to_numpy()
    if not difference.any():
        return 1.0
    return float(corrected_resampled_ttest(difference, n_folds=10).p_value)


def claims(found: pd.DataFrame) -> pd.DataFrame:
    """Count on how many problems WIB-K is the best method of table 4 and of table 5.

    The columns are the count in the paper, and our count for each of the methods that stand for WIB-K.
    """
    ours = found.pivot_table("accuracy", "dataset", "method", sort=False)
    printed = pd.DataFrame({name: (PROBLEMS | BUILT_IN)[str(name)].paper for name in ours.index}).T
    rows = []
    for table, columns in (("4", TABLE_4), ("5", TABLE_5)):
        # The first method of a column stands for the paper's method.
        rivals = ours[[METHODS[column][0] for column in columns]].max(axis=1)
        row: dict[str, Any] = {"table": table, "data_sets": len(ours)}
        row["paper"] = int((printed["WIB-K"] >= printed[list(columns)].max(axis=1)).sum())
        row |= {method: int((ours[method] >= rivals).sum()) for method in METHODS["WIB-K"]}
        rows.append(row)
    return pd.DataFrame(rows)


def tables(results: StudyResults) -> Tables:
    """Return tables 4 and 5, how often they agree with the paper, how often WIB-K is best, and what it gains."""
    found = accuracies(results.cells)
    beside = {table: beside_paper(found, table) for table in TABLES}
    return {
        "table4": beside["4"],
        "table5": beside["5"],
        "paper_folds": on_paper_folds(beside),
        "best": claims(found),
        "gains": gains(results, found),
    }


def summary(tables: Tables) -> str:
    """Return a text that says how often our results agree with the paper, how often WIB-K is best, and its gain.

    Built-in tables are not in the paper, and the text then says what was found alone.
    """
    gain = tables["gains"]
    papers = bool(gain["paper_gain"].notna().any())
    lines = [] if papers else ["Built-in tables, none of which the paper used: its figures cannot stand beside these."]
    for row in tables["paper_folds"].to_dict("records"):
        if papers and row["table"] == "4":
            lines.append(
                f"{row['column']} ({row['method']}): on the paper's own folds its figure to the digit on "
                f"{row['to_the_digit']} of {row['data_sets']} data sets, within a point on {row['within_1']}; over all "
                f"repeats within a point on {row['within_1_repeats']}."
            )
    for row in tables["best"].to_dict("records"):
        printed = f"on {row['paper']} of {row['data_sets']} data sets in the paper, on {row['WIBK']} here"
        best = printed if papers else f"on {row['WIBK']} of {row['data_sets']} data sets"
        lines.append(
            f"Table {row['table']}: WIB-K is best {best}; the same k-NN without weights on {row['k-NN, raw']}."
        )
    printed = f"{gain['paper_gain'].mean():.1f} points in the paper, " if papers else ""
    lines.append(
        f"Gain over IB-K, mean of the data sets: {printed}{gain['gain'].mean():.1f} {'here' if papers else 'points'}, "
        f"of which raw values {gain['of_raw_values'].mean():.1f} and weights {gain['of_weights'].mean():.1f}."
    )
    return "\n".join(lines)


PRESET = Preset(
    name="wibk",
    title="WIB-K: representative intervals",
    paper=(
        "O. Gómez, E. F. Morales, J. A. González, Weighted instance-based learning using representative intervals, "
        "MICAI 2007"
    ),
    statement=(
        "Complete rows only. WIB-K and the k-NN beside it on raw values; IB1, IBk, LWL and KStar scale by the ranges "
        "of their training part (min-max), as Weka does; the relatives of table 5 are scikit-learn's, scaled where "
        "their names say so. Stratified 10-fold, 10 repeats (two with --quick), all methods on the same folds: those "
        "of Weka's Experimenter with the seeds 1 to 10, rows in the order of the UCI files. The first are the paper's. "
        "K as in the paper; seed 0 for methods that draw."
    ),
    data_sets=data_sets,
    build=build,
    tables=tables,
    summary=summary,
    offline=(
        "Tables of integers that come with scikit-learn, which the paper did not use, since no directory of data sets "
        "is named: iris in millimetres, and the digits 3 and 8. Methods as in the full study, with K = 5. Stratified "
        "10-fold with the folds of Weka's Experimenter for the seeds 1 and 2; seed 0 for methods that draw."
    ),
)
