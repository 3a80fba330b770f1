"""Archives of arrays: npz files with a JSON header that holds the format and a digest. No pickle is used."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

import numpy as np

from .._typing import AnyArray
from .files import atomic_write

#: The errors that reading a damaged or foreign file may raise.
DAMAGE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
#: The errors that NumPy's parser raises for the header of an array that is no header. A header has at most 10 000
#: characters, so that MemoryError says that it is nested too deeply, and not that memory is short.
HEADER_DAMAGE = (ValueError, TypeError, SyntaxError, ArithmeticError, RecursionError, MemoryError, tokenize.TokenError)
PLAIN_BYTES = 2**27  # bytes that any archive may unpack to
MOST_PACKED = 200  # a larger archive may unpack to at most 200 times its file size; zip bombs reach 1000
_HEADER_BYTES = 2**24  # bytes that the header of an archive may unpack to
_DIRECTORY_BYTES = 2**22  # size that the directory of an archive may have: some 40 000 names
_PART = 2**20
_HEAD = 1024  # upper bound of the bytes that an archive stores before each array


class ArchiveKind(NamedTuple):
    """A kind of file that the library writes: its header, and the error messages for files that cannot be read.

    Messages may contain ``{path}`` and ``{version}`` (the format version of this release). ``unreadable`` may also
    contain ``{reason}`` (why the file is not readable), and ``other_version`` may contain ``{found}`` (the format
    version of the file).
    """

    format: str
    version: int
    error: type[Exception]
    unreadable: str
    foreign: str
    other_version: str
    changed: str

    def write(self, path: str | os.PathLike[str], state: Mapping[str, AnyArray], **header: Any) -> None:
        """Write the arrays ``state`` with the header of this kind, in an atomic write."""
        write_archive(path, {"format": self.format, "version": self.version, **header}, state)

    def read(self, path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return header and arrays. Raise ``error`` if the file is damaged, changed, or of another kind or version."""
        parts = {"path": os.fspath(path), "version": self.version}
        try:
            header = read_header(path)  # nothing else is unpacked of a file of another kind
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no file '{parts['path']}'") from None
        except IsADirectoryError:
            raise IsADirectoryError(f"'{parts['path']}' is a directory; name a file") from None
        except DAMAGE as error:
            raise self.error(self.unreadable.format(**parts, reason=error)) from error
        if header.get("format") != self.format:
            raise self.error(self.foreign.format(**parts))
        if header.get("version") != self.version:
            raise self.error(self.other_version.format(**parts, found=repr(header.get("version"))))
        try:
            header, state = read_archive(path)
        except DAMAGE as error:
            raise self.error(self.unreadable.format(**parts, reason=error)) from error
        # The digest is compared last, so that the other messages can say what is wrong more precisely.
        if header.get("digest") != digest_of(state):
            raise self.error(self.changed.format(**parts))
        return header, state


def digest_of(state: Mapping[str, AnyArray]) -> str:
    """Return a digest of the names, types and values of arrays."""
    digest = hashlib.blake2b(digest_size=16)
    # The order of the arrays in a file does not matter.
    for key in sorted(state):
        array = np.ascontiguousarray(state[key])
        digest.update(f"{key} {array.dtype.str} {state[key].shape}\n".encode())
        # In parts, since a copy of a large array would take as much memory again.
        flat = array.reshape(-1)
        size = max(1, _PART // max(1, array.itemsize))
        for begin in range(0, len(flat), size):
            digest.update(flat[begin : begin + size].tobytes())
    return digest.hexdigest()


def write_archive(path: str | os.PathLike[str], header: Mapping[str, Any], state: Mapping[str, AnyArray]) -> None:
    """Write arrays and header, with their digest, in an atomic write."""
    arrays: dict[str, Any] = {"header": np.array(json.dumps({**header, "digest": digest_of(state)})), **state}
    size = sum(array.nbytes + _HEAD for array in arrays.values())
    with atomic_write(path) as file:
        np.savez_compressed(file, **arrays)
        if _too_packed(size, file.tell()):  # it would be refused when read
            file.seek(0)
            file.truncate()
            np.savez(file, **arrays)


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the header and the arrays of an npz file.

    The header is empty if it is absent or unreadable. If the file is damaged, is not npz, or declares arrays far larger
    than itself, one of the errors in the tuple `DAMAGE` is raised.
    """
    state = read_arrays(path)
    return _header(state.pop("header", None)), state


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the header of an npz file as in `read_archive`. No other array is unpacked."""
    return _header(read_arrays(path, only="header").get("header"))


def read_arrays(path: str | os.PathLike[str], *, only: str | None = None) -> dict[str, AnyArray]:
    """Return the arrays of an npz archive. The declared sizes are checked before any array is unpacked.

    ``only`` is the name of the one array that is unpacked, if it is there. None: all arrays.

    Raises
    ------
    One of `DAMAGE`
        If the file is no npz archive, or if it declares arrays that are very much larger than the file.
    """
    with open(path, "rb") as file:
        _check_beginning(file)
        archive = np.load(file, allow_pickle=False)
        with archive:
            assert archive.zip is not None
            _check_sizes(archive.zip, os.fstat(file.fileno()).st_size)
            return {key: archive[key] for key in archive.files if only in (None, key)}


def _check_beginning(file: IO[bytes]) -> None:
    """Raise ValueError if an open file is no zip archive, or one with a huge directory. Go back to its beginning.

    NumPy would read a file that holds a single array as a whole, and zipfile reads the whole directory.
    """
    if file.read(4) not in (b"PK\x03\x04", b"PK\x05\x06"):
        raise ValueError("it is no npz archive")
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 2**16 - 22))
    tail = file.read()
    # Where the directory is and how long it is stands in the last record, which a comment may follow.
    end = tail.rfind(b"PK\x05\x06")
    length = int.from_bytes(tail[end + 12 : end + 16], "little") if end >= 0 else 0
    if length > _DIRECTORY_BYTES and length != 2**32 - 1:
        raise ValueError("it has too many parts")
    wide = tail.rfind(b"PK\x06\x06")  # the record of large archives
    if wide >= 0 and int.from_bytes(tail[wide + 40 : wide + 48], "little") > _DIRECTORY_BYTES:
        raise ValueError("it has too many parts")
    file.seek(0)


def _check_sizes(archive: zipfile.ZipFile, file_size: int) -> None:
    """Raise ValueError for a zip bomb. The declared sizes are checked, since zip never unpacks more bytes."""
    members = archive.infolist()
    # Sizes are declared in the directory of the archive, so nothing has to be unpacked to know them.
    declared = sum(member.file_size for member in members)
    if _too_packed(declared, file_size):
        raise ValueError(
            f"its {file_size / 2**20:.1f} MiB would unpack to {declared / 2**20:.0f}, more than {MOST_PACKED} times "
            "as much, as if made to fill memory. Arrays that numpy.savez wrote, unpacked, may be of any size"
        )
    for member in members:
        if member.filename == "header.npy" and member.file_size > _HEADER_BYTES:
            raise ValueError(f"its header has {member.file_size} bytes, more than any file of this kind")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{member.filename!r} is packed in a way that numpy does not use")
        _check_array(archive, member)


def _check_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Raise ValueError if the size that an array declares is not the size that is stored.

    NumPy reserves memory for the declared size before it reads the array.
    """
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        try:
            shape, _, dtype = read(file)
        except HEADER_DAMAGE as error:
            raise ValueError(f"the header of {member.filename!r} cannot be read: {error}") from error
        wanted, there = math.prod(shape) * dtype.itemsize, member.file_size - file.tell()
    if wanted != there and not dtype.hasobject:  # objects are refused by numpy
        raise ValueError(f"{member.filename!r} should have {wanted} bytes and has {there}")


def _too_packed(unpacked: int, packed: int) -> bool:
    """Return whether an archive unpacks to so much more than its size that it looks like a zip bomb."""
    return unpacked > max(PLAIN_BYTES, MOST_PACKED * packed)


def _header(raw: AnyArray | None) -> dict[str, Any]:
    """Return the header as a dict, which is empty if there is no readable header."""
    if raw is None or raw.ndim != 0 or raw.dtype.kind != "U":
        return {}
    try:
        header = json.loads(str(raw))
    except (json.JSONDecodeError, RecursionError):
        return {}
    return header if isinstance(header, dict) else {}
