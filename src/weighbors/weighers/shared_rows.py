"""Rows whose neighbours are ranked once, for many fits to the same rows with different targets.

A permuted target changes no distance. So a permutation test needs the distances between rows only once: each fit then
picks its nearest rows of each class from ranked lists. All sums have the same bits as those of separate fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .. import _native
from .._typing import BoolArray, FloatArray, IndexArray
from ..engine.backends.scan import align_rows
from ..engine.listed import LISTS, ListedPairs
from .neighborhoods import Instances, Neighborhoods

__all__ = ["RelabeledInstances", "SharedInstances", "list_length"]

_LIST_BYTES = 256 * 2**20  # memory for the ranked lists
_MOST_FITS = 16  # fits that are computed together; more of them gain less than 5 %
_FIT_BYTES = 64 * 2**20  # memory for fits that are computed together
_COPY_BYTES = 256 * 2**20  # largest copy of the rows that begin at cache lines


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
        self.distance: FloatArray = np.ascontiguousarray(distance[:, 0])
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

    def fits_at_once(self, k: int, n_classes: int) -> int:
        """Return how many fits to compute together.

        Several fits read rows from the cache, but take more memory. Sparse rows gain nothing.

        Parameters
        ----------
        k : int
            Neighbours per class.
        n_classes : int
        """
        if sparse.issparse(self.rows):
            return 1
        n, n_features = self.rows.shape
        lists = n * n_classes * (k + 1) * 64  # a neighbour takes some 64 bytes in several arrays
        sums = max(2, n_classes) * n_features * 8 * -(-n // LISTS)
        return max(1, min(_MOST_FITS, _FIT_BYTES // (lists + sums)))

    def relabel(
        self, codes: IndexArray, n_classes: int, *, n_jobs: int | None, asked: IndexArray | None
    ) -> RelabeledInstances:
        """Return the rows with other classes. The parameters are those of `Instances`."""
        return RelabeledInstances(self, codes, n_classes, n_jobs=n_jobs, asked=asked)


def list_length(codes: IndexArray, n_classes: int, k: int) -> int:
    """Return how many entries a list needs, so that nearly all lists have k rows of every class.

    If labels are exchanged at random, the number of rows of a class in a list has a hypergeometric distribution. Three
    times the expected length, and some more, leaves about one row in a million without k rows of each class.
    """
    smallest = max(1, int(np.bincount(codes, minlength=n_classes).min()))
    length = 3 * k * len(codes) // smallest + 50
    return len(codes) if 2 * length > len(codes) else length


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

    def sum_complete(self, several: Sequence[ListedPairs]) -> list[FloatArray]:
        """Return the sums of listed pairs, without the columns of zeros that `align_rows` has appended."""
        return [total[:, : self.n_features] for total in super().sum_complete(several)]

    def _search(self, rows: IndexArray, width: int) -> tuple[FloatArray, IndexArray]:
        """Return the nearest rows of each class, from the ranked lists as far as these are long enough."""
        distance = np.full((len(rows), self.n_classes, width), np.inf, dtype=self.dtype)
        found = np.full(distance.shape, -1, dtype=np.int64)
        lacking = np.empty(len(rows), dtype=bool)
        _native.pick_nearest(
            row=self.shared.row,
            ranked_distance=self.shared.distance,
            codes=self.codes,
            n_classes=self.n_classes,
            asked=np.ascontiguousarray(rows, dtype=np.int64),
            distance=distance,
            found=found,
            lacking=lacking,
        )
        if self.shared.length < self.n - 1 and lacking.any():
            # Rows beyond the lists may be of the classes that are short of rows.
            distance[lacking], found[lacking] = super()._search(rows[lacking], width)
        return distance, found
