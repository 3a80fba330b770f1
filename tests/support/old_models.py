"""Model files as version 0.1 wrote them: a weighted k-NN over columns scaled to [0, 1]."""

import json

import numpy as np

from weighbors import MBIW, ReliefF, RReliefF, Simba, WeightedKNeighborsClassifier, WeightedKNeighborsRegressor
from weighbors._archive import write_archive
from weighbors.datasets import TableScaler, clean_table

#: Weighers with each kind of weights that such a file holds: none, of features, and of rows.
OLD_WEIGHERS = {"none": None, "relieff": ReliefF(10), "simba": Simba(random_state=0), "mbiw": MBIW()}


class OldModel:
    """The model in a file of version 0.1, and what it answers.

    ``y`` is text for a model of classes, else numbers.
    """

    def __init__(self, X, y, weigher="relieff", n_neighbors=5, votes="uniform", target="kind"):
        clean = clean_table(X)
        self.scaler = TableScaler.learn(clean.X)
        self.rows = self.scaler.scale(clean.X).reset_index(drop=True)
        self.y, self.target, self.left_out = np.asarray(y), target, clean.left_out
        self.settings = {
            "n_neighbors": n_neighbors, "weigher": weigher, "votes": votes, "random_state": 0, "version": "0.1.0",
        }  # fmt: skip
        self.numeric = self.y.dtype.kind == "f"
        kind = WeightedKNeighborsRegressor if self.numeric else WeightedKNeighborsClassifier
        learner = RReliefF(10) if self.numeric else OLD_WEIGHERS[weigher]
        self.knn = kind(n_neighbors, learner, weights=votes).fit(self.rows, self.y)

    def answer(self, X):
        """Probabilities of the classes, or numbers."""
        rows = self.scaler.scale(self.scaler.read(X[list(self.scaler.names)])[0])
        return self.knn.predict(rows) if self.numeric else self.knn.predict_proba(rows)

    def save(self, path):
        nominal = np.isnan(self.scaler.low)
        text = [name for name, one in zip(self.scaler.names, nominal, strict=True) if one]
        codes = [self.rows[name].cat.codes.to_numpy(dtype=np.int32) for name in text]
        about = {
            "names": list(self.scaler.names),
            "categories": {name: list(values) for name, values in self.scaler.categories.items()},
            "target": self.target,
            "settings": self.settings,
            "left_out": [list(column) for column in self.left_out],
        }
        state = {
            "about": np.array(json.dumps(about)),
            "low": self.scaler.low,
            "high": self.scaler.high,
            "numbers": self.rows.loc[:, ~nominal].to_numpy(dtype=np.float64),
            "cells": np.column_stack(codes) if codes else np.zeros((len(self.rows), 0), dtype=np.int32),
        }
        if self.numeric:
            state["values"] = self.y
        else:
            classes, places = np.unique(self.y.astype(str), return_inverse=True)
            state |= {"codes": places.astype(np.int64), "classes": classes}
        state |= {f"weights.{key}": value for key, value in self.knn.weights_._state().items()}
        # Files of numeric targets had version 2, so that releases which did not know them refused them.
        write_archive(path, {"format": "weighbors.TableModel", "version": 2 if self.numeric else 1}, state)
