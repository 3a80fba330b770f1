"""Margins of rows under changing weights: find the near hit and near miss of each step of SIMBA.

A step changes the weights a little, so most near hits and misses stay the same. For most steps, lists of the
nearest rows with a lower bound on the distance of all other rows are enough. For the other steps, packed rows are
scanned (paper 000, algorithm 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from .._parallel.threads import effective_n_jobs, run_ranges, run_with_helpers
from .._typing import BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..weights import Weights
from .backends.scan import Scan, aligned_empty, lane_layout
from .pairs import fixed_ranges
from .plan import lanes_of
from .references import build_references, column_ranges

__all__ = ["Margins", "margin_sum", "simba_steps"]

_LISTED = (8, 16)  # number of hits, and of misses, in the lists of a row: with more than 1000 rows, and with fewer
_SHARED = 400_000  # number of values from which threads share a scan; each part then takes some 10 µs
_CHUNK = 256  # number of steps after which it is checked whether blocks must be packed again


class Lists(NamedTuple):
    """The nearest hits and misses of every row under given weights, and a lower bound on all other distances."""

    row: IndexArray  # (n, 2, width), -1: none
    square: FloatArray  # their squared distances
    unlisted_distance: FloatArray  # (n, 2) all rows that are not listed are at least this far
    reference: FloatArray  # (m,) the weights under which the lists were made


class Blocks(NamedTuple):
    """Rows packed for scans, in blocks of one class each."""

    packed: FloatArray  # (n_blocks, m, lanes)
    ids: IndexArray  # row of each lane, -1: padding
    block_code: IndexArray  # class of each block
    feature_order: IndexArray  # the features in the order in which they are packed
    expanded: bool  # weights are even: a scan that cannot stop early, but takes fewer operations


@dataclass
class Margins:
    """Rows and classes, prepared for the search of the near hit and near miss in each step."""

    rows: FloatArray  # (n, m) float64
    codes: IndexArray
    n_classes: int
    nominal: BoolArray
    n_jobs: int | None = None

    @classmethod
    def of(cls, X: Any, codes: IndexArray, n_classes: int, nominal: BoolArray, n_jobs: int | None) -> Margins:
        """Build margins from a dense coded table."""
        rows = np.require(X, dtype=np.float64, requirements=["C_CONTIGUOUS", "ALIGNED"])
        return cls(rows, np.asarray(codes, dtype=np.int64), n_classes, nominal, n_jobs)

    def __post_init__(self) -> None:
        # Numbers whose squares leave the range of float64 are refused, as in every search.
        build_references(self.rows, nominal=self.nominal)
        low, high, missing = column_ranges(self.rows)
        self.mixed = bool(self.nominal.any() or missing.any())
        self.missing_distance = np.where(self.nominal, 1.0, high - low)
        self.center = np.where(self.nominal, 0.0, low / 2 + high / 2)
        largest = np.where(self.nominal, 0.0, np.maximum(high - self.center, self.center - low))
        if self.mixed:
            _refuse_beyond_single(largest)
        # Packed values are (x - center) * levels, rounded to 16 bits, or floats where some are missing or nominal.
        # `moved` bounds what that rounding moves a value by, so that a scan over packed rows can tell which rows
        # cannot be the nearest, and measures only the others exactly.
        self.levels, moved = np.ones_like(largest), 2.0 * np.finfo(np.float32).eps * largest
        if not self.mixed:
            wide = largest > 0  # A constant column has no levels, and needs none.
            self.levels[wide], moved[wide] = 32766 / largest[wide], 0.5001 / 32766 * largest[wide]
        self.unit, self.rounding = 1.0 / self.levels**2, moved**2

    def scaled_rows(self, w: FloatArray) -> FloatArray:
        """Return the rows with numeric columns multiplied by w. Categories do not change."""
        factor = np.where(self.nominal, 1.0, w)
        return self.rows if (factor == 1).all() else self.rows * factor

    def lists(self, w: FloatArray) -> Lists:
        """Return the nearest hits and misses of every row under w, and a lower bound on all other distances."""
        n = len(self.rows)
        # Distances are under ‖·‖_w, so the engine's weights are the squares of w (paper 000, eq. 1).
        weights = Weights(feature_weights=w**2) if (w != 1).any() else None
        references = build_references(
            self.rows, weights=weights, nominal=self.nominal, groups=self.codes, n_groups=self.n_classes
        )
        scan = Scan(references)
        most = _LISTED[0] if n > 1000 else _LISTED[1]
        width = min(most + 1, n)
        queries = references.select(self.rows)
        squared, slot = scan.search(
            queries, width, own_slot=np.arange(n), missing=references.missing, n_jobs=effective_n_jobs(self.n_jobs)
        )
        listed = np.full((n, 2, most), -1, dtype=np.int64)
        square = np.full((n, 2, most), np.inf)
        unlisted_distance = np.full((n, 2), np.inf)
        hit = np.arange(self.n_classes)[None, :] == self.codes[:, None]
        # The scan gives the nearest of every class: hits are those of a row's own class, misses those of all others,
        # merged. One more than is listed tells how far the first row that is not listed is.
        for side, mask in enumerate((hit, ~hit)):
            distance = np.where(mask[:, :, None], squared, np.inf).reshape(n, -1)
            order = np.argsort(distance, axis=1, kind="stable")[:, :width]
            ranked = np.take_along_axis(distance, order, axis=1)
            rows = np.where(np.isfinite(ranked), np.take_along_axis(slot.reshape(n, -1), order, axis=1), -1)
            kept = min(most, rows.shape[1])
            listed[:, side, :kept], square[:, side, :kept] = rows[:, :kept], ranked[:, :kept]
            if rows.shape[1] > most:
                unlisted_distance[:, side] = np.sqrt(ranked[:, most])
        return Lists(listed, square, unlisted_distance, w)

    def lists_pay(self, w: FloatArray, order: IndexArray, step: FloatArray) -> bool:
        """Return whether lists are likely to hold for many steps, because the weights move little.

        Lists cost about as much as n / 8 scans. The estimate takes one step from the difference of the first two
        rows, and treats the steps as a random walk.

        Parameters
        ----------
        w : ndarray of shape (m,)
        order : int ndarray
            The rows in the order of their steps.
        step : ndarray of the same shape
            Sizes of the steps.
        """
        if len(order) < len(self.rows) // 8:
            return False
        x, z = self.rows[order[0]], self.rows[order[min(1, len(order) - 1)]]
        difference = np.where(np.isnan(x - z), self.missing_distance, x - z)
        length = np.sqrt(np.sum((w * difference) ** 2))
        change = float(step.max()) * np.max(difference**2) / length if length > 0 else 0.0
        # Lists hold as long as no weight has changed by about a fifth since they were made. The changes of n / 8 steps
        # add up like a random walk, with the square root of their number.
        return bool(change * np.sqrt(len(self.rows) / 8) < 0.2)

    def no_lists(self) -> Lists:
        """Return empty lists, for a pass in which every step scans."""
        n, m = self.rows.shape
        return Lists(np.zeros((n, 2, 0), np.int64), np.zeros((n, 2, 0)), np.zeros((n, 2)), np.ones(m))

    def pack(self, w: FloatArray) -> Blocks:
        """Pack centred rows in blocks of one class each.

        If few features make up most of the distances, these features come first, so that a scan can rule out rows
        after a few features.
        """
        m = self.rows.shape[1]
        # (Σ part)² / Σ part² is the effective number of features: m where all are equal, 1 where one carries all.
        part = np.abs(w * self.missing_distance)
        part = (
            part / max(part.max(), np.finfo(np.float64).tiny)
        ) ** 2  # only their ratios matter, and fourth powers fit
        gathered = float(part.sum()) ** 2 < 0.5 * m * float((part**2).sum())
        feature_order = np.argsort(-part, kind="stable") if gathered else np.arange(m)
        lanes = lanes_of(np.dtype(np.float32))
        ids, block_start = lane_layout(self.codes, self.n_classes, lanes)
        packed = aligned_empty((len(ids) // lanes, m, lanes), self.packed_dtype)

        def task(begin: int, end: int) -> None:
            """Pack the blocks [begin, end)."""
            _native.pack_margins(
                rows=self.rows,
                center=self.center,
                levels=self.levels,
                feature_order=feature_order,
                ids=ids,
                packed=packed,
                begin=begin,
                end=end,
            )

        n_jobs = effective_n_jobs(self.n_jobs)
        run_ranges(task, fixed_ranges(len(packed), max(1, len(packed) // 16)), n_jobs)
        block_code = np.repeat(np.arange(self.n_classes), np.diff(block_start)).astype(np.int64)
        return Blocks(packed, ids, block_code, feature_order, not gathered)

    @property
    def packed_dtype(self) -> np.dtype[Any]:
        """The dtype of the packed rows."""
        return np.dtype(np.float32 if self.mixed else np.int16)

    def steps(
        self,
        w: FloatArray,
        order: IndexArray,
        step: FloatArray,
        beta: float,
        lists: Lists,
        blocks: Blocks,
        begin: int,
        end: int,
        helpers: _native.HelperThreads,
    ) -> tuple[int, int]:
        """Take steps ``begin`` to ``end`` and change w in place.

        Parameters
        ----------
        w : ndarray of shape (m,)
        order, step, beta
            As in `simba_steps`.
        lists, blocks
            What answers the search for the near hit and miss.
        begin, end : int
            Steps, as positions in ``order``.
        helpers : HelperThreads
            Threads that share a scan.

        Returns
        -------
        stopped : int
            The first step that needs blocks but has none, or ``end`` if all steps were taken.
        scans : int
            Number of scans.
        """
        return _native.take_simba_steps(
            rows=self.rows,
            codes=self.codes,
            missing_distance=self.missing_distance,
            nominal=self.nominal,
            mixed=self.mixed,
            packed=blocks.packed,
            center=self.center,
            levels=self.levels,
            unit=self.unit,
            rounding=self.rounding,
            ids=blocks.ids,
            block_code=blocks.block_code,
            feature_order=blocks.feature_order,
            expanded=blocks.expanded,
            listed=lists.row,
            listed_square=lists.square,
            unlisted_distance=lists.unlisted_distance,
            reference=lists.reference,
            order=order,
            step=step,
            beta=beta,
            w=w,
            helpers=helpers,
            begin=begin,
            end=end,
        )

    def no_blocks(self) -> Blocks:
        """Return empty blocks, for steps that need only lists."""
        m = self.rows.shape[1]
        empty = np.zeros(0, dtype=np.int64)
        return Blocks(
            np.zeros((0, m, lanes_of(np.dtype(np.float32))), self.packed_dtype), empty, empty, np.arange(m), False
        )


def simba_steps(
    margins: Margins, w: FloatArray, order: IndexArray, step: FloatArray, *, beta: float = 0.0
) -> FloatArray:
    """Take the steps and return the new weights.

    w_i ← w_i + step · ½ ((x−m)_i² / ‖x−m‖_w − (x−h)_i² / ‖x−h‖_w) · w_i, near miss m and near hit h
    under the current w.

    Parameters
    ----------
    margins : Margins
    w : ndarray of shape (m,)
        Weights to begin with.
    order : int ndarray
        The row of each step.
    step : ndarray of the same shape
        Sizes of the steps.
    beta : float
        If positive, steps are multiplied by the slope of the sigmoid utility.

    Returns
    -------
    ndarray of shape (m,)
    """
    w = np.array(w, dtype=np.float64)
    _refuse_growth(margins, w, step, beta)
    order = np.ascontiguousarray(order, dtype=np.int64)
    step = np.ascontiguousarray(step, dtype=np.float64)
    # The sign of a weight does not matter for ‖·‖_w. A weight of 0 cannot be a reference: a ratio of weights bounds how
    # far distances have moved since the lists were made.
    lists = margins.lists(np.where(w == 0, 1.0, np.abs(w))) if margins.lists_pay(w, order, step) else margins.no_lists()
    blocks, at, packed_at = margins.no_blocks(), 0, 0
    threads = 1 if lists.row.shape[2] or margins.rows.size < _SHARED else effective_n_jobs(margins.n_jobs)
    # Blocks are packed when a step first needs them, and again, ever less often, while scans are frequent: the order
    # of features that serves early steps is not that of later weights.
    while at < len(order):
        end = min(at + _CHUNK, len(order))
        stopped, scans = run_with_helpers(partial(margins.steps, w, order, step, beta, lists, blocks, at, end), threads)
        at = stopped
        # A step stops if it needs blocks and has none. Doubling the distance between two packings bounds their cost.
        if stopped < end or (scans > _CHUNK // 8 and at >= 2 * packed_at):
            blocks, packed_at = margins.pack(w), at
    return w


def _refuse_growth(margins: Margins, w: FloatArray, step: FloatArray, beta: float) -> None:
    """Raise an error if the weights could grow so much that weighted distances overflow. As in `simba_steps`."""
    # Since ‖x − z‖_w ≥ w_i |x_i − z_i|, a step adds at most step · |x_i − z_i| to w_i; the slope of the sigmoid utility
    # is at most β / 4.
    span = float(margins.missing_distance.max())
    with np.errstate(over="ignore"):
        grown = float(np.abs(w).max()) + float(np.sum(step)) * (beta / 4 if beta > 0 else 1.0) * span
        bound = np.square(np.float64(grown) * span) * len(w)
    if not bound <= float(np.finfo(np.float64).max) / 4:
        raise InvalidDataError(
            f"a feature spans {span:.3g}, and with it the weights of SIMBA grow until distances overflow float64: "
            "rescale the features (for example with sklearn.preprocessing.StandardScaler)"
        )


def _refuse_beyond_single(largest: FloatArray) -> None:
    """Raise an error if centred numbers are too large or too small for float32, in which mixed tables are packed."""
    extreme = (largest > 1e37) | ((largest > 0) & (largest < 1e-30))
    if extreme.any():
        raise InvalidDataError(
            f"a feature spans {2 * float(largest[extreme][0]):.3g}, which SIMBA cannot compare beside categories or "
            "missing values: rescale the features (for example with sklearn.preprocessing.StandardScaler)"
        )


def margin_sum(margins: Margins, w: FloatArray) -> float:
    """Return the sum of the margins of all rows, by which restarts are compared.

    The margin of x is θ(x) = ½ (‖x − m‖_w − ‖x − h‖_w), with the near miss m and the near hit h.
    """
    references = build_references(
        margins.rows,
        weights=Weights(feature_weights=w**2) if (w != 0).any() else None,
        nominal=margins.nominal,
        groups=margins.codes,
        n_groups=margins.n_classes,
    )
    n = len(margins.rows)
    squared, _ = Scan(references).search(
        references.select(margins.rows), 1, own_slot=np.arange(n), missing=references.missing,
        n_jobs=effective_n_jobs(margins.n_jobs),
    )  # fmt: skip
    hit = np.arange(margins.n_classes)[None, :] == margins.codes[:, None]
    distance = np.sqrt(squared[:, :, 0].astype(np.float64))
    # A row of a singleton class has no hit: only its distance to the near miss counts.
    # The scan has found the nearest row of each class: that of the own class is the hit, and the nearest of all others
    # is the miss.
    to_hit = np.where(hit, distance, np.inf).min(axis=1)
    to_miss = np.where(hit, np.inf, distance).min(axis=1)
    return float(np.sum(np.where(np.isfinite(to_hit), to_miss - to_hit, to_miss)) / 2)
