"""A checkpoint belongs to one search at a time."""

import errno
import os
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
from support.searches import FAST, KILLED, X, Y, same

from weighbors import EvolutionaryWeigher
from weighbors.exceptions import CheckpointError, InterruptedSearchWarning
from weighbors.weighers.evolution import checkpoint
from weighbors.weighers.evolution.checkpoint import hold_checkpoint

fcntl = pytest.importorskip("fcntl")


class FakeWindows:
    """Windows' locks as far as they matter here: a byte is locked for one handle, until that is closed.

    ``flock`` stands in for the lock: it too belongs to a handle.
    """

    LK_NBLCK = 2

    def locking(self, descriptor, mode, n_bytes):
        assert (mode, n_bytes) == (self.LK_NBLCK, 1)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None


@pytest.fixture(params=["here", "windows"])
def system(request, monkeypatch):
    """The locks of this system, then those of Windows."""
    if request.param == "windows":
        monkeypatch.setitem(sys.modules, "msvcrt", FakeWindows())
        monkeypatch.setattr(checkpoint, "sys", SimpleNamespace(platform="win32"))
    return request.param


def lock_of(path):
    return path.with_name(f".{path.name}.lock")


def files_of(directory, system="here"):
    """Names in a directory. Windows cannot remove an open file, so that an empty lock file stays there."""
    names = sorted(os.listdir(directory))
    return [name for name in names if not name.endswith(".lock")] if system == "windows" else names


def test_a_second_search_on_a_checkpoint_is_refused(tmp_path, system):
    path, told = tmp_path / "run.ckpt", []

    def intrude(progress):
        if progress.generation == 3:
            with pytest.raises(CheckpointError, match=r"run\.ckpt' is in use by another search.*Wait"):
                EvolutionaryWeigher("FS", checkpoint=path, **FAST).fit(X, Y)
            told.append(progress)

    first = EvolutionaryWeigher("IS", checkpoint=path, callback=intrude, **FAST).fit(X, Y)
    assert len(told) == 1
    same(first, EvolutionaryWeigher("IS", **FAST).fit(X, Y))
    assert files_of(tmp_path, system) == ["run.ckpt"]
    same(EvolutionaryWeigher("IS", checkpoint=path, **FAST).fit(X, Y), first)


def test_searches_of_other_processes_are_seen_until_they_are_killed(tmp_path):
    path = tmp_path / "run.ckpt"
    code = KILLED.format(tasks="IS", objective="single")
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        child.stdout.readline()
        given = {"checkpoint": path, **FAST, "max_evaluations": 1500}
        with pytest.raises(CheckpointError, match="in use"):
            EvolutionaryWeigher("IS", **given).fit(X, Y)
    finally:
        child.kill()
        child.wait()
    assert lock_of(path).exists()  # nobody could take it away, and it stops nobody
    EvolutionaryWeigher("IS", **given).fit(X, Y)
    assert os.listdir(tmp_path) == ["run.ckpt"]


@pytest.mark.parametrize("end", [KeyboardInterrupt, RuntimeError, SystemExit])
@pytest.mark.parametrize("generation", [0, 4])
def test_a_lock_is_released_however_a_search_ends(tmp_path, end, generation, system):
    path = tmp_path / "run.ckpt"

    def fitness(a, b):  # before the first generation is whole
        if generation == 0:
            raise end
        return float(np.mean(a == b))

    def ends(progress):
        if progress.generation == generation:
            raise end

    with warnings.catch_warnings(), suppress(end):
        warnings.simplefilter("ignore", InterruptedSearchWarning)
        EvolutionaryWeigher("IS", fitness, checkpoint=path, callback=ends, **FAST).fit(X, Y)
    with suppress(FileNotFoundError):
        os.unlink(path)
    EvolutionaryWeigher("IS", checkpoint=path, **FAST).fit(X, Y)
    assert files_of(tmp_path, system) == ["run.ckpt"]


def test_long_names_of_checkpoints_have_locks_of_their_own(tmp_path, system):
    one, two = tmp_path / ("x" * 250 + ".0.0"), tmp_path / ("x" * 250 + ".0.1")  # 254 of the 255 bytes a name may have
    with hold_checkpoint(one), hold_checkpoint(two):
        assert len(os.listdir(tmp_path)) == 2
        with pytest.raises(CheckpointError, match="in use"), hold_checkpoint(one):
            pass


def test_of_many_at_once_one_gets_the_lock(tmp_path, system):
    path, inside, most, refused = tmp_path / "run.ckpt", [], [], []

    def work():
        for _ in range(200):
            try:
                with hold_checkpoint(path):
                    inside.append(1)
                    most.append(len(inside))
                    time.sleep(0)
                    inside.pop()
            except CheckpointError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}
    assert len(most) + len(refused) == 800
    with hold_checkpoint(path):
        pass
    assert files_of(tmp_path, system) == []


def test_file_systems_without_locks_are_not_guarded(tmp_path, monkeypatch):
    def none(*args):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with hold_checkpoint(tmp_path / "run.ckpt"), hold_checkpoint(tmp_path / "run.ckpt"):
        pass
    EvolutionaryWeigher("IS", checkpoint=tmp_path / "run.ckpt", **FAST).fit(X, Y)
    assert os.listdir(tmp_path) == ["run.ckpt"]
