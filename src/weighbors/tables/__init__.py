"""Whatever a user gives (array, sparse matrix, DataFrame; target, groups, covariates), validated and coded.

`clean_table` leaves out useless columns, and `TableEncoder` scales and codes columns. Estimators use the other modules.
"""

from .cleaning import CleanTable, LeftOut, clean_table
from .encoding import TableEncoder

__all__ = ["CleanTable", "LeftOut", "TableEncoder", "clean_table"]
