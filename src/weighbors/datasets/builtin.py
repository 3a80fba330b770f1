"""Data sets that are part of scikit-learn, and need no download."""

from __future__ import annotations

from .._names import known_names
from ..exceptions import InvalidDataError
from .loaders import Dataset, has_data_directory, list_datasets, load_dataset

_LOADERS = {
    "breast-cancer": "load_breast_cancer",
    "digits": "load_digits",
    "iris": "load_iris",
    "wine": "load_wine",
}


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
    bunch = getattr(datasets, _LOADERS[name])(as_frame=True)
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
