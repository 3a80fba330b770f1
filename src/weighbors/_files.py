"""Atomic writes (a file is complete or not there), and checks of parquet files."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from .exceptions import InvalidDataError, MissingDependencyError

__all__ = ["NO_SPACE", "atomic_write", "remove_leftovers", "require_pyarrow", "require_utf8"]

#: Errors of the operating system that say that a file cannot grow: full disk, quota, or limit on the size of files.
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, sync: bool = True) -> Iterator[IO[bytes]]:
    """Open a temporary binary file that replaces ``path`` only if the ``with`` block ends without an error.

    With ``sync=False`` the function does not wait for the disk. The file is then complete even if the process is
    killed, but perhaps not after a power cut. Use this for files that are checked when they are read and can be
    written again.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a directory; name a file to write to", str(target))
    try:
        # The temporary file is in the same directory, so that the final rename is atomic.
        handle, temporary = tempfile.mkstemp(prefix=_temporary_prefix(target), dir=target.parent)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise type(error)(error.errno, "the directory of this file is not there: make it first", str(target)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
        # The umask can be read only by setting it.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # mkstemp makes files that only the owner can read
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno in NO_SPACE and error.filename is None:
            # The system does not say which file it could not write.
            unchanged = "; the file of this name is as it was" if target.exists() else ""
            raise OSError(error.errno, f"no space left to write{unchanged}", str(target)) from error
        raise


def _temporary_prefix(target: Path) -> str:
    """Return how the names of temporary files of ``target`` begin. Different targets have different prefixes."""
    if len(target.name) <= 40:
        return f".{target.name}."
    return f".{target.name[:20]}-{hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()}."


def remove_leftovers(path: str | os.PathLike[str], *, older_than: float = 0.0) -> None:
    """Remove temporary files of `atomic_write` for ``path``, which killed processes have left beside it.

    The caller must know that no other process writes to ``path`` now, or give ``older_than``: files that were changed
    within this number of seconds stay, since a process may be writing them.
    """
    target = Path(path)
    # `tempfile` adds eight letters, digits or underscores to the prefix.
    name = re.compile(re.escape(_temporary_prefix(target)) + "[a-z0-9_]{8}")
    with suppress(OSError), os.scandir(target.absolute().parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime >= older_than:
                        os.unlink(entry.path)


def require_pyarrow(name: str) -> Any:
    """Import pyarrow, which the parquet file ``name`` needs, or raise an error that says how to install it."""
    try:
        import pyarrow
    except ImportError as error:
        raise MissingDependencyError(
            f"parquet files need pyarrow, and '{name}' is one: pip install 'weighbors[parquet]', or use csv"
        ) from error
    return pyarrow


def require_utf8(column: Any, name: Any, path: str) -> None:
    """Raise InvalidDataError if a column of a parquet file holds text that is not UTF-8. Arrow does not check this.

    ``column`` is an Arrow array. Columns that hold no text are accepted.
    """
    import pyarrow as pa

    values = column.dictionary if pa.types.is_dictionary(column.type) else column
    try:
        values.validate(full=True)
    except pa.ArrowException as error:
        raise InvalidDataError(
            f"'{path}' is no readable parquet file: column {name!r} holds text that is no UTF-8 ({error}). Write the "
            "file anew with its text in UTF-8"
        ) from error
