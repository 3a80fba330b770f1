"""Cells on disk: one file per cell, written in an atomic write, with a JSON header before the arrays.

::

    weighbors.cell 1 <checksum of the header>
    {"dataset": ..., "method": ..., "arrays": [[name, dtype, shape], ...], ...}
    <the arrays>

The table of results needs only the headers, so that ten thousand cells load in a second.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..._files import atomic_write
from ..._typing import AnyArray
from ...exceptions import StoreError

__all__ = ["SCHEMA", "Store", "read_arrays", "read_header", "write_cell"]

#: Version of the layout of cells, of study.json and of the table of results.
SCHEMA = 1
_MAGIC = b"weighbors.cell"
_FORMAT = "weighbors.study"
_FIRST_READ = 16_384
_OLD_SECONDS = 3600


def write_cell(path: Path, header: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
    """Write the header and the arrays of a cell to ``path``, in an atomic write."""
    blobs = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    content = b"".join(blob.tobytes() for blob in blobs.values())
    shapes = [[name, blob.dtype.str, list(blob.shape)] for name, blob in blobs.items()]
    # The header has its own checksum in the first line, so that it can be trusted without reading the arrays.
    full = {**header, "arrays": shapes, "checksum": zlib.crc32(content)}
    text = json.dumps(full, separators=(",", ":")).encode()
    with atomic_write(path, sync=False) as file:  # waiting for the disk takes 2 to 20 ms, and checksums find damage
        file.write(b"%s %d %08x\n%s\n" % (_MAGIC, SCHEMA, zlib.crc32(text), text))
        file.write(content)


def _parse_header(raw: bytes, path: Path) -> tuple[dict[str, Any], int] | None:
    """Return the header and the position of the arrays, or None if ``raw`` has too few bytes."""
    first = raw.find(b"\n")
    second = raw.find(b"\n", first + 1)
    if first < 0 or second < 0:
        return None
    words = raw[:first].split(b" ")
    if len(words) != 3 or words[0] != _MAGIC:
        raise StoreError(f"'{path}' is not a cell of a study")
    if words[1] != b"%d" % SCHEMA:
        raise StoreError(
            f"'{path}' has schema {words[1].decode(errors='replace')} and this release reads schema {SCHEMA}. "
            "Use the release that wrote the store, or another directory"
        )
    text = raw[first + 1 : second]
    if b"%08x" % zlib.crc32(text) != words[2]:
        raise StoreError(f"'{path}' is damaged. Delete it and run the study again: it computes what is missing")
    header: dict[str, Any] = json.loads(text)
    return header, second + 1


def read_header(path: Path | str) -> dict[str, Any] | None:
    """Return the header of a cell without reading its arrays, or None if there is no file."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return None
    try:
        raw = os.read(handle, _FIRST_READ)
        # One read is enough for nearly all headers. Only long headers, for example with a traceback, need more.
        while (parsed := _parse_header(raw, Path(path))) is None:
            more = os.read(handle, 1 << 20)
            if not more:
                raise StoreError(f"'{path}' is damaged: it ends early. Delete it and run the study again")
            raw += more
    finally:
        os.close(handle)
    return parsed[0]


def read_arrays(path: Path) -> dict[str, AnyArray]:
    """Return the arrays of a cell by name."""
    raw = path.read_bytes()
    parsed = _parse_header(raw, path)
    if parsed is None:
        raise StoreError(f"'{path}' is damaged: it ends early. Delete it and run the study again")
    header, place = parsed
    if zlib.crc32(raw[place:]) != header["checksum"]:
        raise StoreError(f"'{path}' is damaged. Delete it and run the study again: it computes what is missing")
    arrays = {}
    for name, dtype, shape in header["arrays"]:
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(raw, dtype, count, place).reshape(shape)
        place += count * np.dtype(dtype).itemsize
    return arrays


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
        except ValueError as error:
            raise _DamagedError(f"'{path}' is damaged ({error}). Run the study again: its cells are kept") from error
        if not isinstance(study, dict) or study.get("format") != _FORMAT:
            raise StoreError(f"'{path}' was not written by a study")
        if study.get("schema") != SCHEMA:
            raise StoreError(
                f"'{self.path}' has schema {study.get('schema')!r} and this release reads schema {SCHEMA}. "
                "Use the release that wrote it, or another directory"
            )
        return study

    def _remove_leftovers(self) -> None:
        """Remove old temporary files of processes that were killed while they wrote a cell."""
        for entry in os.scandir(self.cells):
            if entry.name.startswith("."):
                with suppress(OSError):
                    # A recent temporary file may belong to a process that is writing now.
                    if time.time() - entry.stat().st_mtime > _OLD_SECONDS:
                        os.unlink(entry.path)
