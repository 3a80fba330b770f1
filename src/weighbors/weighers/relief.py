"""RELIEF with k neighbours, RelievedF and ReliefF: weigh features by differences to near hits and near misses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from .._random import draw_rows
from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidDataError
from .base import TIES, ContributionWeigher, warn_of_few_neighbors
from .neighborhoods import Neighborhoods, Neighbors, PendingScores, Terms, compute_scores
from .shared_rows import SharedInstances, list_length
from .slots import SIGMA_CONSTRAINTS, NeighborWeights, share_slots, tolerance
from .tables import CodedTable

__all__ = ["Relief", "ReliefF", "RelievedF", "relief_scores", "relieff_scores", "relievedf_scores"]


def signed_shares(found: Neighbors, codes: IndexArray, sample_weight: FloatArray) -> FloatArray:
    """Return the signed coefficient of each neighbour: positive for misses, negative for hits.

    Its size is the share of a slot that the neighbour fills, times the weight of the instance.
    """
    own = codes[found.query]
    sign = np.where(np.arange(found.row.shape[1])[None, :] == own[:, None], -1.0, 1.0)
    signed: FloatArray = sign[:, :, None] * found.share * sample_weight[found.query][:, None, None]
    return signed


def relief_scores(instances: Neighborhoods, k: int, sample_weight: FloatArray, *, ties: str = "share") -> PendingScores:
    """Yield the terms of RELIEF's score of each feature, and return the scores (paper 001, algorithm 1).

    Σ_x Σ_{c ≠ l(x)} Σ_{z ∈ KNN(x, c)} |x − z| − Σ_{z ∈ KNN(x, l(x))} |x − z|.

    Parameters
    ----------
    instances : Neighborhoods
    k : int
        Neighbours per class.
    sample_weight : ndarray of shape (n,)
    ties : {"share", "index"}
        Whether neighbours tied at the k-th distance share its slots, or the rows with lower numbers are taken.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    total = np.zeros((1, instances.n_features))
    # paper 001, algorithm 1: add the differences to misses, subtract those to hits, over all instances.
    for found in instances.neighbors(k, ties=ties):
        coefficient = signed_shares(found, instances.codes, sample_weight)
        total += yield Terms(found, coefficient, np.zeros(1, dtype=np.int64), 1)
    return total[0]


def relievedf_scores(
    instances: Neighborhoods, k: int, sample_weight: FloatArray, *, ties: str = "share"
) -> PendingScores:
    """Yield the terms of RELIEF's scores with the k nearest misses of all other classes together.

    Return the scores. See paper 000, section 2.

    Parameters
    ----------
    instances : Neighborhoods
    k : int
        Neighbours per class.
    sample_weight : ndarray of shape (n,)
    ties : {"share", "index"}
        Whether neighbours tied at the k-th distance share its slots, or the rows with lower numbers are taken.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    total = np.zeros((1, instances.n_features))
    for found in instances.neighbors(k, ties=ties):
        own = instances.codes[found.query]
        hit = np.arange(found.row.shape[1])[None, :] == own[:, None]
        # A hit must not take the slot of a miss: at an infinite distance it comes last.
        distance = np.where(hit[:, :, None], np.inf, found.distance).reshape(len(own), -1)
        row = np.where(np.isfinite(distance), found.row.reshape(len(own), -1), np.iinfo(np.int64).max)
        # Misses of all classes are merged by distance and row, and then share the slots as those of one class do.
        order = np.lexsort((row, distance), axis=-1)
        ranked = np.take_along_axis(distance, order, axis=-1)
        share = np.empty_like(ranked, dtype=np.float64)
        slots = share_slots(ranked, k, ties=ties, tol=tolerance(instances.dtype))
        # Shares go back to the places of the neighbours before the sort, where the kernel expects them.
        np.put_along_axis(share, order, slots, axis=-1)
        coefficient = np.where(hit[:, :, None], -found.share, share.reshape(found.share.shape))
        coefficient = coefficient * sample_weight[found.query][:, None, None]
        total += yield Terms(found, coefficient, np.zeros(1, dtype=np.int64), 1)
    return total[0]


def prior_ratios(codes: IndexArray, n_classes: int) -> FloatArray:
    """Return how much a miss of each class counts for an instance of each class.

    The entry (own class, class of the miss) is P(miss) / (1 − P(own)), so that each row sums to 1; the diagonal is 0.
    """
    prior = np.bincount(codes, minlength=n_classes) / len(codes)
    ratio: FloatArray = prior[None, :] / (1.0 - prior[:, None])
    np.fill_diagonal(ratio, 0.0)
    return ratio


def relieff_scores(
    instances: Neighborhoods,
    k: int,
    sample_weight: FloatArray,
    *,
    ties: str = "share",
    weights: NeighborWeights | None = None,
) -> PendingScores:
    """Yield the terms of Kononenko's ReliefF score of each feature, and return the scores.

    The mean difference to the k nearest misses of each class, weighed by the prior of the class, less the mean
    difference to the k nearest hits; the result is the mean over all instances.

    Parameters
    ----------
    instances : Neighborhoods
    k : int
        Neighbours per class.
    sample_weight : ndarray of shape (n,)
    ties : {"share", "index"}
        Whether neighbours tied at the k-th distance share its slots, or the rows with lower numbers are taken.
    weights : NeighborWeights, optional
        How much each of the k neighbours counts, relative to the others of its class. None: all count alike.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    ratio = prior_ratios(instances.codes, instances.n_classes)
    total = np.zeros((1, instances.n_features))
    for found in instances.neighbors(k, ties=ties, weights=weights):
        own = instances.codes[found.query]
        # Kononenko: misses of class c count P(c) / (1 − P(own class)), hits count −1.
        sign = ratio[own]
        sign[np.arange(len(own)), own] = -1.0
        filled = np.maximum(found.share.sum(axis=2), 1e-300)  # A class without neighbours adds 0, not 0 / 0.
        scale = sign / filled * sample_weight[found.query][:, None] / sample_weight.sum()
        total += yield Terms(found, scale[:, :, None] * found.share, np.zeros(1, dtype=np.int64), 1)
    return total[0]


class _NeighborWeigher(ContributionWeigher):
    """Base class of the weighers that look at the k nearest hits and misses."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ContributionWeigher._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_samples": [None, Interval(Integral, 1, None, closed="left")],
        "ties": [TIES],
        "random_state": ["random_state"],
    }
    _scaled = False
    _p = 2
    _misses = "each"  # k misses are sought in each other class

    def __init__(
        self,
        n_neighbors: int = 1,
        n_features_to_select: float | None = None,
        *,
        n_samples: int | None = None,
        threshold: float | None = None,
        redundancy: str | None = None,
        redundancy_threshold: float | str = "auto",
        ties: str = "share",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_features_to_select = n_features_to_select
        self.n_samples = n_samples
        self.threshold = threshold
        self.redundancy = redundancy
        self.redundancy_threshold = redundancy_threshold
        self.ties = ties
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Learn the weights from the k nearest hits and misses."""
        instances, pending = self._begin(table)
        return compute_scores([instances], [pending])[0]

    @classmethod
    def fit_many(cls, weighers: Sequence[Any], tables: Sequence[CodedTable]) -> list[FloatArray]:
        """Learn the weights of several fits to the same rows, whose sums are computed together."""
        if not cls._sums_together():
            return super().fit_many(weighers, tables)
        begun = [weigher._begin(table) for weigher, table in zip(weighers, tables, strict=True)]
        return compute_scores([instances for instances, _ in begun], [pending for _, pending in begun])

    @classmethod
    def _sums_together(cls) -> bool:
        """Return whether sums of several fits are computed together. A subclass may learn in another way."""
        return cls.fit_weights is _NeighborWeigher.fit_weights

    def _begin(self, table: CodedTable) -> tuple[Neighborhoods, PendingScores]:
        """Return the rows with their neighbours, and the computation of their scores."""
        warn_of_few_neighbors(table.classes, table.codes, self.n_neighbors, misses=self._misses)
        weight = self._draw(table.sample_weight)
        instances = table.instances(scaled=self._scaled, p=self._p, n_jobs=self.n_jobs, asked=self.sample_indices_)
        return instances, self._scores(instances, weight)

    def _fits_at_once(self, table: CodedTable) -> int:
        """Return how many fits `fit_many` should get at once."""
        shared = table.shared
        if not isinstance(shared, SharedInstances) or not self._sums_together():
            return 1
        return shared.fits_at_once(self.n_neighbors, table.n_groups)

    def _measure_once(self, table: CodedTable) -> SharedInstances:
        """Rank the neighbours of all rows."""
        k = self.n_neighbors + 1  # one more than k shows whether ties end there
        length = list_length(table.codes, table.n_groups, k)
        return SharedInstances(
            table.rows, table.nominal, scaled=self._scaled, p=self._p, length=length, n_jobs=self.n_jobs
        )

    def _draw(self, sample_weight: FloatArray) -> FloatArray:
        """Draw the rows that are compared with all rows, and return what each row contributes: 0 if it is not drawn.

        Set ``sample_indices_``. ``sample_weight`` has one entry per row.
        """
        self.sample_indices_ = draw_rows(len(sample_weight), self.n_samples, self.random_state)
        if self.n_samples is not None:
            # Only the drawn rows contribute. Their neighbours may be any rows.
            drawn = np.zeros(len(sample_weight), dtype=bool)
            drawn[self.sample_indices_] = True
            sample_weight = np.where(drawn, sample_weight, 0.0)
        if not sample_weight.any():
            raise InvalidDataError("at least one of the rows that count must have a positive sample weight")
        return sample_weight

    @abstractmethod
    def _scores(self, instances: Neighborhoods, sample_weight: FloatArray) -> PendingScores:
        """Return the computation of the published weights. The rows may be in memory or in blocks."""


_PARAMETERS = """
    Parameters
    ----------
    n_neighbors : int, default={k}
        {neighbors}
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
{more}    n_samples : int or None, default=None
        Number of rows that are drawn at random and compared with all rows. None: all rows, which takes time that grows
        with the square of their number.
    threshold : float, optional
        Keep only features of a larger weight.
    redundancy : {{"drop", "group"}} or None, default=None
        What is done about features that stand in for each other (`redundancy_groups`). "drop": only the feature with
        the largest weight of each group is selected. "group": whole groups are selected, ``n_features_to_select`` is
        their number, and a group counts as much as its best feature. None: every feature counts for itself.
    redundancy_threshold : float, "auto" or "null", default="auto"
        Similarity from which on features stand in for each other. "auto": at least 0.7, and more than any two
        features of 19 tables with permuted columns have. "null": only the latter.
    ties : {{"share", "index"}}, default="share"
        What happens to neighbours tied at the k-th distance. "share": they share its slots, so that the order of rows
        does not matter (distances within a relative 1e-10 of each other are tied; 1e-5 for float32). "index": the
        rows with lower numbers are taken.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns that differ by 0 or 1.
    random_state : int, RandomState or None, default=None
        Seed for drawing the rows, if ``n_samples`` is given.
    n_jobs : int, optional
        Threads. Results do not depend on it.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        The weights as the paper prints them, which may be negative. ``feature_importances_`` has 0 for these.
    weights_ : Weights
        Weights for a k-NN, in which negative weights are 0.
    support_ : bool ndarray of shape (n_features,)
    feature_groups_ : ndarray of shape (n_features,)
        Number of the group of each feature, and ``redundancy_threshold_`` the similarity used. Only with
        ``redundancy``.
    sample_indices_ : ndarray of int
        The rows that were drawn, in ascending order; all rows if ``n_samples`` is None.
    {last}
"""

_CLASSES = "classes_ : ndarray of shape (n_classes,)"

_NEIGHBOR_WEIGHTS = """\
    sigma : float or None, default=None
        Width of the weights by rank, about the number of neighbours that count. None: no weights by rank.
    neighbor_weights : {{"uniform", "rank", "distance"}} or None, default=None
        How much each of the k neighbours{of_class} counts, relative to the others. "uniform": all count alike.
        "rank": the neighbour of rank r counts exp(−(r / sigma)²); neighbours at equal distances share their ranks, so
        that each counts the mean of these (with ``ties="index"`` the lower row has the lower rank). "distance": a
        neighbour counts 1 / distance, and if some are at distance 0, only these count. None: "rank" if ``sigma`` is
        given, else "uniform".
"""


class Relief(_NeighborWeigher):
    __doc__ = (
        """RELIEF over all instances, with k neighbours in every class.

    Each instance adds its differences to the k nearest rows of every other class, and subtracts those to the k
    nearest rows of its own class. Neighbours are Euclidean, features are not scaled, and classes have no priors
    (paper 001, algorithm 1).
"""
        + _PARAMETERS.format(k=1, neighbors="Neighbours per class.", more="", last=_CLASSES)
        + """
    References
    ----------
    .. [1] E. Marchiori, "Class dependent feature weighting and K-nearest neighbor classification",
       PRIB 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import Relief
    >>> X, y = load_iris(return_X_y=True)
    >>> Relief(n_neighbors=1).fit(X, y).feature_weights_.argsort()[::-1]
    array([2, 3, 1, 0])
    """
    )

    def _scores(self, instances: Neighborhoods, sample_weight: FloatArray) -> PendingScores:
        """Return RELIEF's score of each feature."""
        return relief_scores(instances, self.n_neighbors, sample_weight, ties=self.ties)


class RelievedF(_NeighborWeigher):
    __doc__ = (
        """Deterministic RELIEF with l nearest hits and l nearest misses (paper 000, section 2).

    Misses are taken over all other classes together, and every instance is used once. Neighbours are Euclidean, and
    features are not scaled.
"""
        + _PARAMETERS.format(k=1, neighbors="Number l of hits and of misses.", more="", last=_CLASSES)
        + """
    References
    ----------
    .. [1] G. Prat, L. A. Belanche, "Instance and feature weighted k-nearest-neighbours algorithm",
       ESANN 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import RelievedF
    >>> X, y = load_iris(return_X_y=True)
    >>> RelievedF(3, n_features_to_select=2).fit_transform(X, y).shape
    (150, 2)
    """
    )

    _misses = "together"

    def _scores(self, instances: Neighborhoods, sample_weight: FloatArray) -> PendingScores:
        """Return RelievedF's score of each feature."""
        return relievedf_scores(instances, self.n_neighbors, sample_weight, ties=self.ties)


class ReliefF(_NeighborWeigher):
    __doc__ = (
        """ReliefF: RELIEF with range-scaled differences, priors of the classes, and means over neighbours.

    Neighbours are found by city-block distance on range-scaled features; categories differ by 0 or 1. In the search,
    a missing value is at full range; in the score it counts by its expected difference. Scores lie between -1 and 1.
"""
        + _PARAMETERS.format(
            k=10,
            neighbors="Number of hits, and of misses per class.",
            more=_NEIGHBOR_WEIGHTS.format(of_class=" of a class"),
            last=_CLASSES,
        )
        + """
    References
    ----------
    .. [1] M. Robnik-Šikonja, I. Kononenko, "Theoretical and empirical analysis of ReliefF and
       RReliefF", Machine Learning 53, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import ReliefF
    >>> X, y = load_iris(return_X_y=True)
    >>> ReliefF(n_neighbors=10, ties="index").fit(X, y).feature_weights_.round(3)
    array([0.14 , 0.123, 0.359, 0.375])
    """
    )
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **_NeighborWeigher._parameter_constraints,
        **SIGMA_CONSTRAINTS,
    }
    _scaled = True
    _p = 1

    def __init__(
        self,
        n_neighbors: int = 10,
        n_features_to_select: float | None = None,
        *,
        sigma: float | None = None,
        neighbor_weights: str | None = None,
        n_samples: int | None = None,
        threshold: float | None = None,
        redundancy: str | None = None,
        redundancy_threshold: float | str = "auto",
        ties: str = "share",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            n_features_to_select,
            n_samples=n_samples,
            threshold=threshold,
            redundancy=redundancy,
            redundancy_threshold=redundancy_threshold,
            ties=ties,
            categorical_features=categorical_features,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.sigma = sigma
        self.neighbor_weights = neighbor_weights

    def _scores(self, instances: Neighborhoods, sample_weight: FloatArray) -> PendingScores:
        """Return ReliefF's score of each feature."""
        weights = NeighborWeights.of(self.neighbor_weights, self.sigma)
        return relieff_scores(instances, self.n_neighbors, sample_weight, ties=self.ties, weights=weights)
