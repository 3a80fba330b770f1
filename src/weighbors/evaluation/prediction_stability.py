"""Stability of predictions: does the same instance get the same label, or about the same number, in repeated runs?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import pandas as pd

from .._display.results import PlainResult
from .._typing import AnyArray, FloatArray
from ..exceptions import InvalidDataError
from ..tables.targets import recognize_target
from .targets import check_target_type


@dataclass(frozen=True, eq=False, repr=False)
class PredictionStability(PlainResult):
    """Agreement of the labels that repeated runs give to the same instances.

    Attributes
    ----------
    agreement : float
        Share of the pairs of runs that agree, averaged over instances.
    kappa : float
        Fleiss' κ: agreement beyond the agreement by chance, which follows from the shares of the labels.
    per_instance : ndarray of shape (n_instances,)
        Agreement on each instance; NaN if fewer than two runs predicted it.
    n_runs, n_instances : int
    reason : str
        The reason if κ is NaN, otherwise empty.
    """

    agreement: float
    kappa: float
    per_instance: FloatArray
    n_runs: int
    n_instances: int
    reason: str = ""

    def _lines(self) -> list[str]:
        return [
            f"Prediction stability: agreement {self.agreement:.4f}, Fleiss' kappa {self.kappa:.4f}"
            f"{self.reason and ' (' + self.reason + ')'}",
            f"  {self.n_runs} runs, {self.n_instances} instances{_count_left_out(self.per_instance)}",
        ]


@dataclass(frozen=True, eq=False, repr=False)
class NumericPredictionStability(PlainResult):
    """Variation of the numbers that repeated runs predict for the same instances.

    Attributes
    ----------
    deviation : float
        Standard deviation of the predictions of an instance over the runs (divided by n − 1), averaged over instances.
        It has the unit of the target.
    relative : float
        ``deviation / spread``: 0 means that all runs predict the same numbers, 1 that the predictions of one instance
        vary as much as the target varies between instances.
    spread : float
        Standard deviation of the target over the instances. Without ``y`` it is that of the mean predictions.
    per_instance : ndarray of shape (n_instances,)
        Standard deviation for each instance; NaN if fewer than two runs predicted it.
    n_runs, n_instances : int
    reason : str
        The reason if ``relative`` is NaN, otherwise empty.
    """

    deviation: float
    relative: float
    spread: float
    per_instance: FloatArray
    n_runs: int
    n_instances: int
    reason: str = ""

    def _lines(self) -> list[str]:
        return [
            f"Prediction stability: deviation {self.deviation:.4g} between runs, {self.relative:.4f} of the spread "
            f"{self.spread:.4g}{self.reason and ' (' + self.reason + ')'}",
            f"  {self.n_runs} runs, {self.n_instances} instances{_count_left_out(self.per_instance)}",
        ]


def _count_left_out(per_instance: FloatArray) -> str:
    """Return the end of a line: how many instances were predicted less than twice. It is "" if there are none."""
    alone = int(np.isnan(per_instance).sum())
    return f"; {alone} of them predicted less than twice and left out" if alone else ""


def _check_runs(predictions: Any) -> AnyArray:
    """Return predictions as a matrix, runs × instances. Raise InvalidDataError if there are fewer than two runs."""
    values = np.asarray(getattr(predictions, "to_numpy", lambda: predictions)())
    if values.ndim != 2:
        raise InvalidDataError(f"predictions must be a matrix, runs × instances; got {values.ndim} dimension(s)")
    if values.shape[0] < 2:
        raise InvalidDataError(
            f"stability compares runs: at least 2 are needed; got {values.shape[0]}. Is it transposed?"
        )
    return values


def _is_numeric(values: AnyArray, y: Any, target_type: str) -> bool:
    """Return whether predictions are numbers and not labels. "auto": if ``y`` is given, or if they look like numbers.

    ``values`` are runs × instances; missing predictions do not count.
    """
    if target_type != "auto":
        return target_type == "numeric"
    known = values[~pd.isna(values)]
    return y is not None or (len(known) > 0 and recognize_target(known) == "numeric")


@overload
def prediction_stability(
    predictions: Any, y: None = None, *, target_type: Literal["classes"]
) -> PredictionStability: ...
@overload
def prediction_stability(
    predictions: Any, y: Any = None, *, target_type: str = "auto"
) -> PredictionStability | NumericPredictionStability: ...
def prediction_stability(
    predictions: Any, y: Any = None, *, target_type: str = "auto"
) -> PredictionStability | NumericPredictionStability:
    """Measure how often runs give the same label to the same instance, or how much the predicted numbers differ.

    Parameters
    ----------
    predictions : array-like of shape (n_runs, n_instances)
        Predicted labels or numbers, with None or NaN if a run did not predict an instance. In repeated cross-validation
        a run is one repetition, in which every instance is predicted once.
    y : array-like of shape (n_instances,), optional
        True values of a numeric target. The variation between runs is compared with their standard deviation. By
        default it is compared with that of the mean predictions.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What the predictions are. "auto": numbers if ``y`` is given, or if the predictions are floats with a fraction or
        with many values.

    Returns
    -------
    PredictionStability or NumericPredictionStability
        For labels, or for numbers.

    Notes
    -----
    If every instance has the same number of predictions, κ is that of Fleiss (1971). Otherwise all instances with two
    or more predictions count equally in the agreement, and all predictions of these instances count in the shares of
    the labels.

    References
    ----------
    .. [1] J. L. Fleiss, "Measuring nominal scale agreement among many raters", Psychological
       Bulletin 76, 1971.

    Examples
    --------
    >>> prediction_stability([["a", "b", "b", "a"], ["a", "b", "a", "a"], ["a", "b", "b", "b"]])
    Prediction stability: agreement 0.6667, Fleiss' kappa 0.3333
      3 runs, 4 instances
    >>> prediction_stability([[1.0, 2.5, 4.0], [3.0, 2.5, 4.0]], y=[1.0, 3.0, 5.0])
    Prediction stability: deviation 0.4714 between runs, 0.2357 of the spread 2
      2 runs, 3 instances
    """
    values = _check_runs(predictions)
    if _is_numeric(values, y, check_target_type(target_type)):
        return _stability_of_numbers(values, y)
    if y is not None:
        raise InvalidDataError("y goes with predicted numbers; the agreement of labels does not need it")
    return _stability_of_labels(values)


def _stability_of_numbers(values: AnyArray, y: Any) -> NumericPredictionStability:
    """Return the variation of predicted numbers between runs. ``values`` are runs × instances, with NaN for none."""
    numbers = _as_numbers(values, "predictions")
    known = ~np.isnan(numbers)
    times = known.sum(axis=0)
    rated = times >= 2
    if not rated.any():
        raise InvalidDataError("no instance has predictions of two runs, so they cannot be compared")
    per_instance = np.full(len(times), np.nan)
    per_instance[rated] = np.nanstd(numbers[:, rated], axis=0, ddof=1)
    truth = np.nanmean(numbers[:, rated], axis=0) if y is None else _as_numbers(y, "y")
    if y is not None and truth.shape != (len(times),):
        raise InvalidDataError(f"y needs one number per instance ({len(times)}); got shape {truth.shape}")
    if np.isnan(truth).any():
        raise InvalidDataError(f"y has {int(np.isnan(truth).sum())} missing values. Leave these instances out")
    spread = float(truth.std(ddof=1)) if len(truth) > 1 else 0.0
    deviation = float(per_instance[rated].mean())
    reason = "" if spread > 0 else "the target does not vary between instances"
    relative = deviation / spread if spread > 0 else float("nan")
    n_runs, n_instances = numbers.shape
    return NumericPredictionStability(deviation, relative, spread, per_instance, n_runs, n_instances, reason)


def _as_numbers(values: Any, name: str) -> FloatArray:
    """Return numbers as float64, with NaN for missing ones. Raise InvalidDataError for text and infinite numbers."""
    raw = np.asarray(getattr(values, "to_numpy", lambda: values)())
    try:
        numbers = np.where(pd.isna(raw), np.nan, raw).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"{name} must be numbers ({error}). Write target_type='classes' for labels") from error
    if np.isinf(numbers).any():
        raise InvalidDataError(f"{name} must be finite; {int(np.isinf(numbers).sum())} are infinite")
    return numbers


def _stability_of_labels(values: AnyArray) -> PredictionStability:
    """Return the agreement of predicted labels. ``values`` are runs × instances, with None or NaN for none."""
    flat, kinds = pd.factorize(values.ravel(), use_na_sentinel=True)
    codes: AnyArray = flat.reshape(values.shape)
    n_labels = len(kinds)
    counts = np.stack([(codes == label).sum(axis=0) for label in range(n_labels)], axis=1).astype(np.float64)
    times = counts.sum(axis=1)
    # A pair of runs is needed to see agreement.
    rated = times >= 2
    if not rated.any():
        raise InvalidDataError("no instance has predictions of two runs, so no pair of runs can agree or not")
    per_instance = np.full(len(times), np.nan)
    n = times[rated]
    # There are n(n − 1) ordered pairs of runs. If c runs give a label, c(c − 1) of the pairs agree on it.
    per_instance[rated] = (counts[rated] * (counts[rated] - 1)).sum(axis=1) / (n * (n - 1))
    agreement = float(per_instance[rated].mean())
    shares = counts[rated].sum(axis=0) / n.sum()
    # The probability that two random labels with these shares agree (Fleiss 1971).
    chance = float(np.square(shares).sum())
    single = bool(np.isclose(chance, 1.0))
    kappa = float("nan") if single else (agreement - chance) / (1 - chance)
    reason = "all predictions are the same label" if single else ""
    return PredictionStability(agreement, kappa, per_instance, codes.shape[0], codes.shape[1], reason)
