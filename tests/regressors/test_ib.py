"""IB1Regressor and IBkRegressor. What they share with IB1 and IBk is tested there."""

import numpy as np
import pytest
from lazy_tables import generated
from naive.lazy import ibk_numbers
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler

from weighbors import IB1Regressor, IBkRegressor, WeightedKNeighborsRegressor
from weighbors.exceptions import InvalidDataError


def numbers(data, seed=0):
    rng = np.random.default_rng(seed)
    return 50.0 + rng.integers(-20, 20, len(data.rows)) / 4


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weights", ["uniform", "inverse", "similarity"])
@pytest.mark.parametrize("ties", ["all", "index"])
def test_means_equal_the_oracle(seed, weights, ties):
    data = generated(seed, missing=0.15 * (seed > 0))
    y = numbers(data, seed)
    for k in (1, 4, 11):
        found = IBkRegressor(k, weights=weights, ties=ties).fit(data.X, y).predict(data.Q)
        wanted = ibk_numbers(data.queries, data.rows, y, k, nominal=data.nominal, weights=weights, ties=ties)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_ib1_is_the_first_nearest_row(seed):
    data = generated(seed, missing=0.1)
    y = numbers(data, seed)
    wanted = ibk_numbers(data.queries, data.rows, y, 1, nominal=data.nominal, ties="index")
    assert IB1Regressor().fit(data.X, y).predict(data.Q).tolist() == wanted


def test_all_rows_tied_at_the_kth_distance_count():
    X, y = np.array([[0.0], [1.0], [1.0], [1.0], [4.0]]), [8.0, 1.0, 2.0, 5.0, 9.0]
    assert IBkRegressor(2).fit(X, y).predict([[0.0]]).tolist() == [4.0]
    assert IBkRegressor(2, ties="index").fit(X, y).predict([[0.0]]).tolist() == [4.5]
    told = IBkRegressor(2).fit(X, y).explain([[0.0]])
    assert told["row"].tolist() == [0, 1, 2, 3]
    assert told["target"].tolist() == [8.0, 1.0, 2.0, 5.0]
    assert told["vote"].tolist() == [0.25] * 4


def test_it_is_the_weighted_knn_on_scaled_rows():
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(60, 4)) * [1, 10, 100, 1000], rng.normal(size=(9, 4))
    y = np.c_[X[:, 0], X[:, 1] ** 2]
    scaler = MinMaxScaler().fit(X)
    scaled = WeightedKNeighborsRegressor(7).fit(scaler.transform(X), y)
    for ties in ("all", "index"):  # no ties among real numbers
        ours = IBkRegressor(7, ties=ties).fit(X, y)
        np.testing.assert_allclose(ours.predict(Q), scaled.predict(scaler.transform(Q)), rtol=1e-12)


def test_integer_sample_weights_are_repeated_rows():
    data = generated(3)
    y = numbers(data)
    repeats = np.random.default_rng(0).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), repeats)
    for ties in ("all", "index"):
        model = IBkRegressor(5, weights="inverse", ties=ties)
        one = model.fit(data.X, y, sample_weight=repeats).predict(data.Q)
        other = model.fit(data.X.iloc[repeated], y[repeated]).predict(data.Q)
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_threads_layout_and_batches_change_nothing():
    data = generated(1, n=100, n_queries=40, categories=False)
    X, Q, y = data.X.to_numpy(), data.Q.to_numpy(), numbers(data)
    model = IBkRegressor(5, weights="inverse").fit(X, y)
    found = model.predict(Q)
    for other in (
        IBkRegressor(5, weights="inverse", n_jobs=2).fit(np.asfortranarray(X), y).predict(Q),
        IBkRegressor(5, weights="inverse").fit(sparse.csr_matrix(X), y).predict(sparse.csr_matrix(Q)),
        np.concatenate([model.predict(q[None]) for q in Q]),
    ):
        np.testing.assert_array_equal(found, other)


def test_further_rows_widen_the_ranges():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)) * [1, 10, 100, 1000], rng.normal(size=80)
    X[60:] *= 3
    grown = IBkRegressor(3).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    whole = IBkRegressor(3).fit(X, y)
    np.testing.assert_array_equal(grown.predict(X), whole.predict(X))
    kept = IBkRegressor(3).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:], refresh=False)
    assert (kept.weights_.feature_weights > whole.weights_.feature_weights).all()


def test_constant_targets_and_single_rows_are_predicted():
    data = generated(2)
    found = IBkRegressor(4, weights="inverse").fit(data.X, np.full(len(data.rows), 0.1)).predict(data.Q)
    np.testing.assert_allclose(found, 0.1, rtol=1e-15)
    for model in (IB1Regressor(), IBkRegressor()):
        assert model.fit(data.X[:1], [0.3]).predict(data.Q).tolist() == [0.3] * len(data.Q)


def test_bad_input():
    data = generated(0)
    y = numbers(data)
    with pytest.raises(InvalidDataError, match="only 40 training rows"):
        IBkRegressor(41).fit(data.X, y).predict(data.Q)
    with pytest.raises(ValueError, match="'weights' parameter of IBkRegressor must be a str among"):
        IBkRegressor(weights="distance").fit(data.X, y)
    for bad, message in (
        (np.where(y > 50, np.nan, y), "targets are missing"),
        (np.where(y > 50, np.inf, y), "contains infinity"),
        (y.astype(str), "must hold numbers"),
        (None, "the target y is None"),
    ):
        for model in (IB1Regressor(), IBkRegressor(3)):
            with pytest.raises(InvalidDataError, match=message):
                model.fit(data.X, bad)
