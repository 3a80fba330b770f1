"""Results of a study: one tidy table, and the predictions, weights and selections of its cells."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..._display.latex import booktabs_table, escape_latex, score_rows
from ..._display.results import Result
from ..._io.files import atomic_write, require_pyarrow
from ..._names import known_names
from ..._typing import AnyArray
from ..._warnings import warn
from ...exceptions import IncompleteStudyError, IncompleteStudyWarning, InvalidDataError, StoreError
from ...metrics import lower_is_better
from .cell_file import SCHEMA, read_arrays, read_header
from .store import Store

_PLACE = ("dataset", "method", "repeat", "fold")
_FACTS = ("n_train", "n_test", "n_features", "n_selected", "reduction", "fit_seconds", "predict_seconds", "seed")
_TAIL = ("kind", "error", "n_warnings", "versions", "id")
#: Names that scores and measures cannot have, because the table of results has columns of these names.
RESERVED = frozenset(("schema", "status", *_PLACE, *_FACTS, *_TAIL))


@dataclass(frozen=True, eq=False, repr=False)
class StudyResults(Result):
    """Results of a study as one tidy table.

    `Study.run`, `Study.results` and `load_results` return it. `frame` returns the tidy table, which has one row per
    cell: schema, dataset, method, repeat, fold, status ("done", "failed", "damaged" or "missing"), scores and measures,
    sizes, seconds, seed, error, and versions.

    Attributes
    ----------
    cells : DataFrame
        The tidy table.
    scores : tuple of str
        Names of the columns that hold scores and measures.
    store : Store or None
        The directory of the cells, or None if the results were read from a table.
    feature_names : mapping of data set to names
    """

    cells: pd.DataFrame
    scores: tuple[str, ...]
    store: Store | None = None
    feature_names: Mapping[str, list[str]] = field(default_factory=dict)

    def frame(self) -> pd.DataFrame:
        """Return the result as a table with one row per cell."""
        return self.cells.copy()

    @property
    def complete(self) -> bool:
        """Whether every cell is done, and could be read as a whole when these results were read."""
        return bool((self.cells["status"] == "done").all())

    def failures(self) -> pd.DataFrame:
        """Return a table with one row per failed cell: position, kind of failure, error and traceback.

        The kind is "raised", "nan" or "died".
        """
        # Tracebacks are long, so they are read from the cells only when they are asked for.
        failed = self.cells.loc[self.cells["status"] == "failed", [*_PLACE, "kind", "error", "id"]]
        traces = [self._header(identity).get("traceback", "") for identity in failed["id"]]
        return failed.drop(columns="id").assign(traceback=traces).reset_index(drop=True)

    def incomplete(self) -> pd.DataFrame:
        """Return a table with one row per data set and method that is not complete.

        The columns count the cells that are done, failed, damaged and missing.
        """
        counts = pd.crosstab([self.cells["dataset"], self.cells["method"]], self.cells["status"])
        counts = counts.reindex(columns=["done", "failed", "damaged", "missing"], fill_value=0)
        lacking = counts[counts.drop(columns="done").any(axis=1)]
        lacking.columns.name = None
        return lacking.reset_index()

    def _header(self, identity: str) -> dict[str, Any]:
        """Return the header of a cell from the store, or an empty dict if there is no file."""
        if self.store is None:
            raise StoreError("these results come from a table alone; give load_results the directory of the study")
        return read_header(self.store.cell(identity)) or {}

    def _select_cells(self, score: str, datasets: Iterable[str] | None, methods: Iterable[str] | None) -> pd.DataFrame:
        """Return the cells of some data sets and methods.

        Raise InvalidDataError if a name or the score is not known.
        """
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
        """Return the mean of a score over folds and repetitions, as a table of data sets × methods.

        The table is the input of `weighbors.stats.compare`. Its ``attrs`` say whether lower scores are better, as for
        errors and times, so that `weighbors.stats` ranks the methods in the right direction.

        Parameters
        ----------
        score : str, default="accuracy"
        incomplete : {"refuse", "drop"}, default="refuse"
            What to do if cells are missing or have failed. "refuse" raises an error that names these cells. "drop"
            leaves out the data sets of these cells, with a warning. So all means are over the same folds.
        datasets, methods : iterable of names, optional
            Names of the data sets and methods of the table. By default all.

        Returns
        -------
        DataFrame of shape (n_datasets, n_methods)
        """
        cells = self._complete_cells(score, incomplete, datasets, methods)
        return _note_direction(cells.pivot_table(score, "dataset", "method", aggfunc="mean"), score)

    def deviations(
        self,
        score: str = "accuracy",
        *,
        incomplete: str = "refuse",
        datasets: Iterable[str] | None = None,
        methods: Iterable[str] | None = None,
    ) -> pd.DataFrame:
        """Return the standard deviation of a score over all folds and repetitions, in the form of `table`.

        The parameters are those of `table`. The deviation has the divisor n − 1, and is NaN for a single fold. Folds
        share training rows, so it says how much folds differ; it is no standard error of the mean.
        """
        cells = self._complete_cells(score, incomplete, datasets, methods)
        # Without dropna=False, methods with a single fold would be left out.
        return cells.pivot_table(score, "dataset", "method", aggfunc="std", dropna=False)

    def to_latex(
        self,
        score: str = "accuracy",
        *,
        incomplete: str = "refuse",
        datasets: Iterable[str] | None = None,
        methods: Iterable[str] | None = None,
        decimals: int = 3,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        r"""Return a score as a LaTeX table, data sets × methods: mean ± standard deviation over the folds.

        The best of each data set is bold, and so is every method that prints the same number. The table needs
        ``\usepackage{booktabs}``. `weighbors.stats.Comparison.to_latex` adds means, ranks and p-values.

        Parameters
        ----------
        score, incomplete
            As in `table`.
        datasets, methods : iterable of names, optional
            Names of the data sets and methods, in the order of the table. By default all, in the order of `table`.
        decimals : int, default=3
            Number of digits after the point.
        caption, label : str, optional
            Text above the table, and the name for references to it. They are LaTeX and are not escaped, while the
            names of data sets and methods are. Without both, the result has no ``table`` environment.

        Returns
        -------
        str
        """
        # The names are read several times, which an iterator does not allow.
        wanted = None if datasets is None else known_names(datasets, self.cells["dataset"].unique(), "data set")
        columns = None if methods is None else known_names(methods, self.cells["method"].unique(), "method")
        table = self.table(score, incomplete=incomplete, datasets=wanted, methods=columns)
        # Data sets that lack cells are not in the table any more.
        rows = [name for name in wanted or table.index if name in table.index]
        table = table.loc[rows, columns or table.columns.tolist()]
        rows_of_cells = score_rows(
            table,
            self.deviations(score, datasets=rows, methods=columns),
            decimals=decimals,
            higher_is_better=not lower_is_better(score),
        )
        head = ["data set", *map(escape_latex, table.columns)]
        return booktabs_table(head, [rows_of_cells], caption=caption, label=label)

    def _complete_cells(
        self, score: str, incomplete: str, datasets: Iterable[str] | None, methods: Iterable[str] | None
    ) -> pd.DataFrame:
        """Return the cells from which `table` is made. The parameters are those of `table`."""
        if incomplete not in ("refuse", "drop"):
            raise InvalidDataError(f"incomplete must be 'refuse' or 'drop'; got {incomplete!r}")
        return self._require_complete(self._select_cells(score, datasets, methods), score, incomplete)

    def _require_complete(self, cells: pd.DataFrame, score: str, incomplete: str) -> pd.DataFrame:
        """Return the cells of all complete data sets.

        If a cell has no score, raise IncompleteStudyError (``incomplete`` is "refuse"), or leave out its data set with
        a warning (``incomplete`` is "drop").
        """
        # A cell may be done without this score, for example if its measure was not finite.
        lacking = cells[(cells["status"] != "done") | cells[score].isna()]
        if lacking.empty:
            return cells
        blocks = lacking.groupby(["dataset", "method"], sort=False)["status"].agg(lambda s: ", ".join(sorted(set(s))))
        shown = blocks.head(8).reset_index()
        description = "; ".join(f"{one.dataset} × {one.method} ({one.status})" for one in shown.itertuples())
        description += f"; and {len(blocks) - 8} more" if len(blocks) > 8 else ""
        if incomplete == "refuse":
            raise IncompleteStudyError(
                f"{len(lacking)} of {len(cells)} cells have no {score}: {description}. Run the study again "
                "(failed cells with retry_failed=True), choose other methods or data sets, or leave data sets out with "
                "incomplete='drop'"
            )
        left_out = lacking["dataset"].unique().tolist()
        warn(f"left out {left_out}, which lack cells: {description}", IncompleteStudyWarning)
        kept = cells[~cells["dataset"].isin(left_out)]
        if kept.empty:
            raise IncompleteStudyError(f"no data set has all its cells: {description}")
        return kept

    def folds(self, score: str = "accuracy", *, dataset: str, methods: Iterable[str] | None = None) -> pd.DataFrame:
        """Return a score of one data set as a table of (repeat, fold) × methods, for tests over folds.

        All cells must be done.
        """
        cells = self._require_complete(self._select_cells(score, [dataset], methods), score, "refuse")
        return _note_direction(cells.pivot_table(score, ["repeat", "fold"], "method", aggfunc="first"), score)

    def _arrays(
        self, dataset: str, method: str, name: str, why: str
    ) -> list[tuple[int, int, dict[str, AnyArray], list[Any]]]:
        """Return repeat, fold, arrays and labels of every cell of a data set and method.

        ``name`` is the name of an array that every cell must have. ``why`` is the reason in the message if it is
        missing.
        """
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
        """Return one array of every cell of a data set and method, as a table of (repeat, fold) × features.

        ``name`` and ``why`` are as in `_arrays`.
        """
        found = self._arrays(dataset, method, name, why)
        index = pd.MultiIndex.from_tuples([(repeat, fold) for repeat, fold, _, _ in found], names=["repeat", "fold"])
        values = np.array([arrays[name] for _, _, arrays, _ in found])
        names = self.feature_names.get(dataset) or [f"x{j}" for j in range(values.shape[1])]
        # A method may see other columns than the data set has, if it transforms them first.
        columns = names if len(names) == values.shape[1] else None
        return pd.DataFrame(values, index=index, columns=columns)

    def weights(self, dataset: str, method: str) -> pd.DataFrame:
        """Return the feature weights as a table of (repeat, fold) × features."""
        return self._runs(dataset, method, "weights", "the method publishes no weights of features")

    def selections(self, dataset: str, method: str) -> pd.DataFrame:
        """Return the selected features as a bool table of (repeat, fold) × features."""
        return self._runs(dataset, method, "selected", "the method selects no features")

    def predictions(self, dataset: str, method: str) -> pd.DataFrame:
        """Return the predicted labels or numbers as a table with one row per repetition and one column per instance.

        The table is the input of `prediction_stability`. If instances are tested several times in a repetition, the
        table has one row per repetition and fold. A cell is missing if the instance was not tested.
        """
        found = self._arrays(dataset, method, "predictions", "the method predicts nothing")
        long = pd.concat(
            [
                pd.DataFrame(
                    {
                        "repeat": repeat,
                        "fold": fold,
                        "row": arrays["rows"],
                        "predicted": _decode(arrays["predictions"], labels),
                    }
                )
                for repeat, fold, arrays, labels in found
            ]
        )
        # A plain cross-validation tests each row once in a repetition; other splitters may test it more often.
        once = not long.duplicated(["repeat", "row"]).any()
        return long.pivot_table("predicted", "repeat" if once else ["repeat", "fold"], "row", aggfunc="first")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to ``path`` in an atomic write. The ending .parquet or .csv gives the format."""
        target = Path(path)
        if target.suffix not in (".csv", ".parquet"):
            raise InvalidDataError(f"results are saved as .parquet or .csv; got '{target.name}'")
        if target.suffix == ".parquet":
            require_pyarrow(target.name)
        with atomic_write(target) as file:
            if target.suffix == ".csv":
                self.cells.to_csv(file, index=False)
            else:
                self.cells.to_parquet(file, index=False)

    def save_in(self, directory: Path) -> Path:
        """Write the table into a directory and return its path.

        The format is parquet if pyarrow is installed, else csv.
        """
        path = directory / ("results.parquet" if _has_parquet() else "results.csv")
        self.save(path)
        return path

    def _lines(self) -> list[str]:
        cells = self.cells
        head = f"Results of a study: {cells['dataset'].nunique()} data sets × {cells['method'].nunique()} methods"
        counts = cells["status"].value_counts()
        description = ", ".join(f"{counts[s]} {s}" for s in ("done", "failed", "damaged", "missing") if s in counts)
        lines = [f"{head}, {len(cells)} cells", f"  {description}"]
        failed = cells[cells["status"] == "failed"]
        for cell in failed.head(5).itertuples():
            lines.append(
                f"  failed: {cell.dataset} × {cell.method}, repeat {cell.repeat}, fold {cell.fold}: {cell.error}"
            )
        return lines + ([f"  and {len(failed) - 5} more; see failures()"] if len(failed) > 5 else [])


def _note_direction(table: pd.DataFrame, score: str) -> pd.DataFrame:
    """Write into the ``attrs`` of a table that lower scores are better, if they are, and return the table."""
    if lower_is_better(score):
        table.attrs["higher_is_better"] = False
    return table


def _decode(predictions: AnyArray, labels: list[Any]) -> AnyArray:
    """Return the predicted labels, from their codes. Numbers are stored as they are."""
    if predictions.dtype.kind == "f":
        return predictions
    if len(predictions) and not 0 <= predictions.min() <= predictions.max() < len(labels):
        raise StoreError("a cell has predictions that are none of its labels. Delete it and run the study again")
    return np.array(labels, dtype=object)[predictions]


def _has_parquet() -> bool:
    """Return whether pyarrow is installed."""
    return importlib.util.find_spec("pyarrow") is not None


def read_results(
    store: Store, cells: Mapping[str, list[Any]], datasets: Mapping[str, Mapping[str, Any]]
) -> StudyResults:
    """Return the results of the cells of a store.

    ``cells`` maps the id of each cell to its data set, method, repeat and fold. ``datasets`` holds the sizes and column
    names of each data set.
    """
    root = f"{store.cells}{os.sep}"
    rows = [_read_cell_row(f"{root}{identity}.cell", identity, place) for identity, place in cells.items()]
    scores = tuple(dict.fromkeys(name for _, found in rows for name in found))
    # The order of the columns does not depend on which cells are done.
    # Fixed first columns, then scores, then facts.
    order = ["schema", *_PLACE, "status", *scores, *_FACTS, *_TAIL]
    table = pd.DataFrame([{**facts, **found} for facts, found in rows]).reindex(columns=order)
    names = {name: shape["feature_names"] for name, shape in datasets.items() if shape.get("feature_names")}
    return StudyResults(_set_column_types(table, scores), scores, store, names)


def _read_cell_row(path: str, identity: str, place: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of one cell in two dicts: facts such as status and seed, and scores with measures.

    ``identity`` is the id of the cell, and ``place`` holds its data set, method, repeat and fold.
    """
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


def _set_column_types(table: pd.DataFrame, scores: tuple[str, ...]) -> pd.DataFrame:
    """Return the table with fixed column types, which do not depend on missing cells."""
    kinds: dict[str, Any] = dict.fromkeys((*scores, "reduction", "fit_seconds", "predict_seconds"), "float64")
    kinds |= dict.fromkeys(("schema", "repeat", "fold"), "int64")
    # The nullable type keeps whole numbers whole, although missing cells have none.
    kinds |= dict.fromkeys(("n_train", "n_test", "n_features", "n_selected", "seed", "n_warnings"), "Int64")
    for name in ("kind", "error", "versions"):
        table[name] = table[name].astype(object).where(table[name].notna(), "").astype(str)
    return table.astype(kinds)


def _read_csv(path: Path) -> pd.DataFrame:
    """Return a table saved as csv. Names of data sets such as "NA" or "1" stay text, and numbers keep all bits."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    for name in set(table.columns) - {"dataset", "method", "status", "kind", "error", "versions", "id"}:
        # ``float`` reads the shortest text of a number back to the same bits. The fast parser of pandas does not
        # always.
        table[name] = [float(value or "nan") for value in table[name]]
    return table


def load_results(path: str | os.PathLike[str]) -> StudyResults:
    """Load the results of a study from its directory, or from a saved table.

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
        If there is no study or table at ``path``, or if it has another schema.

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
    try:
        return StudyResults(_set_column_types(table, scores), scores)
    except (ValueError, TypeError) as error:
        raise StoreError(f"'{place}' is not a table of results of a study ({error})") from error
