"""`FeatureSelector`: features by the weights of any weigher, above a threshold and without stand-ins."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from weighbors import (
    SURF,
    ClassRelief,
    FeatureSelector,
    GradientWeights,
    IRelief,
    MultiSURF,
    MultiSURFStar,
    NCAWeights,
    Relief,
    ReliefF,
    RelievedF,
    RReliefF,
    Simba,
    SimbaMBIW,
    SURFStar,
    TuRF,
    WeightedKNeighborsClassifier,
    WeightedKNeighborsRegressor,
    Weights,
)
from weighbors.exceptions import FewGroupsWarning, InvalidDataError
from weighbors.weighers.redundancy.groups import FeatureGroups
from weighbors.weighers.selection import select_features

WEIGHERS = [Relief, RelievedF, ReliefF, SURF, SURFStar, MultiSURF, MultiSURFStar, TuRF, IRelief, ClassRelief, Simba,
            SimbaMBIW, NCAWeights, GradientWeights]  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoPositiveWeightWarning")


def table(n=60):
    """The columns 0, 3 and 5 tell the classes apart and are nearly the same, column 2 does so less well."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], n // 2)
    X = rng.normal(size=(n, 7))
    X[:, 0] += 2.5 * y
    X[:, 3] = X[:, 0] + 0.02 * rng.normal(size=n)
    X[:, 5] = -X[:, 0] + 0.02 * rng.normal(size=n)
    X[:, 2] += 1.5 * y
    return X, y


def small(kind, **options):
    return kind(random_state=0, **options) if "random_state" in kind().get_params() else kind(**options)


@pytest.mark.parametrize("kind", WEIGHERS)
def test_features_of_every_weigher_without_stand_ins_or_with_all_of_them(kind):
    X, y = table()
    plain = small(kind).fit(X, y)
    order = np.argsort(-plain.feature_weights_, kind="stable")
    twins = np.array([0, 3, 5])
    best = order[np.isin(order, twins)][0]
    others = order[~np.isin(order, twins)]
    dropped = FeatureSelector(small(kind), 3, redundancy="drop").fit(X, y)
    np.testing.assert_array_equal(dropped.feature_weights_, plain.feature_weights_)
    expected = sorted([best, *others], key=lambda j: (-plain.feature_weights_[j], j))[:3]
    assert sorted(expected) == dropped.get_support(indices=True).tolist()
    assert len(set(dropped.feature_groups_[twins])) == 1
    grouped = FeatureSelector(small(kind), 2, redundancy="group").fit(X, y)
    chosen = grouped.get_support(indices=True).tolist()
    assert len(set(grouped.feature_groups_[chosen])) == 2
    assert set(twins) <= set(chosen) or not set(twins) & set(chosen)
    assert grouped.transform(X).shape[1] == len(chosen)


def test_numeric_targets():
    X, _ = table()
    numbers = X[:, 0] + X[:, 2]
    found = FeatureSelector(RReliefF(5), 2, redundancy="drop").fit(X, numbers)
    chosen = found.get_support(indices=True)
    assert np.isin([0, 3, 5], chosen).sum() == 1
    assert 2 in chosen
    model = WeightedKNeighborsRegressor(3, FeatureSelector(RReliefF(5), 2, redundancy="drop")).fit(X, numbers)
    expected = RReliefF(5).fit(X, numbers).feature_weights_[chosen]
    alone = WeightedKNeighborsRegressor(3, Weights(expected)).fit(X[:, chosen], numbers)
    np.testing.assert_array_equal(model.predict(X + 0.1), alone.predict(X[:, chosen] + 0.1))


def test_weights_of_the_selected_features_for_a_knn():
    X, y = table()
    found = FeatureSelector(ReliefF(), 2).fit(X, y)
    same = ReliefF(n_features_to_select=2).fit(X, y)
    assert found.weights_.feature_mask.tolist() == found.support_.tolist() == same.support_.tolist()
    model = WeightedKNeighborsClassifier(3, FeatureSelector(ReliefF(), 2)).fit(X, y)
    np.testing.assert_array_equal(
        model.predict_proba(X + 0.1), WeightedKNeighborsClassifier(3, same.weights_).fit(X, y).predict_proba(X + 0.1)
    )
    np.testing.assert_array_equal(found.feature_importances_, np.maximum(same.feature_weights_, 0))


def test_what_a_selector_takes():
    X, y = table()
    forest = RandomForestClassifier(20, random_state=0)
    found = FeatureSelector(forest, 2, redundancy="drop").fit(X, y)
    np.testing.assert_array_equal(found.feature_weights_, forest.fit(X, y).feature_importances_)
    assert not hasattr(found, "weights_")
    weight = np.arange(1.0, 61.0)
    weighed = FeatureSelector(ReliefF(), 2).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(weighed.feature_weights_, ReliefF().fit(X, y, sample_weight=weight).feature_weights_)
    with pytest.raises(InvalidDataError, match="GaussianNB has none of feature_weights_"):
        FeatureSelector(GaussianNB()).fit(X, y)


def test_groups_are_forgotten_by_a_fit_without():
    X, y = table()
    selector = FeatureSelector(ReliefF(), redundancy="drop").fit(X, y)
    assert selector.weights_.feature_mask.sum() == 5
    assert selector.transform(X).shape == (60, 5)
    selector.set_params(redundancy=None).fit(X, y)
    assert not hasattr(selector, "feature_groups_")
    assert selector.weights_.feature_mask.all()


def test_threshold():
    X, y = table()
    weights = ReliefF().fit(X, y).feature_weights_
    assert FeatureSelector(ReliefF(), threshold=0.0).fit(X, y).support_.sum() == (weights > 0).sum()
    limit = float(np.sort(weights[[1, 2, 4, 6]])[-1]) - 1e-9  # below that of feature 2
    assert FeatureSelector(ReliefF(), threshold=limit, redundancy="drop").fit(X, y).support_.sum() == 2
    assert FeatureSelector(ReliefF(), threshold=limit, redundancy="group").fit(X, y).support_.sum() == 4
    for redundancy in (None, "drop"):
        with pytest.raises(InvalidDataError, match="no feature has a weight above threshold=9"):
            FeatureSelector(ReliefF(), threshold=9.0, redundancy=redundancy).fit(X, y)


def test_more_features_than_groups_and_than_features():
    X, y = table()
    with pytest.warns(FewGroupsWarning, match="n_features=6 is more than the 5 groups"):
        assert FeatureSelector(ReliefF(), 6, redundancy="drop").fit(X, y).support_.sum() == 5
    with pytest.raises(InvalidDataError, match="n_features=8 is more than the 7 features"):
        FeatureSelector(ReliefF(), 8, redundancy="drop").fit(X, y)


def test_categories_missing_values_and_constant_columns():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    frame.loc[::7, "a"] = np.nan
    frame["g"] = 1.0
    frame["colour"] = pd.Categorical(np.where(y == 1, "red", "blue"))
    frame["name"] = pd.Categorical(np.where(y == 1, "Red", "Blue"))
    found = FeatureSelector(ReliefF(), 3, redundancy="drop").fit(frame, y)
    groups = dict(zip(frame.columns, found.feature_groups_, strict=True))
    assert groups["colour"] == groups["name"]
    assert groups["a"] == groups["d"] == groups["f"]
    assert found.support_.sum() == 3
    assert np.isfinite(found.feature_weights_).all()
    one = FeatureSelector(ReliefF(), redundancy="drop").fit(X[:, :1], y)
    assert one.support_.all()
    assert one.feature_groups_.tolist() == [0]


def test_selection_by_hand():
    groups = FeatureGroups(np.array([0, 1, 0, 2, 1]), 0.7, None)
    weights = np.array([0.1, 0.5, 0.4, 0.4, 0.5])
    assert select_features(weights, number=2).nonzero()[0].tolist() == [1, 4]
    assert select_features(weights, number=2, groups=groups).nonzero()[0].tolist() == [1, 2]
    assert select_features(weights, number=2, groups=groups, whole_groups=True).nonzero()[0].tolist() == [0, 1, 2, 4]
    assert select_features(weights, None, threshold=0.4, groups=groups).nonzero()[0].tolist() == [1]
