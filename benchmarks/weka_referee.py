"""Do IB1, IBk, LWL and KStar predict what Weka's programs predict, fold by fold?

Weka (Debian package ``weka``, with Java) is an independent referee: neither users nor the tests need
it. Every fold is written as ARFF, one JVM runs one scheme on it, and predictions are compared.

    python benchmarks/weka_referee.py [--weka /usr/share/java/weka.jar] [--sets tae haberman ...] [--repeats 1]
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import verdict
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import weighbors as wb
from weighbors.datasets import load_dataset

#: group, neighbours of IBk (those of paper 002 where it has the set)
SETS = {
    "balance-scale": ("B_wibk", 24),
    "haberman": ("B_wibk", 27),
    "tae": ("B_wibk", 1),
    "glass": ("C_uci", 5),
    "vehicle": ("C_uci", 5),
    "breast-cancer-wisconsin": ("B_wibk", 5),  # 16 numbers missing
    "breast-cancer-ljubljana-286": ("A_uci", 5),  # categories, 9 of them missing
}
WANTED = {"IBk": 99.0, "KStar": 98.0, "LWL": 97.0}


def schemes(k: int) -> dict[str, tuple[Any, list[str]]]:
    """Our estimator, and Weka's class with its options."""
    lazy = "weka.classifiers.lazy."
    bayes = ["-W", "weka.classifiers.bayes.NaiveBayes"]
    return {
        "IB1": (wb.IB1(), [lazy + "IB1"]),
        "IBk": (wb.IBk(k), [lazy + "IBk", "-K", str(k)]),
        "IBk, 1/d": (wb.IBk(k, weights="inverse"), [lazy + "IBk", "-K", str(k), "-I"]),
        "IBk, 1-d": (wb.IBk(k, weights="similarity"), [lazy + "IBk", "-K", str(k), "-F"]),
        "KStar": (wb.KStar(), [lazy + "KStar"]),
        "LWL": (wb.LWL(), [lazy + "LWL"]),
        "LWL, 30 neighbours": (wb.LWL(n_neighbors=30), [lazy + "LWL", "-K", "30"]),
        "LWL, naive Bayes": (wb.LWL("naive_bayes"), [lazy + "LWL", *bayes]),
    }


def write_arff(path: Path, X: pd.DataFrame, y: np.ndarray, declared: pd.DataFrame, classes: list[str] | None) -> None:
    """Numbers as they print exactly, categories of the whole table declared, '?' where missing.

    ``classes`` are the labels, or None if the target is numeric.
    """
    lines = ["@relation fold"]
    for j, name in enumerate(declared.columns):
        column, kind = declared[name], "numeric"
        if not pd.api.types.is_numeric_dtype(column):
            kind = "{" + ",".join(f"'{value}'" for value in column.dropna().unique()) + "}"
        lines.append(f"@attribute a{j} {kind}")
    kind = "numeric" if classes is None else "{" + ",".join(f"'{label}'" for label in classes) + "}"
    lines += [f"@attribute class {kind}", "@data"]
    for row, label in zip(X.itertuples(index=False), y, strict=True):
        cells = [
            "?" if pd.isna(value) else repr(float(value)) if isinstance(value, (int, float)) else f"'{value}'"
            for value in row
        ]
        lines.append(",".join([*cells, repr(float(label)) if classes is None else f"'{label}'"]))
    path.write_text("\n".join(lines) + "\n", encoding="utf8")


def ask_weka(java: str, jar: Path, options: list[str], train: Path, test: Path, pattern: str) -> list[str]:
    """What ``pattern`` finds in Weka's predictions, one per query."""
    # Options of a base learner come after two dashes, at the very end.
    own = options[: options.index("--")] if "--" in options else options
    files = ["-t", str(train), "-T", str(test), "-p", "0"]
    command = [java, "-Xmx1g", "-cp", str(jar), *own, *files, *options[len(own) :]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.findall(pattern, done.stdout, re.M)
    if not found:
        raise SystemExit(f"Weka gave no predictions.\n{' '.join(command)}\n{done.stderr[-2000:]}")
    return found


def run_weka(java: str, jar: Path, options: list[str], train: Path, test: Path) -> list[int]:
    """Positions of the predicted classes, -1 where Weka gives none."""
    found = ask_weka(java, jar, options, train, test, r"^\s*\d+\s+\d+:\S+\s+(\d+|\?):?\S*")
    return [-1 if position == "?" else int(position) - 1 for position in found]


def referee(name: str, java: str, jar: Path, repeats: int, only: list[str] | None) -> pd.DataFrame:
    """Agreement and both accuracies of every scheme, over all folds."""
    group, k = SETS[name]
    data = load_dataset(name, group)
    X, y = data.X, np.asarray(data.y).astype(str)
    classes, codes = np.unique(y, return_inverse=True)
    rows = []
    with tempfile.TemporaryDirectory() as place:
        files = Path(place) / "train.arff", Path(place) / "test.arff"
        for seed in range(repeats):
            for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
                for path, part in zip(files, (train, test), strict=True):
                    write_arff(path, X.iloc[part], y[part], X, classes.tolist())
                for label, (model, options) in schemes(k).items():
                    if only and label not in only:
                        continue
                    theirs = np.array(run_weka(java, jar, options, *files))
                    ours = np.searchsorted(classes, clone(model).fit(X.iloc[train], y[train]).predict(X.iloc[test]))
                    rows.append((label, len(test), *((a == b).sum() for a, b in
                                 ((ours, theirs), (ours, codes[test]), (theirs, codes[test])))))  # fmt: skip
    columns = ["scheme", "instances", "agree", "ours right", "Weka right"]
    table = pd.DataFrame(rows, columns=columns).groupby("scheme", sort=False).sum()
    share = 100 * table[columns[2:]].div(table["instances"], axis=0)
    return share.assign(data=name, instances=table["instances"]).reset_index()


def weka_parser(text: str, sets: list[str]) -> argparse.ArgumentParser:
    """The options of every script that asks Weka."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--weka", type=Path, default=Path("/usr/share/java/weka.jar"), help="weka.jar")
    parser.add_argument("--sets", nargs="+", choices=sets, default=sets)
    return parser


def java_of(jar: Path) -> str:
    """The Java that runs Weka, or what to install."""
    java = shutil.which("java")
    if java is None:
        raise SystemExit("Java is not on the PATH: install a Java runtime (Debian: default-jre-headless)")
    if not jar.is_file():
        raise SystemExit(f"no Weka at {jar}: install it (Debian: weka) or name weka.jar with --weka")
    return java


def main() -> None:
    parser = weka_parser(__doc__, list(SETS))
    parser.add_argument("--schemes", nargs="+", choices=list(schemes(1)))
    parser.add_argument("--repeats", type=int, default=1)
    given = parser.parse_args()
    java = java_of(given.weka)
    parts = []
    for name in given.sets:
        parts.append(referee(name, java, given.weka, given.repeats, given.schemes))
        print(parts[-1].round(2).to_string(index=False), file=sys.stderr, flush=True)
    table = pd.concat(parts)
    print("per cent of instances on which both programs say the same\n")
    print(table.pivot_table(index="scheme", columns="data", values="agree", sort=False).round(2).to_string(), "\n")
    total = (
        table.assign(agree=table["agree"] * table["instances"])
        .groupby("scheme", sort=False)[["agree", "instances"]]
        .sum()
    )
    for scheme, wanted in WANTED.items():
        if scheme in total.index:
            verdict(f"{scheme}, all instances", total.loc[scheme, "agree"] / total.loc[scheme, "instances"], wanted)


if __name__ == "__main__":
    main()
