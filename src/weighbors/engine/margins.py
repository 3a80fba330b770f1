"""Margins of rows under changing weights: find the near hit and near miss of each step of SIMBA.

Rows are packed in single precision. A step scans them, and measures exactly what may be the nearest (paper 000,
algorithm 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from .._parallel.threads import effective_n_jobs, fixed_ranges, run_kernel
from .._typing import BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from .backends.scan import aligned_empty, lane_layout
from .references import build_references, column_ranges

_CHUNK = 256  # steps after which rows are packed again, and after twice as many each time


class Margins:
    """Rows and classes of a dense coded table, prepared for the search of the near hit and near miss in each step."""

    def __init__(
        self, X: Any, codes: IndexArray, n_classes: int, nominal: BoolArray, n_jobs: int | None = None
    ) -> None:
        self.rows = np.require(X, dtype=np.float64, requirements=["C_CONTIGUOUS", "ALIGNED"])
        self.codes, self.n_classes = np.asarray(codes, dtype=np.int64), n_classes
        self.nominal, self.n_jobs = nominal, n_jobs
        # Numbers whose squares leave the range of float64 are refused, as in every search.
        build_references(self.rows, nominal=self.nominal)
        low, high, missing = column_ranges(self.rows)
        mixed = bool(self.nominal.any() or missing.any())
        self.missing_distance = np.where(self.nominal, 1.0, high - low)
        center = np.where(self.nominal, 0.0, low / 2 + high / 2)
        largest = np.where(self.nominal, 0.0, np.maximum(high - center, center - low))
        if mixed:
            _refuse_beyond_single(largest)
        # Packed values are (x - center) * levels in single precision. `moved` bounds what that rounding moves a value
        # by, so that a scan over packed rows can tell which rows cannot be the nearest, and measures only the others.
        levels, moved = np.ones_like(largest), 2.0 * np.finfo(np.float32).eps * largest
        if not mixed:
            wide = largest > 0  # A constant column has no levels, and needs none.
            levels[wide] = 1 / largest[wide]
        lanes = _native.BLOCK_LANES_FLOAT32
        self._ids, block_start = lane_layout(self.codes, self.n_classes, lanes)
        self._block_code = np.repeat(np.arange(self.n_classes), np.diff(block_start)).astype(np.int64)
        self._packed_shape = (len(self._block_code), self.rows.shape[1], lanes)
        self._arrays: dict[str, Any] = {
            "rows": self.rows,
            "codes": self.codes,
            "missing_distance": self.missing_distance,
            "nominal": self.nominal,
            "mixed": mixed,
            "center": center,
            "levels": levels,
            "unit": 1.0 / levels**2,
            "rounding": moved**2,
        }

    def scaled_rows(self, w: FloatArray) -> FloatArray:
        """Return the rows with numeric columns multiplied by w. Categories do not change."""
        factor = np.where(self.nominal, 1.0, w)
        return self.rows if (factor == 1).all() else self.rows * factor

    def pack(self, w: FloatArray) -> _native.Margins:
        """Pack centred rows in blocks of one class each.

        If few features make up most of the distances, these features come first, so that a scan can rule out rows
        after a few features.
        """
        m = self.rows.shape[1]
        # (Σ part)² / Σ part² is the effective number of features: m where all are equal, 1 where one carries all.
        part = np.abs(w * self.missing_distance)
        # Only their ratios matter, and fourth powers fit.
        part = (part / max(part.max(), np.finfo(np.float64).tiny)) ** 2
        gathered = float(part.sum()) ** 2 < 0.5 * m * float((part**2).sum())
        packed = _native.make_margins(
            **self._arrays,
            packed=aligned_empty(self._packed_shape, np.dtype(np.float32)),
            ids=self._ids,
            block_code=self._block_code,
            feature_order=np.argsort(-part, kind="stable") if gathered else np.arange(m),
        )
        n_blocks = len(self._block_code)
        ranges = fixed_ranges(n_blocks, max(1, n_blocks // 16))
        run_kernel(_native.pack_margins, ranges, effective_n_jobs(self.n_jobs), margins=packed)
        return packed


def simba_steps(margins: Margins, w: FloatArray, order: IndexArray, step: FloatArray) -> FloatArray:
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

    Returns
    -------
    ndarray of shape (m,)
    """
    w = np.array(w, dtype=np.float64)
    _refuse_growth(margins, w, step)
    order = np.ascontiguousarray(order, dtype=np.int64)
    step = np.ascontiguousarray(step, dtype=np.float64)
    # The order of features that serves early steps is not that of later weights. Doubling the distance between two
    # packings bounds their cost.
    begin = 0
    while begin < len(order):
        end = min(max(_CHUNK, 2 * begin), len(order))
        _native.take_simba_steps(margins=margins.pack(w), order=order, step=step, w=w, begin=begin, end=end)
        begin = end
    return w


def _refuse_growth(margins: Margins, w: FloatArray, step: FloatArray) -> None:
    """Raise an error if the weights could grow so much that weighted distances overflow. As in `simba_steps`."""
    # Since ‖x − z‖_w ≥ w_i |x_i − z_i|, a step adds at most step · |x_i − z_i| to w_i.
    span = float(margins.missing_distance.max())
    with np.errstate(over="ignore"):
        grown = float(np.abs(w).max()) + float(np.sum(step)) * span
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
