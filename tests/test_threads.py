"""The thread pool: row ranges, results in order, errors, concurrent calls, and the meaning of n_jobs."""

import os
import threading

import pytest

from weighbors._parallel.threads import effective_n_jobs, row_ranges, run_ranges


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


def test_a_call_does_not_wait_for_threads_that_serve_another():
    """The one helping thread is taken; a second caller does all the work and returns."""
    held, release = threading.Barrier(3), threading.Event()

    def hold(begin, end):
        held.wait(30)
        return release.wait(30)

    first = threading.Thread(target=run_ranges, args=(hold, [(0, 1), (1, 2)], 2))
    first.start()
    held.wait(30)  # both ranges are being processed
    try:
        assert run_ranges(lambda b, e: b, [(0, 1), (1, 2)], 2) == [0, 1]
    finally:
        release.set()
        first.join()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not tell where a thread may run")
def test_no_thread_is_moved():
    whole = os.sched_getaffinity(0)
    for n_jobs in (2, 3, 12):
        found = run_ranges(lambda b, e: os.sched_getaffinity(0), [(i, i + 1) for i in range(40)], n_jobs)
        assert found == [whole] * 40
    assert os.sched_getaffinity(0) == whole
