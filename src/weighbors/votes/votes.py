"""Fitted votes of stored rows, and the scores of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray
from .metric import Metric
from .ridge import kernel_of

_CELLS = 8_000_000  # kernel values in memory at the same time
_PRODUCT = 8192  # rows in one product; BLAS would share more than 10 000 of them between threads


@dataclass(frozen=True)
class StoredVotes:
    """Votes of stored rows for every query: f(q) = μ + Σ_i exp(−d(q, x_i) / L) α_i."""

    metric: Metric
    alpha: FloatArray  # (n_stored, n_outputs)
    intercept: FloatArray  # (n_outputs,)
    width: float

    def distances(self, queries: Any) -> FloatArray:
        """Return the distances of queries to all stored rows."""
        return self.metric.between(self.metric.select(queries))

    def scores(self, queries: Any) -> FloatArray:
        """Return the scores of queries, of shape (n_queries, n_outputs)."""
        out = np.empty((queries.shape[0], len(self.intercept)))
        size = max(1, _CELLS // self.metric.n)
        for begin in range(0, len(out), size):
            batch = slice(begin, begin + size)
            out[batch] = self.intercept + _add_votes(kernel_of(self.distances(queries[batch]), self.width), self.alpha)
        return out

    def votes_for(self, query: Any) -> tuple[FloatArray, FloatArray]:
        """Return the distances of all stored rows to one query, and their votes, of shape (n_stored, n_outputs)."""
        distance = self.distances(query)[0]
        return distance, kernel_of(distance, self.width)[:, None] * self.alpha


def _add_votes(kernel: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the product of both matrices, with bits that depend on no other query and not on the number of threads.

    A product of matrices adds in an order that depends on the number of queries, so that a row would have other last
    bits alone than among others. So there is one product of vectors for each query and output.
    """
    total: FloatArray = np.zeros((len(kernel), alpha.shape[1]))
    for begin in range(0, len(alpha), _PRODUCT):
        part = slice(begin, begin + _PRODUCT)
        total += np.vecdot(kernel[:, None, part], np.ascontiguousarray(alpha[part].T))
    return total
