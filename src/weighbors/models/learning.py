"""Learn weights from training rows and build the search engine: the work of ``fit`` and ``partial_fit``.

``model`` is the estimator. The functions read its parameters and set no attributes.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from .._typing import AnyArray, FloatArray, IndexArray
from ..engine import NeighborEngine, SearchEngine
from ..exceptions import InvalidDataError
from ..neighbors.checks import check_fits, class_of_row
from ..neighbors.resolve import resolve_weights
from ..tables.targets import Target
from ..tables.validation import TableCoder
from ..weights import Weights
from .training import Training, check_growth, indexable, positive_rows, repetition_weights, scale_repetitions


class KNNParameters(Protocol):
    """The parameters of a k-NN that this module reads."""

    n_neighbors: int
    weigher: Any
    p: int
    backend: str
    n_jobs: int | None

    @property
    def _class_weight(self) -> Any:
        """Factors of the sample weights for each class, or None."""


class Fitted(NamedTuple):
    """The fitted state of a k-NN: stored rows, column coding, classes, weights and search engine.

    If the target is numeric, ``classes`` is empty.
    """

    training: Training
    coder: TableCoder
    classes: AnyArray
    weigher: Any  # fitted, or None
    weights: Weights
    engine: SearchEngine
    repetition: FloatArray | None  # repetition weights of the stored rows; None: every row counts once
    n_given: int  # number of rows given, including rows of weight 0


class PreparedRows(NamedTuple):
    """Rows that are ready to be stored: the arguments of `build_model` after the model."""

    training: Training
    coder: TableCoder
    classes: AnyArray
    table: Any  # the same rows with their categories, to which the weigher is fitted; None if weights are known
    weights: Weights | None  # None: the weigher, if there is one, learns them
    n_given: int  # number of rows given, including rows of weight 0


def prepare_rows(
    model: KNNParameters,
    table: Any,
    X: Any,
    coder: TableCoder,
    target: Target,
    sample_weight: FloatArray | None,
    *,
    least_classes: int = 1,
) -> PreparedRows:
    """Return the rows that a model stores. Rows of weight 0 are left out.

    Parameters
    ----------
    model : KNNParameters
    table, X
        ``table`` is the rows as the user gave them. The weigher is fitted to it. ``X`` is the coded rows.
    coder : TableCoder
    target : Target
        Labels or numbers of the rows.
    sample_weight : ndarray of shape (n,), or None
    least_classes : int
        How many classes must remain after rows of weight 0 are left out.
    """
    n, codes, classes = X.shape[0], target.codes, target.classes
    kept = positive_rows(codes, classes, sample_weight, model._class_weight)
    if len(np.unique(codes[kept])) < least_classes and len(kept) < n:
        raise InvalidDataError("at least 2 classes are needed; rows of weight 0 left out, there is 1 class")
    table = X if sparse.issparse(X) else indexable(table, coder.nominal)
    weights = None if model.weigher is None else _check_given_weights(model.weigher, X, kept, coder.names)
    rows = X
    if len(kept) < n:
        table = _safe_indexing(table, kept)
        # Categories are coded again without the rows of weight 0.
        rows = coder.fit_transform(model, table) if coder.nominal.any() else X[kept]
    training = _some_rows(rows, target, kept, sample_weight, 0)
    return PreparedRows(training, coder, classes, table, weights, n)


def join_rows(
    model: KNNParameters,
    before: Fitted,
    X: Any,
    target: Target,
    sample_weight: FloatArray | None,
    refresh: bool | None,
) -> PreparedRows:
    """Return the stored rows followed by new rows, with the old weights or with the table to learn new ones from.

    Parameters
    ----------
    model : KNNParameters
    before : Fitted
        The fitted state before this call.
    X : table
        The new rows as the user gave them.
    target : Target
        Labels of the new rows, as positions in ``before.classes``, or numbers.
    sample_weight : ndarray of shape (n,), or None
    refresh : bool or None
        Whether weights are learned again from all rows. None: only if the old weights belong to single rows.
    """
    n = len(target.codes)
    kept = positive_rows(target.codes, before.classes, sample_weight, model._class_weight)
    coder = deepcopy(before.coder)
    rows = coder.extend(model, X)
    if len(kept) < n:  # Categories are coded again without the rows of weight 0.
        coder = deepcopy(before.coder)
        rows = coder.extend(model, _safe_indexing(X, kept)) if len(kept) else rows[:0]
    new = _some_rows(rows, target, kept, sample_weight, before.n_given)
    joined = PreparedRows(before.training.joined(new), coder, before.classes, None, before.weights, before.n_given + n)
    # Weights of single rows say nothing about new rows, so they are learned again.
    if refresh is None:
        refresh = before.weights.instance_bound
    can_learn = before.weigher is not None or isinstance(model.weigher, str)  # "auto": a weigher may be chosen now
    if not (refresh and can_learn):
        check_growth(before.weights, before.classes, new.codes)
        return joined
    table = coder.table_of(joined.training.X, getattr(model, "feature_names_in_", None))
    return joined._replace(table=table, weights=None)


def _some_rows(rows: Any, target: Target, kept: IndexArray, sample_weight: FloatArray | None, first: int) -> Training:
    """Return the training rows of one call: those of positive weight.

    Parameters
    ----------
    rows : array or CSR of shape (n_kept, n_features)
    target : Target
        Labels or numbers of all rows of the call.
    kept : ndarray of shape (n_kept,)
        Numbers of the rows that are kept, counted in this call.
    sample_weight : ndarray of shape (n,), or None
    first : int
        How many rows were given in earlier calls.
    """
    weight = None if sample_weight is None else sample_weight[kept]
    numbers = None if target.numbers is None else target.numbers[kept]
    return Training(rows, target.codes[kept], kept + first, weight, numbers)


def _check_given_weights(weigher: Any, X: Any, kept: IndexArray, names: list[str]) -> Weights | None:
    """Return the given weights, restricted to the rows ``kept``, or None if ``weigher`` is an estimator.

    Parameters
    ----------
    weigher : Weights or weigher
    X : array or CSR
        All rows that were given. The weights must fit them.
    kept : ndarray of int
        Numbers of the rows whose weight is above 0.
    names : list of str
        Names of the columns.
    """
    if not isinstance(weigher, Weights):
        return None
    check_fits(weigher, X, names)
    return weigher if len(kept) == X.shape[0] or not weigher.instance_bound else weigher.take(kept)


def build_model(
    model: KNNParameters,
    training: Training,
    coder: TableCoder,
    classes: AnyArray,
    table: Any,
    weights: Weights | None,
    n_given: int,
) -> Fitted:
    """Learn the weights if they are not given, build the search engine, and return the fitted state.

    Parameters
    ----------
    model : KNNParameters
    training : Training
        The rows that are stored.
    coder : TableCoder
    classes : ndarray of shape (n_classes,)
    table : table or None
        The stored rows, to which the weigher is fitted. None if ``weights`` are given.
    weights : Weights or None
        None: the weigher of ``model`` learns the weights.
    n_given : int
        Number of rows given, including rows of weight 0.
    """
    weigher = None
    if weights is None:
        sample_weight = training.sample_weight
        if sample_weight is not None:  # The weigher uses the same repetition weights as the vote.
            sample_weight = scale_repetitions(sample_weight, np.arange(len(sample_weight)), int(model.n_neighbors))
        weigher, weights = resolve_weights(model, table, training.y(classes), training.X, coder, sample_weight)
    engine = NeighborEngine(
        training.X,
        weights=weights,
        p=int(model.p),
        nominal=coder.nominal if coder.nominal.any() else None,
        class_of_row=class_of_row(weights, classes, training.codes),
        backend=model.backend,
        n_jobs=model.n_jobs,
    )
    repetition = repetition_weights(training.codes, classes, training.sample_weight, model._class_weight)
    return Fitted(training, coder, classes, weigher, weights, engine, repetition, n_given)
