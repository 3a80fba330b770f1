"""Checkpoints of a search: writes are atomic, and a file is read only for the same data and settings."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..._archive import ArchiveKind
from ..._typing import AnyArray
from ...exceptions import CheckpointError
from .checkpoint_checks import StateChecker, check_header, read_history

__all__ = ["Checkpoint", "Kept"]

_KIND = ArchiveKind(
    format="weighbors.EvolutionaryWeigher checkpoint",
    version=2,
    error=CheckpointError,
    unreadable="'{path}' is not a readable checkpoint ({reason}). Delete it or name another file",
    foreign="'{path}' is an npz file, but no search wrote it. Name another file",
    other_version=(
        "'{path}' has version {found} of the format and this release reads {version}. "
        "Finish it with the release that wrote it"
    ),
    changed="'{path}' is damaged: its content is not what was written. Start anew",
)


class Kept(NamedTuple):
    """Content of a checkpoint: state of the search, history, and seed."""

    state: dict[str, AnyArray]
    history: list[dict[str, Any]]
    entropy: Any


@dataclass(frozen=True)
class Checkpoint:
    """File that stores the state of a search, with the data and settings that the search belongs to.

    Parameters
    ----------
    path : path-like
    data : str
        Fingerprint of rows and labels.
    settings : mapping
        All settings that change the result of the search, as plain values.
    entropy : int or list of int
        Seed of the search. It is stored so that a continued search draws the same rows and folds, also if
        ``random_state`` is None.
    """

    path: str | os.PathLike[str]
    data: str
    settings: Mapping[str, Any]
    entropy: Any = None

    @property
    def name(self) -> str:
        """Path of the file, as text."""
        return os.fspath(self.path)

    def open(self, *, resume: bool) -> Kept | None:
        """Return the content of the checkpoint if ``resume`` is True, or None for a new search.

        Raise `CheckpointError` if ``resume`` is False and the file already exists.
        """
        if resume:
            return self.read()
        self.check_free()
        return None

    def check_free(self) -> None:
        """Raise `CheckpointError` if the file already exists, or if its directory does not exist."""
        if Path(self.path).exists():
            raise CheckpointError(
                f"'{self.name}' is there already, and a new search would overwrite it. "
                "Continue it with resume=True, delete it, or name another file"
            )
        self._check_directory()

    def _check_directory(self) -> None:
        """Raise `CheckpointError` if the directory of the file does not exist."""
        if not Path(self.path).absolute().parent.is_dir():
            raise CheckpointError(f"the directory of the checkpoint '{self.name}' is not there: make it first")

    def write(self, state: Mapping[str, AnyArray], history: list[dict[str, Any]]) -> None:
        """Write the state of a search and its history to the file."""
        arrays = {**state, "history": np.array(json.dumps(history))}
        _KIND.write(self.path, arrays, data=self.data, settings=dict(self.settings), entropy=self.entropy)

    def read(self) -> Kept | None:
        """Return state, history and seed, or None if the file does not exist yet.

        Raises
        ------
        CheckpointError
            If the file is damaged, is not a checkpoint, or belongs to other data or settings. The file is not
            changed.
        """
        if not Path(self.path).exists():
            self._check_directory()
            return None
        header, state = _KIND.read(self.path)
        try:
            check_header(header)
            history = read_history(state)
        except ValueError as error:
            raise self._refusal(error) from error
        # Files of earlier releases do not have keep_classes and target_type. Their searches could lose a class, which
        # is False, and had classes. Settings go through JSON, so that tuples and lists compare as equal.
        then = {"keep_classes": False, "target_type": "classes", **header["settings"]}
        now = json.loads(json.dumps(dict(self.settings)))
        # The fingerprint of a target read as numbers differs from that of its classes, so the type is named first.
        if header["data"] != self.data and then["target_type"] == now["target_type"]:
            raise CheckpointError(
                f"'{self.name}' belongs to other data (its fingerprint differs). Resume with the rows and labels "
                "it was made from, or name another checkpoint"
            )
        differing = [key for key in sorted({*then, *now}) if then.get(key) != now.get(key)]
        if differing:
            listed = ", ".join(f"{key}: {then.get(key)!r} there, {now.get(key)!r} here" for key in differing)
            raise CheckpointError(
                f"'{self.name}' belongs to other settings ({listed}). Use those of the checkpoint, or name another one"
            )
        return Kept(state, history, header["entropy"])

    def check_state(self, kept: Kept, checker: StateChecker) -> None:
        """Raise `CheckpointError` if the search that ``checker`` knows cannot have the state of the file."""
        try:
            checker.check(kept.state, kept.history)
        except ValueError as error:
            raise self._refusal(error) from error

    def _refusal(self, reason: Exception) -> CheckpointError:
        """Return the error for a file whose content no search has written."""
        return CheckpointError(_KIND.unreadable.format(path=self.name, reason=reason))
