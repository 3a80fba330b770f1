"""SIMBA: feature weights by steps along the gradient of the margin (paper 000, algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .. import _native
from .._threads import effective_n_jobs, run_crew, run_ranges
from .._typing import BoolArray, FloatArray, IndexArray
from ..engine.backends.scan import Scan, aligned_empty, lane_layout
from ..engine.pairs import fixed_ranges
from ..engine.plan import lanes_of
from ..engine.references import build_references, extent
from ..weights import Weights
from ._base import FeatureWeigher
from ._instances import densified

__all__ = ["Margins", "Simba", "published", "simba_steps"]

_LISTED = (8, 16)  # hits, and misses, listed per row: where there are many, and few, rows
_SHARED = 400_000  # values from which threads share a scan: each part takes some 10 µs
_CHUNK = 256  # steps between two looks at the order of features and the lists


class Lists(NamedTuple):
    """Nearest hits and misses of every row under reference weights, and how far all others are."""

    row: IndexArray  # (n, 2, width), -1: none
    square: FloatArray  # their squared distances
    reach: FloatArray  # (n, 2)
    reference: FloatArray  # (m,)


class Blocks(NamedTuple):
    """Packed rows for scans."""

    packed: FloatArray
    ids: IndexArray
    block_code: IndexArray
    feature_order: IndexArray
    expanded: bool  # weights are even: a scan that cannot stop early, but takes fewer operations


@dataclass
class Margins:
    """Rows and classes, ready for steps: where the near hit and the near miss are sought."""

    rows: FloatArray  # (n, m) float64
    codes: IndexArray
    n_classes: int
    nominal: BoolArray
    n_jobs: int | None = None

    @classmethod
    def of(cls, X: Any, codes: IndexArray, n_classes: int, nominal: BoolArray, n_jobs: int | None) -> Margins:
        """From a coded table; sparse ones become dense while they fit 2 GiB."""
        rows = np.ascontiguousarray(densified(X, "SIMBA"), dtype=np.float64)
        return cls(rows, np.asarray(codes, dtype=np.int64), n_classes, nominal, n_jobs)

    def __post_init__(self) -> None:
        low, high, missing = extent(self.rows)
        self.mixed = bool(self.nominal.any() or missing.any())
        self.gap = np.where(self.nominal, 1.0, high - low)
        self.center = np.where(self.nominal, 0.0, low / 2 + high / 2)
        largest = np.where(self.nominal, 0.0, np.maximum(high - self.center, self.center - low))
        # packed values are (x - center) * levels: rounded to 16 bits, or floats where some are missing or nominal
        self.levels, moved = np.ones_like(largest), 2.0 * np.finfo(np.float32).eps * largest
        if not self.mixed:
            wide = largest > 0
            self.levels[wide], moved[wide] = 32766 / largest[wide], 0.5001 / 32766 * largest[wide]
        self.unit, self.rounding = 1.0 / self.levels**2, moved**2

    def scaled_rows(self, w: FloatArray) -> FloatArray:
        """Numeric columns times w; categories as they are."""
        factor = np.where(self.nominal, 1.0, w)
        return self.rows if (factor == 1).all() else self.rows * factor

    def lists(self, w: FloatArray) -> Lists:
        """The nearest hits and misses of every row under w, and how far all others are at least."""
        n = len(self.rows)
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
        reach = np.full((n, 2), np.inf)
        hit = np.arange(self.n_classes)[None, :] == self.codes[:, None]
        for side, mask in enumerate((hit, ~hit)):
            distance = np.where(mask[:, :, None], squared, np.inf).reshape(n, -1)
            order = np.argsort(distance, axis=1, kind="stable")[:, :width]
            ranked = np.take_along_axis(distance, order, axis=1)
            rows = np.where(np.isfinite(ranked), np.take_along_axis(slot.reshape(n, -1), order, axis=1), -1)
            kept = min(most, rows.shape[1])
            listed[:, side, :kept], square[:, side, :kept] = rows[:, :kept], ranked[:, :kept]
            if rows.shape[1] > most:
                reach[:, side] = np.sqrt(ranked[:, most])
        return Lists(listed, square, reach, w)

    def lists_pay(self, w: FloatArray, order: IndexArray, step: FloatArray) -> bool:
        """Whether weights are likely to move so little that lists hold for many steps.

        Lists cost about as much as n / 8 scans. Judged by what one step would do to the weights,
        between the first two rows, as if steps were a random walk.
        """
        if len(order) < len(self.rows) // 8:
            return False
        x, z = self.rows[order[0]], self.rows[order[min(1, len(order) - 1)]]
        difference = np.where(np.isnan(x - z), self.gap, x - z)
        length = np.sqrt(np.sum((w * difference) ** 2))
        change = float(step.max()) * np.max(difference**2) / length if length > 0 else 0.0
        return bool(change * np.sqrt(len(self.rows) / 8) < 0.2)

    def no_lists(self) -> Lists:
        """Every step scans."""
        n, m = self.rows.shape
        return Lists(np.zeros((n, 2, 0), np.int64), np.zeros((n, 2, 0)), np.zeros((n, 2)), np.ones(m))

    def pack(self, w: FloatArray) -> Blocks:
        """Centred rows in single precision: blocks of one class each.

        Where few features carry most of the distances they come first: partial sums tell sooner.
        """
        m = self.rows.shape[1]
        part = (w * self.gap) ** 2
        gathered = float(part.sum()) ** 2 < 0.5 * m * float((part**2).sum())
        feature_order = np.argsort(-part, kind="stable") if gathered else np.arange(m)
        lanes = lanes_of(np.dtype(np.float32))
        ids, block_start = lane_layout(self.codes, self.n_classes, lanes)
        packed = aligned_empty((len(ids) // lanes, m, lanes), self.packed_dtype)

        def task(begin: int, end: int) -> None:
            _native.pack_margins(self.rows, self.center, self.levels, feature_order, ids, packed, begin, end)

        n_jobs = effective_n_jobs(self.n_jobs)
        run_ranges(task, fixed_ranges(len(packed), max(1, len(packed) // 16)), n_jobs)
        block_code = np.repeat(np.arange(self.n_classes), np.diff(block_start)).astype(np.int64)
        return Blocks(packed, ids, block_code, feature_order, not gathered)

    @property
    def packed_dtype(self) -> np.dtype[Any]:
        """Of packed rows."""
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
        crew: _native.Crew,
    ) -> tuple[int, int]:
        """Take steps ``begin`` to ``end`` and change w; where it stopped for want of blocks, and how many scans."""
        return _native.simba(
            self.rows,
            self.codes,
            self.gap,
            self.nominal,
            self.mixed,
            blocks.packed,
            self.center,
            self.levels,
            self.unit,
            self.rounding,
            blocks.ids,
            blocks.block_code,
            blocks.feature_order,
            blocks.expanded,
            lists.row,
            lists.square,
            lists.reach,
            lists.reference,
            order,
            step,
            beta,
            w,
            crew,
            begin,
            end,
        )

    def no_blocks(self) -> Blocks:
        """None packed yet."""
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
    under the current w. ``beta`` > 0: steps times the slope of the sigmoid utility.
    """
    w = np.array(w, dtype=np.float64)
    order = np.ascontiguousarray(order, dtype=np.int64)
    step = np.ascontiguousarray(step, dtype=np.float64)
    lists = margins.lists(np.where(w == 0, 1.0, np.abs(w))) if margins.lists_pay(w, order, step) else margins.no_lists()
    blocks, at, packed_at = margins.no_blocks(), 0, 0
    threads = 1 if lists.row.shape[2] or margins.rows.size < _SHARED else effective_n_jobs(margins.n_jobs)
    while at < len(order):
        end = min(at + _CHUNK, len(order))
        stopped, scans = run_crew(partial(margins.steps, w, order, step, beta, lists, blocks, at, end), threads)
        at = stopped
        if stopped < end or (scans > _CHUNK // 8 and at >= 2 * packed_at):
            blocks, packed_at = margins.pack(w), at
    return w


def margin_sum(margins: Margins, w: FloatArray) -> float:
    """Σ θ(x) = Σ ½ (‖x − m‖_w − ‖x − h‖_w): what restarts are compared by."""
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
    to_hit = np.where(hit, distance, np.inf).min(axis=1)
    to_miss = np.where(hit, np.inf, distance).min(axis=1)
    return float(np.sum(np.where(np.isfinite(to_hit), to_miss - to_hit, to_miss)) / 2)


def published(w: FloatArray) -> FloatArray:
    """w² / max w² (paper 000, algorithm 1, line 17)."""
    squared: FloatArray = w**2
    return squared / squared.max() if squared.max() > 0 else np.ones_like(squared)


class Simba(FeatureWeigher):
    """SIMBA: weigh features by stochastic steps that widen the margins of 1-NN.

    Scale the features first (for example with StandardScaler): differences are taken as they are.

    Parameters
    ----------
    n_passes : int, default=1
        Passes of N steps.
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    step : float or "1/n", default=1.0
        Size of the steps. "1/n" is as small as SIMBAMBIW's steps are, and just as stable.
    order : {"random", "fixed"}, default="random"
        A new permutation per pass, or the rows as they are.
    utility : {"linear", "sigmoid"}, default="linear"
        What is summed over margins: themselves, or 1 / (1 + exp(−beta θ)).
    beta : float, default=1.0
        Of the sigmoid utility.
    n_restarts : int, default=1
        Runs with different orders; the one with the largest sum of margins is kept.
    threshold, categorical_features
        As in `Relief`.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads of the first search, and of each scan of all rows; steps follow one another.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        w² / max w².
    weights_ : Weights
        a = W² for the published W, as algorithm 2 uses them.
    margin_sum_ : float
        Sum of the margins under w, where there are restarts; otherwise None.
    support_ : bool ndarray of shape (n_features,)
    classes_ : ndarray of shape (n_classes,)

    References
    ----------
    .. [1] R. Gilad-Bachrach, A. Navot, N. Tishby, "Margin based feature selection: theory and
       algorithms", ICML 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from weighbors import Simba
    >>> X, y = load_iris(return_X_y=True)
    >>> Simba(step="1/n", random_state=0).fit(scale(X), y).feature_weights_.argsort()[::-1]
    array([3, 2, 1, 0])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **FeatureWeigher._parameter_constraints,
        "n_passes": [Interval(Integral, 1, None, closed="left")],
        "step": [Interval(Real, 0, None, closed="neither"), StrOptions({"1/n"})],
        "order": [StrOptions({"random", "fixed"})],
        "utility": [StrOptions({"linear", "sigmoid"})],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_passes: int = 1,
        n_features_to_select: float | None = None,
        *,
        step: float | str = 1.0,
        order: str = "random",
        utility: str = "linear",
        beta: float = 1.0,
        n_restarts: int = 1,
        threshold: float | None = None,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_passes = n_passes
        self.n_features_to_select = n_features_to_select
        self.step = step
        self.order = order
        self.utility = utility
        self.beta = beta
        self.n_restarts = n_restarts
        self.threshold = threshold
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Simba:
        """Weigh the features.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Sparse rows become dense while they fit 2 GiB.
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        X, codes = self._open(X, y)
        margins = Margins.of(X, codes, len(self.classes_), self._coder.nominal_of(X), self.n_jobs)
        n, rng = len(codes), check_random_state(self.random_state)
        step = np.full(n * self.n_passes, 1.0 / n if self.step == "1/n" else float(self.step))
        beta = self.beta if self.utility == "sigmoid" else 0.0
        best: FloatArray = np.ones(margins.rows.shape[1])
        self.margin_sum_: float | None = None
        for _ in range(self.n_restarts):
            passes = [np.arange(n) if self.order == "fixed" else rng.permutation(n) for _ in range(self.n_passes)]
            w = simba_steps(margins, np.ones(margins.rows.shape[1]), np.concatenate(passes), step, beta=beta)
            if self.n_restarts == 1:
                best = w
                continue
            reached = margin_sum(margins, np.sqrt(published(w)))
            if self.margin_sum_ is None or reached > self.margin_sum_:
                best, self.margin_sum_ = w, reached
        self._close(X, published(best), square=True)
        return self
