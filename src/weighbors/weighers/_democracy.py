"""How many votes remove an instance: the threshold whose nearest neighbour errs least and keeps least.

García-Osorio et al. 2010: of the thresholds v = 1 ... r the one that minimises
f(v) = α · ε(v) + (1 − α) · m(v), ε the error of 1-NN with what v leaves and m the share it leaves.
What thresholds leave is nested, so one search per level of votes serves all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._typing import BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from .evolution.fitness import Performance

__all__ = ["Candidate", "feature_candidates", "judge", "merge", "nested", "predictions"]


class Candidate(NamedTuple):
    """One way to count: the features that are kept at a share of votes."""

    threshold: float
    support: BoolArray


def feature_candidates(share: FloatArray | None, elected: BoolArray, n_rounds: int, fixed: bool) -> list[Candidate]:
    """Supports to be judged: one per tenth (r-th) of the votes, equal ones once.

    ``elected`` alone where the features are not selected, or their number or share is ``fixed``.
    """
    if share is None or fixed:
        return [Candidate(np.nan, elected)]
    found: dict[bytes, Candidate] = {}
    for number in range(1, n_rounds + 1):
        support = share >= number / n_rounds - 1e-9
        if support.any():
            found.setdefault(support.tobytes(), Candidate(number / n_rounds, support))
    return list(found.values()) or [Candidate(float(share.max()), elected)]


def merge(parts: list[tuple[FloatArray, IndexArray, IndexArray]], k: int) -> tuple[FloatArray, IndexArray, IndexArray]:
    """The k nearest of several lists, by distance and then row: arrays (..., k) of distance, row, class."""
    distance, row, code = (np.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True))
    last = np.where(row < 0, np.iinfo(np.int64).max, row)
    order = np.lexsort((last, np.where(row < 0, np.inf, distance)), axis=-1)[..., :k]
    taken = (np.take_along_axis(values, order, axis=-1) for values in (distance, row, code))
    return tuple(taken)  # type: ignore[return-value]


def nested(found: tuple[FloatArray, IndexArray, IndexArray], k: int) -> list[tuple[FloatArray, IndexArray, IndexArray]]:
    """Neighbours among levels 0 to v − 1, for v = 1, 2, ...; from those of each level."""
    out: list[tuple[FloatArray, IndexArray, IndexArray]] = []
    for level in range(found[0].shape[1]):
        mine = (found[0][:, level], found[1][:, level], found[2][:, level])
        out.append(mine if not out else merge([out[-1], mine], k))
    return out


def predictions(row: IndexArray, code: IndexArray, votes: FloatArray | None, n_classes: int) -> IndexArray:
    """Class of every query by the votes of its neighbours, ties to the first; -1 without any."""
    weight = np.where(row < 0, 0.0, 1.0 if votes is None else votes[np.maximum(row, 0)])
    total = np.zeros((len(row), n_classes))
    for slot in range(row.shape[1]):
        np.add.at(total, (np.arange(len(row)), np.maximum(code[:, slot], 0)), weight[:, slot])
    chosen: IndexArray = np.where((row >= 0).any(axis=1), total.argmax(axis=1), -1).astype(np.int64)
    return chosen


def judge(
    found: list[tuple[FloatArray, IndexArray, IndexArray]],
    candidates: list[Candidate],
    kept: FloatArray,
    performance: Performance,
    votes: FloatArray | None,
    *,
    alpha: float,
    k: int,
) -> pd.DataFrame:
    """One row per pair of thresholds: error, share of the table kept, and f.

    ``kept`` is the share of the rows that v = 1, 2, ... leave; v that leave nothing are not listed.
    """
    rows: list[dict[str, Any]] = []
    for candidate, neighbors in zip(candidates, found, strict=True):
        for v, (_, row, code) in enumerate(nested(neighbors, k), start=1):
            if kept[v - 1] == 0:
                continue
            answer = predictions(row, code, votes, len(performance.classes))
            error = 1.0 - float(performance(answer[None, :])[0])
            share = float(kept[v - 1] * candidate.support.mean())
            told = {"threshold": v, "feature_threshold": candidate.threshold, "error": error, "kept": share}
            rows.append({**told, "f": alpha * error + (1.0 - alpha) * share})
    if not rows:
        raise InvalidDataError("no threshold leaves an instance")
    return pd.DataFrame(rows)
