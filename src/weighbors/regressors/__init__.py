"""Regressors: predict numbers from weighted neighbours."""

from .ib import IB1Regressor, IBkRegressor
from .kernel_votes import KernelVotesRegressor
from .knn import WeightedKNeighborsRegressor
from .kstar import KStarRegressor
from .lwl import LWLRegressor
from .table import TableRegressor

__all__ = [
    "IB1Regressor",
    "IBkRegressor",
    "KStarRegressor",
    "KernelVotesRegressor",
    "LWLRegressor",
    "TableRegressor",
    "WeightedKNeighborsRegressor",
]
