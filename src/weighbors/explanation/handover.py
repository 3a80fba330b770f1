"""What an explanation needs: the fitted model in coded form, its voters, and the values as the user sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..engine import References

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class OriginalValues:
    """The rows in the units of the user, if the model itself was fitted to transformed rows.

    An estimator that cleans, scales or codes its table before an inner estimator sees it passes this to
    `explain_rows`. The explanation then speaks of the columns of the user, and searches for changes in their units.

    Parameters
    ----------
    queries : DataFrame of shape (n_queries, n_columns)
        The rows to explain. Categories may be text; missing values are NaN or None.
    training : DataFrame of shape (n_samples, n_columns)
        The training rows, in the order in which the inner estimator got them.
    encode : callable
        Takes a DataFrame with the columns of ``queries`` and returns the rows as the inner estimator's ``predict``
        takes them.
    columns : mapping from str to sequence of int
        The columns of the inner estimator's table that each original column became, for example one column of scaled
        numbers, or several columns of zeros and ones. A column that is not named here has no influence.
    row_names : sequence of shape (n_samples,), optional
        Names of the training rows. By default the index of ``training``.
    query_names : sequence of shape (n_queries,), optional
        Names of the explained rows. By default the index of ``queries``.
    """

    queries: pd.DataFrame
    training: pd.DataFrame
    encode: Callable[[pd.DataFrame], Any]
    columns: Mapping[str, Sequence[int]]
    row_names: Sequence[Any] | None = None
    query_names: Sequence[Any] | None = None


@dataclass(frozen=True)
class ProductVotes:
    """Votes f = μ + Σ_i α_i exp(−d_i / L) under the city-block distance: one factor of the kernel per feature."""

    references: References
    alpha: FloatArray  # (n_stored, n_outputs) in the units of the scores
    width: float


class RowVoters(NamedTuple):
    """The rows that vote for one query. ``mean`` and the sum of the votes are the scores."""

    rows: IndexArray  # (n,) numbers of training rows, in the data that the user gave
    labels: AnyArray  # (n,) or (n, n_outputs) classes or targets
    distance: FloatArray  # (n,)
    votes: FloatArray  # (n, n_outputs)
    mean: FloatArray  # (n_outputs,)
    signed: bool  # whether a row can vote against a class, and not only for its own


@dataclass(frozen=True)
class ExplainedModel:
    """A fitted estimator, as an explanation uses it. ``own`` is the row that a query must not find, or None."""

    kind: str  # name of the estimator
    encode: Callable[[Any], Any]  # a table as predict takes it → coded rows
    scores: Callable[[Any, int | None], FloatArray]  # coded rows, own → (n, n_outputs)
    answers: Callable[[Any, int | None], AnyArray]  # coded rows, own → what predict returns
    probabilities: Callable[[FloatArray], FloatArray] | None  # scores → probabilities of the classes
    voters: Callable[[int], RowVoters]  # number of the query → its voters
    outputs: tuple[str, ...]  # names of the classes or outputs
    classes: AnyArray | None  # None for numbers
    references: References  # some of the stored rows, or all
    row_numbers: IndexArray  # (n_references,) number, in the data of the user, of each of these rows
    strata: AnyArray  # (n_references,) class or target of each of these rows, as numbers
    nominal: BoolArray  # (M,) which coded columns are categories
    categories: Mapping[int, AnyArray]
    names: tuple[str, ...]  # (M,) names of the columns that predict takes
    cost: float  # cells that one prediction reads
    products: tuple[ProductVotes, ...] = ()  # the scores are the sum of their votes; empty: no product
    target_spread: FloatArray | None = field(default=None)  # (n_outputs,) standard deviation of numeric targets
