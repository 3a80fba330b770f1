"""Masked arrays, frames of sparse columns and empty targets, for every public estimator."""

import numpy as np
import pandas as pd
import pytest
from estimators import public_classes, public_estimators
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from weighbors.exceptions import InvalidDataError

X, y = load_wine(return_X_y=True)
X, y = np.round(scale(X[::4, :4]), 2), y[::4]
HIDDEN = np.random.default_rng(0).random(X.shape) < 0.05


def learned(name, X):
    """What an estimator learns from a table, or the message with which it refuses it."""
    model = clone(public_estimators()[name])
    try:
        model.fit(X, y)
    except ValueError as error:
        return str(error)
    for way in ("feature_weights_", "sample_indices_", "predict", "kneighbors", "support_", "weights_"):
        if hasattr(model, way):
            found = getattr(model, way)
            return found(X) if callable(found) else found
    raise AssertionError(f"{name} has nothing to compare")


@pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoPositiveWeightWarning")
@pytest.mark.parametrize("name", sorted(public_classes()))
def test_masked_cells_are_missing_and_sparse_columns_are_numbers(name):
    lacking = np.where(HIDDEN, np.nan, X)
    masked = np.ma.masked_array(np.where(HIDDEN, -999.0, X), HIDDEN)
    np.testing.assert_equal(learned(name, masked), learned(name, lacking))
    frame = pd.DataFrame(X, columns=["a", "b", "c", "c"] if "Table" not in name else list("abcd"))
    np.testing.assert_equal(learned(name, frame.astype(pd.SparseDtype(float, 0.0))), learned(name, frame))


@pytest.mark.parametrize("dtype", [int, float])
def test_masked_targets_are_missing(dtype):
    masked = np.ma.masked_array(y.astype(dtype), y == 1)
    for name in ("ReliefF", "WeightedKNeighborsClassifier", "WeightedKNeighborsRegressor", "RReliefF"):
        with pytest.raises(InvalidDataError, match="Input y contains NaN"):
            public_estimators()[name].fit(X, masked)


@pytest.mark.parametrize("name", sorted(set(public_classes()) - {"WeightedNearestNeighbors"}))
def test_an_empty_target_is_refused(name):
    with pytest.raises(ValueError, match=r"y is empty|at least 2 rows|inconsistent numbers of samples"):
        public_estimators()[name].fit(X, [])
