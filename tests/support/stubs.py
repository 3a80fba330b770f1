"""Small stand-ins that tests share."""

import os
import re
import time

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
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


class Trouble(ClassifierMixin, BaseEstimator):
    """A nearest-centroid classifier that fails as it is told: raises, hangs, dies, answers NaN."""

    def __init__(self, how="not", seconds=0.0, random_state=None, n_jobs=None):
        self.how = how
        self.seconds = seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y):
        time.sleep(self.seconds)
        if self.how == "raise":
            raise RuntimeError("this method never works")
        if self.how == "exit":
            raise SystemExit(3)
        if self.how == "die":
            os.kill(os.getpid(), 9)
        if self.how == "hang":
            time.sleep(1000)
        if self.how == "hang hard":  # in compiled code, and no other thread gets a turn
            re.match(r"(a+)+$", "a" * 60 + "b")
        if self.how == "print":
            print("printed in fit")
        self.classes_ = np.unique(y)
        self.centres_ = np.array([np.asarray(X)[y == c].mean(axis=0) for c in self.classes_])
        self.feature_weights_ = np.ptp(self.centres_, axis=0)
        if self.how == "nan weights":
            self.feature_weights_ = np.full(X.shape[1], np.nan)
        self.noise_ = np.random.RandomState(self.random_state).normal()
        return self

    def predict(self, X):
        if self.how == "nan":
            return np.full(len(X), np.nan)
        distance = ((np.asarray(X)[:, None] - self.centres_) ** 2).sum(axis=2)
        return self.classes_[distance.argmin(axis=1)]


def noise_of(model, X_train, y_train, X_test, y_test):
    """A measure: a random number that depends on the seed of the cell only."""
    return getattr(model, "noise_", 0.0)


def two_problems(n=40):
    """Two small data sets by name."""
    return {
        name: make_classification(n, 5, n_informative=3, n_redundant=0, random_state=seed)
        for seed, name in enumerate(("first", "second"))
    }
