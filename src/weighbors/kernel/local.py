"""Votes of the k nearest rows, solved for every query on its own: still a k-NN, for any number of rows.

Over the k nearest rows S of a query q, α_S = (K_SS + λ S⁻¹)⁻¹ (Y_S − Ȳ_S) and f = Ȳ_S + K_qS α_S. The compiled solver
returns one signed vote per neighbour, which sum to 1, so that f is the weighted sum of the neighbours' targets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .. import _native
from .._parallel.threads import row_ranges, run_ranges
from .._typing import FloatArray, IndexArray
from ..engine import NeighborEngine
from .choice import RIDGES, WIDTHS, Choice, search_choice
from .ridge import LEAST_WIDTH, mean_square

__all__ = ["LocalVotes", "choose_local"]

_CELLS = 2_000_000  # neighbours in memory at the same time
_DENSE_CELLS = 20_000_000  # cells of sparse neighbours that are dense at the same time


@dataclass(frozen=True)
class LocalVotes:
    """A k-NN whose votes are solved for each query.

    ``targets`` are the classes of the stored rows as codes, of shape (n,), or numbers, of shape (n, n_outputs).
    """

    engine: NeighborEngine
    targets: Any
    n_outputs: int
    repetition: FloatArray | None  # (n,)
    k: int
    width: float
    ridge: float
    n_jobs: int

    def neighbors(self, queries: Any, own_row: IndexArray | None = None) -> tuple[FloatArray, IndexArray]:
        """Return distances and slots of the k nearest stored rows."""
        distance, row = self.engine.search(queries, self.k, own_row=own_row, n_jobs=self.n_jobs)
        return distance, np.searchsorted(self.engine.references.row_of_slot, row)

    def solve(self, distance: FloatArray, slot: IndexArray) -> FloatArray:
        """Return the votes of neighbours, of shape (n_queries, k). The votes of a query sum to 1."""
        references = self.engine.references
        repetition, missing = self.repetition, references.missing
        if sparse.issparse(references.rows):
            size = max(1, _DENSE_CELLS // (self.k * references.m))
            if len(slot) > size:  # The rows of few queries at a time are made dense. Every query is solved alone.
                starts = range(0, len(slot), size)
                return np.concatenate([self.solve(distance[i : i + size], slot[i : i + size]) for i in starts])
            some, slot = np.unique(slot, return_inverse=True)
            rows = references.rows[some].toarray()
            repetition = None if repetition is None else repetition[some]
            slot = slot.reshape(distance.shape)
        else:
            rows = references.rows
        rows, missing_distance = self._fold(rows)
        votes = np.empty(slot.shape)
        slot = np.ascontiguousarray(slot, dtype=np.int64)

        def task(begin: int, end: int) -> None:
            _native.solve_local_votes(
                rows=rows,
                missing_distance=missing_distance,
                n_numeric=references.n_numeric,
                missing=missing,
                p=references.p,
                neighbor=slot,
                distance=np.ascontiguousarray(distance),
                repetition=repetition,
                width=max(self.width, LEAST_WIDTH),
                ridge=self.ridge,
                votes=votes,
                begin=begin,
                end=end,
            )

        run_ranges(task, row_ranges(len(slot), self.n_jobs), self.n_jobs)
        return votes

    def _fold(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return stored rows and missing distances with the feature weights folded in."""
        fold = self.engine.references.fold()
        if fold is None:
            return rows, self.engine.references.missing_distance
        return fold(rows), fold.missing_distance

    def answer(self, slot: IndexArray, votes: FloatArray) -> FloatArray:
        """Return the scores of queries from the votes of their neighbours: Σ vote · target."""
        found = self.targets[slot]
        if found.ndim == 3:
            return np.einsum("qk,qkt->qt", votes, found)
        place = np.arange(len(slot))[:, None] * self.n_outputs + found
        sums: Any = np.bincount(place.ravel(), weights=votes.ravel(), minlength=len(slot) * self.n_outputs)
        return sums.reshape(len(slot), self.n_outputs)

    def scores(self, queries: Any, own_row: IndexArray | None = None) -> FloatArray:
        """Return the scores of queries, of shape (n_queries, n_outputs)."""
        out = np.empty((queries.shape[0], self.n_outputs))
        size = max(64, _CELLS // self.k)
        for begin in range(0, len(out), size):
            batch = slice(begin, begin + size)
            distance, slot = self.neighbors(queries[batch], None if own_row is None else own_row[batch])
            out[batch] = self.answer(slot, self.solve(distance, slot))
        return out


def choose_local(
    votes: LocalVotes,
    queries: Any,
    own_row: IndexArray,
    Y: FloatArray,
    width: float | None,
    ridge: float | None,
    repetition: FloatArray | None = None,
) -> Choice:
    """Choose width and ridge by the squared error of stored rows, each predicted without itself.

    Parameters
    ----------
    votes : LocalVotes
        Its width and ridge are not used.
    queries : rows
        Some of the stored rows.
    own_row : ndarray of int
        Their row numbers.
    Y : ndarray of shape (n_queries, n_outputs)
        Their targets.
    width, ridge : float or None
        None: it is chosen.
    repetition : ndarray of shape (n_queries,), optional
        Repetition weights of the queries.
    """
    distance, slot = votes.neighbors(queries, own_row)
    # The scale of a neighbourhood is that of its own distances, which are far below the median of all pairs.
    scale = float(np.median(distance))
    scale = scale if scale > 0 else float(distance.mean()) or 1.0
    widths = [ratio * scale for ratio in WIDTHS] if width is None else [width]
    ridges = list(RIDGES) if ridge is None else [ridge]

    def loss_at(point: tuple[int, int]) -> float:
        solver = replace(votes, width=widths[point[0]], ridge=ridges[point[1]])
        return mean_square(Y - solver.answer(slot, solver.solve(distance, slot)), repetition)

    return search_choice(loss_at, widths, ridges)
