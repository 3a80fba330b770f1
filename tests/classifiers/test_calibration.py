"""Calibrated probabilities of the k-NN: positive, in the order of the votes, and of lower log-loss."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from weighbors import IBk, ReliefF, WeightedKNeighborsClassifier
from weighbors.classifiers import choice
from weighbors.exceptions import InvalidDataError
from weighbors.kernel import fit_calibration

RNG = np.random.default_rng


def scaled(load=load_breast_cancer):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def credit_like(n=690):
    """Numbers and categories of which few tell the class, 15 % of the labels wrong, as hard as credit-approval."""
    rng = RNG(0)
    truth = rng.integers(0, 2, n)
    X = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
    X["a"] += truth
    X["b"] += 0.5 * truth
    for j, name in enumerate("uvwxyz"):
        signal = rng.random(n) < (0.7 if j == 0 else 0.1)
        X[name] = pd.Categorical(np.where(signal, truth, rng.integers(0, 2 + j, n)).astype(str))
    return X, np.where(rng.random(n) < 0.15, 1 - truth, truth)


@pytest.mark.parametrize("options", [{}, {"weights": "distance"}, {"n_neighbors": 1}, {"weigher": ReliefF(), "p": 1}])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_probabilities_are_positive_and_keep_the_order(load, options):
    X, y = scaled(load)
    train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
    plain = WeightedKNeighborsClassifier(**options).fit(X[train], y[train])
    model = WeightedKNeighborsClassifier(**options, calibrate="loo").fit(X[train], y[train])
    shares, probability = plain.predict_proba(X[test]), model.predict_proba(X[test])
    assert (probability > 0).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-12)
    larger = shares[:, :, None] > shares[:, None, :] + 1e-12
    assert (probability[:, :, None] > probability[:, None, :])[larger].all()
    np.testing.assert_array_equal(model.predict(X[test]), plain.predict(X[test]))
    np.testing.assert_array_equal(model.predict(X[test]), model.classes_[probability.argmax(axis=1)])
    if load is load_breast_cancer:  # On iris, hardly a row is wrong, and sure shares cost nothing.
        assert log_loss(y[test], probability) < log_loss(y[test], shares)


def test_the_slope_is_that_of_the_shares_without_the_row_itself():
    X, y = scaled()
    plain = WeightedKNeighborsClassifier().fit(X, y)
    model = WeightedKNeighborsClassifier(calibrate="loo").fit(X, y)
    assert model.calibration_ == fit_calibration(plain.predict_proba(None), y)
    assert plain.calibration_ is None
    slopes = np.exp(np.linspace(-1, 4, 60))
    shares = plain.predict_proba(None)
    losses = [log_loss(y, (e := np.exp(t * shares)) / e.sum(axis=1, keepdims=True)) for t in slopes]
    assert model.calibration_.log_loss <= min(losses) + 1e-3
    weight = RNG(0).integers(1, 4, len(y)).astype(float)
    weighed = WeightedKNeighborsClassifier(calibrate="loo").fit(X, y, weight)
    shares = WeightedKNeighborsClassifier().fit(X, y, weight).predict_proba(None)
    assert weighed.calibration_ == fit_calibration(shares, y, weight)


def test_log_loss_on_a_table_like_credit_approval():
    X, y = credit_like()
    plain, calibrated = [], []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        for losses, calibrate in ((plain, None), (calibrated, "loo")):
            model = WeightedKNeighborsClassifier(5, calibrate=calibrate).fit(X.iloc[train], y[train])
            losses.append(log_loss(y[test], model.predict_proba(X.iloc[test])))
    assert np.mean(plain) > 0.9
    assert np.mean(calibrated) < 0.65  # of equal probabilities it is 0.69


def test_of_large_tables_drawn_rows_are_left_out(monkeypatch):
    X, y = scaled()
    monkeypatch.setattr(choice, "MOST_ROWS", 100)
    drawn = choice.draw_rows(len(X))
    model = WeightedKNeighborsClassifier(calibrate="loo").fit(X, y)
    shares = WeightedKNeighborsClassifier().fit(X, y).predict_proba(None)
    assert model.calibration_ == fit_calibration(shares[drawn], y[drawn])


def test_threads_change_no_bit():
    X, y = scaled()
    one, two = (WeightedKNeighborsClassifier(calibrate="loo", n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert one.calibration_ == two.calibration_
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_partial_fit_fits_it_again():
    X, y = scaled()
    model = WeightedKNeighborsClassifier(calibrate="loo").partial_fit(X[:200], y[:200], classes=[0, 1])
    first = model.calibration_
    model.partial_fit(X[200:], y[200:])
    assert first != model.calibration_ == WeightedKNeighborsClassifier(calibrate="loo").fit(X, y).calibration_


def test_too_few_rows_are_refused_and_change_nothing():
    X, y = scaled()
    with pytest.raises(InvalidDataError, match="only 4 training rows besides the query itself"):
        WeightedKNeighborsClassifier(5, calibrate="loo").fit(X[15:20], y[15:20])
    model = WeightedKNeighborsClassifier(3, calibrate="loo").fit(X[:50], y[:50])
    before = model.predict_proba(X)
    with pytest.raises(InvalidDataError, match="n_neighbors=100"):
        model.set_params(n_neighbors=100).partial_fit(X[50:60], y[50:60])
    assert model.n_samples_fit_ == 50
    np.testing.assert_array_equal(model.set_params(n_neighbors=3).predict_proba(X), before)


def test_ties_of_votes():
    """With vote_ties="nearest", the predicted class has the largest probability, maybe together with others."""
    rng = RNG(0)
    X, y = rng.integers(0, 5, size=(60, 2)).astype(float), rng.integers(0, 4, 60)
    model = WeightedKNeighborsClassifier(4, vote_ties="nearest", calibrate="loo").fit(X, y)
    Q = rng.integers(0, 5, size=(50, 2)) + 0.3
    probability, label = model.predict_proba(Q), model.predict(Q)
    np.testing.assert_array_equal(probability[np.arange(50), label], probability.max(axis=1))
    assert (probability.argmax(axis=1) != label).any()


def test_parameters():
    model = WeightedKNeighborsClassifier(calibrate="loo")
    assert clone(model).get_params()["calibrate"] == "loo"
    assert "calibrate" not in IBk().get_params()
    X, y = scaled()
    assert IBk().fit(X, y).calibration_ is None
