"""The training rows of a model: which of them count, how much each of them counts, and rows that come later."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing, column_or_1d, compute_class_weight
from sklearn.utils.validation import check_consistent_length

from .._names import require_text
from .._typing import AnyArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError, InvalidWeightsError
from ..neighbors.checks import check_fits
from ..tables.coded import CodedTable
from ..tables.labels import codes_of
from ..tables.targets import Target
from ..tables.validation import TableCoder, check_sample_weight
from ..weights import Weights

_ROUNDING = 1e-9  # relative tolerance: a sum of weights can differ from 1 by rounding


class Stored(NamedTuple):
    """The rows that a model stores: those of positive weight."""

    table: CodedTable
    numbers: IndexArray  # number of each row in the data that the user gave
    n_given: int  # number of rows given, including rows of weight 0
    known: tuple[Any, Weights] | None = None  # fitted weigher and weights; None: weights are learned from these rows


def select_rows(model: Any, table: CodedTable, *, least_classes: int = 1) -> Stored:
    """Return the rows of positive weight of a first training table.

    Raise `InvalidDataError` if they have fewer than ``least_classes`` classes, or if given weights do not fit the
    table.
    """
    kept = positive_rows(table.codes, table.classes, table.given_weight, model.class_weight)
    known = None
    if isinstance(model.weigher, Weights):
        check_fits(model.weigher, table.rows, table.coder.names)
        some = model.weigher.instance_bound and len(kept) < len(table)
        known = None, model.weigher.take(kept) if some else model.weigher
    if len(kept) == len(table):
        return Stored(table, kept, len(table), known)
    require_classes(table.codes[kept], least_classes)
    # The codes of categories must not depend on rows of weight 0.
    return Stored(table.take(kept).recoded(), kept, len(table), known)


def require_classes(codes: AnyArray, least: int = 2) -> None:
    """Raise `InvalidDataError` if the rows of positive weight, whose classes are ``codes``, have too few classes."""
    if len(np.unique(codes)) < least:
        raise InvalidDataError("at least 2 classes are needed; rows of weight 0 left out, there is 1 class")


def read_declared(model: Any, X: Any, y: Any, classes: AnyArray, sample_weight: Any) -> CodedTable:
    """Check and code the rows of a first ``partial_fit``, where some of the declared ``classes`` may have no row."""
    coder = TableCoder(model.categorical_features, getattr(model, "handle_unknown", "different"))
    rows = coder.fit_transform(model, X)
    target = Target(codes_among(y, classes), classes)
    check_consistent_length(rows, target.codes)
    weight, names = check_sample_weight(sample_weight, rows), getattr(model, "feature_names_in_", None)
    return CodedTable(rows, coder, target, weight, feature_names=names, given=X)


def read_further(
    model: Any, coder: TableCoder, X: Any, target: Target, sample_weight: Any, class_weight: Any = None
) -> tuple[CodedTable, IndexArray]:
    """Check and code further rows. Return the table of those with positive weight, and their numbers in ``X``.

    Parameters
    ----------
    model : estimator
    coder : TableCoder
        That of the rows before. It stays as it is: the table has a copy, in which new categories have the next free
        codes.
    X, sample_weight
        As the user gave them.
    target : Target
        Labels of these rows, as positions in the classes of the rows before, or numbers.
    class_weight
        As in `repetition_weights`.
    """
    check_consistent_length(X, target.codes)
    weight = check_sample_weight(sample_weight, X)
    kept = positive_rows(target.codes, target.classes, weight, class_weight)
    extended = deepcopy(coder)
    rows = extended.extend(model, X)
    if len(kept) < len(target.codes):  # rows of weight 0 do not bring categories
        extended = deepcopy(coder)
        rows = extended.extend(model, _safe_indexing(X, kept)) if len(kept) else rows[:0]
    return CodedTable(rows, extended, target.take(kept), None if weight is None else weight[kept]), kept


def join_tables(first: CodedTable, second: CodedTable) -> CodedTable:
    """Return the rows of two tables, with the coder of the second one. Sample weights that are missing become 1."""
    if sparse.issparse(first.rows):
        rows = sparse.vstack([first.rows, sparse.csr_matrix(second.rows)], format="csr")
    else:
        rows = np.concatenate([first.rows, second.rows.toarray() if sparse.issparse(second.rows) else second.rows])
    weighed = first.given_weight is not None or second.given_weight is not None
    numbers = None
    if first.numbers is not None and second.numbers is not None:
        numbers = np.concatenate([first.numbers, second.numbers])
    return replace(
        first,
        rows=rows,
        coder=second.coder,
        target=replace(first.target, codes=np.concatenate([first.codes, second.codes]), numbers=numbers),
        given_weight=np.concatenate([first.sample_weight, second.sample_weight]) if weighed else None,
    )


def positive_rows(
    codes: IndexArray, classes: AnyArray, sample_weight: FloatArray | None, class_weight: Any
) -> IndexArray:
    """Return the numbers of the rows whose weight is above 0. The parameters are those of `repetition_weights`."""
    if sample_weight is None and not isinstance(class_weight, dict):
        return np.arange(len(codes))
    return np.flatnonzero(_weigh_classes(codes, classes, sample_weight, class_weight) > 0)


def repetition_weights(
    codes: IndexArray, classes: AnyArray, sample_weight: FloatArray | None, class_weight: Any
) -> FloatArray | None:
    """Return the repetition weight of each row, or None if every row counts once.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each row, as a position in ``classes``.
    classes : ndarray of shape (n_classes,)
    sample_weight : ndarray of shape (n,), or None
    class_weight : dict, "balanced" or None
    """
    if sample_weight is None and class_weight is None:
        return None
    weight = _weigh_classes(codes, classes, sample_weight, class_weight)
    if class_weight == "balanced":  # the repetition weights of each class have the same sum
        total = np.bincount(codes, weights=weight)
        # The sum over all classes stays the same.
        weight = weight * weight.sum() / ((total > 0).sum() * np.where(total > 0, total, 1.0))[codes]
    return None if (weight == 1).all() else weight


def _weigh_classes(
    codes: IndexArray, classes: AnyArray, sample_weight: FloatArray | None, class_weight: Any
) -> FloatArray:
    """Return the sample weights (None: all 1), multiplied by the weights of the classes if ``class_weight`` is a dict.

    The parameters are those of `repetition_weights`.
    """
    weight = np.ones(len(codes)) if sample_weight is None else sample_weight
    if not isinstance(class_weight, dict):
        return weight
    of_class = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    if not (np.isfinite(of_class) & (of_class >= 0)).all():
        raise InvalidDataError(f"class_weight must be finite numbers >= 0; got {class_weight}")
    weighed: FloatArray = weight * of_class[codes]
    return weighed


def scale_repetitions(weight: FloatArray, stored: IndexArray, k: int) -> FloatArray:
    """Return repetition weights, scaled to a mean of 1 if they are too small for k neighbours.

    If weights sum to at most k, every row would vote for every query, or there would be too few votes. If their mean
    is also below 1, they are not numbers of repetitions: they only say which rows count more. An example is boosting,
    where the weights sum to 1. Only weights with both properties are scaled.

    Parameters
    ----------
    weight : ndarray of shape (n,)
        Repetition weights from `repetition_weights`.
    stored : ndarray of int
        Numbers of the rows that can be neighbours. The mean is taken over these rows.
    k : int
        Number of neighbours.

    Returns
    -------
    ndarray of shape (n,)
    """
    inside = weight[stored]
    if inside.sum() > k * (1 + _ROUNDING) or inside.mean() >= 1 - _ROUNDING:
        return weight
    # The division by the largest weight makes equal weights exactly 1, and prevents underflow of tiny weights.
    relative = weight / inside.max()
    scaled: FloatArray = relative / relative[stored].mean()
    return scaled


def declared_classes(classes: Any) -> AnyArray:
    """Return the classes that rows may have, sorted. Raise `InvalidDataError` if there are fewer than 2."""
    if classes is None:
        raise InvalidDataError(
            "classes must be passed on the first call to partial_fit: list all labels that will ever come"
        )
    declared = np.unique(column_or_1d(classes))
    require_text(declared, "class")
    if len(declared) < 2:
        raise InvalidDataError(f"at least 2 classes are needed; classes lists {len(declared)}")
    return declared


def codes_among(y: Any, classes: AnyArray, declared: Any = None) -> IndexArray:
    """Return the position of each label in ``classes``. Raise `InvalidDataError` if a label is not in ``classes``.

    ``declared`` is the argument ``classes`` of a later call to ``partial_fit``. It must contain the same classes.
    """
    import pandas as pd

    # All calls must have the same classes, because codes are positions among them.
    if declared is not None and not np.array_equal(declared_classes(declared), classes):
        raise InvalidDataError(f"classes={list(declared)} differ from those of the first call, {classes.tolist()}")
    y = column_or_1d(y)
    if y.dtype.kind in "OU":
        require_text(y, "label")
    codes = codes_of(y, classes)
    if (codes < 0).any():
        strange = pd.unique(pd.Series(y[codes < 0])).tolist()[:5]
        raise InvalidDataError(
            f"y has labels that are not among the classes {classes.tolist()[:20]}: {strange}. Declare all classes in "
            "the first call, partial_fit(X, y, classes=...), or fit again"
        )
    return codes


def check_growth(weights: Weights, classes: AnyArray, codes: IndexArray) -> None:
    """Raise `InvalidWeightsError` if the weights cannot be used for new rows.

    ``codes`` are the class numbers of the new rows, as positions in ``classes``.
    """
    if weights.instance_bound:
        raise InvalidWeightsError(
            "the weights belong to the training rows (votes, scales, a selection or weights per instance), so new "
            "rows have none. Use partial_fit(..., refresh=True) with a weigher, or fit again with weights for all rows"
        )
    if weights.classes is not None:
        lacking = np.setdiff1d(classes[np.unique(codes)], weights.classes).tolist()
        if lacking:
            raise InvalidWeightsError(
                f"the weights are per class, and say nothing about {lacking}. Use partial_fit(..., refresh=True)"
            )
