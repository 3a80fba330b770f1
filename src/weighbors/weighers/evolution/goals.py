"""Goals of a search with several goals: error, shares kept, and the class margins of paper 001."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._typing import BoolArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from ..class_relief import class_margins
from .fitness import Fitness
from .genome import Genome, Population

__all__ = ["GOALS", "WORST_GOAL", "Goals", "check_goals", "default_goals"]

GOALS = ("error", "instances", "features", "margins")
WORST_GOAL = 1e300  # goals of an individual that selects nothing


def default_goals(tasks: Sequence[str]) -> tuple[str, ...]:
    """Return the default goals: the error, and the shares of instances and features kept if the tasks select them.

    Examples
    --------
    >>> default_goals(("IS", "FW"))
    ('error', 'instances')
    """
    return ("error", *(["instances"] if "IS" in tasks else []), *(["features"] if "FS" in tasks else []))


def check_goals(goals: Any, tasks: Sequence[str], *, numeric: bool = False) -> tuple[str, ...]:
    """Return the names of the goals. Raise an error if a name is unknown or a goal does not fit tasks or target."""
    named = default_goals(tasks) if goals is None else (goals,) if isinstance(goals, str) else tuple(goals)
    unknown = [str(name) for name in named if name not in GOALS]
    if unknown or not named or len(set(named)) < len(named):
        raise InvalidDataError(f"goals must be different names out of {', '.join(GOALS)}; got {goals!r}")
    for name, task in (("instances", "IS"), ("features", "FS")):
        if name in named and task not in tasks:
            raise InvalidDataError(f"the goal '{name}' needs {task} among the tasks: without it nothing is left out")
    if "margins" in named and numeric:
        raise InvalidDataError(
            "the goal 'margins' needs classes, and y is a numeric target. Use 'error', 'instances' and 'features', or "
            "target_type='classes'"
        )
    if "margins" in named and not set(tasks) <= {"FS", "FW"}:
        raise InvalidDataError("the goal 'margins' is one of feature weights: use it with the tasks FS and FW only")
    if named != ("margins",) and len(named) < 2:
        raise InvalidDataError(
            f"objective='pareto' needs at least two goals; {'+'.join(tasks)} has only {named}. Add IS, FS or 'margins'"
        )
    return named


class Goals:
    """Goals of individuals: call it with a population to compute goals of shape (P, n_goals), all to be minimised.

    Parameters
    ----------
    names : sequence of str
        Names of the goals, as `check_goals` gives them.
    fitness : Fitness
    X, codes, classes, nominal
        As in `build_search`.
    n_jobs : int or None
        Number of threads.
    margin_rows : int ndarray or None
        Rows whose margins are measured. Their neighbours are sought among all rows. None: all rows.
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
        """One name per column of goals. The goal "margins" has one column per class."""
        names: list[str] = []
        for name in self.names:
            names += [f"margin of {label}" for label in self.classes] if name == "margins" else [name]
        return names

    def __call__(self, population: Population) -> FloatArray:
        """Return the goals of every individual. An individual that selects nothing gets the worst values."""
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
        goals[empty] = WORST_GOAL
        return goals

    def _margins(self, population: Population, empty: BoolArray) -> FloatArray:
        """Return minus the class margins θ_c under the feature weights of each individual, shape (P, n_classes).

        The weights are scaled to length 1, as in RELIEF (paper 001). ``empty`` marks the individuals that select
        nothing, which are not measured.
        """
        genome: Genome = self.genome
        a = genome.feature_weights(population) ** 2 * genome.feature_mask(population)[:, None, :]
        out = np.zeros((len(population), len(self.classes)))
        for i in np.flatnonzero(~empty):
            # Larger weights would make larger margins. Only their direction is a goal.
            length = np.sqrt((a[i] ** 2).sum(axis=1, keepdims=True))
            if (length == 0).any():
                out[i] = WORST_GOAL
                continue
            out[i] = -class_margins(self.X, self.codes, len(self.classes), a[i] / length, 1, **self.search)
        return out
