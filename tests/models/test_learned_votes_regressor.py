"""The regressor with learned votes. What it shares with the classifier is tested there."""

import pickle

import numpy as np
import pandas as pd
import pytest
from naive import learned_votes as naive
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import scale

from weighbors import LearnedVotesRegressor, Weights
from weighbors.exceptions import InvalidDataError, InvalidWeightsError

MODES = {
    "all rows": {"n_neighbors": None},
    "nearest rows": {"n_neighbors": 7},
    "nearest rows, p = 2": {"n_neighbors": 9, "p": 2},
    "all rows, p = 2": {"n_neighbors": None, "p": 2},
    "learned weights": {"weigher": "auto"},
}


def model_of(mode, **more):
    return LearnedVotesRegressor(**{"weigher": None, "random_state": 0, **MODES[mode], **more})


def table(n=60, seed=0, outputs=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = 100.0 + 7 * np.sin(X[:, 0]) + 3 * X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    return X, y if outputs is None else np.column_stack([y * 10.0**t + t * X[:, 0] for t in range(outputs)])


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("outputs", [None, 3])
def test_predictions_are_those_of_the_book(outputs, p):
    X, y = table(40, outputs=outputs)
    s = np.random.default_rng(0).uniform(1.0, 3.0, 40)
    model = LearnedVotesRegressor(None, None, p=p, width=1.5, ridge=0.1).fit(X, y, s)
    Y = y.reshape(40, -1)
    K = naive.kernel(naive.all_distances(X, p=p), 1.5)
    alpha = naive.ridge_votes(K, Y, 0.1, s)
    np.testing.assert_allclose(model.alpha_.reshape(40, -1), alpha, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, naive.mean_of(Y, s)[0] if outputs is None else naive.mean_of(Y, s))
    left_out = naive.left_out_scores(K, Y, 0.1, s)
    np.testing.assert_allclose(model.loo_predictions_.reshape(40, -1), left_out, rtol=1e-8)
    expected = naive.mean_of(Y, s) + naive.kernel(naive.distances(X[:5] + 0.1, X, p=p), 1.5) @ alpha
    found = model.predict(X[:5] + 0.1)
    np.testing.assert_allclose(found.reshape(5, -1), expected, rtol=1e-9)
    assert found.shape == ((5,) if outputs is None else (5, 3))


def test_nearest_rows_are_those_of_the_book():
    X, y = table(40, outputs=2)
    near = LearnedVotesRegressor(6, None, width=1.0, ridge=0.1).fit(X, y)
    np.testing.assert_allclose(
        near.predict(X[:6] + 0.1), naive.local_scores(X[:6] + 0.1, X, y, 6, 1.0, 0.1, p=1), rtol=1e-9
    )


def test_it_is_a_good_regressor():
    X, y = load_diabetes(return_X_y=True)
    for options in ({}, {"n_neighbors": 60}):
        model = LearnedVotesRegressor(weigher=None, **options)
        assert cross_val_score(model, scale(X), y, cv=3).mean() > 0.4


@pytest.mark.parametrize("mode", ["all rows", "all rows, p = 2", "nearest rows", "learned weights"])
def test_the_order_of_rows_changes_nothing(mode):
    X, y = table(80)
    order = np.random.default_rng(1).permutation(80)
    one, other = model_of(mode).fit(X, y), model_of(mode).fit(X[order], y[order])
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)
    np.testing.assert_allclose(one.loo_predictions_[order], other.loo_predictions_, rtol=1e-9)


@pytest.mark.parametrize("weigher", [None, "auto"])
def test_whole_weights_are_repetitions(weigher):
    X, y = table(45)
    s = np.random.default_rng(0).integers(1, 4, 45)
    rows = np.repeat(np.arange(45), s)
    one = LearnedVotesRegressor(None, weigher, random_state=0).fit(X, y, s)
    often = LearnedVotesRegressor(None, weigher, random_state=0).fit(X[rows], y[rows])
    np.testing.assert_allclose(one.predict(X), often.predict(X), rtol=1e-8)
    np.testing.assert_allclose(one.loo_predictions_[rows], often.loo_predictions_, rtol=1e-8)
    assert one.loo_score_ == pytest.approx(often.loo_score_)


@pytest.mark.parametrize("mode", MODES)
def test_a_row_of_weight_zero_is_as_if_it_were_not_there(mode):
    X, y = table(50)
    weight = np.where(np.isin(np.arange(50), [0, 7, 8, 30]), 0.0, 1.0)
    kept = np.flatnonzero(weight)
    one, other = model_of(mode).fit(X, y, weight), model_of(mode).fit(X[kept], y[kept])
    assert (one.predict(X) == other.predict(X)).all()
    np.testing.assert_array_equal(one.loo_rows_, kept[other.loo_rows_])
    if one.alpha_ is not None:
        assert one.alpha_.shape == (50,)
        np.testing.assert_array_equal(one.alpha_[kept], other.alpha_)
    told = one.explain(X[:2])
    rows = told[told["voter"] == "row"]
    assert (rows["label"].to_numpy(float) == y[rows["row"].to_numpy()]).all()


@pytest.mark.parametrize("top", [None, 2])
@pytest.mark.parametrize("outputs", [None, 1, 3])
@pytest.mark.parametrize("mode", MODES)
def test_explanations_add_up_to_the_predictions(mode, outputs, top):
    X, y = table(40, outputs=outputs)
    model = model_of(mode).fit(X, y)
    told = model.explain(X[:4] + 0.1, top)
    names = ["vote"] if outputs is None else [f"vote for output {t}" for t in range(outputs)]
    sums = told.groupby("query")[names].sum().to_numpy()
    np.testing.assert_allclose(sums, model.predict(X[:4] + 0.1).reshape(4, -1), rtol=1e-9)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("value", [0.0, 0.1, -1e300])
def test_constant_targets_are_predicted(mode, value):
    X, _ = table(40)
    model = model_of(mode).fit(X, np.full(40, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-9)
    several = model_of(mode).fit(X, np.column_stack([np.full(40, value), X[:, 0]]))
    np.testing.assert_allclose(several.predict(X)[:, 0], value, rtol=1e-9)


@pytest.mark.parametrize("mode", ["all rows", "nearest rows"])
@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e155, 1e300])
def test_the_unit_of_the_targets_is_only_a_factor(mode, factor):
    X, y = table(40)
    plain, other = model_of(mode).fit(X, y), model_of(mode).fit(X, y * factor)
    np.testing.assert_allclose(other.predict(X) / factor, plain.predict(X), rtol=1e-8)
    assert other.loo_score_ == pytest.approx(plain.loo_score_)


def test_outputs_of_different_units_count_alike():
    X, y = table(60, outputs=2)
    one = LearnedVotesRegressor(None, None).fit(X, y)
    other = LearnedVotesRegressor(None, None).fit(X, y * [1.0, 1e6])
    assert (one.width_, one.ridge_) == (other.width_, other.ridge_)


def test_constant_features_and_many_equal_rows():
    rng = np.random.default_rng(0)
    y = rng.normal(size=450)
    model = LearnedVotesRegressor(weigher=None).fit(np.ones((450, 2)), y)
    assert model.predict(np.ones((1, 2))) == pytest.approx(y.mean(), abs=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_frames_sparse_rows_and_pickles(mode):
    X, y = table(50)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(d=np.where(X[:, 3] > 0, "u", "v"))
    model = model_of(mode).fit(frame, pd.Series(y))
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(frame) == model.predict(frame)).all()
    assert again.explain(frame[:2]).equals(model.explain(frame[:2]))
    assert (clone(model).fit(frame, y).predict(frame) == model.predict(frame)).all()
    thin = np.where(np.abs(X) < 0.5, 0.0, X)
    np.testing.assert_allclose(
        model_of(mode).fit(sparse.csr_matrix(thin), y).predict(sparse.csr_matrix(thin)),
        model_of(mode).fit(thin, y).predict(thin),
        rtol=1e-5,
    )
    single = model_of(mode).fit(X.astype(np.float32), y).predict(X.astype(np.float32))
    np.testing.assert_allclose(single, model_of(mode).fit(X, y).predict(X), rtol=1e-3)


@pytest.mark.parametrize("mode", MODES)
def test_two_rows_are_enough(mode):
    assert np.isfinite(model_of(mode).fit([[0.0], [1.0]], [1.0, 2.0]).predict([[0.5]])).all()


def test_given_weights():
    X, y = table(50)
    a = np.array([2.0, 0.5, 0.0, 1.0])
    np.testing.assert_allclose(
        LearnedVotesRegressor(None, Weights(feature_weights=a)).fit(X, y).predict(X),
        LearnedVotesRegressor(None, None).fit(X * a, y).predict(X * a),
        rtol=1e-9,
    )
    with pytest.raises(InvalidWeightsError, match="same in both directions"):
        LearnedVotesRegressor(weigher=Weights(instance_scales=np.linspace(1, 2, 50))).fit(X, y)


def test_bad_data_are_refused(monkeypatch):
    X, y = table(20)
    with pytest.raises(InvalidDataError, match="at least 2 rows"):
        LearnedVotesRegressor().fit(X[:1], y[:1])
    with pytest.raises(InvalidDataError, match="at least 2 rows"):
        LearnedVotesRegressor().fit(X, y, np.arange(20) == 3)
    with pytest.raises(InvalidDataError, match=r"shape \(n_samples, n_outputs\)|shape \(n_samples,\)"):
        LearnedVotesRegressor().fit(X, np.zeros((20, 2, 2)))
    monkeypatch.setattr("weighbors.votes.fit.available_bytes", lambda: 1000)
    with pytest.raises(InvalidDataError, match="n_neighbors=100"):
        LearnedVotesRegressor(weigher=None).fit(X, y)
