"""A table that is read once: estimators of the library take it as it is, and its parts are as if read alone."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from weighbors import (
    FeatureSelector,
    ReliefF,
    RReliefF,
    ScoreWeigher,
    Simba,
    StabilitySelection,
    TuRF,
)
from weighbors.exceptions import InvalidDataError, UnscaledColumnsWarning
from weighbors.tables.coded import CodedTable, fit_model, read_queries, read_training
from weighbors.tables.targets import check_labels, check_target
from weighbors.tables.validation import TableCoder

N = 60


def a_table(kind):
    """Numbers, or numbers and categories, some of them missing, constant or rare."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(N, 5))
    numbers[:, 3] = 7.0
    if kind == "array":
        return numbers
    if kind == "list":
        return numbers.tolist()
    if kind == "sparse":
        return sparse.csr_matrix(np.where(np.abs(numbers) < 1, 0.0, numbers))
    frame = pd.DataFrame(numbers, columns=list("abcde"))
    frame.insert(1, "colour", rng.choice(["red", "green", "blue"], N))
    frame["level"] = pd.Categorical(rng.choice(["low", "high"], N))
    frame["rare"] = np.where(np.arange(N) == 5, "once", "often")
    for name in ("a", "colour", "level"):
        frame.loc[rng.random(N) < 0.2, name] = None
    return frame


def target_of(numeric):
    rng = np.random.default_rng(1)
    return rng.normal(size=N) if numeric else rng.choice(["x", "y", "z"], N)


def part_of(X, rows):
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("numeric", [False, True])
@pytest.mark.parametrize("kind", ["array", "sparse", "frame"])
def test_fits_to_parts_of_a_coded_table_are_those_to_parts_of_the_table(kind, numeric):
    X, y = a_table(kind), target_of(numeric)
    inner = RReliefF(3) if numeric else ReliefF(3)
    for weigher in (inner, ScoreWeigher(), TuRF(inner), FeatureSelector(clone(inner), 2)):
        table = read_training(weigher, X, y, target_type="numeric" if numeric else None, coder=TableCoder())
        for seed in range(2):
            rows = np.random.default_rng(seed).permutation(N)[: N // 2]
            found = fit_model(clone(weigher), table.take(rows)).feature_weights_
            wanted = clone(weigher).fit(part_of(X, rows), y[rows]).feature_weights_
            np.testing.assert_array_equal(found, wanted)
            assert wanted.any()


def test_a_coded_table_describes_the_columns_of_the_estimator_that_takes_it():
    X, y = a_table("frame"), target_of(False)
    table = read_training(ReliefF(), X, y)
    weigher = fit_model(ReliefF(3, n_features_to_select=2), table)
    alone = ReliefF(3, n_features_to_select=2).fit(X, y)
    assert weigher.n_features_in_ == alone.n_features_in_
    assert weigher.get_feature_names_out().tolist() == alone.get_feature_names_out().tolist()
    assert weigher.weights_ == alone.weights_
    fit_model(weigher, read_training(ReliefF(), a_table("array"), y))
    assert not hasattr(weigher, "feature_names_in_")


def test_queries_of_a_coded_table_are_taken_as_they_are():
    X, y = a_table("frame"), target_of(False)
    table = read_training(ReliefF(), X, y)
    assert read_queries(ReliefF(), table.coder, CodedTable(table.rows, table.coder)) is table.rows


@pytest.mark.parametrize("kind", ["array", "list", "sparse", "frame"])
def test_an_estimator_of_others_gets_the_table_as_it_was_given(kind):
    seen = []

    class Keeps(RandomForestClassifier):
        def fit(self, X, y):
            seen.append((X, y))
            return self

    X, y = a_table(kind), target_of(False)
    table = read_training(ReliefF(), X, y)
    rows = np.array([4, 0, 8])
    fit_model(Keeps(), table.take(np.arange(N)[::-1]).take(N - 1 - rows))
    fit_model(Keeps(), table)
    (part, labels), (whole, _) = seen
    assert labels.tolist() == y[rows].tolist()
    if kind == "frame":
        pd.testing.assert_frame_equal(part, X.iloc[rows])
        pd.testing.assert_frame_equal(whole, X)
    else:
        whole, part = (each.toarray() if kind == "sparse" else each for each in (whole, part))
        X = X.toarray() if kind == "sparse" else np.asarray(X)
        np.testing.assert_array_equal(whole, X)
        np.testing.assert_array_equal(part, X[rows])


def test_a_subclass_with_a_fit_of_its_own_gets_the_table_as_it_was_given():
    class Doubled(ReliefF):
        def fit(self, X, y):
            return super().fit(2 * X, y)

    X, y = a_table("array"), target_of(False)
    found = fit_model(Doubled(3), read_training(ReliefF(), X, y)).feature_weights_
    np.testing.assert_array_equal(found, ReliefF(3).fit(2 * X, y).feature_weights_)


@pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoPositiveWeightWarning")
def test_an_estimator_with_other_columns_of_categories_reads_the_table_itself():
    X, y = np.random.default_rng(0).integers(0, 3, size=(N, 3)).astype(float), target_of(False)
    found = fit_model(ReliefF(3, categorical_features=[0, 1]), read_training(ReliefF(), X, y)).feature_weights_
    np.testing.assert_array_equal(found, ReliefF(3, categorical_features=[0, 1]).fit(X, y).feature_weights_)
    assert (found != ReliefF(3).fit(X, y).feature_weights_).any()


def test_a_part_is_recoded_as_if_its_rows_alone_had_been_given():
    X, y = a_table("frame"), target_of(False)
    rows = np.array([9, 3, 30, 31, 32])
    part, alone = read_training(ReliefF(), X, y).take(rows).recoded(), TableCoder()
    np.testing.assert_array_equal(part.rows, alone.fit_transform(ReliefF(), X.iloc[rows]))
    assert {j: kinds.tolist() for j, kinds in part.coder.categories.items()} == {
        j: kinds.tolist() for j, kinds in alone.categories.items()
    }


def test_a_part_has_the_classes_that_it_shows_and_numbers_that_vary():
    y = np.array(["a", "b", "c"])[np.arange(N) % 3]
    X = a_table("array")
    table = read_training(ReliefF(), X, y)
    two = fit_model(ReliefF(3), table.take(np.flatnonzero(y != "b")))
    assert two.classes_.tolist() == ["a", "c"]
    with pytest.raises(InvalidDataError, match="at least 2 classes are needed"):
        fit_model(ReliefF(3), table.take(np.flatnonzero(y == "b")))
    with pytest.raises(InvalidDataError, match="numeric target"):
        fit_model(RReliefF(3), table)
    numbers = read_training(RReliefF(), X, np.where(np.arange(N) < 10, 1.0, np.arange(N)))
    with pytest.raises(InvalidDataError, match="y is constant"):
        fit_model(RReliefF(3), numbers.take(np.arange(10)))
    with pytest.raises(InvalidDataError, match="ReliefF needs classes"):
        fit_model(ReliefF(3), read_training(RReliefF(), X, X[:, 0]))


def test_columns_that_are_not_scaled_cause_one_warning():
    X, y = a_table("array") * np.array([1.0, 1e4, 1.0, 1.0, 1.0]), target_of(False)
    selection = StabilitySelection(Simba(), n_pairs=2, n_permutations=1, target_fp=5.0, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        selection.fit(X, y)
    assert [w.category for w in caught].count(UnscaledColumnsWarning) == 1


@pytest.mark.parametrize("weigher", [None, ReliefF(3), RandomForestClassifier(3)], ids=["default", "ReliefF", "forest"])
def test_a_stability_selection_reads_its_table_once(monkeypatch, weigher):
    calls = []

    def spy(name, function):
        def counted(*arguments, **options):
            calls.append(name)
            return function(*arguments, **options)

        return counted

    monkeypatch.setattr(TableCoder, "fit_transform", spy("rows", TableCoder.fit_transform))
    monkeypatch.setattr("weighbors.tables.coded.check_target", spy("target", check_target))
    monkeypatch.setattr("weighbors.tables.targets.check_labels", spy("labels", check_labels))
    selection = StabilitySelection(weigher, n_pairs=3, n_permutations=2, target_fp=5.0, random_state=0)
    selection.fit(a_table("array"), target_of(False))
    assert sorted(calls) == ["labels", "rows", "target"]
