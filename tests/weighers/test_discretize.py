"""From real numbers, categories and missing values to integers."""

import math

import numpy as np
import pandas as pd
import pytest
from naive import intervals as naive
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import KBinsDiscretizer

from weighbors import RepresentativeIntervals, WeightedKNeighborsClassifier
from weighbors.exceptions import NoCutWarning
from weighbors.weighers.intervals.discretize import frequency_cuts, mdlp_cuts

RNG = np.random.default_rng


@pytest.mark.parametrize("seed", range(40))
def test_mdlp_equals_the_oracle(seed):
    rng = RNG(seed)
    n, classes = int(rng.integers(2, 120)), 2 + seed % 4
    y = rng.integers(0, classes, n)
    values = (rng.normal(size=n) + (seed % 3) * y).round(seed % 3)
    np.testing.assert_allclose(mdlp_cuts(values, y, classes), naive.mdlp(values.tolist(), y.tolist()), rtol=1e-12)


def test_mdlp_on_iris():
    # Cuts that R's package "discretization" (mdlp) and Weka's supervised Discretize print for iris:
    # petal length 2.45, 4.75; petal width 0.8, 1.75; sepal length 5.55, 6.15; sepal width 2.95, 3.35
    X, y = load_iris(return_X_y=True)
    cuts = [mdlp_cuts(column, y, 3).round(3).tolist() for column in X.T]
    assert cuts == [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]


def test_cuts_separate_neighbouring_floats():
    low = 1.0
    high = np.nextafter(low, 2)
    values, y = np.repeat([low, high], 20), np.repeat([0, 1], 20)
    cuts = mdlp_cuts(values, y, 2)
    assert np.searchsorted(cuts, [low, high], side="right").tolist() == [0, 1]
    huge = mdlp_cuts(np.repeat([1.7e308, 1.75e308], 20), y, 2)
    assert np.isfinite(huge).all()
    assert len(mdlp_cuts(np.full(10, 3.5), np.arange(10) % 2, 2)) == 0
    assert len(mdlp_cuts(np.array([1.5]), np.array([0]), 2)) == 0


def test_repeated_values_are_weights():
    rng = RNG(0)
    values, y, repeats = rng.normal(size=60), rng.integers(0, 2, 60), rng.integers(0, 4, 60)
    values += y
    weighted = mdlp_cuts(values[repeats > 0], y[repeats > 0], 2, repeats[repeats > 0].astype(float))
    np.testing.assert_allclose(weighted, mdlp_cuts(np.repeat(values, repeats), np.repeat(y, repeats), 2))


def test_equal_frequency_is_scikit_learns():
    values = RNG(0).normal(size=200)
    cuts = frequency_cuts(values, 5)
    theirs = KBinsDiscretizer(5, encode="ordinal", strategy="quantile", subsample=None).fit(values[:, None])
    bins = np.searchsorted(cuts, values, side="right")
    assert (bins == theirs.transform(values[:, None]).ravel()).mean() > 0.97  # quantile methods differ by release
    assert np.bincount(bins).tolist() == [40] * 5
    assert len(frequency_cuts(np.repeat([0.5, 1.5], 50), 10)) == 1
    assert len(frequency_cuts(np.full(9, 0.5), 10)) == 0


@pytest.mark.parametrize("how", ["mdlp", "frequency"])
def test_intervals_of_real_columns_are_in_their_units(how):
    X, y = load_wine(return_X_y=True, as_frame=True)
    weigher = RepresentativeIntervals(None, 0.0, discretize=how, n_bins=6).fit(X, y)
    frame = weigher.intervals_
    for (label, name), part in frame.groupby(["class", "feature"]):
        own = X.loc[y == label, name]
        assert part["magnitude"].sum() == len(own)
        for run in part.itertuples():
            assert own.between(run.low, run.high).sum() == run.magnitude
    table = weigher.weights_.intervals
    cells = table.lookup(X.to_numpy(), y.to_numpy())
    first = frame[frame["kept"] & (frame["class"] == 0) & (frame["feature"] == "alcohol")]
    for value, cell in zip(X["alcohol"][:30], cells[:30, 0], strict=True):
        hit = first[(first["low"] <= value) & (value <= first["high"])]
        if len(hit):
            assert cell == hit["weight"].iloc[0]


def test_whole_columns_stay_as_they_are():
    frame = pd.DataFrame({"whole": [1, 2, 8, 9] * 10, "real": np.linspace(0.1, 4, 40)})
    y = [0, 0, 1, 1] * 10
    told = RepresentativeIntervals(discretize="mdlp").fit(frame, y).intervals_
    assert told.loc[told["feature"] == "whole", ["low", "high"]].to_numpy().tolist() == [[1, 2], [8, 9]]


def test_no_cut_anywhere_falls_back_to_equal_frequency():
    X, y = RNG(0).normal(size=(20, 2)), np.arange(20) % 2
    assert not any(len(mdlp_cuts(column, y, 2)) for column in X.T)
    with pytest.warns(NoCutWarning, match="equal frequency"):
        weigher = RepresentativeIntervals(discretize="mdlp", n_bins=4).fit(X, y)
    other = RepresentativeIntervals(discretize="frequency", n_bins=4).fit(X, y)
    assert weigher.weights_ == other.weights_


def test_categories_are_runs_of_their_own():
    colour = ["red"] * 8 + ["blue"] * 5 + ["pink"]
    frame = pd.DataFrame({"colour": colour, "n": range(14)})
    y = [0] * 8 + [1] * 3 + [0] * 3
    weigher = RepresentativeIntervals(None, 0.0).fit(frame, y)
    told = weigher.intervals_[weigher.intervals_["feature"] == "colour"]
    # class 0: psi = 8, so high from 5, medium from 3, low from 2
    assert told[["class", "low", "high", "magnitude", "level", "kept"]].to_numpy().tolist() == [
        [0, "red", "red", 8, "high", True],
        [0, "blue", "blue", 2, "low", True],
        [0, "pink", "pink", 1, "null", False],
        [1, "blue", "blue", 3, "high", True],
    ]
    assert told["weight"].fillna(-1).tolist() == [1.0, 0.0, -1, 0.0]
    coded = np.column_stack([pd.factorize(frame["colour"])[0], frame["n"]]).astype(float)
    cells = naive.cell_weights(coded.tolist(), y, nominal=[True, False], normalize=None, smoothing=0.0)
    got = weigher.weights_.intervals.lookup(coded, np.array(y))
    np.testing.assert_allclose(got, cells)  # a dropped category weighs the mean of the kept ones
    assert got[13, 0] == 0.5


def test_ordered_categories_are_integers_by_rank():
    sizes = pd.Categorical(["S", "M", "L", "XL", "XL", None], categories=["XS", "S", "M", "L", "XL"], ordered=True)
    frame = pd.DataFrame({"size": sizes, "n": [1, 2, 3, 4, 5, 6]})
    weigher = RepresentativeIntervals().fit(frame, [0, 0, 0, 1, 1, 1])
    told = weigher.intervals_[weigher.intervals_["feature"] == "size"]
    assert told[["low", "high", "magnitude", "amplitude"]].to_numpy().tolist() == [["S", "L", 3, 3], ["XL", "XL", 2, 1]]
    named = RepresentativeIntervals(categorical_features=["size"]).fit(frame, [0, 0, 0, 1, 1, 1])
    assert (named.intervals_.loc[named.intervals_["feature"] == "size", "amplitude"] == 1).all()


@pytest.mark.parametrize("seed", range(8))
def test_the_k_nn_and_the_weigher_agree_on_codes(seed):
    """Categories of rows without weight, or in another order, must not shift the look-up."""
    rng = RNG(seed)
    frame = pd.DataFrame({"c": rng.choice(list("abcdefg"), 60), "n": rng.integers(0, 9, 60)})
    y, weight = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    kept = weight > 0
    dropped = WeightedKNeighborsClassifier(3, RepresentativeIntervals()).fit(frame, y, sample_weight=weight)
    absent = WeightedKNeighborsClassifier(3, RepresentativeIntervals()).fit(frame[kept], y[kept])
    assert dropped.kneighbors(frame)[0].tobytes() == absent.kneighbors(frame)[0].tobytes()
    coded = np.column_stack([pd.factorize(frame["c"][kept])[0], frame["n"][kept]]).astype(float)
    a = naive.cell_weights(coded.tolist(), y[kept].tolist(), nominal=[True, False])
    from naive.neighbors import nearest

    by_hand = nearest(coded, coded, 3, a=np.array(a), nominal=[True, False])
    expected = [[d for d, _ in found] for found in by_hand]
    np.testing.assert_allclose(absent.kneighbors(frame[kept])[0], expected, rtol=1e-9)
    assert not math.isnan(expected[0][0])


def test_ordered_categories_are_categories_to_the_k_nn():
    rng = RNG(0)
    grade = pd.Categorical(rng.choice(["low", "mid", "high"], 60), ["low", "mid", "high"], ordered=True)
    frame, y = pd.DataFrame({"grade": grade, "n": rng.integers(0, 9, 60)}), rng.integers(0, 2, 60)
    ordered = WeightedKNeighborsClassifier(3, RepresentativeIntervals()).fit(frame, y)
    plain = WeightedKNeighborsClassifier(3, RepresentativeIntervals()).fit(frame.assign(grade=grade.astype(str)), y)
    assert ordered.weights_ == plain.weights_
    np.testing.assert_array_equal(
        ordered.kneighbors(frame)[0], plain.kneighbors(frame.assign(grade=grade.astype(str)))[0]
    )
