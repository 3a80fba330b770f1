"""SURF, SURF*, MultiSURF and MultiSURF*: neighbours by a distance threshold, not by number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._parallel.threads import effective_n_jobs, run_ranges
from .._targets import TARGET_TYPES
from .._typing import FloatArray, IndexArray
from ..engine.backends.scan import align_rows
from ..engine.sparse_zones import SparseZoneRows
from ..engine.zones import ZoneRows, Zones, zone_coefficients
from .base import ContributionWeigher
from .neighborhoods import DENSE_BYTES, Instances
from .relief import prior_ratios
from .slots import tolerance
from .tables import CodedTable

__all__ = ["SURF", "MultiSURF", "MultiSURFStar", "SURFStar", "hit_ranges", "surf_scores"]

_DISTANCE_BYTES = 128 * 2**20  # memory for the distances of all pairs
_MOST_ENTRIES = 0.2  # share of the cells up to which sparse rows are faster than dense ones
_LEAST_FEATURES = 32  # with fewer, known distances take as long to read as to compute


def mean_distance(instances: Instances) -> float:
    """Return the mean distance of all pairs of rows, in float64."""
    n = instances.n
    # Sorting a feature gives the sum over all pairs without visiting them: the r-th smallest value is added r times and
    # subtracted n − 1 − r times.
    if instances.plain:  # Σ over pairs of |x − z| = Σ_r (2 r − n + 1) x_(r), from the sorted values of a feature
        rank = 2.0 * np.arange(n) - (n - 1)
        return float(np.sum(rank @ np.sort(instances.pairs.rows, axis=0).astype(np.float64))) / (n * (n - 1) / 2)
    pairs = instances.pairs

    def task(begin: int, end: int) -> float:
        """Return the sum of the distances of rows [begin, end) to all rows."""
        d = pairs.distances(begin, end)[:, :n]
        d[np.arange(end - begin), np.arange(begin, end)] = 0.0  # a missing value is far from itself
        return float(d.sum(dtype=np.float64))

    parts = run_ranges(task, pairs.ranges(), effective_n_jobs(instances.n_jobs))
    # The distances of all rows to all others count each pair twice.
    return float(np.sum(parts)) / (n * (n - 1))


def hit_ranges(target: FloatArray) -> IndexArray:
    """Return, for each row, the number of its first hit and that of the row after its last hit, of shape (n, 2).

    A hit is a row whose target differs by less than the standard deviation of all targets (that of a sample, divided
    by n − 1, as in scikit-rebate). ``target`` ascends, so that the hits of a row follow each other.
    """
    # Between 0 and 1 a large offset of the target cannot round differences away.
    scaled = (target - target[0]) / (target[-1] - target[0])
    # Differences that equal the standard deviation up to rounding are misses: rounding must not decide.
    limit = float(scaled.std(ddof=1)) * (1 - 1e-10)
    first = np.searchsorted(scaled, scaled - limit, side="right")
    last = np.searchsorted(scaled, scaled + limit, side="left")
    return np.column_stack([first, last]).astype(np.int64)


def _hits_and_misses(codes: IndexArray, n_classes: int, target: FloatArray | None) -> dict[str, Any]:
    """Return the attributes of `Zones` that say who is a hit, and how much misses count.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        The class of each row, in ascending order.
    n_classes : int
    target : ndarray of shape (n,) or None
        The numeric target of each row, in ascending order, if there is one.
    """
    if target is not None:
        return {
            "class_start": np.array([0, len(target)]),
            "hit_range": hit_ranges(target),
            "factor": np.array([[-1.0, 1.0]]),
        }
    factor = prior_ratios(codes, n_classes)
    # Hits count −1, as in ReliefF; misses count by the prior of their class.
    np.fill_diagonal(factor, -1.0)
    return {
        "class_start": np.searchsorted(codes, np.arange(n_classes + 1)).astype(np.int64),
        "hit_range": np.zeros((0, 2), dtype=np.int64),
        "factor": factor,
    }


def _has_zone_rows(instances: Instances) -> bool:
    """Return whether the rows have a kernel that needs no array of coefficients: that for complete float64 numbers."""
    return instances.plain and instances.rows.dtype == np.float64 and not _stays_sparse(instances)


def _stays_sparse(instances: Instances) -> bool:
    """Return whether the rows are not made dense: they are complete sparse numbers, and few, or too large if dense."""
    if not (instances.sparse and instances.plain):
        return False
    cells = instances.n * instances.n_features
    return instances.rows.nnz <= _MOST_ENTRIES * cells or 8 * cells > DENSE_BYTES


def surf_scores(instances: Instances, sample_weight: FloatArray, *, multi: bool, star: bool) -> FloatArray:
    """Return the scores of a method of the SURF family.

    A score is the mean difference to near misses less that to near hits. The starred methods also use far hits and
    misses, with the opposite sign.

    In SURF a neighbour is near if its distance is below the mean of all distances, and far if it is above. In
    MultiSURF each instance has limits of its own: the mean of its distances less (plus) half their standard
    deviation. Misses of a class count by its prior, as in ReliefF. With a numeric target, neighbours whose target
    differs by less than its standard deviation are hits, and all others are misses.

    Parameters
    ----------
    instances : Instances
        The rows, ordered by class, or by their numeric target.
    sample_weight : ndarray of shape (n,)
    multi : bool
        Whether each instance has a threshold of its own.
    star : bool
        Whether far instances count, too.
    """
    sparse_rows = SparseZoneRows(instances.rows) if _stays_sparse(instances) else None
    mean = None
    if not multi:
        mean = mean_distance(instances) if sparse_rows is None else sparse_rows.mean_distance()
    zones = Zones(
        **_hits_and_misses(instances.codes, instances.n_classes, instances.target),
        weight=sample_weight / sample_weight.sum(),
        threshold=mean,
        far=star,
        tolerance=tolerance(instances.rows.dtype),
    )
    if sparse_rows is not None:
        return sparse_rows.sum_differences(zones, effective_n_jobs(instances.n_jobs))
    if _has_zone_rows(instances):
        total = ZoneRows.of(instances.pairs).sum_differences(zones, effective_n_jobs(instances.n_jobs))
        return instances.in_place(total[None])[0]
    return instances.sum_pairs(lambda begin, end: zone_coefficients(instances.pairs, zones, begin, end))


@dataclass(frozen=True)
class SharedDistances:
    """Rows with the distances of all pairs, which fits of the SURF family to different targets share.

    Attributes
    ----------
    rows : ndarray of shape (n, stride)
        Scaled numbers in whole cache lines.
    n_features : int
    distance : ndarray of shape (n, n)
    threshold : float or None
        The mean distance, or None if each instance has a threshold of its own.
    """

    rows: FloatArray
    n_features: int
    distance: FloatArray
    threshold: float | None

    def scores(self, table: CodedTable, order: IndexArray, *, star: bool, n_jobs: int | None) -> FloatArray:
        """Return what `surf_scores` returns, to the same bits, for the rows of ``table`` in the order of its target."""
        target, weight = None if table.target is None else table.target[order], table.sample_weight[order]
        rows = ZoneRows(align_rows(self.rows, order), self.n_features, distance=self.distance, order=order)
        zones = Zones(
            **_hits_and_misses(table.codes[order], table.n_groups, target),
            weight=weight / weight.sum(),
            threshold=self.threshold,
            far=star,
            tolerance=tolerance(np.dtype(np.float64)),
        )
        return rows.sum_differences(zones, effective_n_jobs(n_jobs))


class _ThresholdWeigher(ContributionWeigher):
    """Base class of the SURF family, which looks at all neighbours within a threshold."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ContributionWeigher._parameter_constraints,
        "target_type": [TARGET_TYPES],
    }
    _takes_numeric_targets = True
    _multi = False
    _star = False

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        target_type: str = "auto",
        threshold: float | None = None,
        redundancy: str | None = None,
        redundancy_threshold: float | str = "auto",
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_features_to_select,
            threshold=threshold,
            redundancy=redundancy,
            redundancy_threshold=redundancy_threshold,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
        )
        self.target_type = target_type

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Learn the weights. The rows are sorted by class or target first, as `surf_scores` expects them."""
        order = np.argsort(table.codes if table.target is None else table.target, kind="stable")
        if isinstance(table.shared, SharedDistances):
            return table.shared.scores(table, order, star=self._star, n_jobs=self.n_jobs)
        instances = table.take(order).instances(scaled=True, p=1, n_jobs=self.n_jobs)
        return surf_scores(instances, table.sample_weight[order], multi=self._multi, star=self._star)

    def _measure_once(self, table: CodedTable) -> SharedDistances | None:
        """Compute the distances of all pairs, if there is a kernel for known distances and it takes less time."""
        n, m = table.rows.shape
        if m < _LEAST_FEATURES or 8 * n * n > _DISTANCE_BYTES:
            return None
        everyone = replace(table, codes=np.zeros(n, dtype=np.int64), classes=table.classes[:0], target=None)
        instances = everyone.instances(scaled=True, p=1, n_jobs=self.n_jobs)
        if not _has_zone_rows(instances):
            return None
        zone_rows = ZoneRows.of(instances.pairs)
        distance = zone_rows.distances(effective_n_jobs(self.n_jobs))
        return SharedDistances(zone_rows.rows, m, distance, None if self._multi else mean_distance(instances))


_PARAMETERS = """
    Parameters
    ----------
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. With a numeric target, a neighbour is a hit if its target differs by less than the sample
        standard deviation of all targets, and a miss otherwise. "auto": floats are a numeric target if one of them is
        no whole number or if many differ; all else is classes.
    threshold : float, optional
        Keep only features of a larger weight.
    redundancy, redundancy_threshold
        As in `Relief`.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns that differ by 0 or 1.
    n_jobs : int, optional
        Threads. Results do not depend on it.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        The weights, which may be negative. ``feature_importances_`` has 0 for these.
    weights_ : Weights
        Weights for a k-NN, in which negative weights are 0.
    support_ : bool ndarray of shape (n_features,)
    target_type_ : str
        What ``y`` was taken for: "classes" or "numeric".
    target_statement_ : str
        A sentence that says what ``y`` was taken for, why, and how to change that.
    classes_ : ndarray of shape (n_classes,)
        Only for classes.
"""


_EXAMPLE = """
    Examples
    --------
    Two features that tell the classes apart only together:

    >>> import numpy as np
    >>> from weighbors import {name}
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 8))
    >>> y = X[:, 0] ^ X[:, 1]
    >>> {name}(n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])

    The same with a number to predict:

    >>> weigher = {name}(n_features_to_select=2).fit(X, y + 0.1 * X[:, 2])
    >>> weigher.target_type_, weigher.get_support(indices=True)
    ('numeric', array([0, 1]))
    """


class SURF(_ThresholdWeigher):
    __doc__ = (
        """SURF: weigh features by all neighbours that are nearer than the mean distance of all pairs.
"""
        + _PARAMETERS
        + """
    References
    ----------
    .. [1] C. S. Greene et al., "Spatially Uniform ReliefF (SURF) for computationally-efficient
       filtering of gene-gene interactions", BioData Mining 2, 2009.
"""
        + _EXAMPLE.format(name="SURF")
    )


class SURFStar(_ThresholdWeigher):
    __doc__ = (
        """SURF*: SURF that also counts the instances beyond the mean distance, with the opposite sign.
"""
        + _PARAMETERS
        + """
    References
    ----------
    .. [1] C. S. Greene et al., "The informative extremes: using both nearest and farthest
       individuals can improve Relief algorithms in the domain of human genetics", EvoBIO 2010.
"""
        + _EXAMPLE.format(name="SURFStar")
    )
    _star = True


class MultiSURF(_ThresholdWeigher):
    __doc__ = (
        """MultiSURF: SURF with a limit per instance, its mean distance less half the standard deviation.
"""
        + _PARAMETERS
        + """
    References
    ----------
    .. [1] R. J. Urbanowicz et al., "Benchmarking relief-based feature selection methods for
       bioinformatics data mining", J. Biomedical Informatics 85, 2018.
"""
        + _EXAMPLE.format(name="MultiSURF")
    )
    _multi = True


class MultiSURFStar(_ThresholdWeigher):
    __doc__ = (
        """MultiSURF*: MultiSURF that also counts far instances, with the opposite sign.

    An instance is far if its distance is above the mean plus half the standard deviation.
"""
        + _PARAMETERS
        + """
    References
    ----------
    .. [1] D. Granizo-Mackenzie, J. H. Moore, "Multiple threshold spatially uniform ReliefF for the
       genetic analysis of complex human diseases", EvoBIO 2013.
"""
        + _EXAMPLE.format(name="MultiSURFStar")
    )
    _multi = True
    _star = True
