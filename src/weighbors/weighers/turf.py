"""TuRF: score the features, drop the worst ones, and score the rest again."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import has_fit_parameter

from .._typing import FloatArray, IndexArray
from ..exceptions import WeighborsWarning
from ..tables.coded import takes_coded_tables
from ..tables.targets import TARGET_TYPES, expect_target, wanted_target
from .base import FeatureWeigher, code_table, number_to_select, require_scores
from .relief import ReliefF, RReliefF


@dataclass(eq=False, repr=False)
class TuRF(FeatureWeigher):
    """Tuned RELIEF: score the features, drop the worst ones, and score the rest again, with any weigher.

    Noise features blur the distances in which neighbours are sought. TuRF drops a share of the
    worst features, scores the rest again in their own space, and so on.

    Parameters
    ----------
    weigher : estimator or None, default=None
        Anything whose fit leaves ``feature_weights_``, ``feature_importances_`` or ``coef_``, such as a forest or a
        linear model. None: ``ReliefF()``, or ``RReliefF()`` for a numeric target.
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps; elimination stops there.
        None: all features are ranked. Elimination stops when at most ``share`` of the original features (at least
        one feature) is left.
    share : float, default=0.1
        Part of the original features dropped in each round, at least one.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. "auto": what the weigher takes, if it takes one of them only; else floats are a numeric target
        if one of them is no whole number or if many differ, and all else is classes. A weigher with this parameter at
        "auto" is set to this type.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features,)
        The score of each feature in the last round it took part in. Those of earlier rounds are made smaller
        where that is needed, so that every feature that was dropped comes below all that stayed.
    round_ : int ndarray of shape (n_features,)
        The round in which a feature was last scored, from 1.
    weights_ : Weights
        For a k-NN: negative weights count 0. With ``n_features_to_select``, only the features selected count.
    support_, classes_
        As in `Relief`.
    target_type_, target_statement_
        As in `MultiSURF`.

    Notes
    -----
    The paper ranks features and leaves open what those that were dropped weigh. Weights of 0 would leave a
    k-NN the few features of the last round, one of 13 on wine, although each round must drop some
    features, even good ones. So a feature keeps its last score. If needed, the scores of its round are lowered, by a
    factor or by a constant, so that they stand below those of the features that stayed.

    References
    ----------
    .. [1] J. H. Moore, B. C. White, "Tuning ReliefF for genome-wide genetic analysis", EvoBIO 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from weighbors import ReliefF, TuRF
    >>> X, y = make_classification(n_features=30, n_informative=3, n_redundant=0, shuffle=False, random_state=0)
    >>> TuRF(ReliefF(5), n_features_to_select=3).fit(X, y).get_support(indices=True)
    array([0, 1, 2])
    """

    weigher: Any = None
    _: KW_ONLY
    share: float = 0.1
    target_type: str = "auto"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FeatureWeigher._parameter_constraints,
        "weigher": [None, HasMethods(["fit", "get_params"])],
        "share": [Interval(Real, 0, 1, closed="neither")],
        "target_type": [TARGET_TYPES],
    }
    _takes_numeric_targets = True

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TuRF:
        """Score the features in rounds, and drop the worst ones after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Passed to the weigher, which must take it.

        Returns
        -------
        self
        """
        table = code_table(self, X, y)
        X, numeric = table.rows, table.numbers is not None
        y = table.target.decoded
        M = X.shape[1]
        # A share of the original number, so that rounds do not become ever smaller.
        drop = max(1, int(self.share * M))
        wanted = number_to_select(self.n_features_to_select, M)
        goal = min(M, drop) if wanted is None else wanted  # how many features are left after the last round
        params = {} if sample_weight is None else {"sample_weight": sample_weight}
        alive, scores = np.arange(M), np.zeros(M)
        self.round_ = np.zeros(M, dtype=np.int64)
        while True:
            default = RReliefF if numeric else ReliefF
            weigher = clone(default(n_jobs=self.n_jobs) if self.weigher is None else self.weigher)
            expect_target(weigher, numeric=numeric)
            # The weigher gets a part of the columns, so it must be told anew which of them hold categories.
            if "categorical_features" in weigher.get_params(deep=False):
                weigher.set_params(categorical_features=table.nominal[alive])
            if params and not has_fit_parameter(weigher, "sample_weight"):
                raise TypeError(f"{type(weigher).__name__} takes no sample_weight in fit")
            with warnings.catch_warnings():
                if self.round_.any():  # the first round has warned, and `_publish` warns of the last one
                    warnings.simplefilter("ignore", WeighborsWarning)
                weigher.fit(_safe_indexing(X, alive, axis=1), y, **params)
                scores[alive] = require_scores(weigher, len(alive), "TuRF")
            self.round_[alive] += 1
            if len(alive) <= goal:
                break
            kept = max(goal, len(alive) - drop)
            # The order of the columns is kept, so that ties between features are broken as in the full table.
            alive = np.sort(alive[np.argsort(-scores[alive], kind="stable")[:kept]])
        self._publish(X, _ranked(scores, self.round_))
        return self

    @property
    def _target_type(self) -> str:
        """What ``y`` holds, as the user says or as the weigher must have it; "auto" if neither decides."""
        if self.target_type != "auto" or self.weigher is None:
            return self.target_type
        return wanted_target(self.weigher)


def _ranked(scores: FloatArray, rounds: IndexArray) -> FloatArray:
    """Return scores in which every feature of a later round is above all features of earlier rounds.

    ``scores`` has the last score of each feature, ``rounds`` the round of that score. The positive scores of a round
    are multiplied by a factor that puts the largest of them below the later rounds. This keeps their order and sign.
    If a later round has scores of 0 or less, the scores of earlier rounds are shifted below those.
    """
    final, floor = scores.copy(), np.inf
    # From the last round, whose features stayed longest, to the first: ``floor`` is the smallest score so far.
    for number in range(int(rounds.max()), 0, -1):
        mine = rounds == number
        largest = float(final[mine].max())
        if largest >= floor > 0:
            final[mine & (final > 0)] *= floor / largest * (1 - 1e-9)
        elif largest >= floor:
            final[mine] -= largest - floor + 1e-9 * max(abs(floor), np.abs(scores).max())
        floor = min(floor, float(final[mine].min()))
    return final
