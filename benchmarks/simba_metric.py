"""SIMBA's weights in a k-NN: squared, as algorithm 2 of paper 000 has them, or as published.

A 5-NN on standardised features, stratified 10-fold, 3 repeats, one thread. SIMBA publishes W = w²/max w²; the
distance of algorithm 2 then has a = W², and a = W is the other reading. Writes docs/results/simba_metric.csv
and prints the table of docs/guide/margins.md. Takes about a minute.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import weighbors as wb
from weighbors.datasets import load_dataset

SETS = ["wine", "glass", "sonar", "ionosphere", "wdbc", "pima", "vehicle", "colon", "madelon"]


class Published(BaseEstimator):
    """SIMBA with a = W in place of a = W²."""

    def fit(self, X, y):
        """Hand the published weights to the metric as they are."""
        self.weights_ = wb.Weights(feature_weights=wb.Simba(random_state=0).fit(X, y).feature_weights_)
        return self


METRICS = {"no weights": None, "a = W²": wb.Simba(random_state=0), "a = W": Published()}


def accuracy(name: str, weigher) -> float:
    """Mean over all folds, in per cent."""
    data = load_dataset(name)
    model = make_pipeline(StandardScaler(), wb.WeightedKNeighborsClassifier(5, weigher))
    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=3, random_state=0)
    return 100 * cross_val_score(model, np.asarray(data.X, dtype=float), data.y, cv=folds).mean()


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # a class of glass has fewer rows than there are folds
    table = pd.DataFrame({name: {label: accuracy(name, w) for label, w in METRICS.items()} for name in SETS})
    table.round(3).to_csv(Path(__file__).parents[1] / "docs" / "results" / "simba_metric.csv", index_label="metric")
    print(f"| | {' | '.join(SETS)} | mean |\n{'|---' * (len(SETS) + 2)}|")
    for label, row in table.iterrows():
        print(f"| {label} | {' | '.join(f'{figure:.1f}' for figure in [*row, row.mean()])} |")
