"""SURF, SURF*, MultiSURF and MultiSURF*: neighbours by a distance threshold, not by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import _native
from .._parallel.threads import effective_n_jobs, run_ranges
from .._typing import FloatArray, IndexArray
from ..engine.backends.scan import align_rows
from ..engine.zones import SparseZoneRows, ZoneRows, zone_coefficients
from ..tables.coded import CodedTable
from ..tables.targets import TARGET_TYPES
from .base import ContributionWeigher
from .neighbors import TOLERANCE
from .relief import prior_ratios
from .rows import DENSE_BYTES, Instances

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


def _make_zones(table: CodedTable, *, threshold: float | None, star: bool, dtype: Any) -> _native.Zones:
    """Return who is a hit, how much misses count, and who is near, as the compiled core takes it.

    Parameters
    ----------
    table : CodedTable
        Ordered by class, or by the numeric target.
    threshold : float or None
        The mean distance, or None if each instance has a threshold of its own.
    star : bool
        Whether far instances count, too.
    dtype : dtype of the rows
    """
    if table.numbers is not None:
        start, hits = np.array([0, len(table.numbers)]), hit_ranges(table.numbers)
        factor = np.array([[-1.0, 1.0]])
    else:
        start = np.searchsorted(table.codes, np.arange(table.n_groups + 1)).astype(np.int64)
        hits = np.zeros((0, 2), dtype=np.int64)
        # Hits count −1, as in ReliefF; misses count by the prior of their class.
        factor = prior_ratios(table.codes, table.n_groups)
        np.fill_diagonal(factor, -1.0)
    return _native.make_zones(
        class_start=start,
        hit_range=hits,
        factor=factor,
        weight=table.sample_weight / table.sample_weight.sum(),
        threshold=-1.0 if threshold is None else threshold,  # negative: each row has limits of its own
        far=star,
        tolerance=TOLERANCE[dtype],
    )


def _has_zone_rows(instances: Instances) -> bool:
    """Return whether the rows have a kernel that needs no array of coefficients: that for complete float64 numbers."""
    return instances.plain and instances.rows.dtype == np.float64 and not _stays_sparse(instances)


def _stays_sparse(instances: Instances) -> bool:
    """Return whether the rows are not made dense: they are complete sparse numbers, and few, or too large if dense."""
    if not (instances.sparse and instances.plain):
        return False
    cells = instances.n * instances.n_features
    return instances.rows.nnz <= _MOST_ENTRIES * cells or 8 * cells > DENSE_BYTES


def surf_scores(instances: Instances, table: CodedTable, *, multi: bool, star: bool) -> FloatArray:
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
        The rows of the table.
    table : CodedTable
        Ordered by class, or by the numeric target.
    multi : bool
        Whether each instance has a threshold of its own.
    star : bool
        Whether far instances count, too.
    """
    sparse_rows = SparseZoneRows(instances.rows) if _stays_sparse(instances) else None
    mean = None
    if not multi:
        mean = mean_distance(instances) if sparse_rows is None else sparse_rows.mean_distance()
    zones = _make_zones(table, threshold=mean, star=star, dtype=instances.dtype)
    if sparse_rows is not None:
        return sparse_rows.sum_differences(zones, effective_n_jobs(instances.n_jobs))
    if _has_zone_rows(instances):
        return ZoneRows.of(instances.pairs).sum_differences(zones, effective_n_jobs(instances.n_jobs))
    return instances.sum_pairs(lambda begin, end: zone_coefficients(instances.pairs, zones, begin, end), table)


@dataclass(eq=False, repr=False, kw_only=True)
class ThresholdWeigher(ContributionWeigher):
    """Base class of the SURF family, which looks at all neighbours within a threshold."""

    target_type: str = "auto"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ContributionWeigher._parameter_constraints,
        "target_type": [TARGET_TYPES],
    }
    _takes_numeric_targets = True
    _multi: ClassVar[bool] = False
    _star: ClassVar[bool] = False

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Learn the weights. The rows are sorted by class or target first, as `surf_scores` expects them."""
        table = table.take(_target_order(table))
        instances = Instances(table.rows, table.nominal, scaled=True, p=1, n_jobs=self.n_jobs)
        return surf_scores(instances, table, multi=self._multi, star=self._star)

    @classmethod
    def fit_tables(cls, weighers: Sequence[Any], tables: Sequence[CodedTable]) -> list[FloatArray]:
        """Learn the weights of several fits to the same rows.

        Distances are measured once if there is a kernel for known distances and it takes less time.
        """
        first, table = weighers[0], tables[0]
        n, m = table.rows.shape
        instances = Instances(table.rows, table.nominal, scaled=True, p=1, n_jobs=first.n_jobs)
        pays = len(tables) > 1 and m >= _LEAST_FEATURES and 8 * n * n <= _DISTANCE_BYTES
        if not (pays and _has_zone_rows(instances)):
            return [weigher.fit_weights(table) for weigher, table in zip(weighers, tables, strict=True)]
        zone_rows, threads = ZoneRows.of(instances.pairs), effective_n_jobs(instances.n_jobs)
        distance = zone_rows.distances(threads)
        mean = None if first._multi else mean_distance(instances)
        found = []
        for table in tables:
            order = _target_order(table)
            zones = _make_zones(table.take(order), threshold=mean, star=first._star, dtype=instances.dtype)
            rows = ZoneRows(align_rows(zone_rows.rows, order), m, distance=distance, order=order)
            found.append(rows.sum_differences(zones, threads))
        return found


def _target_order(table: CodedTable) -> IndexArray:
    """Return the order of the rows by class, or by their numeric target."""
    return np.argsort(table.codes if table.numbers is None else table.numbers, kind="stable")


@dataclass(eq=False, repr=False)
class SURF(ThresholdWeigher):
    """SURF: weigh features by all neighbours that are nearer than the mean distance of all pairs.

    Parameters
    ----------
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. With a numeric target, a neighbour is a hit if its target differs by less than the sample
        standard deviation of all targets, and a miss otherwise. "auto": floats are a numeric target if one of them is
        no whole number or if many differ; all else is classes.
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

    References
    ----------
    .. [1] C. S. Greene et al., "Spatially Uniform ReliefF (SURF) for computationally-efficient
       filtering of gene-gene interactions", BioData Mining 2, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbors import SURF
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 8))
    >>> SURF(n_features_to_select=2).fit(X, X[:, 0] ^ X[:, 1]).get_support(indices=True)
    array([0, 1])
    """


@dataclass(eq=False, repr=False)
class SURFStar(ThresholdWeigher):
    """SURF*: SURF that also counts the instances beyond the mean distance, with the opposite sign.

    Parameters
    ----------
    n_features_to_select, target_type, categorical_features, n_jobs
        As in `SURF`.

    Attributes
    ----------
    feature_weights_, weights_, support_, target_type_, target_statement_, classes_
        As in `SURF`.

    References
    ----------
    .. [1] C. S. Greene et al., "The informative extremes: using both nearest and farthest
       individuals can improve Relief algorithms in the domain of human genetics", EvoBIO 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbors import SURFStar
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 8))
    >>> SURFStar(n_features_to_select=2).fit(X, X[:, 0] ^ X[:, 1]).get_support(indices=True)
    array([0, 1])
    """

    _star = True


@dataclass(eq=False, repr=False)
class MultiSURF(ThresholdWeigher):
    """MultiSURF: SURF with a limit per instance, its mean distance less half the standard deviation.

    Parameters
    ----------
    n_features_to_select, target_type, categorical_features, n_jobs
        As in `SURF`.

    Attributes
    ----------
    feature_weights_, weights_, support_, target_type_, target_statement_, classes_
        As in `SURF`.

    References
    ----------
    .. [1] R. J. Urbanowicz et al., "Benchmarking relief-based feature selection methods for
       bioinformatics data mining", J. Biomedical Informatics 85, 2018.

    Examples
    --------
    Two features that tell the classes apart only together:

    >>> import numpy as np
    >>> from weighbors import MultiSURF
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 8))
    >>> y = X[:, 0] ^ X[:, 1]
    >>> MultiSURF(n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])

    The same with a number to predict:

    >>> weigher = MultiSURF(n_features_to_select=2).fit(X, y + 0.1 * X[:, 2])
    >>> weigher.target_type_, weigher.get_support(indices=True)
    ('numeric', array([0, 1]))
    """

    _multi = True


@dataclass(eq=False, repr=False)
class MultiSURFStar(ThresholdWeigher):
    """MultiSURF*: MultiSURF that also counts far instances, with the opposite sign.

    An instance is far if its distance is above the mean plus half the standard deviation.

    Parameters
    ----------
    n_features_to_select, target_type, categorical_features, n_jobs
        As in `SURF`.

    Attributes
    ----------
    feature_weights_, weights_, support_, target_type_, target_statement_, classes_
        As in `SURF`.

    References
    ----------
    .. [1] D. Granizo-Mackenzie, J. H. Moore, "Multiple threshold spatially uniform ReliefF for the
       genetic analysis of complex human diseases", EvoBIO 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbors import MultiSURFStar
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 8))
    >>> MultiSURFStar(n_features_to_select=2).fit(X, X[:, 0] ^ X[:, 1]).get_support(indices=True)
    array([0, 1])
    """

    _multi = True
    _star = True
