"""Download a file such that it is complete or not there, and go on where a broken download stopped."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..exceptions import DownloadError

ATTEMPTS = 3
TIMEOUT = 30.0
_CHUNK = 1 << 16
_AGENT = {"User-Agent": "weighbors (datasets fetch)"}

Progress = Callable[[int, int, str], None]


def read_url(url: str, *, accept: str = "*/*") -> bytes:
    """Return what a URL serves; for small answers, which need not be resumed."""
    try:
        with _open(url, {"Accept": accept}) as answer:
            return bytes(answer.read())
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(_describe(url, error)) from error


def download(url: str, path: Path, *, sha256: str | None = None, progress: Progress | None = None) -> Path:
    """Download ``url`` to ``path``, unless the file is there already.

    Bytes arrive in ``path`` + ".part", which replaces ``path`` when it is complete. If the connection breaks, the next
    attempt, or the next call, asks only for the bytes that are missing.

    Parameters
    ----------
    url : str
    path : Path
    sha256 : str, optional
        Digest that the whole file must have. A file with another one is removed, and an error is raised.
    progress : callable, optional
        Called with the number of bytes that are there, the number of bytes of the file (0 if unknown) and the file's
        name.

    Returns
    -------
    Path
        ``path``.
    """
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    for attempt in range(ATTEMPTS):
        try:
            _continue_download(url, part, progress)
            break
        except (OSError, http.client.HTTPException) as error:
            # The server has refused: asking again would not help.
            refused = isinstance(error, urllib.error.HTTPError) and error.code < 500
            if refused or attempt == ATTEMPTS - 1:
                raise DownloadError(_describe(url, error)) from error
    if sha256 is not None and (found := _file_digest(part)) != sha256:
        part.unlink()
        raise DownloadError(
            f"'{url}' has the sha256 {found[:12]}..., and {sha256[:12]}... was expected: the file there has changed, "
            "or was damaged on its way. Try again"
        )
    os.replace(part, path)
    return path


def _continue_download(url: str, part: Path, progress: Progress | None) -> None:
    """Append to ``part`` what is missing of the file at ``url``, and check that it is complete."""
    done = part.stat().st_size if part.is_file() else 0
    try:
        answer = _open(url, {"Range": f"bytes={done}-"} if done else {})
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        # Nothing is left to send: the part is complete, or belongs to another file. Begin again to be sure.
        part.unlink()
        done, answer = 0, _open(url, {})
    with answer:
        done = done if _continues(answer, done) else 0
        length = answer.headers.get("Content-Length")
        total = done + int(length) if length else 0
        with part.open("ab" if done else "wb") as file:
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, total, part.stem)
    # ``read`` with a size does not complain if the connection ends early.
    if total and done != total:
        raise ConnectionError(f"the connection ended after {done} of {total} bytes")


def _continues(answer: Any, done: int) -> bool:
    """Return whether the answer begins at byte ``done``. A server without ranges sends the whole file again."""
    place = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range") or "")
    return answer.status == 206 and place is not None and int(place[1]) == done


def _open(url: str, headers: dict[str, str]) -> Any:
    """Open a URL of http or https."""
    if not url.startswith(("https://", "http://")):
        raise DownloadError(f"'{url}' is no address of http or https")
    return urllib.request.urlopen(urllib.request.Request(url, headers={**_AGENT, **headers}), timeout=TIMEOUT)


def _file_digest(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _describe(url: str, error: Exception) -> str:
    """Return the message for a download that failed."""
    if isinstance(error, urllib.error.HTTPError):
        return f"'{url}' answered {error.code} ({error.reason}). The file may have moved: see what a newer version says"
    reason = getattr(error, "reason", None) or error
    return (
        f"'{url}' could not be read ({reason}). Check the connection and run the same command again: it goes on there"
    )
