"""SIMBA and SIMBAMBIW: feature weights by steps along the gradient of the margin (paper 000, algorithm 1).

SIMBAMBIW scales the steps by margin-based instance weights.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import FloatArray, IndexArray
from ..engine.margins import Margins, simba_steps
from ..tables.coded import CodedTable
from .base import FeatureWeigher, metric_weights, warn_of_few_neighbors
from .mbiw import mbiw
from .rows import to_dense


def publish_weights(w: FloatArray) -> FloatArray:
    """Return w² / max w² (paper 000, algorithm 1, line 17)."""
    squared: FloatArray = w**2
    return squared / squared.max() if squared.max() > 0 else np.ones_like(squared)


def read_margins(table: CodedTable, n_jobs: int | None) -> Margins:
    """Return the rows of a table, prepared for steps. Sparse rows become dense."""
    return Margins(to_dense(table.rows, "SIMBA"), table.codes, len(table.classes), table.nominal, n_jobs)


def step_order(omega: FloatArray, strategy: str, rng: Any, *, visited: IndexArray | None = None) -> IndexArray:
    """Return the instances of the steps that are left in a pass of N steps, in order.

    "order" returns the instances that were not visited yet, by descending ω, with ties in the order of rows. "sample"
    draws with replacement with probability ω. "normal" and "unmodified" return those not visited yet in random order.

    Parameters
    ----------
    omega : ndarray of shape (N,)
    strategy : {"order", "sample", "normal", "unmodified"}
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
    """Return the step size of every instance: ω ("sum"), ω with mean 1 ("mean"), or 1 for unmodified SIMBA.

    With "mean", equal weights ω give steps of exactly 1, so that SIMBAMBIW is then exactly SIMBA.
    """
    # Dividing and multiplying equal ω by N would leave rounding errors, and then SIMBAMBIW would not be exactly SIMBA.
    if strategy == "unmodified" or (scale == "mean" and np.ptp(omega) == 0):
        return np.ones(len(omega))
    return omega if scale == "sum" else omega * len(omega)


@dataclass(eq=False, repr=False)
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
    random_state : int, RandomState or None
    n_jobs : int, optional
        Number of threads of the first search and of each scan of all rows. Steps are taken one after another.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        w² / max w².
    weights_ : Weights
        a = W² for the published W, as algorithm 2 uses them.
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

    n_passes: int = 1
    _: KW_ONLY
    step: float | str = 1.0
    order: str = "random"
    random_state: Any = None

    _needs_scaled_columns: ClassVar[bool] = True  # wide columns would decide the distances
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FeatureWeigher._parameter_constraints,
        "n_passes": [Interval(Integral, 1, None, closed="left")],
        "step": [Interval(Real, 0, None, closed="neither"), StrOptions({"1/n"})],
        "order": [StrOptions({"random", "fixed"})],
        "random_state": ["random_state"],
    }

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Learn the weights: one step per instance and pass."""
        margins = read_margins(table, self.n_jobs)
        n, rng = len(table.codes), check_random_state(self.random_state)
        # With steps of 1/n, a whole pass moves the weights about as far as one step of size 1.
        step = np.full(n * self.n_passes, 1.0 / n if self.step == "1/n" else float(self.step))
        passes = [np.arange(n) if self.order == "fixed" else rng.permutation(n) for _ in range(self.n_passes)]
        return publish_weights(simba_steps(margins, np.ones(margins.rows.shape[1]), np.concatenate(passes), step))

    def _metric_parts(self) -> dict[str, Any]:
        """Return a = W², since the norm of the paper has w²."""
        return {"feature_weights": metric_weights(self.feature_weights_, self.support_, square=True)}


@dataclass(eq=False, repr=False)
class SimbaMBIW(FeatureWeigher):
    """SIMBA with steps as large as the weight of an instance, for more stable feature weights.

    Outlying instances, which margin-based weights (MBIW) find, move the weights less. In a k-NN
    the feature weights shape the distance and the instance weights the vote (algorithm 2).

    Parameters
    ----------
    strategy : {"order", "sample", "normal", "unmodified"}, default="order"
        In which order instances take their steps. "order": by descending weight, without randomness. "sample":
        drawn with probabilities equal to their weights. "normal": in random order. These three are the branches of
        algorithm 1, whose line 15 scales every step by the weight of its instance. The text of the paper calls
        "normal" unmodified SIMBA, which has steps of 1: "unmodified".
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    scale : {"sum", "mean"}, default="sum"
        Whether the weights in the steps sum to 1, as the paper prints them (steps of about 1/N), or have mean 1. The
        scale matters more than the weights: compare with ``Simba(step="1/n")``.
    compose : {"mbiw_first", "simba_first"}, default="mbiw_first"
        "simba_first": plain SIMBA weighs features first, and the margins of MBIW are taken under
        these weights before the second, weighted pass.
    synergy : bool or int, default=False
        Whether the instance weights are computed again from the current feature weights, and after how many steps. True
        means after every N / 10 steps. The remaining steps of the pass then have new sizes, and with "order" and
        "sample" their instances are ordered or drawn again.
    n_passes : int, default=1
        Number of passes of N steps.
    n_neighbors : int or "all", default=1
        Number of hits and misses per instance from which MBIW computes the instance weights.
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

    strategy: str = "order"
    _: KW_ONLY
    scale: str = "sum"
    compose: str = "mbiw_first"
    synergy: bool | int = False
    n_passes: int = 1
    n_neighbors: int | str = 1
    random_state: Any = None

    _needs_scaled_columns: ClassVar[bool] = True  # wide columns would decide the distances
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FeatureWeigher._parameter_constraints,
        "strategy": [StrOptions({"order", "sample", "normal", "unmodified"})],
        "scale": [StrOptions({"sum", "mean"})],
        "compose": [StrOptions({"mbiw_first", "simba_first"})],
        "synergy": ["boolean", Interval(Integral, 1, None, closed="left")],
        "n_passes": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
        "random_state": ["random_state"],
    }

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Learn the instance weights, then the feature weights in steps that the instance weights scale."""
        warn_of_few_neighbors(table.classes, table.codes, self.n_neighbors, misses="together")
        margins = read_margins(table, self.n_jobs)
        rng, n = check_random_state(self.random_state), len(table.codes)
        w: FloatArray = np.ones(margins.rows.shape[1])
        if self.compose == "simba_first":
            w = simba_steps(margins, w, rng.permutation(n), np.ones(n))
        # MBIW under the norm ‖·‖_w takes the rows multiplied by w.
        omega = mbiw(replace(table, rows=margins.scaled_rows(w)), self.n_neighbors, self.n_jobs)
        # The first pass of plain SIMBA only shapes the margins. The weighted pass starts from equal weights again.
        w = np.ones_like(w)
        every = int(self.synergy) or n  # steps between two updates of ω
        if isinstance(self.synergy, (bool, np.bool_)):
            every = max(1, n // 10) if self.synergy else n
        for _ in range(self.n_passes):
            left, visited = step_order(omega, self.strategy, rng), np.empty(0, dtype=np.int64)
            while len(left):
                part, left = left[:every], left[every:]
                w = simba_steps(margins, w, part, step_sizes(omega, self.strategy, self.scale)[part])
                if self.synergy and len(left):
                    # Weights of features have changed, so margins and ω have too. Only the steps that are left use the
                    # new ω.
                    visited = np.append(visited, part)
                    omega = mbiw(replace(table, rows=margins.scaled_rows(w)), self.n_neighbors, self.n_jobs)
                    if self.strategy in ("order", "sample"):  # a random permutation knows nothing of ω
                        left = step_order(omega, self.strategy, rng, visited=visited)
        self.instance_weights_ = omega
        return publish_weights(w)

    def _metric_parts(self) -> dict[str, Any]:
        """Return a = W² and the votes of a k-NN: the instance weights, with mean 1."""
        votes = self.instance_weights_ * len(self.instance_weights_)
        return {"feature_weights": metric_weights(self.feature_weights_, self.support_, square=True), "votes": votes}
