"""K*: probabilities that values turn into others, and the scale that includes a share of the rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.lazy import kstar, sphere
from support.lazy_tables import generated
from support.stubs import three_classes

from weighbors import KStar
from weighbors.models.kstar import nominal_log_chances, numeric_log_chances

CLASSES = ["p", "q", "r"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("blend", [5, 20, 80])
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_shares_equal_the_oracle(seed, blend, missing):
    data = generated(seed, missing=missing)
    found = KStar(blend).fit(data.X, data.y).predict_proba(data.Q)
    wanted = kstar(data.queries, data.rows, data.y, CLASSES, blend / 100, nominal=data.nominal)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=30, unique=True),
    counts=st.lists(st.integers(1, 50), min_size=30, max_size=30),
    asked=st.integers(-(2 * 10**6), 2 * 10**6),
    blend=st.floats(0.01, 0.99),
    factor=st.sampled_from([1e-9, 1.0, 1e9]),
)
def test_a_scale_includes_what_was_wanted(values, counts, asked, blend, factor):
    values, mass = np.sort(np.array(values)) * factor, np.array(counts[: len(values)], dtype=float)
    log, told = numeric_log_chances(np.array([asked * factor]), values, mass, blend)
    distance = np.abs(asked * factor - values)
    nearest = np.isclose(distance, distance.min(), rtol=0, atol=1e-9 * np.ptp(values))
    n0 = mass[nearest].sum()
    assert told[0] == (not nearest.all())
    if told[0]:
        included = sphere(np.repeat(np.exp(log[0] - log[0].max()), mass.astype(int)))
        assert included == pytest.approx(n0 + blend * (mass.sum() - n0), rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(1, 50), min_size=2, max_size=8), asked=st.integers(0, 7), blend=st.floats(0.01, 0.99)
)
def test_categories_include_what_was_wanted_and_chances_sum_to_one(counts, asked, blend):
    asked = asked % len(counts)
    mass = np.array(counts, dtype=float)
    log, told = nominal_log_chances(np.array([float(asked)]), np.arange(len(mass)), mass, blend)
    assert told[0]
    chance = np.exp(log[0])
    assert chance.sum() == pytest.approx(1.0)
    included = sphere(np.repeat(chance, counts))
    assert included == pytest.approx(mass[asked] + blend * (mass.sum() - mass[asked]), rel=1e-8)


def test_by_hand():
    # values 0 and 1, asked for 0: e = exp(-2s), (1 + e)^2 / (1 + e^2) = 1.2, so 0.2 e^2 - 2 e + 0.2 = 0
    X, y = np.array([[0.0], [1.0]]), ["a", "b"]
    e = 5 - np.sqrt(24)
    np.testing.assert_allclose(KStar(20).fit(X, y).predict_proba([[0.0]]), [[1 / (1 + e), e / (1 + e)]], rtol=1e-9)
    # halfway between them both are nearest, and nothing is told apart
    np.testing.assert_allclose(KStar(20).fit(X, y).predict_proba([[0.5]]), [[0.5, 0.5]])
    # two categories, one row each: the ratio of the chances solves the same equation
    frame = pd.DataFrame({"c": ["x", "y"]})
    np.testing.assert_allclose(
        KStar(20).fit(frame, y).predict_proba(frame[:1]), [[1 / (1 + e), e / (1 + e)]], rtol=1e-9
    )


def test_a_small_blend_is_the_nearest_neighbour_a_large_one_the_class_shares():
    X, y, Q = three_classes()
    one = KStar(0.001).fit(X[:, :1], y).predict(Q[:, :1])
    nearest = y[np.argmin(np.abs(Q[:, :1] - X[:, 0]), axis=1)]
    np.testing.assert_array_equal(one, nearest)
    shares = KStar(99.9999).fit(X, y).predict_proba(Q)
    np.testing.assert_allclose(shares, np.tile(np.bincount(y) / len(y), (len(Q), 1)), atol=0.02)


def test_units_do_not_matter():
    X, y, Q = three_classes()
    units = np.array([1e-6, 1.0, 1e6, 3.0, 1e-3, 1e3])
    np.testing.assert_allclose(
        KStar().fit(X * units, y).predict_proba(Q * units), KStar().fit(X, y).predict_proba(Q), rtol=1e-6
    )


def test_many_features_do_not_underflow():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 1500)), np.arange(40) % 2
    shares = KStar().fit(X, y).predict_proba(rng.normal(size=(2, 1500)) + 50)
    assert np.isfinite(shares).all()
    assert shares.sum(axis=1) == pytest.approx(1.0)


def test_threads_batches_and_layout_change_no_bit():
    data = generated(1, n=120, n_queries=60, missing=0.1)
    model = KStar().fit(data.X, data.y)
    shares = model.predict_proba(data.Q)
    np.testing.assert_array_equal(shares, KStar(n_jobs=2).fit(data.X, data.y).predict_proba(data.Q))
    alone = np.concatenate([model.predict_proba(data.Q.iloc[[i]]) for i in range(len(data.Q))])
    np.testing.assert_array_equal(shares, alone)


def test_what_tells_nothing_apart_is_left_out():
    X = pd.DataFrame({"v": [0.0, 1.0, 2.0, 3.0], "c": ["x", "x", "y", "y"], "one": [4.0] * 4, "none": [np.nan] * 4})
    y = ["a", "a", "b", "b"]
    model = KStar().fit(X, y)
    without = KStar().fit(X[["v"]], y)
    asked = pd.DataFrame({"v": [0.2], "c": ["z"], "one": [9.0], "none": [1.0]})
    np.testing.assert_allclose(model.predict_proba(asked), without.predict_proba(asked[["v"]]))
    nothing = asked.assign(v=np.nan, one=np.nan, none=np.nan)
    np.testing.assert_allclose(model.predict_proba(nothing), [[0.5, 0.5]])


def quiet_shares(model, X, y, Q, weight=None):
    """Shares of the classes; a raw warning of NumPy fails the test."""
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        return model.fit(X, y, weight).predict_proba(Q)


@pytest.mark.parametrize("power", [-1020, -1000, -600, -400, 400, 600, 1000, 1015, 1020])
def test_units_do_not_matter_however_extreme(power):
    rng = np.random.default_rng(0)
    X, Q = (rng.integers(-8, 9, size=(n, 3)) / 2 for n in (40, 20))  # whole halves: a power of 2 changes no digit
    y = X[:, 0] > X[:, 1]
    wanted = KStar().fit(X, y).predict_proba(Q)
    np.testing.assert_allclose(quiet_shares(KStar(), X * 2.0**power, y, Q * 2.0**power), wanted, atol=1e-12)


@pytest.mark.parametrize("weight", [1e-320, 1e-300, 1e-100, 1e-60, 1e60, 1e100, 1e300, 1e306])
def test_only_the_ratio_of_weights_matters_however_extreme(weight):
    rng = np.random.default_rng(0)
    X, y = np.column_stack([rng.normal(size=40), rng.integers(0, 3, size=40)]), np.arange(40) % 2
    model = KStar(categorical_features=[1])
    wanted = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(quiet_shares(model, X, y, X, np.full(40, weight)), wanted, atol=1e-12)


def test_the_largest_numbers_give_shares_without_warnings():
    rng = np.random.default_rng(0)
    X, y, Q = rng.normal(size=(40, 3)), np.arange(40) % 2, rng.normal(size=(20, 3))
    normal = KStar().fit(X, y).predict_proba(Q)
    strange = np.vstack([[[1.7e308, 5e-324, -1.7e308]], [[-1.7e308, 1e-310, 1e308]], Q])
    found = quiet_shares(KStar(), X, y, strange)
    np.testing.assert_array_equal(found[2:], normal)  # a neighbour in the batch changes no digit
    X[0, 0], X[1, 0], X[2:5, 0], X[:4, 1] = 1.7e308, -1.7e308, np.nan, [5e-324, 1e-310, 0, -1e-315]
    weight = np.where(np.arange(40) < 2, [1e300, 1e-300] * 20, 1.0)
    for weights in (None, weight):
        shares = quiet_shares(KStar(), X, y, strange, weights)
        np.testing.assert_allclose(shares.sum(axis=1), 1)


@pytest.mark.parametrize("blend", [1e-300, 1e-12, 100 - 1e-12])
def test_extreme_blends_of_categories(blend):
    X, y = np.array([[0.0], [0], [1], [2], [2]]), ["a", "b", "b", "a", "a"]
    shares = quiet_shares(KStar(blend, categorical_features=[0]), X, y, X)
    wanted = [[0.5, 0.5], [0.5, 0.5], [0, 1], [1, 0], [1, 0]] if blend < 1 else np.tile([0.6, 0.4], (5, 1))
    np.testing.assert_allclose(shares, wanted, atol=1e-6)
