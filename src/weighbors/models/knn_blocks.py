"""The k-NN over tables in blocks: the same model with another engine. Its results are the same to the bit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import is_regressor

from ..blocks import BlockEngine, BlockTable, LazyRows, is_blocks, read_training_blocks
from ..exceptions import InvalidDataError
from ..neighbors.checks import class_of_row
from ..neighbors.resolve import resolve_weights
from ..weights import Weights
from .choice import AUTO, is_auto
from .training import Stored, repetition_weights, require_classes, scale_repetitions

if TYPE_CHECKING:
    from .base_knn import BaseKNeighbors

Model = TypeVar("Model", bound="BaseKNeighbors")


def reads_blocks(model: BaseKNeighbors, X: Any) -> bool:
    """Return whether the rows of ``X`` are read in blocks.

    A mapped array is read as a whole, as any other array, if the model needs all rows in memory.
    """
    if not is_blocks(X):
        return False
    if not isinstance(X, np.memmap):
        return True
    given = model.weigher is None or isinstance(model.weigher, Weights)
    return (given or getattr(model.weigher, "_takes_blocks", False)) and not _automatic(model)


def _automatic(model: BaseKNeighbors) -> list[str]:
    """Return the parameters that are "auto"."""
    return [name for name in AUTO if is_auto(getattr(model, name))]


def store_blocks(model: Model, X: Any, y: Any, sample_weight: Any) -> Model:
    """Read a table in blocks once, learn its weights, set the fitted attributes of ``model``, and return it.

    The model stores the blocks (of a file only their place), the weights, and the class or target of every row.
    """
    automatic = _automatic(model)
    if automatic:
        raise InvalidDataError(
            f"{automatic[0]}='auto' needs all rows in memory, and this table is read in blocks. Choose the value with "
            f"a sample of the rows, and write {automatic[0]}=..."
        )
    coded = read_training_blocks(model, X, y, sample_weight)
    table: BlockTable = coded.rows
    stored = replace(coded, rows=LazyRows(table))  # the rows are read when they are indexed
    repetition = repetition_weights(coded.codes, coded.classes, coded.given_weight, model.class_weight)
    kept = None if repetition is None or (repetition > 0).all() else repetition > 0
    if kept is not None:
        require_classes(coded.codes[kept], 1 if is_regressor(model) else 2)
    if isinstance(model.weigher, (Weights, type(None))):
        weigher, weights = resolve_weights(model, stored)
    else:
        if kept is not None:
            raise InvalidDataError("a weigher learns from all rows, and some have weight 0: drop these rows first")
        if coded.given_weight is not None:  # it learns from the repetitions that will vote
            scaled = scale_repetitions(coded.given_weight, np.arange(table.n), int(model.n_neighbors))
            coded = replace(coded, given_weight=scaled)
        weigher, weights = resolve_weights(model, coded)
    searched = weights
    if kept is not None:  # a row counts only if it is both of positive weight and selected by the weigher
        mask = kept if weights.instance_mask is None else weights.instance_mask & kept
        searched = replace(weights, instance_mask=mask, fingerprint=None)
    engine = BlockEngine(
        table,
        weights=searched,
        measured=table.ranges_of(kept),
        p=int(model.p),
        nominal=table.nominal if table.nominal.any() else None,
        class_of_code=class_of_row(weights, table.classes, np.arange(len(table.classes))),
        backend=model.backend,
    )
    return model._store(Stored(stored, np.arange(table.n), table.n, (weigher, weights)), engine)
