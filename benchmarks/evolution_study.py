"""All 15 combinations of selection and weighting on ten data sets, and fronts beside single runs.

Five standard and five imbalanced sets of the data directory (WEIGHBORS_DATA), 3 stratified folds,
features standardised inside each fold, population 100, 10 000 evaluations (paper 004, section 4);
imbalanced sets by G-mean, without and with random undersampling in front. Every finished cell is a
row of docs/results/evolution.csv at once: started again, the study goes on where it stopped.

    python benchmarks/evolution_study.py                  # all cells
    python benchmarks/evolution_study.py --cells 20       # the next 20
    python benchmarks/evolution_study.py --table          # the table of what is there
    python benchmarks/evolution_study.py --pareto         # docs/results/evolution_pareto.csv
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

import weighbors as wb
from weighbors.datasets import load_dataset
from weighbors.metrics import g_mean
from weighbors.weighers.evolution import hypervolume, non_dominated_ranks

STANDARD = ["ionosphere", "wdbc", "australian", "pima", "vehicle"]
IMBALANCED = ["ecoli3", "yeast-2_vs_4", "abalone9-18", "winequality-red-8_vs_6", "yeast4"]
TASKS = ["+".join(c) for size in range(1, 5) for c in combinations(("IS", "FS", "IW", "FW"), size)]
FOLDS, POPULATION, EVALUATIONS = 3, 100, 10_000
RESULTS = Path(__file__).parents[1] / "docs" / "results"
KEY = ["data", "tasks", "undersample", "fold"]


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    data = load_dataset(name, "D_uci" if name in STANDARD else "D_imbalanced")
    table = pd.get_dummies(data.X, dtype=float)
    return table.to_numpy(dtype=np.float32), np.asarray(data.y)


def cells() -> Iterator[tuple[str, str, bool, int]]:
    for fold in range(FOLDS):  # a first fold of everything says most
        for name in STANDARD + IMBALANCED:
            for undersample in (False, True) if name in IMBALANCED else (False,):
                for tasks in ["none", *TASKS]:
                    yield name, tasks, undersample, fold


def run(name: str, tasks: str, undersample: bool, fold: int, n_jobs: int) -> dict[str, object]:
    X, y = load(name)
    train, test = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))[fold]
    scaler = StandardScaler().fit(X[train])
    how = "g_mean" if name in IMBALANCED else "accuracy"
    weigher, begun = None, time.perf_counter()
    row: dict[str, object] = {"reduction": 0.0, "evaluations": 0}
    if tasks != "none" or undersample:
        weigher = wb.EvolutionaryWeigher(
            "FS" if tasks == "none" else tasks,
            how,
            population_size=POPULATION,
            max_evaluations=POPULATION if tasks == "none" else EVALUATIONS,
            undersample=undersample,
            random_state=fold,
            n_jobs=n_jobs,
        ).fit(scaler.transform(X[train]), y[train])
        row = {"reduction": weigher.reduction_, "evaluations": weigher.n_evaluations_, "fitness": weigher.fitness_}
    seconds = time.perf_counter() - begun
    weights = None if weigher is None else weigher.weights_
    if tasks == "none" and weigher is not None:  # undersampling alone
        weights = wb.Weights(instance_mask=weigher.instance_support_)
        row = {"reduction": 1 - weigher.instance_support_.mean(), "evaluations": 0}
    model = wb.WeightedKNeighborsClassifier(1, weigher=weights).fit(scaler.transform(X[train]), y[train])
    told = model.predict(scaler.transform(X[test]))
    score = g_mean(y[test], told) if how == "g_mean" else accuracy_score(y[test], told)
    return {
        **dict(zip(KEY, (name, tasks, undersample, fold), strict=True)),
        "measure": how,
        "score": round(float(score), 6),
        **{key: round(float(value), 6) for key, value in row.items()},
        "seconds": round(seconds, 3),
        "version": wb.__version__,
    }


def study(limit: int | None, n_jobs: int) -> None:
    path = RESULTS / "evolution.csv"
    done = set()
    if path.exists():
        done = set(pd.read_csv(path)[KEY].astype(str).itertuples(index=False, name=None))
    left = [cell for cell in cells() if tuple(map(str, cell)) not in done]
    for number, cell in enumerate(left[:limit]):
        row = run(*cell, n_jobs)
        columns = [*KEY, "measure", "score", "reduction", "fitness", "evaluations", "seconds", "version"]
        pd.DataFrame([row]).reindex(columns=columns).to_csv(path, mode="a", header=not path.exists(), index=False)
        print(f"{number + 1}/{len(left)} {row}", file=sys.stderr, flush=True)


def table() -> None:
    found = pd.read_csv(RESULTS / "evolution.csv")
    for (measure, undersample), part in found.groupby(["measure", "undersample"]):
        per_set = part.groupby(["tasks", "data"])[["score", "reduction", "seconds"]].mean()
        rank = per_set["score"].groupby("data").rank(ascending=False).groupby("tasks").mean()
        shown = per_set.groupby("tasks").mean().assign(rank=rank, cells=part.groupby("tasks").size())
        title = f"{measure}, {'undersampled, ' if undersample else ''}{part['data'].nunique()} sets"
        print(f"\n{title}\n\n| tasks | {measure} | mean rank | reduction | seconds |\n|---|---|---|---|---|")
        for tasks in [t for t in ["none", *TASKS] if t in shown.index]:
            score, reduction, seconds, rank, _ = shown.loc[tasks]
            print(f"| {tasks} | {100 * score:.1f} | {rank:.1f} | {100 * reduction:.1f} | {seconds:.1f} |")


def pareto(n_jobs: int, evaluations: int = 1000) -> None:
    """One front beside 15 single runs of other α, which together cost the same evaluations."""
    grid = [(a, b) for a in (0.1, 0.3, 0.5, 0.7, 0.9) for b in (0.2, 0.5, 0.8)]
    alphas = [(a, (1 - a) * b, (1 - a) * (1 - b)) for a, b in grid]
    path, reference = RESULTS / "evolution_pareto.csv", np.array([1.0, 1.0, 1.0])
    done = set(pd.read_csv(path)["data"]) if path.exists() else set()
    for name in [name for name in STANDARD if name not in done]:
        X, y = load(name)
        X = StandardScaler().fit_transform(X)
        options = {"population_size": POPULATION, "random_state": 0, "n_jobs": n_jobs}
        several = wb.EvolutionaryWeigher(
            "IS+FS", objective="pareto", max_evaluations=evaluations * len(alphas), **options
        ).fit(X, y)
        front = several.pareto_front_[["error", "instances", "features"]].to_numpy()
        points = []
        for alpha in alphas:
            one = wb.EvolutionaryWeigher("IS+FS", alphas=alpha, max_evaluations=evaluations, **options).fit(X, y)
            points.append([1 - one.performance_, one.instance_support_.mean(), one.feature_support_.mean()])
        single = np.array(points)
        row = {
            "data": name,
            "evaluations": evaluations * len(alphas),
            "pareto": hypervolume(front, reference),
            "pareto points": len(front),
            "15 single runs": hypervolume(single, reference),
            "single points": int((non_dominated_ranks(single) == 0).sum()),
        }
        print(row, flush=True)
        pd.DataFrame([row]).round(4).to_csv(path, mode="a", header=not path.exists(), index=False)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, help="stop after so many cells")
    parser.add_argument("--table", action="store_true", help="print the table of finished cells")
    parser.add_argument("--pareto", action="store_true", help="fronts beside single runs")
    parser.add_argument("--n-jobs", type=int, default=2)
    given = parser.parse_args()
    if given.table:
        table()
    elif given.pareto:
        pareto(given.n_jobs)
    else:
        study(given.cells, given.n_jobs)
