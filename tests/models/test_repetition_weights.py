"""``sample_weight`` as repetition: where no neighbour has a vote, where the weights are small, inside boosting."""

import dask.array as da
import numpy as np
import pytest
from imblearn.ensemble import RUSBoostClassifier
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.semi_supervised import SelfTrainingClassifier

from weighbors import IB1, LWL, WIBK, IBk, RepresentativeIntervals, WeightedKNeighborsClassifier, Weights
from weighbors.exceptions import InvalidDataError, NoVoteWarning

#: Made with k neighbours whose votes fall to 0 with distance.
FALLING = {
    "k-NN": lambda k: WeightedKNeighborsClassifier(k, weights="complement"),
    "k-NN, nearest": lambda k: WeightedKNeighborsClassifier(k, weights="complement", vote_ties="nearest"),
    "k-NN, city-block": lambda k: WeightedKNeighborsClassifier(k, weights="complement", p=1),
    "k-NN, a function": lambda k: WeightedKNeighborsClassifier(k, weights=lambda d: np.maximum(0, 1 - d)),
    "IBk, all ties": lambda k: IBk(k, weights="similarity"),
    "IBk, ties by index": lambda k: IBk(k, weights="similarity", ties="index"),
}


def blocks(X):
    """The rows in blocks, which all models of ``FALLING`` that are no IBk read, too."""
    return da.from_array(np.asarray(X), chunks=(10, np.shape(X)[1]))


@pytest.mark.parametrize("name", FALLING)
def test_where_no_neighbour_has_a_vote_sample_weights_decide(name):
    X, y, far = np.array([[0.0], [10.0], [20.0], [30.0]]), np.array([1, 0, 0, 1]), [[-500.0]]
    model = FALLING[name](2).fit(X, y, sample_weight=[2, 1, 1, 1])
    repeated = FALLING[name](2).fit(np.repeat(X, [2, 1, 1, 1], axis=0), np.repeat(y, [2, 1, 1, 1]))
    with pytest.warns(NoVoteWarning, match="of 1 queries.*by their sample weights alone"):
        assert model.predict(far).tolist() == [1]
    with pytest.warns(NoVoteWarning, match="counted equally"):
        assert repeated.predict(far).tolist() == [1]
    with pytest.warns(NoVoteWarning):
        assert model.predict_proba(far).tolist() == [[0.0, 1.0]]
    with pytest.warns(NoVoteWarning):
        told = model.explain(far)
    assert told.groupby("label")["vote"].sum().get(1) == 1.0  # the row beyond k's share has no vote


@pytest.mark.parametrize("name", FALLING)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoVoteWarning")
def test_integer_weights_equal_repeated_rows_near_and_far(name, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.random((40, 2)), rng.integers(0, 3, size=40)
    repeats = rng.integers(0, 4, size=40)
    Q = np.concatenate([rng.random((20, 2)), 50 + rng.random((20, 2))])
    for k in (1, 3, 7):
        given = X if name.startswith("IBk") else blocks(X)
        weighted = FALLING[name](k).fit(given, y, sample_weight=repeats)
        repeated = FALLING[name](k).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
        np.testing.assert_allclose(weighted.predict_proba(Q), repeated.predict_proba(Q), rtol=1e-12)
        np.testing.assert_array_equal(weighted.predict(Q), repeated.predict(Q))
        told = weighted.explain(Q).pivot_table("vote", "query", "label", aggfunc="sum", fill_value=0.0)
        told = told.reindex(columns=weighted.classes_, fill_value=0.0)
        np.testing.assert_allclose(told.to_numpy(), weighted.predict_proba(Q), atol=1e-12)


def test_class_weight_decides_too_and_so_do_rows_without_votes_of_their_own():
    X, y = np.array([[0.0], [10.0], [20.0], [30.0]]), np.array([1, 0, 0, 1])
    model = WeightedKNeighborsClassifier(2, weights="complement", class_weight={0: 1, 1: 2}).fit(X, y)
    with pytest.warns(NoVoteWarning):
        assert model.predict_proba([[-50.0]]).tolist() == [[0.0, 1.0]]
    silent = WeightedKNeighborsClassifier(2, Weights(votes=[0.0, 0.0, 1.0, 1.0])).fit(
        X, y, sample_weight=[1.5, 1, 1, 1]
    )
    with pytest.warns(NoVoteWarning):
        assert silent.predict_proba([[-50.0]]).tolist() == [[0.25, 0.75]]


def test_a_neighbour_beyond_the_share_of_k_has_no_vote():
    X, y = np.arange(12.0)[:, None], np.array([0] * 10 + [1, 1])
    tenths = np.r_[np.full(10, 0.1), 1.0, 1.0]  # ten tenths, summed one by one, miss 1 by a bit
    silent = Weights(votes=[0.0] * 10 + [1.0, 1.0])
    with pytest.warns(NoVoteWarning):
        assert WeightedKNeighborsClassifier(1, silent).fit(X, y, tenths).predict([[-1.0]]).tolist() == [0]
    infinite = WeightedKNeighborsClassifier(2, weights=lambda d: np.where(d > 5, np.inf, 1.0))
    few = np.array([[0.0], [1.0], [9.0], [9.5]])
    assert infinite.fit(few, [0, 0, 1, 1], [0.5, 2, 1, 1]).predict([[0.0]]).tolist() == [0]


def test_small_weights_are_scaled_to_a_mean_of_one():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).random(len(X)) + 0.1
    expected = WeightedKNeighborsClassifier(5).fit(X, y, weight / weight.mean()).predict_proba(X)
    for total in (1.0, 4.999, 5.0, 1e-300):
        small = weight / weight.sum() * total
        for given in (X, blocks(X)):
            model = WeightedKNeighborsClassifier(5).fit(given, y, small)
            np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
    plain = WeightedKNeighborsClassifier(1).fit(X, y)
    one = WeightedKNeighborsClassifier(1).fit(X, y, np.full(150, 1 / 150))  # the sum is 1 only up to rounding
    np.testing.assert_array_equal(one.predict_proba(X), plain.predict_proba(X))


def test_a_weigher_learns_from_the_scaled_weights():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).random(len(X)) + 0.1
    model = WeightedKNeighborsClassifier(5, RepresentativeIntervals(discretize="mdlp"))
    for given in (X, blocks(X)):
        small = model.fit(given, y, weight / weight.sum()).weights_.intervals
        scaled = model.fit(given, y, weight / weight.mean()).weights_.intervals
        np.testing.assert_allclose(small.weight, scaled.weight, rtol=1e-9)


def test_whole_numbers_are_never_scaled():
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 1, 1])
    model = WeightedKNeighborsClassifier(5).fit(X, y, sample_weight=[2, 1, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[0.4, 0.6]])  # all five repetitions
    with pytest.raises(InvalidDataError, match="n_neighbors=6.*only 4 training rows.*sum to 5"):
        model.set_params(n_neighbors=6).predict(X)


FEW = {
    "k-NN": WeightedKNeighborsClassifier(9),
    "IBk": IBk(9),
    "WIBK": WIBK(9),
    "LWL": LWL(n_neighbors=9),
}


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("weight", [None, [0.1, 0.2, 0.1], [2.0, 1.0, 1.0]])
def test_fewer_rows_than_neighbours_are_an_error_when_asked(name, weight):
    X, y = [[1.0], [2.0], [5.0]], [0, 1, 1]
    for given in (X, blocks(X)) if name == "k-NN" else (X,):
        model = clone(FEW[name]).fit(given, y, sample_weight=weight)
        asked = [model.predict, model.predict_proba] + ([model.kneighbors] if hasattr(model, "kneighbors") else [])
        for ask in asked:
            with pytest.raises(InvalidDataError, match="n_neighbors=9 neighbours are wanted, but there are only 3"):
                ask(X)


NEIGHBOURS = {
    "k-NN": WeightedKNeighborsClassifier(5),
    "1-NN": WeightedKNeighborsClassifier(1),
    "IBk": IBk(5),
    "IB1": IB1(),
    "WIBK": WIBK(5, discretize="mdlp"),
    "LWL": LWL(n_neighbors=30),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_boosting(name):
    X, y = load_wine(return_X_y=True)
    alone = NEIGHBOURS[name].fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    boosted = AdaBoostClassifier(NEIGHBOURS[name], n_estimators=5, random_state=0).fit(X[::2], y[::2])
    assert boosted.score(X[1::2], y[1::2]) > alone - 0.1


def test_boosting_of_undersampled_rows_and_self_training():
    X, y = load_breast_cancer(return_X_y=True)
    boosted = RUSBoostClassifier(WeightedKNeighborsClassifier(5), n_estimators=5, random_state=0).fit(X[::2], y[::2])
    assert boosted.score(X[1::2], y[1::2]) > 0.8
    some = y[::2].copy()
    some[np.arange(len(some)) % 5 > 0] = -1
    taught = SelfTrainingClassifier(WeightedKNeighborsClassifier(5)).fit(X[::2], some)
    assert taught.score(X[1::2], y[1::2]) > 0.85
    few = np.full(len(some), -1)
    few[:4] = [0, 1, 0, 1]
    with pytest.raises(ValueError, match="n_neighbors=5 neighbours are wanted, but there are only 4"):
        SelfTrainingClassifier(WeightedKNeighborsClassifier(5)).fit(X[::2], few)
