"""Tasks side by side: in order, in chunks worth sending, made when their turn comes."""

import sys
import time

import joblib
import numpy as np
import pytest

from weighbors import _cluster, _fanout
from weighbors._fanout import fan_out
from weighbors.exceptions import ClusterError, MissingDependencyError


def doze(number, seconds):
    time.sleep(seconds)
    return number


def refuse(number):
    if number == 7:
        raise RuntimeError("task 7 never works")
    return number


@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_results_come_in_order(n_jobs):
    assert fan_out(pow, range(50), lambda base: (base, 2), n_jobs=n_jobs) == [n**2 for n in range(50)]
    assert fan_out(pow, [], lambda base: (base, 2), n_jobs=n_jobs) == []
    with joblib.parallel_config("threading", n_jobs=2), pytest.raises(RuntimeError, match="task 7"):
        fan_out(refuse, range(20), lambda number: (number,), n_jobs=n_jobs)


@pytest.mark.parametrize(("seconds", "least", "most"), [(0.012, 3, 5), (0.08, 1, 1), (0.0, 25, 10**9)])
def test_chunks_are_worth_fifty_milliseconds(monkeypatch, seconds, least, most):
    sizes = []

    def counting(function, chunk, run=_fanout.run_chunk):
        sizes.append(len(chunk))
        return run(function, chunk)

    monkeypatch.setattr(_fanout, "run_chunk", counting)
    with joblib.parallel_config("threading", n_jobs=2):
        found = fan_out(doze, range(32), lambda number: (number, seconds))
    assert found == list(range(32))
    assert sizes[:2] == [1, 1]  # one per worker, to see what one takes
    assert all(least <= size <= most for size in sizes[2:-1])
    assert sum(sizes) == 32


def test_few_tasks_are_in_memory_at_once():
    made, done = [], []

    def make(number):
        made.append(number)
        return (number,)

    def work(number):
        done.append(number)
        return max(len(made) - len(done), 0)

    assert max(fan_out(work, range(30), make)) <= 1


def test_dask_is_asked_for_only_when_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'weighbors\[dask\]'"):
        fan_out(pow, [1], lambda base: (base, 2), client=object())
    assert not _cluster.is_dask(np.ones(3))


def test_no_client_is_told():
    pytest.importorskip("distributed")
    with pytest.raises(ClusterError, match="no Dask client is active here"):
        _cluster.current_client()
