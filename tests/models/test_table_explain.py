"""Explanations of `TableClassifier` and `TableRegressor`: in the units of the table, with the names of its rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from naive.shapley import feature_values

from weighbors import (
    WIBK,
    KStar,
    LearnedVotesClassifier,
    LearnedVotesRegressor,
    TableClassifier,
    TableRegressor,
    WeightedKNeighborsClassifier,
    WeightedKNeighborsRegressor,
)
from weighbors.exceptions import InvalidDataError, UnknownCategoryError

CLASSIFIERS = {
    "votes": LearnedVotesClassifier(weigher=None),
    "k-NN": WeightedKNeighborsClassifier(3),
    "WIB-K": WIBK(3, discretize="mdlp"),
}


def patients(n=110):
    """Names, a constant, numbers and text with missing cells; age and town decide together."""
    rng = np.random.default_rng(3)
    age, town = rng.integers(18, 80, n).astype(float), rng.choice(["Oslo", "Rome", "Ulm"], n).astype(object)
    income = rng.normal(50_000, 12_000, n).round()
    y = np.where((age > 45) ^ (town == "Rome"), "ill", "well")
    age[rng.random(n) < 0.1] = np.nan
    town[rng.random(n) < 0.1] = None
    names = [f"P{i:03}" for i in range(n)]
    return pd.DataFrame({"patient": names, "age": age, "site": "north", "town": town, "income": income}), y


@pytest.fixture(scope="module")
def models():
    X, y = patients()
    return {name: TableClassifier(estimator).fit(X[:90], y[:90]) for name, estimator in CLASSIFIERS.items()}


@pytest.mark.parametrize("name", list(CLASSIFIERS))
@pytest.mark.parametrize("missing", ["indicator", "distance"])
def test_contributions_add_up_to_the_score(name, missing):
    X, y = patients()
    model = TableClassifier(CLASSIFIERS[name], missing=missing).fit(X[:90], y[:90])
    new = X[90:98]
    assert new[["age", "town"]].isna().to_numpy().any(axis=0).all()
    told = model.explain(new)
    assert told.features == ["age", "town", "income"]
    np.testing.assert_array_equal(told.answers, model.predict(new))
    np.testing.assert_allclose(told.probabilities, model.predict_proba(new))
    np.testing.assert_allclose(told.base + told.contributions.sum(axis=1), told.scores, atol=1e-10)
    if name == "votes":
        np.testing.assert_allclose(told.scores[:, 1] - told.scores[:, 0], model.decision_function(new), atol=1e-10)
    else:
        np.testing.assert_allclose(told.scores, model.predict_proba(new))


@pytest.mark.parametrize("name", ["votes", "k-NN"])
def test_a_number_and_the_mark_that_it_is_missing_are_one_feature(models, name, monkeypatch):
    monkeypatch.setattr("weighbors.explanation.rows.MOST_BACKGROUND", 6)
    X, _ = patients()
    model = models[name]
    assert model._reader.encoder.names == ("age", "town", "income", "age is missing")
    at = int(np.flatnonzero(X["age"][90:].isna())[0]) + 90
    told = model.explain(X[at : at + 1])
    background = told._subject.background(0, 6)
    inner = model.estimator_

    def score(row):
        """Score of "well" for one row in the codes of the estimator."""
        rows = model._reader.encoder.coded_table(row[None, :]).for_model(inner)
        return inner.decision_function(rows) / 2 if name == "votes" else inner.predict_proba(rows)[:, 1]

    query = told._subject.query(0)
    expected = feature_values(score, query, background, [[0, 3], [1], [2]])
    found = told.contributions[0]
    found = (found[:, 1] - found[:, 0]) / 2 if name == "votes" else found[:, 1]
    np.testing.assert_allclose(found, np.ravel(expected), atol=1e-9)


@pytest.mark.parametrize("name", list(CLASSIFIERS))
def test_changes_are_in_own_units_and_flip_predict(models, name):
    X, _ = patients()
    model, training, checked = models[name], X[:90], 0
    new = X[90:]
    for i, changes in enumerate(model.explain(new).changes):
        for change in changes:
            row = new.iloc[[i]].copy()
            for feature, after in zip(change.features, change.after, strict=True):
                row[feature] = after
                if feature == "town":
                    assert after in ("Oslo", "Rome", "Ulm")
                else:
                    assert training[feature].min() <= after <= training[feature].max()
                    assert after == round(after)  # ages and incomes are whole
            assert model.predict(row)[0] == change.answer != model.predict(new.iloc[[i]])[0]
            checked += 1
    assert checked >= 15


def test_rows_have_the_names_of_the_identifier(models):
    X, y = patients()
    for name, model in models.items():
        told = model.explain(X[90:92], top=3)
        text, page = str(told), told.to_html()
        table = told.frame()
        voters = table[table["row"] >= 0]
        assert voters["name"].tolist() == X["patient"].iloc[voters["row"]].tolist(), name
        assert voters["label"].tolist() == y[voters["row"]].tolist()
        assert text.startswith("Row P090: ")
        assert "Row P091: " in text
        assert told.frame("answers")["name"].tolist() == ["P090", "P091"]
        nearest = voters["name"].iloc[0]
        assert f"  {nearest}" in text
        assert nearest in page


def test_values_are_those_of_the_table(models):
    X, _ = patients()
    told = models["k-NN"].explain(X[90:91])
    values = told.frame("features").set_index("feature")["value"]
    assert values["income"] == X["income"].iloc[90]
    assert values["town"] == X["town"].iloc[90]
    text = str(told)
    for row in told.frame()["row"]:
        assert str(int(X["income"].iloc[row])) in text


def test_tables_without_names_and_arrays_have_row_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [1, 10, 100]
    y = np.where(X[:, 1] > 0, "yes", "no")
    model = TableClassifier(WeightedKNeighborsClassifier(3)).fit(X, y)
    told = model.explain(X[:2])
    assert told.features == ["x0", "x1", "x2"]
    assert "name" not in told.frame()
    assert str(told).startswith("Row 0: ")
    assert told.frame("features")["value"].tolist()[0] in X[0]
    named = pd.DataFrame(X, columns=["a", "b", "c"])
    told = TableClassifier(WeightedKNeighborsClassifier(3)).fit(named, y).explain(named[5:6])
    assert str(told).startswith("Row 5: ")


def test_polars_other_order_and_further_columns_say_the_same(models):
    X, _ = patients()
    told = str(models["votes"].explain(X[90:93]))
    assert str(models["votes"].explain(X[90:93][["income", "town", "age", "patient"]].assign(more=1))) == told
    assert str(models["votes"].explain(pl.from_pandas(X[90:93]))) == told


def test_a_new_category_is_explained_or_refused(models):
    X, y = patients()
    told = models["votes"].explain(X[90:91].assign(town="Lima"))
    assert "Lima" in str(told)
    strict = WeightedKNeighborsClassifier(3, handle_unknown="error")
    with pytest.raises(UnknownCategoryError, match="Lima"):
        TableClassifier(strict).fit(X[:90], y[:90]).explain(X[90:91].assign(town="Lima"))


def test_a_later_fit_does_not_change_an_explanation():
    X, y = patients()
    model = TableClassifier(WeightedKNeighborsClassifier(3)).fit(X[:90], y[:90])
    before, same = model.explain(X[90:91]), str(model.explain(X[90:91]))
    model.fit(X[:60].assign(age=X["age"] * 12), y[:60])
    assert str(before) == same


@pytest.mark.parametrize("estimator", [LearnedVotesRegressor(weigher=None), WeightedKNeighborsRegressor(3)])
def test_numbers_to_predict(estimator):
    X, _ = patients()
    y = X["income"] / 1000 + X["age"].fillna(50)
    model = TableRegressor(estimator).fit(X[:90], y[:90])
    told = model.explain(X[90:96])
    np.testing.assert_allclose((told.base + told.contributions.sum(axis=1))[:, 0], model.predict(X[90:96]))
    assert str(told).startswith("Row P090: ")
    spread, checked = float(y[:90].std(ddof=0)), 0
    for i, changes in enumerate(told.changes):
        for change in changes:
            row = X[90 + i : 91 + i].assign(**dict(zip(change.features, change.after, strict=True)))
            moved = abs(model.predict(row)[0] - model.predict(X[90 + i : 91 + i])[0])
            assert moved >= spread * (1 - 1e-9)
            checked += 1
    assert checked >= 3


def test_bad_questions(models):
    X, y = patients()
    with pytest.raises(InvalidDataError, match="KStar has no explain: use learned votes"):
        TableClassifier(KStar()).fit(X, y).explain(X[:1])
    with pytest.raises(InvalidDataError, match="lacks 1 of the 3 columns .* 'town'"):
        models["votes"].explain(X[:1].drop(columns="town"))
    with pytest.raises(InvalidDataError, match="no rows"):
        models["votes"].explain(X[:0])
    with pytest.raises(InvalidDataError, match="top"):
        models["votes"].explain(X[:1], top=-1)


def test_tables_whose_first_column_is_a_category_are_saved_and_explained(tmp_path):
    """Without row names, rows are counted; the number of categories was taken for the number of rows."""
    X, y = patients()
    X = X[["town", "income"]]
    model = TableClassifier(WeightedKNeighborsClassifier(3)).fit(X, y)
    model.save(tmp_path / "model.wb")
    again = TableClassifier.load(tmp_path / "model.wb")
    assert str(again.explain(X[:1])) == str(model.explain(X[:1]))
