"""Learned votes over tables in blocks equal those of tables in memory, which are tested against tests/naive."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import weighbors as wb
from weighbors import Weights
from weighbors.blocks import table as blocks
from weighbors.exceptions import ForeignWeightsError, InvalidDataError, InvalidWeightsError

RNG = np.random.default_rng
GIVEN = {"width": 2.0, "ridge": 0.1}
VOTERS = {"n_neighbors": 20, "random_state": 0}
PEAKS = {"LearnedVotesClassifier": 60, "LearnedVotesRegressor": 78}  # bytes per row: row numbers, targets, classes
KINDS = ["LearnedVotesClassifier", "LearnedVotesRegressor"]
kinds = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def little_memory(monkeypatch):
    """Blocks are cut into small pieces, and the rows of the neighbours of some queries at a time are in memory."""
    monkeypatch.setattr(blocks, "TASK_BYTES", 2**16)


def mapped(folder, X):
    """The rows as a mapped file, which is read in blocks."""
    np.save(folder / "rows.npy", X)
    return folder / "rows.npy"


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, atol=1e-9, rtol=1e-9)


def numbers(kind, n=300, m=5, dtype=np.float64, missing=False):
    rng = RNG(3)
    X = rng.normal(size=(n, m))
    if missing:
        X[rng.random(X.shape) < 0.05] = np.nan
    signal = np.nan_to_num(X[:, 0]) + np.abs(np.nan_to_num(X[:, 1])) + 0.2 * rng.normal(size=n)
    y = np.array(["low", "mid", "high"])[np.digitize(signal, [0.0, 1.2])] if kind == KINDS[0] else 100 + 7 * signal
    return X.astype(dtype), y


def mixed(kind, n=240):
    rng = RNG(8)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": rng.choice(["red", "green", "blue"], n),
            "grade": pd.Categorical(rng.choice(["low", "high"], n), categories=["low", "high"], ordered=True),
            "count": rng.integers(0, 9, n),
        }
    )
    signal = frame["count"] + 2 * (frame["kind"] == "red") + rng.normal(size=n)
    frame.loc[::17, "kind"] = None
    frame.loc[5::19, "size"] = np.nan
    return frame, np.where(signal > 4, "yes", "no") if kind == KINDS[0] else signal.to_numpy()


def assert_same(found, local, queries, in_memory=None):
    """Everything that both models publish is equal. ``in_memory`` are the queries as the ordinary model gets them."""
    in_memory = queries if in_memory is None else in_memory
    if hasattr(local, "classes_"):
        close(found.predict_proba(queries), local.predict_proba(in_memory))
        close(found.decision_function(queries), local.decision_function(in_memory))
        assert np.asarray(found.predict(queries)).tolist() == local.predict(in_memory).tolist()
        close(found.loo_decision_function_, local.loo_decision_function_)
        assert found.classes_.tolist() == local.classes_.tolist()
    else:
        close(found.predict(queries), local.predict(in_memory))
        close(found.loo_predictions_, local.loo_predictions_)
    close(found.loo_score_, local.loo_score_)
    close(found.intercept_, local.intercept_)
    close([found.width_, found.ridge_], [local.width_, local.ridge_])
    np.testing.assert_array_equal(found.loo_rows_, local.loo_rows_)
    assert found.plan_.voters == local.plan_.voters
    assert found.alpha_ is None


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("missing", [False, True])
@kinds
def test_arrays_in_any_cut(kind, missing, p, tmp_path, little_memory):
    da = pytest.importorskip("dask.array")
    X, y = numbers(kind, missing=missing)
    queries = np.concatenate([X[:20] + 0.25, X[:5]])
    options = {**VOTERS, **GIVEN, "p": p, "weigher": Weights(feature_weights=[1.0, 2.0, 0.5, 0.0, 0.3])}
    local = getattr(wb, kind)(**options).fit(X, y)
    odd = (1, 0, 149, 0, 150)
    for table, labels, n_jobs in (
        (mapped(tmp_path, X), y, None),
        (da.from_array(X, chunks=(97, 2)), da.from_array(y, chunks=50), 2),
        (da.from_array(X, chunks=(odd, 5)), y, None),
    ):
        found = getattr(wb, kind)(**options, n_jobs=n_jobs).fit(table, labels)
        assert_same(found, local, queries)
    lazy = da.from_array(queries, chunks=(7, 5))
    assert hasattr(found.predict(lazy), "dask")
    assert_same(found, local, lazy, queries)
    assert_same(pickle.loads(pickle.dumps(found)), local, queries)
    assert found.score(table, y) == pytest.approx(local.score(X, y), abs=1e-9)
    frames = found.explain(queries[:3], top=4), local.explain(queries[:3], top=4)
    pd.testing.assert_frame_equal(*(frame.frame() for frame in frames), rtol=1e-7, atol=1e-9)


@kinds
def test_frames_and_parquet_folders_with_categories_and_missing_values(kind, tmp_path, little_memory):
    dd = pytest.importorskip("dask.dataframe")
    pytest.importorskip("pyarrow")
    frame, y = mixed(kind)
    labelled = frame.assign(target=y)
    local = getattr(wb, kind)(**VOTERS, **GIVEN, weigher=None).fit(frame, y)
    table = dd.from_pandas(labelled, npartitions=5)
    for number in range(4):
        labelled.iloc[60 * number : 60 * number + 60].to_parquet(tmp_path / f"part.{number}.parquet", row_group_size=25)
    for X, labels in (
        (table, "target"),
        (table.drop(columns="target"), table["target"]),
        (tmp_path, "target"),
    ):
        found = getattr(wb, kind)(**VOTERS, **GIVEN, weigher=None).fit(X, labels)
        assert_same(found, local, frame[:30])
        assert found.feature_names_in_.tolist() == list(frame.columns)
    assert_same(found, local, tmp_path, frame)
    for X in (tmp_path, table):
        assert found.score(X, "target") == pytest.approx(local.score(frame, y), abs=1e-9)


@kinds
def test_mapped_files(kind, tmp_path, little_memory):
    X, y = numbers(kind, dtype=np.float32)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    local = getattr(wb, kind)(**VOTERS, **GIVEN, weigher=None).fit(X, y)
    found = getattr(wb, kind)(**VOTERS, **GIVEN, weigher=None).fit(tmp_path / "X.npy", tmp_path / "y.npy")
    assert_same(found, local, np.load(tmp_path / "X.npy", mmap_mode="r"), X)


@kinds
def test_width_ridge_and_feature_weights_are_chosen_on_the_same_rows(kind, tmp_path, little_memory):
    X, y = numbers(kind, n=800)  # so many that the neighbours' rows are read in several parts
    X = np.concatenate([X, X[:40]])  # repeated rows count as one where feature weights are learned
    y = np.concatenate([y, y[:40]])
    local = getattr(wb, kind)(**VOTERS).fit(X, y)
    found = getattr(wb, kind)(**VOTERS).fit(mapped(tmp_path, X), y)
    close(found.weights_.feature_weights, local.weights_.feature_weights)
    assert_same(found, local, X[:30] + 0.1)
    pd.testing.assert_frame_equal(found.choice_, local.choice_)


@kinds
def test_rows_of_weight_zero_are_not_there(kind, little_memory):
    dd = pytest.importorskip("dask.dataframe")
    frame, y = mixed(kind)
    frame.loc[:2, "kind"] = "strange"  # a category that only rows of weight 0 have
    frame.loc[:2, "size"] = 1e3
    weight = RNG(0).integers(1, 4, len(y)).astype(float)
    weight[:60:3] = 0
    weight[:5] = 0
    local = getattr(wb, kind)(**VOTERS, **GIVEN, weigher=None).fit(frame, y, sample_weight=weight)
    table = dd.from_pandas(frame.assign(target=y), npartitions=4)
    found = getattr(wb, kind)(**VOTERS, **GIVEN, weigher=None).fit(table, "target", sample_weight=weight)
    assert_same(found, local, frame[:40])


@kinds
def test_selected_instances(kind, tmp_path, little_memory):
    X, y = numbers(kind, missing=True)
    chosen = Weights(instance_mask=np.arange(300) % 5 == 0)
    local = getattr(wb, kind)(9, **GIVEN, weigher=chosen).fit(X, y)
    found = getattr(wb, kind)(9, **GIVEN, weigher=chosen).fit(mapped(tmp_path, X), y)
    assert_same(found, local, X[:40] + 0.1)
    assert found.plan_.voters == "nearest rows"


def test_weighers_over_blocks(tmp_path):
    X, y = numbers(KINDS[0])
    table = mapped(tmp_path, X)
    for weigher in (wb.ReliefF(3), wb.MBIW()):
        model = wb.LearnedVotesClassifier(15, weigher, **GIVEN)
        assert_same(clone(model).fit(table, y), clone(model).fit(X, y), X[:30] + 0.1)
    with pytest.raises(InvalidDataError, match="needs all rows in memory"):
        wb.LearnedVotesClassifier(5, wb.MultiSURF()).fit(table, y)
    with pytest.raises(InvalidWeightsError, match="same in both directions"):
        wb.LearnedVotesClassifier(5, wb.RepresentativeIntervals(discretize="mdlp")).fit(table, y)
    weights = Weights(feature_weights=np.ones((3, X.shape[1])), classes=np.unique(y))
    with pytest.raises(InvalidWeightsError, match="same in both directions"):
        wb.LearnedVotesClassifier(5, weights).fit(table, y)
    with pytest.raises(ForeignWeightsError, match="4 features"):
        wb.LearnedVotesClassifier(5, Weights(feature_weights=np.ones(4))).fit(table, y)


def test_class_weight(tmp_path, little_memory):
    X, y = numbers(KINDS[0])
    for class_weight in ("balanced", {"low": 2.0, "mid": 1.0, "high": 0.0}):
        options = {**GIVEN, "n_neighbors": 12, "weigher": None, "class_weight": class_weight}
        found = wb.LearnedVotesClassifier(**options).fit(mapped(tmp_path, X), y)
        assert_same(found, wb.LearnedVotesClassifier(**options).fit(X, y), X[:30])


@kinds
def test_auto_lets_the_nearest_rows_vote(kind, tmp_path):
    X, y = numbers(kind)
    found = getattr(wb, kind)(weigher=None, **GIVEN).fit(mapped(tmp_path, X), y)
    assert found.plan_.n_voting == 100
    assert "the rows are in blocks" in str(found.plan_)
    assert "blocks: the same search" in str(found.plan_)
    local = getattr(wb, kind)(100, weigher=None, **GIVEN).fit(X, y)
    assert_same(found, local, X[:30])
    with pytest.raises(InvalidDataError, match="n_neighbors=None"):
        clone(found).set_params(n_neighbors=None).fit(tmp_path / "rows.npy", y)


def test_targets_that_are_no_numbers(tmp_path):
    X, y = numbers(KINDS[1])
    X = mapped(tmp_path, X)
    with pytest.raises(InvalidDataError, match="must hold numbers"):
        wb.LearnedVotesRegressor().fit(X, np.where(y > 100, "a", "b"))
    with pytest.raises(InvalidDataError, match="infinity"):
        wb.LearnedVotesRegressor().fit(X, np.where(y > 110, np.inf, y))
    with pytest.raises(InvalidDataError, match="NaN"):
        wb.LearnedVotesRegressor().fit(X, np.where(y > 110, np.nan, y))


@kinds
def test_memory_does_not_grow_with_the_table(kind, tmp_path, monkeypatch):
    """19 MB of rows, 4 MB allowed: the peak of what Python and NumPy allocate."""
    n, m, allowed = 120_000, 20, 4 * 2**20
    mapped = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float64, shape=(n, m))
    rng = RNG(0)
    for begin in range(0, n, 10_000):
        mapped[begin : begin + 10_000] = rng.normal(size=(10_000, m))
    mapped.flush()
    y = np.asarray(mapped[:, 0]) > 0 if kind == KINDS[0] else np.asarray(mapped[:, 0]) + 5
    monkeypatch.setattr(blocks, "TASK_BYTES", allowed)
    model = getattr(wb, kind)(**VOTERS, **GIVEN, weigher=None)
    np.save(tmp_path / "few.npy", mapped[:1000])
    model.fit(tmp_path / "few.npy", y[:1000])  # what it imports is not counted
    tracemalloc.start()
    try:
        model.fit(tmp_path / "X.npy", y).predict(np.asarray(mapped[:40]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < PEAKS[kind] * n + allowed
    local = getattr(wb, kind)(**VOTERS, **GIVEN, weigher=None).fit(np.asarray(mapped), y)
    assert_same(model, local, mapped[:40])
