"""Explanations in the user's own units, for an estimator that transforms its table before another one sees it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from naive.shapley import feature_values

from weighbors import LearnedVotesClassifier, LearnedVotesRegressor, WeightedKNeighborsClassifier
from weighbors.exceptions import InvalidDataError
from weighbors.explanation import OriginalValues, explain_rows

RNG = np.random.default_rng
TOWNS = ["Oslo", "Rome", "Ulm"]


def people(n=90):
    """A table in its own units: years, euros, and a town that decides together with the age. Rows have names."""
    rng = RNG(0)
    frame = pd.DataFrame(
        {
            "id": [f"P{i:03}" for i in range(n)],  # says nothing, and is not encoded
            "age": rng.integers(18, 80, n),
            "income": rng.normal(50_000, 12_000, n).round(0),
            "town": rng.choice(TOWNS, n),
        },
        index=[f"patient {i}" for i in range(n)],
    )
    return frame, np.where((frame["age"] > 45) ^ (frame["town"] == "Rome"), "ill", "well")


class HandMadeTable:
    """What a table estimator does: numbers are standardised, and the town becomes three columns."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, frame, y):
        self.training = frame
        self.mean, self.deviation = frame[["age", "income"]].mean(), frame[["age", "income"]].std()
        self.estimator.fit(self.encode(frame), y)
        return self

    def encode(self, frame):
        numbers = (frame[["age", "income"]].astype(float) - self.mean) / self.deviation
        towns = np.array([[float(town == known) for known in TOWNS] for town in frame["town"]])
        return np.column_stack([numbers.to_numpy(), towns])

    def predict(self, frame):
        return self.estimator.predict(self.encode(frame))

    def original(self, frame):
        columns = {"age": [0], "income": [1], "town": [2, 3, 4]}
        return OriginalValues(frame, self.training, self.encode, columns)

    def explain(self, frame, top=None):
        return explain_rows(self.estimator, self.encode(frame), top=top, original=self.original(frame))


@pytest.fixture(scope="module")
def tables():
    frame, y = people()
    estimators = {"votes": LearnedVotesClassifier(weigher=None), "k-NN": WeightedKNeighborsClassifier(3)}
    return {name: HandMadeTable(estimator).fit(frame[10:], y[10:]) for name, estimator in estimators.items()}


@pytest.mark.parametrize("name", ["votes", "k-NN"])
def test_features_are_the_users_columns(tables, name, monkeypatch):
    monkeypatch.setattr("weighbors.explanation.rows.MOST_BACKGROUND", 8)
    frame, _ = people()
    model = tables[name]
    told = model.explain(frame[:2])
    assert told.features == ["id", "age", "income", "town"]
    assert (told.contributions[:, 0] == 0).all()
    np.testing.assert_allclose(told.base + told.contributions.sum(axis=1), told.scores, atol=1e-10)
    # The columns of a town are exchanged together.
    inner = model.estimator
    score = inner.decision_function if name == "votes" else lambda rows: inner.predict_proba(rows)[:, 1]
    background = told._subject.background(0, 8)
    rows = model.encode(frame[:1])[0]
    expected = feature_values(lambda row: score(row[None, :]), rows, background, [[0], [1], [2, 3, 4]])
    found = told.contributions[0, 1:]
    found = found[:, 1] - found[:, 0] if name == "votes" else found[:, 1]
    np.testing.assert_allclose(found, expected.ravel(), atol=1e-9)


@pytest.mark.parametrize("name", ["votes", "k-NN"])
def test_changes_are_in_the_users_units_and_flip_the_answer(tables, name):
    frame, _ = people()
    model = tables[name]
    told = model.explain(frame[:10])
    training = frame[10:]
    checked = 0
    for i, changes in enumerate(told.changes):
        for change in changes:
            row = frame.iloc[[i]].astype({"age": float})
            for feature, after in zip(change.features, change.after, strict=True):
                row[feature] = after
                if feature == "town":
                    assert after in TOWNS
                else:
                    assert training[feature].min() <= after <= training[feature].max()
                    assert after == round(after)  # ages and incomes are whole
            assert model.predict(row)[0] == change.answer != told.answers[i]
            checked += 1
    assert checked >= 10


def test_names_of_rows_are_those_of_the_table(tables):
    frame, y = people()
    told = tables["k-NN"].explain(frame[:1], top=3)
    text = str(told)
    assert text.startswith("Row patient 0: ")
    table = told.frame()
    names = [frame.index[10 + row] for row in table["row"]]
    assert table["name"].tolist() == names
    for name, label in zip(names, table["label"], strict=True):
        assert f"  {name}" in text
        assert label == y[list(frame.index).index(name)]
        assert str(frame.loc[name, "age"]) in text
    assert names[0] in told._repr_html_()
    model = tables["k-NN"]
    own = replace(model.original(frame[:1]), row_names=list(frame["id"][10:]), query_names=["new"])
    renamed = explain_rows(model.estimator, model.encode(frame[:1]), original=own)
    assert str(renamed).startswith("Row new: ")
    assert renamed.frame()["name"].str.startswith("P").all()
    votes = tables["votes"].explain(frame[:1], top=2).frame()
    assert pd.isna(votes["name"].iloc[0])
    assert votes["name"].tolist()[1].startswith("patient ")


def test_numbers_to_predict():
    frame, _ = people()
    y = frame["income"].to_numpy() / 1000 + frame["age"].to_numpy()
    model = HandMadeTable(LearnedVotesRegressor(weigher=None)).fit(frame[10:], y[10:])
    told = model.explain(frame[:2])
    np.testing.assert_allclose((told.base + told.contributions.sum(axis=1))[:, 0], model.predict(frame[:2]))
    assert told.changes[0]


def test_bad_hand_over(tables):
    frame, _ = people()
    model = tables["votes"]
    rows, original = model.encode(frame[:2]), model.original(frame[:2])
    with pytest.raises(InvalidDataError, match="one row per explained row, 2; got 1"):
        explain_rows(model.estimator, rows, original=replace(original, queries=frame[:1]))
    with pytest.raises(InvalidDataError, match="rows that the estimator was fitted to, 80; got 5"):
        explain_rows(model.estimator, rows, original=replace(original, training=frame[:5]))
    with pytest.raises(InvalidDataError, match="height"):
        explain_rows(model.estimator, rows, original=replace(original, columns={"height": [0]}))
