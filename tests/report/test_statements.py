"""Statements of a report hold: made-up tables on which a careless sentence would be false."""

import copy
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from weighbors.report import build_report
from weighbors.report._measure import find_same_methods
from weighbors.report._phrases import p_value, points
from weighbors.report._sections import rank_with_ties
from weighbors.report._sections_gain import compare_methods, describe_comparisons
from weighbors.report._words import summary


def text_of(report):
    """The summary as one line."""
    return " ".join(report.data["summary"])


@pytest.fixture(scope="module")
def disagreeing():
    """Each of three classes is far out on a feature of its own, so a k-NN separates them, by different features."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 3)) * 0.5 + 6 * np.eye(3)[y]
    return build_report(pd.DataFrame(X, columns=["f0", "f1", "f2"]), np.array(["a", "b", "c"])[y])


def test_an_accurate_table_is_not_called_hard(disagreeing):
    plain = next(row for row in disagreeing.data["gain"]["rows"] if row["method"] == "no weights")
    assert plain["accuracy"] > 0.95
    assert min(row["correlation"] for row in disagreeing.data["difficulty"]["classes"]) < 0
    assert "other features matter than for the classes together" in text_of(disagreeing)
    texts = (disagreeing.to_html().split('id="numbers"')[0], disagreeing.to_markdown(), disagreeing.summary())
    for text in texts:
        assert not re.search(r"(?<!not say that the task is )\bhard\b|\beasy\b", text)


def test_a_choice_as_stable_as_with_shuffled_labels_is_not_called_stable():
    """Of six columns three are constant, so that noise, too, chooses among the other three: 0.45, shuffled 0.53."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 6))
    X[:, :3] = 0.0
    told = build_report(X, np.arange(60) % 2)
    s = told.data["stability"]
    assert s["shuffled_stability"] > s["stability"] > 0.4
    assert s["above_shuffled_low"] <= 0
    assert "is not shown to be more stable" in text_of(told)
    assert "more stable than chance explains" not in text_of(told)


def test_the_word_for_stability_follows_the_difference(disagreeing):
    data = copy.deepcopy(disagreeing.data)
    data["stability"] |= {"stability": 0.71, "shuffled_stability": 0.77, "above_shuffled_low": -0.2}
    assert "0.71" in " ".join(summary(data))
    assert "not shown to be more stable" in " ".join(summary(data))
    data["stability"] |= {"shuffled_stability": 0.2, "above_shuffled_low": 0.3}
    assert "the choice is more stable than chance explains" in " ".join(summary(data))


@pytest.mark.parametrize("seed", range(40))
def test_interval_and_p_value_agree(seed):
    """With Holm's p-values and intervals of single comparisons, about one case in ten disagrees here."""
    rng = np.random.default_rng(seed)
    base = rng.normal(0.8, 0.05, 25)
    scores = {"none": base, "one": base + rng.normal(0.04, 0.07, 25), "two": base + rng.normal(0.045, 0.07, 25)}
    for test in compare_methods(scores, list(scores), 5, {}):
        assert (test["p_adjusted"] <= 0.05) == (test["low"] > 0 or test["high"] < 0)


def test_the_interval_is_that_of_the_formula():
    differences = np.array([0.02, -0.01, 0.03, 0.04, 0.0, 0.05, 0.01, 0.02, -0.03, 0.06])
    scores = {"none": np.zeros(10), "one": differences, "two": -differences}
    one = compare_methods(scores, list(scores), 10, {})[0]
    error = np.sqrt((1 / 10 + 1 / 9) * differences.var(ddof=1))
    reach = student.ppf(1 - 0.05 / 4, 9) * error
    assert [one["low"], one["high"]] == pytest.approx([0.019 - reach, 0.019 + reach], abs=1e-5)
    assert one["p_adjusted"] == pytest.approx(2 * 0.1692, abs=2e-4)
    assert "2 comparisons" in describe_comparisons(2)
    assert "comparisons" not in describe_comparisons(1)


def test_texts_are_on_the_same_side_of_the_limit_as_numbers():
    assert p_value(0.0501) == "p = 0.0501"
    assert p_value(0.04999) == "p = 0.05"
    assert points(0.00002) == "+0.002"


def test_methods_with_the_same_predictions_are_one_row():
    """With one feature, every positive weight gives the same neighbours."""
    X = np.random.default_rng(0).normal(size=(40, 1)) + (np.arange(40) % 2)[:, None] * 3
    told = build_report(X, np.arange(40) % 2)
    gain = told.data["gain"]
    assert gain["rows"][1]["method"] == "no weights"
    assert "feature weights" in gain["rows"][1]["same"]
    assert "feature weights" not in [row["method"] for row in gain["rows"]]
    assert "feature weights" not in [test["method"] for test in gain["tests"]]
    assert "does not change a single prediction" in text_of(told)
    for text in (told.to_html(), told.to_markdown()):
        assert "no weights (the same predictions: feature weights" in text


def test_the_same_methods_of_a_number_are_one_row():
    X = np.random.default_rng(0).normal(size=(40, 1))
    told = build_report(X, X[:, 0] + 0.1)
    assert told.data["gain"]["rows"][1]["same"] == ["feature weights"]
    assert [test["method"] for test in told.data["gain"]["tests"]] == ["learned votes"]
    assert "does not change a single prediction" in text_of(told)
    assert "no weights (the same predictions: feature weights)" in told.to_html()


def test_one_different_prediction_makes_another_method():
    runs = [{"a": np.array([0, 1]), "b": np.array([0, 1])}, {"a": np.array([1]), "b": np.array([0])}]
    assert find_same_methods(runs, ["a", "b"]) == {}


def test_ties_that_decide_the_order_are_named():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    good = y + rng.normal(0, 0.5, 60)
    X = pd.DataFrame({"noise": rng.normal(size=60), **{f"copy {j}": good for j in range(5)}})
    told = build_report(X, y)
    rows = told.data["features"]["rows"]
    assert [row["rank"] for row in rows] == [1, 1, 1, 1, 1, 6]
    assert [row["tied"] for row in rows] == [4, 4, 4, 4, 4, 0]
    assert "copy 0, copy 1 and copy 2 weigh the same as 2 others: only the order of the columns" in text_of(told)
    assert "Features with equal weights have the same rank" in told.to_html()
    two = build_report(X[["noise", "copy 0", "copy 1"]], y)
    assert "copy 0 and copy 1 weigh the same: only the order of the columns decides which comes first" in text_of(two)


def test_different_weights_are_not_called_ties(disagreeing):
    assert "weigh the same" not in text_of(disagreeing)
    ranks, ties = rank_with_ties(np.array([3.0, 2.0, 1.0, 1.0]))
    assert ranks.tolist() == [1, 2, 3, 3]
    assert ties.tolist() == [0, 0, 1, 1]


def test_suspect_rows_are_listed_with_name_and_reason():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = pd.DataFrame({"a": 8.0 * y + rng.normal(size=60), "b": rng.normal(size=60)}, index=[f"P{i}" for i in range(60)])
    wrong = np.array(["sick", "well"])[np.where(np.isin(np.arange(60), [7, 30]), 1 - y, y)]
    told = build_report(X, wrong)
    suspect = told.data["instances"]["suspect"]
    assert {row["label"] for row in suspect} == {"P7", "P30"}
    assert "Check the labels of 2 rows" in text_of(told)
    why = {row["label"]: row["why"] for row in suspect}
    assert why["P7"] == "none of its 5 nearest rows has its class; the most frequent class among them is well"
    for text in (told.to_html().split('id="numbers"')[0], told.to_markdown()):
        assert "Rows whose label is suspect" in text
        assert "none of its 5 nearest rows has its class" in text


def test_without_suspect_rows_none_are_mentioned(disagreeing):
    assert disagreeing.data["instances"]["suspect"] == []
    assert "Check the label" not in text_of(disagreeing)
    assert "label is suspect" not in disagreeing.to_html()


def test_a_class_of_one_row_is_suspect_for_another_reason():
    told = build_report(np.arange(21.0)[:, None], ["a"] * 10 + ["b"] * 10 + ["single"])
    reasons = {row["class"]: row["why"] for row in told.data["instances"]["suspect"]}
    assert reasons["single"] == "no other row has its class"


def test_intervals_count_the_rows_of_every_class():
    values = np.r_[np.repeat([0, 1], 15), np.repeat([1, 2, 3], 10)]
    colour = np.array(["red"] * 25 + ["blue"] * 35)
    y = np.repeat(["x", "y"], 30)
    told = build_report(pd.DataFrame({"whole": values, "colour": colour}), y)
    for row in told.data["intervals"]["rows"]:
        inside = (values >= row["low"]) & (values <= row["high"]) if row["feature"] == "whole" else colour == row["low"]
        assert row["counts"] == [int((inside & (y == name)).sum()) for name in ("x", "y")]
        assert sum(row["counts"]) > 0


def test_features_that_do_not_matter_are_not_said_to_tell_classes_apart():
    """Of 300 columns of noise many have weights of both signs, which is no finding."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 300))
    X[:, 0] += 4 * y
    report = build_report(pd.DataFrame(X).add_prefix("f"), np.array(["a", "b", "c"])[y])
    found, opposed = report.data["features"]["test"]["n_above_chance"], report.data["classes"]["n_opposed"]
    assert opposed <= found < 100
    assert f"{opposed} of the features that the permutation test found" in text_of(report) or opposed == 0


def test_first_features_that_are_not_on_the_list_are_explained(disagreeing):
    data = copy.deepcopy(disagreeing.data)
    said = "it rates each feature by itself"
    data["list"] |= {"n_selected": 3, "rows": [{"name": name} for name in ("f0", "f1", "f2")], "n_groups": 3}
    data["list"]["score"] = {"reason": "this is a test"}
    data["list"].pop("reason", None)
    assert said not in " ".join(summary(data))
    data["list"] |= {"n_selected": 1, "rows": [{"name": "f1"}]}
    assert said in " ".join(summary(data))
    data["list"] |= {"n_selected": 0, "rows": [], "least_q": 0.5}
    assert said not in " ".join(summary(data))
