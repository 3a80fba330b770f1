"""Learned votes for training rows in blocks."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .. import models
from .._typing import AnyArray, BoolArray, FloatArray
from ..blocks import BlockTable, ColumnCoding, LazyRows
from ..exceptions import InvalidDataError, InvalidWeightsError
from ..models.base_learned_votes import BaseLearnedVotes
from ..models.training import repetition_weights
from ..neighbors.checks import check_fits
from ..tables.coded import CodedTable, fit_model
from ..tables.targets import Target, check_outputs
from ..tables.validation import TableCoder
from ..votes.fit import make_engine
from ..weighers import MBIW, RepresentativeIntervals
from ..weights import Weights
from ._base import BLOCK_CONSTRAINTS, MAX_BYTES, OverBlocks, require_block_weigher, sample_weights

_CONSTRAINTS: dict[str, list[Any]] = {
    **BLOCK_CONSTRAINTS,
    "n_neighbors": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
}


class _BlockVotes(OverBlocks, BaseLearnedVotes):
    """Mixin of the learned votes over blocks."""

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
        coded = CodedTable(table, table.coder, Target(table.codes, table.classes))
        params = {} if sample_weight is None or isinstance(weigher, MBIW) else {"sample_weight": sample_weight}
        fit_model(weigher, coded, **params)
        check_fits(weigher.weights_, rows, [])
        self.weigher_ = weigher
        weights: Weights = weigher.weights_
        return weights

    def _queries(self, X: Any) -> Any:
        """Return coded queries, in blocks if ``X`` is not in memory."""
        queries = self._lazy_queries(X, self._training.rows.table.encoder)
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
        targets = training.targets.astype(np.int64) if training.n_classes else training.targets
        whole = replace(training, rows=training.rows[np.arange(training.rows.table.n)], targets=targets)
        votes: Any = fitted.votes  # over blocks, always those of the nearest rows
        engine = make_engine(whole, replace(fitted.weights, votes=None, fingerprint=None), self.p_, votes.n_jobs)
        fitted = replace(fitted, votes=replace(votes, engine=engine, targets=targets))
        # The rows are in the votes, so the table of the ordinary estimator needs none.
        local._fitted, local._training = fitted, replace(whole, rows=whole.rows[:0])
        if self.weigher_ is not None:  # The ordinary estimator must not refer to an estimator over blocks.
            local.weigher = local.weigher_ = self.weigher_
        return local


class LearnedVotesClassifier(_BlockVotes, models.LearnedVotesClassifier):
    """Learned votes over a table in blocks. The votes are those of the ordinary classifier.

    The k nearest rows of a query are found in every block, their rows are read, and their votes are solved for the
    query.

    Parameters
    ----------
    n_neighbors : "auto" or int, default="auto"
        How many nearest rows vote for a query. "auto": 100.
    weigher : "auto", None, Weights or weigher of `weighbors.distributed`, default="auto"
        Where feature weights come from. "auto": from the votes of at most 2000 drawn rows, if cross-validation on at
        most 1000 rows finds that they help.
    p, width, ridge, categorical_features, handle_unknown, class_weight, random_state
        As in :class:`weighbors.LearnedVotesClassifier`.
    client, max_bytes, n_jobs
        As in `ReliefF`.

    Attributes
    ----------
    classes_, intercept_, width_, ridge_, p_, weights_, weigher_, feature_importances_, choice_, plan_
        As in :class:`weighbors.LearnedVotesClassifier`.
    loo_rows_, loo_predictions_, loo_decision_function_, loo_score_, calibration_
        As in :class:`weighbors.LearnedVotesClassifier`.
    n_features_in_, feature_names_in_
        As in :class:`weighbors.LearnedVotesClassifier`.

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
    >>> from weighbors.distributed import LearnedVotesClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> model = LearnedVotesClassifier(30, None, max_bytes=2**16).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.98
    """

    _local = models.LearnedVotesClassifier
    _parameter_constraints = {**models.LearnedVotesClassifier._parameter_constraints, **_CONSTRAINTS}  # noqa: RUF012

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        weigher: Any = "auto",
        *,
        p: int = 1,
        width: float | str = "auto",
        ridge: float | str = "auto",
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        class_weight: Any = None,
        random_state: Any = None,
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
            categorical_features=categorical_features,
            handle_unknown=handle_unknown,
            class_weight=class_weight,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.client = client
        self.max_bytes = max_bytes

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LearnedVotesClassifier:
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
        self._fit_votes(table.coder, table, LazyRows(table), y, codes, len(table.classes), repetition, weight)
        self._calibrate(codes)
        return self


class LearnedVotesRegressor(_BlockVotes, models.LearnedVotesRegressor):
    """Learned votes for a numeric target over a table in blocks. The votes are those of the ordinary regressor.

    Parameters
    ----------
    n_neighbors, p, width, ridge, categorical_features, handle_unknown, random_state
        As in `LearnedVotesClassifier`.
    weigher : "auto", None or Weights, default="auto"
        As in `LearnedVotesClassifier`, but the weighers of `weighbors.distributed` need classes.
    client, max_bytes, n_jobs
        As in `ReliefF`.

    Attributes
    ----------
    intercept_, width_, ridge_, p_, weights_, weigher_, feature_importances_, choice_, plan_
        As in :class:`weighbors.LearnedVotesRegressor`.
    loo_rows_, loo_predictions_, loo_score_, n_features_in_, feature_names_in_
        As in :class:`weighbors.LearnedVotesRegressor`.

    Notes
    -----
    See `LearnedVotesClassifier`. There is one output. The targets of all rows are kept in memory.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from weighbors.distributed import LearnedVotesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = scale(X)
    >>> model = LearnedVotesRegressor(30, None, max_bytes=2**16).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.4
    """

    _local = models.LearnedVotesRegressor
    _parameter_constraints = {  # noqa: RUF012
        **models.LearnedVotesRegressor._parameter_constraints,
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
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        random_state: Any = None,
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
            categorical_features=categorical_features,
            handle_unknown=handle_unknown,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.client = client
        self.max_bytes = max_bytes

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LearnedVotesRegressor:
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
