"""Scores by scikit-learn's names, against scikit-learn's own scorers."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import get_scorer, get_scorer_names

from weighbors import EvolutionaryWeigher
from weighbors.exceptions import InvalidDataError
from weighbors.metrics import g_mean
from weighbors.weighers.evolution.fitness import SCORES, Performance

NAMES = [name for name in SCORES if name != "g_mean"]


def draw(rng, n_classes):
    codes = np.concatenate([np.arange(n_classes), np.arange(n_classes), rng.integers(0, n_classes, 25)])
    return codes, rng.integers(0, n_classes, (6, len(codes)))


def test_the_names_are_scikit_learns():
    assert set(NAMES) <= set(get_scorer_names())
    assert len(SCORES) == 20


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_scores_equal_scikit_learns(name, n_classes):
    if n_classes > 2 and name in ("f1", "jaccard", "precision", "recall"):
        pytest.skip("a score of two classes")
    rng = np.random.default_rng(n_classes)
    classes = np.arange(n_classes)
    for _ in range(10):
        codes, predicted = draw(rng, n_classes)
        predicted[0] = 0  # classes that are never predicted
        expected = []
        for answers in predicted:
            scorer = get_scorer(name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of divisions by 0, which count as 0 here and there
                expected.append(scorer._score_func(classes[codes], classes[answers], **scorer._kwargs))
        found = Performance(name, codes, classes)(predicted)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_g_mean_equals_that_of_metrics():
    rng = np.random.default_rng(0)
    codes, predicted = draw(rng, 4)
    expected = [g_mean(codes, answers) for answers in predicted]
    np.testing.assert_allclose(Performance("g_mean", codes, np.arange(4))(predicted), expected)


def test_a_row_without_an_answer_is_wrong():
    codes, classes = np.array([0, 0, 1, 1]), np.arange(2)
    answers = np.array([[0, -1, 1, 1]])
    for name in ("accuracy", "balanced_accuracy", "recall_macro"):
        assert Performance(name, codes, classes)(answers) == [0.75]


def test_a_search_takes_the_name_and_maximises_that_score():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0.8).astype(int)
    for name in ("balanced_accuracy", "f1", "f1_macro", "matthews_corrcoef"):
        search = EvolutionaryWeigher("FW", name, population_size=10, max_evaluations=100, random_state=0).fit(X, y)
        scorer = get_scorer(name)

        def same(y_true, y_pred, scorer=scorer):
            return scorer._score_func(y_true, y_pred, **scorer._kwargs)

        by_hand = EvolutionaryWeigher("FW", same, population_size=10, max_evaluations=100, random_state=0).fit(X, y)
        assert search.performance_ == pytest.approx(by_hand.performance_)
        np.testing.assert_array_equal(search.feature_weights_, by_hand.feature_weights_)


def test_bad_names():
    X, y = np.arange(12.0).reshape(6, 2), ["a", "a", "b", "b", "a", "b"]
    with pytest.raises(ValueError, match="fitness"):
        EvolutionaryWeigher(fitness="roc_auc").fit(X, y)
    with pytest.raises(InvalidDataError, match=r"class 1 of two classes.*f1_macro"):
        EvolutionaryWeigher(fitness="f1").fit(X, y)
