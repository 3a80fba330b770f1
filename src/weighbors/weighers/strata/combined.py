"""Base class of `Stratified` and `Democratic`: input validation, the fits of the strata, and the attributes."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..._frame_arrays import FrameAttribute
from ..._labels import require_labels
from ..._parallel.cluster import is_dask
from ..._random import seed_sequence
from ..._targets import TARGET_TYPES
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..._validation import TakesTables
from ...blocks import select_columns, select_rows
from ...exceptions import ForeignWeightsError, InvalidDataError
from ...metrics import reduction_of
from ...weights import Weights, fingerprint
from .._reduction import TableReducer
from ..base import require_fitted_rows
from ..evolution import EvolutionaryWeigher
from .merge import Joined, join, repeat_warnings
from .table import Fits, StrataTable, in_blocks, open_blocks, open_memory


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
    def fit(self, X: Any, y: Any, *, client: Any = None, **fit_params: Any) -> Any:
        """Fit the weigher to every stratum, and combine the results.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            ``X`` can also be a Dask array or DataFrame: strata are then drawn inside its partitions. Or it can
            be the path of a parquet folder or an npy file: strata are then drawn inside blocks of about 32 MiB.
        y : array-like of shape (n_samples,)
            If ``X`` is a Dask collection, a Dask collection with the same partitions. For a parquet folder,
            the name of a column.
        client : distributed.Client, optional
            Client of the cluster on which strata are fitted. Without a client, strata are fitted by joblib
            with its active backend, or for Dask collections where Dask computes.
        **fit_params : array-like with one entry per row
            Parameters for the fit of the weigher, such as ``sample_weight``. Each stratum gets the entries
            of its rows.

        Returns
        -------
        self
        """
        require_labels(self, y)
        weigher = clone(EvolutionaryWeigher("IS") if self.weigher is None else self.weigher)
        opened = open_blocks if in_blocks(X, y) else open_memory
        table = opened(self, weigher, X, y, fit_params, self._target_type_for(weigher), client)
        *rounds, others = seed_sequence(self.random_state).spawn(self._count_rounds() + 1)
        fits = table.fit_strata(self.n_strata, rounds)
        joined = join(fits.outcomes, fits.rows, table.n, len(rounds))
        # Another fit may have had attributes that this one does not have.
        for name in [name for name in vars(self) if name.endswith(("_", "_arrays")) and not name.endswith("_in_")]:
            delattr(self, name)
        self._shape, self._weigher_name = (table.n, table.width), type(weigher).__name__
        self.target_type_ = table.target.type
        if self.target_type_ == "classes":
            self.classes_ = table.target.classes
        # Rows in blocks are not read as a whole, so that they have no fingerprint.
        self._coder = table.coder
        self._fingerprint = None if table.coder is None else fingerprint(table.blocks[0].rows)
        self.strata_ = _frame(fits)
        self.membership_ = _membership(fits, len(rounds), table.n)
        self.n_strata_ = int((self.strata_["round"] == 0).sum())
        kept, support = self._elect(table, joined, np.random.default_rng(others))
        self._publish(joined, kept, support)
        repeat_warnings(fits.outcomes)
        return self

    def _target_type_for(self, weigher: Any) -> str | None:
        """Return what the target is, as `check_target` takes it. None: the weigher takes classes only."""
        if self.target_type != "auto":
            return str(self.target_type)
        if "target_type" in weigher.get_params(deep=False):
            return str(weigher.target_type)
        only_classes = getattr(weigher, "_takes_numeric_targets", True) is False or hasattr(weigher, "fit_resample")
        return None if only_classes else "auto"

    @abstractmethod
    def _count_rounds(self) -> int:
        """Return how many times the rows are cut into strata."""

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
        self.weights_ = self._weights(joined, kept, support)

    def _weights(self, joined: Joined, kept: BoolArray | None, support: BoolArray | None) -> Weights:
        """Return the `Weights` for a k-NN."""
        names = getattr(self, "feature_names_in_", None)
        a = None if joined.metric is None else joined.metric(self.support_)
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
            n_samples=self._shape[0] if bound else None,
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
        if not is_dask(X):
            return super().reduce(X, y)
        check_is_fitted(self, "weights_")
        kept = self._instance_mask()
        small = select_rows(select_columns(X, self.support_), kept)
        return small if y is None else (small, select_rows(y, kept))

    def _instance_mask(self) -> BoolArray:
        """Return which rows of the fit are kept. Raise InvalidDataError if the fit selects nothing."""
        if not hasattr(self, "instance_support_") and self.weights_.feature_mask is None:
            raise InvalidDataError(
                f"{self._weigher_name} selects neither instances nor features, so there is nothing to reduce by"
            )
        mask: BoolArray = getattr(self, "instance_support_", np.ones(self._shape[0], dtype=bool))
        return mask

    def _feature_mask(self) -> BoolArray:
        """Return which columns are kept."""
        mask: BoolArray = self.support_
        return mask

    def _check_same_rows(self, X: Any) -> None:
        """Raise ForeignWeightsError if ``X`` does not hold the rows of the fit."""
        if self._coder is None:
            if np.shape(X) != self._shape:
                raise ForeignWeightsError(f"reduce takes the {self._shape[0]} rows that were fitted; got {np.shape(X)}")
        else:
            require_fitted_rows(self._coder.transform(self, X), self._fingerprint)

    def transform(self, X: Any) -> Any:
        """Return the columns that are kept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A Dask collection is possible too.

        Returns
        -------
        array of shape (n_samples, n_features_kept)
        """
        if is_dask(X):
            check_is_fitted(self, "weights_")
            self._warn_of_unselected()
            return select_columns(X, self.support_)
        return super().transform(X)

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


def _frame(fits: Fits) -> pd.DataFrame:
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
        for stratum, outcome in zip(fits.strata, fits.outcomes, strict=True)
    ]
    return pd.DataFrame(rows)


def _membership(fits: Fits, n_rounds: int, N: int) -> AnyArray:
    """Return the number of the stratum of each row in each round, shape (n_rounds, N)."""
    member = np.empty((n_rounds, N), dtype=np.int32)
    for stratum, rows in zip(fits.strata, fits.rows, strict=True):
        member[stratum.round, rows] = stratum.number
    return member
