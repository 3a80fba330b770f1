"""What a k-NN stores: training rows, in the order they came, that may grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d, compute_class_weight

from .._names import require_text
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .._validation import codes_of
from ..exceptions import InvalidDataError, InvalidWeightsError
from ..weights import Weights

__all__ = [
    "Training",
    "check_growth",
    "codes_among",
    "declared_classes",
    "indexable",
    "masses",
]


@dataclass(frozen=True)
class Training:
    """Coded rows with classes and repetitions; rows of weight 0 are not stored."""

    X: Any
    codes: IndexArray
    row: IndexArray  # number of each row as it was given
    sample_weight: FloatArray | None  # as it was given

    def joined(self, other: Training) -> Training:
        """These rows and then the others, as if they had come together."""
        if sparse.issparse(self.X):
            X = sparse.vstack([self.X, sparse.csr_matrix(other.X)], format="csr")
        else:
            X = np.concatenate([self.X, other.X.toarray() if sparse.issparse(other.X) else other.X])
        weight = None
        if self.sample_weight is not None or other.sample_weight is not None:
            weight = np.concatenate(
                [np.ones(len(t.codes)) if t.sample_weight is None else t.sample_weight for t in (self, other)]
            )
        rows = np.concatenate([self.row, other.row])
        return Training(X, np.concatenate([self.codes, other.codes]), rows, weight)


def indexable(table: Any, nominal: BoolArray) -> Any:
    """The table, as an array where it came as lists."""
    return table if hasattr(table, "shape") else np.asarray(table, dtype=object if nominal.any() else None)


def masses(
    codes: IndexArray, classes: AnyArray, sample_weight: FloatArray | None, class_weight: Any
) -> FloatArray | None:
    """Repetitions each row stands for; None where every row counts once."""
    if sample_weight is None and class_weight is None:
        return None
    mass = np.ones(len(codes)) if sample_weight is None else sample_weight
    if isinstance(class_weight, dict):
        of_class = compute_class_weight(class_weight, classes=classes, y=classes[codes])
        if not (np.isfinite(of_class) & (of_class >= 0)).all():
            raise InvalidDataError(f"class_weight must be finite numbers >= 0; got {class_weight}")
        mass = mass * of_class[codes]
    elif class_weight == "balanced":  # every class weighs the same, repetitions counted
        total = np.bincount(codes, weights=mass)
        mass = mass * mass.sum() / ((total > 0).sum() * np.where(total > 0, total, 1.0))[codes]
    return None if (mass == 1).all() else mass


def declared_classes(classes: Any) -> AnyArray:
    """The classes that later rows may have, sorted."""
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
    """Position of every label in ``classes``; a label that was not declared is an error.

    ``declared``: the classes as a later call repeats them.
    """
    import pandas as pd

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
    """Refuse to keep weights that say nothing about new rows."""
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
