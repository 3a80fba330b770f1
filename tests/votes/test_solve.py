"""Votes of all rows: distances, the solution, and leave-one-out in closed form against refits."""

import tracemalloc

import numpy as np
import pytest
from naive import learned_votes as naive
from support.vote_tables import coded_table

from weighbors import Weights
from weighbors.engine import build_references
from weighbors.exceptions import InvalidDataError, InvalidWeightsError
from weighbors.votes.choose import RIDGES, WIDTHS, choose_parameters, median_distance
from weighbors.votes.metric import Metric
from weighbors.votes.solve import StoredVotes, factor_system, kernel_of, solve_all

#: Twenty kinds of tables, each with p = 1 or 2.
TABLES = [
    ({"seed": 0}, 1),
    ({"seed": 1}, 2),
    ({"seed": 2, "classes": 5}, 1),
    ({"seed": 3, "classes": 5}, 2),
    ({"seed": 4, "categories": 2}, 1),
    ({"seed": 5, "categories": 2}, 2),
    ({"seed": 6, "numbers": 1, "categories": 3}, 1),
    ({"seed": 7, "missing": 0.2}, 1),
    ({"seed": 8, "missing": 0.2, "categories": 2}, 1),
    ({"seed": 9, "missing": 0.3, "categories": 2, "classes": 4}, 1),
    ({"seed": 10, "missing": 0.05}, 2),
    ({"seed": 11, "missing": 0.05, "categories": 1}, 2),
    ({"seed": 12, "repetition": "whole"}, 1),
    ({"seed": 13, "repetition": "whole", "classes": 3}, 2),
    ({"seed": 14, "repetition": "fractions"}, 1),
    ({"seed": 15, "repetition": "fractions", "classes": 3}, 2),
    ({"seed": 16, "repetition": "fractions", "missing": 0.2, "categories": 2}, 1),
    ({"seed": 17, "repetition": "whole", "missing": 0.1, "categories": 2}, 1),
    ({"seed": 18, "n": 60, "numbers": 20}, 1),
    ({"seed": 19, "n": 12, "numbers": 40, "classes": 3}, 2),
]


def metric_of(table, p, weights=None, n_jobs=1):
    given = None if weights is None else Weights(feature_weights=weights)
    return Metric(build_references(table.X, weights=given, p=p, nominal=table.nominal), n_jobs)


@pytest.mark.parametrize(("made", "p"), TABLES)
def test_distances_are_those_of_a_double_loop(made, p):
    table = coded_table(**made)
    weights = np.random.default_rng(0).uniform(0.1, 2.0, table.X.shape[1])
    options = {"p": p, "nominal": table.nominal, "weights": weights}
    metric = metric_of(table, p, weights)
    np.testing.assert_allclose(metric.all_pairs(), naive.all_distances(table.X, **options), rtol=1e-12, atol=1e-12)
    queries = table.X[:5] + np.where(table.nominal, 0.0, 0.3)
    np.testing.assert_allclose(
        metric.between(metric.select(queries)), naive.distances(queries, table.X, **options), rtol=1e-12, atol=1e-12
    )
    some = np.array([3, 1, 7])
    at_hand = naive.column_ranges(table.X, table.nominal)
    np.testing.assert_allclose(
        metric.some_pairs(some), naive.all_distances(table.X[some], ranges=at_hand, **options), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("ridge", [0.001, 0.3])
@pytest.mark.parametrize(("made", "p"), TABLES)
def test_leave_one_out_in_closed_form_equals_refits(made, p, ridge):
    table = coded_table(**made)
    distance = metric_of(table, p).all_pairs()
    width = float(np.median(distance))
    solution = solve_all(distance, width, ridge, table.Y, table.s)
    assert solution.ridge == ridge  # the system is positive definite as it is
    K = naive.kernel(naive.all_distances(table.X, p=p, nominal=table.nominal), width)
    np.testing.assert_allclose(solution.alpha, naive.ridge_votes(K, table.Y, ridge, table.s), atol=1e-9, rtol=1e-9)
    expected = naive.left_out_scores(K, table.Y, ridge, table.s)
    np.testing.assert_allclose(table.Y - solution.residuals, expected, atol=1e-8, rtol=0)
    share = np.ones(len(K)) if table.s is None else table.s
    squares = ((table.Y - expected) ** 2).sum(axis=1)
    assert solution.loss == pytest.approx((share * squares).sum() / share.sum(), rel=1e-8)


@pytest.mark.parametrize(("made", "p"), [TABLES[0], TABLES[8], TABLES[14]])
def test_the_chosen_point_has_the_least_loss_of_refits(made, p):
    table = coded_table(**made)
    distance = metric_of(table, p).all_pairs()
    solution, choice = choose_parameters(distance, table.Y, table.s, np.random.default_rng(0))
    share = np.ones(len(distance)) if table.s is None else table.s
    losses = {(each["width"], each["ridge"]): each["loss"] for each in choice.tried}
    for (width, ridge), loss in losses.items():
        residuals = table.Y - naive.left_out_scores(naive.kernel(distance, width), table.Y, ridge, table.s)
        assert loss == pytest.approx((share * (residuals**2).sum(axis=1)).sum() / share.sum(), rel=1e-7)
    assert len(choice.tried) == len(WIDTHS) * len(RIDGES)
    assert losses[choice.width, choice.ridge] == min(losses.values())
    assert (solution.width, solution.ridge) == (choice.width, choice.ridge)


def test_the_median_counts_repetitions_as_rows():
    rng = np.random.default_rng(0)
    for _ in range(10):
        rows = rng.normal(size=(7, 2))
        s = rng.integers(1, 4, 7)
        often = np.repeat(rows, s, axis=0)
        plain = median_distance(naive.all_distances(often, p=1))
        assert median_distance(naive.all_distances(rows, p=1), s.astype(float)) == pytest.approx(plain, rel=1e-12)
    assert median_distance(np.zeros((3, 3))) == 1.0
    assert median_distance(np.zeros((3, 3)), np.full(3, 1.5)) == 1.0
    assert median_distance(np.zeros((1, 1)), np.ones(1)) == 1.0
    # Copies are at distance 0: if they are most of the pairs, the mean is taken.
    far = np.array([[0.0, 2.0], [2.0, 0.0]])
    assert median_distance(far, np.array([9.0, 1.0])) == 2.0


@pytest.mark.parametrize("weighted", [False, True])
def test_all_rows_voting_need_three_matrices(weighted):
    from weighbors import LearnedVotesClassifier

    rng = np.random.default_rng(0)
    n = 1400
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    s = rng.uniform(1.0, 3.0, n) if weighted else None
    model = LearnedVotesClassifier(None, None, ridge=0.1)
    model.fit(X[:50], y[:50])  # what is loaded once does not count
    tracemalloc.start()
    try:
        model.fit(X, y, s)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 3.2 * 8 * n * n


def test_a_system_that_is_not_positive_definite_gets_a_larger_ridge():
    distance = np.array([[0.0, 0.1, 9.0], [0.1, 0.0, 0.1], [9.0, 0.1, 0.0]])  # no triangle
    system = factor_system(distance, 1.0, 1e-3)
    assert system.ridge > 1e-3
    inverse = np.linalg.inv(kernel_of(distance, 1.0) + system.ridge * np.eye(3))
    np.testing.assert_allclose(system.solve(np.eye(3)), inverse, rtol=1e-9)
    assert 0 < factor_system(np.zeros((4, 4)), 1.0, 1e-300).ridge < 1e-10


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_what_is_not_finite_ends_with_an_error(bad):
    distance = np.array([[0.0, bad], [bad, 0.0]])
    with pytest.raises(InvalidDataError, match="not finite"):
        factor_system(distance, 1.0, 0.1).solve(np.eye(2))


@pytest.mark.parametrize(("made", "p"), [TABLES[0], TABLES[8], TABLES[15]])
def test_row_weights_multiply_the_own_target_of_each_row(made, p):
    table = coded_table(**made)
    metric = metric_of(table, p)
    found = solve_all(metric.all_pairs(), 1.3, 0.1, table.Y, table.s)
    votes = StoredVotes(metric, found.alpha, found.intercept, found.width, found.ridge, table.s)
    queries = np.where(table.nominal, table.X[:6], table.X[:6] + 0.1)
    weights = votes.row_weights(queries)
    np.testing.assert_allclose(weights @ (table.Y - found.intercept) + found.intercept, votes.scores(queries))
    # Leaving a row out anywhere is the same as giving it the target that the others predict for it.
    if table.s is None:
        left_out = np.arange(len(table.X)) != 4
        K = kernel_of(metric.all_pairs(), 1.3)[np.ix_(left_out, left_out)]
        alpha = np.linalg.solve(K + found.ridge * np.eye(len(K)), (table.Y - found.intercept)[left_out])
        expected = found.intercept + votes.kernel(queries)[:, left_out] @ alpha
        without = votes.scores(queries) - weights[:, [4]] * found.residuals[4]
        np.testing.assert_allclose(without, expected, rtol=1e-8, atol=1e-10)


def test_a_narrow_kernel_is_the_unit_matrix():
    distance = np.array([[0.0, 2.0], [2.0, 0.0]])
    assert (kernel_of(distance, 1e-320) == np.eye(2)).all()


def test_threads_change_no_bit():
    table = coded_table(0, 300, categories=2, missing=0.1)
    one, two, three = (metric_of(table, 1, n_jobs=n).all_pairs() for n in (1, 2, 3))
    assert (one == two).all()
    assert (one == three).all()


def test_wide_tables_are_measured_in_panels(monkeypatch):
    table = coded_table(0, 20, numbers=30, categories=10, missing=0.1)
    for p in (1, 2):
        whole = metric_of(table, p).all_pairs()
        with monkeypatch.context() as patched:
            patched.setattr("weighbors.votes.metric.PANEL", 7)
            np.testing.assert_allclose(metric_of(table, p).all_pairs(), whole, rtol=1e-13)


def test_weights_of_the_stored_side_only_are_refused():
    table = coded_table(0)
    weights = Weights(instance_scales=np.ones(len(table.X)) * 2)
    with pytest.raises(InvalidWeightsError, match="same in both directions"):
        Metric(build_references(table.X, weights=weights))
