"""Contributions of features are Shapley values, by every way they are computed, and add up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.shapley import feature_values

from weighbors.explanation.shapley import shapley_by_orders, shapley_by_subsets, shapley_of_products

RNG = np.random.default_rng


def smooth(rows):
    """Two scores that no feature decides alone."""
    return np.column_stack([np.sin(rows[:, 0] * rows[:, 1]) + rows.sum(axis=1) ** 2, np.exp(-np.abs(rows).sum(axis=1))])


@pytest.mark.parametrize("groups", [[[0], [1], [2], [3]], [[0, 2], [1], [3]], [[3], [0]]])
def test_all_subsets_give_the_mean_over_all_orders(groups):
    rng = RNG(0)
    query, backgrounds = rng.normal(size=4), rng.normal(size=(3, 4))
    player = np.full(4, -1)
    for g, columns in enumerate(groups):
        player[columns] = g
    backgrounds[:, player < 0] = query[player < 0]  # columns without influence
    found = shapley_by_subsets(smooth, query, backgrounds, player, len(groups))
    expected = feature_values(lambda row: smooth(row[None, :])[0], query, backgrounds, groups)
    np.testing.assert_allclose(found.by_feature, expected, atol=1e-12)
    np.testing.assert_allclose(found.base, smooth(backgrounds).mean(axis=0))
    np.testing.assert_allclose(found.base + found.by_feature.sum(axis=0), smooth(query[None, :])[0])


def test_drawn_orders_add_up_exactly_and_meet_the_exact_values_within_their_errors():
    rng = RNG(1)
    query, backgrounds = rng.normal(size=5), rng.normal(size=(300, 5))
    player = np.arange(5)
    exact = shapley_by_subsets(smooth, query, backgrounds, player, 5)
    drawn = shapley_by_orders(smooth, query, backgrounds, player, 5, RNG(2))
    np.testing.assert_allclose(drawn.base + drawn.by_feature.sum(axis=0), smooth(query[None, :])[0])
    assert (np.abs(drawn.by_feature - exact.by_feature) < 4 * drawn.standard_error).all()
    assert (drawn.standard_error < 1.0).all()
    again = shapley_by_orders(smooth, query, backgrounds, player, 5, RNG(2))
    np.testing.assert_array_equal(drawn.by_feature, again.by_feature)


def test_few_rows_at_a_time_change_nothing(monkeypatch):
    rng = RNG(3)
    query, backgrounds, player = rng.normal(size=4), rng.normal(size=(2, 4)), np.arange(4)
    whole = shapley_by_subsets(smooth, query, backgrounds, player, 4).by_feature
    monkeypatch.setattr("weighbors.explanation.shapley._CELLS", 12)
    np.testing.assert_array_equal(shapley_by_subsets(smooth, query, backgrounds, player, 4).by_feature, whole)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([0.1, 1.0, 40.0]))
def test_products_have_the_values_of_the_definition(seed, m, scale):
    rng = RNG(seed)
    near, far = np.exp(-scale * rng.random((2, 6, m)))
    alpha = rng.normal(size=(6, 2))
    found = shapley_of_products(near, far, alpha)
    rows = [[i] for i in range(m)]
    cube = np.stack([far, near])  # the game: which of both factors each feature has

    def score(row):
        return cube[row.astype(int), :, np.arange(m)].prod(axis=0) @ alpha

    expected = feature_values(score, np.ones(m), np.zeros((1, m)), rows)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_products_of_many_features_add_up():
    rng = RNG(4)
    near, far = np.exp(-rng.random((2, 20, 600)) * rng.choice([1e-3, 0.2], 600))
    alpha = rng.normal(size=(20, 3))
    found = shapley_of_products(near, far, alpha)
    np.testing.assert_allclose(found.sum(axis=0), (near.prod(axis=1) - far.prod(axis=1)) @ alpha, rtol=1e-9, atol=1e-14)


def test_products_with_factors_of_zero():
    near, far, alpha = np.array([[0.0, 0.5]]), np.array([[1.0, 0.5]]), np.array([[2.0]])
    np.testing.assert_allclose(shapley_of_products(near, far, alpha).ravel(), [-1.0, 0.0])
    nothing = np.zeros((1, 2))
    np.testing.assert_array_equal(shapley_of_products(nothing, nothing, alpha).ravel(), [0.0, 0.0])
