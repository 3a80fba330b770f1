"""Estimators for tables that do not fit in memory. They process blocks of rows.

A table is a dask array or DataFrame, a parquet folder, an npy file, a mapped array, or a table in memory. Dask or
joblib processes the blocks. The results are the results of the ordinary estimators.
"""

from .knn import WeightedKNeighborsClassifier, WeightedKNeighborsRegressor

__all__ = [
    "WeightedKNeighborsClassifier",
    "WeightedKNeighborsRegressor",
]
