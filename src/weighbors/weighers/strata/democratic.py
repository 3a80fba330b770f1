"""Democratic: several rounds of strata, which vote on the instances and features to keep."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..._typing import BoolArray
from ...exceptions import InvalidDataError
from ...tables.frame_arrays import FrameAttribute
from ..evolution import EvolutionaryWeigher
from .fit import Joined, elect_features
from .stratified import CombinedWeigher
from .table import StrataTable
from .thresholds import Candidate, compare_thresholds, find_nearest, list_candidates, measure_performance

N_QUERIES = 1000  # rows on which the error is measured


@dataclass(eq=False, repr=False)
class Democratic(CombinedWeigher):
    """Fit a weigher or selector to strata in several rounds, and let the rounds vote.

    Every round cuts the rows into other strata. An instance that is not kept in its stratum gets one
    vote for its removal. Instances with ``threshold_`` votes or more are removed. The threshold v is chosen
    to minimise f(v) = α · ε(v) + (1 − α) · m(v): ε is the error of the nearest neighbour with the instances
    and features that v leaves, and m is the share of the table that v leaves. Feature weights, votes ω and
    scales v are averaged over rounds.

    Parameters
    ----------
    weigher : estimator or None, default=None
        As in `Stratified`.
    n_rounds : int, default=10
        Number of times that the rows are cut into strata.
    n_strata : int or "auto", default="auto"
    target_type : {"auto", "classes", "numeric"}, default="auto"
        As in `Stratified`.
    threshold : int or None, default=None
        Number of votes that remove an instance, from 1 (an instance is kept only if all rounds keep it) to
        ``n_rounds`` (an instance is kept if one round keeps it). Features are then kept with at least half of the
        votes. None: the threshold that minimises f, together with the smallest share of votes with which a feature is
        kept.
    alpha : float, default=0.75
        Weight α of the error in f.
    categorical_features, random_state, n_jobs
        As in `Stratified`.

    Attributes
    ----------
    removal_votes_ : int ndarray of shape (n_samples,)
        Number of rounds that did not keep the instance. Only if the weigher selects instances.
    threshold_ : int
        Number of votes that remove an instance. Only if the weigher selects instances.
    feature_votes_ : ndarray of shape (n_features,)
        Share of the votes for each feature. Only if the weigher selects features.
    thresholds_ : DataFrame
        One row per pair of thresholds that was compared: thresholds, error, share of the table kept, and f.
        Only if a threshold was chosen by f.
    weights_, support_, reduction_, feature_weights_, class_feature_weights_, instance_support_
        As in `Stratified`, and also ``sample_indices_``.
    instance_weights_, instance_scales_, strata_, n_strata_, target_type_, classes_
        As in `Stratified`. A scale is the mean over the rounds that keep the instance.
    membership_ : int ndarray of shape (n_rounds, n_samples)
        The stratum of each row in each round.

    Notes
    -----
    ε is 1 minus the accuracy of the nearest neighbour, or minus R² for a numeric target. If the weigher is an
    `EvolutionaryWeigher`, its ``fitness`` takes the place of the accuracy. ε is measured on about 1000 rows, drawn with
    the class shares of the table, or from ten bins of a numeric target. A row is not its own neighbour.

    The time is linear in the number of rows: there are rounds × strata of a fixed size. The neighbours of the drawn
    rows are searched once for each set of features to compare. One search serves all thresholds, since a higher
    threshold keeps all instances that a lower one keeps. If all strata keep the same number of features, the result
    keeps this number of features too, and sets of features are not compared. The paper cuts strata along the axes of a
    grand tour and measures ε inside strata. Here strata are drawn at random with the class shares, and ε is measured
    with all instances that are left. If features are selected too, m is the share of rows times the share of columns.

    References
    ----------
    .. [1] C. García-Osorio, A. de Haro-García, N. García-Pedrajas, "Democratic instance selection: A
       linear complexity instance selection algorithm based on classifier ensemble concepts", Artificial
       Intelligence 174, 2010.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from weighbors import Democratic, EvolutionaryWeigher
    >>> X, y = make_classification(600, 8, n_informative=5, random_state=0)
    >>> search = EvolutionaryWeigher("IS", population_size=20, max_evaluations=400)
    >>> rounds = Democratic(search, 5, n_strata=3, random_state=0).fit(X, y)
    >>> 1 <= rounds.threshold_ <= 5, int(rounds.removal_votes_.max())
    (True, 5)
    >>> bool((rounds.instance_support_ == (rounds.removal_votes_ < rounds.threshold_)).all())
    True
    """

    weigher: Any = None
    n_rounds: int = 10
    _: KW_ONLY
    n_strata: Any = "auto"
    target_type: str = "auto"
    threshold: int | None = None
    alpha: float = 0.75
    categorical_features: Any = "from_dtype"
    random_state: Any = None
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CombinedWeigher._parameter_constraints,
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "threshold": [None, Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, 1, closed="both")],
    }

    thresholds_ = FrameAttribute()

    def _count_rounds(self) -> int:
        """Return the number of rounds. Raise InvalidDataError if the threshold is larger."""
        if self.threshold is not None and self.threshold > self.n_rounds:
            raise InvalidDataError(
                f"threshold={self.threshold} is more than n_rounds={self.n_rounds}, the most votes there can be"
            )
        return int(self.n_rounds)

    def _elect(
        self, table: StrataTable, joined: Joined, rng: np.random.Generator
    ) -> tuple[BoolArray | None, BoolArray | None]:
        """Return the instances and features that are kept, each None if the weigher does not select them."""
        support = None
        if joined.share is not None:
            self.feature_votes_, support = joined.share, elect_features(joined, 0.5)
        if joined.keeps is not None:
            self.removal_votes_ = self.n_rounds - joined.keeps
        threshold = self.threshold
        if threshold is None:
            threshold, support = self._choose_thresholds(table, joined, support, rng)
        if joined.keeps is None:
            return None, support
        self.threshold_ = int(threshold)
        kept = self.removal_votes_ < self.threshold_
        if not kept.any():
            raise InvalidDataError(
                f"threshold={self.threshold_} leaves no instance: every one was removed in that many rounds. Use a "
                f"higher one, or None"
            )
        return kept, support

    def _choose_thresholds(
        self, table: StrataTable, joined: Joined, support: BoolArray | None, rng: np.random.Generator
    ) -> tuple[int, BoolArray | None]:
        """Return the threshold of votes and the kept features with the smallest f.

        If several pairs have the same f, the pair that keeps the smaller share of the table is chosen. ``support``
        are the features to keep if there is one set of features only. The other parameters are those of `_elect`.
        """
        candidates = [Candidate(np.nan, np.ones(self._shape[1], dtype=bool) if support is None else support)]
        if joined.share is not None and joined.seats is None:
            # A number of features that all strata share would leave nothing to compare.
            candidates = list_candidates(joined.share, self.n_rounds) or candidates
        if joined.keeps is None and len(candidates) == 1:
            return 1, support
        n_levels = 1 if joined.keeps is None else self.n_rounds
        level = np.zeros(table.n, dtype=np.int64) if joined.keeps is None else self.removal_votes_
        # Rows that every round removed are in no selection, so they need not be searched.
        ever = level < n_levels
        queries = table.draw_queries(N_QUERIES, rng)
        # "accuracy" stands for R² of a numeric target.
        score = self.weigher.fitness if isinstance(self.weigher, EvolutionaryWeigher) else "accuracy"
        performance = measure_performance(score, table.target.take(queries))
        supports = [None if one.support.all() else one.support for one in candidates]
        weights = [self._make_weights(joined, ever, one) for one in supports]
        found = find_nearest(table, queries, np.minimum(level, n_levels - 1), n_levels, weights)
        # A threshold v keeps the rows with fewer than v votes for removal: a running sum over the levels.
        kept = np.cumsum(np.bincount(level[ever], minlength=n_levels)) / len(level)
        frame = compare_thresholds(found, candidates, kept, table.target, performance, float(self.alpha))
        self.thresholds_ = frame
        # Of equal f, the smaller selection is chosen.
        best = frame.sort_values(["f", "kept", "threshold"], kind="stable").iloc[0]
        chosen = [one for one in candidates if one.threshold == best["feature_threshold"]] or candidates
        return int(best["threshold"]), None if support is None else chosen[0].support
