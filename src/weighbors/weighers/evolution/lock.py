"""Lock checkpoint files, so that only one search at a time writes to a checkpoint."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from ..._files import NO_SPACE, remove_leftovers
from ...exceptions import CheckpointError

__all__ = ["hold_checkpoint"]


def _system_module(name: str) -> Any:
    """Import a standard module that only some operating systems have. Return None if this system does not have it."""
    try:
        return import_module(name)
    except ImportError:
        return None


fcntl, msvcrt = _system_module("fcntl"), _system_module("msvcrt")  # Unix has fcntl, Windows has msvcrt

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
_TAKEN = (errno.EACCES, errno.EDEADLK)  # error codes of Windows if another process has locked the byte
# On Windows no other process can read a locked byte. So the locked byte is far after the text of the file.
_LOCKED_BYTE = 2**30


@contextmanager
def hold_checkpoint(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Lock the checkpoint at ``path`` while the ``with`` block runs. If ``path`` is None, do nothing.

    A hidden lock file beside the checkpoint records the process that holds the checkpoint. The operating
    system locks this file: with ``flock``, or on Windows with a lock on one byte. The operating system
    releases the lock when the process ends, also when it is killed. So a lock file that a killed search
    left behind does not stop a new search. Systems and file systems without file locks are not protected.

    Raises
    ------
    CheckpointError
        If another search holds the checkpoint, in this process or in another one.
    """
    place = Path(path or "")
    no_locks = fcntl is None and msvcrt is None
    if no_locks or not place.name or not place.absolute().parent.is_dir():  # `Checkpoint` reports a wrong path
        yield
        return
    lock = _lock_path(place)
    file = _take_lock(lock, os.fspath(place))
    remove_leftovers(place)  # Only the search that holds the lock writes to the checkpoint.
    try:
        yield
    finally:
        _release(file, lock)


def _release(file: IO[str], lock: Path) -> None:
    """Release a lock: close the open lock file ``file`` and remove it from its path ``lock``."""
    if fcntl is not None:
        with file, suppress(FileNotFoundError):  # remove the file before the lock is released
            lock.unlink()
        return
    file.close()
    with suppress(OSError):  # Windows cannot remove an open file: an error means that another search has opened it
        lock.unlink()


def _lock_path(place: Path) -> Path:
    """Return the path of a checkpoint's lock file. A long file name is replaced by its digest, which is short."""
    raw = os.fsencode(place.name)
    name = place.name if len(raw) <= 240 else hashlib.blake2b(raw, digest_size=16).hexdigest()
    return place.with_name(f".{name}.lock")


def _take_lock(lock: Path, name: str) -> IO[str]:
    """Open and lock the file ``lock`` and return it. The lock lasts until the file is closed.

    ``name`` is the path of the checkpoint, for the error message. Raise `CheckpointError` if another search
    holds the lock.
    """
    # A file that another search has removed meanwhile protects nothing. Then the next one is opened.
    while True:
        file = open(lock, "a+", encoding="utf-8")  # noqa: SIM115 - the file stays open
        try:
            if not _try_lock(file):
                raise CheckpointError(
                    f"'{name}' is in use by another search{_holder(file)}, and one would overwrite the other. Wait "
                    "until it ends, or name another checkpoint"
                )
            if _is_there(file, lock):  # the search before may have removed the file after it was opened here
                _record_holder(file, lock, name)
                return file
        except BaseException:
            with suppress(OSError):  # text that could not be written is still in the buffer
                file.close()
            raise
        file.close()


def _record_holder(file: IO[str], lock: Path, name: str) -> None:
    """Write this process to the lock file ``file``. On a full disk, remove the file, which is at ``lock``, and say so.

    ``name`` is the path of the checkpoint, which could not be written either.
    """
    try:
        file.truncate(0)
        json.dump({"pid": os.getpid(), "host": socket.gethostname()}, file)
        file.flush()
    except OSError as error:
        with suppress(OSError):
            lock.unlink()
        if error.errno in NO_SPACE:
            raise OSError(error.errno, "no space left to write a checkpoint", name) from error
        raise


def _try_lock(file: IO[str]) -> bool:
    """Lock an open file without waiting. Return False if another search holds the lock.

    Return True also if the file system has no locks.
    """
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            _lock_byte(file.fileno())
    except BlockingIOError:
        return False
    except OSError as error:
        if fcntl is None and error.errno in _TAKEN:
            return False
        if error.errno not in _NO_LOCKS:
            raise
    return True


def _lock_byte(descriptor: int) -> None:
    """Lock one byte of an open file on Windows. The position in the file is the same afterwards."""
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    finally:
        os.lseek(descriptor, position, os.SEEK_SET)


def _is_there(file: IO[str], lock: Path) -> bool:
    """Return whether the open file ``file`` is still the file at the path ``lock``.

    Another search may have removed the file after it was opened here. On Windows an open file cannot be removed.
    """
    if fcntl is None:
        return True
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(lock))
    except FileNotFoundError:
        return False


def _holder(file: IO[str]) -> str:
    """Return the process and computer that hold a lock, for a message. Return "" if the lock file does not say it."""
    file.seek(0)
    try:
        holder = json.load(file)
        return f" (process {holder['pid']} on {holder['host']})"
    except (ValueError, TypeError, KeyError):  # the other search has not written it yet
        return ""
