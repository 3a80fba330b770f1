"""Checkpoints of a search: written whole or not at all, read only into the run they belong to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..._archive import DAMAGE, digest_of, read_archive, write_archive
from ..._typing import AnyArray
from ...exceptions import CheckpointError

__all__ = ["Checkpoint", "Kept"]

_FORMAT = "weighbors.EvolutionaryWeigher checkpoint"
_VERSION = 2


class Kept(NamedTuple):
    """What a checkpoint holds."""

    state: dict[str, AnyArray]
    history: list[dict[str, Any]]
    entropy: Any


@dataclass(frozen=True)
class Checkpoint:
    """Where a search is kept, and what identifies it.

    Parameters
    ----------
    path : path-like
    data : str
        Fingerprint of rows and labels.
    settings : mapping
        Everything that changes the course of the search, as plain values.
    entropy : int or list of int
        Seed of the search: also where ``random_state`` is open, what is drawn beside the search (rows,
        folds) is drawn again when it is continued.
    """

    path: str | os.PathLike[str]
    data: str
    settings: Mapping[str, Any]
    entropy: Any = None

    @property
    def name(self) -> str:
        """The path as text."""
        return os.fspath(self.path)

    def open(self, *, resume: bool) -> Kept | None:
        """What is to be continued; None for a new search, which needs a name that is free."""
        if resume:
            return self.read()
        self.check_free()
        return None

    def check_free(self) -> None:
        """Refuse to begin where a file is already, or where none can be."""
        if Path(self.path).exists():
            raise CheckpointError(
                f"'{self.name}' is there already, and a new search would overwrite it. "
                "Continue it with resume=True, delete it, or name another file"
            )
        self._check_directory()

    def _check_directory(self) -> None:
        if not Path(self.path).absolute().parent.is_dir():
            raise CheckpointError(f"the directory of the checkpoint '{self.name}' is not there: make it first")

    def write(self, state: Mapping[str, AnyArray], history: list[dict[str, Any]]) -> None:
        """Put the state of a search and its history into the file."""
        header = {"format": _FORMAT, "version": _VERSION, "data": self.data, "settings": dict(self.settings)}
        header["entropy"] = self.entropy
        write_archive(self.path, header, {**state, "history": np.array(json.dumps(history))})

    def read(self) -> Kept | None:
        """State, history and seed; None where there is no file yet.

        Raises
        ------
        CheckpointError
            Where the file is damaged, foreign, or of other data or settings. It is left as it is.
        """
        if not Path(self.path).exists():
            self._check_directory()
            return None
        header, state = self._archive()
        if header["data"] != self.data:
            raise CheckpointError(
                f"'{self.name}' belongs to other data (its fingerprint differs). Resume with the rows and labels "
                "it was made from, or name another checkpoint"
            )
        then, now = header["settings"], json.loads(json.dumps(dict(self.settings)))
        differing = [key for key in sorted({*then, *now}) if then.get(key) != now.get(key)]
        if differing:
            told = ", ".join(f"{key}: {then.get(key)!r} there, {now.get(key)!r} here" for key in differing)
            raise CheckpointError(
                f"'{self.name}' belongs to other settings ({told}). Use those of the checkpoint, or name another one"
            )
        return Kept(state, json.loads(str(state.pop("history"))), header["entropy"])

    def _archive(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        try:
            header, state = read_archive(self.path)
        except DAMAGE as error:
            raise CheckpointError(
                f"'{self.name}' is not a readable checkpoint ({error}). Delete it or name another file"
            ) from error
        if header.get("format") != _FORMAT:
            raise CheckpointError(f"'{self.name}' is an npz file, but no search wrote it. Name another file")
        if header.get("version") != _VERSION:
            raise CheckpointError(
                f"'{self.name}' has version {header.get('version')!r} of the format and this release reads {_VERSION}. "
                "Finish it with the release that wrote it"
            )
        if header.get("digest") != digest_of(state):
            raise CheckpointError(f"'{self.name}' is damaged: its content is not what was written. Start anew")
        return header, state
