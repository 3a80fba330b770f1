"""The weighted k-NN for training rows in blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .. import models
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..blocks import (
    BlockEngine,
    BlockPlan,
    BlockTable,
    ColumnCoding,
    LazyRows,
)
from ..exceptions import InvalidDataError
from ..models.base_knn import BaseKNeighbors
from ..models.class_votes import BaseKNeighborsClassifier
from ..models.learning import Fitted, build_model
from ..models.mean_votes import BaseKNeighborsRegressor
from ..models.training import Training, repetition_weights, scale_repetitions
from ..neighbors.checks import check_fits, class_of_row
from ..neighbors.resolve import expect_numbers
from ..tables.coded import CodedTable, fit_model
from ..tables.targets import Target, check_outputs, check_target, expect_target
from ..tables.validation import TableCoder
from ..weights import Weights
from ._base import BLOCK_CONSTRAINTS, MAX_BYTES, OverBlocks, column_range, require_block_weigher, sample_weights


class _BlockKNeighbors(OverBlocks, BaseKNeighbors):
    """Mixin of the weighted k-NN over blocks. The other base class says what votes become."""

    def _open(self, X: Any, y: Any, *, numbers: bool) -> BlockTable:
        """Open the training table. ``numbers`` says whether ``y`` holds numeric targets."""
        coding = ColumnCoding(TableCoder(self.categorical_features, self.handle_unknown))
        return self._blocks(X, y, coding, numbers=numbers)

    def _fit_table(self, table: BlockTable, X: Any, y: Any, sample_weight: Any, targets: FloatArray | None) -> Self:
        """Learn the weights and build the engine.

        Parameters
        ----------
        table : BlockTable
            The measured table of ``X`` and ``y``.
        X, y, sample_weight
            As the user gave them.
        targets : ndarray of shape (n,), or None
            Numeric targets. None if ``y`` holds labels.
        """
        codes: AnyArray = table.codes if targets is None else np.zeros(table.n, dtype=np.uint8)
        weight = sample_weights(sample_weight, table.n)
        repetition = repetition_weights(codes, table.classes, weight, self._class_weight)
        kept = None if repetition is None or (repetition > 0).all() else repetition > 0
        if kept is not None and targets is None and len(np.unique(codes[kept])) < 2:
            raise InvalidDataError("at least 2 classes are needed; rows of weight 0 left out, there is 1 class")
        weigher, weights = self._learned(table, X, y, weight, kept)
        engine = self._engine(table, weights, kept)
        training = Training(LazyRows(table), codes, np.arange(table.n), weight, targets)
        return self._use(Fitted(training, table.coder, table.classes, weigher, weights, engine, repetition, table.n))

    def _learned(
        self, table: BlockTable, X: Any, y: Any, weight: FloatArray | None, kept: BoolArray | None
    ) -> tuple[Any, Weights]:
        """Return the fitted weigher, or None, and the weights.

        ``table`` is the measured table of ``X`` and ``y``. ``weight`` holds the sample weights, or None. ``kept`` is a
        mask of the rows of positive weight, or None if all rows have positive weight.
        """
        if self.weigher is None:
            return None, Weights()
        if isinstance(self.weigher, Weights):
            check_fits(self.weigher, LazyRows(table), [str(name) for name in table.header.names or ()])
            return None, self.weigher
        require_block_weigher(self.weigher)
        if kept is not None:
            raise InvalidDataError("a weigher learns from all rows, and some have weight 0: drop these rows first")
        if weight is not None:  # it learns from the repetitions that will vote
            weight = scale_repetitions(weight, np.arange(table.n), int(self.n_neighbors))
        weigher, numeric = clone(self.weigher), table.targets is not None
        if numeric:
            expect_numbers(weigher)
        expect_target(weigher, numeric=numeric)
        target = Target(table.codes, table.classes) if table.targets is None else check_target(table.targets, "numeric")
        coded = CodedTable(table, table.coder, target, feature_names=getattr(self, "feature_names_in_", None))
        params = {} if weight is None or not has_fit_parameter(weigher, "sample_weight") else {"sample_weight": weight}
        fit_model(weigher, coded, **params)
        check_fits(weigher.weights_, LazyRows(table), [])
        return weigher, weigher.weights_

    def _engine(self, table: BlockTable, weights: Weights, kept: BoolArray | None) -> BlockEngine:
        """Return the engine over the rows that both ``kept`` and the instance mask of the weights keep."""
        if kept is not None:
            # A row counts only if it is both of positive weight and selected by the weigher.
            mask = kept if weights.instance_mask is None else weights.instance_mask & kept
            weights = replace(weights, instance_mask=mask, fingerprint=None)
        return BlockEngine(
            table,
            weights=weights,
            measured=column_range(table, kept),
            p=int(self.p),
            nominal=table.nominal if table.nominal.any() else None,
            class_of_code=class_of_row(weights, table.classes, np.arange(len(table.classes))),
            backend=self.backend,
        )

    @property
    def _table(self) -> BlockTable:
        """The table of training rows."""
        engine = self._fitted.engine
        assert isinstance(engine, BlockEngine)
        return engine.table

    @property
    def plan_(self) -> BlockPlan:
        """Description of the search that ``predict`` runs."""
        plan: BlockPlan = super().plan_
        return plan

    def _queries(self, X: Any) -> tuple[Any, IndexArray | None]:
        """Return the queries, which may be in blocks, and the row that each query must not find."""
        check_is_fitted(self, "weights_")
        if X is None:
            repetition = self._fitted.repetition
            rows = np.arange(self.n_samples_fit_) if repetition is None else np.flatnonzero(repetition > 0)
            return LazyRows(self._table, rows), rows
        queries = self._lazy_queries(X, self._table.encoder)
        return super()._queries(X) if queries is None else (queries, None)

    def to_local(self) -> Any:
        """Return the ordinary estimator. All training rows of positive weight are read into memory."""
        check_is_fitted(self, "weights_")
        fitted, table = self._fitted, self._table
        kept = np.arange(table.n) if fitted.repetition is None else np.flatnonzero(fitted.repetition > 0)
        weight, weights = fitted.training.sample_weight, fitted.weights
        training = Training(
            table.take(kept),
            fitted.training.codes[kept].astype(np.int64),
            kept,
            None if weight is None else weight[kept],
            None if fitted.training.targets is None else fitted.training.targets[kept],
        )
        # Weights were learned for all rows, and some rows are left out.
        if weights.instance_bound and len(kept) < table.n:
            weights = weights.take(kept)
        local = super().to_local()
        # The ordinary estimator must not refer to an estimator over blocks.
        local.weigher = self.weigher
        whole = build_model(local, training, fitted.coder, fitted.classes, None, weights, table.n)
        return local._use(whole._replace(weigher=fitted.weigher))


class WeightedKNeighborsClassifier(_BlockKNeighbors, BaseKNeighborsClassifier):
    """The weighted k-NN over a table in blocks. Its results are those of the ordinary classifier, to the bit.

    The ordinary engine searches every block, and the lists are merged by (distance, row). After ``fit`` the classifier
    stores the blocks (of a file only their place), the weights, and the class of every training row in one byte, or
    more if there are more than 256 classes.

    Parameters
    ----------
    n_neighbors, weights, p, categorical_features, handle_unknown, vote_ties, class_weight, backend
        As in :class:`weighbors.WeightedKNeighborsClassifier`, but "auto" is not offered.
    weigher : None, Weights or weigher of `weighbors.distributed`, default=None
        The weights, or the estimator that learns them. None means no weights.
    client, max_bytes, n_jobs
        As in `ReliefF`.

    Attributes
    ----------
    classes_, weights_, weigher_, feature_importances_, plan_, n_features_in_, feature_names_in_, n_samples_fit_
        As in :class:`weighbors.WeightedKNeighborsClassifier`.

    Notes
    -----
    Queries may be a table in memory, a dask collection or a path. Predicted labels and probabilities are arrays in
    memory. All blocks are read again for every batch of queries (a quarter of ``max_bytes``, with dask at most 8 MiB).
    So persist a dask collection that is expensive to compute. There is no ``partial_fit``: append partitions to the
    table and fit again, which reads the table once.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from weighbors.distributed import WeightedKNeighborsClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = WeightedKNeighborsClassifier(5, max_bytes=2**16).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 3)
    0.73
    """

    _local = models.WeightedKNeighborsClassifier
    _parameter_constraints = {  # noqa: RUF012
        **BaseKNeighborsClassifier._parameter_constraints,
        **BLOCK_CONSTRAINTS,
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        weigher: Any = None,
        *,
        weights: str | Callable[[FloatArray], Any] = "uniform",
        p: int = 2,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        vote_ties: str = "first",
        class_weight: Any = None,
        backend: str = "auto",
        client: Any = None,
        max_bytes: int = MAX_BYTES,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            weigher,
            weights=weights,
            p=p,
            categorical_features=categorical_features,
            handle_unknown=handle_unknown,
            vote_ties=vote_ties,
            class_weight=class_weight,
            backend=backend,
            n_jobs=n_jobs,
        )
        self.client = client
        self.max_bytes = max_bytes

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> WeightedKNeighborsClassifier:
        """Read the training table once and learn the weights. The rows are not copied into memory.

        Parameters
        ----------
        X : dask array or DataFrame, path of a parquet folder or an npy file, mapped array, array or DataFrame
        y : labels of the same kind, or the name of a column of X
        sample_weight : array-like of shape (n_samples,), optional
            Repetition weights of the rows.

        Returns
        -------
        self
        """
        return self._fit_table(self._open(X, y, numbers=False), X, y, sample_weight, None)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on ``X``. ``y`` holds the labels, or names the column of ``X`` that holds them."""
        return float(super().score(X, self._labels(X, y), sample_weight))


class WeightedKNeighborsRegressor(_BlockKNeighbors, BaseKNeighborsRegressor):
    """The weighted k-NN regressor over a table in blocks. Its results are those of the ordinary one, to the bit.

    After ``fit`` it stores the blocks (of a file only their place), the weights, and the target of every training row.

    Parameters
    ----------
    n_neighbors, weights, p, categorical_features, handle_unknown, backend
        As in :class:`weighbors.WeightedKNeighborsRegressor`, but "auto" is not offered.
    weigher : None, Weights or `weighbors.distributed.RReliefF`, default=None
        The weights, or the estimator that learns them. None means no weights.
    client, max_bytes, n_jobs
        As in `ReliefF`.

    Attributes
    ----------
    weights_, weigher_, feature_importances_, plan_, n_features_in_, feature_names_in_, n_samples_fit_
        As in :class:`weighbors.WeightedKNeighborsRegressor`.

    Notes
    -----
    See `WeightedKNeighborsClassifier`. There is one output.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weighbors.distributed import WeightedKNeighborsRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = WeightedKNeighborsRegressor(15, max_bytes=2**16).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 3)
    0.384
    """

    _local = models.WeightedKNeighborsRegressor
    _parameter_constraints = {  # noqa: RUF012
        **BaseKNeighborsRegressor._parameter_constraints,
        **BLOCK_CONSTRAINTS,
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        weigher: Any = None,
        *,
        weights: str | Callable[[FloatArray], Any] = "uniform",
        p: int = 2,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        backend: str = "auto",
        client: Any = None,
        max_bytes: int = MAX_BYTES,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            weigher,
            weights=weights,
            p=p,
            categorical_features=categorical_features,
            handle_unknown=handle_unknown,
            backend=backend,
            n_jobs=n_jobs,
        )
        self.client = client
        self.max_bytes = max_bytes

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> WeightedKNeighborsRegressor:
        """Read the training table once and learn the weights. The rows are not copied into memory.

        Parameters
        ----------
        X : dask array or DataFrame, path of a parquet folder or an npy file, mapped array, array or DataFrame
        y : numbers of the same kind, or the name of a column of X
        sample_weight : array-like of shape (n_samples,), optional
            Repetition weights of the rows.

        Returns
        -------
        self
        """
        table = self._open(X, y, numbers=True)
        return self._fit_table(table, X, y, sample_weight, check_outputs(table.targets))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² on ``X``. ``y`` holds the targets, or names the column of ``X`` that holds them."""
        return float(super().score(X, self._labels(X, y), sample_weight))
