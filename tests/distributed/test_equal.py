"""Estimators over blocks equal the ordinary ones to the bit; those are tested against the oracles in tests/naive."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from naive import relief as naive
from sklearn.base import clone

import weighbors as wb
from weighbors import Weights
from weighbors import distributed as wd
from weighbors.exceptions import ForeignWeightsError, InvalidDataError, NoCutWarning, NoPositiveWeightWarning

RNG = np.random.default_rng
WEIGHERS = ["Relief", "RelievedF", "ReliefF", "ClassRelief", "RReliefF"]


def target(name, y):
    """Labels, or for a weigher of numeric targets numbers, among them fractions."""
    return np.unique(y, return_inverse=True)[1] ** 2 / 3 if name == "RReliefF" else y


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoPositiveWeightWarning)
        warnings.simplefilter("ignore", NoCutWarning)
        yield


def generated(seed, dtype=np.float64, n=300, m=5):
    """Reals, integers full of ties and duplicates, or those with missing values; the third class comes late."""
    rng = RNG(seed)
    X = rng.normal(size=(n, m))
    if seed % 3:
        X = np.round(2 * X)
        X[n // 2 :] = X[: n - n // 2]
    y = np.array(["b", "a", "c"])[np.where(np.arange(n) < n // 3, rng.integers(0, 2, n), rng.integers(0, 3, n))]
    X[:, 1] += y == "a"
    if seed % 3 == 2:
        X[rng.random(X.shape) < 0.06] = np.nan
        X[:, 0] = 1.0
    return X.astype(dtype), y


def cuts(X, y):
    """The same table in many pieces: chunks of one row, empty ones, columns cut too."""
    da = pytest.importorskip("dask.array")
    n = len(X)
    yield X, y, {"max_bytes": 2**17}
    yield da.from_array(X, chunks=(97, 2)), da.from_array(y, chunks=50), {"max_bytes": 2**17, "n_jobs": 2}
    odd = (1, 0, n // 2, 0, n - n // 2 - 1)
    yield da.from_array(X, chunks=(odd, X.shape[1])), y, {"max_bytes": 2**18}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.NothingSelectedWarning")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", WEIGHERS)
def test_weighers_give_the_bits_of_the_ordinary_ones(name, seed, dtype):
    X, y = generated(seed, dtype)
    y = target(name, y)
    more = {"sigma": 2.0} if name in ("ReliefF", "RReliefF") and seed == 1 else {}
    local = getattr(wb, name)(3, **more).fit(X, y)
    for table, labels, options in cuts(X, y):
        found = getattr(wd, name)(3, **more, **options).fit(table, labels)
        np.testing.assert_array_equal(found.feature_weights_, local.feature_weights_)
        assert found.weights_ == local.weights_
        if name == "RReliefF":
            assert (found.target_type_, hasattr(found, "classes_")) == ("numeric", False)
        else:
            assert found.classes_.tolist() == ["a", "b", "c"]
    back = found.to_local()
    assert type(back) is type(local)
    assert back.weights_ == local.weights_
    np.testing.assert_array_equal(back.transform(X), local.transform(X))
    if name == "ClassRelief":
        np.testing.assert_array_equal(found.class_feature_weights_, local.class_feature_weights_)
        assert found.agreement_ == local.agreement_


@pytest.mark.parametrize("seed", range(4))
def test_drawn_rows_against_loops_and_against_weights_of_zero(seed):
    X, y = generated(3 * (seed // 2) + seed % 2, n=60, m=3)
    found = wd.ReliefF(2, n_samples=20, random_state=seed, max_bytes=2**16).fit(X, y)
    drawn = np.isin(np.arange(60), found.sample_indices_).astype(float)
    assert drawn.sum() == 20
    np.testing.assert_allclose(found.feature_weights_, naive.relieff(X, y, 2, weight=drawn), atol=1e-12)
    for name in ("ReliefF", "RReliefF"):
        t = target(name, y)
        some = getattr(wd, name)(2, n_samples=20, random_state=seed, max_bytes=2**16).fit(X, t)
        local = getattr(wb, name)(2).fit(X, t, sample_weight=drawn)
        np.testing.assert_allclose(some.feature_weights_, local.feature_weights_, atol=1e-12, rtol=1e-12)
        local = getattr(wb, name)(2, n_samples=20, random_state=seed).fit(X, t)
        np.testing.assert_array_equal(some.feature_weights_, local.feature_weights_)
        np.testing.assert_array_equal(some.to_local().sample_indices_, local.sample_indices_)


def test_rrelieff_over_blocks_refuses_labels_and_relieff_numbers():
    X, y = generated(0)
    with pytest.raises(InvalidDataError, match="must hold numbers.*use ReliefF"):
        wd.RReliefF(3).fit(X, y)
    with pytest.raises(InvalidDataError, match="RReliefF needs a numeric target, and these are classes"):
        wd.WeightedKNeighborsClassifier(3, wd.RReliefF(3)).fit(X, y)
    with pytest.raises(InvalidDataError, match="looks like a numeric target.*RReliefF"):
        wd.ReliefF(3).fit(X, X[:, 0])


def test_rows_are_drawn_by_the_seed_alone():
    X, y = generated(0)
    first = [wd.ReliefF(n_samples=9, random_state=4, max_bytes=b).fit(X, y).sample_indices_ for b in (2**16, 2**20)]
    np.testing.assert_array_equal(*first)
    assert (np.diff(first[0]) > 0).all()
    other = wd.ReliefF(n_samples=9, random_state=5).fit(X, y).sample_indices_
    assert other.tolist() != first[0].tolist()
    with pytest.raises(InvalidDataError, match="n_samples=301 rows cannot be drawn from 300"):
        wd.ReliefF(n_samples=301).fit(X, y)


@pytest.mark.parametrize("k", [1, 3, "all"])
@pytest.mark.parametrize("seed", range(3))
def test_mbiw(seed, k):
    X, y = generated(seed)
    local = wb.MBIW(k).fit(X, y)
    for table, labels, options in cuts(X, y):
        found = wd.MBIW(k, **options).fit(table, labels)
        np.testing.assert_array_equal(found.instance_weights_, local.instance_weights_)
        assert found.weights_ == local.weights_
        assert found.to_local().weights_ == local.weights_
    some = wd.MBIW(k, n_samples=40, random_state=0, max_bytes=2**16).fit(X, y)
    # margins against all rows, compared among the drawn ones: from the ordinary one's own functions
    from weighbors.tables.coded import CodedTable
    from weighbors.tables.targets import Target
    from weighbors.tables.validation import TableCoder
    from weighbors.weighers.mbiw import instance_weights, margin_vectors
    from weighbors.weighers.rows import Instances

    codes = np.unique(y, return_inverse=True)[1]
    table = CodedTable(X, TableCoder(nominal=np.zeros(5, dtype=bool)), Target(codes, np.arange(3)), np.ones(len(X)))
    whole = Instances(X, table.nominal, scaled=False, p=2, n_jobs=1)
    margins = margin_vectors(whole, table, None if k == "all" else k)[some.sample_indices_]
    np.testing.assert_allclose(some.instance_weights_, instance_weights(margins), rtol=1e-12)


def test_margins_of_many_rows_are_compared_in_ranges(monkeypatch):
    from weighbors.distributed import weighers

    monkeypatch.setattr(weighers, "_EACH", 1)
    X, y = generated(0, n=600)
    found = wd.MBIW(max_bytes=2**20, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(found.instance_weights_, wb.MBIW().fit(X, y).instance_weights_)


def some_weights(n, m):
    rng = RNG(5)
    yield None
    yield Weights(feature_weights=rng.random(m))
    yield Weights(feature_weights=rng.random((3, m)), classes=["a", "b", "c"])
    yield Weights(feature_weights=rng.random((n, m)))
    masks = {"instance_mask": np.arange(n) % 3 > 0, "feature_mask": np.arange(m) != 2}
    yield Weights(instance_scales=rng.random(n), votes=rng.random(n), **masks)
    yield Weights(instance_mask=np.arange(n) < 40)  # whole blocks without anybody


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("p", [1, 2])
def test_knn_gives_the_bits_of_the_ordinary_one(p, seed, dtype):
    X, y = generated(seed, dtype)
    Q = np.concatenate([X[:30] + dtype(0.5), X[:5]])
    repeats = RNG(seed).integers(0, 3, len(X))
    for number, weigher in enumerate(some_weights(*X.shape)):
        options = {"p": p, "weights": ("uniform", "distance")[number % 2], "vote_ties": ("first", "nearest")[seed % 2]}
        weight = repeats if number in (1, 4) else None
        local = wb.WeightedKNeighborsClassifier(4, weigher, **options).fit(X, y, weight)
        for table, labels, where in list(cuts(X, y))[seed % 2 :: 2]:
            found = wd.WeightedKNeighborsClassifier(4, weigher, **options, **where).fit(table, labels, weight)
            for ours, theirs in zip(found.kneighbors(Q), local.kneighbors(Q), strict=True):
                np.testing.assert_array_equal(ours, theirs)
            np.testing.assert_array_equal(found.predict_proba(Q), local.predict_proba(Q))
            np.testing.assert_array_equal(found.predict(Q), local.predict(Q))
        np.testing.assert_array_equal(found.predict(None), local.predict(None))
        pd.testing.assert_frame_equal(found.explain(Q[:3]).frame(), local.explain(Q[:3]).frame())
        back = found.to_local()
        assert type(back) is wb.WeightedKNeighborsClassifier
        np.testing.assert_array_equal(back.predict_proba(Q), local.predict_proba(Q))
        assert found.n_samples_fit_ == local.n_samples_fit_


def test_roots_of_different_squares_may_be_equal_and_still_rank():
    # 1 + 2**-23 and 1 have the same root in float32: the nearer row must win though it comes later
    near, far = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    X = np.zeros((40, 2), dtype=np.float32)
    X[:, 0] = 9.0
    X[3], X[33] = (1.0, np.sqrt(far - near)), (1.0, 0.0)
    y = np.arange(40) % 2
    assert np.sqrt(far) == np.sqrt(near)
    found = wd.WeightedKNeighborsClassifier(1, max_bytes=2**16).fit(X, y)
    table = found._fitted.engine.table
    table.source = type(table.source)(*_in_blocks_of(table, X, y, 16))
    table.first = np.array([0, 16, 32, 40])
    distance, row = found.kneighbors(np.zeros((1, 2), dtype=np.float32), 2)
    assert row.tolist() == [[33, 3]]
    assert distance[0, 0] == distance[0, 1]


def _in_blocks_of(table, X, y, size):
    from weighbors.blocks.block import ArrayBlock

    begins = range(0, len(X), size)
    blocks = [ArrayBlock(X[b : b + size], y[b : b + size], table.header, size, i) for i, b in enumerate(begins)]
    return blocks, table.header, [min(size, len(X) - b) for b in begins], False, None


@pytest.mark.parametrize("discretize", [None, "mdlp", "frequency"])
@pytest.mark.parametrize("seed", range(3))
def test_intervals_by_merged_counts(seed, discretize):
    X, y = generated(seed, np.float32)
    if discretize is None:
        X = np.round(X)
    repeats = RNG(seed).integers(0, 3, len(X))
    for number, normalize in enumerate(["instance", None]):
        weight = repeats if number == 1 else None
        options = {
            "normalize": normalize,
            "discretize": discretize,
            "n_bins": 4,
            "overlap": ("values", "length")[seed % 2],
        }
        local = wb.RepresentativeIntervals(**options).fit(X, y, weight)
        for table, labels, where in cuts(X, y):
            found = wd.RepresentativeIntervals(**options, **where).fit(table, labels, weight)
            pd.testing.assert_frame_equal(found.intervals_, local.intervals_)
            assert found.weights_ == local.weights_
        pd.testing.assert_frame_equal(found.to_local().intervals_, local.intervals_)


def mixed(n=200):
    rng = RNG(8)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": rng.choice(["red", "green", "blue"], n),
            "grade": pd.Categorical(rng.choice(["low", "high"], n), categories=["low", "high"], ordered=True),
            "count": rng.integers(0, 9, n),
        }
    )
    frame.loc[::17, "kind"] = None
    frame.loc[5::19, "size"] = np.nan
    return frame, np.where(frame["count"] + rng.normal(size=n) > 4, "yes", "no")


def test_tables_of_numbers_and_categories():
    dd = pytest.importorskip("dask.dataframe")
    frame, y = mixed()
    labelled = frame.assign(target=y)
    table = dd.from_pandas(labelled, npartitions=5)
    for options in ({"max_bytes": 2**16}, {"max_bytes": 2**20}):
        for X, labels in (
            (table, "target"),
            (labelled, "target"),
            (frame, y),
            (table.drop(columns="target"), table["target"]),
        ):
            found = wd.ReliefF(3, **options).fit(X, labels)
            local = wb.ReliefF(3).fit(frame, y)
            np.testing.assert_array_equal(found.feature_weights_, local.feature_weights_)
            assert found.weights_ == local.weights_
        model = wd.WeightedKNeighborsClassifier(3, **options).fit(table, "target")
        same = wb.WeightedKNeighborsClassifier(3).fit(frame, y)
        for queries in (frame[:40], table, dd.from_pandas(frame[:40], npartitions=3)):
            inside = frame if queries is table else frame[:40]
            np.testing.assert_array_equal(model.predict_proba(queries), same.predict_proba(inside))
        assert model.score(table, "target") == same.score(frame, y)
        in_memory = wd.WeightedKNeighborsClassifier(3, **options).fit(frame, y)
        assert in_memory.score(table, "target") == same.score(frame, y)  # trained on a table of another kind
        ours = wd.RepresentativeIntervals(discretize="mdlp", **options).fit(table, "target")
        theirs = wb.RepresentativeIntervals(discretize="mdlp").fit(frame, y)
        pd.testing.assert_frame_equal(ours.intervals_, theirs.intervals_)
        assert ours.weights_ == theirs.weights_


def test_a_weigher_inside_a_knn():
    X, y = generated(1)
    Q = X[:40] + 0.25
    pairs = [
        (wd.ReliefF(3), wb.ReliefF(3)),
        (wd.MBIW(), wb.MBIW()),
        (wd.RepresentativeIntervals(discretize="mdlp"), wb.RepresentativeIntervals(discretize="mdlp")),
        (wd.ClassRelief(2), wb.ClassRelief(2)),
    ]
    for ours, theirs in pairs:
        found = wd.WeightedKNeighborsClassifier(3, ours, max_bytes=2**17).fit(X, y)
        local = wb.WeightedKNeighborsClassifier(3, theirs).fit(X, y)
        np.testing.assert_array_equal(found.predict_proba(Q), local.predict_proba(Q))
        np.testing.assert_array_equal(found.to_local().predict_proba(Q), local.predict_proba(Q))
    with pytest.raises(InvalidDataError, match="ReliefF needs all rows in memory"):
        wd.WeightedKNeighborsClassifier(3, wb.ReliefF()).fit(X, y)
    with pytest.raises(ForeignWeightsError, match="20 training rows"):
        wd.WeightedKNeighborsClassifier(3, wd.MBIW(n_samples=20)).fit(X, y)


def test_selection_is_lazy_for_dask():
    da = pytest.importorskip("dask.array")
    X, y = generated(0)
    table = da.from_array(X, chunks=(80, 5))
    found = wd.ReliefF(n_features_to_select=2).fit(table, y)
    kept = found.transform(table)
    assert isinstance(kept, da.Array)
    np.testing.assert_array_equal(kept.compute(), found.transform(X))
    np.testing.assert_array_equal(clone(found).fit_transform(X, y), kept.compute())


def test_clones_keep_the_client_and_pickles_leave_it():
    class Connection:
        status = "closed"

        def compute(self): ...
        def gather(self): ...
        def nthreads(self): ...
        def __deepcopy__(self, memo):
            raise AssertionError

    client = Connection()
    weigher = wd.ReliefF(client=client)
    assert clone(weigher).client is client
    assert clone(wd.WeightedKNeighborsClassifier(weigher=weigher, client=client)).weigher.client is client
    assert pickle.loads(pickle.dumps(wd.ReliefF().fit(*generated(0)))).client is None


def test_any_joblib_backend_serves():
    from joblib import parallel_config

    X, y = generated(0)
    local = wb.ReliefF(3).fit(X, y).feature_weights_
    with parallel_config(backend="loky", n_jobs=2):
        found = wd.ReliefF(3, n_samples=None, max_bytes=2**20).fit(X, y)
    np.testing.assert_array_equal(found.feature_weights_, local)


def test_partial_fit_is_not_offered():
    X, y = generated(0)
    model = wd.WeightedKNeighborsClassifier(3).fit(X, y)
    assert not hasattr(model, "partial_fit")
    assert "blocks: the same search" in str(model.plan_)
