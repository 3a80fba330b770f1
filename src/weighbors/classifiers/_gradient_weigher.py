"""A weigher of features by the gradients of kernel votes, for the choice of a k-NN's weigher."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._parallel.threads import effective_n_jobs
from .._validation import TakesTables, check_sample_weight
from ..kernel.gradient import Table, learn_feature_weights
from ..weighers.base import check_table
from ..weights import Weights

__all__ = ["GradientWeigher"]

#: Rows from which the weights are learned; of more rows, so many are drawn.
_MOST_ROWS = 500


class GradientWeigher(TakesTables, BaseEstimator):
    """Feature weights (G / max G)^γ, where G is how strongly the scores of kernel votes change with each feature.

    Parameters
    ----------
    p : {1, 2}
        1 for the city-block distance, 2 for the Euclidean distance.
    gamma : float
    categorical_features
        As in `WeightedKNeighborsClassifier`.
    n_jobs : int or None
        Threads. Results do not depend on it.

    Attributes
    ----------
    weights_ : Weights
    feature_weights_ : ndarray of shape (n_features,)
    classes_ : ndarray of shape (n_classes,)
    """

    def __init__(
        self,
        p: int = 2,
        gamma: float = 0.5,
        *,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        self.p = p
        self.gamma = gamma
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GradientWeigher:
        """Learn the weights from all rows, or from 500 drawn ones. ``sample_weight`` counts as repetition."""
        rows, codes, self.classes_, coder = check_table(self, X, y)
        repetition = check_sample_weight(sample_weight, rows)
        if repetition is not None and repetition.mean() < 1:
            repetition = repetition / repetition.mean()
        rng = np.random.default_rng(0)
        table = Table(rows, coder.nominal_of(rows), np.eye(len(self.classes_))[codes], codes, repetition)
        part = table.draw(_MOST_ROWS, rng)
        learned = learn_feature_weights(part, self.p, self.gamma, 1, rng, effective_n_jobs(self.n_jobs))
        self.feature_weights_ = learned
        self.weights_ = Weights(feature_weights=learned, feature_names=tuple(coder.names) or None)
        return self
