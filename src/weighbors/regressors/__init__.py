"""Regressors: predict numbers from weighted neighbours."""

from .kernel_votes import KernelVotesRegressor
from .knn import WeightedKNeighborsRegressor

__all__ = ["KernelVotesRegressor", "WeightedKNeighborsRegressor"]
