"""partial_fit on new rows equals a fit on all rows together."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from support.per_class import PerClassRelief
from support.stubs import VarianceWeigher, three_classes

from weighbors import (
    MBIW,
    ReliefF,
    RepresentativeIntervals,
    SimbaMBIW,
    WeightedKNeighborsClassifier,
    Weights,
)
from weighbors.exceptions import InvalidDataError, InvalidWeightsError

RNG = np.random.default_rng


def same(grown, fresh, Q):
    """Equal to the last bit: neighbours, probabilities, labels, weights, row numbers."""
    for a, b in zip(grown.kneighbors(Q), fresh.kneighbors(Q), strict=True):
        assert a.tobytes() == b.tobytes()
    assert grown.predict_proba(Q).tobytes() == fresh.predict_proba(Q).tobytes()
    assert grown.predict(Q).tolist() == fresh.predict(Q).tolist()
    assert grown.weights_ == fresh.weights_
    assert grown.n_samples_fit_ == fresh.n_samples_fit_
    assert grown.classes_.tolist() == fresh.classes_.tolist()
    np.testing.assert_array_equal(grown.kneighbors(), fresh.kneighbors())


def mixed(n, seed, colours=("red", "blue", "green")):
    rng = RNG(seed)
    frame = pd.DataFrame(
        {"colour": rng.choice(list(colours), n), "size": rng.integers(0, 9, n), "mass": rng.normal(size=n).round(1)}
    )
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    frame.loc[rng.random(n) < 0.1, "mass"] = np.nan
    return frame, rng.integers(0, 2, n)


WEIGHERS = {
    "none": None,
    "given": Weights(feature_weights=[3, 1, 0, 2, 1, 1]),
    "ReliefF": ReliefF(5),
    "ClassRelief": PerClassRelief(3),
    "MBIW": MBIW(),
    "SimbaMBIW": SimbaMBIW(),
    "selection": VarianceWeigher(),
}


@pytest.mark.parametrize("name", WEIGHERS)
@pytest.mark.parametrize("options", [{}, {"p": 1, "weights": "distance"}, {"class_weight": "balanced"}])
def test_grown_equals_fresh(name, options):
    X, y, Q = three_classes()
    grown = WeightedKNeighborsClassifier(5, WEIGHERS[name], **options).fit(X[:60], y[:60])
    for begin in (60, 61, 110):
        end = {60: 61, 61: 110, 110: 160}[begin]
        grown.partial_fit(X[begin:end], y[begin:end], refresh=True if end == 160 else None)
    same(grown, WeightedKNeighborsClassifier(5, WEIGHERS[name], **options).fit(X, y), Q)


@pytest.mark.parametrize("seed", range(6))
def test_intervals_grow(seed):
    rng = RNG(seed)
    X, y = rng.integers(-5, 15, size=(120, 4)), rng.integers(0, 3, 120)
    fresh = WeightedKNeighborsClassifier(4, RepresentativeIntervals()).fit(X, y)
    grown = WeightedKNeighborsClassifier(4, RepresentativeIntervals()).fit(X[:70], y[:70])
    old = grown.weights_
    grown.partial_fit(X[70:], y[70:])
    assert grown.weights_ == old  # feature weights stay until they are asked for
    kept = WeightedKNeighborsClassifier(4, old).fit(X, y)
    same(grown, kept, X + 0.25)
    grown.partial_fit(X[:1], y[:1], refresh=True)
    union = np.vstack([X, X[:1]]), np.append(y, y[0])
    same(grown, WeightedKNeighborsClassifier(4, RepresentativeIntervals()).fit(*union), X + 0.25)
    assert fresh.weights_ != old


@pytest.mark.parametrize("weigher", [None, ReliefF(3), RepresentativeIntervals(discretize="frequency", n_bins=4)])
def test_mixed_tables_grow_with_new_categories(weigher):
    first, y1 = mixed(40, 0)
    second, y2 = mixed(50, 1, ("blue", "violet", "red"))
    union, y = pd.concat([first, second], ignore_index=True), np.concatenate([y1, y2])
    grown = WeightedKNeighborsClassifier(3, weigher).fit(first, y1).partial_fit(second, y2, refresh=True)
    same(grown, WeightedKNeighborsClassifier(3, weigher).fit(union, y), mixed(30, 2, ("red", "violet", "pink"))[0])
    assert WeightedKNeighborsClassifier(3, weigher, handle_unknown="error").fit(first, y1).partial_fit(second, y2)


def test_new_categories_weigh_the_mean_until_a_refresh():
    frame = pd.DataFrame({"c": ["a"] * 4 + ["b"] * 4 + ["a"] * 4, "n": range(12)})
    weigher = RepresentativeIntervals(None, 0.0)
    model = WeightedKNeighborsClassifier(1, weigher).fit(frame, [0] * 8 + [1] * 4)
    # class 0: a is shared with class 1 and weighs 0, b weighs 1; class 1: a weighs 0
    new = pd.DataFrame({"c": ["z", "y", "b", "z"], "n": [20, 21, 22, 23]})
    model.partial_fit(new, [0, 0, 1, 1], refresh=False)
    coded = np.array([[2.0, 20], [3, 21], [1, 22], [2, 23]])
    assert model.weights_.intervals.lookup(coded, np.array([0, 0, 1, 1]))[:, 0].tolist() == [0.5, 0.5, 0.0, 0.0]


@pytest.mark.parametrize("weigher", [None, ReliefF(3)])
def test_sample_weights_grow(weigher):
    rng = RNG(0)
    (first, y1), (second, y2) = mixed(40, 0), mixed(50, 1, ("blue", "violet"))
    w1, w2 = rng.integers(0, 3, 40), rng.integers(0, 3, 50)
    union, y = pd.concat([first, second], ignore_index=True), np.concatenate([y1, y2])
    for options in ({}, {"class_weight": "balanced"}, {"class_weight": {0: 2, 1: 0.5}}):
        make = lambda o=options: WeightedKNeighborsClassifier(3, weigher, **o)  # noqa: E731
        grown = make().fit(first, y1, sample_weight=w1).partial_fit(second, y2, sample_weight=w2, refresh=True)
        same(grown, make().fit(union, y, sample_weight=np.concatenate([w1, w2])), second)
        half = make().fit(first, y1).partial_fit(second, y2, sample_weight=w2, refresh=True)
        same(half, make().fit(union, y, sample_weight=np.concatenate([np.ones(40), w2])), second)


def test_rows_of_no_weight_only_count():
    X, y, Q = three_classes()
    model = WeightedKNeighborsClassifier(3, class_weight={0: 1, 1: 1, 2: 0}).fit(X[:80], y[:80])
    before = model.predict_proba(Q)
    silent = np.flatnonzero(y[80:] == 2) + 80
    model.partial_fit(X[silent], y[silent])
    np.testing.assert_array_equal(model.predict_proba(Q), before)
    assert model.n_samples_fit_ == 80 + len(silent)


def test_containers_and_dtypes_grow():
    X, y, Q = three_classes()
    X = np.where(np.abs(X) > 1, X, 0)
    fresh = WeightedKNeighborsClassifier(3).fit(X, y)
    for first, second in [
        (sparse.csr_matrix(X[:80]), sparse.csr_matrix(X[80:])),
        (sparse.csr_matrix(X[:80]), X[80:]),
        (X[:80], sparse.coo_matrix(X[80:])),
        (X[:80].tolist(), X[80:].tolist()),
    ]:
        same(WeightedKNeighborsClassifier(3).fit(first, y[:80]).partial_fit(second, y[80:]), fresh, Q)
    single = WeightedKNeighborsClassifier(3).fit(X[:80].astype(np.float32), y[:80]).partial_fit(X[80:], y[80:])
    both = np.concatenate([X[:80].astype(np.float32), X[80:]])
    same(single, WeightedKNeighborsClassifier(3).fit(both, y), Q)


def test_from_nothing_row_by_row():
    X, y, Q = three_classes()
    labels = np.array(["a", "b", "c"])[y]
    grown = WeightedKNeighborsClassifier(3)
    for i in range(20):
        grown.partial_fit(X[[i]], labels[[i]], classes=["c", "a", "b"] if i == 0 else None)
        if i == 0:
            with pytest.raises(InvalidDataError, match="n_neighbors=3.*only 1 training rows"):
                grown.predict(Q)
    same(grown, WeightedKNeighborsClassifier(3).fit(X[:20], labels[:20]), Q)
    two = WeightedKNeighborsClassifier(1).partial_fit([[0.0], [1.0]], [5, 5], classes=[5, 6, 7])
    assert two.predict_proba([[0.2]]).tolist() == [[1.0, 0.0, 0.0]]


def test_what_does_not_fit_is_refused_and_changes_nothing():
    X, y, Q = three_classes()
    model = WeightedKNeighborsClassifier(3).fit(X[:80], y[:80])
    before = model.predict_proba(Q)
    bad = [
        ((X[80:], y[80:] + 5), {}, r"labels that are not among the classes \[0, 1, 2\]: \[.*classes="),
        ((X[80:, :4], y[80:]), {}, "expecting 6 features"),
        ((X[80:], y[80:-1]), {}, "inconsistent"),
        ((X[80:], None), {}, "target y is None"),
        ((X[80:] * np.inf, y[80:]), {}, "infinity"),
        ((X[80:], y[80:]), {"classes": [0, 1]}, "differ from those of the first call"),
        ((X[80:], y[80:]), {"sample_weight": [-1] * 80}, "[Nn]egative"),
        ((X[80:], y[80:]), {"sample_weight": [1] * 3}, "sample_weight"),
        ((X[80:80], y[80:80]), {}, "0 sample"),
        ((X[80:], [np.nan] * 80), {}, "not among the classes"),
    ]
    for args, options, message in bad:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(*args, **options)
        np.testing.assert_array_equal(model.predict_proba(Q), before)
    frame = pd.DataFrame(X[:80], columns=list("abcdef"))
    named = WeightedKNeighborsClassifier(3).fit(frame, y[:80])
    with pytest.raises(ValueError, match="feature names"):
        named.partial_fit(frame[list("fedcba")], y[:80])
    with pytest.raises(InvalidDataError, match="classes must be passed on the first call"):
        WeightedKNeighborsClassifier(3).partial_fit(X, y)
    with pytest.raises(InvalidDataError, match="at least 2 classes"):
        WeightedKNeighborsClassifier(3).partial_fit(X, y, classes=[1])
    with pytest.raises(ValueError, match="n_neighbors"):
        WeightedKNeighborsClassifier(0).partial_fit(X, y, classes=[0, 1, 2])


def test_weights_that_belong_to_rows():
    X, y, Q = three_classes()
    for weights in (Weights(votes=np.ones(80)), Weights(instance_mask=np.ones(80, dtype=bool))):
        with pytest.raises(InvalidWeightsError, match=r"new rows have none.*refresh=True"):
            WeightedKNeighborsClassifier(3, weights).fit(X[:80], y[:80]).partial_fit(X[80:], y[80:])
    with pytest.raises(InvalidWeightsError, match="new rows have none"):
        WeightedKNeighborsClassifier(3, MBIW()).fit(X[:80], y[:80]).partial_fit(X[80:], y[80:], refresh=False)
    grown = WeightedKNeighborsClassifier(3, MBIW()).fit(X[:80], y[:80]).partial_fit(X[80:], y[80:])
    same(grown, WeightedKNeighborsClassifier(3, MBIW()).fit(X, y), Q)
    known = y[:80] < 2
    model = WeightedKNeighborsClassifier(3, PerClassRelief(3))
    model.partial_fit(X[:80][known], y[:80][known], classes=[0, 1, 2])
    with pytest.raises(InvalidWeightsError, match=r"nothing about \[2\].*refresh=True"):
        model.partial_fit(X[80:], y[80:])
    assert model.partial_fit(X[80:], y[80:], refresh=True).weights_.classes.tolist() == [0, 1, 2]


def test_metadata_routing():
    X, y, _ = three_classes()
    with sklearn.config_context(enable_metadata_routing=True):
        asks = VarianceWeigher().set_fit_request(sample_weight=True)
        model = WeightedKNeighborsClassifier(3, asks).set_fit_request(sample_weight=True)
        model.set_partial_fit_request(sample_weight=True)
        model.fit(X[:80], y[:80], sample_weight=np.ones(80))
        model.partial_fit(X[80:], y[80:], sample_weight=np.full(80, 2.0), refresh=True)
        assert model.weigher_.sample_weight_.tolist() == [1.0] * 80 + [2.0] * 80


@pytest.mark.parametrize("how", ["uniform", "distance"])
def test_vote_ties(how):
    from naive.intervals import majority
    from naive.neighbors import nearest

    rng = RNG(0)
    X, y = rng.integers(0, 5, size=(60, 2)).astype(float), rng.integers(0, 4, 60)
    Q = rng.integers(0, 5, size=(50, 2)) + 0.3
    by_hand = nearest(Q, X, 4)
    first = WeightedKNeighborsClassifier(4).fit(X, y).predict(Q)
    near = WeightedKNeighborsClassifier(4, vote_ties="nearest").fit(X, y).predict(Q)
    assert first.tolist() == [majority(found, y.tolist()) for found in by_hand]
    assert near.tolist() == [majority(found, y.tolist(), "nearest") for found in by_hand]
    assert (first != near).any()
    exact = WeightedKNeighborsClassifier(2, weights=how, vote_ties="nearest").fit([[1.0], [-1.0], [1.0]], [1, 0, 2])
    assert exact.predict([[0.1], [0.0]]).tolist() == [1, 1]
    with pytest.raises(ValueError, match="vote_ties"):
        WeightedKNeighborsClassifier(vote_ties="random").fit(X, y)
