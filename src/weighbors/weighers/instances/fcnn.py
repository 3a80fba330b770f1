"""FCNN: a small subset of the rows by whose nearest neighbour all rows are classified correctly."""

from __future__ import annotations

import numpy as np

from ..._typing import BoolArray, FloatArray, IndexArray
from .rows import LabelledRows
from .selector import PlainSelector


def select_fcnn(table: LabelledRows) -> tuple[BoolArray, int]:
    """Select rows by the FCNN rule (FCNN1), and return which rows are kept and the number of rounds.

    The subset S starts with the central row of each class. In every round, each row of S looks at the rows outside of S
    whose nearest row in S it is and whose class it does not have: the nearest of them joins S. The rounds end when
    there is no such row.

    Examples
    --------
    >>> table = LabelledRows(np.array([[0.0], [1.0], [2.0], [2.2], [3.0]]), np.array([0, 0, 0, 1, 1]), 2)
    >>> select_fcnn(table)
    (array([False,  True,  True,  True, False]), 2)
    """
    kept = np.zeros(table.n, dtype=bool)
    ranked, nearest = np.full(table.n, np.inf, dtype=table.X.dtype), np.full(table.n, -1, dtype=np.int64)
    new, rounds = table.central_rows(np.arange(table.n_classes)), 0
    while len(new):
        kept[new] = True
        outside = np.flatnonzero(~kept)
        if len(outside):
            _compare(table, outside, new, ranked, nearest)
        wrong = outside[table.codes[outside] != table.codes[nearest[outside]]]
        new, rounds = _nearest_of_cells(wrong, ranked, nearest), rounds + 1
    return kept, rounds


def _compare(table: LabelledRows, rows: IndexArray, new: IndexArray, ranked: FloatArray, nearest: IndexArray) -> None:
    """Update the nearest kept row of each of ``rows``, and its distance, by the rows ``new`` that are kept since.

    ``ranked`` and ``nearest`` have one entry per row of the table and are changed in place. So every pair of a row and
    a kept row is measured once.
    """
    distance, row = (found[:, 0] for found in table.nearest(rows, new, 1))
    before, known = ranked[rows], nearest[rows]
    closer = (distance < before) | ((distance == before) & (row < known))
    ranked[rows[closer]], nearest[rows[closer]] = distance[closer], row[closer]


def _nearest_of_cells(wrong: IndexArray, ranked: FloatArray, nearest: IndexArray) -> IndexArray:
    """Return, for each kept row, the nearest of the rows ``wrong`` that belong to it. Ties go to the lower row."""
    order = np.lexsort((wrong, ranked[wrong], nearest[wrong]))
    _, first = np.unique(nearest[wrong][order], return_index=True)
    return np.sort(wrong[order][first])


class FCNN(PlainSelector):
    """Keep a consistent subset: the nearest kept row of every other row has its class.

    Condensing for the nearest neighbour: rows inside of classes go, rows near the border stay, and so do mislabelled
    rows. The result does not depend on the order of the rows, apart from ties. The subset starts with the row nearest
    to the centre of each class. In every round, each kept row takes in the nearest of the rows that it would classify
    wrongly.

    Parameters
    ----------
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
        Number of rounds.
    weights_ : Weights
        The weights of the distance with the kept rows as instance mask, for `WeightedKNeighborsClassifier`.
    weigher_ : estimator or None
        The fitted clone of ``weigher``.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    This is the rule FCNN1 for one neighbour. The centre of a class has the mean of each numeric column and the most
    frequent category of each nominal column. Equal distances go to the lower row number. Of rows that are equal in all
    columns but have different classes, one of each class may be kept; then the lower one is found first.

    References
    ----------
    .. [1] F. Angiulli, "Fast condensed nearest neighbor rule", Proceedings of the 22nd International Conference on
       Machine Learning, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from weighbors import FCNN
    >>> X, y = load_wine(return_X_y=True)
    >>> selector = FCNN().fit(scale(X), y)
    >>> X_small, y_small = selector.reduce(scale(X), y)
    >>> len(X), len(X_small)
    (178, 25)
    """

    def select_rows(self, table: LabelledRows) -> BoolArray:
        """Return which rows FCNN keeps."""
        kept, self.n_iter_ = select_fcnn(table)
        return kept
