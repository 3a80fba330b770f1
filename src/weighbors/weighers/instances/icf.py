"""ICF: rows that reach more rows than they are reached from are removed, again and again."""

from __future__ import annotations

import numpy as np

from ..._typing import BoolArray, IndexArray
from .rows import LabelledRows, edit_rows
from .selector import VotingSelector


def count_local_sets(table: LabelledRows, rows: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Count how many rows each row reaches, and how many rows reach it.

    The rows that x reaches are nearer to it than its nearest row of another class: its local set. Only ``rows`` take
    part. If all of them are of one class, each reaches all others.

    Returns
    -------
    reachable, coverage : int ndarrays of shape (len(rows),)

    Examples
    --------
    >>> table = LabelledRows(np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 0, 1]), 2)
    >>> count_local_sets(table, np.arange(4))
    (array([2, 2, 0, 0]), array([1, 1, 2, 0]))
    """
    reachable, coverage = np.zeros(len(rows), dtype=np.int64), np.zeros(table.n, dtype=np.int64)
    limits, engine = table.nearest_enemy(rows), table.engine(rows)
    for batch, lists in engine.search_within(table.X[rows], limits, own_row=rows):
        reachable[batch] = np.diff(lists.start)
        coverage += np.bincount(lists.row, minlength=table.n)
    return reachable, coverage[rows]


def select_icf(table: LabelledRows, k: int) -> tuple[BoolArray, int]:
    """Return which rows ICF keeps, and the number of rounds in which rows were removed.

    Examples
    --------
    >>> table = LabelledRows(np.array([[0.0], [1.0], [2.0], [4.0], [5.5], [7.0]]), np.array([0, 0, 0, 1, 1, 1]), 2)
    >>> select_icf(table, 1)
    (array([False,  True,  True,  True,  True, False]), 1)
    """
    kept, rounds = edit_rows(table, k), 0
    while kept.any():
        rows = np.flatnonzero(kept)
        reachable, coverage = count_local_sets(table, rows)
        removed = rows[reachable > coverage]
        if not len(removed):
            break
        kept[removed] = False
        rounds += 1
    return kept, rounds


class ICF(VotingSelector):
    """Iterative case filtering: remove noise, then rows inside a class that other rows already represent.

    First Wilson's editing removes the rows that the majority of their k nearest rows contradicts. Then, in rounds, each
    row x has a local set: the rows that are nearer to x than the nearest row of another class. A row is removed if it
    reaches more rows (its local set) than rows reach it (the local sets that it is in). The rounds end when no row is
    removed.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number k of neighbours that vote in the editing.
    weigher : weigher, Weights or None, default=None
        Weights of the distance. A weigher is cloned and fitted first. None: no weights.
    p : {1, 2}, default=2
        1 for the city-block distance, 2 for the Euclidean distance.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        As in `WeightedKNeighborsClassifier`.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    sample_indices_ : ndarray
        Row numbers of the rows that are kept, ascending.
    instance_support_ : bool ndarray of shape (n_samples,)
        Rows that are kept.
    reduction_ : float
        Share of the rows that is removed.
    n_iter_ : int
        Number of rounds in which rows were removed.
    weights_ : Weights
        The weights of the distance with the kept rows as instance mask, for `WeightedKNeighborsClassifier`.
    weigher_ : estimator or None
        The fitted clone of ``weigher``.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    The rows of a round are compared with each other first and removed together then, so the order of the rows does not
    matter. A row at the same distance as the nearest row of another class is not in the local set. If only one class
    is left, every row reaches all others, and nothing more is removed.

    References
    ----------
    .. [1] H. Brighton, C. Mellish, "Advances in instance selection for instance-based learning algorithms", Data
       Mining and Knowledge Discovery 6, 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from weighbors import ICF
    >>> X, y = load_wine(return_X_y=True)
    >>> len(ICF().fit(scale(X), y).sample_indices_)
    22
    """

    def select_rows(self, table: LabelledRows) -> BoolArray:
        """Return which rows ICF keeps."""
        kept, self.n_iter_ = select_icf(table, self._count_neighbors(table))
        return kept
