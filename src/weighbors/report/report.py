"""Build a report and write it as HTML, Markdown, JSON or a summary for the terminal."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import whole_number
from .._display.html import bar, block, heading, paragraph, table
from .._io.files import atomic_write
from .._names import escape_controls, require_text
from .._random import seed_sequence
from ..exceptions import InvalidDataError
from ._caveats import caveats
from ._data import clean_report_table, prepare_report_data
from ._effort import effort_for, sample_rows
from ._list import measure_list
from ._measure import OnStep, measure_all_rows, measure_chance, measure_folds
from ._sections import MOST_INTERVAL_FEATURES, build_sections
from ._sections_list import list_section
from ._sections_numbers import build_number_sections
from ._text import format_cell, markdown, terminal
from ._words import summary

SCHEMA = 3
_PACKAGES = ("weighbors", "numpy", "scipy", "scikit-learn", "pandas")


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A report as plain data, with methods to show and save it.

    Attributes
    ----------
    data : dict
        Strings, numbers, lists and dicts only: schema, title, target, target_type, summary, caveats, notes, table,
        list, features, classes, stability, instances, gain, difficulty, intervals and made.
    """

    data: dict[str, Any]

    def to_html(self) -> str:
        """Return one HTML page with figures, sortable tables, and the numbers as JSON. It needs no network.

        This method needs matplotlib and jinja2: ``pip install 'weighbors[report]'``.
        """
        from ._html import render_html

        return render_html(self.data)

    def to_markdown(self) -> str:
        """Return the tables and sentences as Markdown."""
        return markdown(self.data)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the plain dict as JSON. Control and direction characters of names are escaped."""
        return escape_controls(json.dumps(self.data, ensure_ascii=False, allow_nan=False, indent=indent))

    def summary(self) -> str:
        """Return the findings and caveats as lines for a terminal."""
        return terminal(self.data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file, in an atomic write. The format follows from the ending: .html, .md or .json."""
        makers: dict[str, Callable[[], str]] = {
            ".html": self.to_html,
            ".htm": self.to_html,
            ".md": self.to_markdown,
            ".json": self.to_json,
        }
        make = makers.get(Path(path).suffix.lower())
        if make is None:
            raise InvalidDataError(f"a report is saved as .html, .md or .json; got '{path}'")
        # The whole text is made before the file is opened, so that an error leaves no file behind.
        text = make().encode("utf8")
        with atomic_write(path) as file:
            file.write(text)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Return a report, read from the JSON text of `to_json`.

        Raises
        ------
        InvalidDataError
            If the text is not a report, or if the report has another schema version.
        """
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise InvalidDataError(f"this is no report: {error}") from error
        if not isinstance(data, dict) or data.get("schema") != SCHEMA or "made" not in data:
            raise InvalidDataError(f"this is no report of schema {SCHEMA}: make it anew with this version")
        return cls(data)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """Return findings, caveats and the best features for a notebook. `to_html` returns the whole page."""
        rows = self.data["features"]["rows"]
        largest = max((abs(row["weight"]) for row in rows), default=0.0)
        features = [
            [escape(row["name"]), format_cell(row["weight"]), bar(row["weight"], largest, two_sided=False)]
            for row in rows[:10]
        ]
        hidden = f"{len(rows) - 10} more features" if len(rows) > 10 else ""
        whole = "The whole report: save('report.html')."
        return block(
            heading(self.data["title"]),
            *(paragraph(line) for line in self.data["summary"]),
            heading("Caveats"),
            *(paragraph(line) for line in self.data["caveats"]),
            heading("Features of the largest weight"),
            table(["feature", "weight", ""], features, raw=True),
            paragraph(f"{hidden}. {whole}" if hidden else whole, soft=True),
        )


def build_report(
    X: Any,
    y: Any,
    *,
    target: str = "class",
    title: str | None = None,
    row_labels: Any = None,
    groups: Any = None,
    keep: Iterable[str] = (),
    drop: Iterable[str] = (),
    notes: Iterable[str] = (),
    n_neighbors: int = 5,
    target_type: str = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: OnStep | None = None,
) -> Report:
    """Return a report: which features and rows of a table matter, how certain this is, and how much a k-NN gains.

    Numbers are divided by their column range (in the training part of each fold). Two categories differ by 0 or 1. All
    methods accept missing values. ReliefF weighs the features, `ClassRelief` the features per class, `MBIW` the rows,
    and `RepresentativeIntervals` the values of discrete features. The scores come from repeated cross-validation, with
    weights learned only in the training parts. A permutation test on all rows finds the features whose weights are
    larger than expected by chance. A large table is sampled, and the report says so.

    For a numeric target, `RReliefF` weighs the features, with the rank correlation of each one with the target. R² of a
    k-NN without and with these weights, and of `LearnedVotesRegressor`, is compared with that of the mean. Unusual rows
    are those that their neighbours predict worst. Sections that need classes are left out.

    Parameters
    ----------
    X : DataFrame, array-like or sparse matrix of shape (n_samples, n_features)
        Columns of a DataFrame that cannot help are left out, as `clean_table` does: empty and constant columns, dates,
        and identifiers. Infinite numbers become missing values. The caveats name them.
    y : array-like of shape (n_samples,)
        Class of each row, or a numeric target.
    target : str, default="class"
        Name of the target.
    title : str, optional
    row_labels : sequence of shape (n_samples,), optional
        Names of the rows. By default an identifier column that was left out, the index of a DataFrame, or numbers
        from 0.
    groups : array-like of shape (n_samples,), optional
        Group of each row. Rows of one group, for example the samples of one patient, stay together in folds.
    keep, drop : iterable of str
        Columns of a DataFrame that are kept although they look like identifiers, and columns that are left out.
    notes : iterable of str
        Messages about earlier changes of the table, such as columns that were left out. They are shown as caveats.
    n_neighbors : int, default=5
        Number of neighbours of the k-NN.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. "auto": floats with a fraction or with many values are numbers.
    random_state : int, RandomState or None, default=0
        Seed for folds, permutations and samples.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.
    progress : callable, optional
        Called with the number of steps done, the number of all steps, and a text that names the current step.

    Returns
    -------
    Report

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from weighbors.report import build_report
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> report = build_report(X, y, target="cultivar")
    >>> [row["name"] for row in report.data["features"]["rows"][:2]]
    ['od280/od315_of_diluted_wines', 'flavanoids']
    >>> report.data["gain"]["measure"]
    'accuracy'

    A number to predict:

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> report = build_report(X[::4], y[::4], target="progression")
    >>> report.data["target_type"], report.data["gain"]["measure"]
    ('numeric', 'R²')
    """
    begun = time.perf_counter()
    tell = progress or (lambda done, total, what: None)
    n_neighbors = whole_number(n_neighbors, "n_neighbors")
    notes = [str(note) for note in notes]
    require_text([target, title, *notes], "title, target or note")
    if target_type not in ("auto", "classes", "numeric"):
        raise InvalidDataError(f"target_type must be 'auto', 'classes' or 'numeric'; got {target_type!r}")
    X, found_names, cleaned = clean_report_table(X, keep=keep, drop=drop)
    notes = [*notes, *cleaned]
    row_labels = found_names if row_labels is None else row_labels
    full = prepare_report_data(X, y, row_labels=row_labels, groups=groups, target_type=target_type)
    root = seed_sequence(random_state)
    # Separate seeds: more permutations, for example, do not change the folds.
    sample_seed, fold_seed, chance_seed, list_seed = root.spawn(4)
    effort = effort_for(full)
    table, drawn = sample_rows(full, effort.rows, np.random.default_rng(sample_seed))
    # The largest test part has ceil(n / folds) rows. The k-NN cannot find more neighbours than the other rows.
    k = int(min(n_neighbors, table.n - -(-table.n // effort.folds)))
    folds = measure_folds(table, effort, k=k, seed=fold_seed, n_jobs=n_jobs, progress=tell)
    chance = measure_chance(table, effort, seed=chance_seed, n_jobs=n_jobs, progress=tell)
    chosen = measure_list(table, effort, folds.first, k=k, seed=list_seed, n_jobs=n_jobs, progress=tell)
    tell(effort.steps - 1, effort.steps, "all rows")
    order = np.argsort(-folds.mean, kind="stable")
    whole = measure_all_rows(table, order, k=k, n_jobs=n_jobs, most_intervals=MOST_INTERVAL_FEATURES)
    build: Callable[..., dict[str, Any]] = build_number_sections if full.numeric else build_sections
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "title": str(title) if title is not None else _default_title(target, full.numeric),
        "target": str(target),
        "target_type": "numeric" if full.numeric else "classes",
        "notes": notes,
        **build(full, table, drawn, effort, folds, chance, whole, order),
        "list": list_section(table, chosen, folds, effort),
    }
    data["made"] = {
        "versions": {name: version(name) for name in _PACKAGES} | {"python": platform.python_version()},
        "settings": {
            "random_state": _plain_seed(random_state),
            "n_neighbors": k,
            "n_folds": effort.folds,
            "n_repeats": effort.repeats,
            "n_permutations": effort.permutations,
            "list_pairs": effort.pairs,
            "list_fold_pairs": effort.fold_pairs,
            "list_permutations": effort.list_permutations,
            "relief_neighbors": 10,
            "rows_at_most": effort.rows,
            "scaling": "numbers divided by their range in the training rows; categories differ by 0 or 1",
        },
        "seconds": round(time.perf_counter() - begun, 2),
    }
    data["summary"], data["caveats"] = summary(data), caveats(data)
    tell(effort.steps, effort.steps, "done")
    return Report(data)


def _default_title(target: str, numeric: bool) -> str:
    """Return the title of a report that was given none."""
    return f"What goes with {target}" if numeric else f"What tells {target} apart"


def _plain_seed(random_state: Any) -> Any:
    """Return the seed as an integer, or as text if it is not an integer, for JSON."""
    return int(random_state) if isinstance(random_state, (int, np.integer)) else str(random_state)
