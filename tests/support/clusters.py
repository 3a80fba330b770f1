"""A small Dask cluster that tests share, and weighers that take their time."""

import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from weighbors import Weights


@contextmanager
def two_workers(**options):
    """A client of two worker processes of one thread each; tests that do not name it do not get it."""
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"} | options
    with (
        distributed.LocalCluster(**settings) as cluster,
        distributed.Client(cluster, timeout=60, set_as_default=False) as client,
    ):
        if settings["n_workers"]:
            client.wait_for_workers(settings["n_workers"], timeout=120)
        yield client


def kill_a_worker(client):
    """End one worker process at once, as a crash would."""
    pid = next(iter(client.run(os.getpid).values()))
    os.kill(pid, signal.SIGKILL)
    return pid


def kill_who_marked_last(marks):
    """End the worker process that has just begun a fit of `Slow`, so that the fit is lost."""
    newest = max(os.listdir(marks), key=lambda name: int(name.split("-")[1]))
    pid = int(newest.split("-")[0])
    os.kill(pid, signal.SIGKILL)
    return pid


@contextmanager
def meanwhile(action, *, when, seconds=60):
    """Run ``action`` in a thread as soon as ``when()`` holds."""

    def work():
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if when():
                done.append(action())
                return
            time.sleep(0.01)

    done = []
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield done
    thread.join(seconds)


class Slow(BaseEstimator):
    """Keeps rows of a small first value; leaves a mark in a directory for every fit."""

    def __init__(self, marks=None, seconds=0.2):
        self.marks = marks
        self.seconds = seconds

    def fit(self, X, y):
        if self.marks is not None:
            with open(os.path.join(self.marks, f"{os.getpid()}-{time.monotonic_ns()}"), "w"):
                pass
        time.sleep(self.seconds)
        kept = np.zeros(len(y), dtype=bool)
        kept[np.argsort(X[:, 0])[: len(y) // 3]] = True
        self.weights_ = Weights(instance_mask=kept)
        return self


class Deadly(BaseEstimator):
    """Ends the process that fits it."""

    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)
