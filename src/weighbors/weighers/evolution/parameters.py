"""Parameters of a search as one dataclass, with the checks that need several parameters."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ...exceptions import InvalidDataError
from .fitness import default_alphas
from .genome import parse_tasks
from .run import Progress

__all__ = ["SearchParameters"]


@dataclass(frozen=True)
class SearchParameters:
    """Parameters of an `EvolutionaryWeigher`, under the same names."""

    tasks: Any
    target_type: str
    fitness: Any
    objective: str
    goals: Any
    margin_rows: int | None
    alphas: Any
    n_neighbors: int
    per_class: bool
    estimator: Any
    cv: int
    undersample: bool | float
    population_size: int
    max_evaluations: int
    de_factor: float
    crossover_rate: float
    keep_classes: bool
    incest_prevention: bool
    restart: bool
    start: str
    time_limit: float | None
    n_iter_no_change: int | None
    checkpoint: str | os.PathLike[str] | None
    checkpoint_seconds: float
    resume: bool
    callback: Callable[[Progress], Any] | None
    verbose: bool
    cache_bytes: int
    random_state: Any
    n_jobs: int | None

    @classmethod
    def of(cls, estimator: Any) -> SearchParameters:
        """Read the parameters of an `EvolutionaryWeigher`."""
        return cls(**{one.name: getattr(estimator, one.name) for one in fields(cls)})

    def check_numeric(self) -> None:
        """Raise an error if a parameter needs classes. It is called if the target is numeric."""
        needs = {
            "per_class=True": (self.per_class, "there are no classes with weights of their own"),
            f"undersample={self.undersample}": (
                self.undersample is not False,
                "it makes classes equally large. Draw rows before, or wrap the search in Stratified",
            ),
        }
        for name, (given, why) in needs.items():
            if given:
                raise InvalidDataError(
                    f"{name} needs classes, and y is a numeric target: {why}. Leave it out, or write "
                    "target_type='classes' if y holds names of classes"
                )

    def check(self) -> tuple[tuple[str, ...], tuple[float, float, float]]:
        """Return the tasks and the three α. Raise an error if parameters contradict each other."""
        tasks = parse_tasks(self.tasks)
        if self.max_evaluations < self.population_size:
            raise InvalidDataError(
                f"max_evaluations={self.max_evaluations} is less than population_size={self.population_size}: "
                "the first population alone needs that many"
            )
        if self.per_class and "FW" not in tasks:
            raise InvalidDataError(f"per_class=True needs FW among the tasks; got {self.tasks!r}")
        if self.goals is not None and self.objective != "pareto":
            raise InvalidDataError("goals= goes with objective='pareto'")
        if self.resume and self.checkpoint is None:
            raise InvalidDataError("resume=True needs checkpoint=, the file to continue from")
        if self.alphas is None:
            return tasks, default_alphas(tasks)
        alphas = np.asarray(self.alphas, dtype=float)
        if alphas.shape != (3,) or not (np.isfinite(alphas) & (alphas >= 0)).all() or not alphas.any():
            raise InvalidDataError(
                "alphas must be three numbers >= 0, of accuracy, instances and features, not all 0; "
                f"got {self.alphas!r}"
            )
        return tasks, (float(alphas[0]), float(alphas[1]), float(alphas[2]))
