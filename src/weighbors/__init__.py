"""Nearest neighbours that know which features and which examples to trust.

``X, y → weights → neighbours → votes → results``: weighers learn a `Weights` from data, classifiers
use it in a fast k-NN. Names load when they are first used, so the import is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .weighers import WEIGHERS

if TYPE_CHECKING:
    from .classifiers import IB1 as IB1
    from .classifiers import LWL as LWL
    from .classifiers import WIBK as WIBK
    from .classifiers import IBk as IBk
    from .classifiers import KernelVotesClassifier as KernelVotesClassifier
    from .classifiers import KStar as KStar
    from .classifiers import TableClassifier as TableClassifier
    from .classifiers import WeightedKNeighborsClassifier as WeightedKNeighborsClassifier
    from .evaluation import StabilitySelection as StabilitySelection
    from .explanation import Explanation as Explanation
    from .neighbors import WeightedNearestNeighbors as WeightedNearestNeighbors
    from .regressors import IB1Regressor as IB1Regressor
    from .regressors import IBkRegressor as IBkRegressor
    from .regressors import KernelVotesRegressor as KernelVotesRegressor
    from .regressors import KStarRegressor as KStarRegressor
    from .regressors import LWLRegressor as LWLRegressor
    from .regressors import TableRegressor as TableRegressor
    from .regressors import WeightedKNeighborsRegressor as WeightedKNeighborsRegressor
    from .weighers import DROP3 as DROP3
    from .weighers import DROP5 as DROP5
    from .weighers import FCNN as FCNN
    from .weighers import HMNEI as HMNEI
    from .weighers import IB2 as IB2
    from .weighers import IB3 as IB3
    from .weighers import ICF as ICF
    from .weighers import MBIW as MBIW
    from .weighers import NPDR as NPDR
    from .weighers import SURF as SURF
    from .weighers import ClassRelief as ClassRelief
    from .weighers import Democratic as Democratic
    from .weighers import EvolutionaryWeigher as EvolutionaryWeigher
    from .weighers import GradientWeights as GradientWeights
    from .weighers import IRelief as IRelief
    from .weighers import MultiSURF as MultiSURF
    from .weighers import MultiSURFStar as MultiSURFStar
    from .weighers import NCAWeights as NCAWeights
    from .weighers import Relief as Relief
    from .weighers import ReliefF as ReliefF
    from .weighers import RelievedF as RelievedF
    from .weighers import RepresentativeIntervals as RepresentativeIntervals
    from .weighers import RReliefF as RReliefF
    from .weighers import ScoreWeigher as ScoreWeigher
    from .weighers import Simba as Simba
    from .weighers import SimbaMBIW as SimbaMBIW
    from .weighers import Stratified as Stratified
    from .weighers import SURFStar as SURFStar
    from .weighers import TuRF as TuRF
    from .weights import IntervalTable as IntervalTable
    from .weights import Weights as Weights

    __version__: str

#: The sub-package of each public name.
_HOME = {
    "Explanation": "explanation",
    "IB1": "classifiers",
    "IB1Regressor": "regressors",
    "IBk": "classifiers",
    "IBkRegressor": "regressors",
    "IntervalTable": "weights",
    "KStar": "classifiers",
    "KStarRegressor": "regressors",
    "KernelVotesClassifier": "classifiers",
    "KernelVotesRegressor": "regressors",
    "LWL": "classifiers",
    "LWLRegressor": "regressors",
    "StabilitySelection": "evaluation",
    "TableClassifier": "classifiers",
    "TableRegressor": "regressors",
    "WIBK": "classifiers",
    "WeightedKNeighborsClassifier": "classifiers",
    "WeightedKNeighborsRegressor": "regressors",
    "WeightedNearestNeighbors": "neighbors",
    "Weights": "weights",
    **dict.fromkeys(WEIGHERS, "weighers"),
}
_PACKAGES = (
    "classifiers",
    "datasets",
    "distributed",
    "engine",
    "evaluation",
    "exceptions",
    "explanation",
    "kernel",
    "metrics",
    "neighbors",
    "plots",
    "presets",
    "regressors",
    "report",
    "stats",
    "weighers",
    "weights",
)

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":  # reading it takes longer than all the rest of the import
        return import_module("importlib.metadata").version("weighbors")
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'weighbors' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES, "__version__"])
