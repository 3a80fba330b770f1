"""TuRF as the weigher of a k-NN, and around other estimators than weighers."""

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from weighbors import ReliefF, TuRF, WeightedKNeighborsClassifier
from weighbors.exceptions import InvalidDataError
from weighbors.weighers.turf import _ranked

X, Y = load_wine(return_X_y=True)
X = scale(X)


def test_a_knn_uses_the_features_of_all_rounds():
    weights = TuRF().fit(X, Y).weights_.feature_weights
    assert (weights > 0).all()  # all 13 help, and 12 of them are dropped on the way


def test_a_knn_with_it_is_as_right_as_one_without_weights():
    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=2, random_state=0)
    right = [
        cross_val_score(
            make_pipeline(StandardScaler(), WeightedKNeighborsClassifier(5, weigher)), X, Y, cv=folds
        ).mean()
        for weigher in (None, TuRF())
    ]
    assert right[1] > right[0] - 0.01


def test_noise_is_dropped_by_a_knn_with_it():
    rows, y = make_classification(150, 300, n_informative=5, n_redundant=0, n_clusters_per_class=1, random_state=0)
    right = [
        cross_val_score(WeightedKNeighborsClassifier(5, weigher), rows, y, cv=5).mean() for weigher in (None, TuRF())
    ]
    assert right[1] > right[0] + 0.05


def test_weights_are_those_of_the_last_round_where_they_keep_the_order():
    found = TuRF(ReliefF(5), share=0.3).fit(X, Y)
    first = ReliefF(5).fit(X, Y).feature_weights_
    dropped = found.round_ == 1
    np.testing.assert_allclose(found.feature_weights_[dropped], first[dropped])
    assert found.feature_weights_[dropped].max() < found.feature_weights_[~dropped].min()


@pytest.mark.parametrize(
    ("scores", "rounds", "wanted"),
    [
        ([0.3, 0.2, 0.1], [3, 2, 1], [0.3, 0.2, 0.1]),  # in order already
        ([0.1, 0.2, 0.4], [2, 1, 1], [0.1, 0.05, 0.1]),  # by a factor
        ([0.1, -0.3, 0.4], [2, 1, 1], [0.1, -0.3, 0.1]),  # what is worse than nothing stays so
        ([-0.1, 0.2, 0.1], [2, 1, 1], [-0.1, -0.1, -0.2]),  # below a feature that is worse than nothing
        ([0.0, 0.0, 0.0], [3, 2, 1], [0.0, 0.0, 0.0]),
    ],
)
def test_how_rounds_are_put_in_order(scores, rounds, wanted):
    found = _ranked(np.array(scores), np.array(rounds))
    np.testing.assert_allclose(found, wanted, atol=1e-8)
    if np.any(scores):
        assert found[np.array(rounds) == max(rounds)].min() > found[np.array(rounds) < max(rounds)].max()


@pytest.mark.parametrize(
    "estimator",
    [RandomForestClassifier(20, random_state=0), LogisticRegression(), Perceptron()],
    ids=lambda e: type(e).__name__,
)
def test_any_estimator_with_importances_or_coefficients_will_do(estimator):
    y = np.arange(200) % 2
    rows = np.random.default_rng(0).normal(size=(200, 12)) + (np.arange(12) < 2) * 2 * y[:, None]
    found = TuRF(estimator, n_features_to_select=2).fit(rows, y)
    assert found.get_support(indices=True).tolist() == [0, 1]
    words = TuRF(estimator).fit(X, np.array(["a", "b", "c"])[Y], sample_weight=np.ones(len(Y)))
    assert words.feature_weights_.shape == (13,)
    assert (words.feature_weights_ >= 0).all()


def test_what_says_nothing_of_features_is_refused():
    with pytest.raises(
        InvalidDataError, match="GaussianNB has none of feature_weights_, feature_importances_ and coef_"
    ):
        TuRF(GaussianNB()).fit(X, Y)

    class Broken(ReliefF):
        def fit(self, X, y):
            super().fit(X, y).feature_weights_[0] = np.nan
            return self

    with pytest.raises(InvalidDataError, match="one finite weight per feature"):
        TuRF(Broken()).fit(X, Y)
