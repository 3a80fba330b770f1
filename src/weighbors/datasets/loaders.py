"""Named data sets: those that are part of scikit-learn, and those in a directory of csv, parquet and npz files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._io.files import require_pyarrow
from .._names import hint, known_names
from .._typing import AnyArray
from ..exceptions import InvalidDataError
from ._delimited import read_exact_csv

if TYPE_CHECKING:
    import pandas as pd

VARIABLE = "WEIGHBORS_DATA"
BUILT_IN = "built-in"
#: Data sets that need no download: the name of scikit-learn's function, rows, features and classes.
_LOADERS = {
    "breast-cancer": ("load_breast_cancer", 569, 30, 2),
    "digits": ("load_digits", 1797, 64, 10),
    "iris": ("load_iris", 150, 4, 3),
    "wine": ("load_wine", 178, 13, 3),
}
_COLUMNS = ["name", "group", "rows", "features", "classes", "source", "licence", "note"]


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


def builtin_names() -> tuple[str, ...]:
    """Return the names that `load_builtin` knows.

    Examples
    --------
    >>> builtin_names()
    ('breast-cancer', 'digits', 'iris', 'wine')
    """
    return tuple(_LOADERS)


def load_builtin(name: str = "breast-cancer") -> Dataset:
    """Return a data set that is part of scikit-learn. Its labels are the names of the classes.

    Parameters
    ----------
    name : str, default="breast-cancer"
        One of `builtin_names`.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> data = load_builtin("breast-cancer")
    >>> data.X.shape, sorted(set(data.y.tolist()))
    ((569, 30), ['benign', 'malignant'])
    """
    from sklearn import datasets

    known_names([name], _LOADERS, "built-in data set")
    bunch = getattr(datasets, _LOADERS[name][0])(as_frame=True)
    return Dataset(name, bunch.data, bunch.target_names[bunch.target.to_numpy()])


def load_named(name: str) -> Dataset:
    """Return a data set by its name: from the directory of data sets, or else the built-in one of this name.

    Raises
    ------
    InvalidDataError
        If there is no such data set, or if the name is not built-in and no directory of data sets is named.
    """
    # A data set of the user's directory comes first, so that a built-in table never takes its place.
    if name in _LOADERS and not (has_data_directory() and (list_datasets()["name"] == name).any()):
        return load_builtin(name)
    try:
        return load_dataset(name)
    except InvalidDataError as error:
        if has_data_directory():
            raise
        raise InvalidDataError(
            f"'{name}' is no built-in data set ({', '.join(_LOADERS)}). For other names, {error}"
        ) from error


def known_datasets(data_home: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Return a table of all data sets: those of scikit-learn, and those of the directory of data sets, if there is one.

    Parameters
    ----------
    data_home : path, optional
        Directory of the data sets. By default the directory that ``WEIGHBORS_DATA`` names, if it is set.

    Returns
    -------
    DataFrame
        One row per data set, with the columns name, group, rows, features, classes, source, licence and note. An
        unknown value is an empty text.

    Examples
    --------
    >>> known_datasets().head(4)[["name", "rows", "features", "classes"]]
                name  rows features classes
    0  breast-cancer   569       30       2
    1         digits  1797       64      10
    2           iris   150        4       3
    3           wine   178       13       3
    """
    import pandas as pd

    own = [(name, BUILT_IN, *sizes, "scikit-learn", "", "") for name, (_, *sizes) in _LOADERS.items()]
    frame = pd.DataFrame(own, columns=_COLUMNS, dtype=object)
    if not has_data_directory(data_home):
        return frame
    found = list_datasets(data_home).reindex(columns=_COLUMNS).astype(object)
    found = found.where(found.notna(), "")
    for name in ("rows", "features", "classes"):
        found[name] = [str(value).strip().removesuffix(".0") for value in found[name]]
    return pd.concat([frame, found], ignore_index=True)


def describe_dataset(
    name: str, group: str | None = None, *, data_home: str | os.PathLike[str] | None = None
) -> dict[str, Any]:
    """Return a description of a data set: rows, columns, classes, missing cells, and source.

    Parameters
    ----------
    name : str
    group : str, optional
        Group of the data set, needed if several data sets have this name. By default the first in `known_datasets`.
    data_home : path, optional
        Directory of the data sets. By default the directory that ``WEIGHBORS_DATA`` names, if it is set.

    Returns
    -------
    dict

    Raises
    ------
    InvalidDataError
        If there is no data set with this name.

    Examples
    --------
    >>> found = describe_dataset("iris", "built-in")
    >>> found["rows"], found["columns"], found["missing"]
    (150, 4, 0)
    """
    known = known_datasets(data_home)
    found = known[known["name"] == name]
    if group is not None:
        found = found[found["group"] == group]
    if found.empty:
        where = "" if group is None else f" in group '{group}'"
        raise InvalidDataError(f"there is no data set '{name}'{where}. {hint(name, known['name'].unique().tolist())}")
    row = found.iloc[0]
    data = load_builtin(name) if row["group"] == BUILT_IN else load_dataset(name, row["group"], data_home=data_home)
    elsewhere = [str(one) for one in found["group"].tolist()[1:]]
    note = str(row["note"]) + (f" (also in {', '.join(elsewhere)})" if elsewhere else "")
    description = {
        "name": name,
        "group": str(row["group"]),
        "source": str(row["source"]),
        "licence": str(row["licence"]),
    }
    return {**description, "note": note.strip(), **_describe_contents(data)}


def _describe_contents(data: Dataset) -> dict[str, Any]:
    """Return the numbers of rows, columns, classes and missing cells of a dense or sparse table."""
    import pandas as pd

    rows, columns = data.X.shape
    labels, counts = np.unique(np.asarray(data.y).astype(str), return_counts=True)
    if hasattr(data.X, "dtypes") and hasattr(data.X, "iloc"):
        missing = data.X.isna().sum().to_numpy()
        numbers = sum(pd.api.types.is_numeric_dtype(dtype) for dtype in data.X.dtypes)
    else:
        missing = _count_missing_sparse(data.X.tocsc()) if hasattr(data.X, "tocsc") else np.isnan(data.X).sum(axis=0)
        numbers = columns
    return {
        "rows": int(rows),
        "columns": int(columns),
        "numbers": int(numbers),
        "categories": int(columns - numbers),
        "classes": dict(zip(labels.tolist(), counts.tolist(), strict=True)),
        "missing": int(missing.sum()),
        "columns_with_missing": int((missing > 0).sum()),
    }


def _count_missing_sparse(X: Any) -> Any:
    """Return the number of missing cells in each column of a CSC matrix."""
    # CSC stores its values column by column, so each value's column follows from the lengths.
    column = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    return np.bincount(column[np.isnan(X.data)], minlength=X.shape[1])
