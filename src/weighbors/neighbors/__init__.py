"""Neighbours without votes: `WeightedNearestNeighbors`, and what all estimators with a ``weigher`` share.

`metric` turns the parameter ``weigher`` into weights, `checks` compares weights with rows, and `graph` makes sparse
matrices of neighbours.
"""

from .nearest import WeightedNearestNeighbors

__all__ = ["WeightedNearestNeighbors"]
