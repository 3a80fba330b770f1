"""Whatever a user gives (array, sparse matrix, DataFrame; target, groups, covariates), validated and coded.

`clean_table` leaves out useless columns, and `TableScaler` scales columns. Estimators use the other modules.
"""

from .cleaning import CleanTable, LeftOut, clean_table
from .scaling import TableScaler

__all__ = ["CleanTable", "LeftOut", "TableScaler", "clean_table"]
