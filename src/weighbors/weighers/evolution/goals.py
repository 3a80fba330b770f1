"""Goals of a search with several: error, shares kept, and the class margins of paper 001."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._typing import BoolArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from ..class_relief import class_margins
from .fitness import Fitness
from .genome import Genome, Population

__all__ = ["GOALS", "Goals", "default_goals"]

GOALS = ("error", "instances", "features", "margins")
_WORST = 1e300  # of an individual that selects nothing


def default_goals(tasks: Sequence[str]) -> tuple[str, ...]:
    """Error, and the shares kept of what is selected.

    Examples
    --------
    >>> default_goals(("IS", "FW"))
    ('error', 'instances')
    """
    return ("error", *(["instances"] if "IS" in tasks else []), *(["features"] if "FS" in tasks else []))


def check_goals(goals: Any, tasks: Sequence[str]) -> tuple[str, ...]:
    """Names of goals, refused where they make no sense for the tasks."""
    named = default_goals(tasks) if goals is None else (goals,) if isinstance(goals, str) else tuple(goals)
    unknown = [str(name) for name in named if name not in GOALS]
    if unknown or not named or len(set(named)) < len(named):
        raise InvalidDataError(f"goals must be different names out of {', '.join(GOALS)}; got {goals!r}")
    for name, task in (("instances", "IS"), ("features", "FS")):
        if name in named and task not in tasks:
            raise InvalidDataError(f"the goal '{name}' needs {task} among the tasks: without it nothing is left out")
    if "margins" in named and not set(tasks) <= {"FS", "FW"}:
        raise InvalidDataError("the goal 'margins' is one of feature weights: use it with the tasks FS and FW only")
    if named != ("margins",) and len(named) < 2:
        raise InvalidDataError(
            f"objective='pareto' needs at least two goals; {'+'.join(tasks)} has only {named}. Add IS, FS or 'margins'"
        )
    return named


class Goals:
    """Judges populations by several goals, all minimised: shape (P, n_goals)."""

    def __init__(
        self,
        names: Sequence[str],
        fitness: Fitness,
        X: FloatArray,
        codes: IndexArray,
        classes: Any,
        nominal: BoolArray,
        n_jobs: int | None,
    ) -> None:
        self.names, self.fitness, self.genome = tuple(names), fitness, fitness.genome
        self.X, self.codes, self.classes = X, codes, classes
        self.search = {"nominal": nominal if nominal.any() else None, "n_jobs": n_jobs}

    @property
    def columns(self) -> list[str]:
        """One name per goal; margins have one per class."""
        names: list[str] = []
        for name in self.names:
            names += [f"margin of {label}" for label in self.classes] if name == "margins" else [name]
        return names

    def __call__(self, population: Population) -> FloatArray:
        """Goals of every individual; one that selects nothing is worse than all others."""
        judged = self.fitness(population)
        parts = {"error": 1 - judged.performance, "instances": judged.instances, "features": judged.features}
        columns = []
        for name in self.names:
            columns.append(self._margins(population, judged.empty) if name == "margins" else parts[name][:, None])
        goals = np.concatenate(columns, axis=1)
        goals[judged.empty] = _WORST
        return goals

    def _margins(self, population: Population, empty: BoolArray) -> FloatArray:
        """−θ_c under each individual's weights, scaled to unit length as RELIEF's are (paper 001)."""
        genome: Genome = self.genome
        a = genome.feature_weights(population) ** 2 * genome.feature_mask(population)[:, None, :]
        out = np.zeros((len(population), len(self.classes)))
        for i in np.flatnonzero(~empty):
            length = np.sqrt((a[i] ** 2).sum(axis=1, keepdims=True))
            if (length == 0).any():
                out[i] = _WORST
                continue
            rows = np.broadcast_to(a[i] / length, (len(self.classes), genome.n_features))
            out[i] = -class_margins(self.X, self.codes, len(self.classes), rows, 1, **self.search)
        return out
