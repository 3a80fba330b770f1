"""Feature weights from the solution, against differences of the scores."""

from dataclasses import replace

import numpy as np
import pytest
from naive import learned_votes as naive
from sklearn.model_selection import KFold
from support.vote_tables import coded_table

from weighbors.votes import gradient
from weighbors.votes.gradient import choose_feature_weights, gradient_weights, learn_feature_weights
from weighbors.votes.metric import VotesTable
from weighbors.votes.solve import solve_all

CASES = [
    ({"seed": 0}, 1),
    ({"seed": 1}, 2),
    ({"seed": 2, "categories": 2, "classes": 3}, 1),
    ({"seed": 3, "categories": 2, "classes": 3}, 2),
    ({"seed": 4, "missing": 0.2, "categories": 2}, 1),
    ({"seed": 5, "missing": 0.05, "categories": 1}, 2),
    ({"seed": 6, "repetition": "fractions", "categories": 1}, 1),
    ({"seed": 7, "repetition": "fractions"}, 2),
]


def table_of(coded):
    return VotesTable(coded.X, coded.nominal, coded.codes, coded.Y.shape[1], coded.s)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("made", "p"), CASES)
def test_weights_are_mean_squared_changes_of_the_scores(made, p, weighted):
    coded = coded_table(**made, n=14)
    weights = np.random.default_rng(2).uniform(0.3, 2.0, coded.X.shape[1]) if weighted else None
    metric = table_of(coded).metric(p, weights, 1)
    distance = metric.all_pairs()
    solution = solve_all(distance, 1.4, 0.1, coded.Y, coded.s)
    found = gradient_weights(metric, distance, solution.alpha, solution.width, coded.s)
    expected = naive.feature_changes(
        coded.X, solution.alpha, 1.4, p=p, nominal=list(coded.nominal), weights=weights, s=coded.s
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


def test_several_numeric_targets_count_each():
    coded = coded_table(0, 14, categories=1)
    Y = np.random.default_rng(0).normal(size=(14, 3))
    metric = VotesTable(coded.X, coded.nominal, Y, 0).metric(1, None, 1)
    distance = metric.all_pairs()
    solution = solve_all(distance, 1.0, 0.1, Y)
    expected = naive.feature_changes(coded.X, solution.alpha, 1.0, p=1, nominal=list(coded.nominal))
    np.testing.assert_allclose(gradient_weights(metric, distance, solution.alpha, solution.width), expected, rtol=1e-5)


def test_ties_have_the_sign_zero():
    coded = coded_table(0, 16, numbers=2)
    X = np.round(coded.X)  # many equal values
    metric = VotesTable(X, coded.nominal, coded.codes, coded.Y.shape[1]).metric(1, None, 1)
    distance = metric.all_pairs()
    solution = solve_all(distance, 1.0, 0.5, coded.Y)
    expected = naive.feature_changes(X, solution.alpha, 1.0, p=1)
    np.testing.assert_allclose(gradient_weights(metric, distance, solution.alpha, solution.width), expected, rtol=1e-5)


def test_threads_change_no_bit_and_constant_columns_have_weight_zero():
    coded = coded_table(0, 250, numbers=4, categories=2, missing=0.05)
    X = coded.X.copy()
    X[:, 1] = 3.0
    X[:, 4] = 2.0
    found = []
    for n_jobs in (1, 2, 3):
        metric = VotesTable(X, coded.nominal, coded.codes, coded.Y.shape[1]).metric(1, None, n_jobs)
        distance = metric.all_pairs()
        found.append(gradient_weights(metric, distance, solve_all(distance, 2.0, 0.1, coded.Y).alpha, 2.0))
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()
    assert found[0][1] == found[0][4] == 0.0
    assert (found[0][[0, 2, 3, 5]] > 0).all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_categories_beside_tiny_numbers_do_not_overflow():
    coded = coded_table(0, 40, numbers=2, categories=1)
    X = coded.X.copy()
    X[:, :2] *= 1e-6
    X[:, 2] = np.arange(40) < 3  # the median distance is that of the numbers
    table = VotesTable(X, coded.nominal, coded.codes, coded.Y.shape[1])
    assert np.isfinite(learn_feature_weights(table, 1, 0.5, 2, np.random.default_rng(0), 1)).all()


def test_weights_are_between_zero_and_one_and_find_the_feature():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    codes = (X[:, 3] > 0).astype(int)
    table = VotesTable(X, np.zeros(8, dtype=bool), codes, 2)
    choice = choose_feature_weights(table, 1, np.random.default_rng(0), 1)
    assert choice.gamma > 0
    weights = learn_feature_weights(table, 1, choice.gamma, choice.n_rounds, rng, 1)
    assert weights.argmax() == 3
    assert weights.max() == 1.0
    assert (weights >= 0).all()
    assert (learn_feature_weights(table, 1, 0.0, 0, rng, 1) == 1).all()


def test_labels_of_noise_choose_equal_weights():
    equal = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 2, 120)
        table = VotesTable(rng.normal(size=(120, 10)), np.zeros(10, dtype=bool), codes, 2)
        equal += choose_feature_weights(table, 1, rng, 1).gamma == 0
    assert equal >= 4


def test_the_errors_of_a_fold_do_not_know_its_labels():
    """With other labels in the test part of a fold its predictions stay, only the errors change."""
    table = table_of(coded_table(0, 60, numbers=4))
    equal = table.metric(1, None, 1).all_pairs()
    points = {candidate: (1.0 + candidate[0], 0.1) for candidate in gradient.CANDIDATES}
    for train, test in KFold(5, shuffle=True, random_state=0).split(equal):
        flipped = table.targets.copy()
        flipped[test] = 1 - flipped[test]
        right, wrong = (
            gradient.predict_fold(replace(table, targets=codes), 1, points, equal, train, test, 1)
            for codes in (table.targets, flipped)
        )
        assert right.shape == (7, len(test))
        # Two classes with scores f and 1 - f: the errors are 2 (1 - f)² and 2 f² for the own class.
        own, other = np.sqrt(right / 2), np.sqrt(wrong / 2)
        assert np.minimum(np.abs(own + other - 1), np.abs(np.abs(own - other) - 1)).max() < 1e-9


@pytest.mark.parametrize("n", [2, 9])
def test_few_rows_have_equal_weights(n):
    coded = coded_table(0, n)
    assert choose_feature_weights(table_of(coded), 1, np.random.default_rng(0), 1).gamma == 0.0
