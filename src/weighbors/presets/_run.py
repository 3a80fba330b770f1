"""Run a preset: compute the cells of the study, make the tables, and write them with their provenance."""

from __future__ import annotations

import json
import os
import platform
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from .._display.results import Result, table_lines
from .._io.files import atomic_write
from ..evaluation import Study, StudyResults
from ..exceptions import InvalidDataError
from ._catalogue import load_preset
from ._preset import Definition, Preset, Tables
from ._tables import describe_absent

#: Version of the layout of made.json and of the tables beside it.
SCHEMA = 1
_PACKAGES = ("weighbors", "numpy", "scipy", "scikit-learn", "pandas")


@dataclass(frozen=True, eq=False, repr=False)
class PresetResult(Result):
    """The results of a preset.

    Attributes
    ----------
    preset : Preset
    tables : dict of name to DataFrame
    text : str
        The summary.
    results : StudyResults
        Every cell.
    failures : DataFrame
        Cells that failed, with their tracebacks. It has no rows if no cell failed.
    left_out : tuple of str
        Data sets that are in no table, because some of their cells are missing or failed.
    notes : list of str
        Messages about absent data sets, failed cells, and data sets that are in no table.
    made : dict
        Command, versions, seed, settings and seconds, as in ``made.json``.
    paths : dict of name to Path
        The files that were written: the tables by name, "summary", "made" and "cells" (a directory).
    """

    preset: Preset
    tables: Tables
    text: str
    results: StudyResults
    failures: pd.DataFrame
    left_out: tuple[str, ...]
    notes: list[str]
    made: dict[str, Any]
    paths: dict[str, Path]

    def frame(self) -> pd.DataFrame:
        """Return the result as a table with one row per cell."""
        return self.results.frame()

    def _shown(self) -> None:
        """Return None: the text has all tables of the preset."""

    def _lines(self) -> list[str]:
        lines = [f"{self.preset.title} ({self.preset.paper})", *self.text.splitlines()]
        for name, table in self.tables.items():
            lines += ["", f"{name}: {len(table)} rows", *table_lines(table.head(12), index=False)]
        return [*lines, *self.notes]


def _trouble(failures: pd.DataFrame, left_out: Iterable[str]) -> list[str]:
    """Return messages about failed cells and about data sets that are in no table."""
    named = list(left_out)
    lines = [f"{len(failures)} cells failed; retry_failed=True computes them again."] if len(failures) else []
    for cell in failures.head(5).itertuples():
        lines.append(f"  {cell.dataset} × {cell.method}, repeat {cell.repeat}, fold {cell.fold}: {cell.error}")
    return lines + ([f"Not in the tables, since cells are missing: {', '.join(named)}."] if named else [])


def run_preset(
    name: str | Preset,
    *,
    output: str | os.PathLike[str],
    quick: bool = False,
    data_home: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    retry_failed: bool = False,
    compute: bool = True,
) -> PresetResult:
    """Run a paper's experiment, or continue an experiment that was stopped.

    Parameters
    ----------
    name : str or Preset
        One of `PRESETS`, or a `Preset` that you defined.
    output : path
        Directory for all presets. The files are written to ``output/name``, or to ``output/name-quick``:
        ``cells`` and ``study.json`` (the store of the study), one csv file per table, ``summary.md``,
        and finally ``made.json`` with the command, versions, seed, settings and seconds.
    quick : bool, default=False
        Run a small version of the experiment, which takes less than two minutes.
    data_home : path, optional
        Directory of the data sets. By default, the environment variable ``WEIGHBORS_DATA`` names the directory. The
        preset runs on those of its data sets that are there, and the result names the others. If none is there, the
        quick versions of presets with ``offline`` run on tables that come with scikit-learn.
    n_jobs : int or None, default=None
        Number of worker processes.
    progress : bool or None, default=None
        Whether a progress bar is shown on stderr. None: it is shown if stderr is a terminal.
    retry_failed : bool, default=False
        Whether cells that failed before are computed again.
    compute : bool, default=True
        False: no cells are computed, and the tables are made from the stored cells.

    Returns
    -------
    PresetResult
        Tables, summary, failed cells and paths. Data sets with missing or failed cells are in no table. Their names
        are in ``left_out``.
    """
    preset = load_preset(name) if isinstance(name, str) else name
    place = Path(output) / (f"{preset.name}-quick" if quick else preset.name)
    definition = preset.build(quick, data_home)
    if definition.built_in:
        preset = replace(preset, statement=preset.offline)
    study = definition.study(place)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")  # some data sets have very small classes
        # An empty list of data sets computes nothing, and the results are read from the store.
        todo: list[str] | None = None if compute else []
        results = study.run(n_jobs, retry_failed=retry_failed, progress=progress, datasets=todo)
    kept, left_out = _complete(results)
    tables = preset.tables(kept) if len(kept.cells) else {}
    _check_tables(tables)
    text = preset.summary(tables) if tables else "No data set has all its cells, so there are no tables."
    seconds = time.perf_counter() - begin
    made = _made(preset, definition, study, results, quick=quick, seconds=seconds)
    made |= {"left_out": list(left_out), "absent": list(definition.absent)}
    made |= {"tables": {name: len(table) for name, table in tables.items()}}
    failures = results.failures()
    notes = [*describe_absent(definition.absent), *_trouble(failures, left_out)]
    paths = _write(place, tables, _page(preset, text, tables, notes), made)
    return PresetResult(preset, tables, text, results, failures, left_out, notes, made, paths)


def _complete(results: StudyResults) -> tuple[StudyResults, tuple[str, ...]]:
    """Return the results of the data sets whose cells are all done, and the names of the other data sets."""
    cells = results.cells
    lacking = cells.loc[cells["status"] != "done", "dataset"].unique().tolist()
    kept = cells[~cells["dataset"].isin(lacking)].reset_index(drop=True)
    return replace(results, cells=kept), tuple(lacking)


def _check_tables(tables: Tables) -> None:
    for name, table in tables.items():
        if not name.replace("_", "").isalnum() or name in ("cells", "made", "results", "study", "summary"):
            raise InvalidDataError(f"a table of a preset cannot be called {name!r}: its file gets that name")
        # An index would be lost in the csv file.
        if not isinstance(table.index, pd.RangeIndex):
            raise InvalidDataError(f"table {name!r} of a preset must have its labels in columns; use reset_index()")


def _made(
    preset: Preset, definition: Definition, study: Study, results: StudyResults, *, quick: bool, seconds: float
) -> dict[str, Any]:
    """Return what ``made.json`` records about the run: command, versions, seed, settings, cells and seconds.

    ``definition`` is what ``preset`` builds, ``study`` and ``results`` are those of the run, ``quick`` says whether it
    was the small version, and ``seconds`` is the time of this run.

    It contains no file paths of this computer.
    """
    cells = results.cells
    counts = cells.groupby("dataset")[["repeat", "fold"]].nunique().to_dict("index")
    data = {
        name: {
            "rows": shape["n_samples"],
            "features": shape["n_features"],
            "repeats": counts[name]["repeat"],
            "folds": counts[name]["fold"],
        }
        for name, shape in study.store.read_study()["datasets"].items()
    }
    return {
        "schema": SCHEMA,
        "preset": preset.name,
        "paper": preset.paper,
        "statement": preset.statement,
        "command": f"weighbors study {preset.name}{' --quick' if quick else ''} -o runs/",
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        "machine": platform.machine(),
        "seed": definition.random_state,
        "settings": {
            "quick": quick,
            "scoring": list(definition.scoring),
            "measures": sorted(definition.measures),
            "data_sets": data,
            "methods": list(study.methods),
            "switches": dict(preset.switches),
        },
        "cells": cells["status"].value_counts().to_dict(),
        "seconds": {
            "this_run": round(seconds, 1),
            # The time of all cells says how long the experiment takes on one core, however often it was resumed.
            "all_cells": round(float(cells["fit_seconds"].sum() + cells["predict_seconds"].sum()), 1),
        },
    }


def _page(preset: Preset, text: str, tables: Tables, notes: list[str]) -> str:
    """Return the summary page as Markdown. ``text`` is the summary of the preset, and ``notes`` stand at the end."""
    parts = [f"# {preset.title}", preset.paper, preset.statement, text]
    for name, table in tables.items():
        parts.append(f"## {name}\n\n{markdown_table(table, rows=40)}")
    return "\n\n".join([*parts, *notes]) + "\n"


def markdown_table(table: pd.DataFrame, *, rows: int | None = None) -> str:
    """Return a DataFrame as a Markdown table.

    If it has more than ``rows`` rows, only the first ``rows`` are shown, and a last line says how many are left out.
    """
    shown = table if rows is None else table.head(rows)
    body = [[_cell(value) for value in row] for row in shown.itertuples(index=False)]
    lines = [[str(name) for name in table.columns], ["---"] * len(table.columns), *body]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return text if len(shown) == len(table) else f"{text}\n\n... and {len(table) - len(shown)} rows more in the csv."


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).replace("|", "\\|")


def _write(place: Path, tables: Tables, page: str, made: dict[str, Any]) -> dict[str, Path]:
    """Write the tables, the summary ``page`` and ``made.json`` to the directory ``place``, and return their paths.

    Each file is an atomic write. ``made.json`` is deleted first and written last, so that it exists only if all other
    files are complete.
    """
    paths = {name: place / f"{name}.csv" for name in tables}
    paths |= {"summary": place / "summary.md", "made": place / "made.json", "cells": place / "cells"}
    paths["made"].unlink(missing_ok=True)
    for name, table in tables.items():
        with atomic_write(paths[name]) as file:
            table.to_csv(file, index=False, lineterminator="\n", float_format="%.6g")
    for name, text in (("summary", page), ("made", json.dumps(made, indent=1, ensure_ascii=False) + "\n")):
        with atomic_write(paths[name]) as file:
            file.write(text.encode())
    return paths
