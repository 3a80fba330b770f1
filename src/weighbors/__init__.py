"""Nearest neighbours that know which features and which examples to trust.

``X, y → weights → neighbours → votes → results``: weighers learn a `Weights` from data, classifiers
use it in a fast k-NN. Names load when they are first used, so the import is cheap; ``__init__.pyi`` lists them.
"""

from importlib import import_module
from typing import Any

import lazy_loader

_find, _list_names, _names = lazy_loader.attach_stub(__name__, __file__)

__all__ = [name for name in _names if name[0].isupper()]  # the estimators and `Weights`, without the sub-packages


def __getattr__(name: str) -> Any:
    if name == "__version__":  # reading it takes longer than all the rest of the import
        return import_module("importlib.metadata").version("weighbors")
    return _find(name)


def __dir__() -> list[str]:
    return [*_list_names(), "__version__"]
