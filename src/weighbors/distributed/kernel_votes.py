"""Learned votes for training rows in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .. import classifiers, regressors
from .._targets import check_outputs
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .._validation import TableCoder
from ..blocks import BlockEngine, BlockTable, ColumnCoding, LazyRows
from ..classifiers.base_kernel_votes import BaseKernelVotes
from ..classifiers.training import repetition_weights
from ..engine import ColumnRanges, SearchEngine
from ..exceptions import InvalidDataError, InvalidWeightsError
from ..kernel import LocalVotes
from ..kernel.gradient import Table
from ..neighbors.checks import check_fits
from ..weights import Weights
from ._base import BLOCK_CONSTRAINTS, MAX_BYTES, OverBlocks, require_block_weigher, sample_weights
from .intervals import RepresentativeIntervals

__all__ = ["KernelVotesClassifier", "KernelVotesRegressor"]

_CONSTRAINTS: dict[str, list[Any]] = {
    **BLOCK_CONSTRAINTS,
    "n_neighbors": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
}


@dataclass(frozen=True)
class ClassColumns:
    """One column per class, which is 1 for rows of this class. Columns are made for the rows that are asked for."""

    codes: IndexArray  # (n,) classes
    n_classes: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of classes."""
        return len(self.codes), self.n_classes

    def __getitem__(self, rows: Any) -> FloatArray:
        return np.eye(self.n_classes)[self.codes[rows]]


@dataclass(frozen=True)
class BlockVotesTable(Table):
    """A `Table` whose ``rows`` are the `LazyRows` of a `BlockTable`."""

    @property
    def blocks(self) -> BlockTable:
        """The rows in blocks."""
        blocks: BlockTable = self.rows.table
        return blocks

    @property
    def in_memory(self) -> bool:
        """False: rows are read when they are indexed."""
        return False

    def ranges(self) -> ColumnRanges:
        """Return the column ranges of all rows, which were found when the blocks were opened."""
        return self.blocks.measured

    def engine(self, weights: Weights, p: int, backend: str, n_jobs: int) -> SearchEngine:
        """Return an engine over the blocks. ``n_jobs`` is ignored: the executor of the blocks decides."""
        return BlockEngine(
            self.blocks,
            weights=weights,
            measured=self.ranges(),
            p=p,
            nominal=self.nominal if self.nominal.any() else None,
            backend=backend,
        )

    def parts(self) -> Iterator[slice]:
        """Yield slices of at most a quarter of ``max_bytes``, none of which crosses the end of a block."""
        blocks = self.blocks
        size = max(16, blocks.max_bytes // 4 // (blocks.header.width * blocks.dtype.itemsize))
        for first, last in blocks.ranges():
            for begin in range(first, last, size):
                yield slice(begin, min(begin + size, last))


class _BlockVotes(OverBlocks, BaseKernelVotes):
    """Mixin of the learned votes over blocks."""

    _training: BlockVotesTable

    def _open(self, X: Any, y: Any, *, numbers: bool) -> BlockTable:
        """Open the training table. ``numbers`` says whether ``y`` holds numeric targets."""
        coding = ColumnCoding(TableCoder(self.categorical_features, self.handle_unknown))
        table = self._blocks(X, y, coding, numbers=numbers)
        if isinstance(self.weigher, Weights):  # Here all rows are still there: those of weight 0 are left out later.
            check_fits(self.weigher, LazyRows(table), [str(name) for name in table.header.names or ()])
        self._n_given = table.n
        self._row_numbers = np.arange(table.n)
        return table

    def _leave_out(self, table: BlockTable, kept: BoolArray) -> BlockTable:
        """Return the table of the rows in the mask ``kept``, and remember their numbers."""
        self._row_numbers = np.flatnonzero(kept)
        return table.select(kept)

    def _weights_of(
        self, coder: TableCoder, table: Any, rows: Any, y: Any, sample_weight: FloatArray | None
    ) -> Weights | None:
        """Return the weights in use, or None if they are learned from drawn rows. ``table`` is a `BlockTable`."""
        if self.weigher is None or isinstance(self.weigher, (str, Weights)):
            return super()._weights_of(coder, table, rows, y, sample_weight)
        require_block_weigher(self.weigher)
        if isinstance(self.weigher, RepresentativeIntervals):
            raise InvalidWeightsError(
                "learned votes need a distance that is the same in both directions, and weights per interval give none."
                " Use weights per feature, for example those of weighbors.distributed.ReliefF"
            )
        weigher = clone(self.weigher)
        weigher._blocks(table, y, table.encoder.coding)
        weigher._fit_blocks(table, sample_weight)
        check_fits(weigher.weights_, rows, [])
        self.weigher_ = weigher
        weights: Weights = weigher.weights_
        return weights

    def _table_of(self, *parts: Any) -> Table:
        """Return the table from which votes are learned, with its rows in blocks."""
        return BlockVotesTable(*parts)

    @property
    def stored_rows_(self) -> IndexArray | None:
        """Numbers of the rows whose votes are in ``alpha_``, or None if the nearest rows vote."""
        check_is_fitted(self, "weights_")
        return None if self.alpha_ is None else self._row_numbers[self._fitted.stored_rows]

    def _queries(self, X: Any) -> Any:
        """Return coded queries, in blocks if ``X`` is not in memory."""
        queries = self._lazy_queries(X, self._training.blocks.encoder)
        return super()._queries(X) if queries is None else queries

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, or the R² of a regressor, on ``X``.

        ``y`` holds the labels, or names the column of ``X`` that holds them.
        """
        check_is_fitted(self, "weights_")
        return float(super().score(X, self._labels(X, y), sample_weight))

    def to_local(self) -> Any:
        """Return the ordinary estimator. All training rows of positive weight are read into memory."""
        local: Any = super().to_local()
        fitted, training = self._fitted, self._training
        rows = np.arange(training.blocks.n)
        codes = None if training.codes is None else training.codes.astype(np.int64)
        whole = Table(training.rows[rows], training.nominal, training.Y[rows], codes, training.repetition)
        if isinstance(fitted.votes, LocalVotes):
            engine = whole.engine(
                replace(fitted.weights, votes=None, fingerprint=None), self.p_, self.backend, fitted.votes.n_jobs
            )
            targets: Any = whole.Y if codes is None else codes
            fitted = replace(fitted, votes=replace(fitted.votes, engine=engine, targets=targets))
        if fitted.alpha is not None and self.alpha_ is not None:
            fitted = replace(fitted, alpha=_spread_rows(fitted.alpha, fitted.stored_rows, len(rows)))
            local.alpha_ = _spread_rows(self.alpha_, self.stored_rows_, self._n_given)
        # The rows are in the votes, so the table of the ordinary estimator needs none.
        local._fitted, local._training = fitted, replace(whole, rows=whole.rows[:0])
        if self.weigher_ is not None:  # The ordinary estimator must not refer to an estimator over blocks.
            local.weigher = local.weigher_ = self.weigher_.to_local()
        return local


def _spread_rows(alpha: FloatArray, rows: Any, n: int) -> FloatArray:
    """Return the votes of ``n`` rows: ``alpha`` for the rows with the numbers ``rows``, 0 for the others."""
    out = np.zeros((n, *alpha.shape[1:]))
    out[rows] = alpha
    return out


class KernelVotesClassifier(_BlockVotes, classifiers.KernelVotesClassifier):
    """Learned votes over a table in blocks. The votes are those of the ordinary classifier.

    The k nearest rows of a query are found in every block, their rows are read, and their votes are solved for the
    query. Or few rows are stored, and their votes are solved over all blocks, which are read one after the other.

    Parameters
    ----------
    n_neighbors : "auto" or int, default="auto"
        How many nearest rows vote for a query. "auto": 100, or the stored rows if ``n_stored`` is given or the weights
        select instances.
    weigher : "auto", None, Weights or weigher of `weighbors.distributed`, default="auto"
        Where feature weights come from. "auto": from the votes of at most 2000 drawn rows, if cross-validation on at
        most 1000 rows finds that they help.
    p, width, ridge, categorical_features, handle_unknown, class_weight, backend, random_state
        As in :class:`weighbors.KernelVotesClassifier`.
    n_stored : int, float below 1 or None, default=None
        How many rows, or which share of them, are stored. Their votes are solved over all rows. An integer for
        ``n_neighbors`` goes first.
    stored_by : {"auto", "compression", "draw"}, default="auto"
        How these rows are chosen, as in :class:`weighbors.KernelVotesClassifier`. "auto": they are drawn. Elimination
        needs the drawn rows, at most 4000, and matrices of their size in the memory of the asking machine.
    client, max_bytes, n_jobs
        As in `ReliefF`.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_stored, n_classes), or None
        Signed votes of the stored rows. None if the nearest rows vote.
    votes_by_width_ : dict of float to ndarray, or None
        The same for each width L. ``alpha_`` is their sum.
    stored_rows_ : ndarray of shape (n_stored,), or None
        The numbers of these rows.
    classes_, intercept_, width_, ridge_, p_, weights_, weigher_, feature_importances_, choice_, plan_
        As in :class:`weighbors.KernelVotesClassifier`.
    loo_rows_, loo_predictions_, loo_decision_function_, loo_score_, calibration_
        As in :class:`weighbors.KernelVotesClassifier`.
    n_features_in_, feature_names_in_
        As in :class:`weighbors.KernelVotesClassifier`.

    Notes
    -----
    With the same rows voting, and the same width, ridge and feature weights, scores and probabilities are those of the
    ordinary classifier up to the order of sums. Width and ridge are chosen on the same drawn rows as there, unless the
    neighbours of these rows take more than a quarter of ``max_bytes``: then on fewer of them, but at least 256.

    All blocks are read again for every batch of queries: persist a dask collection that is expensive to compute. Beside
    the blocks, fit needs up to 60 bytes per row in memory. Rows of weight 0 cost a second pass over the table.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from weighbors.distributed import KernelVotesClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> model = KernelVotesClassifier(30, None, max_bytes=2**16).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.98
    """

    _local = classifiers.KernelVotesClassifier
    _parameter_constraints = {**classifiers.KernelVotesClassifier._parameter_constraints, **_CONSTRAINTS}  # noqa: RUF012

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        weigher: Any = "auto",
        *,
        p: int = 1,
        width: float | str = "auto",
        ridge: float | str = "auto",
        n_stored: float | None = None,
        stored_by: str = "auto",
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        class_weight: Any = None,
        backend: str = "auto",
        random_state: Any = 0,
        client: Any = None,
        max_bytes: int = MAX_BYTES,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            weigher,
            p=p,
            width=width,
            ridge=ridge,
            n_stored=n_stored,
            stored_by=stored_by,
            categorical_features=categorical_features,
            handle_unknown=handle_unknown,
            class_weight=class_weight,
            backend=backend,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.client = client
        self.max_bytes = max_bytes

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelVotesClassifier:
        """Read the training table, learn weights and votes. The rows are not copied into memory.

        Parameters
        ----------
        X : dask array or DataFrame, path of a parquet folder or an npy file, mapped array, array or DataFrame
        y : labels of the same kind, or the name of a column of X
        sample_weight : array-like of shape (n_samples,), optional
            Counts as repetition.

        Returns
        -------
        self
        """
        table = self._open(X, y, numbers=False)
        weight = sample_weights(sample_weight, table.n)
        repetition = repetition_weights(table.codes, table.classes, weight, self.class_weight)
        if repetition is not None and (repetition == 0).any():
            kept = repetition > 0
            if len(np.unique(table.codes[kept])) < 2:
                raise InvalidDataError("at least 2 classes are needed; rows of weight 0 left out, there is 1 class")
            table, repetition = self._leave_out(table, kept), repetition[kept]
            weight = None if weight is None else weight[kept]
        codes = table.codes
        targets = ClassColumns(codes, len(table.classes))
        self._fit_votes(table.coder, table, LazyRows(table), y, targets, codes, repetition, weight)
        self._calibrate(codes)
        return self


class KernelVotesRegressor(_BlockVotes, regressors.KernelVotesRegressor):
    """Learned votes for a numeric target over a table in blocks. The votes are those of the ordinary regressor.

    Parameters
    ----------
    n_neighbors, p, width, ridge, n_stored, stored_by, categorical_features, handle_unknown, backend, random_state
        As in `KernelVotesClassifier`.
    weigher : "auto", None or Weights, default="auto"
        As in `KernelVotesClassifier`, but the weighers of `weighbors.distributed` need classes.
    client, max_bytes, n_jobs
        As in `ReliefF`.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_stored,), or None
        Signed votes of the stored rows, in units of the target. None if the nearest rows vote.
    votes_by_width_ : dict of float to ndarray, or None
        The same for each width L. ``alpha_`` is their sum.
    stored_rows_ : ndarray of shape (n_stored,), or None
        The numbers of these rows.
    intercept_, width_, ridge_, p_, weights_, weigher_, feature_importances_, choice_, plan_
        As in :class:`weighbors.KernelVotesRegressor`.
    loo_rows_, loo_predictions_, loo_score_, n_features_in_, feature_names_in_
        As in :class:`weighbors.KernelVotesRegressor`.

    Notes
    -----
    See `KernelVotesClassifier`. There is one output. The targets of all rows are kept in memory.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from weighbors.distributed import KernelVotesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = scale(X)
    >>> model = KernelVotesRegressor(weigher=None, n_stored=50, max_bytes=2**16).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.43
    """

    _local = regressors.KernelVotesRegressor
    _parameter_constraints = {  # noqa: RUF012
        **regressors.KernelVotesRegressor._parameter_constraints,
        **_CONSTRAINTS,
        "weigher": [StrOptions({"auto"}), None, Weights],
    }

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        weigher: Any = "auto",
        *,
        p: int = 1,
        width: float | str = "auto",
        ridge: float | str = "auto",
        n_stored: float | None = None,
        stored_by: str = "auto",
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        backend: str = "auto",
        random_state: Any = 0,
        client: Any = None,
        max_bytes: int = MAX_BYTES,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            weigher,
            p=p,
            width=width,
            ridge=ridge,
            n_stored=n_stored,
            stored_by=stored_by,
            categorical_features=categorical_features,
            handle_unknown=handle_unknown,
            backend=backend,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.client = client
        self.max_bytes = max_bytes

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelVotesRegressor:
        """Read the training table, learn weights and votes. The rows are not copied into memory.

        Parameters
        ----------
        X : dask array or DataFrame, path of a parquet folder or an npy file, mapped array, array or DataFrame
        y : numbers of the same kind, or the name of a column of X
        sample_weight : array-like of shape (n_samples,), optional
            Counts as repetition.

        Returns
        -------
        self
        """
        table = self._open(X, y, numbers=True)
        targets: AnyArray = check_outputs(table.targets)
        weight = sample_weights(sample_weight, table.n)
        if weight is not None and (weight == 0).any():
            kept = weight > 0
            table, targets, weight = self._leave_out(table, kept), targets[kept], weight[kept]
        self._fit_targets(table.coder, table, LazyRows(table), targets, weight)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags
