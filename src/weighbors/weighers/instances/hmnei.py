"""HMN-EI: rows are judged by who has them as the nearest row of a class (hit-miss networks)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..._typing import BoolArray, IndexArray
from .rows import LabelledRows
from .selector import PlainSelector

_FEW_ROWS = 4  # a class of which fewer rows would be left keeps its rows with links (rule 2)
_MANY_CLASSES = 3  # with more classes than this, rule 3 applies


def count_hits_and_misses(table: LabelledRows, rows: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Count the links to each row in the hit-miss network of ``rows``.

    Every row has a link to its nearest other row in each class. A link from a row of the same class is a hit, a link
    from a row of another class a miss.

    Returns
    -------
    hits, misses : int ndarrays of shape (len(rows),)

    Examples
    --------
    >>> table = LabelledRows(np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1]), 2)
    >>> count_hits_and_misses(table, np.arange(4))
    (array([1, 1, 1, 1]), array([0, 2, 2, 0]))
    """
    _, nearest = table.nearest_of_classes(rows, rows)
    own = np.arange(table.n_classes) == table.codes[rows][:, None]
    hits = np.bincount(nearest[own & (nearest >= 0)], minlength=table.n)
    misses = np.bincount(nearest[~own & (nearest >= 0)], minlength=table.n)
    return hits[rows], misses[rows]


def edit_by_hits_and_misses(table: LabelledRows, rows: IndexArray, epsilon: float) -> IndexArray:
    """Return the rows that one pass of HMN-E keeps.

    With w = the share of the row's class in ``rows``, h and m its hits and misses:

    1. a row is flagged if w · m + ε > (1 − w) · h;
    2. if fewer than four rows of a class are not flagged, its rows with h + m > 0 are not flagged;
    3. with more than three classes, a row with h + m > 0 and m less than half the number of classes is not flagged;
    4. a row with h at least a quarter of the size of its class is not flagged.

    Flagged rows are removed.
    """
    hits, misses = count_hits_and_misses(table, rows)
    codes = table.codes[rows]
    size = np.bincount(codes, minlength=table.n_classes)
    share = size[codes] / len(rows)
    flagged = share * misses + epsilon > (1 - share) * hits
    linked = hits + misses > 0
    left = np.bincount(codes[~flagged], minlength=table.n_classes)
    flagged &= ~((left[codes] < _FEW_ROWS) & linked)
    n_classes = int((size > 0).sum())
    if n_classes > _MANY_CLASSES:
        flagged &= ~((misses < n_classes / 2) & linked)
    flagged &= ~(hits >= 0.25 * size[codes])
    return rows[~flagged]


def select_hmnei(table: LabelledRows, epsilon: float) -> tuple[BoolArray, int]:
    """Return which rows HMN-EI keeps, and the number of passes whose result was taken.

    Passes of HMN-E follow one another as long as they remove rows and the accuracy does not fall. The first pass is
    always taken, unless it removes all rows.
    """
    rows, accuracy, passes = np.arange(table.n), -1.0, 0
    while True:
        fewer = edit_by_hits_and_misses(table, rows, epsilon)
        if not len(fewer) or len(fewer) == len(rows):
            break
        reached = _accuracy(table, fewer)
        if reached < accuracy:
            break
        rows, accuracy, passes = fewer, reached, passes + 1
    kept = np.zeros(table.n, dtype=bool)
    kept[rows] = True
    return kept, passes


def _accuracy(table: LabelledRows, stored: IndexArray) -> float:
    """Return the share of all rows whose nearest other row among ``stored`` has their class."""
    _, row = table.nearest(np.arange(table.n), stored, 1)
    right = (row[:, 0] >= 0) & (table.codes[row[:, 0]] == table.codes)
    return float(right.mean())


@dataclass(eq=False, repr=False, kw_only=True)
class HMNEI(PlainSelector):
    """Iterated editing by hit-miss networks: keep the rows that their own class needs and other classes do not touch.

    In the hit-miss network, every row has a link to its nearest other row in each class. A row with many links from its
    own class (hits) stands for its surroundings. A row with many links from other classes (misses) lies at a border, or
    is mislabelled. Rows with too many misses for their hits are removed, and rows without any link. The network of the
    rows that are left is built anew, as long as the accuracy of the nearest neighbour on all rows does not fall.

    Parameters
    ----------
    weigher : weigher, Weights or None, default=None
        Weights of the distance. A weigher is cloned and fitted first. None: no weights.
    epsilon : float, default=0.1
        ε of the rule: misses, weighted, plus ε must not exceed the hits, weighted. With more than 0, rows without
        links are removed.
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
        Number of passes whose result was taken.
    weights_ : Weights
        The weights of the distance with the kept rows as instance mask, for `WeightedKNeighborsClassifier`.
    weigher_ : estimator or None
        The fitted clone of ``weigher``.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    `weighbors.weighers.instances.hmnei.edit_by_hits_and_misses` lists the four rules of a pass. All rows of a pass are
    judged before any is removed, so the order of the rows does not matter. The accuracy is that of the nearest kept row
    on all rows of the table, each row left out of its own neighbours. Equal distances go to the lower row number. A
    pass that would remove all rows is not taken.

    References
    ----------
    .. [1] E. Marchiori, "Hit miss networks with applications to instance selection", Journal of Machine Learning
       Research 9, 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from weighbors import HMNEI
    >>> X, y = load_wine(return_X_y=True)
    >>> len(HMNEI().fit(scale(X), y).sample_indices_)
    61
    """

    epsilon: float = 0.1

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PlainSelector._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def select_rows(self, table: LabelledRows) -> BoolArray:
        """Return which rows HMN-EI keeps."""
        kept, self.n_iter_ = select_hmnei(table, float(self.epsilon))
        return kept
