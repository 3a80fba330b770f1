"""Explanations of our estimators: contributions add up to the scores, changes flip the answer, texts stay short."""

import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from naive.shapley import feature_values
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import scale

from weighbors import (
    IB1,
    WIBK,
    Explanation,
    IBk,
    LearnedVotesClassifier,
    LearnedVotesRegressor,
    ReliefF,
    TableClassifier,
    WeightedKNeighborsClassifier,
    WeightedKNeighborsRegressor,
    Weights,
)
from weighbors.exceptions import InvalidDataError

RNG = np.random.default_rng
CLASSIFIERS = {
    "all rows": LearnedVotesClassifier(None),
    "all rows, p=2": LearnedVotesClassifier(None, p=2),
    "nearest rows": LearnedVotesClassifier(12, None),
    "k-NN": WeightedKNeighborsClassifier(5),
    "k-NN, distance, weights": WeightedKNeighborsClassifier(7, ReliefF(), weights="distance"),
    "IBk": IBk(3, weights="similarity"),
    "IB1": IB1(),
}


@cache
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    names = np.array(["Barolo", "Grignolino", "Barbera"])
    return pd.DataFrame(scale(X), columns=X.columns), names[y]


def mixed(n=120, seed=0):
    """A table with numbers, whole numbers, categories and missing cells."""
    rng = RNG(seed)
    age, kind = rng.normal(40, 12, n).round(1), rng.choice(["red", "green", "blue"], n)
    count, noise = rng.integers(0, 6, n), rng.normal(size=n)
    y = np.where((age > 42) ^ (kind == "red"), "yes", "no")
    frame = pd.DataFrame({"age": age / 12, "kind": kind, "count": count.astype(float), "noise": noise})
    frame.loc[rng.random(n) < 0.1, "noise"] = np.nan
    frame.loc[rng.random(n) < 0.1, "kind"] = None
    return frame, y


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_contributions_add_up_to_the_scores(name):
    X, y = wine()
    model = CLASSIFIERS[name].fit(X[::2], y[::2])
    told = model.explain(X[1:6:2])
    assert isinstance(told, Explanation)
    sums = told.base + told.contributions.sum(axis=1)
    if isinstance(model, LearnedVotesClassifier):
        expected = model.decision_function(X[1:6:2])
    else:
        expected = told.scores
        np.testing.assert_allclose(expected, model.predict_proba(X[1:6:2]))
    np.testing.assert_allclose(sums, expected, atol=1e-9)
    np.testing.assert_array_equal(told.answers, model.predict(X[1:6:2]))
    np.testing.assert_allclose(told.probabilities, model.predict_proba(X[1:6:2]), atol=1e-12)
    assert (told.standard_errors is None) == (name == "all rows")
    votes = np.array([row.voters.mean + row.voters.votes.sum(axis=0) for row in told._rows])
    np.testing.assert_allclose(votes, told.scores, atol=1e-9)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_contributions_are_shapley_values_of_the_answers(name, monkeypatch):
    monkeypatch.setattr("weighbors.explanation.rows.MOST_BACKGROUND", 6)  # the definition takes long
    X, y = wine()
    X = X.iloc[:, [0, 6, 9, 12]].to_numpy()
    model = CLASSIFIERS[name].fit(X[::2], y[::2])
    told = model.explain(X[[61]])
    background = told._subject.background(0, 6)

    def score(row):
        if isinstance(model, LearnedVotesClassifier):
            return model.decision_function(row[None, :])[0]
        return model.predict_proba(row[None, :])[0]

    expected = feature_values(score, X[61], background, [[0], [1], [2], [3]])
    np.testing.assert_allclose(told.contributions[0], expected, atol=1e-9)
    # The background are rows of the training data, evenly spaced over the classes.
    assert all((X[::2] == row).all(axis=1).any() for row in background)
    by_class = np.concatenate([X[::2][y[::2] == label] for label in np.unique(y)])
    np.testing.assert_array_equal(background, by_class[[0, 18, 35, 53, 70, 88]])


@pytest.mark.parametrize(
    "model",
    [
        LearnedVotesRegressor(None),
        LearnedVotesRegressor(15, None),
        WeightedKNeighborsRegressor(4, weights="distance"),
    ],
)
@pytest.mark.parametrize("outputs", [1, 2])
def test_contributions_add_up_to_predicted_numbers(model, outputs):
    X, _ = wine()
    y = X.iloc[:, :outputs].to_numpy() * 10 + 100
    y = y[:, 0] if outputs == 1 else y
    X = X.iloc[:, 3:]
    model = model.fit(X[::2], y[::2])
    told = model.explain(X[1:6:2])
    sums = told.base + told.contributions.sum(axis=1)
    np.testing.assert_allclose(sums, model.predict(X[1:6:2]).reshape(3, -1), rtol=1e-9)
    assert told.probabilities is None
    assert "\nTraining rows that vote" in str(told)
    assert told._repr_html_()
    for before, change in zip(told.answers, told.changes, strict=True):
        for each in change:
            assert outputs == 1
            assert abs(each.answer - before) >= np.std(y[::2]) * (1 - 1e-9)


def test_a_feature_that_says_nothing_adds_nothing():
    rng = RNG(0)
    X = rng.normal(size=(80, 12))
    y = X[:, 0] > 0
    weights = Weights(feature_weights=np.r_[1.0, np.ones(10), 0.0])
    for model in (LearnedVotesClassifier(None, weights), WeightedKNeighborsClassifier(5, weights)):
        told = model.fit(X, y).explain(X[:10])
        sizes = np.abs(told.contributions[:, :, 1]).mean(axis=0)
        assert sizes[0] > 3 * sizes[1:].max()
        assert sizes[11] == 0
        assert "x11" not in told.frame("changes")["feature"].to_numpy()


# --- changes ---------------------------------------------------------------------------------------------------------


def flips(model, X, told, low, high):
    """How many of the changes were checked: each gives another answer, and stays inside the range of the data."""
    checked = 0
    for i, changes in enumerate(told.changes):
        for change in changes:
            row = X.iloc[[i]].copy()
            for name, before, after in zip(change.features, change.before, change.after, strict=True):
                assert pd.isna(before) or row[name].iloc[0] == before
                row[name] = after
                if name in low:
                    assert low[name] <= after <= high[name]
            assert model.predict(row)[0] == change.answer != told.answers[i]
            assert len(change.features) in (1, 2)
            checked += 1
    return checked


@pytest.mark.parametrize("name", ["all rows", "k-NN"])
def test_changes_flip_the_answer_of_200_rows(name):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = pd.DataFrame(scale(X.iloc[:, :8]), columns=X.columns[:8])
    train, test = X[::4], X.drop(X.index[::4]).iloc[:100]
    model = CLASSIFIERS[name].fit(train, y[::4])
    told = model.explain(test)
    assert flips(model, test, told, train.min(), train.max()) >= 80
    # Two features out of eight that say much the same cannot change every answer.
    assert sum(bool(changes) for changes in told.changes) >= 70


def test_one_changed_feature_is_the_smallest_on_a_fine_grid():
    X, y = wine()
    X = X.iloc[:, [6, 9, 12]]
    model = LearnedVotesClassifier(None, None).fit(X, y)
    for i in (60, 83, 130):
        answer = model.predict(X[i : i + 1])[0]
        best = np.inf
        for name in X:
            grid = np.linspace(X[name].min(), X[name].max(), 4001)
            rows = X.iloc[np.full(len(grid), i)].assign(**{name: grid})
            sizes = np.abs(grid - X[name].iloc[i])[model.predict(rows) != answer] / X[name].std(ddof=0)
            best = min(best, sizes.min(initial=np.inf))
        (change, *_) = model.explain(X[i : i + 1]).changes[0]
        if len(change.features) == 1:
            # It is rounded to few digits, away from the row.
            assert best - 1e-3 <= change.size <= 1.1 * best + 0.012


@pytest.mark.parametrize("factor", [1e-322, 1e-310, 1e-170, 1e170, 1e300])
def test_changes_of_very_small_and_very_large_numbers(factor):
    # The squares of such numbers vanish or overflow, so that their standard deviation must be computed with care.
    rng = RNG(0)
    numbers = rng.integers(-50, 50, size=40).astype(float)
    X = pd.DataFrame({"a": numbers * factor, "b": rng.normal(size=40)})
    y = np.where(numbers > 0, "high", "low")
    model = TableClassifier(WeightedKNeighborsClassifier(3)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        told = model.explain(X.iloc[:8])
        page = told.to_html()
    sizes = [change.size for changes in told.changes for change in changes]
    assert sizes
    assert 0 < min(sizes) <= max(sizes) < 5
    assert "standard deviations" in page


def test_changes_of_categories_whole_numbers_and_missing_cells():
    frame, y = mixed()
    model = LearnedVotesClassifier().fit(frame, y)
    told = model.explain(frame[:20])
    numbers = frame[["age", "count", "noise"]]
    assert flips(model, frame[:20], told, numbers.min(), numbers.max()) >= 18
    changes = told.frame("changes")
    kinds = changes.loc[changes["feature"] == "kind", "after"]
    assert set(kinds) <= {"red", "green", "blue"}
    assert len(kinds)
    counts = changes.loc[changes["feature"] == "count", "after"].astype(float)
    assert (counts == counts.round()).all()
    single = [c for each in told.changes for c in each if c.features == ("kind",)]
    assert single
    assert all(c.size == 1 == c.n_categories for c in single)
    at = next(i for i, each in enumerate(told.changes) if each and each[0].features == ("kind",))
    assert "1 category changed" in str(model.explain(frame[at : at + 1]))


def test_two_features_are_changed_if_one_is_not_enough():
    rng = RNG(2)
    X = pd.DataFrame(rng.uniform(-1, 1, (400, 2)), columns=["a", "b"])
    y = (X["a"] > 0) & (X["b"] > 0)
    model = LearnedVotesClassifier(None, None).fit(X, y)
    told = model.explain(pd.DataFrame({"a": [-0.5], "b": [-0.5]}))
    (change,) = told.changes[0]
    assert change.features in {("a", "b"), ("b", "a")}
    assert min(change.after) > -0.2
    assert " and b " in str(told) or " and a " in str(told)


def test_it_says_if_no_change_was_found():
    X = np.r_[np.zeros((5, 1)), np.ones((5, 1))]
    y = np.array(["a"] * 9 + ["b"])
    model = WeightedKNeighborsClassifier(9).fit(X, y)
    told = model.explain([[0.5]])
    assert told.changes == [[]]
    assert "None was found" in str(told)
    assert "None was found" in told._repr_html_()
    assert told.frame("changes").columns.tolist()[:3] == ["query", "change", "feature"]


# --- how it is shown -------------------------------------------------------------------------------------------------


def test_text_and_tables():
    X, y = wine()
    model = WeightedKNeighborsClassifier(5).fit(X[::2], y[::2])
    told = model.explain(X[61:62], top=3)
    text = str(told)
    assert text == repr(told)
    assert text.startswith(f"Row 61: {told.answers[0]}, probability {told.probabilities.max():.2f}")
    assert "10 other features" in text
    assert "2 others" in text
    features = told.frame("features")
    assert features.shape == (13, 6)
    answer = f"contribution to {told.answers[0]}"
    assert np.abs(features[answer]).is_monotonic_decreasing
    assert features.set_index("feature")["value"]["proline"] == X["proline"].iloc[61]
    evidence = told.frame("evidence").set_index("class")
    np.testing.assert_allclose(evidence["for"] - evidence["against"], 1.0)
    np.testing.assert_allclose(evidence["score"], told.scores[0])
    answers = told.frame("answers")
    assert answers["answer"].tolist() == told.answers.tolist()
    assert len(told.frame()) == len(told) == 5
    with pytest.raises(InvalidDataError, match="part must be one of"):
        told.frame("nothing")


def test_neighbours_have_their_own_values_beside_those_of_the_row():
    frame, y = mixed()
    model = WeightedKNeighborsClassifier(3).fit(frame, y)
    told = model.explain(frame[7:8], top=4)
    lines = [line.split() for line in str(told).splitlines()]
    start = next(i for i, line in enumerate(lines) if line[:1] == ["row"])
    names = lines[start][3:]
    for line in lines[start + 2 : start + 5]:
        row = frame.iloc[int(line[0])]
        assert line[1] == y[int(line[0])]
        for name, cell in zip(names, line[3:], strict=True):
            shown = "missing" if pd.isna(row[name]) else row[name]
            assert cell == shown or float(cell) == pytest.approx(float(shown), rel=1e-3)


def test_it_is_still_a_table_for_those_who_used_it_as_one():
    X, y = wine()
    told = WeightedKNeighborsClassifier(5).fit(X, y).explain(X[:2])
    assert told["row"].tolist() == told.frame()["row"].tolist()
    assert told.columns[0] == "query"
    assert told.groupby("query").size().tolist() == [5, 5]
    assert told.equals(told.frame())
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = told.no_such_thing
    with pytest.raises(AttributeError):
        _ = told._no_such_thing


def test_a_wide_table_has_a_short_text():
    rng = RNG(0)
    X, y = rng.normal(size=(40, 1500)), np.arange(40) % 2
    X[:, 5] += 4 * y
    for model in (LearnedVotesClassifier(), WeightedKNeighborsClassifier(3)):
        told = model.fit(X, y).explain(X[:1], top=4)
        text = str(told)
        assert len(text) < 2500
        assert max(map(len, text.splitlines())) < 130
        assert len(told._repr_html_()) < 12_000
        np.testing.assert_allclose(told.base + told.contributions.sum(axis=1), told.scores, atol=1e-9)


def test_many_rows_print_the_first_ones():
    X, y = wine()
    told = WeightedKNeighborsClassifier(3).fit(X, y).explain(X[:8], top=2)
    assert str(told).count("What would change") == 5
    assert "3 more rows" in str(told)
    assert "3 more rows" in told._repr_html_()


def test_names_are_escaped_in_html():
    X, y = wine()
    X = X.iloc[:, :2].set_axis(["<b>a</b>", "a & b"], axis=1)
    html = WeightedKNeighborsClassifier(3).fit(X, np.where(y == "Barolo", "<i>", "x")).explain(X[:1])._repr_html_()
    assert "<b>a" not in html
    assert "&lt;b&gt;a" in html
    assert "<i>" not in html.replace("<i style", "")


def test_a_picture():
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    X, y = wine()
    told = LearnedVotesClassifier(weigher=None).fit(X, y).explain(X[:2], top=3)
    drawn = told.plot(row=1)
    assert len(drawn.bars_) == 4
    numbers = [bar.get_width() for bar in drawn.bars_]
    total = told.contributions[1, :, list(told.classes).index(told.answers[1])].sum()
    assert sum(numbers) == pytest.approx(total)
    assert drawn.frame().shape == (3, 2)
    with pytest.raises(InvalidDataError, match="row must be below 2"):
        told.plot(row=2)
    plt.close("all")


# --- input -----------------------------------------------------------------------------------------------------------


def test_a_later_fit_does_not_change_an_explanation():
    X, y = wine()
    for model in (LearnedVotesClassifier(weigher=None), WeightedKNeighborsClassifier(5)):
        told, same = (model.fit(X, y).explain(X[:1]) for _ in range(2))
        before = str(same)
        model.fit(X.iloc[:, ::-1].set_axis(X.columns, axis=1)[:50], y[::-1][:50])
        assert str(told) == before


def test_training_rows_do_not_vote_for_themselves():
    X, y = wine()
    X, y = X[::3], y[::3]
    model = WeightedKNeighborsClassifier(3).fit(X, y)
    told = model.explain(None)
    np.testing.assert_allclose(told.probabilities, model.predict_proba(None))
    np.testing.assert_allclose((told.base + told.contributions.sum(axis=1))[:3], told.scores[:3], atol=1e-12)


def test_unknown_categories_and_bad_input():
    frame, y = mixed()
    model = LearnedVotesClassifier(weigher=None).fit(frame, y)
    told = model.explain(frame[:1].assign(kind="violet"))
    assert "violet" in str(told)
    with pytest.raises(InvalidDataError, match="top"):
        model.explain(frame[:1], top=-1)
    with pytest.raises(ValueError, match="feature"):
        model.explain(frame[["age", "kind"]])
    with pytest.raises(ValueError, match="0 sample"):
        model.explain(frame[:0])


def test_wibk_speaks_of_the_original_values():
    frame, y = mixed()
    model = WIBK(5, discretize="mdlp").fit(frame, y)
    told = model.explain(frame[:3])
    assert told.frame("features").set_index(["query", "feature"])["value"][(0, "age")] == frame["age"].iloc[0]
    numbers = frame[["age", "count", "noise"]]
    flips(model, frame[:3], told, numbers.min(), numbers.max())


def test_pickled_models_explain_the_same():
    X, y = wine()
    model = LearnedVotesClassifier(weigher=None).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert str(again.explain(X[:1])) == str(model.explain(X[:1]))


def test_an_explanation_is_saved_by_the_ending_of_its_name(tmp_path):
    X, y = wine()
    why = WeightedKNeighborsClassifier(3).fit(X[::2], y[::2]).explain(X[1:2])
    why.save(tmp_path / "why.html")
    assert (tmp_path / "why.html").read_text(encoding="utf8") == why.to_html()
    why.save(str(tmp_path / "why.txt"))
    assert (tmp_path / "why.txt").read_text(encoding="utf8") == f"{why}\n"
    with pytest.raises(InvalidDataError, match=r"saved as .html or .txt; got '.*why.csv'"):
        why.save(tmp_path / "why.csv")
    assert not (tmp_path / "why.csv").exists()
