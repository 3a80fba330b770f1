"""Weighers that select rows, and maybe columns: reduced tables, and a sampler for pipelines."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples, check_is_fitted

from .._typing import BoolArray
from ..exceptions import InvalidDataError
from ..weights import Weights
from .base import WarningSelector, kept_part
from .sampler import NUMERIC_TARGET, InstanceSampler


class RowReducer:
    """Adds ``reduce`` and ``as_sampler`` to a weigher that selects rows."""

    n_features_in_: int
    weights_: Weights

    def _feature_mask(self) -> BoolArray:
        """Return which columns are kept. Here these are all columns."""
        return np.ones(self.n_features_in_, dtype=bool)

    @abstractmethod
    def _check_same_rows(self, X: Any) -> None:
        """Raise an error if ``X`` does not hold the rows of the fit."""

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
            Of the same types as ``X`` and ``y``. Without ``y``, only X_reduced.

        Raises
        ------
        ForeignWeightsError
            If ``X`` holds other rows than those of the fit.
        """
        check_is_fitted(self, "weights_")
        self._check_same_rows(X)
        mask = self.weights_.instance_mask
        rows = np.arange(_num_samples(X)) if mask is None else np.flatnonzero(mask)
        return kept_part(X, y, rows, self._feature_mask())

    def as_sampler(self) -> InstanceSampler:
        """Return a sampler for imbalanced-learn's pipelines: ``fit_resample`` keeps the selected rows.

        Pipelines of imbalanced-learn refuse a sampler that also has ``transform``, so the sampler is a separate
        estimator. It fits a clone of this weigher without a checkpoint, since the checkpoint belongs to this fit.

        Raises
        ------
        InvalidDataError
            If the target is numeric: samplers resample classes.
        """
        if any(getattr(one, "target_type", None) == "numeric" for one in (self, getattr(self, "weigher", None))):
            raise InvalidDataError(NUMERIC_TARGET)
        own = clone(self)
        # A fit of the sampler must not write to the checkpoint of another search, or continue it.
        searches: tuple[Any, ...] = (own, getattr(own, "weigher", None))
        for search in searches:
            if getattr(search, "checkpoint", None) is not None:
                search.set_params(checkpoint=None)
        return InstanceSampler(own)


class TableReducer(RowReducer, WarningSelector):
    """Adds ``reduce`` and ``as_sampler`` to a weigher that selects rows and columns."""

    def _feature_mask(self) -> BoolArray:
        """Return which columns are kept."""
        mask = self.weights_.feature_mask
        return super()._feature_mask() if mask is None else mask.copy()

    def _get_support_mask(self) -> BoolArray:
        """Return which columns are kept, for scikit-learn's mixin."""
        check_is_fitted(self, "weights_")
        return self._feature_mask()
