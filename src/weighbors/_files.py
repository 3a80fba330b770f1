"""Files are written whole or not at all; parquet needs another package."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from .exceptions import MissingDependencyError

__all__ = ["require_pyarrow", "written_whole"]


@contextmanager
def written_whole(path: str | os.PathLike[str], *, sync: bool = True) -> Iterator[IO[bytes]]:
    """A binary file that takes its place at ``path`` only when the block ends without error.

    ``sync=False`` does not wait for the disk: whole after a kill, but perhaps not after a power cut. For
    files that are checked when read and can be made again.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a directory; name a file to write to", str(target))
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise type(error)(error.errno, "the directory of this file is not there: make it first", str(target)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # mkstemp makes private files
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def require_pyarrow(name: str) -> Any:
    """The package pyarrow, which the parquet file ``name`` needs."""
    try:
        import pyarrow
    except ImportError as error:
        raise MissingDependencyError(
            f"parquet files need pyarrow, and '{name}' is one: pip install 'weighbors[parquet]', or use csv"
        ) from error
    return pyarrow
