"""Reports on a numeric target: every number against scikit-learn, sentences, pages, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import mean_absolute_error, root_mean_squared_error
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import MinMaxScaler

from weighbors import RReliefF
from weighbors.evaluation.folds import make_folds
from weighbors.exceptions import InvalidDataError
from weighbors.report import Report, build_report
from weighbors.report._data import prepare_report_data
from weighbors.report._effort import Effort
from weighbors.report._measure import measure_all_rows, measure_folds
from weighbors.report._measure_numbers import number_scores
from weighbors.report._sections_numbers import number_gain_section
from weighbors.stats import corrected_resampled_ttest

EFFORT = Effort(1500, 2, 0, 3)


def silent(done, total, what):
    """Ignore the progress."""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4)) * [1, 5, 1, 1]
    return X, 2 * X[:, 0] - 0.2 * X[:, 1] + 0.2 * rng.normal(size=60)


@pytest.fixture(scope="module")
def table(rows):
    return prepare_report_data(*rows, target_type="auto")


@pytest.fixture(scope="module")
def folds(table):
    return measure_folds(table, EFFORT, k=5, seed=np.random.SeedSequence(3), n_jobs=1, progress=silent)


@pytest.fixture(scope="module")
def splits(table):
    seeds = np.random.SeedSequence(3).spawn(2)[0]
    made = make_folds(3, table.rows, table.y, n_repeats=2, seeds=seeds, numeric=True)
    return [fold for repetition in made for fold in repetition]


def test_scores_by_hand():
    found = number_scores(np.array([3.0, 6.0]), np.array([3.0, 4.0]), np.array([1.0, 2.0, 3.0]))
    assert found["r2"] == pytest.approx(1 - 4 / 17)  # the errors are 0 and 2; from the mean 2 they are 1 and 4
    assert found["rmse"] == pytest.approx(np.sqrt(2))
    assert found["mae"] == pytest.approx(1.0)
    assert number_scores(np.array([2.0, 2.0]), np.array([2.0, 2.0]), np.array([1.0, 3.0]))["r2"] == 1.0


def test_scores_are_those_of_scikit_learn_on_the_same_folds(table, folds, splits):
    for run, (train, test) in enumerate(splits):
        scaler = MinMaxScaler().fit(table.rows[train])
        relief = RReliefF(10).fit(scaler.transform(table.rows[train]), table.y[train])
        np.testing.assert_allclose(folds.weights[run], relief.feature_weights_, rtol=1e-9)
        for name, root in (("no weights", 1.0), ("feature weights", np.sqrt(np.maximum(folds.weights[run], 0)))):
            knn = KNeighborsRegressor(5).fit(scaler.transform(table.rows[train]) * root, table.y[train])
            found = knn.predict(scaler.transform(table.rows[test]) * root)
            total = np.square(table.y[test] - table.y[train].mean()).sum()
            expected = 1 - np.square(table.y[test] - found).sum() / total
            assert folds.scores["r2"][name][run] == pytest.approx(expected)
            assert folds.scores["rmse"][name][run] == pytest.approx(root_mean_squared_error(table.y[test], found))
            assert folds.scores["mae"][name][run] == pytest.approx(mean_absolute_error(table.y[test], found))
    assert (folds.scores["r2"]["mean"] == 0).all()
    assert folds.scores["r2"]["learned votes"].mean() > 0.7


def test_intervals_and_tests_are_those_of_stats(folds):
    told = number_gain_section(folds, EFFORT)
    scores = folds.scores["r2"]
    assert [row["method"] for row in told["rows"]] == ["mean", "no weights", "feature weights", "learned votes"]
    assert told["rows"][0]["r2"] == told["rows"][0]["low"] == 0
    test = corrected_resampled_ttest(scores["learned votes"], scores["no weights"], n_folds=3)
    assert told["tests"][1]["p"] == pytest.approx(test.p_value, rel=1e-3)
    for row in told["rows"]:
        assert row["low"] <= row["r2"] <= row["high"] <= 1


def test_residuals_and_directions(table):
    whole = measure_all_rows(table, np.arange(4), k=5, n_jobs=1, most_intervals=0)
    scaled = MinMaxScaler().fit_transform(table.rows)
    root = np.sqrt(np.maximum(RReliefF(10).fit(scaled, table.y).feature_weights_, 0))
    for i in range(0, 60, 7):
        others = np.delete(np.arange(60), i)
        knn = KNeighborsRegressor(5).fit(scaled[others] * root, table.y[others])
        assert whole.predicted[i] == pytest.approx(knn.predict(scaled[[i]] * root)[0])
    np.testing.assert_allclose(whole.residuals, table.y - whole.predicted)
    expected = [spearmanr(table.rows[:, j], table.y).statistic for j in range(4)]
    np.testing.assert_allclose(whole.correlations, expected)


@pytest.fixture(scope="module")
def prices(number_report):
    return number_report


def test_what_a_report_says(prices):
    data = prices.data
    assert data["target_type"] == "numeric"
    assert [row["name"] for row in data["features"]["rows"][:2]] == ["size", "<b>colour</b>"]
    assert data["features"]["method"] == "RReliefF"
    first, second = data["features"]["rows"][:2]
    assert first["correlation"] > 0.5
    assert second["correlation"] is None  # a category has no direction
    assert data["instances"]["lowest"][0]["row"] == 17  # the row whose price was made wrong
    assert data["table"]["classes"] == []
    assert set(data["classes"]) == {"reason", "labels"}
    text = " ".join(data["summary"])
    assert "where 0 is what the mean of the target gives" in text
    assert "class" not in text


def test_formats(prices):
    page, text = prices.to_html(), prices.to_markdown()
    for gone in ('id="classes"', 'id="difficulty"', 'id="intervals"'):
        assert gone not in page
    assert "&lt;b&gt;colour&lt;/b&gt;" in page
    assert "<b>colour</b>" not in page
    for said in (page, text):
        assert "are left out: the target is a number, so there are no classes" in said
        assert "How well neighbours predict" in said
    assert "| mean | +0.000 (+0.000 to +0.000) |" in text
    again = Report.from_json(prices.to_json())
    assert again.to_markdown() == text
    assert json.loads(prices.to_json())["gain"]["measure"] == "R²"
    assert "R²" in prices.summary()


def test_noise_is_called_noise():
    rng = np.random.default_rng(5)
    data = build_report(rng.normal(size=(50, 3)), rng.normal(size=50)).data
    text = " ".join(data["summary"])
    assert "it is not shown that plain neighbours predict the target at all" in text
    assert data["features"]["test"]["n_familywise"] == 0


def test_threads_and_whole_numbers(rows):
    X, y = rows
    whole = np.round(y).astype(int)
    made = [build_report(X, whole, target_type="numeric", n_jobs=jobs).data for jobs in (1, 2)]
    for data in made:
        data["made"].pop("seconds")
    assert made[0] == made[1]


def test_groups_stay_together(rows):
    X, y = rows
    data = build_report(X, y, groups=np.repeat(np.arange(12), 5)).data
    assert data["table"]["grouped"]
    with pytest.raises(InvalidDataError, match="with groups, at least 2 are needed"):
        build_report(X, y, groups=np.zeros(60))


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([np.inf, *range(59)], {}, "infinity"),
        ([np.nan, *range(59)], {}, "missing"),
        ([0.5] * 60, {}, "constant"),
        ([f"{i / 7:.3f}" for i in range(60)], {}, "text that looks like a numeric target"),
        (["a", "b"] * 30, {"target_type": "numeric"}, "must hold numbers"),
        (list(range(60)), {"target_type": "many"}, "target_type must be"),
    ],
)
def test_targets_that_cannot_be_reported(rows, y, options, message):
    with pytest.raises(InvalidDataError, match=message):
        build_report(rows[0], y, **options)


@pytest.mark.parametrize("n", [1, 9])
def test_too_few_rows(rows, n):
    with pytest.raises(InvalidDataError, match="at least"):
        build_report(rows[0][:n], rows[1][:n])


def test_a_table_of_the_shared_data(papers_data):
    frame = pd.read_csv(papers_data / "R_regression" / "r-servo.csv")
    data = build_report(frame.drop(columns="target"), frame["target"]).data
    assert data["gain"]["rows"][-1]["r2"] > 0.5
