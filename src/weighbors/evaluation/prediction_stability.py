"""Stability of predictions: does the same instance get the same label in repeated runs?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._results import Result
from .._typing import AnyArray, FloatArray
from ..exceptions import InvalidDataError

__all__ = ["PredictionStability", "prediction_stability"]


@dataclass(frozen=True, eq=False, repr=False)
class PredictionStability(Result):
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

    def frame(self) -> pd.DataFrame:
        """Return the result as a table with one row."""
        row = {name: getattr(self, name) for name in ("agreement", "kappa", "n_runs", "n_instances", "reason")}
        return pd.DataFrame([row])

    def _lines(self) -> list[str]:
        alone = int(np.isnan(self.per_instance).sum())
        left_out = f"; {alone} of them predicted less than twice and left out" if alone else ""
        return [
            f"Prediction stability: agreement {self.agreement:.4f}, Fleiss' kappa {self.kappa:.4f}"
            f"{self.reason and ' (' + self.reason + ')'}",
            f"  {self.n_runs} runs, {self.n_instances} instances{left_out}",
        ]


def _label_codes(predictions: Any) -> tuple[AnyArray, int]:
    """Return label numbers of shape (runs, instances), with -1 for no prediction, and the number of labels."""
    values = np.asarray(getattr(predictions, "to_numpy", lambda: predictions)())
    if values.ndim != 2:
        raise InvalidDataError(f"predictions must be a matrix, runs × instances; got {values.ndim} dimension(s)")
    if values.shape[0] < 2:
        raise InvalidDataError(
            f"stability compares runs: at least 2 are needed; got {values.shape[0]}. Is it transposed?"
        )
    codes, labels = pd.factorize(values.ravel(), use_na_sentinel=True)
    return codes.reshape(values.shape), len(labels)


def prediction_stability(predictions: Any) -> PredictionStability:
    """Measure how often runs give the same label to the same instance.

    Parameters
    ----------
    predictions : array-like of shape (n_runs, n_instances)
        Predicted labels, with None or NaN if a run did not predict an instance. In repeated cross-validation a run is
        one repetition, in which every instance is predicted once.

    Returns
    -------
    PredictionStability

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
    """
    codes, n_labels = _label_codes(predictions)
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
