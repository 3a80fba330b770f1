"""SURF, SURF*, MultiSURF and MultiSURF*: neighbours by a distance threshold, not by number."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._parallel.threads import effective_n_jobs, run_ranges
from .._typing import FloatArray
from .base import CodedTable, ContributionWeigher
from .neighborhoods import Instances
from .relief import prior_ratios
from .slots import tolerance

__all__ = ["SURF", "MultiSURF", "MultiSURFStar", "SURFStar", "surf_scores"]


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


def surf_scores(instances: Instances, sample_weight: FloatArray, *, multi: bool, star: bool) -> FloatArray:
    """Return the scores of a method of the SURF family.

    A score is the mean difference to near misses less that to near hits. The starred methods also use far hits and
    misses, with the opposite sign.

    In SURF a neighbour is near if its distance is below the mean of all distances, and far if it is above. In
    MultiSURF each instance has limits of its own: the mean of its distances less (plus) half their standard
    deviation. Misses of a class count by its prior, as in ReliefF.

    Parameters
    ----------
    instances : Instances
        The rows, ordered by class.
    sample_weight : ndarray of shape (n,)
    multi : bool
        Whether each instance has a threshold of its own.
    star : bool
        Whether far instances count, too.
    """
    factor = prior_ratios(instances.codes, instances.n_classes)
    # Hits count −1, as in ReliefF; misses count by the prior of their class.
    np.fill_diagonal(factor, -1.0)
    zones: dict[str, Any] = {
        "class_start": np.searchsorted(instances.codes, np.arange(instances.n_classes + 1)).astype(np.int64),
        "factor": factor,
        "weight": sample_weight / sample_weight.sum(),
        "threshold": None if multi else mean_distance(instances),
        "far": star,
        "tolerance": tolerance(instances.rows.dtype),
    }
    # Plain float64 rows have a kernel that needs no array of coefficients (decisions.md: MultiSURF's distances are
    # taken by maxima). Other rows get their coefficients first.
    if instances.plain and instances.rows.dtype == np.float64:
        return instances.in_place(instances.pairs.zone_sums(effective_n_jobs(instances.n_jobs), **zones)[None])[0]
    return instances.sum_pairs(lambda begin, end: instances.pairs.zone_coefficients(begin, end, **zones))


class _ThresholdWeigher(ContributionWeigher):
    """Base class of the SURF family, which looks at all neighbours within a threshold."""

    _multi = False
    _star = False

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Learn the weights. The rows are sorted by class first, as `surf_scores` expects them."""
        order = np.argsort(table.codes, kind="stable")
        instances = Instances(
            table.rows[order],
            table.codes[order],
            len(table.classes),
            table.nominal,
            scaled=True,
            p=1,
            n_jobs=self.n_jobs,
        )
        return surf_scores(instances, table.sample_weight[order], multi=self._multi, star=self._star)


_PARAMETERS = """
    Parameters
    ----------
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    threshold : float, optional
        Keep only features of a larger weight.
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
    classes_ : ndarray of shape (n_classes,)
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
