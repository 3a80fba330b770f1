"""A sampler for imbalanced-learn's pipelines around an evolutionary weigher."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing

__all__ = ["EvolutionarySampler"]


class EvolutionarySampler(BaseEstimator):
    """``fit_resample`` keeps the rows an `EvolutionaryWeigher` selects; columns stay as they are.

    Made by `EvolutionaryWeigher.as_sampler`. It needs no other package; pipelines of
    imbalanced-learn take it as they take their own samplers.

    Parameters
    ----------
    weigher : EvolutionaryWeigher

    Attributes
    ----------
    weigher_ : EvolutionaryWeigher
        The fitted clone.
    sample_indices_ : ndarray
        Rows that were kept.
    """

    def __init__(self, weigher: Any) -> None:
        self.weigher = weigher

    def fit(self, X: Any, y: Any) -> EvolutionarySampler:
        """Search; see `EvolutionaryWeigher.fit`."""
        self.weigher_ = clone(self.weigher).fit(X, y)
        self.sample_indices_ = self.weigher_.sample_indices_
        return self

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Search, and return the rows and labels that were kept."""
        self.fit(X, y)
        X = X if hasattr(X, "shape") else np.asarray(X)
        return _safe_indexing(X, self.sample_indices_), _safe_indexing(y, self.sample_indices_)
