"""What `Stratified` and `Democratic` share: the door, the fits, and what they publish."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._cluster import is_dask
from .._random import seed_sequence
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .._validation import TakesTables, require_labels
from ..exceptions import ForeignWeightsError, InvalidDataError
from ..metrics import reduction_of
from ..weights import Weights, fingerprint
from ._base import kept_part, require_fitted_rows
from ._joined import Joined, join, repeat_warnings
from ._partitions import PartitionedRows, reduced_partitions, selected_columns
from ._tables import Cut, Fits, LocalRows
from .evolution import EvolutionaryWeigher
from .sampler import InstanceSampler

__all__ = ["CombinedWeigher"]

_PUBLISHED = (
    "feature_weights_",
    "class_feature_weights_",
    "instance_scales_",
    "instance_weights_",
    "instance_support_",
    "_fingerprint",
    "_coder",
)


class CombinedWeigher(TakesTables, SelectorMixin, BaseEstimator):
    """Base of the estimators that fit a weigher to many strata. See the subclasses."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        "weigher": [None, HasMethods(["fit", "get_params"]), HasMethods(["fit_resample", "get_params"])],
        "n_strata": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "stratum_size": [Interval(Integral, 2, None, closed="left")],
        "feature_threshold": [Interval(Real, 0, 1, closed="right")],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, *, client: Any = None, **fit_params: Any) -> Any:
        """Fit the weigher to every stratum, and put together what it learns.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Or a Dask array or DataFrame, whose strata are drawn inside its partitions.
        y : array-like of shape (n_samples,)
            Of Dask, too, where ``X`` is, with the same partitions.
        client : distributed.Client, optional
            Strata are fitted on its cluster. Without it, by joblib with the backend that is active;
            for Dask's collections wherever Dask computes.
        **fit_params : array-like with one entry per row
            For the weigher's fit, such as ``sample_weight``; each stratum gets its own.

        Returns
        -------
        self
        """
        require_labels(self, y)
        weigher = clone(EvolutionaryWeigher("IS") if self.weigher is None else self.weigher)
        kind = PartitionedRows if is_dask(X) or is_dask(y) else LocalRows
        table = kind(self, weigher, X, y, fit_params)
        *rounds, others = seed_sequence(self.random_state).spawn(self._n_rounds + 1)
        fits = table.learn(Cut(self.n_strata, int(self.stratum_size), rounds), n_jobs=self.n_jobs, client=client)
        joined = join(fits.outcomes, fits.rows, table.N, len(rounds))
        for name in _PUBLISHED:
            self.__dict__.pop(name, None)  # of an earlier fit
        self.classes_, self._shape, self._weigher_name = table.classes, (table.N, table.M), type(weigher).__name__
        self._take_door(table)
        self.strata_ = _frame(fits)
        self.membership_ = _membership(fits, len(rounds), table.N)
        self.n_strata_ = int((self.strata_["round"] == 0).sum())
        kept, support = self._elect(table, joined, np.random.Generator(np.random.PCG64(others)), client)
        self._publish(joined, kept, support)
        repeat_warnings(fits.outcomes)
        return self

    @property
    @abstractmethod
    def _n_rounds(self) -> int:
        """How often the rows are cut into strata."""

    @abstractmethod
    def _elect(
        self, table: Any, joined: Joined, rng: np.random.Generator, client: Any
    ) -> tuple[BoolArray | None, BoolArray | None]:
        """The instances and the features that are kept; None where the weigher selects none."""

    def _take_door(self, table: Any) -> None:
        """What later calls need of the table."""
        if isinstance(table, LocalRows):
            self._coder, self._fingerprint = table.coder, fingerprint(table.X)
            return
        self.n_features_in_ = table.M
        self.__dict__.pop("feature_names_in_", None)
        if table.names is not None:
            self.feature_names_in_ = np.asarray(table.names, dtype=object)

    def _publish(self, joined: Joined, kept: BoolArray | None, support: BoolArray | None) -> None:
        N, M = self._shape
        self.support_ = np.ones(M, dtype=bool) if support is None else support
        if joined.published is not None:
            self.feature_weights_ = joined.published
        if joined.per_class is not None:
            self.class_feature_weights_ = joined.per_class
        if joined.scales is not None:
            self.instance_scales_ = joined.scales
        if joined.votes is not None:
            self.instance_weights_ = joined.votes / N
        if kept is not None:
            self.instance_support_ = kept
        self.reduction_ = reduction_of(N if kept is None else int(kept.sum()), int(self.support_.sum()), of=(N, M))
        self.weights_ = self._weights(joined, kept, support)

    def _weights(self, joined: Joined, kept: BoolArray | None, support: BoolArray | None) -> Weights:
        names = getattr(self, "feature_names_in_", None)
        a = None if joined.metric is None else joined.metric(self.support_)
        mask = None if kept is None or kept.all() else kept
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
            fingerprint=getattr(self, "_fingerprint", None) if bound else None,
        )

    @property
    def sample_indices_(self) -> IndexArray:
        """Rows that are kept, where the weigher selects instances."""
        check_is_fitted(self, "weights_")
        if not hasattr(self, "instance_support_"):
            raise AttributeError(
                f"{self._weigher_name} selects no instances, so there are no sample_indices_. Use a weigher that does, "
                "such as EvolutionaryWeigher('IS')"
            )
        return np.flatnonzero(self.instance_support_)

    def reduce(self, X: Any, y: Any = None) -> Any:
        """The rows and columns this fit kept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that were fitted.
        y : array-like of shape (n_samples,), optional

        Returns
        -------
        X_reduced, y_reduced
            In the container they came in, Dask's included; X_reduced alone without ``y``.

        Raises
        ------
        ForeignWeightsError
            Where X holds other rows than fit saw.
        """
        check_is_fitted(self, "weights_")
        if not hasattr(self, "instance_support_") and self.weights_.feature_mask is None:
            raise InvalidDataError(
                f"{self._weigher_name} selects neither instances nor features, so there is nothing to reduce by"
            )
        kept = getattr(self, "instance_support_", np.ones(self._shape[0], dtype=bool))
        if is_dask(X):
            return reduced_partitions(X, y, kept, self.support_)
        self._check_same_rows(X)
        return kept_part(X, y, np.flatnonzero(kept), self.support_)

    def _check_same_rows(self, X: Any) -> None:
        if not hasattr(self, "_coder"):
            if np.shape(X) != self._shape:
                raise ForeignWeightsError(f"reduce takes the {self._shape[0]} rows that were fitted; got {np.shape(X)}")
        else:
            require_fitted_rows(self._coder.transform(self, X), self._fingerprint)

    def as_sampler(self) -> InstanceSampler:
        """A sampler for imbalanced-learn's pipelines: ``fit_resample`` keeps the selected rows.

        Those pipelines refuse an estimator that also has ``transform``, so this is one of its own. It
        fits a clone of this one, without the weigher's checkpoint: that one belongs to this fit.
        """
        own = clone(self)
        if getattr(own.weigher, "checkpoint", None) is not None:
            own.weigher.set_params(checkpoint=None, resume=False)
        return InstanceSampler(own)

    def transform(self, X: Any) -> Any:
        """The columns that are kept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Of Dask, too.

        Returns
        -------
        array of shape (n_samples, n_features_kept)
        """
        if is_dask(X):
            check_is_fitted(self, "weights_")
            return selected_columns(X, self.support_)
        return super().transform(X)

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self, "weights_")
        support: BoolArray = self.support_
        return support

    @property
    def feature_importances_(self) -> FloatArray:
        """The feature weights, 0 for features that are not kept; where the weigher weighs features."""
        check_is_fitted(self, "weights_")
        if not hasattr(self, "feature_weights_"):
            raise AttributeError(f"{self._weigher_name} weighs no features")
        importances: FloatArray = np.where(self.support_, self.feature_weights_, 0.0)
        return importances


def _frame(fits: Fits) -> pd.DataFrame:
    """One row per fit."""
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
    """The stratum of each row in each round."""
    member = np.empty((n_rounds, N), dtype=np.int32)
    for stratum, rows in zip(fits.strata, fits.rows, strict=True):
        member[stratum.round, rows] = stratum.number
    return member
