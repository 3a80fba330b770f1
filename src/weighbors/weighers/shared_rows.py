"""Rows whose neighbours are ranked once, for many fits to the same rows with different targets.

A permuted target changes no distance. So a permutation test needs the distances between rows only once: each fit then
picks its nearest rows of each class from ranked lists. All sums have the same bits as those of separate fits.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._typing import BoolArray, FloatArray, IndexArray
from ..engine.backends.scan import align_rows
from .neighborhoods import Instances, Neighborhoods

__all__ = ["RelabeledInstances", "SharedInstances", "list_length", "pays_off"]

_LIST_BYTES = 256 * 2**20  # memory for the ranked lists
_COPY_BYTES = 256 * 2**20  # largest copy of the rows that begin at cache lines
_PICK_COST = 300  # picking one entry of a list takes about as long as this many differences of a search


class SharedInstances:
    """Rows with ranked lists of their nearest rows, of which any number of fits can be made.

    Parameters
    ----------
    X : (n, M) array or CSR, coded, NaN for missing
    nominal : (M,) bool
    scaled : bool
        Divide numeric differences by the feature's range.
    p : {1, 2}
        Distance in which neighbours are sought.
    length : int
        Number of entries per list. Longer lists than the other rows or the memory allow are cut.
    n_jobs : int or None
    """

    def __init__(self, X: Any, nominal: BoolArray, *, scaled: bool, p: int, length: int, n_jobs: int | None) -> None:
        n = X.shape[0]
        everyone = Instances(X, np.zeros(n, dtype=np.int64), 1, nominal, scaled=scaled, p=p, n_jobs=n_jobs)
        self.scaled, self.p, self.nominal = scaled, p, nominal
        self.rows, self.missing = everyone.rows, everyone.missing
        length = max(1, min(length, n - 1, _LIST_BYTES // (12 * n)))
        distance, row = everyone.engine.search_groups(self.rows, length, own_row=np.arange(n))
        self.distance: FloatArray = distance[:, 0]
        self.row = row[:, 0].astype(np.int32)
        # These do not depend on the classes, so all fits use them.
        self.missing_distance = everyone.missing_distance
        self.complete_rows = everyone._complete_rows
        if isinstance(self.complete_rows, np.ndarray) and self.complete_rows.nbytes <= _COPY_BYTES:
            self.complete_rows = align_rows(self.complete_rows)

    @property
    def length(self) -> int:
        """Number of entries per list."""
        return int(self.row.shape[1])

    def relabel(
        self, codes: IndexArray, n_classes: int, *, n_jobs: int | None, asked: IndexArray | None
    ) -> RelabeledInstances:
        """Return the rows with other classes. The parameters are those of `Instances`."""
        return RelabeledInstances(self, codes, n_classes, n_jobs=n_jobs, asked=asked)


def pays_off(n_rows: int, n_features: int, n_classes: int, k: int) -> bool:
    """Return whether picking the k nearest rows of each class from lists is faster than a search for them."""
    return n_rows * n_features >= _PICK_COST * min(n_rows, _first_reach(n_classes, k))


def list_length(codes: IndexArray, n_classes: int, k: int) -> int:
    """Return how many entries a list needs, so that nearly all lists have k rows of every class.

    If labels are exchanged at random, the number of rows of a class in a list has a hypergeometric distribution. Three
    times the expected length, and some more, leaves about one row in a million without k rows of each class.
    """
    smallest = max(1, int(np.bincount(codes, minlength=n_classes).min()))
    length = 3 * k * len(codes) // smallest + 50
    return len(codes) if 2 * length > len(codes) else length


def _first_reach(n_classes: int, k: int) -> int:
    """Return how many entries of a list are looked at first, for k rows of each class."""
    return k if n_classes == 1 else 3 * k * n_classes


class RelabeledInstances(Instances):
    """Rows of a `SharedInstances` with classes of their own.

    Parameters
    ----------
    shared : SharedInstances
    codes, n_classes, n_jobs, asked
        As in `Instances`.
    """

    def __init__(
        self,
        shared: SharedInstances,
        codes: IndexArray,
        n_classes: int,
        *,
        n_jobs: int | None,
        asked: IndexArray | None,
    ) -> None:
        codes = np.asarray(codes, dtype=np.int64)
        asked = np.arange(len(codes)) if asked is None else asked
        Neighborhoods.__init__(self, asked, codes, n_classes, shared.nominal, p=shared.p, n_jobs=n_jobs)
        self.shared = shared
        self._take_rows(shared.rows, missing=shared.missing)

    @property
    def missing_distance(self) -> FloatArray:
        """The missing distance of each column: what a missing value counts in a distance."""
        return self.shared.missing_distance

    @cached_property
    def _complete_rows(self) -> Any:
        """The rows with 0 in all columns that have missing values."""
        return self.shared.complete_rows

    def _sum_listed(
        self, query: IndexArray, neighbor: IndexArray, weight: FloatArray, output_row: IndexArray, n_outputs: int
    ) -> FloatArray:
        """Return the sums of listed pairs, without the columns that make up whole cache lines."""
        return super()._sum_listed(query, neighbor, weight, output_row, n_outputs)[:, : self.n_features]

    def _search(self, rows: IndexArray, width: int) -> tuple[FloatArray, IndexArray]:
        """Return the nearest rows of each class, from the ranked lists as far as these are long enough."""
        distance = np.full((len(rows), self.n_classes, width), np.inf, dtype=self.dtype)
        found = np.full(distance.shape, -1, dtype=np.int64)
        length = self.shared.length
        place, reach = np.arange(len(rows)), min(length, _first_reach(self.n_classes, width))
        while len(place):
            lacking = self._pick(rows[place], place, reach, distance, found)
            place = place[lacking]
            if reach == length:
                break
            reach = min(length, 4 * reach)
        if len(place) and length < self.n - 1:
            # Rows beyond the lists may be of the classes that are short of rows.
            distance[place], found[place] = super()._search(rows[place], width)
        return distance, found

    def _pick(
        self, rows: IndexArray, place: IndexArray, reach: int, distance: FloatArray, found: IndexArray
    ) -> BoolArray:
        """Write the nearest rows of each class, and return which rows lack some.

        Parameters
        ----------
        rows, place : ndarrays of int
            The rows whose neighbours are wanted, and their places in the results.
        reach : int
            Number of entries of each list that are looked at.
        distance, found : ndarrays of shape (n, n_classes, width)
            The results, which are written in place.
        """
        width = distance.shape[2]
        near, far = self.shared.row[rows, :reach], self.shared.distance[rows, :reach]
        if self.n_classes == 1:
            end = min(width, reach)
            distance[place, 0, :end], found[place, 0, :end] = far[:, :end], near[:, :end]
            return np.full(len(rows), reach < width)
        # A stable sort by class keeps the order of the list inside each class. Small integers are sorted by radix.
        small: Any = np.int16 if self.n_classes < 2**15 else np.int64
        code: Any = self.codes.astype(small)[near]
        order = np.argsort(code, axis=1, kind="stable")
        code = np.take_along_axis(code, order, axis=1)
        flat = (np.arange(len(rows))[:, None] * self.n_classes + code).ravel()
        count = np.bincount(flat, minlength=len(rows) * self.n_classes).reshape(len(rows), self.n_classes)
        start = np.cumsum(count, axis=1) - count
        rank = np.arange(reach) - np.take_along_axis(start, code.astype(np.int64), axis=1)
        listed, at = np.nonzero(rank < width)
        target = (place[listed], code[listed, at], rank[listed, at])
        source = (listed, order[listed, at])
        distance[target], found[target] = far[source], near[source]
        lacking: BoolArray = (count < width).any(axis=1)
        return lacking
