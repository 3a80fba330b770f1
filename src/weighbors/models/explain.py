"""Explain the predictions of a k-NN by its neighbours, their votes, and the features' shares of the distances."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..engine import References, contributions
from ..explanation import ExplainedModel, Prepared, RowVoters
from .explain_votes import some_references
from .neighbor_votes import Voters

if TYPE_CHECKING:
    import pandas as pd

    from .base_knn import BaseKNeighbors


def prepare_explanation(model: BaseKNeighbors, X: Any) -> Prepared:
    """Return what an explanation of the predictions for ``X`` needs to know.

    Its parts are computed from a copy of the model, which no later fit changes.
    """
    model = copy(model)
    queries, own = model._queries(X)
    found = list(model._voters(queries, own))
    neighbors = np.unique(np.concatenate([voters.row.ravel() for voters in found]))
    # Rows in blocks are not read all: some, and the neighbours that voted, stand for them.
    references = some_references(model._engine, lambda: neighbors)
    table = _explain_votes(references, queries, found, model._row_numbers, model._rule.columns, _names(model))
    return Prepared(_explained_model(model, references, voters_by_query(found)), queries, own, lambda: table)


def _names(model: BaseKNeighbors) -> list[str]:
    """Return the names of the features, or x0, x1, ... if there are no names."""
    return [str(name) for name in getattr(model, "feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)])]


def _explained_model(model: BaseKNeighbors, references: References, voters_of: list[Voters]) -> ExplainedModel:
    """Return the model in the form that explanations need.

    ``references`` are stored rows, and ``voters_of`` has the voters of each query.
    """
    rule, coder, numbers = model._rule, model._table.coder, model._row_numbers

    def voters(i: int) -> RowVoters:
        found = voters_of[i]
        row, share = found.row[0], found.shares[0]
        votes = share[:, None] * rule.unit_votes(row)
        return RowVoters(numbers[row], rule.labels(row), found.distance[0], votes, np.zeros(votes.shape[1]), False)

    def batches(rows: Any, own: int | None) -> Iterable[Voters]:
        return model._voters(rows, None if own is None else np.full(rows.shape[0], own, dtype=np.int64))

    return ExplainedModel(
        kind=type(model).__name__,
        encode=lambda X: model._queries(X)[0],
        scores=lambda rows, own: rule.scores(rows.shape[0], batches(rows, own)),
        answers=lambda rows, own: rule.answers(rows.shape[0], batches(rows, own)),
        probabilities=None if rule.classes is None else lambda shares: shares,
        voters=voters,
        outputs=rule.outputs,
        classes=rule.classes,
        references=references,
        row_numbers=numbers[references.row_of_slot],
        strata=rule.strata(references.row_of_slot),
        nominal=coder.nominal if coder.nominal.any() else np.zeros(model.n_features_in_, dtype=bool),
        categories=coder.categories,
        names=tuple(_names(model)),
        cost=float(model._engine.n_references * model.n_features_in_),
        target_spread=rule.target_spread,
    )


def voters_by_query(batches: Iterable[Voters]) -> list[Voters]:
    """Return the voters of every query alone, in the order of the queries."""
    single: dict[int, Voters] = {}
    for found in batches:
        for i, query in enumerate(found.query.tolist()):
            here = slice(i, i + 1)
            votes = None if found.votes is None else found.votes[here]
            single[query] = Voters(found.query[here], found.distance[here], found.row[here], votes)
    return [single[query] for query in sorted(single)]


def _explain_votes(
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

    ``X`` holds all queries, and ``found`` is the batch. The other parameters are those of `_explain_votes`.
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
            "vote": found.shares.ravel(),
        }
    )
    return frame, terms.reshape(-1, terms.shape[2])
