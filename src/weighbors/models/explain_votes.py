"""Explain scores of learned votes by the rows that they are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..engine import References, SearchEngine, contributions
from ..explanation import ExplainedModel, ProductVotes, RowVoters
from ..tables.validation import TableCoder
from ..votes.fit import FittedVotes
from ..votes.local import LocalVotes
from ..votes.metric import Metric
from ..votes.solve import StoredVotes, factor_system, kernel_of, weighted_mean

if TYPE_CHECKING:
    import pandas as pd

_SPACED_ROWS = 1000  # rows of a table in blocks that stand for all rows


@dataclass(frozen=True)
class ExplainedOutputs:
    """What the scores of a model with learned votes are called, and how they become answers."""

    names: tuple[str, ...]  # of the classes or outputs
    columns: tuple[str, ...]  # of the table of votes
    labels: AnyArray  # (n_training,) or (n_training, n_outputs) classes or targets
    strata: AnyArray  # (n_training,) codes of classes, or targets
    spread: FloatArray  # (n_outputs,) factor from the scores of the fit to those of the user
    center: FloatArray  # (n_outputs,) added to the scores of the fit
    answers: Callable[[FloatArray], AnyArray]  # scores of the user → what predict returns
    probabilities: Callable[[FloatArray], FloatArray] | None = None
    classes: AnyArray | None = None
    target_spread: FloatArray | None = None  # (n_outputs,) standard deviation of numeric targets


def make_explained_model(
    model: Any,
    fitted: FittedVotes,
    coder: TableCoder,
    queries: Any,
    outputs: ExplainedOutputs,
    row_numbers: IndexArray,
    names: list[str],
) -> ExplainedModel:
    """Return a model with learned votes in the form that explanations need. It has coded the queries.

    ``coder`` is its column coding. The other parameters are those of `explain_scores`.
    """
    references, training_rows = stored_references(fitted, queries)
    nominal = coder.nominal if coder.nominal.any() else np.zeros(len(names), dtype=bool)

    def voters(i: int) -> RowVoters:
        found = votes_of(fitted, queries[i : i + 1])
        rows, labels = row_numbers[found.rows], outputs.labels[found.rows]
        mean = found.mean * outputs.spread + outputs.center
        return RowVoters(rows, labels, found.distance, found.votes * outputs.spread, mean, True)

    def scores(rows: Any, own: int | None) -> FloatArray:
        return fitted.votes.scores(rows) * outputs.spread + outputs.center

    products: tuple[ProductVotes, ...] = ()
    if isinstance(fitted.votes, StoredVotes) and references.p == 1:
        products = (ProductVotes(references, fitted.votes.alpha * outputs.spread, fitted.votes.width),)
    k = fitted.votes.k if isinstance(fitted.votes, LocalVotes) else 0
    return ExplainedModel(
        kind=type(model).__name__,
        encode=model._queries,
        scores=scores,
        answers=lambda rows, own: outputs.answers(scores(rows, own)),
        probabilities=outputs.probabilities,
        voters=voters,
        outputs=outputs.names,
        classes=outputs.classes,
        references=references,
        row_numbers=row_numbers[training_rows],
        strata=outputs.strata[training_rows],
        nominal=nominal,
        categories=coder.categories,
        names=tuple(str(name) for name in names),
        cost=float(fitted.plan.n_rows * len(names) + k**3),
        products=products,
        target_spread=outputs.target_spread,
    )


def explain_scores(
    fitted: FittedVotes,
    queries: Any,
    row_numbers: IndexArray,
    outputs: ExplainedOutputs,
    names: list[str],
    top: int | None,
) -> pd.DataFrame:
    """Return a table with one row per query and voter, whose votes add up to the scores of the user.

    Parameters
    ----------
    fitted : FittedVotes
    queries : coded rows
    row_numbers : ndarray of int
        Number, in the data of the user, of each training row.
    outputs : ExplainedOutputs
    names : list of str
        Names of the features.
    top : int or None
        How many rows are listed per query. None: all.
    """
    import pandas as pd

    columns = list(outputs.columns)
    parts = [
        _explain_one(fitted, queries[i : i + 1], i, row_numbers, outputs.labels, columns, names, top)
        for i in range(queries.shape[0])
    ]
    frame = pd.concat(parts, ignore_index=True)
    frame[columns] = frame[columns] * outputs.spread
    frame.loc[frame["voter"] == "mean", columns] += outputs.center
    return frame


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
