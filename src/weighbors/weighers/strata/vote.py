"""Compare thresholds: how many votes remove an instance.

García-Osorio et al. 2010: of the thresholds v = 1 ... r, choose the one that minimises
f(v) = α · ε(v) + (1 − α) · m(v). ε is the error of the nearest neighbour with the instances that v leaves, and m is
their share. A higher threshold keeps all instances that a lower one keeps. So the neighbours at each level of votes
give the neighbours for all thresholds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..._targets import Target
from ..._typing import AnyArray, BoolArray, FloatArray
from ...exceptions import InvalidDataError
from ..evolution.fitness import NumericPerformance, Performance, build_score
from .neighbors import Nearest


class Candidate(NamedTuple):
    """A threshold for the share of votes, and the features that it keeps."""

    threshold: float
    support: BoolArray


def list_candidates(share: FloatArray, n_rounds: int) -> list[Candidate]:
    """Return the sets of features to compare: those of the thresholds 1/r, 2/r, ... 1 for r rounds.

    Equal sets are returned once. ``share`` is the share of votes of each feature.
    """
    found: dict[bytes, Candidate] = {}
    for number in range(1, n_rounds + 1):
        # Shares are means and have rounding errors.
        support = share >= number / n_rounds - 1e-9
        if support.any():
            found.setdefault(support.tobytes(), Candidate(number / n_rounds, support))
    return list(found.values())


def measure_performance(score: Any, truth: Target) -> Performance | NumericPerformance:
    """Return the score of predictions of rows whose target is ``truth``. ``score`` is a name or a function."""
    if truth.numbers is not None and len(np.unique(truth.numbers)) < 2:
        raise InvalidDataError(
            f"the {len(truth.numbers)} rows on which the error is measured all have the target "
            f"{truth.numbers[0]:g}: choose the threshold (threshold=)"
        )
    return build_score(score, truth)


def compare_thresholds(
    found: list[Nearest],
    candidates: list[Candidate],
    kept: FloatArray,
    target: Target,
    performance: Performance | NumericPerformance,
    alpha: float,
) -> pd.DataFrame:
    """Return a table with one row per pair of thresholds: error, share of the table kept, and f.

    Parameters
    ----------
    found : list of Nearest
        The nearest rows at each level, for each of the ``candidates``.
    candidates : list of Candidate
    kept : ndarray of shape (n_levels,)
        Share of rows that each threshold v = 1, 2, ... leaves. A threshold that leaves no rows is not in the table.
    target : Target
        The target of all rows of the table.
    performance : Performance or NumericPerformance
        The score of predictions of the queries.
    alpha : float
    """
    # A query without a neighbour has no class, or the mean of all queries.
    values: AnyArray = target.codes if target.numbers is None else target.numbers
    otherwise = performance.numbers.mean() if isinstance(performance, NumericPerformance) else -1
    rows: list[dict[str, Any]] = []
    for candidate, neighbors in zip(candidates, found, strict=True):
        for v, (_, row) in enumerate(neighbors.below_levels(), start=1):
            if kept[v - 1] == 0:
                continue
            answer = np.where(row < 0, otherwise, values[row])
            error = 1.0 - float(performance(answer[None, :])[0])
            share = float(kept[v - 1] * candidate.support.mean())
            judged = {"threshold": v, "feature_threshold": candidate.threshold, "error": error, "kept": share}
            rows.append({**judged, "f": alpha * error + (1.0 - alpha) * share})
    if not rows:
        raise InvalidDataError("no threshold leaves an instance")
    return pd.DataFrame(rows)
