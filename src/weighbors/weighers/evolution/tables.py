"""Reduce a table of numbers and categories: scale it, search, and return which rows and columns to keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..._typing import IndexArray
from ...datasets import TableScaler
from .weigher import EvolutionaryWeigher

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ReducedTable", "reduce_table"]


@dataclass(frozen=True, eq=False)
class ReducedTable:
    """Rows and columns of a table that a search keeps.

    Parameters
    ----------
    rows : ndarray
        Positions of the rows kept.
    columns : tuple of str
        Names of the columns kept.
    features : tuple of str
        Names of all columns of the table.
    search : EvolutionaryWeigher
        The fitted search. ``search.stop_reason_`` is "interrupted" after Ctrl-C.
    n_searched : int
        Number of rows that the search has seen, and on which its score is measured. With ``undersample`` they are
        fewer than the table has.
    """

    rows: IndexArray
    columns: tuple[str, ...]
    features: tuple[str, ...]
    search: EvolutionaryWeigher
    n_searched: int


def reduce_table(X: pd.DataFrame, y: Any, tasks: str = "IS+FS", **options: Any) -> ReducedTable:
    """Search for the rows and columns that are needed to classify the rows of a table of numbers and categories.

    Parameters
    ----------
    X : DataFrame
        A table as `clean_table` makes it: numbers and categories, with missing cells. For the search, numbers
        are scaled to lie between 0 and 1.
    y : array-like of shape (n_samples,)
    tasks : str, default="IS+FS"
    **options
        Other parameters of `EvolutionaryWeigher`.

    Returns
    -------
    ReducedTable

    Examples
    --------
    >>> from weighbors.datasets import clean_table, load_builtin
    >>> data = load_builtin("iris")
    >>> found = reduce_table(clean_table(data.X).X, data.y, population_size=20, max_evaluations=400, random_state=0)
    >>> small = data.X.iloc[found.rows][list(found.columns)]
    >>> small.shape[0] < 100, small.shape[1] < 4
    (True, True)
    """
    search = EvolutionaryWeigher(tasks, **options).fit(TableScaler.learn(X).scale(X), y)
    features = tuple(str(name) for name in X.columns)
    columns = tuple(name for name, kept in zip(features, search.feature_support_, strict=True) if kept)
    return ReducedTable(search.sample_indices_, columns, features, search, len(search._rows))
