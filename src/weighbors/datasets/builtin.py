"""Data sets that are part of scikit-learn, and need no download."""

from __future__ import annotations

from .._names import known_names
from .loaders import Dataset

__all__ = ["builtin_names", "load_builtin"]

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
