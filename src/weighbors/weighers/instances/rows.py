"""Labelled rows with a distance: the searches that instance selectors need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..._typing import BoolArray, FloatArray, IndexArray
from ...engine import ColumnRanges, NeighborEngine
from ...engine.references import column_ranges
from ...weights import Weights

_NO_WEIGHTS = Weights()
_EQUAL = 1e-9  # distances to a centre that differ by less, relatively, differ by rounding only


@dataclass(frozen=True)
class LabelledRows:
    """Coded rows, their classes, and the distance under which a selector compares them.

    Missing distances are the column ranges of all rows, whichever rows are searched.

    Examples
    --------
    >>> table = LabelledRows(np.array([[0.0], [1.0], [3.0]]), np.array([0, 0, 1]), 2)
    >>> table.nearest(np.arange(3), np.array([0, 2]), 1)
    (array([[9.],
           [1.],
           [9.]]), array([[2],
           [0],
           [0]]))
    """

    X: FloatArray  # (n, M), categories as codes, missing values as NaN
    codes: IndexArray  # (n,)
    n_classes: int
    nominal: BoolArray | None = None  # (M,)
    weights: Weights = _NO_WEIGHTS  # without an instance mask
    class_of_row: IndexArray | None = None  # (n,) position of the class in weights.classes
    p: int = 2
    n_jobs: int | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @cached_property
    def ranges(self) -> ColumnRanges:
        """Column ranges of all rows."""
        return column_ranges(self.X)

    def engine(self, stored: IndexArray, *, by_class: bool = False) -> NeighborEngine:
        """Return an engine that finds the rows ``stored``, with ``by_class`` the nearest of each class."""
        mask = np.zeros(self.n, dtype=bool)
        mask[stored] = True
        return NeighborEngine(
            self.X,
            weights=replace(self.weights, instance_mask=mask),
            p=self.p,
            nominal=self.nominal,
            class_of_row=self.class_of_row,
            groups=self.codes if by_class else None,
            n_groups=self.n_classes if by_class else 1,
            n_jobs=self.n_jobs,
            measured=self.ranges,
        )

    def nearest(self, rows: IndexArray, stored: IndexArray, k: int) -> tuple[FloatArray, IndexArray]:
        """Return the k nearest of the rows ``stored`` for each of ``rows``, which do not find themselves.

        Distances are squared for p = 2, as the search orders them. Where there are fewer than k rows, distances are
        infinite and row numbers -1.

        Returns
        -------
        ranked, row : ndarrays of shape (len(rows), k)
        """
        ranked, row = self.engine(stored).ranked(self.X[rows], k, own_row=rows)
        return ranked[:, 0], row[:, 0]

    def nearest_of_classes(self, rows: IndexArray, stored: IndexArray) -> tuple[FloatArray, IndexArray]:
        """Return the nearest of the rows ``stored`` in each class: arrays of shape (len(rows), n_classes)."""
        ranked, row = self.engine(stored, by_class=True).ranked(self.X[rows], 1, own_row=rows)
        return ranked[:, :, 0], row[:, :, 0]

    def nearest_enemy(self, stored: IndexArray) -> FloatArray:
        """Return the distance of each of the rows ``stored`` to the nearest of them with another class.

        Distances are squared for p = 2, and infinite if all rows are of one class.
        """
        ranked, _ = self.nearest_of_classes(stored, stored)
        ranked[np.arange(len(stored)), self.codes[stored]] = np.inf
        enemies: FloatArray = ranked.min(axis=1)
        return enemies

    def central_rows(self, classes: IndexArray) -> IndexArray:
        """Return, for each class, its row that is nearest to the centre of the class.

        The centre has the mean of each numeric column and the most frequent category of each nominal column, both over
        the known values. Rows whose distances differ by rounding only count as equally near: the first is returned.
        """
        return np.array([self._central_row(np.flatnonzero(self.codes == c)) for c in classes], dtype=np.int64)

    def _central_row(self, members: IndexArray) -> int:
        """Return the one of the rows ``members`` that is nearest to their centre."""
        distance, row = self.engine(members).search(self._center(members)[None], len(members))
        return int(row[0][distance[0] <= distance[0, 0] * (1 + _EQUAL)].min())

    def _center(self, members: IndexArray) -> FloatArray:
        """Return the centre of the rows ``members``. A column without known values is missing in the centre."""
        nominal = np.zeros(self.X.shape[1], dtype=bool) if self.nominal is None else self.nominal
        center = np.full(self.X.shape[1], np.nan)
        for j, column in enumerate(self.X[members].T):
            known = column[~np.isnan(column)]
            if not len(known):
                continue
            if nominal[j]:
                categories, counts = np.unique(known, return_counts=True)
                center[j] = categories[counts.argmax()]  # of equally frequent categories the lowest code
            else:
                center[j] = known.mean(dtype=np.float64)
        return center.astype(self.X.dtype)


def majority(codes: IndexArray, n_classes: int) -> IndexArray:
    """Return the most frequent class in each row of ``codes``, of equally frequent ones the first. -1 does not count.

    If a row has no class at all, the result is -1.

    Examples
    --------
    >>> majority(np.array([[1, 0, 1], [1, 0, -1], [-1, -1, -1]]), 2)
    array([ 1,  0, -1])
    """
    known = codes >= 0
    cell = (codes + np.arange(len(codes))[:, None] * n_classes)[known]
    counts = np.bincount(cell, minlength=len(codes) * n_classes).reshape(len(codes), n_classes)
    return np.where(known.any(axis=1), counts.argmax(axis=1), -1)


def edit_rows(table: LabelledRows, k: int) -> BoolArray:
    """Wilson's editing (ENN): return which rows have the class of the majority of their k nearest other rows.

    Of classes with equally many votes, the first in the order of codes wins. If there are fewer than k other rows, all
    of them vote.

    References
    ----------
    .. [1] D. L. Wilson, "Asymptotic properties of nearest neighbor rules using edited data", IEEE Transactions on
       Systems, Man, and Cybernetics 2, 1972.

    Examples
    --------
    >>> table = LabelledRows(np.array([[0.0], [1.0], [1.2], [2.0]]), np.array([0, 0, 1, 0]), 2)
    >>> edit_rows(table, 1)
    array([ True, False, False, False])
    """
    every = np.arange(table.n)
    _, row = table.nearest(every, every, min(k, table.n - 1))
    kept: BoolArray = majority(np.where(row < 0, -1, table.codes[row]), table.n_classes) == table.codes
    return kept
