"""Columns of very different ranges: estimators that need scaled columns warn once, and say what to write."""

import warnings

import numpy as np
import pandas as pd
import pytest
from estimators import public_estimators
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from weighbors import (
    DROP3,
    FCNN,
    IB2,
    MBIW,
    EvolutionaryWeigher,
    LearnedVotesClassifier,
    LearnedVotesRegressor,
    ReliefF,
    Simba,
    SimbaMBIW,
    Stratified,
    TableClassifier,
    WeightedKNeighborsClassifier,
    WeightedKNeighborsRegressor,
    WeightedNearestNeighbors,
    Weights,
)
from weighbors.exceptions import UnscaledColumnsWarning

SEARCH = EvolutionaryWeigher("IS+FS", population_size=8, max_evaluations=80, random_state=0)
#: Estimators that warn. The others scale columns themselves, or do not use distances.
NEED = {
    "Democratic", "DROP3", "DROP5", "EvolutionaryWeigher", "FCNN", "GradientWeights", "HMNEI", "IB2", "IB3", "ICF",
    "InstanceSampler", "LearnedVotesClassifier", "LearnedVotesRegressor", "MBIW", "Simba", "SimbaMBIW", "Stratified",
    "WeightedKNeighborsClassifier", "WeightedKNeighborsRegressor", "WeightedNearestNeighbors",
}  # fmt: skip


def table(n=60):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame({"age": rng.normal(size=n) + y, "salary": 1000 * rng.normal(size=n), "height": rng.normal(size=n)})
    return X, y


def warnings_of(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [str(one.message) for one in caught if one.category is UnscaledColumnsWarning]


@pytest.mark.parametrize("name", [name for name in public_estimators() if not name.startswith("InstanceSampler")])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_who_warns(name):
    X, y = table()
    y = X["age"].to_numpy() if name == "RReliefF" else y
    estimator = public_estimators()[name]
    assert len(warnings_of(lambda: clone(estimator).fit(X, y))) == (name in NEED)
    scaled = StandardScaler().set_output(transform="pandas").fit_transform(X)
    assert not warnings_of(lambda: clone(estimator).fit(scaled, y))


@pytest.mark.parametrize(
    "estimator",
    [
        WeightedKNeighborsClassifier(3, SimbaMBIW()),
        WeightedKNeighborsClassifier(3, ReliefF(3)),
        WeightedKNeighborsClassifier(3, FCNN()),
        WeightedKNeighborsClassifier("auto", "auto", weights="auto", p="auto"),
        LearnedVotesClassifier(weigher=Simba(random_state=0)),
        DROP3(1, Simba(random_state=0)),
        Stratified(SEARCH, 2),
        WeightedKNeighborsClassifier(1, Stratified(MBIW(), 2)),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_one_warning_for_what_is_fitted_inside_another(estimator):
    X, y = table()
    assert len(warnings_of(lambda: clone(estimator).fit(X, y))) == 1


def test_the_message_names_both_columns_and_what_to_write():
    X, y = table()
    (message,) = warnings_of(lambda: WeightedKNeighborsClassifier().fit(X, y))
    assert "'salary' has a range of" in message
    assert "TableClassifier(WeightedKNeighborsClassifier(...))" in message
    assert "make_pipeline(StandardScaler(), WeightedKNeighborsClassifier(...))" in message
    (message,) = warnings_of(lambda: WeightedKNeighborsRegressor().fit(X.to_numpy(), y))
    assert "column number 1" in message
    assert "TableRegressor(WeightedKNeighborsRegressor(...))" in message
    (message,) = warnings_of(lambda: IB2().fit(X, y))
    assert "TableClassifier(..., scale='standard')" in message


def test_the_warning_points_at_the_line_of_the_user():
    X, y = table()
    with pytest.warns(UnscaledColumnsWarning) as caught:
        WeightedNearestNeighbors().fit(X, y)
    assert caught[0].filename == __file__


def test_a_hundredfold_is_the_limit():
    column = np.linspace(0, 1, 20)
    for factor, expected in ((99.0, 0), (101.0, 1)):
        X = np.column_stack([column, factor * column])
        assert len(warnings_of(lambda X=X: WeightedNearestNeighbors(2).fit(X))) == expected


def test_categories_count_as_a_range_of_1():
    X = pd.DataFrame({"kind": list("ab") * 10, "size": np.linspace(0, 500, 20)})
    assert len(warnings_of(lambda: WeightedKNeighborsClassifier().fit(X, X["kind"]))) == 1


def test_no_warning_where_it_would_be_wrong():
    X, y = table()
    assert not warnings_of(lambda: WeightedKNeighborsClassifier(3, Weights(feature_weights=[1, 1e-6, 1])).fit(X, y))
    assert not warnings_of(lambda: TableClassifier(WeightedKNeighborsClassifier(3)).fit(X, y))
    constant = X.assign(salary=5.0)
    assert not warnings_of(lambda: LearnedVotesRegressor().fit(constant, y))
    assert len(warnings_of(lambda: TableClassifier(WeightedKNeighborsClassifier(3), None).fit(X, y))) == 1
