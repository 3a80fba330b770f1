"""Files of weights: archives of arrays. No pickle is used."""

from __future__ import annotations

import os

from .._io.archive import ArchiveKind
from .._typing import AnyArray
from ..exceptions import WeightsFileError

_KIND = ArchiveKind(
    format="weighbors.Weights",
    version=1,
    error=WeightsFileError,
    unreadable="'{path}' is not a readable file of weights ({reason}). Save it again with Weights.save",
    foreign="'{path}' is an npz file, but Weights.save did not write it",
    other_version=(
        "'{path}' has version {found} of the format and this release reads version {version}. "
        "Upgrade weighbors, or learn and save the weights again"
    ),
    changed="'{path}' is damaged: its content is not what was saved. Save it again",
)


def write_state(path: str | os.PathLike[str], state: dict[str, AnyArray]) -> None:
    """Write the arrays ``state`` of weights to a file, in an atomic write."""
    _KIND.write(path, state)


def read_state(path: str | os.PathLike[str]) -> dict[str, AnyArray]:
    """Return the arrays that `write_state` wrote. Raise WeightsFileError for any other file."""
    return _KIND.read(path)[1]
