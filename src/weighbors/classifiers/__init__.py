"""Classifiers, which predict labels from weights and nearest neighbours."""

from .ib import IB1, IBk
from .kernel_votes import KernelVotesClassifier
from .knn import WeightedKNeighborsClassifier
from .kstar import KStar
from .lwl import LWL
from .table import TableClassifier
from .wibk import WIBK

__all__ = [
    "IB1",
    "IBk",
    "KStar",
    "KernelVotesClassifier",
    "LWL",
    "TableClassifier",
    "WIBK",
    "WeightedKNeighborsClassifier",
]
