"""What all weighers of features share: input validation, the selection of features, and a `Weights` for a k-NN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._parallel.cluster import is_dask
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .._warnings import warn
from ..blocks import is_blocks, read_training_blocks, select_columns
from ..exceptions import (
    FewNeighborsWarning,
    ForeignWeightsError,
    InvalidDataError,
    LonelyClassWarning,
    NoPositiveWeightWarning,
    NothingSelectedWarning,
)
from ..tables.coded import CodedTable, read_training, takes_coded_tables
from ..tables.targets import accepted_target, check_target
from ..tables.validation import SelectsColumns, TakesTables
from ..weights import Weights, fingerprint

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
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Of a Dask collection, the result is lazy.

        Returns
        -------
        array of shape (n_samples, n_features_kept)
        """
        selected = select_columns(self, X) if is_dask(X) else super().transform(X)
        self._warn_of_unselected()
        return selected

    def _warn_of_unselected(self) -> None:
        """Warn, once per fit, of what `transform` does not change, and say what to use instead."""
        name, weights = type(self).__name__, self.weights_
        if _WARNED_OF.get(self) is weights:
            return
        numeric = getattr(self, "target_type_", "classes") == "numeric"
        knn = f"WeightedKNeighbors{'Regressor' if numeric else 'Classifier'}(weigher={name}(...))"
        if weights.instance_mask is not None or weights.instance_scales is not None:
            done = "selected" if weights.instance_mask is not None else "weighed"
            message = (
                f"{name} {done} rows, but transform passes all rows on: a step of a pipeline cannot drop or weigh "
                f"them. Use {knn} or reduce(X, y)"
                + ("" if numeric else ", or as_sampler() in a pipeline of imbalanced-learn")
            )
        elif weights.feature_mask is None:
            message = (
                f"transform of {name} keeps all columns as they are. {self._how_to_select()}, or use the weights: {knn}"
            )
        else:
            return
        _WARNED_OF[self] = weights
        warn(message, NothingSelectedWarning)

    def _how_to_select(self) -> str:
        """Return advice for a message: what to change so that `transform` drops columns."""
        return f"Write {type(self).__name__}(n_features_to_select=20) to keep the 20 best"


@dataclass(eq=False, repr=False, kw_only=True)
class FeatureWeigher(TakesTables, WarningSelector, BaseEstimator):
    """Base of the estimators that weigh features: a subclass brings `fit_weights`.

    It inherits ``fit``, the parameters below, selection of features, names, tags and ``weights_``. Subclasses are
    dataclasses, too: a parameter is a field with a default, and `dataclass` makes the constructor.
    """

    n_features_to_select: float | None = None
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
        ],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "n_jobs": [None, Integral],
    }

    #: Whether the weigher takes numeric targets. It then finds them in ``table.numbers``, and has the attribute
    #: ``target_type_`` after fit. If it takes classes, too, it needs the parameter ``target_type`` (constraint
    #: `TARGET_TYPES`); without this parameter it takes numeric targets only.
    _takes_numeric_targets: ClassVar[bool] = False

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @takes_coded_tables
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
        table = code_table(self, X, y)
        return self._publish(table.rows, self.fit_weights(table))

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

    def _publish(self, X: Any, published: FloatArray) -> Any:
        """Set the published weights, the selected features, and the `Weights` for a k-NN, and return the estimator."""
        self.feature_weights_ = published
        # Without a request to select there is no mask, from which `transform` knows that it should warn.
        selecting = self.n_features_to_select is not None
        everything = np.ones(len(published), dtype=bool)
        self.support_ = select_best(published, self.n_features_to_select) if selecting else everything
        names = getattr(self, "feature_names_in_", None)
        parts = self._metric_parts()
        # Only weights that belong to rows must be checked against the rows of a k-NN.
        bound = "votes" in parts
        self.weights_ = Weights(
            feature_mask=self.support_ if selecting else None,
            feature_names=None if names is None else tuple(names),
            n_samples=X.shape[0] if bound else None,
            fingerprint=fingerprint(X) if bound else None,
            **parts,
        )
        return self

    def _metric_parts(self) -> dict[str, Any]:
        """Return what ``weights_`` holds for a k-NN: by default the published weights, with negative ones set to 0."""
        return {"feature_weights": metric_weights(self.feature_weights_, self.support_)}

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
    @takes_coded_tables
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
        table = code_table(self, X, y, sample_weight)
        return self._publish(table.rows, self.fit_weights(table))


def fit_targets(weighers: Sequence[FeatureWeigher], X: Any, targets: Sequence[Any]) -> list[FloatArray] | None:
    """Return the ``feature_weights_`` that each weigher would learn from the rows of ``X`` and its own target.

    They have the same bits as those of separate fits, but rows are checked, coded and compared with each other only
    once, by a method ``fit_tables``. The weighers are of one class and differ in ``random_state`` only. Return None if
    their class has no such method, or if a subclass fits in a way of its own.
    """
    first = weighers[0]
    own = {"fit", "fit_weights", "fit_tables"}
    decides = next(kind for kind in type(first).__mro__ if own & vars(kind).keys())
    if "fit_tables" not in vars(decides):
        return None
    table, tables = code_table(first, X, targets[0]), []
    for y in targets:
        target = check_target(y, accepted_target(first), who=type(first).__name__)
        check_consistent_length(table.rows, target.codes)
        tables.append(replace(table, target=target))
    weights: list[FloatArray] = decides.fit_tables(weighers, tables)  # type: ignore[attr-defined]
    return weights


def number_to_select(wanted: float | None, n_features: int, parameter: str = "n_features_to_select") -> int | None:
    """Return how many features are to be selected. ``wanted`` is a number, a share below 1, or None for all.

    Raise InvalidDataError if there are fewer features. ``parameter`` is the name of ``wanted`` in the message.
    """
    if wanted is None:
        return None
    number = max(1, round(wanted * n_features)) if wanted < 1 else int(wanted)
    if number > n_features:
        raise InvalidDataError(f"{parameter}={number} is more than the {n_features} features there are. Take fewer")
    return number


def select_best(weights: FloatArray, wanted: float | None) -> BoolArray:
    """Return a mask of the features with the largest weights. Of equal weights the lower column is kept.

    ``wanted`` is a number, a share below 1, or None for all.
    """
    keep = np.zeros(len(weights), dtype=bool)
    keep[np.argsort(-weights, kind="stable")[: number_to_select(wanted, len(weights))]] = True
    return keep


def code_table(weigher: Any, X: Any, y: Any, sample_weight: Any = None) -> CodedTable:
    """Check and code the training table of a weigher, and set what it knows of columns and target after fit.

    A numeric target is refused unless the weigher says that it takes numeric targets.
    """
    in_blocks = type(X) is not np.ndarray and getattr(weigher, "_takes_blocks", False) and is_blocks(X)
    table = (read_training_blocks if in_blocks else read_training)(weigher, X, y, sample_weight)
    # All is checked: a fit that fails leaves what an earlier one has learned.
    weigher._coder = table.coder
    if getattr(weigher, "_takes_numeric_targets", False):
        weigher.target_type_, weigher.target_statement_ = table.target.type, table.target.statement
    if table.numbers is None:
        weigher.classes_ = table.classes
        warn_of_singletons(table.classes, np.bincount(table.codes, minlength=len(table.classes)))
    else:
        weigher.__dict__.pop("classes_", None)  # an earlier fit may have had classes
    return table


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


def require_scores(model: Any, n_features: int, who: str) -> FloatArray:
    """Return the `published_scores` of a fitted model. Raise InvalidDataError unless each feature has a finite one.

    ``who`` is the estimator that needs them, as the message names it.
    """
    scores, name = published_scores(model), type(model).__name__
    if scores is None:
        raise InvalidDataError(
            f"{who} needs one finite weight per feature after fit: {name} has none of feature_weights_, "
            "feature_importances_ and coef_"
        )
    if scores.shape != (n_features,) or not np.isfinite(scores).all():
        raise InvalidDataError(
            f"{who} needs one finite weight per feature ({n_features}); {name} gives shape {scores.shape}, "
            f"{np.count_nonzero(~np.isfinite(scores))} of them not finite"
        )
    return scores


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
