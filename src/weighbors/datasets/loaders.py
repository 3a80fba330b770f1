"""Load data sets by name from a directory of csv, parquet and npz files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._io.files import require_pyarrow
from .._names import hint
from .._typing import AnyArray
from ..exceptions import InvalidDataError
from ._delimited import read_exact_csv

if TYPE_CHECKING:
    import pandas as pd

VARIABLE = "WEIGHBORS_DATA"


@dataclass(frozen=True)
class Dataset:
    """A table ``X`` and its labels ``y``. ``X`` is a DataFrame, an array or a CSR matrix."""

    name: str
    X: Any
    y: AnyArray


def has_data_directory(data_home: str | os.PathLike[str] | None = None) -> bool:
    """Return whether a directory of data sets is named: by ``data_home``, or by the variable ``WEIGHBORS_DATA``."""
    return bool(data_home or os.environ.get(VARIABLE))


def data_directory(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the directory of data sets.

    Parameters
    ----------
    data_home : path, optional
        The directory. By default the one that the environment variable ``WEIGHBORS_DATA`` names.

    Returns
    -------
    Path

    Raises
    ------
    InvalidDataError
        If neither is given, or if the directory contains no ``MANIFEST.csv``.
    """
    place = data_home or os.environ.get(VARIABLE)
    if not place:
        raise InvalidDataError(
            f"set the environment variable {VARIABLE} to the directory that holds the data sets; "
            "'weighbors datasets fetch' brings those that are public into one"
        )
    if not (Path(place) / "MANIFEST.csv").is_file():
        name = "data_home" if data_home else VARIABLE
        raise InvalidDataError(f"{name} is '{place}', which holds no MANIFEST.csv")
    return Path(place)


def list_datasets(data_home: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    r"""Return the manifest of `data_directory` as a table with one row per data set.

    Parameters
    ----------
    data_home : path, optional
        As in `data_directory`.

    Returns
    -------
    DataFrame
        It has at least the columns name, group and file.

    Raises
    ------
    InvalidDataError
        If the manifest lacks one of these columns, or is not a readable csv file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> home = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (home / "MANIFEST.csv").write_text("name,group,file\ntiny,own,tiny.csv\n")
    >>> list_datasets(home)
       name group      file
    0  tiny   own  tiny.csv
    """
    import pandas as pd

    path = data_directory(data_home) / "MANIFEST.csv"
    try:
        manifest = pd.read_csv(path, dtype={"name": str, "group": str})
    except ValueError as error:  # also those of pandas' parser
        raise InvalidDataError(f"'{path}' is no readable csv file: {error}") from error
    lacking = [column for column in ("name", "group", "file") if column not in manifest]
    if lacking:
        raise InvalidDataError(f"'{path}' needs the columns name, group and file; it lacks {', '.join(lacking)}")
    # Some data sets have their partitions in files of their own, which are no data sets.
    splits = manifest["name"].str.contains("_split", na=False)
    return manifest[~splits].reset_index(drop=True)


def load_dataset(name: str, group: str | None = None, *, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    r"""Return a data set of `list_datasets`. Missing cells are NaN.

    Parameters
    ----------
    name : str
    group : str, optional
        Group of the data set, needed if several data sets have this name. By default the first in the manifest.
    data_home : path, optional
        As in `data_directory`.

    Returns
    -------
    Dataset

    Raises
    ------
    InvalidDataError
        If there is no data set with this name, or no directory of data sets.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> home = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (home / "MANIFEST.csv").write_text("name,group,file\ntiny,own,tiny.csv\n")
    >>> _ = (home / "tiny.csv").write_text("size,class\n1.5,a\n2.5,b\n")
    >>> data = load_dataset("tiny", data_home=home)
    >>> data.X.shape, data.y.tolist()
    ((2, 1), ['a', 'b'])
    """
    manifest = list_datasets(data_home)
    found = manifest[manifest["name"] == name]
    if group is not None:
        found = found[found["group"] == group]
    if found.empty:
        groups = manifest.loc[manifest["name"] == name, "group"].tolist()
        if groups:
            raise InvalidDataError(f"there is no data set '{name}' in group {group}; it is in {', '.join(groups)}")
        raise InvalidDataError(f"there is no data set '{name}'. {hint(name, manifest['name'].unique())}")
    return _read(name, data_directory(data_home) / str(found.iloc[0]["file"]))


def _read(name: str, path: Path) -> Dataset:
    """Return the data set in a file. In csv and parquet files, the last column is the class."""
    import pandas as pd

    if path.suffix == ".npz":
        return _read_npz(name, path)
    if path.suffix == ".parquet":
        require_pyarrow(path.name)
    table = pd.read_parquet(path) if path.suffix == ".parquet" else read_exact_csv(path)
    return Dataset(name, table.iloc[:, :-1], table.iloc[:, -1].to_numpy())


def _read_npz(name: str, path: Path) -> Dataset:
    """Return the data set in an npz file with the arrays X and y, or with the parts of a CSR matrix and y."""
    from scipy import sparse

    with np.load(path, allow_pickle=False) as archive:
        if "X" in archive:
            return Dataset(name, archive["X"], archive["y"])
        parts = (archive["data"], archive["indices"], archive["indptr"])
        return Dataset(name, sparse.csr_matrix(parts, shape=tuple(archive["shape"])), archive["y"])
