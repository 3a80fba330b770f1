"""Explain rows one by one: answer, contributions, voters and changes. Each part is made when it is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..engine import contributions as distance_terms
from ..exceptions import NoVoteWarning
from .changes import Change, ColumnValues, describe_column, find_changes
from .handover import ExplainedModel, OriginalValues, ProductVotes, RowVoters
from .shapley import (
    MOST_SUBSET_FEATURES,
    Contributions,
    shapley_by_orders,
    shapley_by_subsets,
    shapley_of_products,
)
from .words import format_value

if TYPE_CHECKING:
    import pandas as pd

MOST_BACKGROUND, LEAST_BACKGROUND = 32, 2
_CELLS = 5e9  # cells that all predictions for the contributions of one row may read
_COPIES = 50  # to make a row costs about as much as to read so many
_PRODUCT_CELLS = 2e8  # factors of kernels, times nodes of the integral
_NODES = 16  # typical number of nodes


@dataclass(frozen=True)
class Subject:
    """A model with the rows that are explained, in coded form and as the user sees them."""

    model: ExplainedModel
    original: OriginalValues
    coded: Any  # coded queries: an array or CSR
    own: IndexArray | None  # row that each query must not find, or None

    @cached_property
    def features(self) -> list[str]:
        """Names of the features, in the order of the user's columns."""
        return [str(name) for name in self.original.queries.columns]

    @cached_property
    def player(self) -> IndexArray:
        """The feature to which each coded column belongs, or -1 if it has no influence on any distance."""
        player = np.full(len(self.model.names), -1, dtype=np.int64)
        place = {name: j for j, name in enumerate(self.features)}
        for name, columns in self.original.columns.items():
            player[list(columns)] = place[str(name)]
        used = np.zeros(len(player), dtype=bool)
        used[self.model.references.columns] = True
        return np.where(used, player, -1)

    @cached_property
    def active(self) -> IndexArray:
        """The features that have an influence, ascending."""
        return np.unique(self.player[self.player >= 0])

    def query(self, i: int) -> FloatArray:
        """Return a coded query as a vector of float64."""
        row = self.coded[i : i + 1]
        row = row.toarray() if sparse.issparse(row) else np.asarray(row)
        return row[0].astype(np.float64)

    def background(self, i: int, most: int) -> FloatArray:
        """Return stored rows, evenly spaced over all classes, with the query's values in columns of no influence."""
        references = self.model.references
        places = np.unique(np.linspace(0, references.n - 1, most).round().astype(np.int64))
        # Rows are ordered by their class or target, so that the background has about the shares of the classes, and
        # then by their numbers, since stored rows can stand in another order than those of the user.
        slots = np.lexsort((self.model.row_numbers, self.model.strata))[places]
        part = references.rows[slots]
        part = part.toarray() if sparse.issparse(part) else np.asarray(part)
        rows = np.tile(self.query(i), (len(slots), 1))
        rows[:, references.columns] = part
        return rows

    def scores(self, rows: FloatArray, i: int) -> FloatArray:
        """Return the scores of coded rows, under the conditions of query ``i``."""
        with _no_vote_warnings():
            return self.model.scores(self._as_stored(rows), None if self.own is None else int(self.own[i]))

    def answers(self, table: pd.DataFrame, i: int) -> AnyArray:
        """Return the answers for rows in the units of the user, under the conditions of query ``i``."""
        with _no_vote_warnings():
            rows = self.model.encode(self.original.encode(table))
            return self.model.answers(rows, None if self.own is None else int(self.own[i]))

    def _as_stored(self, rows: FloatArray) -> Any:
        """Return rows in the kind of matrix that the model stores."""
        return sparse.csr_matrix(rows) if self.model.references.sparse else rows

    def row_name(self, row: int) -> str:
        """Return the name of a training row: ``row`` is its number in the data that the user gave."""
        return str(row if self.original.row_names is None else self.original.row_names[row])

    def query_name(self, i: int) -> str:
        """Return the name of a query."""
        names = self.original.query_names
        return str(self.original.queries.index[i]) if names is None else str(names[i])

    @cached_property
    def column_values(self) -> dict[str, ColumnValues | None]:
        """The candidates of columns, filled in as they are asked for."""
        return {}

    def describe(self, name: str) -> ColumnValues | None:
        """Return what the training rows say about a column, or None if it has no influence or one value only."""
        if name not in self.column_values:
            training = self.original.training
            column = training[name] if name in training.columns else None
            self.column_values[name] = (
                None if column is None else describe_column(name, column, number=_is_number(column))
            )
        return self.column_values[name]

    def cells(self, row: int, features: list[str]) -> list[str]:
        """Return the values of a training row as text, or empty texts if the row is not in memory."""
        training = self.original.training
        if row not in training.index:
            return [""] * len(features)
        return [format_value(training.loc[row, name]) if name in training.columns else "" for name in features]


class ExplainedRow:
    """The explanation of one row. ``number`` is its number among the rows that are explained."""

    def __init__(self, subject: Subject, number: int) -> None:
        self.subject, self.number = subject, number

    @cached_property
    def scores(self) -> FloatArray:
        """The scores of the classes, or the predicted numbers."""
        return self.subject.scores(self.subject.query(self.number)[None, :], self.number)[0]

    @cached_property
    def answer(self) -> Any:
        """What the model predicts: a class, a number, or a vector of numbers."""
        rows = self.subject._as_stored(self.subject.query(self.number)[None, :])
        with _no_vote_warnings():
            own = None if self.subject.own is None else int(self.subject.own[self.number])
            return self.subject.model.answers(rows, own)[0]

    @cached_property
    def output(self) -> int:
        """The number of the predicted class, or 0 for numbers."""
        classes = self.subject.model.classes
        return 0 if classes is None else int(np.flatnonzero(classes == self.answer)[0])

    @cached_property
    def probabilities(self) -> FloatArray | None:
        """The probabilities of the classes, or None for numbers."""
        turn = self.subject.model.probabilities
        return None if turn is None else turn(self.scores[None, :])[0]

    @cached_property
    def voters(self) -> RowVoters:
        """The rows that vote, with their votes."""
        return self.subject.model.voters(self.number)

    @cached_property
    def contributions(self) -> Contributions:
        """What each feature of the user adds to each score, of shape (n_features, n_outputs)."""
        subject, model = self.subject, self.subject.model
        active = subject.active
        if model.products:
            found = self._of_products(model.products)
        else:
            player = np.searchsorted(active, subject.player)
            player[subject.player < 0] = -1
            if len(active) <= MOST_SUBSET_FEATURES:
                most = MOST_BACKGROUND
            else:
                read = 2 * len(active) * (model.cost + _COPIES * len(model.names))  # cells per background row
                most = int(np.clip(_CELLS / read, LEAST_BACKGROUND, MOST_BACKGROUND))
            background, query = subject.background(self.number, most), subject.query(self.number)

            def scores(rows: FloatArray) -> FloatArray:
                return subject.scores(rows, self.number)

            if len(active) <= MOST_SUBSET_FEATURES:
                found = shapley_by_subsets(scores, query, background, player, len(active))
            else:
                # The orders are the same for every row, so that rows can be compared.
                found = shapley_by_orders(scores, query, background, player, len(active), np.random.default_rng(0))
        return Contributions(
            self._for_all(found.by_feature),
            found.base,
            None if found.standard_error is None else self._for_all(found.standard_error),
            found.n_background,
        )

    def _for_all(self, values: FloatArray) -> FloatArray:
        """Return values of all features: 0 for those without influence. ``values`` are those of the others."""
        out = np.zeros((len(self.subject.features), values.shape[1]))
        out[self.subject.active] = values
        return out

    def _of_products(self, products: tuple[ProductVotes, ...]) -> Contributions:
        """Return exact contributions to the sum of votes whose kernels are products over features."""
        subject = self.subject
        cells = sum(votes.references.n for votes in products) * len(subject.active) * _NODES
        most = int(np.clip(_PRODUCT_CELLS / cells, LEAST_BACKGROUND, MOST_BACKGROUND))
        background = subject.background(self.number, most)
        values = np.zeros((len(subject.active), products[0].alpha.shape[1]))
        for votes in products:
            near = self._factors(votes, subject.query(self.number))
            for row in background:
                values += shapley_of_products(near, self._factors(votes, row), votes.alpha)
        base = subject.scores(background, self.number).mean(axis=0)
        return Contributions(values / len(background), base, None, len(background))

    def _factors(self, votes: ProductVotes, row: FloatArray) -> FloatArray:
        """Return the factor of every active feature in the kernel of every stored row, of shape (n, n_active)."""
        references, subject = votes.references, self.subject
        terms = distance_terms(references, row[None, :], references.row_of_slot[None, :])[0][:, references.columns]
        player = np.searchsorted(subject.active, subject.player[references.columns])
        if len(np.unique(player)) < len(player):  # Several coded columns can belong to one feature.
            terms = terms @ np.eye(len(subject.active))[player]
        else:
            terms = terms[:, np.argsort(player)]
        with np.errstate(over="ignore"):
            factors: FloatArray = np.exp(-terms / max(votes.width, 1e-300))
        return factors

    def order(self, most: int | None = None) -> IndexArray:
        """Return the features with the largest contributions to the answer by absolute value, without those of 0."""
        size = np.abs(self.contributions.by_feature[:, self.output])
        order = np.argsort(-size, kind="stable")[:most]
        return order[size[order] > 0]

    @cached_property
    def changes(self) -> list[Change]:
        """The smallest changes of one or two features that change the answer."""
        subject = self.subject
        changed = self._changed()
        if changed is None:
            return []
        columns = [subject.describe(subject.features[j]) for j in self.order()]
        return find_changes(
            subject.original.queries.iloc[[self.number]],
            [column for column in columns if column is not None],
            lambda table: subject.answers(table, self.number),
            changed,
        )

    def _changed(self) -> Any:
        """Return a function that says which answers are others, or None if there are several outputs."""
        if self.subject.model.classes is not None:
            return lambda answers: np.asarray(answers != self.answer, dtype=bool)
        if np.ndim(self.answer):
            return None
        assert self.subject.model.target_spread is not None
        least = float(self.subject.model.target_spread[0])

        def moved(answers: FloatArray) -> BoolArray:
            """Return which numbers differ from the answer by a standard deviation of the targets."""
            return np.abs(answers - self.answer) >= least

        return moved


@contextmanager
def _no_vote_warnings() -> Iterator[None]:
    """Silence the warning that all votes are 0: it is about rows that were made up here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoVoteWarning)
        yield


def _is_number(column: pd.Series) -> bool:
    """Return whether a column holds numbers, and not categories, text or truth values."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype)
