"""StabilitySelection: a scikit-learn selector whose list has an expected number of false features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from ..._parallel.executors import executor_for
from ..._random import seed_sequence
from ..._typing import BoolArray, FloatArray, IndexArray
from ..._warnings import warn
from ...exceptions import InvalidDataError, NothingSelectedWarning
from ...tables.coded import CodedTable, fit_model, read_training, takes_coded, takes_coded_tables
from ...tables.targets import TARGET_TYPES, Target
from ...tables.validation import SelectsColumns, TableCoder, TakesTables
from ...weighers.permutations import choose_permuter
from ...weighers.score import ScoreWeigher
from ...weights import Weights
from ..targets import expected_target, told_model
from .fits import HalfFits, PairTask, draw_tasks
from .halves import group_codes, strata_of_target, usable_rows
from .paths import list_sizes, path_scores, permutation_false_positives, q_values, rank_paths


@dataclass(eq=False, repr=False)
class StabilitySelection(TakesTables, SelectsColumns, BaseEstimator):
    """Select the features that a weigher finds again in half samples, with q-values for the list.

    The rows are cut into two halves, many times, and a weigher ranks the features in each half. A feature that is
    among the best in most halves, for short and for longer lists, gets a high score (integrated path stability
    selection [1]_ [2]_). How many features reach a score by chance is estimated from permuted
    labels. The list is as long as the wanted false discovery rate allows.

    Parameters
    ----------
    weigher : estimator or None, default=None
        Any weigher, any scikit-learn estimator that has importances or coefficients after ``fit``, or a pipeline that
        ends in one. None: ``ScoreWeigher(offset="auto")``, the F-statistic, for two classes the squared t-statistic. If
        all columns are on one scale, as the expression of many genes, an offset is added to the deviation of each
        column, which makes lists more stable (:doc:`/guide/lists`). Whether they are is decided once from all rows, and
        ``weigher_`` says it. The F-statistic is fast and holds its error rate, but it looks at one feature at a time:
        `ReliefF` and `IRelief` also find features that matter only together.
    n_pairs : int, default=50
        Number of pairs of half samples, so that the weigher is fitted twice as often to each set of labels.
    target_fdr : float or None, default=0.1
        The list has the features with at most this q-value.
    target_fp : float or None, default=None
        If given, the list has the features with at most so many expected false positives, and ``target_fdr`` is not
        used.
    n_permutations : int, default=10
        Number of sets of permuted labels. The least expected number of false positives is 1 / n_permutations.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. "auto": what the weigher needs, if it takes only one of both, otherwise floats with a fraction
        or with many values are numbers.
    verbose : bool, default=False
        Whether progress is shown on stderr.
    random_state : int, RandomState or None, default=None
        Draws half samples and permutations, and seeds weighers whose own ``random_state`` is None.
    n_jobs : int or None, default=None
        Number of pairs that are fitted at the same time, as in joblib. Results do not depend on it.

    Attributes
    ----------
    support_ : bool ndarray of shape (n_features,)
        The list.
    q_values_ : ndarray of shape (n_features,)
        The smallest estimated false discovery rate of a list that has the feature.
    expected_false_positives_ : ndarray of shape (n_features,)
        Expected number of false features in the list of this feature and all better ones.
    scores_ : ndarray of shape (n_features,)
        The integral of h(π) = (2π − 1)³ over log k, where π is the share of half samples in which a feature is among
        the k best. From 0 to 1.
    shares_ : ndarray of shape (n_features,)
        Share of the half samples in which the feature is in the longest list.
    paths_ : ndarray of shape (100, n_features)
        Share of the half samples in which each feature is among the k best, for each k.
    thresholds_ : ndarray of shape (100,)
        Sizes k of lists.
    mean_selected_ : ndarray of shape (100,)
        Mean number of features that a half sample selects.
    feature_weights_ : ndarray of shape (n_features,)
        Mean of the weights over all half samples.
    half_weights_ : ndarray of shape (2 · n_pairs, n_features)
        The weights learned from each half sample of the original labels, for `kuncheva_curve` and others.
    null_scores_ : ndarray of shape (n_permutations, n_features)
        The scores from permuted labels.
    weigher_ : estimator
        The weigher that was used, not fitted. Its ``offset`` is None if the columns are not on one scale.
    weights_ : Weights
        The list as weights for a k-NN. If the list is empty, all features are used.
    target_type_ : str
    classes_ : ndarray of shape (n_classes,)
        Only for classes.

    Notes
    -----
    The papers bound the expected false positives without permutations. The bound assumes that a feature without effect
    is selected in different pairs of half samples nearly independently. All pairs come from the same rows, so a feature
    that is related to the labels by chance is related to them in most pairs. On generated tables with correlated
    features, lists of the t-statistic by this bound had five times the wanted share of false features
    (:doc:`/guide/lists` has the table). So scores from permuted labels are counted.

    The scores of permuted labels are those of features without any effect. Features that stand in for a relevant one
    (correlated with it) are related to the target, too, and do not count as false.

    The weigher is fitted 2 · ``n_pairs`` times to the original labels, and as often to each set of permuted labels.
    Half samples are drawn anew for each set, since they are stratified by its labels. So their rows differ, and unlike
    the fits of `permutation_test` they share no distances. A fit of `ReliefF` to one of 100 x 10 000 takes 0.04 s.

    References
    ----------
    .. [1] O. Melikechi, J. W. Miller, "Integrated path stability selection", Journal of the American Statistical
       Association, 2025.
    .. [2] O. Melikechi, D. B. Dunson, J. W. Miller, "Nonparametric IPSS: fast, flexible feature selection with false
       discovery control", Bioinformatics 41, 2025.
    .. [3] R. D. Shah, R. J. Samworth, "Variable selection with error control: another look at stability selection",
       JRSS B 75, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbors import StabilitySelection
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(100, 200))
    >>> y = X[:, 3] - X[:, 7] + 0.5 * rng.normal(size=100) > 0
    >>> selection = StabilitySelection(n_pairs=10, target_fdr=0.1, random_state=0).fit(X, y)
    >>> selection.get_feature_names_out()
    array(['x3', 'x7'], dtype=object)
    >>> selection.frame()["q_value"].head(3).round(2).tolist()
    [0.05, 0.05, 0.6]
    """

    weigher: Any = None
    n_pairs: int = 50
    _: KW_ONLY
    target_fdr: float | None = 0.1
    target_fp: float | None = None
    n_permutations: int = 10
    target_type: str = "auto"
    verbose: bool = False
    random_state: Any = None
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weigher": [None, HasMethods(["fit", "get_params"])],
        "n_pairs": [Interval(Integral, 1, None, closed="left")],
        "target_fdr": [None, Interval(Real, 0, 1, closed="neither")],
        "target_fp": [None, Interval(Real, 0, None, closed="neither")],
        "n_permutations": [Interval(Integral, 1, None, closed="left")],
        "target_type": [TARGET_TYPES],
        "verbose": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any, *, groups: Any = None, client: Any = None) -> StabilitySelection:
        """Fit the weigher to half samples, and select the features that are found again.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels, or a numeric target if the weigher takes one.
        groups : array-like of shape (n_samples,), optional
            Rows of one group, for example the samples of one patient, are in the same half. Labels are permuted
            between whole groups if all rows of each group have the same label, otherwise within groups.
        client : distributed.Client, optional
            Client of a Dask cluster on which the fits run. Without a client, joblib runs them.

        Returns
        -------
        self
        """
        table = self._check_input(X, y)
        target = table.target
        members = None if groups is None else group_codes(groups, len(table))
        used = usable_rows(target.decoded, members, numeric=target.numbers is not None)
        if len(used) < len(table):
            table = table.take(used)
            members = None if members is None else group_codes(members[used], len(used))
        self.weigher_ = self._resolve_weigher(table)
        self._publish(*self._fit_halves(table, members, client))
        return self

    @property
    def _needs_scaled_columns(self) -> bool:
        """Whether the weigher, which is fitted to every half sample, needs scaled columns."""
        return getattr(self.weigher, "_needs_scaled_columns", False)

    def _check_input(self, X: Any, y: Any) -> CodedTable:
        """Check and code the table and its target."""
        if self.target_fdr is None and self.target_fp is None:
            raise InvalidDataError(
                "target_fdr and target_fp are both None: give one of them, for example target_fdr=0.1"
            )
        kind = expected_target(self.weigher) if self.target_type == "auto" else self.target_type
        coder = TableCoder(getattr(self.weigher, "categorical_features", "from_dtype"))
        table = read_training(self, X, y, target_type=kind or "auto", coder=coder)
        if table.shape[1] < 2:
            raise InvalidDataError(
                "a selection compares features, so at least 2 are needed; got n_features=1. Use permutation_test for "
                "the weight of a single feature"
            )
        self.target_type_ = table.target.type
        self.__dict__.pop("classes_", None)  # an earlier fit may have had classes
        if table.numbers is None:
            self.classes_ = table.classes
        return table

    def _resolve_weigher(self, table: CodedTable) -> Any:
        """Return the weigher of all fits, not fitted.

        An offset "auto" is replaced by what it means for all rows, so that half samples do not differ in it.
        """
        weigher = ScoreWeigher(offset="auto") if self.weigher is None else self.weigher
        weigher = clone(told_model(weigher, table.target.decoded, self.target_type_))
        if isinstance(weigher, ScoreWeigher) and weigher.offset == "auto":
            weigher.set_params(offset=fit_model(clone(weigher), table).offset_)
        return weigher

    def _fit_halves(self, table: CodedTable, members: IndexArray | None, client: Any) -> tuple[FloatArray, FloatArray]:
        """Fit all half samples, and return their weights and the scores of permuted labels.

        ``members`` are the groups of the rows as numbers, or None.
        """
        n_blocks = 1 + int(self.n_permutations)
        if takes_coded(self.weigher_, table):
            table = replace(table, given=None)  # worker processes get the table
        fits = HalfFits(
            weigher=self.weigher_,
            table=table,
            executor=executor_for(client, self.n_jobs),
            n_blocks=n_blocks,
            verbose=bool(self.verbose),
        )
        sizes = self._sizes(table.shape[1])
        return fits.run(
            self._blocks(table.target, members, seed_sequence(self.random_state).spawn(n_blocks)),
            lambda weights: path_scores(rank_paths(weights, sizes)[0], sizes),
        )

    def _blocks(
        self, target: Target, members: IndexArray | None, seeds: list[np.random.SeedSequence]
    ) -> Iterator[list[PairTask]]:
        """Yield the tasks of the original labels, and then those of each set of permuted labels."""
        numeric = target.numbers is not None
        values = target.numbers if target.numbers is not None else target.codes
        permuter = choose_permuter(values, numeric=numeric, groups=members)
        for number, seed in enumerate(seeds):
            order, draws = seed.spawn(2)
            now: Any = values if number == 0 else permuter.draw(np.random.default_rng(order))
            permuted = replace(target, numbers=now) if numeric else replace(target, codes=now)
            yield draw_tasks(permuted, strata_of_target(now, numeric=numeric), members, int(self.n_pairs), draws)

    def _sizes(self, n_features: int) -> FloatArray:
        """Return the sizes of the lists that are counted."""
        return list_sizes(n_features, int(self.n_pairs))

    def _publish(self, weights: FloatArray, null_scores: FloatArray) -> None:
        """Set the attributes of the fit.

        ``weights`` are those of all half samples, ``null_scores`` the scores of permuted labels.
        """
        self.half_weights_, self.null_scores_ = weights, null_scores
        self.thresholds_ = self._sizes(weights.shape[1])
        self.paths_, self.mean_selected_ = rank_paths(weights, self.thresholds_)
        self.scores_ = path_scores(self.paths_, self.thresholds_)
        self.expected_false_positives_ = permutation_false_positives(self.scores_, null_scores)
        self.q_values_ = q_values(self.expected_false_positives_)
        self.shares_ = self.paths_[-1].copy()
        self.feature_weights_ = np.nan_to_num(np.nanmean(_with_some_value(weights), axis=0))
        self.support_ = self._select()
        self.weights_ = self._list_weights()

    def _select(self) -> BoolArray:
        """Return the features that the targets allow."""
        if self.target_fp is not None:
            return np.asarray(self.expected_false_positives_ <= self.target_fp)
        return np.asarray(self.q_values_ <= float(self.target_fdr or 0.0))  # one of both is given, as fit has checked

    def _list_weights(self) -> Weights:
        """Return the list as weights for a k-NN. Warn if the list is empty."""
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else tuple(names)
        if self.support_.any():
            return Weights(feature_mask=self.support_, feature_names=names)
        goal = f"target_fdr={self.target_fdr}" if self.target_fp is None else f"target_fp={self.target_fp}"
        least = self.expected_false_positives_.min()
        # The best feature was better than all features with permuted labels, so that only more of these can tell more.
        few = least <= 1 / self.n_permutations
        advice = f". With n_permutations={self.n_permutations} no smaller values are possible: use more" if few else ""
        warn(
            f"no feature reaches {goal} (the smallest q-value is {self.q_values_.min():.3g}, with "
            f"{least:.3g} expected false positives): the list is empty{advice}",
            NothingSelectedWarning,
        )
        return Weights(feature_names=names)

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per feature, the best first.

        The columns are selected, q_value, expected_false_positives, score, share (of the half samples, in the longest
        list) and weight (the mean over half samples).
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        texts = [f"x{j}" for j in range(len(self.scores_))] if names is None else [str(name) for name in names]
        frame = pd.DataFrame(
            {
                "selected": self.support_,
                "q_value": self.q_values_,
                "expected_false_positives": self.expected_false_positives_,
                "score": self.scores_,
                "share": self.shares_,
                "weight": self.feature_weights_,
            },
            index=pd.Index(texts, name="feature"),
        )
        # Many features have the score 0; their shares and weights order them.
        return frame.sort_values(["score", "share", "weight"], ascending=False, kind="stable")


def _with_some_value(weights: FloatArray) -> FloatArray:
    """Return the weights with 0 for features that have no finite weight in any run, so that they have a mean."""
    known = np.where(np.isfinite(weights), weights, np.nan)
    known[:, np.isnan(known).all(axis=0)] = 0.0
    return known
