"""Read feature weights and selected features from a fitted model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from .._random import open_seeds
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError, NoPositiveWeightWarning
from ..tables.coded import CodedTable, fit_model


def clone_with_seed(estimator: Any, seed: int) -> Any:
    """Return a clone of an estimator in which every ``random_state`` that is None is set to ``seed``."""
    model = clone(estimator)
    names = open_seeds(model)
    return model.set_params(**dict.fromkeys(names, seed)) if names else model


def fit_with_seed(weigher: Any, X: Any, y: AnyArray, seed: int, fit_params: dict[str, Any] | None = None) -> Any:
    """Return a fitted clone of an estimator, or the result of ``weigher(X, y)`` if the weigher is a function.

    ``X`` may be a `CodedTable` of the rows of ``y``. ``fit_params`` are further arguments of ``fit``.
    """
    if not hasattr(weigher, "fit"):
        return weigher(X, y)
    model, params = clone_with_seed(weigher, seed), fit_params or {}
    return fit_model(model, X, **params) if isinstance(X, CodedTable) else model.fit(X, y, **params)


def feature_scores(model: Any) -> FloatArray | None:
    """Return the feature weights of a fitted model, or None if the model has no weights.

    Larger weights mean more relevant features. The weights are looked for in ``feature_weights_``,
    ``feature_importances_``, ``scores_`` and ``coef_`` (absolute values, summed over classes), in the model, in the
    weigher of a k-NN, in the last step of a pipeline and in the best estimator of a search.
    """
    if isinstance(model, (np.ndarray, list, tuple)):
        return np.asarray(model, dtype=np.float64)
    # The importances of a k-NN are the weights it uses: 0 for features that are negative or not selected. What its
    # weigher published says more. A weigher around another one has feature_weights_ of its own.
    if getattr(model, "feature_weights_", None) is None and getattr(model, "weigher_", None) is not None:
        published = feature_scores(model.weigher_)
        if published is not None:
            return published
    for name in ("feature_weights_", "feature_importances_", "scores_"):
        if getattr(model, name, None) is not None:
            return np.asarray(getattr(model, name), dtype=np.float64)
    if getattr(model, "coef_", None) is not None:
        return np.atleast_2d(np.abs(np.asarray(model.coef_, dtype=np.float64))).sum(axis=0)
    inner = _inner_model(model)
    return None if inner is None else feature_scores(inner)


def fit_feature_scores(
    weigher: Any, X: Any, y: AnyArray, train: IndexArray, seed: int, fit_params: dict[str, Any] | None = None
) -> FloatArray:
    """Return the weights of all features, learned from the rows ``train``: see `fit_scored_model`."""
    return fit_scored_model(weigher, X, y, train, seed, fit_params)[1]


def fit_scored_model(
    weigher: Any, X: Any, y: AnyArray, train: IndexArray, seed: int, fit_params: dict[str, Any] | None = None
) -> tuple[Any, FloatArray]:
    """Return the model fitted to the rows ``train``, and its weights of all features.

    ``X`` is a table, or a `CodedTable` with its target. ``seed`` is for the weigher. ``fit_params`` are further
    arguments of its ``fit``, for the rows of ``train``.
    """
    part = X.take(train) if isinstance(X, CodedTable) else _safe_indexing(X, train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoPositiveWeightWarning)  # no k-NN uses these weights, and noise often has none
        model = fit_with_seed(weigher, part, y[train], seed, fit_params)
    scores = feature_scores(model)
    if scores is None:
        raise InvalidDataError(
            f"{type(model).__name__} has no weights for its features: feature_weights_, feature_importances_, scores_ "
            "or coef_ is needed"
        )
    if scores.shape != (X.shape[1],):
        raise InvalidDataError(
            f"the weigher gives weights of shape {scores.shape} for {X.shape[1]} features; one per feature is needed"
        )
    return model, scores


def selected_features(model: Any) -> BoolArray | None:
    """Return a mask of the features that a fitted model selects, or None if it does not select features."""
    if hasattr(model, "get_support"):
        return np.asarray(model.get_support(), dtype=bool)
    mask = getattr(getattr(model, "weights_", None), "feature_mask", None)
    if mask is not None:
        return np.asarray(mask, dtype=bool)
    inner = _inner_model(model)
    return None if inner is None else selected_features(inner)


def inner_models(model: Any) -> Iterator[Any]:
    """Yield the model, the model inside it, and so on."""
    while model is not None:
        yield model
        model = _inner_model(model)


def _inner_model(model: Any) -> Any:
    """Return the model inside a pipeline, a search or another wrapper, or None if there is no inner model."""
    if getattr(model, "steps", None):
        return model.steps[-1][1]
    for name in ("weigher_", "best_estimator_", "estimator_"):
        if getattr(model, name, None) is not None:
            return getattr(model, name)
    return None
