"""Representative intervals over tables in blocks, computed from merged counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from sklearn.base import _fit_context

from .. import weighers
from .._typing import AnyArray, FloatArray
from ..blocks import BlockTable, ColumnCoding, Header
from ..blocks.encode import TableShape
from ..exceptions import InvalidDataError
from ..tables.validation import TableCoder
from ..weighers.intervals.discretize import Column, IntegerCoder
from ..weighers.intervals.runs import Runs, find_runs
from ._base import BLOCK_CONSTRAINTS, MAX_BYTES, OverBlocks, sample_weights
from ._counts import Counts, column_counts


class RepresentativeIntervals(OverBlocks, weighers.RepresentativeIntervals):
    """Representative intervals over a table in blocks. Intervals and weights are those of the ordinary estimator.

    The distinct values per class are counted in every block, and the counts are merged. Runs, bins and weights are
    computed from the merged counts.

    Parameters
    ----------
    normalize, smoothing, weight, overlap, discretize, n_bins, categorical_features
        As in :class:`weighbors.RepresentativeIntervals`.
    client, max_bytes, n_jobs
        As in `ReliefF`. If most values of a column differ, its counts take up to 24 bytes per row in the process that
        calls ``fit``. Columns are counted in groups that fit in ``max_bytes``, but at least one at a time.

    Attributes
    ----------
    intervals_, weights_, classes_
        As in :class:`weighbors.RepresentativeIntervals`.

    Notes
    -----
    Results are equal to the bit, except with sample weights that are not whole numbers. Then sums are added in another
    order, and results differ by about 1e-12.

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
        normalize: str | None = "instance",
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
        """Find the intervals and compute their weights.

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
        table = self._blocks(X, y, self._coding(), whole=True)
        self._fit_blocks(table, sample_weights(sample_weight, table.n))
        return self

    def _coding(self) -> IntegerCoding:
        """Return a column coding with the settings of this estimator."""
        return IntegerCoding(IntegerCoder(self.discretize, self.n_bins, self.categorical_features))

    def _fit_blocks(self, table: BlockTable, sample_weight: FloatArray | None) -> None:
        """Find the intervals of a measured table and compute their weights."""
        coder: Any = table.coder
        columns = _Columns(table, sample_weight)
        numeric = ~table.nominal
        broken = np.full((2, table.header.width), np.nan) if table.broken is None else table.broken
        real = numeric & ~np.isnan(broken[0])

        def example(j: int) -> tuple[float, int]:
            """Return a number of column ``j`` that is not whole, and its row."""
            return float(broken[0, j]), int(broken[1, j])

        coder.learn_columns(table.measured, numeric, real, table.dtype, len(table.classes), columns, example)
        self._coder = coder
        parts = [self._runs_of(j, counts, coder, table) for j, counts in columns.all()]
        whole = {f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Runs)}
        self._runs = Runs(**whole)
        self.weights_ = self._weights(table.header.width)

    def _runs_of(self, j: int, counts: Counts, coder: IntegerCoder, table: BlockTable) -> Runs:
        """Return the runs of column ``j``, from its counts."""
        values: AnyArray = counts.values
        if j in coder.cuts:
            values = np.searchsorted(coder.cuts[j], values, side="right").astype(np.float64)
        # Each pair of value and class stands for as many rows as it was counted.
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


class IntegerCoding(ColumnCoding):
    """The column coding of `IntegerCoder`: ordered categories become ranks. Bins are learned later, from counts."""

    @property
    def table(self) -> TableCoder:
        """The coder that knows the categories."""
        table: TableCoder = self.coder.table
        return table

    def blank(self) -> IntegerCoding:
        """Return a coding with the same settings that has learned nothing yet."""
        own = self.coder
        return IntegerCoding(IntegerCoder(own.discretize, own.n_bins, own.categorical_features))

    def learn(self, header: Header, table: Any) -> Any:
        """Learn the columns of a piece and return its coded rows."""
        return self.coder.open(TableShape(header), table)

    def encode(self, header: Header, table: Any) -> Any:
        """Return the coded rows of a piece, before numbers are put into bins."""
        return self.coder.coded(TableShape(header), table)

    def merged(self, others: Sequence[Any]) -> Any:
        """Return one coding with the categories of all codings. Raise InvalidDataError if their ranks differ."""
        whole = super().merged(others)
        ranks = [{j: rank.tolist() for j, rank in other.coder.ranks.items()} for other in others]
        if any(one != ranks[0] for one in ranks):
            raise InvalidDataError("the order of an ordered category differs between partitions")
        whole.coder.ranks = others[0].coder.ranks
        return whole


class _Columns:
    """The columns of a table, given by their counts. Counts are stored as long as they fit in ``max_bytes``."""

    def __init__(self, table: BlockTable, sample_weight: FloatArray | None) -> None:
        self.table, self.sample_weight = table, sample_weight
        self._kept: dict[int, Counts] = {}
        self._bytes = 0

    def _keep(self, j: int, counts: Counts) -> None:
        """Store the counts of column ``j``, if there is memory left."""
        size = sum(part.nbytes for part in counts)
        if j not in self._kept and self._bytes + size <= self.table.max_bytes:
            self._kept[j] = counts
            self._bytes += size

    def all(self) -> Any:
        """Yield the number and the counts of every column, in order."""
        every = list(range(self.table.header.width))
        fresh = column_counts(self.table, [j for j in every if j not in self._kept], self.sample_weight)
        for j in every:
            if j in self._kept:
                yield j, self._kept[j]
            else:
                yield next(fresh)

    def __call__(self, j: int) -> Column:
        """Return the values of column ``j`` that are not missing.

        Without sample weights a value is repeated as often as it occurs. With sample weights every pair of value and
        class is there once, with its weight.
        """
        if not self._kept:
            for other, counts in column_counts(self.table, list(range(self.table.header.width)), self.sample_weight):
                self._keep(other, counts)
        counts = self._kept[j] if j in self._kept else next(column_counts(self.table, [j], self.sample_weight))[1]
        if self.sample_weight is not None:
            return Column(counts.values, counts.codes, counts.number)
        return Column(np.repeat(counts.values, counts.number), np.repeat(counts.codes, counts.number), None)
