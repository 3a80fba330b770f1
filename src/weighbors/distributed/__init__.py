"""Tables larger than memory, or than one machine: the same estimators over blocks of rows.

A table is a dask array or DataFrame, a parquet folder, an npy file, a mapped array, or a table in memory. Blocks are
worked off by dask or, without it, by joblib; the results are those of the ordinary estimators.
"""

from .intervals import RepresentativeIntervals
from .knn import WeightedKNeighborsClassifier
from .weighers import MBIW, ClassRelief, Relief, ReliefF, RelievedF

__all__ = [
    "ClassRelief",
    "MBIW",
    "Relief",
    "ReliefF",
    "RelievedF",
    "RepresentativeIntervals",
    "WeightedKNeighborsClassifier",
]
