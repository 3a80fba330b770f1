"""`FeatureSelector`: it selects features by the weights of any weigher, with a limit and without stand-ins."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, _fit_context, clone, is_regressor
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

from .._typing import BoolArray, FloatArray
from .._warnings import warn
from ..exceptions import FewGroupsWarning, InvalidDataError
from ..tables.coded import fit_model, read_training, takes_coded_tables
from ..tables.targets import accepted_target, wanted_target
from ..tables.validation import SelectsColumns, TableCoder, TakesTables
from .base import FeatureWeigher, number_to_select, require_scores
from .redundancy import FeatureGroups, FeatureSimilarity, find_groups


@dataclass(eq=False, repr=False)
class FeatureSelector(TakesTables, SelectsColumns, MetaEstimatorMixin, BaseEstimator):
    """Selects features by the weights that a weigher learns.

    Parameters
    ----------
    weigher : estimator
        A weigher, or any estimator that has ``feature_importances_`` or ``coef_`` after fit.
    n_features : int, float below 1 or None, default=None
        How many features, or which share of them, are selected; with ``redundancy="group"`` how many groups. None: all
        that the other parameters leave.
    threshold : float, optional
        Only features of a larger weight are selected.
    redundancy : {"drop", "group"} or None, default=None
        What is done about features that stand in for each other (`weighbors.evaluation.redundancy_groups`). "drop":
        only the feature with the largest weight of each group is selected. "group": whole groups are selected, and a
        group counts as much as its best feature. None: every feature counts for itself.

    Attributes
    ----------
    weigher_ : estimator
        The fitted weigher.
    feature_weights_ : ndarray of shape (n_features,)
        Its weights. ``feature_importances_`` has 0 for negative ones.
    support_ : bool ndarray of shape (n_features,)
    weights_ : Weights
        Weights of the selected features, for a k-NN. Only if the weigher has ``weights_``.
    feature_groups_ : ndarray of shape (n_features,)
        Number of the group of each feature. Only with ``redundancy``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from weighbors import FeatureSelector, ReliefF
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> FeatureSelector(ReliefF(), 3, redundancy="drop").fit(X, y).get_feature_names_out().tolist()
    ['flavanoids', 'od280/od315_of_diluted_wines', 'proline']
    """

    weigher: Any
    n_features: float | None = None
    _: KW_ONLY
    threshold: float | None = None
    redundancy: str | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weigher": [HasMethods(["fit"])],
        "n_features": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
        ],
        "threshold": [None, Interval(Real, None, None, closed="neither")],
        "redundancy": [None, StrOptions({"drop", "group"})],
    }
    _takes_targets_of_weigher: ClassVar[bool] = True

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any, **fit_params: Any) -> FeatureSelector:
        """Fit the weigher and select features by its weights.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        **fit_params : dict
            Further arguments of the weigher's ``fit``, such as ``sample_weight``.

        Returns
        -------
        self
        """
        coder = TableCoder(getattr(self.weigher, "categorical_features", "from_dtype"))
        table = read_training(self, X, y, target_type=self._target_type, coder=coder)
        self.weigher_ = fit_model(clone(self.weigher), table, **fit_params)
        scores = require_scores(self.weigher_, table.shape[1], "FeatureSelector")
        self.feature_weights_ = scores
        number = number_to_select(self.n_features, len(scores), "n_features")
        groups = None
        self.__dict__.pop("feature_groups_", None)  # an earlier fit may have had groups
        if self.redundancy is not None:
            # Groups are the same in every fit to these rows, so the permutations have a fixed seed.
            similarity = FeatureSimilarity(table.rows, table.nominal)
            n_jobs = getattr(self.weigher, "n_jobs", None)
            groups = find_groups(similarity, seeds=np.random.SeedSequence(0), n_jobs=n_jobs)
            self.feature_groups_ = groups.groups
        self.support_ = select_features(
            scores, number, threshold=self.threshold, groups=groups, whole_groups=self.redundancy == "group"
        )
        if hasattr(self.weigher_, "weights_"):
            self.weights_ = replace(self.weigher_.weights_, feature_mask=self.support_)
        return self

    @property
    def _target_type(self) -> str | None:
        """What ``y`` holds, as the weigher must have it."""
        known = is_regressor(self.weigher) or hasattr(self.weigher, "_takes_numeric_targets")
        return accepted_target(self.weigher) if known else wanted_target(self.weigher)

    feature_importances_ = FeatureWeigher.feature_importances_  # for scikit-learn's tools: negative weights count 0


def select_features(
    weights: FloatArray,
    number: int | None,
    *,
    threshold: float | None = None,
    groups: FeatureGroups | None = None,
    whole_groups: bool = False,
) -> BoolArray:
    """Return a mask of the features that are selected by their weights.

    Parameters
    ----------
    weights : ndarray of shape (n_features,)
    number : int or None
        How many features, or groups of features, are selected. None means all.
    threshold : float or None
        Only features (of groups: best features) of a larger weight are selected.
    groups : FeatureGroups or None
        Features that stand in for each other. Only the best feature of each group is a candidate.
    whole_groups : bool
        Whether a candidate brings all features of its group with it.
    """
    candidates = np.arange(len(weights)) if groups is None else np.sort(groups.best_members(weights))
    if number is not None:
        if number > len(candidates):
            warn(
                f"n_features={number} is more than the {len(candidates)} groups of features that stand in for each "
                "other; one feature of each, or each group, is selected. Take fewer, or redundancy=None",
                FewGroupsWarning,
            )
        # Of equal weights the lower column is kept.
        candidates = candidates[np.argsort(-weights[candidates], kind="stable")[:number]]
    if threshold is not None:
        candidates = candidates[weights[candidates] > threshold]
        if not len(candidates):
            raise InvalidDataError(
                f"no feature has a weight above threshold={threshold} (the largest is {weights.max():.4g}). "
                "Take a lower one"
            )
    keep = np.zeros(len(weights), dtype=bool)
    keep[candidates] = True
    return keep if groups is None or not whole_groups else np.isin(groups.groups, groups.groups[candidates])
