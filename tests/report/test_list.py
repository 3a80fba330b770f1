"""The section "The list": against the selection by itself, groups, directions, scores, and tables without a list."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler

from weighbors import ScoreWeigher, StabilitySelection
from weighbors._random import integer_seed
from weighbors.report import Report, _effort, build_report
from weighbors.report._data import prepare_report_data
from weighbors.report._effort import Effort, effort_for
from weighbors.report._list import measure_list
from weighbors.report._measure import measure_folds
from weighbors.report._sections_list import describe_direction, list_section

EFFORT = Effort(3000, 2, 0, 3, pairs=5, fold_pairs=3)


def silent(done, total, what):
    """Ignore the progress."""


def made_up(n=80, columns=30, seed=0):
    """Features 3 and 7 separate the classes, and 8 is a noisy copy of 7."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, columns))
    X[:, 3] += 2.5 * y
    X[:, 7] -= 2.5 * y
    X[:, 8] = X[:, 7] + 0.1 * rng.normal(size=n)
    return pd.DataFrame(X, columns=[f"g{j}" for j in range(columns)]), np.array(["sick", "well"])[y]


@pytest.fixture(scope="module")
def table():
    return prepare_report_data(*made_up())


@pytest.fixture(scope="module")
def folds(table):
    return measure_folds(table, EFFORT, k=5, seed=np.random.SeedSequence(1), n_jobs=1, progress=silent)


@pytest.fixture(scope="module")
def found(table, folds):
    seed = np.random.SeedSequence(2)
    return measure_list(table, EFFORT, folds.first, k=5, seed=seed, n_jobs=1, progress=silent)


def test_the_list_is_that_of_the_selection(table, folds, found):
    seeds = [integer_seed(child) for child in np.random.SeedSequence(2).spawn(5)]
    alone = StabilitySelection(None, 5, n_permutations=10, random_state=seeds[0]).fit(table.rows, table.codes)
    told = list_section(table, found, folds, EFFORT)
    names = [row["name"] for row in told["rows"]]
    assert set(names) == {table.names[j] for j in np.flatnonzero(alone.support_)} == {"g3", "g7", "g8"}
    for row in told["rows"]:
        j = table.names.index(row["name"])
        assert row["q"] == pytest.approx(alone.q_values_[j], rel=1e-2)
        assert row["weight"] == pytest.approx(alone.feature_weights_[j], rel=1e-3)
        assert row["share"] == pytest.approx(alone.shares_[j], rel=1e-2)


def test_stand_ins_have_one_group(table, folds, found):
    rows = {row["name"]: row for row in list_section(table, found, folds, EFFORT)["rows"]}
    assert rows["g7"]["group"] == rows["g8"]["group"] != rows["g3"]["group"]
    assert rows["g7"]["stand_ins"] == ["g8"]
    assert rows["g3"]["stand_ins"] == []


def test_scores_are_those_of_scikit_learn_with_lists_of_the_training_rows(table, folds, found):
    seeds = [integer_seed(child) for child in np.random.SeedSequence(2).spawn(5)]
    for place, (train, test) in enumerate(folds.first):
        own = StabilitySelection(ScoreWeigher(), 3, n_permutations=10, random_state=seeds[2 + place])
        chosen = own.fit(table.rows[train], table.codes[train]).support_
        scaler = MinMaxScaler().fit(table.rows[train][:, chosen])
        knn = KNeighborsClassifier(5).fit(scaler.transform(table.rows[train][:, chosen]), table.codes[train])
        expected = accuracy_score(table.codes[test], knn.predict(scaler.transform(table.rows[test][:, chosen])))
        assert found.scores["accuracy"][place] == pytest.approx(expected)
        assert found.sizes[place] == chosen.sum()
    told = list_section(table, found, folds, EFFORT)["score"]
    assert told["the_list"] == pytest.approx(found.scores["accuracy"].mean(), abs=1e-4)
    assert told["all_features"] == pytest.approx(folds.scores["accuracy"]["no weights"][:3].mean(), abs=1e-4)


def test_a_list_of_noise_does_not_predict():
    """A list that had seen the test rows would look better than it is."""
    rng = np.random.default_rng(0)
    table = prepare_report_data(rng.normal(size=(60, 1000)), np.arange(60) % 2)
    folds = measure_folds(table, EFFORT, k=5, seed=np.random.SeedSequence(1), n_jobs=1, progress=silent)
    found = measure_list(table, EFFORT, folds.first, k=5, seed=np.random.SeedSequence(2), n_jobs=1, progress=silent)
    assert found.scores["accuracy"].mean() < 0.65


def test_directions_of_numbers_and_categories():
    y = np.repeat(["sick", "well"], 10)
    frame = pd.DataFrame({"size": np.r_[np.full(10, 3.0), np.full(10, 1.0)], "colour": ["red"] * 9 + ["blue"] * 11})
    table = prepare_report_data(frame, y)
    assert describe_direction(table, 0) == {
        "direction": "high in sick (+1.00), low in well (−1.00)", "by_class": [1.0, -1.0],
    }  # fmt: skip
    assert describe_direction(table, 1)["direction"] == "red in 90 % of sick, in 0 % of the others"


def test_directions_for_a_number():
    rng = np.random.default_rng(0)
    y = rng.normal(size=30)
    frame = pd.DataFrame({"down": -y + 0.1 * rng.normal(size=30), "colour": np.where(y > 0, "red", "blue")})
    table = prepare_report_data(frame, y, target_type="numeric")
    rho = spearmanr(frame["down"], y).statistic
    assert describe_direction(table, 0)["direction"] == f"falls with the target (rank ρ {rho:.2f})".replace("-", "−")
    means = [f"{y[y > 0].mean():.4g} with red", f"{y[y <= 0].mean():.4g} with blue"]
    assert describe_direction(table, 1)["direction"] == f"mean target {means[0]}, {means[1]}"


def test_what_the_page_and_the_summary_say():
    told = build_report(*made_up())
    assert told.data["list"]["n_selected"] == len(told.data["list"]["rows"]) >= 2
    text = " ".join(told.data["summary"])
    assert "on the list at a false discovery rate of 10 %" in text
    assert "folds, lists made from the other rows" in text
    assert "On the rows left out in the first " in text
    page, lines = told.to_html().split('id="numbers"')[0], told.to_markdown()
    assert 'id="table-list"' in page
    assert "5 pairs of half samples (1 in the training part of each fold), 10 sets of permuted labels" in page
    assert "high in sick" in page
    assert "## The list" in lines
    assert Report.from_json(told.to_json()).to_html() == told.to_html()


def test_an_empty_list_is_said_plainly():
    rng = np.random.default_rng(1)
    told = build_report(rng.normal(size=(40, 60)), np.arange(40) % 2)
    section = told.data["list"]
    assert (section["n_selected"], section["rows"], len(section["nearest"])) == (0, [], 5)
    assert section["least_q"] > 0.1
    assert "The list is empty" in " ".join(told.data["summary"])
    assert "They are not on the list" in told.to_html()
    assert "which are not on the list" in told.to_markdown()


def test_a_number_to_predict_has_a_list():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 20))
    told = build_report(pd.DataFrame(X).add_prefix("g"), 3 * X[:, 4] + rng.normal(size=80))
    section = told.data["list"]
    assert section["rows"][0]["name"] == "g4"
    assert section["rows"][0]["direction"].startswith("rises with the target")
    assert section["score"]["measure"] == "R²"
    assert section["score"]["the_list"] > section["score"]["all_features"]
    assert 'id="table-list"' in told.to_html()


@pytest.mark.parametrize(
    ("X", "y", "options", "reason"),
    [
        (np.arange(20.0)[:, None], np.arange(20) // 10, {}, "at least 2 are needed"),
        (np.eye(20)[:, :3], np.arange(20) % 2, {"groups": np.arange(20) // 2 % 3}, "at least 4 groups"),
    ],
    ids=["one feature", "three groups"],
)
def test_a_table_without_a_list_says_why(X, y, options, reason):
    told = build_report(X, y, **options)
    assert reason in told.data["list"]["reason"]
    assert "No list of features was made" in " ".join(told.data["summary"])
    assert "No list of features was made" in told.to_html()
    assert "No list of features was made" in told.to_markdown()


def test_categories_with_missing_cells_can_be_listed():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    frame = pd.DataFrame({f"n{j}": rng.normal(size=60) for j in range(8)})
    frame["colour"] = np.where(y ^ (rng.random(60) < 0.05), "red", "blue")
    frame.loc[:4, ["colour", "n1"]] = None
    section = build_report(frame, y).data["list"]
    assert "colour" in [row["name"] for row in section["rows"]]


def test_larger_tables_get_fewer_pairs(monkeypatch):
    monkeypatch.setattr(_effort, "PAIRS", (50, 25, 10, 5))
    monkeypatch.setattr(_effort, "FOLD_PAIRS", (10, 5, 3))
    rng = np.random.default_rng(0)
    small, wide = (effort_for(prepare_report_data(rng.random((100, M)), np.arange(100) % 2)) for M in (30, 25_000))
    assert (small.pairs, small.fold_pairs) == (50, 10)
    assert (wide.pairs, wide.fold_pairs) == (5, 3)
    assert small.list_permutations == wide.list_permutations == 10


def test_the_order_of_the_rows_does_not_decide_the_score_of_a_list():
    """One category predicts the class, and the first rows of each category are the exceptions."""
    y = np.r_[np.repeat(["sick", "well"], 6), np.repeat(["well", "sick"], 60)]
    colour = np.r_[np.repeat(["blue", "red"], 6), np.repeat(["blue", "red"], 60)]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(len(y), 12)), columns=[f"noise{j}" for j in range(12)])
    table = prepare_report_data(frame.assign(colour=colour), y)
    folds = measure_folds(table, EFFORT, k=5, seed=np.random.SeedSequence(1), n_jobs=1, progress=silent)
    found = measure_list(table, EFFORT, folds.first, k=5, seed=np.random.SeedSequence(2), n_jobs=1, progress=silent)
    assert found.sizes == [1, 1, 1]
    assert found.scores["accuracy"].mean() > 0.85  # 91 % of the rows follow the rule, and the first ones do not
