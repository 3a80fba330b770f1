"""The file of a cell: a JSON header before the arrays, written in an atomic write.

::

    weighbors.cell 1 <checksum of the header>
    {"dataset": ..., "method": ..., "arrays": [[name, dtype, shape], ...], ...}
    <the arrays>

Nothing in a file is trusted: whatever no study has written is a damaged cell (`StoreError`), which is computed again.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..._io.files import atomic_write
from ..._typing import AnyArray
from ...exceptions import StoreError

#: Version of the layout of cells, of study.json and of the table of results.
SCHEMA = 1
_MAGIC = b"weighbors.cell"
_FIRST_READ = 16_384
_FIRST_LINE = 64  # bytes, more than the first line ever has
_LONGEST_HEADER = 2**27  # bytes; a longer one is not read to its end
_CHUNK = 2**20
_COUNTS = ("repeat", "fold", "seed", "n_train", "n_test", "n_features", "n_selected")
_NUMBERS = (*_COUNTS, "reduction", "fit_seconds", "predict_seconds", "seconds")
_LARGEST = 2**63


def write_cell(path: Path, header: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
    """Write the header and the arrays of a cell to ``path``, in an atomic write."""
    blobs = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    content = b"".join(blob.tobytes() for blob in blobs.values())
    shapes = [[name, blob.dtype.str, list(blob.shape)] for name, blob in blobs.items()]
    # The header has its own checksum in the first line, so that its text can be trusted before it is parsed.
    full = {**header, "arrays": shapes, "checksum": zlib.crc32(content)}
    text = json.dumps(full, separators=(",", ":")).encode()
    with atomic_write(path, sync=False) as file:  # waiting for the disk takes 2 to 20 ms, and checksums find damage
        file.write(b"%s %d %08x\n%s\n" % (_MAGIC, SCHEMA, zlib.crc32(text), text))
        file.write(content)


def read_header(path: Path | str) -> dict[str, Any] | None:
    """Return the header of a cell, or None if there is no file.

    The arrays are compared with their checksum in small parts, and are not kept in memory. Raise StoreError if any part
    of the file cannot be used.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return None
    try:
        header, rest = _read_front(handle, path)
        # The size is compared first, so that a file of the wrong length is not read.
        size = os.fstat(handle).st_size - os.lseek(handle, 0, os.SEEK_CUR) + len(rest)
        if size != sum(_bytes_of(dtype, shape) for _, dtype, shape in header["arrays"]):
            _refuse(path, "it does not have as many bytes as its header says")
        checksum = zlib.crc32(rest)
        while part := os.read(handle, _CHUNK):
            checksum = zlib.crc32(part, checksum)
        if checksum != header["checksum"]:
            _refuse(path, "its arrays have another checksum")
    finally:
        os.close(handle)
    return header


def read_arrays(path: Path) -> dict[str, AnyArray]:
    """Return the arrays of a cell by name. Raise StoreError if the file is missing or cannot be used."""
    header = read_header(path)
    if header is None:
        _refuse(path, "it is gone")
    # `read_header` has compared sizes and checksum, so the arrays are the last bytes of the file.
    raw = path.read_bytes()
    place = len(raw) - sum(_bytes_of(dtype, shape) for _, dtype, shape in header["arrays"])
    arrays = {}
    for name, dtype, shape in header["arrays"]:
        arrays[name] = np.frombuffer(raw, dtype, math.prod(shape), place).reshape(shape)
        place += _bytes_of(dtype, shape)
    return arrays


def _refuse(path: Path | str, reason: str) -> NoReturn:
    """Raise StoreError for a damaged file. ``reason`` says what is wrong with it."""
    raise StoreError(f"'{path}' is damaged: {reason}. Delete it and run the study again: it computes what is missing")


def _read_front(handle: int, path: Path | str) -> tuple[dict[str, Any], bytes]:
    """Read the header from an open file. Return it, and the bytes after it that have been read."""
    raw = os.read(handle, _FIRST_READ)
    end = raw.find(b"\n", 0, _FIRST_LINE)
    words = raw[: max(end, 0)].split(b" ")
    if not raw.startswith(_MAGIC) and raw:
        raise StoreError(f"'{path}' is not a cell of a study")
    if end < 0:
        _refuse(path, "it ends early")
    if len(words) != 3 or words[0] != _MAGIC:
        raise StoreError(f"'{path}' is not a cell of a study")
    if words[1] != b"%d" % SCHEMA:
        raise StoreError(
            f"'{path}' has schema {words[1].decode(errors='replace')} and this release reads schema {SCHEMA}. "
            "Use the release that wrote the store, or another directory"
        )
    text, rest = _read_line(handle, raw[end + 1 :], path)
    if b"%08x" % zlib.crc32(text) != words[2]:
        _refuse(path, "its header has another checksum")
    try:
        header = json.loads(text)
        _check_header(header)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        _refuse(path, f"its header is none of a study ({error})")
    return header, rest


def _read_line(handle: int, begin: bytes, path: Path | str) -> tuple[bytes, bytes]:
    """Return a line of an open file, and the bytes after it that were read. ``begin`` was read before."""
    # One read is enough for nearly all headers. Only new bytes are searched for the end of the line.
    parts, length, part = [], 0, begin
    while (end := part.find(b"\n")) < 0:
        parts.append(part)
        length += len(part)
        if length > _LONGEST_HEADER:
            _refuse(path, f"its header is longer than {_LONGEST_HEADER / 2**20:.0f} MiB")
        part = os.read(handle, _CHUNK)
        if not part:
            _refuse(path, "it ends early")
    return b"".join([*parts, part[:end]]), part[end + 1 :]


def _bytes_of(dtype: str, shape: list[int]) -> int:
    """Return the number of bytes of an array."""
    return math.prod(shape) * np.dtype(dtype).itemsize


def _check_header(header: Any) -> None:
    """Raise ValueError if a header is none that a study writes. TypeError and KeyError may be raised as well."""
    _require(isinstance(header, dict), "no JSON object")
    _require(header["status"] in ("done", "failed"), "an unknown status")
    _require(_is_count(header["checksum"]), "no checksum")
    _require(isinstance(header["dataset"], str) and isinstance(header["method"], str), "no data set and method")
    _require(_all_text(header["versions"]), "no versions")
    _require(all(isinstance(header.get(key, ""), str) for key in ("kind", "error", "traceback")), "no text of an error")
    _require(all(_is_count(header.get(key, 0)) for key in _COUNTS), "no counts")
    _require(all(_is_number(header.get(key, 0)) for key in _NUMBERS), "no numbers")
    for name in ("scores", "measures"):
        values = header.get(name, {})
        _require(isinstance(values, dict), f"no {name}")
        _require(all(value is None or _is_number(value) for value in values.values()), f"no numbers as {name}")
    for name in ("labels", "warnings"):
        _require(isinstance(header.get(name, []), list), f"no {name}")
    _require(isinstance(header["arrays"], list), "no arrays")
    for name, dtype, shape in header["arrays"]:
        _require(isinstance(name, str) and isinstance(dtype, str) and isinstance(shape, list), "no arrays")
        _require(np.dtype(dtype).kind in "biuf", "arrays of no numbers")
        _require(all(_is_count(length) for length in shape), "no shapes of arrays")
    plain = all(isinstance(label, (str, int, float)) for label in header.get("labels", []))
    _require(plain, "labels that are no plain values")


def _require(holds: bool, what: str) -> None:
    """Raise ValueError if the condition ``holds`` is False. ``what`` says what the header has or lacks."""
    if not holds:
        raise ValueError(f"it has {what}")


def _is_number(value: Any) -> bool:
    """Return whether a value of JSON is a finite number, and an integer fits in 64 bits."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST


def _is_count(value: Any) -> bool:
    """Return whether a value of JSON is an integer from 0 to 2⁶³ − 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST


def _all_text(table: Any) -> bool:
    """Return whether a value of JSON is an object whose values are text."""
    return isinstance(table, dict) and all(isinstance(value, str) for value in table.values())
