"""Archives of arrays: npz with a JSON header that names the format and a digest; no pickle."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._files import written_whole
from ._typing import AnyArray

__all__ = ["DAMAGE", "digest_of", "read_archive", "write_archive"]

#: What reading a damaged or foreign file may raise.
DAMAGE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


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
    told = json.dumps({**header, "digest": digest_of(state)})
    with written_whole(path) as file:
        np.savez_compressed(file, header=np.array(told), **state)  # type: ignore[arg-type]


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Header (empty where there is none) and arrays; raises one of `DAMAGE` for what is no npz."""
    with open(path, "rb") as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("a single array, not an npz archive")
        with archive:
            state = {key: archive[key] for key in archive.files}
    return _header(state.pop("header", None)), state


def _header(raw: AnyArray | None) -> dict[str, Any]:
    if raw is None or raw.ndim != 0 or raw.dtype.kind != "U":
        return {}
    try:
        header = json.loads(str(raw))
    except json.JSONDecodeError:
        return {}
    return header if isinstance(header, dict) else {}
