"""The thread pool: row ranges, results in order, errors, concurrent calls, and the meaning of n_jobs."""

import os
import threading
import time
from pathlib import Path

import pytest

from weighbors import _native
from weighbors._parallel.threads import effective_n_jobs, row_ranges, run_ranges, run_with_helpers


@pytest.mark.parametrize("n", [0, 1, 5, 6, 47, 500, 100_000])
@pytest.mark.parametrize("n_jobs", [1, 2, 8])
def test_ranges_cover_all_rows_once(n, n_jobs):
    ranges = row_ranges(n, n_jobs)
    assert [i for begin, end in ranges for i in range(begin, end)] == list(range(n))


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_results_come_in_order(n_jobs):
    ranges = [(i, i + 1) for i in range(50)]
    assert run_ranges(lambda begin, end: (begin, end), ranges, n_jobs) == ranges


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_errors_reach_the_caller_and_no_thread_works_on(n_jobs):
    done = []

    def task(begin, end):
        if begin == 7:
            raise ValueError("range 7")
        done.append(begin)

    with pytest.raises(ValueError, match="range 7"):
        run_ranges(task, [(i, i + 1) for i in range(200)], n_jobs)
    count = len(done)
    assert run_ranges(lambda b, e: b, [(0, 1), (1, 2)], n_jobs) == [0, 1]
    assert len(done) == count


def test_many_callers_at_once():
    answers = []

    def call():
        answers.append(run_ranges(lambda b, e: b, [(i, i + 1) for i in range(100)], 2))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [list(range(100))] * 8


def test_n_jobs_means_what_joblib_says():
    from joblib import parallel_config

    assert effective_n_jobs(None) == 1
    assert effective_n_jobs(3) == 3
    assert effective_n_jobs(-1) >= 1
    with parallel_config("threading", n_jobs=2):
        assert effective_n_jobs(None) == 2


@pytest.mark.parametrize("n_jobs", [1, 2, 6])
def test_a_call_with_helpers_returns_what_its_leader_returns_and_then_releases_them(n_jobs):
    assert run_with_helpers(lambda helpers: "led", n_jobs) == "led"

    def fail(helpers):
        raise ValueError("no way")

    with pytest.raises(ValueError, match="no way"):
        run_with_helpers(fail, n_jobs)
    assert run_ranges(lambda b, e: b, [(0, 1), (1, 2)], n_jobs) == [0, 1]  # nobody is still helping


def test_a_call_does_not_wait_for_threads_that_serve_another():
    """The one helping thread is taken; a second caller does all the work and returns."""
    held, release = threading.Event(), threading.Event()

    def lead(helpers):
        held.set()
        return release.wait(30)

    first = threading.Thread(target=run_with_helpers, args=(lead, 2))
    first.start()
    assert held.wait(30)
    try:
        assert run_with_helpers(lambda helpers: 1, 2) == 1
        assert run_ranges(lambda b, e: b, [(0, 1), (1, 2)], 2) == [0, 1]
    finally:
        release.set()
        first.join()


def allowed_cpus():
    """Return the CPUs that this thread may use, or skip the test where they cannot be chosen."""
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("this system does not tell on which CPUs a thread may run")
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        pytest.skip("one CPU leaves nothing to choose")
    return cpus


def test_a_thread_forbids_its_cpu_to_another_and_the_other_allows_it_again():
    whole, started, allow, seen = allowed_cpus(), threading.Event(), threading.Event(), []

    def wait():
        seen.append(threading.get_native_id())
        started.set()
        allow.wait()
        _native.allow_cpus_of(threading.main_thread().native_id)
        seen.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=wait)
    thread.start()
    started.wait()
    assert _native.forbid_this_cpu([seen[0]])
    left = os.sched_getaffinity(seen[0])
    assert left < whole
    assert len(left) == len(whole) - 1
    allow.set()
    thread.join()
    assert seen[1] == whole


def test_threads_that_are_gone_are_passed_over():
    whole, ids = allowed_cpus(), []
    thread = threading.Thread(target=lambda: ids.append(threading.get_native_id()))
    thread.start()
    thread.join()
    while Path(f"/proc/self/task/{ids[0]}").exists():  # it may end a little later than Python says
        time.sleep(0.001)
    assert _native.forbid_this_cpu(ids)
    _native.allow_cpus_of(ids[0])
    assert os.sched_getaffinity(0) == whole


@pytest.mark.parametrize("n_jobs", [2, 3, 12])
def test_work_may_use_all_cpus_of_its_caller(n_jobs):
    """Threads of other libraries that start in it, such as those of BLAS, keep the CPUs that they begin with."""
    whole = allowed_cpus()
    for _ in range(20):
        found = run_ranges(lambda b, e: os.sched_getaffinity(0), [(i, i + 1) for i in range(40)], n_jobs)
        assert found == [whole] * 40
    assert os.sched_getaffinity(0) == whole


def test_helpers_of_a_caller_that_is_bound_to_one_cpu_stay_there():
    whole = allowed_cpus()
    one = {min(whole)}
    os.sched_setaffinity(0, one)
    try:
        found = run_ranges(lambda b, e: os.sched_getaffinity(0), [(i, i + 1) for i in range(40)], 2)
        assert found == [one] * 40
        assert not _native.forbid_this_cpu([threading.get_native_id()])
        assert os.sched_getaffinity(0) == one
    finally:
        os.sched_setaffinity(0, whole)


def test_helpers_keep_all_cpus_while_several_callers_use_them():
    whole, found = allowed_cpus(), []

    def call():
        for _ in range(30):
            found.extend(run_ranges(lambda b, e: os.sched_getaffinity(0), [(i, i + 1) for i in range(10)], 3))

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [whole] * 1800
