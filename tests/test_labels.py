"""Labels: which are refused, which raise a warning, and which are recognised again."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from weighbors import KStar, ReliefF, WeightedKNeighborsClassifier
from weighbors.exceptions import InvalidDataError, NumericTargetWarning
from weighbors.tables.labels import check_classes, check_labels, known_codes

X = np.random.default_rng(0).normal(size=(100, 3))
MODELS = [ReliefF(1), WeightedKNeighborsClassifier(1), KStar()]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__module__)
@pytest.mark.parametrize("y", [X[:, 0], X[:, 0].round(1).astype(np.float32), np.arange(100) % 4 + 0.5])
def test_numbers_that_are_not_whole_are_no_classes(model, y):
    told = f"looks like a numeric target.*{len(np.unique(y))} different values in 100 rows.*needs classes.*pandas.cut"
    with pytest.raises(InvalidDataError, match=told):
        model.fit(X, y)


@pytest.mark.filterwarnings("ignore::weighbors.exceptions.LonelyClassWarning")
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoPositiveWeightWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__module__)
@pytest.mark.parametrize("y", [np.arange(100), np.arange(100.0), np.arange(100) % 51 * 10.0])
def test_many_whole_numbers_look_like_a_target(model, y):
    with pytest.warns(NumericTargetWarning, match=f"{len(np.unique(y))} different numbers") as found:
        model.fit(X, y)
    assert not [w for w in found if "50%" in str(w.message)]  # scikit-learn does not say it again


@pytest.mark.parametrize(
    "y", [np.arange(100) % 50, np.arange(100) % 50 * 1.0, np.arange(20), np.arange(100) % 2 * 1.0, np.arange(100) % 40]
)
def test_few_numbers_are_classes(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_labels(y)
        check_classes(np.unique(y), len(y))


def test_many_texts_are_scikit_learns_business():
    with pytest.warns(UserWarning, match="50%") as found:
        check_labels(np.arange(100).astype(str))
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_classes(np.arange(30).astype(str), 1000)  # 30 classes in 1000 rows, each given once


@pytest.mark.parametrize(
    ("y", "told"),
    [
        ([b"a", b"b"], "bytes"),
        ([1 + 2j, 2], "[Cc]omplex"),
        (np.array([1, "a"], dtype=object), "Unknown label type.*astype"),
        (pd.period_range("2020", periods=3, freq="M"), "Unknown label type"),
        ([[1], [2, 3]], "inhomogeneous"),
        (np.array([["a", "b"], ["c", "d"]]), "1d array"),
        ([0.0, np.inf], "infinity"),
        (["a", None], "1 labels are missing .the first in row 1"),
        (["a", "a"], "at least 2 classes"),
    ],
)
def test_what_is_no_label_is_refused(y, told):
    with pytest.raises(InvalidDataError, match=told):
        check_labels(y)


@pytest.mark.parametrize(
    "y",
    [
        np.array(["b", "a", "b"]),
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.Series(["b", "a", "b"], dtype=pd.ArrowDtype(pa.string())),
        pl.Series(["b", "a", "b"]),
        pl.Series(["b", "a", "b"], dtype=pl.Categorical),
        pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "a"])),
    ],
    ids=lambda y: str(y.dtype),
)
def test_labels_of_every_kind_of_vector(y):
    classes, codes = check_labels(y)
    assert (classes.tolist(), codes.tolist()) == (["a", "b"], [1, 0, 1])
    assert known_codes(y, np.array(["a", "b", "c"])).tolist() == [1, 0, 1]


def test_labels_that_fit_has_not_seen_are_named():
    with pytest.raises(InvalidDataError, match=r"not there in fit: \['aa', 'z'\]. The classes are \['a', 'b'\]"):
        known_codes(["a", "aa", "z", "b"], np.array(["a", "b"]))
    assert known_codes([1.0, 0.0], np.array([0, 1])).tolist() == [1, 0]
    with pytest.raises(InvalidDataError, match="not there in fit"):
        known_codes(["1", "0"], np.array([0, 1]))
