"""The class of presets: descriptions of a paper's experiment, which `Study` runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ..evaluation import Study, StudyResults

Tables = dict[str, pd.DataFrame]


@dataclass(frozen=True, eq=False)
class Definition:
    """All parameters of a `Study`, except the directory in which its cells are stored, and which data are absent.

    Parameters
    ----------
    datasets, methods, cv, n_repeats, scoring, measures, random_state
        As in `Study`.
    absent : mapping of name to group and name
        Data sets of the experiment that are not in the directory of data sets, and their places there.
    built_in : bool
        Whether tables that come with scikit-learn replace those of the paper.
    """

    datasets: Any
    methods: Any
    cv: Any = 10
    n_repeats: int = 1
    scoring: tuple[str, ...] = ("accuracy",)
    measures: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    random_state: int = 0
    absent: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    built_in: bool = False

    def study(self, store: str | os.PathLike[str]) -> Study:
        """Return the study. Its cells are stored in the directory ``store``."""
        settings = {name: value for name, value in vars(self).items() if name not in ("absent", "built_in")}
        return Study(store=store, **settings)


@dataclass(frozen=True, eq=False)
class Preset:
    """A paper's experiment: what is computed, which tables are made, and how they compare with the paper.

    Attributes
    ----------
    name : str
        The name on the command line.
    title : str
    paper : str
        Authors, title, place and year.
    statement : str
        How features are prepared, what is repeated, and the seed. It is printed above the tables.
    data_sets : function of quick
        Returns the names of the data sets. With ``quick=True``, it returns a few small ones.
    build : function of quick and data_home
        Returns the `Definition`. ``data_home`` is the directory of the data sets. If it is None, the environment
        variable ``WEIGHBORS_DATA`` names the directory.
    tables : function of StudyResults
        Returns the tables by name. If the paper prints a number, our number stands beside it. The results contain
        complete data sets only.
    summary : function of the tables
        Returns a few lines of plain text, which compare the results with the paper.
    offline : str
        What the quick version computes on built-in tables, which then stands in place of the statement. It is empty if
        the quick version needs the directory of data sets, too.
    switches : mapping
        Settings of the methods that the paper does not specify, with their values. They are written to ``made.json``.
    """

    name: str
    title: str
    paper: str
    statement: str
    data_sets: Callable[[bool], tuple[str, ...]]
    build: Callable[[bool, str | os.PathLike[str] | None], Definition]
    tables: Callable[[StudyResults], Tables]
    summary: Callable[[Tables], str]
    offline: str = ""
    switches: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Preset {self.name}: {self.title}\n  {self.paper}\n  {self.statement}"
