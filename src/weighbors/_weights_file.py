"""Files of weights: npz with a JSON header that names the format and a digest; no pickle."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ._files import written_whole
from ._typing import AnyArray
from .exceptions import WeightsFileError

_FORMAT = "weighbors.Weights"
_VERSION = 1
_DAMAGE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


def _digest(state: Mapping[str, AnyArray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for key in sorted(state):
        array = np.ascontiguousarray(state[key])
        digest.update(f"{key} {array.dtype.str} {state[key].shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def write_state(path: str | os.PathLike[str], state: dict[str, AnyArray]) -> None:
    """Write arrays and header, whole or not at all."""
    header = json.dumps({"format": _FORMAT, "version": _VERSION, "digest": _digest(state)})
    with written_whole(path) as file:
        np.savez_compressed(file, header=np.array(header), **state)  # type: ignore[arg-type]


def read_state(path: str | os.PathLike[str]) -> dict[str, AnyArray]:
    """Read what `write_state` wrote; anything else is a `WeightsFileError`."""
    name = os.fspath(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file of weights at '{name}'")
    try:
        state = _arrays(path)
    except _DAMAGE as error:
        raise WeightsFileError(
            f"'{name}' is not a readable file of weights ({error}). Save it again with Weights.save"
        ) from error
    header = _header(state.pop("header", None))
    if header.get("format") != _FORMAT:
        raise WeightsFileError(f"'{name}' is an npz file, but Weights.save did not write it")
    if header.get("version") != _VERSION:
        raise WeightsFileError(
            f"'{name}' has version {header.get('version')!r} of the format and this release reads version {_VERSION}. "
            "Upgrade weighbors, or learn and save the weights again"
        )
    if header.get("digest") != _digest(state):
        raise WeightsFileError(f"'{name}' is damaged: its content is not what was saved. Save it again")
    return state


def _arrays(path: str | os.PathLike[str]) -> dict[str, AnyArray]:
    with open(path, "rb") as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("a single array, not an npz archive")
        with archive:
            return {key: archive[key] for key in archive.files}


def _header(raw: AnyArray | None) -> dict[str, Any]:
    if raw is None or raw.ndim != 0 or raw.dtype.kind != "U":
        return {}
    try:
        header = json.loads(str(raw))
    except json.JSONDecodeError:
        return {}
    return header if isinstance(header, dict) else {}
