"""What a preset is: a paper's experiment as a plain description on top of `Study`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ..evaluation import Study, StudyResults

__all__ = ["Definition", "Preset", "Tables"]

Tables = dict[str, pd.DataFrame]


@dataclass(frozen=True, eq=False)
class Definition:
    """Everything a `Study` takes, but where its cells are kept.

    Parameters
    ----------
    datasets, methods, cv, n_repeats, scoring, measures, time_limit, random_state
        As in `Study`.
    """

    datasets: Any
    methods: Any
    cv: Any = 10
    n_repeats: int = 1
    scoring: tuple[str, ...] = ("accuracy",)
    measures: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    time_limit: float | None = None
    random_state: int = 0

    def study(self, store: str | os.PathLike[str]) -> Study:
        """The study, its cells in ``store``."""
        return Study(
            self.datasets,
            self.methods,
            store,
            cv=self.cv,
            n_repeats=self.n_repeats,
            scoring=self.scoring,
            measures=self.measures,
            time_limit=self.time_limit,
            random_state=self.random_state,
        )


@dataclass(frozen=True, eq=False)
class Preset:
    """A paper's experiment: what is run, which tables are made of it, and what the paper found.

    Attributes
    ----------
    name : str
        As the command line knows it.
    title : str
    paper : str
        Authors, title, place and year.
    statement : str
        How features are prepared, what is repeated, and the seed; printed above the tables.
    data_sets : function of quick
        Names of the data sets, a few small ones with ``quick=True``.
    build : function of quick and data_home
        The `Definition`. ``data_home`` is the directory of the data sets, None the one that
        ``WEIGHBORS_DATA`` names.
    tables : function of StudyResults
        Tables by name, ours beside the paper's where it prints figures. Gets complete data sets only.
    summary : function of the tables
        A few lines of plain text: the paper's claim and what was found.
    """

    name: str
    title: str
    paper: str
    statement: str
    data_sets: Callable[[bool], tuple[str, ...]]
    build: Callable[[bool, str | os.PathLike[str] | None], Definition]
    tables: Callable[[StudyResults], Tables]
    summary: Callable[[Tables], str]

    def __repr__(self) -> str:
        return f"Preset {self.name}: {self.title}\n  {self.paper}\n  {self.statement}"
