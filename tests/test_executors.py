"""Executors: results in order, short tasks in chunks, tasks read when their turn comes, merges in order."""

import os
import sys
import time
from importlib.util import find_spec

import joblib
import numpy as np
import pytest

from weighbors._parallel import cluster as _cluster
from weighbors._parallel import executors as _executors
from weighbors._parallel.executors import DaskExecutor, JoblibExecutor, ThreadExecutor, executor_for
from weighbors.exceptions import ClusterError, MissingDependencyError


def doze(number, seconds):
    time.sleep(seconds)
    return number


def process_of(number):
    return os.getpid()


def refuse(number):
    if number == 7:
        raise RuntimeError("task 7 never works")
    return number


def joined(parts):
    return "".join(parts)


def executors(n_jobs):
    """One of each kind; Dask without a client computes with its own scheduler."""
    yield ThreadExecutor(n_jobs)
    yield JoblibExecutor(n_jobs)
    if find_spec("dask"):
        yield DaskExecutor()


@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_results_come_in_order(n_jobs):
    with joblib.parallel_config("threading"):
        for executor in executors(n_jobs):
            for kind in (list, iter):  # tasks that are there, and tasks that are made one by one
                assert executor.map(pow, kind([(n,) for n in range(50)]), 2) == [n**2 for n in range(50)]
                assert executor.map(pow, kind([(3,)]), 2) == [9]
                assert executor.map(pow, kind([]), 2) == []
                text = executor.reduce(str, kind([(n,) for n in range(50)]), merge=joined)
                assert text == "".join(map(str, range(50)))
                assert executor.reduce(str, kind([(3,)]), merge=joined) == "3"
                assert executor.reduce(str, kind([]), merge=joined) is None
            for call in (executor.map, lambda f, tasks, run=executor: run.reduce(f, tasks, merge=max)):
                with pytest.raises(RuntimeError, match="task 7"):
                    call(refuse, [(number,) for number in range(20)])


def test_processes_and_threads_that_are_asked_for():
    pids = {ThreadExecutor: set(), JoblibExecutor: set()}
    for kind, found in pids.items():
        found.update(kind(2).map(process_of, [(number,) for number in range(4)]))
    assert pids[ThreadExecutor] == {os.getpid()}
    assert os.getpid() not in pids[JoblibExecutor]
    assert type(executor_for(None, 2)) is ThreadExecutor
    assert type(executor_for(None, 2, threads=False)) is JoblibExecutor


@pytest.mark.parametrize(("seconds", "sizes"), [(0.012, [1, 1, 5, 5, 5, 5, 5, 5]), (0.08, [1] * 32), (0.0, [1, 1, 30])])
def test_chunks_are_worth_fifty_milliseconds(monkeypatch, seconds, sizes):
    found = []

    def timed(function, chunk, *common):  # as if every task took so long, however busy the machine is
        found.append(len(chunk))
        return [(function(*task, *common), seconds) for task in chunk]

    monkeypatch.setattr(_executors, "run_chunk", timed)
    with joblib.parallel_config("threading", n_jobs=2):
        assert JoblibExecutor().map(pow, ((number,) for number in range(32)), 2) == [n**2 for n in range(32)]
    assert sorted(found) == sorted(sizes)  # first one task per worker, to learn how long one takes


def test_a_chunk_measures_its_tasks():
    (result, seconds), (again, _) = _executors.run_chunk(doze, [(1,), (2,)], 0.02)
    assert (result, again) == (1, 2)
    assert seconds >= 0.02


def test_few_tasks_are_in_memory_at_once():
    made, done = [], []

    def tasks():
        for number in range(30):
            made.append(number)
            yield (number,)

    def work(number):
        done.append(number)
        return max(len(made) - len(done), 0)

    assert max(JoblibExecutor(1).map(work, tasks())) <= 1


def test_dask_is_asked_for_only_when_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'weighbors\[dask\]'"):
        executor_for(object(), None)
    assert not _cluster.is_dask(np.ones(3))


def test_no_client_is_told():
    pytest.importorskip("distributed")
    with pytest.raises(ClusterError, match="no Dask client is active here"):
        _cluster.current_client()
