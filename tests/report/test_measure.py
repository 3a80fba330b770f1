"""What a report measures, against scikit-learn and against each weigher by itself."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler

from weighbors import MBIW, ClassRelief, ReliefF, RepresentativeIntervals
from weighbors._random import integer_seed
from weighbors.evaluation import kuncheva_curve, permutation_test
from weighbors.exceptions import InvalidDataError
from weighbors.report import _measure
from weighbors.report._data import prepare_report_data, range_scaled
from weighbors.report._effort import Effort, effort_for, sample_rows
from weighbors.report._measure import (
    METHODS,
    WholeTableResults,
    _folds,
    mean_recall,
    measure_chance,
    measure_folds,
    measure_whole,
)
from weighbors.report._plain import json_number
from weighbors.report._sections import (
    _count_copies,
    class_section,
    difficulty_section,
    feature_section,
    stability_section,
    table_section,
)
from weighbors.report._sections_gain import gain_section
from weighbors.report._sections_rows import instance_section
from weighbors.stats import corrected_resampled_ttest
from weighbors.weighers.class_relief import agreement


def silent(*_):
    pass


def blobs(n=60, columns=4, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, columns)) + y[:, None] * np.linspace(2, 0, columns), y


@pytest.fixture(scope="module")
def table():
    return prepare_report_data(*blobs())


@pytest.fixture(scope="module")
def effort():
    return Effort(rows=3000, repeats=2, permutations=20, folds=3)


@pytest.fixture(scope="module")
def folds(table, effort):
    return measure_folds(table, effort, k=5, seed=np.random.SeedSequence(0), n_jobs=1, progress=silent)


@pytest.fixture(scope="module")
def splits(table, effort):
    seed = np.random.SeedSequence(0).spawn(2)[0]
    return [fold for repeat in _folds(table.codes, None, effort, 2, seed) for fold in repeat]


def test_scaling_is_that_of_scikit_learn():
    rows, queries = blobs()[0], blobs(seed=1)[0]
    rows[3, 1] = np.nan
    scaler = MinMaxScaler().fit(rows)
    ours = range_scaled(rows, np.zeros(4, dtype=bool), queries)
    np.testing.assert_allclose(ours[0], scaler.transform(rows))
    np.testing.assert_allclose(ours[1], scaler.transform(queries))


def test_scaling_leaves_codes_and_survives_constant_and_empty_columns():
    rows = np.array([[5.0, np.nan, 3.0], [5.0, np.nan, 9.0]])
    out = range_scaled(rows, np.array([False, False, True]))[0]
    np.testing.assert_array_equal(out, [[0.0, np.nan, 3.0], [0.0, np.nan, 9.0]])


def test_plain_scores_are_those_of_scikit_learn_on_the_same_folds(table, folds, splits):
    expected = []
    for train, test in splits:
        scaler = MinMaxScaler().fit(table.rows[train])
        knn = KNeighborsClassifier(5).fit(scaler.transform(table.rows[train]), table.codes[train])
        expected.append(knn.score(scaler.transform(table.rows[test]), table.codes[test]))
    np.testing.assert_allclose(folds.scores["accuracy"]["no weights"], expected)


def test_weights_are_learned_from_the_training_rows_alone(table, folds, splits):
    for weights, (train, _) in zip(folds.weights, splits, strict=True):
        alone = ReliefF(10).fit(table.rows[train], table.codes[train]).feature_weights_
        np.testing.assert_allclose(weights, alone, rtol=1e-9)
    assert folds.repetition.tolist() == [0, 0, 0, 1, 1, 1]


def test_weighted_scores_are_those_of_scikit_learn_on_weighted_columns(table, folds, splits):
    expected = []
    for weights, (train, test) in zip(folds.weights, splits, strict=True):
        scaler, root = MinMaxScaler().fit(table.rows[train]), np.sqrt(np.maximum(weights, 0))
        knn = KNeighborsClassifier(5).fit(scaler.transform(table.rows[train]) * root, table.codes[train])
        expected.append(knn.score(scaler.transform(table.rows[test]) * root, table.codes[test]))
    np.testing.assert_allclose(folds.scores["accuracy"]["feature weights"], expected)


def test_noise_buys_nothing():
    """Weights learned with the test rows would reach far more than half of the labels of noise."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 400)), np.arange(60) % 2
    table = prepare_report_data(X, y)
    seen = measure_folds(table, Effort(3000, 2, 0, 5), k=5, seed=np.random.SeedSequence(1), n_jobs=1, progress=silent)
    whole = ReliefF(10).fit(range_scaled(X, table.nominal)[0], y)
    root = np.sqrt(np.maximum(whole.feature_weights_, 0)) * range_scaled(X, table.nominal)[0]
    cheating = np.mean(
        [
            KNeighborsClassifier(5).fit(np.delete(root, i, 0), np.delete(y, i)).predict(root[[i]])[0] == y[i]
            for i in range(60)
        ]
    )
    assert cheating > 0.75
    for name in METHODS:
        assert seen.scores["accuracy"][name].mean() < 0.65


def test_mean_recall_is_balanced_accuracy():
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    assert mean_recall(truth, predicted) == pytest.approx(balanced_accuracy_score(truth, predicted))


def test_the_test_of_the_gain_is_that_of_stats(table, folds, effort):
    told = gain_section(table, replace(folds, same={}), effort)
    scores = folds.scores["accuracy"]
    expected = [corrected_resampled_ttest(scores[name], scores["no weights"], n_folds=3) for name in METHODS[1:]]
    assert [row["p"] for row in told["tests"]] == [json_number(test.p_value, 4) for test in expected]
    assert [row["p_adjusted"] for row in told["tests"]] == [json_number(min(1, 2 * t.p_value), 4) for t in expected]
    for row, test in zip(told["tests"], expected, strict=True):
        assert row["difference"] == json_number(test.mean_difference, 5)
        assert row["low"] <= row["difference"] <= row["high"]
    guess = told["rows"][0]
    assert (guess["method"], guess["accuracy"]) == ("most frequent class", 0.5)


def test_uneven_classes_are_judged_by_balanced_accuracy(folds, effort):
    X, y = blobs()
    even = prepare_report_data(X, y)
    uneven = prepare_report_data(X, np.where(np.arange(60) < 48, "a", "b"))
    assert gain_section(even, folds, effort)["measure"] == "accuracy"
    assert gain_section(uneven, folds, effort)["measure"] == "balanced accuracy"


def test_whole_is_what_the_weighers_say(table):
    found = measure_whole(table, np.arange(4), k=5, n_jobs=1, most_intervals=5)
    per_class = ClassRelief(10).fit(table.scaled, table.codes)
    np.testing.assert_allclose(found.class_weights, per_class.class_feature_weights_)
    assert found.agreement == per_class.agreement_
    omega = MBIW().fit(table.scaled, table.codes).instance_weights_
    np.testing.assert_allclose(found.omega, omega * 60)
    assert found.intervals is None


def test_neighbours_of_a_row_do_not_hold_it(table):
    found = measure_whole(table, np.arange(4), k=5, n_jobs=1, most_intervals=5)
    weights = np.maximum(ReliefF(10).fit(table.scaled, table.codes).feature_weights_, 0)
    rows = table.scaled * np.sqrt(weights)
    for i in range(0, 60, 7):
        others = np.delete(np.arange(60), i)
        near = others[np.argsort(np.linalg.norm(rows[others] - rows[i], axis=1), kind="stable")[:5]]
        assert found.own_share[i] == pytest.approx(np.mean(table.codes[near] == table.codes[i]))


def test_instances_are_told_by_weight_and_by_neighbours(table):
    found = measure_whole(table, np.arange(4), k=5, n_jobs=1, most_intervals=5)
    told = instance_section(table, np.arange(60) + 100, found, np.arange(4))
    weights = [row["weight"] for row in told["lowest"]]
    assert weights == sorted(weights)
    assert told["lowest"][0]["row"] == 100 + int(found.omega.argmin())
    for row in told["lowest"]:
        assert row["kind"] == ("noisy" if row["own_share"] < 0.5 else "outlying")
        assert len(row["values"]) == len(told["columns"]) == 4


def test_intervals_of_discrete_columns_only():
    X, y = blobs()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(whole=np.arange(60) % 5, word=np.where(y == 1, "up", "down"))
    table = prepare_report_data(frame, y)
    assert [table.names[j] for j in table.discrete()] == ["whole", "word"]
    found = measure_whole(table, np.arange(6), k=5, n_jobs=1, most_intervals=5)
    alone = RepresentativeIntervals().fit(frame[["whole", "word"]], y).intervals_
    assert found.intervals["weight"].tolist() == pytest.approx(alone["weight"].tolist(), nan_ok=True)
    assert set(found.intervals["low"]) == set(alone["low"])


def test_many_different_integers_are_not_discrete():
    table = prepare_report_data(np.column_stack([np.arange(60), np.arange(60) % 20]), np.arange(60) % 2)
    assert table.discrete().tolist() == [1]


def test_samples_keep_the_shares_of_classes():
    y = np.repeat(["a", "b", "c", "d"], [600, 300, 99, 1])
    table = prepare_report_data(np.arange(1000.0)[:, None], y)
    small, drawn = sample_rows(table, 100, np.random.default_rng(0))
    assert small.counts.tolist() == [60, 30, 9, 1]
    np.testing.assert_array_equal(small.rows, table.rows[drawn])
    assert (np.diff(drawn) > 0).all()
    assert sample_rows(table, 1000, np.random.default_rng(0))[0] is table


def test_effort_shrinks_with_the_table_and_by_sizes_alone():
    small = effort_for(prepare_report_data(*blobs()))
    assert (small.repeats, small.permutations, small.folds, small.steps) == (5, 100, 5, 148)
    wide = effort_for(prepare_report_data(*blobs(columns=40_000)))
    assert wide.repeats < small.repeats
    assert 20 <= wide.permutations < small.permutations
    huge = effort_for(prepare_report_data(*blobs(columns=200_000)))
    assert (huge.permutations, huge.steps) == (0, (2 + 2) * 5 + (5 + 1) + 1)
    few = effort_for(prepare_report_data(blobs(8)[0], [0, 0, 0, 0, 0, 1, 1, 1]))
    assert few.folds == 3
    many = effort_for(prepare_report_data(blobs(4000)[0], np.arange(4000) % 30))
    assert many.rows == 2000


def test_twins_are_counted():
    X = np.array([[1.0, np.nan], [1.0, np.nan], [0.0, 2.0], [-0.0, 2.0], [5.0, 5.0], [6.0, 6.0]])
    table = prepare_report_data(X, [0, 1, 0, 0, 1, 1])
    assert _count_copies(table) == (4, 2)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((2, 1)), [0, 1], "at least 2 rows in each of at least 2 classes"),
        (np.zeros((4, 1)), [0, 0, 0, 1], r"got 0: 3, 1: 1"),
        (np.zeros((4, 1)), [0, 0, 0, 0], "at least 2 classes are needed"),
        (np.zeros((4, 1)), None, "one label per row is needed"),
        (np.zeros((4, 1)), [0, 1, None, 1], "labels are missing"),
        (np.zeros((204, 1)), np.arange(204) // 2, "102 different values, and a report takes at most 100"),
        (pd.DataFrame({"when": pd.to_datetime(["2020-01-01"] * 4)}), [0, 0, 1, 1], "holds dates"),
        (np.full((4, 1), np.inf), [0, 0, 1, 1], "infinity"),
    ],
)
def test_tables_that_cannot_be_reported_on(X, y, message):
    with pytest.raises(InvalidDataError, match=message):
        prepare_report_data(X, y)


def test_labels_and_groups_need_one_entry_per_row():
    for name in ("row_labels", "groups"):
        with pytest.raises(InvalidDataError, match=f"{name} needs one entry per row \\(60\\); got 2"):
            prepare_report_data(*blobs(), **{name: [1, 2]})


def test_names_are_made_different():
    frame = pd.DataFrame(np.zeros((4, 4)), columns=["a", "a", "a (2)", "a"])
    assert prepare_report_data(frame, [0, 0, 1, 1]).names == ("a", "a (3)", "a (2)", "a (4)")


def test_groups_that_cannot_be_parted_are_refused():
    X, y = blobs(8)
    with pytest.raises(InvalidDataError, match="at least 2 classes must each be in at least 2 groups"):
        prepare_report_data(X, y, groups=y)
    several = prepare_report_data(X, y, groups=[0, 1, 2, 3, 0, 1, 2, 3])
    assert effort_for(several).folds == 2


def toy_whole(class_weights, n=4):
    weights = np.array(class_weights, dtype=float)
    correlations, reasons = agreement(weights)
    ones = np.ones(n)
    return WholeTableResults(
        weights, correlations, float(np.nanmax(correlations)), reasons, ones, ones, ones.astype(int), None, []
    )


def test_classes_that_oppose_each_other_are_named():
    table = prepare_report_data(
        pd.DataFrame(np.zeros((4, 3)), columns=["left", "both", "right"]), ["sick", "sick", "well", "well"]
    )
    # paper 001's toy, class vectors (−6, 6) and (6, −6), with a feature between that both agree on
    told = class_section(table, toy_whole([[-6, 3, 6], [3, 1.5, -3]]), np.arange(3))
    assert told["n_opposed"] == 2
    found = class_section(
        table, toy_whole([[-6, 3, 6], [3, 1.5, -3]]), np.arange(3), above_chance=np.array([True, True, False])
    )
    assert found["n_opposed"] == 1  # "right" is not shown to matter at all
    assert told["best"] == [["right", "both"], ["left", "both"]]
    first = told["disagree"][0]
    assert (first["name"], first["most"], first["most_weight"], first["least"], first["least_weight"]) == (
        "left", "well", 1.0, "sick", -1.0,
    )  # fmt: skip
    assert [row["name"] for row in told["disagree"]] == ["left", "right"]  # on "both" there is nothing to disagree
    at = told["features"].index("both")
    assert [row[at] for row in told["weights"]] == [0.5, 0.5]
    hard = difficulty_section(table, toy_whole([[-6, 3, 6], [3, 1.5, -3]]))
    whole = np.array([-3, 4.5, 3])
    expected = [np.corrcoef(row, whole)[0, 1] for row in ([-6, 3, 6], [3, 1.5, -3])]
    assert [row["correlation"] for row in hard["classes"]] == pytest.approx(expected, abs=1e-4)
    assert hard["agreement"] == pytest.approx(max(expected), abs=1e-4)


def test_stability_is_that_of_the_folds(table, folds, effort):
    told = stability_section(table, folds, effort)
    curve = kuncheva_curve(folds.weights, repetition=folds.repetition)
    assert told["curve"]["size"] == [1, 2, 3]
    assert told["curve"]["stability"] == pytest.approx(curve.stability.tolist(), abs=1e-4)
    assert (told["best"], told["stability"]) == (2, pytest.approx(curve.stability[1], abs=1e-4))
    assert told["low"] <= told["stability"] <= told["high"] <= 1


def test_shuffled_labels_are_learned_from_as_many_rows(monkeypatch, table, effort):
    sizes = []
    relief = _measure._fit_relief

    def noted(table, rows, codes, n_jobs):
        sizes.append((len(rows), tuple(np.bincount(codes))))
        return relief(table, rows, codes, n_jobs)

    monkeypatch.setattr(_measure, "_fit_relief", noted)
    measure_folds(table, effort, k=5, seed=np.random.SeedSequence(0), n_jobs=1, progress=silent)
    assert sizes == [(40, (20, 20))] * (2 * 3 + 3)


def test_chance_is_the_permutation_test_of_all_rows(table, effort, folds):
    steps = []
    found = measure_chance(
        table, effort, seed=np.random.SeedSequence(4), n_jobs=1, progress=lambda done, total, what: steps.append(done)
    )
    alone = permutation_test(
        ReliefF(10), table.rows, table.codes, n_permutations=20, random_state=integer_seed(np.random.SeedSequence(4))
    )
    np.testing.assert_allclose(found.frame(), alone.frame())
    assert steps == list(range(9, 30))
    assert effort.steps == 31
    told = feature_section(table, folds, found, np.arange(4))
    assert [row["p_adjusted"] for row in told["rows"]] == [json_number(p, 4) for p in alone.adjusted]
    assert [row["above_chance"] for row in told["rows"]] == [bool(p <= 0.05) for p in alone.adjusted]
    assert told["test"]["n_above_chance"] == len(alone.discoveries()) > 0
    assert told["test"]["n_familywise"] == len(alone.familywise_discoveries())


def test_labels_of_groups_are_permuted_together(effort):
    X = blobs()[0]
    together = prepare_report_data(X, np.repeat(np.arange(30) % 2, 2), groups=np.repeat(np.arange(30), 2))
    found = measure_chance(together, effort, seed=np.random.SeedSequence(0), n_jobs=1, progress=silent)
    assert found.scheme == "labels exchanged between whole groups"
    assert measure_chance(together, Effort(3000, 2, 0, 3), seed=None, n_jobs=1, progress=silent) is None


def test_table_facts():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0], "b": list("xyxy")})
    table = prepare_report_data(frame, [0, 0, 1, 1])
    told = table_section(table, table)
    assert (told["n_rows"], told["n_features"], told["n_numeric"], told["n_categorical"]) == (4, 2, 1, 1)
    assert (told["n_missing"], told["share_missing"], told["n_columns_with_missing"]) == (1, 0.125, 1)
    assert told["classes"] == [{"label": "0", "rows": 2, "share": 0.5}, {"label": "1", "rows": 2, "share": 0.5}]


def test_votes_are_learned_from_rows_of_all_classes():
    from weighbors.report._measure import _spread_rows

    codes = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [600, 300, 100]))
    chosen = _spread_rows(codes, 100)
    assert len(chosen) == len(set(chosen.tolist())) == 100
    assert np.bincount(codes[chosen]).tolist() == [60, 30, 10]
    assert (np.diff(chosen) > 0).all()
    assert _spread_rows(codes, 1000).tolist() == list(range(1000))


def test_learned_votes_are_a_method_of_their_own(wine):
    gain = wine.data["gain"]
    methods = [row["method"] for row in gain["rows"]]
    assert methods[-1] == "learned votes"
    test = next(one for one in gain["tests"] if one["method"] == "learned votes")
    scores = {row["method"]: row["accuracy"] for row in gain["rows"]}
    assert test["difference"] == pytest.approx(scores["learned votes"] - scores["no weights"], abs=2e-5)
    assert "Learned votes of all rows in place of k neighbours reach" in " ".join(wine.data["summary"])


def test_learned_votes_are_those_of_the_estimator(wine):
    """One fold by hand: scaled by the ranges of its training rows, votes without weights of features."""
    from sklearn.datasets import load_wine

    from weighbors import LearnedVotesClassifier
    from weighbors.report._measure import _predict_by_votes

    X, y = load_wine(return_X_y=True)
    low, wide = X[::2].min(axis=0), np.ptp(X[::2], axis=0)
    rows, queries = (X[::2] - low) / wide, (X[1::2] - low) / wide

    class Table:
        categorical_features = None

    found = _predict_by_votes(Table(), rows, y[::2], queries, 1)
    assert found.tolist() == LearnedVotesClassifier(None, None).fit(rows, y[::2]).predict(queries).tolist()
