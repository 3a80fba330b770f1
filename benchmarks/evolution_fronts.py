"""One front of trade-offs beside 15 single searches of other α, which together cost as many evaluations.

Five standard problems of the data directory (WEIGHBORS_DATA), features standardised. The hypervolume is the volume
between the trade-offs (error, share of instances, share of features) and the point (1, 1, 1). Every finished problem
is a row of docs/results/evolution_pareto.csv at once: started again, the script goes on where it stopped.

    python benchmarks/evolution_fronts.py
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from pymoo.indicators.hv import HV
from sklearn.preprocessing import StandardScaler

import weighbors as wb
from weighbors.datasets import load_dataset
from weighbors.weighers.evolution.pareto import non_dominated_ranks

PROBLEMS = ["ionosphere", "wdbc", "australian", "pima", "vehicle"]
POPULATION, EVALUATIONS = 100, 1000
RESULTS = Path(__file__).parents[1] / "docs" / "results"


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows with categories as indicator columns, standardised, and labels."""
    data = load_dataset(name, "D_uci")
    table = pd.get_dummies(data.X, dtype=float).to_numpy(dtype=np.float32)
    return StandardScaler().fit_transform(table), np.asarray(data.y)


def compare(name: str, n_jobs: int) -> dict[str, object]:
    """Hypervolumes of the front and of the single searches on a problem, and their numbers of trade-offs."""
    grid = [(a, b) for a in (0.1, 0.3, 0.5, 0.7, 0.9) for b in (0.2, 0.5, 0.8)]
    alphas = [(a, (1 - a) * b, (1 - a) * (1 - b)) for a, b in grid]
    hypervolume = HV(ref_point=np.ones(3))
    X, y = load(name)
    options = {"population_size": POPULATION, "random_state": 0, "n_jobs": n_jobs}
    several = wb.EvolutionaryWeigher("IS+FS", objective="pareto", max_evaluations=EVALUATIONS * len(alphas), **options)
    front = several.fit(X, y).pareto_front_[["error", "instances", "features"]].to_numpy()
    row: dict[str, object] = {
        "data": name,
        "evaluations": EVALUATIONS * len(alphas),
        "pareto": hypervolume(front),
        "pareto points": len(front),
    }
    for start in ("half", "spread"):
        points = []
        for alpha in alphas:
            one = wb.EvolutionaryWeigher("IS+FS", alphas=alpha, max_evaluations=EVALUATIONS, start=start, **options)
            one.fit(X, y)
            points.append([1 - one.performance_, one.instance_support_.mean(), one.feature_support_.mean()])
        single = np.array(points)
        row[f"15 single, {start}"] = hypervolume(single)
        row[f"points, {start}"] = int((non_dominated_ranks(single) == 0).sum())
    return row


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-jobs", type=int, default=2)
    given = parser.parse_args()
    path = RESULTS / "evolution_pareto.csv"
    done = set(pd.read_csv(path)["data"]) if path.exists() else set()
    for name in [name for name in PROBLEMS if name not in done]:
        row = compare(name, given.n_jobs)
        print(row, flush=True)
        pd.DataFrame([row]).round(4).to_csv(path, mode="a", header=not path.exists(), index=False)
