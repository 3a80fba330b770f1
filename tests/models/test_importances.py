"""``feature_importances_``, by which scikit-learn's selectors rank the features."""

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.feature_selection import RFE, RFECV, SelectFromModel
from sklearn.preprocessing import minmax_scale

from weighbors import IB1, WIBK, ClassRelief, IBk, IntervalTable, ReliefF, WeightedKNeighborsClassifier, Weights

X, Y = load_wine(return_X_y=True)
X = minmax_scale(X)


def importances(weights, rows=((0.0, 0.0), (1.0, 1.0), (2.0, 0.5), (3.0, 4.0))):
    model = WeightedKNeighborsClassifier(1, weights).fit(np.array(rows), [0, 1, 0, 1])
    over = WeightedKNeighborsClassifier(1, weights).fit(da.from_array(np.array(rows), chunks=(2, 2)), [0, 1, 0, 1])
    assert over.feature_importances_.tolist() == model.feature_importances_.tolist()
    return model.feature_importances_.tolist()


def test_the_weights_in_use():
    assert importances(None) == [1.0, 1.0]
    assert importances(Weights(feature_weights=[3.0, 0.5])) == [3.0, 0.5]
    assert importances(Weights(feature_weights=[3.0, 0.5], feature_mask=[True, False])) == [3.0, 0.0]
    assert importances(Weights(feature_mask=[False, True])) == [0.0, 1.0]
    assert importances(Weights(feature_weights=[[4.0, 0.0], [2.0, 1.0]], classes=[0, 1])) == [3.0, 0.5]
    each = [[1.0, 2.0], [3.0, 2.0], [8.0, 2.0], [9.0, 1.0]]
    assert importances(Weights(feature_weights=each)) == [5.25, 1.75]
    assert importances(Weights(feature_weights=each, instance_mask=[True, True, False, False])) == [2.0, 2.0]


def test_intervals_are_averaged_within_classes_then_over_them():
    table = IntervalTable(
        start=[0, 2, 3, 4, 5], low=[0, 2, 0, 0, 0], high=[1, 3, 9, 9, 9], weight=[1, 3, 4, 6, 0], n_features=2
    )
    assert importances(Weights(intervals=table, classes=[0, 1])) == [4.0, 2.0]


def test_ranges_are_no_importances():
    rows = [[0.0, 5.0, 1.0], [1.0, 5.0, 900.0], [2.0, 5.0, 3.0]]
    for model in (IBk(1), IB1()):
        assert model.fit(rows, [0, 1, 1]).feature_importances_.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "model",
    [
        WeightedKNeighborsClassifier(5, ReliefF()),
        WeightedKNeighborsClassifier(5, ClassRelief()),
        WIBK(5, discretize="mdlp"),
        IBk(5),
        WeightedKNeighborsClassifier(),
    ],
    ids=["ReliefF", "ClassRelief", "WIBK", "IBk", "plain"],
)
def test_selectors_need_no_getter(model):
    chosen = RFECV(model, step=4, cv=3).fit(X, Y)
    assert chosen.score(X, Y) > 0.9
    assert RFE(model, n_features_to_select=4).fit(X, Y).support_.sum() == 4
    heavy = SelectFromModel(model, max_features=3, threshold=-np.inf).fit(X, Y).get_support()
    expected = np.argsort(-model.fit(X, Y).feature_importances_, kind="mergesort")[:3]
    assert np.flatnonzero(heavy).tolist() == np.sort(expected).tolist()


def test_the_heaviest_features_of_iris_are_its_petals():
    rows, labels = load_iris(return_X_y=True)
    for model in (WeightedKNeighborsClassifier(5, ReliefF()), WIBK(5, discretize="mdlp")):
        assert set(np.argsort(-model.fit(rows, labels).feature_importances_)[:2]) == {2, 3}
