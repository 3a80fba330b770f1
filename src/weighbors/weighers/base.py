"""What all weighers of features share: input validation, the selection of features, and a `Weights` for a k-NN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from .._targets import Target, accepted_target, check_target
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .._validation import SelectsColumns, TableCoder, TakesTables, require_labels
from .._warnings import warn
from ..exceptions import (
    FewNeighborsWarning,
    ForeignWeightsError,
    LonelyClassWarning,
    NoPositiveWeightWarning,
    NothingSelectedWarning,
)
from ..weights import Weights, fingerprint
from .redundancy import FeatureSimilarity, find_groups
from .selection import number_to_select, select_features
from .tables import CodedTable, SharedTable

__all__ = [
    "ContributionWeigher",
    "FeatureWeigher",
    "WarningSelector",
    "check_table",
    "kept_part",
    "metric_weights",
    "published_scores",
    "require_fitted_rows",
    "warn_of_few_neighbors",
    "warn_of_singletons",
]

TIES = StrOptions({"share", "index"})


#: The `Weights` that `transform` of an estimator has warned of. They are kept here and not in the estimator,
#: which scikit-learn expects to be the same before and after `transform`.
_WARNED_OF: WeakKeyDictionary[Any, Weights] = WeakKeyDictionary()


class WarningSelector(SelectsColumns):
    """Selector of scikit-learn whose `transform` warns if it keeps more than the user may expect.

    It warns once per fit: if the fit selects no columns, so that `transform` drops none, or if the fit selects
    or weighs rows, since `transform` always returns all rows.
    """

    weights_: Weights

    def transform(self, X: Any) -> Any:
        """Return the selected features of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_features_kept)
        """
        selected = super().transform(X)
        self._warn_of_unselected()
        return selected

    def _warn_of_unselected(self) -> None:
        """Emit the message of `_unselected_message`, if there is one, once per fit."""
        message = self._unselected_message()
        if message and _WARNED_OF.get(self) is not self.weights_:
            _WARNED_OF[self] = self.weights_
            warn(message, NothingSelectedWarning)

    def _unselected_message(self) -> str:
        """Return a message: what `transform` does not change, and what to use instead. It is "" without a reason."""
        name, weights = type(self).__name__, self.weights_
        numeric = getattr(self, "target_type_", "classes") == "numeric"
        knn = f"WeightedKNeighbors{'Regressor' if numeric else 'Classifier'}(weigher={name}(...))"
        if weights.instance_mask is not None or weights.instance_scales is not None:
            done = "selected" if weights.instance_mask is not None else "weighed"
            return (
                f"{name} {done} rows, but transform passes all rows on: a step of a pipeline cannot drop or weigh "
                f"them. Use {knn} or reduce(X, y)"
                + ("" if numeric else ", or as_sampler() in a pipeline of imbalanced-learn")
            )
        if weights.feature_mask is None:
            return (
                f"transform of {name} keeps all columns as they are. {self._how_to_select()}, or use the weights: {knn}"
            )
        return ""

    def _how_to_select(self) -> str:
        """Return advice for a message: what to change so that `transform` drops columns."""
        return f"Write {type(self).__name__}(n_features_to_select=20) to keep the 20 best"


class FeatureWeigher(TakesTables, WarningSelector, BaseEstimator):
    """Base of the estimators that weigh features: a subclass brings `fit_weights`.

    It inherits ``fit``, the parameters of the constructor below, selection of features, names, tags and
    ``weights_``.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        "n_features_to_select": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
        ],
        "threshold": [None, Interval(Real, None, None, closed="neither")],
        "redundancy": [None, StrOptions({"drop", "group"})],
        "redundancy_threshold": [StrOptions({"auto", "null"}), Interval(Real, 0, 1, closed="right")],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "n_jobs": [None, Integral],
    }

    #: Whether the paper's norm has w², so that the k-NN gets the squares of the published weights.
    _squares_weights = False

    #: Whether the weigher takes numeric targets. It then finds the numbers in ``table.target``, and has the attribute
    #: ``target_type_`` after fit. If it takes classes, too, it needs the parameter ``target_type`` (constraint
    #: `TARGET_TYPES`); without this parameter it takes numeric targets only.
    _takes_numeric_targets = False

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        threshold: float | None = None,
        redundancy: str | None = None,
        redundancy_threshold: float | str = "auto",
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.redundancy = redundancy
        self.redundancy_threshold = redundancy_threshold
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Any:
        """Weigh the features.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        return self._fit(X, y, None)

    def _fit(self, X: Any, y: Any, sample_weight: Any, **data: Any) -> Any:
        """Check and code the table, learn the weights, and publish them.

        ``data`` are further arguments of `fit_weights`, such as covariates.
        """
        rows, target = self._check_input(X, y)
        weight: FloatArray = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        nominal = self._coder.nominal_of(rows)
        table = CodedTable(rows, target.codes, target.classes, nominal, weight, target.numbers)
        self._publish(rows, self.fit_weights(table, **data), **self._metric_parts())
        return self

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Return the weights of the features, learned from ``table``. Every weigher must define this method.

        Parameters
        ----------
        table : CodedTable

        Returns
        -------
        ndarray of shape (n_features,)
            Weights as in the paper. They may be negative.
        """
        raise NotImplementedError(f"{type(self).__name__} has no fit_weights")

    @property
    def _redundancy(self) -> str | None:
        """The parameter ``redundancy``, which weighers over tables in blocks do not have."""
        return getattr(self, "redundancy", None)

    def _metric_parts(self) -> dict[str, Any]:
        """Return what ``weights_`` holds beside or instead of the published vector; called after `fit_weights`."""
        return {}

    def _check_input(self, X: Any, y: Any) -> tuple[Any, Target]:
        """Validate table and target, and return the coded rows and the target.

        Set the column coding, ``classes_`` unless the target is numeric, and ``target_type_`` if it could be.
        """
        X, target, self._coder = check_table(self, X, y)
        self._take_target(target)
        return X, target

    def _take_target(self, target: Target) -> None:
        """Set ``classes_`` unless the target is numeric, and ``target_type_`` if it could be."""
        if target.numbers is None:
            self.classes_ = target.classes
        else:
            self.__dict__.pop("classes_", None)  # an earlier fit may have had classes
        if self._takes_numeric_targets:
            self.target_type_, self.target_statement_ = target.type, target.statement

    def share_table(self, X: Any, y: Any) -> SharedTable | None:
        """Return what many fits to the rows of ``X`` can share, or None if this weigher fits in a way of its own.

        ``y`` is the target of one of the fits. See `SharedTable.fit_many`.
        """
        kind = type(self)
        usual = kind.fit in (FeatureWeigher.fit, ContributionWeigher.fit)
        if not (usual and kind._fit is FeatureWeigher._fit and kind._publish is FeatureWeigher._publish):
            return None
        rows, target = self._check_input(X, y)
        weight = np.ones(rows.shape[0])
        table = CodedTable(rows, target.codes, target.classes, self._coder.nominal_of(rows), weight, target.numbers)
        return SharedTable(self, replace(table, shared=self._measure_once(table)))

    @classmethod
    def fit_many(cls, weighers: Sequence[FeatureWeigher], tables: Sequence[CodedTable]) -> list[FloatArray]:
        """Return what `fit_weights` returns for each weigher and table. All tables have the same rows."""
        return [weigher.fit_weights(table) for weigher, table in zip(weighers, tables, strict=True)]

    def _fits_at_once(self, table: CodedTable) -> int:
        """Return how many fits `fit_many` should get at once. More than one only if that is faster."""
        return 1

    def _measure_once(self, table: CodedTable) -> Any:
        """Return what `fit_weights` takes from ``table.shared`` in fits to other targets, or None if nothing."""
        return None

    def _publish(self, X: Any, published: FloatArray, **parts: Any) -> None:
        """Set the published weights, the selected features, and the `Weights` for a k-NN.

        ``parts`` are further arguments of `Weights`, in place of the metric that the published weights make.
        """
        self.feature_weights_ = published
        self.support_ = self._select(X, published)
        # Without a request to select there is no mask, from which `transform` knows that it should warn.
        selecting = self.n_features_to_select is not None or self.threshold is not None or self._redundancy == "drop"
        names = getattr(self, "feature_names_in_", None)
        if "feature_weights" not in parts:
            parts["feature_weights"] = self._metric_weights(published)
        # Only weights that belong to rows must be checked against the rows of a k-NN.
        bound = parts.get("votes") is not None
        self.weights_ = Weights(
            feature_mask=self.support_ if selecting else None,
            feature_names=None if names is None else tuple(names),
            n_samples=X.shape[0] if bound else None,
            fingerprint=fingerprint(X) if bound else None,
            **parts,
        )

    def _metric_weights(self, published: FloatArray) -> FloatArray:
        """Return the weights ``a`` of the distance, made from the published weights; called after the selection."""
        return metric_weights(published, self.support_, square=self._squares_weights)

    def _select(self, X: Any, weights: FloatArray) -> BoolArray:
        """Choose the features that the parameters ask for, by their published weights. ``X`` are the coded rows."""
        number = number_to_select(self.n_features_to_select, len(weights))
        for name in ("feature_groups_", "redundancy_threshold_"):  # an earlier fit may have had groups
            self.__dict__.pop(name, None)
        if self._redundancy is None:
            return select_features(weights, number=number, threshold=self.threshold)
        # Groups are the same in every fit to these rows, so the permutations have a fixed seed.
        similarity = FeatureSimilarity(X, self._coder.nominal_of(X))
        found = find_groups(similarity, self.redundancy_threshold, seeds=np.random.SeedSequence(0), n_jobs=self.n_jobs)
        self.feature_groups_, self.redundancy_threshold_ = found.groups, found.threshold
        return select_features(
            weights,
            number=number,
            threshold=self.threshold,
            groups=found,
            whole_groups=self._redundancy == "group",
        )

    def _get_support_mask(self) -> BoolArray:
        """Return which features are selected, for scikit-learn's mixin."""
        check_is_fitted(self)
        support: BoolArray = self.support_
        return support

    @property
    def feature_importances_(self) -> FloatArray:
        """The feature weights for scikit-learn's tools: negative ones count 0.

        `RFE` squares importances and `SelectFromModel` takes their absolute values, so that a negative weight,
        which means that a feature is worse than none, would look like a large one.
        """
        check_is_fitted(self)
        importances: FloatArray = np.maximum(self.feature_weights_, 0.0)
        return importances


class ContributionWeigher(FeatureWeigher):
    """Base of the weighers that sum what instances contribute, each by its ``sample_weight``."""

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Weigh the features.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies what an instance contributes.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)


def check_table(weigher: Any, X: Any, y: Any) -> tuple[Any, Target, TableCoder]:
    """Validate table and target, and return the coded rows, the target, and the column coding.

    A numeric target is refused unless the weigher says that it takes numeric targets.
    """
    require_labels(weigher, y)
    coder = TableCoder(weigher.categorical_features)
    X = coder.fit_transform(weigher, X)
    target = check_target(y, accepted_target(weigher), who=type(weigher).__name__)
    check_consistent_length(X, target.codes)
    if target.numbers is None:
        warn_of_singletons(target.classes, np.bincount(target.codes, minlength=len(target.classes)))
    return X, target, coder


def warn_of_singletons(classes: AnyArray, count: IndexArray) -> None:
    """Warn of singleton classes, which have one instance. ``count`` is the number of instances of each class."""
    singletons = classes[count == 1]
    if len(singletons):
        warn(
            f"{len(singletons)} class(es) have one instance and so no nearest hit ({singletons[:5].tolist()}); "
            "that term counts 0",
            LonelyClassWarning,
        )


def published_scores(model: Any) -> FloatArray | None:
    """Return the scores of the features from a fitted model, larger for more relevant, or None if it has none.

    The scores are ``feature_weights_``, else ``feature_importances_``, else the absolute values of ``coef_``, summed
    over classes.
    """
    for name in ("feature_weights_", "feature_importances_"):
        found = getattr(model, name, None)
        if found is not None:
            return np.asarray(found, dtype=np.float64)
    coefficients = getattr(model, "coef_", None)
    if coefficients is None:
        return None
    coefficients = coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients
    return np.atleast_2d(np.abs(np.asarray(coefficients, dtype=np.float64))).sum(axis=0)


def warn_of_few_neighbors(classes: AnyArray, codes: IndexArray, k: int | str, *, misses: str) -> None:
    """Warn of classes that have fewer than ``k`` hits, or for which there are fewer than ``k`` misses.

    Singleton classes are not named: `warn_of_singletons` names them.

    Parameters
    ----------
    classes, codes
        The labels, and the class of each row. Without classes (for a numeric target) all rows are neighbours.
    k : int or "all"
    misses : {"each", "together"}
        Whether k misses are sought in each other class, or in all of them together.
    """
    if k == "all":
        return
    if not len(classes):
        if len(codes) - 1 < int(k):
            warn(
                f"n_neighbors={k} is more than the {len(codes) - 1} other rows; all of them are used. Take "
                f"n_neighbors={len(codes) - 1} or less",
                FewNeighborsWarning,
            )
        return
    count = np.bincount(codes, minlength=len(classes))
    given = count - 1 if misses == "each" else np.minimum(count - 1, len(codes) - count)
    few = np.flatnonzero((given < int(k)) & (count > 1))
    if len(few):
        named = ", ".join(f"{classes[c]!s}: {given[c]}" for c in few[:5]) + ", ..." * (len(few) > 5)
        warn(
            f"n_neighbors={k} is more than {len(few)} class(es) have ({named}); all that they have are used. Take "
            f"n_neighbors={given[few].min()} or less to use as many everywhere",
            FewNeighborsWarning,
        )


def metric_weights(weights: FloatArray, support: BoolArray, *, square: bool = False) -> FloatArray:
    """Return the metric weights ``a``: the weights, or their squares if ``square``, with negative weights set to 0.

    If no feature of ``support`` has a positive weight, all are 1, with a warning.
    """
    clipped = np.maximum(weights, 0.0)
    a = clipped**2 if square else clipped
    if not (a[support] > 0).any():
        warn(
            "no feature got a positive weight; a k-NN with these weights treats all features alike",
            NoPositiveWeightWarning,
        )
        return np.ones_like(a)
    return a


def require_fitted_rows(coded: Any, known: str | None) -> None:
    """Refuse other rows than those of the fit, for what selects rows by their numbers."""
    if fingerprint(coded) != known:
        raise ForeignWeightsError(
            "reduce takes the rows that were fitted, in their order; these are others. "
            "Use transform to select the features of other rows"
        )


def kept_part(X: Any, y: Any, rows: IndexArray, support: BoolArray) -> Any:
    """Return rows and columns of a table in the container it came in; with their labels where ``y`` is given.

    Parameters
    ----------
    X : table
    y : labels or None
    rows : ndarray of int
        The rows that are kept.
    support : bool ndarray of shape (n_features,)
        The columns that are kept.
    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    if y is not None:
        check_consistent_length(X, y)
    small = _safe_indexing(_safe_indexing(X, rows), np.flatnonzero(support), axis=1)
    return small if y is None else (small, _safe_indexing(y, rows))
