"""Nearest rows of each class, and how much each of them counts: equally or by its rank, also if some are tied.

A permuted target changes no distance. So many fits to the same rows with different targets need the distances between
rows only once (`rank_rows`): each fit then picks its nearest rows of each class from ranked lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .. import _native
from .._parallel.progress import watch
from .._typing import FloatArray, IndexArray
from ..tables.coded import CodedTable
from .rows import Instances

LIST_BYTES = 256 * 2**20  # memory for ranked lists
#: Relative tolerance within which two distances count as tied.
TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-10}


@dataclass(frozen=True)
class Neighbors:
    """The neighbours of some rows in each class: which rows, how far, and how much each one counts."""

    query: IndexArray  # (n,) the rows whose neighbours these are
    row: IndexArray  # (n, n_classes, width) the neighbours, -1 if there is none
    share: FloatArray  # of the same shape; the share of a slot that is filled, or the weight by rank
    distance: FloatArray  # of the same shape


#: The nearest other rows of each row, whatever their class is, nearest first: their distances and numbers.
RankedRows = tuple[FloatArray, IndexArray]


def find_neighbors(
    rows: Instances,
    target: CodedTable,
    k: int,
    *,
    ties: str = "share",
    skip_zero: bool = False,
    sigma: float | None = None,
    ranked: RankedRows | None = None,
) -> Iterator[Neighbors]:
    """Yield the k nearest rows of each class for every row that contributes, in batches.

    A row is not its own neighbour.

    Parameters
    ----------
    rows : Instances
    target : CodedTable
        Its classes, and which rows contribute.
    k : int
        Neighbours per class.
    ties : {"share", "index"}
        Whether neighbours tied at the k-th distance share its slots, or the rows with lower numbers are taken.
    skip_zero : bool
        Whether neighbours at distance 0 are left out.
    sigma : float or None
        Width of the weights by rank (`weigh_by_rank`). None: each neighbour counts the share of a slot that it fills.
    ranked : RankedRows or None
        Result of `rank_rows`, if there is one.
    """
    tol = TOLERANCE[rows.dtype]
    asked = np.arange(rows.n) if target.drawn is None else target.drawn
    engine = rows.make_engine(target) if ranked is None else None
    # A batch has at most about 4 million neighbours, which keeps its arrays at some 100 MB.
    size = max(64, int(4e6) // (target.n_groups * (k + 1)))
    begins = range(0, len(asked), size)
    for begin in watch(begins, len(begins), "batch of rows"):
        # One more than k shows whether ties end there, and another one makes up for a neighbour at distance 0.
        batch, width = asked[begin : begin + size], k + (ties == "share") + skip_zero
        while len(batch):
            width = min(width, rows.n)
            if engine is not None:
                distance, found = engine.search(rows.take(batch), width, own_row=batch, grouped=True)
            else:
                assert ranked is not None
                distance, found = _pick_nearest(rows, target, batch, width, ranked)
            last = distance[..., -1]  # inf: the class has no further row
            if skip_zero:
                distance, found = _without_zeros(distance, found)
            kth = distance[..., min(k, width) - 1]
            # A list is long enough if the class has no further row, or its last row is farther than the ties.
            known = np.isinf(last) | (np.isfinite(kth) & ((ties == "index") | (last > kth * (1 + tol))))
            done = known.all(axis=1) | (width == rows.n)
            if done.any():
                far = distance[done]
                share = share_slots(far, k, ties) if sigma is None else weigh_by_rank(far, k, ties, sigma)
                yield Neighbors(batch[done], found[done], share, far)
            # The others are searched again with a longer list. Few rows have so many ties, so it costs little.
            batch, width = batch[~done], 4 * width


def _without_zeros(distance: FloatArray, found: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Remove the neighbours at distance 0 from the lists, and move the others up."""
    zero = distance == 0
    # A stable sort by "is 0" keeps the order of all other neighbours.
    order = np.argsort(zero, axis=-1, kind="stable")
    zero = np.take_along_axis(zero, order, axis=-1)
    distance = np.where(zero, np.inf, np.take_along_axis(distance, order, axis=-1))
    return distance, np.where(zero, -1, np.take_along_axis(found, order, axis=-1))


def rank_rows(rows: Instances, target: CodedTable, k: int) -> RankedRows:
    """Rank the nearest rows of each row, so that nearly all lists have k rows of every class and one more.

    ``target`` is any of the targets of the fits. If labels are exchanged at random, the number of rows of a class in a
    list has a hypergeometric distribution. Three times the expected length, and some more, leaves about one row in a
    million without enough rows of each class.
    """
    n = rows.n
    smallest = max(1, int(np.bincount(target.codes, minlength=target.n_groups).min()))
    length = 3 * (k + 1) * n // smallest + 50
    length = n - 1 if 2 * length > n else length
    length = max(1, min(length, LIST_BYTES // (12 * n)))
    everyone = np.arange(n)
    engine = rows.make_engine(target.without_classes())
    distance, row = engine.search(rows.take(everyone), length, own_row=everyone, grouped=True)
    return np.ascontiguousarray(distance[:, 0]), row[:, 0].astype(np.int32)


def _pick_nearest(
    rows: Instances, target: CodedTable, batch: IndexArray, width: int, ranked: RankedRows
) -> tuple[FloatArray, IndexArray]:
    """Return the nearest rows of each class, from the ranked lists as far as these are long enough."""
    distance = np.full((len(batch), target.n_groups, width), np.inf, dtype=rows.dtype)
    found = np.full(distance.shape, -1, dtype=np.int64)
    lacking = np.empty(len(batch), dtype=bool)
    _native.pick_nearest(
        row=ranked[1],
        ranked_distance=ranked[0],
        codes=target.codes,
        asked=np.ascontiguousarray(batch, dtype=np.int64),
        distance=distance,
        id=found,
        lacking=lacking,
        begin=0,
        end=len(batch),
    )
    if ranked[1].shape[1] < rows.n - 1 and lacking.any():
        # Rows beyond the lists may be of the classes that are short of rows.
        short = batch[lacking]
        engine = rows.make_engine(target)
        distance[lacking], found[lacking] = engine.search(rows.take(short), width, own_row=short, grouped=True)
    return distance, found


def share_slots(distance: FloatArray, k: int, ties: str) -> FloatArray:
    """Return the share of the k slots that each neighbour fills.

    Parameters
    ----------
    distance : ndarray of shape (..., width)
        Distances of the neighbours, ascending, infinite if there is no neighbour.
    k : int
        Number of slots.
    ties : {"share", "index"}
        With "index" the first k neighbours fill one slot each. With "share" the neighbours tied at the k-th distance
        share the slots that the nearer ones leave, and the list must contain all of them.
    """
    tol = TOLERANCE[distance.dtype]
    # Padding has an infinite distance and fills no slot.
    real = np.isfinite(distance)
    first = real & (np.arange(distance.shape[-1]) < k)
    if ties == "index" or distance.shape[-1] < k:
        return first.astype(np.float64)
    kth = distance[..., k - 1 : k]
    # Distances that differ only by rounding count as tied, so results do not depend on the order of rows.
    with np.errstate(invalid="ignore"):
        nearer = real & (distance < kth * (1 - tol))
        tied = real & ~nearer & (distance <= kth * (1 + tol))
    slots = k - nearer.sum(axis=-1, keepdims=True)
    # Tied neighbours share the slots that the nearer ones leave, but none of them fills more than one.
    share = nearer + tied * np.minimum(1.0, slots / np.maximum(tied.sum(axis=-1, keepdims=True), 1))
    return np.where(np.isfinite(kth), share, first)


def weigh_by_rank(distance: FloatArray, k: int, ties: str, sigma: float) -> FloatArray:
    """Return the weight of each neighbour by its rank: exp(−(r / σ)²) for rank r, and 0 beyond k.

    With ``ties="share"`` tied neighbours share their ranks: each counts the mean of the ranks that they hold together.
    The other parameters are those of `share_slots`.
    """
    width, tol = distance.shape[-1], TOLERANCE[distance.dtype]
    place = np.arange(1, width + 1)
    # The factor exp(1 / σ²) cancels when weights are normalised; without it, all could underflow to 0. The square
    # of an extreme σ would over- or underflow, so each factor of 1 − r² = (1 − r)(1 + r) is divided by σ.
    sigma = max(sigma, 1e-150)
    exponent = (1 - place) / sigma * ((1 + place) / sigma)
    of_place = np.where(place <= k, np.exp(exponent), 0.0)
    of_place = np.where(np.isfinite(distance), of_place, 0.0)
    if ties == "index" or width < 2:
        return of_place
    # A group of ties begins where a distance is larger than the one before it by more than rounding. The sum of
    # the weights of a group is a difference of prefix sums at its two ends.
    with np.errstate(invalid="ignore"):
        begins = np.ones(distance.shape, dtype=bool)
        begins[..., 1:] = ~(distance[..., 1:] <= distance[..., :-1] * (1 + tol))
    at = np.arange(width)
    first = np.maximum.accumulate(np.where(begins, at, 0), axis=-1)
    ends = np.ones(distance.shape, dtype=bool)
    ends[..., :-1] = begins[..., 1:]
    last = np.minimum.accumulate(np.where(ends, at, width)[..., ::-1], axis=-1)[..., ::-1]
    prefix = np.zeros((*distance.shape[:-1], width + 1))
    np.cumsum(of_place, axis=-1, out=prefix[..., 1:])
    total = np.take_along_axis(prefix, last + 1, axis=-1) - np.take_along_axis(prefix, first, axis=-1)
    shared: FloatArray = np.where(np.isfinite(distance), total / (last - first + 1), 0.0)
    return shared
