"""Studies: data sets × methods × outer folds. Plan → run → results."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from .._checks import whole_number
from .._names import known_names
from .._results import Result
from .._threads import effective_n_jobs
from ..exceptions import InvalidDataError
from ._arguments import as_data, check_measures, check_scoring, methods_of, named_data
from ._cell import Cell, Job, StudyData, versions
from ._definition import described, digest, digest_of_rows, table_digest
from ._fitting import Fold, folds_of, seed_of
from ._lanes import Task, run_here, run_lanes
from ._progress import Progress
from ._store import SCHEMA, Store
from .results import StudyResults, read_results

__all__ = ["Study", "StudyData"]


class Study(Result):
    """Data sets × methods × outer folds, computed cell by cell and kept in a directory.

    A cell is one method on one fold of one data set. It is fitted to the training rows of the fold
    only, and written whole to the store as soon as it is known: scores, predictions, weights,
    selected features, seconds, seed and versions, or the failure with its traceback. `run` computes
    the cells that are not there yet, so a study that was stopped, or got another method, goes on
    where it was.

    Parameters
    ----------
    datasets : mapping of name to data, or sequence of names
        Data are ``(X, y)``, ``(X, y, groups)``, a `StudyData`, a `weighbors.datasets.Dataset`, or
        a function without arguments that returns one of these. A name alone, in a sequence or as a
        value, is loaded by `weighbors.datasets.load_dataset`.
    methods : mapping of name to estimator, or function of a data set's name that returns one
        Classifiers, pipelines that end in one, or weighers. Scale features inside a pipeline. A
        function gives data sets methods of their own (another number of neighbours, say).
    store : path
        Directory of the study. Made where it does not exist.
    cv : int, splitter or iterable of (train, test), default=10
        Outer folds: a number means stratified ones, of whole groups where there are groups.
    n_repeats : int, default=1
        Repetitions of a number of folds, each shuffled anew.
    scoring : str or sequence of str, default="accuracy"
        "accuracy", "balanced_accuracy", "error_rate", "f1_macro", "g_mean", or a scorer of scikit-learn.
    measures : mapping of name to function, optional
        Further numbers of each cell: ``function(model, X_train, y_train, X_test, y_test)``.
    time_limit : float, optional
        Seconds a cell may take. One that takes longer is stopped and counts as failed.
    random_state : int, default=0
        Root of the seeds of folds and cells. A method's open ``random_state`` gets the seed of its
        cell; one that is given stays.
    executor : {"local", "dask"}, default="local"
        Who computes cells: processes of this machine, or the workers of a Dask cluster (extra
        ``weighbors[dask]``), which must see ``store`` on a shared disk.
    client : distributed.Client, optional
        With "dask". None: the client that is active.

    Notes
    -----
    What a cell is known by is a digest of its data, method with all parameters, rows, seed and
    scoring: change any of them and the cell is computed anew, the others are kept. Several processes
    may run on one store, also on a shared disk: each starts at a random place and skips what it
    finds done; cells computed twice are equal, and the last one stays.

    With ``n_jobs=1`` and no time limit cells run in this process. Otherwise each of ``n_jobs`` worker
    processes computes one cell at a time on one thread; a worker that hangs is killed and replaced.
    On a cluster each thread of a Dask worker has such a process; cells of a worker that dies go to
    another.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris, load_wine
    >>> from weighbors import ReliefF, WeightedKNeighborsClassifier
    >>> from weighbors.evaluation import Study
    >>> study = Study(
    ...     {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)},
    ...     {"plain": WeightedKNeighborsClassifier(5), "ReliefF": WeightedKNeighborsClassifier(5, ReliefF())},
    ...     tempfile.mkdtemp(), cv=5,
    ... )
    >>> results = study.run()
    >>> results
    Results of a study: 2 data sets × 2 methods, 20 cells
      20 done
    >>> results.table("accuracy").round(2)
    method   ReliefF  plain
    dataset
    iris        0.95   0.97
    wine        0.69   0.71
    """

    def __init__(
        self,
        datasets: Any,
        methods: Mapping[str, Any] | Callable[[str], Mapping[str, Any]],
        store: str | os.PathLike[str],
        *,
        cv: Any = 10,
        n_repeats: int = 1,
        scoring: str | Iterable[str] = "accuracy",
        measures: Mapping[str, Callable[..., Any]] | None = None,
        time_limit: float | None = None,
        random_state: int = 0,
        executor: str = "local",
        client: Any = None,
    ) -> None:
        if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)):
            raise InvalidDataError(
                f"random_state of a study must be a whole number, so that it can be resumed; got {random_state!r}"
            )
        if time_limit is not None and not (isinstance(time_limit, (int, float, np.number)) and time_limit > 0):
            raise InvalidDataError(f"time_limit must be a number of seconds above 0; got {time_limit!r}")
        if executor not in ("local", "dask"):
            raise InvalidDataError(f"executor must be 'local' or 'dask'; got {executor!r}")
        if client is not None and executor != "dask":
            raise InvalidDataError("client= goes with executor='dask'")
        self.datasets = named_data(datasets)
        self._methods_of = methods_of(methods, self.datasets)
        self.methods = {name: one for own in self._methods_of.values() for name, one in own.items()}
        self.scoring = check_scoring(scoring)
        self.measures = check_measures(measures, self.scoring)
        self.store = Store(store)
        self.cv = list(cv) if isinstance(cv, Iterator) else cv
        self.n_repeats = whole_number(n_repeats, "n_repeats")
        self.time_limit = time_limit
        self.random_state = int(random_state)
        self.executor, self.client = executor, client
        self._tasks: list[Task] | None = None
        self._shapes: dict[str, dict[str, Any]] = {}
        self._loaded: tuple[str, StudyData] | None = None

    def _load(self, name: str) -> StudyData:
        """A data set by its name; the last one is kept."""
        if self._loaded is None or self._loaded[0] != name:
            self._loaded = name, as_data(name, self.datasets[name])
        return self._loaded[1]

    def _seeds(self, *names: Any) -> np.random.SeedSequence:
        """Seeds that depend on names only, not on what else is in the study."""
        return np.random.SeedSequence(int(digest([self.random_state, *names]), 16))

    def _plan(self) -> list[Task]:
        if self._tasks is None:
            self._tasks = [task for name in self.datasets for task in self._plan_of(name)]
        return self._tasks

    def _plan_of(self, name: str) -> list[Task]:
        data = self._load(name)
        self._shapes[name] = _shape(data)
        content = table_digest(data.X, np.asarray(data.y))
        shared = [SCHEMA, content, list(self.scoring), described(self.measures)]
        definitions = {method: described(estimator) for method, estimator in self._methods_of[name].items()}
        tasks = []
        for repeat, folds in enumerate(self._folds(name, data)):
            for fold, (train, test) in enumerate(folds):
                rows = digest_of_rows(train, test)
                for method, definition in definitions.items():
                    seed = seed_of(self._seeds("cell", name, method, repeat, fold))
                    known_by = [shared, name, method, definition, repeat, fold, rows, seed]
                    tasks.append(Task(Cell(digest(known_by), name, method, repeat, fold, seed), train, test))
        return tasks

    def _folds(self, name: str, data: StudyData) -> list[list[Fold]]:
        y = np.asarray(data.y)
        seeds = self._seeds("folds", name)
        if data.splits is not None:
            return folds_of(data.splits, data.X, y, data.groups, seeds=seeds)
        return folds_of(self.cv, data.X, y, data.groups, n_repeats=self.n_repeats, seeds=seeds)

    def plan(self) -> pd.DataFrame:
        """One row per cell: data set, method, repeat, fold, rows, seed, and what the store has of it."""
        rows = [
            {
                "dataset": cell.dataset,
                "method": cell.method,
                "repeat": cell.repeat,
                "fold": cell.fold,
                "n_train": len(train),
                "n_test": len(test),
                "seed": cell.seed,
                "status": self.store.status(cell.identity),
                "id": cell.identity,
            }
            for cell, train, test in self._plan()
        ]
        return pd.DataFrame(rows)

    def run(
        self,
        n_jobs: int | None = None,
        *,
        retry_failed: bool = False,
        datasets: Iterable[str] | None = None,
        methods: Iterable[str] | None = None,
        progress: bool | None = False,
    ) -> StudyResults:
        """Compute the cells that are not in the store yet.

        Parameters
        ----------
        n_jobs : int or None, default=None
            Worker processes, as joblib understands it. On a cluster: cells under way at once; None: as many
            as keep all threads of all workers busy.
        retry_failed : bool, default=False
            Compute failed cells again, too.
        datasets, methods : iterable of names, optional
            Only these.
        progress : bool or None, default=False
            A bar on stderr. None: where stderr is a terminal.

        Returns
        -------
        StudyResults
            Of the whole study, also written to the store as ``results.parquet`` or ``results.csv``.
        """
        wanted = self._wanted(datasets, methods)
        self.store.open()
        self.store.write_study(self._description())
        done = {"done"} if retry_failed else {"done", "failed"}
        todo = [(task, self._written(task)) for task in wanted if self.store.status(task.cell.identity) not in done]
        n_workers = min(effective_n_jobs(n_jobs), max(1, len(todo)))
        job = Job(self._methods_of, self.scoring, self.measures)
        with Progress(len(wanted), len(wanted) - len(todo), wanted=progress) as bar:
            tasks = self._still_open(todo, bar)
            if self.executor == "dask" and todo:
                self._run_on_cluster(tasks, job, bar, n_jobs)
            elif n_workers == 1 and self.time_limit is None:
                run_here(tasks, job, self._load, self.store, bar.tell)
            elif todo:
                load = _Once(self._load)
                run_lanes(tasks, job, load, self.store, bar.tell, n_jobs=n_workers, limit=self.time_limit)
        results = self.results()
        results.save_in(self.store.path)
        return results

    def _run_on_cluster(self, tasks: Iterator[Task], job: Job, bar: Progress, n_jobs: int | None) -> None:
        from ._dask import run_on_cluster

        if n_jobs is not None and n_jobs < 1:
            raise InvalidDataError(f"on a cluster n_jobs must be at least 1, or None for all of it; got {n_jobs}")
        run_on_cluster(
            tasks, job, self._load, self.store, bar.tell, client=self.client, n_jobs=n_jobs, limit=self.time_limit
        )

    def _written(self, task: Task) -> int | None:
        """When the file of a cell was written."""
        try:
            return self.store.cell(task.cell.identity).stat().st_mtime_ns
        except FileNotFoundError:
            return None

    def _still_open(self, todo: list[tuple[Task, int | None]], bar: Progress) -> Iterator[Task]:
        """Tasks from a random place on, without those another process has written since they were listed."""
        start = int.from_bytes(os.urandom(4), "little") % max(1, len(todo))
        for task, listed in todo[start:] + todo[:start]:
            if self._written(task) in (None, listed):
                yield task
            else:
                bar.tell(self.store.status(task.cell.identity))

    def _wanted(self, datasets: Iterable[str] | None, methods: Iterable[str] | None) -> list[Task]:
        chosen = [known_names(datasets, self.datasets, "data set"), known_names(methods, self.methods, "method")]
        return [task for task in self._plan() if task.cell.dataset in chosen[0] and task.cell.method in chosen[1]]

    def _description(self) -> dict[str, Any]:
        cells = [task.cell for task in self._plan()]
        return {
            "versions": versions(),
            "random_state": self.random_state,
            "scoring": list(self.scoring),
            "measures": sorted(self.measures),
            "datasets": self._shapes,
            "methods": {name: described(own) for name, own in self._methods_of.items()},
            "cells": {cell.identity: _place(cell) for cell in cells},
        }

    def results(self) -> StudyResults:
        """What the store has of this study now."""
        cells = {task.cell.identity: _place(task.cell) for task in self._plan()}
        return read_results(self.store, cells, self._shapes)

    def frame(self) -> pd.DataFrame:
        """The plan."""
        return self.plan()

    def _lines(self) -> list[str]:
        limit = "" if self.time_limit is None else f", at most {self.time_limit:g} s per cell"
        return [
            f"Study of {len(self.datasets)} data sets × {len(self.methods)} methods in '{self.store.path}'",
            f"  data sets: {', '.join(self.datasets)}",
            f"  methods: {', '.join(self.methods)}",
            f"  scores: {', '.join([*self.scoring, *self.measures])}; seed {self.random_state}{limit}",
        ]


class _Once:
    """Loads a data set for several lanes, one at a time."""

    def __init__(self, load: Callable[[str], StudyData]) -> None:
        self.load, self.lock = load, threading.Lock()

    def __call__(self, name: str) -> StudyData:
        with self.lock:
            return self.load(name)


def _shape(data: StudyData) -> dict[str, Any]:
    columns = [str(column) for column in data.X.columns] if hasattr(data.X, "columns") else None
    return {"n_samples": int(data.X.shape[0]), "n_features": int(data.X.shape[1]), "feature_names": columns}


def _place(cell: Cell) -> list[Any]:
    return [cell.dataset, cell.method, cell.repeat, cell.fold]
