"""Results → plain dict → html, md, json or a summary for the terminal."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import whole_number
from .._files import written_whole
from .._names import require_text
from ..evaluation._fitting import seed_sequence
from ..exceptions import InvalidDataError
from ._measure import Progress, effort_for, measure_folds, measure_whole, sampled
from ._sections import MOST_INTERVAL_FEATURES, sections
from ._table import open_report_table
from ._text import markdown, terminal
from ._words import caveats, summary

__all__ = ["Report", "build_report"]

SCHEMA = 1
_PACKAGES = ("weighbors", "numpy", "scipy", "scikit-learn", "pandas")


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A report as plain data, and the ways to read it.

    Attributes
    ----------
    data : dict
        Strings, numbers, lists and dicts only: schema, title, target, summary, caveats, notes, table,
        features, classes, stability, instances, gain, difficulty, intervals and made.
    """

    data: dict[str, Any]

    def to_html(self) -> str:
        """One page without any request: pictures, tables that sort, the numbers as JSON.

        Needs matplotlib and jinja2: ``pip install 'weighbors[report]'``.
        """
        from ._html import html

        return html(self.data)

    def to_markdown(self) -> str:
        """The tables and sentences as Markdown."""
        return markdown(self.data)

    def to_json(self, *, indent: int | None = None) -> str:
        """The plain dict as JSON."""
        return json.dumps(self.data, ensure_ascii=False, allow_nan=False, indent=indent)

    def summary(self) -> str:
        """The findings and caveats as lines for a terminal."""
        return terminal(self.data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write ``.html``, ``.md`` or ``.json``, by the ending; whole or not at all."""
        makers: dict[str, Callable[[], str]] = {
            ".html": self.to_html,
            ".htm": self.to_html,
            ".md": self.to_markdown,
            ".json": self.to_json,
        }
        make = makers.get(Path(path).suffix.lower())
        if make is None:
            raise InvalidDataError(f"a report is saved as .html, .md or .json; got '{path}'")
        text = make().encode("utf8")
        with written_whole(path) as file:
            file.write(text)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """A report from what `to_json` gave.

        Raises
        ------
        InvalidDataError
            Where the text is no report, or one of another schema.
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


def build_report(
    X: Any,
    y: Any,
    *,
    target: str = "class",
    title: str | None = None,
    row_labels: Any = None,
    groups: Any = None,
    notes: Iterable[str] = (),
    n_neighbors: int = 5,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Find out which features and rows of a table matter, how sure that is, and what it buys a k-NN.

    Numbers are divided by their range (in the training part of each fold), categories differ by 0 or 1, and missing
    values are handled by every method. Features are weighed by ReliefF, per class by `ClassRelief`, rows by
    `MBIW`, values of discrete features by `RepresentativeIntervals`. The scores come from repeated
    cross-validation with the weights learned in the training parts only. Large tables are sampled, and the
    report says so.

    Parameters
    ----------
    X : DataFrame, array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Classes.
    target : str, default="class"
        What ``y`` is called.
    title : str, optional
    row_labels : sequence of shape (n_samples,), optional
        What rows are called; the index of a DataFrame, or their numbers from 0, by default.
    groups : array-like of shape (n_samples,), optional
        Rows of one group (the samples of one patient) stay together in folds.
    notes : iterable of str
        What was done to the table before, such as columns that were left out; shown among the caveats.
    n_neighbors : int, default=5
        Of the k-NN.
    random_state : int, RandomState or None, default=0
        For folds, shuffles and samples.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.
    progress : callable, optional
        Called with (steps done, steps in all, what is being done).

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
    """
    begun = time.perf_counter()
    tell = progress or (lambda done, total, what: None)
    n_neighbors = whole_number(n_neighbors, "n_neighbors")
    notes = [str(note) for note in notes]
    require_text([target, title, *notes], "title, target or note")
    full = open_report_table(X, y, row_labels=row_labels, groups=groups)
    root = seed_sequence(random_state)
    sample_seed, fold_seed = root.spawn(2)
    effort = effort_for(full)
    table, drawn = sampled(full, effort.rows, np.random.default_rng(sample_seed))
    k = int(min(n_neighbors, table.n - -(-table.n // effort.folds)))
    folds = measure_folds(table, effort, k=k, seed=fold_seed, n_jobs=n_jobs, progress=tell)
    tell(effort.steps - 1, effort.steps, "all rows")
    order = np.argsort(-folds.mean, kind="stable")
    whole = measure_whole(table, order, k=k, n_jobs=n_jobs, most_intervals=MOST_INTERVAL_FEATURES)
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "title": str(title) if title is not None else f"What tells {target} apart",
        "target": str(target),
        "notes": notes,
        **sections(full, table, drawn, effort, folds, whole, order),
    }
    data["made"] = {
        "versions": {name: version(name) for name in _PACKAGES} | {"python": platform.python_version()},
        "settings": {
            "random_state": _told_seed(random_state),
            "n_neighbors": k,
            "n_folds": effort.folds,
            "n_repeats": effort.repeats,
            "n_shuffles": effort.shuffles,
            "relief_neighbors": 10,
            "rows_at_most": effort.rows,
            "scaling": "numbers divided by their range in the training rows; categories differ by 0 or 1",
        },
        "seconds": round(time.perf_counter() - begun, 2),
    }
    data["summary"], data["caveats"] = summary(data), caveats(data)
    tell(effort.steps, effort.steps, "done")
    return Report(data)


def _told_seed(random_state: Any) -> Any:
    return int(random_state) if isinstance(random_state, (int, np.integer)) else str(random_state)
