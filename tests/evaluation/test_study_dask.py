"""Studies on a Dask cluster give the same table, also if workers die."""

import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from support.clusters import kill_a_worker, meanwhile, two_workers
from support.stubs import Trouble, two_problems
from support.studies import TESTS, cells_in, slowly, small, table_of

from weighbors.evaluation import Study
from weighbors.exceptions import ClusterError, InvalidDataError, LostWorkerWarning, StoreError

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


def test_the_table_is_the_local_one(client, tmp_path):
    local = small(tmp_path / "here").run()
    there = small(tmp_path / "there", executor="dask", client=client).run()
    assert there.complete
    pd.testing.assert_frame_equal(table_of(there), table_of(local))
    # one after the other, and on the client that is active
    with client.as_current():
        one = small(tmp_path / "one", executor="dask").run(n_jobs=1)
    pd.testing.assert_frame_equal(table_of(one), table_of(local))
    before = cells_in(tmp_path / "there")
    again = small(tmp_path / "there", executor="dask", client=client).run()  # nothing to do
    assert cells_in(tmp_path / "there") == before
    pd.testing.assert_frame_equal(again.frame(), there.frame())


def test_a_worker_killed_in_the_middle_changes_nothing(client, tmp_path):
    whole = slowly(tmp_path / "whole").run()
    study, store = slowly(tmp_path / "s"), tmp_path / "s"
    study.executor, study.client = "dask", client
    with meanwhile(lambda: kill_a_worker(client), when=lambda: cells_in(store) >= 5) as killed:
        results = study.run()
    assert killed
    assert results.complete
    pd.testing.assert_frame_equal(table_of(results), table_of(whole))


SCRIPT = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from distributed import Client
from support.studies import slowly
if __name__ == "__main__":
    study = slowly(sys.argv[1])
    study.executor, study.client = "dask", Client(sys.argv[2])
    study.run()
"""


def test_a_study_killed_and_resumed_gives_the_same_table(client, tmp_path):
    store = tmp_path / "killed"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(store), client.scheduler.address])
    until = time.monotonic() + 120
    while process.poll() is None and cells_in(store) < 7 and time.monotonic() < until:
        time.sleep(0.001)
    process.kill()
    process.wait()
    assert process.returncode == -signal.SIGKILL
    time.sleep(1)  # what was under way ends
    done = cells_in(store)
    assert 7 <= done < 48
    study = slowly(store)
    study.executor, study.client = "dask", client
    resumed = study.run()
    assert resumed.complete
    pd.testing.assert_frame_equal(table_of(resumed), table_of(slowly(tmp_path / "whole").run()))


@pytest.mark.slow
def test_a_cell_that_kills_its_workers_is_a_failed_one_and_no_other_cell_is_lost(client, tmp_path):
    methods = {name: Trouble(name) for name in ("raise", "die")} | {f"good {i}": Trouble() for i in range(3)}
    split = [(np.arange(30), np.arange(30, 40))]
    data = {"first": two_problems()["first"]}
    study = Study(data, methods, tmp_path, cv=split, executor="dask", client=client)
    with pytest.warns(LostWorkerWarning, match="first × die"):
        found = study.run().frame().set_index("method")
    kinds = {"raise": "raised", "die": "died"}
    assert found["kind"].to_dict() == {name: kinds.get(name, "") for name in methods}
    assert (found.drop(list(kinds))["status"] == "done").all()


@pytest.mark.slow
def test_classes_of_a_script_travel(client, tmp_path):
    script = f"""
import sys
from distributed import Client
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from weighbors.evaluation import Study

class Mine(DummyClassifier):
    pass

if __name__ == "__main__":
    client = Client({client.scheduler.address!r})
    data, one = {{"iris": load_iris(return_X_y=True)}}, {{"one": lambda *parts: 1.0}}
    print(Study(data, {{"mine": Mine()}}, sys.argv[1], cv=2, measures=one, executor="dask", client=client).run())
"""
    path = tmp_path / "script.py"
    path.write_text(script, encoding="utf8")
    told = subprocess.run([sys.executable, str(path), str(tmp_path / "s")], capture_output=True, text=True, check=True)
    assert "2 done" in told.stdout


def test_a_store_the_workers_do_not_share_is_told(client, tmp_path, monkeypatch):
    study = small(tmp_path / "s", executor="dask", client=client)
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "cells").mkdir(parents=True)
    monkeypatch.setattr(type(study.store.path), "absolute", lambda self: elsewhere)
    with pytest.raises(StoreError, match="must be on a disk that all workers share"):
        study.run()


def test_bad_executors(tmp_path):
    with pytest.raises(InvalidDataError, match="executor must be 'local' or 'dask'; got 'ray'"):
        small(tmp_path, executor="ray")
    with pytest.raises(InvalidDataError, match="client= goes with executor='dask'"):
        small(tmp_path, client=object())
    with pytest.raises(ClusterError, match=r"client must be a distributed\.Client; got object"):
        small(tmp_path, executor="dask", client=object()).run()


@pytest.mark.slow
def test_a_client_that_went_away_is_told_and_the_store_stays(tmp_path):
    with two_workers() as gone:
        study = slowly(tmp_path / "s")
        study.executor, study.client = "dask", gone
        with pytest.raises(InvalidDataError, match="n_jobs must be at least 1"):
            study.run(n_jobs=-1)
        close = gone.cluster.close
        with (
            meanwhile(lambda: close(timeout=5), when=lambda: cells_in(tmp_path / "s") >= 3),
            pytest.raises(ClusterError),
        ):
            study.run()
    with pytest.raises(ClusterError, match="no scheduler any more"):
        study.run()
    done = cells_in(tmp_path / "s")
    assert 3 <= done < 48
    results = slowly(tmp_path / "s").run()  # goes on here
    pd.testing.assert_frame_equal(table_of(results), table_of(slowly(tmp_path / "whole").run()))
