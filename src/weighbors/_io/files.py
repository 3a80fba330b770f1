"""Atomic writes (a file is complete or not there), and checks of parquet files."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ..exceptions import InvalidDataError, MissingDependencyError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Errors of the operating system that say that a file cannot grow: full disk, quota, or limit on the size of files.
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, sync: bool = True) -> Iterator[IO[bytes]]:
    """Open a temporary binary file that replaces ``path`` only if the ``with`` block ends without an error.

    With ``sync=False`` the function does not wait for the disk. The file is then complete even if the process is
    killed, but perhaps not after a power cut. Use this for files that are checked when they are read and can be
    written again.

    A symbolic link stays, and the file to which it points is replaced. A directory, a device or a pipe is refused.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a directory; name a file to write to", os.fspath(path))
    if target.exists() and not target.is_file():
        raise FileExistsError(errno.EEXIST, "this is a device or a pipe; name a regular file", os.fspath(path))
    try:
        if sync:  # files that are not waited for are small and many, and their directory is cleaned by its owner
            _remove_leftovers(target)
        handle, temporary = _make_temporary(target)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise type(error)(error.errno, "the directory of this file is not there: make it first", str(target)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
            if fcntl is not None:
                _put_in_place(temporary, target)  # before the file is closed, which releases its lock
        if fcntl is None:
            _put_in_place(temporary, target)  # Windows renames no file that is open
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno in NO_SPACE and error.filename is None:
            # The system does not say which file it could not write.
            unchanged = "; the file of this name is as it was" if target.exists() else ""
            raise OSError(error.errno, f"no space left to write{unchanged}", str(target)) from error
        raise


def _put_in_place(temporary: str, target: Path) -> None:
    """Replace ``target`` by a temporary file, which gets the permissions of a new file."""
    # The umask can be read only by setting it.
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(temporary, 0o666 & ~mask)  # mkstemp makes files that only the owner can read
    os.replace(temporary, target)


def _make_temporary(target: Path) -> tuple[int, str]:
    """Open a new file beside ``target``, so that the final rename is atomic, and lock it. Return handle and path.

    The lock ends with the process, also if that is killed. `_remove_leftovers` knows by it which files are in use.
    """
    while True:
        handle, temporary = tempfile.mkstemp(prefix=_temporary_prefix(target), dir=target.parent)
        if fcntl is None:
            return handle, temporary  # Windows removes no file that is open
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.path.exists(temporary):
            return handle, temporary
        os.close(handle)  # another writer removed the file before it was locked


def _temporary_prefix(target: Path) -> str:
    """Return how the names of temporary files of ``target`` begin. Different targets have different prefixes."""
    if len(target.name) <= 40:
        return f".{target.name}."
    return f".{target.name[:20]}-{hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()}."


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files that killed processes have left for ``target``. Files that are being written stay."""
    # `tempfile` adds eight letters, digits or underscores to the prefix.
    name = re.compile(re.escape(_temporary_prefix(target)) + "[a-z0-9_]{8}")
    with suppress(OSError), os.scandir(target.absolute().parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError), open(entry.path, "rb") as file:
                    if fcntl is None:
                        file.close()  # an open file cannot be removed on Windows
                    else:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if the file is in use
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
