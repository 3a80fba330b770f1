"""Explain the predictions of a k-NN with a table of neighbours, votes and the features' shares of the distances."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..engine import References, contributions

if TYPE_CHECKING:
    import pandas as pd


class Voters(NamedTuple):
    """A batch of queries with their neighbours, and the votes of the neighbours.

    If ``votes`` is None, each neighbour has one vote. The votes of a query are never all zero.
    """

    query: IndexArray
    distance: FloatArray
    row: IndexArray
    votes: FloatArray | None


class VotesOfRows(NamedTuple):
    """What some rows vote for."""

    labels: AnyArray  # (n,) or (n, n_outputs) classes or targets
    votes: FloatArray  # (n, n_outputs) they add up to the scores


def vote_shares(found: Voters) -> FloatArray:
    """Return each neighbour's share of all votes of its query, of shape (n_queries, k)."""
    cast = np.ones(found.row.shape) if found.votes is None else found.votes
    shares: FloatArray = cast / cast.sum(axis=1, keepdims=True)
    return shares


def voters_by_query(batches: Iterable[Voters]) -> list[Voters]:
    """Return the voters of every query alone, in the order of the queries."""
    single: dict[int, Voters] = {}
    for found in batches:
        for i, query in enumerate(found.query.tolist()):
            here = slice(i, i + 1)
            votes = None if found.votes is None else found.votes[here]
            single[query] = Voters(found.query[here], found.distance[here], found.row[here], votes)
    return [single[query] for query in sorted(single)]


def explain_votes(
    references: References,
    queries: Any,
    voters: Iterable[Voters],
    row_numbers: IndexArray,
    describe: Callable[[IndexArray], dict[str, AnyArray]],
    names: list[str],
) -> pd.DataFrame:
    """Return a table with one row per query and neighbour.

    Its columns are query, rank, row, what the row votes for (for example its label), distance, vote (the neighbour's
    share of all votes of the query), and one "share of <feature>" per feature, which is its part of the distance.

    Parameters
    ----------
    references : References
        The stored rows and weights of the search.
    queries : array or CSR of shape (n_queries, M)
    voters : iterable of Voters
        Batches of queries. Together they contain all queries.
    row_numbers : ndarray of int
        Number, in the data of the user, of each stored row.
    describe : callable
        Returns the columns that say what stored rows vote for, given the numbers of these rows.
    names : list of str
        Names of the features.
    """
    import pandas as pd

    parts = [_explain_batch(references, queries, found, row_numbers, describe) for found in voters]
    frame = pd.concat([part for part, _ in parts], ignore_index=True)
    shares = pd.DataFrame(np.concatenate([s for _, s in parts]), columns=[f"share of {name}" for name in names])
    return pd.concat([frame, shares], axis=1).sort_values(["query", "rank"], ignore_index=True)


def _explain_batch(
    references: References,
    X: Any,
    found: Voters,
    row_numbers: IndexArray,
    describe: Callable[[IndexArray], dict[str, AnyArray]],
) -> tuple[pd.DataFrame, FloatArray]:
    """Return a table with one row per query and neighbour of a batch, and the features' shares of each distance.

    ``X`` holds all queries, and ``found`` is the batch. The other parameters are those of `explain_votes`.
    """
    import pandas as pd

    terms = contributions(references, X[found.query], found.row)
    total = terms.sum(axis=2, keepdims=True)
    # At distance 0 no feature has a share.
    np.divide(terms, total, out=terms, where=total > 0)
    width = found.row.shape[1]
    frame = pd.DataFrame(
        {
            "query": np.repeat(found.query, width),
            # Neighbours are listed nearest first.
            "rank": np.tile(np.arange(1, width + 1), len(found.query)),
            "row": row_numbers[found.row].ravel(),
            **describe(found.row.ravel()),
            "distance": found.distance.ravel(),
            "vote": vote_shares(found).ravel(),
        }
    )
    return frame, terms.reshape(-1, terms.shape[2])
