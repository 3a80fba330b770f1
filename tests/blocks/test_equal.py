"""Fits to tables in blocks equal those in memory to the bit, which are tested against the oracles in tests/naive."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from naive import relief as naive
from sklearn.base import clone

import weighbors as wb
from weighbors import Weights
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


@pytest.fixture
def cuts(task_bytes, mapped):
    """The same table in many pieces: of a mapped file, chunks of one row, empty ones, columns cut too."""
    da = pytest.importorskip("dask.array")

    def every(X, y):
        n = len(X)
        odd = (1, 0, n // 2, 0, n - n // 2 - 1)
        for limit, table, labels in (
            (2**17, mapped(X), y),
            (2**17, da.from_array(X, chunks=(97, 2)), da.from_array(y, chunks=50)),
            (2**18, da.from_array(X, chunks=(odd, X.shape[1])), y),
        ):
            task_bytes(limit)
            yield table, labels

    return every


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.NothingSelectedWarning")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", WEIGHERS)
def test_weighers_give_the_bits_of_a_fit_in_memory(name, seed, dtype, cuts):
    X, y = generated(seed, dtype)
    y = target(name, y)
    more = {"sigma": 2.0} if name in ("ReliefF", "RReliefF") and seed == 1 else {}
    local = getattr(wb, name)(3, **more).fit(X, y)
    for table, labels in cuts(X, y):
        found = getattr(wb, name)(3, **more, n_jobs=2).fit(table, labels)
        np.testing.assert_array_equal(found.feature_weights_, local.feature_weights_)
        assert found.weights_ == local.weights_
        if name == "RReliefF":
            assert (found.target_type_, hasattr(found, "classes_")) == ("numeric", False)
            assert found.target_statement_ == local.target_statement_
        else:
            assert found.classes_.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(found.transform(X), local.transform(X))
        assert vars(pickle.loads(pickle.dumps(found))).keys() == vars(local).keys()
    if name == "ClassRelief":
        np.testing.assert_array_equal(found.class_feature_weights_, local.class_feature_weights_)
        assert found.agreement_ == local.agreement_
        assert found.class_margins(X, y).tolist() == local.class_margins(X, y).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_drawn_rows_against_loops_and_against_weights_of_zero(seed, mapped, task_bytes):
    task_bytes(2**16)
    X, y = generated(3 * (seed // 2) + seed % 2, n=60, m=3)
    found = wb.ReliefF(2, n_samples=20, random_state=seed).fit(mapped(X), y)
    drawn = np.isin(np.arange(60), found.sample_indices_).astype(float)
    assert drawn.sum() == 20
    np.testing.assert_allclose(found.feature_weights_, naive.relieff(X, y, 2, weight=drawn), atol=1e-12)
    for name in ("ReliefF", "RReliefF"):
        t = target(name, y)
        some = getattr(wb, name)(2, n_samples=20, random_state=seed).fit(mapped(X), t)
        local = getattr(wb, name)(2).fit(X, t, sample_weight=drawn)
        np.testing.assert_allclose(some.feature_weights_, local.feature_weights_, atol=1e-12, rtol=1e-12)
        local = getattr(wb, name)(2, n_samples=20, random_state=seed).fit(X, t)
        np.testing.assert_array_equal(some.feature_weights_, local.feature_weights_)
        np.testing.assert_array_equal(some.sample_indices_, local.sample_indices_)


def test_rrelieff_over_blocks_refuses_labels_and_relieff_numbers(mapped):
    X, y = generated(0)
    with pytest.raises(InvalidDataError, match="must hold numbers.*use ReliefF"):
        wb.RReliefF(3).fit(mapped(X), y)
    with pytest.raises(InvalidDataError, match="RReliefF needs a numeric target, and these are classes"):
        wb.WeightedKNeighborsClassifier(3, wb.RReliefF(3)).fit(mapped(X), y)
    with pytest.raises(InvalidDataError, match="looks like a numeric target.*RReliefF"):
        wb.ReliefF(3).fit(mapped(X), X[:, 0])


def test_rows_are_drawn_by_the_seed_alone(mapped, task_bytes):
    X, y = generated(0)
    first = []
    for limit in (2**16, 2**20):
        task_bytes(limit)
        first.append(wb.ReliefF(n_samples=9, random_state=4).fit(mapped(X), y).sample_indices_)
    np.testing.assert_array_equal(*first)
    assert (np.diff(first[0]) > 0).all()
    with pytest.raises(InvalidDataError, match="n_samples=301 rows cannot be drawn from 300"):
        wb.ReliefF(n_samples=301).fit(mapped(X), y)


@pytest.mark.parametrize("k", [1, 3, "all"])
@pytest.mark.parametrize("seed", range(3))
def test_mbiw(seed, k, cuts):
    X, y = generated(seed)
    local = wb.MBIW(k).fit(X, y)
    drawn = wb.MBIW(k, n_samples=40, random_state=0).fit(X, y)
    for table, labels in cuts(X, y):
        found = wb.MBIW(k).fit(table, labels)
        np.testing.assert_array_equal(found.instance_weights_, local.instance_weights_)
        assert found.weights_ == local.weights_
        some = wb.MBIW(k, n_samples=40, random_state=0).fit(table, labels)
        assert some.weights_ == drawn.weights_
        np.testing.assert_array_equal(some.sample_indices_, drawn.sample_indices_)
    # margins against all rows, compared among the drawn ones: from the functions of a fit to all rows
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


def test_margins_of_many_rows_are_compared_in_ranges(monkeypatch, mapped, task_bytes):
    from weighbors.weighers import mbiw

    monkeypatch.setattr(mbiw, "_EACH", 1)
    task_bytes(2**20)
    X, y = generated(0, n=600)
    found = wb.MBIW(n_jobs=2).fit(mapped(X), y)
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
def test_knn_gives_the_bits_of_a_fit_in_memory(p, seed, dtype, cuts):
    X, y = generated(seed, dtype)
    Q = np.concatenate([X[:30] + dtype(0.5), X[:5]])
    repeats = RNG(seed).integers(0, 3, len(X))
    for number, weigher in enumerate(some_weights(*X.shape)):
        options = {"p": p, "weights": ("uniform", "distance")[number % 2], "vote_ties": ("first", "nearest")[seed % 2]}
        weight = repeats if number in (1, 4) else None
        local = wb.WeightedKNeighborsClassifier(4, weigher, **options).fit(X, y, weight)
        for table, labels in cuts(X, y):
            found = wb.WeightedKNeighborsClassifier(4, weigher, **options).fit(table, labels, weight)
            for ours, theirs in zip(found.kneighbors(Q), local.kneighbors(Q), strict=True):
                np.testing.assert_array_equal(ours, theirs)
            np.testing.assert_array_equal(found.predict_proba(Q), local.predict_proba(Q))
            np.testing.assert_array_equal(found.predict(Q), local.predict(Q))
        np.testing.assert_array_equal(found.predict(None), local.predict(None))
        pd.testing.assert_frame_equal(found.explain(Q[:3]).frame(), local.explain(Q[:3]).frame())
        back = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(back.predict_proba(Q), local.predict_proba(Q))
        assert found.n_samples_fit_ == local.n_samples_fit_


def test_roots_of_different_squares_may_be_equal_and_still_rank():
    da = pytest.importorskip("dask.array")
    # 1 + 2**-23 and 1 have the same root in float32: the nearer row must win though it comes later
    near, far = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    X = np.zeros((40, 2), dtype=np.float32)
    X[:, 0] = 9.0
    X[3], X[33] = (1.0, np.sqrt(far - near)), (1.0, 0.0)
    y = np.arange(40) % 2
    assert np.sqrt(far) == np.sqrt(near)
    found = wb.WeightedKNeighborsClassifier(1).fit(da.from_array(X, chunks=(16, 2)), y)
    distance, row = found.kneighbors(np.zeros((1, 2), dtype=np.float32), 2)
    assert row.tolist() == [[33, 3]]
    assert distance[0, 0] == distance[0, 1]


@pytest.mark.parametrize("discretize", [None, "mdlp", "frequency"])
@pytest.mark.parametrize("seed", range(3))
def test_intervals_by_merged_counts(seed, discretize, cuts):
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
        for table, labels in cuts(X, y):
            found = wb.RepresentativeIntervals(**options).fit(table, labels, weight)
            pd.testing.assert_frame_equal(found.intervals_, local.intervals_)
            assert found.weights_ == local.weights_


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


def test_tables_of_numbers_and_categories(task_bytes):
    dd = pytest.importorskip("dask.dataframe")
    frame, y = mixed()
    table = dd.from_pandas(frame.assign(target=y), npartitions=5)
    same = wb.WeightedKNeighborsClassifier(3).fit(frame, y)
    for limit in (2**16, 2**20):
        task_bytes(limit)
        for X, labels in ((table, "target"), (table.drop(columns="target"), table["target"])):
            found = wb.ReliefF(3).fit(X, labels)
            local = wb.ReliefF(3).fit(frame, y)
            np.testing.assert_array_equal(found.feature_weights_, local.feature_weights_)
            assert found.weights_ == local.weights_
        model = wb.WeightedKNeighborsClassifier(3).fit(table, "target")
        for queries in (frame[:40], table, dd.from_pandas(frame[:40], npartitions=3)):
            inside = frame if queries is table else frame[:40]
            np.testing.assert_array_equal(model.predict_proba(queries), same.predict_proba(inside))
        assert model.score(table, "target") == same.score(frame, y)
        ours = wb.RepresentativeIntervals(discretize="mdlp").fit(table, "target")
        theirs = wb.RepresentativeIntervals(discretize="mdlp").fit(frame, y)
        pd.testing.assert_frame_equal(ours.intervals_, theirs.intervals_)
        assert ours.weights_ == theirs.weights_


@pytest.mark.parametrize(
    "weigher",
    [wb.ReliefF(3), wb.MBIW(), wb.RepresentativeIntervals(discretize="mdlp"), wb.ClassRelief(2)],
    ids=lambda weigher: type(weigher).__name__,
)
def test_a_weigher_inside_a_knn(weigher, mapped, task_bytes):
    task_bytes(2**17)
    X, y = generated(1)
    found = wb.WeightedKNeighborsClassifier(3, weigher).fit(mapped(X), y)
    local = wb.WeightedKNeighborsClassifier(3, weigher).fit(X, y)
    np.testing.assert_array_equal(found.predict_proba(X[:40] + 0.25), local.predict_proba(X[:40] + 0.25))


@pytest.mark.parametrize("weigher", [wb.ReliefF(3), wb.RepresentativeIntervals()], ids=["ReliefF", "intervals"])
def test_a_weigher_inside_a_knn_knows_its_categories(weigher):
    dd = pytest.importorskip("dask.dataframe")
    frame, y = mixed()
    frame["size"] = frame["size"].round()
    found = wb.WeightedKNeighborsClassifier(3, weigher).fit(dd.from_pandas(frame.assign(y=y), npartitions=3), "y")
    local = wb.WeightedKNeighborsClassifier(3, weigher).fit(frame, y)
    np.testing.assert_array_equal(found.predict_proba(frame), local.predict_proba(frame))


def test_weighers_that_a_knn_over_blocks_cannot_have(mapped):
    da = pytest.importorskip("dask.array")
    X, y = generated(1)
    with pytest.raises(InvalidDataError, match="NCAWeights needs all rows in memory"):
        wb.WeightedKNeighborsClassifier(3, wb.NCAWeights()).fit(da.from_array(X, chunks=(90, 5)), y)
    with pytest.raises(ForeignWeightsError, match="20 training rows"):
        wb.WeightedKNeighborsClassifier(3, wb.MBIW(n_samples=20)).fit(mapped(X), y)


def test_selection_is_lazy_for_dask():
    da = pytest.importorskip("dask.array")
    X, y = generated(0)
    table = da.from_array(X, chunks=(80, 5))
    found = wb.ReliefF(n_features_to_select=2).fit(table, y)
    kept = found.transform(table)
    assert isinstance(kept, da.Array)
    np.testing.assert_array_equal(kept.compute(), found.transform(X))
    np.testing.assert_array_equal(clone(found).fit_transform(X, y), kept.compute())


def test_progress_is_shown_where_it_is_wanted(mapped, task_bytes, capsys, monkeypatch):
    from weighbors._display import status_line
    from weighbors.blocks import show_progress

    monkeypatch.setattr(status_line, "_LOG_SECONDS", 0.0)
    task_bytes(2**16)
    X, y = generated(0)
    with show_progress():
        wb.ReliefF(3, n_jobs=1).fit(mapped(X), y)
    assert "batch of rows 1 of 1, batch of queries 17 of 17, block 2 of 2" in capsys.readouterr().err
    wb.ReliefF(3).fit(mapped(X), y)
    assert capsys.readouterr().err == ""


def test_any_joblib_backend_serves(mapped, task_bytes):
    from joblib import parallel_config

    task_bytes(2**17)
    X, y = generated(0)
    with parallel_config(backend="loky", n_jobs=2):
        found = wb.ReliefF(3).fit(mapped(X), y)
    np.testing.assert_array_equal(found.feature_weights_, wb.ReliefF(3).fit(X, y).feature_weights_)


def fit_in_a_worker(X, y):
    """Fit where joblib runs this function."""
    return type(X).__name__, wb.ReliefF(3).fit(X, y).feature_weights_, wb.MBIW(n_jobs=1).fit(X, y)


def test_arrays_that_joblib_maps_for_its_workers_are_no_files(task_bytes):
    """Their files are deleted when the workers end, so an estimator that stored only their place would be lost."""
    from joblib import Parallel, delayed

    from weighbors.blocks import is_blocks

    X, y = generated(0)
    kind, weights, _ = Parallel(n_jobs=2, max_nbytes=1)(delayed(fit_in_a_worker)(X, y) for _ in range(2))[0]
    assert kind == "memmap"
    np.testing.assert_array_equal(weights, wb.ReliefF(3).fit(X, y).feature_weights_)
    assert Parallel(n_jobs=2, max_nbytes=1)(delayed(is_blocks)(X) for _ in range(2)) == [False, False]
