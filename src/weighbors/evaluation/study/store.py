"""The store of a study: a directory with one file per cell (`cell_file`), and ``study.json``, which describes them."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..._io.files import atomic_write
from ...exceptions import StoreError
from .cell_file import SCHEMA, read_header

_FORMAT = "weighbors.study"
_OLD_SECONDS = 3600


class _DamagedError(StoreError):
    """Error for a study.json that cannot be read. The next run writes it again."""


class Store:
    """A directory of cells and ``study.json``, which describes them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.cells = self.path / "cells"

    def cell(self, identity: str) -> Path:
        """Return the path of the file of a cell."""
        return self.cells / f"{identity}.cell"

    def status(self, identity: str) -> str:
        """Return the status of a cell: "done", "failed", "damaged" or "missing"."""
        try:
            header = read_header(self.cell(identity))
        except StoreError:
            return "damaged"
        return "missing" if header is None else str(header["status"])

    def time_written(self, identity: str) -> int | None:
        """Return the time at which the file of a cell was written, or None if there is no file."""
        try:
            return self.cell(identity).stat().st_mtime_ns
        except FileNotFoundError:
            return None

    def open(self) -> None:
        """Create the directory. Raise StoreError if it exists and holds something else than a study."""
        if self.path.exists():
            self.check()
        self.cells.mkdir(parents=True, exist_ok=True)
        self._remove_leftovers()

    def check(self) -> None:
        """Raise StoreError if the directory is no store, or a store of another schema."""
        if not self.path.is_dir():
            raise StoreError(f"'{self.path}' is not a directory")
        if not (self.path / "study.json").exists():
            # A run that was killed early may have left the directory of cells, which is no stranger.
            strangers = [name for name in os.listdir(self.path) if name != "cells" and not name.startswith(".")]
            if strangers:
                raise StoreError(
                    f"'{self.path}' is not empty and holds no study ({sorted(strangers)[0]!r} is there). "
                    "Give a directory of its own"
                )
            return
        try:
            self.read_study()
        except _DamagedError:
            return  # study.json is written again, and cells are found by the digests in their names

    def write_study(self, study: dict[str, Any]) -> None:
        """Write ``study.json``, which describes the cells."""
        full = {"format": _FORMAT, "schema": SCHEMA, **study}
        with atomic_write(self.path / "study.json") as file:
            file.write(json.dumps(full, indent=1, ensure_ascii=False).encode())

    def read_study(self) -> dict[str, Any]:
        """Return the content of ``study.json``. Raise StoreError if it is missing, damaged or of another schema."""
        path = self.path / "study.json"
        if not path.is_file():
            raise StoreError(f"'{self.path}' holds no study: there is no study.json")
        try:
            study = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise _DamagedError(f"'{path}' is damaged ({error}). Run the study again: its cells are kept") from error
        if not isinstance(study, dict) or study.get("format") != _FORMAT:
            raise StoreError(f"'{path}' was not written by a study")
        if study.get("schema") != SCHEMA:
            raise StoreError(
                f"'{self.path}' has schema {study.get('schema')!r} and this release reads schema {SCHEMA}. "
                "Use the release that wrote it, or another directory"
            )
        if not _describes_cells(study):
            raise _DamagedError(f"'{path}' does not describe cells. Run the study again: its cells are kept")
        return study

    def _remove_leftovers(self) -> None:
        """Remove old temporary files of processes that were killed while they wrote a cell."""
        for entry in os.scandir(self.cells):
            if entry.name.startswith("."):
                with suppress(OSError):
                    # A recent temporary file may belong to a process that is writing now.
                    if time.time() - entry.stat().st_mtime > _OLD_SECONDS:
                        os.unlink(entry.path)


def _describes_cells(study: dict[str, Any]) -> bool:
    """Return whether a study.json has the parts that results are read with, each of the right type."""
    cells, datasets = study.get("cells"), study.get("datasets")
    if not isinstance(cells, dict) or not isinstance(datasets, dict):
        return False
    # The id of a cell is the name of its file, so it must not lead to another directory.
    named = all(re.fullmatch("[0-9a-f]+", identity) for identity in cells)
    placed = all(_is_place(place) for place in cells.values())
    return named and placed and all(isinstance(shape, dict) for shape in datasets.values())


def _is_place(place: Any) -> bool:
    """Return whether a value of JSON is the data set, method, repeat and fold of a cell."""
    kinds = (str, str, int, int)
    return isinstance(place, list) and len(place) == 4 and all(map(isinstance, place, kinds))
