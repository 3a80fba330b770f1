"""Do the lazy learners predict the numbers that Weka's programs predict, fold by fold?

Weka (Debian package ``weka``, with Java) is an independent referee: neither users nor the tests need it. Each table is
split twice: into five plain folds, and into the same folds with the rows that hold the smallest or largest value of
a number always among the training rows. Weka widens its ranges by the queries, we do not; in the second split no query
lies outside the ranges, so this difference is gone.

    WEIGHBORS_DATA=... python benchmarks/weka_numbers.py [--weka weka.jar] [--sets r-servo ...] [--output numbers.csv]

It prints the tables of ``docs/lazy_learners.md``; the figures of that page are in ``docs/results/weka_numbers.csv``.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import verdict
from sklearn.base import clone
from sklearn.model_selection import KFold
from weka_referee import ask_weka, java_of, weka_parser, write_arff

import weighbors as wb
from weighbors.datasets import load_dataset

SETS = ["r-autompg", "r-bodyfat", "r-cholesterol", "r-fishcatch", "r-housing", "r-machine-cpu", "r-pbc", "r-servo"]
#: Data sets (without r-) in which numbers are missing.
MISSING_NUMBERS = ("autompg", "pbc")
#: Weka prints three decimals, so targets are given to it in millionths of their standard deviation.
UNIT = 1e6
#: Two predictions are equal up to this part of the standard deviation of the target.
EQUAL = 1e-6
#: With one neighbour, votes by distance change nothing, so the page does not repeat them.
REPEATED = ("IBk, 1, 1/d", "IBk, 1, 1-d")
#: K* does not depend on units, but Weka's search for its scales does.
SCALED = "KStar, numbers from 0 to 100"
#: Per cent of rows that must be equal on tables without missing values, if ranges are the same.
WANTED = {"IBk, 5": 99.9, "LWL": 99.0}


def schemes() -> dict[str, tuple[Any, list[str]]]:
    """Our estimator, and Weka's class with its options."""
    lazy = "weka.classifiers.lazy."
    linear = ["-W", "weka.classifiers.functions.LinearRegression", "--", "-S", "1", "-C"]
    votes = {"": ("uniform", []), ", 1/d": ("inverse", ["-I"]), ", 1-d": ("similarity", ["-F"])}
    out = {
        f"IBk, {k}{label}": (wb.IBkRegressor(k, weights=weights), [lazy + "IBk", "-K", str(k), *option])
        for k in (1, 5)
        for label, (weights, option) in votes.items()
    }
    return {
        **out,
        "LWL": (wb.LWLRegressor(), [lazy + "LWL"]),
        "LWL, 30 neighbours": (wb.LWLRegressor(n_neighbors=30), [lazy + "LWL", "-K", "30"]),
        "LWL, linear": (wb.LWLRegressor("linear", ridge=1e-8), [lazy + "LWL", *linear]),
        "KStar": (wb.KStarRegressor(), [lazy + "KStar"]),
        SCALED: (wb.KStarRegressor(), [lazy + "KStar"]),
    }


def load_table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features and target. Whole numbers of at most ten different values are categories, to have mixed tables."""
    data = load_dataset(name, "R_regression")
    X = data.X.copy()
    for column in X:
        known = X[column].dropna()
        number = pd.api.types.is_numeric_dtype(known)
        if not number or (known.nunique() <= 10 and (known % 1 == 0).all()):
            X[column] = X[column].map(lambda cell, number=number: f"{cell:g}" if number else cell, na_action="ignore")
            X[column] = X[column].astype("category")
    return X, np.asarray(data.y, dtype=np.float64)


def scale_numbers(X: pd.DataFrame) -> pd.DataFrame:
    """The numbers of the whole table from 0 to 100."""
    numbers = X.select_dtypes("number")
    low, high = numbers.min(), numbers.max()
    return X.assign(**(100 * (numbers - low) / (high - low)).to_dict("series"))


def make_folds(X: pd.DataFrame, *, extremes_in_training: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of the training and of the test part of five folds."""
    numbers = X.select_dtypes("number")
    # Weka's LWL leaves its first training row out of the ranges, so extreme rows stand at the end.
    extreme = np.unique([int(np.nanargmax(sign * numbers[c])) for c in numbers for sign in (1, -1)])
    extreme = extreme.astype(np.int64) if extremes_in_training else np.zeros(0, dtype=np.int64)
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        yield np.concatenate([np.setdiff1d(train, extreme), extreme]), np.setdiff1d(test, extreme)


def compare(name: str, java: str, jar: Path, only: list[str] | None) -> pd.DataFrame:
    """Differences of our predictions and Weka's for every scheme and both splits, in standard deviations of y."""
    X, y = load_table(name)
    z = (y - y.mean()) / y.std()
    rows = []
    with tempfile.TemporaryDirectory() as place:
        files = Path(place) / "train.arff", Path(place) / "test.arff"
        for inside in (False, True):
            for train, test in make_folds(X, extremes_in_training=inside):
                for label, (model, options) in schemes().items():
                    if only and label not in only:
                        continue
                    given = scale_numbers(X) if label == SCALED else X
                    for path, part in zip(files, (train, test), strict=True):
                        write_arff(path, given.iloc[part], UNIT * z[part], given, None)
                    found = ask_weka(java, jar, options, *files, r"^\s*\d+\s+\S+\s+(\S+)\s+\S+\s*$")
                    theirs = np.array(found, dtype=np.float64) / UNIT
                    ours = clone(model).fit(given.iloc[train], z[train]).predict(given.iloc[test])
                    rows += [(label, inside, *cells) for cells in zip(ours, theirs, z[test], strict=True)]
    table = pd.DataFrame(rows, columns=["scheme", "extremes in training", "ours", "theirs", "y"])
    return summarize(table).assign(data=name.removeprefix("r-"))


def summarize(table: pd.DataFrame) -> pd.DataFrame:
    """One row per scheme and split: how many rows are equal, the differences, and the errors of both programs."""
    difference = (table["ours"] - table["theirs"]).abs()
    table = table.assign(
        equal=100.0 * (difference <= EQUAL),
        mean=difference,
        largest=difference,
        ours=(table["ours"] - table["y"]) ** 2,
        theirs=(table["theirs"] - table["y"]) ** 2,
        rows=1,
    )
    how = {"rows": "sum", "equal": "mean", "mean": "mean", "largest": "max", "ours": "mean", "theirs": "mean"}
    out = table.groupby(["scheme", "extremes in training"], sort=False).agg(how).reset_index()
    return out.assign(ours=np.sqrt(out["ours"]), theirs=np.sqrt(out["theirs"])).rename(
        columns={
            "ours": "our RMSE",
            "theirs": "Weka's RMSE",
            "mean": "mean difference",
            "largest": "largest difference",
        }
    )


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def equal_rows(figures: pd.DataFrame, *, extremes_in_training: bool) -> str:
    """Table of the per cent of rows on which both programs predict the same, for each scheme and data set."""
    part = figures[(figures["extremes in training"] == extremes_in_training) & ~figures["scheme"].isin(REPEATED)]
    table = part.pivot_table(index="scheme", columns="data", values="equal", sort=False)
    rows = [[str(scheme), *(f"{share:.1f}" for share in row)] for scheme, row in table.iterrows()]
    return markdown(["", *map(str, table.columns)], rows)


def differences(figures: pd.DataFrame) -> str:
    """Table of the mean and the largest difference of each scheme over the rows of all data sets, for both splits.

    The last column is the mean over the data sets with missing numbers, which are not in the other columns.
    """
    rows = []
    for scheme, of_scheme in figures[~figures["scheme"].isin(REPEATED)].groupby("scheme", sort=False):
        cells = [str(scheme)]
        for lacking, inside in ((False, False), (False, True), (True, True)):
            missing = of_scheme["data"].isin(MISSING_NUMBERS)
            part = of_scheme[(of_scheme["extremes in training"] == inside) & (missing == lacking)]
            mean = np.average(part["mean difference"], weights=part["rows"])
            cells += [f"{mean:.1e}", f"{part['largest difference'].max():.1e}"]
        rows.append(cells[:-1])
    head = ["", "mean", "largest", "mean, same ranges", "largest, same ranges", "mean, same ranges, missing numbers"]
    return markdown(head, rows)


def main() -> None:
    parser = weka_parser(__doc__, SETS)
    parser.add_argument("--schemes", nargs="+", choices=list(schemes()))
    parser.add_argument("--output", type=Path, help="csv file of all figures")
    given = parser.parse_args()
    java = java_of(given.weka)
    parts = []
    for name in given.sets:
        parts.append(compare(name, java, given.weka, given.schemes))
        print(parts[-1].round(7).to_string(index=False), file=sys.stderr, flush=True)
    table = pd.concat(parts)
    if given.output is not None:
        columns = ["data", *[column for column in table if column != "data"]]
        table[columns].to_csv(given.output, index=False, float_format="%.8g", lineterminator="\n")
    print(f"per cent of rows on which both programs predict the same, to {EQUAL:g} standard deviations of the target\n")
    print(equal_rows(table, extremes_in_training=False), "\n\nthe same with extreme rows in training\n")
    print(equal_rows(table, extremes_in_training=True), "\n\ndifferences in standard deviations\n")
    print(differences(table), "\n")
    complete = [name.removeprefix("r-") for name in given.sets if not load_table(name)[0].isna().any(axis=None)]
    same = table[table["extremes in training"] & table["data"].isin(complete)].set_index("scheme")
    for scheme, wanted in WANTED.items():
        if scheme in same.index:
            part = same.loc[[scheme]]
            verdict(f"{scheme}, same ranges", np.average(part["equal"], weights=part["rows"]), wanted)


if __name__ == "__main__":
    main()
