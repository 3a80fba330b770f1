"""Where tables come from, what is refused, and how much memory they take."""

import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import weighbors as wb
from weighbors.exceptions import InvalidDataError, LonelyClassWarning, MissingDependencyError

RNG = np.random.default_rng
ALL = [wb.ReliefF(2), wb.MBIW(), wb.RepresentativeIntervals(discretize="mdlp"), wb.WeightedKNeighborsClassifier(3)]
every = pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)


def table(n=120, m=4, dtype=np.float64):
    rng = RNG(0)
    X, y = rng.normal(size=(n, m)).astype(dtype), rng.integers(0, 2, n)
    X[:, 0] += y
    return X, y


def learned(estimator):
    """What the estimators publish, as one array."""
    if hasattr(estimator, "predict"):
        X = table()[0]
        named = hasattr(estimator, "feature_names_in_")
        return estimator.predict_proba(pd.DataFrame(X, columns=list("abcd")) if named else X)
    for name in ("feature_weights_", "instance_weights_"):
        if hasattr(estimator, name):
            return getattr(estimator, name)
    return estimator.intervals_["weight"].to_numpy()


@every
def test_files_and_mapped_arrays(estimator, tmp_path, task_bytes):
    X, y = table()
    expected = learned(clone(estimator).fit(X, y))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "F.npy", np.asfortranarray(X))
    np.save(tmp_path / "y.npy", y)
    task_bytes(2**16)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.save(tmp_path / "L.npy", np.concatenate([X[:7] + 1, X, X[:3]]))
    larger = np.load(tmp_path / "L.npy", mmap_mode="r")  # a slice of it starts elsewhere in the file
    for given, labels in (
        (tmp_path / "X.npy", tmp_path / "y.npy"),
        (str(tmp_path / "F.npy"), y),
        (mapped, y),
        (mapped[:, ::1], np.load(tmp_path / "y.npy", mmap_mode="r")),
        (larger[7:-3], y),
        (larger[7:-3][::-1][::-1], y),
    ):
        np.testing.assert_array_equal(learned(estimator.fit(given, labels)), expected)


@every
def test_parquet_folders(estimator, tmp_path, task_bytes):
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=np.where(y, "yes", "no"))
    expected = learned(clone(estimator).fit(frame[list("abcd")], frame["label"]))
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(12):  # part.10 comes after part.9, and one part is empty
        begin, end = (10 * number, 10 * number + 10) if number < 11 else (110, 120)
        frame.iloc[begin:end].to_parquet(folder / f"part.{number}.parquet", row_group_size=4, index=number % 2 == 0)
    frame.iloc[:0].to_parquet(folder / "part.3a.parquet")
    (folder / "_metadata").write_text("not read")
    for limit in (2**16, 2**24):
        task_bytes(limit)
        found = estimator.fit(folder, "label")
        np.testing.assert_array_equal(learned(found), expected)
        assert found.feature_names_in_.tolist() == list("abcd")


@every
def test_rows_and_labels_of_one_folder_that_dask_reads_in_different_partitions(estimator, tmp_path):
    """Of one narrow column, Dask fuses many files into one partition."""
    dd = pytest.importorskip("dask.dataframe")
    X, y = table(m=8)
    frame = pd.DataFrame(X, columns=list("abcdefgh")).assign(label=y)
    for begin in range(0, 120, 10):
        frame.iloc[begin : begin + 10].to_parquet(tmp_path / f"part.{begin:03d}.parquet")
    whole = dd.read_parquet(tmp_path)
    assert len(whole["label"].to_delayed()) < whole.npartitions == 12
    found = estimator.fit(whole.drop(columns="label"), whole["label"])
    weights, kept = found.weights_, clone(estimator).fit(frame.drop(columns="label"), y).weights_
    assert weights == kept


def test_queries_from_files(tmp_path, task_bytes):
    task_bytes(2**16)
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=50)
    model = wb.WeightedKNeighborsClassifier(3).fit(tmp_path / "t.parquet", "label")
    expected = wb.WeightedKNeighborsClassifier(3).fit(X, y).predict(X)
    np.testing.assert_array_equal(model.predict(tmp_path / "t.parquet"), expected)
    assert model.score(tmp_path / "t.parquet", "label") == np.mean(expected == y)
    frame[["a", "b"]].to_parquet(tmp_path / "q.parquet")
    with pytest.raises(InvalidDataError, match="X has 2 features; 4 were there in fit"):
        model.predict(tmp_path / "q.parquet")


def test_out_of_core_stays_within_the_memory_of_a_task(tmp_path, task_bytes):
    """48 MB of rows, 4 MB allowed: the peak of what Python and NumPy allocate."""
    n, m, allowed = 300_000, 20, 4 * 2**20
    task_bytes(allowed)
    mapped = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float64, shape=(n, m))
    rng = RNG(0)
    for begin in range(0, n, 10_000):
        mapped[begin : begin + 10_000] = rng.integers(0, 50, size=(10_000, m))
    mapped.flush()
    y = (np.asarray(mapped[:, 0]) > 24).astype(np.int8)
    fixed = 60 * n  # per row: classes, row numbers, weights of rows on the asking side
    tracemalloc.start()
    try:
        relief = wb.ReliefF(2, ties="index", n_samples=20, random_state=0).fit(tmp_path / "X.npy", y)
        model = wb.WeightedKNeighborsClassifier(3).fit(tmp_path / "X.npy", y)
        labels = model.predict(np.asarray(mapped[:40]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < allowed + fixed < n * m * 8 / 2
    assert relief.feature_weights_.argmax() == 0
    np.testing.assert_array_equal(
        labels, wb.WeightedKNeighborsClassifier(3).fit(np.asarray(mapped), y).predict(mapped[:40])
    )


def test_small_chunks_are_processed_together(task_bytes):
    """A thousand chunks of ten rows: a task takes as many as are worth its overhead, and never more than a piece."""
    da = pytest.importorskip("dask.array")
    X, y = table(10_000, 4)
    lazy = da.from_array(X, chunks=(10, 4))
    few = wb.WeightedKNeighborsClassifier(3).fit(lazy, y)._engine.table
    assert len(few.blocks) == 1  # 320 kB
    task_bytes(2**18)
    some = wb.WeightedKNeighborsClassifier(3).fit(lazy, y)._engine.table
    piece = 2**18 // 8 // (4 * 8)
    assert len(some.blocks) == -(-10_000 // (piece // 10 * 10))
    assert np.diff(some.first).max() <= piece


@every
def test_unknown_chunk_sizes(estimator):
    da = pytest.importorskip("dask.array")
    X, y = table()
    lazy = da.from_array(X, chunks=(50, 4))
    unknown = lazy[lazy[:, 0] > -9]
    with pytest.raises(InvalidDataError, match=r"X has chunks of unknown size.*X.compute_chunk_sizes\(\)"):
        estimator.fit(unknown, y)
    labels = da.from_array(y, chunks=50)
    with pytest.raises(InvalidDataError, match="y has chunks of unknown size"):
        estimator.fit(lazy, labels[labels >= 0])
    estimator.fit(unknown.compute_chunk_sizes(), labels)


@every
def test_empty_partitions_and_partitions_of_one_class(estimator, task_bytes):
    task_bytes(2**16)
    dd, delayed = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask").delayed
    X, y = table()
    order = np.argsort(y, kind="stable")
    frame = pd.DataFrame(X[order], columns=list("abcd")).assign(label=y[order])
    parts = [frame[:30], frame[:0], frame[30:], frame[:0]]
    lazy = dd.from_delayed([delayed(part) for part in parts], meta=frame[:0], verify_meta=False)
    found = estimator.fit(lazy, "label")
    local = clone(estimator).fit(frame[list("abcd")], frame["label"])
    if hasattr(estimator, "predict"):
        np.testing.assert_array_equal(found.predict(frame[list("abcd")]), local.predict(frame[list("abcd")]))
    else:
        np.testing.assert_array_equal(learned(found), learned(local))
    nothing = dd.from_delayed([delayed(frame[:0])] * 2, meta=frame[:0], verify_meta=False)
    with pytest.raises(InvalidDataError, match="all partitions of the table are empty"):
        estimator.fit(nothing, "label")


@every
def test_partitions_of_other_columns(estimator, tmp_path, task_bytes):
    dd, delayed = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask").delayed
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    other = frame.rename(columns={"d": "e"})
    lazy = dd.from_delayed([delayed(frame), delayed(other)], meta=frame[:0], verify_meta=False)
    with pytest.raises(InvalidDataError, match=r"columns of partition 1 differ.*lacks \['d'\] and has \['e'\]"):
        estimator.fit(lazy, "label")
    frame.to_parquet(tmp_path / "0.parquet")
    other.to_parquet(tmp_path / "1.parquet")
    with pytest.raises(InvalidDataError, match=r"columns of partition 1 differ"):
        estimator.fit(tmp_path, "label")
    da = pytest.importorskip("dask.array")
    narrow = da.concatenate([
        da.from_array(X, chunks=(60, 4)), da.from_delayed(delayed(X[:10, :3]), shape=(10, 4), dtype=X.dtype)
    ])  # fmt: skip
    task_bytes(2**16)
    with pytest.raises(InvalidDataError, match="partition 2 has 3 columns; 4 are expected"):
        estimator.fit(narrow, np.concatenate([y, y[:10]]))


def test_labels_that_do_not_fit(mapped, task_bytes):
    dd, da = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask.array")
    X, y = table()
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")).assign(label=y), npartitions=3)
    with pytest.raises(InvalidDataError, match="there is no column 'lable'.*Did you mean 'label'"):
        wb.ReliefF().fit(frame, "lable")
    with pytest.raises(InvalidDataError, match="X has 3 partitions and y has 2"):
        wb.ReliefF().fit(frame, da.from_array(y, chunks=60))
    with pytest.raises(InvalidDataError, match="must be a dask Series or Array"):
        wb.ReliefF().fit(frame, y)
    with pytest.raises(InvalidDataError, match=r"partition [01] has 40 rows and (39|41) labels"):
        wb.ReliefF().fit(frame, da.from_array(np.r_[y], chunks=((39, 41, 40),)))
    with pytest.raises(InvalidDataError, match="inconsistent numbers of samples"):
        wb.ReliefF().fit(da.from_array(X), y[:-1])
    with pytest.raises(InvalidDataError, match="X is an array without names"):
        wb.ReliefF().fit(mapped(X), "label")
    with pytest.raises(ValueError, match="y is None"):
        wb.ReliefF().fit(mapped(X), None)
    with pytest.raises(InvalidDataError, match="at least 2 classes"):
        wb.ReliefF().fit(mapped(X), np.zeros(len(X)))
    holes = np.where(np.arange(len(y)) == 77, None, y.astype(object))
    task_bytes(2**16)
    with pytest.raises(InvalidDataError, match="1 labels are missing .the first in row 77"):
        wb.ReliefF().fit(mapped(X), holes)
    with pytest.raises(InvalidDataError, match="labels of different kinds"):
        wb.ReliefF().fit(mapped(X), np.array(["a", 1] * 60, dtype=object))
    with pytest.raises(ValueError, match="continuous"):
        wb.ReliefF().fit(mapped(X), X[:, 0])
    with pytest.warns(LonelyClassWarning):
        wb.ReliefF().fit(mapped(X), np.r_[[7], y[1:]])


@every
def test_tables_that_cannot_be_used(estimator, tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = table()
    with pytest.raises(InvalidDataError, match="there is no file or folder"):
        estimator.fit(tmp_path / "nowhere", "label")
    with pytest.raises(InvalidDataError, match="holds no parquet files"):
        estimator.fit(tmp_path, "label")
    (tmp_path / "broken.parquet").write_text("not parquet")
    with pytest.raises(InvalidDataError, match="cannot be read as parquet"):
        estimator.fit(tmp_path / "broken.parquet", "label")
    (tmp_path / "broken.npy").write_text("not an array")
    with pytest.raises(InvalidDataError, match="cannot be mapped as an array"):
        estimator.fit(tmp_path / "broken.npy", y)
    with pytest.raises(InvalidDataError, match="shape .n_samples, n_features. is needed"):
        estimator.fit(da.from_array(X[:, 0]), y)
    bad = X.copy()
    bad[100, 2] = np.inf
    with pytest.raises(InvalidDataError, match=r"contains infinity .* \(row 100, column 2\)"):
        estimator.fit(da.from_array(bad, chunks=(50, 4)), y)


def test_estimators_that_need_all_rows_say_so(tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = table()
    np.save(tmp_path / "X.npy", X)
    for estimator in (wb.MultiSURF(), wb.IRelief(), wb.Simba(), wb.FCNN(), wb.TuRF(), wb.KStar(), wb.NCAWeights()):
        name = type(estimator).__name__
        with pytest.raises(InvalidDataError, match=rf"{name} needs all rows in memory.*Dask.*X.compute\(\)"):
            estimator.fit(da.from_array(X), y)
        with pytest.raises(InvalidDataError, match=rf"{name} needs all rows in memory.*path.*read_table"):
            estimator.fit(tmp_path / "X.npy", y)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")  # it becomes an array in memory
    np.testing.assert_array_equal(
        wb.MultiSURF().fit(mapped, y).feature_weights_, wb.MultiSURF().fit(X, y).feature_weights_
    )


def test_categories_here_and_numbers_there(task_bytes):
    task_bytes(2**16)
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"a": np.arange(20.0), "b": [1, 2] * 10, "label": [0, 1, 1, 0] * 5}).astype({"b": object})
    other = frame.assign(b=pd.Series(["x", "y"] * 10, dtype=object))
    with dask.config.set({"dataframe.convert-string": False}):
        parts = [dask.delayed(frame), dask.delayed(other)]
        lazy = dd.from_delayed(parts, meta=frame[:0], verify_meta=False)
    with pytest.raises(InvalidDataError, match="column 'b' holds categories in some partitions and numbers in others"):
        wb.ReliefF().fit(lazy, "label")


def test_folders_partitioned_by_value(tmp_path):
    (tmp_path / "year=2020").mkdir()
    pd.DataFrame({"a": [1.0, 2.0], "label": [0, 1]}).to_parquet(tmp_path / "year=2020" / "0.parquet")
    with pytest.raises(InvalidDataError, match="partitioned by values"):
        wb.ReliefF().fit(tmp_path, "label")


def test_without_dask_or_pyarrow(monkeypatch, tmp_path, mapped):
    X, y = table()
    for name in ("dask", "distributed", "pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    wb.ReliefF().fit(mapped(X), y)  # needs none of them
    with pytest.raises(MissingDependencyError, match="parquet files need pyarrow"):
        wb.ReliefF().fit(tmp_path / "parts", "label")
