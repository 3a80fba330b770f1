"""The table of a selection curve: mean scores, intervals and stability of the runs of one weigher."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import t as student

from .._typing import AnyArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from .folds import Split
from .selection_result import mean_scores, selection_matrix
from .selection_runs import CurveTable, SelectionRun
from .similarity import SimilaritySums, read_similarity, similarity_stability
from .stability import nogueira_stability


@dataclass(frozen=True, eq=False)
class CurveTask:
    """A fold to be measured: labels, rows, number of the repetition or shuffle, and whether labels are shuffled."""

    y: AnyArray
    fold: Split
    part: int
    shuffled: bool


def summarize_runs(
    name: str,
    table: CurveTable,
    plan: list[CurveTask],
    runs: list[SelectionRun],
    groups: IndexArray | None,
    level: float,
) -> pd.DataFrame:
    """Return the rows of the table of one weigher.

    ``runs`` has one run per task of ``plan``, and ``groups`` are the features that stand in for each other.
    """
    similarity = None if groups is None else read_similarity(groups, table.X.shape[1])
    real = [(task, run) for task, run in zip(plan, runs, strict=True) if not task.shuffled]
    # A shuffled run without a result has an empty order.
    shuffled = [(task, run) for task, run in zip(plan, runs, strict=True) if task.shuffled and len(run.order)]
    scores = np.array([run.scores for _, run in real])
    if np.isnan(scores).any():
        raise InvalidDataError(
            "the score of a fold is NaN, as R² is for a single row. Use fewer folds, or another scoring"
        )
    score, error = mean_scores(scores, mean_test_ratio(plan))
    margin = float(student.ppf((1 + level) / 2, max(len(scores) - 1, 1))) * error
    stability = _mean_stability(real, table, similarity)
    chance = _mean_stability(shuffled, table, similarity)
    means = _part_means(shuffled, len(table.sizes))
    return pd.DataFrame(
        {
            "weigher": name,
            "size": table.sizes,
            "score": score,
            "standard_error": error,
            "low": score - margin,
            "high": np.minimum(score + margin, table.largest),
            "stability": stability[0],
            "stability_error": stability[1],
            "stand_in_stability": stability[2],
            "stand_in_error": stability[3],
            "tied": np.mean([run.tied for _, run in real], axis=0),
            "shuffled_score": means.mean(axis=0),
            "shuffled_largest": means.max(axis=0),
            "shuffled_stability": chance[0],
        }
    )


def mean_test_ratio(plan: list[CurveTask]) -> float:
    """Return the number of test rows over the number of training rows, on average over the folds."""
    return float(np.mean([len(task.fold[1]) / len(task.fold[0]) for task in plan if not task.shuffled]))


def _part_means(found: list[tuple[CurveTask, SelectionRun]], n_sizes: int) -> FloatArray:
    """Return the mean scores of each shuffle, of shape (n_shuffles, n_sizes); one row of NaN without shuffles."""
    if not found:
        return np.full((1, n_sizes), np.nan)
    parts = np.array([task.part for task, _ in found])
    scores = np.array([run.scores for _, run in found])
    return np.array([scores[parts == part].mean(axis=0) for part in np.unique(parts)])


def _mean_stability(
    found: list[tuple[CurveTask, SelectionRun]], table: CurveTable, similarity: SimilaritySums | None
) -> FloatArray:
    """Return Φ, its standard error, Φ with stand-ins, and its standard error, of shape (4, n_sizes).

    The runs of one repetition are compared with each other, and repetitions are averaged.
    """
    parts: dict[int, list[SelectionRun]] = {}
    for task, run in found:
        parts.setdefault(task.part, []).append(run)
    several = [runs for runs in parts.values() if len(runs) > 1]
    out = np.full((4, len(table.sizes)), np.nan)
    if not several:
        return out
    for place, size in enumerate(table.sizes.tolist()):
        each = np.array([_stabilities(runs, size, table.X.shape[1], similarity) for runs in several])
        out[[0, 2], place] = each[:, [0, 2]].mean(axis=0)
        # The variance of an average of r repetitions is the sum of their variances divided by r squared.
        out[[1, 3], place] = np.sqrt(each[:, [1, 3]].sum(axis=0)) / len(several)
    return out


def _stabilities(runs: list[SelectionRun], size: int, d: int, similarity: SimilaritySums | None) -> tuple[float, ...]:
    """Return Φ and its variance, and Φ with stand-ins and its variance, of the ``size`` best of ``d`` features."""
    matrix = selection_matrix(runs, size, d)
    plain = nogueira_stability(matrix)
    if similarity is None:
        return plain.stability, plain.variance, np.nan, np.nan
    like = similarity_stability(matrix, similarity)
    return plain.stability, plain.variance, like.stability, like.variance
