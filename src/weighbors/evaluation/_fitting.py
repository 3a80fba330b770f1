"""Folds, seeds, and what a fitted model says of its features."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import _safe_indexing, check_random_state

from .._checks import whole_number
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError, NoPositiveWeightWarning

__all__ = [
    "Fold",
    "feature_scores",
    "fitted",
    "folds_of",
    "scores_of",
    "seed_of",
    "seed_sequence",
    "seeded",
    "selected_features",
]

Fold = tuple[IndexArray, IndexArray]


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Root of the seeds of all tasks, from anything scikit-learn takes as ``random_state``."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return np.random.SeedSequence(None if random_state is None else int(random_state))
    words = check_random_state(random_state).randint(0, 2**31 - 1, size=4)
    return np.random.SeedSequence(words.tolist())


def seed_of(sequence: np.random.SeedSequence) -> int:
    """A seed that scikit-learn takes."""
    return int(sequence.generate_state(1)[0] % (2**31 - 1))


def seeded(estimator: Any, seed: int) -> Any:
    """A clone whose open ``random_state`` parameters (those that are None) are ``seed``."""
    model = clone(estimator)
    names = [
        name
        for name, value in model.get_params(deep=True).items()
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    ]
    return model.set_params(**dict.fromkeys(names, seed)) if names else model


def fitted(weigher: Any, X: Any, y: AnyArray, seed: int) -> Any:
    """A fitted clone of an estimator, or what a plain function of ``X, y`` returns."""
    if hasattr(weigher, "fit"):
        return seeded(weigher, seed).fit(X, y)
    return weigher(X, y)


def feature_scores(model: Any) -> FloatArray | None:
    """Weights of the features as a fitted model publishes them, larger for more relevant; None without.

    Looks for ``feature_weights_``, ``feature_importances_``, ``scores_`` and ``coef_`` (absolute,
    summed over classes), in the model, in the weigher of a k-NN, in the last step of a pipeline
    and in the best estimator of a search.
    """
    if isinstance(model, (np.ndarray, list, tuple)):
        return np.asarray(model, dtype=np.float64)
    for name in ("feature_weights_", "feature_importances_", "scores_"):
        if getattr(model, name, None) is not None:
            return np.asarray(getattr(model, name), dtype=np.float64)
    if getattr(model, "coef_", None) is not None:
        return np.atleast_2d(np.abs(np.asarray(model.coef_, dtype=np.float64))).sum(axis=0)
    inner = _inner(model)
    return None if inner is None else feature_scores(inner)


def scores_of(weigher: Any, X: Any, y: AnyArray, train: IndexArray, seed: int) -> FloatArray:
    """Weights of all features, learned from some of the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoPositiveWeightWarning)  # of no k-NN here, and usual for noise
        model = fitted(weigher, _safe_indexing(X, train), y[train], seed)
    scores = feature_scores(model)
    if scores is None:
        raise InvalidDataError(
            f"{type(model).__name__} says nothing of its features: feature_weights_, feature_importances_, scores_ "
            "or coef_ is needed"
        )
    if scores.shape != (X.shape[1],):
        raise InvalidDataError(
            f"the weigher gives weights of shape {scores.shape} for {X.shape[1]} features; one per feature is needed"
        )
    return scores


def selected_features(model: Any) -> BoolArray | None:
    """Features a fitted model keeps, where it selects; None where it says nothing of it."""
    if hasattr(model, "get_support"):
        return np.asarray(model.get_support(), dtype=bool)
    mask = getattr(getattr(model, "weights_", None), "feature_mask", None)
    if mask is not None:
        return np.asarray(mask, dtype=bool)
    inner = _inner(model)
    return None if inner is None else selected_features(inner)


def _inner(model: Any) -> Any:
    """What does the work inside a wrapper."""
    if getattr(model, "steps", None):
        return model.steps[-1][1]
    for name in ("weigher_", "best_estimator_", "estimator_"):
        if getattr(model, name, None) is not None:
            return getattr(model, name)
    return None


def folds_of(
    cv: Any, X: Any, y: AnyArray, groups: Any = None, *, n_repeats: int = 1, seeds: np.random.SeedSequence
) -> list[list[Fold]]:
    """Repetitions of folds, each fold as numbers of training and test rows.

    ``cv`` is a number of stratified folds (repeated ``n_repeats`` times, groups kept together), a
    scikit-learn splitter (its own repetitions are recognised), or an iterable of pairs of rows.
    """
    n_repeats = whole_number(n_repeats, "n_repeats")
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        repetitions = _stratified(int(cv), y, groups, n_repeats, seeds)
    elif n_repeats != 1:
        raise InvalidDataError("n_repeats goes with a number of folds; a splitter or given folds bring their own")
    elif hasattr(cv, "split") and not isinstance(cv, str):
        repetitions = _split_by(cv, X, y, groups, seeds)
    elif isinstance(cv, Iterable) and not isinstance(cv, str):
        repetitions = [[(np.asarray(train), np.asarray(test)) for train, test in cv]]
    else:
        raise InvalidDataError(f"cv must be a number of folds, a splitter, or pairs of row numbers; got {cv!r}")
    for fold in (fold for repetition in repetitions for fold in repetition):
        _check_fold(fold, len(y), groups)
    if not sum(map(len, repetitions)):
        raise InvalidDataError("cv gives no folds")
    return repetitions


def _stratified(
    n_folds: int, y: AnyArray, groups: Any, n_repeats: int, seeds: np.random.SeedSequence
) -> list[list[Fold]]:
    if n_folds < 2:
        raise InvalidDataError(f"at least 2 folds are needed; got cv={n_folds}")
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    rows = np.zeros(len(y))
    return [
        list(kind(n_folds, shuffle=True, random_state=seed_of(child)).split(rows, y, groups))
        for child in seeds.spawn(n_repeats)
    ]


def _split_by(cv: Any, X: Any, y: AnyArray, groups: Any, seeds: np.random.SeedSequence) -> list[list[Fold]]:
    if getattr(cv, "random_state", 0) is None:  # open: the study's seed decides, so that a run can be repeated
        cv = copy.deepcopy(cv)
        cv.random_state = seed_of(seeds.spawn(1)[0])
        if getattr(cv, "shuffle", None) is False:
            cv.random_state = None
    folds = list(cv.split(X, y, groups))
    repeats = int(getattr(cv, "n_repeats", 1))
    size = len(folds) // repeats
    return [folds[begin : begin + size] for begin in range(0, len(folds), size)] if size else [folds]


def _check_fold(fold: Fold, n: int, groups: Any) -> None:
    train, test = fold
    for rows in fold:
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows) or rows.min() < 0 or rows.max() >= n:
            raise InvalidDataError(f"a fold must name rows from 0 to {n - 1}, at least one on either side")
    both = np.intersect1d(train, test)
    if len(both):
        raise InvalidDataError(
            f"row {both[0]} is in the training and in the test part of a fold: nothing learned so can be trusted"
        )
    if groups is not None:
        labels = np.asarray(groups)
        shared: Sequence[Any] = np.intersect1d(labels[train], labels[test]).tolist()
        if len(shared):
            raise InvalidDataError(
                f"group {shared[0]!r} is in the training and in the test part of a fold. "
                "Use a number of folds, or a splitter that keeps groups together (StratifiedGroupKFold)"
            )
