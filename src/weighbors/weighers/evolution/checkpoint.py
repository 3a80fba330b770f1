"""Checkpoints of a search: writes are atomic, one search at a time, and only for the same data and settings."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..._io.archive import ArchiveKind
from ..._typing import AnyArray
from ...exceptions import CheckpointError

_KIND = ArchiveKind(
    format="weighbors.EvolutionaryWeigher checkpoint",
    version=1,
    error=CheckpointError,
    unreadable="'{path}' is not a readable checkpoint ({reason}). Delete it or name another file",
    foreign="'{path}' is an npz file, but no search wrote it. Name another file",
    other_version=(
        "'{path}' has version {found} of the format and this release reads {version}. "
        "Finish it with the release that wrote it"
    ),
    changed="'{path}' is damaged: its content is not what was written. Start anew",
)
# Errors of the systems if somebody else holds a lock. ENOENT: the search before has just removed the locked file.
_TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK, errno.ENOENT)


@dataclass
class Checkpoint:
    """File that stores the state of a search, with the data and settings that the search belongs to.

    Parameters
    ----------
    path : path-like
    data : str
        Fingerprint of rows and target.
    settings : mapping
        All settings that change the result of the search, as plain values.
    entropy : int or list of int
        Seed of the search. It is stored so that a continued search draws the same rows and folds, also if
        ``random_state`` is None.
    """

    path: str | os.PathLike[str]
    data: str
    settings: Mapping[str, Any]
    entropy: Any

    def write(self, state: Mapping[str, AnyArray], history: list[dict[str, Any]]) -> None:
        """Write the state of a search and its history to the file."""
        arrays = {**state, "history": np.array(json.dumps(history))}
        _KIND.write(self.path, arrays, data=self.data, settings=self.settings, entropy=self.entropy)

    def read(self) -> tuple[dict[str, AnyArray], list[dict[str, Any]]] | None:
        """Return state and history, and take over the seed. Return None if the file does not exist yet.

        Raises
        ------
        CheckpointError
            If the file is damaged, is not a checkpoint, or belongs to other data or settings. The file is not
            changed.
        """
        if not Path(self.path).exists():
            return None
        name = os.fspath(self.path)
        header, state = _KIND.read(self.path)
        then, now = header["settings"], self.settings
        differing = [key for key in sorted({*then, *now}) if then.get(key) != now.get(key)]
        if differing:
            listed = ", ".join(f"{key}: {then.get(key)!r} there, {now.get(key)!r} here" for key in differing)
            raise CheckpointError(
                f"'{name}' belongs to other settings ({listed}). Use those of the checkpoint, delete it, or name "
                "another one"
            )
        if header["data"] != self.data:
            raise CheckpointError(
                f"'{name}' belongs to other data (its fingerprint differs). Continue with the rows and labels it was "
                "made from, delete it, or name another checkpoint"
            )
        self.entropy = header["entropy"]
        return state, json.loads(str(state.pop("history")))


@contextmanager
def hold_checkpoint(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Let nobody else use the checkpoint at ``path`` while the ``with`` block runs. If ``path`` is None, do nothing.

    The operating system locks a hidden file beside the checkpoint, and releases it when the process ends, also when it
    is killed. File systems without locks are not protected.

    Raises
    ------
    CheckpointError
        If another search holds the checkpoint, in this process or in another one, or if it cannot be a file.
    """
    if path is None:
        yield
        return
    place = Path(path)
    if place.is_dir():
        raise CheckpointError(f"the checkpoint '{place}' is a directory: name a file")
    if not place.absolute().parent.is_dir():
        raise CheckpointError(f"the directory of the checkpoint '{place}' is not there: make it first")
    lock = place.with_name(f".{place.name[-60:]}.lock")  # of a long name the end, in which strata differ
    with open(lock, "wb") as file:
        if not _try_lock(file, lock):
            raise CheckpointError(
                f"'{place}' is in use by another search, and one would overwrite the other. Wait until it ends, or "
                "name another checkpoint"
            )
        try:
            yield
        finally:
            if sys.platform != "win32":  # which cannot remove an open file
                lock.unlink(missing_ok=True)


def _try_lock(file: IO[bytes], lock: Path) -> bool:
    """Lock the open file ``file``, whose path is ``lock``. Return False if somebody else holds it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            return True
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The search before may have removed the file after it was opened here; then its lock protects nothing.
        return os.path.samestat(os.fstat(file.fileno()), os.stat(lock))
    except OSError as error:
        return error.errno not in _TAKEN
