"""Regressors: predict numbers from weighted neighbours."""

from .kernel_votes import KernelVotesRegressor
from .knn import WeightedKNeighborsRegressor
from .table import TableRegressor

__all__ = [
    "KernelVotesRegressor",
    "TableRegressor",
    "WeightedKNeighborsRegressor",
]
