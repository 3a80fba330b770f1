"""Models: they predict classes or numbers from weights and nearest neighbours."""

from .ib import IB1, IBk
from .knn import WeightedKNeighborsClassifier, WeightedKNeighborsRegressor
from .kstar import KStar
from .learned_votes import LearnedVotesClassifier, LearnedVotesRegressor
from .lwl import LWL
from .table import TableClassifier, TableRegressor
from .wibk import WIBK

__all__ = [
    "IB1",
    "IBk",
    "KStar",
    "LWL",
    "LearnedVotesClassifier",
    "LearnedVotesRegressor",
    "TableClassifier",
    "TableRegressor",
    "WIBK",
    "WeightedKNeighborsClassifier",
    "WeightedKNeighborsRegressor",
]
