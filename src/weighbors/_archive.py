"""Archives of arrays: npz with a JSON header that names the format and a digest; no pickle."""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._files import written_whole
from ._typing import AnyArray

__all__ = ["DAMAGE", "digest_of", "read_archive", "read_arrays", "write_archive"]

#: What reading a damaged or foreign file may raise.
DAMAGE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
PLAIN_BYTES = 2**30  # an archive may unpack to so much whatever the size of its file,
MOST_PACKED = 200  # and to so many times that size; one made to fill memory reaches 1000
_HEAD = 1024  # bytes, at most, before an array in its part of the archive


def digest_of(state: Mapping[str, AnyArray]) -> str:
    """Digest of the names, types and values of arrays."""
    digest = hashlib.blake2b(digest_size=16)
    for key in sorted(state):
        array = np.ascontiguousarray(state[key])
        digest.update(f"{key} {array.dtype.str} {state[key].shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def write_archive(path: str | os.PathLike[str], header: Mapping[str, Any], state: Mapping[str, AnyArray]) -> None:
    """Write arrays and header, with their digest, whole or not at all."""
    arrays: dict[str, Any] = {"header": np.array(json.dumps({**header, "digest": digest_of(state)})), **state}
    size = sum(array.nbytes + _HEAD for array in arrays.values())
    with written_whole(path) as file:
        np.savez_compressed(file, **arrays)
        if _too_packed(size, file.tell()):  # it would be refused when read
            file.seek(0)
            file.truncate()
            np.savez(file, **arrays)


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Header (empty where there is none) and arrays; raises one of `DAMAGE` for what is no npz."""
    state = read_arrays(path)
    return _header(state.pop("header", None)), state


def read_arrays(path: str | os.PathLike[str]) -> dict[str, AnyArray]:
    """The arrays of an npz archive, of which nothing is unpacked before their sizes are known to be sound.

    Raises
    ------
    One of `DAMAGE`
        For what is no npz, or says to be very much larger than its file.
    """
    with open(path, "rb") as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("a single array, not an npz archive")
        with archive:
            assert archive.zip is not None
            _check_sizes(archive.zip, os.fstat(file.fileno()).st_size)
            return {key: archive[key] for key in archive.files}


def _check_sizes(archive: zipfile.ZipFile, file_size: int) -> None:
    """Refuse a zip bomb: zip unpacks no more than it declares, so what it declares is all that counts."""
    members = archive.infolist()
    declared = sum(member.file_size for member in members)
    if _too_packed(declared, file_size):
        raise ValueError(
            f"its {file_size / 2**20:.1f} MiB would unpack to {declared / 2**20:.0f}, more than {MOST_PACKED} times "
            "as much, as if made to fill memory. Arrays that numpy.savez wrote, unpacked, may be of any size"
        )
    for member in members:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{member.filename!r} is packed in a way that numpy does not use")
        _check_array(archive, member)


def _check_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Refuse an array that says to have other bytes than there are: space is made for it before it is read."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
        wanted, there = math.prod(shape) * dtype.itemsize, member.file_size - file.tell()
    if wanted != there and not dtype.hasobject:  # objects are refused by numpy
        raise ValueError(f"{member.filename!r} should have {wanted} bytes and has {there}")


def _too_packed(unpacked: int, packed: int) -> bool:
    return unpacked > max(PLAIN_BYTES, MOST_PACKED * packed)


def _header(raw: AnyArray | None) -> dict[str, Any]:
    if raw is None or raw.ndim != 0 or raw.dtype.kind != "U":
        return {}
    try:
        header = json.loads(str(raw))
    except json.JSONDecodeError:
        return {}
    return header if isinstance(header, dict) else {}
