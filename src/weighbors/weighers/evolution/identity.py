"""Describe the data of a search, and all settings that change its result, as plain values for the checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ..._identity import describe_function
from ..._targets import Target
from ..._typing import BoolArray, FloatArray
from ...weights import fingerprint
from .parameters import SearchParameters

__all__ = ["describe_course", "describe_data", "describe_estimator"]

_COURSE = (  # parameters that change the result of a search
    "objective",
    "population_size",
    "margin_rows",
    "n_neighbors",
    "per_class",
    "cv",
    "undersample",
    "de_factor",
    "crossover_rate",
    "incest_prevention",
    "restart",
    "start",
)


def describe_data(X: FloatArray, target: Target) -> str:
    """Return a fingerprint of rows and target."""
    values = target.codes if target.numbers is None else target.numbers
    return f"{X.dtype} {fingerprint(X)} {fingerprint(values[:, None])}"


def describe_course(
    given: SearchParameters,
    tasks: Sequence[str],
    alphas: Sequence[float],
    goals: Sequence[str] | None,
    nominal: BoolArray,
    target_type: str,
) -> dict[str, Any]:
    """Return all settings that change the result of a search, as plain values.

    Parameters
    ----------
    given : SearchParameters
        Parameters of the estimator.
    tasks, alphas, goals
        The values after input validation. ``goals`` is None for a single objective.
    nominal : bool ndarray of shape (M,)
        Columns that hold categories.
    target_type : {"classes", "numeric"}
        What the target is.
    """
    course = {name: getattr(given, name) for name in _COURSE}
    # NumPy numbers are not JSON numbers.
    course = {name: value.item() if isinstance(value, np.generic) else value for name, value in course.items()}
    seed = given.random_state
    course.update(
        tasks="+".join(tasks),
        alphas=list(alphas),
        goals=None if goals is None else list(goals),
        fitness=given.fitness if isinstance(given.fitness, str) else describe_function(given.fitness),
        estimator=None if given.estimator is None else describe_estimator(given.estimator),
        # A generator has no value to compare. Its entropy is stored beside the settings.
        random_state=int(seed) if isinstance(seed, Integral) else None,
        categorical_features=np.flatnonzero(nominal).tolist(),
        keep_classes=bool(given.keep_classes and "IS" in tasks and target_type == "classes"),
        target_type=target_type,
    )
    return course


def describe_estimator(estimator: Any) -> str:
    """Return the type and all parameters of an estimator, also of nested estimators, as text.

    The ``repr`` of scikit-learn is not used, since it shortens long values.
    """
    given = estimator.get_params()
    plain = {name: value for name, value in given.items() if not hasattr(value, "get_params")}
    arguments = ", ".join(f"{name}={plain[name]!r}" for name in sorted(plain))
    parts = [type(given[name]).__name__ for name in sorted(given) if hasattr(given[name], "get_params")]
    return f"{type(estimator).__name__}({arguments})" + (f" of {', '.join(parts)}" if parts else "")
