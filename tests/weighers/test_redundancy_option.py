"""The options ``redundancy`` and ``redundancy_threshold`` of all weighers that select features."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from weighbors import (
    SURF,
    ClassRelief,
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
def test_every_weigher_drops_features_or_selects_groups(kind):
    X, y = table()
    plain = small(kind).fit(X, y)
    assert not hasattr(plain, "feature_groups_")
    order = np.argsort(-plain.feature_weights_, kind="stable")
    twins = np.array([0, 3, 5])
    best = order[np.isin(order, twins)][0]
    others = order[~np.isin(order, twins)]
    dropped = small(kind, n_features_to_select=3, redundancy="drop").fit(X, y)
    if not isinstance(dropped, TuRF):  # which stops at three features, so that it weighs them otherwise
        expected = sorted([best, *others], key=lambda j: (-plain.feature_weights_[j], j))[:3]
        assert sorted(expected) == dropped.get_support(indices=True).tolist()
    assert np.isin(twins, dropped.get_support(indices=True)).sum() <= 1
    assert len(set(dropped.feature_groups_[twins])) == 1
    assert dropped.redundancy_threshold_ == 0.7
    grouped = small(kind, n_features_to_select=2, redundancy="group").fit(X, y)
    chosen = grouped.get_support(indices=True).tolist()
    assert len(set(grouped.feature_groups_[chosen])) == 2
    assert set(twins) <= set(chosen) or not set(twins) & set(chosen)
    assert grouped.transform(X).shape[1] == len(chosen)


def test_numeric_targets():
    X, _ = table()
    found = RReliefF(5, 2, redundancy="drop").fit(X, X[:, 0] + X[:, 2]).get_support(indices=True)
    assert np.isin([0, 3, 5], found).sum() == 1
    assert 2 in found


def test_groups_of_a_weigher_are_forgotten_when_it_is_fitted_without():
    X, y = table()
    weigher = ReliefF(redundancy="drop").fit(X, y)
    assert weigher.weights_.feature_mask.sum() == 5
    assert weigher.transform(X).shape == (60, 5)
    weigher.set_params(redundancy=None).fit(X, y)
    assert not hasattr(weigher, "feature_groups_")
    assert weigher.weights_.feature_mask is None
    assert clone(ReliefF(redundancy="group", redundancy_threshold=0.9)).redundancy_threshold == 0.9


def test_thresholds_of_weights_and_of_similarity():
    X, y = table()
    weights = ReliefF().fit(X, y).feature_weights_
    limit = float(np.sort(weights[[1, 2, 4, 6]])[-1]) - 1e-9  # below that of feature 2
    assert ReliefF(threshold=limit, redundancy="drop").fit(X, y).support_.sum() == 2
    assert ReliefF(threshold=limit, redundancy="group").fit(X, y).support_.sum() == 4
    with pytest.raises(InvalidDataError, match="no feature has a weight above"):
        ReliefF(threshold=9.0, redundancy="drop").fit(X, y)
    apart = ReliefF(redundancy="drop", redundancy_threshold=1.0).fit(X, y)
    assert apart.support_.all()
    assert apart.redundancy_threshold_ == 1.0


def test_more_features_than_groups_and_than_features():
    X, y = table()
    with pytest.warns(FewGroupsWarning, match="n_features_to_select=6 is more than the 5 groups"):
        assert ReliefF(n_features_to_select=6, redundancy="drop").fit(X, y).support_.sum() == 5
    with pytest.raises(InvalidDataError, match="more than the 7 features"):
        ReliefF(n_features_to_select=8, redundancy="drop").fit(X, y)


def test_categories_missing_values_and_constant_columns():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    frame.loc[::7, "a"] = np.nan
    frame["g"] = 1.0
    frame["colour"] = pd.Categorical(np.where(y == 1, "red", "blue"))
    frame["name"] = pd.Categorical(np.where(y == 1, "Red", "Blue"))
    found = ReliefF(n_features_to_select=3, redundancy="drop").fit(frame, y)
    groups = dict(zip(frame.columns, found.feature_groups_, strict=True))
    assert groups["colour"] == groups["name"]
    assert groups["a"] == groups["d"] == groups["f"]
    assert found.support_.sum() == 3
    assert np.isfinite(found.feature_weights_).all()
    one = ReliefF(redundancy="drop").fit(X[:, :1], y)
    assert one.support_.all()
    assert one.feature_groups_.tolist() == [0]


def test_selection_by_hand():
    groups = FeatureGroups(np.array([0, 1, 0, 2, 1]), 0.7, None)
    weights = np.array([0.1, 0.5, 0.4, 0.4, 0.5])
    assert select_features(weights, number=2).nonzero()[0].tolist() == [1, 4]
    assert select_features(weights, number=2, groups=groups).nonzero()[0].tolist() == [1, 2]
    assert select_features(weights, number=2, groups=groups, whole_groups=True).nonzero()[0].tolist() == [0, 1, 2, 4]
    assert select_features(weights, threshold=0.4, groups=groups).nonzero()[0].tolist() == [1]
