"""A checkpoint belongs to one search at a time."""

import errno
import os
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress

import numpy as np
import pytest
from searches import FAST, KILLED, X, Y, same

from weighbors import EvolutionaryWeigher
from weighbors.exceptions import CheckpointError, InterruptedSearchWarning
from weighbors.weighers.evolution import lock
from weighbors.weighers.evolution.lock import hold_checkpoint


class FakeWindows:
    """Windows' locks and files as far as they matter here: a byte is locked for one handle, until that is closed.

    ``flock`` stands in for the lock: it too belongs to a handle. A file that is open cannot be removed.
    """

    LK_NBLCK = 2

    def __init__(self, real):
        self.real, self.one_at_a_time, self.locked = real, threading.Lock(), []

    def locking(self, descriptor, mode, n_bytes):
        assert (mode, n_bytes) == (self.LK_NBLCK, 1)
        # a locked byte can be read by nobody else, and the text says who holds the file
        assert os.lseek(descriptor, 0, os.SEEK_CUR) > os.fstat(descriptor).st_size
        try:
            self.real.flock(descriptor, self.real.LOCK_EX | self.real.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None
        self.locked.append(descriptor)

    def open(self, *args, **options):
        with self.one_at_a_time:
            return open(*args, **options)

    def unlink(self, path):
        with self.one_at_a_time:
            if str(path) in map(_target, os.listdir("/proc/self/fd")):
                raise PermissionError(errno.EACCES, "used by another process", str(path))
            os.unlink(path)


def _target(descriptor):
    """The file of an open descriptor; empty where it was closed in the meantime."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""


@pytest.fixture(params=["here", "windows"])
def system(request, monkeypatch):
    """The locks of this system, then those of Windows."""
    if request.param == "here":
        return None
    if lock.fcntl is None or not os.path.isdir("/proc/self/fd"):
        pytest.skip("the stand-in for Windows needs flock and /proc")
    windows = FakeWindows(lock.fcntl)
    monkeypatch.setattr(lock, "fcntl", None)
    monkeypatch.setattr(lock, "msvcrt", windows)
    monkeypatch.setattr(lock, "open", windows.open, raising=False)
    monkeypatch.setattr(lock.Path, "unlink", lambda path, missing_ok=False: windows.unlink(path))
    return windows


def lock_of(path):
    return path.with_name(f".{path.name}.lock")


def test_a_second_search_on_a_checkpoint_is_refused(tmp_path, system):
    path, told = tmp_path / "run.ckpt", []

    def intrude(progress):
        if progress.generation == 3:
            for resume in (False, True):
                with pytest.raises(
                    CheckpointError, match=f"in use by another search \\(process {os.getpid()} on .*Wait"
                ):
                    EvolutionaryWeigher("FS", checkpoint=path, resume=resume, **FAST).fit(X, Y)
                told.append(resume)

    first = EvolutionaryWeigher("IS", checkpoint=path, checkpoint_seconds=0, callback=intrude, **FAST).fit(X, Y)
    assert told == [False, True]
    same(first, EvolutionaryWeigher("IS", **FAST).fit(X, Y))
    assert os.listdir(tmp_path) == ["run.ckpt"]
    same(EvolutionaryWeigher("IS", checkpoint=path, resume=True, **FAST).fit(X, Y), first)
    assert system is None or len(system.locked) == 2


def test_searches_of_other_processes_are_seen_until_they_are_killed(tmp_path):
    path = tmp_path / "run.ckpt"
    code = KILLED.format(tasks="IS", objective="single")
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        child.stdout.readline()
        given = {"checkpoint": path, "resume": True, **FAST, "max_evaluations": 1500}
        with pytest.raises(CheckpointError, match=f"process {child.pid} on"):
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
    assert not lock_of(path).exists()
    with suppress(FileNotFoundError):
        os.unlink(path)
    EvolutionaryWeigher("IS", checkpoint=path, **FAST).fit(X, Y)


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"pid": 1}', "\0" * 9])
def test_a_lock_file_that_says_nothing(tmp_path, content, system):
    path = tmp_path / "run.ckpt"
    lock_of(path).write_text(content)  # left by somebody, held by nobody
    with hold_checkpoint(path):
        lock_of(path).write_text(content)
        with pytest.raises(CheckpointError, match="in use by another search, and"), hold_checkpoint(path):
            pass
    with hold_checkpoint(path):
        pass
    assert os.listdir(tmp_path) == []


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
    # on Windows the last one to look at the file may keep the holder from removing it: it stops nobody
    assert os.listdir(tmp_path) in ([], [lock_of(path).name] if system else [])
    with hold_checkpoint(path):
        pass
    assert os.listdir(tmp_path) == []


def test_file_systems_without_locks_are_not_guarded(tmp_path, monkeypatch):
    def none(*args):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(lock.fcntl, "flock", none)
    EvolutionaryWeigher("IS", checkpoint=tmp_path / "run.ckpt", **FAST).fit(X, Y)
    assert os.listdir(tmp_path) == ["run.ckpt"]
    monkeypatch.setattr(lock, "fcntl", None)
    monkeypatch.setattr(lock, "msvcrt", None)
    with hold_checkpoint(tmp_path / "run.ckpt"), hold_checkpoint(tmp_path / "run.ckpt"):
        assert os.listdir(tmp_path) == ["run.ckpt"]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP])
def test_windows_without_locks_is_not_guarded(tmp_path, monkeypatch, number):
    windows = FakeWindows(lock.fcntl)

    def none(*args):
        raise OSError(number, "no locks here")

    windows.locking = none
    monkeypatch.setattr(lock, "fcntl", None)
    monkeypatch.setattr(lock, "msvcrt", windows)
    with hold_checkpoint(tmp_path / "run.ckpt"), hold_checkpoint(tmp_path / "run.ckpt"):
        pass
    assert os.listdir(tmp_path) == []


def test_other_errors_of_windows_are_not_hidden(tmp_path, monkeypatch):
    windows = FakeWindows(lock.fcntl)

    def broken(*args):
        raise OSError(errno.EBADF, "bad file descriptor")

    windows.locking = broken
    monkeypatch.setattr(lock, "fcntl", None)
    monkeypatch.setattr(lock, "msvcrt", windows)
    with pytest.raises(OSError, match="bad file descriptor"), hold_checkpoint(tmp_path / "run.ckpt"):
        pass
