"""Feature weights from learned votes: how strongly the scores change with each feature."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, Options, StrOptions

from .._parallel.threads import effective_n_jobs
from .._random import generators
from .._typing import FloatArray
from ..tables.coded import CodedTable
from ..tables.targets import TARGET_TYPES, standardize_outputs
from ..votes.gradient import choose_feature_weights, learn_feature_weights
from ..votes.metric import VotesTable
from .base import ContributionWeigher


@dataclass(eq=False, repr=False)
class GradientWeights(ContributionWeigher):
    """Weights from the votes of `LearnedVotesClassifier`: the mean squared change of the scores with each feature.

    Votes are solved for under equal weights. G_j is the mean squared derivative of their scores with respect to a
    number j, or the mean squared change when a category is replaced by the others. The weights are (G / max G)^γ; in a
    second round, votes are solved for again under these weights. Numbers should be on comparable scales.

    Parameters
    ----------
    gamma : "auto" or float, default="auto"
        The exponent γ. "auto": ¼, ½ or 1, or 0 (all weights 1) unless one of them has a smaller error, by 5-fold
        cross-validation with the one-standard-error rule.
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    n_rounds : {1, 2}, default=1
        How often weights are computed. With ``gamma="auto"`` it is chosen, too.
    p : {1, 2}, default=1
        Distance of the votes. A k-NN with these weights should use the same.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. "auto": floats with many values are numbers.
    max_rows : int, default=2000
        Weights are learned from so many rows; of larger tables they are drawn.
    random_state : int, RandomState or None, default=None
        Draws the folds and rows.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        From 0 to 1.
    gamma_, n_rounds_ : float, int
        What was used.
    target_type_ : str
    weights_, support_, classes_
        As in `Relief`.

    References
    ----------
    .. [1] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin, "Mechanism for feature learning in neural networks and
       backpropagation-free machine learning models", Science 383, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbors import GradientWeights
    >>> X = np.random.default_rng(0).normal(size=(200, 6))
    >>> weigher = GradientWeights(random_state=0).fit(X, X[:, 2] * X[:, 4] > 0)
    >>> np.argsort(-weigher.feature_weights_)[:2]
    array([4, 2])
    """

    gamma: float | str = "auto"
    _: KW_ONLY
    n_rounds: int = 1
    p: int = 1
    target_type: str = "auto"
    max_rows: int = 2000
    random_state: Any = None

    _needs_scaled_columns: ClassVar[bool] = True  # wide columns would decide the distances
    _takes_numeric_targets: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ContributionWeigher._parameter_constraints,
        "gamma": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "n_rounds": [Options(Real, {1, 2})],
        "p": [Options(Real, {1, 2})],
        "target_type": [TARGET_TYPES],
        "max_rows": [Interval(Integral, 10, None, closed="left")],
        "random_state": ["random_state"],
    }

    def fit_weights(self, table: CodedTable) -> FloatArray:
        """Choose γ if it is asked for, and return the weights (G / max G)^γ."""
        rng, jobs = generators(self.random_state, 1)[0], effective_n_jobs(self.n_jobs)
        votes = votes_table(table)
        self.gamma_, self.n_rounds_ = self.gamma, int(self.n_rounds)
        if isinstance(self.gamma, str):
            chosen = choose_feature_weights(votes, int(self.p), rng, jobs)
            self.gamma_, self.n_rounds_ = chosen.gamma, max(1, chosen.n_rounds)
        part = votes.draw(int(self.max_rows), rng)
        return learn_feature_weights(part, int(self.p), float(self.gamma_), self.n_rounds_, rng, jobs)


def votes_table(table: CodedTable) -> VotesTable:
    """Return a coded table as learned votes need it: one column per class, or a standardised numeric target."""
    kept = np.flatnonzero(table.sample_weight > 0)
    weight = table.sample_weight[kept]
    repetition = None if (weight == 1).all() else weight / min(1.0, float(weight.mean()))
    if table.numbers is None:
        return VotesTable(table.rows[kept], table.nominal, table.codes[kept], len(table.classes), repetition)
    scaled, _, _ = standardize_outputs(table.numbers[kept][:, None])
    return VotesTable(table.rows[kept], table.nominal, scaled, 0, repetition)
