"""SIMBAMBIW: SIMBA whose steps are scaled by margin-based instance weights (paper 000, algorithm 1)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import FloatArray, IndexArray
from ..engine.margins import Margins, simba_steps
from .base import FeatureWeigher, warn_of_few_neighbors
from .mbiw import mbiw
from .neighborhoods import to_dense
from .simba import publish_weights
from .tables import CodedTable

__all__ = ["SimbaMBIW", "step_order", "step_sizes"]


def step_order(omega: FloatArray, strategy: str, rng: Any, *, visited: IndexArray | None = None) -> IndexArray:
    """Return the instances of the steps that are left in a pass of N steps, in order.

    "order" returns the instances that were not visited yet, by descending ω, with ties in the order of rows. "sample"
    draws with replacement with probability ω. "normal" returns a random permutation of those not visited yet.

    Parameters
    ----------
    omega : ndarray of shape (N,)
    strategy : {"order", "sample", "normal"}
    rng : RandomState
    visited : ndarray or None
        Instances of the steps of this pass that were taken already. None means that no step was taken.

    Returns
    -------
    ndarray of shape (N - len(visited),)

    Examples
    --------
    >>> step_order(np.array([0.1, 0.4, 0.2, 0.3]), "order", None, visited=np.array([3]))
    array([1, 2, 0])
    """
    n, done = len(omega), 0 if visited is None else len(visited)
    if strategy == "sample":
        return np.asarray(rng.choice(n, size=n - done, replace=True, p=omega / omega.sum()))
    order = np.argsort(-omega, kind="stable") if strategy == "order" else np.asarray(rng.permutation(n))
    return order if visited is None else order[~np.isin(order, visited)]


def step_sizes(omega: FloatArray, strategy: str, scale: str) -> FloatArray:
    """Return the step size of every instance: ω ("sum"), ω with mean 1 ("mean"), or 1 for plain SIMBA ("normal").

    With "mean", equal weights ω give steps of exactly 1, so that SIMBAMBIW is then exactly SIMBA.
    """
    # Dividing and multiplying equal ω by N would leave rounding errors, and then SIMBAMBIW would not be exactly SIMBA.
    if strategy == "normal" or (scale == "mean" and np.ptp(omega) == 0):
        return np.ones(len(omega))
    return omega if scale == "sum" else omega * len(omega)


class SimbaMBIW(FeatureWeigher):
    """SIMBA with steps as large as the weight of an instance, for more stable feature weights.

    Outlying instances, which margin-based weights (MBIW) find, move the weights less. In a k-NN
    the feature weights shape the distance and the instance weights the vote (algorithm 2).

    Parameters
    ----------
    strategy : {"order", "sample", "normal"}, default="order"
        In which order instances take their steps. "order": by descending weight, without randomness. "sample":
        drawn with probabilities equal to their weights. "normal": in random order with steps of 1, which is plain
        SIMBA.
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    scale : {"sum", "mean"}, default="sum"
        Whether the weights in the steps sum to 1, as the paper prints them (steps of about 1/N), or have mean 1. The
        scale matters more than the weights: compare with ``Simba(step="1/n")``.
    compose : {"mbiw_first", "simba_first"}, default="mbiw_first"
        "simba_first": plain SIMBA weighs features first, and the margins of MBIW are taken under
        these weights before the second, weighted pass.
    synergy : bool, default=False
        Whether the instance weights are computed again from the current feature weights after every
        ``update_every`` steps. The remaining steps of the pass then have new sizes, and with "order" and "sample"
        their instances are ordered or drawn again.
    update_every : int or None, default=None
        Number of steps between two such updates. None means N / 10.
    n_passes : int, default=1
        Number of passes of N steps.
    n_neighbors : int or "all", default=1
        Number of hits and misses per instance from which MBIW computes the instance weights.
    threshold, redundancy, redundancy_threshold, categorical_features
        As in `Relief`.
    random_state : int, RandomState or None
    n_jobs : int, optional

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        w² / max w².
    instance_weights_ : ndarray of shape (n_samples,)
        ω, sums to 1.
    weights_ : Weights
        a = W² for the published W, and votes ω (with mean 1).
    support_ : bool ndarray of shape (n_features,)
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    Sparse rows are converted to dense rows, if these fit in 2 GiB.

    References
    ----------
    .. [1] G. Prat, L. A. Belanche, "Instance and feature weighted k-nearest-neighbours algorithm",
       ESANN 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from weighbors import SimbaMBIW, WeightedKNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> SimbaMBIW().fit(scale(X), y).feature_weights_.argsort()[::-1]
    array([3, 2, 1, 0])
    >>> model = WeightedKNeighborsClassifier(5, weigher=SimbaMBIW()).fit(scale(X), y)
    """

    _needs_scaled_columns = True  # wide columns would decide the distances

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **FeatureWeigher._parameter_constraints,
        "strategy": [StrOptions({"order", "sample", "normal"})],
        "scale": [StrOptions({"sum", "mean"})],
        "compose": [StrOptions({"mbiw_first", "simba_first"})],
        "synergy": ["boolean"],
        "update_every": [None, Interval(Integral, 1, None, closed="left")],
        "n_passes": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
        "random_state": ["random_state"],
    }

    _squares_weights = True

    def __init__(
        self,
        strategy: str = "order",
        n_features_to_select: float | None = None,
        *,
        scale: str = "sum",
        compose: str = "mbiw_first",
        synergy: bool = False,
        update_every: int | None = None,
        n_passes: int = 1,
        n_neighbors: int | str = 1,
        threshold: float | None = None,
        redundancy: str | None = None,
        redundancy_threshold: float | str = "auto",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.strategy = strategy
        self.n_features_to_select = n_features_to_select
        self.scale = scale
        self.compose = compose
        self.synergy = synergy
        self.update_every = update_every
        self.n_passes = n_passes
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.redundancy = redundancy
        self.redundancy_threshold = redundancy_threshold
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Learn the instance weights, then the feature weights in steps that the instance weights scale."""
        warn_of_few_neighbors(table.classes, table.codes, self.n_neighbors, misses="together")
        margins = Margins.of(to_dense(table.rows, "SIMBA"), table.codes, len(table.classes), table.nominal, self.n_jobs)
        rng, n = check_random_state(self.random_state), len(table.codes)
        w: FloatArray = np.ones(margins.rows.shape[1])
        if self.compose == "simba_first":
            w = simba_steps(margins, w, rng.permutation(n), np.ones(n))
        omega = self._omega(margins, w)
        # The first pass of plain SIMBA only shapes the margins. The weighted pass starts from equal weights again.
        w = np.ones_like(w)
        every = (self.update_every or max(1, n // 10)) if self.synergy else n
        for _ in range(self.n_passes):
            left, visited = step_order(omega, self.strategy, rng), np.empty(0, dtype=np.int64)
            while len(left):
                part, left = left[:every], left[every:]
                w = simba_steps(margins, w, part, step_sizes(omega, self.strategy, self.scale)[part])
                if self.synergy and len(left):
                    # Weights of features have changed, so margins and ω have too. Only the steps that are left use the
                    # new ω.
                    visited = np.append(visited, part)
                    omega = self._omega(margins, w)
                    if self.strategy != "normal":  # a random permutation knows nothing of ω
                        left = step_order(omega, self.strategy, rng, visited=visited)
        self.instance_weights_ = omega
        return publish_weights(w)

    def _metric_parts(self) -> dict[str, Any]:
        """Return the votes of a k-NN: the instance weights, with mean 1."""
        return {"votes": self.instance_weights_ * len(self.instance_weights_)}

    def _omega(self, margins: Margins, w: FloatArray) -> FloatArray:
        """Return MBIW's instance weights under the norm ‖·‖_w: those of the rows, multiplied by ``w``."""
        k = None if self.n_neighbors == "all" else int(self.n_neighbors)
        return mbiw(
            margins.scaled_rows(w), margins.codes, margins.n_classes, margins.nominal, n_neighbors=k, n_jobs=self.n_jobs
        )
