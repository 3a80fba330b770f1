"""Stratified: fit a weigher to strata with equal class shares, so that the time is linear in the number of rows.

`CombinedWeigher` is the base of `Stratified` and `Democratic`: the fits of the strata, and the attributes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..._parallel.cluster import is_dask
from ..._random import seed_sequence
from ..._typing import BoolArray, FloatArray, IndexArray
from ...blocks import is_path, select_columns, select_rows
from ...exceptions import ForeignWeightsError, InvalidDataError
from ...metrics import reduction_of
from ...tables.coded import read_queries, takes_coded_tables
from ...tables.frame_arrays import FrameAttribute
from ...tables.labels import require_labels
from ...tables.targets import TARGET_TYPES
from ...tables.validation import TakesTables
from ...weights import Weights, fingerprint
from .._reduction import TableReducer
from ..base import require_fitted_rows
from ..evolution import EvolutionaryWeigher
from .draw import Stratum
from .fit import Joined, Outcome, elect_features, join, repeat_warnings
from .table import StrataTable, open_blocks, open_memory


class CombinedWeigher(TakesTables, TableReducer, BaseEstimator):
    """Base class of the estimators that fit a weigher to many strata. See the subclasses."""

    weigher: Any
    n_strata: Any
    target_type: str
    categorical_features: Any
    random_state: Any
    n_jobs: int | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weigher": [None, HasMethods(["fit", "get_params"]), HasMethods(["fit_resample", "get_params"])],
        "n_strata": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "target_type": [TARGET_TYPES],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    _takes_numeric_targets = True
    strata_ = FrameAttribute()

    @property
    def _needs_scaled_columns(self) -> bool:
        """Whether the weigher, which is fitted to every stratum, needs scaled columns."""
        return getattr(EvolutionaryWeigher if self.weigher is None else self.weigher, "_needs_scaled_columns", False)

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Any:
        """Fit the weigher to every stratum, and combine the results.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            ``X`` can also be a Dask array or DataFrame: strata are then drawn inside its partitions. Or it can
            be the path of a parquet folder or an npy file: strata are then drawn inside blocks of about 32 MiB.
            Strata in blocks are fitted on the cluster of the current Dask client, if there is one. Otherwise, and if
            ``X`` is in memory, joblib fits them with its active backend.
        y : array-like of shape (n_samples,)
            If ``X`` is a Dask collection, a Dask collection with the same partitions. For a parquet folder,
            the name of a column.
        **fit_params : array-like with one entry per row
            Parameters for the fit of the weigher, such as ``sample_weight``. Each stratum gets the entries
            of its rows.

        Returns
        -------
        self
        """
        require_labels(self, y)
        weigher = clone(EvolutionaryWeigher("IS") if self.weigher is None else self.weigher)
        in_blocks = is_path(X) or is_dask(X) or is_dask(y)
        opened = open_blocks if in_blocks else open_memory
        table = opened(self, weigher, X, y, fit_params, self._target_type_for(weigher))
        *rounds, others = seed_sequence(self.random_state).spawn(self._count_rounds() + 1)
        strata, outcomes = table.fit_strata(self.n_strata, rounds)
        joined = join(strata, outcomes, table.n, len(rounds))
        # Another fit may have had attributes that this one does not have.
        for name in [name for name in vars(self) if name.endswith(("_", "_arrays")) and not name.endswith("_in_")]:
            delattr(self, name)
        self._shape, self._weigher_name = (table.n, int(self.n_features_in_)), type(weigher).__name__
        self.target_type_ = table.target.type
        if self.target_type_ == "classes":
            self.classes_ = table.target.classes
        # Rows in blocks are not read as a whole, so that they have no fingerprint.
        self._coder = table.coder
        self._fingerprint = None if table.coder is None else fingerprint(table.blocks[0].rows)
        self.strata_ = _frame(strata, outcomes)
        self.n_strata_ = int((self.strata_["round"] == 0).sum())
        self.membership_ = np.empty((len(rounds), table.n), dtype=np.int32)
        for stratum in strata:
            self.membership_[stratum.round, stratum.rows] = stratum.number
        kept, support = self._elect(table, joined, np.random.default_rng(others))
        self._publish(joined, kept, support)
        repeat_warnings(outcomes)
        return self

    def _target_type_for(self, weigher: Any) -> str | None:
        """Return what the target is, as `check_target` takes it. None: the weigher takes classes only."""
        if self.target_type != "auto":
            return str(self.target_type)
        if "target_type" in weigher.get_params(deep=False):
            return str(weigher.target_type)
        only_classes = getattr(weigher, "_takes_numeric_targets", True) is False or hasattr(weigher, "fit_resample")
        return None if only_classes else "auto"

    def _count_rounds(self) -> int:
        """Return how many times the rows are cut into strata: here once."""
        return 1

    @abstractmethod
    def _elect(
        self, table: StrataTable, joined: Joined, rng: np.random.Generator
    ) -> tuple[BoolArray | None, BoolArray | None]:
        """Return which instances and which features are kept, each None if the weigher does not select them.

        ``joined`` has the combined results of all strata of the ``table``, and ``rng`` draws queries.
        """

    def _publish(self, joined: Joined, kept: BoolArray | None, support: BoolArray | None) -> None:
        """Set the attributes of the fit from the combined results."""
        N, M = self._shape
        self.support_ = np.ones(M, dtype=bool) if support is None else support
        if joined.published is not None:
            self.feature_weights_ = joined.published
        if joined.per_class is not None:
            self.class_feature_weights_ = joined.per_class
        if joined.scales is not None:
            self.instance_scales_ = joined.scales
        if joined.votes is not None:
            # Votes have mean 1. Instance weights, as the papers print them, sum to 1.
            self.instance_weights_ = joined.votes / N
        if kept is not None:
            self.instance_support_ = kept
        self.reduction_ = reduction_of(N if kept is None else int(kept.sum()), int(self.support_.sum()), of=(N, M))
        self.weights_ = self._make_weights(joined, kept, support)

    def _make_weights(self, joined: Joined, kept: BoolArray | None, support: BoolArray | None) -> Weights:
        """Return the `Weights` for a k-NN. None for ``kept`` or ``support``: all rows or columns."""
        N, M = self._shape
        names = getattr(self, "feature_names_in_", None)
        a = None if joined.metric is None else joined.metric(np.ones(M, dtype=bool) if support is None else support)
        mask = None if kept is None or kept.all() else kept
        # Only weights that belong to rows need to be checked against the rows of a k-NN.
        bound = any(part is not None for part in (mask, joined.scales, joined.votes))
        return Weights(
            feature_weights=a,
            classes=self.classes_ if a is not None and a.ndim == 2 else None,
            instance_scales=joined.scales,
            votes=joined.votes,
            feature_mask=support,
            instance_mask=mask,
            feature_names=None if names is None else tuple(names),
            n_samples=N if bound else None,
            fingerprint=self._fingerprint if bound else None,
        )

    @property
    def sample_indices_(self) -> IndexArray:
        """Row numbers of the rows that are kept. Only if the weigher selects instances."""
        check_is_fitted(self, "weights_")
        if not hasattr(self, "instance_support_"):
            raise AttributeError(
                f"{self._weigher_name} selects no instances, so there are no sample_indices_. Use a weigher that does, "
                "such as EvolutionaryWeigher('IS')"
            )
        return np.flatnonzero(self.instance_support_)

    def reduce(self, X: Any, y: Any = None) -> Any:
        """Return the rows and columns that this fit kept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that were fitted.
        y : array-like of shape (n_samples,), optional

        Returns
        -------
        X_reduced, y_reduced
            Of the same types as ``X`` and ``y``, also Dask collections. Without ``y``, only X_reduced.

        Raises
        ------
        ForeignWeightsError
            If ``X`` holds other rows than those of the fit.
        """
        check_is_fitted(self, "weights_")
        if not hasattr(self, "instance_support_") and self.weights_.feature_mask is None:
            raise InvalidDataError(
                f"{self._weigher_name} selects neither instances nor features, so there is nothing to reduce by"
            )
        if not is_dask(X):
            return super().reduce(X, y)
        kept = getattr(self, "instance_support_", np.ones(self._shape[0], dtype=bool))
        small = select_rows(select_columns(self, X), kept)
        return small if y is None else (small, select_rows(y, kept))

    def _check_same_rows(self, X: Any) -> None:
        """Raise ForeignWeightsError if ``X`` does not hold the rows of the fit."""
        if self._coder is None:
            if np.shape(X) != self._shape:
                raise ForeignWeightsError(f"reduce takes the {self._shape[0]} rows that were fitted; got {np.shape(X)}")
        else:
            require_fitted_rows(read_queries(self, self._coder, X), self._fingerprint)

    def _how_to_select(self) -> str:
        """Return advice for a message: what to change so that `transform` drops columns."""
        return "Give it a weigher that selects features, such as ReliefF(n_features_to_select=20)"

    @property
    def feature_importances_(self) -> FloatArray:
        """Feature weights, with 0 for negative weights and for features that are not kept.

        Only if the weigher has feature weights.
        """
        check_is_fitted(self, "weights_")
        if not hasattr(self, "feature_weights_"):
            raise AttributeError(f"{self._weigher_name} weighs no features")
        importances: FloatArray = np.where(self.support_, np.maximum(self.feature_weights_, 0.0), 0.0)
        return importances


def _frame(strata: Sequence[Stratum], outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """Return the fits as a table with one row per stratum and round."""
    rows = [
        {
            "round": stratum.round,
            "stratum": stratum.number,
            "seed": stratum.seed,
            "n_samples": outcome.n,
            "n_instances": outcome.n if outcome.kept is None else int(outcome.kept.sum()),
            "n_features": None if outcome.columns is None else int(outcome.columns.sum()),
            "seconds": outcome.seconds,
        }
        for stratum, outcome in zip(strata, outcomes, strict=True)
    ]
    return pd.DataFrame(rows)


@dataclass(eq=False, repr=False)
class Stratified(CombinedWeigher):
    """Fit a weigher or selector to disjoint strata of the rows, and combine the results.

    Strata are drawn at random with the class shares of the whole table. With a numeric target, they are drawn from
    ten bins of equally many rows, ordered by the target, so that all strata have its low and its high values. The
    result keeps all instances that their strata keep. Strata vote on features, and feature weights are averaged.
    Instance weights (votes ω and scales v) are those of the stratum of the instance. With strata of a fixed size, the
    time is linear in the number of rows, also if the time of the weigher grows faster.

    Parameters
    ----------
    weigher : estimator or None, default=None
        Any weigher of this package except `RepresentativeIntervals`, a selector of scikit-learn, or a
        sampler of imbalanced-learn that has ``sample_indices_``. None: ``EvolutionaryWeigher("IS")``.
    n_strata : int or "auto", default="auto"
        Number of strata. "auto": strata have about 1000 rows, but there are fewer strata if the smallest class has
        not enough rows for two per stratum. With a numeric target, a stratum has at least two rows.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``y`` holds. "auto": what the weigher says, if it has this parameter; else floats are a numeric target
        if one of them is no whole number or if many differ, and all else is classes. Weighers that take classes
        only, and samplers, get classes. A selector of another package gets the numbers as they are.
    feature_threshold : float, default=0.5
        A feature is kept if the strata that keep it have at least this share of the rows. If no feature
        reaches this share, the features with the largest share are kept. If all strata keep the same number
        of features, the result keeps this number of features, and the threshold is not used.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        As in `WeightedKNeighborsClassifier`. With "from_dtype", the setting of the weigher is used.
    random_state : int, RandomState or None, default=None
        Seed of the strata, and of every weigher whose ``random_state`` is None.
    n_jobs : int or None, default=None
        Number of strata that are fitted at the same time, as in joblib. Results do not depend on it.

    Attributes
    ----------
    weights_ : Weights
        Weights for `WeightedKNeighborsClassifier`, or for a regressor.
    support_ : bool ndarray of shape (n_features,)
        Features that are kept.
    reduction_ : float
        Share of the table that is removed.
    feature_weights_, class_feature_weights_ : ndarray
        Means over strata, weighted by their numbers of rows. Only if the weigher has these attributes.
    instance_support_ : bool ndarray of shape (n_samples,)
        Rows that are kept. Only if the weigher selects instances, like ``sample_indices_``.
    instance_weights_ : ndarray of shape (n_samples,)
        Votes ω, which sum to 1. Only if the weigher has votes.
    instance_scales_ : ndarray of shape (n_samples,)
        Scales v. Only if the weigher has scales.
    strata_ : DataFrame
        One row per fit: round, stratum, seed, number of rows, numbers of instances and features kept, seconds.
    membership_ : int ndarray of shape (1, n_samples)
        The stratum of each row.
    n_strata_ : int
        Number of strata.
    target_type_ : str
        "classes" or "numeric".
    classes_ : ndarray of shape (n_classes,)
        Only for classes.

    Notes
    -----
    A stratum has fewer rows than the table. So results that depend on the density of the rows, such as nearest
    hits and misses, are learned at a lower density. If the weigher has a ``checkpoint``, each stratum gets its
    own file. In Dask collections, strata are drawn inside partitions, and every partition must have rows of
    every class. Bins of a numeric target are those of the partition. There, the weights check the number of training
    rows, but not their fingerprint.

    References
    ----------
    .. [1] J. R. Cano, F. Herrera, M. Lozano, "Stratification for scaling up evolutionary prototype
       selection", Pattern Recognition Letters 26, 2005.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from weighbors import EvolutionaryWeigher, Stratified, WeightedKNeighborsClassifier
    >>> X, y = make_classification(1200, 8, n_informative=5, random_state=0)
    >>> search = EvolutionaryWeigher("IS", population_size=20, max_evaluations=1000)
    >>> strata = Stratified(search, 4, random_state=0).fit(X[:1000], y[:1000])
    >>> X_small, y_small = strata.reduce(X[:1000], y[:1000])
    >>> len(X_small) < 400
    True
    >>> WeightedKNeighborsClassifier(1, strata.weights_).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.8
    True
    """

    weigher: Any = None
    n_strata: Any = "auto"
    _: KW_ONLY
    target_type: str = "auto"
    feature_threshold: float = 0.5
    categorical_features: Any = "from_dtype"
    random_state: Any = None
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CombinedWeigher._parameter_constraints,
        "feature_threshold": [Interval(Real, 0, 1, closed="right")],
    }

    def _elect(
        self, table: StrataTable, joined: Joined, rng: np.random.Generator
    ) -> tuple[BoolArray | None, BoolArray | None]:
        """Keep the rows that their stratum keeps, and the features that enough strata keep."""
        kept = None if joined.keeps is None else joined.keeps > 0  # Cano et al.: the union
        return kept, None if joined.share is None else elect_features(joined, float(self.feature_threshold))
