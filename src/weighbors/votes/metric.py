"""Distances of all pairs of rows under feature weights, as a matrix of float64."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._parallel.threads import fixed_ranges, run_ranges
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..blocks import LazyRows
from ..engine import References, build_references
from ..engine.pairs import PackedRows
from ..exceptions import InvalidWeightsError
from ..weights import Weights

#: Columns that are measured together. Wider tables are measured in panels, so that rows stay in the cache, and sparse
#: ones are made dense panel by panel.
PANEL = 8192
_ROWS = 96  # rows per task of a thread
_NOT_SYMMETRIC = (
    "learned votes need a distance that is the same in both directions: weights per class, instance or interval and "
    "instance scales belong to the stored side only. Use weights per feature, for example those of ReliefF, or a "
    "WeightedKNeighborsClassifier"
)


def check_symmetric(weights: Weights) -> None:
    """Raise InvalidWeightsError if the distance from a to b can differ from that from b to a."""
    if weights.kind not in ("none", "feature") or weights.instance_scales is not None:
        raise InvalidWeightsError(_NOT_SYMMETRIC)


class Metric:
    """Rows whose plain distances are the weighted distances of the library.

    Numbers are multiplied by a (p = 1) or √a (p = 2), and the missing distance, also that of two categories, too.

    Parameters
    ----------
    references : References
        The stored rows. Their weights must be the same for all instances.
    n_jobs : int
    """

    def __init__(self, references: References, n_jobs: int = 1) -> None:
        if references.cells is not None or references.scales is not None:
            raise InvalidWeightsError(_NOT_SYMMETRIC)
        self.references, self.n_jobs = references, n_jobs
        self.p, self.n_numeric, self.n, self.m = references.p, references.n_numeric, references.n, references.m
        weights = references.feature_weights
        self.weights = np.ones(self.m) if weights is None else weights.astype(np.float64)
        self.factor = self.weights if self.p == 1 else np.sqrt(self.weights)
        self.missing_distance = references.missing_distance.astype(np.float64) * self.factor
        # Categories are codes and are not multiplied.
        self.factor_of_cells = np.where(np.arange(self.m) < self.n_numeric, self.factor, 1.0)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the packed rows: they are as large as the table, and are packed again when they are needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_whole"}

    def fold(self, rows: Any) -> Any:
        """Return rows, in the columns of the references, with the weights folded in: a float64 array or CSR."""
        if sparse.issparse(rows):
            return (rows.astype(np.float64) @ sparse.diags(self.factor_of_cells)).tocsr()
        return np.multiply(rows, self.factor_of_cells, dtype=np.float64)

    def select(self, queries: Any) -> Any:
        """Return the columns of queries that the references use, with the weights folded in."""
        if sparse.issparse(queries):
            return self.fold(queries.tocsr()[:, self.references.columns])
        return self.fold(self.references.select(queries))

    @cached_property
    def _whole(self) -> PackedRows:
        """The stored rows, packed once, for tables of at most one panel."""
        return self._pack(self.fold(self.references.rows), 0, self.m)

    def _pack(self, rows: Any, first: int, last: int) -> PackedRows:
        """Return the columns [first, last) of folded rows, packed."""
        dense = _dense_columns(rows, first, last)
        n_numeric = min(max(self.n_numeric - first, 0), last - first)
        return PackedRows(
            dense,
            n_numeric=n_numeric,
            missing_distance=self.missing_distance[first:last],
            missing=bool(np.isnan(dense[:, :n_numeric]).any()),
            p=self.p,
        )

    def between(self, folded: Any) -> FloatArray:
        """Return the distances of folded rows (see `select`) to all stored rows, of shape (n_rows, n)."""
        out = np.zeros((folded.shape[0], self.n))
        narrow = self.m <= PANEL and not self.references.sparse
        stored = None if narrow else self.fold(self.references.rows)
        for first, last in fixed_ranges(self.m, PANEL):
            packed = self._whole if narrow else self._pack(stored, first, last)
            rows = _dense_columns(folded, first, last)
            missing = bool(np.isnan(rows[:, : packed.n_numeric]).any())

            def add(begin: int, end: int, packed: Any = packed, rows: Any = rows, missing: bool = missing) -> None:
                """Add the sums of these columns. Every row is measured alone, so threads change no bit."""
                out[begin:end] += packed.distances(begin, end, rows, missing=missing)[:, : self.n]

            run_ranges(add, fixed_ranges(len(out), _ROWS), self.n_jobs)
        return np.sqrt(out, out=out) if self.p == 2 else out

    def all_pairs(self) -> FloatArray:
        """Return the distances of all pairs of stored rows. Every row is at distance 0 from itself."""
        out = self.between(self.fold(self.references.rows))
        np.fill_diagonal(out, 0.0)
        return out

    def some_pairs(self, slots: IndexArray) -> FloatArray:
        """Return the distances of all pairs of the stored rows with the numbers ``slots``."""
        some = replace(self.references, rows=self.references.rows[slots], row_of_slot=np.arange(len(slots)))
        return Metric(some, self.n_jobs).all_pairs()


def _dense_columns(rows: Any, first: int, last: int) -> FloatArray:
    """Return the columns [first, last) of an array or CSR as an array in C order."""
    part = rows[:, first:last]
    return part.toarray() if sparse.issparse(part) else np.ascontiguousarray(part)


@dataclass(frozen=True)
class VotesTable:
    """Coded training rows and what is to be predicted from them."""

    rows: Any  # (n, M) array or CSR, or rows in blocks, which are read when they are indexed
    nominal: BoolArray  # (M,)
    targets: AnyArray  # (n,) classes as codes, or (n, n_outputs) numbers
    n_classes: int  # 0 for numbers
    repetition: FloatArray | None = None  # (n,)

    @property
    def n_outputs(self) -> int:
        """Number of classes, or of numeric targets."""
        return self.n_classes or self.targets.shape[1]

    @property
    def Y(self) -> FloatArray:  # noqa: N802 - the letter of the formulas
        """The targets as numbers: classes become one column each, which is 1 for rows of this class."""
        return np.eye(self.n_classes)[self.targets] if self.n_classes else self.targets

    def take(self, rows: IndexArray) -> VotesTable:
        """Return the table of the rows with the numbers ``rows``."""
        repetition = None if self.repetition is None else self.repetition[rows]
        return replace(self, rows=self.rows[rows], targets=self.targets[rows], repetition=repetition)

    def draw(self, most: int, rng: np.random.Generator) -> VotesTable:
        """Return the table, or ``most`` drawn rows of it if it has more. The rows of the result are in memory."""
        n = self.rows.shape[0]
        if n > most:
            return self.take(np.sort(rng.choice(n, most, replace=False)))
        return self if self.in_memory else self.take(np.arange(n))

    @property
    def in_memory(self) -> bool:
        """Whether ``rows`` is an array or CSR."""
        return not isinstance(self.rows, LazyRows)

    def metric(self, p: int, weights: FloatArray | None, n_jobs: int) -> Metric:
        """Return the distance of these rows under feature weights (None: all 1)."""
        given = None if weights is None else Weights(feature_weights=weights)
        return Metric(build_references(self.rows, weights=given, p=p, nominal=self.nominal), n_jobs)
