"""Classifiers: weights and neighbours in, labels out."""

from .knn import WeightedKNeighborsClassifier
from .wibk import WIBK

__all__ = ["WIBK", "WeightedKNeighborsClassifier"]
