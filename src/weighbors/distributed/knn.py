"""The weighted k-NN whose training rows are in blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils.validation import check_is_fitted

from .. import classifiers
from .._cluster import is_dask
from .._typing import BoolArray, FloatArray, IndexArray
from .._validation import TableCoder
from ..classifiers._checks import check_enough, check_fits, class_of_row
from ..classifiers._explain import explained
from ..classifiers._learning import Fitted, _assembled
from ..classifiers._training import Training, masses
from ..engine import Extent, build_references
from ..exceptions import InvalidDataError
from ..weights import Weights
from ._base import BLOCK_CONSTRAINTS, MAX_BYTES, OverBlocks, sample_weights
from ._door import merge_reaches, reach_block
from ._engine import BlockEngine
from ._sources import open_source
from ._table import BlockTable, LazyRows, open_queries
from .intervals import RepresentativeIntervals

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WeightedKNeighborsClassifier"]


class WeightedKNeighborsClassifier(OverBlocks, classifiers.WeightedKNeighborsClassifier):
    """The weighted k-NN over a table in blocks: the answers of the ordinary one, to the bit.

    Every block is searched by the ordinary engine, and the lists are merged by (distance, row). What is kept
    after ``fit`` is where the blocks are, one byte per training row for its class (more for many classes), and the
    weights.

    Parameters
    ----------
    n_neighbors, weights, p, categorical_features, handle_unknown, vote_ties, class_weight, backend
        As in :class:`weighbors.WeightedKNeighborsClassifier`.
    weigher : None, Weights or weigher of `weighbors.distributed`, default=None
    client, max_bytes, n_jobs
        As in `ReliefF`.

    Attributes
    ----------
    classes_, weights_, weigher_, plan_, n_features_in_, feature_names_in_, n_samples_fit_
        As in :class:`weighbors.WeightedKNeighborsClassifier`.

    Notes
    -----
    Queries may be a table in memory, a dask collection or a path; labels and probabilities come back in memory.
    Blocks are read anew for every batch of queries (a quarter of ``max_bytes``, on a cluster at most 8 MiB); persist
    dask collections that are expensive to make.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from weighbors.distributed import WeightedKNeighborsClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = WeightedKNeighborsClassifier(5, max_bytes=2**16).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 3)
    0.73
    """

    _local = classifiers.WeightedKNeighborsClassifier
    _parameter_constraints = {  # noqa: RUF012
        **classifiers.WeightedKNeighborsClassifier._parameter_constraints,
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
        """Measure the training table and learn its weights; the rows stay where they are.

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
        table = self._blocks(X, y, TableCoder(self.categorical_features, self.handle_unknown))
        weight = sample_weights(sample_weight, table.n)
        mass = masses(table.codes, table.classes, weight, self.class_weight)
        kept = None if mass is None or (mass > 0).all() else mass > 0
        if kept is not None and len(np.unique(table.codes[kept])) < 2:
            raise InvalidDataError("at least 2 classes are needed; rows of weight 0 left out, there is 1 class")
        weigher, weights = self._learned(table, X, y, weight, kept)
        engine = self._engine(table, weights, kept)
        training = Training(LazyRows(table), table.codes, np.arange(table.n), weight)
        fitted = Fitted(training, table.coder, table.classes, weigher, weights, engine, mass, table.n)  # type: ignore[arg-type]
        check_enough(int(self.n_neighbors), fitted.engine, fitted.mass)
        self._become(fitted)
        return self

    def _learned(
        self, table: BlockTable, X: Any, y: Any, weight: FloatArray | None, kept: BoolArray | None
    ) -> tuple[Any, Weights]:
        """The fitted weigher, or None, and the weights."""
        if self.weigher is None:
            return None, Weights()
        if isinstance(self.weigher, Weights):
            check_fits(self.weigher, LazyRows(table), [str(name) for name in table.header.names or ()])
            return None, self.weigher
        if not hasattr(self.weigher, "_fit_blocks"):
            name = type(self.weigher).__name__
            raise InvalidDataError(
                f"{name} needs all rows in memory. Use a weigher of weighbors.distributed, or learn weights from a "
                "sample of the rows and pass its weights_"
            )
        if kept is not None:
            raise InvalidDataError("a weigher learns from all rows, and some have weight 0: drop these rows first")
        weigher = clone(self.weigher)
        if isinstance(weigher, RepresentativeIntervals):  # sees ordered categories as integers
            if isinstance(weigher.categorical_features, str) and table.nominal.any():
                weigher.set_params(categorical_features=table.nominal)
            weigher.fit(X, y, sample_weight=weight)
        else:
            weigher._blocks(table, y, table.coder)
            weigher._fit_blocks(table, weight)
        check_fits(weigher.weights_, LazyRows(table), [])
        return weigher, weigher.weights_

    def _engine(self, table: BlockTable, weights: Weights, kept: BoolArray | None) -> BlockEngine:
        """The engine over rows of positive weight that the weights keep."""
        if kept is not None:
            mask = kept if weights.instance_mask is None else weights.instance_mask & kept
            weights = replace(weights, instance_mask=mask, fingerprint=None)
        return BlockEngine(
            table,
            weights=weights,
            measured=_reach(table, weights.instance_mask),
            p=int(self.p),
            nominal=table.nominal if table.nominal.any() else None,
            class_of_code=class_of_row(weights, table.classes, np.arange(len(table.classes))),
            backend=self.backend,
        )

    @property
    def partial_fit(self) -> Any:
        """Not offered: append partitions to the table and fit again, which reads it once."""
        raise AttributeError("a k-NN over blocks has no partial_fit: append partitions to the table and fit again")

    def _queries(self, X: Any) -> tuple[Any, IndexArray | None]:
        check_is_fitted(self, "classes_")
        if X is None:
            mass = self._fitted.mass
            rows = np.arange(self.n_samples_fit_) if mass is None else np.flatnonzero(mass > 0)
            return LazyRows(self._fitted.engine.table, rows), rows  # type: ignore[attr-defined]
        elsewhere = is_dask(X) or isinstance(X, (str, np.memmap)) or hasattr(X, "__fspath__")
        if not elsewhere:
            return super()._queries(X)
        door = self._fitted.engine.table.door  # type: ignore[attr-defined]
        queries = open_queries(X, door, client=self.client, n_jobs=self.n_jobs, max_bytes=self.max_bytes)
        return LazyRows(queries), None

    def _queries_at_once(self, k: int) -> int:
        return min(super()._queries_at_once(k), max(64, self._fitted.engine.batch(k)))  # type: ignore[attr-defined]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; ``y`` may name a column of ``X``."""
        if isinstance(y, str):
            source = open_source(X, y, piece_bytes=int(self.max_bytes) // 8)
            executor = self._fitted.engine.table.executor  # type: ignore[attr-defined]
            y = np.concatenate(executor.map(_labels, source.blocks, [()] * len(source.blocks)))
        y = y.compute() if is_dask(y) else y
        return float(super().score(X, y, sample_weight))

    def explain(self, X: Any) -> pd.DataFrame:
        """Why: the neighbours, their votes, and each feature's share of each distance.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        DataFrame
            As :meth:`weighbors.WeightedKNeighborsClassifier.explain` gives it.
        """
        queries, own = self._queries(X)
        found = [voters for voters in self._neighbors_and_votes(queries, own) if len(voters.query)]
        engine: Any = self._fitted.engine
        rows = np.unique(np.concatenate([voters.row.ravel() for voters in found]))
        weights = engine.weights.take(rows) if engine.weights.instance_bound else engine.weights
        codes = self._fitted.training.codes[rows]
        references = build_references(
            engine.table.take(rows),
            weights=weights,
            p=int(self.p),
            nominal=engine.search_of.nominal,
            class_of_row=None if engine.search_of.class_of_code is None else engine.search_of.class_of_code[codes],
            measured=engine.search_of.measured,
        )
        references = replace(references, row_of_slot=rows)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        return explained(references, queries, iter(found), self._fitted.training, self.classes_, list(names))

    def to_local(self) -> classifiers.WeightedKNeighborsClassifier:
        """The ordinary classifier: all training rows are read into memory."""
        check_is_fitted(self, "classes_")
        fitted, table = self._fitted, self._fitted.engine.table  # type: ignore[attr-defined]
        kept = np.arange(table.n) if fitted.mass is None else np.flatnonzero(fitted.mass > 0)
        weight, weights = fitted.training.sample_weight, fitted.weights
        training = Training(
            table.take(kept),
            fitted.training.codes[kept].astype(np.int64),
            kept,
            None if weight is None else weight[kept],
        )
        if weights.instance_bound and len(kept) < table.n:
            weights = weights.take(kept)
        local: classifiers.WeightedKNeighborsClassifier = super().to_local()
        local.weigher = self.weigher if isinstance(self.weigher, (Weights, type(None))) else fitted.weigher.to_local()
        whole = _assembled(local, training, fitted.coder, fitted.classes, None, weights, table.n)
        return local._become(whole._replace(weigher=None if fitted.weigher is None else fitted.weigher.to_local()))


def _reach(table: BlockTable, kept: BoolArray | None) -> Extent | None:
    """How far the columns of the kept rows reach: missing values are at their full range."""
    if kept is None:
        return None
    each = [(kept[begin:end],) for begin, end in table.ranges()]
    reach = merge_reaches(table.executor.map(reach_block, table.blocks, each, table.door))
    assert reach is not None
    low, high = (np.nan_to_num(end, nan=0.0) for end in reach[:2])
    return Extent(low, high, reach.missing)


def _labels(block: Any) -> Any:
    parts = [np.asarray(piece.labels) for piece in block.pieces([0])]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=object)
