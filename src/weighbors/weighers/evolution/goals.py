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

__all__ = ["GOALS", "Goals", "check_goals", "default_goals", "drawn_rows"]

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


def drawn_rows(codes: IndexArray, limit: int | None, rng: np.random.Generator) -> IndexArray | None:
    """About ``limit`` rows, as many of each class while it has them; None for all.

    Examples
    --------
    >>> codes = np.array([0] * 50 + [1] * 3)
    >>> np.bincount(codes[drawn_rows(codes, 20, np.random.default_rng(0))])
    array([10,  3])
    """
    if limit is None or len(codes) <= limit:
        return None
    each = -(-limit // int(codes.max() + 1))
    members = [np.flatnonzero(codes == c) for c in range(int(codes.max()) + 1)]
    return np.sort(np.concatenate([rng.choice(part, min(each, len(part)), replace=False) for part in members]))


class Goals:
    """Judges populations by several goals, all minimised: shape (P, n_goals).

    Margins are measured on ``margin_rows``, against all rows; None: on all.
    """

    def __init__(
        self,
        names: Sequence[str],
        fitness: Fitness,
        X: FloatArray,
        codes: IndexArray,
        classes: Any,
        nominal: BoolArray,
        n_jobs: int | None,
        *,
        margin_rows: IndexArray | None = None,
    ) -> None:
        self.names, self.fitness, self.genome = tuple(names), fitness, fitness.genome
        self.X, self.codes, self.classes = X, codes, classes
        self.search: dict[str, Any] = {
            "nominal": nominal if nominal.any() else None,
            "n_jobs": n_jobs,
            "rows": margin_rows,
        }

    @property
    def columns(self) -> list[str]:
        """One name per goal; margins have one per class."""
        names: list[str] = []
        for name in self.names:
            names += [f"margin of {label}" for label in self.classes] if name == "margins" else [name]
        return names

    def __call__(self, population: Population) -> FloatArray:
        """Goals of every individual; one that selects nothing is worse than all others."""
        rows, columns = self.genome.kept(population)
        empty = (rows == 0) | (columns == 0)
        parts: dict[str, FloatArray] = {
            "instances": rows / self.genome.n_instances,
            "features": columns / self.genome.n_features,
        }
        if "error" in self.names:
            parts["error"] = 1 - self.fitness(population).performance
        goals = np.column_stack(
            [self._margins(population, empty) if name == "margins" else parts[name] for name in self.names]
        )
        goals[empty] = _WORST
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
            out[i] = -class_margins(self.X, self.codes, len(self.classes), a[i] / length, 1, **self.search)
        return out
