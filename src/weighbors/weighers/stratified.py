"""Stratified: a weigher fitted to strata of equal class shares, so that its time is linear in N."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import BoolArray
from ._combined import CombinedWeigher
from ._joined import Joined, elect_features

__all__ = ["Stratified"]


class Stratified(CombinedWeigher):
    """Fit a weigher or selector to disjoint strata of the rows, and put together what it learns.

    Strata are drawn at random with the class shares of the whole. Kept instances are united, features
    are voted on, feature weights are averaged, and instance weights (votes ω and scales v) are those
    of the instance's own stratum. With strata of a fixed size, time is linear in the number of rows,
    whatever the weigher's own growth.

    Parameters
    ----------
    weigher : estimator or None, default=None
        Any weigher of this package but `RepresentativeIntervals`, a selector of scikit-learn's, or a
        sampler of imbalanced-learn's that has ``sample_indices_``. None: ``EvolutionaryWeigher("IS")``.
    n_strata : int or "auto", default="auto"
        "auto": as many as have ``stratum_size`` rows each, and no more than leave two of the smallest
        class to each.
    stratum_size : int, default=1000
        Rows per stratum with ``n_strata="auto"``.
    feature_threshold : float, default=0.5
        A feature is kept where strata with at least this share of the rows keep it; where none is,
        those with the most votes are. Where all strata keep the same number of features, so does the
        answer.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        As in `WeightedKNeighborsClassifier`; "from_dtype" leaves it to the weigher's own setting.
    random_state : int, RandomState or None, default=None
        Draws the strata, and seeds every weigher whose own ``random_state`` is None.
    n_jobs : int or None, default=None
        Strata side by side, as joblib understands it. Results do not depend on it.

    Attributes
    ----------
    weights_ : Weights
        For `WeightedKNeighborsClassifier`.
    support_ : bool ndarray of shape (n_features,)
    reduction_ : float
        The share of the table that is gone.
    feature_weights_, class_feature_weights_ : ndarray
        Means over strata, by their rows, where the weigher has them.
    instance_support_ : bool ndarray of shape (n_samples,)
        Where the weigher selects instances; also ``sample_indices_``.
    instance_weights_ : ndarray of shape (n_samples,)
        ω, summing to 1, where the weigher has votes.
    instance_scales_ : ndarray of shape (n_samples,)
        v, where the weigher has scales.
    strata_ : DataFrame
        One row per fit: round, stratum, the seed of an open ``random_state``, rows, what was kept, seconds.
    membership_ : int ndarray of shape (1, n_samples)
        The stratum of each row.
    n_strata_ : int
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    The rows of a stratum are fewer than all, so what depends on density (nearest hits and misses, the
    number of instances worth keeping) is learned at a lower density. A ``checkpoint`` of the weigher
    becomes one per stratum. On Dask's collections strata are drawn inside partitions, which must each
    have every class; the weights are bound to the number of rows there, not to their fingerprint.

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

    _parameter_constraints: dict[str, list[Any]] = CombinedWeigher._parameter_constraints

    def __init__(
        self,
        weigher: Any = None,
        n_strata: Any = "auto",
        *,
        stratum_size: int = 1000,
        feature_threshold: float = 0.5,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.weigher = weigher
        self.n_strata = n_strata
        self.stratum_size = stratum_size
        self.feature_threshold = feature_threshold
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _n_rounds(self) -> int:
        return 1

    def _elect(
        self, table: Any, joined: Joined, rng: np.random.Generator, client: Any
    ) -> tuple[BoolArray | None, BoolArray | None]:
        kept = None if joined.keeps is None else joined.keeps > 0  # Cano et al.: the union
        return kept, None if joined.share is None else elect_features(joined, float(self.feature_threshold))
