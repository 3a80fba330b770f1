"""On a cluster of worker processes: the same numbers, also when a worker dies; clear errors when the cluster does."""

import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import weighbors as wb
from weighbors._parallel import cluster as _cluster
from weighbors.exceptions import ClusterError, InvalidDataError

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
delayed = pytest.importorskip("dask").delayed
config = pytest.importorskip("dask.config")
RNG = np.random.default_rng
N, ROWS = 240, 60


def table():
    rng = RNG(3)
    X, y = np.round(2 * rng.normal(size=(N, 4))), rng.integers(0, 2, N)
    X[:, 1] += 2 * y
    return X.astype(np.float32), y


@contextmanager
def cluster(**options):
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0, **options}
    with distributed.LocalCluster(**options) as made, distributed.Client(made) as client:
        yield client


@pytest.fixture(scope="module")
def shared():
    with cluster() as connected:
        yield connected


@pytest.fixture
def client(shared):
    shared.wait_for_workers(2, timeout=300)  # those that an earlier test killed start again
    return shared


def chunk_that_kills(number, log, kill_at):
    """Rows of a chunk; the worker that reads the second one for the ``kill_at``-th time dies."""
    if number == 1:
        with open(log, "a") as file:
            file.write(f"{os.getpid()}\n")
        with open(log) as file:
            reads = len(file.readlines())
        if reads == kill_at or kill_at == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    X, _ = table()
    return X[number * ROWS : (number + 1) * ROWS]


def deadly(log, kill_at):
    parts = [delayed(chunk_that_kills, pure=False)(i, str(log), kill_at) for i in range(N // ROWS)]
    return da.concatenate([da.from_delayed(part, shape=(ROWS, 4), dtype=np.float32) for part in parts])


JOBS = {
    "ReliefF": lambda X, y, Q: wb.ReliefF(3).fit(X, y).feature_weights_,
    "ClassRelief": lambda X, y, Q: wb.ClassRelief(3).fit(X, y).class_feature_weights_,
    "MBIW": lambda X, y, Q: wb.MBIW().fit(X, y).instance_weights_,
    "intervals": lambda X, y, Q: wb.RepresentativeIntervals().fit(X, y).intervals_["weight"].to_numpy(),
    "k-NN": lambda X, y, Q: wb.WeightedKNeighborsClassifier(3).fit(X, y).predict_proba(Q),
    "votes": lambda X, y, Q: wb.LearnedVotesClassifier(9, None, **VOTES).fit(X, y).predict_proba(Q),
    "votes of numbers": lambda X, y, Q: wb.LearnedVotesRegressor(9, None, **VOTES).fit(X, y).predict(Q),
}
VOTES = {"width": 3.0, "ridge": 0.1}


# --- lost clusters, tested first: later another client is active ---


def test_a_client_that_was_closed():
    X, y = table()
    with cluster(processes=False):
        model = wb.WeightedKNeighborsClassifier(3).fit(da.from_array(X, chunks=(60, 4)), y)
    with pytest.raises(ClusterError, match=r"no scheduler any more .*closed.*Connect a new one"):
        model.predict(X)
    assert "dask" in str(model.plan_)
    with cluster(processes=False):
        np.testing.assert_array_equal(model.predict(X), wb.WeightedKNeighborsClassifier(3).fit(X, y).predict(X))


def test_a_cluster_without_workers_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(_cluster, "PATIENCE", 1.0)
    X, y = table()
    with cluster(processes=False, n_workers=0):
        began = time.monotonic()
        with pytest.raises(ClusterError, match="no worker for 1 seconds"):
            wb.ReliefF().fit(da.from_array(X, chunks=(60, 4)), y)
        assert time.monotonic() - began < 60


def test_a_cluster_that_goes_away_at_work(monkeypatch):
    monkeypatch.setattr(_cluster, "PATIENCE", 3.0)
    X, y = table()

    def sleepy(chunk):
        time.sleep(2)
        return chunk

    made = distributed.LocalCluster(2, processes=False, dashboard_address=None, silence_logs=60)
    monkeypatch.setitem(config.config, "scheduler", "dask.distributed")  # a lost client leaves its setting behind
    client = distributed.Client(made)
    lazy = da.from_array(X, chunks=(60, 4)).map_blocks(sleepy, dtype=X.dtype)
    stop = threading.Timer(1.0, made.close)
    stop.start()
    began = time.monotonic()
    with pytest.raises(ClusterError, match="no scheduler any more"):
        wb.ReliefF().fit(lazy, y)
    assert time.monotonic() - began < 60
    stop.join(30)
    client.close(timeout=1)


# --- a cluster that all other tests share ---


@pytest.mark.parametrize("name", JOBS)
def test_the_same_numbers_on_a_cluster(name, client, tmp_path, task_bytes):
    task_bytes(2**16)
    X, y = table()
    expected = JOBS[name](X, y, X[:50])
    for given, labels in (
        (da.from_array(X, chunks=(70, 3)), da.from_array(y, chunks=100)),
        (_parquet(tmp_path), "label"),
    ):
        queries = X[:50] if given is not tmp_path else pd.DataFrame(X[:50], columns=list("abcd"))
        found = JOBS[name](given, labels, queries)
        np.testing.assert_array_equal(found, expected)


def _parquet(folder):
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    frame.to_parquet(folder / "0.parquet", row_group_size=50)
    return folder


@pytest.fixture
def pieces(task_bytes):
    """Limit the memory of a task, on which the number of passes over the rows depends."""
    task_bytes(2**20)


def killed(name, log, kill_at):
    X, y = table()
    found = JOBS[name](deadly(log, kill_at), y, X[:50])
    np.testing.assert_array_equal(found, JOBS[name](X, y, X[:50]))
    return len(log.read_text().splitlines())


@pytest.mark.parametrize("name", ["ReliefF", "k-NN"])
def test_a_worker_dies_in_the_middle(name, client, pieces, tmp_path):
    """In the pass that looks for neighbours: after measuring and, for ReliefF, after taking the queries."""
    kill_at = {"ReliefF": 3, "k-NN": 2}[name]
    reads = killed(name, tmp_path / "log", kill_at)
    assert reads > kill_at  # what the dead worker had begun was done again


PASSES = {
    "ReliefF": 7,
    "ClassRelief": 7,
    "MBIW": 8,
    "intervals": 2,
    "k-NN": 2,
    "votes": 8,
    "votes of numbers": 8,
}  # over the rows


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kill_at"), [(name, at + 1) for name in JOBS for at in range(PASSES[name])])
def test_a_worker_dies_in_any_pass_of_any_job(name, kill_at, client, pieces, tmp_path):
    X, y = table()
    quiet = tmp_path / "quiet"
    JOBS[name](deadly(quiet, -1), y, X[:50])
    assert len(quiet.read_text().splitlines()) == PASSES[name]
    assert killed(name, tmp_path / "log", kill_at) > kill_at  # read again after the kill


@pytest.mark.slow
def test_a_worker_is_killed_from_outside_while_files_are_searched(client, tmp_path, task_bytes):
    rng = RNG(0)
    X, y = rng.normal(size=(60_000, 30)).astype(np.float32), rng.integers(0, 2, 60_000)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(30)]).assign(label=y)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=5_000)
    task_bytes(2**22)
    model = wb.WeightedKNeighborsClassifier(5).fit(tmp_path, "label")
    workers = client.run(os.getpid)
    stop = threading.Timer(0.7, os.kill, (next(iter(workers.values())), signal.SIGKILL))
    stop.start()
    found = model.predict(frame[:4_000].drop(columns="label"))
    stop.join()
    np.testing.assert_array_equal(found, wb.WeightedKNeighborsClassifier(5).fit(X, y).predict(X[:4_000]))
    assert set(client.run(os.getpid).values()) != set(workers.values())


@pytest.mark.slow
def test_workers_that_die_again_and_again_are_told_of(client, tmp_path):
    _, y = table()
    with pytest.raises(ClusterError, match="workers died on the same task.*memory"):
        wb.ReliefF().fit(deadly(tmp_path / "log", 0), y)


def test_bad_partitions_are_told_of_by_a_cluster(client):
    X, y = table()
    X = X.copy()
    X[200, 1] = np.inf
    with pytest.raises(InvalidDataError, match="contains infinity"):
        wb.ReliefF().fit(da.from_array(X, chunks=(60, 4)), y)


def test_the_current_client_serves_collections_and_files(client, mapped):
    X, y = table()
    lazy = da.from_array(X, chunks=(60, 4))
    model = wb.WeightedKNeighborsClassifier(3).fit(lazy, y)
    assert "dask, 2 threads" in str(model.plan_)
    assert "dask, 2 threads" in str(wb.WeightedKNeighborsClassifier(3).fit(mapped(X), y).plan_)


def test_predictions_are_lazy_and_computed_on_the_cluster(client):
    """The task of a partition starts tasks of its own, of rows that only the cluster has."""
    X, y = table()
    rows = da.from_array(X, chunks=(60, 4)).persist()
    model = wb.WeightedKNeighborsClassifier(3).fit(rows, y)
    labels = model.predict(da.from_array(X, chunks=(50, 4)))
    assert isinstance(labels, da.Array)
    np.testing.assert_array_equal(labels.compute(), wb.WeightedKNeighborsClassifier(3).fit(X, y).predict(X))
