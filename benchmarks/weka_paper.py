"""Weka itself on the folds of paper 002: is its table 4 Weka's first run?

Weka (Debian package ``weka``, with Java) runs the schemes of the table on every fold; printed are the
paper's figure, Weka's and ours, each the mean over the ten folds.

    python benchmarks/weka_paper.py [--weka /usr/share/java/weka.jar] [--sets tae haberman ...]
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import verdict
from sklearn.base import clone
from weka_referee import java_of, run_weka, schemes, weka_parser, write_arff

from weighbors.presets import load_preset, wibk
from weighbors.presets._weka_folds import WekaFolds

#: The paper's column of each scheme.
COLUMNS = {
    "IB1": "IB1",
    "IBk": "IB-K",
    "IBk, 1/d": "dwIB-K (1/d)",
    "IBk, 1-d": "dwIB-K (1-d)",
    "KStar": "K*",
    "LWL, all but the farthest": "LWL",
}


def scheme(label: str, k: int, n_train: int) -> tuple[Any, list[str]]:
    """Our estimator, and Weka's class with its options."""
    if COLUMNS[label] == "LWL":
        return wibk.AllButFarthest(), ["weka.classifiers.lazy.LWL", "-K", str(n_train - 1)]
    return schemes(k)[label]


def paper_folds(name: str, java: str, jar: Path) -> pd.DataFrame:
    """The paper's figures of one data set, Weka's and ours."""
    problem = wibk.PROBLEMS[name]
    data = load_preset("wibk").build(False, None).datasets[name]()
    X, y = data.X, data.y
    classes, codes = np.unique(y, return_inverse=True)
    right: dict[str, list[tuple[float, float]]] = {label: [] for label in COLUMNS}
    with tempfile.TemporaryDirectory() as place:
        files = Path(place) / "train.arff", Path(place) / "test.arff"
        for train, test in WekaFolds(10, 1, mixed=True).split(X, y):
            for path, part in zip(files, (train, test), strict=True):
                write_arff(path, X.iloc[part], y[part], X, classes.tolist())
            for label, pairs in right.items():
                model, options = scheme(label, problem.k, len(train))
                theirs = np.array(run_weka(java, jar, options, *files))
                ours = clone(model).fit(X.iloc[train], y[train]).predict(X.iloc[test])
                pairs.append((np.mean(theirs == codes[test]), np.mean(ours == y[test])))
    rows = [
        (problem.short, COLUMNS[label], label, problem.paper[COLUMNS[label]], *100 * np.mean(pairs, axis=0))
        for label, pairs in right.items()
    ]
    return pd.DataFrame(rows, columns=["data", "column", "scheme", "paper", "Weka", "ours"])


def main() -> None:
    given = weka_parser(__doc__, list(wibk.PROBLEMS)).parse_args()
    java = java_of(given.weka)
    parts = []
    for name in given.sets:
        parts.append(paper_folds(name, java, given.weka))
        print(parts[-1].to_string(index=False, header=len(parts) == 1, float_format="%.3f"), flush=True)
    table = pd.concat(parts)
    for who in ("Weka", "ours"):
        same = wibk.to_the_digit(table[who], table["paper"])
        print(f"{who}: the paper's figure to the digit in {same.sum()} of {len(table)} cells")
        if who == "Weka":
            verdict("LWL of Weka, share of data sets", same[table["column"] == "LWL"].mean(), 1.0)


if __name__ == "__main__":
    main()
