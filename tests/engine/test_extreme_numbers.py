"""Numbers too large or too close for distances are refused with a reason, and without NumPy's own warnings."""

import warnings

import numpy as np
import pytest

from weighbors import (
    IB1,
    LWL,
    MBIW,
    SURF,
    WIBK,
    ClassRelief,
    IBk,
    IRelief,
    MultiSURF,
    Relief,
    ReliefF,
    WeightedKNeighborsClassifier,
)
from weighbors.exceptions import InvalidDataError

MODELS = [IB1(), IBk(3), LWL(), WeightedKNeighborsClassifier(3), ReliefF(), Relief(), IRelief(), SURF(), MultiSURF(),
          MBIW(), ClassRelief()]  # fmt: skip
X = np.random.default_rng(0).normal(size=(40, 3))
Y = X[:, 0] > X[:, 1]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_ranges_that_overflow_are_refused(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(InvalidDataError, match="overflow|cannot be scaled"):
            model.fit(X * 2.0**1022, Y)


@pytest.mark.parametrize("model", [ReliefF(), IRelief(), SURF(), MultiSURF()], ids=lambda model: type(model).__name__)
def test_ranges_that_vanish_are_refused(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(InvalidDataError, match="cannot be scaled to 1.*StandardScaler"):
            model.fit(X * 2.0**-1060, Y)


def test_bins_take_any_range():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = WIBK(3, discretize="frequency").fit(X * 2.0**1022, Y).predict(X * 2.0**1022)
    np.testing.assert_array_equal(found, WIBK(3, discretize="frequency").fit(X, Y).predict(X))
