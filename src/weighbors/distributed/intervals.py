"""Representative intervals over tables in blocks, by merged counts."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from sklearn.base import _fit_context

from .. import weighers
from .._typing import AnyArray, FloatArray
from ..weighers._runs import Runs, find_runs
from ..weighers.discretize import Column, IntegerCoder
from ..weighers.intervals import class_sums
from ..weights import IntervalTable
from ._base import BLOCK_CONSTRAINTS, MAX_BYTES, OverBlocks, sample_weights
from ._blocks import Block
from ._counts import Counts, column_counts
from ._door import Door
from ._table import BlockTable

__all__ = ["RepresentativeIntervals"]


class RepresentativeIntervals(OverBlocks, weighers.RepresentativeIntervals):
    """Representative intervals over a table in blocks: the same intervals and weights as those of the ordinary one.

    Every block counts its distinct values per class; the counts are merged, and runs, bins and weights come from
    them.

    Parameters
    ----------
    normalize, smoothing, weight, overlap, discretize, n_bins, categorical_features
        As in :class:`weighbors.RepresentativeIntervals`.
    client, max_bytes, n_jobs
        As in `ReliefF`. Counts of columns whose values are mostly different take up to 24 bytes a row on the machine
        that asks; such columns are taken in groups that fit ``max_bytes``, at least one at a time.

    Attributes
    ----------
    intervals_, weights_, classes_
        As in :class:`weighbors.RepresentativeIntervals`.

    Notes
    -----
    Equal to the bit, but for ``normalize="class"`` and for sample weights that are not whole numbers, which sum in
    another order (1e-12).

    Examples
    --------
    >>> from weighbors.distributed import RepresentativeIntervals
    >>> X = [[1], [2], [3], [3], [5], [6], [7], [5], [6]]
    >>> y = ["a", "a", "a", "a", "a", "a", "a", "b", "b"]
    >>> RepresentativeIntervals().fit(X, y).intervals_
      class feature  low  high  magnitude  amplitude level    weight  kept
    0     a      x0    1     3          4          3  high  1.000000  True
    1     a      x0    5     7          3          3  high  0.333333  True
    2     b      x0    5     6          2          2  high  0.000000  True
    """

    _local = weighers.RepresentativeIntervals
    _parameter_constraints = {  # noqa: RUF012
        **weighers.RepresentativeIntervals._parameter_constraints,
        **BLOCK_CONSTRAINTS,
        "n_jobs": [None, int],
    }

    def __init__(
        self,
        normalize: str = "instance",
        smoothing: float = 0.02,
        *,
        weight: str = "nonoverlap",
        overlap: str = "values",
        discretize: str | None = None,
        n_bins: int = 10,
        categorical_features: Any = "from_dtype",
        client: Any = None,
        max_bytes: int = MAX_BYTES,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            normalize,
            smoothing,
            weight=weight,
            overlap=overlap,
            discretize=discretize,
            n_bins=n_bins,
            categorical_features=categorical_features,
        )
        self.client = client
        self.max_bytes = max_bytes
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RepresentativeIntervals:
        """Find the intervals and weigh them.

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
        table = self._blocks(X, y, self._blank(), whole=True)
        self._fit_blocks(table, sample_weights(sample_weight, table.n))
        return self

    def _blank(self) -> IntegerCoder:
        return IntegerCoder(self.discretize, self.n_bins, self.categorical_features)

    def _fit_blocks(self, table: BlockTable, sample_weight: FloatArray | None) -> None:
        coder: Any = table.coder
        columns = _Columns(table, sample_weight)
        numeric = ~table.nominal
        broken = np.full((2, table.header.width), np.nan) if table.broken is None else table.broken
        real = numeric & ~np.isnan(broken[0])
        coder.learn_columns(
            table.measured, numeric, real, table.dtype, len(table.classes), columns, lambda j: tuple(broken[:, j])
        )
        self._coder = coder
        parts = [self._runs_of(j, counts, coder, table) for j, counts in columns.all()]
        whole = {f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Runs)}
        self._runs = Runs(**whole)
        self.weights_ = self._weights(table.header.width, lambda t: _class_sums(table, t, sample_weight))

    def _runs_of(self, j: int, counts: Counts, coder: IntegerCoder, table: BlockTable) -> Runs:
        values: AnyArray = counts.values
        if j in coder.cuts:
            values = np.searchsorted(coder.cuts[j], values, side="right").astype(np.float64)
        runs = find_runs(
            values[:, None],
            counts.codes,
            len(table.classes),
            table.nominal[[j]],
            overlap=self.overlap,
            sample_weight=counts.number.astype(np.float64),
        )
        magnitude = runs.magnitude.astype(counts.number.dtype)
        return replace(runs, feature=np.full_like(runs.feature, j), magnitude=magnitude)


class _Columns:
    """Columns as the counts tell them; those asked for last are kept while they are small."""

    def __init__(self, table: BlockTable, sample_weight: FloatArray | None) -> None:
        self.table, self.sample_weight = table, sample_weight
        self._kept: dict[int, Counts] = {}
        self._bytes = 0

    def _keep(self, j: int, counts: Counts) -> None:
        size = sum(part.nbytes for part in counts)
        if j not in self._kept and self._bytes + size <= self.table.max_bytes:
            self._kept[j] = counts
            self._bytes += size

    def all(self) -> Any:
        """Counts of all columns, in order."""
        every = list(range(self.table.header.width))
        fresh = column_counts(self.table, [j for j in every if j not in self._kept], self.sample_weight)
        for j in every:
            if j in self._kept:
                yield j, self._kept[j]
            else:
                yield next(fresh)

    def __call__(self, j: int) -> Column:
        """The known values of a column; a repeated one as often as it occurs where rows count once."""
        if not self._kept:
            for other, counts in column_counts(self.table, list(range(self.table.header.width)), self.sample_weight):
                self._keep(other, counts)
        counts = self._kept[j] if j in self._kept else next(column_counts(self.table, [j], self.sample_weight))[1]
        if self.sample_weight is not None:
            return Column(counts.values, counts.codes, counts.number)
        return Column(np.repeat(counts.values, counts.number), np.repeat(counts.codes, counts.number), None)


def _class_sums(table: BlockTable, intervals: IntervalTable, sample_weight: FloatArray | None) -> FloatArray:
    each = [(None if sample_weight is None else sample_weight[begin:end],) for begin, end in table.ranges()]
    return np.sum(table.executor.map(_block_sums, table.blocks, each, intervals, table.door), axis=0)


def _block_sums(block: Block, weight: FloatArray | None, intervals: IntervalTable, door: Door) -> FloatArray:
    total = np.zeros((2, intervals.n_classes))
    begin = 0
    for piece in block.pieces():
        if len(piece.table):
            end = begin + len(piece.table)
            mine = None if weight is None else weight[begin:end]
            total += class_sums(intervals, door.rows(piece.table), door.codes(piece.labels), mine)
            begin = end
    return total
