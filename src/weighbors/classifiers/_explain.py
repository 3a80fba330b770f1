"""Why a k-NN decides as it does: neighbours, votes and shares of distances, as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..engine import References, contributions
from ._training import Training

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Voters", "explained"]


class Voters(NamedTuple):
    """Some queries, their neighbours and the votes of these (None: one each)."""

    query: IndexArray
    distance: FloatArray
    row: IndexArray
    votes: FloatArray | None


def explained(
    references: References,
    queries: Any,
    voters: Iterable[Voters],
    training: Training,
    classes: AnyArray,
    names: list[str],
) -> pd.DataFrame:
    """One row per query and neighbour, with the features' shares of the distance."""
    import pandas as pd

    parts = [_told(references, queries, found, training, classes) for found in voters]
    frame = pd.concat([part for part, _ in parts], ignore_index=True)
    shares = pd.DataFrame(np.concatenate([s for _, s in parts]), columns=[f"share of {name}" for name in names])
    return pd.concat([frame, shares], axis=1).sort_values(["query", "rank"], ignore_index=True)


def _told(
    references: References, X: Any, found: Voters, training: Training, classes: AnyArray
) -> tuple[pd.DataFrame, FloatArray]:
    """Neighbours of a batch, one row each, and the features' shares of their distances."""
    import pandas as pd

    terms = contributions(references, X[found.query], found.row)
    total = terms.sum(axis=2, keepdims=True)
    np.divide(terms, total, out=terms, where=total > 0)
    cast = np.ones(found.row.shape) if found.votes is None else found.votes
    cast = np.where(cast.sum(axis=1, keepdims=True) > 0, cast, 1.0)
    width = found.row.shape[1]
    frame = pd.DataFrame(
        {
            "query": np.repeat(found.query, width),
            "rank": np.tile(np.arange(1, width + 1), len(found.query)),
            "row": training.row[found.row].ravel(),
            "label": classes[training.codes[found.row]].ravel(),
            "distance": found.distance.ravel(),
            "vote": (cast / cast.sum(axis=1, keepdims=True)).ravel(),
        }
    )
    return frame, terms.reshape(-1, terms.shape[2])
