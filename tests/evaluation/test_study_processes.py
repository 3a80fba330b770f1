"""Studies that are killed, shared or interrupted, and methods that raise, hang, die or print."""

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
from support.stubs import Trouble, two_problems
from support.studies import SCRIPT, cells_in, slowly, table_of

from weighbors.evaluation import (
    Study,
    load_results,
)
from weighbors.evaluation.study.worker import send
from weighbors.exceptions import (
    InvalidDataError,
    StoreError,
)

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


def test_a_hanging_cell_is_stopped_and_the_rest_goes_on(tmp_path):
    methods = {"hangs": Trouble("hang hard"), "dies": Trouble("die"), "good": Trouble(), "fine": Trouble()}
    split = [(np.arange(30), np.arange(30, 40))]
    study = Study({"first": DATA["first"]}, methods, tmp_path, cv=split, time_limit=3)
    begin = time.perf_counter()
    found = study.run().frame().set_index("method")
    assert time.perf_counter() - begin < 300
    assert found["status"].to_dict() == {"hangs": "failed", "dies": "failed", "good": "done", "fine": "done"}
    assert found["kind"].to_dict() == {"hangs": "timeout", "dies": "died", "good": "", "fine": ""}
    assert found.loc["hangs", "error"] == "TimeoutError: the cell did not end within 3 seconds and was stopped"
    assert "ended with code" in found.loc["dies", "error"]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc to see child processes")
@pytest.mark.parametrize("how", ["hang", "hang hard"])
def test_workers_die_with_the_study(tmp_path, how):
    script = SCRIPT.replace('"centre": Trouble(seconds=0.02)', f'"centre": Trouble("{how}")')
    store = tmp_path / "s"
    process = subprocess.Popen([sys.executable, "-c", script, str(store), "2"])
    while process.poll() is None and not cells_in(store):  # one of two neighbouring cells does not hang
        time.sleep(0.01)
    time.sleep(1)  # now the workers hang, or are about to
    lists = Path(f"/proc/{process.pid}/task").glob("*/children")
    workers = [int(pid) for one in lists for pid in one.read_text(encoding="utf8").split()]
    assert len(workers) == 2
    assert all(map(is_alive, workers))
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


def test_prints_do_not_disturb(tmp_path, capfd):
    study = Study({"first": two_problems()["first"]}, {"a": Trouble("print")}, tmp_path, cv=2, time_limit=60)
    assert study.run().complete
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("printed in fit") == 2


def test_methods_that_cannot_travel_are_said_so(tmp_path):
    class Stuck(DummyClassifier):
        def __reduce__(self):
            return eval, ("1/0",)

    study = Study(DATA, {"stuck": Stuck()}, tmp_path, cv=2, time_limit=30)
    with pytest.raises(InvalidDataError, match="could not take the job.*ZeroDivisionError|must be importable"):
        study.run()


def test_a_store_that_cannot_be_written_stops_the_study(tmp_path):
    def spoil(*parts):
        (tmp_path / "cells").rename(tmp_path / "moved")
        return 0.0

    study = Study({"first": DATA["first"]}, {"a": Trouble()}, tmp_path, cv=2, time_limit=60, measures={"x": spoil})
    with pytest.raises(StoreError, match="could not write its cell"):
        study.run()


def test_a_worker_whose_study_was_killed_ends_without_a_word(tmp_path):
    # The study may be killed while its worker process starts: messages are there, and nobody reads the answers.
    read, write = os.pipe()
    worker = subprocess.Popen(
        [sys.executable, "-c", "from weighbors.evaluation.study.worker import main; main()"],
        stdin=subprocess.PIPE,
        stdout=write,
        stderr=subprocess.PIPE,
    )
    os.close(read)
    os.close(write)
    for _ in range(3):
        send(worker.stdin, ("job", None))
    assert worker.stderr.read() == b""  # the pipe of messages is still open, so only the lost answer ends the worker
    assert worker.wait() == 0
    worker.stdin.close()
