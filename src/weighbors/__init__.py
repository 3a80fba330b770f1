"""Nearest neighbours that know which features and which examples to trust.

``X, y → weights → neighbours → votes → results``: weighers learn a `Weights` from data, classifiers
use it in a fast k-NN. Names load when they are first used, so the import is cheap.
"""

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .classifiers import WeightedKNeighborsClassifier as WeightedKNeighborsClassifier
    from .weights import IntervalTable as IntervalTable
    from .weights import Weights as Weights

_HOME = {
    "IntervalTable": "weights",
    "WeightedKNeighborsClassifier": "classifiers",
    "Weights": "weights",
}
_PACKAGES = ("classifiers", "datasets", "engine", "exceptions", "weights")

__all__ = ["IntervalTable", "WeightedKNeighborsClassifier", "Weights"]
__version__ = _version("weighbors")


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'weighbors' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES, "__version__"])
