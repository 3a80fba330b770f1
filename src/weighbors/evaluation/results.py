"""Results of a study: one tidy table, and what its cells hold beyond numbers."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._files import require_pyarrow, written_whole
from .._names import known_names
from .._results import Result
from .._typing import AnyArray
from .._warnings import warn
from ..exceptions import (
    IncompleteStudyError,
    IncompleteStudyWarning,
    InvalidDataError,
    StoreError,
)
from ._store import SCHEMA, Store, read_arrays, read_header

__all__ = ["RESERVED", "StudyResults", "load_results", "read_results"]

_PLACE = ("dataset", "method", "repeat", "fold")
_FACTS = ("n_train", "n_test", "n_features", "n_selected", "reduction", "fit_seconds", "predict_seconds", "seed")
_TAIL = ("kind", "error", "n_warnings", "versions", "id")
#: Columns that scores and measures cannot be called.
RESERVED = frozenset(("schema", "status", *_PLACE, *_FACTS, *_TAIL))


@dataclass(frozen=True, eq=False, repr=False)
class StudyResults(Result):
    """What a store has of a study.

    Made by `Study.run`, `Study.results` and `load_results`. `frame` is the tidy table: one row
    per cell with schema, dataset, method, repeat, fold, status ("done", "failed", "damaged" or
    "missing"), the scores and measures, sizes, seconds, seed, versions, and what went wrong.

    Attributes
    ----------
    cells : DataFrame
        The tidy table.
    scores : tuple of str
        Its columns of scores and measures.
    store : Store or None
        Where the cells are; None for results from a table alone.
    feature_names : mapping of data set to names
    """

    cells: pd.DataFrame
    scores: tuple[str, ...]
    store: Store | None = None
    feature_names: Mapping[str, list[str]] = field(default_factory=dict)

    def frame(self) -> pd.DataFrame:
        """The tidy table."""
        return self.cells.copy()

    @property
    def complete(self) -> bool:
        """Whether every cell is done."""
        return bool((self.cells["status"] == "done").all())

    def failures(self) -> pd.DataFrame:
        """Failed cells: where, what kind ("raised", "nan", "timeout", "died"), the error and its traceback."""
        failed = self.cells.loc[self.cells["status"] == "failed", [*_PLACE, "kind", "error", "id"]]
        traces = [self._header(identity).get("traceback", "") for identity in failed["id"]]
        return failed.drop(columns="id").assign(traceback=traces).reset_index(drop=True)

    def incomplete(self) -> pd.DataFrame:
        """Blocks (data set and method) that lack cells: how many are done, failed, damaged and missing."""
        counts = pd.crosstab([self.cells["dataset"], self.cells["method"]], self.cells["status"])
        counts = counts.reindex(columns=["done", "failed", "damaged", "missing"], fill_value=0)
        lacking = counts[counts.drop(columns="done").any(axis=1)]
        lacking.columns.name = None
        return lacking.reset_index()

    def _header(self, identity: str) -> dict[str, Any]:
        if self.store is None:
            raise StoreError("these results come from a table alone; give load_results the directory of the study")
        return read_header(self.store.cell(identity)) or {}

    def _chosen(self, score: str, datasets: Iterable[str] | None, methods: Iterable[str] | None) -> pd.DataFrame:
        cells = self.cells
        known_names([score], [*self.scores, "fit_seconds", "predict_seconds", "reduction", "n_selected"], "score")
        rows = cells["dataset"].isin(known_names(datasets, cells["dataset"].unique(), "data set"))
        rows &= cells["method"].isin(known_names(methods, cells["method"].unique(), "method"))
        return cells[rows]

    def table(
        self,
        score: str = "accuracy",
        *,
        incomplete: str = "refuse",
        datasets: Iterable[str] | None = None,
        methods: Iterable[str] | None = None,
    ) -> pd.DataFrame:
        """Mean of a score over folds and repetitions: data sets × methods, as `weighbors.stats.compare` takes it.

        Parameters
        ----------
        score : str, default="accuracy"
        incomplete : {"refuse", "drop"}, default="refuse"
            What to do where cells are missing or failed: an error that names them, or leave out
            those data sets, with a warning that names them. Means over different folds are never
            put side by side.
        datasets, methods : iterable of names, optional
            Only these.

        Returns
        -------
        DataFrame of shape (n_datasets, n_methods)
        """
        if incomplete not in ("refuse", "drop"):
            raise InvalidDataError(f"incomplete must be 'refuse' or 'drop'; got {incomplete!r}")
        cells = self._chosen(score, datasets, methods)
        cells = self._without_holes(cells, score, incomplete)
        return cells.pivot_table(score, "dataset", "method", aggfunc="mean")

    def _without_holes(self, cells: pd.DataFrame, score: str, incomplete: str) -> pd.DataFrame:
        lacking = cells[(cells["status"] != "done") | cells[score].isna()]
        if lacking.empty:
            return cells
        blocks = lacking.groupby(["dataset", "method"], sort=False)["status"].agg(lambda s: ", ".join(sorted(set(s))))
        shown = blocks.head(8).reset_index()
        told = "; ".join(f"{one.dataset} × {one.method} ({one.status})" for one in shown.itertuples())
        told += f"; and {len(blocks) - 8} more" if len(blocks) > 8 else ""
        if incomplete == "refuse":
            raise IncompleteStudyError(
                f"{len(lacking)} of {len(cells)} cells have no {score}: {told}. Run the study again (failed cells with "
                "retry_failed=True), choose other methods or data sets, or leave data sets out with incomplete='drop'"
            )
        left_out = lacking["dataset"].unique().tolist()
        warn(f"left out {left_out}, which lack cells: {told}", IncompleteStudyWarning)
        kept = cells[~cells["dataset"].isin(left_out)]
        if kept.empty:
            raise IncompleteStudyError(f"no data set has all its cells: {told}")
        return kept

    def folds(self, score: str = "accuracy", *, dataset: str, methods: Iterable[str] | None = None) -> pd.DataFrame:
        """A score of one data set, (repeat, fold) × methods, for tests over folds. Complete, or an error."""
        cells = self._without_holes(self._chosen(score, [dataset], methods), score, "refuse")
        return cells.pivot_table(score, ["repeat", "fold"], "method", aggfunc="first")

    def _arrays(
        self, dataset: str, method: str, name: str, why: str
    ) -> list[tuple[int, int, dict[str, AnyArray], list[Any]]]:
        """One array of all done cells of a block."""
        known_names([dataset], self.cells["dataset"].unique(), "data set")
        known_names([method], self.cells["method"].unique(), "method")
        block = self.cells[(self.cells["dataset"] == dataset) & (self.cells["method"] == method)]
        if (block["status"] != "done").any():
            raise IncompleteStudyError(
                f"{int((block['status'] != 'done').sum())} of {len(block)} cells of {dataset} × {method} are not done"
            )
        found = []
        for cell in block.itertuples():
            header = self._header(str(cell.id))
            arrays = read_arrays(self.store.cell(str(cell.id)))  # type: ignore[union-attr]
            if name not in arrays:
                raise InvalidDataError(f"{method!r} on {dataset!r} has no {name}: {why}")
            found.append((int(cell.repeat), int(cell.fold), arrays, header.get("labels", [])))  # type: ignore[arg-type]
        return found

    def _runs(self, dataset: str, method: str, name: str, why: str) -> pd.DataFrame:
        found = self._arrays(dataset, method, name, why)
        index = pd.MultiIndex.from_tuples([(repeat, fold) for repeat, fold, _, _ in found], names=["repeat", "fold"])
        values = np.array([arrays[name] for _, _, arrays, _ in found])
        names = self.feature_names.get(dataset) or [f"x{j}" for j in range(values.shape[1])]
        columns = names if len(names) == values.shape[1] else None
        return pd.DataFrame(values, index=index, columns=columns)

    def weights(self, dataset: str, method: str) -> pd.DataFrame:
        """Feature weights, (repeat, fold) × features."""
        return self._runs(dataset, method, "weights", "the method publishes no weights of features")

    def selections(self, dataset: str, method: str) -> pd.DataFrame:
        """Features selected, (repeat, fold) × features, bool."""
        return self._runs(dataset, method, "selected", "the method selects no features")

    def predictions(self, dataset: str, method: str) -> pd.DataFrame:
        """Predicted labels, one row per repetition and one column per instance, as `prediction_stability` takes it.

        Where an instance is tested several times in a repetition, there is one row per fold; None where
        it was not tested.
        """
        found = self._arrays(dataset, method, "predictions", "the method predicts nothing")
        long = pd.concat(
            [
                pd.DataFrame(
                    {
                        "repeat": repeat,
                        "fold": fold,
                        "row": arrays["rows"],
                        "label": np.array(labels, dtype=object)[arrays["predictions"]],
                    }
                )
                for repeat, fold, arrays, labels in found
            ]
        )
        once = not long.duplicated(["repeat", "row"]).any()
        return long.pivot_table("label", "repeat" if once else ["repeat", "fold"], "row", aggfunc="first")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table, whole or not at all: parquet or csv, by the ending of ``path``."""
        target = Path(path)
        if target.suffix == ".csv":
            write: Callable[[Any], None] = lambda file: self.cells.to_csv(file, index=False)  # noqa: E731
        elif target.suffix == ".parquet":
            require_pyarrow(target.name)
            write = lambda file: self.cells.to_parquet(file, index=False)  # noqa: E731
        else:
            raise InvalidDataError(f"results are saved as .parquet or .csv; got '{target.name}'")
        with written_whole(target) as file:
            write(file)

    def save_in(self, directory: Path) -> Path:
        """Write the table into a directory: parquet where pyarrow is there, csv otherwise."""
        path = directory / ("results.parquet" if _has_parquet() else "results.csv")
        self.save(path)
        return path

    def _lines(self) -> list[str]:
        cells = self.cells
        head = f"Results of a study: {cells['dataset'].nunique()} data sets × {cells['method'].nunique()} methods"
        counts = cells["status"].value_counts()
        told = ", ".join(f"{counts[s]} {s}" for s in ("done", "failed", "damaged", "missing") if s in counts)
        lines = [f"{head}, {len(cells)} cells", f"  {told}"]
        failed = cells[cells["status"] == "failed"]
        for cell in failed.head(5).itertuples():
            lines.append(
                f"  failed: {cell.dataset} × {cell.method}, repeat {cell.repeat}, fold {cell.fold}: {cell.error}"
            )
        return lines + ([f"  and {len(failed) - 5} more; see failures()"] if len(failed) > 5 else [])


def _has_parquet() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def read_results(
    store: Store, cells: Mapping[str, list[Any]], datasets: Mapping[str, Mapping[str, Any]]
) -> StudyResults:
    """Collect the cells of a store into one table; ``cells`` maps each id to its place."""
    root = f"{store.cells}{os.sep}"
    rows = [_row(f"{root}{identity}.cell", identity, place) for identity, place in cells.items()]
    scores = tuple(dict.fromkeys(name for _, found in rows for name in found))
    order = ["schema", *_PLACE, "status", *scores, *_FACTS, *_TAIL]
    table = pd.DataFrame([{**facts, **found} for facts, found in rows]).reindex(columns=order)
    names = {name: shape["feature_names"] for name, shape in datasets.items() if shape.get("feature_names")}
    return StudyResults(_typed(table, scores), scores, store, names)


def _row(path: str, identity: str, place: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Facts of a cell, and its scores and measures."""
    try:
        header = read_header(path)
        status = "missing" if header is None else header["status"]
    except StoreError:
        header, status = None, "damaged"
    facts = {"schema": SCHEMA, **dict(zip(_PLACE, place, strict=True)), "status": status, "id": identity}
    if header is None:
        return facts, {}
    facts |= {name: header[name] for name in (*_FACTS, "kind", "error") if name in header}
    facts["versions"] = " ".join(f"{name}={number}" for name, number in header["versions"].items())
    facts["n_warnings"] = len(header.get("warnings", ()))
    return facts, {**header.get("scores", {}), **header.get("measures", {})}


def _typed(table: pd.DataFrame, scores: tuple[str, ...]) -> pd.DataFrame:
    """The same types whatever is missing, so that tables of different runs are alike."""
    kinds: dict[str, Any] = dict.fromkeys((*scores, "reduction", "fit_seconds", "predict_seconds"), "float64")
    kinds |= dict.fromkeys(("schema", "repeat", "fold"), "int64")
    kinds |= dict.fromkeys(("n_train", "n_test", "n_features", "n_selected", "seed", "n_warnings"), "Int64")
    for name in ("kind", "error", "versions"):
        table[name] = table[name].astype(object).where(table[name].notna(), "").astype(str)
    return table.astype(kinds)


def _read_csv(path: Path) -> pd.DataFrame:
    """Text stays text (a data set may be called NA, or 1), and numbers come back to the last bit."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    for name in set(table.columns) - {"dataset", "method", "status", "kind", "error", "versions", "id"}:
        table[name] = [float(value or "nan") for value in table[name]]
    return table


def load_results(path: str | os.PathLike[str]) -> StudyResults:
    """Results of a study from its directory, or from a saved table.

    Parameters
    ----------
    path : path
        The directory of a study, or a ``.parquet`` or ``.csv`` file that `StudyResults.save` wrote.
        A table alone has no predictions, weights and tracebacks.

    Returns
    -------
    StudyResults

    Raises
    ------
    StoreError
        Where there is no study, or one of another schema.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import WeightedKNeighborsClassifier
    >>> from weighbors.evaluation import Study, load_results
    >>> place = tempfile.mkdtemp()
    >>> methods = {"plain": WeightedKNeighborsClassifier(5)}
    >>> _ = Study({"iris": load_iris(return_X_y=True)}, methods, place, cv=3).run()
    >>> load_results(place)
    Results of a study: 1 data sets × 1 methods, 3 cells
      3 done
    """
    place = Path(path)
    if place.is_dir():
        store = Store(place)
        study = store.read_study()
        return read_results(store, study["cells"], study["datasets"])
    if not place.is_file():
        raise StoreError(f"there is neither a study nor a table of results at '{place}'")
    if place.suffix != ".csv":
        require_pyarrow(place.name)
    try:
        table = _read_csv(place) if place.suffix == ".csv" else pd.read_parquet(place)
    except (ValueError, OSError, json.JSONDecodeError) as error:
        raise StoreError(f"'{place}' is not a table of results ({error})") from error
    if "schema" not in table or not set(table.columns) >= RESERVED:
        raise StoreError(f"'{place}' is not a table of results of a study")
    if (table["schema"] != SCHEMA).any():
        raise StoreError(
            f"'{place}' has schema {table['schema'].iloc[0]} and this release reads schema {SCHEMA}. "
            "Use the release that wrote it"
        )
    scores = tuple(name for name in table.columns if name not in RESERVED)
    return StudyResults(_typed(table, scores), scores)
