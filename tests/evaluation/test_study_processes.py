"""Studies that are killed, shared or interrupted, and methods that raise, die or print."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from support.clusters import meanwhile
from support.stubs import Trouble, two_problems
from support.studies import SCRIPT, cells_in, slowly, table_of

from weighbors.evaluation import (
    Study,
    load_results,
)
from weighbors.exceptions import InvalidDataError, LostWorkerWarning

DATA = two_problems()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_killed_study_goes_on(tmp_path, n_jobs):
    pick, store = random.Random(n_jobs), tmp_path / "killed"
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(store), str(n_jobs)])
        goal = cells_in(store) + pick.randint(1, 20)
        while process.poll() is None and cells_in(store) < goal:
            time.sleep(0.001)
        time.sleep(pick.uniform(0, 0.02))
        process.kill()
        process.wait()
        assert process.returncode  # killed, not ended
    assert 0 < cells_in(store) < 48
    resumed = slowly(store).run()
    whole = slowly(tmp_path / "whole").run()
    pd.testing.assert_frame_equal(table_of(resumed), table_of(whole))
    assert resumed.complete


def test_two_processes_on_one_store(tmp_path):
    store = tmp_path / "shared"
    processes = [subprocess.Popen([sys.executable, "-c", SCRIPT, str(store), "1"]) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    shared = load_results(store)
    assert shared.complete
    pd.testing.assert_frame_equal(table_of(shared), table_of(slowly(tmp_path / "alone").run()))
    assert not [name for name in os.listdir(store / "cells") if name.startswith(".")]


FAILING = {
    "raise": ("raised", "RuntimeError: this method never works"),
    "exit": ("raised", "SystemExit: 3"),
    "nan": ("nan", "predictions are NaN"),
    "nan weights": ("nan", "5 feature weights are NaN"),
}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_failures_are_cells(tmp_path, n_jobs):
    methods = {"good": Trouble(), **{how: Trouble(how) for how in FAILING}}
    study = Study({"first": two_problems()["first"]}, methods, tmp_path, cv=2)
    results = study.run(n_jobs)
    failures = results.failures().set_index(["method", "fold"])
    assert len(failures) == 2 * len(FAILING)
    for how, (kind, error) in FAILING.items():
        assert failures.loc[(how, 1), "kind"] == kind
        assert error in failures.loc[(how, 1), "error"]
        assert "Traceback" in failures.loc[(how, 1), "traceback"]
    assert (results.frame().query("method == 'good'")["status"] == "done").all()
    assert "8 failed" in repr(results)
    assert "failed: first × raise, repeat 0, fold 0: RuntimeError" in repr(results)
    assert "and 3 more" in repr(results)


def test_a_cell_that_kills_its_worker_is_a_failed_one_and_no_other_cell_is_lost(tmp_path):
    methods = {"dies": Trouble("die"), **{f"good {i}": Trouble(seconds=0.1) for i in range(5)}}
    split = [(np.arange(30), np.arange(30, 40))]
    study = Study({"first": DATA["first"]}, methods, tmp_path, cv=split)
    with pytest.warns(LostWorkerWarning, match=r"worker of the study died .* one at a time: .*first × dies"):
        found = study.run(n_jobs=2).frame().set_index("method")
    assert found["kind"].to_dict() == {name: "died" if name == "dies" else "" for name in methods}
    assert (found.drop("dies")["status"] == "done").all()
    assert found.loc["dies", "error"].endswith("and again with this cell alone (out of memory, or a crash)")


def test_a_worker_killed_from_outside_changes_nothing(tmp_path):
    study, store = slowly(tmp_path / "s"), tmp_path / "s"
    with meanwhile(kill_a_child, when=lambda: cells_in(store) >= 5) as killed, pytest.warns(LostWorkerWarning):
        results = study.run(n_jobs=2)
    assert killed
    assert results.complete
    pd.testing.assert_frame_equal(table_of(results), table_of(slowly(tmp_path / "whole").run()))


def kill_a_child():
    """Kill a process of joblib that computes cells."""
    for pid in children(os.getpid()):
        if b"loky.backend.popen_loky_posix" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
            return pid
    return None


def children(pid):
    """The processes that a process has started."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for one in lists for child in one.read_text(encoding="utf8").split()]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc to see child processes")
def test_workers_die_with_the_study(tmp_path):
    script = SCRIPT.replace('"centre": Trouble(seconds=0.02)', '"centre": Trouble("hang")')
    store = tmp_path / "s"
    process = subprocess.Popen([sys.executable, "-c", script, str(store), "2"])
    while process.poll() is None and not cells_in(store):  # one of two neighbouring cells does not hang
        time.sleep(0.01)
    time.sleep(1)  # now the workers hang, or are about to
    workers = children(process.pid)
    assert len(workers) >= 2
    process.kill()
    process.wait()
    until = time.monotonic() + 20
    while any(map(is_alive, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_alive, workers))


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX knows them")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_study_stops_and_goes_on(tmp_path, n_jobs):
    store = tmp_path / "s"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(store), str(n_jobs)], stderr=subprocess.PIPE)
    while process.poll() is None and cells_in(store) < 3:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate(timeout=30)[1]
    assert 0 < cells_in(store) < 48
    assert slowly(store).run().complete


def test_classes_of_a_script_travel(tmp_path):
    # no import of the script and no __main__ guard is needed
    script = """
import sys
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from weighbors.evaluation import Study

class Mine(DummyClassifier):
    pass

data, one = {"iris": load_iris(return_X_y=True)}, {"one": lambda *parts: 1.0}
print(Study(data, {"mine": Mine()}, sys.argv[1], cv=2, measures=one).run(n_jobs=2))
"""
    command = [sys.executable, "-c", script, str(tmp_path / "s")]
    assert "2 done" in subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_failed_cells_can_be_retried(tmp_path, monkeypatch):
    study = Study({"first": two_problems()["first"]}, {"a": Trouble("raise")}, tmp_path, cv=2)
    assert not study.run().complete
    mended = Trouble.fit
    monkeypatch.setattr(Trouble, "fit", lambda self, X, y: mended(self.set_params(how="not"), X, y))
    assert not study.run().complete  # failed cells stay as they are
    assert study.run(retry_failed=True).complete


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_prints_do_not_disturb(tmp_path, n_jobs):
    script = SCRIPT.replace("Trouble(seconds=0.02)", 'Trouble("print")')
    command = [sys.executable, "-c", script, str(tmp_path / "s"), str(n_jobs)]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    assert told.stdout == ""
    assert told.stderr.count("printed in fit") == 24


class Stuck(DummyClassifier):
    """Can be packed for another process, and not unpacked there."""

    def __reduce__(self):
        return eval, ("1/0",)


def test_methods_that_cannot_travel_are_said_so(tmp_path):
    study = Study(DATA, {"stuck": Stuck()}, tmp_path, cv=2)
    with pytest.raises(InvalidDataError, match="could not take a cell: methods, measures and data must be importable"):
        study.run(n_jobs=2)


def test_a_store_that_cannot_be_written_stops_the_study(tmp_path):
    def spoil(*parts):
        (tmp_path / "cells").rename(tmp_path / "moved")
        return 0.0

    study = Study({"first": DATA["first"]}, {"a": Trouble()}, tmp_path, cv=2, measures={"x": spoil})
    with pytest.raises(OSError, match="cells"):
        study.run(n_jobs=2)
