"""Studies: data sets × methods × outer folds. Plan → run → results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..._checks import whole_number
from ..._display.results import Result
from ..._display.status_line import ProgressBar
from ..._io.identity import describe, digest, digest_rows, digest_table
from ..._names import known_names
from ..._parallel.threads import effective_n_jobs
from ..._random import integer_seed
from ...exceptions import InvalidDataError
from ..folds import Split, make_folds
from ..targets import check_target_type, decide_target_type
from .arguments import check_measures, check_scoring, load_data, name_datasets, resolve_methods
from .cell import Cell, Scores, StudyData, package_versions
from .cell_file import SCHEMA
from .results import StudyResults, read_results
from .runner import Runner
from .scores import check_target_scores, expected_by_scores
from .store import Store


class Study(Result):
    """A study of data sets × methods × outer folds, which is computed cell by cell and stored in a directory.

    A cell is one method on one fold of one data set. The method is fitted to the training rows of the fold only. Each
    cell is written to the store, in an atomic write, as soon as it is computed. It holds scores, predictions, weights,
    selected features, seconds, seed and versions, or the failure with its traceback. `run` computes only the cells that
    are not in the store yet. So a study that was stopped, or got a further method, continues.

    Parameters
    ----------
    datasets : mapping of name to data, or sequence of names
        Data are ``(X, y)``, ``(X, y, groups)``, a `StudyData`, a `weighbors.datasets.Dataset`, or
        a function without arguments that returns one of these forms. A data set that is given by
        its name only is loaded by `weighbors.datasets.load_dataset`; if the directory of data sets has no such name, or
        none is set, the names of `weighbors.datasets.builtin_names` such as "iris" and "wine" are known, too.
    methods : mapping of name to estimator, or function of a data set's name that returns one
        Classifiers or regressors, pipelines that end in one of them, or weighers. Scale features inside a pipeline.
        With a function, data sets can have different methods, for example different numbers of neighbours.
    store : path
        Directory of the study. It is created if it does not exist.
    cv : int, splitter or iterable of (train, test), default=10
        Outer folds. A number means folds that are stratified by class, or by up to ten quantile bins of a numeric
        target. They keep groups whole if the data set has groups.
    n_repeats : int, default=1
        Number of repetitions if ``cv`` is a number. Rows are shuffled again in each repetition.
    scoring : str or sequence of str, default="accuracy"
        For classes "accuracy", "balanced_accuracy", "error_rate", "f1_macro", "g_mean"; for numeric targets "r2",
        "rmse", "mae"; or a scorer of scikit-learn.
    measures : mapping of name to function, optional
        Functions that compute further numbers of each cell: ``function(model, X_train, y_train, X_test, y_test)``.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What the targets of the data sets are. "auto": numeric if all scores are those of numbers, otherwise floats with
        a fraction or with many values are numbers. Weighers with ``target_type="auto"`` are set to it.
    random_state : int, default=0
        Seed from which the seeds of folds and cells are derived. If the ``random_state`` of a method is None, it is set
        to the seed of the cell. Any other value is not changed.
    executor : {"local", "dask"}, default="local"
        "local": cells are computed on this computer. "dask": the workers of a Dask cluster compute them (extra
        ``weighbors[dask]``), and ``store`` must be on a disk that all workers share.
    client : distributed.Client, optional
        Client of the Dask cluster. None means the active client.

    Notes
    -----
    A cell is identified by a digest of its data, method with all parameters, rows, seed and
    scoring. If one of these changes, the cell is computed again, and other cells are kept. Several processes may run on
    one store, also on a shared disk. Each process starts at a random cell and skips cells that are done. If two
    processes compute the same cell, their results are equal, and the last one is kept.

    With ``n_jobs=1`` cells run in this process. Otherwise each of ``n_jobs`` worker processes computes one cell at a
    time with one thread, and so does each worker of a cluster. If a worker dies, for example because memory is full,
    the cells that may have been under way are computed again, each alone, and LostWorkerWarning says so. A cell that
    kills its worker again is a failed cell.

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
        target_type: str = "auto",
        random_state: int = 0,
        executor: str = "local",
        client: Any = None,
    ) -> None:
        if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)):
            raise InvalidDataError(
                f"random_state of a study must be a whole number, so that it can be resumed; got {random_state!r}"
            )
        if executor not in ("local", "dask"):
            raise InvalidDataError(f"executor must be 'local' or 'dask'; got {executor!r}")
        if client is not None and executor != "dask":
            raise InvalidDataError("client= goes with executor='dask'")
        self.datasets = name_datasets(datasets)
        self._methods_of = resolve_methods(methods, self.datasets)
        self.methods = {name: one for own in self._methods_of.values() for name, one in own.items()}
        self.scoring = check_scoring(scoring)
        self.measures = check_measures(measures, self.scoring)
        self.store = Store(store)
        # An iterator of folds can be read only once, but every data set needs the folds.
        self.cv = list(cv) if isinstance(cv, Iterator) else cv
        self.n_repeats = whole_number(n_repeats, "n_repeats")
        self.target_type = check_target_type(target_type)
        self.random_state = int(random_state)
        self.executor, self.client = executor, client
        self._cells: list[Cell] | None = None
        self._shapes: dict[str, dict[str, Any]] = {}
        self._target_types: dict[str, str] = {}
        self._loaded: tuple[str, StudyData] | None = None

    def _load(self, name: str) -> StudyData:
        """Return a data set by its name. The last data set is kept in memory."""
        if self._loaded is None or self._loaded[0] != name:
            self._loaded = name, load_data(name, self.datasets[name])
        return self._loaded[1]

    def _seeds(self, *names: Any) -> np.random.SeedSequence:
        """Return a seed sequence that depends only on ``random_state`` and ``names``, not on the rest of the study."""
        return np.random.SeedSequence(int(digest([self.random_state, *names]), 16))

    def _list_cells(self) -> list[Cell]:
        """Return all cells of the study. They are listed only once."""
        if self._cells is None:
            self._cells = [cell for name in self.datasets for cell in self._list_cells_of(name)]
        return self._cells

    def _list_cells_of(self, name: str) -> list[Cell]:
        """Return the cells of one data set: one for every method and fold."""
        data = self._load(name)
        # The size is needed for study.json, and later calls should not load the data set again.
        self._shapes[name] = _describe_shape(data)
        target_type = self._target_types[name] = self._decide_target_type(name, data)
        content = digest_table(data.X, np.asarray(data.y))
        shared = [SCHEMA, content, list(self.scoring), describe(self.measures)]
        methods = [(method, model, describe(model)) for method, model in self._methods_of[name].items()]
        cells = []
        for repeat, folds in enumerate(self._folds(name, data)):
            for fold, (train, test) in enumerate(folds):
                rows = digest_rows(train, test)
                for method, model, definition in methods:
                    seed = integer_seed(self._seeds("cell", name, method, repeat, fold))
                    # The result depends on these values. If one of them changes, the cell gets another identity and
                    # is computed again.
                    identity = digest([shared, name, method, definition, repeat, fold, rows, seed])
                    cells.append(Cell(identity, name, method, repeat, fold, seed, train, test, model, target_type))
        return cells

    def _decide_target_type(self, name: str, data: StudyData) -> str:
        """Return the type of the target of a data set. Raise InvalidDataError if the scores do not fit it."""
        try:
            found = decide_target_type(data.y, self.target_type, expected_by_scores(self.scoring))
        except InvalidDataError as error:
            raise InvalidDataError(f"data set {name!r}: {error}") from error
        check_target_scores(name, found, self.scoring)
        return found

    def _folds(self, name: str, data: StudyData) -> list[list[Split]]:
        """Return the folds of a data set: its own splits if it has any, otherwise the folds of ``cv``."""
        y = np.asarray(data.y)
        seeds = self._seeds("folds", name)
        if data.splits is not None:
            return make_folds(data.splits, data.X, y, data.groups, seeds=seeds)
        numeric = self._target_types[name] == "numeric"
        return make_folds(self.cv, data.X, y, data.groups, n_repeats=self.n_repeats, seeds=seeds, numeric=numeric)

    def plan(self) -> pd.DataFrame:
        """Return a table with one row per cell: data set, method, repeat, fold, numbers of rows, seed and status."""
        rows = [
            {
                "dataset": cell.dataset,
                "method": cell.method,
                "repeat": cell.repeat,
                "fold": cell.fold,
                "n_train": len(cell.train),
                "n_test": len(cell.test),
                "seed": cell.seed,
                "status": self.store.status(cell.identity),
                "id": cell.identity,
            }
            for cell in self._list_cells()
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
            Number of worker processes, as in joblib. On a cluster: number of cells that are submitted at the same time,
            where None means two per thread of the cluster.
        retry_failed : bool, default=False
            Whether failed cells are computed again.
        datasets, methods : iterable of names, optional
            Names of the data sets and methods to compute. By default all.
        progress : bool or None, default=False
            Whether to show a progress bar on stderr. None means that it is shown if stderr is a terminal.

        Returns
        -------
        StudyResults
            Results of the whole study. They are also written to the store as ``results.parquet`` or ``results.csv``.
        """
        wanted = self._select_cells(datasets, methods)
        if self.executor == "dask" and n_jobs is not None and n_jobs < 1:
            raise InvalidDataError(f"on a cluster n_jobs must be at least 1, or None for all of it; got {n_jobs}")
        self.store.open()
        self.store.write_study(self._description())
        done = {"done"} if retry_failed else {"done", "failed"}
        todo = [cell for cell in wanted if self.store.status(cell.identity) not in done]
        with ProgressBar(len(wanted), len(wanted) - len(todo), wanted=progress) as bar:
            runner = Runner(todo, self.store, self._load, Scores(self.scoring, self.measures), bar.tell)
            # More workers than cells would only wait, and one process makes debugging easier.
            n_workers = min(effective_n_jobs(n_jobs), len(todo))
            if self.executor == "dask" and todo:
                runner.run_on_cluster(self.client, n_jobs)
            elif n_workers > 1:
                runner.run_in_processes(n_workers)
            else:
                runner.run_here()
        results = self.results()
        results.save_in(self.store.path)
        return results

    def _select_cells(self, datasets: Iterable[str] | None, methods: Iterable[str] | None) -> list[Cell]:
        """Return the cells of some data sets and methods."""
        chosen = [known_names(datasets, self.datasets, "data set"), known_names(methods, self.methods, "method")]
        return [cell for cell in self._list_cells() if cell.dataset in chosen[0] and cell.method in chosen[1]]

    def _description(self) -> dict[str, Any]:
        """Return the description of the study for study.json."""
        return {
            "versions": package_versions(),
            "random_state": self.random_state,
            "scoring": list(self.scoring),
            "measures": sorted(self.measures),
            "datasets": {
                name: {**self._shapes[name], "target_type": self._target_types[name]} for name in self._shapes
            },
            "methods": {name: describe(own) for name, own in self._methods_of.items()},
            "cells": {cell.identity: cell.place for cell in self._list_cells()},
        }

    def results(self) -> StudyResults:
        """Return the results of this study that are in the store now."""
        cells = {cell.identity: cell.place for cell in self._list_cells()}
        return read_results(self.store, cells, self._shapes)

    def frame(self) -> pd.DataFrame:
        """Return the plan of the study as a table with one row per cell."""
        return self.plan()

    def _shown(self) -> None:
        """Return None: the plan has a line for every cell, and reading the data sets takes time."""

    def _lines(self) -> list[str]:
        return [
            f"Study of {len(self.datasets)} data sets × {len(self.methods)} methods in '{self.store.path}'",
            f"  data sets: {', '.join(self.datasets)}",
            f"  methods: {', '.join(self.methods)}",
            f"  scores: {', '.join([*self.scoring, *self.measures])}; seed {self.random_state}",
        ]


def _describe_shape(data: StudyData) -> dict[str, Any]:
    """Return the size and the column names of a data set, for study.json."""
    columns = [str(column) for column in data.X.columns] if hasattr(data.X, "columns") else None
    return {"n_samples": int(data.X.shape[0]), "n_features": int(data.X.shape[1]), "feature_names": columns}
