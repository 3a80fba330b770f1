"""Build an explanation from a fitted estimator, with the values as the user sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse

from .._checks import whole_number
from .._names import unique_names
from .._typing import IndexArray
from ..exceptions import InvalidDataError
from ..tables.frames import as_pandas, is_frame
from .handover import ExplainedModel, OriginalValues
from .rows import Subject
from .value import Explanation

if TYPE_CHECKING:
    import pandas as pd

_MOST_CELLS = 20_000_000  # cells of sparse training rows that are made dense


@dataclass(frozen=True)
class Prepared:
    """What a fitted estimator says about some queries."""

    model: ExplainedModel
    coded: Any  # coded queries
    own: IndexArray | None  # row that each query must not find, or None
    make_table: Callable[[], pd.DataFrame]  # the table of voters


class Explainable(Protocol):
    """A fitted estimator that can be explained."""

    def _prepare_explanation(self, X: Any, top: int | None) -> Prepared:
        """Return the model in the form that explanations need, and the coded queries."""


def explain_rows(
    estimator: Explainable, X: Any, *, top: int | None = None, original: OriginalValues | None = None
) -> Explanation:
    """Explain the answers of a fitted estimator for some rows.

    ``LearnedVotesClassifier.explain`` and the others call it. An estimator that transforms its table before another one
    sees it calls it with the inner estimator, the transformed rows, and ``original``.

    Parameters
    ----------
    estimator : fitted estimator of this library with ``explain``
    X : table as the estimator's ``predict`` takes it
    top : int, optional
        How many features and neighbours are shown. By default 5. For learned votes, the table of votes lists so many
        rows, and by default all of them.
    original : OriginalValues, optional
        The rows in the units of the user. By default ``X`` itself.

    Returns
    -------
    Explanation
    """
    top = None if top is None else whole_number(top, "top", least=0)
    found = estimator._prepare_explanation(X, top)
    if original is None:
        original = _own_values(found.model, X, found.coded)
    else:
        original = _check_original(original, found.coded.shape[0], found.model)
    return Explanation(Subject(found.model, original, found.coded, found.own), found.make_table, top)


def _check_original(original: OriginalValues, n_queries: int, model: ExplainedModel) -> OriginalValues:
    """Return original values with their names filled in. Raise InvalidDataError if they do not fit the model."""
    queries, training = original.queries, original.training
    n_training = int(model.row_numbers.max(initial=-1)) + 1
    if len(queries) != n_queries:
        raise InvalidDataError(f"original.queries must have one row per explained row, {n_queries}; got {len(queries)}")
    if len(training) < n_training:
        raise InvalidDataError(
            f"original.training must have the rows that the estimator was fitted to, {n_training}; got {len(training)}"
        )
    unknown = [name for name in original.columns if name not in set(queries.columns)]
    if unknown or not queries.columns.is_unique:
        raise InvalidDataError(
            f"original.columns must name different columns of original.queries; got {unknown or 'repeated names'}"
        )
    names = original.row_names
    if names is None and list(training.index) != list(range(len(training))):  # Plain numbers are no names.
        names = list(training.index)
    return replace(original, training=training.reset_index(drop=True), row_names=names)


def _own_values(model: ExplainedModel, X: Any, coded: Any) -> OriginalValues:
    """Return the values of an estimator that was fitted to the user's own table."""
    import pandas as pd

    names, _ = unique_names(list(model.names))
    queries = _query_frame(model, X, coded, names)
    given = list(X.columns) if is_frame(X) else None  # columns of a frame as they were given
    plain = not is_frame(as_pandas(X)) if X is not None else True

    def encode(table: pd.DataFrame) -> Any:
        """Return a table in the form in which the queries came."""
        if plain:
            return table.to_numpy(dtype=None if model.nominal.any() else np.float64)
        return table if given is None else table.set_axis(pd.Index(given), axis=1)

    columns = {name: [j] for j, name in enumerate(names)}
    return OriginalValues(queries, _training_frame(model, names), encode, columns)


def _query_frame(model: ExplainedModel, X: Any, coded: Any, names: list[str]) -> pd.DataFrame:
    """Return the explained rows as a frame with the names of the features."""
    import pandas as pd

    X = as_pandas(X)
    if is_frame(X):
        return X.set_axis(pd.Index(names, dtype=object), axis=1)
    if X is None or sparse.issparse(X) or not hasattr(X, "shape"):
        rows = coded[np.arange(coded.shape[0])]  # rows in blocks are read
        dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
        return _decode(dense, model, names, np.arange(len(names)))
    frame = pd.DataFrame(np.asarray(X), columns=names)
    for j in np.flatnonzero(~model.nominal).tolist():  # An array of objects has numbers and categories.
        if frame.dtypes.iloc[j].kind == "O":
            frame.isetitem(j, frame.iloc[:, j].to_numpy(dtype=np.float64))
    return frame


def _training_frame(model: ExplainedModel, names: list[str]) -> pd.DataFrame:
    """Return the stored rows in the columns that have an influence. The index has the numbers of the rows."""
    references = model.references
    slots: Any = slice(None)
    if references.sparse:
        n = max(1, min(references.n, _MOST_CELLS // references.m))
        slots = np.unique(np.linspace(0, references.n - 1, n).round().astype(np.int64))
    rows = references.rows[slots]
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    frame = _decode(rows, model, names, references.columns)
    return frame.set_axis(model.row_numbers[slots], axis=0)


def _decode(rows: Any, model: ExplainedModel, names: list[str], columns: IndexArray) -> pd.DataFrame:
    """Return coded rows as a frame, with categories in place of their codes.

    ``columns`` are the numbers of the columns that ``rows`` has.
    """
    import pandas as pd

    frame = pd.DataFrame(rows, columns=pd.Index([names[j] for j in columns], dtype=object))
    for place, j in enumerate(columns.tolist()):
        if model.nominal[j]:
            labels = np.append(model.categories[j], [None])  # A missing value takes the last label.
            codes = frame.iloc[:, place].to_numpy()
            frame.isetitem(place, labels[np.where(np.isnan(codes), -1, codes).astype(np.int64)])
    return frame
