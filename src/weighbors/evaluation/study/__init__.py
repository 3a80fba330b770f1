"""Studies of data sets × methods × folds: plan → run → results."""

from .cell import StudyData
from .results import StudyResults, load_results, read_results
from .study import Study

__all__ = ["Study", "StudyData", "StudyResults", "load_results", "read_results"]
