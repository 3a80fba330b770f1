"""
Is one weigher really better than another?
==========================================

A study runs methods over data sets and folds and keeps every cell in a file, so it can
be stopped and extended. Then ranks over data sets are tested.
"""

import tempfile

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbors import MBIW, MultiSURF, ReliefF, Simba, WeightedKNeighborsClassifier
from weighbors.evaluation import Study
from weighbors.plots import CriticalDifferenceDisplay
from weighbors.stats import compare


def digits(*labels):
    X, y = load_digits(return_X_y=True)
    return X[np.isin(y, labels)], y[np.isin(y, labels)]


def scaled(weigher):
    return make_pipeline(StandardScaler(), WeightedKNeighborsClassifier(5, weigher))


X, target = load_diabetes(return_X_y=True)
datasets = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
    "diabetes, worst quarter": (X, target > np.quantile(target, 0.75)),
    "digits 1 7": digits(1, 7),
    "digits 3 8": digits(3, 8),
    "digits 4 9": digits(4, 9),
    "digits 5 6": digits(5, 6),
}
methods = {
    "no weights": scaled(None),
    "ReliefF": scaled(ReliefF()),
    "MultiSURF": scaled(MultiSURF()),
    "Simba": scaled(Simba()),
    "MBIW votes": scaled(MBIW()),
}
with tempfile.TemporaryDirectory() as store:
    results = Study(datasets, methods, store, cv=5, n_repeats=2).run(progress=False)
table = results.table("accuracy")
print(table.round(3).to_string())

# %%
# The test
# --------
# ``compare`` ranks the methods within each data set, asks whether they differ at all,
# and adjusts the p-values of all pairs. ``print(found)`` tells all of it.
found = compare(table)
print(found.iman_davenport)
print(found.critical_difference)

# %%
# Pairs, the surest first, with Bergmann and Hommel's adjusted p-values:
pairs = found.frame().sort_values("p_rank")
print(pairs[["first", "second", "wins", "losses", "bergmann"]].head(5).to_string())

# %%
# Methods joined by a bar are not told apart. The bars go by Nemenyi's one difference
# for all pairs, which is less sharp than the p-values above: those tell ReliefF from
# MultiSURF, too. Eight data sets are few: only large and steady differences show.
CriticalDifferenceDisplay.from_result(found)
