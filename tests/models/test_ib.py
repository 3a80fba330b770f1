"""IB1 and IBk: min-max scaled neighbours, and what happens to those tied at the k-th."""

import numpy as np
import pandas as pd
import pytest
from naive.lazy import ibk
from sklearn.preprocessing import MinMaxScaler
from support.lazy_tables import generated
from support.stubs import three_classes

from weighbors import IB1, IBk, WeightedKNeighborsClassifier
from weighbors.exceptions import InvalidDataError

CLASSES = ["p", "q", "r"]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weights", ["uniform", "inverse", "similarity"])
@pytest.mark.parametrize("ties", ["all", "index"])
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_shares_equal_the_oracle(seed, weights, ties, missing):
    data = generated(seed, missing=missing)
    for k in (1, 4, 11):
        found = IBk(k, weights=weights, ties=ties).fit(data.X, data.y).predict_proba(data.Q)
        wanted = ibk(data.queries, data.rows, data.y, CLASSES, k, nominal=data.nominal, weights=weights, ties=ties)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_ib1_is_the_first_nearest_row(seed):
    data = generated(seed, missing=0.1)
    shares = ibk(data.queries, data.rows, data.y, CLASSES, 1, nominal=data.nominal, ties="index")
    expected = [CLASSES[int(np.argmax(share))] for share in shares]
    assert IB1().fit(data.X, data.y).predict(data.Q).tolist() == expected


def test_all_rows_tied_at_the_kth_distance_vote():
    X, y = np.array([[0.0], [1.0], [1.0], [1.0], [4.0]]), ["a", "b", "b", "c", "c"]
    assert IBk(2).fit(X, y).predict_proba([[0.0]]).tolist() == [[1 / 4, 2 / 4, 1 / 4]]
    assert IBk(2, ties="index").fit(X, y).predict_proba([[0.0]]).tolist() == [[1 / 2, 1 / 2, 0.0]]
    told = IBk(2).fit(X, y).explain([[0.0]])
    assert told["row"].tolist() == [0, 1, 2, 3]
    assert told["vote"].tolist() == [0.25] * 4


def test_more_ties_than_any_first_look_finds():
    X = np.r_[np.zeros((300, 1)), np.ones((5, 1))]
    y = ["a"] * 120 + ["b"] * 180 + ["c"] * 5
    assert IBk(3).fit(X, y).predict_proba([[0.0]]).tolist() == [[0.4, 0.6, 0.0]]
    assert IBk(3, ties="index").fit(X, y).predict_proba([[0.0]]).tolist() == [[1.0, 0.0, 0.0]]


def test_it_is_the_weighted_knn_on_scaled_rows():
    X, y, Q = three_classes()
    scaler = MinMaxScaler().fit(X)
    scaled = WeightedKNeighborsClassifier(7).fit(scaler.transform(X), y)
    for ties in ("all", "index"):  # no ties among real numbers
        ours = IBk(7, ties=ties).fit(X, y)
        np.testing.assert_allclose(ours.predict_proba(Q), scaled.predict_proba(scaler.transform(Q)), rtol=1e-12)
    # features in other units change nothing
    np.testing.assert_array_equal(IBk(7).fit(1024 * X, y).predict_proba(1024 * Q), IBk(7).fit(X, y).predict_proba(Q))


def test_leaving_one_out():
    data = generated(0, categories=False)
    left_out = IBk(3).fit(data.X, data.y).predict_proba(None)
    inner = [i for i, row in enumerate(data.rows) if -45 < row[1] < 45][:5]  # ranges stay without them
    for i in inner:
        rest = np.delete(np.arange(len(data.y)), i)
        own = ibk(data.rows[[i]], data.rows[rest], data.y[rest], CLASSES, 3, nominal=data.nominal)
        np.testing.assert_allclose(left_out[i], own[0], rtol=1e-12)


def test_a_feature_with_one_value_counts_nothing():
    X, y = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]]), [0, 1, 2]
    model = IBk(1).fit(X, y)
    assert model.weights_.feature_weights.tolist() == [0.25, 0.0]
    assert model.predict([[1.9, -1e6]]).tolist() == [2]
    assert IBk(1).fit(X[:, 1:], y).predict_proba([[5.0]]).tolist() == [[1 / 3] * 3]


def test_bad_input():
    X, y, _Q = three_classes()
    with pytest.raises(InvalidDataError, match="only 160 training rows"):
        IBk(161).fit(X, y).predict(X)
    with pytest.raises(InvalidDataError, match="column 1 spans only 1e-200, too little to be scaled"):
        IBk().fit([[0.0, 0.0], [1.0, 1e-200]], [0, 1])
    frame = pd.DataFrame({"c": ["x", "y", "x"], "v": [1.0, 2.0, 3.0]})
    assert IB1().fit(frame, [0, 1, 1]).predict(pd.DataFrame({"c": ["z"], "v": [1.0]})).tolist() == [0]


def test_further_rows_widen_the_ranges():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)) * [1, 10, 100, 1000], rng.integers(0, 3, size=80)
    X[60:] *= 3
    grown = IBk(3).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    whole = IBk(3).fit(X, y)
    np.testing.assert_array_equal(grown.predict_proba(X), whole.predict_proba(X))
    kept = IBk(3).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:], refresh=False)
    assert (kept.weights_.feature_weights > whole.weights_.feature_weights).all()
