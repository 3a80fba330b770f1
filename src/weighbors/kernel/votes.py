"""Fitted votes of stored rows, and the scores of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from .metric import Metric
from .ridge import kernel_of

__all__ = ["StoredVotes", "WidthVotes"]

_CELLS = 8_000_000  # kernel values in memory at the same time


class WidthVotes(NamedTuple):
    """Votes that fall with the distance by one width."""

    width: float
    alpha: FloatArray  # (n_stored, n_outputs)


@dataclass(frozen=True)
class StoredVotes:
    """Votes of stored rows for every query: f(q) = μ + Σ_L Σ_i exp(−d(q, x_i) / L) α_iL, over one width or more."""

    metric: Metric
    alpha: FloatArray  # (n_stored, n_outputs)
    intercept: FloatArray  # (n_outputs,)
    width: float
    more: tuple[WidthVotes, ...] = ()  # votes of further widths

    @property
    def parts(self) -> tuple[WidthVotes, ...]:
        """The votes of all widths."""
        return (WidthVotes(self.width, self.alpha), *self.more)

    @property
    def near_alpha(self) -> FloatArray:
        """The vote of each stored row for a query at distance 0: the sum over all widths."""
        total: FloatArray = sum(part.alpha for part in self.parts)  # type: ignore[assignment]
        return total

    def distances(self, queries: Any) -> FloatArray:
        """Return the distances of queries to all stored rows."""
        return self.metric.between(self.metric.select(queries))

    def scores(self, queries: Any) -> FloatArray:
        """Return the scores of queries, of shape (n_queries, n_outputs)."""
        out = np.empty((queries.shape[0], len(self.intercept)))
        size = max(1, _CELLS // self.metric.n)
        for begin in range(0, len(out), size):
            batch = slice(begin, begin + size)
            distance = self.distances(queries[batch])
            out[batch] = self.intercept
            for width, alpha in self.parts:
                out[batch] += kernel_of(distance, width) @ alpha
        return out

    def votes_for(self, query: Any) -> tuple[FloatArray, FloatArray]:
        """Return the distances of all stored rows to one query, and their votes, of shape (n_stored, n_outputs)."""
        distance = self.distances(query)[0]
        votes = np.zeros_like(self.alpha)
        for width, alpha in self.parts:
            votes += kernel_of(distance, width)[:, None] * alpha
        return distance, votes

    @property
    def stored_rows(self) -> IndexArray:
        """Numbers of the stored rows in the training data."""
        return self.metric.references.row_of_slot
