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

from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from ..evolution.fitness import Performance
from ..evolution.number_scores import NumericPerformance

__all__ = ["Candidate", "feature_candidates", "judge", "mean_numbers", "merge", "nested", "predictions"]


class Candidate(NamedTuple):
    """A threshold for the share of votes, and the features that it keeps."""

    threshold: float
    support: BoolArray


def feature_candidates(share: FloatArray | None, elected: BoolArray, n_rounds: int, fixed: bool) -> list[Candidate]:
    """Return the sets of features to compare: those of the thresholds 1/r, 2/r, ... 1 for r rounds.

    Equal sets are returned once. If ``share``, the share of votes of each feature, is None, or if ``fixed`` is
    True, return only the features ``elected``.
    """
    if share is None or fixed:
        return [Candidate(np.nan, elected)]
    found: dict[bytes, Candidate] = {}
    for number in range(1, n_rounds + 1):
        # Shares are means and have rounding errors.
        support = share >= number / n_rounds - 1e-9
        if support.any():
            found.setdefault(support.tobytes(), Candidate(number / n_rounds, support))
    return list(found.values()) or [Candidate(float(share.max()), elected)]


def merge(parts: list[tuple[FloatArray, IndexArray, IndexArray]], k: int) -> tuple[FloatArray, IndexArray, IndexArray]:
    """Merge several lists of neighbours into the k nearest, ordered by distance and then by row number.

    A list is a tuple of distances, rows and targets (classes or numbers), arrays of shape (..., k). Row -1 means no
    neighbour.
    """
    distance, row, code = (np.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True))
    # Places without a neighbour come last, whatever distance they have.
    last = np.where(row < 0, np.iinfo(np.int64).max, row)
    order = np.lexsort((last, np.where(row < 0, np.inf, distance)), axis=-1)[..., :k]
    taken = (np.take_along_axis(values, order, axis=-1) for values in (distance, row, code))
    return tuple(taken)  # type: ignore[return-value]


def nested(found: tuple[FloatArray, IndexArray, IndexArray], k: int) -> list[tuple[FloatArray, IndexArray, IndexArray]]:
    """Return the k nearest neighbours among the levels 0 to v − 1, for each v = 1, 2, ...

    ``found`` has the neighbours at each level.
    """
    out: list[tuple[FloatArray, IndexArray, IndexArray]] = []
    for level in range(found[0].shape[1]):
        mine = (found[0][:, level], found[1][:, level], found[2][:, level])
        out.append(mine if not out else merge([out[-1], mine], k))
    return out


def predictions(row: IndexArray, code: IndexArray, votes: FloatArray | None, n_classes: int) -> IndexArray:
    """Return the class of every query by the votes of its neighbours, or -1 if it has no neighbours.

    If classes have equal votes, the first class is returned. If all neighbours have a vote of zero, they count
    equally, as in the k-NN. ``row`` and ``code`` are row numbers and classes of the neighbours. ``votes`` has the
    vote of every row, or is None for equal votes.
    """
    weight = _vote_weights(row, votes)
    total = np.zeros((len(row), n_classes))
    for slot in range(row.shape[1]):
        # Several neighbours may vote for the same class, so their votes must be added one by one.
        np.add.at(total, (np.arange(len(row)), np.maximum(code[:, slot], 0)), weight[:, slot])
    chosen: IndexArray = np.where((row >= 0).any(axis=1), total.argmax(axis=1), -1).astype(np.int64)
    return chosen


def mean_numbers(row: IndexArray, number: FloatArray, votes: FloatArray | None, otherwise: float) -> FloatArray:
    """Return the mean number of the neighbours of every query, weighted by votes, or ``otherwise`` without neighbours.

    ``row`` and ``votes`` are as in `predictions`. ``number`` has the targets of the neighbours.
    """
    weight = _vote_weights(row, votes)
    total = weight.sum(axis=1)
    mean = (weight * number).sum(axis=1) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, mean, otherwise)


def _vote_weights(row: IndexArray, votes: FloatArray | None) -> FloatArray:
    """Return the vote of every neighbour, 0 where there is none. If all votes of a query are zero, they are equal."""
    there = (row >= 0).astype(np.float64)
    weight = there if votes is None else there * votes[np.maximum(row, 0)]
    return np.where((weight > 0).any(axis=1, keepdims=True), weight, there)


def judge(
    found: list[tuple[FloatArray, IndexArray, IndexArray]],
    candidates: list[Candidate],
    kept: FloatArray,
    performance: Performance | NumericPerformance,
    votes: FloatArray | None,
    *,
    alpha: float,
    k: int,
) -> pd.DataFrame:
    """Return a table with one row per pair of thresholds: error, share of the table kept, and f.

    ``found`` has the neighbours for each of the ``candidates``. ``kept`` is the share of rows that each threshold
    v = 1, 2, ... leaves. A threshold that leaves no rows is not in the table.
    """
    rows: list[dict[str, Any]] = []
    for candidate, neighbors in zip(candidates, found, strict=True):
        for v, (_, row, value) in enumerate(nested(neighbors, k), start=1):
            if kept[v - 1] == 0:
                continue
            answer: AnyArray
            if isinstance(performance, NumericPerformance):
                answer = mean_numbers(row, value.astype(np.float64), votes, float(performance.numbers.mean()))
            else:
                answer = predictions(row, value, votes, len(performance.classes))
            error = 1.0 - float(performance(answer[None, :])[0])
            share = float(kept[v - 1] * candidate.support.mean())
            judged = {"threshold": v, "feature_threshold": candidate.threshold, "error": error, "kept": share}
            rows.append({**judged, "f": alpha * error + (1.0 - alpha) * share})
    if not rows:
        raise InvalidDataError("no threshold leaves an instance")
    return pd.DataFrame(rows)
