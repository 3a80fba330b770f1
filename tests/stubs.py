"""Small stand-ins that tests share."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification

from weighbors import Weights


def three_classes():
    """Training rows, labels and queries."""
    X, y = make_classification(n_samples=240, n_features=6, n_informative=4, n_classes=3, random_state=0)
    return X[:160], y[:160], X[160:]


class VarianceWeigher(BaseEstimator):
    """The least a weigher can be: fit(X, y) leaves weights_."""

    def __init__(self, power=1.0, categorical_features="from_dtype"):
        self.power = power
        self.categorical_features = categorical_features

    def fit(self, X, y, sample_weight=None):
        self.seen_ = X
        self.sample_weight_ = sample_weight
        values = X.select_dtypes("number").to_numpy() if isinstance(X, pd.DataFrame) else np.asarray(X)
        self.weights_ = Weights(
            feature_weights=np.ones(np.shape(X)[1]),
            votes=np.abs(values[:, 0]) ** self.power + 1,
            instance_mask=np.arange(len(values)) % 3 != 0,
        )
        return self
