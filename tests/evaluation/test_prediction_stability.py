"""Agreement of predictions, the G-mean and the reduction."""

import naive.stability as naive
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import recall_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from weighbors.evaluation import g_mean, prediction_stability, reduction
from weighbors.exceptions import InvalidDataError


@pytest.mark.parametrize("seed", range(4))
def test_statsmodels_kappa_and_loops(seed):
    labels = np.random.default_rng(seed).integers(0, 3, (5, 20))
    found = prediction_stability(labels)
    assert found.kappa == pytest.approx(fleiss_kappa(aggregate_raters(labels.T)[0]))
    np.testing.assert_allclose(found.per_instance, naive.agreement(labels.tolist()))
    assert found.agreement == pytest.approx(naive.agreement(labels.tolist()).mean())


def test_fleiss_own_example():
    # Fleiss 1971, table 1: 30 subjects, 6 raters, 5 categories; κ = .430, mean agreement .556
    counts = """0 0 0 6 0|0 3 0 0 3|0 1 4 0 1|0 0 0 0 6|0 3 0 3 0|2 0 4 0 0|0 0 4 0 2|2 0 3 1 0|2 0 0 4 0|0 0 0 0 6
        |1 0 0 5 0|1 1 0 4 0|0 3 3 0 0|1 0 0 5 0|0 2 0 3 1|0 0 5 0 1|3 0 0 1 2|5 1 0 0 0|0 2 0 4 0|1 0 2 0 3|0 0 0 0 6
        |0 1 0 5 0
        |0 2 0 1 3|2 0 0 4 0|1 0 0 4 1|0 5 0 1 0|4 0 0 0 2|0 2 0 4 0|1 0 5 0 0|0 0 0 0 6"""
    rows = [[int(c) for c in row.split()] for row in counts.split("|")]
    labels = np.array([np.repeat(range(5), row) for row in rows]).T
    found = prediction_stability(labels)
    assert found.kappa == pytest.approx(0.430, abs=5e-4)
    assert found.agreement == pytest.approx(0.556, abs=1e-3)


def test_instances_that_not_every_run_predicts():
    runs = [["a", None, "b", "a"], ["a", "b", None, None], ["b", "b", "b", None]]
    found = prediction_stability(runs)
    np.testing.assert_allclose(found.per_instance, naive.agreement(runs))
    assert np.isnan(found.per_instance[3])
    assert "1 of them predicted less than twice" in repr(found)
    frame = pd.DataFrame(runs)
    assert prediction_stability(frame).kappa == pytest.approx(found.kappa)


def test_one_label_only():
    found = prediction_stability([[1, 1], [1, 1]])
    assert found.agreement == 1
    assert np.isnan(found.kappa)
    assert "same label" in repr(found)
    assert found.frame().loc[0, "n_instances"] == 2


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([[1, 2, 3]], "at least 2 are needed; got 1"),
        ([1, 2, 3], "runs × instances"),
        ([[1, None], [None, 2]], "no instance has predictions of two runs"),
    ],
)
def test_bad_input(predictions, message):
    with pytest.raises(InvalidDataError, match=message):
        prediction_stability(predictions)


def test_g_mean():
    true, predicted = [0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]
    assert g_mean(true, predicted) == pytest.approx(np.sqrt(3 / 4 * 1 / 2))
    assert g_mean(["a", "b", "c"], ["a", "b", "b"]) == 0
    assert g_mean(["a", "a"], ["a", "z"]) == 0.5  # only classes that are there have a recall
    recalls = recall_score(true, predicted, average=None, sample_weight=[1, 2, 3, 4, 5, 6])
    assert g_mean(true, predicted, sample_weight=[1, 2, 3, 4, 5, 6]) == pytest.approx(np.sqrt(recalls.prod()))
    with pytest.raises(InvalidDataError, match="no labels"):
        g_mean([], [])


def test_imbalanced_learn_agrees():
    metrics = pytest.importorskip("imblearn.metrics")
    random = np.random.default_rng(0)
    true, predicted = random.integers(0, 3, (2, 60))
    assert g_mean(true, predicted) == pytest.approx(metrics.geometric_mean_score(true, predicted))


def test_reduction():
    # paper 004: R = 1 − (n_i/N)(n_f/M)
    assert reduction([True, False, False, True], [True, True, False, False]) == 0.75
    assert reduction() == 0
    assert reduction(feature_mask=[True, False]) == 0.5
    with pytest.raises(InvalidDataError, match="vector of bool"):
        reduction([1, 0])
