"""SIMBA: feature weights by steps along the gradient of the margin (paper 000, algorithm 1)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import FloatArray
from ..engine.margins import Margins, margin_sum, simba_steps
from .base import FeatureWeigher
from .neighborhoods import to_dense
from .tables import CodedTable

__all__ = ["Simba", "publish_weights"]


def publish_weights(w: FloatArray) -> FloatArray:
    """Return w² / max w² (paper 000, algorithm 1, line 17)."""
    squared: FloatArray = w**2
    return squared / squared.max() if squared.max() > 0 else np.ones_like(squared)


class Simba(FeatureWeigher):
    """SIMBA: weigh features by stochastic steps that widen the margins of 1-NN.

    Scale the features first (for example with StandardScaler): differences are taken as they are.

    Parameters
    ----------
    n_passes : int, default=1
        Number of passes of N steps.
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    step : float or "1/n", default=1.0
        Size of the steps. "1/n" is as small as SIMBAMBIW's steps are, and just as stable.
    order : {"random", "fixed"}, default="random"
        Order of the steps: a new random permutation in each pass, or the order of the rows.
    utility : {"linear", "sigmoid"}, default="linear"
        What is maximised: the sum of the margins θ, or the sum of 1 / (1 + exp(−beta θ)).
    beta : float, default=1.0
        Slope of the sigmoid utility.
    n_restarts : int, default=1
        Number of runs with different orders. The run with the largest sum of margins is kept.
    threshold, redundancy, redundancy_threshold, categorical_features
        As in `Relief`.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Number of threads of the first search and of each scan of all rows. Steps are taken one after another.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        w² / max w².
    weights_ : Weights
        a = W² for the published W, as algorithm 2 uses them.
    margin_sum_ : float
        Sum of the margins under w if there are restarts, otherwise None.
    support_ : bool ndarray of shape (n_features,)
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    Sparse rows are converted to dense rows, if these fit in 2 GiB.

    References
    ----------
    .. [1] R. Gilad-Bachrach, A. Navot, N. Tishby, "Margin based feature selection: theory and
       algorithms", ICML 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from weighbors import Simba
    >>> X, y = load_iris(return_X_y=True)
    >>> Simba(step="1/n", random_state=0).fit(scale(X), y).feature_weights_.argsort()[::-1]
    array([3, 2, 1, 0])
    """

    _needs_scaled_columns = True  # wide columns would decide the distances

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **FeatureWeigher._parameter_constraints,
        "n_passes": [Interval(Integral, 1, None, closed="left")],
        "step": [Interval(Real, 0, None, closed="neither"), StrOptions({"1/n"})],
        "order": [StrOptions({"random", "fixed"})],
        "utility": [StrOptions({"linear", "sigmoid"})],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    _squares_weights = True

    def __init__(
        self,
        n_passes: int = 1,
        n_features_to_select: float | None = None,
        *,
        step: float | str = 1.0,
        order: str = "random",
        utility: str = "linear",
        beta: float = 1.0,
        n_restarts: int = 1,
        threshold: float | None = None,
        redundancy: str | None = None,
        redundancy_threshold: float | str = "auto",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_passes = n_passes
        self.n_features_to_select = n_features_to_select
        self.step = step
        self.order = order
        self.utility = utility
        self.beta = beta
        self.n_restarts = n_restarts
        self.threshold = threshold
        self.redundancy = redundancy
        self.redundancy_threshold = redundancy_threshold
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Learn the weights: one step per instance and pass, and the best of several restarts."""
        margins = Margins.of(to_dense(table.rows, "SIMBA"), table.codes, len(table.classes), table.nominal, self.n_jobs)
        n, rng = len(table.codes), check_random_state(self.random_state)
        # With steps of 1/n, a whole pass moves the weights about as far as one step of size 1.
        step = np.full(n * self.n_passes, 1.0 / n if self.step == "1/n" else float(self.step))
        # The compiled core takes beta = 0 for the linear utility.
        beta = self.beta if self.utility == "sigmoid" else 0.0
        best: FloatArray = np.ones(margins.rows.shape[1])
        self.margin_sum_: float | None = None
        for _ in range(self.n_restarts):
            passes = [np.arange(n) if self.order == "fixed" else rng.permutation(n) for _ in range(self.n_passes)]
            w = simba_steps(margins, np.ones(margins.rows.shape[1]), np.concatenate(passes), step, beta=beta)
            if self.n_restarts == 1:
                best = w
                continue
            # Restarts are compared under weights of the same scale, or larger weights would have larger margins.
            reached = margin_sum(margins, np.sqrt(publish_weights(w)))
            if self.margin_sum_ is None or reached > self.margin_sum_:
                best, self.margin_sum_ = w, reached
        return publish_weights(best)
