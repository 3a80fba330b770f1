"""Leave-one-out among wide rows of numbers: pairs of rows rounded to 16 bits propose, and exact distances decide."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from ... import _native
from ..._parallel.threads import fixed_ranges, run_kernel
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..references import References
from .backend import Backend, Batch, Lists
from .scan import aligned_empty, lane_layout, run_pairs, select_nearest

# Least numbers of rows for which pairs of rounded rows are worth their time, and most features, of each dtype. The more
# terms a sum has, the more rows could be nearest by the bounds on its rounding errors.
_LEAST_ROWS = {"float32": 400, "float64": 128}
_MOST_FEATURES = {"float32": 2**13, "float64": 2**18}
_SPARE = 8  # candidates beyond k: the last one bounds all others
_LEAST_ROWS_PER_CANDIDATE = 6  # with fewer rows, measuring the candidates takes as long as measuring all pairs
_LARGEST_LEVEL = 32767  # of 16 bits
_LARGEST_SUM = 0.99 * 2**31  # of the products of a panel, in 32 bits
_EPS = float(np.finfo(np.float32).eps)


class Levels(NamedTuple):
    """Rows rounded to levels of 16 bits."""

    packed: AnyArray  # (n_blocks, pairs, lanes) int32: two features of a row, whole panels
    norm: FloatArray  # (n_lanes,) squared norms in levels, 0 for padding
    residual: FloatArray  # (n,) bounds on the distances between rows and rounded rows, in levels


class RoundedPairs(Backend):
    """Backend that compares each pair of stored rows once, as integers, for p = 2, and measures candidates exactly.

    Numbers are centred, multiplied by ``_levels`` and rounded. By the triangle inequality that moves a distance by at
    most the residuals of both rows, which are known. Products of integers are exact as long as they fit in 32 bits, and
    ``_levels`` is such that those of a panel of features do: by the inequality of Cauchy and Schwarz, if the squared
    norm of every row is below 2³¹ in each panel.
    """

    name = "pairs"
    description = "in leave-one-out, pairs rounded to 16 bits propose, exact distances decide"
    refuses = ("city-block", "sparse", "nominal", "missing", "groups", "feature weights", "cells", "cpu")
    least_rows: ClassVar[dict[int, int | None]] = {0: None, 1024: 0}  # by dtype, as `own_obstacle` says
    compares_pairs = True

    @classmethod
    def own_obstacle(cls, references: References, *, asked: bool) -> str | None:
        """Return an obstacle that no other backend has, or None."""
        least, most = _LEAST_ROWS[str(references.dtype)], _MOST_FEATURES[str(references.dtype)]
        if references.m > most:
            return f"there are more than {most} features"
        return f"there are fewer than {least} rows" if not asked and references.n < least else None

    @cached_property
    def _levels(self) -> float:
        """The number of levels per unit; 0 if nothing can be rounded."""
        reach = float(self.references.half_range.max(initial=0.0))  # the largest absolute value after centring
        if not 1e-100 < reach < 1e100:  # so that squares neither vanish nor overflow
            return 0.0
        panel = 2 * _native.ROUNDED_PANEL
        starts = np.arange(0, self.references.m, panel)
        largest = 0.0
        for rows in self._blocks():
            squares = np.square((rows - self._fold.center) / reach)
            largest = max(largest, float(np.add.reduceat(squares, starts, axis=1).max()))
        # Rounding may lengthen a row by half a level per feature. The margin is twice that.
        levels = min(_LARGEST_LEVEL - 1, (np.sqrt(_LARGEST_SUM) - np.sqrt(panel)) / np.sqrt(largest))
        return float(levels) / reach

    def _blocks(self) -> Iterator[FloatArray]:
        """Yield the rows of each packed block."""
        for begin, end in fixed_ranges(self.references.n, _native.BLOCK_LANES_FLOAT32):
            yield self.references.rows[begin:end]

    @cached_property
    def _rounded(self) -> Levels:
        """The rounded rows, packed at the first search."""
        lanes, n, m = _native.BLOCK_LANES_FLOAT32, self.references.n, self.references.m
        n_blocks, pairs = -(-n // lanes), -(-m // (2 * _native.ROUNDED_PANEL)) * _native.ROUNDED_PANEL
        packed = aligned_empty((n_blocks, pairs, lanes), np.dtype(np.int32))
        norm, residual = np.zeros(n_blocks * lanes), np.empty(n)
        for block, rows in enumerate(self._blocks()):
            at = slice(block * lanes, block * lanes + len(rows))
            levels = np.zeros((lanes, 2 * pairs), dtype=np.int16)  # also for padding
            exact = (rows - self._fold.center) * self._levels
            rounded = np.rint(exact)
            levels[: len(rows), :m] = rounded
            packed[block] = levels.view(np.int32).T
            norm[at] = np.einsum("ij,ij->i", rounded, rounded)  # exact: a sum of integers below 2⁵³
            residual[at] = np.linalg.norm(exact - rounded, axis=1)
        # The margin covers the rounding of all this.
        return Levels(packed, norm, residual * (1 + 1e-9) + 1e-6 * np.sqrt(m))

    def search(self, batch: Batch, k: int) -> Lists:
        """Search as `Backend.search` says, in one group."""
        few = (k + _SPARE) * _LEAST_ROWS_PER_CANDIDATE > self.references.n
        pairs = self.scan.computes_pairs(batch.rows, batch.own_slot) and _native.multiplies_pairs()
        if self._doubtful or few or not pairs or self._levels == 0:
            return self.other.search(batch, k)
        slot, wanted = self._propose(k, batch.n_jobs)
        certain = ~wanted[:, -1]  # Then no row beyond the last candidate is wanted, either.
        distance = self._measure(slot, wanted, batch.n_jobs)
        slot[~wanted] = self.references.n  # They come last, as their distances are infinite.
        nearest = np.lexsort((slot, distance), axis=-1)[:, :k]
        lists = np.take_along_axis(distance, nearest, axis=1), np.take_along_axis(slot, nearest, axis=1)
        return self._settle(batch, (lists[0][:, None], lists[1][:, None]), certain)

    def _propose(self, k: int, n_jobs: int) -> tuple[IndexArray, BoolArray]:
        """Return k + `_SPARE` candidates of each row, nearest first, and which of them may be among the k nearest."""
        references, rounded = self.references, self._rounded
        square = np.empty((len(rounded.norm), len(rounded.norm)), dtype=np.float32)
        run_pairs(
            _native.propose_rounded_pairs,
            n_jobs,
            packed=rounded.packed,
            norm=rounded.norm,
            n=references.n,
            square=square,
        )
        layout = lane_layout(references.group_codes, 1, _native.BLOCK_LANES_FLOAT32)
        proposed, slot = select_nearest(square, layout, references.n, k + _SPARE, n_jobs)
        return slot[:, 0], self._wanted(proposed[:, 0].astype(np.float64), k)

    def _wanted(self, proposed: FloatArray, k: int) -> BoolArray:
        """Return which candidates may be among the k nearest rows, from their squared distances in levels."""
        references, rounded = self.references, self._rounded
        # The products of a panel become a float, and panels are added: each rounds by at most half of _EPS of the sum
        # of their sizes, which is at most the product of both norms. The square is rounded once more.
        norm = np.sqrt(rounded.norm[: references.n])
        panels = rounded.packed.shape[1] // _native.ROUNDED_PANEL
        error = 2 * (panels + 4) * _EPS * (norm * norm.max())[:, None] + 2 * _EPS * proposed
        shift = (rounded.residual + rounded.residual.max())[:, None]
        highest = np.sqrt(proposed[:, k - 1 : k] + error[:, k - 1 : k]) + shift
        lowest = np.sqrt(np.maximum(proposed - error, 0)) - shift
        # Neighbours are ordered by sums of m terms in the dtype of the rows, each rounded by at most half of its eps.
        rounding = (references.m + 8) * float(np.finfo(references.dtype).eps) / 2
        share = rounding / (1 - rounding)
        wanted: BoolArray = lowest * np.sqrt(1 - share) <= highest * np.sqrt(1 + share)
        return wanted

    def _measure(self, slot: IndexArray, wanted: BoolArray, n_jobs: int) -> FloatArray:
        """Return the exact squared distance of each row to its wanted candidates, and infinity for the others.

        Parameters
        ----------
        slot : int ndarray of shape (n, width)
            Candidates of each row.
        wanted : bool ndarray of the same shape
        n_jobs : int
        """
        references = self.references
        row, other = np.nonzero(wanted)[0], slot[wanted]
        # Most candidates are mutual. Each pair is measured once, in the order of the rows that it reads.
        pair, place = np.unique(np.minimum(row, other) * references.n + np.maximum(row, other), return_inverse=True)
        pairs = np.stack(np.divmod(pair, references.n), axis=1)
        measured = np.empty(len(pairs), dtype=references.dtype)
        # Few ranges, since each reads most rows.
        ranges = fixed_ranges(len(pairs), max(32, -(-len(pairs) // (2 * n_jobs))))
        run_kernel(_native.measure_pairs, ranges, n_jobs, rows=references.rows, pairs=pairs, distance=measured)
        distance = np.full(slot.shape, np.inf, dtype=references.dtype)
        distance[wanted] = measured[place]
        return distance
