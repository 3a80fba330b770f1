"""Checks that weights and the number of neighbours fit the training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..engine import SearchEngine
from ..exceptions import ForeignWeightsError, InvalidDataError
from ..weights import Weights, fingerprint


def check_fits(weights: Weights, X: Any, names: list[str]) -> None:
    """Raise `ForeignWeightsError` if the weights were made for other columns or other rows than those of ``X``.

    ``names`` are the column names of ``X``, and empty if it has none.
    """
    if weights.n_features not in (None, X.shape[1]):
        raise ForeignWeightsError(f"the weights are for {weights.n_features} features; X has {X.shape[1]}")
    if weights.feature_names is not None and names and list(weights.feature_names) != names:
        differ = next(j for j, pair in enumerate(zip(weights.feature_names, names, strict=True)) if pair[0] != pair[1])
        raise ForeignWeightsError(
            f"the weights are for other columns: column {differ} is '{names[differ]}' in X and "
            f"'{weights.feature_names[differ]}' in the weights. Put the columns in the order of the weights"
        )
    if not weights.instance_bound:
        return
    if weights.n_samples != X.shape[0]:
        raise ForeignWeightsError(
            f"the weights belong to {weights.n_samples} training rows; X has {X.shape[0]}. "
            "Learn them from these rows, or use only the feature weights"
        )
    if weights.fingerprint is not None and weights.fingerprint != fingerprint(X):
        raise ForeignWeightsError(
            "the weights were learned from other rows than X (their fingerprints differ). "
            "Learn them from these rows, or use only the feature weights"
        )


def class_of_row(weights: Weights, classes: AnyArray, codes: IndexArray) -> IndexArray | None:
    """Return the position of each row's class in ``weights.classes``, or None if the weights have no classes.

    ``codes`` are the positions of the rows' classes in ``classes``, which is empty if the target is numeric.
    """
    if weights.classes is None:
        return None
    if not len(classes):
        raise ForeignWeightsError(
            "the weights are per class, and a numeric target has no classes. Use weights per feature or per instance, "
            "or a weigher for numeric targets"
        )
    position = {label: i for i, label in enumerate(weights.classes.tolist())}
    lacking = [label for label in classes[np.unique(codes)].tolist() if label not in position]
    if lacking:
        raise ForeignWeightsError(
            f"the weights are for the classes {list(position)}; the training data also have {lacking}"
        )
    of_code = np.array([position.get(label, -1) for label in classes.tolist()], dtype=np.int64)
    return of_code[codes]


def check_enough(k: int, engine: SearchEngine, repetition: FloatArray | None, own: bool = False) -> None:
    """Raise `InvalidDataError` if there are fewer than ``k`` training rows, or if their weights sum to less than ``k``.

    Parameters
    ----------
    k : int
    engine : SearchEngine
        Holds the training rows.
    repetition : ndarray or None
        Repetition weights of the rows, from `scale_repetitions`. None: every row counts once.
    own : bool
        Whether the queries are the training rows, so that each query leaves itself out.
    """
    if repetition is None:
        available = engine.n_references - own
        if k > available:
            raise InvalidDataError(
                f"n_neighbors={k} neighbours are wanted, but there are only {available} training rows"
                f"{' besides the query itself' if own else ''} (n_samples_fit). Use a smaller n_neighbors"
            )
        return
    total = float(repetition[engine.stored_rows].sum())
    if total < k * (1 - 1e-12):
        raise InvalidDataError(
            f"n_neighbors={k} neighbours are wanted, but there are only {engine.n_references} training rows "
            f"(n_samples_fit), whose sample weights, which count repetitions, sum to {total:.4g}. "
            "Use a smaller n_neighbors"
        )
