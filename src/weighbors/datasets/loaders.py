"""Load a data set by name: csv, parquet or npz, features first, the class last."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import AnyArray
from ..exceptions import InvalidDataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dataset", "data_directory", "list_datasets", "load_dataset"]

VARIABLE = "WEIGHBORS_DATA"


@dataclass(frozen=True)
class Dataset:
    """A table and its labels. ``X`` is a DataFrame, an array or a CSR matrix."""

    name: str
    X: Any
    y: AnyArray


def data_directory(data_home: str | os.PathLike[str] | None = None) -> Path:
    """The directory of data sets: ``data_home``, or else the environment variable ``WEIGHBORS_DATA``.

    Raises
    ------
    InvalidDataError
        Where neither is given, or the place is no directory with a manifest.
    """
    place = data_home or os.environ.get(VARIABLE)
    if not place:
        raise InvalidDataError(f"set the environment variable {VARIABLE} to the directory that holds the data sets")
    if not (Path(place) / "MANIFEST.csv").is_file():
        name = "data_home" if data_home else VARIABLE
        raise InvalidDataError(f"{name} is '{place}', which holds no MANIFEST.csv")
    return Path(place)


def list_datasets(data_home: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """The manifest of `data_directory`: one row per data set."""
    import pandas as pd

    manifest = pd.read_csv(data_directory(data_home) / "MANIFEST.csv")
    splits = manifest["name"].str.contains("_split")
    return manifest[~splits].reset_index(drop=True)


def load_dataset(name: str, group: str | None = None, *, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data set called ``name``, from ``group`` where several share the name.

    Missing cells are NaN. A csv or parquet table keeps its column types. ``data_home`` is as in
    `data_directory`.
    """
    manifest = list_datasets(data_home)
    found = manifest[manifest["name"] == name]
    if group is not None:
        found = found[found["group"] == group]
    if found.empty:
        close = difflib.get_close_matches(name, manifest["name"].unique().tolist(), n=3)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        raise InvalidDataError(f"no data set '{name}'{f' in group {group}' if group else ''}.{hint}")
    return _read(name, data_directory(data_home) / str(found.iloc[0]["file"]))


def _read(name: str, path: Path) -> Dataset:
    import pandas as pd

    if path.suffix == ".npz":
        return _read_npz(name, path)
    table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    return Dataset(name, table.iloc[:, :-1], table.iloc[:, -1].to_numpy())


def _read_npz(name: str, path: Path) -> Dataset:
    from scipy import sparse

    with np.load(path, allow_pickle=False) as archive:
        if "X" in archive:
            return Dataset(name, archive["X"], archive["y"])
        parts = (archive["data"], archive["indices"], archive["indptr"])
        return Dataset(name, sparse.csr_matrix(parts, shape=tuple(archive["shape"])), archive["y"])
