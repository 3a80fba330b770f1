"""What the study runner costs beyond its cells, how fast stored cells load, how long quick presets take."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from harness import verdict
from sklearn.base import BaseEstimator, ClassifierMixin

from weighbors.evaluation import Study, load_results
from weighbors.evaluation.study.cell import Cell, write_failure
from weighbors.evaluation.study.cell_file import write_cell
from weighbors.evaluation.study.store import Store
from weighbors.exceptions import InvalidDataError
from weighbors.presets import PRESETS, run_preset


class Nothing(ClassifierMixin, BaseEstimator):
    """A classifier that returns the first label at once, with weights for its features."""

    def __init__(self, number=0):
        self.number = number

    def fit(self, X, y):
        self.classes_, self.feature_weights_ = np.unique(y), np.ones(X.shape[1])
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


def timed(n_jobs: int, repeats: int) -> tuple[int, float]:
    """Number of cells of a fresh study, and the seconds that they did not need, over all workers."""
    X, y = np.random.default_rng(0).normal(size=(100, 20)), np.arange(100) % 2
    methods = {f"method {i}": Nothing(i) for i in range(10)}
    with tempfile.TemporaryDirectory() as place:
        study = Study({"data": (X, y)}, methods, Path(place) / "runs", cv=10, n_repeats=repeats)
        begin = time.perf_counter()
        frame = study.run(n_jobs).frame()
        total = time.perf_counter() - begin
    return len(frame), n_jobs * total - float((frame["fit_seconds"] + frame["predict_seconds"]).sum())


def overhead(n_jobs: int) -> None:
    """Overhead per cell without the start of the workers: a study of 200 cells against one of 2 000."""
    (few, short), (many, long) = (timed(n_jobs, repeats) for repeats in (2, 20))
    slope = (long - short) / (many - few)
    where = "in this process" if n_jobs == 1 else f"{n_jobs} worker processes"
    verdict(f"ms of overhead per cell, {where}", 1e3 * slope, 5, at_most=True)
    print(f"      seconds to start: {max(0.0, short - few * slope) / n_jobs:.2f}")


def loading(n: int = 10_000, features: int = 50, rows: int = 20) -> None:
    """Write n cells with weights and predictions, one of them failed, and load them."""
    with tempfile.TemporaryDirectory() as place:
        store = Store(place)
        store.open()
        cells = {f"{i:032x}": [f"data {i // 1000}", f"method {i % 10}", 0, i // 10 % 100] for i in range(n)}
        arrays = {
            "rows": np.arange(rows, dtype=np.int32),
            "predictions": np.zeros(rows, np.int32),
            "weights": np.ones(features),
        }
        for identity, (dataset, method, repeat, fold) in cells.items():
            head = {"dataset": dataset, "method": method, "repeat": repeat, "fold": fold, "seed": 1}
            facts = {"status": "done", "scores": {"accuracy": 0.5, "g_mean": 0.5}, "fit_seconds": 0.1, "labels": [0, 1],
                     "predict_seconds": 0.1, "n_train": 180, "n_test": rows, "n_features": features, "warnings": [],
                     "measures": {}, "versions": {"weighbors": "0.1.0", "numpy": np.__version__}}  # fmt: skip
            write_cell(store.cell(identity), {**head, **facts}, arrays)
        last = Cell(identity, dataset, method, repeat, fold, 1, arrays["rows"], arrays["rows"], None, "classes")
        write_failure(last, store.cell(identity), "raised", "ValueError: no", "Traceback ...", 0.1)
        store.write_study(
            {"cells": cells, "datasets": {f"data {i}": {"feature_names": None} for i in range(n // 1000)}}
        )
        best = float("inf")
        for _ in range(3):
            begin = time.perf_counter()
            results = load_results(place)
            best = min(best, time.perf_counter() - begin)
        assert len(results.frame()) == n
        assert len(results.failures()) == 1
    verdict(f"seconds to load {n} stored cells", best, 2, at_most=True)


def quick() -> None:
    """Run the small version of every preset in this process."""
    for name in PRESETS:
        with tempfile.TemporaryDirectory() as place:
            begin = time.perf_counter()
            try:
                run_preset(name, output=place, quick=True, n_jobs=1, progress=False)
            except InvalidDataError as error:
                print(f"      {name} left out: {error}")
                continue
            verdict(f"seconds of weighbors study {name} --quick", time.perf_counter() - begin, 120, at_most=True)


if __name__ == "__main__":
    overhead(1)
    overhead(2)
    loading()
    quick()
