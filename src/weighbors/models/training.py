"""The training rows that a k-NN stores, in the order in which they were given. More rows can be added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d, compute_class_weight

from .._names import require_text
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError, InvalidWeightsError
from ..tables.labels import codes_of
from ..weights import Weights

_ROUNDING = 1e-9  # relative tolerance: a sum of weights can differ from 1 by rounding


@dataclass(frozen=True)
class Training:
    """Coded training rows ``X``, with their class numbers or numeric targets, and their sample weights.

    If the target is numeric, all rows have code 0.
    """

    X: Any
    codes: IndexArray
    row: IndexArray  # number of each row in the data that the user gave
    sample_weight: FloatArray | None  # as the user gave it
    targets: FloatArray | None = None  # (n,) or (n, n_outputs) numeric targets, as the user gave them; None for classes

    def y(self, classes: AnyArray, rows: Any = slice(None)) -> AnyArray:
        """Return the labels of some rows, or their numeric targets. ``classes`` are the classes that codes stand for.

        One output is a vector, even if the user gave one column.
        """
        if self.targets is None:
            return classes[self.codes[rows]]
        numbers = self.targets[rows]
        return numbers[:, 0] if numbers.ndim == 2 and numbers.shape[1] == 1 else numbers

    def varies(self, rows: Any = slice(None)) -> bool:
        """Return whether some rows have different labels or targets. Otherwise no weigher learns from them."""
        values = self.codes[rows] if self.targets is None else self.targets[rows]
        return bool(len(values)) and bool((values != values[:1]).any())

    def joined(self, other: Training) -> Training:
        """Return these rows followed by the rows of ``other``. Missing sample weights become 1."""
        if sparse.issparse(self.X):
            X = sparse.vstack([self.X, sparse.csr_matrix(other.X)], format="csr")
        else:
            X = np.concatenate([self.X, other.X.toarray() if sparse.issparse(other.X) else other.X])
        weight, targets = None, None
        if self.sample_weight is not None or other.sample_weight is not None:
            weight = np.concatenate(
                [np.ones(len(t.codes)) if t.sample_weight is None else t.sample_weight for t in (self, other)]
            )
        if self.targets is not None and other.targets is not None:
            targets = np.concatenate([self.targets, other.targets])
        rows = np.concatenate([self.row, other.row])
        return Training(X, np.concatenate([self.codes, other.codes]), rows, weight, targets)


def indexable(table: Any, nominal: BoolArray) -> Any:
    """Return the table, converted to an array if it consists of lists.

    ``nominal`` tells which columns are categorical. If there are any, the array has dtype object.
    """
    return table if hasattr(table, "shape") else np.asarray(table, dtype=object if nominal.any() else None)


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
