"""Studies with numeric targets: scores by hand, their direction in tests, folds, and what is refused."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from support.studies import table_of

from weighbors import GradientWeights, LearnedVotesRegressor
from weighbors.evaluation import Study, StudyData, load_results, prediction_stability
from weighbors.exceptions import InvalidDataError
from weighbors.plots import CriticalDifferenceDisplay
from weighbors.stats import compare, friedman, nemenyi, posthoc

SCORES = ["r2", "rmse", "mae"]


def problem(seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] - 0.5 * X[:, 1] + 0.1 * rng.normal(size=n)


def numbers(store, n_sets=2, **options):
    methods = {"mean": DummyRegressor(), "line": LinearRegression(), "near": KNeighborsRegressor(3)}
    data = {f"set {i}": problem(i) for i in range(n_sets)}
    return Study(data, methods, store, **{"cv": 4, "scoring": SCORES} | options)


def test_scores_by_hand(tmp_path):
    data = StudyData(np.zeros((4, 1)), np.array([1.0, 2.0, 3.0, 6.0]), splits=[([0, 1], [2, 3])])
    negative = ["neg_mean_squared_error", "neg_mean_absolute_error"]
    study = Study({"d": data}, {"mean": DummyRegressor()}, tmp_path, scoring=[*SCORES, *negative])
    row = study.run().frame().iloc[0]
    # the mean of 1 and 2 is 1.5, so the errors are 1.5 and 4.5; the test targets have the mean 4.5
    assert row["rmse"] == pytest.approx(np.sqrt((1.5**2 + 4.5**2) / 2))
    assert row["mae"] == pytest.approx(3.0)
    assert row["r2"] == pytest.approx(1 - 22.5 / 4.5)
    assert row["neg_mean_squared_error"] == pytest.approx(-11.25)
    assert row["neg_mean_absolute_error"] == pytest.approx(-3.0)


def test_predictions_are_numbers(tmp_path):
    results = numbers(tmp_path, n_repeats=2).run()
    predicted = results.predictions("set 0", "line")
    assert predicted.shape == (2, 40)
    assert predicted.to_numpy().dtype == np.float64
    y = problem(0)[1]
    whole = np.sqrt(np.mean((predicted.to_numpy() - y) ** 2))
    assert results.table("rmse").loc["set 0", "line"] == pytest.approx(whole, rel=0.1)
    assert 0 < prediction_stability(predicted, y).relative < 0.5
    assert load_results(tmp_path).store.read_study()["datasets"]["set 0"]["target_type"] == "numeric"


def test_any_number_of_jobs(tmp_path):
    first, second = (table_of(numbers(tmp_path / str(jobs)).run(n_jobs=jobs)) for jobs in (1, 2))
    assert first.equals(second)


def test_lower_errors_win(tmp_path):
    results = numbers(tmp_path, n_sets=3).run()
    errors, share = results.table("rmse"), results.table("r2")
    assert errors.attrs == {"higher_is_better": False}
    assert share.attrs == {}
    by_error, by_share = compare(errors), compare(share)
    assert by_error.mean_ranks.idxmin() == by_share.mean_ranks.idxmin() == "line"
    assert by_error.mean_ranks.idxmax() == "mean"
    assert "lower scores better" in by_error.steps[0]
    assert "higher scores better" in by_share.steps[0]
    pair = by_error.pairs.set_index(["first", "second"]).loc[("line", "mean")]
    assert (pair["wins"], pair["losses"]) == (3, 0)
    for test in (friedman(errors), nemenyi(errors)):
        assert test.mean_ranks.idxmin() == "line"
    assert posthoc(errors, control="mean").comparisons["rank_difference"].abs().max() > 0
    assert compare(errors, higher_is_better=True).mean_ranks.idxmin() == "mean"
    drawn = CriticalDifferenceDisplay.from_results(results, "mae")
    assert drawn.mean_ranks.idxmin() == "line"


def test_direction_of_labels_too(tmp_path):
    X, y = problem(0)
    study = Study({"d": (X, y > 0), "e": (X, y > 1)}, {"a": LogisticRegression(), "b": LogisticRegression(C=1e-6)},
                  tmp_path, cv=3, scoring=["error_rate", "accuracy"])  # fmt: skip
    results = study.run()
    best = [compare(results.table(name)).mean_ranks.idxmin() for name in ("error_rate", "accuracy")]
    assert best == ["a", "a"]


def test_whole_numbers_are_numbers_for_scores_of_numbers(tmp_path):
    X, y = problem(0)
    whole = np.round(4 * y).astype(int)
    results = Study({"d": (X, whole)}, {"line": LinearRegression()}, tmp_path, cv=4, scoring="r2").run()
    assert results.complete
    assert results.predictions("d", "line").to_numpy().dtype == np.float64


def test_groups_and_weighers(tmp_path):
    X, y = problem(0)
    groups = np.repeat(np.arange(10), 4)
    methods = {"weights": GradientWeights(gamma=1.0), "votes": LearnedVotesRegressor(weigher=None)}
    results = Study({"d": (X, y, groups)}, methods, tmp_path, cv=2, scoring="mae").run()
    assert results.complete
    assert results.weights("d", "weights").shape == (2, 4)


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (problem(0)[1], {"scoring": "accuracy"}, "'accuracy' needs labels, and data set 'd' has a numeric target"),
        (["a", "b"] * 20, {"scoring": "r2"}, "must hold numbers"),
        ([np.inf, *problem(0)[1][1:]], {"scoring": "r2"}, "data set 'd': Input y contains infinity"),
        ([np.nan, *problem(0)[1][1:]], {"scoring": "r2"}, "1 rows without a target"),
        ([1.5] * 40, {"scoring": "mae"}, "constant"),
        ([str(v) for v in problem(0)[1]], {"scoring": "accuracy"}, "text that looks like a numeric target"),
        (problem(0)[1], {"scoring": "r2", "cv": 50}, "at least as many rows"),
    ],
)
def test_what_a_study_refuses(tmp_path, y, options, message):
    study = Study({"d": (problem(0)[0], y)}, {"line": LinearRegression()}, tmp_path, **options)
    with pytest.raises(InvalidDataError, match=message):
        study.plan()
    with pytest.raises(InvalidDataError, match="target_type must be"):
        numbers(tmp_path, target_type="regression")


def test_one_test_row_and_classifiers_fail_by_name(tmp_path):
    X, y = problem(0)
    methods = {"line": LinearRegression(), "labels": LogisticRegression()}
    failed = Study({"d": (X[:6], y[:6])}, methods, tmp_path, cv=6, scoring="r2").run().failures()
    assert failed.groupby("method").size().to_dict() == {"labels": 6, "line": 6}
    assert failed.set_index("method").loc["line", "error"].str.contains("at least 2 test rows").all()
