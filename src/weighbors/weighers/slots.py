"""How much each of the k nearest neighbours counts: equally, by its rank or by its distance, also if some are tied."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import FloatArray
from ..exceptions import InvalidDataError

__all__ = ["SIGMA_CONSTRAINTS", "NeighborWeights", "share_slots", "tolerance"]

#: Constraints of the parameters of `NeighborWeights.of`, for ``_parameter_constraints``.
SIGMA_CONSTRAINTS: dict[str, list[Any]] = {
    "sigma": [None, Interval(Real, 0, None, closed="neither")],
    "neighbor_weights": [None, StrOptions({"uniform", "rank", "distance"})],
}


def tolerance(dtype: Any) -> float:
    """Return the relative tolerance within which two distances count as tied."""
    return 1e-10 if dtype == np.float64 else 1e-5


def share_slots(distance: FloatArray, k: int, *, ties: str, tol: float) -> FloatArray:
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
    tol : float
        Distances that differ by less than this share of themselves are tied.
    """
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


@dataclass(frozen=True)
class NeighborWeights:
    """What the k nearest neighbours of a row count, relative to each other.

    "uniform": each counts the share of a slot that it fills (`share_slots`). "rank": the neighbour at place r of the
    order by distance counts exp(−(r / σ)²), and tied neighbours share their places: each counts the mean of the
    places that they hold together. "distance": a neighbour counts its share of a slot divided by its distance; if
    some are at distance 0, only these count.
    """

    kind: str = "uniform"
    sigma: float | None = None

    @classmethod
    def of(cls, neighbor_weights: str | None, sigma: float | None) -> NeighborWeights:
        """Return the weights that the parameters ``neighbor_weights`` and ``sigma`` of a weigher ask for."""
        kind = neighbor_weights or ("uniform" if sigma is None else "rank")
        if kind == "rank" and sigma is None:
            raise InvalidDataError(
                "neighbor_weights='rank' needs sigma, the rank at which a neighbour counts exp(-1): give for example "
                "sigma=20, the value of the paper of RReliefF"
            )
        if kind != "rank" and sigma is not None:
            raise InvalidDataError(
                f"sigma={sigma} belongs to neighbor_weights='rank'; got neighbor_weights={kind!r}. Leave one out"
            )
        return cls(kind, None if sigma is None else float(sigma))

    def __call__(self, distance: FloatArray, k: int, *, ties: str, tol: float) -> FloatArray:
        """Return what each neighbour counts. The parameters are those of `share_slots`."""
        if self.kind == "rank":
            return self._by_rank(distance, k, ties=ties, tol=tol)
        share = share_slots(distance, k, ties=ties, tol=tol)
        if self.kind == "uniform":
            return share
        # 1 / d, times the smallest distance of the list: so it cannot overflow, and 0 / 0 is the case of distance 0.
        far = distance.astype(np.float64)
        nearest = far[..., :1]
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(far > 0, nearest / far, 1.0)
        return np.where(share > 0, share * ratio, 0.0)

    def _by_rank(self, distance: FloatArray, k: int, *, ties: str, tol: float) -> FloatArray:
        """Return the weights by rank. The parameters are those of `share_slots`."""
        assert self.sigma is not None
        width = distance.shape[-1]
        place = np.arange(1, width + 1)
        # The factor exp(1 / σ²) cancels when weights are normalised; without it, all could underflow to 0. The square
        # of an extreme σ would over- or underflow, so each factor of 1 − r² = (1 − r)(1 + r) is divided by σ.
        width_of_ranks = max(self.sigma, 1e-150)
        exponent = (1 - place) / width_of_ranks * ((1 + place) / width_of_ranks)
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
