"""A checkpoint belongs to one search at a time."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ...exceptions import CheckpointError

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None  # type: ignore[assignment]

__all__ = ["held"]

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@contextmanager
def held(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Hold the checkpoint at ``path`` while the block runs; None: nothing to hold.

    A hidden file beside the checkpoint says who holds it, and a lock of the operating system on that
    file, which ends with its process however that ends, says whether it is true: what a killed search
    left behind stops nobody. File systems and systems without such locks are not guarded.

    Raises
    ------
    CheckpointError
        Where another search holds it, in this process or another one.
    """
    place = Path(path or "")
    if fcntl is None or not place.name or not place.absolute().parent.is_dir():  # Checkpoint tells what is wrong
        yield
        return
    lock = _beside(place)
    file = _taken(lock, os.fspath(place))
    try:
        yield
    finally:
        with file, suppress(FileNotFoundError):  # removed while it is still held
            lock.unlink()


def _beside(place: Path) -> Path:
    """The lock file of a checkpoint; long names, which leave no room for more, by their digest."""
    raw = os.fsencode(place.name)
    name = place.name if len(raw) <= 240 else hashlib.blake2b(raw, digest_size=16).hexdigest()
    return place.with_name(f".{name}.lock")


def _taken(lock: Path, name: str) -> IO[str]:
    """The open lock file of a checkpoint, ours until it is closed."""
    while True:
        file = open(lock, "a+", encoding="utf-8")  # noqa: SIM115 - it stays open
        try:
            if not _locked(file):
                raise CheckpointError(
                    f"'{name}' is in use by another search{_holder(file)}, and one would overwrite the other. Wait "
                    "until it ends, or name another checkpoint"
                )
            if _is_there(file, lock):  # its last holder may have removed it after we opened it
                file.truncate(0)
                json.dump({"pid": os.getpid(), "host": socket.gethostname()}, file)
                file.flush()
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _locked(file: IO[str]) -> bool:
    """Lock an open file without waiting; False where somebody else has."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def _is_there(file: IO[str], lock: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(lock))
    except FileNotFoundError:
        return False


def _holder(file: IO[str]) -> str:
    """Who holds a lock, where the file says so."""
    file.seek(0)
    try:
        told = json.load(file)
        return f" (process {told['pid']} on {told['host']})"
    except (ValueError, TypeError, KeyError):  # it was taken this moment
        return ""
