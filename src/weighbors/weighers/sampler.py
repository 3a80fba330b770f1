"""A sampler for imbalanced-learn's pipelines around any weigher that selects instances."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing

__all__ = ["InstanceSampler"]


class InstanceSampler(BaseEstimator):
    """``fit_resample`` keeps the rows a weigher selects; columns stay as they are.

    Made by ``as_sampler`` of `EvolutionaryWeigher`, `Stratified` and `Democratic`. It needs no other
    package; pipelines of imbalanced-learn take it as they take their own samplers.

    Parameters
    ----------
    weigher : estimator
        One whose fit leaves ``sample_indices_``.

    Attributes
    ----------
    weigher_ : estimator
        The fitted clone.
    sample_indices_ : ndarray
        Rows that were kept.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from weighbors import EvolutionaryWeigher
    >>> X, y = load_wine(return_X_y=True)
    >>> search = EvolutionaryWeigher("IS", population_size=20, max_evaluations=400, random_state=0)
    >>> sampler = search.as_sampler()
    >>> X_small, y_small = sampler.fit_resample(X, y)
    >>> len(X_small) == len(y_small) == len(sampler.sample_indices_) < 100
    True
    """

    def __init__(self, weigher: Any) -> None:
        self.weigher = weigher

    def fit(self, X: Any, y: Any) -> InstanceSampler:
        """Fit a clone of the weigher, and keep which rows it selects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        self.weigher_ = clone(self.weigher).fit(X, y)
        self.sample_indices_ = self.weigher_.sample_indices_
        return self

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Fit, and return the rows and labels that were kept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        X_resampled, y_resampled
            In the containers they came in.
        """
        self.fit(X, y)
        X = X if hasattr(X, "shape") else np.asarray(X)
        return _safe_indexing(X, self.sample_indices_), _safe_indexing(y, self.sample_indices_)
