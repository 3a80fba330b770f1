"""Classifiers: weights and neighbours in, labels out."""

from .ib import IB1, IBk
from .knn import WeightedKNeighborsClassifier
from .kstar import KStar
from .lwl import LWL
from .wibk import WIBK

__all__ = ["IB1", "IBk", "KStar", "LWL", "WIBK", "WeightedKNeighborsClassifier"]
