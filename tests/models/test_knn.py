"""The weighted k-NN: its votes, its weights, its explanations."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from naive.neighbors import nearest, vote
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.stubs import VarianceWeigher, three_classes

from weighbors import IntervalTable, WeightedKNeighborsClassifier, Weights
from weighbors.exceptions import (
    ForeignWeightsError,
    InvalidDataError,
    InvalidWeightsError,
)
from weighbors.weights import fingerprint

RNG = np.random.default_rng


@pytest.fixture(scope="module")
def problem():
    return three_classes()


@pytest.mark.parametrize("how", ["uniform", "distance", "complement"])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("weighed", [False, True])
def test_probabilities_equal_the_oracle(how, p, weighed):
    X = RNG(0).integers(0, 4, size=(80, 5)).astype(float) / 4
    Q = RNG(1).integers(0, 4, size=(40, 5)).astype(float) / 4 + 0.125
    y = RNG(2).integers(0, 3, size=80)
    parts, given = {}, None
    if weighed:
        a, omega, v = (
            2.0 ** RNG(3).integers(-3, 3, size=5),
            RNG(4).random(80),
            2.0 ** RNG(5).integers(-1, 2, size=80),
        )
        given, parts = Weights(feature_weights=a, votes=omega, instance_scales=v), {"a": a, "v": v}
    found = WeightedKNeighborsClassifier(6, given, weights=how, p=p).fit(X, y)
    expected = [
        vote(neighbors, y, [0, 1, 2], how=how, omega=omega if weighed else None, span=5 ** (1 / p))
        for neighbors in nearest(Q, X, 6, p=p, **parts)
    ]
    np.testing.assert_allclose(found.predict_proba(Q), expected, rtol=1e-12, atol=1e-12)
    assert found.predict(Q).tolist() == np.argmax(found.predict_proba(Q), axis=1).tolist()


def test_equal_votes_go_to_the_first_class_and_equal_distances_to_the_lower_row():
    X, y = np.array([[1.0], [-1.0]]), np.array(["b", "a"])
    assert WeightedKNeighborsClassifier(2).fit(X, y).predict([[0.0]]).tolist() == ["a"]
    assert WeightedKNeighborsClassifier(1).fit(X, y).predict([[0.0]]).tolist() == ["b"]


def test_omega_multiplies_votes_never_their_number():
    X, y = np.array([[0.0], [1.0], [2.0], [30.0]]), [0, 1, 1, 0]
    heavy = Weights(votes=[5.0, 1.0, 1.0, 100.0])
    model = WeightedKNeighborsClassifier(3, heavy).fit(X, y)
    assert model.predict_proba([[0.5]]).tolist() == [[5 / 7, 2 / 7]]


def test_integer_sample_weights_are_repeated_rows():
    rng = RNG(0)
    X, y, repeats = (
        rng.integers(0, 5, size=(60, 3)).astype(float),
        rng.integers(0, 3, size=60),
        rng.integers(0, 4, size=60),
    )
    Q = rng.integers(0, 5, size=(50, 3)) + 0.5
    for how in ("uniform", "distance"):
        for k in (1, 4, 9):
            weighted = WeightedKNeighborsClassifier(k, weights=how).fit(X, y, sample_weight=repeats)
            repeated = WeightedKNeighborsClassifier(k, weights=how).fit(
                np.repeat(X, repeats, axis=0), np.repeat(y, repeats)
            )
            np.testing.assert_allclose(weighted.predict_proba(Q), repeated.predict_proba(Q), rtol=1e-12)


def test_small_sample_weights_reach_further():
    X, y = np.arange(10.0)[:, None], [0, 1] * 5
    model = WeightedKNeighborsClassifier(2).fit(X, y, sample_weight=np.full(10, 0.5))
    np.testing.assert_allclose(model.predict_proba([[-1.0]]), [[0.5, 0.5]])
    assert model.kneighbors([[-1.0]])[1].tolist() == [[0, 1]]  # always k columns
    scaled = WeightedKNeighborsClassifier(2).fit(X, y, sample_weight=np.full(10, 0.1))  # they sum to less than 2
    assert scaled.predict_proba([[-1.0]]).tolist() == [[0.5, 0.5]]


def test_rows_of_weight_zero_are_gone_but_rows_keep_their_numbers():
    X, y = np.arange(6.0)[:, None], [0, 1, 0, 1, 0, 1]
    model = WeightedKNeighborsClassifier(1).fit(X, y, sample_weight=[0, 1, 1, 1, 1, 1])
    assert model.kneighbors([[0.0]])[1].tolist() == [[1]]
    assert model.kneighbors_graph([[0.0]]).shape == (1, 6)
    with pytest.raises(InvalidDataError, match="rows of weight 0 left out, there is 1 class"):
        WeightedKNeighborsClassifier(1).fit(X, y, sample_weight=[0, 1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        WeightedKNeighborsClassifier(1).fit(X, y, sample_weight=[-1, 1, 1, 1, 1, 1])


def test_class_weight_multiplies_sample_weight(problem):
    X, y, Q = problem
    weight = {0: 3, 1: 1, 2: 2}
    a = WeightedKNeighborsClassifier(5, class_weight=weight).fit(X, y)
    b = WeightedKNeighborsClassifier(5).fit(X, y, sample_weight=[weight[label] for label in y])
    np.testing.assert_array_equal(a.predict_proba(Q), b.predict_proba(Q))
    balanced = WeightedKNeighborsClassifier(5, class_weight="balanced").fit(X, y)
    even = WeightedKNeighborsClassifier(5).fit(X, y, sample_weight=160 / 3 / np.bincount(y)[y])
    np.testing.assert_allclose(balanced.predict_proba(Q), even.predict_proba(Q))


def test_a_weigher_is_cloned_fitted_and_used(problem):
    X, y, Q = problem
    weigher = VarianceWeigher()
    model = WeightedKNeighborsClassifier(3, weigher).fit(X, y)
    assert not hasattr(weigher, "weights_")
    assert model.weights_ == model.weigher_.weights_
    assert (model.kneighbors(Q, return_distance=False) % 3 != 0).all()
    given = WeightedKNeighborsClassifier(3, model.weights_).fit(X, y)
    np.testing.assert_array_equal(given.predict_proba(Q), model.predict_proba(Q))


def test_sample_weight_reaches_a_weigher_that_takes_it(problem):
    X, y, _ = problem
    weight = RNG(0).integers(0, 3, size=len(X)).astype(float)
    model = WeightedKNeighborsClassifier(3, VarianceWeigher()).fit(X, y, sample_weight=weight)
    assert model.weigher_.sample_weight_.tolist() == weight[weight > 0].tolist()
    assert len(model.weigher_.seen_) == (weight > 0).sum()


def test_metadata_routing(problem):
    X, y, _ = problem
    weight = np.ones(len(X)) * 2
    with sklearn.config_context(enable_metadata_routing=True):
        asks = VarianceWeigher().set_fit_request(sample_weight=True)
        model = WeightedKNeighborsClassifier(3, asks).set_fit_request(sample_weight=True)
        routed = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), model).fit(
            X, y, sample_weight=weight
        )
        assert routed[-1].weigher_.sample_weight_.tolist() == weight.tolist()
        silent = VarianceWeigher().set_fit_request(sample_weight=False)
        model = WeightedKNeighborsClassifier(3, silent).fit(X, y, sample_weight=weight)
        assert model.weigher_.sample_weight_ is None


def test_a_weigher_without_weights_is_refused(problem):
    class Nothing(BaseEstimator):
        def fit(self, X, y):
            return self

    with pytest.raises(InvalidWeightsError, match="must leave a Weights as weights_"):
        WeightedKNeighborsClassifier(3, Nothing()).fit(*problem[:2])


def test_foreign_weights_are_refused(problem):
    X, y, _ = problem
    with pytest.raises(ForeignWeightsError, match="for 2 features; X has 6"):
        WeightedKNeighborsClassifier(3, Weights(feature_weights=[1, 2])).fit(X, y)
    with pytest.raises(ForeignWeightsError, match="belong to 2 training rows"):
        WeightedKNeighborsClassifier(3, Weights(votes=[1, 2])).fit(X, y)
    bound = Weights(votes=np.ones(len(X)), fingerprint=fingerprint(X))
    WeightedKNeighborsClassifier(3, bound).fit(X, y)
    with pytest.raises(ForeignWeightsError, match="other rows than X"):
        WeightedKNeighborsClassifier(3, bound).fit(X[::-1], y)
    per_class = Weights(feature_weights=np.ones((2, 6)), classes=[0, 1])
    with pytest.raises(ForeignWeightsError, match=r"also have \[2\]"):
        WeightedKNeighborsClassifier(3, per_class).fit(X, y)


def test_weights_per_class_follow_labels_not_positions():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array(["low", "high"])
    weights = Weights(feature_weights=[[1.0, 0.0], [0.0, 1.0]], classes=["low", "high"])
    distance, row = WeightedKNeighborsClassifier(2, weights).fit(X, y).kneighbors([[3.0, 5.0]])
    assert dict(zip(row[0].tolist(), distance[0].tolist(), strict=True)) == {0: 3.0, 1: 4.0}


def test_intervals_weigh_like_their_dense_copy():
    rng = RNG(0)
    X, y = rng.integers(0, 10, size=(90, 3)).astype(float), rng.integers(0, 2, size=90)
    table = IntervalTable(
        start=np.arange(0, 14, 2),
        low=[0, 6] * 6,
        high=[4, 9] * 6,
        weight=rng.random(12),
        n_features=3,
        normalize="instance",
        smoothing=0.02,
    )
    intervals = WeightedKNeighborsClassifier(5, Weights(intervals=table, classes=[0, 1])).fit(X, y)
    dense = WeightedKNeighborsClassifier(5, Weights(feature_weights=table.lookup(X, y))).fit(X, y)
    for got, expected in zip(intervals.kneighbors(X + 0.25), dense.kneighbors(X + 0.25), strict=True):
        assert got.tobytes() == expected.tobytes()


def test_explain_adds_up(problem):
    X, y, Q = problem
    names = [f"gene {j}" for j in range(6)]
    weights = Weights(feature_weights=[3, 1, 0, 2, 1, 1], votes=RNG(0).random(len(X)))
    model = WeightedKNeighborsClassifier(4, weights, weights="distance").fit(pd.DataFrame(X, columns=names), y)
    told = model.explain(pd.DataFrame(Q, columns=names)[:7])
    assert told.columns[:6].tolist() == ["query", "rank", "row", "label", "distance", "vote"]
    shares = told[[f"share of {name}" for name in names]]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares["share of gene 2"] == 0).all()
    row = model.kneighbors(pd.DataFrame(Q, columns=names)[:7], return_distance=False)
    assert told["row"].tolist() == row.ravel().tolist()
    assert (told["label"] == y[told["row"]]).all()
    first = told.loc[0].to_dict()
    expected = 3 * (Q[0, 0] - X[int(first["row"]), 0]) ** 2 / first["distance"] ** 2
    assert np.isclose(first["share of gene 0"], expected)
    votes = told.pivot_table(index="query", columns="label", values="vote", aggfunc="sum", fill_value=0)
    votes = votes.reindex(columns=model.classes_, fill_value=0)
    np.testing.assert_allclose(votes, model.predict_proba(pd.DataFrame(Q, columns=names)[:7]))


def test_explain_covers_categories_missing_values_scales_and_repetition():
    frame = pd.DataFrame({"colour": ["red", "blue", "red", None], "size": [1.0, 2.0, np.nan, 4.0]})
    model = WeightedKNeighborsClassifier(2, Weights(instance_scales=[1, 2, 1, 1])).fit(
        frame, [0, 1, 0, 1], sample_weight=[0.5, 1, 1, 2]
    )
    told = model.explain(pd.DataFrame({"colour": ["red"], "size": [1.0]}))
    assert told["row"].tolist() == [0, 1, 2, 3]  # half a row, so more than two neighbours were needed
    assert told["distance"].tolist() == [0.0, 2 * np.sqrt(2), 3.0, np.sqrt(10)]
    assert told["share of size"].tolist() == [0.0, 0.5, 1.0, 0.9]
    assert told["vote"].tolist() == [0.25, 0.5, 0.25, 0.0]
