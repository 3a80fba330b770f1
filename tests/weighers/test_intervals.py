"""Representative intervals against loops written from paper 002."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import intervals as naive
from naive.neighbors import nearest
from scipy import sparse

from weighbors import RepresentativeIntervals, WeightedKNeighborsClassifier, Weights
from weighbors.exceptions import InvalidDataError, NoPositiveWeightWarning
from weighbors.weighers.intervals import runs as _runs
from weighbors.weighers.intervals.runs import confidence_levels

RNG = np.random.default_rng


def generated(seed):
    """Integers with gaps and overlaps, some negative or constant or far apart; 2 to 9 classes."""
    rng = RNG(seed)
    n, m, classes = int(rng.integers(20, 120)), int(rng.integers(1, 7)), 2 + seed % 8
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, size=n - classes)])
    X = rng.integers(0, 12, size=(n, m))
    shift = rng.integers(-9, 10, size=(classes, m)) * (seed % 3)
    X = X + shift[y]
    X[:, rng.random(m) < 0.3] *= 3  # gaps
    if seed % 4 == 0:
        X[:, 0] = -5
    if seed % 5 == 0:
        X = X * 10**12 // 7
    if seed % 6 == 0:
        X[rng.random(X.shape) < 0.2] //= 4
    X = X.astype(float)
    if seed % 7 == 0:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def told(weigher):
    """The frame as the oracle lists runs."""
    return [
        (row["class"], int(row.feature[1:]), row.low, row.high, row.magnitude, row.amplitude, row.level, row.kept)
        for _, row in weigher.intervals_.iterrows()
    ]


def expected(found):
    return [
        (
            o["class"],
            o["feature"],
            o["values"][0],
            o["values"][-1],
            o["magnitude"],
            o["amplitude"],
            o["level"],
            o["kept"],
        )
        for o in found
    ]


@pytest.mark.parametrize("overlap", ["values", "length"])
@pytest.mark.parametrize("seed", range(48))
def test_intervals_and_weights_equal_the_oracle(seed, overlap):
    X, y = generated(seed)
    found = naive.intervals(X.tolist(), y.tolist(), overlap=overlap)
    weigher = RepresentativeIntervals(overlap=overlap).fit(X, y)
    assert told(weigher) == expected(found)
    np.testing.assert_allclose(weigher.intervals_["weight"], [o["weight"] for o in found], rtol=1e-14)
    for normalize in ("instance", None):
        for kind in ("nonoverlap", "overlap"):
            weigher.set_params(normalize=normalize, weight=kind).fit(X, y)
            cells = naive.cell_weights(X.tolist(), y.tolist(), kind=kind, normalize=normalize, found=found)
            got = weigher.weights_.intervals.lookup(X, y)
            np.testing.assert_allclose(got, cells, rtol=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_neighbours_under_interval_weights_equal_the_oracle(seed):
    X, y = generated(seed)
    Q = X[RNG(seed).integers(0, len(X), size=15)] + 0.25
    a = naive.cell_weights(X.tolist(), y.tolist())
    model = WeightedKNeighborsClassifier(5, RepresentativeIntervals()).fit(X, y)
    distance, _ = model.kneighbors(Q)
    by_hand = nearest(Q, X, 5, a=np.array(a))
    np.testing.assert_allclose(distance, [[d for d, _ in found] for found in by_hand], rtol=1e-9, atol=1e-12)
    stored = np.array(
        [
            [
                nearest([q], X[[i]], 1, a=np.array(a)[[i]])[0][0][0] if not np.isnan([*q, *X[i]]).any() else np.nan
                for i in r
            ]
            for q, r in zip(Q, model.kneighbors(Q, return_distance=False), strict=True)
        ]
    )
    known = ~np.isnan(stored)
    np.testing.assert_allclose(distance[known], stored[known], rtol=1e-9)  # the rows found are that far


def test_the_papers_examples():
    # paper 002, section 3.2: D = {1, 2, 3, 5, 6, 7} has two partitions
    X = np.array([[1], [2], [3], [5], [6], [7], [50]])
    frame = RepresentativeIntervals().fit(X, [0] * 6 + [1]).intervals_
    assert frame.loc[frame["class"] == 0, ["low", "high"]].to_numpy().tolist() == [[1, 3], [5, 7]]
    # section 3.1: C = {3, 5, 7, 4, 9, 3, 9, 5, 3, 5, 4, 6}, f(5) = 3; runs 3 to 7 and 9
    C = [3, 5, 7, 4, 9, 3, 9, 5, 3, 5, 4, 6]
    assert naive.Counter(C)[5] == 3
    frame = RepresentativeIntervals().fit(np.array([*C, 5])[:, None], [0] * 12 + [1]).intervals_
    own = frame[frame["class"] == 0]
    assert own[["low", "high", "magnitude", "amplitude"]].to_numpy().tolist() == [[3, 7, 10, 5], [9, 9, 2, 1]]
    alone = RepresentativeIntervals().fit(np.array([5, 5, 5, 8])[:, None], [0, 0, 0, 1]).intervals_
    assert alone.loc[0, "magnitude"] == 3
    # section 3.2: an interval of 30 values with 10 overlapped weighs (30 - 10) / 30
    X = np.concatenate([np.arange(30), np.arange(20, 45)])[:, None]
    frame = RepresentativeIntervals().fit(X, [0] * 30 + [1] * 25).intervals_
    assert frame["weight"].tolist() == [20 / 30, 15 / 25]


@pytest.mark.parametrize("psi", range(101))
def test_levels_of_confidence(psi):
    # methods.md, section 3: H = psi // 2 + 1, M = (H - 1) // 2 + 1, L = (M - 1) // 2 + 1
    H = psi // 2 + 1
    M = (H - 1) // 2 + 1
    L = (M - 1) // 2 + 1
    assert tuple(int(v[0]) for v in confidence_levels(np.array([psi]))) == (H, M, L)
    if psi == 0:
        return
    # one run per magnitude from 1 to psi, all of one value
    values = np.repeat(np.arange(1, psi + 1) * 2, np.arange(1, psi + 1))
    X, y = np.concatenate([values, [-1]])[:, None], np.concatenate([np.zeros(len(values), int), [1]])
    frame = RepresentativeIntervals().fit(X, y).intervals_
    for magnitude, level, kept in frame.loc[frame["class"] == 0, ["magnitude", "level", "kept"]].to_numpy():
        assert level == naive.level(magnitude, psi)
        assert kept == (magnitude >= L)


def test_overlap_measures_lengths_or_counts_values():
    # figure 1 of paper 002: [0, 10] and [6, 20]: 4 of 10 long, 5 of 11 values
    X, y = np.concatenate([np.arange(11), np.arange(6, 21)])[:, None], [0] * 11 + [1] * 15
    assert RepresentativeIntervals(overlap="length").fit(X, y).intervals_["weight"].tolist() == [6 / 10, 10 / 14]
    assert RepresentativeIntervals().fit(X, y).intervals_["weight"].tolist() == [6 / 11, 10 / 15]


@pytest.mark.parametrize("seed", range(12))
def test_blocks_wide_columns_and_counting_do_not_matter(seed, monkeypatch):
    X, y = generated(seed)
    reference = RepresentativeIntervals().fit(X, y)
    monkeypatch.setattr(_runs, "_WIDE", 3)  # every column is closed up
    closed = RepresentativeIntervals().fit(X, y)
    pd.testing.assert_frame_equal(closed.intervals_, reference.intervals_)
    assert closed.weights_ == reference.weights_
    monkeypatch.undo()
    monkeypatch.setattr(_runs, "_BLOCK_CELLS", 1)
    wide = np.hstack([X, X, X])
    many = RepresentativeIntervals().fit(wide, y)
    monkeypatch.undo()
    assert many.weights_ == RepresentativeIntervals().fit(wide, y).weights_


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-30, 30), st.integers(0, 3)), min_size=2, max_size=60))
def test_what_holds_for_all_tables(pairs):
    values, labels = np.array([v for v, _ in pairs])[:, None], np.array([c for _, c in pairs])
    if len(set(labels.tolist())) < 2:
        return
    frame = RepresentativeIntervals().fit(values, labels).intervals_
    assert frame["magnitude"].sum() == len(pairs)
    assert (frame["high"] - frame["low"] + 1 == frame["amplitude"]).all()
    kept = frame[frame["kept"]]
    assert kept["weight"].between(0, 1).all()
    assert frame.loc[~frame["kept"], "weight"].isna().all()
    assert set(kept["class"]) == set(labels.tolist())  # every class keeps an interval
    best = frame.groupby(["class", "amplitude"], observed=True)["magnitude"].transform("max")
    assert frame.loc[frame["magnitude"] == best, "kept"].all()
    assert (frame["level"].astype(str).eq("null") == ~frame["kept"]).all()
    shifted = RepresentativeIntervals().fit(values - 1000, labels).intervals_
    np.testing.assert_array_equal(shifted["weight"], frame["weight"])


def test_negative_integers_and_a_feature_of_one_value():
    X, y = np.array([[-3, 7], [-2, 7], [-1, 7], [1, 7]]), [0, 0, 0, 1]
    weigher = RepresentativeIntervals().fit(X, y)
    assert weigher.intervals_[["low", "high", "weight"]].to_numpy().tolist() == [
        [-3, -1, 1.0],
        [7, 7, 0.0],
        [1, 1, 1.0],
        [7, 7, 0.0],
    ]
    assert WeightedKNeighborsClassifier(1, weigher.weights_).fit(X, y).predict([[-9, 7], [9, 0]]).tolist() == [0, 1]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_numbers_that_are_not_integers_are_refused(container):
    X = container(np.array([[1.0, 2.0], [2.0, 2.5], [3.0, 1.0]]))
    with pytest.raises(
        InvalidDataError, match=r"column 1 holds numbers that are not integers \(2\.5 in row 1\).*discretize='mdlp'"
    ):
        RepresentativeIntervals().fit(X, [0, 1, 1])
    frame = pd.DataFrame({"age": [1, 2, 3], "height": [1.5, 2.0, 2.0], "mass": [0.5, 1, 1]})
    with pytest.raises(InvalidDataError, match=r"column 'height' \(and 1 more columns\)"):
        RepresentativeIntervals().fit(frame, [0, 1, 1])


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**62])
def test_integers_too_large_to_count_by_ones_are_refused(value):
    X, y = np.array([[1, 1], [2, value], [3, 3]]), [0, 1, 1]
    with pytest.raises(InvalidDataError, match=r"column 1 holds .* an integer beyond 2\*\*53|2\^53.*offset"):
        RepresentativeIntervals().fit(X, y)
    with pytest.raises(InvalidDataError, match=r"2\^24 on float32"):
        RepresentativeIntervals().fit(np.array([[1.0], [2**24]], dtype=np.float32), [0, 1])
    edge = np.array([[2**53 - 1], [2**53 - 2], [-(2**53) + 1]])
    frame = RepresentativeIntervals().fit(edge, [0, 0, 1]).intervals_
    assert frame["low"].tolist() == [2**53 - 2, -(2**53) + 1]
    assert frame["amplitude"].tolist() == [2, 1]


def test_a_class_without_instances_in_a_fold():
    X, y = generated(3)
    fold = y != 1
    model = WeightedKNeighborsClassifier(3, RepresentativeIntervals()).fit(X[fold], y[fold])
    assert 1 not in model.classes_
    assert 1 not in model.predict(X)
    categories = pd.Series(pd.Categorical(["a", "b", "a", "b"], categories=["a", "b", "c"]))
    weigher = RepresentativeIntervals().fit([[1], [2], [3], [4]], categories)
    assert weigher.classes_.tolist() == ["a", "b"]
    # rows of weight 0 are no rows: the class keeps its place and has no interval
    weight = np.where(fold, 1.0, 0.0)
    frame = RepresentativeIntervals().fit(X, y, sample_weight=weight).intervals_
    assert 1 not in set(frame["class"])


def test_no_positive_weight():
    X, y = [[1], [2], [1], [2]], [0, 0, 1, 1]
    with pytest.warns(NoPositiveWeightWarning):
        weigher = RepresentativeIntervals(smoothing=0).fit(X, y)
    assert weigher.weights_ == Weights(feature_weights=[1.0])
    assert RepresentativeIntervals().fit(X, y).weights_.intervals.weight.tolist() == [0, 0]


def test_missing_values_belong_to_no_run_and_weigh_the_mean():
    X = np.array([[1.0], [2.0], [8.0], [8.0], [np.nan], [2.0], [3.0]])
    y = np.array([0, 0, 0, 0, 0, 1, 1])
    weigher = RepresentativeIntervals(None, 0.0).fit(X, y)
    assert weigher.intervals_["magnitude"].tolist() == [2, 2, 2]
    assert weigher.weights_.intervals.lookup(X, y).ravel().tolist() == [0.5, 0.5, 1.0, 1.0, 0.75, 0.5, 0.5]
    empty = np.column_stack([X, np.full(7, np.nan)])
    assert len(RepresentativeIntervals().fit(empty, y).intervals_) == 3
    assert math.isclose(RepresentativeIntervals().fit(empty, y).weights_.intervals.lookup(empty, y).sum(), 7)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_engine_weighs_like_a_dense_copy(seed, p, dtype):
    """Sparse rows, masks, dropped columns and wide ranges: the bits of a weight per instance and feature."""
    rng = RNG(seed)
    X, y = rng.integers(0, 40, size=(80, 5)).astype(dtype), rng.integers(0, 3, 80)
    X[:, 1] *= 1000  # searched, not tabulated
    X[rng.random(X.shape) < 0.3] = 0
    Q = X[:20] + dtype(0.5)
    table = RepresentativeIntervals().fit(X, y).weights_.intervals
    masks = {"feature_mask": rng.random(5) < 0.8, "instance_mask": rng.random(80) < 0.8}
    masks["feature_mask"][:2] = True
    looked_up = Weights(intervals=table, classes=[0, 1, 2], **masks)
    dense = Weights(feature_weights=table.lookup(X, y), **masks)
    expected = WeightedKNeighborsClassifier(4, dense, p=p).fit(X, y)
    for container in (np.asarray, sparse.csr_matrix):
        model = WeightedKNeighborsClassifier(4, looked_up, p=p).fit(container(X), y)
        for got, wanted in zip(model.kneighbors(Q), expected.kneighbors(Q), strict=True):
            assert got.tobytes() == wanted.tobytes()
        shares = [m.explain(Q[:3]).filter(like="share").to_numpy() for m in (model, expected)]
        np.testing.assert_array_equal(*shares)
