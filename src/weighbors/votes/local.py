"""Votes of the k nearest rows, solved for every query on its own: still a k-NN, for any number of rows.

Over the k nearest rows S of a query q, α_S = (K_SS + λ S⁻¹)⁻¹ (Y_S − Ȳ_S) and f = Ȳ_S + K_qS α_S. The compiled solver
returns one signed vote per neighbour, which sum to 1, so that f is the weighted sum of the neighbours' targets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .. import _native
from .._parallel.threads import fixed_ranges, row_ranges, run_kernel
from .._typing import FloatArray, IndexArray
from ..engine import References, SearchEngine
from .choose import Choice, Point, list_points, name_choice, search_grid
from .metric import VotesTable
from .solve import LEAST_WIDTH, mean_square

_CELLS = 2_000_000  # neighbours in memory at the same time
_DENSE_CELLS = 20_000_000  # cells of sparse neighbours that are dense at the same time
_LEAST_QUERIES = 256  # Width and ridge are chosen on at least so many rows.


class StoredNeighbors(NamedTuple):
    """The k nearest stored rows of some queries."""

    distance: FloatArray  # (n_queries, k)
    row: IndexArray  # (n_queries, k) row numbers in the training data
    references: References  # at least these rows
    slot: IndexArray  # (n_queries, k) slots among the references


@dataclass(frozen=True)
class LocalVotes:
    """A k-NN whose votes are solved for each query, with rows in memory or in blocks.

    ``targets`` are the classes of all training rows as codes, of shape (n,), or numbers, of shape (n, n_outputs).
    """

    engine: SearchEngine
    targets: Any
    n_outputs: int
    repetition: FloatArray | None  # (n,)
    k: int
    width: float
    ridge: float
    n_jobs: int

    def neighbors(self, queries: Any, own_row: IndexArray | None = None) -> StoredNeighbors:
        """Return the k nearest stored rows of queries."""
        return self.read(*self.engine.search(queries, self.k, own_row=own_row, n_jobs=self.n_jobs))

    def read(self, distance: FloatArray, row: IndexArray) -> StoredNeighbors:
        """Return neighbours together with their rows, which are read if they are in blocks."""
        references = self.engine.references_of(np.unique(row))
        return StoredNeighbors(distance, row, references, np.searchsorted(references.row_of_slot, row))

    def solve(self, found: StoredNeighbors) -> FloatArray:
        """Return the votes of neighbours, of shape (n_queries, k). The votes of a query sum to 1."""
        references, slot = found.references, found.slot
        repetition = None if self.repetition is None else self.repetition[references.row_of_slot]
        thin = sparse.issparse(references.rows)
        if thin:
            size = max(1, _DENSE_CELLS // (self.k * references.m))
            if len(slot) > size:  # The rows of few queries at a time are made dense. Every query is solved alone.
                starts = range(0, len(slot), size)
                parts = [found._replace(distance=found.distance[i : i + size], slot=slot[i : i + size]) for i in starts]
                return np.concatenate([self.solve(part) for part in parts])
        # Few queries need few rows: only these are made dense, or multiplied by the weights.
        if thin or (references.feature_weights is not None and slot.size < references.n):
            some, slot = np.unique(slot, return_inverse=True)
            rows = references.rows[some].toarray() if thin else references.rows[some]
            repetition = None if repetition is None else repetition[some]
            slot = slot.reshape(found.slot.shape)
        else:
            rows = references.rows
        missing_distance = references.missing_distance
        if references.feature_weights is not None:
            fold = references.fold()
            rows, missing_distance = fold(rows), fold.missing_distance
        votes = np.empty(slot.shape)
        run_kernel(
            _native.solve_local_votes,
            row_ranges(len(slot), self.n_jobs),
            self.n_jobs,
            rows=rows,
            missing_distance=missing_distance,
            n_numeric=references.n_numeric,
            missing=references.missing,
            p=references.p,
            neighbor=np.ascontiguousarray(slot, dtype=np.int64),
            distance=np.ascontiguousarray(found.distance),
            repetition=repetition,
            width=max(self.width, LEAST_WIDTH),
            ridge=self.ridge,
            votes=votes,
        )
        return votes

    def answer(self, found: StoredNeighbors) -> FloatArray:
        """Return the scores of queries from the votes of their neighbours: Σ vote · target."""
        votes, targets = self.solve(found), self.targets[found.row]
        if targets.ndim == 3:
            return np.einsum("qk,qkt->qt", votes, targets)
        place = np.arange(len(votes))[:, None] * self.n_outputs + targets
        sums: Any = np.bincount(place.ravel(), weights=votes.ravel(), minlength=len(votes) * self.n_outputs)
        return sums.reshape(len(votes), self.n_outputs)

    def batch_size(self) -> int:
        """Return for how many queries at once neighbours are found and their rows are in memory."""
        size, readable = max(64, _CELLS // self.k), self.engine.reference_limit()
        return size if readable is None else max(1, min(size, readable // self.k))

    def scores(self, queries: Any, own_row: IndexArray | None = None) -> FloatArray:
        """Return the scores of queries, of shape (n_queries, n_outputs)."""
        out = np.empty((queries.shape[0], self.n_outputs))
        for begin, end in fixed_ranges(len(out), self.batch_size()):
            own = None if own_row is None else own_row[begin:end]
            out[begin:end] = self.answer(self.neighbors(queries[begin:end], own))
        return out


def choose_local(
    votes: LocalVotes,
    judged: VotesTable,
    own_row: IndexArray,
    *,
    width: float | str = "auto",
    ridge: float | str = "auto",
) -> Choice:
    """Choose width and ridge by the squared error of stored rows, each predicted without itself.

    The choice does not depend on how many rows a table in blocks may have in memory.

    Parameters
    ----------
    votes : LocalVotes
        Its width and ridge are not used.
    judged : VotesTable
        Some of the stored rows.
    own_row : ndarray of int
        Their row numbers.
    width, ridge : "auto" or float
        L and λ. A number is not chosen but taken.
    """
    # The rows of very many neighbours would take long to solve for: then some of the rows are judged.
    step = -(-len(own_row) // max(_CELLS // votes.k, _LEAST_QUERIES))
    if step > 1:
        own_row, judged = own_row[::step], judged.take(np.arange(0, len(own_row), step))
    distance, row = votes.engine.search(judged.rows, votes.k, own_row=own_row, n_jobs=votes.n_jobs)
    # The scale of a neighbourhood is that of its own distances, which are far below the median of all pairs.
    scale = float(np.median(distance))
    scale = scale if scale > 0 else float(distance.mean()) or 1.0
    widths, ridges = list_points(width, ridge, scale)
    ranges = fixed_ranges(len(row), votes.batch_size())
    parts: Iterable[StoredNeighbors] = (votes.read(distance[i:j], row[i:j]) for i, j in ranges)
    # Where the rows of all neighbours do not fit into memory, each part of them is read once, and all points of the
    # grid are computed while it is there. Else only those points are computed to which the search comes.
    known: list[Point] = []
    if len(ranges) == 1:
        parts = list(parts)
    else:
        known = list(product(range(len(widths)), range(len(ridges))))

    def scores_at(points: list[Point]) -> list[FloatArray]:
        solvers = [replace(votes, width=widths[i], ridge=ridges[j]) for i, j in points]
        answers = [[solver.answer(part) for solver in solvers] for part in parts]
        return [np.concatenate(of_point) for of_point in zip(*answers, strict=True)]

    scores = dict(zip(known, scores_at(known), strict=True))

    def loss_at(point: Point) -> float:
        found = scores[point] if known else scores_at([point])[0]
        return mean_square(judged.Y - found, judged.repetition)

    middle = len(widths) // 2, len(ridges) // 2
    return name_choice(search_grid(loss_at, middle, (len(widths), len(ridges))), widths, ridges, scale)
