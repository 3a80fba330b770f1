"""StabilitySelection: a scikit-learn selector whose list has an expected number of false features."""

from __future__ import annotations

import os
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..._frames import as_pandas, is_frame
from ..._identity import describe, digest, digest_table
from ..._parallel.executors import executor_for
from ..._permutations import choose_permuter
from ..._random import seed_sequence
from ..._targets import TARGET_TYPES, check_target
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..._validation import SelectsColumns, TableCoder, TakesTables, require_labels
from ..._warnings import warn
from ...exceptions import InvalidDataError, NothingSelectedWarning
from ...weighers.evolution.lock import hold_checkpoint
from ...weighers.score import ScoreWeigher
from ...weighers.scored_table import ScoredTable
from ...weights import Weights
from ..targets import decide_target_type, expected_target, told_model
from .halves import group_codes, strata_of_target, usable_rows
from .paths import (
    integrate_paths,
    list_sizes,
    path_scores,
    permutation_false_positives,
    q_values,
    rank_paths,
    score_paths,
    score_thresholds,
)
from .run import FitKeeper, HalfFits, PairTask, draw_tasks

__all__ = ["StabilitySelection"]


class StabilitySelection(TakesTables, SelectsColumns, BaseEstimator):
    """Select the features that a weigher finds again in half samples, with q-values for the list.

    The rows are cut into two halves, many times, and a weigher ranks the features in each half. A feature that is
    among the best in most halves, for short and for longer lists, gets a high score (integrated path stability
    selection [1]_ [2]_). How many features reach a score by chance is estimated from permuted labels, or bounded by the
    formula of the papers. The list is as long as the wanted false discovery rate allows.

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
    null : {"permutation", "bound"}, default="permutation"
        Where the expected false positives come from. "permutation": all half samples are drawn and fitted again with
        permuted labels, and the scores of all features there are counted. "bound": the bound of the papers divided by
        the score, as in the package `ipss`; it needs no further fits. It holds only if the selections of different
        pairs are nearly independent, see the notes.
    n_permutations : int, default=10
        Number of sets of permuted labels. The least expected number of false positives is 1 / n_permutations.
    thresholds : {"rank", "score"}, default="rank"
        What selects features in a half sample. "rank": being among the k best, for many k. "score": a weight above a
        threshold, for many thresholds, as in `ipss`.
    n_thresholds : int, default=100
    order : {1, 2, 3}, default=3
        The score integrates h(π) = (2π − 1)^order over the thresholds, where π is the share of half samples that select
        the feature.
    delta : float, default=1.0
        The measure of the integral is proportional to τ^(−delta) dτ, where τ is a threshold of the weights, or 1 / k.
    cutoff : float, default=0.05
        Thresholds are used from the strictest on while the integral of the bound is at most this.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. "auto": what the weigher needs, if it takes only one of both, otherwise floats with a fraction
        or with many values are numbers.
    checkpoint : path-like or None, default=None
        File that keeps the fits that are done.
    resume : bool, default=False
        Whether to continue from the checkpoint. The result is the same as without an interruption.
    verbose : bool, default=False
        Whether progress is shown on stderr.
    random_state : int, RandomState or None, default=0
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
        The integral of h(π), from 0 to 1.
    shares_ : ndarray of shape (n_features,)
        Share of the half samples that select the feature at the last threshold.
    paths_ : ndarray of shape (n_thresholds, n_features)
        Share of the half samples that select each feature, for each threshold.
    thresholds_ : ndarray of shape (n_thresholds,)
        Numbers k of features, or thresholds of the weights.
    mean_selected_ : ndarray of shape (n_thresholds,)
        Mean number of features that a half sample selects.
    feature_weights_ : ndarray of shape (n_features,)
        Mean of the weights over all half samples.
    half_weights_ : ndarray of shape (2 · n_pairs, n_features)
        The weights learned from each half sample of the original labels, for `kuncheva_curve` and others.
    null_scores_ : ndarray of shape (n_permutations, n_features)
        The scores from permuted labels. Only with ``null="permutation"``.
    weigher_ : estimator
        The weigher that was used, not fitted. Its ``offset`` is None if the columns are not on one scale.
    weights_ : Weights
        The list as weights for a k-NN. If the list is empty, all features are used.
    target_type_ : str
    classes_ : ndarray of shape (n_classes,)
        Only for classes.

    Notes
    -----
    The bound of the papers for ``order`` 2 and 3 assumes that a feature without effect is selected in different pairs
    of half samples nearly independently. All pairs come from the same rows, so a feature that is related to the labels
    by chance is related to them in most pairs. On generated tables with correlated features, lists of the t-statistic
    by the bound of order 3 had five times the wanted share of false features (:doc:`/guide/lists` has the table). The
    bound of order 1 needs no such assumption, but finds little. So the default counts scores from permuted labels.

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
    >>> selection = StabilitySelection(n_pairs=10, target_fdr=0.1).fit(X, y)
    >>> selection.get_feature_names_out()
    array(['x3', 'x7'], dtype=object)
    >>> selection.frame()["q_value"].head(3).round(2).tolist()
    [0.05, 0.05, 0.6]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        "weigher": [None, HasMethods(["fit", "get_params"])],
        "n_pairs": [Interval(Integral, 1, None, closed="left")],
        "target_fdr": [None, Interval(Real, 0, 1, closed="neither")],
        "target_fp": [None, Interval(Real, 0, None, closed="neither")],
        "null": [StrOptions({"permutation", "bound"})],
        "n_permutations": [Interval(Integral, 1, None, closed="left")],
        "thresholds": [StrOptions({"rank", "score"})],
        "n_thresholds": [Interval(Integral, 3, None, closed="left")],
        "order": [Options(Real, {1, 2, 3})],
        "delta": [Interval(Real, 0, None, closed="left")],
        "cutoff": [Interval(Real, 0, None, closed="neither")],
        "target_type": [TARGET_TYPES],
        "checkpoint": [None, str, os.PathLike],
        "resume": ["boolean"],
        "verbose": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        weigher: Any = None,
        n_pairs: int = 50,
        *,
        target_fdr: float | None = 0.1,
        target_fp: float | None = None,
        null: str = "permutation",
        n_permutations: int = 10,
        thresholds: str = "rank",
        n_thresholds: int = 100,
        order: int = 3,
        delta: float = 1.0,
        cutoff: float = 0.05,
        target_type: str = "auto",
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        verbose: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.weigher = weigher
        self.n_pairs = n_pairs
        self.target_fdr = target_fdr
        self.target_fp = target_fp
        self.null = null
        self.n_permutations = n_permutations
        self.thresholds = thresholds
        self.n_thresholds = n_thresholds
        self.order = order
        self.delta = delta
        self.cutoff = cutoff
        self.target_type = target_type
        self.checkpoint = checkpoint
        self.resume = resume
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
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
        rows, labels = self._check_input(X, y)
        members = None if groups is None else group_codes(groups, len(labels))
        used = usable_rows(labels, members, numeric=self.target_type_ == "numeric")
        if len(used) < len(labels):
            rows, labels = _safe_indexing(rows, used), labels[used]
            members = None if members is None else group_codes(members[used], len(used))
        self.weigher_ = self._resolve_weigher(rows, labels)
        with hold_checkpoint(self.checkpoint):
            state = self._fit_halves(rows, labels, members, client)
        self._publish(state["weights"], state["null_scores"])
        return self

    def _check_input(self, X: Any, y: Any) -> tuple[Any, AnyArray]:
        """Validate table and target, and return both as the weigher gets them."""
        if self.target_fdr is None and self.target_fp is None:
            raise InvalidDataError(
                "target_fdr and target_fp are both None: give one of them, for example target_fdr=0.1"
            )
        require_labels(self, y)
        X = as_pandas(X)
        coded = TableCoder(getattr(self.weigher, "categorical_features", "from_dtype")).fit_transform(self, X)
        if coded.shape[1] < 2:
            raise InvalidDataError(
                "a selection compares features, so at least 2 are needed; got n_features=1. Use permutation_test for "
                "the weight of a single feature"
            )
        kind = decide_target_type(y, self.target_type, expected_target(self.weigher))
        target = check_target(y, kind)
        check_consistent_length(coded, target.codes)
        self.target_type_ = target.type
        self.__dict__.pop("classes_", None)  # an earlier fit may have had classes
        if target.numbers is None:
            self.classes_ = target.classes
        # A frame keeps its column names and categories for pipelines; other tables are checked numbers.
        return (X if is_frame(X) else coded), target.decoded

    def _resolve_weigher(self, rows: Any, labels: AnyArray) -> Any:
        """Return the weigher of all fits, not fitted.

        An offset "auto" is replaced by what it means for all rows, so that half samples do not differ in it.
        """
        weigher = ScoreWeigher(offset="auto") if self.weigher is None else self.weigher
        weigher = clone(told_model(weigher, labels, self.target_type_))
        if isinstance(weigher, ScoreWeigher) and weigher.offset == "auto":
            weigher.set_params(offset=clone(weigher).fit(rows, labels).offset_)
        return weigher

    def _fit_halves(self, rows: Any, labels: AnyArray, members: IndexArray | None, client: Any) -> dict[str, AnyArray]:
        """Fit all half samples, and return their weights and the scores of permuted labels.

        ``rows`` and ``labels`` are as `_check_input` returns them, ``members`` are the groups as numbers.
        """
        root, keeper = seed_sequence(self.random_state), None
        state: dict[str, AnyArray] = {}
        if self.checkpoint is not None:
            data = digest([digest_table(rows, labels), None if members is None else members.tolist()])
            keeper = FitKeeper(self.checkpoint, data, self._describe_fits(), root.entropy)
            state, keeper.entropy = keeper.open(resume=bool(self.resume))
            root = np.random.SeedSequence(keeper.entropy)
        n_blocks = 1 + (int(self.n_permutations) if self.null == "permutation" else 0)
        fits = HalfFits(
            weigher=self.weigher_,
            X=ScoredTable.of(self.weigher_, rows, numeric=self.target_type_ == "numeric") or rows,
            executor=executor_for(client, self.n_jobs),
            keeper=keeper,
            state=state,
            n_blocks=n_blocks,
            verbose=bool(self.verbose),
        )
        # The thresholds of permuted labels are those of the original ones.
        fits.run(
            self._blocks(labels, members, root.spawn(n_blocks)),
            lambda weights: self._scores(weights, self._grid(fits.state["weights"])),
        )
        return fits.state

    def _blocks(
        self, labels: AnyArray, members: IndexArray | None, seeds: list[np.random.SeedSequence]
    ) -> Iterator[list[PairTask]]:
        """Yield the tasks of the original labels, and then those of each set of permuted labels."""
        numeric = self.target_type_ == "numeric"
        permuter = choose_permuter(labels, numeric=numeric, groups=members)
        for number, seed in enumerate(seeds):
            order, draws = seed.spawn(2)
            now = labels if number == 0 else permuter.draw(np.random.default_rng(order))
            yield draw_tasks(now, strata_of_target(now, numeric=numeric), members, int(self.n_pairs), draws)

    def _describe_fits(self) -> dict[str, Any]:
        """Return all settings that change the fits or the stored scores, as plain values."""
        names = ("n_pairs", "null", "n_permutations", "thresholds", "n_thresholds", "order", "delta", "cutoff")
        given = {name: describe(getattr(self, name)) for name in names}
        seed = self.random_state
        # A generator has no value to compare. Its entropy is stored beside the settings.
        given["random_state"] = int(seed) if isinstance(seed, Integral) else None
        return {**given, "weigher": describe(self.weigher_), "target_type": self.target_type_}

    def _grid(self, weights: FloatArray) -> FloatArray:
        """Return the thresholds: sizes of lists, or thresholds of the weights."""
        number = int(self.n_thresholds)
        if self.thresholds == "score":
            return score_thresholds(weights, number)
        return list_sizes(
            weights.shape[1],
            int(self.n_pairs),
            n_thresholds=number,
            delta=float(self.delta),
            cutoff=float(self.cutoff),
            order=int(self.order),
        )

    def _paths(self, weights: FloatArray, grid: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return stability paths, mean numbers of selected features, and thresholds in the sense of the measure."""
        if self.thresholds == "score":
            return *score_paths(weights, grid), grid
        return *rank_paths(weights, grid), 1 / grid

    def _scores(self, weights: FloatArray, grid: FloatArray) -> FloatArray:
        """Return the scores of the features, from the weights of one set of labels."""
        paths, _, thresholds = self._paths(weights, grid)
        return path_scores(paths, thresholds, delta=float(self.delta), order=int(self.order))

    def _publish(self, weights: FloatArray, null_scores: FloatArray) -> None:
        """Set the attributes of the fit.

        ``weights`` are those of all half samples, ``null_scores`` the scores of permuted labels.
        """
        grid = self._grid(weights)
        self.half_weights_ = weights
        self.paths_, self.mean_selected_, thresholds = self._paths(weights, grid)
        self.thresholds_ = grid
        self.__dict__.pop("null_scores_", None)  # an earlier fit may have had permutations
        if self.null == "permutation":
            self.null_scores_ = null_scores
            self.scores_ = path_scores(self.paths_, thresholds, delta=float(self.delta), order=int(self.order))
            self.expected_false_positives_ = permutation_false_positives(self.scores_, null_scores)
            self.q_values_ = q_values(self.expected_false_positives_)
        else:
            found = integrate_paths(
                self.paths_,
                self.mean_selected_,
                thresholds,
                int(self.n_pairs),
                delta=float(self.delta),
                cutoff=float(self.cutoff),
                order=int(self.order),
            )
            end = len(found.thresholds)
            self.paths_, self.mean_selected_, self.thresholds_ = found.paths, found.mean_selected, grid[:end]
            self.scores_, self.q_values_ = found.scores, found.q_values
            self.expected_false_positives_ = found.expected_false_positives
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
        few = self.null == "permutation" and least <= 1 / self.n_permutations
        advice = f". With n_permutations={self.n_permutations} no smaller values are possible: use more" if few else ""
        warn(
            f"no feature reaches {goal} (the smallest q-value is {self.q_values_.min():.3g}, with "
            f"{least:.3g} expected false positives): the list is empty{advice}",
            NothingSelectedWarning,
        )
        return Weights(feature_names=names)

    def _get_support_mask(self) -> BoolArray:
        """Return which features are selected, for scikit-learn's mixin."""
        check_is_fitted(self)
        return self.support_

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per feature, the best first.

        The columns are selected, q_value, expected_false_positives, score, share (of the half samples, at the last
        threshold) and weight (the mean over half samples).
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
