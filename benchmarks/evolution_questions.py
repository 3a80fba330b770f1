"""Questions that paper 004 leaves open, on twelve of its standard problems, in stratified folds.

    WEIGHBORS_DATA=... python benchmarks/evolution_questions.py learners   # a tree and an SVM in place of 1-NN
    WEIGHBORS_DATA=... python benchmarks/evolution_questions.py pareto     # fronts against the weighted sum
    WEIGHBORS_DATA=... python benchmarks/evolution_questions.py margins    # class margins as goals of feature weights
    WEIGHBORS_DATA=... python benchmarks/evolution_questions.py start      # a first population spread over all sizes

All scores are accuracies on rows that were left out. Each finished cell is a row of
docs/results/ifsw_questions/QUESTION.csv at once, so a run that was stopped goes on where it ended. Features are
standardised by the training rows, categories are indicator columns, and rows with missing cells are left out, as in the
study of the paper. The searches for fronts are those of the paper (population 100, 10 000 evaluations). Trees, SVMs and
margins cost more: all searches of the question on learners have 600 evaluations of 30 individuals, in three folds, and
those of the question on margins 2000 evaluations of 50.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from weighbors import EvolutionaryWeigher, WeightedKNeighborsClassifier
from weighbors.datasets import load_dataset
from weighbors.presets.ifsw import STANDARD, SWITCHES

#: Named before the first cell was computed: the standard problems of the study with 100 to 350 rows and categories or
#: numbers, in the order of their size.
PROBLEMS = (
    "iris", "tae", "hayes-roth", "wine", "sonar", "glass", "new-thyroid", "heart-statlog", "cleveland", "haberman",
    "ecoli", "bupa",
)  # fmt: skip
RESULTS = Path(__file__).parents[1] / "docs" / "results" / "ifsw_questions"
LEARNERS: dict[str, Callable[[], Any]] = {
    "1-NN": lambda: KNeighborsClassifier(1),
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "SVM": lambda: SVC(),
}
KEY = ["dataset", "method", "fold"]
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def folds(name: str, n_folds: int) -> Iterator[Split]:
    """Training rows, their labels, test rows and their labels, standardised, for each fold of a problem."""
    data = load_dataset(name, STANDARD[name])
    table = pd.get_dummies(data.X, dtype=float)
    whole = table.notna().all(axis=1).to_numpy()
    X, y = table[whole].to_numpy(dtype=np.float32), np.asarray(data.y)[whole].astype(str)
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[train])
        yield scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def search(tasks: str, fold: int, **options: Any) -> EvolutionaryWeigher:
    """The search of the paper with the seed of a fold."""
    given = {"population_size": 100, "max_evaluations": 10_000, "random_state": fold, "n_jobs": 1, **SWITCHES}
    return EvolutionaryWeigher(tasks, **{**given, **options})


def neighbor_score(weights: Any, split: Split) -> float:
    """Accuracy of 1-NN under the weights of a search, on the test rows."""
    X, y, X_test, y_test = split
    return WeightedKNeighborsClassifier(1, weights).fit(X, y).score(X_test, y_test)


def learner_score(made: Callable[[], Any], found: EvolutionaryWeigher | None, split: Split) -> float:
    """Accuracy of a learner on the test rows, trained with the rows, columns and weights that a search found."""
    X, y, X_test, y_test = split
    if found is None:
        return made().fit(X, y).score(X_test, y_test)
    rows, columns = found.instance_support_, found.feature_support_
    factors = found.feature_weights_[columns]
    X, y, X_test = X[rows][:, columns] * factors, y[rows], X_test[:, columns] * factors
    if len(np.unique(y)) < 2:  # a selection may lose all classes but one
        return float(np.mean(y_test == y[0]))
    return made().fit(X, y).score(X_test, y_test)


def learners() -> Iterator[tuple[str, str, int, Callable[[], dict[str, Any]]]]:
    """Do the conclusions hold for a tree and an SVM? And does a selection made for 1-NN suit them?"""
    budget = {"population_size": 30, "max_evaluations": 600}
    for name in PROBLEMS[:10]:
        for fold, split in enumerate(folds(name, 3)):
            for learner, made in LEARNERS.items():
                for tasks in ("none", "IS", "FS", "FW", "IS+FS", "IS+FS by 1-NN"):
                    if learner == "1-NN" and tasks == "IS+FS by 1-NN":
                        continue  # it is the same as IS+FS

                    def cell(made: Any = made, tasks: str = tasks, fold: int = fold, split: Split = split) -> Any:
                        own = None if made is LEARNERS["1-NN"] or tasks.endswith("1-NN") else made()
                        found = None
                        if tasks != "none":
                            found = search(tasks.split(" ")[0], fold, estimator=own, **budget).fit(*split[:2])
                        score = learner_score(made, found, split)
                        return {"score": score, "reduction": 0.0 if found is None else found.reduction_}

                    yield name, f"{learner}: {tasks}", fold, cell


def pareto() -> Iterator[tuple[str, str, int, Callable[[], dict[str, Any]]]]:
    """Are the trade-offs of a front better on rows left out than the weighted sum with as many evaluations?"""
    for name in PROBLEMS:
        for fold, split in enumerate(folds(name, 10)):

            def single(fold: int = fold, split: Split = split) -> Any:
                found = search("IS+FS", fold).fit(*split[:2])
                return row_of(found, split)

            yield name, "weighted sum", fold, single

            def front(choice: str, fold: int = fold, split: Split = split) -> Any:
                found = search("IS+FS", fold, objective="pareto").fit(*split[:2])
                goals = found.pareto_front_
                worth = {
                    "front, best weighted sum": 0.5 * goals["error"] + 0.25 * (goals["instances"] + goals["features"]),
                    "front, least error": goals["error"] + 1e-6 * (goals["instances"] + goals["features"]),
                }
                if choice in worth:
                    found.select(int(np.argmin(worth[choice].to_numpy())))
                return row_of(found, split)

            for choice in ("front, knee", "front, best weighted sum", "front, least error"):
                yield name, choice, fold, lambda front=front, choice=choice: front(choice)


def row_of(found: EvolutionaryWeigher, split: Split) -> dict[str, Any]:
    """What a search found: its scores on test and training rows, and the shares of rows and columns kept."""
    return {
        "score": neighbor_score(found.weights_, split),
        "training": found.performance_,
        "reduction": found.reduction_,
        "instances": found.instance_support_.mean(),
        "features": found.feature_support_.mean(),
    }


def margins() -> Iterator[tuple[str, str, int, Callable[[], dict[str, Any]]]]:
    """Do the class margins of paper 001 as goals give better feature weights than the accuracy?"""
    budget = {"population_size": 50, "max_evaluations": 2000}
    methods = {
        "none": None,
        "FW, accuracy": {},
        "FW, front of class margins": {"objective": "margins"},
        "FW, front of error and class margins": {"objective": ["error", "margins"]},
    }
    for name in PROBLEMS:
        for fold, split in enumerate(folds(name, 10)):
            for method, options in methods.items():

                def cell(options: Any = options, fold: int = fold, split: Split = split) -> Any:
                    if options is None:
                        return {"score": neighbor_score(None, split)}
                    return row_of(search("FW", fold, **budget, **options).fit(*split[:2]), split)

                yield name, method, fold, cell


def start() -> Iterator[tuple[str, str, int, Callable[[], dict[str, Any]]]]:
    """Is a search better that begins with small and large selections instead of halves?"""
    for name in PROBLEMS:
        for fold, split in enumerate(folds(name, 10)):
            for tasks in ("IS", "IS+FS", "IS+FW"):
                for kind in ("half", "spread"):

                    def cell(tasks: str = tasks, kind: str = kind, fold: int = fold, split: Split = split) -> Any:
                        found = search(tasks, fold, start=kind).fit(*split[:2])
                        return {"fitness": found.fitness_, **row_of(found, split)}

                    yield name, f"{tasks}: {kind}", fold, cell


QUESTIONS = {"learners": learners, "pareto": pareto, "margins": margins, "start": start}


def run(question: str, limit: int | None) -> None:
    """Compute the cells that the csv file lacks."""
    path = RESULTS / f"{question}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    done = set(pd.read_csv(path)[KEY].astype(str).itertuples(index=False, name=None)) if path.exists() else set()
    columns = [*KEY, "score", "fitness", "training", "reduction", "instances", "features", "seconds"]
    made = 0
    for name, method, fold, cell in QUESTIONS[question]():
        if (name, method, str(fold)) in done:
            continue
        if made == limit:
            return
        begun = time.process_time()
        row = {"dataset": name, "method": method, "fold": fold, **cell()}
        row = {key: round(float(value), 4) if key not in KEY else value for key, value in row.items()}
        row["seconds"] = round(time.process_time() - begun, 2)
        pd.DataFrame([row]).reindex(columns=columns).to_csv(path, mode="a", header=not path.exists(), index=False)
        made += 1
        print(f"{question}: {row}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("question", choices=list(QUESTIONS))
    parser.add_argument("--cells", type=int, help="stop after so many cells")
    given = parser.parse_args()
    run(given.question, given.cells)
