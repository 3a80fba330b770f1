"""Targets: what is taken for classes, what for a number to predict, and what is refused."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import weighbors
from weighbors import GradientWeights, NCAWeights, ReliefF, RReliefF, WeightedKNeighborsClassifier
from weighbors.exceptions import InvalidDataError, NumericTargetWarning
from weighbors.tables.targets import check_numeric_target, check_outputs, check_target, expect_target, recognize_target

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 3))
NUMERIC = [
    X[:, 0],
    X[:, 0].astype(np.float32),
    np.arange(100) % 4 + 0.5,
    np.arange(100.0),  # whole, but many
    np.arange(100) % 51 * 10.0,
    X[:, 0].astype(object),
    X[:, 0].tolist(),
    np.array([Decimal(i) / 8 for i in range(100)]),
    pd.Series(X[:, 0]),
    pd.Series(X[:, 0], dtype="Float64"),
    pd.Series(X[:, 0], dtype=pd.ArrowDtype(pa.float64())),
    pl.Series(X[:, 0]),
]
CLASSES = [
    np.arange(100) % 2,
    np.arange(100) % 2 * 1.0,
    np.arange(100) % 2 == 0,
    np.array(["a", "b"])[np.arange(100) % 2],
    np.array(["1.5", "2.5"])[np.arange(100) % 2],  # text, and few
    np.arange(100) % 50,
    pd.Series(np.arange(100) % 3).astype("category"),
    pd.Series(["a", "b"] * 50, dtype="string"),
    pl.Series(["a", "b"] * 50),
]


@pytest.mark.parametrize("y", NUMERIC, ids=range(len(NUMERIC)))
def test_floats_are_numeric(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert recognize_target(y) == "numeric"
        found = check_target(y, "auto")
    assert found.type == "numeric"
    assert found.numbers.dtype == np.float64
    np.testing.assert_array_equal(found.numbers, np.asarray(list(y), dtype=np.float64))
    assert len(found.classes) == 0
    assert not found.codes.any()
    with pytest.raises(InvalidDataError) if recognize_fractions(y) else pytest.warns(NumericTargetWarning):
        check_target(y)  # what takes classes only


def recognize_fractions(y):
    return any(float(value) != round(float(value)) for value in y)


@pytest.mark.parametrize("y", CLASSES, ids=range(len(CLASSES)))
def test_text_bools_and_few_numbers_are_classes(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for target_type in ("auto", "classes", None):
            found = check_target(y, target_type)
            assert found.type == "classes"
            assert found.numbers is None
            np.testing.assert_array_equal(found.classes[found.codes], np.asarray(y))


def test_integers_that_could_be_either_are_classes_and_the_switch_is_named():
    y = np.arange(100)
    with pytest.warns(NumericTargetWarning, match=r"target_type='numeric'.*target_type='classes'"):
        assert check_target(y, "auto").type == "classes"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_target(y, "classes").type == "classes"  # the user has decided
        assert check_target(y, "numeric").type == "numeric"
    with pytest.warns(NumericTargetWarning, match="use a regressor .*RReliefF"):
        check_target(y)  # there is no switch


@pytest.mark.parametrize(
    ("y", "told"),
    [
        ([1.0, np.nan], r"Input y contains NaN: 1 targets are missing .the first in row 1.*Drop"),
        ([1.0, None], "contains NaN"),
        ([1.0, np.inf, 2.0], r"infinity: 1 targets .* row 1"),
        ([3.5, 3.5], "constant .3.5 in all 2 rows"),
        ([3.5], "at least 2 rows; got n_samples = 1"),
        (["1.5", "2.5"], r"must hold numbers.*'1.5'.*pandas.to_numeric"),
        (np.array([1.5, "2.5"], dtype=object), r"must hold numbers.*pandas.to_numeric"),
        ([1 + 2j, 2], "Complex data not supported"),
        (np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"), "must hold numbers; got datetime"),
        ([[1.0, 2.0], [3.0, 4.0]], "1d array"),
        ([-1e308, 1e308], "overflow float64"),
    ],
)
def test_bad_numeric_targets_are_refused(y, told):
    with pytest.raises(InvalidDataError, match=told):
        check_numeric_target(y)
    with pytest.raises(InvalidDataError, match=told):
        check_target(y, "numeric")


def test_text_that_looks_numeric_is_refused_until_the_user_decides():
    y = X[:, 0].round(3).astype(str)
    for container in (y, y.astype(object), pd.Series(y), pl.Series(y.tolist())):
        with pytest.raises(
            InvalidDataError, match=r"text that looks like a numeric.*to_numeric.*target_type='classes'"
        ):
            check_target(container, "auto")
    with pytest.warns(UserWarning, match="50%"):  # scikit-learn's
        assert check_target(y, "classes").type == "classes"


def test_bools_may_be_numbers_if_asked_for():
    np.testing.assert_array_equal(check_numeric_target([True, False]), [1.0, 0.0])


CLASS_ONLY = {
    "Relief": "Use RReliefF",
    "RelievedF": "Use RReliefF",
    "ReliefF": "Use RReliefF",
    "ClassRelief": "Use RReliefF",
    "IRelief": "Use RReliefF or NCAWeights",
    "Simba": "Use RReliefF or NCAWeights",
    "SimbaMBIW": "Use RReliefF or NCAWeights",
    "MBIW": "LearnedVotesRegressor",
    "RepresentativeIntervals": "Use RReliefF or NCAWeights",
    "WIBK": "Use WeightedKNeighborsRegressor",
    "WeightedKNeighborsClassifier": "Use WeightedKNeighborsRegressor",
    "LearnedVotesClassifier": "Use LearnedVotesRegressor",
    "IB1": "Use WeightedKNeighborsRegressor",
    "IBk": "Use WeightedKNeighborsRegressor",
    "LWL": "Use WeightedKNeighborsRegressor",
    "KStar": "Use WeightedKNeighborsRegressor",
    **dict.fromkeys(
        ("DROP3", "DROP5", "FCNN", "HMNEI", "IB2", "IB3", "ICF"), "Use EvolutionaryWeigher with the task IS"
    ),
}


@pytest.mark.filterwarnings("ignore::weighbors.exceptions.LonelyClassWarning")
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoPositiveWeightWarning")
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.FewNeighborsWarning")
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.NumericTargetWarning")  # WIBK's k-NN says it again
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.LostClassWarning")
@pytest.mark.parametrize(("name", "told"), CLASS_ONLY.items())
def test_what_needs_classes_refuses_numbers_and_says_what_to_use(name, told):
    model = getattr(weighbors, name)()
    for y in (X[:, 0], X[:, 0].astype(np.float32), X[:, 0].tolist(), pd.Series(X[:, 0], dtype="Float64")):
        with pytest.raises(InvalidDataError, match=f"{name} needs classes.*{told}.*or cut y into classes"):
            model.fit(X, y)
    for y, why in (([np.inf, 1.0] * 50, "infinity"), ([np.nan, 1.0] * 50, "NaN"), ([2.0] * 100, "2 classes")):
        with pytest.raises(InvalidDataError, match=why):
            model.fit(X, y)
    Z = np.repeat(np.arange(25.0), 2)[:, None] + [[0.0, 1.0]]
    with pytest.warns(NumericTargetWarning, match=f"(?i){told}"):  # whole numbers may be names of classes
        model.fit(Z, np.arange(50) % 30)


def test_the_table_of_alternatives_names_what_there_is():
    from weighbors.tables.labels import NUMERIC_ALTERNATIVES
    from weighbors.tables.targets import CLASS_ALTERNATIVES

    assert set(CLASS_ONLY) == set(NUMERIC_ALTERNATIVES)
    for name, advice in {**NUMERIC_ALTERNATIVES, **CLASS_ALTERNATIVES}.items():
        assert name in weighbors.__all__
        assert any(word in weighbors.__all__ for word in advice.replace(",", " ").split())


def test_a_weigher_of_the_other_type_of_target_is_refused():
    with pytest.raises(InvalidDataError, match="RReliefF needs a numeric target, and these are classes. Use ReliefF"):
        WeightedKNeighborsClassifier(3, RReliefF()).fit(X, np.arange(100) % 2)
    with pytest.raises(InvalidDataError, match="ReliefF needs classes, and the target is numeric. Use RReliefF"):
        expect_target(ReliefF(), numeric=True)
    assert isinstance(expect_target(RReliefF(), numeric=True), RReliefF)


def test_what_auto_took_is_stated():
    told = check_target(np.arange(100) % 30, "auto").statement
    assert told.startswith("y was taken for classes: 30 different values in 100 rows, whole numbers")
    assert "target_type='numeric'" in told
    told = check_target(X[:, 0], "auto").statement
    assert told == (
        "y was taken for a number to predict: 100 different values in 100 rows, not all of them whole. "
        "Write target_type='classes' if these are names of classes"
    )
    assert "whole floats" in check_target(np.arange(100.0), "auto").statement
    assert "no numbers" in check_target(["a", "b"], "auto").statement
    assert "target_type" not in check_target(["a", "b"], "classes").statement


def test_the_type_that_was_taken_is_said_and_classes_go_away():
    model = NCAWeights()
    assert model.fit(X, (X[:, 0] > 0).astype(int)).target_type_ == "classes"
    assert model.classes_.tolist() == [0, 1]
    assert model.fit(X, X[:, 0]).target_type_ == "numeric"
    assert not hasattr(model, "classes_")
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, X[:50, 0])


def test_a_classifier_tells_its_weigher_that_there_are_classes():
    y = np.repeat(np.arange(60.0), 3)  # 60 different floats: alone, the weigher would take them for numbers
    Z = rng.normal(size=(180, 2)) + y[:, None]
    with pytest.warns(NumericTargetWarning):
        model = WeightedKNeighborsClassifier(1, NCAWeights(max_iter=3, tol=1.0), p=1).fit(Z, y)
    assert model.weigher_.target_type_ == "classes"
    assert expect_target(NCAWeights(target_type="numeric"), numeric=False).target_type == "numeric"
    assert expect_target(ReliefF(), numeric=False) is not None


def test_outputs_of_different_lengths_and_whole_numbers_beyond_float64_are_refused():
    with pytest.raises(InvalidDataError, match=r"\(n_samples, n_outputs\); its rows have different lengths"):
        check_outputs([[1.0, 2.0], [3.0]])
    for check in (check_outputs, check_numeric_target):
        with pytest.raises(InvalidDataError, match="whole numbers that are too large for float64: rescale it"):
            check([10**400, 1])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [2.0**1000, 2.0**-1000])
def test_the_unit_of_a_target_does_not_change_gradient_weights(unit):
    expected = GradientWeights(1.0).fit(X, X[:, 1]).feature_weights_
    np.testing.assert_array_equal(GradientWeights(1.0).fit(X, unit * X[:, 1]).feature_weights_, expected)
