"""Checks of selections or weights of several runs, as a matrix of runs × features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._checks import whole_number
from .._typing import BoolArray, FloatArray, IndexArray
from .._warnings import warn
from ..exceptions import InvalidDataError, UndefinedStabilityWarning


def check_selections(selections: Any, n_features: int | None = None) -> BoolArray:
    """Return selections as a bool matrix of runs × features, after checks.

    ``selections`` is a bool matrix, or a list of sets of feature numbers together with ``n_features``. A matrix of 0
    and 1 counts as bool.
    """
    matrix = _as_matrix(selections, n_features)
    if matrix.shape[0] < 2:
        raise InvalidDataError(f"stability compares runs: at least 2 are needed; got {matrix.shape[0]}")
    if matrix.shape[1] < 1:
        raise InvalidDataError("selections have no features")
    return matrix


def _as_matrix(selections: Any, n_features: int | None) -> BoolArray:
    """Return a matrix, a list of masks or a list of sets of feature numbers as a bool matrix."""
    n_features = None if n_features is None else whole_number(n_features, "n_features")
    # DataFrames and Series of pandas and polars have ``to_numpy``.
    values = getattr(selections, "to_numpy", lambda: selections)()
    if not (isinstance(values, np.ndarray) and values.ndim == 2):
        if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
            kind = type(selections).__name__
            raise InvalidDataError(f"selections must be a bool matrix or a list of sets; got {kind}")
        runs = list(values)
        if not runs or not all(_is_mask(run) for run in runs):
            return _matrix_from_sets(runs, n_features)
        if len({len(run) for run in runs}) > 1:
            raise InvalidDataError("selections as masks must all have one entry per feature; their lengths differ")
        values = np.array(runs)
    # Numbers other than 0 and 1 are probably feature numbers, not a mask.
    if values.dtype != bool and not (values.dtype.kind in "iuf" and np.isin(values, (0, 1)).all()):
        raise InvalidDataError(
            f"selections as a matrix (runs × features) must be bool or 0 and 1; got {values.dtype}. "
            "Give sets of feature numbers as a list, with n_features"
        )
    if n_features is not None and values.shape[1] != n_features:
        raise InvalidDataError(f"selections have {values.shape[1]} columns, but n_features is {n_features}")
    return values.astype(bool)


def _is_mask(run: Any) -> bool:
    """Return whether a run is a mask, and not a set or list of feature numbers."""
    return not isinstance(run, (set, frozenset)) and np.asarray(run).dtype == bool


def _matrix_from_sets(runs: list[Any], n_features: int | None) -> BoolArray:
    """Return sets of feature numbers as a bool matrix with one row per set."""
    if n_features is None:
        raise InvalidDataError(
            "sets of selected features need n_features=, the number of features there were to select from"
        )
    matrix = np.zeros((len(runs), n_features), dtype=bool)
    for i, run in enumerate(runs):
        chosen = np.asarray(list(run))
        if not len(chosen):
            continue
        if chosen.dtype.kind not in "iu" or chosen.ndim != 1:
            raise InvalidDataError(f"run {i} must hold feature numbers; got {chosen.dtype}")
        if chosen.min() < 0 or chosen.max() >= n_features:
            raise InvalidDataError(
                f"run {i} selects feature {chosen[(chosen < 0) | (chosen >= n_features)][0]}; with n_features="
                f"{n_features} they are numbered 0 to {n_features - 1}"
            )
        if len(np.unique(chosen)) < len(chosen):
            raise InvalidDataError(f"run {i} names a feature twice")
        matrix[i, chosen] = True
    return matrix


def check_weights(weights: Any, *, least_runs: int = 2) -> FloatArray:
    """Return weights as a float matrix of runs × features.

    Raise InvalidDataError if a weight is not finite, or if there are fewer than ``least_runs`` runs.
    """
    values = np.asarray(getattr(weights, "to_numpy", lambda: weights)())
    if values.ndim != 2 or values.dtype.kind not in "fiub":
        raise InvalidDataError(
            f"weights must be a matrix of numbers, runs × features; got {values.dtype} of shape {values.shape}"
        )
    if values.shape[0] < least_runs:
        raise InvalidDataError(
            f"stability compares runs: at least {least_runs} are needed; got {values.shape[0]}. Is it transposed?"
        )
    out: FloatArray = values.astype(np.float64)
    if not np.isfinite(out).all():
        run, feature = np.argwhere(~np.isfinite(out))[0].tolist()
        raise InvalidDataError(f"weights must be finite; got {out[run, feature]} in run {run}, feature {feature}")
    return out


def top_selections(weights: FloatArray, size: int) -> BoolArray:
    """Return a mask of the ``size`` features with the largest weights in every run.

    Of equal weights the feature with the lower number is selected.
    """
    # A stable sort puts the lower column first if weights are equal.
    order = np.argsort(-weights, axis=1, kind="stable")[:, :size]
    chosen = np.zeros(weights.shape, dtype=bool)
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen


def pairs_of_runs(n: int) -> tuple[IndexArray, IndexArray]:
    """Return the numbers of the first and of the second run of every pair of ``n`` runs."""
    first, second = np.triu_indices(n, 1)
    return first, second


def nan_with_warning(measure: str, reason: str) -> float:
    """Return NaN and warn that the measure is not defined. ``reason`` says why."""
    warn(f"{measure} is not defined: {reason}", UndefinedStabilityWarning)
    return float("nan")
