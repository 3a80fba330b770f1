"""Scores of a study: those of labels, those of numbers, and the scorers of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    get_scorer,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from ..._typing import AnyArray
from ...exceptions import InvalidDataError
from ...metrics import g_mean

#: Scores of predicted labels.
LABEL_SCORES: dict[str, Callable[[Any, Any], float]] = {
    "accuracy": lambda true, found: float(np.mean(true == found)),
    "balanced_accuracy": lambda true, found: float(balanced_accuracy_score(true, found)),
    "error_rate": lambda true, found: float(np.mean(true != found)),
    "f1_macro": lambda true, found: float(f1_score(true, found, average="macro", zero_division=0.0)),
    "g_mean": g_mean,
}
#: Scores of predicted numbers. Any name in neither list is the name of a scorer of scikit-learn.
NUMBER_SCORES: dict[str, Callable[[Any, Any], float]] = {
    "r2": lambda true, found: _r2(true, found),
    "rmse": lambda true, found: float(root_mean_squared_error(true, found)),
    "mae": lambda true, found: float(mean_absolute_error(true, found)),
}
#: Scorers of scikit-learn for predicted numbers: with `NUMBER_SCORES`, they say that the target is numeric.
_NUMBER_SCORERS = frozenset(
    {
        "d2_absolute_error_score",
        "explained_variance",
        "neg_max_error",
        "neg_mean_absolute_error",
        "neg_mean_absolute_percentage_error",
        "neg_mean_gamma_deviance",
        "neg_mean_poisson_deviance",
        "neg_mean_squared_error",
        "neg_mean_squared_log_error",
        "neg_median_absolute_error",
        "neg_root_mean_squared_error",
        "neg_root_mean_squared_log_error",
    }
)


class NotFiniteError(ValueError):
    """A score, a prediction or a weight is NaN or infinite."""


def _r2(true: AnyArray, found: AnyArray) -> float:
    """Return R². Raise NotFiniteError for a single test row, for which it is not defined."""
    if len(true) < 2:
        raise NotFiniteError("r2 needs at least 2 test rows per fold; use fewer folds, or 'rmse' or 'mae'")
    return float(r2_score(true, found))


def compute_score(name: str, model: Any, X_test: Any, true: AnyArray, found: AnyArray) -> float:
    """Return the score called ``name``.

    ``true`` are the true labels or numbers of the rows ``X_test``, and ``found`` those that ``model`` predicts.
    """
    own = LABEL_SCORES.get(name) or NUMBER_SCORES.get(name)
    score = own(true, found) if own is not None else float(get_scorer(name)(model, X_test, true))
    if not np.isfinite(score):
        raise NotFiniteError(f"the score {name} is {score}")
    return score


def expected_by_scores(scoring: Iterable[str]) -> str | None:
    """Return "numeric" if all scores are those of predicted numbers, else None: then the target itself decides.

    Examples
    --------
    >>> expected_by_scores(["r2", "neg_mean_squared_error"]), expected_by_scores(["accuracy"])
    ('numeric', None)
    """
    names = list(scoring)
    numbers = all(name in NUMBER_SCORES or name in _NUMBER_SCORERS for name in names)
    return "numeric" if names and numbers else None


def check_target_scores(dataset: str, target_type: str, scoring: Iterable[str]) -> None:
    """Raise InvalidDataError if a data set has a numeric target, and a score needs labels."""
    wrong = [name for name in scoring if name in LABEL_SCORES]
    if target_type == "numeric" and wrong:
        raise InvalidDataError(
            f"{', '.join(map(repr, wrong))} needs labels, and data set {dataset!r} has a numeric target. Take scoring="
            f"{list(NUMBER_SCORES)}, or write target_type='classes' if its numbers are names of classes"
        )
