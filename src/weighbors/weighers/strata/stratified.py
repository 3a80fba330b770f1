"""Stratified: fit a weigher to strata with equal class shares, so that the time is linear in the number of rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..._typing import BoolArray
from .combined import CombinedWeigher
from .merge import Joined, elect_features
from .table import StrataTable


@dataclass(eq=False, repr=False)
class Stratified(CombinedWeigher):
    """Fit a weigher or selector to disjoint strata of the rows, and combine the results.

    Strata are drawn at random with the class shares of the whole table. With a numeric target, they are drawn from
    ten bins of equally many rows, ordered by the target, so that all strata have its low and its high values. The
    result keeps all instances that their strata keep. Strata vote on features, and feature weights are averaged.
    Instance weights (votes ω and scales v) are those of the stratum of the instance. With strata of a fixed size, the
    time is linear in the number of rows, also if the time of the weigher grows faster.

    Parameters
    ----------
    weigher : estimator or None, default=None
        Any weigher of this package except `RepresentativeIntervals`, a selector of scikit-learn, or a
        sampler of imbalanced-learn that has ``sample_indices_``. None: ``EvolutionaryWeigher("IS")``.
    n_strata : int or "auto", default="auto"
        Number of strata. "auto": strata have about 1000 rows, but there are fewer strata if the smallest class has
        not enough rows for two per stratum. With a numeric target, a stratum has at least two rows.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. "auto": what the weigher says, if it has this parameter; else floats are a numeric target
        if one of them is no whole number or if many differ, and all else is classes. Weighers that take classes
        only, and samplers, get classes. A selector of another package gets the numbers as they are.
    feature_threshold : float, default=0.5
        A feature is kept if the strata that keep it have at least this share of the rows. If no feature
        reaches this share, the features with the largest share are kept. If all strata keep the same number
        of features, the result keeps this number of features, and the threshold is not used.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        As in `WeightedKNeighborsClassifier`. With "from_dtype", the setting of the weigher is used.
    random_state : int, RandomState or None, default=None
        Seed of the strata, and of every weigher whose ``random_state`` is None.
    n_jobs : int or None, default=None
        Number of strata that are fitted at the same time, as in joblib. Results do not depend on it.

    Attributes
    ----------
    weights_ : Weights
        Weights for `WeightedKNeighborsClassifier`, or for a regressor.
    support_ : bool ndarray of shape (n_features,)
        Features that are kept.
    reduction_ : float
        Share of the table that is removed.
    feature_weights_, class_feature_weights_ : ndarray
        Means over strata, weighted by their numbers of rows. Only if the weigher has these attributes.
    instance_support_ : bool ndarray of shape (n_samples,)
        Rows that are kept. Only if the weigher selects instances, like ``sample_indices_``.
    instance_weights_ : ndarray of shape (n_samples,)
        Votes ω, which sum to 1. Only if the weigher has votes.
    instance_scales_ : ndarray of shape (n_samples,)
        Scales v. Only if the weigher has scales.
    strata_ : DataFrame
        One row per fit: round, stratum, seed, number of rows, numbers of instances and features kept, seconds.
    membership_ : int ndarray of shape (1, n_samples)
        The stratum of each row.
    n_strata_ : int
        Number of strata.
    target_type_ : str
        "classes" or "numeric".
    classes_ : ndarray of shape (n_classes,)
        Only for classes.

    Notes
    -----
    A stratum has fewer rows than the table. So results that depend on the density of the rows, such as nearest
    hits and misses, are learned at a lower density. If the weigher has a ``checkpoint``, each stratum gets its
    own file. In Dask collections, strata are drawn inside partitions, and every partition must have rows of
    every class. Bins of a numeric target are those of the partition. There, the weights check the number of training
    rows, but not their fingerprint.

    References
    ----------
    .. [1] J. R. Cano, F. Herrera, M. Lozano, "Stratification for scaling up evolutionary prototype
       selection", Pattern Recognition Letters 26, 2005.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from weighbors import EvolutionaryWeigher, Stratified, WeightedKNeighborsClassifier
    >>> X, y = make_classification(1200, 8, n_informative=5, random_state=0)
    >>> search = EvolutionaryWeigher("IS", population_size=20, max_evaluations=1000)
    >>> strata = Stratified(search, 4, random_state=0).fit(X[:1000], y[:1000])
    >>> X_small, y_small = strata.reduce(X[:1000], y[:1000])
    >>> len(X_small) < 400
    True
    >>> WeightedKNeighborsClassifier(1, strata.weights_).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.8
    True
    """

    weigher: Any = None
    n_strata: Any = "auto"
    _: KW_ONLY
    target_type: str = "auto"
    feature_threshold: float = 0.5
    categorical_features: Any = "from_dtype"
    random_state: Any = None
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CombinedWeigher._parameter_constraints,
        "feature_threshold": [Interval(Real, 0, 1, closed="right")],
    }

    def _count_rounds(self) -> int:
        """Return 1: rows are cut into strata once."""
        return 1

    def _elect(
        self, table: StrataTable, joined: Joined, rng: np.random.Generator
    ) -> tuple[BoolArray | None, BoolArray | None]:
        """Keep the rows that their stratum keeps, and the features that enough strata keep."""
        kept = None if joined.keeps is None else joined.keeps > 0  # Cano et al.: the union
        return kept, None if joined.share is None else elect_features(joined, float(self.feature_threshold))
