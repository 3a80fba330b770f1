"""DROP3 and DROP5: a row goes if the rows around it are classified as well without it."""

from __future__ import annotations

import numpy as np

from ..._typing import BoolArray, IndexArray
from .rows import LabelledRows, edit_rows
from .selector import VotingSelector

_SPARE = 28  # neighbours beyond k + 1 that are searched at once: they replace those that are removed


class _Neighborhoods:
    """The k + 1 nearest kept rows of each row, and the associates of each kept row, while rows are removed.

    The associates of a row are the rows among whose k + 1 neighbours it is. Rows that were removed stay associates of
    others, as in DROP2. All row numbers are those of the table.
    """

    def __init__(self, table: LabelledRows, rows: IndexArray, k: int) -> None:
        self.table, self.rows, self.k = table, rows, k
        self.codes: list[int] = table.codes.tolist()
        self.kept = np.zeros(table.n, dtype=bool)
        self.kept[rows] = True
        self.n_kept = len(rows)
        self.near: list[list[int]] = [[] for _ in range(table.n)]
        self.associates: list[list[int]] = [[] for _ in range(table.n)]
        self._search()
        for row in rows.tolist():
            self._fill(row)

    def _search(self) -> None:
        """Find the next candidates of all rows among the rows that are kept now."""
        self._engine = self.table.engine(np.flatnonzero(self.kept))
        self._width = min(self.k + 1 + _SPARE, self._engine.n_references)
        self._candidates: list[list[int]] = [[] for _ in range(self.table.n)]
        _, found = self._engine.search(self.table.X[self.rows], self._width, own_row=self.rows)
        for row, candidates in zip(self.rows.tolist(), found.tolist(), strict=True):
            self._candidates[row] = candidates
        self._next = [len(near) for near in self.near]  # what is nearer is in the list of neighbours already

    def _search_again(self, row: int) -> None:
        """Find more candidates of a single row, whose candidates were all removed."""
        width, searched = self._width, self._engine.n_references
        while True:
            width = min(2 * width, searched)
            _, found = self._engine.search(self.table.X[[row]], width, own_row=np.array([row]))
            alive = found[(found >= 0) & self.kept[found]].tolist()
            if len(alive) > len(self.near[row]) or width == searched:
                self._candidates[row], self._next[row] = alive, len(self.near[row])
                return

    def _fill(self, row: int) -> None:
        """Add the nearest kept rows to the neighbours of a row until there are k + 1, or no more kept rows."""
        near = self.near[row]
        while len(near) <= self.k:
            candidates, at = self._candidates[row], self._next[row]
            while at < len(candidates) and not (candidates[at] >= 0 and self.kept[candidates[at]]):
                at += 1
            if at == len(candidates):
                if self.n_kept - bool(self.kept[row]) <= len(near):
                    return
                self._search_again(row)
                continue
            near.append(candidates[at])
            self.associates[candidates[at]].append(row)
            self._next[row] = at + 1

    def gain(self, row: int) -> int:
        """Return how many associates of a kept row are classified correctly only with it, less those only without."""
        codes, k, gain = self.codes, self.k, 0
        for associate in self.associates[row]:
            near, own = self.near[associate], codes[associate]
            if near.index(row) == k:  # the spare neighbour has no vote
                continue
            voters = [codes[neighbor] for neighbor in near]
            others = [codes[neighbor] for neighbor in near if neighbor != row]
            gain += _wins(voters[:k], own) - _wins(others, own)
        return gain

    def remove(self, row: int) -> None:
        """Remove a kept row, and find new neighbours for its associates."""
        self.kept[row] = False
        self.n_kept -= 1
        associates, self.associates[row] = self.associates[row], []
        for associate in associates:
            self.near[associate].remove(row)
        # Half of the candidates are gone, so lists run out soon; a search among the rows that are left is cheap.
        if 0 < 2 * self.n_kept < self._engine.n_references:
            self._search()
        for associate in associates:
            self._fill(associate)


def _wins(votes: list[int], own: int) -> bool:
    """Return whether the class ``own`` has most of the votes. Of equally frequent classes the lowest wins."""
    count = votes.count(own)
    if 2 * count > len(votes):
        return True
    if not count:
        return False
    return all(votes.count(c) < count or (votes.count(c) == count and c >= own) for c in set(votes))


def _pass(neighborhoods: _Neighborhoods, order: IndexArray) -> int:
    """Visit the rows in ``order``, remove those that no associate needs, and return how many were removed."""
    removed = 0
    for row in order.tolist():
        if neighborhoods.gain(row) <= 0:  # without the row at least as many are correct as with it
            neighborhoods.remove(row)
            removed += 1
    return removed


def _by_enemy(table: LabelledRows, rows: IndexArray, *, far_first: bool) -> IndexArray:
    """Return ``rows`` ordered by the distance to the nearest of them with another class, ties by row number."""
    enemy = table.nearest_enemy(rows)
    return rows[np.lexsort((rows, -enemy if far_first else enemy))]


def select_drop3(table: LabelledRows, k: int) -> BoolArray:
    """Return which rows DROP3 keeps: Wilson's editing, then DROP2 from the inside of classes to the border.

    Examples
    --------
    >>> table = LabelledRows(np.array([[0.0], [1.0], [2.0], [4.0], [5.5], [7.0]]), np.array([0, 0, 0, 1, 1, 1]), 2)
    >>> select_drop3(table, 1)
    array([False,  True,  True,  True,  True, False])
    """
    rows = np.flatnonzero(edit_rows(table, k))
    if not len(rows):
        return np.zeros(table.n, dtype=bool)
    neighborhoods = _Neighborhoods(table, rows, k)
    _pass(neighborhoods, _by_enemy(table, rows, far_first=True))
    return neighborhoods.kept


def select_drop5(table: LabelledRows, k: int) -> BoolArray:
    """Return which rows DROP5 keeps: a pass from the border inwards, then passes of DROP2 until none is removed.

    Examples
    --------
    >>> table = LabelledRows(np.array([[0.0], [1.0], [2.0], [4.0], [5.5], [7.0]]), np.array([0, 0, 0, 1, 1, 1]), 2)
    >>> int(select_drop5(table, 1).sum())
    4
    """
    rows = np.arange(table.n)
    neighborhoods = _Neighborhoods(table, rows, k)
    removed = _pass(neighborhoods, _by_enemy(table, rows, far_first=False))
    while removed and neighborhoods.n_kept:
        rows = np.flatnonzero(neighborhoods.kept)
        removed = _pass(neighborhoods, _by_enemy(table, rows, far_first=True))
    return neighborhoods.kept


class DROP3(VotingSelector):
    """Remove noise, then every row without which its neighbours are classified as well.

    First Wilson's editing removes the rows that the majority of their k nearest rows contradicts. Then rows are
    visited, those far from other classes first. A row is removed if at least as many of its associates are classified
    correctly without it as with it. Its associates are the rows among whose k + 1 nearest kept rows it is, removed rows
    included. About a sixth of the rows stays, near the borders between classes.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number k of neighbours that vote.
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
    weights_ : Weights
        The weights of the distance with the kept rows as instance mask, for `WeightedKNeighborsClassifier`.
    weigher_ : estimator or None
        The fitted clone of ``weigher``.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    Rows are visited by the distance to the nearest row of another class, measured once after the editing, the
    farthest first; equal distances by row number. Rows that the editing removes are nobody's neighbours or associates.
    Equal votes go to the class that comes first in ``classes_``. If a row has fewer than k kept neighbours, these vote;
    without any it counts as wrong. The paper measures distances by HVDM; here they are those of the library.

    References
    ----------
    .. [1] D. R. Wilson, T. R. Martinez, "Reduction techniques for instance-based learning algorithms", Machine
       Learning 38, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from weighbors import DROP3, WeightedKNeighborsClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> selector = DROP3(n_neighbors=3).fit(X[::2], y[::2])
    >>> len(selector.sample_indices_)
    15
    >>> model = WeightedKNeighborsClassifier(3, weigher=selector.weights_).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    def select_rows(self, table: LabelledRows) -> BoolArray:
        """Return which rows DROP3 keeps."""
        return select_drop3(table, self._count_neighbors(table))


class DROP5(VotingSelector):
    """Remove rows from the borders inwards to smooth them, then every row that its neighbours do not need.

    Rows are removed by the rule of `DROP3`, without its editing. The first pass visits rows near other classes first,
    which removes noise. Further passes visit rows far from other classes first, until a pass removes none.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number k of neighbours that vote.
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
    weights_ : Weights
        The weights of the distance with the kept rows as instance mask, for `WeightedKNeighborsClassifier`.
    weigher_ : estimator or None
        The fitted clone of ``weigher``.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    Each pass orders the rows that are left by the distance to the nearest of them with another class, measured at the
    beginning of the pass; equal distances by row number. Neighbours, associates and votes are as in `DROP3`.

    References
    ----------
    .. [1] D. R. Wilson, T. R. Martinez, "Reduction techniques for instance-based learning algorithms", Machine
       Learning 38, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from weighbors import DROP5
    >>> X, y = load_wine(return_X_y=True)
    >>> len(DROP5().fit(scale(X), y).sample_indices_)
    15
    """

    def select_rows(self, table: LabelledRows) -> BoolArray:
        """Return which rows DROP5 keeps."""
        return select_drop5(table, self._count_neighbors(table))
