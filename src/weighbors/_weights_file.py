"""Files of weights: an archive of arrays, no pickle."""

from __future__ import annotations

import os
from pathlib import Path

from ._archive import DAMAGE, digest_of, read_archive, write_archive
from ._typing import AnyArray
from .exceptions import WeightsFileError

_FORMAT = "weighbors.Weights"
_VERSION = 1


def write_state(path: str | os.PathLike[str], state: dict[str, AnyArray]) -> None:
    """Write arrays and header, whole or not at all."""
    write_archive(path, {"format": _FORMAT, "version": _VERSION}, state)


def read_state(path: str | os.PathLike[str]) -> dict[str, AnyArray]:
    """Read what `write_state` wrote; anything else is a `WeightsFileError`."""
    name = os.fspath(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file of weights at '{name}'")
    try:
        header, state = read_archive(path)
    except DAMAGE as error:
        raise WeightsFileError(
            f"'{name}' is not a readable file of weights ({error}). Save it again with Weights.save"
        ) from error
    if header.get("format") != _FORMAT:
        raise WeightsFileError(f"'{name}' is an npz file, but Weights.save did not write it")
    if header.get("version") != _VERSION:
        raise WeightsFileError(
            f"'{name}' has version {header.get('version')!r} of the format and this release reads version {_VERSION}. "
            "Upgrade weighbors, or learn and save the weights again"
        )
    if header.get("digest") != digest_of(state):
        raise WeightsFileError(f"'{name}' is damaged: its content is not what was saved. Save it again")
    return state
