"""Explain scores of learned votes by the rows that they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..engine import References, SearchEngine, contributions
from ..votes.fit import FittedVotes
from ..votes.local import LocalVotes
from ..votes.metric import Metric
from ..votes.solve import factor_system, kernel_of, weighted_mean

if TYPE_CHECKING:
    import pandas as pd

_SPACED_ROWS = 1000  # rows of a table in blocks that stand for all rows


def explain_scores(
    fitted: FittedVotes,
    queries: Any,
    row_numbers: IndexArray,
    labels: AnyArray,
    outputs: list[str],
    names: list[str],
    top: int | None,
) -> pd.DataFrame:
    """Return a table with one row per query and voter, whose votes add up to the scores.

    Parameters
    ----------
    fitted : FittedVotes
    queries : coded rows
    row_numbers : ndarray of int
        Number, in the data of the user, of each training row.
    labels : ndarray of shape (n,)
        Classes or targets of the training rows.
    outputs, names : lists of str
        Names of the columns of votes, and of the features.
    top : int or None
        How many rows are listed per query. None: all.
    """
    import pandas as pd

    parts = [
        _explain_one(fitted, queries[i : i + 1], i, row_numbers, labels, outputs, names, top)
        for i in range(queries.shape[0])
    ]
    return pd.concat(parts, ignore_index=True)


def _explain_one(
    fitted: FittedVotes,
    query: Any,
    number: int,
    row_numbers: IndexArray,
    labels: AnyArray,
    outputs: list[str],
    names: list[str],
    top: int | None,
) -> pd.DataFrame:
    """Return the rows of the table for one query; ``number`` is its number."""
    import pandas as pd

    mean, references, slots, voters, distance, votes = votes_of(fitted, query)
    # Rows with large votes come first, whether they speak for a class or against it.
    order = np.argsort(-np.abs(votes).max(axis=1), kind="stable")
    shown, rest = (order, order[:0]) if top is None else (order[:top], order[top:])
    rows = voters[shown]
    terms = contributions(references, query, references.row_of_slot[slots[shown]][None, :])[0]
    total = terms.sum(axis=1, keepdims=True)
    shares = np.divide(terms, total, out=np.zeros_like(terms), where=total > 0)
    frame = pd.DataFrame(
        {
            "query": number,
            "voter": ["mean"] + ["row"] * len(shown) + ["others"] * bool(len(rest)),
            "row": np.concatenate([[-1], row_numbers[rows], [-1] * bool(len(rest))]).astype(np.int64),
            "label": pd.Series([None, *labels[rows].tolist()] + [None] * bool(len(rest)), dtype=object),
            "distance": np.concatenate([[np.nan], distance[shown], [np.nan] * bool(len(rest))]),
        }
    )
    cast = np.concatenate([mean[None, :], votes[shown], votes[rest].sum(axis=0, keepdims=True)[: bool(len(rest))]])
    padded = np.full((len(frame), len(names)), np.nan)
    padded[1 : 1 + len(shown)] = shares
    columns = [pd.DataFrame(cast, columns=outputs), pd.DataFrame(padded, columns=[f"share of {n}" for n in names])]
    return pd.concat([frame, *columns], axis=1)


class RowVotes(NamedTuple):
    """The rows that vote for one query. The mean and the votes add up to the scores."""

    mean: FloatArray  # (n_outputs,)
    references: References
    slots: IndexArray  # (n_voters,) slots among the references
    rows: IndexArray  # (n_voters,) row numbers in the training data
    distance: FloatArray  # (n_voters,)
    votes: FloatArray  # (n_voters, n_outputs)


def votes_of(fitted: FittedVotes, query: Any) -> RowVotes:
    """Return the rows that vote for one query, and their votes."""
    votes = fitted.votes
    if not isinstance(votes, LocalVotes):
        distance = votes.distances(query)[0]
        cast = kernel_of(distance, votes.width)[:, None] * votes.alpha
        every = np.arange(votes.metric.n)
        return RowVotes(votes.intercept, votes.metric.references, every, fitted.stored_rows, distance, cast)
    found = votes.neighbors(query)
    rows, slots, near = found.row[0], found.slot[0], found.distance[0].astype(np.float64)
    targets = votes.targets[rows]
    Y = targets if targets.ndim == 2 else np.eye(votes.n_outputs)[targets]
    repetition = None if votes.repetition is None else votes.repetition[rows]
    mean = weighted_mean(Y, repetition)
    # For one query the votes α of the neighbours themselves are wanted: the small system is solved once more.
    between = Metric(found.references).some_pairs(slots)
    alpha = factor_system(between, votes.width, votes.ridge, repetition).solve(Y - mean)
    return RowVotes(mean, found.references, slots, rows, near, kernel_of(near, votes.width)[:, None] * alpha)


def stored_references(fitted: FittedVotes, queries: Any) -> tuple[References, IndexArray]:
    """Return stored rows, and the number of each among the training rows. ``queries`` are coded.

    If rows are in blocks, these are some evenly spaced rows and the neighbours of the queries, else all of them.
    """
    votes = fitted.votes
    if not isinstance(votes, LocalVotes):
        return votes.metric.references, fitted.stored_rows
    references = some_references(votes.engine, lambda: votes.neighbors(queries).row)
    return references, references.row_of_slot


def some_references(engine: SearchEngine, neighbors: Callable[[], IndexArray]) -> References:
    """Return all references, or some evenly spaced ones and the neighbours of queries if the rows are in blocks."""
    stored, limit = engine.stored_rows, engine.reference_limit()
    if limit is None:
        return engine.references_of(stored)
    n = max(1, min(len(stored), limit, _SPACED_ROWS))
    spaced = stored[np.linspace(0, len(stored) - 1, n).round().astype(np.int64)]
    return engine.references_of(np.union1d(spaced, neighbors()))
