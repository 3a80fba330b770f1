"""Democratic: several rounds of strata, which vote on the instances and features to keep."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..._frame_arrays import FrameAttribute
from ..._targets import Target
from ..._typing import BoolArray, IndexArray
from ...exceptions import InvalidDataError
from ...weights import Weights
from ..evolution import EvolutionaryWeigher
from ..evolution.fitness import Performance
from ..evolution.number_scores import NUMBER_SCORES, NumericPerformance, check_number_score
from ..evolution.scores import SCORES, check_score
from .combined import CombinedWeigher
from .merge import Joined, elect_features
from .vote import Candidate, feature_candidates, judge

__all__ = ["Democratic"]


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
    stratum_size : int, default=1000
    target_type : {"auto", "classes", "numeric"}, default="auto"
        As in `Stratified`.
    threshold : int or None, default=None
        Number of votes that remove an instance, from 1 (an instance is kept only if all rounds keep it) to
        ``n_rounds`` (an instance is kept if one round keeps it). None: the threshold that minimises f.
    feature_threshold : float or None, default=None
        Smallest share of votes with which a feature is kept. None: the share that minimises f, together with
        the threshold. It is not used if all strata keep the same number of features: then the result keeps
        this number of features too.
    alpha : float, default=0.75
        Weight α of the error in f.
    fitness : str, callable or None, default=None
        Score whose value is 1 − ε: a name, as in `EvolutionaryWeigher`, or a function of (y_true, y_pred).
        None: the parameter ``fitness`` of the weigher, or "accuracy" if the weigher has none. For numeric
        targets, "accuracy" is R², and neighbours predict the mean of their targets.
    n_neighbors : int, default=1
        Number of neighbours that vote in ε.
    n_queries : int, default=1000
        Number of rows on which ε is measured, drawn with the class shares of the table, or from ten bins of a
        numeric target. A row is not its own neighbour.
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
    The time is linear in the number of rows: there are rounds × strata of a fixed size. The neighbours of
    ``n_queries`` rows are searched once for each set of features to compare. One search serves all thresholds,
    since a higher threshold keeps all instances that a lower one keeps. The paper cuts strata along the axes
    of a grand tour and measures ε inside strata. Here strata are drawn at random with the class shares, and ε
    is measured with all instances that are left. If features are selected too, m is the share of rows times
    the share of columns. For tables in blocks (Dask collections and files), ε needs numeric columns.

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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **CombinedWeigher._parameter_constraints,
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "threshold": [None, Interval(Integral, 1, None, closed="left")],
        "feature_threshold": [None, Interval(Real, 0, 1, closed="right")],
        "alpha": [Interval(Real, 0, 1, closed="both")],
        "fitness": [None, StrOptions({*SCORES, *NUMBER_SCORES}), callable],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_queries": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        weigher: Any = None,
        n_rounds: int = 10,
        *,
        n_strata: Any = "auto",
        stratum_size: int = 1000,
        target_type: str = "auto",
        threshold: int | None = None,
        feature_threshold: float | None = None,
        alpha: float = 0.75,
        fitness: Any = None,
        n_neighbors: int = 1,
        n_queries: int = 1000,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.weigher = weigher
        self.n_rounds = n_rounds
        self.n_strata = n_strata
        self.stratum_size = stratum_size
        self.target_type = target_type
        self.threshold = threshold
        self.feature_threshold = feature_threshold
        self.alpha = alpha
        self.fitness = fitness
        self.n_neighbors = n_neighbors
        self.n_queries = n_queries
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    thresholds_ = FrameAttribute()

    @property
    def _n_rounds(self) -> int:
        """Number of rounds. Raise InvalidDataError if the threshold is larger."""
        if self.threshold is not None and self.threshold > self.n_rounds:
            raise InvalidDataError(
                f"threshold={self.threshold} is more than n_rounds={self.n_rounds}, the most votes there can be"
            )
        return int(self.n_rounds)

    def _elect(
        self, table: Any, joined: Joined, rng: np.random.Generator, client: Any
    ) -> tuple[BoolArray | None, BoolArray | None]:
        """Return the instances and features that are kept. Thresholds that are not given are chosen by f.

        The parameters are those of `CombinedWeigher._elect`.
        """
        del self.thresholds_  # attributes of an earlier fit
        for name in ("removal_votes_", "threshold_", "feature_votes_"):
            self.__dict__.pop(name, None)
        share, removal = joined.share, None
        if share is not None:
            self.feature_votes_ = share
        if joined.keeps is not None:
            self.removal_votes_ = removal = self.n_rounds - joined.keeps
        fixed = joined.seats is not None or self.feature_threshold is not None
        elected = np.ones(table.M, dtype=bool)
        if share is not None:
            elected = elect_features(joined, 0.5 if self.feature_threshold is None else float(self.feature_threshold))
        # A number of features that all strata share, or a given threshold, leaves nothing to compare.
        candidates = feature_candidates(share, elected, self.n_rounds, fixed)
        open_rows = removal is not None and self.threshold is None
        threshold = self.threshold
        if open_rows or len(candidates) > 1:
            threshold, elected = self._choose_thresholds(table, joined, removal, candidates, rng, client)
        if removal is None:
            return None, None if share is None else elected
        self.threshold_ = int(threshold)  # type: ignore[arg-type]
        kept = removal < self.threshold_
        if not kept.any():
            raise InvalidDataError(
                f"threshold={self.threshold_} leaves no instance: every one was removed in that many rounds. Use a "
                f"higher one, or None"
            )
        return kept, None if share is None else elected

    def _choose_thresholds(
        self,
        table: Any,
        joined: Joined,
        removal: IndexArray | None,
        candidates: list[Candidate],
        rng: np.random.Generator,
        client: Any,
    ) -> tuple[int, BoolArray]:
        """Return the threshold of votes and the kept features with the smallest f.

        If several pairs have the same f, the pair that keeps the smaller share of the table is chosen.
        ``removal`` has the votes for the removal of each row, or is None if the weigher selects no instances.
        ``candidates`` are the sets of features to compare. The other parameters are those of `_elect`.
        """
        n_levels = 1 if removal is None else self.n_rounds
        level = np.zeros(table.N, dtype=np.int64) if removal is None else removal
        # Rows that every round removed are in no selection, so they need not be searched.
        ever = level < n_levels
        own_row, queries, truth = table.draw(int(self.n_queries), rng, n_jobs=self.n_jobs, client=client)
        performance = self._performance(truth)
        weights = [_search_weights(joined, candidate.support, ever, truth.classes) for candidate in candidates]
        found = table.neighbors(
            np.minimum(level, n_levels - 1),
            n_levels,
            weights,
            queries,
            own_row,
            k=int(self.n_neighbors),
            n_jobs=self.n_jobs,
            client=client,
        )
        # A threshold v keeps the rows with fewer than v votes for removal: a running sum over the levels.
        kept = np.cumsum(np.bincount(level[ever], minlength=n_levels)) / table.N
        frame = judge(
            found, candidates, kept, performance, joined.votes, alpha=float(self.alpha), k=int(self.n_neighbors)
        )
        if removal is not None and self.threshold is not None:
            frame = frame[frame["threshold"] == self.threshold]
        self.thresholds_ = frame.reset_index(drop=True)
        if not len(frame):
            return int(self.threshold or 1), candidates[0].support
        # Of equal f, the smaller selection is chosen.
        best = frame.sort_values(["f", "kept", "threshold"], kind="stable").iloc[0]
        supports = {candidate.threshold: candidate.support for candidate in candidates}
        support = candidates[0].support if len(candidates) == 1 else supports[float(best["feature_threshold"])]
        return int(best["threshold"]), support

    def _performance(self, truth: Target) -> Performance | NumericPerformance:
        """Return the score of predictions of the queries, whose target is ``truth``."""
        score = self._score_of_error()
        if truth.numbers is None:
            check_score(score, truth.classes)
            return Performance(score, truth.codes, truth.classes)
        if len(np.unique(truth.numbers)) < 2:
            raise InvalidDataError(
                f"the {len(truth.numbers)} rows on which the error is measured all have the target "
                f"{truth.numbers[0]:g}: raise n_queries, or choose the thresholds (threshold=, feature_threshold=)"
            )
        check_number_score(score, truth.numbers)
        return NumericPerformance(score, truth.numbers)

    def _score_of_error(self) -> Any:
        """Return the score from which the error ε is computed."""
        if self.fitness is not None:
            return self.fitness
        weigher = EvolutionaryWeigher("IS") if self.weigher is None else self.weigher
        own = getattr(weigher, "fitness", None)
        return own if own is not None and (callable(own) or own in (*SCORES, *NUMBER_SCORES)) else "accuracy"


def _search_weights(joined: Joined, support: BoolArray, ever: BoolArray, classes: Any) -> Weights:
    """Return the `Weights` for the search of neighbours with the features ``support``.

    ``ever`` marks the instances that at least one round keeps. Only these can be neighbours.
    """
    a = None if joined.metric is None else joined.metric(support)
    return Weights(
        feature_weights=a,
        classes=classes if a is not None and a.ndim == 2 else None,
        instance_scales=joined.scales,
        feature_mask=None if support.all() else support,
        instance_mask=None if ever.all() else ever,
    )
