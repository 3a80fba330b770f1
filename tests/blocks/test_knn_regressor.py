"""The k-NN regressor over blocks equals the ordinary one to the bit."""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import weighbors as wb
from weighbors import Weights
from weighbors.exceptions import ForeignWeightsError, InvalidDataError

RNG = np.random.default_rng


def table(seed, dtype=np.float64, n=300, m=4):
    """Rows with ties, duplicates and missing values, and targets."""
    rng = RNG(seed)
    X = np.round(2 * rng.normal(size=(n, m))).astype(dtype)
    X[n // 2 :] = X[: n - n // 2]
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, rng.normal(size=n)


def some_weights(n, m):
    rng = RNG(5)
    yield None
    yield Weights(feature_weights=rng.random(m))
    yield Weights(feature_weights=rng.random((n, m)))
    masks = {"instance_mask": np.arange(n) % 3 > 0, "feature_mask": np.arange(m) != 2}
    yield Weights(instance_scales=rng.random(n), votes=rng.random(n), **masks)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 2])
def test_the_bits_of_the_ordinary_one(p, dtype, tmp_path, task_bytes):
    task_bytes(2**16)
    X, y = table(p, dtype)
    Q = np.concatenate([X[:30] + dtype(0.5), X[:5]])
    np.save(tmp_path / "X.npy", X)
    lazy = da.from_array(Q, chunks=(10, 4))
    cuts = [(da.from_array(X, chunks=(70, 4)), da.from_array(y, chunks=70)), (tmp_path / "X.npy", y)]
    for number, weigher in enumerate(some_weights(*X.shape)):
        options = {"p": p, "weights": ("uniform", "distance")[number % 2]}
        weight = RNG(0).integers(0, 3, len(X)) if number in (1, 3) else None
        local = wb.WeightedKNeighborsRegressor(4, weigher, **options).fit(X, y, weight)
        for given, targets in cuts:
            found = wb.WeightedKNeighborsRegressor(4, weigher, **options).fit(given, targets, weight)
            np.testing.assert_array_equal(found.predict(Q), local.predict(Q))
            for model in (found, local):
                answers = model.predict(lazy)
                assert isinstance(answers, da.Array)
                np.testing.assert_array_equal(answers.compute(), local.predict(Q))
        np.testing.assert_array_equal(found.predict(None), local.predict(None))
        pd.testing.assert_frame_equal(found.explain(Q[:3]).frame(), local.explain(Q[:3]).frame())
        back = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(back.predict(Q), local.predict(Q))
        assert back.choice_ is None
        assert found.n_samples_fit_ == local.n_samples_fit_ == 300


def test_frames_parquet_and_named_targets(tmp_path, task_bytes):
    task_bytes(2**16)
    X, y = table(0)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=RNG(0).choice(["x", "y"], len(X)))
    whole = frame.assign(target=y)
    whole.to_parquet(tmp_path / "t.parquet")
    local = wb.WeightedKNeighborsRegressor(3).fit(frame, y)
    lazy = dd.from_pandas(whole, npartitions=4)
    rows = lazy.drop(columns="target")
    for given, target in ((tmp_path / "t.parquet", "target"), (lazy, "target"), (rows, lazy["target"])):
        found = wb.WeightedKNeighborsRegressor(3).fit(given, target)
        np.testing.assert_array_equal(found.predict(frame[:50]), local.predict(frame[:50]))
    assert found.score(lazy, "target") == local.score(frame, y) == local.score(lazy, "target")
    weight = np.arange(300) % 3
    assert found.score(lazy, "target", weight) == local.score(frame, y, weight)
    with pytest.raises(InvalidDataError, match="partial_fit needs all rows in memory"):
        found.partial_fit(frame[:5], y[:5])


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (np.full(300, np.inf), "infinity"),
        (np.where(np.arange(300) == 7, np.nan, 1.0), "1 labels are missing .the first in row 7"),
        (RNG(0).normal(size=300).astype(str), "must hold numbers.*to_numeric"),
        (np.zeros((300, 2)), "1d array|vector|shape"),
        (None, "target y is None"),
    ],
)
def test_bad_targets_are_refused(targets, message):
    with pytest.raises(ValueError, match=message):
        wb.WeightedKNeighborsRegressor(3).fit(da.from_array(table(0)[0], chunks=(90, 4)), targets)


def test_weights_are_learned_over_blocks():
    X, y = table(0)
    weight = RNG(0).integers(1, 4, len(X))
    for given in (None, weight):
        found = wb.WeightedKNeighborsRegressor(3, wb.RReliefF(4)).fit(da.from_array(X, chunks=90), y, given)
        local = wb.WeightedKNeighborsRegressor(3, wb.RReliefF(4)).fit(X, y, given)
        np.testing.assert_array_equal(found.weights_.feature_weights, local.weights_.feature_weights)
        np.testing.assert_array_equal(found.predict(X[:40]), local.predict(X[:40]))
        assert type(found.weigher_) is wb.RReliefF


def test_what_is_not_offered():
    X, y = table(0)
    lazy = da.from_array(X, chunks=(90, 4))
    for name in ("weigher", "n_neighbors", "p", "weights"):
        with pytest.raises(InvalidDataError, match=f"{name}='auto' needs all rows in memory"):
            wb.WeightedKNeighborsRegressor(**{name: "auto"}).fit(lazy, y)
    for weigher, message in [
        (wb.ReliefF(), "ReliefF needs classes, and this is a regressor. Use RReliefF"),
        (wb.MBIW(), "MBIW needs classes"),
        (wb.RepresentativeIntervals(), "RepresentativeIntervals needs classes"),
        (wb.NCAWeights(), "NCAWeights needs all rows in memory"),
    ]:
        with pytest.raises(InvalidDataError, match=message):
            wb.WeightedKNeighborsRegressor(3, weigher).fit(lazy, y)
    with pytest.raises(InvalidDataError, match="RReliefF needs a numeric target, and these are classes. Use ReliefF"):
        wb.WeightedKNeighborsClassifier(3, wb.RReliefF()).fit(lazy, y > 0)
    with pytest.raises(ForeignWeightsError, match="no classes"):
        wb.WeightedKNeighborsRegressor(3, Weights(feature_weights=np.ones((2, 4)), classes=[0, 1])).fit(lazy, y)
    with pytest.raises(InvalidDataError, match="n_neighbors=400"):
        wb.WeightedKNeighborsRegressor(400).fit(lazy, y).predict(X)
    assert not hasattr(wb.WeightedKNeighborsRegressor(3).fit(lazy, y), "classes_")
