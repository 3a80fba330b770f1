"""Classifiers: weights and neighbours in, labels out."""

from .knn import WeightedKNeighborsClassifier

__all__ = ["WeightedKNeighborsClassifier"]
