"""Base of the classical instance selectors: input validation, the distance, and the attributes of a selection."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions

from ..._typing import BoolArray
from ..._warnings import warn
from ...exceptions import InvalidDataError, InvalidWeightsError, LostClassWarning
from ...neighbors.checks import class_of_row
from ...neighbors.resolve import resolve_weights
from ...tables.coded import CodedTable, read_training, takes_coded_tables
from ...tables.validation import TakesTables
from ...weights import Weights, fingerprint
from .._reduction import RowReducer
from ..base import require_fitted_rows
from ..rows import to_dense
from .rows import LabelledRows


class InstanceSelector(TakesTables, RowReducer, BaseEstimator):
    """Base of the estimators that select rows by a rule: a subclass brings `select_rows`.

    It inherits ``fit``, ``reduce``, ``as_sampler``, tags and ``weights_``. The subclass has the parameters ``weigher``,
    ``p``, ``categorical_features`` and ``n_jobs``.
    """

    _needs_scaled_columns = True  # wide columns would decide the distances

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weigher": [None, Weights, HasMethods(["fit", "get_params"])],
        "p": [Options(Real, {1, 2})],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "n_jobs": [None, Integral],
    }

    _takes_numeric_targets = False

    weigher: Any
    p: int
    categorical_features: Any
    n_jobs: int | None

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @takes_coded_tables
    def fit(self, X: Any, y: Any) -> Any:
        """Select rows of a table.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Sparse rows are converted to dense rows if these need at most 2 GiB.
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        read = read_training(self, X, y)
        table = replace(read, rows=to_dense(read.rows, type(self).__name__))
        self.classes_ = table.classes
        self.weigher_, weights = self._find_weights(read)
        labelled = LabelledRows(
            table.rows,
            table.codes,
            len(self.classes_),
            table.nominal if table.nominal.any() else None,
            weights,
            class_of_row(weights, self.classes_, table.codes),
            int(self.p),
            self.n_jobs,
        )
        self._coder = table.coder
        self._publish(self._keep_every_class(labelled, self.select_rows(labelled)), table.rows, weights)
        return self

    @abstractmethod
    def select_rows(self, table: LabelledRows) -> BoolArray:
        """Return which rows are kept. Every selector must define this method.

        Parameters
        ----------
        table : LabelledRows

        Returns
        -------
        bool ndarray of shape (n_samples,)
            It may keep no row of a class, or no row at all: `fit` adds a row and warns.
        """

    def _find_weights(self, table: CodedTable) -> tuple[Any, Weights]:
        """Return the fitted weigher, or None, and the weights of the distance."""
        weigher, weights = resolve_weights(self, table)
        if weights.instance_mask is not None:
            raise InvalidWeightsError(
                f"{type(self).__name__} selects rows itself, and these weights have selected some already "
                "(instance_mask). Fit it to the rows that they keep, or give weights of features only"
            )
        return weigher, weights

    def _keep_every_class(self, table: LabelledRows, kept: BoolArray) -> BoolArray:
        """Add the central row of each class of which no row is kept, and warn."""
        lost = np.flatnonzero(np.bincount(table.codes[kept], minlength=table.n_classes) == 0)
        if len(lost):
            named = self.classes_[lost[:5]].tolist()
            warn(
                f"{type(self).__name__} would remove all rows of {len(lost)} class(es) ({named}): its rule finds no "
                "use for them. The row nearest to the centre of each such class is kept, so that it is not lost. "
                "Check labels and scales, or use a selector that never removes a class, such as FCNN",
                LostClassWarning,
            )
            kept = kept.copy()
            kept[table.central_rows(lost)] = True
        return kept

    def _publish(self, kept: BoolArray, rows: Any, weights: Weights) -> None:
        """Set the attributes of the selection ``kept``. ``rows`` are the coded rows of the fit."""
        self.instance_support_, self.sample_indices_ = kept, np.flatnonzero(kept)
        self.reduction_ = float(1 - kept.mean())
        names = getattr(self, "feature_names_in_", None)
        self.weights_ = replace(
            weights,
            instance_mask=kept,
            n_samples=len(kept),
            fingerprint=fingerprint(rows),
            feature_names=weights.feature_names if names is None else tuple(names),
        )

    def _check_same_rows(self, X: Any) -> None:
        """Raise an error if ``X`` does not hold the rows of the fit."""
        coded = to_dense(self._coder.transform(self, X), type(self).__name__)
        require_fitted_rows(coded, self.weights_.fingerprint)


@dataclass(eq=False, repr=False)
class PlainSelector(InstanceSelector):
    """Base of the selectors in whose rule single neighbours decide."""

    weigher: Any = None
    _: KW_ONLY
    p: int = 2
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class VotingSelector(InstanceSelector):
    """Base of the selectors in whose rule ``n_neighbors`` rows vote."""

    n_neighbors: int = 3
    weigher: Any = None
    _: KW_ONLY
    p: int = 2
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **InstanceSelector._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def _count_neighbors(self, table: LabelledRows) -> int:
        """Return ``n_neighbors``. Raise InvalidDataError if no row has so many other rows."""
        if table.n <= self.n_neighbors:
            raise InvalidDataError(
                f"{type(self).__name__} with n_neighbors={self.n_neighbors} needs more than {self.n_neighbors} rows; "
                f"got n_samples = {table.n}. Use a smaller n_neighbors, or more rows"
            )
        return int(self.n_neighbors)
